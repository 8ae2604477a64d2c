//! `kernels/propagate.cu` on the CPU, over the same records, in the order of the schedule.

use std::time::Duration;

use super::items::{DIGIT, HEADER, Items};
use super::schedule::Schedule;
use super::tables::PEAK;
use super::words::{MAX_TAG, Word};
use super::{Executor, Flow, Stamp};
use crate::engine::PropagationFailure;

/// See the module.
pub(super) struct Twin {
    schedule: Schedule,
    /// All records in order of the items, and where each begins.
    records: Vec<u32>,
    starts: Vec<usize>,
    evidence: Vec<u32>,
    memory: Memory,
    tag: u32,
}

/// What the kernel writes.
pub(super) struct Memory {
    messages: Vec<Word>,
    out: Vec<Word>,
}

impl Memory {
    pub fn new(items: &Items) -> Self {
        let words = |count: usize| vec![Word::default(); count];
        Self { messages: words(items.messages), out: words(items.states() + 1) }
    }
}

impl Twin {
    pub fn new(flow: &Flow, tables: &[f32], lists: usize) -> Self {
        let (mut records, mut starts) = (Vec::new(), Vec::new());
        for item in 0..flow.items.len() {
            starts.push(records.len());
            flow.items.in_order(&[item], tables, &mut records);
        }
        assert_eq!(records.len(), flow.items.record_words());
        Self {
            schedule: Schedule::new(&flow.operations, &flow.items, lists),
            records,
            starts,
            evidence: vec![0; flow.evidence_words()],
            memory: Memory::new(&flow.items),
            tag: 0,
        }
    }
}

/// What all items of a run read.
pub(super) struct Run<'a> {
    pub items: &'a Items,
    pub evidence: &'a [u32],
    pub has_evidence: bool,
    pub tag: u32,
}

impl Run<'_> {
    pub fn item(&self, memory: &mut Memory, record: &[u32]) {
        let word = |at: usize| record[at] as usize;
        let (rows, first_row, run, factors) = (word(0), word(1), word(2), word(4));
        let (digits, sources) = record[HEADER..].split_at(DIGIT * word(9));

        let kept_rows = self.select(digits, 1, first_row, rows);
        let kept_run = self.select(digits, 0, 0, run);
        let place = |at: usize| (record[word(10) + at / 2] >> (at % 2 * 16) & 0xffff) as usize;
        let row_place = |f: usize, row: usize| place(f * rows + row);
        let run_place = |f: usize, i: usize| place(factors * rows + f * run + i);

        let mut words = [Word::default(); 512];
        let mut stage = [f32::NAN; 512];
        let room = record[13] as i32;
        let mut power = -PEAK;
        for f in 0..factors {
            let mut needed = Vec::new();
            for (row, _) in &kept_rows {
                for (i, _) in &kept_run {
                    let (row, i) = (row_place(f, *row), run_place(f, *i));
                    let at = row + i;
                    assert_eq!(record[14 + at / 256] >> (at / 32 % 8 * 4) & 15, f as u32);
                    let word = memory.messages[sources[at] as usize];
                    assert_eq!(word.tag(), self.tag, "what is waited for comes first");
                    words[row + i] = word;
                    needed.push(row + i);
                }
            }
            let largest = needed.iter().filter_map(|&at| words[at].exponent()).max();
            power += largest.unwrap_or(0) - room;
            for at in needed {
                let exponent = words[at].exponent();
                let scaled = |e: i32| words[at].with_exponent(e - largest.unwrap_or(0) + room);
                stage[at] = exponent.map_or(0.0, scaled);
            }
        }
        let table = &record[word(11)..];
        for (row, row_weight) in &kept_rows {
            let mut sum = 0.0_f32;
            for (i, weight) in &kept_run {
                let mut value = f32::from_bits(table[row * word(3) + i]);
                value = value * row_weight * weight;
                for f in 0..factors {
                    value *= stage[row_place(f, *row) + run_place(f, *i)];
                }
                sum += value;
            }
            let result = if word(7) == 0 { &mut memory.messages } else { &mut memory.out };
            result[word(8) + row] = Word::new(sum, power, self.tag);
        }
    }

    /// Which rows or entries the findings leave, and their weights.
    fn select(
        &self,
        digits: &[u32],
        of_rows: u32,
        first: usize,
        count: usize,
    ) -> Vec<(usize, f32)> {
        let keep = |i: usize| {
            let mut weight = 1.0;
            for digit in digits.chunks_exact(DIGIT) {
                if !self.has_evidence || digit[4] & 1 != of_rows {
                    continue;
                }
                let state = ((first + i) as u32) / digit[2] % digit[3];
                match self.evidence[digit[0] as usize] {
                    0 => {}
                    1 if digit[4] & 2 != 0 => {
                        let weights = &self.evidence[self.items.first_states.len() - 1..];
                        weight *= f32::from_bits(weights[(digit[1] + state) as usize]);
                    }
                    1 => {}
                    observed if observed - 2 == state => {}
                    _ => return None,
                }
            }
            Some((i, weight))
        };
        (0..count).filter_map(keep).collect()
    }
}

impl Executor for Twin {
    fn evidence(&mut self) -> &mut [u32] {
        &mut self.evidence
    }

    fn start(
        &mut self,
        flow: &Flow,
        has_evidence: bool,
        _: bool,
    ) -> Result<(), PropagationFailure> {
        self.tag = self.tag % MAX_TAG + 1;
        let run = Run { items: &flow.items, evidence: &self.evidence, has_evidence, tag: self.tag };
        for &item in &self.schedule.in_time {
            run.item(&mut self.memory, &self.records[self.starts[item]..]);
        }
        Ok(())
    }

    fn result(&self, at: usize) -> Option<Word> {
        let word = self.memory.out[at];
        (word.tag() == self.tag).then_some(word)
    }

    fn may_come(&self) -> Result<bool, PropagationFailure> {
        Ok(false)
    }

    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, PropagationFailure> {
        Ok(vec![Stamp::default(); flow.items.len()])
    }

    fn lists(&self) -> usize {
        self.schedule.starts.len() - 1
    }

    fn empty_run(&mut self, _: u32) -> Option<Duration> {
        None
    }
}
