//! How the threads of a block share the rows of a record, and what the staging buffer holds.

use super::{HEADER_WORDS, NO_SOURCE, SOURCE_BITS, THREADS, WARP};

/// How the threads of a block share the rows of a record. The rows are computed in passes of
/// `threads / lanes` rows. Each row is computed by `lanes` neighbouring threads, each of which sums
/// at most `steps` entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Number of entries of the longest row.
    pub(super) entries: usize,
    /// Number of threads that share a row.
    pub(super) lanes: usize,
    /// Maximum number of entries of a row that one thread sums.
    pub(super) steps: usize,
    /// Number of threads that take part.
    pub(super) threads: usize,
    /// Number of passes.
    pub(super) passes: usize,
}

impl Layout {
    /// The layout of `rows` rows of up to `entries` entries. A thread sums at most `steps` entries
    /// of a row, or more if a row is too long for a warp; it sums fewer if others would idle.
    pub(super) fn new(entries: usize, rows: usize, steps: usize) -> Self {
        let entries = entries.max(1);
        let mut lanes = entries.div_ceil(steps).next_power_of_two().min(WARP);
        while lanes < WARP && lanes < entries && 2 * lanes * rows <= THREADS {
            lanes *= 2;
        }
        let passes = (rows * lanes).div_ceil(THREADS);
        let threads = if passes == 1 { (rows * lanes).next_multiple_of(32) } else { THREADS };
        Self { entries, lanes, steps: entries.div_ceil(lanes), threads, passes }
    }

    /// Number of rows in a pass.
    pub(super) fn rows_per_pass(self) -> usize {
        self.threads / self.lanes
    }

    /// For each of the first `entries` entries of row number `row` of the record: the index of the
    /// entry's first word in the *stream*, the part of the record that holds what each thread reads
    /// in each step. Each thread has `width` words per step.
    pub(super) fn stream_words(
        self,
        row: usize,
        entries: usize,
        width: usize,
    ) -> impl Iterator<Item = usize> + Clone {
        let (pass, row) = (row / self.rows_per_pass(), row % self.rows_per_pass());
        let first = pass * self.steps * width * self.threads + row * self.lanes;
        let steps = (0..self.steps).map(move |step| first + step * width * self.threads);
        steps.flat_map(move |first| first..first + self.lanes).take(entries)
    }

    /// Distance in words, in the stream, between the first table entries of two neighbouring
    /// classes. If each thread has a row of its own, the distance is odd, so that the threads of a
    /// warp read from different banks of shared memory.
    pub(super) fn class_stride(self) -> usize {
        let entries = self.lanes * self.steps;
        if self.lanes == 1 { entries | 1 } else { entries }
    }

    /// Number of rows in all passes, including unused ones.
    pub(super) fn slots(self) -> usize {
        self.passes * self.rows_per_pass()
    }

    /// Length in words of a record without its sources and list, with `slot_words` words per row
    /// and `step_words` words per step of a thread.
    pub(super) fn words(self, slot_words: usize, step_words: usize) -> usize {
        let stream = self.passes * self.steps * self.threads * step_words;
        HEADER_WORDS + (self.slots() * slot_words).next_multiple_of(4) + stream
    }
}

/// Assigns the numbers 0, 1, 2 and so on to distinct indices, in the order in which the indices
/// first occur. Clearing takes constant time: it only begins a new round.
pub(super) struct Numbering {
    /// For each index the last round in which it was numbered, and its number in that round.
    numbers: Vec<(u32, u32)>,
    round: u32,
    /// Number of distinct indices since the last call of `clear`.
    pub(super) count: usize,
}

impl Numbering {
    /// A numbering of indices below `bound`. Call [`Numbering::clear`] before the first use.
    pub(super) fn new(bound: usize) -> Self {
        Self { numbers: vec![(0, 0); bound], round: 0, count: 0 }
    }

    /// Begins a new round, in which no index is numbered yet.
    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// The number of `index`, and whether this is the first occurrence of `index` in this round.
    pub(super) fn number(&mut self, index: usize) -> (usize, bool) {
        let known = &mut self.numbers[index];
        let is_new = known.0 != self.round;
        if is_new {
            *known = (self.round, self.count as u32);
            self.count += 1;
        }
        (known.1 as usize, is_new)
    }
}

/// The sources of the words of a staging buffer: messages, each beginning at a multiple of 32
/// words, then findings.
#[derive(Default)]
pub(super) struct StagingBuffer {
    pub(super) sources: Vec<u32>,
    /// The index in `sources` of the first word of each message and finding.
    pub(super) starts: Vec<usize>,
    /// Number of words of all messages, including padding.
    pub(super) message_words: usize,
    /// The number of the message that is being added; 0 for findings.
    factor: usize,
}

impl StagingBuffer {
    /// Begins factor number `f`, which is a message if `f` is below `messages`, otherwise a
    /// finding.
    pub(super) fn begin(&mut self, f: usize, messages: usize) {
        if f <= messages {
            self.pad();
            self.message_words = self.sources.len();
        }
        self.factor = if f < messages { f } else { 0 };
        self.starts.push(self.sources.len());
    }

    /// Adds words that are not loaded, up to a multiple of 32 words.
    fn pad(&mut self) {
        let padded = self.sources.len().next_multiple_of(32);
        self.sources.resize(padded, NO_SOURCE | (self.factor as u32) << SOURCE_BITS);
    }

    /// Call this after the last message or finding.
    pub(super) fn end(&mut self, messages: usize) {
        self.pad();
        if self.starts.len() <= messages {
            self.message_words = self.sources.len();
        }
    }
}
