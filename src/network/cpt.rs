//! Conditional probability tables.

use crate::network::{Factor, VariableId};

/// How far from one a row may sum and still be normalised; beyond it the row is an error in the file.
pub const ROW_TOLERANCE: f64 = 1e-3;

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
    /// The row sums to something that is not one within [`ROW_TOLERANCE`].
    #[error("the row sums to {0}, not to 1 (within {ROW_TOLERANCE})")]
    WrongSum(f64),
}

/// Divides `row` by its sum, and returns by how much the sum differed from one.
///
/// # Errors
/// If an entry is not a finite number of at least zero, or the sum is further from one than
/// [`ROW_TOLERANCE`].
pub fn normalise_row(row: &mut [f64]) -> Result<f64, RowError> {
    if let Some(&bad) = row.iter().find(|p| !p.is_finite() || **p < 0.0) {
        return Err(RowError::NotAProbability(bad));
    }
    let sum: f64 = row.iter().sum();
    let deviation = (sum - 1.0).abs();
    if deviation > ROW_TOLERANCE {
        return Err(RowError::WrongSum(sum));
    }
    if sum != 1.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    }
    Ok(deviation)
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
    fn a_row_far_off_or_of_impossible_numbers_is_refused() {
        assert_eq!(normalise_row(&mut [0.5, 0.4]), Err(RowError::WrongSum(0.9)));
        assert_eq!(normalise_row(&mut [0.0, 0.0]), Err(RowError::WrongSum(0.0)));
        assert_eq!(normalise_row(&mut [1.5, -0.5]), Err(RowError::NotAProbability(-0.5)));
        assert!(matches!(normalise_row(&mut [f64::NAN, 1.0]), Err(RowError::NotAProbability(_))));
        assert!(matches!(
            normalise_row(&mut [f64::INFINITY, 0.0]),
            Err(RowError::NotAProbability(_))
        ));
    }
}
