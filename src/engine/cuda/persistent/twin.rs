//! The CPU twin of `kernels/persistent.cu`: computes the same from the same records. Work items are
//! computed in the order of their simulated starts.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use super::interval::{Unnormalised, raise};
use super::schedule::Schedule;
use super::tables::PEAK;
use super::words::{MAX_EPOCH, Results, Word};
use super::work_items::{
    BY_CLASS, CONTINUED, HEADER_WORDS, NO_SOURCE, NO_STATE, NO_TABLE, NOT_COMPUTED, P_EVIDENCE,
    REPORT, RecordHeader, SOURCE_BITS, SPARSE, STAGING, THREADS, split,
};
use super::{Executor, Program, Timestamps, Variant};
use crate::engine::RunError;
use crate::engine::cuda::semiring::Semiring;

/// The schedule, and the buffers that the kernel reads and writes.
pub(super) struct Twin {
    semiring: Semiring,
    schedule: Schedule,
    report_order: Vec<usize>,
    evidence: Vec<u32>,
    messages: Vec<Word>,
    p_evidence: AtomicU64,
    posteriors: Vec<AtomicU32>,
    epoch: u32,
    parity: bool,
    /// Whether the current run raises every sum.
    raises: bool,
    /// The unnormalised posteriors of the run before the last raised run.
    ordinary: Vec<Word>,
}

/// The inputs of a work item, as its records read them.
struct Staged {
    /// The staging buffer: a one, the scaled messages, the weights of findings, and a zero.
    values: Vec<f32>,
    /// The exponent of the power of two to multiply the sums by.
    power: i32,
    /// Whether the evidence excludes a state that all rows have in common.
    is_excluded: bool,
}

/// The sum of `parts` in `semiring`, added in the same order as the kernel adds the sums of the
/// lanes. The number of parts must be a power of two.
fn tree_sum(semiring: Semiring, mut parts: Vec<f32>) -> f32 {
    while parts.len() > 1 {
        let upper = parts.split_off(parts.len() / 2);
        parts.iter_mut().zip(upper).for_each(|(a, b)| *a = semiring.add(*a, b));
    }
    parts[0]
}

impl Twin {
    /// A twin of a launch of `blocks` blocks.
    pub fn new(program: &Program, blocks: usize) -> Self {
        let words = |count: usize| vec![Word::default(); count];
        let schedule = Schedule::new(&program.items, blocks);
        Self {
            semiring: program.semiring,
            report_order: schedule.report_order(&program.items),
            schedule,
            evidence: vec![0; program.states.evidence_words()],
            messages: words(program.items.messages),
            p_evidence: AtomicU64::new(0),
            posteriors: (0..program.items.result_words).map(|_| AtomicU32::new(0)).collect(),
            epoch: 0,
            parity: false,
            raises: false,
            ordinary: vec![],
        }
    }

    /// Normalises the posteriors of a report, and writes them to `posteriors`.
    fn report(&mut self, record: &[u32]) {
        let header = RecordHeader::of(record);
        let lanes = header.lanes();
        let (sources, list) = record[HEADER_WORDS..].split_at(header.sources());
        let message = |&source: &u32| match source {
            NO_SOURCE => Word::new(0.0, 0, self.epoch),
            index => self.messages[index as usize],
        };
        let words: Vec<Word> = sources.iter().map(message).collect();
        assert!(words.iter().all(|word| word.epoch() == self.epoch), "inputs come first");
        let mut values = vec![0.0_f32; words.len()];
        for variable in &list[..header.list_words.into()] {
            let (first, count) = ((variable & 0xffff) as usize, (variable >> 16) as usize);
            let words = &words[first..first + count];
            let largest = words.iter().filter_map(|word| word.exponent()).max();
            let number = |word: &Word| {
                word.exponent().map_or(0.0, |e| word.with_exponent(e - largest.unwrap_or(0)))
            };
            let mut parts = vec![0.0_f32; lanes];
            words.iter().enumerate().for_each(|(i, word)| parts[i % lanes] += number(word));
            let sum = tree_sum(Semiring::SumProduct, parts);
            let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            for (value, word) in values[first..].iter_mut().zip(words) {
                *value = number(word) * scale;
            }
        }
        let out = &mut self.posteriors[header.first_posterior as usize..];
        for (word, value) in out.iter_mut().zip(values) {
            let bits = value.to_bits() | u32::from(self.parity) << 31;
            let old = std::mem::replace(word.get_mut(), bits);
            assert_ne!(old >> 31, bits >> 31, "each word is written once a run");
        }
    }

    /// Computes a work item. `bit_words`: the number of words of evidence before the weights.
    fn work_item(&mut self, records: &[u32], has_evidence: bool, bit_words: usize) {
        let first = split(records).next().unwrap_or(&[]);
        if RecordHeader::of(first).kind() == REPORT {
            return self.report(first);
        }
        let staged = self.stage(first, has_evidence, bit_words);
        for (n, record) in split(records).enumerate() {
            let is_continued = RecordHeader::of(record).has(CONTINUED);
            assert_eq!(is_continued, n > 0, "all records but the first continue");
            self.sums(record, &staged, has_evidence);
        }
    }

    /// Whether the evidence excludes a state that all rows of the work item have in common. The
    /// kernel looks only at the first 16,384 states. If the excluded state is a later one, the
    /// kernel computes the rows, which are zero, and a raised run raises them.
    fn is_excluded(&self, record: &[u32]) -> bool {
        let mut common = RecordHeader::of(record).common_states.into_iter();
        let is_impossible = |state: usize| self.evidence[state / 32] >> (state % 32) & 1 == 0;
        common.any(|state| state != NO_STATE && is_impossible(state.into()))
    }

    /// Fills the staging buffer of a work item from its first record.
    fn stage(&self, record: &[u32], has_evidence: bool, bit_words: usize) -> Staged {
        let header = RecordHeader::of(record);
        let (chunks, headroom) = (usize::from(header.message_chunks), header.headroom);
        let sources = &record[HEADER_WORDS..][..header.sources()];
        let weights = &self.evidence[bit_words..];
        let is_excluded = has_evidence && self.is_excluded(record);

        let mut values = vec![f32::NAN; 2 + STAGING];
        values[0] = 1.0;
        values[1 + STAGING] = 0.0;
        // The largest exponent of each message.
        let mut largest = vec![None; header.messages.into()];
        let mut words = vec![None; 32 * chunks];
        if !is_excluded {
            for (at, &source) in sources[..32 * chunks].iter().enumerate() {
                let f = (source >> SOURCE_BITS) as usize;
                if source & NO_SOURCE != NO_SOURCE {
                    let word = self.messages[(source & NO_SOURCE) as usize];
                    assert_eq!(word.epoch(), self.epoch, "inputs come first");
                    words[at] = Some(word);
                    largest[f] = largest[f].max(word.exponent());
                }
                let first_of_chunk = sources[at / 32 * 32];
                assert_eq!(f, (first_of_chunk >> SOURCE_BITS) as usize, "a chunk has one message");
            }
            for (at, word) in words.iter().enumerate() {
                let largest = largest[(sources[at] >> SOURCE_BITS) as usize].unwrap_or(0);
                let exponent = word.and_then(|word: Word| word.exponent());
                let scaled = exponent
                    .map(|e| word.unwrap_or_default().with_exponent(e - largest + headroom));
                values[1 + at] = scaled.unwrap_or(0.0);
            }
            for (at, &source) in sources[32 * chunks..].iter().enumerate() {
                let weight = weights.get((source & NO_SOURCE) as usize);
                let weight = weight.map_or(0.0, |&bits| f32::from_bits(bits));
                values[1 + 32 * chunks + at] = if has_evidence { weight } else { f32::NAN };
            }
        }
        let peak = if header.has(NO_TABLE) { 0 } else { PEAK };
        let power =
            largest.iter().map(|e: &Option<i32>| e.unwrap_or(0) - headroom).sum::<i32>() - peak;
        Staged { values, power, is_excluded }
    }

    /// Computes and stores the sums of one record.
    fn sums(&mut self, record: &[u32], staged: &Staged, has_evidence: bool) {
        let header = RecordHeader::of(record);
        let (steps, threads) = (usize::from(header.steps), usize::from(header.threads));
        let (passes, lanes) = (usize::from(header.passes), header.lanes());
        let is_sparse = header.kind() == SPARSE;
        let all_pairs = header.pairs();
        let pairs = if has_evidence { all_pairs } else { header.message_pairs.into() };
        let (list, after_list) =
            record[HEADER_WORDS + header.sources()..].split_at(header.list_words.into());
        assert!(threads <= THREADS && threads.is_multiple_of(32));
        let rows = header.rows();
        let by_class = header.has(BY_CLASS);
        let words_per_row = if is_sparse { 1 } else { 1 + all_pairs + usize::from(by_class) };
        let (row_words, stream) = after_list.split_at((rows * words_per_row).next_multiple_of(4));
        let table_words = usize::from(!header.has(NO_TABLE));
        let step_words = table_words + if is_sparse { all_pairs } else { 0 };
        let entries = usize::from(header.row_entries);
        let raised = if self.raises { raise(header) } else { 0.0 };
        assert!(by_class || stream.len() >= passes * steps * step_words * threads);
        for row in 0..rows {
            let (pass, slot) = (row * lanes / threads, row * lanes % threads);
            let mut parts = vec![0.0_f32; lanes];
            for (lane, part) in parts.iter_mut().enumerate() {
                for step in 0..steps {
                    let entry = step * lanes + lane;
                    if table_words == 0 && !is_sparse && entry >= entries {
                        continue;
                    }
                    let at = match by_class {
                        true => row_words[(1 + all_pairs) * rows + row] as usize + entry,
                        false => (pass * steps + step) * step_words * threads + slot + lane,
                    };
                    let mut value = if table_words == 1 { f32::from_bits(stream[at]) } else { 1.0 };
                    for pair in 0..pairs {
                        let addresses = match is_sparse {
                            true => stream[at + (table_words + pair) * threads],
                            false => {
                                row_words[(1 + pair) * rows + row] + list[entry * all_pairs + pair]
                            }
                        };
                        assert_eq!(addresses & 0x0003_0003, 0, "addresses are in bytes");
                        let load = |address: u32| staged.values[(address & 0xffff) as usize / 4];
                        value *= load(addresses) * load(addresses >> 16);
                    }
                    *part = self.semiring.add(*part, value);
                }
            }
            let sum = tree_sum(self.semiring, parts) + raised;
            if row_words[row] != NOT_COMPUTED {
                let word = match staged.is_excluded {
                    true => Word::new(0.0, 0, self.epoch),
                    false => Word::new(sum, staged.power, self.epoch),
                };
                let is_p_evidence = header.has(P_EVIDENCE);
                self.store_result(is_p_evidence, row_words[row] as usize, word);
                assert!(staged.is_excluded || sum >= 0.0, "negative or not a number: {sum}");
            }
        }
    }

    /// Stores a result: P(e), or entry `index` of all messages.
    fn store_result(&mut self, is_p_evidence: bool, index: usize, word: Word) {
        let old = match is_p_evidence {
            false => std::mem::replace(&mut self.messages[index], word),
            true => Word(std::mem::replace(self.p_evidence.get_mut(), word.0)),
        };
        assert_ne!(old.epoch(), self.epoch, "each word is written once");
    }
}

impl Executor for Twin {
    fn evidence(&mut self) -> &mut [u32] {
        &mut self.evidence
    }

    fn start(
        &mut self,
        program: &Program,
        has_evidence: bool,
        variant: Variant,
    ) -> Result<(), RunError> {
        self.raises = variant == Variant::Raised;
        self.epoch = self.epoch % MAX_EPOCH + 1;
        self.parity = !self.parity;
        for item in self.schedule.start_order.clone() {
            self.work_item(&program.items.records[item], has_evidence, program.states.bit_words());
        }
        Ok(())
    }

    fn raise(
        &mut self,
        program: &Program,
        has_evidence: bool,
    ) -> Result<[Unnormalised<'_>; 2], RunError> {
        let posteriors = ..program.items.posterior_words;
        let p_evidence = |twin: &Self| twin.results().p_evidence().unwrap_or_default();
        let p_ordinary = p_evidence(self);
        self.ordinary = self.messages[posteriors].to_vec();
        self.start(program, has_evidence, Variant::Raised)?;
        Ok([
            Unnormalised { p_evidence: p_ordinary, posteriors: &self.ordinary },
            Unnormalised { p_evidence: p_evidence(self), posteriors: &self.messages[posteriors] },
        ])
    }

    fn results(&self) -> Results<'_> {
        Results {
            words: &self.posteriors,
            parity: self.parity,
            p_evidence: &self.p_evidence,
            epoch: self.epoch,
        }
    }

    fn finish_reading(&mut self) {}

    fn report_order(&self) -> &[usize] {
        &self.report_order
    }

    fn is_running(&self) -> Result<bool, RunError> {
        Ok(false)
    }

    fn timestamps(&mut self, program: &Program) -> Result<Vec<Timestamps>, RunError> {
        Ok(vec![Timestamps::default(); program.items.len()])
    }

    fn blocks(&self) -> usize {
        self.schedule.starts.len() - 1
    }

    fn empty_run(&mut self, _: u32) -> Option<Duration> {
        None
    }

    fn kernel_times(&mut self, _: u32) -> Option<[Duration; 2]> {
        None
    }
}
