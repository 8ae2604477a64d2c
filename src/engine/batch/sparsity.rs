//! The possible configurations of each clique, with their potentials.

use crate::engine::cpu::{PossibleEntries, Supports};
use crate::engine::factors::{FactorProduct, may_underflow, smallest_exponents};
use crate::lowering::Shape;
use crate::potential::{Real, Scope, rescale};
use crate::propagation::CompiledNetwork;

/// Some configurations of a vertex of the [binary join tree](super::join_tree), and their
/// potentials. A vertex is a clique of the junction tree, or a set of variables that was added
/// between two neighbours.
#[derive(Debug, Default)]
pub struct Configurations {
    /// The codes of the configurations, in ascending order. A code is an index in a full table over
    /// the variables of the vertex.
    pub codes: Vec<u32>,
    /// The potentials of the configurations, in the same order; empty if all are one.
    pub values: Vec<f64>,
}

impl Configurations {
    /// Bytes of the codes and values.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.codes) + size_of_val(&*self.values)
    }
}

/// By clique of `shape`, the tree of `compiled`: the configurations that are possible without
/// evidence, as [`supports`](crate::engine::cpu::Supports) defines them. The potentials are scaled
/// so that the largest of each clique is in [1, 2). Also returns the exponent of the power of two
/// by which their product over all cliques must be multiplied, and the peak of the memory in use
/// meanwhile, in bytes. `None` if the network is impossible, or if a potential might underflow.
pub fn possible_configurations(
    compiled: &CompiledNetwork,
    shape: &Shape,
) -> Option<(Vec<Configurations>, i64, usize)> {
    let network = compiled.network();
    let smallest = smallest_exponents(network);
    // A potential that underflows to zero would be left out.
    if shape.factors.iter().any(|factors| may_underflow(&smallest, factors)) {
        return None;
    }
    let supports = Supports::find(compiled, None, false);
    let children = shape.children();
    let mut exponent = 0;
    // Reused, so that no freed memory lies between the configurations of different cliques.
    let (mut codes, mut values) = (Vec::new(), Vec::new());
    let of_clique = |clique: usize| {
        let scope = Scope::of(network, shape.cliques[clique].iter().copied());
        let factors = shape.factors[clique].iter().copied();
        let product = FactorProduct::new(network, &scope, factors);
        let ends = children[clique].iter().copied().chain([clique]);
        let origin = |end: usize| shape.origins[end].expect("every clique is in the compiled tree");
        let separators = ends.filter_map(|end| origin(end).separator);
        let supports = separators.filter_map(|separator| supports.get(separator));
        let possible = PossibleEntries::new(&scope, supports);
        let mut code = 0;
        codes.clear();
        values.clear();
        let power = product.entries(|value| {
            if value != 0.0 && possible.contains(code) {
                codes.push(code);
                values.push(value);
            }
            code += 1;
        });
        let scale = values.iter().copied().fold(0.0, f64::max).scale_exponent()?;
        rescale(&mut values, scale);
        exponent += i64::from(power - scale);
        Some(Configurations { codes: codes.clone(), values: values.clone() })
    };
    let cliques = (0..shape.cliques.len()).map(of_clique).collect::<Option<Vec<_>>>()?;
    let scratch_bytes = size_of::<u32>() * codes.capacity() + size_of::<f64>() * values.capacity();
    let bytes = cliques.iter().map(Configurations::bytes).sum::<usize>() + supports.bytes();
    Some((cliques, exponent, supports.peak_bytes.max(bytes + scratch_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::format;
    use crate::network::VariableId;
    use crate::potential::SplitMapping;
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn neighbouring_cliques_agree_on_their_separator() {
        let network = format::sample("pigs").expect("a sample of this name").open().network;
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let (network, shape) = (compiled.network(), Shape::of(&compiled));
        let (cliques, ..) = possible_configurations(&compiled, &shape).unwrap();
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        for (child, parent) in shape.parents.iter().enumerate() {
            let Some(parent) = *parent else { continue };
            let onto = scope(&shape.separator(child));
            let found = [parent, child].map(|clique| {
                let mapping = SplitMapping::new(&scope(&shape.cliques[clique]), &onto);
                let codes = cliques[clique].codes.iter();
                let mut found: Vec<u32> = codes.map(|&code| mapping.get(code)).collect();
                found.sort_unstable();
                found.dedup();
                found
            });
            assert_eq!(found[0], found[1]);
        }
        let entries: usize = cliques.iter().map(|own| own.codes.len()).sum();
        assert!((entries as u64) < compiled.statistics().total_clique_entries * 6 / 10);
    }
}
