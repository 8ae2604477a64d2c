//! Formatting of numbers for people.

use std::time::Duration;

/// `4372480` as `4,372,480`. [`u64::MAX`], where sizes of tables saturate, is `more than 10^19`.
#[must_use]
pub fn thousands(number: u64) -> String {
    if number == u64::MAX {
        return "more than 10^19".to_owned();
    }
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

/// A duration to at most three digits, or in whole seconds from 1,000 s on: `812 ns`, `3.40 µs`,
/// `12.3 ms`, `2.05 s`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    nanoseconds(duration.as_nanos() as f64)
}

/// As [`duration`], for a number of nanoseconds that may be fractional. A fraction of a nanosecond
/// is shown only below 10 ns, with two decimals.
#[must_use]
pub fn nanoseconds(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 9.995 && n.fract() != 0.0 => return format!("{n:.2} ns"),
        n if n < 999.5 => return format!("{n:.0} ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

/// A number with four decimals; in scientific notation, with three, if its absolute value is at
/// least 10,000, or below 0.001 but not zero.
#[must_use]
pub fn scientific(number: f64) -> String {
    if number == 0.0 || (1e-3..1e4).contains(&number.abs()) {
        format!("{number:.4}")
    } else {
        format!("{number:.3e}")
    }
}

/// `number` times two to the power of `exponent`, as [`scientific`] writes it, also if the product
/// is out of the range of double precision.
#[must_use]
pub fn scientific_scaled(number: f64, exponent: i64) -> String {
    if number == 0.0 || exponent == 0 || !number.is_finite() {
        return scientific(number);
    }
    let logarithm = number.abs().log10() + exponent as f64 * std::f64::consts::LOG10_2;
    let power = logarithm.floor();
    if power.abs() < 200.0 {
        let mantissa = 10f64.powf(logarithm - power).copysign(number);
        return scientific(mantissa * 10f64.powf(power));
    }
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", power_of_ten(logarithm, 3))
}

/// Ten to the power of `exponent` in scientific notation with `digits` decimals, also if it is out
/// of the range of double precision.
#[must_use]
pub fn power_of_ten(exponent: f64, digits: usize) -> String {
    let power = exponent.floor();
    let text = format!("{:.digits$e}", 10f64.powf(exponent - power));
    // The mantissa may be rounded up to 10.
    let (mantissa, carry) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}", power + if carry == "0" { 0.0 } else { 1.0 })
}

/// e to the power of `logarithm`, as [`scientific`] writes it, also if the power is outside the
/// range of double precision.
#[must_use]
pub fn scientific_exp(logarithm: f64) -> String {
    // Not far below -700, the power has fewer digits or is zero; not far above 700, it is infinite.
    if logarithm.abs() < 700.0 || logarithm.is_infinite() {
        return scientific(logarithm.exp());
    }
    power_of_ten(logarithm / std::f64::consts::LN_10, 3)
}

/// `value` to at most three digits with an SI prefix: `336`, `1.2 k`, `4.37 M`.
#[must_use]
pub fn short(value: f64) -> String {
    const PREFIXES: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let mut value = value;
    let mut prefix = 0;
    while value >= 999.5 && prefix + 1 < PREFIXES.len() {
        value /= 1000.0;
        prefix += 1;
    }
    format!("{}{}", three_digits(value), PREFIXES[prefix])
}

/// As [`short`], for the size of a table or a total of such sizes. [`u64::MAX`], where these
/// saturate, is `>10^19`.
#[must_use]
pub fn short_size(entries: u64) -> String {
    if entries == u64::MAX { ">10^19".to_owned() } else { short(entries as f64) }
}

/// A number of bytes in the largest binary unit that gives at least 1: `812 B`, `1.00 KiB`,
/// `68.7 MiB`. Below 1 KiB all digits are written. From there on there are three digits, or four
/// from 1,000 to 1,023; a number that would be rounded to 1,024 is 1.00 of the next unit.
/// [`u64::MAX`], where forecasts saturate, is `more than 16 EiB`.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes == u64::MAX {
        return "more than 16 EiB".to_owned();
    }
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A probability in percent: with one decimal in the middle of the range, more near 0 and 1, and in
/// scientific notation below 10^-6. `0%` and `100%` are written only for exactly 0 and 1; a
/// probability within 10^-8 of 1 may be rounded to `100.000000%`.
#[must_use]
pub fn percent(probability: f64) -> String {
    let percent = probability * 100.0;
    // The number of digits depends on the distance to 0% or 100%, whichever is nearer.
    let distance = percent.min(100.0 - percent);
    if distance == 0.0 {
        return format!("{percent:.0}%");
    }
    if distance >= 0.95 || distance.is_nan() {
        return format!("{percent:.1}%");
    }
    if percent < 1e-4 {
        return format!("{percent:.1e}%");
    }
    // The place of the first nonzero digit of the distance, after the decimal point.
    let places = -(distance.max(1e-6).log10() + 1e-6).floor();
    let decimals = if percent < 50.0 { places + 1.0 } else { places };
    format!("{percent:.*}%", decimals.max(1.0) as usize)
}

/// `part` of `whole` in percent, to about two digits: `61%`, `3.2%`, `<0.1%`, `>99.9%`; `-` if
/// `whole` is not positive. `0%` and `100%` are written only if nothing or all of it is meant.
#[must_use]
pub fn share(part: f64, whole: f64) -> String {
    /// A difference from 100% that is the rounding error of a sum, in percent.
    const ROUNDING: f64 = 1e-9;
    if whole <= 0.0 {
        return "-".to_owned();
    }
    let percent = part / whole * 100.0;
    if percent == 0.0 {
        // Not formatted, because an empty sum is -0, which would read `-0%`.
        "0%".to_owned()
    } else if (99.95..100.0 - ROUNDING).contains(&percent) {
        ">99.9%".to_owned()
    } else if (99.5..99.95).contains(&percent) {
        format!("{percent:.1}%")
    } else if percent >= 9.95 {
        format!("{percent:.0}%")
    } else if percent < 0.1 {
        "<0.1%".to_owned()
    } else {
        format!("{percent:.1}%")
    }
}

/// A count with the singular or plural of its noun: `1 message`, `2 messages`.
#[must_use]
pub fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{} {}", thousands(count as u64), if count == 1 { singular } else { plural })
}

/// A value below 1000 to at most three digits, without trailing zeros after the decimal point.
fn three_digits(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`; 1 if `step` is not a
/// positive finite number.
#[must_use]
pub fn round_step(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let factor =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// `text` broken between words into lines of at most `columns` characters. A longer word gets a
/// line to itself.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > columns {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("a network too large", 9), "a network\ntoo large");
        assert_eq!(wrapped("unbreakable word", 4), "unbreakable\nword");
        assert_eq!(wrapped("", 4), "");
    }

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(4_372_480), "4,372,480");
    }

    #[test]
    fn a_saturated_size_is_not_shown_as_a_number() {
        assert_eq!(thousands(u64::MAX - 1), "18,446,744,073,709,551,614");
        assert_eq!(thousands(u64::MAX), "more than 10^19");
        assert_eq!(short_size(336), "336");
        assert_eq!(short_size(u64::MAX), ">10^19");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(Duration::from_nanos(812)), "812 ns");
        assert_eq!(duration(Duration::from_nanos(3_400)), "3.40 µs");
        assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(2_050)), "2.05 s");
    }

    #[test]
    fn very_small_numbers_are_in_scientific_notation_but_zero_is_not() {
        assert_eq!(scientific(1.0), "1.0000");
        assert_eq!(scientific(0.0), "0.0000");
        assert_eq!(scientific(3.2e-45), "3.200e-45");
    }

    #[test]
    fn numbers_out_of_the_range_of_double_precision_are_written() {
        // 2^-4000 is 7.58608e-1205.
        assert_eq!(scientific_scaled(1.0, -4000), "7.586e-1205");
        assert_eq!(scientific_scaled(1.0, 4000), "1.318e1204");
        assert_eq!(scientific_scaled(9.999_96 / 7.586_078_7, -4000), "1.000e-1204");
        assert_eq!(scientific_scaled(0.0, -4000), "0.0000");
        assert_eq!(scientific_scaled(3.0, -1), "1.5000");
        assert_eq!(scientific_scaled(3.0, 0), "3.0000");
        assert_eq!(scientific_scaled(f64::INFINITY, -4000), "inf");
        assert_eq!(scientific_scaled(f64::NAN, 1), "NaN");
        assert_eq!(scientific_exp(-963.0), "5.949e-419");
        assert_eq!(scientific_exp(963.0), "1.681e418");
        assert_eq!(scientific_exp(0.5f64.ln()), "0.5000");
        assert_eq!(scientific_exp(f64::NEG_INFINITY), "0.0000");
    }

    #[test]
    fn sizes_are_shortened_to_three_digits() {
        let cases = [
            (0.0, "0"),
            (336.0, "336"),
            (999.6, "1 k"),
            (1_200.0, "1.2 k"),
            (4_372_480.0, "4.37 M"),
            (341_651.0, "342 k"),
            (1.8e19, "18 E"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn bytes_are_written_in_a_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_048_575, "1.00 MiB"),
            (72_000_000, "68.7 MiB"),
            (1 << 62, "4.00 EiB"),
            (u64::MAX, "more than 16 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human_bytes(bytes), text);
        }
    }

    #[test]
    fn percentages_have_more_digits_near_0_and_100() {
        let cases = [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.489, "48.9%"),
            (0.05499, "5.5%"),
            (0.00123, "0.12%"),
            (0.99999, "99.999%"),
            (1e-9, "1.0e-7%"),
        ];
        for (probability, text) in cases {
            assert_eq!(percent(probability), text);
        }
    }

    #[test]
    fn a_small_share_is_not_rounded_to_zero() {
        assert_eq!(share(61.0, 100.0), "61%");
        assert_eq!(share(3.24, 100.0), "3.2%");
        assert_eq!(share(1.0, 1e9), "<0.1%");
        assert_eq!((share(1.0, 1.0), share(0.1 + 0.2, 0.3)), ("100%".into(), "100%".into()));
        assert_eq!((share(99.97, 100.0), share(99.6, 100.0)), (">99.9%".into(), "99.6%".into()));
        assert_eq!(share(99.4, 100.0), "99%");
        assert_eq!(share(0.0, 1e9), "0%");
        assert_eq!(share(-0.0, 1e9), "0%");
        assert_eq!(share(0.0, 0.0), "-");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(counted(1, "clique", "cliques"), "1 clique");
        assert_eq!(counted(1_044, "clique", "cliques"), "1,044 cliques");
    }

    #[test]
    fn steps_are_rounded_up_to_one_two_or_five() {
        for (step, rounded) in [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (37.0, 50.0), (60.0, 100.0)] {
            assert!((round_step(step) - rounded).abs() < 1e-9 * rounded, "{step}");
        }
    }
}
