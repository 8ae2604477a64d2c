//! The points at which an expression is evaluated if the states of parents are intervals.

use super::{ModelRow, StateValues};
use crate::format::source::ErrorAt;

/// Steps through the points for one row. Each varying parent has `samples` evenly spaced values in
/// its interval; the points are all combinations of them.
pub(super) struct Points {
    /// For each parent, its value at the current point; 0 if it does not vary.
    pub values: Vec<f64>,
    /// The number of points.
    pub count: f64,
    varying: Vec<VaryingParent>,
    /// The number of values in each interval.
    samples: usize,
}

/// A parent whose value differs between points.
struct VaryingParent {
    /// The index of the parent.
    parent: usize,
    /// The lower bound of its interval.
    from: f64,
    /// The upper bound of its interval.
    to: f64,
    /// The number of its current value, counted from zero.
    number: usize,
}

impl Points {
    /// Starts at the first point of `row`, whose expression is at byte `offset`.
    ///
    /// # Errors
    /// If an interval is infinite.
    pub fn new(row: &ModelRow<'_>, offset: usize) -> Result<Self, ErrorAt> {
        let mut varying = Vec::with_capacity(row.varying.len());
        for &parent in row.varying {
            let (name, StateValues::Intervals(bounds)) = &row.parents[parent] else { continue };
            let state = row.configuration[parent];
            let (from, to) = (bounds[state], bounds[state + 1]);
            if !(to - from).is_finite() {
                let message = format!(
                    "'{}' depends on '{name}', whose interval from {from} to {to} is infinite; \
                     expected 'data', or finite bounds",
                    row.node
                );
                return Err((offset, message));
            }
            varying.push(VaryingParent { parent, from, to, number: 0 });
        }
        let count = (row.samples as f64).powf(varying.len() as f64);
        let values = vec![0.0; row.parents.len()];
        let mut points = Self { values, count, varying, samples: row.samples };
        points.update_values();
        Ok(points)
    }

    /// Moves to the next point. Returns whether there is one.
    pub fn advance(&mut self) -> bool {
        for VaryingParent { number, .. } in self.varying.iter_mut().rev() {
            *number += 1;
            if *number < self.samples {
                self.update_values();
                return true;
            }
            *number = 0;
        }
        false
    }

    /// Sets the values of the varying parents to those of the current point. The values in an
    /// interval are the midpoints of equal parts.
    fn update_values(&mut self) {
        for &VaryingParent { parent, from, to, number } in &self.varying {
            let fraction = (number as f64 + 0.5) / self.samples as f64;
            self.values[parent] = from + (to - from) * fraction;
        }
    }
}
