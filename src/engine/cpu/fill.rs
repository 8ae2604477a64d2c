//! The table of a clique: the product of the factors that belong into it.
//!
//! A tree of what evidence leaves is made for one propagation, so making its tables counts as much
//! as reading them. A table is written once, in runs along its fastest variables. A factor that is
//! the same all along a run is one number, one whose own table runs along with it is read in place,
//! and of another a copy is made that does, unless it is large or read only once.

use std::ops::Range;

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::engine::cpu::kernel::dispatched;
use crate::engine::cpu::layout::Layout;
use crate::engine::cpu::message::NEAR_ONE;
use crate::network::{Factor, Network, VariableId};
use crate::potential::{Entry, Odometer, Real, Scope, write_mapping};

/// Least entries of a run, if the table has so many.
const SHORTEST_RUN: usize = 24;

/// Factors that are multiplied before the product is scaled: many small numbers must not become
/// nothing.
pub(super) const AT_ONCE: usize = 8;

/// Entries of factors that are copied for one table: they are to stay in a cache.
const MOST_COPIED: usize = 1 << 15;

/// Entries from which on a table is filled by several threads.
const PIECE: usize = 32_768;

/// Makes tables, and keeps its room from one to the next.
#[derive(Default)]
pub(super) struct Filler {
    /// Where the parts of a product begin, run by run, part by part.
    starts: Vec<u32>,
    /// The entries of a factor along a run.
    along: Vec<u32>,
    /// Copies of factors whose runs are as those of the table.
    copies: Vec<f64>,
}

/// What is left of a table of which some entries are left out.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    /// The first entry of every row that is left, in the table with all entries.
    pub starts: &'a [u32],
    /// The words that describe the rows, and how many describe one.
    pub words: &'a [u32],
    pub stride: usize,
    /// For each entry that is left whether it is more than nothing.
    pub possible: &'a [u8],
}

/// A factor as the runs of a table meet it.
struct Part<'a> {
    /// Where in [`Filler::starts`] it is said where the factor begins.
    starts: usize,
    source: Source<'a>,
}

enum Source<'a> {
    /// One number for the whole run.
    Scalar(&'a [f64]),
    /// Numbers that stand side by side.
    Run(&'a [f64]),
    /// The same in a copy.
    Copy(Range<usize>),
    /// Numbers that stand apart, so far each from the first.
    Scattered(&'a [f64], Box<[u32]>),
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
        let (outer, inner) = runs(network, layout);
        let mut groups = factors.chunks(AT_ONCE);
        let last = groups.next_back().unwrap_or_default();
        let (mut before, mut exponent): (Option<Vec<f64>>, i32) = (None, 0);
        for group in groups {
            let parts = self.parts(network, (&outer, &inner), group, observed);
            let mut values = vec![0.0; layout.entries()];
            let given = (&*parts, before.as_deref(), None);
            exponent += self.fill(inner.entries(), given, &mut values, forks);
            before = Some(values);
        }
        let parts = self.parts(network, (&outer, &inner), last, observed);
        exponent + self.fill(inner.entries(), (&parts, before.as_deref(), left), table, forks)
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
                let family = Scope::of(network, factor.scope().iter().copied());
                let fixed = |&v: &VariableId| Some(observed[v.index()]? * family.axis(v)?.stride);
                let fixed: usize = family.variables().iter().filter_map(fixed).sum();
                self.part(network, (outer, inner), &family, &factor.values()[fixed..])
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
    /// all parts and of a table that was made before, and gives the exponent of its scale.
    fn fill<T: Entry>(
        &mut self,
        length: usize,
        (parts, before, left): (&[Part<'_>], Option<&[f64]>, Option<Left<'_>>),
        table: &mut [T],
        forks: bool,
    ) -> i32 {
        let product = Product { parts, starts: &self.starts, copies: &self.copies, before, length };
        let fill = |factor: f64, table: &mut [T]| match left {
            None => product.fill(factor, table, forks),
            Some(left) => {
                let (mut largest, mut run) = (0.0, vec![0.0; length]);
                multiply_left(product, left, factor, &mut run, table, &mut largest);
                largest
            }
        };
        let largest = fill(1.0, table);
        let scale = largest.scale_exponent().unwrap_or(0);
        if NEAR_ONE.contains(&scale) {
            return 0;
        }
        fill(1.0.scale(scale), table);
        -scale
    }
}

/// A product of parts and of a table that was made before.
#[derive(Clone, Copy)]
struct Product<'a> {
    parts: &'a [Part<'a>],
    starts: &'a [u32],
    copies: &'a [f64],
    before: Option<&'a [f64]>,
    /// Entries of a run.
    length: usize,
}

impl Product<'_> {
    /// Fills `table` with the product times `factor`, and gives its largest entry.
    fn fill<T: Entry>(self, factor: f64, table: &mut [T], forks: bool) -> f64 {
        let pieces = if forks { (table.len() / PIECE).max(1) } else { 1 };
        let runs = (table.len() / self.length).div_ceil(pieces).max(1);
        let fill = |(piece, table): (usize, &mut [T])| {
            let (mut largest, mut run) = (0.0, vec![0.0; self.length]);
            multiply(self, piece * runs, factor, &mut run, table, &mut largest);
            largest
        };
        if pieces == 1 {
            return fill((0, table));
        }
        let pieces = table.par_chunks_mut(runs * self.length).enumerate();
        pieces.map(fill).reduce(|| 0.0, f64::max)
    }
}

/// The slow variables of a clique and those of its runs: all of the fastest group, and more until
/// runs have some length.
fn runs(network: &Network, layout: &Layout) -> (Scope, Scope) {
    let variables = layout.outer.variables();
    let (mut slow, mut run) = (variables.len(), layout.row());
    while slow > 0 && run < SHORTEST_RUN {
        slow -= 1;
        run *= network[variables[slow]].cardinality();
    }
    let fast = variables[slow..].iter().chain(layout.inner.variables());
    (Scope::of(network, variables[..slow].iter().copied()), Scope::of(network, fast.copied()))
}

dispatched!(
    /// Writes the product times `factor` into `table`, which begins with run number `first`, and
    /// into `largest` its largest entry. `run` is the room for one.
    multiply<Entry>, multiply_runs,
    (
        product: Product<'_>,
        first: usize,
        factor: f64,
        run: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_runs<T: Entry>(
    product: Product<'_>,
    first: usize,
    factor: f64,
    run: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { parts, starts, copies, before, length } = product;
    for (entries, number) in table.chunks_exact_mut(length).zip(first..) {
        let start = |part: &Part<'_>| starts[part.starts + number] as usize;
        let mut factor = factor;
        for part in parts {
            if let Source::Scalar(values) = part.source {
                factor *= values[start(part)];
            }
        }
        if factor == 0.0 {
            entries.fill(T::ZERO);
            continue;
        }
        let before = before.map(|before| &before[number * length..]);
        let own = multiply_run(parts, start, copies, (before, 0), factor, run, entries);
        *largest = if own > *largest { own } else { *largest };
    }
}

/// Writes a stretch of a run into `entries`, the product of `factor` and of all parts that are not one
/// number for the whole run, and gives the largest entry. The stretch begins so many entries after
/// the run; a table that was made before is given from where the stretch begins. `room` is as long as
/// the stretch or longer.
#[inline(always)]
fn multiply_run<T: Entry>(
    parts: &[Part<'_>],
    start: impl Fn(&Part<'_>) -> usize,
    copies: &[f64],
    (before, offset): (Option<&[f64]>, usize),
    factor: f64,
    room: &mut [f64],
    entries: &mut [T],
) -> f64 {
    let length = entries.len();
    let room = &mut room[..length];
    let mut is_first = true;
    // The parts that stand side by side, and last the product of those that do not.
    let mut streams: [&[f64]; AT_ONCE + 2] = [&[]; AT_ONCE + 2];
    let mut count = 0;
    let mut stream = |values| {
        streams[count] = values;
        count += 1;
    };
    if let Some(before) = before {
        stream(&before[..length]);
    }
    for part in parts {
        match &part.source {
            Source::Scalar(_) => {}
            Source::Run(values) => stream(&values[start(part) + offset..][..length]),
            Source::Copy(range) => {
                stream(&copies[range.clone()][start(part) + offset..][..length]);
            }
            Source::Scattered(values, along) => {
                let values = &values[start(part)..];
                let terms = room.iter_mut().zip(&along[offset..]);
                if std::mem::take(&mut is_first) {
                    terms.for_each(|(entry, &along)| *entry = values[along as usize]);
                } else {
                    terms.for_each(|(entry, &along)| *entry *= values[along as usize]);
                }
            }
        }
    }
    if !is_first {
        stream(room);
    }
    let largest = match streams[..count] {
        [] => {
            entries.fill(T::from_f64(factor));
            1.0
        }
        [a] => multiply_streams([a], factor, entries),
        [a, b] => multiply_streams([a, b], factor, entries),
        [a, b, c] => multiply_streams([a, b, c], factor, entries),
        [a, b, c, ref others @ ..] => {
            let mut product = [0.0; LONGEST_AT_ONCE];
            let mut largest = 0.0;
            for (part, entries) in entries.chunks_mut(LONGEST_AT_ONCE).enumerate() {
                let from = part * LONGEST_AT_ONCE;
                let product = &mut product[..entries.len()];
                let first = [a, b, c].map(|values| &values[from..][..entries.len()]);
                multiply_streams(first, 1.0, product);
                for values in others {
                    let terms = product.iter_mut().zip(&values[from..]);
                    terms.for_each(|(entry, value)| *entry *= value);
                }
                let own = multiply_streams([&*product], factor, entries);
                largest = if own > largest { own } else { largest };
            }
            largest
        }
    };
    factor * largest
}

/// Entries of a product of many factors that are computed at once.
const LONGEST_AT_ONCE: usize = 256;

/// Writes `factor` times the product of `streams` into `entries`, and gives the largest product.
#[inline(always)]
fn multiply_streams<const N: usize, T: Entry>(
    streams: [&[f64]; N],
    factor: f64,
    entries: &mut [T],
) -> f64 {
    const LANES: usize = 8;
    let streams = streams.map(|values| &values[..entries.len()]);
    let product = |at: usize| {
        let first = streams[0][at];
        streams[1..].iter().fold(first, |product, values| product * values[at])
    };
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let whole = entries.len() / LANES * LANES;
    let (chunks, rest) = entries.split_at_mut(whole);
    let mut lanes = [0.0; LANES];
    for (number, chunk) in chunks.chunks_exact_mut(LANES).enumerate() {
        let from = number * LANES;
        let parts = streams.map(|values| &values[from..from + LANES]);
        for lane in 0..LANES {
            let first = parts[0][lane];
            let value = parts[1..].iter().fold(first, |product, values| product * values[lane]);
            chunk[lane] = T::from_f64(factor * value);
            lanes[lane] = larger(lanes[lane], value);
        }
    }
    let mut largest = lanes.into_iter().fold(0.0, larger);
    for (at, entry) in (whole..).zip(rest) {
        let value = product(at);
        *entry = T::from_f64(factor * value);
        largest = larger(largest, value);
    }
    largest
}

dispatched!(
    /// Writes what is left of the product times `factor` into `table`, and into `largest` its largest
    /// entry. `run` is the room for one run.
    multiply_left<Entry>, multiply_rows,
    (
        product: Product<'_>,
        left: Left<'_>,
        factor: f64,
        run: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_rows<T: Entry>(
    product: Product<'_>,
    left: Left<'_>,
    factor: f64,
    run: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { parts, starts, copies, before, length } = product;
    for (row, &at) in left.words.chunks_exact(left.stride).zip(left.starts) {
        let range = row[0] as usize..(row[0] + row[1]) as usize;
        let (number, offset) = (at as usize / length, at as usize % length);
        let start = |part: &Part<'_>| starts[part.starts + number] as usize;
        let mut factor = factor;
        for part in parts {
            if let Source::Scalar(values) = part.source {
                factor *= values[start(part)];
            }
        }
        let before = before.map(|before| &before[at as usize..]);
        let entries = &mut table[range.clone()];
        let own = multiply_run(parts, start, copies, (before, offset), factor, run, entries);
        for (entry, &is) in entries.iter_mut().zip(&left.possible[range]) {
            *entry = if is == 0 { T::ZERO } else { *entry };
        }
        *largest = if own > *largest { own } else { *largest };
    }
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
