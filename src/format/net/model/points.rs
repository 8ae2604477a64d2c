//! The points at which an expression is evaluated where parents are intervals.

use super::StateValues;
use crate::format::source::ErrorAt;

/// The points of a row: all combinations of points in the intervals that its expression depends on.
pub(super) struct Points {
    /// For each parent its value, where it is among those that vary.
    pub values: Vec<f64>,
    /// How many combinations there are.
    pub count: f64,
    /// The parents that vary, each with its bounds and the number of its point.
    varying: Vec<(usize, f64, f64, usize)>,
    samples: usize,
}

impl Points {
    /// The first of the points in the intervals that the parents `varying` have in `configuration`;
    /// the expression of `node` stands at byte `at`.
    pub fn new(
        (node, at): (&str, usize),
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
                    "'{node}' depends on '{name}', whose interval from {from} to {to} has no evenly \
                     spread points; expected 'data', or finite bounds"
                );
                return Err((at, message));
            }
            spans.push((parent, from, to, 0));
        }
        let count = (samples as f64).powf(spans.len() as f64);
        let values = vec![0.0; parents.len()];
        let mut points = Self { values, count, varying: spans, samples };
        points.place();
        Ok(points)
    }

    /// Goes on to the next point, if there is one.
    pub fn advance(&mut self) -> bool {
        for (_, _, _, point) in self.varying.iter_mut().rev() {
            *point += 1;
            if *point < self.samples {
                self.place();
                return true;
            }
            *point = 0;
        }
        false
    }

    fn place(&mut self) {
        for &(parent, from, to, point) in &self.varying {
            let share = (point as f64 + 0.5) / self.samples as f64;
            self.values[parent] = from + (to - from) * share;
        }
    }
}
