//! The CPU twin of the kernels of `kernels/batch.cu`: computes the same from the same buffers.

use super::buffers::{Buffers, CONSTANT, FACTOR_AND_ROW, ONE_FACTOR, TWO_FACTORS, WorkItem};
use super::{BUFFER_SETS, Executor};
use crate::engine::RunError;
use crate::potential::Real;

/// Number of cases in a group. The kernel may have a different number: results do not depend on it.
const GROUP: usize = 32;

/// The first factor is scaled so that its largest entry is near two to this power. Shared with the
/// kernel.
pub const PEAK: i32 = 32;

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
}

/// The evidence and results of both buffer sets.
pub struct Twin {
    capacity: usize,
    packed: [Vec<u32>; BUFFER_SETS],
    results: [Vec<f32>; BUFFER_SETS],
}

impl Twin {
    /// A twin whose buffer sets hold `capacity` cases.
    pub fn new(buffers: &Buffers, capacity: usize) -> Self {
        let packed = || vec![0; capacity * buffers.packed_words(true).max(buffers.variables())];
        Self { capacity, packed: [packed(), packed()], results: Default::default() }
    }
}

impl Executor for Twin {
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
            };
            group.enter_findings(buffers, packed, is_soft);
            for level in &buffers.levels {
                // The blocks of a launch may run in any order. The twin runs the work items from
                // last to first, to find dependencies between them.
                for item in buffers.items[level.clone()].iter().rev() {
                    group.propagate(buffers, item);
                }
            }
            for case in 0..packed.len() {
                let word = |entry: u32| group.messages[entry as usize][case];
                let posteriors = buffers.reads.iter().map(|&[a, b]| word(a) * word(b));
                let power = group.exponents[buffers.first_message as usize][case];
                self.results[set].extend(posteriors.chain([f32::from_bits(power as u32)]));
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
        }
    }

    /// Computes a work item, as `propagate` in `kernels/batch.cu` does.
    fn propagate(&mut self, buffers: &Buffers, item: &WorkItem) {
        let (scales, exponents) = self.scales(item);
        for &row in &buffers.rows[item.first_row as usize..item.end_row as usize] {
            let sum = self.row(buffers, item, row, &scales);
            self.messages[(item.result + row[2]) as usize] = sum;
            let largest = &mut self.largest[item.result_message as usize];
            for (largest, sum) in largest.iter_mut().zip(sum) {
                *largest = largest.max(sum);
            }
        }
        if item.is_first == 1 {
            self.exponents[item.result_message as usize] = exponents;
        }
    }

    /// The scales of both factors for each case, and the exponents of the powers of two to multiply
    /// the result by.
    fn scales(&self, item: &WorkItem) -> ([Numbers; 2], [i32; GROUP]) {
        let (mut scales, mut exponents) = ([[1.0; GROUP]; 2], [0; GROUP]);
        let factors = [
            (item.kind > CONSTANT, item.factor_message, PEAK),
            (item.kind > ONE_FACTOR, item.second_message, 0),
        ];
        for ((is_used, message, peak), scales) in factors.into_iter().zip(&mut scales) {
            if !is_used {
                continue;
            }
            for case in 0..GROUP {
                let largest = self.largest[message as usize][case];
                let shift = (peak + largest.scale_exponent().unwrap_or(0)).min(127);
                scales[case] = 1.0.scale(shift);
                exponents[case] += self.exponents[message as usize][case] - shift;
            }
        }
        (scales, exponents)
    }

    /// The sum of one row for each case.
    fn row(
        &self,
        buffers: &Buffers,
        item: &WorkItem,
        row: [u32; 4],
        [scale, second_scale]: &[Numbers; 2],
    ) -> Numbers {
        let terms = row[0] as usize..row[1] as usize;
        std::array::from_fn(|case| {
            let load = |start: u32, entry: u32| self.messages[(start + entry) as usize][case];
            let mut sum = 0.0;
            if item.kind == TWO_FACTORS {
                for &[value, first, second, _] in &buffers.pairs[terms.clone()] {
                    let value = f32::from_bits(value);
                    let first = load(item.factor, first) * scale[case];
                    sum += value * first * load(item.second, second);
                }
                return sum * second_scale[case];
            }
            for &[value, entry] in &buffers.singles[terms.clone()] {
                let factor = if item.kind == CONSTANT { 1.0 } else { load(item.factor, entry) };
                sum += f32::from_bits(value) * factor;
            }
            sum *= scale[case];
            if item.kind == FACTOR_AND_ROW {
                sum *= load(item.second, row[3]) * second_scale[case];
            }
            sum
        })
    }
}
