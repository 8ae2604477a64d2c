//! What the workers of a propagation do when they do not compute a message of their own.

use std::time::Duration;

use crate::propagation::{MessageId, MessageTiming, Stage, StageTiming};

/// What a worker does apart from computing messages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// The worker wakes up: from the moment when it is given work until it runs.
    Start,
    /// The product of all tables and messages at the root, and its sums onto the separators below.
    /// In distribute, no message goes to the root, so this work belongs to no message. At any other
    /// clique, such work counts as part of the message from its parent.
    Root,
    /// Helping the worker that computes the product at the root.
    HelpRoot,
    /// Helping the worker that computes this message.
    Help(MessageId),
    /// The worker waits for other workers.
    Wait,
}

impl Activity {
    /// The activity in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "starting the thread",
            Self::Root => "product at the root",
            Self::HelpRoot => "part of the product at the root",
            Self::Help(_) => "part of a message",
            Self::Wait => "waiting",
        }
    }
}

/// When a worker did something other than computing a message of its own. Times count from the
/// start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ActivityTiming {
    /// What the worker did.
    pub activity: Activity,
    /// The worker, numbered as in [`MessageTiming::worker`].
    pub worker: u32,
    /// When it began.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

/// The times in which workers waited, in order of workers and time.
///
/// A worker takes part from the end of its [`Activity::Start`], but not before collect, until the
/// end of distribute. It waits in every part of this time that none of its `messages` and
/// `activities` cover. A message also covers its own [`wait`](MessageTiming::wait) before it
/// starts. Workers whose start is not among the activities are left out.
pub(super) fn waits(
    stages: &[StageTiming],
    messages: &[MessageTiming],
    activities: &[ActivityTiming],
) -> Vec<ActivityTiming> {
    let find = |stage| stages.iter().find(|timing| timing.stage == stage);
    let (Some(collect), Some(distribute)) = (find(Stage::Collect), find(Stage::Distribute)) else {
        return Vec::new();
    };
    let end = distribute.end;
    let of_message = |m: &MessageTiming| (m.worker, m.start.saturating_sub(m.wait), m.end());
    let of_activity = |a: &ActivityTiming| (a.worker, a.start, a.start + a.duration);
    let busy = messages.iter().map(of_message).chain(activities.iter().map(of_activity));
    let mut busy: Vec<(u32, Duration, Duration)> = busy.collect();
    busy.sort_unstable();
    let is_start = |a: &&ActivityTiming| a.activity == Activity::Start;
    let mut started: Vec<(u32, Duration)> =
        activities.iter().filter(is_start).map(|a| (a.worker, a.start + a.duration)).collect();
    started.sort_unstable();
    let mut waits = Vec::new();
    for (worker, started) in started {
        let mut free_from = started.max(collect.start);
        let first = busy.partition_point(|&(other, ..)| other < worker);
        let of_worker = busy[first..].iter().take_while(|&&(other, ..)| other == worker);
        for &(_, from, to) in of_worker.chain([&(worker, end, end)]) {
            if from > free_from {
                let (start, duration) = (free_from, from - free_from);
                waits.push(ActivityTiming { activity: Activity::Wait, worker, start, duration });
            }
            free_from = free_from.max(to);
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanoseconds: u64) -> Duration {
        Duration::from_nanos(nanoseconds)
    }

    #[test]
    fn a_worker_waits_whenever_it_does_nothing_else() {
        let message = |worker, start, duration| MessageTiming {
            message: MessageId::new(0),
            worker,
            wait: at(0),
            start: at(start),
            duration: at(duration),
            shared_with: 0,
        };
        let activity = |activity, worker, start, duration| ActivityTiming {
            activity,
            worker,
            start: at(start),
            duration: at(duration),
        };
        let stages = [
            StageTiming { stage: Stage::Collect, start: at(5), end: at(50) },
            StageTiming { stage: Stage::Distribute, start: at(50), end: at(100) },
        ];
        // Worker 1 helps with another message while it waits for a part of its own.
        let messages = [message(0, 10, 30), message(1, 20, 20), message(2, 0, 90)];
        let activities = [
            activity(Activity::Start, 0, 5, 5),
            activity(Activity::Start, 1, 5, 10),
            activity(Activity::Start, 3, 0, 2),
            activity(Activity::Root, 0, 40, 20),
            activity(Activity::Help(MessageId::new(0)), 1, 25, 5),
        ];
        let waits = |worker, start, end| activity(Activity::Wait, worker, start, end - start);
        assert_eq!(
            super::waits(&stages, &messages, &activities),
            [waits(0, 60, 100), waits(1, 15, 20), waits(1, 40, 100), waits(3, 5, 100)],
            "the start of worker 2 was not recorded, and worker 3 started before collect"
        );
        assert!(super::waits(&stages[..1], &messages, &activities).is_empty());
    }
}
