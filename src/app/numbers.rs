//! Numbers as people read them.

use std::time::Duration;

/// `4372480` as `4,372,480`.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration to three digits: `812 ns`, `3.40 µs`, `12.3 ms`, `2.05 s`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    let (value, unit) = match nanoseconds {
        n if n < 999.5 => return format!("{n:.0} ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

/// A probability to four digits, with a power of ten where it is small.
#[must_use]
pub fn scientific(number: f64) -> String {
    if number == 0.0 || (1e-3..1e4).contains(&number.abs()) {
        format!("{number:.4}")
    } else {
        format!("{number:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(4_372_480), "4,372,480");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(Duration::from_nanos(812)), "812 ns");
        assert_eq!(duration(Duration::from_nanos(3_400)), "3.40 µs");
        assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(2_050)), "2.05 s");
    }

    #[test]
    fn small_probabilities_have_a_power_of_ten() {
        assert_eq!(scientific(1.0), "1.0000");
        assert_eq!(scientific(0.0), "0.0000");
        assert_eq!(scientific(3.2e-45), "3.200e-45");
    }
}
