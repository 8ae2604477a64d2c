//! Progress, timing and cancellation of a running propagation.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use quanta::Clock;

use crate::cancel::{CancelToken, Cancelled};
use crate::propagation::span::{self, Span};
use crate::propagation::{
    Activity, ActivityTiming, MessageId, MessageTrace, Plan, Savings, Stage, StageTiming, activity,
};

/// The clock of all watches. Where the processor's own counter is reliable, the clock reads this
/// counter, which is several times faster than asking the operating system; a system call would
/// take longer than many messages do. All watches share one clock because calibrating a clock takes
/// about 20 ms on a virtual machine.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);

/// When one worker last read the clock, and which messages the worker has computed since then.
/// Meaningless for an untimed [`Watch`].
#[derive(Clone, Copy, Debug)]
pub struct WorkerClock {
    /// The last reading, in nanoseconds since the start of the propagation.
    read_at: u64,
    /// Total forecast of the messages computed since the reading; zero if there are none.
    forecast: u32,
    /// The last of these messages.
    last: MessageId,
}

/// How long a message is forecast to take, and how many nanoseconds of messages share one reading
/// of the clock.
#[derive(Clone, Copy, Debug)]
pub struct TimingHint {
    /// Forecast in nanoseconds. It decides, with `min_interval`, which messages are timed together,
    /// and messages that share a measured time divide it in proportion to their forecasts.
    pub forecast: u32,
    /// Consecutive messages share one reading of the clock until their forecasts add up to this,
    /// in nanoseconds. At zero, every message is timed alone.
    pub min_interval: u32,
}

/// Receives progress and timings from an engine that propagates, and tells the engine when the
/// propagation is cancelled.
///
/// An engine wraps each message in [`message`](Self::message) and each stage in
/// [`stage`](Self::stage). Other threads can read the state at any time without stopping the
/// engine, because the state consists of atomics and write-once cells, and of one list that is
/// locked only to add to it or to copy it. A timed watch serves one propagation; an untimed watch
/// may serve several.
#[derive(Debug)]
pub struct Watch {
    cancel: CancelToken,
    /// The clock's counter when the propagation began, which may be long after the watch was made.
    started: OnceLock<u64>,
    stages: [Span; Stage::ALL.len()],
    /// One span for each message of the plan; empty if messages are not timed.
    messages: Box<[Span]>,
    activities: Mutex<Vec<ActivityTiming>>,
    savings: OnceLock<Savings>,
    processed: OnceLock<Vec<u64>>,
    /// Number of cases that were computed again, and the time that this took in nanoseconds.
    recomputed: AtomicU32,
    recomputed_time: AtomicU64,
    /// The duration until the posteriors were ready.
    ended: OnceLock<Duration>,
    is_finished: AtomicBool,
}

impl WorkerClock {
    /// Splits off the messages computed since the last reading. The returned clock holds these
    /// messages; this clock keeps only the reading.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self { forecast: 0, ..*self })
    }
}

impl Watch {
    /// A watch for cancellation only. It neither times nor counts messages.
    #[must_use]
    pub fn untimed(cancel: CancelToken) -> Self {
        Self::with_messages(cancel, 0)
    }

    /// A watch that times every stage and every message of `plan`. If the plan has no messages, the
    /// watch is untimed.
    #[must_use]
    pub fn timed(plan: &Plan, cancel: CancelToken) -> Self {
        Self::with_messages(cancel, plan.messages().len())
    }

    /// An untimed watch that is cancelled together with this watch. It is for an additional run
    /// that does not count as progress.
    #[must_use]
    pub fn untimed_child(&self) -> Self {
        Self::untimed(self.cancel.clone())
    }

    /// A watch that times a plan of `timed` messages; untimed if there are none.
    fn with_messages(cancel: CancelToken, timed: usize) -> Self {
        Self {
            cancel,
            started: OnceLock::new(),
            stages: std::array::from_fn(|_| Span::new()),
            messages: (0..timed).map(|_| Span::new()).collect(),
            activities: Mutex::default(),
            savings: OnceLock::new(),
            processed: OnceLock::new(),
            recomputed: AtomicU32::new(0),
            recomputed_time: AtomicU64::new(0),
            ended: OnceLock::new(),
            is_finished: AtomicBool::new(false),
        }
    }

    /// Returns an error once the propagation is cancelled. Engines call this several times in each
    /// propagation.
    ///
    /// # Errors
    /// [`Cancelled`], which the engine returns in turn.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.cancel.check()
    }

    /// The token that cancels the propagation.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Asks the propagation to stop.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Calls `work`, which computes `message` on worker number `worker`, and times it.
    #[inline]
    pub fn message<R>(&self, message: MessageId, worker: u32, work: impl FnOnce() -> R) -> R {
        let alone = TimingHint { forecast: 1, min_interval: 0 };
        self.message_with_clock(message, worker, &mut self.worker_clock(), alone, work)
    }

    /// As [`message`](Self::message), for a worker that computes one message after another: the end
    /// of one is the start of the next, so the clock is read only once for each.
    ///
    /// Even one reading would add several percent to the time of a very short message. So
    /// consecutive messages are timed together until their forecasts add up to `hint.min_interval`,
    /// and share the measured time in proportion to their forecasts: see
    /// [`MessageTiming::shared_with`]. Call [`flush`](Self::flush) after the last message of a
    /// worker.
    ///
    /// [`MessageTiming::shared_with`]: crate::propagation::MessageTiming::shared_with
    #[inline]
    pub fn message_with_clock<R>(
        &self,
        message: MessageId,
        worker: u32,
        clock: &mut WorkerClock,
        hint: TimingHint,
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(span) = self.messages.get(message.index()) else { return work() };
        if hint.forecast >= hint.min_interval {
            // A message that is long enough is timed apart from the messages before it.
            self.flush(clock);
        }
        let forecast = clock.forecast.saturating_add(hint.forecast);
        span.begin(worker, clock.read_at, forecast);
        let result = work();
        if forecast >= hint.min_interval {
            *clock = self.worker_clock();
            span.end(clock.read_at);
        } else {
            span.end_with_next();
            (clock.forecast, clock.last) = (forecast, message);
        }
        result
    }

    /// Ends the group of messages that `clock` times together, if there is one.
    #[inline]
    pub fn flush(&self, clock: &mut WorkerClock) {
        if clock.forecast > 0 {
            self.read_clock(clock);
        }
    }

    /// Reads the clock, and ends the group of messages that is timed together, if there is one.
    #[inline]
    fn read_clock(&self, clock: &mut WorkerClock) {
        let before = std::mem::replace(clock, self.worker_clock());
        if before.forecast > 0 {
            self.messages[before.last.index()].end(clock.read_at);
        }
    }

    /// A worker's clock. It is read now if messages are timed.
    #[inline]
    #[must_use]
    pub fn worker_clock(&self) -> WorkerClock {
        let read_at = if self.times_messages() { self.now() } else { 0 };
        WorkerClock { read_at, forecast: 0, last: MessageId::new(0) }
    }

    /// Calls `work`, which does all of `stage`, and times it.
    #[inline]
    pub fn stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        self.stage_with_clock(stage, &mut self.worker_clock(), |_| work())
    }

    /// As [`stage`](Self::stage), for a stage that starts when `clock` was last read. `work` can
    /// pass the clock to [`message_with_clock`](Self::message_with_clock). The clock is read at the
    /// end of the stage.
    #[inline]
    pub fn stage_with_clock<R>(
        &self,
        stage: Stage,
        clock: &mut WorkerClock,
        work: impl FnOnce(&mut WorkerClock) -> R,
    ) -> R {
        if !self.times_messages() {
            return work(clock);
        }
        let span = &self.stages[stage as usize];
        span.begin(0, clock.read_at, 0);
        let result = work(clock);
        self.read_clock(clock);
        span.end(clock.read_at);
        result
    }

    /// Whether messages are timed.
    #[must_use]
    pub fn times_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Records that the propagation begins now. Without this call it begins with the first timing.
    /// Further calls have no effect.
    pub fn begin(&self) {
        self.started.get_or_init(|| CLOCK.raw());
    }

    /// Time since the propagation began; zero before.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let since = |started: &u64| CLOCK.delta(*started, CLOCK.raw());
        self.started.get().map_or(Duration::ZERO, since)
    }

    /// Records the times of a message that another device computed, where
    /// [`message`](Self::message) cannot time it. `wait` is how long the worker waited for the
    /// inputs of the message before `start`. `start` and `end` count from the start of the
    /// propagation.
    pub fn note_message(
        &self,
        message: MessageId,
        worker: u32,
        wait: Duration,
        start: Duration,
        end: Duration,
    ) {
        let Some(span) = self.messages.get(message.index()) else { return };
        span.note_wait(nanoseconds(wait));
        span.begin(worker, nanoseconds(start), 0);
        span.end(nanoseconds(end));
    }

    /// Records when a stage began and ended, as [`note_message`](Self::note_message) does for a
    /// message.
    pub fn note_stage(&self, stage: Stage, start: Duration, end: Duration) {
        if self.times_messages() {
            let span = &self.stages[stage as usize];
            span.begin(0, nanoseconds(start), 0);
            span.end(nanoseconds(end));
        }
    }

    /// Calls `work`, which is `activity` on worker number `worker`, and times it.
    #[inline]
    pub fn activity<R>(&self, activity: Activity, worker: u32, work: impl FnOnce() -> R) -> R {
        let start = self.worker_clock();
        let result = work();
        self.note_activity(activity, worker, start);
        result
    }

    /// Records that worker number `worker` did `activity` from the reading of `start` until now.
    pub fn note_activity(&self, activity: Activity, worker: u32, start: WorkerClock) {
        if self.times_messages() {
            let (start, end) = (start.read_at, self.now());
            let duration = Duration::from_nanos(end.saturating_sub(start));
            let start = Duration::from_nanos(start);
            let timing = ActivityTiming { activity, worker, start, duration };
            self.activities.lock().unwrap_or_else(PoisonError::into_inner).push(timing);
        }
    }

    /// Records the table entries that the engine goes through for each message of the plan, which
    /// `entries` returns. They are asked for only if messages are timed, and only once.
    pub fn note_processed(&self, entries: impl FnOnce() -> Vec<u64>) {
        if self.times_messages() {
            self.processed.get_or_init(entries);
        }
    }

    /// Records the work that the engine skipped. Further calls have no effect.
    pub fn note_savings(&self, savings: Savings) {
        let _ = self.savings.set(savings);
    }

    /// Calls `work`, which computes a case again because its numbers are out of the range of the
    /// engine, and times it. `work` gets a watch that is cancelled together with this one.
    pub fn recompute<R>(&self, work: impl FnOnce(&Self) -> R) -> R {
        let start = self.elapsed();
        let result = work(&self.untimed_child());
        self.recomputed.fetch_add(1, Ordering::Relaxed);
        let time = self.elapsed().saturating_sub(start);
        self.recomputed_time.fetch_add(nanoseconds(time), Ordering::Relaxed);
        result
    }

    /// Number of cases that were computed again because their numbers were out of the range of the
    /// engine.
    #[must_use]
    pub fn recomputed(&self) -> u32 {
        self.recomputed.load(Ordering::Relaxed)
    }

    /// Records that the posteriors are ready. Later work, such as reading message times back from a
    /// device, does not count as part of the propagation. Further calls have no effect.
    pub fn note_end(&self) {
        self.ended.get_or_init(|| self.elapsed());
    }

    /// Records that the propagation is over, successful or not, and that no more timings follow.
    pub fn finish(&self) {
        self.note_end();
        self.is_finished.store(true, Ordering::Release);
    }

    /// Whether the propagation is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    /// The number of messages that the engine has computed and reported so far, and the number of
    /// all messages; both zero if messages are not timed. An engine that uses another tree than the
    /// plan's reports none.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.messages.iter().filter(|span| span.has_ended()).count(), self.messages.len())
    }

    /// The message being computed; if there are several, the one that began last.
    #[must_use]
    pub fn active(&self) -> Option<MessageId> {
        let open = self.messages.iter().enumerate().filter(|(_, span)| !span.has_ended());
        open.filter_map(|(index, span)| Some((span.start()?, index)))
            .max()
            .map(|(_, index)| MessageId::new(index))
    }

    /// The timings recorded so far.
    #[must_use]
    pub fn trace(&self) -> MessageTrace {
        let stages = Stage::ALL.into_iter().filter_map(|stage| {
            let (start, end) = self.stages[stage as usize].bounds()?;
            Some(StageTiming { stage, start, end })
        });
        let stages: Vec<StageTiming> = stages.collect();
        let messages = span::timings(&self.messages);
        let mut activities = self.activities.lock().unwrap_or_else(PoisonError::into_inner).clone();
        activities.extend(activity::waits(&stages, &messages, &activities));
        activities.sort_unstable_by_key(|timing| (timing.worker, timing.start));
        MessageTrace {
            stages,
            messages,
            activities,
            processed: self.processed.get().cloned().unwrap_or_default(),
            savings: self.savings.get().copied().unwrap_or_default(),
            recomputed: (self.recomputed() > 0)
                .then(|| Duration::from_nanos(self.recomputed_time.load(Ordering::Relaxed))),
            elapsed: self.ended.get().copied().unwrap_or_else(|| self.elapsed()),
        }
    }

    /// Nanoseconds since the propagation began. If it has not begun, it begins now.
    fn now(&self) -> u64 {
        let now = CLOCK.raw();
        CLOCK.delta_as_nanos(*self.started.get_or_init(|| now), now)
    }
}

/// The duration in nanoseconds, at most [`span::LATEST`].
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(span::LATEST)
}

#[cfg(test)]
mod tests;
