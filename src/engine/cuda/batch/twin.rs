//! The kernels of `kernels/batch.cu` on the CPU, over the same buffers.

use super::buffers::{Buffers, ITEM};
use super::{Executor, SLOTS};
use crate::engine::RunError;
use crate::potential::Real;

/// Cases of a group.
const LANES: usize = 32;

const NORMAL: i32 = 32;

type Numbers = [f32; LANES];

/// A group of cases.
struct Group {
    messages: Vec<Numbers>,
    largest: Vec<Numbers>,
    exponents: Vec<[i32; LANES]>,
}

/// See the module.
pub struct Twin {
    capacity: usize,
    packed: [Vec<u32>; SLOTS],
    results: [Vec<f32>; SLOTS],
}

impl Twin {
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

    fn packed(&mut self, slot: usize, words: usize) -> &mut [u32] {
        &mut self.packed[slot][..words]
    }

    fn start(
        &mut self,
        buffers: &Buffers,
        slot: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError> {
        let words = buffers.packed_words(is_soft);
        let packed: Vec<&[u32]> = self.packed[slot].chunks(words).take(cases).collect();
        self.results[slot].clear();
        for packed in packed.chunks(LANES) {
            let mut group = Group {
                // What nothing writes must not be read.
                messages: vec![[f32::NAN; LANES]; buffers.entries],
                largest: vec![[0.0; LANES]; buffers.messages],
                exponents: vec![[i32::MAX; LANES]; buffers.messages],
            };
            group.enter(buffers, packed, is_soft);
            for level in &buffers.levels {
                // The blocks of a launch come in any order.
                for item in buffers.items[level.start * ITEM..level.end * ITEM].rchunks(ITEM) {
                    group.item(buffers, item);
                }
            }
            for lane in 0..packed.len() {
                let word = |at: u32| group.messages[at as usize][lane];
                let reads = buffers.reads.chunks(2).map(|at| word(at[0]) * word(at[1]));
                let power = group.exponents[buffers.first as usize][lane];
                self.results[slot].extend(reads.chain([f32::from_bits(power as u32)]));
            }
        }
        Ok(())
    }

    fn results(&mut self, slot: usize) -> Result<&[f32], RunError> {
        Ok(&self.results[slot])
    }
}

impl Group {
    fn enter(&mut self, buffers: &Buffers, packed: &[&[u32]], is_soft: bool) {
        for (number, variable) in buffers.variables.chunks(4).enumerate() {
            let &[start, message, states, first] = variable else { unreachable!() };
            for lane in 0..LANES {
                let case = packed.get(lane);
                for state in 0..states {
                    let weight = match case {
                        Some(words) if is_soft => f32::from_bits(words[(first + state) as usize]),
                        Some(words) if words[number] > 0 && words[number] != 1 + state => 0.0,
                        _ => 1.0,
                    };
                    self.messages[(start + state) as usize][lane] = weight;
                }
            }
            self.largest[message as usize] = [1.0; LANES];
            self.exponents[message as usize] = [0; LANES];
        }
    }

    fn item(&mut self, buffers: &Buffers, item: &[u32]) {
        let word = |at: usize| item[at] as usize;
        let (kind, result, number, first, second) = (item[0], word(4), word(5), word(6), word(8));
        let (mut scales, mut exponents) = ([[1.0; LANES]; 2], [0; LANES]);
        let used = [(word(7), NORMAL), (word(9), 0)].into_iter().take(kind.min(2) as usize);
        for ((factor, normal), scales) in used.zip(&mut scales) {
            for lane in 0..LANES {
                let exponent = self.largest[factor][lane].scale_exponent().unwrap_or(0);
                let shift = (normal + exponent).min(127);
                scales[lane] = 1.0.scale(shift);
                exponents[lane] += self.exponents[factor][lane] - shift;
            }
        }
        let [scale, second_scale] = scales;
        for row in buffers.rows[4 * word(1)..4 * word(2)].chunks(4) {
            let terms = row[0] as usize..row[1] as usize;
            let mut sum = [0.0; LANES];
            for lane in 0..LANES {
                let sum = &mut sum[lane];
                let at = |start: usize, entry: u32| self.messages[start + entry as usize][lane];
                if kind == 3 {
                    for term in buffers.pairs[4 * terms.start..4 * terms.end].chunks(4) {
                        let value = f32::from_bits(term[0]);
                        *sum += value * (at(first, term[1]) * scale[lane]) * at(second, term[2]);
                    }
                    *sum *= second_scale[lane];
                    continue;
                }
                for term in buffers.singles[2 * terms.start..2 * terms.end].chunks(2) {
                    let x = if kind == 0 { 1.0 } else { at(first, term[1]) };
                    *sum += f32::from_bits(term[0]) * x;
                }
                *sum *= scale[lane];
                if kind == 2 {
                    *sum *= at(second, row[3]) * second_scale[lane];
                }
            }
            self.messages[result + row[2] as usize] = sum;
            for (largest, sum) in self.largest[number].iter_mut().zip(sum) {
                *largest = largest.max(sum);
            }
        }
        if word(3) == 1 {
            self.exponents[number] = exponents;
        }
    }
}
