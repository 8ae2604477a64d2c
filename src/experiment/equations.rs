//! The time model of the paper, section 3.4.

use super::MessageSizes;

/// Work of a propagation in the terms of equations 4 to 6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Number of messages, 2 (n - 1) for n cliques.
    pub messages: f64,
    /// Entries that a single thread reads: the sum of |X_i| + |X_k| over all messages, where X_i
    /// and X_k are the two cliques.
    pub sequential: f64,
    /// Entries that a thread reads if each separator entry has its own thread: the sum of
    /// (|X_i| + |X_k|) / |S| over all messages, where S is the separator (equation 4).
    pub parallel: f64,
    /// As `parallel`, with at most as many threads as the GPU runs at once.
    pub capped: f64,
}

impl Work {
    /// The work of `messages` on a GPU that runs `threads` threads at once.
    #[must_use]
    pub fn of(messages: &[MessageSizes], threads: u64) -> Self {
        let sum = |term: &dyn Fn(&MessageSizes) -> f64| messages.iter().map(term).sum();
        let entries = |m: &MessageSizes| m.from as f64 + m.to as f64;
        Self {
            messages: messages.len() as f64,
            sequential: sum(&entries),
            parallel: sum(&|m| entries(m) / m.separator.max(1) as f64),
            capped: sum(&|m| entries(m) / m.separator.clamp(1, threads.max(1)) as f64),
        }
    }

    /// Entries that the model counts for an engine: `parallel` on a GPU, `sequential` on a CPU.
    #[must_use]
    pub fn entries(&self, on_gpu: bool) -> f64 {
        if on_gpu { self.parallel } else { self.sequential }
    }

    /// As [`entries`](Self::entries), with at most as many threads as the GPU runs at once.
    #[must_use]
    pub fn capped_entries(&self, on_gpu: bool) -> f64 {
        if on_gpu { self.capped } else { self.sequential }
    }
}

/// The constants of equation 6: time = messages · `message_us` + entries · `entry_us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Microseconds for each message, the τ of equation 5.
    pub message_us: f64,
    /// Microseconds for each entry.
    pub entry_us: f64,
}

impl Fit {
    /// The two non-negative constants with the smallest sum of squared relative errors. `measured`
    /// holds the number of messages, the number of entries and the microseconds of each network.
    ///
    /// `None` if fewer than two networks were measured.
    #[must_use]
    pub fn of(measured: &[(f64, f64, f64)]) -> Option<Self> {
        if measured.len() < 2 {
            return None;
        }
        let rows = measured.iter().map(|&(messages, entries, us)| (messages / us, entries / us));
        // Sums of the normal equations. In their names, m is for messages and e for entries.
        let (mut mm, mut me, mut ee, mut m, mut e) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (a, b) in rows {
            mm += a * a;
            me += a * b;
            ee += b * b;
            m += a;
            e += b;
        }
        let alone = |sum: f64, square: f64| if square > 0.0 { sum / square } else { 0.0 };
        let determinant = mm * ee - me * me;
        let (message_us, entry_us) =
            ((m * ee - e * me) / determinant, (e * mm - m * me) / determinant);
        // A constant that would be negative or undetermined is set to zero, and the other is fitted
        // alone.
        Some(if !(message_us >= 0.0 && message_us.is_finite()) {
            Self { message_us: 0.0, entry_us: alone(e, ee) }
        } else if !(entry_us >= 0.0 && entry_us.is_finite()) {
            Self { message_us: alone(m, mm), entry_us: 0.0 }
        } else {
            Self { message_us, entry_us }
        })
    }

    /// The predicted time, in microseconds.
    #[must_use]
    pub fn predict(self, messages: f64, entries: f64) -> f64 {
        self.message_us * messages + self.entry_us * entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_figure_1_is_counted() {
        // Binary cliques {A, B, D}, {B, C} and {D, E} with separators {B} and {D}.
        let message = |from, to| MessageSizes { from, separator: 2, to };
        let messages = [message(4, 8), message(4, 8), message(8, 4), message(8, 4)];
        let work = Work::of(&messages, 1);
        let expected = Work { messages: 4.0, sequential: 48.0, parallel: 24.0, capped: 48.0 };
        assert_eq!(work, expected);
        assert_eq!(Work::of(&messages, 1000).capped, 24.0);
    }

    #[test]
    fn the_constants_of_exact_times_are_recovered() {
        let exact = Fit { message_us: 3.0, entry_us: 0.01 };
        let work = [(70.0, 500.0), (1800.0, 9_000.0), (700.0, 100_000.0)];
        let measured = work.map(|(m, e)| (m, e, exact.predict(m, e)));
        let found = Fit::of(&measured).unwrap();
        assert!((found.message_us - 3.0).abs() < 1e-9 && (found.entry_us - 0.01).abs() < 1e-9);
        assert_eq!(Fit::of(&measured[..1]), None);
    }

    #[test]
    fn no_constant_is_negative() {
        // The exact solution of 100 a + 10 b = 1 and 10 a + 100 b = 100 has a negative a.
        let fit = Fit::of(&[(100.0, 10.0, 1.0), (10.0, 100.0, 100.0)]).unwrap();
        assert!(fit.message_us == 0.0 && fit.entry_us > 0.0, "{fit:?}");
        let fit = Fit::of(&[(10.0, 100.0, 1.0), (100.0, 10.0, 100.0)]).unwrap();
        assert!(fit.message_us > 0.0 && fit.entry_us == 0.0, "{fit:?}");
        // The same work twice leaves the constants undetermined.
        let fit = Fit::of(&[(10.0, 100.0, 10.0), (10.0, 100.0, 10.0)]).unwrap();
        assert!((fit.predict(10.0, 100.0) - 10.0).abs() < 1e-9, "{fit:?}");
    }
}
