//! The CPU twin of the kernels of `kernels/batch.cu`: computes the same from the same buffers.

use super::buffers::Buffers;
use super::steps::{self, END_OF_BLOCK, NONE};
use super::work_items::{CONSTANT, ONE_FACTOR, TILES, TWO_FACTORS, WorkItem};
use super::{Executor, MAX_SETS};
use crate::engine::RunError;
use crate::engine::batch::add_up;
use crate::potential::Real;

/// Number of cases in a group. The kernel may have a different number: results do not depend on it.
const GROUP: usize = 32;

/// The first factor is scaled so that its largest entry is near two to this power. Shared with the
/// kernel.
pub const PEAK: i32 = 32;

/// The amount added to a raised row is the bound on the row's error by underflow, multiplied by two
/// to the power of this. Shared with the kernel.
pub const RAISE: i32 = 2;

/// Marks a message that is not raised, in place of its exponent in `Group::levels`. Two to this
/// power is zero in single precision. Shared with the kernel.
pub const NOT_RAISED: i32 = -16_777_216;

/// One number for each case of a group.
type Numbers = [f32; GROUP];

/// The messages of a group of cases.
struct Group {
    /// Indexed by entry.
    messages: Vec<Numbers>,
    /// The largest entry of each message, indexed by message.
    largest: Vec<Numbers>,
    /// The exponent of the power of two to multiply each message by, indexed by message.
    exponents: Vec<[i32; GROUP]>,
    /// By message: an exponent. Two to this power is at least the sum of what raising has added to
    /// the entries of the message. [`NOT_RAISED`] if the message is not raised.
    levels: Vec<[i32; GROUP]>,
}

/// How a work item scales its factors and raises its rows, for each case.
struct Scales {
    first: Numbers,
    second: Numbers,
    /// The exponents of the powers of two to multiply the result by.
    exponents: [i32; GROUP],
    /// The exponents of what is added to each row.
    raise: [i32; GROUP],
}

/// The evidence and results of all buffer sets.
pub struct Twin {
    capacity: usize,
    packed: [Vec<u32>; MAX_SETS],
    results: [Vec<f32>; MAX_SETS],
}

impl Twin {
    /// A twin whose buffer sets hold `capacity` cases.
    pub fn new(buffers: &Buffers, capacity: usize) -> Self {
        let packed = || vec![0; capacity * buffers.max_packed_words()];
        Self { capacity, packed: std::array::from_fn(|_| packed()), results: Default::default() }
    }
}

impl Executor for Twin {
    fn sets(&self) -> usize {
        MAX_SETS
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn packed(&mut self, set: usize, words: usize) -> &mut [u32] {
        &mut self.packed[set][..words]
    }

    fn start(
        &mut self,
        buffers: &Buffers,
        set: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError> {
        let words = buffers.packed_words(is_soft);
        let packed: Vec<&[u32]> = self.packed[set].chunks(words).take(cases).collect();
        self.results[set].clear();
        for packed in packed.chunks(GROUP) {
            let mut group = Group {
                // NaN: if an entry is read before it is written, the result is NaN and the test
                // fails.
                messages: vec![[f32::NAN; GROUP]; buffers.entries],
                largest: vec![[0.0; GROUP]; buffers.messages],
                exponents: vec![[i32::MAX; GROUP]; buffers.messages],
                levels: vec![[i32::MAX; GROUP]; buffers.messages],
            };
            group.enter_findings(buffers, packed, is_soft);
            for items in &buffers.launches {
                // The blocks of a launch may run in any order. The twin runs the work items from
                // last to first, to find dependencies between them.
                for item in buffers.items[items.clone()].iter().rev() {
                    group.propagate(buffers, item);
                }
            }
            for case in 0..packed.len() {
                let word = |entry: u32| group.messages[entry as usize][case];
                let posteriors = buffers.reads.iter().map(|&[a, b]| word(a) * word(b));
                let power = group.exponents[buffers.first_message as usize][case];
                let last = [f32::from_bits(power as u32), group.loss(buffers, case)];
                self.results[set].extend(posteriors.chain(last));
            }
        }
        Ok(())
    }

    fn results(&mut self, set: usize) -> Result<&[f32], RunError> {
        Ok(&self.results[set])
    }
}

impl Group {
    /// Writes the messages from all variables, as `enter_findings` in `kernels/batch.cu` does.
    fn enter_findings(&mut self, buffers: &Buffers, packed: &[&[u32]], is_soft: bool) {
        for (number, &[start, message, states, first]) in buffers.variables.iter().enumerate() {
            for case in 0..GROUP {
                let words = packed.get(case);
                for state in 0..states {
                    let weight = match words {
                        Some(words) if is_soft => f32::from_bits(words[(first + state) as usize]),
                        Some(words) if words[number] > 0 && words[number] != 1 + state => 0.0,
                        _ => 1.0,
                    };
                    self.messages[(start + state) as usize][case] = weight;
                }
            }
            self.largest[message as usize] = [1.0; GROUP];
            self.exponents[message as usize] = [0; GROUP];
            self.levels[message as usize] = [NOT_RAISED; GROUP];
        }
    }

    /// Computes a work item, as `propagate` in `kernels/batch.cu` does.
    fn propagate(&mut self, buffers: &Buffers, item: &WorkItem) {
        let scales = self.scales(item);
        let mut rows: [Vec<Term>; 4] = Default::default();
        let length = steps::length(item.kind);
        let steps = &buffers.steps[item.first_step as usize..];
        for record in steps.chunks(length).take(item.steps as usize) {
            for number in 0..steps::terms(item.kind) {
                let terms = terms(record, item.kind, number);
                let is_row = terms.iter().any(|(_, end)| ![NONE, END_OF_BLOCK].contains(end));
                for (row, (term, end)) in rows.iter_mut().zip(terms) {
                    row.push(term);
                    if is_row && end != NONE {
                        self.store(item, end, self.sum(item, row, &scales), &scales);
                    }
                }
                if is_row {
                    rows.iter_mut().for_each(Vec::clear);
                }
            }
        }
        if item.is_first == 1 {
            let log_rows = item.log_rows as i32;
            self.exponents[item.result_message as usize] = scales.exponents;
            self.levels[item.result_message as usize] = match item.kind {
                CONSTANT => [NOT_RAISED; GROUP],
                _ => scales.raise.map(|exponent| exponent + 1 + log_rows),
            };
        }
    }

    /// Stores the sum of a row as entry number `entry` of the result.
    fn store(&mut self, item: &WorkItem, entry: u32, mut sum: Numbers, scales: &Scales) {
        if item.kind != CONSTANT {
            let raise = scales.raise.map(|exponent| 1.0_f32.scale(exponent));
            sum.iter_mut().zip(raise).for_each(|(sum, raise)| *sum += raise);
        }
        self.messages[(item.result + entry) as usize] = sum;
        let largest = &mut self.largest[item.result_message as usize];
        largest.iter_mut().zip(sum).for_each(|(largest, sum)| *largest = largest.max(sum));
    }

    /// The scales of both factors for each case, and what is added to each row.
    fn scales(&self, item: &WorkItem) -> Scales {
        let (mut scales, mut exponents) = ([[1.0; GROUP]; 2], [0; GROUP]);
        let mut shifts = [[0; GROUP]; 2];
        let factors = [
            (item.kind > CONSTANT, item.factor_message, PEAK),
            (item.kind > ONE_FACTOR, item.second_message, 0),
        ];
        let both = scales.iter_mut().zip(&mut shifts);
        for ((is_used, message, peak), (scales, shifts)) in factors.into_iter().zip(both) {
            if !is_used {
                continue;
            }
            for case in 0..GROUP {
                let largest = self.largest[message as usize][case];
                let shift = (peak + largest.scale_exponent().unwrap_or(0)).min(127);
                scales[case] = 1.0.scale(shift);
                shifts[case] = shift;
                exponents[case] += self.exponents[message as usize][case] - shift;
            }
        }
        // As `raise_exponent` in `kernels/batch.cu`, which explains it.
        let raise = |case: usize| {
            let largest = match item.kind {
                TWO_FACTORS | TILES => shifts[1][case].max(PEAK + 2),
                _ => (shifts[0][case] + 1).max(PEAK + 2),
            };
            // 2^-149 is the smallest positive number in single precision.
            -149 + RAISE + item.log_terms as i32 + largest
        };
        let [first, second] = scales;
        Scales { first, second, exponents, raise: std::array::from_fn(raise) }
    }

    /// The share of P(e) that raising may have added.
    fn loss(&self, buffers: &Buffers, case: usize) -> f32 {
        let reads = buffers.reads[..buffers.variables[0][2] as usize].iter();
        let total: f32 = reads
            .map(|read| read.map(|at| self.messages[at as usize][case]))
            .fold(0.0, |sum, [weight, other]| sum + weight * other);
        let exponent = |value: f32| -value.scale_exponent().unwrap_or(0);
        let of_total = self.exponents[buffers.first_message as usize][case] + exponent(total);
        // Messages m and m ^ 1 are the two messages over one edge, in opposite directions.
        let share = |message: usize| {
            let (own, other) = (self.exponents[message][case], self.exponents[message ^ 1][case]);
            let largest = exponent(self.largest[message ^ 1][case]) + 1;
            let power = self.levels[message][case] + own + other + largest - of_total;
            (power as f32).exp2()
        };
        (0..buffers.messages).map(share).sum()
    }

    /// The sum of `terms` for each case, multiplied by the scales of the factors that they have.
    fn sum(&self, item: &WorkItem, terms: &[Term], scales: &Scales) -> Numbers {
        std::array::from_fn(|case| {
            let (scale, second_scale) = (scales.first[case], scales.second[case]);
            let [sum] = add_up::<f32, _, 1, true>(terms, |term, [sum]| {
                let load = |start: u32, entry: u32| self.messages[(start + entry) as usize][case];
                *sum += match item.kind {
                    CONSTANT => term.value,
                    ONE_FACTOR => term.value * load(item.factor, term.first),
                    _ => {
                        let first = load(item.factor, term.first) * scale;
                        term.value * first * load(item.second, term.second)
                    }
                };
            });
            sum * if item.kind >= TWO_FACTORS { second_scale } else { scale }
        })
    }
}

/// A term of a row.
struct Term {
    value: f32,
    /// The entry of the first factor, if it has one.
    first: u32,
    /// The entry of the second factor, if it has one.
    second: u32,
}

/// Term number `number` of each row of a step with this record, and what comes after it in the row:
/// an entry of the result, [`END_OF_BLOCK`] or [`NONE`].
fn terms(record: &[[u32; 4]], kind: u32, number: usize) -> Vec<(Term, u32)> {
    let words = record.as_flattened();
    let (entries, constants) = words.split_at(8);
    let (values, ends) = constants.split_at(constants.len() / 2);
    let rows = values.len() / steps::terms(kind);
    let term = |row: usize| {
        let (first, second) = match kind {
            TILES => (2 * number + row / 2, 4 + 2 * number + row % 2),
            TWO_FACTORS => (number, 4 + number),
            _ => (number, number),
        };
        let at = number * rows + row;
        let value = f32::from_bits(values[at]);
        (Term { value, first: entries[first], second: entries[second] }, ends[at])
    };
    (0..rows).map(term).collect()
}
