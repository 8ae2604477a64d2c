//! The card shown at the pointer over a variable.

use eframe::egui::{self, RichText, Ui};

use crate::app::panes::common::describe_finding;
use crate::app::state::document::Document;
use crate::app::theme::Palette;
use crate::network::{Finding, VariableId};
use crate::numbers::{counted, percent};

/// Maximum number of states that are listed; further ones are only counted.
const MAX_STATES: usize = 12;

/// Maximum width of the card, in points.
const MAX_WIDTH: f32 = 360.0;

/// Size of the font of the comment and of the states, in points.
const SMALL_FONT: f32 = 12.0;

/// Draws the card of variable `id`.
pub fn show(ui: &mut Ui, document: &Document, id: VariableId) {
    ui.set_max_width(MAX_WIDTH);
    let network = document.network();
    let variable = &network[id];
    ui.strong(variable.name());
    let note = network.annotations().of(id);
    if let Some(title) = &note.title {
        ui.label(title);
    }
    if let Some(comment) = note.comment.as_deref().and_then(|comment| comment.lines().next()) {
        ui.add(egui::Label::new(RichText::new(comment).size(SMALL_FONT).weak()).truncate());
    }
    let (parents, children) = (network.parents(id).len(), network.children(id).len());
    ui.label(format!(
        "{} · {} · {}",
        counted(variable.cardinality(), "state", "states"),
        counted(parents, "parent", "parents"),
        counted(children, "child", "children")
    ));
    if let Some(finding) = document.evidence.get(id) {
        let colour = Palette::of(ui).evidence;
        let text = match finding {
            Finding::Observed(state) => format!("observed: {}", variable.states()[*state]),
            Finding::Likelihood(_) => describe_finding(document, id, finding),
        };
        ui.label(RichText::new(text).color(colour));
    }
    let Some(result) = &document.result else { return };
    egui::Grid::new("posterior").num_columns(2).spacing([12.0, 1.0]).show(ui, |ui| {
        for (state, p) in variable.states().iter().zip(result.posteriors.of(id)).take(MAX_STATES) {
            ui.label(RichText::new(state).size(SMALL_FONT));
            ui.label(RichText::new(percent(*p)).size(SMALL_FONT));
            ui.end_row();
        }
    });
    if variable.cardinality() > MAX_STATES {
        let rest = counted(variable.cardinality() - MAX_STATES, "more state", "more states");
        let rest = format!("and {rest}");
        ui.label(RichText::new(rest).size(SMALL_FONT).weak());
    }
}
