//! What the colours of cliques show.

use std::sync::Arc;

use eframe::egui::Ui;

use super::zeros::Zeros;
use crate::app::panes::common::Identity;
use crate::app::state::document::Document;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::widgets::colour_scale::ColourScale;
use crate::numbers;
use crate::propagation::CompiledNetwork;
use crate::session::Propagation;

/// A number that each clique has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The number of entries of its table.
    #[default]
    Entries,
    /// The time of the messages that it received in the last propagation or in a recorded run.
    Time,
    /// That time, divided by the number of entries.
    TimePerEntry,
    /// The share of the entries of its table that are zero because of the network's tables.
    Zeros,
}

impl Measure {
    /// All measures, in the order of the menu.
    pub const ALL: [Self; 4] = [Self::Entries, Self::Time, Self::TimePerEntry, Self::Zeros];

    /// The name in the menu.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entries => "table entries",
            Self::Time => "time",
            Self::TimePerEntry => "time per entry",
            Self::Zeros => "share of zeros",
        }
    }

    /// The tooltip in the menu.
    pub fn description(self) -> &'static str {
        match self {
            Self::Entries => "Number of entries of the clique's table",
            Self::Time => {
                "Time of the messages that the clique received in the last propagation or in a \
                 recorded run"
            }
            Self::TimePerEntry => {
                "Time of the messages that the clique received in the last propagation or in a \
                 recorded run, divided by the number of entries of its table"
            }
            Self::Zeros => {
                "Share of the entries of the clique's table that are zero because a table of the \
                 network has a zero there, whatever the evidence"
            }
        }
    }

    /// A value as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Entries => numbers::short_size(value as u64),
            Self::Time | Self::TimePerEntry => numbers::nanoseconds(value),
            Self::Zeros => format!("{:.0}%", 100.0 * value),
        }
    }
}

/// The colours of all cliques.
pub struct Colouring {
    /// What the colours show.
    pub measure: Measure,
    /// Whether the scale is logarithmic.
    pub is_log: bool,
    zeros: Zeros,
    /// What the values were computed from.
    key: Option<Key>,
    /// The value of each clique; `None` where it is unknown.
    values: Arc<Vec<Option<f64>>>,
    scale: ColourScale,
}

/// Everything that the values and the scale depend on.
#[derive(PartialEq)]
struct Key {
    measure: Measure,
    is_log: bool,
    is_dark: bool,
    /// Address of the compiled network, which the pane keeps alive.
    compiled: usize,
    /// The newest propagation, from which the times of messages may be read.
    result: Option<Identity<Propagation>>,
    /// The recorded runs that are shown, from which the times may be read instead.
    shown: [Option<RecordedRunRef>; 2],
    /// Number of cliques whose zeros have been counted.
    counted: usize,
}

impl Default for Colouring {
    fn default() -> Self {
        Self {
            measure: Measure::default(),
            is_log: true,
            zeros: Zeros::default(),
            key: None,
            values: Arc::default(),
            scale: ColourScale::logarithmic(std::iter::empty(), true),
        }
    }
}

impl Colouring {
    /// The value of each clique; `None` where it is unknown.
    pub fn values(&self) -> &Arc<Vec<Option<f64>>> {
        &self.values
    }

    /// The scale of the values.
    pub fn scale(&self) -> &ColourScale {
        &self.scale
    }

    /// Computes the values again if something has changed. If the colours show the share of zeros,
    /// each frame counts the zeros of some more cliques, and requests another frame until all are
    /// counted.
    pub fn update(&mut self, ui: &Ui, document: &Document, compiled: &CompiledNetwork) {
        let address = std::ptr::from_ref(compiled) as usize;
        // `zeros` knows a network only by its address, which a later network may have too.
        if self.key.as_ref().is_some_and(|key| key.compiled != address) {
            self.zeros = Zeros::default();
        }
        if self.measure == Measure::Zeros && self.zeros.count(compiled, address) {
            ui.ctx().request_repaint();
        }
        let key = Key {
            measure: self.measure,
            is_log: self.is_log,
            is_dark: ui.visuals().dark_mode,
            compiled: address,
            result: document.result.as_ref().map(Identity::of),
            shown: [document.shown, document.second_shown],
            counted: self.zeros.counted(),
        };
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let cliques = compiled.tree().cliques();
        let entries = || cliques.iter().map(|clique| clique.entries as f64);
        let values: Vec<Option<f64>> = match self.measure {
            Measure::Entries => entries().map(Some).collect(),
            Measure::Time => times(document, compiled),
            Measure::TimePerEntry => {
                let times = times(document, compiled).into_iter().zip(entries());
                times.map(|(time, entries)| Some(time? / entries.max(1.0))).collect()
            }
            Measure::Zeros => self.zeros.shares(cliques.len()),
        };
        let known = values.iter().flatten().copied();
        self.scale = if self.is_log {
            ColourScale::logarithmic(known, key.is_dark)
        } else {
            ColourScale::linear(known, key.is_dark)
        };
        self.values = Arc::new(values);
        self.key = Some(key);
    }
}

/// The time of the messages that each clique received, in nanoseconds; `None` without a message.
fn times(document: &Document, compiled: &CompiledNetwork) -> Vec<Option<f64>> {
    let mut times = vec![None; compiled.tree().cliques().len()];
    let plan = compiled.plan().messages();
    for timing in document.finished_trace().iter().flat_map(|trace| &trace.messages) {
        if let Some(message) = plan.get(timing.message.index()) {
            let time = times[message.to.index()].get_or_insert(0.0);
            *time += timing.duration.as_nanos() as f64;
        }
    }
    times
}
