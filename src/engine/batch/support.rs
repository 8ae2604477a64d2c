//! Which configurations of a clique can have a probability above zero, whatever the evidence.

use crate::engine::factors::FactorProduct;
use crate::graph::{Clique, CliqueId};
use crate::network::{Network, VariableId};
use crate::potential::{Odometer, Real, Scope, rescale};
use crate::propagation::CompiledNetwork;

/// The configurations of some variables that are left, and their potential.
#[derive(Debug, Default)]
pub struct Configurations {
    /// Their indices in a table over all of the variables, ascending.
    pub codes: Vec<u32>,
    /// Their potentials; none where all are one.
    pub values: Vec<f64>,
}

/// The index of a configuration in a table over some of its variables.
///
/// A table for the slow variables and one for the fast ones make this one division.
pub struct Projection {
    fast: u32,
    of_slow: Vec<u32>,
    of_fast: Vec<u32>,
}

impl Projection {
    /// From tables over `from` to tables over `onto`, some of its variables.
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
        Self { fast: fast.entries() as u32, of_slow: table(&slow), of_fast: table(&fast) }
    }

    #[inline]
    pub fn of(&self, code: u32) -> u32 {
        self.of_slow[(code / self.fast) as usize] + self.of_fast[(code % self.fast) as usize]
    }
}

/// The configurations of each clique that agree with one another and with all factors; and the power
/// of two by which the product of all potentials must be multiplied. `None` if nothing is possible.
pub fn configurations(compiled: &CompiledNetwork) -> Option<(Vec<Configurations>, i64)> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
    let mut order = vec![tree.root()];
    let mut next = 0;
    while let Some(&clique) = order.get(next) {
        order.extend(tree.children(clique).iter().map(|link| link.clique));
        next += 1;
    }
    let (mut left, mut exponent) = potentials(compiled)?;
    let keep = |of: &mut Configurations, clique: CliqueId, onto: &Scope, possible: &[bool]| {
        let projection = Projection::new(network, &scope(&tree[clique].variables), onto);
        let is_kept: Vec<bool> =
            of.codes.iter().map(|&code| possible[projection.of(code) as usize]).collect();
        let (mut codes, mut values) = (is_kept.iter(), is_kept.iter());
        of.codes.retain(|_| *codes.next().unwrap_or(&true));
        of.values.retain(|_| *values.next().unwrap_or(&true));
    };
    let seen = |of: &Configurations, clique: CliqueId, onto: &Scope| {
        let projection = Projection::new(network, &scope(&tree[clique].variables), onto);
        let mut seen = vec![false; onto.entries()];
        of.codes.iter().for_each(|&code| seen[projection.of(code) as usize] = true);
        seen
    };
    let steps = order.iter().filter_map(|&clique| Some((clique, tree.parent(clique)?)));
    let steps: Vec<_> = steps.collect();
    for &(clique, above) in steps.iter().rev() {
        let separator = scope(&tree[above.separator].variables);
        let possible = seen(&left[clique.index()], clique, &separator);
        keep(&mut left[above.clique.index()], above.clique, &separator, &possible);
    }
    for &(clique, above) in &steps {
        let separator = scope(&tree[above.separator].variables);
        let possible = seen(&left[above.clique.index()], above.clique, &separator);
        keep(&mut left[clique.index()], clique, &separator, &possible);
    }
    exponent *= -1;
    left.iter().all(|of| !of.codes.is_empty()).then_some((left, exponent))
}

/// The potential of every clique with a largest value in [1, 2), its zeros left out, and the powers
/// of two that they were multiplied by. `None` if one of them is zero everywhere.
fn potentials(compiled: &CompiledNetwork) -> Option<(Vec<Configurations>, i64)> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let scope = |clique: &Clique| Scope::of(network, clique.variables.iter().copied());
    let scopes: Vec<Scope> = tree.cliques().iter().map(scope).collect();
    let mut exponent = 0;
    let of_clique = |product: FactorProduct<'_>| {
        let (mut codes, mut values, mut code) = (Vec::new(), Vec::new(), 0);
        let power = product.entries(|value| {
            if value != 0.0 {
                codes.push(code);
                values.push(value);
            }
            code += 1;
        });
        let by = values.iter().copied().fold(0.0, f64::max).scale_exponent()?;
        rescale(&mut values, by);
        exponent += i64::from(by - power);
        Some(Configurations { codes, values })
    };
    let products = FactorProduct::of_cliques(compiled, &scopes);
    let all = products.into_iter().map(of_clique).collect::<Option<Vec<_>>>()?;
    Some((all, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::format;
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn what_a_projection_gives_is_what_an_odometer_gives() {
        let network = format::sample("child").expect("a sample of this name").open().network;
        let of =
            |numbers: &[usize]| Scope::of(&network, numbers.iter().map(|&n| VariableId::new(n)));
        let from = of(&[0, 3, 4, 7, 9]);
        for onto in [of(&[]), of(&[4]), of(&[0, 9]), of(&[0, 3, 4, 7, 9])] {
            let projection = Projection::new(&network, &from, &onto);
            let found = (0..from.entries() as u32).map(|code| projection.of(code) as usize);
            assert!(found.eq(Odometer::new(&from, &onto).take(from.entries())));
        }
    }

    #[test]
    fn what_is_left_of_neighbours_agrees_on_what_they_share() {
        let network = format::sample("pigs").expect("a sample of this name").open().network;
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let (network, tree) = (compiled.network(), compiled.tree());
        let (left, _) = configurations(&compiled).unwrap();
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        for edge in tree.separators() {
            let onto = scope(&edge.variables);
            let seen = [edge.parent, edge.child].map(|clique| {
                let projection = Projection::new(network, &scope(&tree[clique].variables), &onto);
                let codes = left[clique.index()].codes.iter();
                let mut seen: Vec<u32> = codes.map(|&code| projection.of(code)).collect();
                seen.sort_unstable();
                seen.dedup();
                seen
            });
            assert_eq!(seen[0], seen[1]);
        }
        let entries: usize = left.iter().map(|of| of.codes.len()).sum();
        assert!((entries as u64) < compiled.statistics().total_clique_entries * 6 / 10);
    }
}
