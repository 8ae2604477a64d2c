//! Engines that launch a kernel for each message: a row of launches above a row of executions.

use super::rows::TimelineRow;
use super::slices::{Slice, SliceKind, Work};
use crate::propagation::{MessageTrace, Plan};

/// The two rows of a run that launched a kernel for each message, in which the launch of an empty
/// kernel takes `launch` nanoseconds.
///
/// The GPU records one time between two messages, so the time of a message includes its launch. The
/// first `launch` nanoseconds of each message count as its launch, and the rest as its execution. A
/// message that took less counts as launch except for a hundredth of its time.
#[must_use]
pub fn rows(trace: &MessageTrace, plan: &Plan, launch: f64) -> [TimelineRow; 2] {
    /// Minimum share of a message's time that counts as execution, so that every message can be
    /// seen and selected.
    const MIN_EXECUTION: f64 = 0.01;
    let mut launches = Vec::new();
    let mut executions = Vec::new();
    for timing in &trace.messages {
        let Some(message) = plan.messages().get(timing.message.index()) else { continue };
        let (start, time) = (timing.start.as_nanos() as f64, timing.duration.as_nanos() as f64);
        let launched = start + launch.min(time * (1.0 - MIN_EXECUTION));
        launches.push(Slice::work(Work::LaunchOf(timing.message), start, launched));
        executions.push(Slice {
            kind: SliceKind::Message(timing.message, message.phase),
            start: launched,
            end: start + time,
            shared_with: timing.shared_with,
        });
    }
    let by_start = |a: &Slice, b: &Slice| a.start.total_cmp(&b.start);
    launches.sort_by(by_start);
    executions.sort_by(by_start);
    let total = (trace.elapsed.as_nanos() as f64).max(1.0);
    let row = |name: &str, track: Vec<Slice>| {
        let busy: f64 = track.iter().map(Slice::length).sum();
        TimelineRow { name: name.to_owned(), tracks: vec![track], idle: Some(1.0 - busy / total) }
    };
    [row("launches", launches), row("execution", executions)]
}

/// Changes a launch in `stages` into [`Work::ReadTimes`]: the first that begins at or after
/// `last_message`, the end of the last message in nanoseconds.
///
/// [`rows::stages`](super::rows::stages) takes all time between stages for launches, but after the
/// last message the host reads the times that the GPU recorded. The GPU records one time per
/// message, and reading these takes longer than most messages.
pub fn name_reading_of_times(stages: &mut [Slice], last_message: f64) {
    for slice in stages {
        if slice.kind == SliceKind::Work(Work::Launch) && slice.start >= last_message {
            slice.kind = SliceKind::Work(Work::ReadTimes);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;

    #[test]
    fn each_message_is_a_launch_followed_by_its_execution() {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let mut trace = model.document.as_ref().unwrap().trace().unwrap().clone();
        for (index, timing) in trace.messages.iter_mut().enumerate() {
            timing.start = std::time::Duration::from_micros(10 * index as u64);
            timing.duration = std::time::Duration::from_micros(if index == 3 { 1 } else { 10 });
        }
        let [launches, executions] = rows(&trace, compiled.plan(), 3e3);
        let pairs = launches.tracks[0].iter().zip(&executions.tracks[0]);
        for (index, (launch, execution)) in pairs.enumerate() {
            assert_eq!(launch.end, execution.start);
            let expected = if index == 3 { 990.0 } else { 3e3 };
            assert_eq!(launch.length(), expected, "launch {index}");
            assert_eq!(launch.related_message(), execution.message());
        }
    }

    #[test]
    fn only_the_time_after_the_messages_is_spent_on_reading_times() {
        let launch = |from, to| Slice::work(Work::Launch, from, to);
        let mut stages = [launch(0.0, 5.0), launch(10.0, 20.0), launch(30.0, 31.0)];
        name_reading_of_times(&mut stages, 10.0);
        let reading = Slice::work(Work::ReadTimes, 10.0, 20.0);
        assert_eq!(stages, [launch(0.0, 5.0), reading, launch(30.0, 31.0)]);
    }
}
