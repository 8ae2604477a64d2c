//! Divides the cases of a batch among the GPUs.

use std::collections::VecDeque;
use std::ops::Range;

/// What a GPU does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start to propagate these cases in this buffer set.
    Start(usize, Range<usize>),
    /// Wait for the results of these cases, which were started in this buffer set.
    Read(usize, Range<usize>),
}

/// The parts of a batch: those that wait, and those that each GPU has started.
///
/// A GPU that has a free buffer set starts the next part; otherwise its oldest part is read, which
/// frees the buffer set. So a faster GPU computes more parts. A GPU that fails gives its parts
/// back, and the others compute them.
pub struct Queue {
    /// The cases of each part that has not been started.
    waiting: VecDeque<Range<usize>>,
    gpus: Vec<BufferSets>,
}

/// The buffer sets of a GPU. A GPU that has failed has none.
struct BufferSets {
    /// The sets whose parts have been started but not read, with the cases of the parts, the oldest
    /// first.
    running: VecDeque<(usize, Range<usize>)>,
    /// The sets that hold no part.
    free: VecDeque<usize>,
}

impl Queue {
    /// `cases` cases in parts of at most `part` cases, for `gpus` GPUs with `sets` buffer sets
    /// each.
    pub fn new(cases: usize, part: usize, gpus: usize, sets: usize) -> Self {
        let starts = (0..cases).step_by(part.max(1));
        let waiting = starts.map(|start| start..(start + part).min(cases)).collect();
        let sets = |_| BufferSets { running: VecDeque::new(), free: (0..sets).collect() };
        Self { waiting, gpus: (0..gpus).map(sets).collect() }
    }

    /// The next step of a GPU; `None` if nothing is left for it to do. Other GPUs may still be at
    /// work then, and give parts back when they fail.
    pub fn next_step(&mut self, gpu: usize) -> Option<Step> {
        let BufferSets { running, free } = &mut self.gpus[gpu];
        if !self.waiting.is_empty()
            && let Some(set) = free.pop_front()
        {
            let cases = self.waiting.pop_front()?;
            running.push_back((set, cases.clone()));
            return Some(Step::Start(set, cases));
        }
        running.front().map(|(set, cases)| Step::Read(*set, cases.clone()))
    }

    /// Notes that the results of the oldest part of a GPU have been read.
    pub fn finish(&mut self, gpu: usize) {
        let BufferSets { running, free } = &mut self.gpus[gpu];
        free.extend(running.pop_front().map(|(set, _)| set));
    }

    /// Stops using a GPU that failed. Its parts wait again, before all others.
    pub fn lose(&mut self, gpu: usize) {
        let BufferSets { running, free } = &mut self.gpus[gpu];
        free.clear();
        running.drain(..).rev().for_each(|(_, cases)| self.waiting.push_front(cases));
    }

    /// Whether a GPU has failed.
    pub fn is_lost(&self, gpu: usize) -> bool {
        let BufferSets { running, free } = &self.gpus[gpu];
        running.is_empty() && free.is_empty()
    }

    /// Whether parts wait, and a GPU is left to compute them.
    pub fn can_continue(&self) -> bool {
        !self.waiting.is_empty() && !(0..self.gpus.len()).all(|gpu| self.is_lost(gpu))
    }

    /// The cases of the parts that wait.
    pub fn rest(self) -> impl Iterator<Item = Range<usize>> {
        self.waiting.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out all steps, by turns on all GPUs. GPU `failing` fails when it is asked to read
    /// for the second time. Returns the parts that were read, each with its GPU.
    fn run(mut queue: Queue, gpus: usize, failing: Option<usize>) -> Vec<(Range<usize>, usize)> {
        let (mut read, mut attempts) = (Vec::new(), 0);
        loop {
            let steps: Vec<Option<Step>> = (0..gpus).map(|gpu| queue.next_step(gpu)).collect();
            if steps.iter().all(Option::is_none) {
                break;
            }
            for (gpu, step) in steps.iter().enumerate() {
                let Some(Step::Read(_, cases)) = step else { continue };
                attempts += usize::from(Some(gpu) == failing);
                if Some(gpu) == failing && attempts == 2 {
                    queue.lose(gpu);
                    continue;
                }
                queue.finish(gpu);
                read.push((cases.clone(), gpu));
            }
        }
        assert!(!queue.can_continue());
        assert_eq!(queue.rest().count(), 0);
        read.sort_by_key(|(cases, _)| cases.start);
        read
    }

    #[test]
    fn every_case_is_read_once_and_every_gpu_takes_part() {
        for gpus in [1, 3, 8] {
            let read = run(Queue::new(1001, 10, gpus, 4), gpus, None);
            assert!(read.iter().map(|(cases, _)| cases.start).eq((0..1001).step_by(10)));
            assert_eq!(read.last().map(|(cases, _)| cases.clone()), Some(1000..1001));
            assert!((0..gpus).all(|gpu| read.iter().any(|(_, by)| *by == gpu)));
        }
        assert!(Queue::new(0, 10, 1, 4).next_step(0).is_none());
    }

    #[test]
    fn all_sets_of_a_gpu_run_before_the_first_is_read() {
        let mut queue = Queue::new(60, 10, 2, 4);
        assert_eq!(queue.next_step(1), Some(Step::Start(0, 0..10)));
        for set in 0..4 {
            let cases = 10 * (set + 1)..10 * (set + 2);
            assert_eq!(queue.next_step(0), Some(Step::Start(set, cases)));
        }
        assert_eq!(queue.next_step(0), Some(Step::Read(0, 10..20)));
        queue.finish(0);
        assert_eq!(queue.next_step(0), Some(Step::Start(0, 50..60)));
        assert_eq!(queue.next_step(0), Some(Step::Read(1, 20..30)));
        assert_eq!(queue.next_step(1), Some(Step::Read(0, 0..10)));
        queue.finish(1);
        assert_eq!(queue.next_step(1), None, "the other GPU has the rest");
    }

    #[test]
    fn the_others_compute_what_a_failed_gpu_started() {
        let read = run(Queue::new(200, 10, 3, 4), 3, Some(1));
        assert!(read.iter().map(|(cases, _)| cases.start).eq((0..200).step_by(10)));
        assert_eq!(read.iter().filter(|(_, gpu)| *gpu == 1).count(), 1);
    }

    #[test]
    fn parts_that_come_back_late_can_be_computed() {
        let mut queue = Queue::new(20, 10, 2, 1);
        assert_eq!(queue.next_step(0), Some(Step::Start(0, 0..10)));
        assert_eq!(queue.next_step(1), Some(Step::Start(0, 10..20)));
        queue.finish(0);
        assert_eq!((queue.next_step(0), queue.can_continue()), (None, false));
        queue.lose(1);
        assert!(queue.is_lost(1) && !queue.is_lost(0) && queue.can_continue());
        assert_eq!(queue.next_step(1), None);
        assert_eq!(queue.next_step(0), Some(Step::Start(0, 10..20)));
    }

    #[test]
    fn cases_remain_if_no_gpu_is_left() {
        let mut queue = Queue::new(30, 10, 1, 4);
        assert_eq!(queue.next_step(0), Some(Step::Start(0, 0..10)));
        queue.lose(0);
        assert_eq!((queue.next_step(0), queue.can_continue()), (None, false));
        assert_eq!(queue.rest().flatten().count(), 30);
    }
}
