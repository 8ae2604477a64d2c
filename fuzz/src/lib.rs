//! The fuzz targets. They check that a reader never panics, and returns valid networks and evidence
//! or an error with a message. A mistake in a network file must have a line and a column.
//!
//! `tests/fuzz_smoke.rs` of the program includes this file, so every test run on Unix covers the
//! targets.

use cliquescope::format::cases::{self, CaseFormat};
use cliquescope::format::{OpenError, open_bytes};
use cliquescope::network::{Cpt, Network, Variable, VariableId};

/// Reads bytes and panics if the result is not valid.
pub type Target = fn(&[u8]);

/// The fuzz targets by name. Each has a file in `fuzz_targets/`.
pub const TARGETS: [(&str, Target); 10] = [
    ("any", |bytes| network("a.unknown", bytes)),
    ("bif", |bytes| network("a.bif", bytes)),
    ("dnet", |bytes| network("a.dne", bytes)),
    ("dsc", |bytes| network("a.dsc", bytes)),
    ("dsl", |bytes| network("a.dsl", bytes)),
    ("evidence", evidence),
    ("net", |bytes| network("a.net", bytes)),
    ("uai", |bytes| network("a.uai", bytes)),
    ("xdsl", |bytes| network("a.xdsl", bytes)),
    ("xmlbif", |bytes| network("a.xml", bytes)),
];

/// Runs the target called `name` on `bytes`.
///
/// # Panics
/// If there is no such target, or the target finds a mistake in a reader or writer.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a known target");
    target(bytes);
}

/// Reads `bytes` as a network from a file called `name`.
fn network(name: &str, bytes: &[u8]) {
    match open_bytes(name, bytes) {
        Ok(read) => check_network(&read.network),
        Err(OpenError::Format(error)) => {
            assert!(error.line > 0 && error.column > 0 && !error.message.is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Checks that all values of `network` are valid and that every row sums to one.
fn check_network(network: &Network) {
    for factor in network.factors() {
        assert!(factor.values().iter().all(|value| value.is_finite() && *value >= 0.0));
    }
    for cpt in network.cpts() {
        let states = network[cpt.child()].cardinality();
        let rows: usize =
            cpt.parents().iter().map(|&parent| network[parent].cardinality()).product();
        assert_eq!(cpt.values().len(), rows * states);
        for row in cpt.values().chunks(states) {
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
        }
    }
    assert_eq!(network.topological_order().len(), network.variables().len());
}

/// Reads `bytes` as evidence in the format that the first byte selects, and checks that every
/// format that can hold the evidence gives it back unchanged.
fn evidence(bytes: &[u8]) {
    let Some((&format, bytes)) = bytes.split_first() else { return };
    let format = CaseFormat::ALL[usize::from(format) % CaseFormat::ALL.len()];
    let network = weather();
    let name = |format: CaseFormat| format!("a.{}", format.extensions()[0]);
    match cases::read(&name(format), bytes, &network) {
        Err(error) => assert!(!error.message.is_empty()),
        Ok(read) => {
            assert_eq!(read.format, format);
            for format in CaseFormat::ALL {
                let Ok(text) = cases::write(format, &network, &read.cases) else { continue };
                let reread = cases::read(&name(format), text.clone(), &network);
                assert_eq!(reread.expect(&text).cases, read.cases, "{text}");
            }
        }
    }
}

/// A network whose labels need quotes or look like missing values in some formats.
fn weather() -> Network {
    let variables: [(&str, &[&str]); 4] = [
        ("rain", &["no", "yes"]),
        ("wind", &["low", "mid", "high"]),
        ("very cold", &["a b", "c,d", "e\"f", ""]),
        ("hail", &["1", "2", "*", "NA"]),
    ];
    let cpt = |(index, (_, states)): (usize, &(&str, &[&str]))| {
        let row = vec![1.0 / states.len() as f64; states.len()];
        Cpt::new(VariableId::new(index), vec![], row)
    };
    let cpts = variables.iter().enumerate().map(cpt).collect();
    let variables =
        variables.iter().map(|(name, states)| Variable::new(*name, states.iter().copied()));
    Network::new("weather", variables.collect(), cpts).expect("the network is valid")
}
