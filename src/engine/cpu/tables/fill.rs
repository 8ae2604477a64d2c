//! Fills the table of a clique with the product of its factors.
//!
//! A reduced tree is often made for a single propagation, so making its tables must cost no more
//! than reading them. Most tables are written only once; a second pass rescales a table whose
//! largest entry is not near one. A table is written in *runs* along its fastest variables, which
//! need not be the rows along which messages are passed. A factor that is constant along a run
//! gives a single number. A factor with consecutive entries along the run is read in place. Any
//! other factor is first copied, so that its entries along the run are consecutive, unless the copy
//! would be large or read only once.

use crate::engine::cpu::tables::multiply::{
    FactorRuns, MAX_FACTORS, Product, RunSource, SparseRows, multiply_sparse,
};
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::vector::NEAR_ONE;
use crate::engine::factors::{FactorProduct, smallest_nonzero};
use crate::network::{Factor, Network, VariableId};
use crate::potential::{Entry, Odometer, Real, Scope, write_mapping};

/// Minimum number of entries of a run, unless the whole table has fewer. Like the two constants
/// below, tuned on the paper's eight networks; if it is wrong, only speed changes.
const MIN_RUN: usize = 24;

/// Maximum number of entries of a run, unless the run needs another variable to reach [`MIN_RUN`].
/// The runs of a sparse table have no maximum.
const MAX_RUN: usize = 1024;

/// Maximum number of entries of all copies of factors for one table, so that they stay in the L2
/// cache.
const MAX_COPIED: usize = 1 << 15;

/// If a product may be smaller than two to the power of minus this, it is made by [`FactorProduct`]
/// instead, which is slower but cannot underflow. Double precision loses digits below 2^-1022.
const MAX_NEGATIVE_EXPONENT: f64 = 900.0;

/// Makes tables, and reuses its buffers from one to the next.
#[derive(Default)]
pub struct TableBuilder {
    /// For each factor, and for each run of the table: the index of the factor's first value along
    /// the run.
    starts: Vec<u32>,
    /// The offsets of a factor's values along a run.
    offsets: Vec<u32>,
    /// Copies of factors in the order of runs.
    copies: Vec<f64>,
}

impl TableBuilder {
    /// Fills `table`, in the order of a layout, with the product of factors of `network`. If sparse
    /// rows are given, the table has only the entries of these rows. Returns the exponent of the
    /// power of two by which the table must be multiplied. The largest entry is near one, unless
    /// the product is zero.
    ///
    /// A variable that was removed from the clique has its state in `observed`. If `forks`, several
    /// threads fill a large table.
    pub fn product<'a, T: Entry>(
        &mut self,
        network: &'a Network,
        (layout, factors, sparse): (&Layout, &[&'a Factor], Option<SparseRows<'_>>),
        observed: &[Option<usize>],
        table: &mut [T],
        forks: bool,
    ) -> i32 {
        let max_run = if sparse.is_some() { usize::MAX } else { MAX_RUN };
        let (outer, inner) = runs(network, layout, max_run);
        self.product_in_runs(network, (&outer, &inner), (factors, sparse), observed, table, forks)
    }

    /// As [`product`](Self::product), for a table whose slow variables are `outer` and whose runs
    /// are along the variables `inner`.
    pub fn product_in_runs<'a, T: Entry>(
        &mut self,
        network: &'a Network,
        (outer, inner): (&Scope, &Scope),
        (factors, sparse): (&[&'a Factor], Option<SparseRows<'_>>),
        observed: &[Option<usize>],
        table: &mut [T],
        forks: bool,
    ) -> i32 {
        let mut groups = factors.chunks(MAX_FACTORS);
        let last = groups.next_back().unwrap_or_default();
        let (mut earlier, mut exponent): (Option<Vec<f64>>, i32) = (None, 0);
        let may_underflow = factors.len() > MAX_FACTORS && {
            let below = factors.iter().map(|factor| -smallest_nonzero(factor.values()).log2());
            below.sum::<f64>() > MAX_NEGATIVE_EXPONENT
        };
        if !may_underflow {
            for group in groups {
                let runs = self.factor_runs(network, (outer, inner), group, observed);
                let mut values = vec![0.0; outer.entries() * inner.entries()];
                let product = (&*runs, earlier.as_deref(), None);
                exponent += self.fill(inner.entries(), product, &mut values, forks).unwrap_or(0);
                earlier = Some(values);
            }
            let runs = self.factor_runs(network, (outer, inner), last, observed);
            let product = (&*runs, earlier.as_deref(), sparse);
            if let Some(last) = self.fill(inner.entries(), product, table, forks) {
                return exponent + last;
            }
        }
        // The product, or an intermediate product, may underflow.
        let order = outer.variables().iter().chain(inner.variables()).copied();
        let scope = Scope::of(network, order);
        let tables = factors.iter().map(|factor| observed_part(network, factor, observed));
        let (values, power) = FactorProduct::from_tables(&scope, tables.collect()).table();
        let product = (&[][..], Some(&*values), sparse);
        power + self.fill(inner.entries(), product, table, forks).unwrap_or(0)
    }

    /// Each of `factors` as the runs of a table read it.
    fn factor_runs<'a>(
        &mut self,
        network: &Network,
        (outer, inner): (&Scope, &Scope),
        factors: &[&'a Factor],
        observed: &[Option<usize>],
    ) -> Vec<FactorRuns<'a>> {
        self.copies.clear();
        self.starts.clear();
        factors
            .iter()
            .map(|factor| {
                let (values, family) = observed_part(network, factor, observed);
                self.runs_of_factor(network, (outer, inner), &family, values)
            })
            .collect()
    }

    /// The factor with scope `family` and the given values, as the runs of a table read it.
    fn runs_of_factor<'a>(
        &mut self,
        network: &Network,
        (outer, inner): (&Scope, &Scope),
        family: &Scope,
        values: &'a [f64],
    ) -> FactorRuns<'a> {
        let run = inner.entries();
        let Self { starts, offsets, copies } = self;
        offsets.clear();
        write_mapping(inner, family, offsets);
        let mut runs = |onto: &Scope, source| {
            let runs = FactorRuns { starts: starts.len(), source };
            write_mapping(outer, onto, starts);
            runs
        };
        if offsets.iter().all(|&offset| offset == 0) {
            return runs(family, RunSource::Scalar(values));
        }
        if offsets.iter().zip(0..).all(|(&offset, position)| offset == position) {
            return runs(family, RunSource::Run(values));
        }
        let slow = outer.variables().iter().copied().filter(|&v| family.contains(v));
        let slow = Scope::of(network, slow);
        let is_read_once = slow.entries() == outer.entries();
        if is_read_once || copies.len() + slow.entries() * run > MAX_COPIED {
            return runs(family, RunSource::Scattered(values, offsets.as_slice().into()));
        }
        let first = copies.len();
        for at in Odometer::new(&slow, family).take(slow.entries()) {
            let values = &values[at..];
            copies.extend(offsets.iter().map(|&offset| values[offset as usize]));
        }
        let order = slow.variables().iter().chain(inner.variables()).copied();
        let copied = Scope::of(network, order);
        runs(&copied, RunSource::Copy(first..copies.len()))
    }

    /// Fills `table`, in runs of `length` entries or in sparse rows, with the product of factors
    /// and of an earlier table. Returns the exponent of the power of two by which `table` must be
    /// multiplied; `None` if the product is zero, or so close to zero that digits were lost.
    fn fill<T: Entry>(
        &mut self,
        length: usize,
        (factors, earlier, sparse): (&[FactorRuns<'_>], Option<&[f64]>, Option<SparseRows<'_>>),
        table: &mut [T],
        forks: bool,
    ) -> Option<i32> {
        let Self { starts, copies, .. } = self;
        let product = Product { factors, starts, copies, earlier, length };
        let fill = |scale: f64, table: &mut [T]| match sparse {
            None => product.fill(scale, table, forks),
            Some(sparse) => {
                let (mut largest, mut buffer) = (0.0, product.buffer());
                multiply_sparse(product, sparse, scale, &mut buffer, table, &mut largest);
                largest
            }
        };
        let largest = fill(1.0, table);
        let is_safe = |scale: &i32| f64::from(*scale) < MAX_NEGATIVE_EXPONENT;
        let scale = largest.scale_exponent().filter(is_safe)?;
        if NEAR_ONE.contains(&scale) {
            return Some(0);
        }
        fill(1.0.scale(scale), table);
        Some(-scale)
    }
}

/// The values of `factor`, beginning with the first that agrees with the observed states; and the
/// scope of the whole factor. An index in this scope with all observed variables in state zero is
/// an index into these values.
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

/// Splits the variables of a layout into slow variables and variables along a run.
///
/// Variables are added to the run, the fastest first, until it has [`MIN_RUN`] entries. Further
/// variables of the fastest group are added as long as the run has at most `max_run` entries.
fn runs(network: &Network, layout: &Layout, max_run: usize) -> (Scope, Scope) {
    let variables = layout.outer.variables().iter().chain(layout.inner.variables());
    let variables: Vec<VariableId> = variables.copied().collect();
    let (mut slow, mut run) = (variables.len(), 1);
    while slow > 0 {
        let longer = run * network[variables[slow - 1]].cardinality();
        let may_grow = slow > layout.outer.variables().len() && longer <= max_run;
        if run >= MIN_RUN && !may_grow {
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

    /// A network of five variables. Each factor has one to three of them; some have zeros and very
    /// small values.
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
        Network::markov("test", variables, factors).expect("the network is valid")
    }

    /// The index of `states` in a table over `scope`.
    fn entry(scope: &Scope, states: &[usize]) -> usize {
        scope.variables().iter().fold(0, |at, v| at * STATES[v.index()] + states[v.index()])
    }

    /// Asserts that a table made in sparse rows has the same entries as the full table `whole`.
    fn assert_sparse_rows_equal(
        builder: &mut TableBuilder,
        network: &Network,
        (layout, factors): (&Layout, &[&Factor]),
        observed: &[Option<usize>],
        whole: &[f64],
        exponent: i32,
    ) {
        let (mut words, mut starts, mut possible) = (Vec::new(), Vec::new(), Vec::new());
        for (number, row) in
            whole.chunks(layout.run_entries()).enumerate().filter(|(row, _)| row % 3 > 0)
        {
            let (start, end) = (row.len() / 4, row.len() - row.len() / 5);
            words.extend([possible.len() as u32, (end - start) as u32, u32::MAX]);
            starts.push((number * row.len() + start) as u32);
            possible.extend((start..end).map(|at| u8::from(at % 7 > 0)));
        }
        let sparse = SparseRows { starts: &starts, words: &words, stride: 3, possible: &possible };
        let mut table = vec![f64::NAN; possible.len()];
        let product = (layout, factors, Some(sparse));
        let own_exponent = builder.product(network, product, observed, &mut table, false);
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
        let mut builder = TableBuilder::default();
        let mut scaled = 0;
        for round in 0..120 {
            let network = network(round % 20, &mut rng);
            let mut order: Vec<VariableId> = network.ids().collect();
            // In every third round, one variable is observed and removed from the clique.
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
            let mut table = vec![f64::NAN; layout.outer.entries() * layout.run_entries()];
            let forks = round % 2 == 0;
            let whole = (&layout, &*factors, None);
            let exponent = builder.product(&network, whole, &observed, &mut table, forks);
            scaled += usize::from(exponent != 0);
            let order = layout.outer.variables().iter().chain(layout.inner.variables());
            let scope = Scope::of(&network, order.copied());
            assert_eq!(table.len(), scope.entries());
            let product = (&layout, &*factors);
            assert_sparse_rows_equal(&mut builder, &network, product, &observed, &table, exponent);
            // Compare logarithms: products of many small numbers underflow.
            let mut states = observed.map(Option::unwrap_or_default);
            for (at, &found) in table.iter().enumerate() {
                for &variable in scope.variables() {
                    let axis = scope.axis(variable).expect("the scope holds it");
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
        assert!(scaled > 20, "{scaled} tables were rescaled");
    }
}
