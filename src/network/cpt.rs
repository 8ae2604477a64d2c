//! Conditional probability tables.

use crate::network::{Factor, VariableId};

/// How far from one any row may sum and still be normalised.
///
/// A row of numbers with few decimals may be further off, by what rounding explains; beyond it the
/// row is an error in the file: see [`normalise_row`].
pub const ROW_TOLERANCE: f64 = 1e-3;

/// How far from one a row may sum at most, however many rounded numbers it has.
const MOST_ROUNDED: f64 = 0.05;

/// How far from one a row may sum and be thought rounded, not wrong.
///
/// Normalising a row that is further off moves posteriors by more than the 1e-9 to which engines
/// are held, so whoever compares with a program that does not normalise must be told.
pub const ROUNDING_TOLERANCE: f64 = 1e-9;

/// The conditional distribution of one variable given its parents.
///
/// `values` is row-major: the first parent is the slowest index, the child the fastest, so one row
/// of `child cardinality` consecutive numbers belongs to each configuration of the parents.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpt {
    child: VariableId,
    /// Over the parents and then the child.
    factor: Factor,
}

/// Why a row of a conditional probability table is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RowError {
    /// An entry is negative, infinite or not a number.
    #[error("{0} is not a probability")]
    NotAProbability(f64),
    /// All entries are zero.
    #[error("all its numbers are zero, expected a sum of 1")]
    AllZero,
    /// The row sums to something else than one.
    #[error("the row sums to {}, not to 1 (within {within})", written(*sum))]
    WrongSum {
        /// What it sums to.
        sum: f64,
        /// How far from one this row's sum could be.
        within: f64,
    },
}

/// Divides `row` by its sum, and returns by how much the sum differed from one.
///
/// The sum may be off by what rounding does to it: half a unit of the last decimal for each number,
/// where the numbers have two decimals or more, but no more than 0.05; and [`ROW_TOLERANCE`] in any
/// case. `0.33 0.33 0.33` is a third three times over. `0.3 0.3 0.3` is not: bounds of a credal set
/// and typing errors look like this. Counts and percentages, which sum to far more, are told by
/// [`Scale::of`] from the whole table.
///
/// # Errors
/// If an entry is not a finite number of at least zero, if all are zero, or if the sum is further from
/// one than that.
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
        let within = rounding(row);
        // The decimals themselves are not exact in binary.
        if deviation > within + ROUNDING_TOLERANCE {
            return Err(RowError::WrongSum { sum, within });
        }
    }
    if sum != 1.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    }
    Ok(deviation)
}

/// What the numbers of a table are, as its readers write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Probabilities, or nothing that can be told.
    Probabilities,
    /// Probabilities times 100.
    Percent,
    /// How often each state was counted.
    Counts,
}

impl Scale {
    /// What the numbers of a table with these `rows` are.
    ///
    /// A table with a number above one holds no probabilities, and no bounds of them. It is in
    /// percent if all its rows sum to 100 within what [`normalise_row`] allows for rounding; else it
    /// holds counts if all its numbers are whole. Rows of nothing but zeros fit both, and so does
    /// whatever a file leaves open, which is not a number here.
    #[must_use]
    pub fn of<'r>(rows: impl Iterator<Item = &'r [f64]> + Clone) -> Self {
        /// Beyond it not every whole number can be told from its neighbours.
        const MOST: f64 = (1_u64 << 53) as f64;
        // What was rounded to one is not above it.
        let is_above = |row: &[f64]| row.iter().any(|number| *number > 1.0 + MOST_ROUNDED);
        if !rows.clone().any(is_above) {
            return Self::Probabilities;
        }
        let in_percent = |row: &[f64]| {
            let row = row.iter().filter(|number| !number.is_nan());
            let mut parts: Vec<f64> = row.map(|number| number / 100.0).collect();
            matches!(normalise_row(&mut parts), Ok(_) | Err(RowError::AllZero))
        };
        if rows.clone().all(in_percent) {
            return Self::Percent;
        }
        let is_count = |n: &f64| n.is_nan() || (n.fract() == 0.0 && (0.0..=MOST).contains(n));
        let counts = rows.flatten().all(is_count);
        if counts { Self::Counts } else { Self::Probabilities }
    }
}

/// How far from one the numbers of `row` may sum if they were rounded to the decimals they have.
fn rounding(row: &[f64]) -> f64 {
    let fits = |unit: &&f64| {
        let is_whole = |p: &f64| (p / **unit - (p / **unit).round()).abs() < 1e-6;
        row.iter().all(is_whole)
    };
    let unit = [1e-2, 1e-3, 1e-4].iter().find(fits).copied().unwrap_or(0.0);
    (0.5 * unit * row.len() as f64).clamp(ROW_TOLERANCE, MOST_ROUNDED)
}

impl Cpt {
    /// The table of `child` given `parents`, in the index order that the type describes.
    ///
    /// Sizes and rows are checked by [`Network::new`](crate::network::Network::new).
    #[must_use]
    pub fn new(child: VariableId, parents: Vec<VariableId>, values: Vec<f64>) -> Self {
        let mut scope = parents;
        scope.push(child);
        Self { child, factor: Factor::new(scope, values) }
    }

    /// The variable whose distribution this is.
    #[must_use]
    pub fn child(&self) -> VariableId {
        self.child
    }

    /// The parents, slowest index first.
    #[must_use]
    pub fn parents(&self) -> &[VariableId] {
        let scope = self.factor.scope();
        &scope[..scope.len() - 1]
    }

    /// The family: the parents and then the child, which is the order of the indices of [`values`](Self::values).
    pub fn scope(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.factor.scope().iter().copied()
    }

    /// The numbers, child fastest.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        self.factor.values()
    }

    /// The table as a function of the family.
    #[must_use]
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// The rows, one for each configuration of the parents, for a child of `cardinality` states.
    pub(super) fn rows_mut(&mut self, cardinality: usize) -> impl Iterator<Item = &mut [f64]> {
        self.factor.values_mut().chunks_mut(cardinality)
    }
}

/// A sum of numbers that a file writes in decimals, without what adding them in binary leaves behind.
fn written(sum: f64) -> f64 {
    if sum.abs() < 1e3 { (sum * 1e12).round() / 1e12 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_is_told_in_decimals() {
        let wrong = RowError::WrongSum { sum: 0.1 + 0.2 + 0.3, within: 0.01 };
        assert_eq!(wrong.to_string(), "the row sums to 0.6, not to 1 (within 0.01)");
    }

    #[test]
    fn a_row_slightly_off_is_divided_by_its_sum() {
        let mut row = [0.3333, 0.3333, 0.3333];
        let deviation = normalise_row(&mut row).unwrap();
        assert!((deviation - 1e-4).abs() < 1e-12);
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_row_may_be_off_by_what_rounding_explains() {
        let off = |row: &[f64]| normalise_row(&mut row.to_vec()).unwrap();
        assert!((off(&[0.33, 0.33, 0.33]) - 0.01).abs() < 1e-12);
        assert!((off(&[0.5, 0.49]) - 0.01).abs() < 1e-12);
        assert!((off(&[0.17; 6]) - 0.02).abs() < 1e-12);
        assert!((off(&[0.667, 0.167, 0.167, 0.001]) - 0.002).abs() < 1e-12);
        assert!(normalise_row(&mut [0.667, 0.167, 0.167, 0.002]).is_err(), "3e-3 of 4 numbers");
        assert!(normalise_row(&mut [0.5, 0.48]).is_err());
    }

    #[test]
    fn a_row_far_off_or_of_impossible_numbers_is_refused() {
        let wrong = |row: &[f64]| match normalise_row(&mut row.to_vec()) {
            Err(RowError::WrongSum { within, .. }) => within,
            other => panic!("{row:?} gives {other:?}"),
        };
        assert_eq!(wrong(&[0.5, 0.4]), 0.01);
        assert_eq!(wrong(&[0.3, 0.3, 0.3]), 0.015, "a credal set, or a third of too few digits");
        assert_eq!(wrong(&[30.0, 70.0]), 0.01, "percentages");
        assert_eq!(normalise_row(&mut [0.0, 0.0]), Err(RowError::AllZero));
        assert_eq!(wrong(&[0.12345, 0.8]), ROW_TOLERANCE, "many digits are not rounded");
        assert_eq!(wrong(&[0.09; 10]), MOST_ROUNDED.min(0.05));
        assert_eq!(normalise_row(&mut [1.5, -0.5]), Err(RowError::NotAProbability(-0.5)));
        assert!(matches!(normalise_row(&mut [f64::NAN, 1.0]), Err(RowError::NotAProbability(_))));
        assert!(matches!(
            normalise_row(&mut [f64::INFINITY, 0.0]),
            Err(RowError::NotAProbability(_))
        ));
    }

    #[test]
    fn percentages_and_counts_are_told_from_the_whole_table() {
        let of = |table: &[f64]| Scale::of(table.chunks(2));
        assert_eq!(of(&[0.5, 0.5, 1.0, 0.0]), Scale::Probabilities);
        assert_eq!(of(&[30.0, 70.0, 100.0, 0.0, 0.0, 0.0]), Scale::Percent);
        assert_eq!(Scale::of([&[33.3, 33.3, 33.3][..]].into_iter()), Scale::Percent);
        assert_eq!(of(&[30.5, 69.5, f64::NAN, f64::NAN]), Scale::Percent);
        assert_eq!(of(&[30.0, 70.0, 0.0, 1.0]), Scale::Counts, "not every row sums to 100");
        assert_eq!(of(&[3.0, 0.0, f64::NAN, 0.0]), Scale::Counts);
        assert_eq!(of(&[30.5, 69.5, 0.5, 0.5]), Scale::Probabilities, "two scales in one table");
        assert_eq!(of(&[1.0, 1.0, 1.0, 0.0]), Scale::Probabilities, "upper bounds");
        assert_eq!(of(&[2.5, 0.5]), Scale::Probabilities);
        assert_eq!(of(&[101.0, -1.0]), Scale::Probabilities);
        assert_eq!(of(&[1e300, 1e300]), Scale::Probabilities);
        assert_eq!(of(&[f64::INFINITY, 1.0]), Scale::Probabilities);
    }
}
