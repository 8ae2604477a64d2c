//! A network that is small once one of its variables is observed.

use std::fmt::Write;
use std::sync::Arc;

use cliquescope::format::NetworkSource;
use cliquescope::propagation::MemoryLimit;

/// Number of states of the hub.
const HUB_STATES: usize = 1000;
/// Number of variables of the chain.
const CHAIN: usize = 40;
/// Number of states of each variable of the chain.
const STATES: usize = 8;

/// A Markov network in UAI's format: a chain of variables, and a hub with many states. The hub,
/// variable `x0`, shares a factor with each variable of the chain.
///
/// Whatever the junction tree, the hub is in every clique and separator. Without the hub, the
/// largest clique has 64 entries.
pub fn hub_and_chain() -> NetworkSource {
    let bytes = Arc::from(hub_and_chain_text().into_bytes());
    NetworkSource::Bytes { name: "hub.uai".to_owned(), bytes }
}

/// The network of [`hub_and_chain`] as the text of a UAI file.
pub fn hub_and_chain_text() -> String {
    let mut text = format!("MARKOV\n{}\n{HUB_STATES}", CHAIN + 1);
    (0..CHAIN).for_each(|_| _ = write!(text, " {STATES}"));
    let _ = writeln!(text, "\n{}", 2 * CHAIN - 1);
    (1..=CHAIN).for_each(|v| _ = writeln!(text, "2 0 {v}"));
    (1..CHAIN).for_each(|v| _ = writeln!(text, "2 {v} {}", v + 1));
    let mut table = |entries: usize, prime: usize| {
        let _ = write!(text, "{entries}");
        (0..entries).for_each(|n| _ = write!(text, " {}", 1 + n * prime % 7));
        text.push('\n');
    };
    (1..=CHAIN).for_each(|_| table(HUB_STATES * STATES, 3));
    (1..CHAIN).for_each(|_| table(STATES * STATES, 5));
    text
}

/// A limit within which the network fits only if the hub is observed: the whole network takes about
/// 9 MiB in engine `cpu`, and more than 7 MiB in every other engine.
pub fn limit_for_an_observed_hub() -> MemoryLimit {
    MemoryLimit::from_bytes(6 << 20)
}
