//! Rows of numbers as files write them: probabilities, percentages or counts.

/// A row of probabilities whose sum differs from one by at most this is normalised, however many
/// decimals they have.
///
/// [`normalise_row`] accepts a larger difference if the numbers have few decimals. A smaller limit
/// rejects files that people use; a larger one accepts wrong tables.
pub const ROW_TOLERANCE: f64 = 1e-3;

/// Maximum difference between the sum of a row of rounded numbers and one, however many numbers
/// there are. [`Scale::of`] takes a number for a probability if it exceeds one by no more than
/// this. A larger limit accepts wrong tables.
const MAX_ROUNDING: f64 = 0.05;

/// A row whose sum differs from one by more than this causes a warning when it is normalised.
///
/// Normalising such a row can change posteriors by more than the error that engines in double
/// precision may have, so results may differ from the results of a program that does not normalise.
pub const ROUNDING_TOLERANCE: f64 = 1e-9;

/// Why a row of a conditional probability table is rejected.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RowError {
    /// An entry is negative, infinite or not a number.
    #[error("{0} is not a probability")]
    NotAProbability(f64),
    /// All entries are zero.
    #[error("all its numbers are zero, expected a sum of 1")]
    AllZero,
    /// The sum of the row differs too much from one.
    #[error("the row sums to {}, not to 1 (within {within})", as_decimal(*sum))]
    WrongSum {
        /// Its sum.
        sum: f64,
        /// Maximum difference from one for this row.
        within: f64,
    },
}

/// Divides `row` by its sum, and returns the absolute difference between the sum and one.
///
/// The sum of any row may differ from one by [`ROW_TOLERANCE`]. If all numbers have at most four
/// decimals, they are taken to be rounded to as many decimals as the longest of them has, but at
/// least two. The sum may then differ by half a unit of the last decimal for each number, but by at
/// most 0.05. So `0.33 0.33 0.33` is accepted as three thirds. `0.3 0.3 0.3` is rejected, because
/// bounds of a credal set and typing errors look like this.
///
/// Percentages and counts are not recognised here. [`Scale::of`] recognises them from the whole
/// table.
///
/// # Errors
/// If an entry is negative or not finite, if all entries are zero, or if the sum differs from one
/// by more than is allowed.
pub fn normalise_row(row: &mut [f64]) -> Result<f64, RowError> {
    if let Some(&bad) = row.iter().find(|p| !p.is_finite() || **p < 0.0) {
        return Err(RowError::NotAProbability(bad));
    }
    let sum: f64 = row.iter().sum();
    if sum == 0.0 {
        return Err(RowError::AllZero);
    }
    let deviation = (sum - 1.0).abs();
    if deviation > ROW_TOLERANCE {
        let within = allowed_deviation(row);
        // Most decimal fractions are not exact in binary, so a sum at the limit may seem beyond it.
        if deviation > within + ROUNDING_TOLERANCE {
            return Err(RowError::WrongSum { sum, within });
        }
    }
    if sum != 1.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    }
    Ok(deviation)
}

/// What the numbers of a table in a file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Probabilities, or numbers of unknown meaning.
    Probabilities,
    /// Probabilities times 100.
    Percent,
    /// How often each state occurred.
    Counts,
}

impl Scale {
    /// Recognises what the numbers of a table with these `rows` mean.
    ///
    /// A table in which a number is clearly above one does not hold probabilities. It holds
    /// percentages if every row sums to 100, within what [`normalise_row`] allows. Otherwise it
    /// holds counts if its numbers are whole, not negative and at most 2^53. Otherwise its meaning
    /// is unknown.
    ///
    /// A row of zeros fits percentages and counts alike. So does NaN, which marks a number that the
    /// file leaves open.
    #[must_use]
    pub fn of<'r>(rows: impl Iterator<Item = &'r [f64]> + Clone) -> Self {
        /// Above this, f64 cannot represent every whole number.
        const MAX_COUNT: f64 = (1_u64 << 53) as f64;
        // A number slightly above one may have been rounded up.
        let exceeds_one = |row: &[f64]| row.iter().any(|number| *number > 1.0 + MAX_ROUNDING);
        if !rows.clone().any(exceeds_one) {
            return Self::Probabilities;
        }
        let in_percent = |row: &[f64]| {
            let row = row.iter().filter(|number| !number.is_nan());
            let mut probabilities: Vec<f64> = row.map(|number| number / 100.0).collect();
            matches!(normalise_row(&mut probabilities), Ok(_) | Err(RowError::AllZero))
        };
        if rows.clone().all(in_percent) {
            return Self::Percent;
        }
        let is_count = |n: &f64| n.is_nan() || (n.fract() == 0.0 && (0.0..=MAX_COUNT).contains(n));
        let counts = rows.flatten().all(is_count);
        if counts { Self::Counts } else { Self::Probabilities }
    }
}

/// Maximum difference between the sum of `row` and one if its numbers were rounded, as
/// [`normalise_row`] describes; between [`ROW_TOLERANCE`] and [`MAX_ROUNDING`].
fn allowed_deviation(row: &[f64]) -> f64 {
    let fits = |unit: &&f64| {
        let is_whole = |p: &f64| (p / **unit - (p / **unit).round()).abs() < 1e-6;
        row.iter().all(is_whole)
    };
    let unit = [1e-2, 1e-3, 1e-4].iter().find(fits).copied().unwrap_or(0.0);
    (0.5 * unit * row.len() as f64).clamp(ROW_TOLERANCE, MAX_ROUNDING)
}

/// Rounds `sum` to twelve decimals, which removes the error of adding decimals in binary. Returns
/// sums of 1000 or more unchanged.
fn as_decimal(sum: f64) -> f64 {
    if sum.abs() < 1e3 { (sum * 1e12).round() / 1e12 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_is_reported_in_decimals() {
        let wrong = RowError::WrongSum { sum: 0.1 + 0.2 + 0.3, within: 0.01 };
        assert_eq!(wrong.to_string(), "the row sums to 0.6, not to 1 (within 0.01)");
    }

    #[test]
    fn a_sum_close_to_one_is_normalised() {
        let mut row = [0.3333, 0.3333, 0.3333];
        let deviation = normalise_row(&mut row).unwrap();
        assert!((deviation - 1e-4).abs() < 1e-12);
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_sum_may_differ_by_rounding() {
        let deviation = |row: &[f64]| normalise_row(&mut row.to_vec()).unwrap();
        assert!((deviation(&[0.33, 0.33, 0.33]) - 0.01).abs() < 1e-12);
        assert!((deviation(&[0.5, 0.49]) - 0.01).abs() < 1e-12);
        assert!((deviation(&[0.17; 6]) - 0.02).abs() < 1e-12);
        assert!((deviation(&[0.667, 0.167, 0.167, 0.001]) - 0.002).abs() < 1e-12);
        assert!(
            normalise_row(&mut [0.667, 0.167, 0.167, 0.002]).is_err(),
            "4 rounded numbers explain only 0.002"
        );
        assert!(normalise_row(&mut [0.5, 0.48]).is_err());
    }

    #[test]
    fn wrong_sums_and_numbers_are_rejected() {
        let wrong = |row: &[f64]| match normalise_row(&mut row.to_vec()) {
            Err(RowError::WrongSum { within, .. }) => within,
            other => panic!("{row:?} gives {other:?}"),
        };
        assert_eq!(wrong(&[0.5, 0.4]), 0.01);
        assert_eq!(
            wrong(&[0.3, 0.3, 0.3]),
            0.015,
            "bounds of a credal set, or thirds with too few digits"
        );
        assert_eq!(wrong(&[30.0, 70.0]), 0.01, "percentages");
        assert_eq!(normalise_row(&mut [0.0, 0.0]), Err(RowError::AllZero));
        assert_eq!(wrong(&[0.12345, 0.8]), ROW_TOLERANCE, "many digits are not rounded");
        assert_eq!(wrong(&[0.05; 12]), MAX_ROUNDING, "half a unit for 12 numbers is 0.06");
        assert_eq!(normalise_row(&mut [1.5, -0.5]), Err(RowError::NotAProbability(-0.5)));
        assert!(matches!(normalise_row(&mut [f64::NAN, 1.0]), Err(RowError::NotAProbability(_))));
        assert!(matches!(
            normalise_row(&mut [f64::INFINITY, 0.0]),
            Err(RowError::NotAProbability(_))
        ));
    }

    #[test]
    fn percentages_and_counts_are_recognised_from_the_whole_table() {
        let of = |table: &[f64]| Scale::of(table.chunks(2));
        assert_eq!(of(&[0.5, 0.5, 1.0, 0.0]), Scale::Probabilities);
        assert_eq!(of(&[30.0, 70.0, 100.0, 0.0, 0.0, 0.0]), Scale::Percent);
        assert_eq!(Scale::of([&[33.3, 33.3, 33.3][..]].into_iter()), Scale::Percent);
        assert_eq!(of(&[30.5, 69.5, f64::NAN, f64::NAN]), Scale::Percent);
        assert_eq!(of(&[30.0, 70.0, 0.0, 1.0]), Scale::Counts, "not every row sums to 100");
        assert_eq!(of(&[3.0, 0.0, f64::NAN, 0.0]), Scale::Counts);
        assert_eq!(of(&[30.5, 69.5, 0.5, 0.5]), Scale::Probabilities, "two scales in one table");
        assert_eq!(of(&[1.0, 1.0, 1.0, 0.0]), Scale::Probabilities, "none exceeds 1");
        assert_eq!(of(&[2.5, 0.5]), Scale::Probabilities);
        assert_eq!(of(&[101.0, -1.0]), Scale::Probabilities);
        assert_eq!(of(&[1e300, 1e300]), Scale::Probabilities);
        assert_eq!(of(&[f64::INFINITY, 1.0]), Scale::Probabilities);
    }
}
