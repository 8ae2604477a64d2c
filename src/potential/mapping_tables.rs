//! The mapping tables of section 3.2 of the paper, computed on demand.

use crate::potential::Scope;

/// For every entry j of a separator, the clique entries that map to it, in ascending order: the
/// tables μ of section 3.2 of Zheng, Mengshoel and Chong.
///
/// All the tables have the same number of elements. Each element is computed on demand, so that
/// showing a part of tables with millions of elements takes no time or memory for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTables {
    /// The variables of the separator in its index order, with their strides in the clique.
    shared: Vec<Digit>,
    /// The other variables of the clique in its index order.
    summed: Vec<Digit>,
    entries: usize,
    count: usize,
}

/// One variable in the index of the clique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit {
    cardinality: usize,
    stride: usize,
}

impl MappingTables {
    /// The mapping tables between a table over `clique` and one over `separator`.
    ///
    /// # Panics
    /// If the separator has a variable that the clique lacks.
    #[must_use]
    pub fn new(clique: &Scope, separator: &Scope) -> Self {
        let digit = |variable| {
            let axis = clique.axis(variable).expect("a separator is part of the clique");
            Digit { cardinality: axis.cardinality, stride: axis.stride }
        };
        let is_summed = |variable: &_| !separator.contains(*variable);
        let summed = clique.variables().iter().copied().filter(is_summed).map(digit);
        let entries = separator.entries();
        Self {
            shared: separator.variables().iter().copied().map(digit).collect(),
            summed: summed.collect(),
            entries,
            count: clique.entries() / entries,
        }
    }

    /// The number of tables: one for each entry of the separator.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The number of elements of each table.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Element `n` of the table of separator entry `j`: the index of a clique entry.
    #[must_use]
    pub fn element(&self, j: usize, n: usize) -> usize {
        offset_in_clique(&self.shared, j) + offset_in_clique(&self.summed, n)
    }

    /// The separator entry j and the element n with `element(j, n) == entry`.
    #[must_use]
    pub fn place(&self, entry: usize) -> (usize, usize) {
        (combined_index(&self.shared, entry), combined_index(&self.summed, entry))
    }
}

/// The part of a clique entry's index that the variables of `digits` contribute: the sum of state
/// times stride. Their states are those of entry `index` of a table over these variables.
fn offset_in_clique(digits: &[Digit], mut index: usize) -> usize {
    let mut entry = 0;
    for digit in digits.iter().rev() {
        entry += index % digit.cardinality * digit.stride;
        index /= digit.cardinality;
    }
    entry
}

/// The inverse of [`offset_in_clique`]: the index in a table over the variables of `digits` of the
/// states that these variables have in clique entry `entry`.
fn combined_index(digits: &[Digit], entry: usize) -> usize {
    digits.iter().fold(0, |index, digit| {
        index * digit.cardinality + entry / digit.stride % digit.cardinality
    })
}

#[cfg(test)]
mod tests {
    use super::super::scope::tests::scope;
    use super::*;
    use crate::potential::IndexMapping;

    #[test]
    fn the_mapping_tables_of_figure_2_of_the_paper() {
        let separator = scope(&[(1, 2)]);
        let left = MappingTables::new(&scope(&[(0, 2), (1, 2), (3, 2)]), &separator);
        let table = |tables: &MappingTables, j| -> Vec<usize> {
            (0..tables.count()).map(|n| tables.element(j, n)).collect()
        };
        assert_eq!((table(&left, 0), table(&left, 1)), (vec![0, 1, 4, 5], vec![2, 3, 6, 7]));
        let right = MappingTables::new(&scope(&[(1, 2), (2, 2)]), &separator);
        assert_eq!((table(&right, 0), table(&right, 1)), (vec![0, 1], vec![2, 3]));
    }

    #[test]
    fn mapping_tables_are_the_inverse_of_the_index_mapping() {
        let all = [(0, 3), (1, 1), (2, 2), (3, 4), (4, 2)];
        let clique = scope(&all);
        for subset in 0_usize..32 {
            let chosen: Vec<_> = (0..5).filter(|i| subset >> i & 1 == 1).map(|i| all[i]).collect();
            for separator in [chosen.clone(), chosen.into_iter().rev().collect()] {
                let separator = scope(&separator);
                let tables = MappingTables::new(&clique, &separator);
                let mut expected = vec![Vec::new(); separator.entries()];
                let mapping = IndexMapping::new(&clique, &separator);
                for (entry, &j) in mapping.entries().iter().enumerate() {
                    let table = &mut expected[j as usize];
                    assert_eq!(tables.place(entry), (j as usize, table.len()), "{separator:?}");
                    table.push(entry);
                }
                for (j, table) in expected.iter().enumerate() {
                    assert_eq!(table.len(), tables.count());
                    let element = |n| tables.element(j, n);
                    assert!((0..tables.count()).map(element).eq(table.iter().copied()));
                }
            }
        }
    }
}
