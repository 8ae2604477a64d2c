//! Decides whether underflow has changed the results of a run, by a second run.
//!
//! All numbers are non-negative, and every operation is a sum of products. So if the inputs of an
//! operation only grow, its results only grow.
//!
//! In a *raised run*, the kernel adds to each sum four times the largest error that underflow can
//! cause in it. This error is known, because messages and tables are scaled to known largest
//! numbers. So P(e) and the unnormalised posteriors of the raised run are at least the right ones,
//! apart from rounding. If the results of the raised and of the ordinary run agree, both are right.
//! It does not matter how improbable the evidence is, nor in which messages something underflowed.
//!
//! To see this, let F(t) be the result of exact arithmetic in which each sum is increased by t
//! times what the raised run adds to it. The right result is F(0), the ordinary run gives at most
//! F(1/4), and the raised run gives at least F(3/4). F is a polynomial without negative
//! coefficients, so it is convex: the ordinary result exceeds the right one by at most a third of
//! what the raised result does. If the raised result is at most (1 + s) times the ordinary one, the
//! right result is therefore between (1 - s/2) and (1 + s) times the ordinary one. The same holds
//! for max-product, where each sum is a maximum: products and maxima of convex functions that are
//! not negative and do not decrease are convex too.
//!
//! Zeros that are exact are raised too, so only the results of the ordinary run are returned. If a
//! nonzero entry of a table, or a nonzero weight, became zero before the runs, both runs would
//! agree on a wrong result. So table entries that are not zero are at least the smallest normal
//! number. Evidence is out of range if a weight, other than zero, is below two to the power of
//! [`TINY_WEIGHT`] times the largest weight of its finding.

use super::operations::Operations;
#[cfg(test)]
use super::tables::PEAK;
use super::words::Word;
use super::work_items::WorkItems;
#[cfg(test)]
use super::work_items::{NO_TABLE, RecordHeader};
use crate::engine::RunError;
use crate::engine::bounds::Loss;
use crate::engine::cuda::underflow::MassBound;
use crate::network::Network;
#[cfg(test)]
use crate::potential::Real;
use crate::potential::{Entry, Precision};

/// A raised run adds two to the power of this times a bound on the largest part of the error: four
/// times because it adds four times the error, and again four times because the error is the sum of
/// three parts. For each entry of a row, these parts are:
/// * At most 6 messages are staged. There, numbers below 2^-126 become zero. The largest number of
///   each message is at least 2^`headroom`.
/// * There are at most 8 multiplications. The error of each is at most 2^-150, half the smallest
///   subnormal number. The largest partial product is above 2^-3, because only weights, of at most
///   three findings, are scaled to less than one. So the error is at most 2^-144 times the largest
///   product. The error of a table entry below 2^-126 is far less, because the largest is near
///   2^[`PEAK`].
/// * A sum below 2^-126 counts as zero.
///
/// The kernel has the same constant.
#[cfg(test)]
pub(super) const RAISE: i32 = 4;

/// The error of products is at most 2^(-126 - `PRODUCT_HEADROOM`) = 2^-144 times the largest
/// product; see [`RAISE`]. The kernel has the same constant.
#[cfg(test)]
pub(super) const PRODUCT_HEADROOM: i32 = 18;

/// Underflow takes from an entry of a row at most two to the power of this times the largest
/// product: the sum of the parts that [`RAISE`] lists, with a headroom of at least 14.
const LARGEST_SHARE: i32 = f32::LIMITS.normal - 10;

/// A product of three weights does not underflow if each is at least two to the power of this times
/// the largest weight of its finding.
pub(super) const TINY_WEIGHT: i32 = -40;

/// The bound for these operations. If P(e) is far above it, no raised run is needed.
pub(super) fn mass_bound(network: &Network, operations: &Operations) -> MassBound {
    let products = operations
        .all
        .iter()
        .map(|operation| operation.rows.entries() as f64 * operation.summed.entries() as f64);
    MassBound::new(network, products.sum(), LARGEST_SHARE, TINY_WEIGHT)
}

/// What a raised run adds to each row of a record, as in the kernel. Products of findings alone do
/// not underflow.
#[cfg(test)]
pub(super) fn raise(header: &RecordHeader) -> f32 {
    let has_messages = header.messages > 0;
    if header.has(NO_TABLE) && !has_messages {
        return 0.0;
    }
    let messages = i32::from(header.messages) * (header.headroom + 1);
    let table = if header.has(NO_TABLE) { 0 } else { PEAK + 1 };
    let entries = u16::BITS - header.row_entries.leading_zeros();
    let staging = if has_messages { header.headroom - 2 } else { PRODUCT_HEADROOM };
    let below = staging.min(PRODUCT_HEADROOM);
    1.0.scale(f32::LIMITS.normal + RAISE + messages + table + entries as i32 - below)
}

/// What a run computed before anything was normalised.
#[derive(Clone, Copy)]
pub(super) struct Unnormalised<'a> {
    pub p_evidence: Word,
    /// The first [`WorkItems::posterior_words`] words of the buffer of all messages.
    pub posteriors: &'a [Word],
}

/// Checks that underflow has not changed the results of a run by more than the
/// [tolerance](crate::engine::bounds::tolerance). `lower` and `upper` are the results of the
/// ordinary and of the raised run.
///
/// # Errors
/// [`RunError::OutOfRange`] if it may have.
pub(super) fn check(
    items: &WorkItems,
    lower: Unnormalised,
    upper: Unnormalised,
) -> Result<(), RunError> {
    let is_near = |lower: &[Word], upper: &[Word]| {
        let mut loss = Loss::default();
        loss.add(share_added(lower, upper), 1.0);
        loss.check(Precision::F32)
    };
    is_near(&[lower.p_evidence], &[upper.p_evidence])?;
    let mut variables = items.posteriors.iter();
    variables.try_for_each(|words| {
        is_near(&lower.posteriors[words.clone()], &upper.posteriors[words.clone()])
    })
}

/// The sum of the differences between `lower` and `upper`, divided by the sum of `lower`; not
/// finite if the sum of `lower` is zero.
fn share_added(lower: &[Word], upper: &[Word]) -> f64 {
    // Nearly always, what is added is far below the last digit of every number.
    let mut pairs = lower.iter().zip(upper);
    if pairs.all(|(a, b)| a.is_same(*b)) && lower.iter().any(|word| word.exponent().is_some()) {
        return 0.0;
    }
    let exponents = lower.iter().chain(upper).filter_map(|word| word.exponent());
    let largest = exponents.max().unwrap_or(0);
    let number = |word: &Word| word.relative_to(largest);
    let added = lower.iter().zip(upper).map(|(a, b)| (number(b) - number(a)).abs());
    added.sum::<f64>() / lower.iter().map(number).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::Propagator;
    use crate::engine::cuda::fixtures::class_given_features;
    use crate::engine::cuda::persistent::tests::twin;
    use crate::engine::cuda::persistent::{Executor, Variant};
    use crate::network::VariableId;
    use crate::propagation::{Posteriors, Watch};

    fn words(numbers: &[(f32, i32)]) -> Vec<Word> {
        numbers.iter().map(|&(value, power)| Word::new(value, power, 1)).collect()
    }

    #[test]
    fn the_share_is_relative_to_the_sum_of_all_states() {
        let lower = words(&[(1.5, -5000), (0.0, 0), (1.0, -5001)]);
        assert_eq!(share_added(&lower, &lower), 0.0);
        let tiny = words(&[(1.5, -5000), (1.0, -5100), (1.0, -5001)]);
        assert_eq!(share_added(&lower, &tiny), 2_f64.powi(-101));
        let large = words(&[(1.5, -5000), (1.0, -5001), (1.0, -5001)]);
        assert_eq!(share_added(&lower, &large), 0.25);
        assert!(!share_added(&words(&[(0.0, 0)]), &words(&[(1.0, 7)])).is_finite());
        assert!(share_added(&words(&[(0.0, 0)]), &words(&[(0.0, 0)])).is_nan());
    }

    fn run<const STATES: usize>(features: &[[f64; STATES]]) -> Result<Posteriors, RunError> {
        let (compiled, evidence) = class_given_features(features);
        twin(&compiled, 3).run(&evidence, &Watch::untimed(CancelToken::new()))
    }

    #[test]
    fn improbable_evidence_is_accepted_if_nothing_underflows() {
        let rare = run(&[[2e-9, 1e-9]; 60]).unwrap();
        assert!((rare.of(VariableId::new(0))[0] - 1.0).abs() < 1e-12);
        let expected = 60.0 * 2e-9_f64.ln() - 2_f64.ln();
        assert!((rare.ln_p_evidence() - expected).abs() < 1e-3);
        // P(e) alone does not show that the answer is right.
        let mixed = run(&[[0.2, 0.01], [0.01, 0.2]].repeat(35)).unwrap();
        assert!((mixed.of(VariableId::new(0))[0] - 0.5).abs() < 1e-5);
        assert!(mixed.ln_p_evidence() < -200.0);
    }

    #[test]
    fn products_that_matter_are_noticed_if_they_underflow() {
        // Each of the first two classes is improbable given one half of the features, so its
        // product may underflow in single precision. If both products were taken for zero, only the
        // third class would be left, whose true posterior is 5e-5. There are at most 53 factors,
        // and no entry is below 3e-6.
        let (mut wrong, mut noticed) = (0, 0);
        for (half, decades) in
            [12, 20, 25, 26].into_iter().flat_map(|n| (44..66).map(move |d| (n, d)))
        {
            let share = |decades: f64| 10_f64.powf(-decades / f64::from(half));
            let (unlikely, third) =
                (share(f64::from(decades)), share(f64::from(decades) / 2.0 + 2.0));
            let rows =
                [[unlikely, 1.0, third], [1.0, unlikely, third]].map(|row| row.map(|p| 0.9 * p));
            let features = rows.map(|row| vec![row; half as usize]).concat();
            let (compiled, evidence) = class_given_features(&features);
            let is_right = |found: &Posteriors| {
                let found = found.of(VariableId::new(0));
                (found[0] - 0.5).abs() < 1e-3 && found[2] < 1e-3
            };
            let mut twin = twin(&compiled, 3);
            let exponent = twin.program.states.pack(&evidence, twin.executor.evidence());
            twin.executor.start(&twin.program, true, Variant::Plain).unwrap();
            wrong +=
                usize::from(twin.read(&evidence, exponent).is_ok_and(|found| !is_right(&found)));
            match run(&features) {
                Ok(found) => assert!(is_right(&found), "{half} {decades} {found:?}"),
                Err(error) => {
                    assert_eq!(error, RunError::OutOfRange);
                    noticed += 1;
                }
            }
        }
        assert!(0 < wrong && wrong < noticed, "{wrong} wrong, {noticed} noticed");
    }
}
