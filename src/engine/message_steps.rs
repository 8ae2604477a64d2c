//! The elementary steps of one message, Algorithm 1 of Zheng, Mengshoel and Chong.
//!
//! As in the paper, φ is the separator's table before the message and φ* the table after it; j is
//! the index of a separator entry.

use crate::engine::MessageDetail;
use crate::potential::Odometer;

/// Maximum number of additions of a move forward that continues from the current sums. A longer
/// move computes all sums anew. This affects only speed.
const MAX_INCREMENTAL_STEPS: usize = 1000;

/// The order of the elementary steps of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// Entry by entry, as on one CPU: all entries of the sender, then all of the separator, then
    /// all of the receiver.
    #[default]
    Entries,
    /// Thread by thread, as in the paper's kernel: thread j sums the sender's entries that map to
    /// separator entry j, divides, and multiplies the receiver's entries that map to j. All steps
    /// of a thread come before the steps of the next thread, although threads run in parallel.
    Threads,
}

/// One elementary step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry of the sender is added to φ*(j).
    Add {
        /// The separator's entry.
        j: usize,
        /// The position of the entry in the mapping table of j, counted from zero.
        n: usize,
        /// The sender's entry.
        entry: usize,
    },
    /// φ*(j) is divided by φ(j), with 0/0 = 0.
    Divide {
        /// The separator's entry.
        j: usize,
    },
    /// An entry of the receiver is multiplied by the ratio φ*(j)/φ(j).
    Multiply {
        /// The separator's entry.
        j: usize,
        /// The position of the entry in the mapping table of j, counted from zero.
        n: usize,
        /// The receiver's entry.
        entry: usize,
    },
}

impl Step {
    /// The separator's entry.
    #[must_use]
    pub fn j(self) -> usize {
        match self {
            Self::Add { j, .. } | Self::Divide { j } | Self::Multiply { j, .. } => j,
        }
    }
}

/// A position among the steps of one message, with the sums at that point.
#[derive(Clone, Debug)]
pub struct Progress {
    order: Order,
    /// The number of steps done.
    done: usize,
    /// For each separator entry j, the part of φ*(j) that has been summed so far.
    sums: Vec<f64>,
}

impl Progress {
    /// The position before the first step.
    #[must_use]
    pub fn new(message: &MessageDetail, order: Order) -> Self {
        Self { order, done: 0, sums: vec![0.0; message.separator.entries()] }
    }

    /// The order of the steps.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// The number of steps done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// The part of φ*(j) that has been summed so far.
    ///
    /// # Panics
    /// If the separator has no entry `j`.
    #[must_use]
    pub fn sum(&self, j: usize) -> f64 {
        self.sums[j]
    }

    /// Moves to the position after `done` steps, or after the last step if there are fewer.
    ///
    /// # Complexity
    /// In [`Order::Entries`], a short move forward that ends before the last addition takes one
    /// addition per step. Any other move writes all sums once, and then takes at most one addition
    /// for each of the sender's entries before the new position. In [`Order::Threads`], a move
    /// writes all sums once and takes at most the additions of one thread.
    pub fn seek(&mut self, message: &MessageDetail, done: usize) {
        let target = done.min(steps(message));
        match self.order {
            Order::Entries => self.seek_entry(message, target),
            Order::Threads => self.seek_thread(message, target),
        }
        self.done = target;
    }

    /// Sets the sums to those after `target` steps in [`Order::Entries`].
    fn seek_entry(&mut self, message: &MessageDetail, target: usize) {
        let added = self.done.min(message.sender_values.len());
        let to_add = target.min(message.sender_values.len());
        if to_add == message.sender_values.len() {
            self.sums.copy_from_slice(&message.after);
            return;
        }
        if to_add >= added && to_add - added <= MAX_INCREMENTAL_STEPS {
            for entry in added..to_add {
                self.sums[message.from.place(entry).0] += message.sender_values[entry];
            }
            return;
        }
        self.sums.fill(0.0);
        let entries = Odometer::new(&message.sender, &message.separator);
        for (value, j) in message.sender_values[..to_add].iter().zip(entries) {
            self.sums[j] += value;
        }
    }

    /// Sets the sums to those after `target` steps in [`Order::Threads`].
    fn seek_thread(&mut self, message: &MessageDetail, target: usize) {
        let (thread, within) =
            (target / steps_of_thread(message), target % steps_of_thread(message));
        self.sums[..thread].copy_from_slice(&message.after[..thread]);
        self.sums[thread..].fill(0.0);
        if let Some(sum) = self.sums.get_mut(thread) {
            let elements = 0..within.min(message.from.count());
            *sum = elements.map(|n| message.sender_values[message.from.element(thread, n)]).sum();
        }
    }

    /// Whether the sender's entry `entry` has been added.
    #[must_use]
    pub fn has_added(&self, message: &MessageDetail, entry: usize) -> bool {
        match self.order {
            Order::Entries => entry < self.done,
            Order::Threads => {
                let (j, n) = message.from.place(entry);
                j * steps_of_thread(message) + n < self.done
            }
        }
    }

    /// Whether φ*(j) has been divided by φ(j).
    #[must_use]
    pub fn has_divided(&self, message: &MessageDetail, j: usize) -> bool {
        let step = match self.order {
            Order::Entries => message.sender_values.len() + j,
            Order::Threads => j * steps_of_thread(message) + message.from.count(),
        };
        step < self.done
    }

    /// Whether the receiver's entry `entry` has been multiplied.
    #[must_use]
    pub fn has_multiplied(&self, message: &MessageDetail, entry: usize) -> bool {
        let step = match self.order {
            Order::Entries => message.sender_values.len() + message.before.len() + entry,
            Order::Threads => {
                let (j, n) = message.to.place(entry);
                j * steps_of_thread(message) + message.from.count() + 1 + n
            }
        };
        step < self.done
    }
}

/// The number of steps of the message.
#[must_use]
pub fn steps(message: &MessageDetail) -> usize {
    message.sender_values.len() + message.before.len() + message.receiver_values.len()
}

/// The number of steps of each thread in [`Order::Threads`].
#[must_use]
pub fn steps_of_thread(message: &MessageDetail) -> usize {
    message.from.count() + 1 + message.to.count()
}

/// Step number `index` of `message`, counted from zero.
///
/// # Panics
/// If there is no such step.
#[must_use]
pub fn step(message: &MessageDetail, order: Order, index: usize) -> Step {
    assert!(index < steps(message), "a message has no step {index}");
    match order {
        Order::Entries => {
            let (sender, separator) = (message.sender_values.len(), message.before.len());
            if index < sender {
                let (j, n) = message.from.place(index);
                Step::Add { j, n, entry: index }
            } else if index < sender + separator {
                Step::Divide { j: index - sender }
            } else {
                let entry = index - sender - separator;
                let (j, n) = message.to.place(entry);
                Step::Multiply { j, n, entry }
            }
        }
        Order::Threads => {
            let (j, within) = (index / steps_of_thread(message), index % steps_of_thread(message));
            let sums = message.from.count();
            if within < sums {
                Step::Add { j, n: within, entry: message.from.element(j, within) }
            } else if within == sums {
                Step::Divide { j }
            } else {
                let n = within - sums - 1;
                Step::Multiply { j, n, entry: message.to.element(j, n) }
            }
        }
    }
}

/// The number of the first step that adds to separator entry `j`, counted from zero.
#[must_use]
pub fn first_step(message: &MessageDetail, order: Order, j: usize) -> usize {
    match order {
        Order::Entries => message.from.element(j, 0),
        Order::Threads => j * steps_of_thread(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::cancel::CancelToken;
    use crate::engine::Stepper;
    use crate::network::Evidence;
    use crate::potential::ratio;
    use crate::propagation::{CompileOptions, MemoryLimit, compile};

    fn messages() -> Vec<MessageDetail> {
        let network = crate::format::open("asia").unwrap().network;
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "xray", "yes").unwrap();
        let options = CompileOptions::default();
        let compiled = Arc::new(compile(network, &options, &CancelToken::new()).unwrap());
        let memory = MemoryLimit::from_bytes(1 << 30);
        let mut stepper = Stepper::new(&compiled, evidence, memory).unwrap();
        let cancel = CancelToken::new();
        compiled.plan().ids().map(|id| stepper.message(id, &cancel).unwrap()).collect()
    }

    #[test]
    fn the_steps_in_either_order_give_the_result_of_the_message() {
        for message in messages() {
            for order in [Order::Entries, Order::Threads] {
                let mut new = vec![0.0; message.before.len()];
                let mut ratios = vec![f64::NAN; message.before.len()];
                let mut receiver = message.receiver_values.to_vec();
                for index in 0..steps(&message) {
                    match step(&message, order, index) {
                        Step::Add { j, entry, .. } => new[j] += message.sender_values[entry],
                        Step::Divide { j } => {
                            ratios[j] = ratio(new[j], message.before[j]);
                        }
                        Step::Multiply { j, entry, .. } => receiver[entry] *= ratios[j],
                    }
                }
                for (j, sum) in new.iter().enumerate() {
                    assert!((sum - message.after[j]).abs() < 1e-14);
                }
                for (entry, value) in receiver.iter().enumerate() {
                    assert!((value - message.received(entry)).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn progress_is_right_at_every_step_and_after_moving_back() {
        for message in messages() {
            for order in [Order::Entries, Order::Threads] {
                let mut sums = vec![0.0; message.before.len()];
                let mut added = vec![false; message.sender_values.len()];
                let mut divided = vec![false; message.before.len()];
                let mut multiplied = vec![false; message.receiver_values.len()];
                let mut progress = Progress::new(&message, order);
                for index in 0..=steps(&message) {
                    progress.seek(&message, index);
                    let moved_back = {
                        let mut far = progress.clone();
                        far.seek(&message, usize::MAX);
                        far.seek(&message, index);
                        far
                    };
                    for progress in [&progress, &moved_back] {
                        assert_eq!(progress.done(), index);
                        let has = |progress: &Progress, entry| progress.has_added(&message, entry);
                        assert!((0..added.len()).all(|i| has(progress, i) == added[i]));
                        let has = |entry| progress.has_divided(&message, entry);
                        assert!((0..divided.len()).all(|i| has(i) == divided[i]));
                        let has = |entry| progress.has_multiplied(&message, entry);
                        assert!((0..multiplied.len()).all(|i| has(i) == multiplied[i]));
                        assert!((0..sums.len()).all(|j| progress.sum(j) == sums[j]));
                    }
                    if index < steps(&message) {
                        match step(&message, order, index) {
                            Step::Add { j, entry, .. } => {
                                sums[j] += message.sender_values[entry];
                                added[entry] = true;
                            }
                            Step::Divide { j } => divided[j] = true,
                            Step::Multiply { entry, .. } => multiplied[entry] = true,
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_step_of_a_separator_entry_adds_the_first_element_of_its_mapping_table() {
        for message in messages() {
            for order in [Order::Entries, Order::Threads] {
                for j in 0..message.before.len() {
                    let first = step(&message, order, first_step(&message, order, j));
                    assert!(matches!(first, Step::Add { j: found, n: 0, .. } if found == j));
                }
            }
        }
    }
}
