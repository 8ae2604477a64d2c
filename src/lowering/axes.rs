//! Sets of the axes of a contraction.

/// A set of axes. A contraction has at most 64, because a table over more axes with at least two
/// states each would have more than 2^64 entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AxisSet(u64);

impl AxisSet {
    /// Maximum number of axes of a contraction.
    pub const MAX_AXES: usize = 64;

    /// The axes below `count`.
    #[must_use]
    pub fn first(count: usize) -> Self {
        debug_assert!(count <= Self::MAX_AXES);
        Self(u64::MAX.checked_shr(64 - count as u32).unwrap_or(0))
    }

    /// This set with `axis` added.
    #[must_use]
    pub fn with(self, axis: usize) -> Self {
        Self(self.0 | 1 << axis)
    }

    /// Whether `axis` is in the set.
    #[must_use]
    pub fn contains(self, axis: usize) -> bool {
        self.0 >> axis & 1 == 1
    }

    /// The axes that are in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The axes of this set from `axis` on.
    #[must_use]
    pub fn from(self, axis: usize) -> Self {
        Self(self.0 & u64::MAX.checked_shl(axis as u32).unwrap_or(0))
    }

    /// The axes of this set below `axis`.
    #[must_use]
    pub fn below(self, axis: usize) -> Self {
        Self(self.0 & Self::first(axis).0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The axes in ascending order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..Self::MAX_AXES).filter(move |&axis| self.contains(axis))
    }

    /// The number of entries of a table over this set, where axis `a` has `states[a]` states;
    /// saturating.
    #[must_use]
    pub fn entries(self, states: &[usize]) -> usize {
        self.iter().fold(1, |entries: usize, axis| entries.saturating_mul(states[axis]))
    }

    /// The distance in a table over this set between consecutive states of `axis`; zero if `axis`
    /// is not in the set.
    #[must_use]
    pub fn stride(self, axis: usize, states: &[usize]) -> usize {
        if self.contains(axis) { self.from(axis + 1).entries(states) } else { 0 }
    }
}

impl FromIterator<usize> for AxisSet {
    fn from_iter<I: IntoIterator<Item = usize>>(axes: I) -> Self {
        axes.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_count_the_entries_of_the_faster_axes() {
        let states = [2, 3, 4, 5];
        let set: AxisSet = [0, 2, 3].into_iter().collect();
        assert_eq!(set.entries(&states), 40);
        assert_eq!([0, 1, 2, 3].map(|axis| set.stride(axis, &states)), [20, 0, 5, 1]);
        assert_eq!(AxisSet::first(64).iter().count(), 64);
        assert_eq!(AxisSet::first(0), AxisSet::default());
        assert!(AxisSet::first(64).from(64).is_empty());
        assert_eq!(set.below(2), [0].into_iter().collect());
    }
}
