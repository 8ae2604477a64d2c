//! Divides the cases of a batch among the GPUs.

use std::collections::VecDeque;
use std::ops::Range;

/// A buffer set of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Position of the GPU in the list of GPUs.
    pub gpu: usize,
    /// Number of the buffer set of this GPU.
    pub set: usize,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start to propagate these cases.
    Start(Slot, Range<usize>),
    /// Wait for the results of these cases, which were started in this buffer set.
    Read(Slot, Range<usize>),
}

/// The parts of a batch: those that wait, those that run, and the buffer sets that are free.
///
/// While there are free buffer sets, parts are started; then the oldest part is read, which
/// frees its buffer set. So all GPUs work while the host packs evidence and reads results. A GPU
/// that fails gives its parts back, and the others compute them.
pub struct Queue {
    /// The cases of each part that has not been started.
    waiting: VecDeque<Range<usize>>,
    /// The parts that have been started but not read, the oldest first.
    running: VecDeque<(Slot, Range<usize>)>,
    /// The buffer sets that hold no part.
    free: VecDeque<Slot>,
}

impl Queue {
    /// `cases` cases in parts of at most `part` cases, for `gpus` GPUs with `sets` buffer sets each.
    pub fn new(cases: usize, part: usize, gpus: usize, sets: usize) -> Self {
        let starts = (0..cases).step_by(part.max(1));
        let waiting = starts.map(|start| start..(start + part).min(cases)).collect();
        let free = (0..sets).flat_map(|set| (0..gpus).map(move |gpu| Slot { gpu, set })).collect();
        Self { waiting, running: VecDeque::new(), free }
    }

    /// The next step; `None` if nothing is left to do, or if no GPU is left to do it.
    pub fn next_step(&mut self) -> Option<Step> {
        if !self.waiting.is_empty()
            && let Some(slot) = self.free.pop_front()
        {
            let cases = self.waiting.pop_front()?;
            self.running.push_back((slot, cases.clone()));
            return Some(Step::Start(slot, cases));
        }
        self.running.front().map(|(slot, cases)| Step::Read(*slot, cases.clone()))
    }

    /// Notes that the results of the oldest part have been read.
    pub fn finish(&mut self) {
        if let Some((slot, _)) = self.running.pop_front() {
            self.free.push_back(slot);
        }
    }

    /// Stops using a GPU that failed. Its parts wait again, before all others.
    pub fn lose(&mut self, gpu: usize) {
        self.free.retain(|slot| slot.gpu != gpu);
        let (lost, kept) = self.running.drain(..).partition(|(slot, _)| slot.gpu == gpu);
        self.running = kept;
        let lost: VecDeque<(Slot, Range<usize>)> = lost;
        lost.into_iter().rev().for_each(|(_, cases)| self.waiting.push_front(cases));
    }

    /// The cases that no GPU has computed, after [`next_step`](Self::next_step) returned `None`.
    pub fn rest(self) -> impl Iterator<Item = Range<usize>> {
        self.waiting.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out all steps. GPU `failing` fails when it is asked to read for the second time.
    fn run(mut queue: Queue, failing: Option<usize>) -> (Vec<Range<usize>>, Vec<usize>) {
        let (mut read, mut gpus, mut attempts) = (Vec::new(), Vec::new(), 0);
        while let Some(step) = queue.next_step() {
            let Step::Read(slot, cases) = step else { continue };
            attempts += usize::from(Some(slot.gpu) == failing);
            if Some(slot.gpu) == failing && attempts == 2 {
                queue.lose(slot.gpu);
                continue;
            }
            queue.finish();
            read.push(cases);
            gpus.push(slot.gpu);
        }
        assert_eq!(queue.rest().count(), 0);
        read.sort_by_key(|cases| cases.start);
        (read, gpus)
    }

    #[test]
    fn every_case_is_read_once_and_every_gpu_takes_part() {
        for gpus in [1, 3, 8] {
            let (read, by) = run(Queue::new(1001, 10, gpus, 4), None);
            assert!(read.iter().map(|cases| cases.start).eq((0..1001).step_by(10)));
            assert_eq!(read.last(), Some(&(1000..1001)));
            assert!((0..gpus).all(|gpu| by.contains(&gpu)));
        }
        assert!(Queue::new(0, 10, 1, 4).next_step().is_none());
    }

    #[test]
    fn all_sets_of_each_gpu_run_before_the_first_is_read() {
        let sets = 2 * 4;
        let mut queue = Queue::new(10 * sets + 10, 10, 2, 4);
        let first = Slot { gpu: 0, set: 0 };
        for number in 0..sets {
            let slot = Slot { gpu: number % 2, set: number / 2 };
            let cases = 10 * number..10 * number + 10;
            assert_eq!(queue.next_step(), Some(Step::Start(slot, cases)));
        }
        assert_eq!(queue.next_step(), Some(Step::Read(first, 0..10)));
        queue.finish();
        let cases = 10 * sets..10 * sets + 10;
        assert_eq!(queue.next_step(), Some(Step::Start(first, cases)));
    }

    #[test]
    fn the_others_compute_what_a_failed_gpu_started() {
        let (read, by) = run(Queue::new(200, 10, 3, 4), Some(1));
        assert!(read.iter().map(|cases| cases.start).eq((0..200).step_by(10)));
        assert_eq!(by.iter().filter(|&&gpu| gpu == 1).count(), 1);
    }

    #[test]
    fn cases_remain_if_no_gpu_is_left() {
        let mut queue = Queue::new(30, 10, 1, 4);
        assert!(matches!(queue.next_step(), Some(Step::Start(..))));
        queue.lose(0);
        assert_eq!(queue.next_step(), None);
        assert_eq!(queue.rest().flatten().count(), 30);
    }
}
