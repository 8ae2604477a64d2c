//! The variables of a table in index order.

use smallvec::SmallVec;

use crate::network::{Network, VariableId};

/// Maximum number of variables for which a scope allocates no memory. If it is wrong, only speed
/// and memory change.
const INLINE: usize = 6;

/// The variables of a table and their numbers of states, in index order: the state of the last
/// variable varies fastest.
///
/// A table over the empty scope has one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    variables: SmallVec<[VariableId; INLINE]>,
    cardinalities: SmallVec<[usize; INLINE]>,
}

impl Scope {
    /// The scope of a table over `variables` of `network`, in this order.
    ///
    /// # Panics
    /// If the network has no such variable.
    #[must_use]
    pub fn of(network: &Network, variables: impl IntoIterator<Item = VariableId>) -> Self {
        let variables: SmallVec<_> = variables.into_iter().collect();
        let cardinalities = variables.iter().map(|&v| network[v].cardinality()).collect();
        Self { variables, cardinalities }
    }

    /// The first `count` variables, and the others.
    pub(crate) fn split_at(&self, count: usize) -> [Self; 2] {
        let (variables, cardinalities) =
            (self.variables.split_at(count), self.cardinalities.split_at(count));
        [(variables.0, cardinalities.0), (variables.1, cardinalities.1)].map(
            |(variables, cardinalities)| Self {
                variables: variables.into(),
                cardinalities: cardinalities.into(),
            },
        )
    }

    /// The variables in index order.
    #[must_use]
    pub fn variables(&self) -> &[VariableId] {
        &self.variables
    }

    /// The number of states of each of [`variables`](Self::variables).
    #[must_use]
    pub fn cardinalities(&self) -> &[usize] {
        &self.cardinalities
    }

    /// The number of entries of a table with this scope; one for the empty scope.
    ///
    /// # Panics
    /// If the number overflows, which is impossible for a table in memory.
    #[must_use]
    pub fn entries(&self) -> usize {
        let product = self.cardinalities.iter().try_fold(1_usize, |n, &c| n.checked_mul(c));
        product.expect("a table in memory has fewer than 2^64 entries")
    }

    /// Whether `variable` is one of the variables.
    #[must_use]
    pub fn contains(&self, variable: VariableId) -> bool {
        self.variables.contains(&variable)
    }

    /// The stride and cardinality of `variable`; `None` if it is not in this scope.
    #[must_use]
    pub fn axis(&self, variable: VariableId) -> Option<Axis> {
        let position = self.variables.iter().position(|v| *v == variable)?;
        let stride = self.cardinalities[position + 1..].iter().product();
        Some(Axis { stride, cardinality: self.cardinalities[position] })
    }

    /// This scope without `variable`.
    #[must_use]
    pub fn without(&self, variable: VariableId) -> Self {
        let others =
            self.variables.iter().zip(&self.cardinalities).filter(|(v, _)| **v != variable);
        let (variables, cardinalities) = others.map(|(&v, &c)| (v, c)).unzip();
        Self { variables, cardinalities }
    }

    /// The scope of all variables of `scopes`, in ascending order.
    #[must_use]
    pub fn union<'a>(scopes: impl IntoIterator<Item = &'a Self>) -> Self {
        let pairs = |scope: &'a Self| scope.variables.iter().zip(&scope.cardinalities);
        let mut all: Vec<_> = scopes.into_iter().flat_map(pairs).map(|(&v, &c)| (v, c)).collect();
        all.sort_unstable();
        all.dedup();
        let (variables, cardinalities) = all.into_iter().unzip();
        Self { variables, cardinalities }
    }
}

/// How one variable contributes to the index of a table: state i adds `i * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Distance in entries between consecutive states.
    pub stride: usize,
    /// Number of states.
    pub cardinality: usize,
}

impl Axis {
    /// Splits `table` into runs of consecutive entries with the same state of this variable, and
    /// yields that state with each run. A run has `stride` entries. State 0 follows the last state.
    pub fn runs<T>(self, table: &[T]) -> impl Iterator<Item = (usize, &[T])> {
        (0..self.cardinality).cycle().zip(table.chunks_exact(self.stride))
    }

    /// As [`runs`](Self::runs), for writing.
    pub fn runs_mut<T>(self, table: &mut [T]) -> impl Iterator<Item = (usize, &mut [T])> {
        (0..self.cardinality).cycle().zip(table.chunks_exact_mut(self.stride))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The scope of these pairs of variable and cardinality.
    pub(crate) fn scope(pairs: &[(usize, usize)]) -> Scope {
        Scope {
            variables: pairs.iter().map(|&(v, _)| VariableId::new(v)).collect(),
            cardinalities: pairs.iter().map(|&(_, c)| c).collect(),
        }
    }

    #[test]
    fn a_scope_has_any_number_of_variables() {
        let pairs: Vec<(usize, usize)> = (0..3 * INLINE).map(|v| (v, 1 + v % 3)).collect();
        let all = scope(&pairs);
        for count in 0..=pairs.len() {
            let [first, rest] = all.split_at(count);
            assert_eq!((&first, &rest), (&scope(&pairs[..count]), &scope(&pairs[count..])));
            assert_eq!(Scope::union([&rest, &first]), all);
        }
        for (at, &(v, _)) in pairs.iter().enumerate() {
            let others = [&pairs[..at], &pairs[at + 1..]].concat();
            assert_eq!(all.without(VariableId::new(v)), scope(&others));
        }
    }

    #[test]
    fn the_last_variable_varies_fastest() {
        let table = scope(&[(4, 2), (1, 3), (7, 5)]);
        assert_eq!(table.entries(), 30);
        let axis = |v: usize| table.axis(VariableId::new(v)).map(|a| (a.stride, a.cardinality));
        assert_eq!(axis(4), Some((15, 2)));
        assert_eq!(axis(1), Some((5, 3)));
        assert_eq!(axis(7), Some((1, 5)));
        assert_eq!(axis(0), None);
        assert_eq!(scope(&[]).entries(), 1);
    }

    #[test]
    fn a_union_is_sorted_and_without_duplicates() {
        let (a, b) = (scope(&[(4, 2), (1, 3)]), scope(&[(1, 3), (2, 7)]));
        assert_eq!(Scope::union([&a, &b]), scope(&[(1, 3), (2, 7), (4, 2)]));
        assert_eq!(Scope::union([]), scope(&[]));
        assert_eq!(a.without(VariableId::new(4)), scope(&[(1, 3)]));
    }

    #[test]
    fn runs_come_with_their_state() {
        let table: Vec<usize> = (0..12).collect();
        let axis = scope(&[(0, 2), (1, 3), (2, 2)]).axis(VariableId::new(1)).unwrap();
        let states: Vec<usize> =
            axis.runs(&table).flat_map(|(state, run)| run.iter().map(move |_| state)).collect();
        assert_eq!(states, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }
}
