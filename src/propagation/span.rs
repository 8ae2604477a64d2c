//! When something began and ended, as others read it while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::propagation::{MessageId, MessageTiming};

/// Marks what has not been computed yet.
const NOT_YET: u64 = u64::MAX;

/// Marks what was computed and is timed together with what follows on the same lane.
const WITH_NEXT: u64 = u64::MAX - 1;

/// The last nanosecond that can be noted.
pub(super) const LATEST: u64 = u64::MAX - 2;

/// Nanoseconds since the start of the propagation.
#[derive(Debug)]
pub(super) struct Span {
    start: AtomicU64,
    end: AtomicU64,
    /// The lane in the upper half; in the lower what it and those before it that began at the same
    /// start were forecast to take.
    place: AtomicU64,
    /// Nanoseconds waited before the start.
    wait: AtomicU64,
}

impl Span {
    pub fn new() -> Self {
        Self {
            start: AtomicU64::new(NOT_YET),
            end: AtomicU64::new(NOT_YET),
            place: AtomicU64::new(0),
            wait: AtomicU64::new(0),
        }
    }

    /// Notes that it begins. Those of one lane that are timed together have the same `start`, and
    /// each more `forecast` than the one before.
    #[inline]
    pub fn begin(&self, lane: u32, start: u64, forecast: u32) {
        self.place.store(u64::from(lane) << 32 | u64::from(forecast), Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
    }

    #[inline]
    pub fn end(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// Notes that it is over, and timed together with what follows.
    #[inline]
    pub fn end_with_next(&self) {
        self.end.store(WITH_NEXT, Ordering::Release);
    }

    /// Notes how long its lane waited for it.
    pub fn note_wait(&self, wait: u64) {
        self.wait.store(wait, Ordering::Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire) != NOT_YET
    }

    pub fn start(&self) -> Option<Duration> {
        let start = self.start.load(Ordering::Acquire);
        (start != NOT_YET).then(|| Duration::from_nanos(start))
    }

    /// Start and end, once there is an end of its own.
    pub fn bounds(&self) -> Option<(Duration, Duration)> {
        let end = self.end.load(Ordering::Acquire);
        if end > LATEST {
            return None;
        }
        Some((self.start()?, Duration::from_nanos(end)))
    }
}

/// A message that is over.
struct Ended {
    message: usize,
    lane: u32,
    start: u64,
    end: u64,
    forecast: u32,
    wait: u64,
}

/// The messages that are over and whose time is known, one span a message.
pub(super) fn timings(spans: &[Span]) -> Vec<MessageTiming> {
    let ended = spans.iter().enumerate().filter_map(|(message, span)| {
        let end = span.end.load(Ordering::Acquire);
        let place = span.place.load(Ordering::Relaxed);
        (end != NOT_YET).then(|| Ended {
            message,
            lane: (place >> 32) as u32,
            start: span.start.load(Ordering::Acquire),
            end,
            forecast: place as u32,
            wait: span.wait.load(Ordering::Relaxed),
        })
    });
    let mut ended: Vec<Ended> = ended.collect();
    ended.sort_unstable_by_key(|of| (of.lane, of.start, of.forecast, of.message));
    let mut timings = Vec::with_capacity(ended.len());
    let mut rest = &ended[..];
    while let Some(last) = rest.iter().position(|of| of.end <= LATEST) {
        let (together, after) = rest.split_at(last + 1);
        // What is timed with something that has yet to end stands before another start.
        let own = (together[last].lane, together[last].start);
        let others = together.iter().filter(|of| (of.lane, of.start) == own);
        share(&others.collect::<Vec<_>>(), &mut timings);
        rest = after;
    }
    timings.sort_unstable_by_key(|timing| timing.message);
    timings
}

/// Shares out the time of messages that were timed together, of which the last has the end of all.
fn share(together: &[&Ended], timings: &mut Vec<MessageTiming>) {
    let last = together[together.len() - 1];
    let took = u128::from(last.end.saturating_sub(last.start));
    let mut from = last.start;
    for of in together {
        let part = took * u128::from(of.forecast.max(1)) / u128::from(last.forecast.max(1));
        let to = last.start + part as u64;
        timings.push(MessageTiming {
            message: MessageId::new(of.message),
            lane: of.lane,
            wait: Duration::from_nanos(of.wait),
            start: Duration::from_nanos(from),
            duration: Duration::from_nanos(to - from),
            shared_with: together.len() as u32 - 1,
        });
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_timed_together_share_the_time_and_all_others_have_their_own() {
        let spans: Vec<Span> = (0..8).map(|_| Span::new()).collect();
        // On lane 0: number 2 and 1 from 100 to 201, number 0 alone until 300; on lane 1 at the same
        // time number 3 alone, and 4 and 5, which are timed with something that has yet to end, as is 6
        // itself. Number 7 never begins.
        for (number, lane, start, forecast) in
            [(2, 0, 100, 30), (1, 0, 100, 40), (0, 0, 201, 5), (3, 1, 100, 9)]
        {
            spans[number].begin(lane, start, forecast);
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
            .map(|of| (of.message.index(), of.lane, of.start.as_nanos(), of.duration.as_nanos()))
            .collect();
        assert_eq!(found, [(0, 0, 201, 99), (1, 0, 175, 26), (2, 0, 100, 75), (3, 1, 100, 50)]);
        let shared: Vec<u32> = timings(&spans).iter().map(|of| of.shared_with).collect();
        assert_eq!(shared, [0, 1, 1, 0]);
        spans[6].end(154);
        let found = timings(&spans);
        assert_eq!(found.len(), 7);
        let together = found.iter().filter(|of| of.shared_with == 2);
        assert_eq!(together.map(|of| of.duration.as_nanos()).sum::<u128>(), 4);
    }

    #[test]
    fn a_message_noted_with_a_wait_keeps_it() {
        let span = Span::new();
        assert!(timings(std::slice::from_ref(&span)).is_empty());
        span.note_wait(7);
        span.begin(3, 20, 0);
        assert!(span.bounds().is_none() && span.start() == Some(Duration::from_nanos(20)));
        span.end(25);
        let found = timings(std::slice::from_ref(&span));
        let nanoseconds = [found[0].wait, found[0].start, found[0].duration].map(|d| d.as_nanos());
        assert_eq!((nanoseconds, found[0].lane, found[0].shared_with), ([7, 20, 5], 3, 0));
    }
}
