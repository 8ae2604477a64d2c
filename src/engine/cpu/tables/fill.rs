//! The table of a clique: the product of the factors that belong into it.
//!
//! A tree of what evidence leaves is made for one propagation, so making its tables counts as much
//! as reading them. A table is written once, in runs along its fastest variables. A factor that is
//! the same all along a run is one number, one whose own table runs along with it is read in place,
//! and of another a copy is made that does, unless it is large or read only once.

use crate::engine::cpu::pass::kernel::NEAR_ONE;
use crate::engine::cpu::tables::multiply::{AT_ONCE, Left, Part, Product, Source, multiply_left};
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::factors::{FactorProduct, least};
use crate::network::{Factor, Network, VariableId};
use crate::potential::{Entry, Odometer, Real, Scope, write_mapping};

/// Least entries of a run, if the table has so many.
const SHORTEST_RUN: usize = 24;

/// Most entries of a run, if it need not be longer to have the least.
const LONGEST_RUN: usize = 1024;

/// Powers of two below one from which on a product is made with care for what a number holds.
const DEEP: f64 = 900.0;

/// Entries of factors that are copied for one table: they are to stay in a cache.
const MOST_COPIED: usize = 1 << 15;

/// Makes tables, and keeps its room from one to the next.
#[derive(Default)]
pub struct Filler {
    /// Where the parts of a product begin, run by run, part by part.
    starts: Vec<u32>,
    /// The entries of a factor along a run.
    along: Vec<u32>,
    /// Copies of factors whose runs are as those of the table.
    copies: Vec<f64>,
}

impl Filler {
    /// Fills `table` with the product of factors of `network` in the order of a layout, or with what
    /// is to be left of it, and gives the exponent of its scale. Its largest entry is near one.
    ///
    /// Of a variable that was taken out of the clique the state in `observed` is taken. A large table
    /// is filled by several threads if it `forks`.
    pub fn product<'a, T: Entry>(
        &mut self,
        network: &'a Network,
        (layout, factors, left): (&Layout, &[&'a Factor], Option<Left<'_>>),
        observed: &[Option<usize>],
        table: &mut [T],
        forks: bool,
    ) -> i32 {
        let longest = if left.is_some() { usize::MAX } else { LONGEST_RUN };
        let (outer, inner) = runs(network, layout, longest);
        self.in_runs(network, (&outer, &inner), (factors, left), observed, table, forks)
    }

    /// The same in an order of variables and runs of a given length.
    pub fn in_runs<'a, T: Entry>(
        &mut self,
        network: &'a Network,
        (outer, inner): (&Scope, &Scope),
        (factors, left): (&[&'a Factor], Option<Left<'_>>),
        observed: &[Option<usize>],
        table: &mut [T],
        forks: bool,
    ) -> i32 {
        let mut groups = factors.chunks(AT_ONCE);
        let last = groups.next_back().unwrap_or_default();
        let (mut before, mut exponent): (Option<Vec<f64>>, i32) = (None, 0);
        let is_deep = factors.len() > AT_ONCE && {
            let below = factors.iter().map(|factor| -least(factor.values()).log2());
            below.sum::<f64>() > DEEP
        };
        if !is_deep {
            for group in groups {
                let parts = self.parts(network, (outer, inner), group, observed);
                let mut values = vec![0.0; outer.entries() * inner.entries()];
                let given = (&*parts, before.as_deref(), None);
                exponent += self.fill(inner.entries(), given, &mut values, forks).unwrap_or(0);
                before = Some(values);
            }
            let parts = self.parts(network, (outer, inner), last, observed);
            let given = (&*parts, before.as_deref(), left);
            if let Some(last) = self.fill(inner.entries(), given, table, forks) {
                return exponent + last;
            }
        }
        // The product, or one on the way to it, is less than what a number holds.
        let order = outer.variables().iter().chain(inner.variables()).copied();
        let scope = Scope::of(network, order);
        let tables = factors.iter().map(|factor| observed_part(network, factor, observed));
        let (values, power) = FactorProduct::of_tables(&scope, tables.collect()).table();
        let given = (&[][..], Some(&*values), left);
        power + self.fill(inner.entries(), given, table, forks).unwrap_or(0)
    }

    /// How the runs of a table meet each of `factors`.
    fn parts<'a>(
        &mut self,
        network: &Network,
        (outer, inner): (&Scope, &Scope),
        factors: &[&'a Factor],
        observed: &[Option<usize>],
    ) -> Vec<Part<'a>> {
        self.copies.clear();
        self.starts.clear();
        factors
            .iter()
            .map(|factor| {
                let (values, family) = observed_part(network, factor, observed);
                self.part(network, (outer, inner), &family, values)
            })
            .collect()
    }

    /// How the runs of a table meet a factor of the variables in `family` with these values.
    fn part<'a>(
        &mut self,
        network: &Network,
        (outer, inner): (&Scope, &Scope),
        family: &Scope,
        values: &'a [f64],
    ) -> Part<'a> {
        let run = inner.entries();
        let Self { starts, along, copies } = self;
        along.clear();
        write_mapping(inner, family, along);
        let mut part = |onto: &Scope, source| {
            let part = Part { starts: starts.len(), source };
            write_mapping(outer, onto, starts);
            part
        };
        if along.iter().all(|&at| at == 0) {
            return part(family, Source::Scalar(values));
        }
        if along.iter().zip(0..).all(|(&at, place)| at == place) {
            return part(family, Source::Run(values));
        }
        let slow = outer.variables().iter().copied().filter(|&v| family.contains(v));
        let slow = Scope::of(network, slow);
        let is_read_once = slow.entries() == outer.entries();
        if is_read_once || copies.len() + slow.entries() * run > MOST_COPIED {
            return part(family, Source::Scattered(values, along.as_slice().into()));
        }
        let first = copies.len();
        for at in Odometer::new(&slow, family).take(slow.entries()) {
            let values = &values[at..];
            copies.extend(along.iter().map(|&along| values[along as usize]));
        }
        let order = slow.variables().iter().chain(inner.variables()).copied();
        let copied = Scope::of(network, order);
        part(&copied, Source::Copy(first..copies.len()))
    }

    /// Fills `table`, which has runs of `length` entries or what is left of them, with the product of
    /// all parts and of a table that was made before, and gives the exponent of its scale; `None` if
    /// the product is zero, or so near to it that numbers have lost digits.
    fn fill<T: Entry>(
        &mut self,
        length: usize,
        (parts, before, left): (&[Part<'_>], Option<&[f64]>, Option<Left<'_>>),
        table: &mut [T],
        forks: bool,
    ) -> Option<i32> {
        let product = Product { parts, starts: &self.starts, copies: &self.copies, before, length };
        let fill = |factor: f64, table: &mut [T]| match left {
            None => product.fill(factor, table, forks),
            Some(left) => {
                let (mut largest, mut run) = (0.0, product.room());
                multiply_left(product, left, factor, &mut run, table, &mut largest);
                largest
            }
        };
        let largest = fill(1.0, table);
        let scale = largest.scale_exponent().filter(|scale| f64::from(*scale) < DEEP)?;
        if NEAR_ONE.contains(&scale) {
            return Some(0);
        }
        fill(1.0.scale(scale), table);
        Some(-scale)
    }
}

/// The values of `factor` from where what is observed begins, with the variables that their indices stand for.
fn observed_part<'a>(
    network: &Network,
    factor: &'a Factor,
    observed: &[Option<usize>],
) -> (&'a [f64], Scope) {
    let family = Scope::of(network, factor.scope().iter().copied());
    let fixed = |&v: &VariableId| Some(observed[v.index()]? * family.axis(v)?.stride);
    let fixed: usize = family.variables().iter().filter_map(fixed).sum();
    (&factor.values()[fixed..], family)
}

/// The slow variables of a clique and those of its runs: as many of the fastest as make runs of some
/// length. Runs are no longer than the `longest` unless that is too short, and as long as rows where
/// there is no such limit.
fn runs(network: &Network, layout: &Layout, longest: usize) -> (Scope, Scope) {
    let variables = layout.outer.variables().iter().chain(layout.inner.variables());
    let variables: Vec<VariableId> = variables.copied().collect();
    let (mut slow, mut run) = (variables.len(), 1);
    while slow > 0 {
        let longer = run * network[variables[slow - 1]].cardinality();
        let is_wanted = slow > layout.outer.variables().len() && longer <= longest;
        if run >= SHORTEST_RUN && !is_wanted {
            break;
        }
        (slow, run) = (slow - 1, longer);
    }
    let (slow, fast) = variables.split_at(slow);
    (Scope::of(network, slow.iter().copied()), Scope::of(network, fast.iter().copied()))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::network::Variable;

    const STATES: [usize; 5] = [3, 2, 40, 1, 4];

    /// Five variables and factors of up to three of them, with zeros and very small numbers.
    fn network(factors: usize, rng: &mut Pcg64Mcg) -> Network {
        let variables = STATES.iter().enumerate().map(|(v, &states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let variables = variables.collect();
        let mut factor = || {
            let mut scope: Vec<usize> = (0..5).collect();
            for _ in 0..rng.random_range(2..5) {
                scope.remove(rng.random_range(0..scope.len()));
            }
            if rng.random_bool(0.5) {
                scope.reverse();
            }
            let tiny = if rng.random_bool(0.5) { 1e-5 } else { 1.0 };
            let mut value =
                || if rng.random_bool(0.1) { 0.0 } else { tiny * rng.random_range(0.0..1.0) };
            let entries = scope.iter().map(|&v| STATES[v]).product();
            let mut values: Vec<f64> = (0..entries).map(|_| value()).collect();
            values[rng.random_range(0..entries)] = 1.0;
            Factor::new(scope.into_iter().map(VariableId::new).collect(), values)
        };
        let factors = (0..factors).map(|_| factor()).collect();
        Network::markov("test", variables, factors).expect("it is valid")
    }

    /// The entry of `scope`'s table for the states of all variables.
    fn entry(scope: &Scope, states: &[usize]) -> usize {
        scope.variables().iter().fold(0, |at, v| at * STATES[v.index()] + states[v.index()])
    }

    /// What is left of a table is what stands there in the whole one.
    fn check_left(
        filler: &mut Filler,
        network: &Network,
        (layout, factors): (&Layout, &[&Factor]),
        observed: &[Option<usize>],
        whole: &[f64],
        exponent: i32,
    ) {
        let (mut words, mut starts, mut possible) = (Vec::new(), Vec::new(), Vec::new());
        for (number, row) in whole.chunks(layout.row()).enumerate().filter(|(row, _)| row % 3 > 0) {
            let (start, end) = (row.len() / 4, row.len() - row.len() / 5);
            words.extend([possible.len() as u32, (end - start) as u32, u32::MAX]);
            starts.push((number * row.len() + start) as u32);
            possible.extend((start..end).map(|at| u8::from(at % 7 > 0)));
        }
        let left = Left { starts: &starts, words: &words, stride: 3, possible: &possible };
        let mut table = vec![f64::NAN; possible.len()];
        let product = (layout, factors, Some(left));
        let own_exponent = filler.product(network, product, observed, &mut table, false);
        for (row, &start) in words.chunks(3).zip(&starts) {
            for at in 0..row[1] as usize {
                let own = row[0] as usize + at;
                let expected = whole[start as usize + at] * f64::from(possible[own]);
                let found = table[own].scale(own_exponent - exponent);
                assert!((found - expected).abs() <= 1e-290, "{found:e} is not {expected:e}");
            }
        }
    }

    #[test]
    fn a_table_is_the_product_of_its_factors() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let mut filler = Filler::default();
        let mut scaled = 0;
        for round in 0..120 {
            let network = network(round % 20, &mut rng);
            let mut order: Vec<VariableId> = network.ids().collect();
            // Now and then one variable is observed and no longer in the clique.
            let mut observed = [None; 5];
            if round % 3 == 0 {
                let out = order.remove(rng.random_range(0..5));
                observed[out.index()] = Some(rng.random_range(0..STATES[out.index()]));
            }
            let ports: Vec<Vec<VariableId>> = (0..3)
                .map(|_| order.iter().copied().filter(|_| rng.random_bool(0.5)).collect())
                .collect();
            let ports: Vec<&[VariableId]> = ports.iter().map(Vec::as_slice).collect();
            let layout = Layout::new(&network, &order, &ports);
            let factors: Vec<&Factor> = network.factors().collect();
            let mut table = vec![f64::NAN; layout.outer.entries() * layout.row()];
            let forks = round % 2 == 0;
            let whole = (&layout, &*factors, None);
            let exponent = filler.product(&network, whole, &observed, &mut table, forks);
            scaled += usize::from(exponent != 0);
            let order = layout.outer.variables().iter().chain(layout.inner.variables());
            let scope = Scope::of(&network, order.copied());
            assert_eq!(table.len(), scope.entries());
            check_left(&mut filler, &network, (&layout, &factors), &observed, &table, exponent);
            // Compared as logarithms: products of many small numbers are nothing.
            let mut states = observed.map(Option::unwrap_or_default);
            for (at, &found) in table.iter().enumerate() {
                for &variable in scope.variables() {
                    let axis = scope.axis(variable).expect("it is one of them");
                    states[variable.index()] = at / axis.stride % axis.cardinality;
                }
                let value = |factor: &&Factor| {
                    let scope = Scope::of(&network, factor.scope().iter().copied());
                    factor.values()[entry(&scope, &states)].log2()
                };
                let expected: f64 = factors.iter().map(value).sum();
                let found = found.log2() + f64::from(exponent);
                let is_small = expected - f64::from(exponent) < -1000.0;
                let agrees = found == expected || (found - expected).abs() < 1e-9;
                assert!(agrees || is_small, "{round}: {found}, not {expected}");
            }
            let largest = table.iter().copied().fold(0.0, f64::max);
            assert!(largest == 0.0 || (1e-5..=1e5).contains(&largest), "{round}: {largest}");
        }
        assert!(scaled > 20, "{scaled} tables needed a scale");
    }
}
