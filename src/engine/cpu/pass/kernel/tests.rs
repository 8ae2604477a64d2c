//! Tests of the loop over rows: all numbers of streams and tables, and all instructions.

use super::*;
use crate::engine::cpu::tables::factored::FactoredTable;

/// Number of entries of each table.
const ENTRIES: usize = 64;

/// Two rows to be summed.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Number of entries of each row.
    length: usize,
    /// Number of messages from children that vary along a row. Another is constant.
    messages: usize,
    /// Number of tables that a row meets in several entries. It meets another in one entry.
    vectors: usize,
    /// Number of tables of factor groups that vary along a row, if the clique's table is
    /// factored. Another is constant.
    groups: Option<usize>,
    /// Whether the message from the parent varies along a row, if there is one.
    parent: Option<bool>,
    /// The number in the constant message.
    weight: f64,
}

/// Entry number `at` of table number `table`. Products of a few such numbers, and their sums,
/// are exact even in single precision.
fn entry(table: usize, at: usize) -> f64 {
    (1 + (at * 7 + table * 3) % 3) as f64
}

/// Tables with the given numbers, one after another.
fn tables(numbers: std::ops::Range<usize>) -> Vec<f64> {
    numbers.flat_map(|table| (0..ENTRIES).map(move |at| entry(table, at))).collect()
}

/// Words of a row from position `first` on: `varying` words of tables that vary along a row,
/// and one of a constant table.
fn words_from(first: usize, varying: usize) -> PortWords {
    let vectors = (first..first + varying).map(|word| word as u32).collect();
    PortWords { scalars: vec![(first + varying) as u32], vectors }
}

impl Case {
    /// Sums the rows with `sum`. All entries of the tables are one at first. Returns the
    /// tables, and what they should be if the products are exact.
    fn run<T: Entry>(
        self,
        sum: impl FnOnce(Rows<'_, T>, Onto<'_>, &mut [f64]),
    ) -> (Vec<f64>, Vec<f64>) {
        let Self { length, messages, vectors, groups, parent, weight } = self;
        let of_parent = messages + 1;
        let first_group = of_parent + 1;
        let varying_groups = groups.unwrap_or(0);
        // The words: the clique's table, the length, the tables onto which the row is summed,
        // the message from the parent, the messages, and the factor groups. The second row
        // begins one entry later in each table, but meets the same constants.
        let start = |table: usize| (ENTRIES * table) as u32;
        let mut words = Vec::new();
        for shift in 0..2 {
            words.extend([shift, length as u32]);
            words.extend((0..vectors).map(|table| start(table) + shift));
            words.push(start(vectors));
            words.push(if parent == Some(true) { shift } else { 0 });
            words.extend((0..messages).map(|table| start(table) + shift));
            words.push(start(messages));
            words.extend((0..varying_groups).map(|table| start(table) + shift));
            words.push(start(varying_groups));
        }
        let parent_word = 2 + vectors + 1;
        let of_messages = words_from(parent_word + 1, messages);
        let of_groups = words_from(parent_word + 1 + messages + 1, varying_groups);
        let mut message_tables = tables(1..messages + 1);
        message_tables.push(weight);
        let parent_table = tables(of_parent..of_parent + 1);
        let mut table = CliqueTable::<T>::default();
        let mut varying: Vec<usize> = (1..=messages).collect();
        let mut factor = weight;
        if let Some(groups) = groups {
            let numbers = first_group..first_group + groups;
            varying.extend(numbers.clone());
            let mut values = tables(numbers);
            values.push(4.0);
            factor *= 4.0;
            table.factored = Some(FactoredTable { values, words: of_groups });
        } else {
            varying.push(0);
            table.values = tables(0..1).into_iter().map(T::from_f64).collect();
        }
        match parent {
            Some(true) => varying.push(of_parent),
            Some(false) => factor *= entry(of_parent, 0),
            None => {}
        }
        let onto: Vec<SumWord> =
            (0..=vectors).map(|at| SumWord { word: 2 + at as u32, shift: 0 }).collect();
        let (onto_vectors, onto_scalars) = onto.split_at(vectors);
        let rows = Rows {
            words: &words,
            stride: words.len() / 2,
            table: &table,
            messages: Inputs { table: &message_tables, words: &of_messages },
            from_parent: parent
                .map(|is_vector| (ParentPort { word: parent_word, is_vector }, &*parent_table)),
            mask: None,
            skips_zeros: true,
        };
        let mut sums = vec![1.0; ENTRIES * onto.len()];
        let onto = Onto { scalars: onto_scalars, vectors: onto_vectors };
        sum(rows, onto, &mut sums);
        let mut expected = vec![1.0; sums.len()];
        for at in (0..2).flat_map(|shift| shift..shift + length) {
            let product = |product, &table: &usize| product * entry(table, at);
            let product = varying.iter().fold(factor, product);
            (0..vectors).for_each(|table| expected[ENTRIES * table + at] += product);
            expected[ENTRIES * vectors] += product;
        }
        (sums, expected)
    }
}

/// Rows of many lengths, with all numbers of streams and tables.
fn cases(weight: f64) -> impl Iterator<Item = Case> {
    let lengths = (1..20).chain([31, 40, 63]);
    lengths.flat_map(move |length| {
        (0..10).flat_map(move |messages| {
            (0..5).flat_map(move |vectors| {
                [None, Some(0), Some(1), Some(3)].into_iter().flat_map(move |groups| {
                    [None, Some(false), Some(true)].into_iter().map(move |parent| Case {
                        length,
                        messages,
                        vectors,
                        groups,
                        parent,
                        weight,
                    })
                })
            })
        })
    })
}

#[test]
fn a_row_of_any_length_is_added_to_all_tables_that_it_meets() {
    for case in cases(0.5) {
        let (sums, expected) = case.run::<f64>(sum_rows);
        assert_eq!(sums, expected, "{case:?}");
        let (sums, expected) = case.run::<f32>(sum_rows);
        assert_eq!(sums, expected, "{case:?} in single precision");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn all_instructions_give_the_same_bits() {
    use crate::engine::lanes::{Avx2, Avx512, Portable};

    fn sums_with<T: Entry>(lanes: impl Lanes, case: Case) -> Vec<f64> {
        case.run::<T>(|rows, onto, sums| sum_rows_in(lanes, rows, onto, sums)).0
    }
    fn check<T: Entry>() {
        for case in cases(0.1) {
            let expected = sums_with::<T>(Portable, case);
            if let Some(lanes) = Avx2::detect() {
                assert_eq!(sums_with::<T>(lanes, case), expected, "{case:?} with AVX2");
            }
            if let Some(lanes) = Avx512::detect() {
                assert_eq!(sums_with::<T>(lanes, case), expected, "{case:?} with AVX-512");
            }
        }
    }
    check::<f64>();
    check::<f32>();
}

#[test]
fn rows_that_meet_a_zero_are_skipped() {
    // Two rows of two entries. Word 2 points into the mask and the sums, word 3 at the weight.
    let words = [0, 2, 5, 0, 2, 2, 6, 1];
    let of_messages = PortWords { scalars: vec![3], vectors: vec![] };
    let sum = |first: f32, mask: [f64; 2], weights: [f64; 2], skips_zeros: bool| {
        let table = CliqueTable { values: vec![first, 2.0, 4.0, 8.0], ..CliqueTable::default() };
        let word = SumWord { word: 2, shift: 5 };
        let rows = Rows {
            words: &words,
            stride: 4,
            table: &table,
            messages: Inputs { table: &weights, words: &of_messages },
            from_parent: None,
            mask: Some((&mask, word)),
            skips_zeros,
        };
        let mut sums = [0.0; 2];
        let onto = Onto { scalars: &[word], vectors: &[] };
        sum_rows(rows, onto, &mut sums);
        sums
    };
    assert_eq!(sum(1.0, [1.0, 1.0], [1.0, 0.5], true), [3.0, 6.0]);
    assert_eq!(sum(1.0, [0.0, 1.0], [1.0, 1.0], true), [0.0, 12.0]);
    // Zero times infinity is not a number, unless the row is skipped.
    assert_eq!(sum(f32::INFINITY, [1.0, 1.0], [0.0, 1.0], true), [0.0, 12.0]);
    assert!(sum(f32::INFINITY, [1.0, 1.0], [0.0, 1.0], false)[0].is_nan());
}
