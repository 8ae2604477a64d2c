//! From the blocks of a BIF file to a network: names looked up, rows put in order.

use std::collections::HashMap;

use super::parser::{Document, Entry, EntryKind, Name, ProbabilityBlock, VariableBlock};
use super::properties::{self, OF_TABLE, PROPERTY};
use crate::format::draft;
use crate::format::rows::{RowAudit, ZeroRow};
use crate::format::source::Source;
use crate::format::{FormatError, Warning};
use crate::network::{Annotations, Cpt, Network, RowError, Scale, Variable, VariableId};

/// Makes the network that `document` describes.
pub(super) fn network(
    source: Source<'_>,
    document: &Document<'_>,
) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut builder = Builder {
        source,
        document,
        by_name: HashMap::new(),
        states: Vec::new(),
        audit: RowAudit::default(),
        entries: 0,
    };
    for block in &document.variables {
        builder.declare(block)?;
    }
    let mut first_block = vec![None; document.variables.len()];
    let mut cpts = Vec::with_capacity(document.probabilities.len());
    for block in &document.probabilities {
        let cpt = builder.table(block, &mut first_block)?;
        cpts.push(cpt);
    }
    if let Some(index) = first_block.iter().position(Option::is_none) {
        let name = &document.variables[index].name;
        let message = format!("variable '{}' has no probability block", name.text);
        return Err(source.error(name.at, message));
    }
    let variables = document
        .variables
        .iter()
        .map(|block| Variable::new(block.name.text, block.states.iter().map(|state| state.text)));
    let place = |name: &str| {
        builder.by_name.get(name).and_then(|variable| first_block[variable.index()]).unwrap_or(0)
    };
    let (name, variables, audit) = (document.name, variables.collect(), &builder.audit);
    let network = draft::network(source, name, variables, cpts, audit, place)?;
    let mut annotations = Annotations::default();
    properties::note(&mut annotations.network, PROPERTY, &document.properties);
    for (block, variable) in document.variables.iter().zip(network.ids()) {
        properties::note(annotations.of_mut(variable), PROPERTY, &block.properties);
    }
    for block in document.probabilities.iter().filter(|block| !block.properties.is_empty()) {
        let child = builder.by_name[block.child.text];
        properties::note(annotations.of_mut(child), OF_TABLE, &block.properties);
    }
    let network = network.with_annotations(annotations);
    Ok((network, builder.audit.warnings(source)))
}

struct Builder<'d, 's> {
    source: Source<'s>,
    document: &'d Document<'s>,
    by_name: HashMap<&'s str, VariableId>,
    /// For each variable, the position of each label.
    states: Vec<HashMap<&'s str, usize>>,
    audit: RowAudit,
    /// Entries of all tables so far.
    entries: usize,
}

impl<'s> Builder<'_, 's> {
    fn declare(&mut self, block: &VariableBlock<'s>) -> Result<(), FormatError> {
        let Name { text, at } = block.name;
        if self.by_name.insert(text, VariableId::new(self.states.len())).is_some() {
            return Err(self.source.error(at, format!("a second variable is called '{text}'")));
        }
        if block.states.is_empty() {
            return Err(self.source.error(at, format!("variable '{text}' has no states")));
        }
        let mut states = HashMap::with_capacity(block.states.len());
        for (index, state) in block.states.iter().enumerate() {
            if states.insert(state.text, index).is_some() {
                let message = format!("variable '{text}' has a second state '{}'", state.text);
                return Err(self.source.error(state.at, message));
            }
        }
        self.states.push(states);
        Ok(())
    }

    fn look_up(&self, name: &Name<'_>) -> Result<VariableId, FormatError> {
        self.by_name.get(name.text).copied().ok_or_else(|| {
            self.source.error(name.at, format!("there is no variable '{}'", name.text))
        })
    }

    fn cardinality(&self, variable: VariableId) -> usize {
        self.states[variable.index()].len()
    }

    /// The table of one block; `first_block` holds where each variable's block was seen.
    fn table(
        &mut self,
        block: &ProbabilityBlock<'s>,
        first_block: &mut [Option<usize>],
    ) -> Result<Cpt, FormatError> {
        let child = self.look_up(&block.child)?;
        if let Some(first) = first_block[child.index()].replace(block.child.at) {
            let line = self.source.line(first);
            let name = block.child.text;
            let message = format!("a second probability block for '{name}'; line {line} has one");
            return Err(self.source.error(block.child.at, message));
        }
        let mut parents = Vec::with_capacity(block.parents.len());
        for name in &block.parents {
            let parent = self.look_up(name)?;
            if parent == child || parents.contains(&parent) {
                let message = if parent == child {
                    format!("'{}' is named as its own parent", name.text)
                } else {
                    format!("parent '{}' is named a second time", name.text)
                };
                return Err(self.source.error(name.at, message));
            }
            parents.push(parent);
        }
        let rows = self.row_count(block, child, &parents)?;
        let mut table = vec![0.0; rows * self.cardinality(child)];
        let whole = block.entries.iter().find(|entry| entry.kind == EntryKind::Table);
        match whole {
            Some(entry) => self.fill_whole(block, entry, &mut table, child)?,
            None => self.fill_rows(block, &parents, rows, &mut table, child)?,
        }
        Ok(Cpt::new(child, parents, table))
    }

    fn row_count(
        &mut self,
        block: &ProbabilityBlock<'_>,
        child: VariableId,
        parents: &[VariableId],
    ) -> Result<usize, FormatError> {
        let cards: Vec<usize> = parents.iter().map(|&parent| self.cardinality(parent)).collect();
        let states = self.cardinality(child);
        let named = (block.child.text, block.child.at);
        draft::count_entries(self.source, &mut self.entries, named, &cards, states)
    }

    /// Fills `table` from a `table` entry: the child slowest in the file, fastest in memory.
    fn fill_whole(
        &mut self,
        block: &ProbabilityBlock<'_>,
        entry: &Entry,
        table: &mut [f64],
        child: VariableId,
    ) -> Result<(), FormatError> {
        if let Some(other) = block.entries.iter().find(|other| other.at != entry.at) {
            let message = "'table' gives the whole table, so nothing else may be given with it";
            return Err(self.source.error(other.at.max(entry.at), message));
        }
        let numbers = &self.document.numbers[entry.numbers.clone()];
        self.check_count("the table", block, entry, table.len(), numbers.len())?;
        let states = self.cardinality(child);
        let rows = table.len() / states;
        for (row, values) in table.chunks_mut(states).enumerate() {
            for (state, value) in values.iter_mut().enumerate() {
                *value = numbers[state * rows + row];
            }
        }
        let scale = self.audit.scale(table.chunks(states), block.child.text, block.child.at);
        for (row, values) in table.chunks_mut(states).enumerate() {
            if self.normalise(block, entry, values, scale)? {
                self.audit.leave_zero(ZeroRow { child, row: Some(row), at: entry.at });
            }
        }
        Ok(())
    }

    fn fill_rows(
        &mut self,
        block: &ProbabilityBlock<'_>,
        parents: &[VariableId],
        rows: usize,
        table: &mut [f64],
        child: VariableId,
    ) -> Result<(), FormatError> {
        let states = self.cardinality(child);
        let mut given_at = vec![None; rows];
        let mut default: Option<(Vec<f64>, usize)> = None;
        let mut default_is_zero = None;
        let document = self.document;
        let numbers = block.entries.iter().map(|entry| &document.numbers[entry.numbers.clone()]);
        let scale = self.audit.scale(numbers, block.child.text, block.child.at);
        for entry in &block.entries {
            let numbers = &self.document.numbers[entry.numbers.clone()];
            self.check_count("the row", block, entry, states, numbers.len())?;
            let mut given = None;
            let (before, values) = if entry.kind == EntryKind::Default {
                let before = default.replace((numbers.to_vec(), entry.at));
                (before.map(|(_, at)| at), &mut default.as_mut().expect("just put there").0[..])
            } else {
                let row = self.row_index(block, parents, entry)?;
                given = Some(row);
                let values = &mut table[row * states..(row + 1) * states];
                values.copy_from_slice(numbers);
                (given_at[row].replace(entry.at), values)
            };
            if let Some(before) = before {
                let line = self.source.line(before);
                let message = format!(
                    "{} is given a second time; line {line} has it",
                    self.title(block, entry)
                );
                return Err(self.source.error(entry.at, message));
            }
            if self.normalise(block, entry, values, scale)? {
                match given {
                    Some(_) => self.audit.leave_zero(ZeroRow { child, row: given, at: entry.at }),
                    None => default_is_zero = Some(entry),
                }
            }
        }
        let missing = given_at.iter().filter(|at| at.is_none()).count();
        if missing == 0 {
            return Ok(());
        }
        let Some((default, _)) = default else {
            return Err(self.missing_row(block, parents, &given_at, missing));
        };
        if let Some(entry) = default_is_zero {
            self.audit.leave_zero(ZeroRow { child, row: None, at: entry.at });
        }
        for (values, _) in table.chunks_mut(states).zip(given_at).filter(|(_, at)| at.is_none()) {
            values.copy_from_slice(&default);
        }
        Ok(())
    }

    /// Position of a row in the table: the first parent slowest.
    fn row_index(
        &self,
        block: &ProbabilityBlock<'_>,
        parents: &[VariableId],
        entry: &Entry,
    ) -> Result<usize, FormatError> {
        let labels = &self.document.labels[entry.labels.clone()];
        if labels.len() != parents.len() {
            let message = format!(
                "the row names {} states, expected {}, one for each parent of '{}'",
                labels.len(),
                parents.len(),
                block.child.text
            );
            return Err(self.source.error(entry.at, message));
        }
        let mut row = 0;
        for (position, (label, &parent)) in labels.iter().zip(parents).enumerate() {
            let states = &self.states[parent.index()];
            let state = states.get(label.text).ok_or_else(|| {
                let known: Vec<_> = self.document.variables[parent.index()]
                    .states
                    .iter()
                    .map(|state| state.text)
                    .collect();
                let message = format!(
                    "parent '{}' has no state '{}'; its states are {}",
                    block.parents[position].text,
                    label.text,
                    known.join(", ")
                );
                self.source.error(label.at, message)
            })?;
            row = row * states.len() + state;
        }
        Ok(row)
    }

    fn missing_row(
        &self,
        block: &ProbabilityBlock<'_>,
        parents: &[VariableId],
        given_at: &[Option<usize>],
        missing: usize,
    ) -> FormatError {
        let mut row = given_at.iter().position(Option::is_none).unwrap_or(0);
        let mut labels = Vec::with_capacity(parents.len());
        for &parent in parents.iter().rev() {
            let states = &self.document.variables[parent.index()].states;
            labels.push(states[row % states.len()].text);
            row /= states.len();
        }
        labels.reverse();
        let name = block.child.text;
        let message = if parents.is_empty() {
            format!("the table of '{name}' is empty: neither 'table' nor 'default' is given")
        } else {
            format!(
                "the table of '{name}' lacks {missing} of {} rows, the first ({}), and has no default",
                given_at.len(),
                labels.join(", ")
            )
        };
        self.source.error(block.child.at, message)
    }

    fn check_count(
        &self,
        what: &str,
        block: &ProbabilityBlock<'_>,
        entry: &Entry,
        expected: usize,
        found: usize,
    ) -> Result<(), FormatError> {
        if expected == found {
            return Ok(());
        }
        let name = block.child.text;
        let message = format!("{what} of '{name}' has {found} numbers, expected {expected}");
        Err(self.source.error(entry.at, message))
    }

    /// Whether the row is nothing but zeros, and else normalises it.
    fn normalise(
        &mut self,
        block: &ProbabilityBlock<'_>,
        entry: &Entry,
        row: &mut [f64],
        scale: Scale,
    ) -> Result<bool, FormatError> {
        match self.audit.normalise(row, scale, entry.at) {
            Ok(()) => Ok(false),
            Err(RowError::AllZero) => Ok(true),
            Err(error) => {
                let message = format!("{}: {error}", self.title(block, entry));
                Err(self.source.error(entry.at, message))
            }
        }
    }

    /// What an entry is about, for messages.
    fn title(&self, block: &ProbabilityBlock<'_>, entry: &Entry) -> String {
        let child = block.child.text;
        match entry.kind {
            EntryKind::Table => format!("the table of '{child}'"),
            EntryKind::Default => format!("the default row of '{child}'"),
            EntryKind::Row => {
                let labels = &self.document.labels[entry.labels.clone()];
                let labels: Vec<_> = labels.iter().map(|label| label.text).collect();
                format!("the row of '{child}' for ({})", labels.join(", "))
            }
        }
    }
}
