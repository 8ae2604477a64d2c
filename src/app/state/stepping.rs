//! Stepping through a propagation: message by message, or in slow motion as it was measured.

use std::ops::{Range, RangeInclusive};

use crate::app::state::document::Document;
use crate::app::state::player::Player;
use crate::app::state::progress::Progress;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};

/// Initial pace in messages per second.
const INITIAL_PACE: f64 = 1.0;
/// The paces that can be chosen, in messages per second.
pub(crate) const PACES: RangeInclusive<f64> = 0.1..=100.0;
/// Intended duration of slow motion in seconds, not counting time without messages, until the user
/// changes the slowdown. The slowdown is rounded to a power of ten, which makes slow motion up to
/// 3.2 times longer or shorter.
const SLOW_MOTION_SECONDS: f64 = 12.0;
/// The slowdowns that can be chosen. At 1, slow motion takes as long as the measured propagation.
pub(crate) const SLOWDOWNS: RangeInclusive<f64> = 1.0..=1e9;

/// Maximum time in seconds that slow motion takes for a gap between messages, or before the first
/// or after the last. With less, a viewer hardly notices that time is skipped; with more, nothing
/// happens on screen for that long.
pub(crate) const SKIP_SECONDS: f64 = 0.6;

/// Stepping through the messages of a propagation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepping {
    /// What the position of the player counts.
    pub mode: SteppingMode,
    /// The position, and whether the position advances by itself.
    ///
    /// Along the plan, the position rounded down is the number of messages passed, which is the
    /// index of the current message. In slow motion, the position is the time since the start of
    /// the propagation, in nanoseconds.
    pub player: Player,
}

/// What stepping follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteppingMode {
    /// The plan: one message after the other.
    Plan,
    /// The trace: all messages at the times that were measured.
    SlowMotion,
}

/// A command for stepping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepCommand {
    /// Step through the plan from its beginning.
    Begin,
    /// Play slow motion from its beginning.
    SlowMotion,
    /// Play two recorded runs, one of engine `gpu-paper` and one of engine `gpu`, side by side in
    /// slow motion, each on a time scale of its own.
    RecordedRuns,
    /// Go to the previous message; in slow motion, back by a hundredth of the trace.
    Back,
    /// Go to the next message; in slow motion, forward by a hundredth of the trace.
    Forward,
    /// Go to the start, before the first message.
    First,
    /// Go to the end, after the last message.
    Last,
    /// Go to this position: a number of messages passed; in slow motion, nanoseconds since the
    /// start of the propagation.
    Seek(f64),
    /// Play if `true`, pause if `false`.
    Play(bool),
    /// Set the pace along the plan, in messages per second.
    Pace(f64),
    /// Set how many times slower than measured slow motion plays.
    Slowdown(f64),
    /// Stop stepping.
    End,
}

impl Stepping {
    /// Stepping along the plan, paused at its beginning.
    #[must_use]
    pub fn along_plan() -> Self {
        Self { mode: SteppingMode::Plan, player: Player::new(INITIAL_PACE) }
    }

    /// Slow motion, paused at its beginning. `busy` is the total time in nanoseconds in which
    /// messages are computed. The slowdown is a power of ten.
    #[must_use]
    pub fn slow_motion(busy: f64) -> Self {
        let wanted = SLOW_MOTION_SECONDS * 1e9 / busy.max(1.0);
        let slowdown = within(&SLOWDOWNS, 10_f64.powf(wanted.log10().round()));
        Self { mode: SteppingMode::SlowMotion, player: Player::new(1e9 / slowdown) }
    }

    /// The ratio of the duration of slow motion to the measured duration.
    #[must_use]
    pub fn slowdown(&self) -> f64 {
        1e9 / self.player.rate()
    }

    /// The time without messages that slow motion passes faster, in nanoseconds since the start of
    /// the propagation. `None` along the plan, if there is a message now, or if the time is short
    /// anyway.
    #[must_use]
    pub fn skipped(&self, document: Option<&Document>) -> Option<Range<f64>> {
        let gap = document?.time_without_messages(self.slow_motion_time()?);
        let is_long = (gap.end - gap.start) / self.player.rate() > SKIP_SECONDS;
        is_long.then_some(gap)
    }

    /// The current message along the plan. `None` after the last one and in slow motion, where
    /// several messages can be active.
    #[must_use]
    pub fn current_message(&self, compiled: &CompiledNetwork) -> Option<MessageId> {
        let step = self.player.step();
        let exists = step < compiled.plan().messages().len();
        (self.mode == SteppingMode::Plan && exists).then(|| MessageId::new(step))
    }

    /// The number of messages of the plan that are passed; `None` in slow motion, which does not
    /// follow the plan.
    #[must_use]
    pub fn messages_passed(&self) -> Option<usize> {
        (self.mode == SteppingMode::Plan).then(|| self.player.step())
    }

    /// The time shown in slow motion, in nanoseconds since the start of the propagation.
    #[must_use]
    pub fn slow_motion_time(&self) -> Option<f64> {
        (self.mode == SteppingMode::SlowMotion).then(|| self.player.position())
    }

    /// Which messages were sent and which are active at the current position. Only slow motion uses
    /// `trace`.
    #[must_use]
    pub fn progress(&self, compiled: &CompiledNetwork, trace: Option<&MessageTrace>) -> Progress {
        if let Some(now) = self.slow_motion_time() {
            return Progress::at_time(compiled, trace, now);
        }
        let passed = (0..self.player.step()).map(MessageId::new);
        let mut progress = Progress::after(compiled, passed);
        progress.active = self.current_message(compiled).into_iter().collect();
        progress
    }

    /// The last position, for a plan of `messages` messages and a trace of `total` nanoseconds.
    #[must_use]
    pub(crate) fn end(&self, messages: usize, total: f64) -> f64 {
        match self.mode {
            SteppingMode::Plan => messages as f64,
            SteppingMode::SlowMotion => total,
        }
    }

    /// Applies `command`, for a plan of `messages` messages and a trace of `total` nanoseconds.
    /// [`StepCommand::End`] has no effect here, nor has a pace or slowdown for the other mode. When
    /// slow motion starts, its slowdown is set as if messages were computed all the time. The
    /// caller then sets a slowdown that takes the time without messages into account.
    pub(crate) fn apply(&mut self, command: StepCommand, messages: usize, total: f64) {
        let end = self.end(messages, total);
        let player = &mut self.player;
        let (position, stride) = match self.mode {
            SteppingMode::Plan => (player.step() as f64, 1.0),
            SteppingMode::SlowMotion => (player.position(), total / 100.0),
        };
        match command {
            StepCommand::Begin => *self = Self::along_plan(),
            StepCommand::SlowMotion | StepCommand::RecordedRuns => {
                *self = Self::slow_motion(total);
                self.player.set_playing(true, total);
            }
            StepCommand::Back => player.pause_at(position - stride, end),
            StepCommand::Forward => player.pause_at(position + stride, end),
            StepCommand::First => player.pause_at(0.0, end),
            StepCommand::Last => player.pause_at(end, end),
            StepCommand::Seek(target) => player.seek(target, end),
            StepCommand::Play(playing) => player.set_playing(playing, end),
            StepCommand::Pace(pace) if self.mode == SteppingMode::Plan => {
                player.set_rate(within(&PACES, pace));
            }
            StepCommand::Slowdown(slowdown) if self.mode == SteppingMode::SlowMotion => {
                player.set_rate(1e9 / within(&SLOWDOWNS, slowdown));
            }
            StepCommand::Pace(_) | StepCommand::Slowdown(_) | StepCommand::End => {}
        }
    }
}

/// The value of `range` nearest to `value`.
fn within(range: &RangeInclusive<f64>, value: f64) -> f64 {
    value.clamp(*range.start(), *range.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;
    use crate::propagation::Phase;

    #[test]
    fn steps_stay_within_the_plan() {
        let mut stepping = Stepping::along_plan();
        stepping.apply(StepCommand::Back, 14, 0.0);
        assert_eq!(stepping.player.step(), 0);
        stepping.apply(StepCommand::Forward, 14, 0.0);
        assert_eq!(stepping.player.step(), 1);
        stepping.apply(StepCommand::Last, 14, 0.0);
        stepping.apply(StepCommand::Forward, 14, 0.0);
        assert_eq!(stepping.player.step(), 14);
        stepping.apply(StepCommand::Play(true), 14, 0.0);
        let player = stepping.player;
        assert_eq!((player.step(), player.is_playing()), (0, true), "plays again");
        stepping.apply(StepCommand::Seek(99.0), 14, 0.0);
        assert_eq!(stepping.player.step(), 14);
    }

    #[test]
    fn one_message_is_active_until_the_end_of_the_plan() {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let messages = compiled.plan().messages();
        for passed in 0..=messages.len() {
            let mut stepping = Stepping::along_plan();
            stepping.apply(StepCommand::Seek(passed as f64), messages.len(), 0.0);
            let progress = stepping.progress(compiled, None);
            assert_eq!(progress.active.len(), usize::from(passed < messages.len()));
            let sent = progress.sent.iter().flatten().count();
            assert_eq!(sent, passed.min(messages.len() / 2), "collect uses every separator once");
        }
    }

    #[test]
    fn slow_motion_skips_time_without_messages() {
        let mut model = model("asia");
        crate::app::testing::record_on_gpu(&mut model);
        let document = model.document.as_mut().unwrap();
        // Keep only the recording, which takes 40 µs. Its first message starts at 10 µs, and the
        // last of its 10 messages ends at 20 µs.
        document.result = None;
        let total = document.traced_nanoseconds();
        let mut stepping = Stepping::slow_motion(total);
        let at = |stepping: &mut Stepping, microseconds: f64| {
            stepping.player.seek(1e3 * microseconds, total);
            stepping.skipped(Some(document))
        };
        assert_eq!(at(&mut stepping, 3.0), Some(0.0..1e4));
        assert_eq!(at(&mut stepping, 12.5), None);
        assert_eq!(at(&mut stepping, 30.0), Some(2e4..4e4));
        stepping.player.set_rate(1e12);
        assert_eq!(at(&mut stepping, 3.0), None, "at this rate the time is short anyway");
        assert_eq!(Stepping::along_plan().skipped(Some(document)), None);
    }

    #[test]
    fn slow_motion_shows_each_message_while_it_was_computed() {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let document = model.document.as_ref().unwrap();
        let trace = document.finished_trace().unwrap();
        let total = document.traced_nanoseconds();
        let mut stepping = Stepping::along_plan();
        stepping.apply(StepCommand::SlowMotion, trace.messages.len(), total);
        assert!(stepping.player.is_playing());
        for timing in &trace.messages {
            let middle = (timing.start + timing.duration / 2).as_nanos() as f64;
            stepping.apply(StepCommand::Seek(middle), trace.messages.len(), total);
            let progress = stepping.progress(compiled, Some(trace));
            if timing.duration.as_nanos() > 1 {
                assert!(progress.active.contains(&timing.message));
            }
        }
        stepping.apply(StepCommand::Last, trace.messages.len(), total);
        let progress = stepping.progress(compiled, Some(trace));
        assert!(progress.active.is_empty());
        assert!(progress.sent.iter().all(|phase| *phase == Some(Phase::Distribute)));
    }
}
