//! Finding cliques by number or by the names of their variables.

use fixedbitset::FixedBitSet;

use crate::propagation::CompiledNetwork;

/// The cliques with a variable whose name contains `text`, and the clique with number `text` (`12`
/// or `c12`). `text` is in lower case.
pub fn find(compiled: &CompiledNetwork, text: &str) -> FixedBitSet {
    let cliques = compiled.tree().cliques();
    let mut found = FixedBitSet::with_capacity(cliques.len());
    let number = text.strip_prefix('c').unwrap_or(text).parse::<usize>().ok();
    let network = compiled.network();
    let matching: Vec<bool> = network
        .variables()
        .iter()
        .map(|variable| variable.name().to_lowercase().contains(text))
        .collect();
    for (index, clique) in cliques.iter().enumerate() {
        found.set(index, clique.variables.iter().any(|variable| matching[variable.index()]));
    }
    if let Some(number) = number.filter(|&number| number < cliques.len()) {
        found.insert(number);
    }
    found
}
