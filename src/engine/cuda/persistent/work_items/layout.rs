//! How the threads of a block share the rows of a record, and what the staging buffer holds.

use super::{HEADER, NO_SOURCE, SOURCE_BITS, THREADS, WARP};

/// How the threads of a block share the rows of a record. A pass computes `threads / lanes` rows.
/// Each row is computed by `lanes` neighbouring threads, each of which takes `steps` entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Maximum number of entries of a row.
    pub(super) entries: usize,
    /// Number of threads that share a row.
    pub(super) lanes: usize,
    /// Number of entries of a row that one thread takes.
    pub(super) steps: usize,
    /// Number of threads that take part.
    pub(super) threads: usize,
    pub(super) passes: usize,
}

impl Layout {
    /// The layout of `rows` rows of up to `entries` entries, with about `steps` entries per thread.
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

    /// The word of the stream for entry `i` of a row, if each thread has `width` words per step.
    pub(super) fn stream_word(self, row: usize, i: usize, width: usize) -> usize {
        let (pass, row) = (row / self.rows_per_pass(), row % self.rows_per_pass());
        let step = pass * self.steps + i / self.lanes;
        step * width * self.threads + row * self.lanes + i % self.lanes
    }

    /// Distance in words between the table entries of two classes in the stream. If each thread has
    /// a row of its own, the distance is odd, so that the threads of a warp read from different
    /// banks of shared memory.
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
        HEADER + (self.slots() * slot_words).next_multiple_of(4) + stream
    }
}

/// Assigns consecutive numbers to distinct entries, in the order in which they first occur.
/// Clearing takes constant time.
pub(super) struct Numbering {
    /// For each entry the last round in which it was numbered, and its number in that round.
    numbers: Vec<(u32, u32)>,
    round: u32,
    /// Number of distinct entries since the last call of `clear`.
    pub(super) count: usize,
}

impl Numbering {
    /// A numbering of entries below `entries`. Call [`Numbering::clear`] before the first use.
    pub(super) fn new(entries: usize) -> Self {
        Self { numbers: vec![(0, 0); entries], round: 0, count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// The number of `entry`, and whether it is new.
    pub(super) fn number(&mut self, entry: usize) -> (usize, bool) {
        let known = &mut self.numbers[entry];
        let is_new = known.0 != self.round;
        if is_new {
            *known = (self.round, self.count as u32);
            self.count += 1;
        }
        (known.1 as usize, is_new)
    }
}

/// Sorts `distinct` and returns for each old position the new one.
pub(super) fn sort_and_renumber(distinct: &mut [u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..distinct.len()).collect();
    order.sort_unstable_by_key(|&n| distinct[n]);
    let mut number = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| number[from] = to as u32);
    distinct.sort_unstable();
    number
}

/// The sources of the words of a staging buffer: messages, each beginning at a multiple of 32
/// words, then findings.
#[derive(Default)]
pub(super) struct StagingBuffer {
    pub(super) sources: Vec<u32>,
    /// First word of each message and finding.
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

    pub(super) fn push(&mut self, source: u32) {
        self.sources.push(source);
    }

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

/// One more than the largest of `offsets`; 1 if there are none.
pub(super) fn upper_bound(offsets: &[u32]) -> usize {
    offsets.iter().max().map_or(1, |&largest| largest as usize + 1)
}
