//! What things are thought to take, in nanoseconds. Items as measured on an NVIDIA H200 from the stamps of
//! all of them (see `explain`): how many words of messages a thread brings to the stage decides most of it.

use super::items::THREADS;

/// How much earlier than what it waits for a block takes up an item.
pub(super) const AHEAD: u64 = 1000;

/// For each variable of a report, until the host has read it.
pub(super) const READING: u64 = 12;

/// Of a report, where each thread has to bring so many posteriors.
pub(super) fn of_report(rounds: usize) -> u32 {
    500 + 500 * rounds as u32
}

/// What an item costs.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// Words of messages on the stage.
    pub words: u32,
    /// From when the stage is full until the item has ended.
    pub sums: u32,
}

impl Cost {
    /// Of sums in so many steps, each over so many pairs of factors.
    pub fn of_sums(steps: usize, pairs: usize) -> u32 {
        400 + 15 * (steps * (1 + pairs)) as u32
    }

    fn words_of_thread(self) -> u64 {
        u64::from(self.words.div_ceil(THREADS as u32))
    }

    /// From when a block takes up the item until the stage is full, where all messages are there.
    pub fn preparation(self) -> u64 {
        450 + 270 * self.words_of_thread()
    }

    /// From the end of what is waited for last until the stage is full.
    pub fn hand_over(self) -> u64 {
        250 + 210 * self.words_of_thread()
    }

    /// From the end of what is waited for last until the item has ended.
    pub fn hop(self) -> u64 {
        self.hand_over() + u64::from(self.sums)
    }
}
