//! The configurations of each clique that some evidence allows.
//!
//! A configuration of a clique is a state for each of its variables. A configuration that is
//! impossible without evidence is impossible given any evidence, and is left out.

use crate::engine::factors::{FactorProduct, smallest_exponents};
use crate::graph::{Clique, CliqueId};
use crate::network::{Network, VariableId};
use crate::potential::{Odometer, Real, Scope, rescale};
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

/// Maps the index of a configuration to the index of its projection onto some of the variables.
///
/// The variables are divided into slow and fast ones. The index of the projection is the sum of a
/// part that depends on the slow variables and a part that depends on the fast ones, each with a
/// lookup table. So a projection costs one division with remainder and two lookups.
pub struct Projection {
    /// Number of configurations of the fast variables.
    fast: u32,
    /// By configuration of the slow variables: their part of the index.
    by_slow: Vec<u32>,
    /// By configuration of the fast variables: their part of the index.
    by_fast: Vec<u32>,
}

impl Configurations {
    /// Bytes of the codes and values.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.codes) + size_of_val(&*self.values)
    }
}

impl Projection {
    /// The projection from a table over `from` to a table over `onto`, a subset of the variables of
    /// `from`.
    pub fn new(network: &Network, from: &Scope, onto: &Scope) -> Self {
        let (variables, entries) = (from.variables(), from.entries());
        let part = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        let mut first = variables.len();
        while first > 0 && part(&variables[first..]).entries().pow(2) < entries {
            first -= 1;
        }
        let (slow, fast) = (part(&variables[..first]), part(&variables[first..]));
        let table = |scope: &Scope| -> Vec<u32> {
            Odometer::new(scope, onto).take(scope.entries()).map(|entry| entry as u32).collect()
        };
        Self { fast: fast.entries() as u32, by_slow: table(&slow), by_fast: table(&fast) }
    }

    /// The index of the projection of configuration `code`.
    #[inline]
    pub fn of(&self, code: u32) -> u32 {
        self.by_slow[(code / self.fast) as usize] + self.by_fast[(code % self.fast) as usize]
    }
}

/// By clique: the configurations that are possible without evidence. Such a configuration has a
/// nonzero potential, and it agrees with a possible configuration of every neighbouring clique.
/// Also returns the exponent of the power of two by which the product of all potentials must be
/// multiplied, and the size in bytes of all configurations with a nonzero potential. `None` if the
/// network is impossible, or if a potential might underflow.
///
/// Two passes over the tree, toward the root and away from it, remove the configurations with a
/// nonzero potential that are not possible.
pub fn possible_configurations(
    compiled: &CompiledNetwork,
) -> Option<(Vec<Configurations>, i64, usize)> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
    let (mut cliques, exponent) = potentials(compiled)?;
    let max_bytes = cliques.iter().map(Configurations::bytes).sum();
    // By configuration of the separator `onto`: whether it agrees with any configuration of the
    // clique.
    let project = |own: &Configurations, clique: CliqueId, onto: &Scope| {
        let projection = Projection::new(network, &scope(&tree[clique].variables), onto);
        let mut possible = vec![false; onto.entries()];
        own.codes.iter().for_each(|&code| possible[projection.of(code) as usize] = true);
        possible
    };
    // Removes the clique's configurations whose projection onto the separator is not possible.
    let retain = |own: &mut Configurations, clique: CliqueId, onto: &Scope, possible: &[bool]| {
        let projection = Projection::new(network, &scope(&tree[clique].variables), onto);
        let retained: Vec<bool> =
            own.codes.iter().map(|&code| possible[projection.of(code) as usize]).collect();
        let (mut codes, mut values) = (retained.iter(), retained.iter());
        own.codes.retain(|_| *codes.next().unwrap_or(&true));
        own.values.retain(|_| *values.next().unwrap_or(&true));
    };
    let mut order = vec![tree.root()];
    let mut next = 0;
    while let Some(&clique) = order.get(next) {
        order.extend(tree.children(clique).iter().map(|link| link.clique));
        next += 1;
    }
    let steps = order.iter().filter_map(|&clique| Some((clique, tree.parent(clique)?)));
    let steps: Vec<_> = steps.collect();
    for &(clique, above) in steps.iter().rev() {
        let separator = scope(&tree[above.separator].variables);
        let possible = project(&cliques[clique.index()], clique, &separator);
        retain(&mut cliques[above.clique.index()], above.clique, &separator, &possible);
    }
    for &(clique, above) in &steps {
        let separator = scope(&tree[above.separator].variables);
        let possible = project(&cliques[above.clique.index()], above.clique, &separator);
        retain(&mut cliques[clique.index()], clique, &separator, &possible);
    }
    for own in &mut cliques {
        own.codes.shrink_to_fit();
        own.values.shrink_to_fit();
    }
    let is_possible = cliques.iter().all(|own| !own.codes.is_empty());
    is_possible.then_some((cliques, exponent, max_bytes))
}

/// If the smallest nonzero values of a clique's factors have a product below two to the power of
/// this, a potential might underflow to zero and so be left out. The smallest normal number is
/// 2^-1022; the difference is a margin.
const MIN_POTENTIAL: i32 = -900;

/// The nonzero potentials of every clique, scaled so that the largest of each clique is in [1, 2);
/// and the exponent of the power of two by which their product over all cliques must be multiplied.
/// `None` if all potentials of a clique are zero, or if some might underflow.
fn potentials(compiled: &CompiledNetwork) -> Option<(Vec<Configurations>, i64)> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let scope = |clique: &Clique| Scope::of(network, clique.variables.iter().copied());
    let scopes: Vec<Scope> = tree.cliques().iter().map(scope).collect();
    let mut exponent = 0;
    let nonzero = |product: FactorProduct<'_>| {
        let (mut codes, mut values, mut code) = (Vec::new(), Vec::new(), 0);
        let power = product.entries(|value| {
            if value != 0.0 {
                codes.push(code);
                values.push(value);
            }
            code += 1;
        });
        let scale = values.iter().copied().fold(0.0, f64::max).scale_exponent()?;
        rescale(&mut values, scale);
        exponent += i64::from(power - scale);
        codes.shrink_to_fit();
        values.shrink_to_fit();
        Some(Configurations { codes, values })
    };
    let mut smallest = vec![0; scopes.len()];
    for (factor, exponent) in network.factor_ids().zip(smallest_exponents(network)) {
        smallest[compiled.factor_home(factor).index()] += exponent;
    }
    if smallest.iter().any(|exponent| *exponent < MIN_POTENTIAL) {
        return None;
    }
    let products = FactorProduct::for_cliques(compiled, &scopes);
    let all = products.into_iter().map(nonzero).collect::<Option<Vec<_>>>()?;
    Some((all, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::format;
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn a_projection_gives_the_indices_of_an_odometer() {
        let network = format::sample("child").expect("a sample of this name").open().network;
        let scope =
            |numbers: &[usize]| Scope::of(&network, numbers.iter().map(|&n| VariableId::new(n)));
        let from = scope(&[0, 3, 4, 7, 9]);
        for onto in [scope(&[]), scope(&[4]), scope(&[0, 9]), scope(&[0, 3, 4, 7, 9])] {
            let projection = Projection::new(&network, &from, &onto);
            let found = (0..from.entries() as u32).map(|code| projection.of(code) as usize);
            assert!(found.eq(Odometer::new(&from, &onto).take(from.entries())));
        }
    }

    #[test]
    fn neighbouring_cliques_agree_on_their_separator() {
        let network = format::sample("pigs").expect("a sample of this name").open().network;
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let (network, tree) = (compiled.network(), compiled.tree());
        let (cliques, ..) = possible_configurations(&compiled).unwrap();
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        for edge in tree.separators() {
            let onto = scope(&edge.variables);
            let found = [edge.parent, edge.child].map(|clique| {
                let projection = Projection::new(network, &scope(&tree[clique].variables), &onto);
                let codes = cliques[clique.index()].codes.iter();
                let mut found: Vec<u32> = codes.map(|&code| projection.of(code)).collect();
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
