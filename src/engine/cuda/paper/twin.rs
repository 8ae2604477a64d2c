//! The kernels of `kernels/paper` on the CPU, over the same buffers and records.

use std::time::Duration;

use super::Executor;
use super::records::{Chunk, Message, Reading};
use super::tables::{Exponent, PEAK, Tables};
use crate::clock::Instant;
use crate::engine::RunError;
use crate::potential::{Real, ratio};

/// See the module.
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
    pub fn new(tables: &Tables) -> Self {
        let slots = tables.cliques + tables.messages.len();
        Self {
            // What is not written first must not matter.
            cliques: vec![f32::NAN; tables.prior.len()],
            separators: vec![f64::NAN; tables.separator_entries],
            largest: vec![0; slots],
            exponents: vec![i32::MIN; slots],
            separator_exponents: vec![i32::MIN; tables.messages.len()],
            out: vec![f64::NAN; tables.states + 2],
            marks: Vec::new(),
        }
    }

    fn initialise_chunk(&mut self, tables: &Tables, evidence: &[u32], chunk: Chunk) {
        let start = &evidence[tables.cliques..];
        let findings = &start[tables.cliques + 1..];
        let weights = &findings[3 * tables.variables..];
        let clique = chunk.clique as usize;
        for entry in chunk.first..chunk.first + chunk.entries {
            let mut value = f64::from(tables.prior[(chunk.table + u64::from(entry)) as usize]);
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

    /// What thread `j` of a message does. Returns the bits of the largest entry that it wrote.
    fn message_thread(&mut self, tables: &Tables, m: &Message, j: u32) -> u32 {
        let mapping = |first: u64, table_stride: u32, stride: u32, n: u32| -> usize {
            let at = first + u64::from(j) * u64::from(table_stride);
            tables.mappings[(at + u64::from(n) * u64::from(stride)) as usize] as usize
        };
        let sender = |n| mapping(m.from_mapping, m.from_table_stride, m.from_stride, n);
        let from = &self.cliques[m.from as usize..];
        let sum: f64 = (0..m.from_count).map(|n| f64::from(from[sender(n)])).sum();
        let separator = sum.scale(-exponent_of(self.largest[m.from_slot as usize]));
        let separator = if separator < 1e-300 { 0.0 } else { separator };
        let stored = &mut self.separators[m.separator as usize + j as usize];
        let old = std::mem::replace(stored, separator);
        let quotient = ratio(separator, old);

        let factor = quotient.scale(PEAK - exponent_of(self.largest[m.to_slot as usize]));
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
    fn initialise(&mut self, tables: &Tables, evidence: &[u32]) -> Result<(), RunError> {
        self.largest.fill(0);
        self.separators.fill(1.0);
        for &chunk in &tables.chunks {
            self.initialise_chunk(tables, evidence, chunk);
        }
        Ok(())
    }

    fn message(&mut self, tables: &Tables, index: usize) -> Result<(), RunError> {
        let m = tables.messages[index];
        let largest = (0..m.entries).map(|j| self.message_thread(tables, &m, j)).max();
        let from_power = exponent_of(self.largest[m.from_slot as usize]);
        let to_power = exponent_of(self.largest[m.to_slot as usize]);
        let before = usize::try_from(m.before).map_or(0, |m| self.separator_exponents[m]);
        let after = self.exponents[m.from_slot as usize] + from_power;
        self.separator_exponents[m.index as usize] = after;
        self.largest[m.out_slot as usize] = largest.unwrap_or(0);
        self.exponents[m.out_slot as usize] =
            self.exponents[m.to_slot as usize] + to_power - PEAK + after - before;
        Ok(())
    }

    fn mark(&mut self) -> Result<(), RunError> {
        self.marks.push(Instant::now());
        Ok(())
    }

    fn read(&mut self, tables: &Tables) -> Result<&[f64], RunError> {
        let value = |reading: &Reading, entry: u64| match reading.is_separator {
            0 => f64::from(self.cliques[(reading.table + entry) as usize]),
            _ => self.separators[(reading.table + entry) as usize],
        };
        for reading in &tables.readings {
            for state in 0..u64::from(reading.states) {
                let of_state = 0..reading.entries / u64::from(reading.states);
                let entry = |i: u64| {
                    let (outer, inner) = (i / reading.stride, i % reading.stride);
                    (outer * u64::from(reading.states) + state) * reading.stride + inner
                };
                self.out[reading.out as usize + state as usize] =
                    of_state.map(|i| value(reading, entry(i))).sum();
            }
        }
        self.out[tables.states + 1] = f64::from(match tables.total_exponent {
            Exponent::Clique(slot) => self.exponents[slot],
            Exponent::Separator(message) => self.separator_exponents[message],
        });
        Ok(&self.out)
    }

    fn wait(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn marks(&mut self) -> Result<Vec<Duration>, RunError> {
        let marks = std::mem::take(&mut self.marks);
        Ok(marks.iter().map(|mark| mark.duration_since(marks[0])).collect())
    }

    fn empty_run(&mut self, _: &Tables, _: &[u32], _: u32) -> Option<Duration> {
        None
    }
}

/// As in `kernels/numbers.cuh`.
fn exponent_of(bits: u32) -> i32 {
    if bits == 0 { 0 } else { (bits >> 23).max(1) as i32 - 127 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_float() {
        for (value, exponent) in
            [(0.0_f32, 0), (1.0, 0), (1.99, 0), (2.0, 1), (0.3, -2), (1e-42, -126)]
        {
            assert_eq!(exponent_of(value.to_bits()), exponent, "{value}");
        }
    }
}
