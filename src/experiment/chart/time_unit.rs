//! The unit in which the times of a figure or a column are shown.

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// Name of the unit, such as `ms`.
    pub name: &'static str,
    /// Length of the unit in microseconds.
    pub us: f64,
}

impl TimeUnit {
    /// The unit for numbers of microseconds: milliseconds if the largest is at least one
    /// millisecond, otherwise microseconds.
    #[must_use]
    pub fn of(times_us: impl IntoIterator<Item = f64>) -> Self {
        let largest = times_us.into_iter().fold(0.0, f64::max);
        if largest >= 1e3 { Self { name: "ms", us: 1e3 } } else { Self { name: "µs", us: 1.0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_millisecond_or_more_are_in_milliseconds() {
        assert_eq!(TimeUnit::of([3.0, 999.0]).name, "µs");
        assert_eq!(TimeUnit::of([3.0, 1000.0]), TimeUnit { name: "ms", us: 1e3 });
        assert_eq!(TimeUnit::of([]).name, "µs");
    }
}
