//! How a running propagation is watched and stopped.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use quanta::Clock;

use crate::cancel::{CancelToken, Cancelled};
use crate::propagation::{
    MessageId, MessageTiming, MessageTrace, Plan, Savings, Stage, StageTiming,
};

/// Made once: making one asks the processor what it can, which takes microseconds where the machine
/// is a virtual one.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);

/// Marks a message that has not been computed yet.
const NOT_YET: u64 = u64::MAX;

/// What an engine reports to while it propagates: progress, timings and cancellation together.
///
/// An engine wraps each message in [`message`](Self::message) and each stage in
/// [`stage`](Self::stage). Whoever holds the other end of the `Arc` may read the state at any
/// time without stopping the engine: everything is an atomic written once. One watch serves one
/// propagation.
#[derive(Debug)]
pub struct Watch {
    cancel: CancelToken,
    /// Reads the processor's own counter where that is reliable: several times faster than asking
    /// the system, which would cost more than many a message.
    clock: Clock,
    /// Set when the propagation begins, which may be long after the watch was made.
    started: OnceLock<u64>,
    stages: [Span; Stage::ALL.len()],
    /// One span a message of the plan; empty where messages are not timed.
    messages: Box<[Span]>,
    savings: OnceLock<Savings>,
    /// When the posteriors were there.
    ended: OnceLock<Duration>,
    is_finished: AtomicBool,
}

/// A moment of a propagation, as a [`Watch`] tells it: nanoseconds since its start, or nothing of
/// meaning where messages are not timed.
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

/// Nanoseconds since the start of the propagation.
#[derive(Debug)]
struct Span {
    start: AtomicU64,
    end: AtomicU64,
    lane: AtomicU32,
    /// Nanoseconds waited before the start.
    wait: AtomicU64,
}

impl Span {
    fn new() -> Self {
        Self {
            start: AtomicU64::new(NOT_YET),
            end: AtomicU64::new(NOT_YET),
            lane: AtomicU32::new(0),
            wait: AtomicU64::new(0),
        }
    }

    fn start(&self) -> Option<Duration> {
        let start = self.start.load(Ordering::Acquire);
        (start != NOT_YET).then(|| Duration::from_nanos(start))
    }

    /// Start and end, once there is an end.
    fn bounds(&self) -> Option<(Duration, Duration)> {
        let end = self.end.load(Ordering::Acquire);
        if end == NOT_YET {
            return None;
        }
        Some((self.start()?, Duration::from_nanos(end)))
    }
}

impl Watch {
    /// A watch that can only cancel: nothing is timed and nothing is counted by message.
    #[must_use]
    pub fn untimed(cancel: CancelToken) -> Self {
        Self::with_messages(cancel, 0)
    }

    /// A watch that times every message of `plan`.
    #[must_use]
    pub fn timed(plan: &Plan, cancel: CancelToken) -> Self {
        Self::with_messages(cancel, plan.messages().len())
    }

    /// An untimed watch that is cancelled with this one, for a run on the side that is none of the
    /// caller's progress.
    #[must_use]
    pub fn aside(&self) -> Self {
        Self::untimed(self.cancel.clone())
    }

    fn with_messages(cancel: CancelToken, timed: usize) -> Self {
        Self {
            cancel,
            clock: CLOCK.clone(),
            started: OnceLock::new(),
            stages: std::array::from_fn(|_| Span::new()),
            messages: (0..timed).map(|_| Span::new()).collect(),
            savings: OnceLock::new(),
            ended: OnceLock::new(),
            is_finished: AtomicBool::new(false),
        }
    }

    /// `Err` once the propagation is no longer wanted; engines ask before every message.
    ///
    /// # Errors
    /// [`Cancelled`], which an engine passes on.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.cancel.check()
    }

    /// The token that cancels the propagation, for parts of the work that take one.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Asks the propagation to stop.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Does `work`, which computes `message` on thread number `lane`, and notes when.
    #[inline]
    pub fn message<R>(&self, message: MessageId, lane: u32, work: impl FnOnce() -> R) -> R {
        self.message_from(message, lane, &mut self.moment(), work)
    }

    /// As [`message`](Self::message) where the lane was busy until the moment `from`, which becomes
    /// the moment when the work is done: where one message follows another, the clock is read once
    /// for each.
    #[inline]
    pub fn message_from<R>(
        &self,
        message: MessageId,
        lane: u32,
        from: &mut Moment,
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(span) = self.messages.get(message.index()) else { return work() };
        span.lane.store(lane, Ordering::Relaxed);
        span.start.store(from.0, Ordering::Release);
        let result = work();
        *from = self.moment();
        span.end.store(from.0, Ordering::Release);
        result
    }

    /// Now.
    #[inline]
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment(if self.times_messages() { self.now() } else { 0 })
    }

    /// Does `work`, which is all of `stage`, and notes when.
    #[inline]
    pub fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        if self.messages.is_empty() {
            return work();
        }
        let span = &self.stages[stage as usize];
        span.start.store(self.now(), Ordering::Release);
        let result = work();
        span.end.store(self.now(), Ordering::Release);
        result
    }

    /// Whether messages are timed.
    #[must_use]
    pub fn times_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Notes that the propagation begins now. Without this call it begins with the first thing
    /// that is noted. Only the first call counts.
    pub fn begin(&self) {
        self.started.get_or_init(|| self.clock.raw());
    }

    /// Time since the propagation began; zero before.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let since = |started: &u64| self.clock.delta(*started, self.clock.raw());
        self.started.get().map_or(Duration::ZERO, since)
    }

    /// Notes when a message was computed that nobody could [wrap](Self::message), because it ran
    /// on another device, and how long its lane had waited for it before `start`.
    pub fn note_message(
        &self,
        message: MessageId,
        lane: u32,
        wait: Duration,
        start: Duration,
        end: Duration,
    ) {
        let Some(span) = self.messages.get(message.index()) else { return };
        span.lane.store(lane, Ordering::Relaxed);
        span.wait.store(nanoseconds(wait), Ordering::Relaxed);
        span.start.store(nanoseconds(start), Ordering::Release);
        span.end.store(nanoseconds(end), Ordering::Release);
    }

    /// As [`note_message`](Self::note_message) for a stage.
    pub fn note_stage(&self, stage: Stage, start: Duration, end: Duration) {
        if self.times_messages() {
            let span = &self.stages[stage as usize];
            span.start.store(nanoseconds(start), Ordering::Release);
            span.end.store(nanoseconds(end), Ordering::Release);
        }
    }

    /// Notes what was saved. Only the first call counts.
    pub fn note_savings(&self, savings: Savings) {
        let _ = self.savings.set(savings);
    }

    /// Notes that the posteriors are there: what follows, such as fetching the times of messages from
    /// a device, is no part of the propagation. Only the first call counts.
    pub fn note_end(&self) {
        self.ended.get_or_init(|| self.elapsed());
    }

    /// Notes that the propagation is over, whatever came of it, and that all was noted.
    pub fn finish(&self) {
        self.note_end();
        self.is_finished.store(true, Ordering::Release);
    }

    /// Whether the propagation is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    /// Messages computed so far, and messages in all; both zero where messages are not timed.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let has_ended = |span: &&Span| span.end.load(Ordering::Relaxed) != NOT_YET;
        (self.messages.iter().filter(has_ended).count(), self.messages.len())
    }

    /// A message that has begun and not ended, if there is one; the latest begun of several.
    #[must_use]
    pub fn active(&self) -> Option<MessageId> {
        let running = |span: &&Span| span.end.load(Ordering::Acquire) == NOT_YET;
        let open = self.messages.iter().enumerate().filter(|(_, span)| running(span));
        open.filter_map(|(index, span)| Some((span.start()?, index)))
            .max()
            .map(|(_, index)| MessageId::new(index))
    }

    /// What has happened so far.
    #[must_use]
    pub fn trace(&self) -> MessageTrace {
        let stages = Stage::ALL.into_iter().filter_map(|stage| {
            let (start, end) = self.stages[stage as usize].bounds()?;
            Some(StageTiming { stage, start, end })
        });
        let messages = self.messages.iter().enumerate().filter_map(|(index, span)| {
            let (start, end) = span.bounds()?;
            let lane = span.lane.load(Ordering::Relaxed);
            let wait = Duration::from_nanos(span.wait.load(Ordering::Relaxed));
            let message = MessageId::new(index);
            let duration = end.saturating_sub(start);
            Some(MessageTiming { message, lane, wait, start, duration })
        });
        MessageTrace {
            stages: stages.collect(),
            messages: messages.collect(),
            savings: self.savings.get().copied().unwrap_or_default(),
            elapsed: self.ended.get().copied().unwrap_or_else(|| self.elapsed()),
        }
    }

    fn now(&self) -> u64 {
        let now = self.clock.raw();
        self.clock.delta_as_nanos(*self.started.get_or_init(|| now), now)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NOT_YET - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Clique, CliqueId, JunctionTree, Separator};

    fn plan_of_two_messages() -> Plan {
        let clique = || Clique { variables: vec![], entries: 1 };
        let (parent, child) = (CliqueId::new(0), CliqueId::new(1));
        let separator = Separator { variables: vec![], entries: 1, parent, child };
        Plan::depth_first(&JunctionTree::new(vec![clique(), clique()], vec![separator], parent))
    }

    #[test]
    fn what_was_done_can_be_read_while_it_runs() {
        let plan = plan_of_two_messages();
        let watch = Watch::timed(&plan, CancelToken::new());
        let first = MessageId::new(0);
        assert_eq!((watch.progress(), watch.active()), ((0, 2), None));
        watch.message(first, 3, || assert_eq!(watch.active(), Some(first)));
        assert_eq!((watch.progress(), watch.active()), ((1, 2), None));
        let mut from = watch.moment();
        let before = from.0;
        watch.message_from(MessageId::new(1), 0, &mut from, || ());
        let second = watch.trace().messages[1];
        assert_eq!(second.start, Duration::from_nanos(before));
        assert_eq!(second.start + second.duration, Duration::from_nanos(from.0));
        let trace = watch.trace();
        assert_eq!(trace.messages.len(), 2);
        assert_eq!((trace.messages[0].message, trace.messages[0].lane), (first, 3));
        watch.note_end();
        let elapsed = watch.trace().elapsed;
        assert!(!watch.is_finished());
        watch.finish();
        assert!(watch.is_finished());
        assert_eq!(watch.trace().elapsed, elapsed, "what follows the end is not counted");
    }

    #[test]
    fn an_untimed_watch_only_cancels() {
        let watch = Watch::untimed(CancelToken::new());
        assert_eq!(watch.message(MessageId::new(0), 0, || 7), 7);
        assert!(watch.trace().messages.is_empty());
        assert!(watch.check().is_ok());
        let aside = watch.aside();
        watch.cancel();
        assert!(watch.check().is_err());
        assert!(aside.check().is_err());
    }
}
