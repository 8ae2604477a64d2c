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
    /// The row sums to something else than one.
    #[error("the row sums to {sum}, not to 1 (within {within})")]
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
/// and typing errors look like this. Counts and percentages sum to far more, and are refused too.
///
/// # Errors
/// If an entry is not a finite number of at least zero, or the sum is further from one than that.
pub fn normalise_row(row: &mut [f64]) -> Result<f64, RowError> {
    if let Some(&bad) = row.iter().find(|p| !p.is_finite() || **p < 0.0) {
        return Err(RowError::NotAProbability(bad));
    }
    let sum: f64 = row.iter().sum();
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(wrong(&[0.0, 0.0]), 0.01);
        assert_eq!(wrong(&[0.3, 0.3, 0.3]), 0.015, "a credal set, or a third of too few digits");
        assert_eq!(wrong(&[30.0, 70.0]), 0.01, "percentages");
        assert_eq!(wrong(&[0.12345, 0.8]), ROW_TOLERANCE, "many digits are not rounded");
        assert_eq!(wrong(&[0.09; 10]), MOST_ROUNDED.min(0.05));
        assert_eq!(normalise_row(&mut [1.5, -0.5]), Err(RowError::NotAProbability(-0.5)));
        assert!(matches!(normalise_row(&mut [f64::NAN, 1.0]), Err(RowError::NotAProbability(_))));
        assert!(matches!(
            normalise_row(&mut [f64::INFINITY, 0.0]),
            Err(RowError::NotAProbability(_))
        ));
    }
}
