//! Tables given row by row, in any order: each row names the states of the parents.

use std::ops::Range;

use super::{Labels, Node, Word};
use crate::format::FormatError;
use crate::format::rows::{RowAudit, ZeroRow};
use crate::format::source::SourceText;
use crate::network::{RowError, Scale, VariableId};
use crate::numbers::counted;

/// The rows of one table.
///
/// The labels of all rows share one vector, and so do their numbers: in a table of a hundred
/// thousand rows, allocating two vectors per row would take longer than reading the rows.
#[derive(Debug, Default)]
pub(in crate::format) struct LabelledRows<'s> {
    pub rows: Vec<LabelledRow>,
    pub labels: Vec<RowLabel<'s>>,
    pub numbers: Vec<f64>,
}

/// One row, or the default row, which holds for all rows that are not given.
#[derive(Debug)]
pub(in crate::format) struct LabelledRow {
    /// The byte offset of the row.
    pub offset: usize,
    /// The range of its labels in [`LabelledRows::labels`]; `None` for the default row.
    pub labels: Option<Range<usize>>,
    /// The range of its numbers in [`LabelledRows::numbers`].
    pub numbers: Range<usize>,
}

/// The state of one parent, as a row names it.
#[derive(Debug)]
pub(in crate::format) struct RowLabel<'s> {
    pub word: Word<'s>,
    /// Whether the word may be the index of the state, counted from zero. An index takes precedence
    /// over a label.
    pub may_be_index: bool,
}

/// A node whose table is filled from its rows.
pub(super) struct LabelledTable<'t, 's> {
    pub source: SourceText<'t>,
    pub variable: VariableId,
    pub node: &'t Node<'s>,
    pub parents: Vec<&'t Node<'s>>,
    pub given: &'t LabelledRows<'s>,
}

impl LabelledTable<'_, '_> {
    /// The table, which has this many `rows`. The node varies fastest, then its last parent.
    ///
    /// # Errors
    /// If a row is malformed, is given twice, or is missing while there is no default row.
    pub fn values(&self, rows: usize, audit: &mut RowAudit) -> Result<Vec<f64>, FormatError> {
        let states = self.node.states.len();
        let labels: Vec<_> = self
            .parents
            .iter()
            .map(|parent| Labels::new(parent.name.text.as_ref(), &parent.states))
            .collect();
        let mut table = vec![0.0; rows * states];
        let mut first_at = vec![None; rows];
        let mut default = vec![0.0; states];
        let mut default_at = None;
        let mut default_is_zero = false;
        let numbers = self.given.rows.iter().map(|row| &self.given.numbers[row.numbers.clone()]);
        let scale = audit.scale(numbers, &self.node.name.text, self.node.offset);
        for row in &self.given.rows {
            let numbers = self.numbers(row)?;
            let index = self.index(row, &labels)?;
            let (values, first) = match index {
                Some(index) => (&mut table[index * states..][..states], &mut first_at[index]),
                None => (&mut default[..], &mut default_at),
            };
            if let Some(first) = first.replace(row.offset) {
                return Err(self.repeated(row, first));
            }
            values.copy_from_slice(numbers);
            if self.normalise(row, values, scale, audit)? {
                match index {
                    Some(_) => {
                        audit.record_zeros(ZeroRow {
                            child: self.variable,
                            row: index,
                            offset: row.offset,
                        });
                    }
                    None => default_is_zero = true,
                }
            }
        }
        if first_at.iter().all(Option::is_some) {
            return Ok(table);
        }
        let Some(offset) = default_at else { return Err(self.incomplete(&first_at)) };
        if default_is_zero {
            audit.record_zeros(ZeroRow { child: self.variable, row: None, offset });
        }
        let missing = table.chunks_mut(states).zip(first_at).filter(|(_, offset)| offset.is_none());
        missing.for_each(|(values, _)| values.copy_from_slice(&default));
        Ok(table)
    }

    /// The numbers of `row`. There must be one for each state.
    fn numbers(&self, row: &LabelledRow) -> Result<&[f64], FormatError> {
        let numbers = &self.given.numbers[row.numbers.clone()];
        let states = self.node.states.len();
        if numbers.len() == states {
            return Ok(numbers);
        }
        let message = format!(
            "the row of '{}' has {}, expected {states}",
            self.node.name.text,
            counted(numbers.len(), "number", "numbers")
        );
        Err(self.source.error(row.offset, message))
    }

    /// The index of `row` in the table; `None` for the default row.
    fn index(
        &self,
        row: &LabelledRow,
        labels: &[Labels<'_>],
    ) -> Result<Option<usize>, FormatError> {
        let Some(range) = &row.labels else { return Ok(None) };
        let given = &self.given.labels[range.clone()];
        if given.len() != self.parents.len() {
            let message = format!(
                "the row names {}, expected {}, one for each parent of '{}'",
                counted(given.len(), "state", "states"),
                self.parents.len(),
                self.node.name.text
            );
            return Err(self.source.error(row.offset, message));
        }
        let mut index = 0;
        for (label, known) in given.iter().zip(labels) {
            let text = label.word.text.as_ref();
            let by_index =
                text.parse().ok().filter(|&state| label.may_be_index && state < known.len());
            let state = by_index.or_else(|| known.get(text)).ok_or_else(|| {
                let mut error = known.unknown(self.source, text, label.word.offset);
                if label.may_be_index {
                    error.message += &format!(", or 0 to {} by index", known.len() - 1);
                }
                error
            })?;
            index = index * known.len() + state;
        }
        Ok(Some(index))
    }

    /// Normalises `values`, the numbers of `row`. Returns whether all of them are zero.
    fn normalise(
        &self,
        row: &LabelledRow,
        values: &mut [f64],
        scale: Scale,
        audit: &mut RowAudit,
    ) -> Result<bool, FormatError> {
        match audit.normalise(values, scale, row.offset) {
            Ok(()) => Ok(false),
            Err(RowError::AllZero) => Ok(true),
            Err(error) => {
                let message = format!("{}: {error}", self.title(row));
                Err(self.source.error(row.offset, message))
            }
        }
    }

    /// The error for a `row` that was first given at byte `first`.
    fn repeated(&self, row: &LabelledRow, first: usize) -> FormatError {
        let line = self.source.line(first);
        let message =
            format!("{} is given a second time; the first is on line {line}", self.title(row));
        self.source.error(row.offset, message)
    }

    /// The error for rows that are neither given nor covered by a default.
    fn incomplete(&self, first_at: &[Option<usize>]) -> FormatError {
        let name = &self.node.name.text;
        if self.parents.is_empty() {
            return self.source.error(self.node.offset, format!("the table of '{name}' is empty"));
        }
        let missing = first_at.iter().filter(|offset| offset.is_none()).count();
        let mut row = first_at.iter().position(Option::is_none).unwrap_or(0);
        let mut labels = Vec::with_capacity(self.parents.len());
        for parent in self.parents.iter().rev() {
            labels.push(parent.states[row % parent.states.len()].text.as_ref());
            row /= parent.states.len();
        }
        labels.reverse();
        let message = format!(
            "the table of '{name}' lacks {missing} of {} rows, the first for ({}), and has no \
             default",
            first_at.len(),
            labels.join(", ")
        );
        self.source.error(self.node.offset, message)
    }

    /// The name of a row in messages.
    fn title(&self, row: &LabelledRow) -> String {
        let name = &self.node.name.text;
        let Some(range) = &row.labels else { return format!("the default row of '{name}'") };
        let labels = self.given.labels[range.clone()].iter();
        let labels: Vec<_> = labels.map(|label| label.word.text.as_ref()).collect();
        format!("the row of '{name}' for ({})", labels.join(", "))
    }
}
