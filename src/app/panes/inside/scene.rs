//! One message as three tables: sender, separator and receiver.
//!
//! As in the paper, j is the index of a separator entry, φ the separator's table before the message
//! and φ* the table after it. ψ is the table of a clique.

use std::sync::Arc;

use super::entry_text;
use super::grid::{Grid, GridColumn, GridRow, entry_colour};
use super::player::StepPlayer;
use crate::app::widgets::naming::{clique_id, separator_id};
use crate::engine::MessageDetail;
use crate::engine::message_steps::{Order, Step};
use crate::network::Network;
use crate::numbers::{counted, scientific_scaled as scientific};
use crate::potential::Scope;
use crate::propagation::CompiledNetwork;

/// Width of a letter in a table in points, estimated. If it is too small, indices are cut off.
const LETTER_WIDTH: f32 = 7.0;

/// Space to the left and right of the text in a column of indices, in total, in points.
const INDEX_PADDING: f32 = 12.0;

/// Width of a column of numbers in points, for numbers as [`scientific`] writes them. Longer text
/// is cut off.
const NUMBER_WIDTH: f32 = 54.0;

/// Width of a column of numbers in points if a table of the message has a nonzero exponent
/// (see [`MessageDetail`]), for numbers such as `1.234e-1234`.
const WIDE_NUMBER_WIDTH: f32 = 76.0;

/// The message that one frame of the pane shows.
pub struct MessageScene<'a> {
    /// The tables of the message.
    pub detail: &'a Arc<MessageDetail>,
    compiled: &'a CompiledNetwork,
    /// Whether there is room for a column of ratios in the separator's table, and for a column of
    /// separator entries in the receiver's table.
    wide: bool,
}

impl<'a> MessageScene<'a> {
    /// The scene of the message in `detail`. If `wide`, the tables have two additional columns: the
    /// ratios of the separator, and the separator entry of each receiver entry.
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
        let separator_states = |j| entry_text::assignment(network, &detail.separator, j);
        match player.current(detail) {
            Some(Step::Add { j, entry, .. }) => format!(
                "{} adds entry {entry} of {from}, {} = {}, to φ*({}), which is now {}",
                actor(j),
                entry_text::assignment(network, &detail.sender, entry),
                scientific(detail.sender_values[entry], detail.sender_exponent),
                separator_states(j),
                scientific(player.progress().sum(j), detail.sender_exponent),
            ),
            Some(Step::Divide { j }) => format!(
                "{} divides: φ*/φ for {} is {} / {} = {}",
                actor(j),
                separator_states(j),
                scientific(detail.after[j], detail.sender_exponent),
                scientific(detail.before[j], detail.before_exponent),
                scientific(detail.ratio(j), detail.ratio_exponent()),
            ),
            Some(Step::Multiply { j, entry, .. }) => format!(
                "{} multiplies entry {entry} of {to}, {}: {} · {} = {}",
                actor(j),
                entry_text::assignment(network, &detail.receiver, entry),
                scientific(detail.receiver_values[entry], detail.receiver_exponent),
                scientific(detail.ratio(j), detail.ratio_exponent()),
                scientific(detail.received(entry), detail.received_exponent()),
            ),
            None if player.progress().done() == 0 => "Nothing is done yet.".to_owned(),
            None => format!(
                "The whole message: {}, {}, {}. Entries that belong to the same separator entry, \
                 and so to the same thread, share a colour.",
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

    /// The table of the sender.
    fn sender<'s>(&'s self, player: &'s StepPlayer) -> Grid<'s> {
        let (detail, network) = (self.detail, self.network());
        let current = player.current(detail);
        let row = move |entry: usize| {
            let (j, _) = detail.from.place(entry);
            let states = entry_text::states(network, &detail.sender, entry);
            let value = scientific(detail.sender_values[entry], detail.sender_exponent);
            GridRow {
                label: format!(
                    "Sender entry {entry}: {} is {value}, goes to separator entry {j}",
                    entry_text::assignment(network, &detail.sender, entry)
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
            title: title("Sender", &self.names()[0], &detail.sender),
            columns: vec![
                index_column("#", detail.sender_values.len()),
                states_column(entry_text::names(network, &detail.sender)),
                self.number_column("ψ"),
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
            // A sum in another order may differ from the sum of the engine in the last digits. From
            // the division on, the sum of the engine is shown.
            let sum = if divided { detail.after[j] } else { player.progress().sum(j) };
            let ratio = if divided {
                scientific(detail.ratio(j), detail.ratio_exponent())
            } else {
                "…".to_owned()
            };
            let before = scientific(detail.before[j], detail.before_exponent);
            let states = entry_text::states(network, &detail.separator, j);
            GridRow {
                label: format!(
                    "Separator entry {j}: {}; before {before}, after {}",
                    entry_text::assignment(network, &detail.separator, j),
                    scientific(sum, detail.sender_exponent)
                ),
                // Without a column of ratios, the last cell is not drawn.
                cells: vec![
                    j.to_string(),
                    states,
                    before,
                    scientific(sum, detail.sender_exponent),
                    ratio,
                ],
                colour: entry_colour(j),
                done: divided,
                current: current.is_some_and(|step| step.j() == j),
                related: current.is_some_and(|step| step.j() == j),
            }
        };
        let mut columns = vec![
            index_column("j", detail.before.len()),
            states_column(entry_text::names(network, &detail.separator)),
            self.number_column("φ before"),
            self.number_column("φ* after"),
        ];
        if self.wide {
            columns.push(self.number_column("φ*/φ"));
        }
        Grid {
            name: "separator",
            title: title("Separator", &self.names()[1], &detail.separator),
            columns,
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
            let before = scientific(detail.receiver_values[entry], detail.receiver_exponent);
            let after = if done {
                scientific(detail.received(entry), detail.received_exponent())
            } else {
                "…".to_owned()
            };
            let states = entry_text::states(network, &detail.receiver, entry);
            let label = format!(
                "Receiver entry {entry}: {}; before {before}, after {after}, \
                 from separator entry {j}",
                entry_text::assignment(network, &detail.receiver, entry)
            );
            let mut cells = vec![entry.to_string(), states, before, after];
            if self.wide {
                cells.insert(0, format!("{j} >"));
            }
            GridRow {
                label,
                cells,
                colour: entry_colour(j),
                done,
                current: matches!(current, Some(Step::Multiply { entry: at, .. }) if at == entry),
                related: current.is_some_and(|step| step.j() == j),
            }
        };
        let mut columns = vec![
            index_column("#", detail.receiver_values.len()),
            states_column(entry_text::names(network, &detail.receiver)),
            self.number_column("ψ before"),
            self.number_column("ψ after"),
        ];
        if self.wide {
            columns.insert(0, index_column("j >", detail.before.len()));
        }
        Grid {
            name: "receiver",
            title: title("Receiver", &self.names()[2], &detail.receiver),
            columns,
            count: detail.receiver_values.len(),
            row: Box::new(row),
        }
    }

    /// A right-aligned column for the values of table entries.
    fn number_column(&self, title: &str) -> GridColumn {
        let detail = self.detail;
        let exponents = [detail.sender_exponent, detail.before_exponent, detail.receiver_exponent];
        let in_range = exponents == [0; 3];
        let width = if in_range { NUMBER_WIDTH } else { WIDE_NUMBER_WIDTH };
        GridColumn { title: title.to_owned(), width, right: true }
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

/// The title of a table over `scope`: its `role` in the message, its `name` and its size.
fn title(role: &str, name: &str, scope: &Scope) -> String {
    format!("{role} {name}: {}", counted(scope.entries(), "entry", "entries"))
}

/// A right-aligned column for indices below `count`.
fn index_column(title: &str, count: usize) -> GridColumn {
    let digits = (count.max(2) - 1).ilog10() as f32 + 1.0;
    let letters = digits.max(title.chars().count() as f32);
    GridColumn {
        title: title.to_owned(),
        width: INDEX_PADDING + LETTER_WIDTH * letters,
        right: true,
    }
}

/// A column for states, which takes the width that the other columns leave over.
fn states_column(title: String) -> GridColumn {
    GridColumn { title, width: 1.0, right: false }
}
