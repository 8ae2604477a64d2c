//! Fills the table of a clique with the product of its factors.
//!
//! The entry at x is the product over all factors f of f(x restricted to the variables of f). It is
//! stored divided by 2^exponent, so that the largest entry of a full table is near one:
//!
//! ```text
//! table[x] = 2^-exponent * product over factors f of
//!            f[start_f(run of x) + offset_f(position of x in its run)]
//! ```
//!
//! Here the clique's variables are divided into *outer* and *inner* ones. A *run* is one pass
//! through the states of the inner variables. These are the fastest, so the entries of a run are
//! consecutive. The start of a factor depends only on the run, and the offset only on the position
//! in the run. Runs need not be the rows along which messages are passed.
//!
//! [`RunSource`](super::multiply::RunSource) lists the ways to read a factor, and [`runs`] chooses
//! among them. If all offsets of a factor are zero, a run reads a single number. If they are 0, 1,
//! 2, ..., a run reads consecutive values in place. Any other factor that several runs read in the
//! same way is first copied into an order in which the values of a run are consecutive. The values
//! of factors that are large or read only once are gathered one at a time.
//!
//! A reduced tree is often made for a single propagation, so making its tables should take no
//! longer than reading them. Most tables are therefore written only once, with exponent zero. If
//! the largest entry is then not near one, the table is filled again with the right exponent.

mod runs;

use crate::allocate;
use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::multiply::{
    FactorRuns, MAX_FACTORS, Product, SparseRows, multiply_sparse,
};
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::vector::NEAR_ONE;
use crate::engine::factors::{FactorProduct, smallest_nonzero};
use crate::network::Factor;
use crate::potential::{Entry, Real, Scope};
use runs::{MAX_RUN, observed_part, split_variables};

/// If an intermediate product may be smaller than two to the power of minus this, or if all entries
/// of the product are, [`FactorProduct`] multiplies the factors instead. This is slower, but keeps
/// an exponent for each entry. Double precision loses digits below 2^-1022.
pub const MAX_NEGATIVE_EXPONENT: f64 = 900.0;

/// Makes tables, and reuses its buffers from one table to the next.
#[derive(Default)]
pub struct TableBuilder {
    /// For each factor, and for each run of the table: the index of the factor's first value along
    /// the run.
    starts: Vec<u32>,
    /// For each position in a run: the offset of a factor's value from the factor's first value
    /// along the run.
    offsets: Vec<u32>,
}

impl TableBuilder {
    /// Fills `table`, in the order of `layout`, with the product of `factors`. If `sparse` rows are
    /// given, the table has only the entries of these rows. If `forks`, several threads fill a
    /// large full table.
    ///
    /// Returns the exponent of the power of two by which the table must be multiplied. As stored,
    /// the largest entry of a full table is near one, unless the product is zero.
    pub fn product(
        &mut self,
        inputs: TableInputs<'_>,
        layout: &Layout,
        factors: &[&Factor],
        sparse: Option<SparseRows<'_>>,
        table: &mut [impl Entry],
        forks: bool,
    ) -> i32 {
        let max_run = if sparse.is_some() { usize::MAX } else { MAX_RUN };
        let (outer, inner) = split_variables(inputs.network, layout, max_run);
        self.product_in_runs(inputs, (&outer, &inner), factors, sparse, table, forks)
    }

    /// As [`product`](Self::product), for a table with the variables `scopes`: first the outer
    /// variables, then the inner variables, which are those along a run.
    pub fn product_in_runs(
        &mut self,
        inputs: TableInputs<'_>,
        scopes: (&Scope, &Scope),
        factors: &[&Factor],
        sparse: Option<SparseRows<'_>>,
        table: &mut [impl Entry],
        forks: bool,
    ) -> i32 {
        let direct = if may_underflow(factors) {
            None
        } else {
            self.direct_product(inputs, scopes, factors, sparse, table, forks)
        };
        direct.unwrap_or_else(|| {
            let (values, exponent) = product_with_exponents(inputs, scopes, factors);
            let (_, inner) = scopes;
            let length = inner.entries();
            let earlier = Some(&*values);
            let product = Product { factors: &[], starts: &[], earlier, length };
            exponent + fill_scaled(product, sparse, table, forks).unwrap_or(0)
        })
    }

    /// Fills `table` with the product of `factors`, up to [`MAX_FACTORS`] at a time. The earlier
    /// factors are multiplied into temporary tables. Returns the exponent of the power of two by
    /// which `table` must be multiplied; `None` if the product is zero, or so close to zero that
    /// digits may have been lost.
    fn direct_product(
        &mut self,
        inputs: TableInputs<'_>,
        scopes: (&Scope, &Scope),
        factors: &[&Factor],
        sparse: Option<SparseRows<'_>>,
        table: &mut [impl Entry],
        forks: bool,
    ) -> Option<i32> {
        let (outer, inner) = scopes;
        let length = inner.entries();
        let mut chunks = factors.chunks(MAX_FACTORS);
        let last = chunks.next_back().unwrap_or_default();
        let mut earlier: Option<Vec<f64>> = None;
        let mut exponent = 0;
        for chunk in chunks {
            let mut values = allocate::zeros(outer.entries() * length);
            let runs = self.factor_runs(inputs, scopes, chunk);
            let product = self.product_of(&runs, earlier.as_deref(), length);
            exponent += fill_scaled(product, None, &mut values, forks).unwrap_or(0);
            earlier = Some(values);
        }
        let runs = self.factor_runs(inputs, scopes, last);
        let product = self.product_of(&runs, earlier.as_deref(), length);
        Some(exponent + fill_scaled(product, sparse, table, forks)?)
    }

    /// The product of factors, which [`factor_runs`](Self::factor_runs) prepared, and of the table
    /// of earlier factors.
    fn product_of<'a>(
        &'a self,
        factors: &'a [FactorRuns<'a>],
        earlier: Option<&'a [f64]>,
        length: usize,
    ) -> Product<'a> {
        Product { factors, starts: &self.starts, earlier, length }
    }
}

/// Whether the product of `factors` takes several passes over the table, and entries may underflow
/// in between.
fn may_underflow(factors: &[&Factor]) -> bool {
    let exponent = |factor: &&Factor| -smallest_nonzero(factor.values()).log2();
    factors.len() > MAX_FACTORS && factors.iter().map(exponent).sum::<f64>() > MAX_NEGATIVE_EXPONENT
}

/// The product of `factors`, in runs, and the exponent of the power of two by which it must be
/// multiplied. Slow, but no intermediate result underflows.
fn product_with_exponents(
    inputs: TableInputs<'_>,
    (outer, inner): (&Scope, &Scope),
    factors: &[&Factor],
) -> (Vec<f64>, i32) {
    let order = outer.variables().iter().chain(inner.variables()).copied();
    let scope = Scope::of(inputs.network, order);
    let tables = factors.iter().map(|factor| observed_part(inputs, factor));
    FactorProduct::from_tables(&scope, tables.collect()).table()
}

/// Fills `table` with `product`, in runs or in `sparse` rows. Returns the exponent of the power of
/// two by which `table` must be multiplied; `None` if the product is zero, or so close to zero that
/// digits may have been lost.
fn fill_scaled<T: Entry>(
    product: Product<'_>,
    sparse: Option<SparseRows<'_>>,
    table: &mut [T],
    forks: bool,
) -> Option<i32> {
    let mut fill = |scale: f64| match sparse {
        None => product.fill(scale, table, forks),
        Some(sparse) => {
            let (mut largest, mut buffer) = (0.0, product.buffer());
            multiply_sparse(product, sparse, scale, &mut buffer, table, &mut largest);
            largest
        }
    };
    let largest = fill(1.0);
    let is_safe = |exponent: &i32| f64::from(*exponent) < MAX_NEGATIVE_EXPONENT;
    let scale_exponent = largest.scale_exponent().filter(is_safe)?;
    if NEAR_ONE.contains(&scale_exponent) {
        return Some(0);
    }
    fill(1.0.scale(scale_exponent));
    Some(-scale_exponent)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::lowering::Optimisations;
    use crate::network::{Network, Variable, VariableId};

    const STATES: [usize; 5] = [3, 2, 40, 1, 4];

    /// A network of five variables. Each factor has one to three of these variables. Factors have
    /// zeros, and about half of them have very small values.
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

    /// Asserts that a table made in sparse rows has the same entries as the full table, which is
    /// `whole` times two to the power of `exponent`.
    fn assert_sparse_rows_equal(
        builder: &mut TableBuilder,
        inputs: TableInputs<'_>,
        (layout, factors): (&Layout, &[&Factor]),
        (whole, exponent): (&[f64], i32),
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
        let own_exponent =
            builder.product(inputs, layout, factors, Some(sparse), &mut table, false);
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
            let layout = Layout::new(&network, &order, &ports, true, Optimisations::default());
            let factors: Vec<&Factor> = network.factors().collect();
            let mut table = vec![f64::NAN; layout.outer.entries() * layout.run_entries()];
            let forks = round % 2 == 0;
            let inputs = TableInputs {
                network: &network,
                observed: &observed,
                smallest: &[],
                threads: None,
                optimisations: Optimisations::default(),
            };
            let exponent = builder.product(inputs, &layout, &factors, None, &mut table, forks);
            scaled += usize::from(exponent != 0);
            let order = layout.outer.variables().iter().chain(layout.inner.variables());
            let scope = Scope::of(&network, order.copied());
            assert_eq!(table.len(), scope.entries());
            let product = (&layout, &*factors);
            assert_sparse_rows_equal(&mut builder, inputs, product, (&table, exponent));
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
