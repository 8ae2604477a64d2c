//! `kernels/propagate.cu` on the CPU, over the same records, in the order of the schedule.

use std::time::Duration;

use super::items::{HEADER, offsets};
use super::schedule::Schedule;
use super::tables::PEAK;
use super::{Executor, Flow, Stamp};
use crate::engine::PropagationFailure;
use crate::potential::Real;

/// See the module.
pub(super) struct Twin {
    schedule: Schedule,
    tables: Vec<f32>,
    offsets: Vec<u32>,
    evidence: Vec<u32>,
    messages: Vec<f32>,
    partials: Vec<f32>,
    arrived: Vec<u32>,
    slots: Vec<Slot>,
    out: Vec<f32>,
    run_number: u32,
}

/// What the kernel packs into 64 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    largest: u32,
    power: i32,
    run_number: u32,
}

impl Twin {
    pub fn new(flow: &Flow, tables: Vec<f32>, lists: usize) -> Self {
        Self {
            schedule: Schedule::new(&flow.operations, &flow.items, lists),
            tables,
            offsets: offsets(&flow.operations),
            evidence: vec![0; flow.evidence_words()],
            messages: vec![f32::NAN; flow.items.messages],
            partials: vec![f32::NAN; flow.items.partials],
            arrived: vec![0; flow.operations.all.len()],
            slots: vec![Slot::default(); flow.items.len()],
            out: vec![f32::NAN; flow.result_words()],
            run_number: 0,
        }
    }

    fn item(&mut self, flow: &Flow, record: &[u32], has_evidence: bool) {
        let word = |at: usize| record[at] as usize;
        let (rows, first_row, entries, first) = (word(0), word(1), word(2), word(3));
        let (operation, factors, parts) = (word(7), word(8), word(13));
        let table = u64::from(record[4]) | u64::from(record[5]) << 32;
        let findings = &record[HEADER + 3 * factors..];
        let row_offset = |f: usize, row: usize| word(21) + f * word(16) + row;
        let run_offset = |f: usize, entry: usize| word(22) + f * word(23) + entry;
        let findings = &findings[..if has_evidence { 5 * word(11) } else { 0 }];

        let mut inputs = Vec::new();
        let mut power = 0;
        for factor in record[HEADER..][..3 * factors].chunks(3) {
            let slots = &self.slots[factor[1] as usize..][..factor[2] as usize];
            let ready = slots.iter().all(|slot| slot.run_number == self.run_number);
            assert!(ready, "what is waited for comes first");
            let largest = slots.iter().map(|slot| slot.largest).max();
            let scale = exponent_of(largest.expect("a message has a slot"));
            power += slots[0].power + scale;
            inputs.push((factor[0] as usize, -scale));
        }
        let mut largest = 0;
        for i in 0..rows {
            let row = first_row + i;
            let mut sum = 0.0_f32;
            for n in 0..entries {
                let mut value = match table {
                    u64::MAX => 1.0_f32.scale(PEAK),
                    _ => self.tables[table as usize + i * word(10) + n * word(9)],
                };
                value *= self.weight(flow, first + n, findings, 0);
                for (f, (message, scale)) in inputs.iter().enumerate() {
                    let of_row = self.offsets[row_offset(f, row)];
                    let of_run = self.offsets[run_offset(f, first + n)];
                    let entry = message + (of_row + of_run) as usize;
                    value = value * self.messages[entry] * 1.0_f32.scale(*scale);
                }
                sum += value;
            }
            sum *= self.weight(flow, row, findings, 1);
            match parts {
                1 => largest = largest.max(self.write(record, word(6) + i, sum)),
                _ => self.partials[word(14) + i] = sum,
            }
        }
        if parts > 1 {
            self.arrived[operation] += 1;
            if self.arrived[operation] != self.run_number * record[15] {
                return;
            }
            for row in 0..word(16) {
                let sum = self.partials[word(18) + row * parts..][..parts].iter().sum();
                largest = largest.max(self.write(record, word(19) + row, sum));
            }
        }
        match record[17] {
            0 => self.slots[word(20)] = Slot { largest, power, run_number: self.run_number },
            2 => self.out[word(19) + 1] = power as f32,
            _ => {}
        }
    }

    /// Writes one entry of a result, and returns its bits.
    fn write(&mut self, record: &[u32], at: usize, sum: f32) -> u32 {
        let result = if record[17] == 0 { &mut self.messages } else { &mut self.out };
        result[at] = sum;
        sum.to_bits()
    }

    /// The product of what the findings say of entry `index` of rows or runs.
    fn weight(&self, flow: &Flow, index: usize, findings: &[u32], of_rows: u32) -> f32 {
        let mut weight = 1.0;
        for finding in findings.chunks(5) {
            if finding[4] == of_rows && self.evidence[finding[0] as usize] != 0 {
                let state = index / finding[2] as usize % finding[3] as usize;
                let bits = self.evidence[flow.variables + finding[1] as usize + state];
                weight *= f32::from_bits(bits);
            }
        }
        weight
    }
}

impl Executor for Twin {
    fn evidence(&mut self) -> &mut [u32] {
        &mut self.evidence
    }

    fn run(&mut self, flow: &Flow, has_evidence: bool, _: bool) -> Result<(), PropagationFailure> {
        self.run_number += 1;
        for at in 0..self.schedule.in_time.len() {
            let record = flow.items.record(self.schedule.in_time[at]);
            self.item(flow, record, has_evidence);
        }
        Ok(())
    }

    fn result(&self) -> &[f32] {
        &self.out
    }

    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, PropagationFailure> {
        Ok(vec![Stamp::default(); flow.items.len()])
    }

    fn lists(&self) -> usize {
        self.schedule.starts.len() - 1
    }

    fn empty_run(&mut self, _: &Flow, _: u32) -> Option<Duration> {
        None
    }
}

/// As in `kernels/numbers.cuh`.
fn exponent_of(bits: u32) -> i32 {
    if bits == 0 { 0 } else { (bits >> 23).max(1) as i32 - 127 }
}
