//! `kernels/persistent.cu` on the CPU, over the same records, in the order of the schedule.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use super::items::{
    BARE, BY_CLASS, GOES_ON, HEADER, NO_SOURCE, NO_STATE, REPORT, STAGE, THREADS, split,
};
use super::schedule::Schedule;
use super::tables::PEAK;
use super::words::{MAX_TAG, Results, Word};
use super::{Executor, Flow, Stamp};
use crate::engine::RunError;

/// See the module.
pub(super) struct Twin {
    schedule: Schedule,
    reports: Vec<usize>,
    evidence: Vec<u32>,
    messages: Vec<Word>,
    p_evidence: AtomicU64,
    out: Vec<AtomicU32>,
    tag: u32,
    turn: bool,
}

/// The messages and findings of an item, scaled.
struct Stage {
    values: Vec<f32>,
    /// The power of two by which the sums are to be multiplied.
    power: i32,
    /// Whether evidence excludes all of the item.
    is_excluded: bool,
}

/// The lower or upper half of a word.
fn half(record: &[u32], at: usize, side: u32) -> usize {
    (record[at] >> (16 * side) & 0xffff) as usize
}

impl Twin {
    pub fn new(flow: &Flow, lists: usize) -> Self {
        let words = |count: usize| vec![Word::default(); count];
        let schedule = Schedule::new(&flow.items, lists);
        Self {
            reports: schedule.reports(&flow.items),
            schedule,
            evidence: vec![0; flow.shape.evidence_words()],
            messages: words(flow.items.messages),
            p_evidence: AtomicU64::new(0),
            out: (0..flow.items.result_words).map(|_| AtomicU32::new(0)).collect(),
            tag: 0,
            turn: false,
        }
    }

    /// An item that brings posteriors to the host.
    fn report(&mut self, record: &[u32]) {
        let (chunks, share) = ((record[1] & 0xffff) as usize, 1 << (record[3] >> 16 & 0xff));
        let (sources, list) = record[HEADER..].split_at(32 * chunks);
        let message = |&source: &u32| match source {
            NO_SOURCE => Word::new(0.0, 0, self.tag),
            place => self.messages[place as usize],
        };
        let words: Vec<Word> = sources.iter().map(message).collect();
        assert!(words.iter().all(|word| word.tag() == self.tag), "what is waited for comes first");
        let mut values = vec![0.0_f32; words.len()];
        for variable in &list[..record[5] as usize] {
            let (first, count) = ((variable & 0xffff) as usize, (variable >> 16) as usize);
            let words = &words[first..first + count];
            let largest = words.iter().filter_map(|word| word.exponent()).max();
            let number = |word: &Word| {
                word.exponent().map_or(0.0, |e| word.with_exponent(e - largest.unwrap_or(0)))
            };
            let mut parts = vec![0.0_f32; share];
            words.iter().enumerate().for_each(|(i, word)| parts[i % share] += number(word));
            while parts.len() > 1 {
                let upper = parts.split_off(parts.len() / 2);
                parts.iter_mut().zip(upper).for_each(|(a, b)| *a += b);
            }
            let scale = if parts[0] > 0.0 { 1.0 / parts[0] } else { 0.0 };
            for (value, word) in values[first..].iter_mut().zip(words) {
                *value = number(word) * scale;
            }
        }
        let out = &mut self.out[record[6] as usize..];
        for (word, value) in out.iter_mut().zip(values) {
            let bits = value.to_bits() | u32::from(self.turn) << 31;
            let old = std::mem::replace(word.get_mut(), bits);
            assert_ne!(old >> 31, bits >> 31, "each word is written once a run");
        }
    }

    fn item(&mut self, records: &[u32], has_evidence: bool, bit_words: usize) {
        let first = split(records).next().unwrap_or(&[]);
        if first[3] >> 24 == REPORT {
            return self.report(first);
        }
        let stage = self.stage(first, has_evidence, bit_words);
        for (n, record) in split(records).enumerate() {
            assert_eq!(record[3] & GOES_ON != 0, n > 0, "the first record has the stage");
            self.sums(record, &stage, has_evidence);
        }
    }

    /// What the messages and findings of an item are put on.
    fn stage(&self, record: &[u32], has_evidence: bool, bit_words: usize) -> Stage {
        let half = |at: usize, side: u32| half(record, at, side);
        let (chunks, of_findings) = (half(1, 0), half(1, 1));
        let (factors, room) = (half(4, 1), record[7] as i32);
        let sources = &record[HEADER..][..32 * (chunks + of_findings)];

        let (bits, weights) = self.evidence.split_at(bit_words);
        let fixed = (0..8).map(|n| half(8 + n / 2, n as u32 % 2));
        let excludes = |state: usize| bits[state / 32] >> (state % 32) & 1 == 0;
        let mut fixed = fixed.filter(|&state| state != NO_STATE as usize);
        let is_excluded = has_evidence && fixed.any(excludes);

        let mut values = vec![f32::NAN; 2 + STAGE];
        values[0] = 1.0;
        values[1 + STAGE] = 0.0;
        let mut references = vec![None; factors];
        let mut words = vec![None; 32 * chunks];
        if !is_excluded {
            for (at, &source) in sources[..32 * chunks].iter().enumerate() {
                let f = (source >> 29) as usize;
                if source & NO_SOURCE != NO_SOURCE {
                    let word = self.messages[(source & NO_SOURCE) as usize];
                    assert_eq!(word.tag(), self.tag, "what is waited for comes first");
                    words[at] = Some(word);
                    references[f] = references[f].max(word.exponent());
                }
                assert_eq!(f, (sources[at / 32 * 32] >> 29) as usize, "a chunk is of one factor");
            }
            for (at, word) in words.iter().enumerate() {
                let reference = references[(sources[at] >> 29) as usize].unwrap_or(0);
                let exponent = word.and_then(|word: Word| word.exponent());
                let scaled =
                    exponent.map(|e| word.unwrap_or_default().with_exponent(e - reference + room));
                values[1 + at] = scaled.unwrap_or(0.0);
            }
            for (at, &source) in sources[32 * chunks..].iter().enumerate() {
                let weight = weights.get((source & NO_SOURCE) as usize);
                let weight = weight.map_or(0.0, |&bits| f32::from_bits(bits));
                values[1 + 32 * chunks + at] = if has_evidence { weight } else { f32::NAN };
            }
        }
        let peak = if record[3] & BARE == 0 { PEAK } else { 0 };
        let power =
            references.iter().map(|e: &Option<i32>| e.unwrap_or(0) - room).sum::<i32>() - peak;
        Stage { values, power, is_excluded }
    }

    /// The sums of one record.
    fn sums(&mut self, record: &[u32], stage: &Stage, has_evidence: bool) {
        let half = |at: usize, side: u32| half(record, at, side);
        let (chunks, of_findings) = (half(1, 0), half(1, 1));
        let (steps, threads) = (half(2, 0), half(2, 1));
        let (passes, list_words) = (half(3, 0), record[5] as usize);
        let lanes = 1 << (record[3] >> 16 & 0xff);
        let is_listed = record[3] >> 24 & 3 == 1;
        let all_pairs = ((record[4] & 0xff) + (record[4] >> 8 & 0xff)) as usize;
        let pairs = if has_evidence { all_pairs } else { (record[4] & 0xff) as usize };
        let (list, of_rows) = record[HEADER + 32 * (chunks + of_findings)..].split_at(list_words);
        assert!(threads <= THREADS && threads.is_multiple_of(32));
        let rows = passes * threads / lanes;
        let by_class = record[3] & BY_CLASS != 0;
        let of_row = if is_listed { 1 } else { 1 + all_pairs + usize::from(by_class) };
        let of_rows_words = (rows * of_row).next_multiple_of(4);
        let (of_rows, stream) = of_rows.split_at(of_rows_words);
        let of_table = usize::from(record[3] & BARE == 0);
        let width = of_table + if is_listed { all_pairs } else { 0 };
        let run = (record[6] >> 8) as usize;
        assert!(by_class || stream.len() >= passes * steps * width * threads);
        for row in 0..rows {
            let place = of_rows[row];
            let (pass, slot) = (row * lanes / threads, row * lanes % threads);
            let mut parts = vec![0.0_f32; lanes];
            for (lane, part) in parts.iter_mut().enumerate() {
                for step in 0..steps {
                    let at = (pass * steps + step) * width * threads + slot + lane;
                    if of_table == 0 && !is_listed && step * lanes + lane >= run {
                        continue;
                    }
                    let at = match by_class {
                        true => {
                            of_rows[(1 + all_pairs) * rows + row] as usize + step * lanes + lane
                        }
                        false => at,
                    };
                    let mut value = if of_table == 1 { f32::from_bits(stream[at]) } else { 1.0 };
                    for pair in 0..pairs {
                        let places = match is_listed {
                            true => stream[at + (of_table + pair) * threads],
                            false => {
                                of_rows[(1 + pair) * rows + row]
                                    + list[(step * lanes + lane) * all_pairs + pair]
                            }
                        };
                        assert_eq!(places & 0x0003_0003, 0, "places are in bytes");
                        let at = |place: u32| stage.values[(place & 0xffff) as usize / 4];
                        value *= at(places) * at(places >> 16);
                    }
                    *part += value;
                }
            }
            while parts.len() > 1 {
                let upper = parts.split_off(parts.len() / 2);
                parts.iter_mut().zip(upper).for_each(|(a, b)| *a += b);
            }
            if place != u32::MAX {
                let word = match stage.is_excluded {
                    true => Word::new(0.0, 0, self.tag),
                    false => Word::new(parts[0], stage.power, self.tag),
                };
                let at = place as usize;
                let old = match record[6] & 1 == 0 {
                    true => std::mem::replace(&mut self.messages[at], word),
                    false => Word(std::mem::replace(self.p_evidence.get_mut(), word.0)),
                };
                assert_ne!(old.tag(), self.tag, "each word is written once");
                assert!(stage.is_excluded || parts[0] >= 0.0, "a number: {}", parts[0]);
            }
        }
    }
}

impl Executor for Twin {
    fn evidence(&mut self) -> &mut [u32] {
        &mut self.evidence
    }

    fn start(&mut self, flow: &Flow, has_evidence: bool, _: bool) -> Result<(), RunError> {
        self.tag = self.tag % MAX_TAG + 1;
        self.turn = !self.turn;
        for item in self.schedule.in_time.clone() {
            self.item(&flow.items.records[item], has_evidence, flow.shape.bit_words());
        }
        Ok(())
    }

    fn results(&self) -> Results<'_> {
        Results { words: &self.out, turn: self.turn, p_evidence: &self.p_evidence, tag: self.tag }
    }

    fn have_been_read(&mut self) {}

    fn reports(&self) -> &[usize] {
        &self.reports
    }

    fn may_come(&self) -> Result<bool, RunError> {
        Ok(false)
    }

    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, RunError> {
        Ok(vec![Stamp::default(); flow.items.len()])
    }

    fn lists(&self) -> usize {
        self.schedule.starts.len() - 1
    }

    fn empty_run(&mut self, _: u32) -> Option<Duration> {
        None
    }

    fn kernel_times(&mut self, _: u32) -> Option<[Duration; 2]> {
        None
    }
}
