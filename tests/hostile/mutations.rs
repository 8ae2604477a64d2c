//! Random mutations of the fixtures. A network that is read must be valid. The networks and cases
//! that are read are written in every format that can hold them, and read back.
//! `tests/fuzz_smoke.rs` and the fuzz targets in `fuzz/` do the same over more files, but do not
//! write networks.

use std::fs;
use std::path::Path;

use cliquescope::format::cases::{self, CaseFormat};
use cliquescope::format::{Format, OpenError, open_bytes, write};
use cliquescope::network::Network;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use crate::files::networks;
use crate::mutate::mutate;

/// The number of mutations of each fixture.
const ROUNDS: usize = 600;

/// Checks that `network` is valid and that the formats read back what they write.
fn check(network: &Network) {
    for factor in network.factors() {
        assert!(factor.values().iter().all(|value| value.is_finite() && *value >= 0.0));
    }
    for cpt in network.cpts() {
        for row in cpt.values().chunks(network[cpt.child()].cardinality()) {
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
        }
    }
    for format in Format::ALL.iter().copied().filter(|format| format.can_write()) {
        // Some formats cannot hold some names.
        let Ok(written) = write(network, format) else { continue };
        let name = format!("a.{}", format.extensions()[0]);
        let reread = open_bytes(&name, written.text.as_str());
        let reread = reread.unwrap_or_else(|error| panic!("{error} in\n{}", written.text)).network;
        assert_eq!(reread.cardinalities(), network.cardinalities());
        for (one, other) in network.factors().zip(reread.factors()) {
            let mut pairs = one.values().iter().zip(other.values());
            assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-12), "{}", written.text);
        }
    }
}

#[test]
fn mutated_networks_are_read_or_refused() {
    for (name, text) in networks() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut read = 0;
        for _ in 0..ROUNDS {
            match open_bytes(&name, mutate(text.as_bytes(), &mut random)) {
                Ok(opened) => {
                    read += 1;
                    check(&opened.network);
                }
                Err(OpenError::Format(error)) => {
                    assert!(error.line > 0 && error.column > 0 && !error.message.is_empty());
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        assert!((1..ROUNDS).contains(&read), "{read} of {ROUNDS} mutations of {name} are read");
    }
}

#[test]
fn mutated_evidence_is_read_or_refused() {
    let network = cliquescope::format::open_bytes(
        "small.bif",
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small.bif")).unwrap(),
    );
    let network = network.unwrap().network;
    for format in CaseFormat::ALL {
        let name = format!("small.{}", format.extensions()[0]);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(&name);
        let bytes = fs::read(path).unwrap();
        assert!(!cases::read(&name, bytes.clone(), &network).unwrap().cases.is_empty());
        let mut random = Pcg64Mcg::seed_from_u64(2);
        for _ in 0..ROUNDS {
            match cases::read(&name, mutate(&bytes, &mut random), &network) {
                Err(error) => assert!(!error.message.is_empty()),
                Ok(read) => {
                    for format in CaseFormat::ALL {
                        let text = cases::write(format, &network, &read.cases);
                        let Ok(text) = text else { continue };
                        let name = format!("a.{}", format.extensions()[0]);
                        let reread = cases::read(&name, text.clone(), &network);
                        let reread = reread.unwrap_or_else(|error| panic!("{error} in\n{text}"));
                        assert_eq!(reread.cases, read.cases, "{text}");
                    }
                }
            }
        }
    }
}
