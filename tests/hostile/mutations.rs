//! Fixtures with mistakes put into them at random: what is read is in order, and what is written of
//! it is read back. The fuzz targets in `fuzz/` do the same without an end.

use std::fs;
use std::path::Path;

use cliquescope::format::cases::{self, CaseFormat};
use cliquescope::format::{Format, OpenError, open_bytes, write};
use cliquescope::network::Network;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::files::networks;

/// Mutations of each fixture.
const ROUNDS: usize = 600;

/// What readers may stumble over.
const PIECES: [&[u8]; 28] = [
    b"",
    b" ",
    b"\n",
    b"\r",
    b"\0",
    b"\"",
    b"'",
    b"(",
    b")",
    b"{",
    b"}",
    b"<",
    b">",
    b"&#0;",
    b"&a;",
    b"<!--",
    b"]]>",
    b"/*",
    b"//",
    b"%",
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"999999999",
    b"\xff\xfe",
    b"\xe6",
    b"\xf0\x9f\x98\x80",
];

/// `bytes` with one to four mistakes.
fn mutate(bytes: &[u8], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let length = bytes.len();
        let start = random.random_range(0..=length);
        let end = random.random_range(start..=length.min(start + 40));
        match random.random_range(0..6) {
            0 if start < length => bytes[start] = random.random(),
            1 => drop(bytes.drain(start..end)),
            2 => {
                let copy = bytes[start..end].to_vec();
                let to = random.random_range(0..=length);
                bytes.splice(to..to, copy);
            }
            3 => bytes.truncate(start.max(1)),
            _ => {
                let piece = PIECES[random.random_range(0..PIECES.len())];
                bytes.splice(start..start, piece.iter().copied());
            }
        }
    }
    bytes
}

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
    for format in Format::ALL.iter().copied().filter(|format| format.is_written()) {
        // Some formats have no spelling for some names.
        let Ok(written) = write(network, format) else { continue };
        let name = format!("a.{}", format.extensions()[0]);
        let again = open_bytes(&name, written.text.as_str());
        let again = again.unwrap_or_else(|error| panic!("{error} in\n{}", written.text)).network;
        assert_eq!(again.cardinalities(), network.cardinalities());
        for (one, other) in network.factors().zip(again.factors()) {
            let mut pairs = one.values().iter().zip(other.values());
            assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-12), "{}", written.text);
        }
    }
}

#[test]
fn networks_with_mistakes_are_read_or_refused() {
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
fn evidence_with_mistakes_is_read_or_refused() {
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
                        let again = cases::read(&name, text.clone(), &network);
                        let again = again.unwrap_or_else(|error| panic!("{error} in\n{text}"));
                        assert_eq!(again.cases, read.cases, "{text}");
                    }
                }
            }
        }
    }
}
