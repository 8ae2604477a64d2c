//! Algorithm 1 of Zheng, Mengshoel and Chong, one elementary step after another.

use crate::engine::Passing;
use crate::potential::Odometer;

/// So many steps forward are taken one by one.
const FEW: usize = 1000;

/// In which order the elementary steps of a message are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// As on one processor: through the sender's table from its first entry to its last, then
    /// through the separator's, then through the receiver's.
    #[default]
    Entries,
    /// As a GPU thread works: thread j sums the sender's entries that map to separator entry j,
    /// divides, and multiplies the receiver's; after it thread j + 1, which in truth runs beside it.
    Threads,
}

/// One elementary step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// φ*(j) grows by an entry of the sender, the `n`th of those that map to j.
    Add {
        /// The separator's entry.
        j: usize,
        /// Place in its mapping table.
        n: usize,
        /// The sender's entry.
        entry: usize,
    },
    /// φ*(j) is divided by φ(j).
    Divide {
        /// The separator's entry.
        j: usize,
    },
    /// An entry of the receiver, the `n`th of those that map to j, is multiplied by the quotient.
    Multiply {
        /// The separator's entry.
        j: usize,
        /// Place in its mapping table.
        n: usize,
        /// The receiver's entry.
        entry: usize,
    },
}

impl Step {
    /// The entry of the separator that it is about.
    #[must_use]
    pub fn j(self) -> usize {
        match self {
            Self::Add { j, .. } | Self::Divide { j } | Self::Multiply { j, .. } => j,
        }
    }
}

/// How far the steps of one message are, with the sums as they are by then.
#[derive(Clone, Debug)]
pub struct Progress {
    order: Order,
    /// Steps done.
    done: usize,
    /// φ* so far.
    sums: Vec<f64>,
}

impl Progress {
    /// Before the first step.
    #[must_use]
    pub fn new(passing: &Passing, order: Order) -> Self {
        Self { order, done: 0, sums: vec![0.0; passing.separator.entries()] }
    }

    /// The order of the steps.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// How many steps are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// φ*(j) as far as it is summed up.
    #[must_use]
    pub fn sum(&self, j: usize) -> f64 {
        self.sums[j]
    }

    /// Goes to where `done` steps are done, at most all of them.
    ///
    /// # Complexity
    /// In the order of entries an addition for each of the sender's up to there, fewer for a few
    /// steps forward; in the order of threads the steps of one thread, and a copy of the sums of
    /// those before it. Nobody waits for millions of entries.
    pub fn seek(&mut self, passing: &Passing, done: usize) {
        let target = done.min(steps(passing));
        match self.order {
            Order::Entries => self.seek_entry(passing, target),
            Order::Threads => self.seek_thread(passing, target),
        }
        self.done = target;
    }

    fn seek_entry(&mut self, passing: &Passing, target: usize) {
        let added = self.done.min(passing.sender_values.len());
        let to_add = target.min(passing.sender_values.len());
        if to_add == passing.sender_values.len() {
            self.sums.copy_from_slice(&passing.after);
            return;
        }
        if to_add >= added && to_add - added <= FEW {
            for entry in added..to_add {
                self.sums[passing.from.place(entry).0] += passing.sender_values[entry];
            }
            return;
        }
        self.sums.fill(0.0);
        let entries = Odometer::new(&passing.sender, &passing.separator);
        for (value, j) in passing.sender_values[..to_add].iter().zip(entries) {
            self.sums[j] += value;
        }
    }

    fn seek_thread(&mut self, passing: &Passing, target: usize) {
        let (thread, within) =
            (target / steps_of_thread(passing), target % steps_of_thread(passing));
        self.sums[..thread].copy_from_slice(&passing.after[..thread]);
        self.sums[thread..].fill(0.0);
        if let Some(sum) = self.sums.get_mut(thread) {
            let elements = 0..within.min(passing.from.count());
            *sum = elements.map(|n| passing.sender_values[passing.from.element(thread, n)]).sum();
        }
    }

    /// Whether the sender's entry has been added.
    #[must_use]
    pub fn has_added(&self, passing: &Passing, entry: usize) -> bool {
        match self.order {
            Order::Entries => entry < self.done,
            Order::Threads => {
                let (j, n) = passing.from.place(entry);
                j * steps_of_thread(passing) + n < self.done
            }
        }
    }

    /// Whether the quotient for entry `j` of the separator is known.
    #[must_use]
    pub fn has_divided(&self, passing: &Passing, j: usize) -> bool {
        let at = match self.order {
            Order::Entries => passing.sender_values.len() + j,
            Order::Threads => j * steps_of_thread(passing) + passing.from.count(),
        };
        at < self.done
    }

    /// Whether the receiver's entry has been multiplied.
    #[must_use]
    pub fn has_multiplied(&self, passing: &Passing, entry: usize) -> bool {
        let at = match self.order {
            Order::Entries => passing.sender_values.len() + passing.before.len() + entry,
            Order::Threads => {
                let (j, n) = passing.to.place(entry);
                j * steps_of_thread(passing) + passing.from.count() + 1 + n
            }
        };
        at < self.done
    }
}

/// How many steps the message takes.
#[must_use]
pub fn steps(passing: &Passing) -> usize {
    passing.sender_values.len() + passing.before.len() + passing.receiver_values.len()
}

/// How many of them one thread takes.
#[must_use]
pub fn steps_of_thread(passing: &Passing) -> usize {
    passing.from.count() + 1 + passing.to.count()
}

/// Step number `index`, counted from zero.
///
/// # Panics
/// If there is no such step.
#[must_use]
pub fn step(passing: &Passing, order: Order, index: usize) -> Step {
    assert!(index < steps(passing), "a message has no step {index}");
    match order {
        Order::Entries => {
            let (sender, separator) = (passing.sender_values.len(), passing.before.len());
            if index < sender {
                let (j, n) = passing.from.place(index);
                Step::Add { j, n, entry: index }
            } else if index < sender + separator {
                Step::Divide { j: index - sender }
            } else {
                let entry = index - sender - separator;
                let (j, n) = passing.to.place(entry);
                Step::Multiply { j, n, entry }
            }
        }
        Order::Threads => {
            let (j, at) = (index / steps_of_thread(passing), index % steps_of_thread(passing));
            let sums = passing.from.count();
            if at < sums {
                Step::Add { j, n: at, entry: passing.from.element(j, at) }
            } else if at == sums {
                Step::Divide { j }
            } else {
                let n = at - sums - 1;
                Step::Multiply { j, n, entry: passing.to.element(j, n) }
            }
        }
    }
}

/// The first step of thread `j`: of summing up separator entry j, in either order.
#[must_use]
pub fn first_step(passing: &Passing, order: Order, j: usize) -> usize {
    match order {
        Order::Entries => passing.from.element(j, 0),
        Order::Threads => j * steps_of_thread(passing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::cancel::CancelToken;
    use crate::engine::Walk;
    use crate::network::Evidence;
    use crate::propagation::{CompileOptions, MemoryLimit, compile};

    fn passings() -> Vec<Passing> {
        let network = crate::format::open("asia").unwrap().network;
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "xray", "yes").unwrap();
        let options = CompileOptions::default();
        let compiled = Arc::new(compile(network, &options, &CancelToken::new()).unwrap());
        let memory = MemoryLimit::of_bytes(1 << 30);
        let mut walk = Walk::new(&compiled, evidence, memory).unwrap();
        let cancel = CancelToken::new();
        compiled.plan().ids().map(|id| walk.message(id, &cancel).unwrap()).collect()
    }

    #[test]
    fn the_steps_do_what_the_message_does_in_either_order() {
        for passing in passings() {
            for order in [Order::Entries, Order::Threads] {
                let mut new = vec![0.0; passing.before.len()];
                let mut quotient = vec![f64::NAN; passing.before.len()];
                let mut receiver = passing.receiver_values.to_vec();
                for index in 0..steps(&passing) {
                    match step(&passing, order, index) {
                        Step::Add { j, entry, .. } => new[j] += passing.sender_values[entry],
                        Step::Divide { j } => {
                            quotient[j] = crate::potential::ratio(new[j], passing.before[j]);
                        }
                        Step::Multiply { j, entry, .. } => receiver[entry] *= quotient[j],
                    }
                }
                for (j, sum) in new.iter().enumerate() {
                    assert!((sum - passing.after[j]).abs() < 1e-14);
                }
                for (entry, value) in receiver.iter().enumerate() {
                    assert!((value - passing.received(entry)).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn progress_knows_at_every_step_what_has_been_done() {
        for passing in passings() {
            for order in [Order::Entries, Order::Threads] {
                let mut sums = vec![0.0; passing.before.len()];
                let mut added = vec![false; passing.sender_values.len()];
                let mut divided = vec![false; passing.before.len()];
                let mut multiplied = vec![false; passing.receiver_values.len()];
                let mut progress = Progress::new(&passing, order);
                for index in 0..=steps(&passing) {
                    progress.seek(&passing, index);
                    let back_again = {
                        let mut far = progress.clone();
                        far.seek(&passing, usize::MAX);
                        far.seek(&passing, index);
                        far
                    };
                    for progress in [&progress, &back_again] {
                        assert_eq!(progress.done(), index);
                        let has = |progress: &Progress, entry| progress.has_added(&passing, entry);
                        assert!((0..added.len()).all(|i| has(progress, i) == added[i]));
                        let has = |entry| progress.has_divided(&passing, entry);
                        assert!((0..divided.len()).all(|i| has(i) == divided[i]));
                        let has = |entry| progress.has_multiplied(&passing, entry);
                        assert!((0..multiplied.len()).all(|i| has(i) == multiplied[i]));
                        assert!((0..sums.len()).all(|j| progress.sum(j) == sums[j]));
                    }
                    if index < steps(&passing) {
                        match step(&passing, order, index) {
                            Step::Add { j, entry, .. } => {
                                sums[j] += passing.sender_values[entry];
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
    fn a_threads_first_step_adds_its_first_entry() {
        for passing in passings() {
            for order in [Order::Entries, Order::Threads] {
                for j in 0..passing.before.len() {
                    let first = step(&passing, order, first_step(&passing, order, j));
                    assert!(matches!(first, Step::Add { j: found, n: 0, .. } if found == j));
                }
            }
        }
    }
}
