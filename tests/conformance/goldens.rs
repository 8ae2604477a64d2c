//! Compares the shipped networks with results of another program; see `tests/goldens/README.md`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use cliquescope::network::{Evidence, Network};
use serde::Deserialize;

use crate::fixtures::sample;
use crate::subject::{Subject, propagate};

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    evidence: BTreeMap<String, String>,
    likelihood: BTreeMap<String, Vec<f64>>,
    ln_p_evidence: f64,
    posteriors: Vec<f64>,
}

impl Golden {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
        let packed = std::fs::read(folder.join(format!("{name}.json.gz"))).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Case {
    fn evidence(&self, network: &Network) -> Evidence {
        let mut evidence = Evidence::none();
        for (variable, state) in &self.evidence {
            evidence.observe_named(network, variable, state).unwrap();
        }
        for (variable, weights) in &self.likelihood {
            evidence.set_likelihood_named(network, variable, &**weights).unwrap();
        }
        evidence
    }
}

/// Compares `subject` with the golden posteriors of the network called `name`.
fn check(subject: &Subject, name: &str) {
    if subject.is_exempt(name) {
        return;
    }
    let golden = Golden::read(name);
    assert_eq!(golden.cases.len(), 5);
    let compiled = sample(name);
    let mut propagator = subject.load(&compiled);
    for (index, case) in golden.cases.iter().enumerate() {
        let evidence = case.evidence(compiled.network());
        assert_eq!(evidence.len(), case.evidence.len() + case.likelihood.len());
        let found = propagate(&mut *propagator, &compiled, &evidence).unwrap();
        let context = format!("{name}, case {index}");
        subject.assert_close(compiled.network(), found.values(), &case.posteriors, &context);
        let network = compiled.network();
        subject.assert_close_ln(network, found.ln_p_evidence(), case.ln_p_evidence, &context);
        for variable in compiled.network().ids() {
            let sum: f64 = found.of(variable).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{context}: {variable:?} sums to {sum}");
        }
    }
}

macro_rules! networks {
    ($($name:ident)*) => {
        $(pub fn $name(subject: &Subject) {
            check(subject, stringify!($name));
        })*
    };
}

networks! {
    asia cancer child insurance alarm water mildew barley pigs diabetes munin2 munin3 munin4
}
