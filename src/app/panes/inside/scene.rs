//! One message as three tables: sender, separator and receiver.

use std::sync::Arc;

use super::grid::{Grid, GridColumn, GridRow, entry_colour};
use super::player::StepPlayer;
use super::words;
use crate::app::widgets::naming::{clique_id, separator_id};
use crate::engine::MessageDetail;
use crate::engine::message_steps::{Order, Step};
use crate::network::Network;
use crate::numbers::{counted, scientific};
use crate::potential::Scope;
use crate::propagation::CompiledNetwork;

/// The message that one frame of the pane shows.
pub struct MessageScene<'a> {
    /// The tables of the message.
    pub detail: &'a Arc<MessageDetail>,
    compiled: &'a CompiledNetwork,
    /// Whether the tables have the additional columns that [`new`](Self::new) names.
    wide: bool,
}

impl<'a> MessageScene<'a> {
    /// If `wide`, the tables have two additional columns: the ratios of the separator, and the
    /// separator entry of each receiver entry.
    pub fn new(compiled: &'a CompiledNetwork, detail: &'a Arc<MessageDetail>, wide: bool) -> Self {
        Self { detail, compiled, wide }
    }

    /// The network of the message.
    fn network(&self) -> &'a Network {
        self.compiled.network()
    }

    /// Names of sender, separator and receiver.
    pub fn names(&self) -> [String; 3] {
        let message = self.compiled.plan()[self.detail.message];
        [clique_id(message.from), separator_id(message.separator), clique_id(message.to)]
    }

    /// A sentence on what the current step does, with its numbers.
    pub fn sentence(&self, player: &StepPlayer) -> String {
        let (detail, network) = (self.detail, self.network());
        let [from, _, to] = self.names();
        let actor = |j| match player.progress().order() {
            Order::Entries => "The processor".to_owned(),
            Order::Threads => format!("Thread {j}"),
        };
        let separator_states = |j| words::assignment(network, &detail.separator, j);
        match player.current(detail) {
            Some(Step::Add { j, entry, .. }) => format!(
                "{} adds entry {entry} of {from}, {} = {}, to φ*({}), which is now {}",
                actor(j),
                words::assignment(network, &detail.sender, entry),
                scientific(detail.sender_values[entry]),
                separator_states(j),
                scientific(player.progress().sum(j)),
            ),
            Some(Step::Divide { j }) => format!(
                "{} divides: φ*/φ for {} is {} / {} = {}",
                actor(j),
                separator_states(j),
                scientific(detail.after[j]),
                scientific(detail.before[j]),
                scientific(detail.ratio(j)),
            ),
            Some(Step::Multiply { j, entry, .. }) => format!(
                "{} multiplies entry {entry} of {to}, {}: {} · {} = {}",
                actor(j),
                words::assignment(network, &detail.receiver, entry),
                scientific(detail.receiver_values[entry]),
                scientific(detail.ratio(j)),
                scientific(detail.received(entry)),
            ),
            None if player.progress().done() == 0 => "Nothing is done yet.".to_owned(),
            None => format!(
                "All done: {}, {}, {}. Entries that belong to the same separator entry, and thus \
                 to the same thread, have the same colour.",
                counted(detail.sender_values.len(), "entry added", "entries added"),
                counted(detail.before.len(), "ratio", "ratios"),
                counted(detail.receiver_values.len(), "entry multiplied", "entries multiplied"),
            ),
        }
    }

    /// The tables of sender, separator and receiver.
    pub fn grids<'s>(&'s self, player: &'s StepPlayer) -> [Grid<'s>; 3] {
        [self.sender(player), self.separator(player), self.receiver(player)]
    }

    /// The title of a table over `scope`: `what` the table is, its `name` and its size.
    fn title(&self, name: &str, what: &str, scope: &Scope) -> String {
        format!("{what} {name}: {}", counted(scope.entries(), "entry", "entries"))
    }

    /// The table of the sender.
    fn sender<'s>(&'s self, player: &'s StepPlayer) -> Grid<'s> {
        let (detail, network) = (self.detail, self.network());
        let current = player.current(detail);
        let row = move |entry: usize| {
            let (j, _) = detail.from.place(entry);
            let states = words::states(network, &detail.sender, entry);
            let value = scientific(detail.sender_values[entry]);
            GridRow {
                label: format!(
                    "Sender entry {entry}: {} is {value}, goes to separator entry {j}",
                    words::assignment(network, &detail.sender, entry)
                ),
                cells: vec![entry.to_string(), states, value, format!("> {j}")],
                colour: entry_colour(j),
                done: player.progress().has_added(detail, entry),
                current: matches!(current, Some(Step::Add { entry: at, .. }) if at == entry),
                related: current.is_some_and(|step| step.j() == j),
            }
        };
        Grid {
            name: "sender",
            title: self.title(&self.names()[0], "Sender", &detail.sender),
            columns: vec![
                index_column("#", detail.sender_values.len()),
                states_column(words::names(network, &detail.sender)),
                number_column("ψ"),
                index_column("> j", detail.before.len()),
            ],
            count: detail.sender_values.len(),
            row: Box::new(row),
        }
    }

    /// The table of the separator, before and after the message.
    fn separator<'s>(&'s self, player: &'s StepPlayer) -> Grid<'s> {
        let (detail, network) = (self.detail, self.network());
        let current = player.current(detail);
        let row = move |j: usize| {
            let divided = player.progress().has_divided(detail, j);
            // A sum in another order may differ from the sum of the engine in the last digits, so a
            // complete sum is replaced by the sum of the engine.
            let sum = if divided { detail.after[j] } else { player.progress().sum(j) };
            let ratio = if divided { scientific(detail.ratio(j)) } else { "…".to_owned() };
            let before = scientific(detail.before[j]);
            let states = words::states(network, &detail.separator, j);
            GridRow {
                label: format!(
                    "Separator entry {j}: {}; before {before}, after {}",
                    words::assignment(network, &detail.separator, j),
                    scientific(sum)
                ),
                cells: vec![j.to_string(), states, before, scientific(sum), ratio],
                colour: entry_colour(j),
                done: divided,
                current: current.is_some_and(|step| step.j() == j),
                related: current.is_some_and(|step| step.j() == j),
            }
        };
        Grid {
            name: "separator",
            title: self.title(&self.names()[1], "Separator", &detail.separator),
            columns: [
                index_column("j", detail.before.len()),
                states_column(words::names(network, &detail.separator)),
                number_column("φ before"),
                number_column("φ* after"),
            ]
            .into_iter()
            .chain(self.wide.then(|| number_column("φ*/φ")))
            .collect(),
            count: detail.before.len(),
            row: Box::new(row),
        }
    }

    /// The table of the receiver, before and after the message.
    fn receiver<'s>(&'s self, player: &'s StepPlayer) -> Grid<'s> {
        let (detail, network) = (self.detail, self.network());
        let current = player.current(detail);
        let row = move |entry: usize| {
            let (j, _) = detail.to.place(entry);
            let done = player.progress().has_multiplied(detail, entry);
            let before = scientific(detail.receiver_values[entry]);
            let after = if done { scientific(detail.received(entry)) } else { "…".to_owned() };
            let states = words::states(network, &detail.receiver, entry);
            GridRow {
                label: format!(
                    "Receiver entry {entry}: {}; before {before}, after {after}, \
                     from separator entry {j}",
                    words::assignment(network, &detail.receiver, entry)
                ),
                cells: self
                    .wide
                    .then(|| format!("{j} >"))
                    .into_iter()
                    .chain([entry.to_string(), states, before, after])
                    .collect(),
                colour: entry_colour(j),
                done,
                current: matches!(current, Some(Step::Multiply { entry: at, .. }) if at == entry),
                related: current.is_some_and(|step| step.j() == j),
            }
        };
        Grid {
            name: "receiver",
            title: self.title(&self.names()[2], "Receiver", &detail.receiver),
            columns: self
                .wide
                .then(|| index_column("j >", detail.before.len()))
                .into_iter()
                .chain([
                    index_column("#", detail.receiver_values.len()),
                    states_column(words::names(network, &detail.receiver)),
                    number_column("ψ before"),
                    number_column("ψ after"),
                ])
                .collect(),
            count: detail.receiver_values.len(),
            row: Box::new(row),
        }
    }

    /// The number of threads and the work of each of them, as a phrase.
    pub fn threads(&self) -> String {
        let detail = self.detail;
        format!(
            "{}; each adds {}, divides once and multiplies {}",
            counted(detail.before.len(), "thread", "threads"),
            counted(detail.from.count(), "entry", "entries"),
            counted(detail.to.count(), "entry", "entries")
        )
    }
}

/// A right-aligned column for indices below `count`.
fn index_column(title: &str, count: usize) -> GridColumn {
    let digits = (count.max(2) - 1).ilog10() as f32 + 1.0;
    let letters = digits.max(title.chars().count() as f32);
    GridColumn { title: title.to_owned(), width: 12.0 + 7.0 * letters, right: true }
}

/// A right-aligned column for the values of table entries.
fn number_column(title: &str) -> GridColumn {
    GridColumn { title: title.to_owned(), width: 54.0, right: true }
}

/// A column for states, as wide as the other columns leave room.
fn states_column(title: String) -> GridColumn {
    GridColumn { title, width: 1.0, right: false }
}
