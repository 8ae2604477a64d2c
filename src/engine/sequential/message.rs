//! The loops over tables that make up a propagation.
//!
//! A message is equations 2 and 3 of Zheng, Mengshoel and Chong. Each is a loop over a clique's
//! table in index order, which looks up the separator entry of each clique entry in an
//! [`IndexMapping`].

use crate::engine::bounds::Bounds;
use crate::potential::{Axis, IndexMapping, Real, ratio, rescale};

/// The number of independent maxima that [`scatter`] keeps, so that comparisons do not wait for one
/// another. This affects only speed.
const LANES: usize = 8;

/// Marginalisation (equation 2): sets `separator[j]` to the sum of the clique entries that map to
/// j.
///
/// Sums are always in double precision, because a separator entry may be the sum of millions of
/// clique entries.
pub(super) fn marginalise<T: Real>(clique: &[T], mapping: &IndexMapping, separator: &mut [f64]) {
    separator.fill(0.0);
    for (value, &entry) in clique.iter().zip(mapping.entries()) {
        separator[entry as usize] += value.to_f64();
    }
}

/// Scattering (equation 3): multiplies every clique entry that maps to separator entry j by
/// `update[j]`, the ratio of the new to the old separator entry. Returns the largest product.
pub(super) fn scatter<T: Real>(clique: &mut [T], mapping: &IndexMapping, update: &[T]) -> T {
    let mut largest = [T::ZERO; LANES];
    let values = clique.chunks_mut(LANES).zip(mapping.entries().chunks(LANES));
    for (values, entries) in values {
        for ((value, &entry), largest) in values.iter_mut().zip(entries).zip(&mut largest) {
            *value *= update[entry as usize];
            *largest = if *value > *largest { *value } else { *largest };
        }
    }
    largest_of(&largest)
}

/// Scales `new` by a power of two to a largest entry in [1, 2). Returns the exponent of the power
/// of two that undoes this, and the bounds of the result; `None` if `new` is zero everywhere or not
/// finite.
pub(super) fn normalise(new: &mut [f64]) -> Option<(i32, Bounds)> {
    let bounds = Bounds::of(new.iter().copied());
    let scale = largest_of(new).scale_exponent()?;
    rescale(new, scale);
    Some((-scale, bounds.scaled::<f64>(scale)))
}

/// Divides `new` by `old`. Stores `new` in `old`, and the ratio in `update`; only the ratio is
/// scaled by a power of two, to a largest entry in [1, 2). Overwrites `new`. Returns what
/// [`normalise`] returns for the ratio, but with the bounds after rounding to `T`.
pub(super) fn divide<T: Real>(
    new: &mut [f64],
    old: &mut [f64],
    update: &mut [T],
) -> Option<(i32, Bounds)> {
    for (new, old) in new.iter_mut().zip(&mut *old) {
        (*new, *old) = (ratio(*new, *old), *new);
    }
    let (exponent, bounds) = normalise(new)?;
    for (update, ratio) in update.iter_mut().zip(new) {
        *update = T::from_f64(*ratio);
    }
    Some((exponent, bounds.stored::<T>()))
}

/// Multiplies each entry of `table` by the weight of the entry's state of the variable at `axis`.
/// Returns the largest product.
pub(super) fn weigh<T: Real>(table: &mut [T], axis: Axis, weight: impl Fn(usize) -> T) -> T {
    let mut largest = T::ZERO;
    for (state, run) in axis.runs_mut(table) {
        let weight = weight(state);
        run.iter_mut().for_each(|value| *value *= weight);
        let candidate = largest_of(run);
        largest = if candidate > largest { candidate } else { largest };
    }
    largest
}

/// Writes the unnormalised marginal of a table over the variable at `axis` to `states`.
pub(super) fn marginal<T: Real>(table: &[T], axis: Axis, states: &mut [f64]) {
    states.fill(0.0);
    for (state, run) in axis.runs(table) {
        states[state] += total(run);
    }
}

/// The sum of a table, in double precision.
pub(super) fn total<T: Real>(table: &[T]) -> f64 {
    table.iter().map(|value| value.to_f64()).sum()
}

/// The largest of `values`, which are not negative; zero if there are none.
fn largest_of<T: Real>(values: &[T]) -> T {
    values.iter().fold(T::ZERO, |largest, &value| if value > largest { value } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Network, Variable, VariableId};
    use crate::potential::Scope;

    /// The scopes {A, B, D} and {B} of Figure 2 of the paper, all variables binary.
    fn figure_2() -> (Scope, Scope) {
        let id = VariableId::new;
        let names = ["A", "B", "C", "D"];
        let variables = names.map(|name| Variable::new(name, ["0", "1"])).to_vec();
        let table = |v| crate::network::Cpt::new(v, vec![], vec![0.5, 0.5]);
        let cpts = (0..4).map(|v| table(id(v))).collect();
        let network = Network::new("figure 2", variables, cpts).unwrap();
        (Scope::of(&network, [id(0), id(1), id(3)]), Scope::of(&network, [id(1)]))
    }

    #[test]
    fn a_message_sums_and_scatters_as_in_figure_2() {
        let (clique, separator) = figure_2();
        let mapping = IndexMapping::new(&clique, &separator);
        let mut table = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let mut sums = [0.0; 2];
        marginalise(&table, &mapping, &mut sums);
        assert_eq!(sums, [1.0 + 2.0 + 5.0 + 6.0, 3.0 + 4.0 + 7.0 + 8.0]);
        let largest = scatter(&mut table, &mapping, &[2.0, 0.5]);
        assert_eq!(table, [2.0, 4.0, 1.5, 2.0, 10.0, 12.0, 3.5, 4.0]);
        assert_eq!(largest, 12.0);
    }

    #[test]
    fn ratios_are_scaled_and_zero_over_zero_is_zero() {
        let (mut new, mut old) = ([24.0, 0.0, 3.0], [2.0, 0.0, 1.0]);
        let mut update = [0.0_f32; 3];
        let (separator, bounds) = normalise(&mut new).unwrap();
        assert_eq!((bounds.min, bounds.max, bounds.error), (-3, 1, None));
        let (ratios, _) = divide(&mut new, &mut old, &mut update).unwrap();
        assert_eq!((old, separator), ([1.5, 0.0, 0.1875], 4));
        // 1.5 / 2 and 0.1875 / 1.
        assert_eq!((update, ratios), ([1.5, 0.0, 0.375], -1));
        assert_eq!(normalise(&mut [0.0, 0.0, 0.0]), None);
    }

    #[test]
    fn a_ratio_that_is_too_small_for_the_number_type_has_an_error() {
        let (mut new, mut old) = ([1.0, 1e-60], [1.0, 1.0]);
        let (_, bounds) = divide(&mut new, &mut old, &mut [0.0_f32; 2]).unwrap();
        assert_eq!(bounds.error, Some(-149));
        let (mut new, mut old) = ([1.0, 1e-60], [1.0, 1.0]);
        let (_, bounds) = divide(&mut new, &mut old, &mut [0.0_f64; 2]).unwrap();
        assert_eq!(bounds.error, None);
    }

    #[test]
    fn marginals_and_weights_follow_the_axis_of_a_variable() {
        let axis = Axis { stride: 2, cardinality: 2 };
        let mut table = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let mut states = [9.0; 2];
        marginal(&table, axis, &mut states);
        assert_eq!(states, [14.0, 22.0]);
        assert_eq!(weigh(&mut table, axis, |state| [0.0, 2.0][state]), 16.0);
        assert_eq!(table, [0.0, 0.0, 6.0, 8.0, 0.0, 0.0, 14.0, 16.0]);
        assert_eq!(total(&table), 44.0);
    }
}
