//! Estimated durations in nanoseconds, from which the schedule is made. They affect only speed.
//!
//! The constants were fitted on an NVIDIA H200 to the timestamps of all work items (see `explain`).
//! The duration of a work item depends most on the number of message words that each thread loads
//! into the staging buffer.

use super::work_items::THREADS;

/// A block should begin a work item this long before the inputs of the work item are complete. The
/// record has then been copied to shared memory when the last input arrives.
pub(super) const PREPARATION_LEAD: u64 = 1000;

/// The time that the host takes to read one variable of a report.
pub(super) const HOST_READ_PER_VARIABLE: u64 = 12;

/// The time to compute a report in which each group of threads normalises `rounds` variables one
/// after another.
pub(super) fn report_time(rounds: usize) -> u32 {
    500 + 500 * rounds as u32
}

/// The cost of a work item.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// Number of message words in the staging buffer.
    pub staged_words: u32,
    /// Nanoseconds from a full staging buffer to the end of the work item.
    pub sum_time: u32,
}

impl Cost {
    /// The time of the sums, if each thread adds `steps` products and each product has `pairs`
    /// pairs of factors.
    pub fn sum_time(steps: usize, pairs: usize) -> u32 {
        400 + 15 * (steps * (1 + pairs)) as u32
    }

    /// Number of message words that one thread loads into the staging buffer.
    fn words_per_thread(self) -> u64 {
        u64::from(self.staged_words.div_ceil(THREADS as u32))
    }

    /// Time from the start of the work item to a full staging buffer, if all messages that it reads
    /// have been written.
    pub fn time_to_stage(self) -> u64 {
        450 + 270 * self.words_per_thread()
    }

    /// Time from the end of the last input to a full staging buffer, if the block is waiting for
    /// that input.
    pub fn time_to_stage_after_wait(self) -> u64 {
        250 + 210 * self.words_per_thread()
    }

    /// Time from the end of the last input to the end of the work item, if the block is waiting for
    /// that input.
    pub fn latency(self) -> u64 {
        self.time_to_stage_after_wait() + u64::from(self.sum_time)
    }
}
