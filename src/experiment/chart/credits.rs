//! Where the numbers of a record come from, as a line of text.

use crate::experiment::{Origin, Record};

/// A statement on where numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Credit {
    /// The origin of the numbers.
    pub origin: Origin,
    /// The statement, such as `recorded on NVIDIA H200 on 2026-11-21`.
    pub text: String,
}

impl Record {
    /// The machine of the live numbers, if a figure shows any; the machines of all recorded numbers
    /// of the record, also of those in tables only; and how the figures draw predicted numbers and
    /// numbers from the paper, if they show any.
    #[must_use]
    pub fn credits(&self) -> Vec<Credit> {
        let series = || {
            let panels = self.figures.iter().flat_map(|figure| &figure.panels);
            panels.flat_map(|panel| &panel.series)
        };
        let shows = |origin: Origin| series().any(|series| series.origin == origin);
        let mut credits = Vec::new();
        let mut add = |origin, text: String| credits.push(Credit { origin, text });
        if shows(Origin::Live) {
            let machine = &self.provenance.machine;
            let gpu = machine.gpu.as_ref().map(|gpu| format!(", {}", gpu.name));
            let gpu = gpu.unwrap_or_default();
            add(Origin::Live, format!("live on {}{gpu} on {}", machine.cpu, self.provenance.day()));
        }
        for recorded in &self.recorded {
            add(Origin::Recorded, recorded.clone());
        }
        if shows(Origin::Predicted) {
            add(Origin::Predicted, "predicted: crosses, dashed".to_owned());
        }
        if shows(Origin::Paper) {
            add(Origin::Paper, "in the paper: squares, dotted".to_owned());
        }
        credits
    }
}
