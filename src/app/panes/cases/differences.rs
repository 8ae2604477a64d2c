//! Posteriors of several cases side by side, or as differences to one of them.

use eframe::egui::{self, Align, Color32, Layout, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

use crate::app::state::cases::Case;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Document;
use crate::app::theme::Palette;
use crate::app::widgets::table::{self, ROW_HEIGHT};
use crate::network::{Evidence, VariableId};
use crate::numbers;
use crate::propagation::Posteriors;

/// Widths of the first two columns, and of each case's at least and at most.
const NAME_WIDTH: f32 = 84.0;
const STATE_WIDTH: f32 = 58.0;
const CASE_WIDTHS: std::ops::RangeInclusive<f32> = 66.0..=130.0;
/// Differences that are not told: what rounding may do.
const SMALLEST: f64 = 5e-6;

/// What the others are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Base {
    /// Nothing: the posteriors stand as they are.
    #[default]
    Nothing,
    /// The posteriors without evidence.
    Prior,
    /// Those of the evidence on screen.
    Now,
    /// Those of a case.
    Case(u64),
}

/// The table and how it is shown.
#[derive(Default)]
pub(super) struct Comparison {
    base: Base,
    largest_first: bool,
    search: String,
}

/// A column: its heading, what is known in it, and what follows.
struct Shown<'a> {
    base: Base,
    name: &'a str,
    evidence: &'a Evidence,
    posteriors: Option<&'a Posteriors>,
}

/// A state of a variable.
type State = (VariableId, usize);

impl Comparison {
    /// Draws the table of the evidence on screen and of `cases`.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        cases: &[&Case],
        commands: &mut Commands,
    ) {
        let shown = columns(document, cases);
        if !shown.iter().any(|column| column.base == self.base) && self.base != Base::Prior {
            self.base = Base::Nothing;
        }
        self.toolbar(ui, &shown);
        let prior = document.prior.as_ref().map(|prior| &prior.posteriors);
        let base = match self.base {
            Base::Nothing => None,
            Base::Prior => prior,
            base => shown.iter().find(|column| column.base == base).and_then(|c| c.posteriors),
        };
        let rows = self.rows(document, &shown, base);
        let gap = ui.spacing().item_spacing.x;
        let others = NAME_WIDTH + STATE_WIDTH + table::MARGIN + 3.0 * gap;
        let room = (ui.available_width() - others) / shown.len() as f32 - gap;
        let each = room.clamp(*CASE_WIDTHS.start(), *CASE_WIDTHS.end());
        let width = others + (each + gap) * shown.len() as f32;
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            ui.set_min_width(width);
            let table = TableBuilder::new(ui)
                .striped(true)
                .column(Column::exact(NAME_WIDTH).clip(true))
                .column(Column::exact(STATE_WIDTH).clip(true))
                .columns(Column::exact(each).clip(true), shown.len())
                .column(Column::exact(table::MARGIN));
            let table = table.header(ROW_HEIGHT, |mut row| {
                for title in ["variable", "state"] {
                    let title = RichText::new(title).strong().small();
                    row.col(|ui| {
                        words(ui, |ui| ui.label(title));
                    });
                }
                for column in &shown {
                    row.col(|ui| heading(ui, column, column.base == self.base));
                }
            });
            table.body(|body| {
                body.rows(ROW_HEIGHT, rows.len(), |mut row| {
                    let (variable, state) = rows[row.index()];
                    let named = &document.network()[variable];
                    row.col(|ui| {
                        let link = egui::Label::new(named.name()).truncate();
                        let response = words(ui, |ui| ui.add(link.sense(egui::Sense::click())));
                        if response.clicked() {
                            commands.push(ViewCommand::Select(Some(Item::Variable(variable))));
                        }
                        if response.hovered() {
                            commands.push(ViewCommand::Hover(Item::Variable(variable)));
                        }
                    });
                    let label = egui::Label::new(&named.states()[state]).truncate();
                    row.col(|ui| {
                        words(ui, |ui| ui.add(label));
                    });
                    for column in &shown {
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

    fn toolbar(&mut self, ui: &mut Ui, shown: &[Shown<'_>]) {
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("Difference to");
            let name = |base: Base| match base {
                Base::Nothing => "none (posteriors)",
                Base::Prior => "no evidence",
                base => shown.iter().find(|column| column.base == base).map_or("", |c| c.name),
            };
            let choice = egui::ComboBox::from_id_salt("base")
                .selected_text(name(self.base))
                .width(90.0)
                .truncate();
            let choice = choice.show_ui(ui, |ui| {
                let columns = shown.iter().map(|column| column.base);
                for base in [Base::Nothing, Base::Prior].into_iter().chain(columns) {
                    ui.selectable_value(&mut self.base, base, name(base));
                }
            });
            choice.response.labelled_by(label.id);
            let largest = ui.checkbox(&mut self.largest_first, "Largest first");
            largest.on_hover_text("Where the cases differ most comes first");
            let edit = egui::TextEdit::singleline(&mut self.search).hint_text("Search");
            ui.add(edit.desired_width(80.0));
        });
    }

    /// The states to show, in order.
    fn rows(
        &self,
        document: &Document,
        shown: &[Shown<'_>],
        base: Option<&Posteriors>,
    ) -> Vec<State> {
        let network = document.network();
        let wanted = self.search.trim().to_lowercase();
        let found = |id: &VariableId| {
            wanted.is_empty() || network[*id].name().to_lowercase().contains(&wanted)
        };
        let states = |id: VariableId| (0..network[id].cardinality()).map(move |state| (id, state));
        let mut rows: Vec<State> = network.ids().filter(found).flat_map(states).collect();
        if self.largest_first {
            // As far as it is from the base, or else as far as any two are apart.
            let largest = |&(variable, state): &State| {
                let values = shown.iter().filter_map(|column| column.posteriors);
                let values = values.map(|posteriors| posteriors.of(variable)[state]);
                let from = base.map(|base| base.of(variable)[state]);
                let (least, most) =
                    values.fold((1.0_f64, 0.0_f64), |(least, most), p| (least.min(p), most.max(p)));
                from.map_or(most - least, |from| (most - from).max(from - least))
            };
            rows.sort_by_cached_key(|row| std::cmp::Reverse(ordered(largest(row))));
        }
        rows
    }
}

/// Words in a cell, at the height of the numbers beside them.
fn words<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.with_layout(Layout::left_to_right(Align::Center), add).inner
}

/// A number from 0 to 1 as one that can be sorted by.
fn ordered(value: f64) -> u64 {
    (value.clamp(0.0, 1.0) * 1e15) as u64
}

fn columns<'a>(document: &'a Document, cases: &[&'a Case]) -> Vec<Shown<'a>> {
    let now = Shown {
        base: Base::Now,
        name: "now",
        evidence: &document.evidence,
        posteriors: document
            .result
            .as_ref()
            .filter(|result| result.evidence == document.evidence)
            .map(|result| &result.posteriors),
    };
    let of_case = |case: &&'a Case| Shown {
        base: Base::Case(case.number),
        name: &case.name,
        evidence: &case.evidence,
        posteriors: case.answer.as_ref().and_then(|answer| answer.as_deref().ok()),
    };
    std::iter::once(now).chain(cases.iter().map(of_case)).collect()
}

fn heading(ui: &mut Ui, column: &Shown<'_>, is_base: bool) {
    let ln = column.posteriors.map(Posteriors::ln_p_evidence);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let mut text = RichText::new(column.name).strong().small();
        if is_base {
            text = text.underline();
        }
        let response = ui.add(egui::Label::new(text).truncate());
        let ln = ln.map_or_else(|| "not computed".to_owned(), |ln| format!("ln P(e) {ln:.6}"));
        response.on_hover_text(format!("{}\n{ln}", column.name));
    });
}

/// A posterior, or its difference to that of the base.
fn cell(ui: &mut Ui, column: &Shown<'_>, base: Option<&Posteriors>, (variable, state): State) {
    let palette = Palette::of(ui);
    let Some(p) = column.posteriors.map(|posteriors| posteriors.of(variable)[state]) else {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.weak("-"));
        return;
    };
    let known = column.evidence.get(variable).is_some();
    let ink = if known { palette.evidence } else { ui.visuals().text_color() };
    let by = base.map(|base| p - base.of(variable)[state]);
    let (text, ground) = match by {
        None => (numbers::percent(p), bar(palette.posterior, p)),
        Some(by) => (difference(by), bar(palette.prior, by.abs())),
    };
    let room = ui.max_rect();
    let share = by.map_or(p, f64::abs) as f32;
    let filled = egui::Rect::from_min_size(
        room.min + egui::vec2(0.0, 2.0),
        egui::vec2(room.width() * share, room.height() - 4.0),
    );
    ui.painter().rect_filled(filled, 2.0, ground);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let said = match by {
            None => format!("posterior {p:.9}"),
            Some(by) => format!("posterior {p:.9}\n{:+.7} percentage points", 100.0 * by),
        };
        ui.label(RichText::new(text).color(ink)).on_hover_text(said);
    });
}

fn bar(colour: Color32, share: f64) -> Color32 {
    if share > 0.0 { colour.gamma_multiply(0.35) } else { Color32::TRANSPARENT }
}

/// A difference of probabilities in percentage points: `+12.34`; `=` where there is none.
fn difference(by: f64) -> String {
    if by.abs() < SMALLEST { "=".to_owned() } else { format!("{:+.2}", 100.0 * by) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign_and_rounding_is_none() {
        assert_eq!(difference(0.25), "+25.00");
        assert_eq!(difference(-0.0123), "-1.23");
        assert_eq!(difference(1e-12), "=");
    }
}
