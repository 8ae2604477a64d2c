//! One variable: its heading and a row for each state.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    self, Align2, Color32, FontId, Modifiers, Rect, Response, Sense, Stroke, TextStyle, Ui, pos2,
    vec2,
};

use crate::app::state::command::{Command, Commands, EvidenceCommand, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::app::widgets::targets;
use crate::network::{Finding, VariableId};

/// Height of a heading in points.
pub(super) const HEADING_HEIGHT: f32 = 24.0;
/// Height of the row of a state in points.
pub(super) const STATE_HEIGHT: f32 = 20.0;
/// Share of the width for the name of a state; the rest is for its bar and number.
const LABEL_SHARE: f32 = 0.38;
/// Width of the number at the right of a row in points.
const NUMBER_WIDTH: f32 = 58.0;
/// Share of the width for the name of a collapsed variable.
const NAME_SHARE: f32 = 0.52;
/// Width in points from which a collapsed variable also shows its most probable state.
const MIN_MODE_WIDTH: f32 = 120.0;
/// Opacity of bars and numbers that are out of date.
const STALE_OPACITY: f32 = 0.4;

/// One variable to draw.
pub(super) struct Row<'a> {
    pub(super) model: &'a Model,
    pub(super) document: &'a Document,
    pub(super) variable: VariableId,
    pub(super) expanded: bool,
}

/// Actions that the pane carries out for a row.
#[derive(Default)]
pub(super) struct RowActions {
    pub(super) toggle_expanded: bool,
    pub(super) edit_likelihood: bool,
}

impl Row<'_> {
    /// Draws the variable into `rect`.
    pub(super) fn show(&self, ui: &mut Ui, rect: Rect, commands: &mut Commands) -> RowActions {
        let mut actions = RowActions::default();
        let heading = Rect::from_min_size(rect.min, vec2(rect.width(), HEADING_HEIGHT));
        self.heading(ui, heading, &mut actions, commands);
        if self.expanded {
            let clip = ui.clip_rect();
            for state in 0..self.document.network()[self.variable].cardinality() {
                let top = heading.bottom() + state as f32 * STATE_HEIGHT;
                let row =
                    Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), STATE_HEIGHT));
                if row.intersects(clip) {
                    self.state(ui, row, state, commands);
                }
            }
        }
        actions
    }

    fn posterior(&self) -> Option<&[f64]> {
        Some(self.document.result.as_ref()?.posteriors.of(self.variable))
    }

    fn prior(&self) -> Option<&[f64]> {
        Some(self.document.prior.as_ref()?.posteriors.of(self.variable))
    }

    fn heading(&self, ui: &mut Ui, rect: Rect, actions: &mut RowActions, commands: &mut Commands) {
        let network = self.document.network();
        let name = network[self.variable].name();
        let fold_rect = Rect::from_min_size(rect.min, vec2(22.0, rect.height()));
        let title_rect = Rect::from_min_max(pos2(fold_rect.right(), rect.top()), rect.max);
        let id = ui.id().with(("variable", self.variable));

        let title = ui.interact(title_rect, id.with("title"), Sense::click());
        title.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, name));
        let fold = ui.interact(fold_rect, id.with("fold"), Sense::click());
        let verb = if self.expanded { "Fold" } else { "Unfold" };
        fold.widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::Button, true, format!("{verb} {name}"))
        });
        if fold.clicked() || title.double_clicked() {
            actions.toggle_expanded = true;
        }
        if title.clicked() {
            commands.push(ViewCommand::Select(Some(Item::Variable(self.variable))));
        }
        if title.hovered() {
            commands.push(ViewCommand::Hover(Item::Variable(self.variable)));
        }
        title.context_menu(|ui| self.menu(ui, actions, commands));

        self.paint_background(ui, rect, &title);
        let painter = ui.painter_at(rect);
        let ink = ui.visuals().text_color();
        let arrow = if self.expanded { "⏷" } else { "⏵" };
        painter.text(fold_rect.center(), Align2::CENTER_CENTER, arrow, small(ui), ink);
        let has_evidence = self.document.evidence.get(self.variable).is_some();
        let colour =
            if has_evidence { Palette::of(ui).evidence } else { ui.visuals().strong_text_color() };
        let split = rect.left() + rect.width() * if self.expanded { 1.0 } else { NAME_SHARE };
        let room = Rect::from_min_max(title_rect.min, pos2(split - 6.0, rect.bottom()));
        let end = write_elided(ui, room, name, body(ui), colour);
        if let Some(title_text) = naming::title(network, self.variable) {
            let room = room.with_min_x((end + 8.0).min(room.right()));
            write_elided(ui, room, title_text, small(ui), ui.visuals().weak_text_color());
            title.on_hover_text(title_text);
        }
        if !self.expanded {
            self.paint_summary(ui, Rect::from_min_max(pos2(split, rect.top()), rect.max));
        }
    }

    fn menu(&self, ui: &mut Ui, actions: &mut RowActions, commands: &mut Commands) {
        if ui.button("Enter likelihood…").clicked() {
            actions.edit_likelihood = true;
            ui.close();
        }
        let has_evidence = self.document.evidence.get(self.variable).is_some();
        if ui.add_enabled(has_evidence, egui::Button::new("Retract")).clicked() {
            commands.push(EvidenceCommand::Retract(self.variable));
            ui.close();
        }
        ui.separator();
        ui.label("Observe");
        egui::ScrollArea::vertical().max_height(280.0).show(ui, |ui| {
            for (state, label) in self.document.network()[self.variable].states().iter().enumerate()
            {
                if ui.selectable_label(self.observed(state), label).clicked() {
                    commands.push(EvidenceCommand::Toggle(self.variable, state));
                    ui.close();
                }
            }
        });
    }

    fn observed(&self, state: usize) -> bool {
        self.document.evidence.observed(self.variable) == Some(state)
    }

    fn paint_background(&self, ui: &Ui, rect: Rect, response: &Response) {
        let hovered = self.model.hover.variable(self.variable) || response.has_focus();
        let selected = self.model.selection.variable(self.variable);
        let visuals = ui.visuals();
        if selected {
            ui.painter().rect_filled(rect, 3.0, visuals.selection.bg_fill.gamma_multiply(0.45));
        } else if hovered {
            ui.painter().rect_filled(rect, 3.0, visuals.widgets.hovered.weak_bg_fill);
        } else {
            ui.painter().rect_filled(rect.shrink2(vec2(0.0, 1.0)), 3.0, visuals.faint_bg_color);
        }
    }

    /// Draws the posterior of a collapsed variable: a bar per state, and the most probable state.
    fn paint_summary(&self, ui: &Ui, rect: Rect) {
        let Some(posterior) = self.posterior() else { return };
        let palette = Palette::of(ui);
        let room = rect.width() - NUMBER_WIDTH;
        let width = if room > MIN_MODE_WIDTH { room * 0.5 } else { room };
        let bars = Rect::from_min_max(rect.min, pos2(rect.left() + width, rect.bottom()));
        let bars = bars.shrink2(vec2(4.0, 4.0));
        let colour = self.dimmed(if self.document.evidence.get(self.variable).is_some() {
            palette.evidence
        } else {
            palette.posterior
        });
        let painter = ui.painter_at(rect);
        let step = bars.width() / posterior.len() as f32;
        let highest = posterior.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (state, &p) in posterior.iter().enumerate() {
            let left = bars.left() + state as f32 * step;
            let gap = if step > 4.0 { 1.0 } else { 0.0 };
            let top = bars.bottom() - bars.height() * (p / highest) as f32;
            let bar = Rect::from_min_max(pos2(left, top), pos2(left + step - gap, bars.bottom()));
            painter.rect_filled(bar, 0.0, colour);
        }
        painter.hline(bars.x_range(), bars.bottom(), Stroke::new(1.0, palette.line));
        let best = (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b]));
        let Some(best) = best else { return };
        let label = &self.document.network()[self.variable].states()[best];
        let number = percent(posterior[best]);
        let ink = self.dimmed(ui.visuals().text_color());
        painter.text(
            rect.right_center() - vec2(4.0, 0.0),
            Align2::RIGHT_CENTER,
            number,
            small(ui),
            ink,
        );
        let room = Rect::from_min_max(
            pos2(bars.right() + 6.0, rect.top()),
            pos2(rect.right() - NUMBER_WIDTH, rect.bottom()),
        );
        write_elided(ui, room, label, small(ui), ink);
    }

    fn state(&self, ui: &mut Ui, rect: Rect, state: usize, commands: &mut Commands) {
        let variable = &self.document.network()[self.variable];
        let label = &variable.states()[state];
        let posterior = self.posterior().map(|p| p[state]);
        let prior = self.prior().map(|p| p[state]);
        let observed = self.observed(state);

        let id = ui.id().with(("state", self.variable, state));
        let response = ui.interact(rect, id, Sense::click());
        response.widget_info(|| {
            let text = match posterior {
                Some(p) => format!("{} = {label}: {}", variable.name(), percent(p)),
                None => format!("{} = {label}", variable.name()),
            };
            egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, observed, text)
        });
        if self.model.pointed == Some((self.variable, state)) {
            targets::mark(&response, "state");
        }
        if response.clicked() {
            let modifiers = ui.input(|input| input.modifiers);
            commands.push(self.click(state, modifiers));
        }
        if response.hovered() {
            commands.push(ViewCommand::Hover(Item::Variable(self.variable)));
        }
        let response = response.on_hover_ui(|ui| hover_card(ui, label, posterior, prior));

        let palette = Palette::of(ui);
        let painter = ui.painter_at(rect);
        let visuals = ui.style().interact(&response);
        if response.hovered() || response.has_focus() {
            painter.rect_filled(rect, 3.0, visuals.weak_bg_fill);
        }
        let split = rect.left() + rect.width() * LABEL_SHARE;
        let ink = if observed { palette.evidence } else { ui.visuals().text_color() };
        let room = Rect::from_min_max(
            pos2(rect.left() + 22.0, rect.top()),
            pos2(split - 6.0, rect.bottom()),
        );
        if observed {
            painter.circle_filled(rect.left_center() + vec2(11.0, 0.0), 3.5, palette.evidence);
        }
        write_elided(ui, room, label, small(ui), ink);

        let track = Rect::from_min_max(
            pos2(split, rect.top() + 3.0),
            pos2(rect.right() - NUMBER_WIDTH, rect.bottom() - 3.0),
        );
        painter.rect_filled(track, 2.0, ui.visuals().extreme_bg_color);
        if let Some(p) = posterior {
            let has_evidence = self.document.evidence.get(self.variable).is_some();
            let colour = if has_evidence { palette.evidence } else { palette.posterior };
            let bar =
                Rect::from_min_size(track.min, vec2(track.width() * p as f32, track.height()));
            painter.rect_filled(bar, 2.0, self.dimmed(colour));
            let end = rect.right_center() - vec2(4.0, 0.0);
            let ink = self.dimmed(ink);
            painter.text(end, Align2::RIGHT_CENTER, percent(p), small(ui), ink);
        }
        if let Some(p) = prior.filter(|_| !self.document.evidence.is_empty()) {
            let x = track.left() + track.width() * p as f32;
            painter.vline(x, track.y_range().expand(1.5), Stroke::new(2.0, palette.prior));
        }
    }

    /// The command for a click on `state`. A plain click observes or retracts it. With Alt the state is
    /// excluded. With the command key it is added to or removed from a set of possible states.
    fn click(&self, state: usize, modifiers: Modifiers) -> Command {
        if !modifiers.alt && !modifiers.command {
            return Command::Evidence(EvidenceCommand::Toggle(self.variable, state));
        }
        let states = 0..self.document.network()[self.variable].cardinality();
        let finding = self.document.evidence.get(self.variable);
        let possible = |s: usize| finding.is_none_or(|finding| finding.weight(s) > 0.0);
        let stays_possible = |s: usize| match (modifiers.alt, s == state) {
            (true, true) => false,
            (true, false) => possible(s),
            // Without a finding the set starts with this state alone.
            (false, true) => finding.is_none() || !possible(s),
            (false, false) => finding.is_some() && possible(s),
        };
        let weights: Box<[f64]> = states.map(|s| f64::from(u8::from(stays_possible(s)))).collect();
        let possible_count = weights.iter().filter(|weight| **weight > 0.0).count();
        if possible_count == 0 || possible_count == weights.len() {
            Command::Evidence(EvidenceCommand::Retract(self.variable))
        } else if possible_count == 1 {
            let only = weights.iter().position(|weight| *weight > 0.0).unwrap_or(state);
            Command::Evidence(EvidenceCommand::Set(self.variable, Finding::Observed(only)))
        } else {
            Command::Evidence(EvidenceCommand::Set(self.variable, Finding::Likelihood(weights)))
        }
    }

    fn dimmed(&self, colour: Color32) -> Color32 {
        if self.document.is_stale() { colour.gamma_multiply(STALE_OPACITY) } else { colour }
    }
}

fn hover_card(ui: &mut Ui, label: &str, posterior: Option<f64>, prior: Option<f64>) {
    ui.strong(label);
    if let Some(p) = posterior {
        ui.label(format!("posterior {p:.9}"));
    }
    if let Some(p) = prior {
        ui.label(format!("prior {p:.9}"));
    }
    ui.weak("Click: observe or retract. Ctrl+click: one of several possible states. Alt+click: exclude.");
}

/// Writes `text` at the left of `room`, with an ellipsis if it does not fit. Returns its right edge.
fn write_elided(ui: &Ui, room: Rect, text: &str, font: FontId, colour: Color32) -> f32 {
    if room.width() < 8.0 {
        return room.left();
    }
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = TextWrapping::truncate_at_width(room.width());
    let galley = ui.painter().layout_job(job);
    let at = room.left_center() - vec2(0.0, galley.size().y / 2.0);
    let end = at.x + galley.size().x;
    ui.painter().galley(at, galley, colour);
    end
}

fn body(ui: &Ui) -> FontId {
    TextStyle::Body.resolve(ui.style())
}

fn small(ui: &Ui) -> FontId {
    FontId { size: TextStyle::Body.resolve(ui.style()).size - 1.0, ..body(ui) }
}

/// A percentage with two decimals, which is never rounded to 0% or 100% unless it is exactly that.
fn percent(p: f64) -> String {
    let hundred = 100.0 * p;
    if p > 0.0 && hundred < 0.005 {
        "<0.01%".to_owned()
    } else if p < 1.0 && hundred > 99.995 {
        ">99.99%".to_owned()
    } else {
        format!("{hundred:.2}%")
    }
}
