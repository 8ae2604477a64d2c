//! The points at which an expression is evaluated if the states of parents are intervals.

use super::StateValues;
use crate::format::source::ErrorAt;

/// Steps through the points for one row: all combinations of the points in the intervals of the
/// varying parents, which are the interval parents that the expression depends on.
pub(super) struct Points {
    /// For each parent, its value at the current point; 0 if it does not vary.
    pub values: Vec<f64>,
    /// The number of combinations.
    pub count: f64,
    /// For each varying parent, its index, the bounds of its interval, and the number of its
    /// current point.
    varying: Vec<(usize, f64, f64, usize)>,
    /// The number of points in each interval.
    samples: usize,
}

impl Points {
    /// Starts at the first point. `varying` has the indices of the varying parents, `configuration`
    /// the states of all parents. The expression of `node` is at byte `offset`.
    ///
    /// # Errors
    /// If an interval is infinite.
    pub fn new(
        (node, offset): (&str, usize),
        parents: &[(&str, StateValues)],
        configuration: &[usize],
        varying: &[usize],
        samples: usize,
    ) -> Result<Self, ErrorAt> {
        let mut spans = Vec::with_capacity(varying.len());
        for &parent in varying {
            let (name, StateValues::Intervals(bounds)) = &parents[parent] else { continue };
            let state = configuration[parent];
            let (from, to) = (bounds[state], bounds[state + 1]);
            if !(to - from).is_finite() {
                let message = format!(
                    "'{node}' depends on '{name}', whose interval from {from} to {to} is infinite; \
                     expected 'data', or finite bounds"
                );
                return Err((offset, message));
            }
            spans.push((parent, from, to, 0));
        }
        let count = (samples as f64).powf(spans.len() as f64);
        let values = vec![0.0; parents.len()];
        let mut points = Self { values, count, varying: spans, samples };
        points.update_values();
        Ok(points)
    }

    /// Moves to the next point. Returns whether there is one.
    pub fn advance(&mut self) -> bool {
        for (_, _, _, point) in self.varying.iter_mut().rev() {
            *point += 1;
            if *point < self.samples {
                self.update_values();
                return true;
            }
            *point = 0;
        }
        false
    }

    fn update_values(&mut self) {
        for &(parent, from, to, point) in &self.varying {
            let fraction = (point as f64 + 0.5) / self.samples as f64;
            self.values[parent] = from + (to - from) * fraction;
        }
    }
}
