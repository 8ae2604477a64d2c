//! Start and end of a message or stage, readable while the engine runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::propagation::{MessageId, MessageTiming};

/// Marks a start or an end that is not known yet.
const PENDING: u64 = u64::MAX;

/// Marks the end of a message that is timed together with the next message of the same worker.
const WITH_NEXT: u64 = u64::MAX - 1;

/// The latest time that can be recorded, in nanoseconds.
pub(super) const LATEST: u64 = u64::MAX - 2;

/// Start and end of a message or stage, in nanoseconds since the start of the propagation.
#[derive(Debug)]
pub(super) struct Span {
    start: AtomicU64,
    end: AtomicU64,
    /// The worker in the upper 32 bits. In the lower 32 bits, the total forecast of the message and
    /// of the earlier messages that are timed together with it.
    worker_and_forecast: AtomicU64,
    /// Nanoseconds waited before the start.
    wait: AtomicU64,
}

impl Span {
    /// The span of a message or stage that has not begun.
    pub fn new() -> Self {
        Self {
            start: AtomicU64::new(PENDING),
            end: AtomicU64::new(PENDING),
            worker_and_forecast: AtomicU64::new(0),
            wait: AtomicU64::new(0),
        }
    }

    /// Records the start. Messages that are timed together as a group have the same `start`, and
    /// `forecast` grows from one to the next.
    #[inline]
    pub fn begin(&self, worker: u32, start: u64, forecast: u32) {
        let packed = u64::from(worker) << 32 | u64::from(forecast);
        self.worker_and_forecast.store(packed, Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
    }

    /// Records that the message or stage has ended, `end` nanoseconds after the start of the
    /// propagation.
    #[inline]
    pub fn end(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// Records that the message has ended and is timed together with the worker's next message.
    #[inline]
    pub fn end_with_next(&self) {
        self.end.store(WITH_NEXT, Ordering::Release);
    }

    /// Records how long the worker waited before the start.
    pub fn note_wait(&self, wait: u64) {
        self.wait.store(wait, Ordering::Relaxed);
    }

    /// Whether the message has ended, even if its end is not known yet.
    pub fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire) != PENDING
    }

    /// The start; `None` before it.
    pub fn start(&self) -> Option<Duration> {
        let start = self.start.load(Ordering::Acquire);
        (start != PENDING).then(|| Duration::from_nanos(start))
    }

    /// Start and end; `None` until the end is known.
    pub fn bounds(&self) -> Option<(Duration, Duration)> {
        let end = self.end.load(Ordering::Acquire);
        if end > LATEST {
            return None;
        }
        Some((self.start()?, Duration::from_nanos(end)))
    }
}

/// A message that has ended.
struct Ended {
    message: usize,
    worker: u32,
    start: u64,
    /// May be [`WITH_NEXT`].
    end: u64,
    forecast: u32,
    wait: u64,
}

/// The timings of the messages whose times are known, in the order of `spans`, which holds one span
/// for each message. A message of a group is left out until the whole group has ended.
pub(super) fn timings(spans: &[Span]) -> Vec<MessageTiming> {
    let ended = spans.iter().enumerate().filter_map(|(message, span)| {
        let end = span.end.load(Ordering::Acquire);
        let packed = span.worker_and_forecast.load(Ordering::Relaxed);
        (end != PENDING).then(|| Ended {
            message,
            worker: (packed >> 32) as u32,
            start: span.start.load(Ordering::Acquire),
            end,
            forecast: packed as u32,
            wait: span.wait.load(Ordering::Relaxed),
        })
    });
    let mut ended: Vec<Ended> = ended.collect();
    ended.sort_unstable_by_key(|m| (m.worker, m.start, m.forecast, m.message));
    let mut timings = Vec::with_capacity(ended.len());
    let mut rest = &ended[..];
    while let Some(last) = rest.iter().position(|message| message.end <= LATEST) {
        let (before, after) = rest.split_at(last + 1);
        // Messages with another worker or another start belong to a group that has not ended yet.
        let group_key = (before[last].worker, before[last].start);
        let group = before.iter().filter(|message| (message.worker, message.start) == group_key);
        share_time(&group.collect::<Vec<_>>(), &mut timings);
        rest = after;
    }
    timings.sort_unstable_by_key(|timing| timing.message);
    timings
}

/// Divides the time of a group of messages that were timed together among these messages, in
/// proportion to their forecasts. The last message of the group holds the end and the total
/// forecast of the group.
fn share_time(group: &[&Ended], timings: &mut Vec<MessageTiming>) {
    let last = group[group.len() - 1];
    let total = u128::from(last.end.saturating_sub(last.start));
    let mut start = last.start;
    for message in group {
        let elapsed =
            total * u128::from(message.forecast.max(1)) / u128::from(last.forecast.max(1));
        let end = last.start + elapsed as u64;
        timings.push(MessageTiming {
            message: MessageId::new(message.message),
            worker: message.worker,
            wait: Duration::from_nanos(message.wait),
            start: Duration::from_nanos(start),
            duration: Duration::from_nanos(end - start),
            shared_with: group.len() as u32 - 1,
        });
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_timed_together_share_the_time_and_all_others_have_their_own() {
        let spans: Vec<Span> = (0..8).map(|_| Span::new()).collect();
        // Worker 0: messages 2 and 1 together from 100 to 201, then message 0 alone until 300.
        // Worker 1: message 3 alone from 100, then 4, 5 and 6 together, of which 6 has not ended.
        // Message 7 never begins.
        for (number, worker, start, forecast) in
            [(2, 0, 100, 30), (1, 0, 100, 40), (0, 0, 201, 5), (3, 1, 100, 9)]
        {
            spans[number].begin(worker, start, forecast);
        }
        spans[2].end_with_next();
        spans[1].end(201);
        spans[0].end(300);
        spans[3].end(150);
        for (number, forecast) in [(4, 2), (5, 3), (6, 4)] {
            spans[number].begin(1, 150, forecast);
        }
        spans[4].end_with_next();
        spans[5].end_with_next();
        assert_eq!(spans.iter().filter(|span| span.has_ended()).count(), 6);
        let found: Vec<_> = timings(&spans)
            .iter()
            .map(|t| (t.message.index(), t.worker, t.start.as_nanos(), t.duration.as_nanos()))
            .collect();
        assert_eq!(found, [(0, 0, 201, 99), (1, 0, 175, 26), (2, 0, 100, 75), (3, 1, 100, 50)]);
        let shared: Vec<u32> = timings(&spans).iter().map(|timing| timing.shared_with).collect();
        assert_eq!(shared, [0, 1, 1, 0]);
        spans[6].end(154);
        let found = timings(&spans);
        assert_eq!(found.len(), 7);
        let together = found.iter().filter(|timing| timing.shared_with == 2);
        assert_eq!(together.map(|timing| timing.duration.as_nanos()).sum::<u128>(), 4);
    }

    #[test]
    fn a_recorded_wait_is_reported() {
        let span = Span::new();
        assert!(timings(std::slice::from_ref(&span)).is_empty());
        span.note_wait(7);
        span.begin(3, 20, 0);
        assert!(span.bounds().is_none() && span.start() == Some(Duration::from_nanos(20)));
        span.end(25);
        let found = timings(std::slice::from_ref(&span));
        let nanoseconds = [found[0].wait, found[0].start, found[0].duration].map(|d| d.as_nanos());
        assert_eq!((nanoseconds, found[0].worker, found[0].shared_with), ([7, 20, 5], 3, 0));
    }
}
