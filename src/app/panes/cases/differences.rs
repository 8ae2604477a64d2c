//! Posteriors of several cases side by side, or as differences from one case, from the current
//! evidence or from no evidence.

use eframe::egui::{self, Align, Color32, Layout, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

use crate::app::state::case::Case;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::table::{self, ROW_HEIGHT};
use crate::network::{Evidence, VariableId};
use crate::numbers;
use crate::propagation::Posteriors;

/// Width of the column of variables, in points.
const NAME_WIDTH: f32 = 84.0;
/// Width of the column of states, in points.
const STATE_WIDTH: f32 = 58.0;
/// Range of the width of a case's column, in points.
const CASE_WIDTHS: std::ops::RangeInclusive<f32> = 66.0..=130.0;
/// Minimum difference of two probabilities that is shown as a number: 0.005 percentage points, half
/// a unit of the last digit shown. A smaller difference would read `+0.00` or `-0.00` and is shown
/// as `=`.
const MIN_DIFFERENCE: f64 = 5e-5;

/// What the columns are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Base {
    /// Nothing: posteriors are shown rather than differences.
    #[default]
    None,
    /// The posteriors without evidence.
    Prior,
    /// The posteriors given the evidence of the document.
    Current,
    /// The posteriors of the case with this number.
    Case(u64),
}

/// The view state of the table.
#[derive(Default)]
pub(super) struct CaseComparison {
    base: Base,
    /// Whether the rows with the largest differences come first.
    largest_first: bool,
    search: String,
}

/// A column: a name, evidence, and the posteriors given that evidence if they have been computed.
struct CaseColumn<'a> {
    /// The base of the comparison when the columns are compared with this column.
    base: Base,
    name: &'a str,
    evidence: &'a Evidence,
    posteriors: Option<&'a Posteriors>,
}

/// A state of a variable.
type State = (VariableId, usize);

impl CaseComparison {
    /// Draws the table for the evidence of the document and for `cases`.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        cases: &[&Case],
        commands: &mut Commands,
    ) {
        let columns = case_columns(document, cases);
        if !columns.iter().any(|column| column.base == self.base) && self.base != Base::Prior {
            self.base = Base::None;
        }
        self.toolbar(ui, &columns);
        let base = self.base_posteriors(document, &columns);
        let rows = self.rows(document, &columns, base);
        let gap = ui.spacing().item_spacing.x;
        let others = NAME_WIDTH + STATE_WIDTH + table::MARGIN + 3.0 * gap;
        let room = (ui.available_width() - others) / columns.len() as f32 - gap;
        let case_width = room.clamp(*CASE_WIDTHS.start(), *CASE_WIDTHS.end());
        let width = others + (case_width + gap) * columns.len() as f32;
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            ui.set_min_width(width);
            let table = TableBuilder::new(ui)
                .striped(true)
                .column(Column::exact(NAME_WIDTH).clip(true))
                .column(Column::exact(STATE_WIDTH).clip(true))
                .columns(Column::exact(case_width).clip(true), columns.len())
                .column(Column::exact(table::MARGIN));
            let table = table.header(ROW_HEIGHT, |mut row| {
                for title in ["variable", "state"] {
                    let title = RichText::new(title).strong().small();
                    row.col(|ui| {
                        left_aligned(ui, |ui| ui.label(title));
                    });
                }
                for column in &columns {
                    row.col(|ui| heading(ui, document, column, column.base == self.base));
                }
            });
            table.body(|body| {
                body.rows(ROW_HEIGHT, rows.len(), |mut row| {
                    let (variable, state) = rows[row.index()];
                    row.col(|ui| variable_cell(ui, document, variable, commands));
                    let name = &document.network()[variable].states()[state];
                    row.col(|ui| {
                        left_aligned(ui, |ui| ui.add(egui::Label::new(name).truncate()));
                    });
                    for column in &columns {
                        row.col(|ui| {
                            let is_base = column.base == self.base;
                            let base = base.filter(|_| !is_base);
                            cell(ui, column, base, (variable, state));
                        });
                    }
                });
            });
        });
    }

    /// The posteriors that the columns are compared with. `None` if posteriors are shown rather
    /// than differences, or if the base has no posteriors.
    fn base_posteriors<'a>(
        &self,
        document: &'a Document,
        columns: &[CaseColumn<'a>],
    ) -> Option<&'a Posteriors> {
        match self.base {
            Base::None => None,
            Base::Prior => document.prior.as_ref().map(|prior| &prior.posteriors),
            base => columns.iter().find(|column| column.base == base)?.posteriors,
        }
    }

    /// Draws the choice of the base, the order of the rows and the search field.
    fn toolbar(&mut self, ui: &mut Ui, columns: &[CaseColumn<'_>]) {
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("Difference from");
            let name = |base: Base| match base {
                Base::None => "none (posteriors)",
                Base::Prior => "no evidence",
                base => columns.iter().find(|column| column.base == base).map_or("", |c| c.name),
            };
            let choice = egui::ComboBox::from_id_salt("base")
                .selected_text(name(self.base))
                .width(90.0)
                .truncate();
            let choice = choice.show_ui(ui, |ui| {
                let bases = columns.iter().map(|column| column.base);
                for base in [Base::None, Base::Prior].into_iter().chain(bases) {
                    ui.selectable_value(&mut self.base, base, name(base));
                }
            });
            choice.response.labelled_by(label.id);
            let largest = ui.checkbox(&mut self.largest_first, "Largest first");
            largest.on_hover_text("Show the rows with the largest differences first");
            let edit = egui::TextEdit::singleline(&mut self.search).hint_text("Search");
            ui.add(edit.desired_width(80.0));
        });
    }

    /// The states of the variables whose names contain the search text, in network order or with
    /// the largest differences first.
    fn rows(
        &self,
        document: &Document,
        columns: &[CaseColumn<'_>],
        base: Option<&Posteriors>,
    ) -> Vec<State> {
        let network = document.network();
        let text = self.search.trim().to_lowercase();
        let found =
            |id: &VariableId| text.is_empty() || network[*id].name().to_lowercase().contains(&text);
        let states = |id: VariableId| (0..network[id].cardinality()).map(move |state| (id, state));
        let mut rows: Vec<State> = network.ids().filter(found).flat_map(states).collect();
        if self.largest_first {
            // The largest difference from the base or, without a base, between any two columns.
            let largest = |&(variable, state): &State| {
                let values = columns.iter().filter_map(|column| column.posteriors);
                let values = values.map(|posteriors| posteriors.of(variable)[state]);
                let base = base.map(|base| base.of(variable)[state]);
                let (min, max) =
                    values.fold((1.0_f64, 0.0_f64), |(min, max), p| (min.min(p), max.max(p)));
                base.map_or(max - min, |base| (max - base).max(base - min))
            };
            rows.sort_by_cached_key(|row| std::cmp::Reverse(sort_key(largest(row))));
        }
        rows
    }
}

/// Draws the name of a variable, which selects the variable when clicked.
fn variable_cell(ui: &mut Ui, document: &Document, variable: VariableId, commands: &mut Commands) {
    let link = egui::Label::new(document.network()[variable].name()).truncate();
    let response = left_aligned(ui, |ui| ui.add(link.sense(egui::Sense::click())));
    if response.clicked() {
        commands.push(ViewCommand::Select(Some(Item::Variable(variable))));
    }
    if response.hovered() {
        commands.push(ViewCommand::Hover(Item::Variable(variable)));
    }
}

/// Draws the contents of a cell left-aligned and, like the numbers, vertically centred.
fn left_aligned<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.with_layout(Layout::left_to_right(Align::Center), add).inner
}

/// A number from 0 to 1 as an integer with the same order.
fn sort_key(value: f64) -> u64 {
    (value.clamp(0.0, 1.0) * 1e15) as u64
}

/// The columns: the evidence of the document first, then the cases.
fn case_columns<'a>(document: &'a Document, cases: &[&'a Case]) -> Vec<CaseColumn<'a>> {
    let current = CaseColumn {
        base: Base::Current,
        name: "current",
        evidence: &document.evidence,
        posteriors: document
            .result
            .as_ref()
            .filter(|result| result.evidence == document.evidence)
            .map(|result| &result.posteriors),
    };
    let case_column = |case: &&'a Case| CaseColumn {
        base: Base::Case(case.number),
        name: &case.name,
        evidence: &case.evidence,
        posteriors: case.answer.as_ref().and_then(|answer| answer.as_deref().ok()),
    };
    std::iter::once(current).chain(cases.iter().map(case_column)).collect()
}

/// Draws the name of a column, with ln P(e) or ln Z(e) in the tooltip.
fn heading(ui: &mut Ui, document: &Document, column: &CaseColumn<'_>, is_base: bool) {
    let ln_p_evidence = column.posteriors.map(Posteriors::ln_p_evidence);
    let symbol = if document.network().is_bayesian() { "ln P(e)" } else { "ln Z(e)" };
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let mut text = RichText::new(column.name).strong().small();
        if is_base {
            text = text.underline();
        }
        let response = ui.add(egui::Label::new(text).truncate());
        let text = ln_p_evidence
            .map_or_else(|| "no posteriors".to_owned(), |value| format!("{symbol} {value:.6}"));
        response.on_hover_text(format!("{}\n{text}", column.name));
    });
}

/// Draws the posterior of a state, or its difference from `base` if there is one.
fn cell(ui: &mut Ui, column: &CaseColumn<'_>, base: Option<&Posteriors>, (variable, state): State) {
    let palette = Palette::of(ui);
    let Some(p) = column.posteriors.map(|posteriors| posteriors.of(variable)[state]) else {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.weak("-"));
        return;
    };
    let has_evidence = column.evidence.get(variable).is_some();
    let ink = if has_evidence { palette.evidence } else { ui.visuals().text_color() };
    let change = base.map(|base| p - base.of(variable)[state]);
    let (text, background) = match change {
        None => (numbers::percent(p), bar_colour(palette.posterior, p)),
        Some(change) => (difference(change), bar_colour(palette.prior, change.abs())),
    };
    let room = ui.max_rect();
    let share = change.map_or(p, f64::abs) as f32;
    let filled = egui::Rect::from_min_size(
        room.min + egui::vec2(0.0, 2.0),
        egui::vec2(room.width() * share, room.height() - 4.0),
    );
    ui.painter().rect_filled(filled, 2.0, background);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let hint = match change {
            None => format!("posterior {p:.9}"),
            Some(change) => format!("posterior {p:.9}\n{:+.7} percentage points", 100.0 * change),
        };
        ui.label(RichText::new(text).color(ink)).on_hover_text(hint);
    });
}

/// The colour of a bar of length `share`; transparent if the length is zero.
fn bar_colour(colour: Color32, share: f64) -> Color32 {
    if share > 0.0 { colour.gamma_multiply(0.35) } else { Color32::TRANSPARENT }
}

/// A difference of probabilities in percentage points, such as `+12.34`; `=` if its absolute value
/// is below [`MIN_DIFFERENCE`].
fn difference(change: f64) -> String {
    if change.abs() < MIN_DIFFERENCE { "=".to_owned() } else { format!("{:+.2}", 100.0 * change) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign_and_those_that_would_round_to_zero_are_shown_as_equal() {
        assert_eq!(difference(0.25), "+25.00");
        assert_eq!(difference(-0.0123), "-1.23");
        assert_eq!((difference(5.1e-5).as_str(), difference(-5.1e-5).as_str()), ("+0.01", "-0.01"));
        assert_eq!((difference(4.9e-5).as_str(), difference(-4.9e-5).as_str()), ("=", "="));
        assert_eq!(difference(0.0), "=");
    }
}
