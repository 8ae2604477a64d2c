//! How a running propagation is watched and stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use quanta::Clock;

use crate::cancel::{CancelToken, Cancelled};
use crate::propagation::span::{self, Span};
use crate::propagation::{MessageId, MessageTrace, Plan, Savings, Stage, StageTiming};

/// Made once, when it is first read: comparing a processor's counter with the time of day takes some
/// twenty milliseconds where the machine is a virtual one.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);

/// A moment of a propagation, as a [`Watch`] tells it to a thread that computes one message after
/// another; nothing of meaning where messages are not timed.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Nanoseconds since the start.
    at: u64,
    /// The forecast of the messages that were computed since, and the last of them.
    forecast: u32,
    last: MessageId,
}

/// What a message is forecast to take, and when that is enough to read the clock for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Forecast of the message, in nanoseconds; it need only be right beside those of others.
    pub forecast: u32,
    /// Messages are timed together until they are forecast to take this. Zero times each.
    pub least: u32,
}

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

impl Moment {
    /// The moment, with what is timed together until the clock is read again, of which nothing stays
    /// here.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self { forecast: 0, ..*self })
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
    pub fn untimed_child(&self) -> Self {
        Self::untimed(self.cancel.clone())
    }

    fn with_messages(cancel: CancelToken, timed: usize) -> Self {
        Self {
            cancel,
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
        let each = Pace { forecast: 1, least: 0 };
        self.message_from(message, lane, &mut self.moment(), each, work)
    }

    /// As [`message`](Self::message) where the lane was busy until the moment `from`, which becomes
    /// the moment when the work is done: where one message follows another, the clock is read once
    /// for each.
    ///
    /// Even that would be several percent of a message that takes hardly longer than reading it. So
    /// messages that follow each other are timed together until there is time enough to measure, which
    /// is shared out by what they were forecast to take: see [`MessageTiming::shared_with`]. After the
    /// last of a lane it has to be told to [`stop`](Self::stop).
    ///
    /// [`MessageTiming::shared_with`]: crate::propagation::MessageTiming::shared_with
    #[inline]
    pub fn message_from<R>(
        &self,
        message: MessageId,
        lane: u32,
        from: &mut Moment,
        pace: Pace,
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(span) = self.messages.get(message.index()) else { return work() };
        if pace.forecast >= pace.least {
            // What is long enough is not timed with what came before.
            self.stop(from);
        }
        let forecast = from.forecast.saturating_add(pace.forecast);
        span.begin(lane, from.at, forecast);
        let result = work();
        if forecast >= pace.least {
            *from = self.moment();
            span.end(from.at);
        } else {
            span.end_with_next();
            (from.forecast, from.last) = (forecast, message);
        }
        result
    }

    /// Notes that nothing is timed together with the messages that a lane computed until now.
    #[inline]
    pub fn stop(&self, from: &mut Moment) {
        if from.forecast > 0 {
            self.end_together(from);
        }
    }

    /// Reads the clock, and ends with it what was timed together until now, if anything was.
    #[inline]
    fn end_together(&self, from: &mut Moment) {
        let before = std::mem::replace(from, self.moment());
        if before.forecast > 0 {
            self.messages[before.last.index()].end(from.at);
        }
    }

    /// Now.
    #[inline]
    #[must_use]
    pub fn moment(&self) -> Moment {
        let at = if self.times_messages() { self.now() } else { 0 };
        Moment { at, forecast: 0, last: MessageId::new(0) }
    }

    /// Does `work`, which is all of `stage`, and notes when.
    #[inline]
    pub fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        self.stage_from(stage, &mut self.moment(), |_| work())
    }

    /// As [`stage`](Self::stage) where the stage begins at the moment `from`, which becomes the moment
    /// when the work is done. Messages that one thread computes may go on from there in between: those
    /// that are timed together end with the stage.
    #[inline]
    pub fn stage_from<R>(
        &self,
        stage: Stage,
        from: &mut Moment,
        work: impl FnOnce(&mut Moment) -> R,
    ) -> R {
        if !self.times_messages() {
            return work(from);
        }
        let span = &self.stages[stage as usize];
        span.begin(0, from.at, 0);
        let result = work(from);
        self.end_together(from);
        span.end(from.at);
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
        self.started.get_or_init(|| CLOCK.raw());
    }

    /// Time since the propagation began; zero before.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let since = |started: &u64| CLOCK.delta(*started, CLOCK.raw());
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
        span.note_wait(nanoseconds(wait));
        span.begin(lane, nanoseconds(start), 0);
        span.end(nanoseconds(end));
    }

    /// As [`note_message`](Self::note_message) for a stage.
    pub fn note_stage(&self, stage: Stage, start: Duration, end: Duration) {
        if self.times_messages() {
            let span = &self.stages[stage as usize];
            span.begin(0, nanoseconds(start), 0);
            span.end(nanoseconds(end));
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
        (self.messages.iter().filter(|span| span.has_ended()).count(), self.messages.len())
    }

    /// A message that has begun and not ended, if there is one; the latest begun of several.
    #[must_use]
    pub fn active(&self) -> Option<MessageId> {
        let open = self.messages.iter().enumerate().filter(|(_, span)| !span.has_ended());
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
        MessageTrace {
            stages: stages.collect(),
            messages: span::timings(&self.messages),
            savings: self.savings.get().copied().unwrap_or_default(),
            elapsed: self.ended.get().copied().unwrap_or_else(|| self.elapsed()),
        }
    }

    fn now(&self) -> u64 {
        let now = CLOCK.raw();
        CLOCK.delta_as_nanos(*self.started.get_or_init(|| now), now)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(span::LATEST)
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
        let before = from.at;
        let each = Pace { forecast: 1, least: 0 };
        watch.message_from(MessageId::new(1), 0, &mut from, each, || ());
        let second = watch.trace().messages[1];
        assert_eq!(second.start, Duration::from_nanos(before));
        assert_eq!(second.start + second.duration, Duration::from_nanos(from.at));
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
    fn short_messages_are_timed_together_until_one_is_long_or_the_stage_ends() {
        let clique = || Clique { variables: vec![], entries: 1 };
        let separator = |child| Separator {
            variables: vec![],
            entries: 1,
            parent: CliqueId::new(0),
            child: CliqueId::new(child),
        };
        let cliques = (0..5).map(|_| clique()).collect();
        let separators = (1..5).map(separator).collect();
        let plan = Plan::depth_first(&JunctionTree::new(cliques, separators, CliqueId::new(0)));
        let watch = Watch::timed(&plan, CancelToken::new());
        let forecasts = [3, 4, 4, 20, 5, 5, 1, 2];
        let mut from = watch.moment();
        watch.stage_from(Stage::Collect, &mut from, |from| {
            for (message, forecast) in forecasts.into_iter().enumerate() {
                let pace = Pace { forecast, least: 10 };
                watch.message_from(MessageId::new(message), 0, from, pace, || {
                    assert_eq!(watch.active(), Some(MessageId::new(message)));
                    assert_eq!(watch.progress().0, message);
                });
            }
        });
        let trace = watch.trace();
        let shared: Vec<u32> = trace.messages.iter().map(|timing| timing.shared_with).collect();
        assert_eq!(shared, [2, 2, 2, 0, 1, 1, 1, 1]);
        for pair in trace.messages.windows(2) {
            assert_eq!(pair[0].start + pair[0].duration, pair[1].start, "nothing is lost between");
        }
        let (stage, last) = (trace.stages[0], trace.messages[7]);
        assert_eq!((stage.start, stage.end), (trace.messages[0].start, last.start + last.duration));
    }

    #[test]
    fn an_untimed_watch_only_cancels() {
        let watch = Watch::untimed(CancelToken::new());
        assert_eq!(watch.message(MessageId::new(0), 0, || 7), 7);
        assert!(watch.trace().messages.is_empty());
        assert!(watch.check().is_ok());
        let aside = watch.untimed_child();
        watch.cancel();
        assert!(watch.check().is_err());
        assert!(aside.check().is_err());
    }
}
