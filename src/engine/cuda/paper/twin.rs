//! The CPU twin of the kernels of `kernels/paper`: computes the same from the same buffers and
//! records.

use std::time::Duration;

use super::Executor;
use super::buffers::{Buffers, Exponent, NEGLIGIBLE, PEAK};
use super::records::{Chunk, Marginal, Message};
use crate::clock::Instant;
use crate::engine::RunError;
use crate::potential::{Real, ratio};

/// The buffers that the kernels write, and the times of all marks.
pub(super) struct Twin {
    cliques: Vec<f32>,
    separators: Vec<f64>,
    largest: Vec<u32>,
    exponents: Vec<i32>,
    separator_exponents: Vec<i32>,
    out: Vec<f64>,
    marks: Vec<Instant>,
}

impl Twin {
    /// A twin for `buffers`, before the first propagation.
    pub fn new(buffers: &Buffers) -> Self {
        let slots = buffers.cliques + buffers.messages.len();
        Self {
            // NaN: if an entry is read before it is written, the result is NaN and the test fails.
            cliques: vec![f32::NAN; buffers.prior.len()],
            separators: vec![f64::NAN; buffers.separator_entries],
            largest: vec![0; slots],
            exponents: vec![i32::MIN; slots],
            separator_exponents: vec![i32::MIN; buffers.messages.len()],
            out: vec![f64::NAN; buffers.states + 2],
            marks: Vec::new(),
        }
    }

    /// Does what one block of `initialise` does for its chunk.
    fn initialise_chunk(&mut self, buffers: &Buffers, evidence: &[u32], chunk: Chunk) {
        let start = &evidence[buffers.cliques..];
        let findings = &start[buffers.cliques + 1..];
        let weights = &findings[3 * buffers.variables..];
        let clique = chunk.clique as usize;
        for entry in chunk.first..chunk.first + chunk.entries {
            let mut value = f64::from(buffers.prior[(chunk.table + u64::from(entry)) as usize]);
            for finding in start[clique]..start[clique + 1] {
                let finding = &findings[3 * finding as usize..][..3];
                let weight = weights[(finding[2] + entry / finding[0] % finding[1]) as usize];
                value *= f64::from(f32::from_bits(weight));
            }
            let value = value as f32;
            self.cliques[(chunk.table + u64::from(entry)) as usize] = value;
            self.largest[clique] = self.largest[clique].max(value.to_bits());
        }
        if chunk.first == 0 {
            self.exponents[clique] = evidence[clique] as i32;
        }
    }

    /// Does what thread `j` of `message` does. Returns the bits of the largest entry that it
    /// writes.
    fn message_thread(&mut self, buffers: &Buffers, m: &Message, j: u32) -> u32 {
        let mapping = |first: u64, table_stride: u32, stride: u32, n: u32| -> usize {
            let at = first + u64::from(j) * u64::from(table_stride);
            buffers.mappings[(at + u64::from(n) * u64::from(stride)) as usize] as usize
        };
        let sender = |n| mapping(m.from_mapping, m.from_table_stride, m.from_stride, n);
        let from = &self.cliques[m.from as usize..];
        let sum: f64 = (0..m.from_count).map(|n| f64::from(from[sender(n)])).sum();
        let separator = sum.scale(-exponent_of(self.largest[m.from_slot as usize]));
        let separator = if separator < NEGLIGIBLE { 0.0 } else { separator };
        let stored = &mut self.separators[m.separator as usize + j as usize];
        let old = std::mem::replace(stored, separator);
        let ratio = ratio(separator, old);

        let factor = ratio.scale(PEAK - exponent_of(self.largest[m.to_slot as usize]));
        let mut largest = 0;
        for n in 0..m.to_count {
            let entry = mapping(m.to_mapping, m.to_table_stride, m.to_stride, n);
            let value = &mut self.cliques[m.to as usize + entry];
            *value = (f64::from(*value) * factor) as f32;
            largest = largest.max(value.to_bits());
        }
        largest
    }
}

impl Executor for Twin {
    fn initialise(&mut self, buffers: &Buffers, evidence: &[u32]) -> Result<(), RunError> {
        self.largest.fill(0);
        self.separators.fill(1.0);
        for &chunk in &buffers.chunks {
            self.initialise_chunk(buffers, evidence, chunk);
        }
        Ok(())
    }

    fn message(&mut self, buffers: &Buffers, index: usize) -> Result<(), RunError> {
        let m = buffers.messages[index];
        let largest = (0..m.entries).map(|j| self.message_thread(buffers, &m, j)).max();
        let from_power = exponent_of(self.largest[m.from_slot as usize]);
        let to_power = exponent_of(self.largest[m.to_slot as usize]);
        let previous = usize::try_from(m.previous).map_or(0, |m| self.separator_exponents[m]);
        let exponent = self.exponents[m.from_slot as usize] + from_power;
        self.separator_exponents[m.index as usize] = exponent;
        self.largest[m.out_slot as usize] = largest.unwrap_or(0);
        self.exponents[m.out_slot as usize] =
            self.exponents[m.to_slot as usize] + to_power - PEAK + exponent - previous;
        Ok(())
    }

    fn mark(&mut self) -> Result<(), RunError> {
        self.marks.push(Instant::now());
        Ok(())
    }

    fn read(&mut self, buffers: &Buffers) -> Result<&[f64], RunError> {
        let value = |marginal: &Marginal, entry: u64| match marginal.is_separator {
            0 => f64::from(self.cliques[(marginal.table + entry) as usize]),
            _ => self.separators[(marginal.table + entry) as usize],
        };
        for marginal in &buffers.marginals {
            for state in 0..u64::from(marginal.states) {
                let in_state = 0..marginal.entries / u64::from(marginal.states);
                let entry = |i: u64| {
                    let (outer, inner) = (i / marginal.stride, i % marginal.stride);
                    (outer * u64::from(marginal.states) + state) * marginal.stride + inner
                };
                self.out[marginal.out as usize + state as usize] =
                    in_state.map(|i| value(marginal, entry(i))).sum();
            }
        }
        self.out[buffers.states + 1] = f64::from(match buffers.total_exponent {
            Exponent::Clique(slot) => self.exponents[slot],
            Exponent::Separator(message) => self.separator_exponents[message],
        });
        Ok(&self.out)
    }

    fn wait(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError> {
        let marks = std::mem::take(&mut self.marks);
        Ok(marks.iter().map(|mark| mark.duration_since(marks[0])).collect())
    }

    fn empty_run(&mut self, _: &Buffers, _: &[u32], _: u32) -> Option<Duration> {
        None
    }
}

/// The same as `exponent_of` in `kernels/numbers.cuh`.
fn exponent_of(bits: u32) -> i32 {
    if bits == 0 { 0 } else { (bits >> 23).max(1) as i32 - 127 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_zero_normal_and_subnormal_floats() {
        for (value, exponent) in
            [(0.0_f32, 0), (1.0, 0), (1.99, 0), (2.0, 1), (0.3, -2), (1e-42, -126)]
        {
            assert_eq!(exponent_of(value.to_bits()), exponent, "{value}");
        }
    }
}
