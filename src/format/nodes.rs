//! Nodes as the readers of several formats find them, and the network that they make.
//!
//! Names are looked up here and nowhere before, so nodes may come in any order. Utility nodes and
//! the like are left out, decisions become chance variables, and what is given by other means than
//! a table is expanded.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::format::draft::{self, RowAudit};
use crate::format::expand;
use crate::format::source::Source;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Annotations, Cpt, Network, RowError, Variable, VariableId};

/// The most states that a file may ask for by their number alone.
pub(super) const MAX_UNNAMED_STATES: usize = 1 << 16;

/// A name, label or other text, and the byte at which it stands.
#[derive(Clone, Debug)]
pub(super) struct Word<'s> {
    pub text: Cow<'s, str>,
    pub at: usize,
}

/// A number, and the byte at which it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// [`UNDEFINED`] where the file says that there is none.
    pub value: f64,
    pub at: usize,
}

/// Stands for an entry that the file leaves open on purpose. No number in a file reads as this.
pub(super) const UNDEFINED: f64 = f64::NAN;

/// What a node is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Chance,
    Decision,
    /// Nothing that a Bayesian network has: `"utility"`, `"constant"`.
    LeftOut(&'static str),
}

/// How the distribution of a node is given. All lists are in odometer order over the parents, the
/// last one fastest.
#[derive(Debug)]
pub(super) enum Definition {
    /// Not at all.
    Missing,
    /// One number for each state of the node in each configuration of the parents, the node fastest.
    Table(Vec<Number>),
    /// The same, but the numbers of a row are weights that may sum to anything.
    Weights(Vec<Number>),
    /// The state of the node in each configuration of the parents; `None` where there is none.
    Function(Vec<(Option<usize>, usize)>),
    /// A column for each state of each parent, and one for the leak.
    NoisyMax {
        /// For each parent in turn, its states from the strongest to the one without effect.
        strengths: Vec<Number>,
        columns: Vec<Number>,
    },
    /// The same columns, averaged.
    NoisyAdder {
        /// One for each parent, and one for the leak.
        weights: Vec<Number>,
        columns: Vec<Number>,
    },
}

/// One node of a file.
#[derive(Debug)]
pub(super) struct Node<'s> {
    pub name: Word<'s>,
    pub role: Role,
    pub states: Vec<Word<'s>>,
    pub parents: Vec<Word<'s>>,
    pub definition: Definition,
    /// The byte at which the definition stands, or the node if it has none.
    pub at: usize,
    /// What the file says of it beside the model.
    pub note: Annotation,
}

/// What to do with a chance node that has no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMissing {
    Refuse,
    /// Give all states the same chance, as the program does whose format it is.
    Uniform,
}

/// Makes the network that `nodes` describe, which is called `name` and of which the file says `note`.
pub(super) fn network(
    source: Source<'_>,
    name: &str,
    note: Annotation,
    nodes: &[Node<'_>],
    if_missing: IfMissing,
) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut builder = Builder::new(source, nodes)?;
    let mut cpts = Vec::with_capacity(builder.kept.len());
    for &index in &builder.kept.clone() {
        cpts.push(builder.cpt(index, if_missing)?);
    }
    let variables = builder.kept.iter().map(|&index| {
        let node = &nodes[index];
        Variable::new(node.name.text.as_ref(), node.states.iter().map(|state| state.text.as_ref()))
    });
    let place = |name: &str| builder.by_name.get(name).map_or(0, |&index| nodes[index].at);
    let network = draft::network(source, name, variables.collect(), cpts, place)?;
    let mut annotations = Annotations::default();
    annotations.network = note;
    for (variable, &index) in network.ids().zip(&builder.kept) {
        if !nodes[index].note.is_empty() {
            *annotations.of_mut(variable) = nodes[index].note.clone();
        }
    }
    Ok((network.with_annotations(annotations), builder.warnings()))
}

struct Builder<'n, 's> {
    source: Source<'n>,
    nodes: &'n [Node<'s>],
    by_name: HashMap<&'n str, usize>,
    /// The nodes that become variables, and for each node its variable.
    kept: Vec<usize>,
    variable: Vec<Option<VariableId>>,
    audit: RowAudit,
    /// Entries of all tables so far.
    entries: usize,
    without_table: Vec<String>,
    undefined: Option<(usize, usize)>,
}

impl<'n, 's> Builder<'n, 's> {
    fn new(source: Source<'n>, nodes: &'n [Node<'s>]) -> Result<Self, FormatError> {
        let mut by_name = HashMap::with_capacity(nodes.len());
        let mut kept = Vec::with_capacity(nodes.len());
        let mut variable = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let name = node.name.text.as_ref();
            if by_name.insert(name, index).is_some() {
                let message = format!("a second node is called '{name}'");
                return Err(source.error(node.name.at, message));
            }
            if !matches!(node.role, Role::LeftOut(_)) {
                check_states(source, node)?;
                variable[index] = Some(VariableId::new(kept.len()));
                kept.push(index);
            }
        }
        Ok(Self {
            source,
            nodes,
            by_name,
            kept,
            variable,
            audit: RowAudit::default(),
            entries: 0,
            without_table: Vec::new(),
            undefined: None,
        })
    }

    fn cpt(&mut self, index: usize, if_missing: IfMissing) -> Result<Cpt, FormatError> {
        let node = &self.nodes[index];
        let child = self.variable[index].expect("only nodes that are kept have tables");
        if node.role == Role::Decision {
            // What is known when deciding does not bear on equal chances.
            let states = node.states.len();
            self.count(node, &[], states)?;
            return Ok(Cpt::new(child, Vec::new(), vec![1.0 / states as f64; states]));
        }
        let parents = self.parents(index)?;
        let cards: Vec<_> =
            parents.iter().map(|p| self.nodes[self.kept[p.index()]].states.len()).collect();
        let states = node.states.len();
        let rows = self.count(node, &cards, states)?;
        let name = &node.name.text;
        let values = match &node.definition {
            Definition::Missing if if_missing == IfMissing::Uniform => {
                self.without_table.push(name.to_string());
                vec![1.0 / states as f64; rows * states]
            }
            Definition::Missing => {
                let message = format!("'{name}' has no probability table");
                return Err(self.source.error(node.at, message));
            }
            Definition::Table(numbers) => self.table(node, numbers, rows, RowAudit::normalise)?,
            Definition::Weights(numbers) => self.table(node, numbers, rows, RowAudit::weigh)?,
            Definition::Function(outcomes) => self.function(node, outcomes, rows)?,
            Definition::NoisyMax { strengths, columns } => {
                let expanded = expand::noisy_max(node, &cards, strengths, columns);
                expanded.map_err(|(at, message)| self.source.error(at, message))?
            }
            Definition::NoisyAdder { weights, columns } => {
                let expanded = expand::noisy_adder(node, &cards, weights, columns);
                expanded.map_err(|(at, message)| self.source.error(at, message))?
            }
        };
        Ok(Cpt::new(child, parents, values))
    }

    fn parents(&self, index: usize) -> Result<Vec<VariableId>, FormatError> {
        let node = &self.nodes[index];
        let mut parents = Vec::with_capacity(node.parents.len());
        for parent in &node.parents {
            let name = parent.text.as_ref();
            let &found = self.by_name.get(name).ok_or_else(|| {
                let message =
                    format!("'{}' has a parent '{name}', which no node is called", node.name.text);
                self.source.error(parent.at, message)
            })?;
            let Some(variable) = self.variable[found] else {
                let Role::LeftOut(what) = self.nodes[found].role else { unreachable!() };
                let child = &node.name.text;
                let message =
                    format!("'{name}' is a {what} node and cannot be a parent of '{child}'");
                return Err(self.source.error(parent.at, message));
            };
            if found == index {
                let message = format!("'{name}' is named as its own parent");
                return Err(self.source.error(parent.at, message));
            }
            if parents.contains(&variable) {
                let message = format!("parent '{name}' is named a second time");
                return Err(self.source.error(parent.at, message));
            }
            parents.push(variable);
        }
        Ok(parents)
    }

    /// Rows of a table, before anything is allocated for it.
    fn count(
        &mut self,
        node: &Node<'_>,
        cards: &[usize],
        states: usize,
    ) -> Result<usize, FormatError> {
        let rows = cards.iter().try_fold(1_usize, |rows, &card| rows.checked_mul(card));
        let entries = rows.and_then(|rows| rows.checked_mul(states));
        let total = entries.and_then(|entries| entries.checked_add(self.entries));
        let limit = draft::max_entries(self.source);
        match (rows, total) {
            (Some(rows), Some(total)) if total <= limit => {
                self.entries = total;
                Ok(rows)
            }
            _ => Err(self.source.error(
                node.at,
                format!(
                    "with the table of '{}' given {} parents, the tables of this file have more \
                     than {limit} entries, which is refused",
                    node.name.text,
                    cards.len()
                ),
            )),
        }
    }

    fn table(
        &mut self,
        node: &Node<'_>,
        numbers: &[Number],
        rows: usize,
        normalise: impl Fn(&mut RowAudit, &mut [f64], usize) -> Result<(), RowError>,
    ) -> Result<Vec<f64>, FormatError> {
        let states = node.states.len();
        let name = &node.name.text;
        if numbers.len() != rows * states {
            let message = format!(
                "the table of '{name}' has {} numbers, expected {}: {states} states in each of \
                 {rows} configurations of {} parents",
                numbers.len(),
                rows * states,
                node.parents.len()
            );
            return Err(self.source.error(node.at, message));
        }
        let mut values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
        for (row, (values, numbers)) in
            values.chunks_mut(states).zip(numbers.chunks(states)).enumerate()
        {
            let open = values.iter().filter(|value| value.is_nan()).count();
            if open > 0 && values.iter().all(|&value| value.is_nan() || value == 0.0) {
                self.leave_open(numbers[0].at);
                values.fill(1.0 / states as f64);
                continue;
            }
            values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
            normalise(&mut self.audit, values, numbers[0].at).map_err(|error| {
                let row = row_title(row, node.parents.len());
                self.source.error(numbers[0].at, format!("{row} of the table of '{name}': {error}"))
            })?;
        }
        Ok(values)
    }

    fn function(
        &mut self,
        node: &Node<'_>,
        outcomes: &[(Option<usize>, usize)],
        rows: usize,
    ) -> Result<Vec<f64>, FormatError> {
        if outcomes.len() != rows {
            let message = format!(
                "'{}' is given {} states, expected {rows}, one for each configuration of its {} \
                 parents",
                node.name.text,
                outcomes.len(),
                node.parents.len()
            );
            return Err(self.source.error(node.at, message));
        }
        let states = node.states.len();
        let mut values = vec![0.0; rows * states];
        for (row, &(state, at)) in values.chunks_mut(states).zip(outcomes) {
            match state {
                Some(state) => row[state] = 1.0,
                None => {
                    self.leave_open(at);
                    row.fill(1.0 / states as f64);
                }
            }
        }
        Ok(values)
    }

    fn leave_open(&mut self, at: usize) {
        let (rows, _) = self.undefined.get_or_insert((0, at));
        *rows += 1;
    }

    fn warnings(&self) -> Vec<Warning> {
        let file = || self.source.file.to_owned();
        let named = |role: Role| -> Vec<String> {
            let nodes = self.nodes.iter().filter(|node| node.role == role);
            nodes.map(|node| node.name.text.to_string()).collect()
        };
        let decisions = named(Role::Decision);
        let mut warnings = Vec::new();
        if !decisions.is_empty() {
            warnings.push(Warning::DecisionsAsChance { file: file(), nodes: decisions });
        }
        for kind in ["utility", "function", "constant", "disconnected"] {
            let nodes = named(Role::LeftOut(kind));
            if !nodes.is_empty() {
                warnings.push(Warning::LeftOut { file: file(), kind, nodes });
            }
        }
        if !self.without_table.is_empty() {
            let variables = self.without_table.clone();
            warnings.push(Warning::WithoutTable { file: file(), variables });
        }
        if let Some((rows, at)) = self.undefined {
            let line = self.source.line(at);
            warnings.push(Warning::RowsLeftOpen { file: file(), rows, line });
        }
        warnings.extend(self.audit.warning(self.source));
        warnings
    }
}

fn check_states(source: Source<'_>, node: &Node<'_>) -> Result<(), FormatError> {
    let name = &node.name.text;
    if node.states.is_empty() {
        return Err(source.error(node.name.at, format!("'{name}' has no states")));
    }
    let mut labels = std::collections::HashSet::with_capacity(node.states.len());
    match node.states.iter().find(|state| !labels.insert(state.text.as_ref())) {
        None => Ok(()),
        Some(state) => {
            Err(source.error(state.at, format!("'{name}' has a second state '{}'", state.text)))
        }
    }
}

/// What row `row` of a table is called in messages; counted from one, as people do.
fn row_title(row: usize, parents: usize) -> String {
    if parents == 0 { "the row".to_owned() } else { format!("row {}", row + 1) }
}

/// The number that `word` writes; words that only Rust takes for a number are none.
pub(super) fn number(word: &str) -> Option<f64> {
    let digits = word.trim_start_matches(['+', '-']);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if begins { word.parse().ok() } else { None }
}

/// The states of a node by their labels.
pub(super) struct Labels<'n> {
    node: &'n str,
    states: &'n [Word<'n>],
    by_label: HashMap<&'n str, usize>,
}

impl<'n> Labels<'n> {
    /// The labels of `states`, which are those of the node called `node`.
    pub fn new(node: &'n str, states: &'n [Word<'n>]) -> Self {
        let by_label = states.iter().enumerate().map(|(at, state)| (state.text.as_ref(), at));
        Self { node, states, by_label: by_label.collect() }
    }

    /// The position of the state labelled `label`.
    pub fn get(&self, label: &str) -> Option<usize> {
        self.by_label.get(label).copied()
    }

    /// That there is no state `label`, which stands at byte `at`.
    pub fn unknown(&self, source: Source<'_>, label: &str, at: usize) -> FormatError {
        const SHOWN: usize = 20;
        let mut known: Vec<_> =
            self.states.iter().take(SHOWN).map(|state| state.text.as_ref()).collect();
        if self.states.len() > SHOWN {
            known.push("...");
        }
        let message =
            format!("'{}' has no state '{label}'; its states are {}", self.node, known.join(", "));
        source.error(at, message)
    }
}
