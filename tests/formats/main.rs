//! Reading and writing network files: valid files, and how mistakes are reported.

mod bif;
mod classes;
mod corpus;
mod dnet;
mod dsc;
mod dsl;
mod net;
mod opening;
mod round_trips;
mod rows;
mod uai;
mod xdsl;
mod xmlbif;

use cliquescope::format::{self, ReadNetwork};
use cliquescope::network::Network;

/// Reads `text` as the content of `file`.
fn read(file: &str, text: &str) -> ReadNetwork {
    format::open_bytes(file, text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The error for `text`, which must be refused.
fn refused(file: &str, text: &str) -> String {
    match format::open_bytes(file, text) {
        Ok(_) => panic!("this was read:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The table of `variable`.
fn values<'n>(network: &'n Network, variable: &str) -> &'n [f64] {
    network.cpt(network.find(variable).unwrap()).values()
}

/// The names of the parents of `variable`.
fn parents<'n>(network: &'n Network, variable: &str) -> Vec<&'n str> {
    let parents = network.cpt(network.find(variable).unwrap()).parents();
    parents.iter().map(|&parent| network[parent].name()).collect()
}

fn warnings(read: &ReadNetwork) -> Vec<String> {
    read.warnings.iter().map(ToString::to_string).collect()
}

/// Asserts that the numbers are as expected, up to rounding.
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-12);
    assert!(!far, "{found:?}\nexpected {expected:?}");
}
