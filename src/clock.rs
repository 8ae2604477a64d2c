//! The program's clock. Nothing else on the CPU reads a clock, except
//! [`Watch`](crate::propagation::Watch), which times messages by the processor's counter, and the
//! window's toolkit, which gives the time of each frame.
//!
//! `std::time::Instant` panics in a browser; this one works there too. `clippy.toml` forbids the
//! standard library's clocks everywhere else.

use std::time::Duration;

/// A moment of monotonic time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(web_time::Instant);

impl Instant {
    /// The current moment.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now() -> Self {
        Self(web_time::Instant::now())
    }

    /// The time since this moment.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Self::now().duration_since(self)
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }
}

/// The time since 1 January 1970, by the system's clock; zero if the clock is set before that.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn unix_time() -> Duration {
    web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let first = Instant::now();
        let second = Instant::now();
        assert!(second >= first);
        assert_eq!(first.duration_since(second), Duration::ZERO);
    }

    #[test]
    fn unix_time_is_after_this_program_was_written() {
        assert!(unix_time() > Duration::from_secs(1_700_000_000));
    }
}
