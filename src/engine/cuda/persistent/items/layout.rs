//! How the threads of a block share the rows of an item, and what is put on its stage.

use super::{HEADER, LANES, NO_SOURCE, THREADS};

/// Threads that share a row, steps that each of them takes, threads that take part, and passes over them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Entries of a row.
    pub(super) run: usize,
    pub(super) lanes: usize,
    pub(super) steps: usize,
    pub(super) threads: usize,
    pub(super) passes: usize,
}

impl Layout {
    /// For rows of up to `run` entries, `rows` of them in all, and about `steps` entries a thread.
    pub(super) fn new(run: usize, rows: usize, steps: usize) -> Self {
        let run = run.max(1);
        let mut lanes = run.div_ceil(steps).next_power_of_two().min(LANES);
        while lanes < LANES && lanes < run && 2 * lanes * rows <= THREADS {
            lanes *= 2;
        }
        let passes = (rows * lanes).div_ceil(THREADS);
        let threads = if passes == 1 { (rows * lanes).next_multiple_of(32) } else { THREADS };
        Self { run, lanes, steps: run.div_ceil(lanes), threads, passes }
    }

    /// Rows of a pass.
    pub(super) fn rows(self) -> usize {
        self.threads / self.lanes
    }

    /// Where entry `i` of a row stands in the stream, whose steps take `width` words of each thread.
    pub(super) fn at(self, row: usize, i: usize, width: usize) -> usize {
        let (pass, row) = (row / self.rows(), row % self.rows());
        let step = pass * self.steps + i / self.lanes;
        step * width * self.threads + row * self.lanes + i % self.lanes
    }

    /// Words between the classes of rows in the stream: of odd number where each thread has a row, so
    /// that those of a warp read from different banks.
    pub(super) fn stride(self) -> usize {
        let entries = self.lanes * self.steps;
        if self.lanes == 1 { entries | 1 } else { entries }
    }

    /// Rows of all passes.
    pub(super) fn slots(self) -> usize {
        self.passes * self.rows()
    }

    /// Words of a record but for those of the stage and the list, of which `of_slot` are of each row
    /// and `of_step` of each step of a thread.
    pub(super) fn words(self, of_slot: usize, of_step: usize) -> usize {
        let stream = self.passes * self.steps * self.threads * of_step;
        HEADER + (self.slots() * of_slot).next_multiple_of(4) + stream
    }
}

/// Where something stands among distinct things, by number; forgotten all at once.
pub(super) struct Numbers {
    pub(super) of: Vec<(u32, u32)>,
    pub(super) round: u32,
    pub(super) count: usize,
}

impl Numbers {
    pub(super) fn new(entries: usize) -> Self {
        Self { of: vec![(0, 0); entries], round: 0, count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// The number of `entry`, and whether it is new.
    pub(super) fn number(&mut self, entry: usize) -> (usize, bool) {
        let of = &mut self.of[entry];
        let is_new = of.0 != self.round;
        if is_new {
            *of = (self.round, self.count as u32);
            self.count += 1;
        }
        (of.1 as usize, is_new)
    }
}

/// Sorts `distinct` entries, and gives for each as it stood before the number that it has now.
pub(super) fn sort(distinct: &mut [u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..distinct.len()).collect();
    order.sort_unstable_by_key(|&n| distinct[n]);
    let mut number = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| number[from] = to as u32);
    distinct.sort_unstable();
    number
}

/// The words that are put on the stage: those of each message from a multiple of 32 on, then those of findings.
#[derive(Default)]
pub(super) struct Stage {
    pub(super) words: Vec<u32>,
    pub(super) starts: Vec<usize>,
    pub(super) messages: usize,
    pub(super) factor: usize,
}

impl Stage {
    pub(super) fn begin(&mut self, f: usize, messages: usize) {
        if f <= messages {
            self.pad();
            self.messages = self.words.len();
        }
        self.factor = if f < messages { f } else { 0 };
        self.starts.push(self.words.len());
    }

    pub(super) fn push(&mut self, source: u32) {
        self.words.push(source);
    }

    pub(super) fn pad(&mut self) {
        let padded = self.words.len().next_multiple_of(32);
        self.words.resize(padded, NO_SOURCE | (self.factor as u32) << 29);
    }

    pub(super) fn end(&mut self, messages: usize) {
        self.pad();
        if self.starts.len() <= messages {
            self.messages = self.words.len();
        }
    }
}

/// One more than the largest of `offsets`.
pub(super) fn most(offsets: &[u32]) -> usize {
    offsets.iter().max().map_or(1, |&most| most as usize + 1)
}
