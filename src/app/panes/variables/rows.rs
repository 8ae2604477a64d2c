//! One variable: the rows of its states. `heading.rs` draws the heading.

use eframe::egui::{
    self, Align2, Color32, Modifiers, Rect, Response, Sense, Stroke, Ui, pos2, vec2,
};

use crate::app::state::command::{Command, Commands, EvidenceCommand, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::targets;
use crate::network::{Finding, VariableId};

use super::text::{percent, small_font, write_elided};

/// Height of a heading in points.
pub(super) const HEADING_HEIGHT: f32 = 24.0;
/// Height of the row of a state in points.
pub(super) const STATE_HEIGHT: f32 = 20.0;
/// Share of the width for the name of a state; the rest is for its bar and number.
const LABEL_SHARE: f32 = 0.38;
/// Width in points of the number at the right of a row.
pub(super) const NUMBER_WIDTH: f32 = 58.0;
/// Opacity of bars and numbers that are out of date.
const STALE_OPACITY: f32 = 0.4;

/// One variable to draw.
pub(super) struct VariableRow<'a> {
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

impl VariableRow<'_> {
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

    pub(super) fn posterior(&self) -> Option<&[f64]> {
        Some(self.document.result.as_ref()?.posteriors.of(self.variable))
    }

    fn prior(&self) -> Option<&[f64]> {
        Some(self.document.prior.as_ref()?.posteriors.of(self.variable))
    }

    pub(super) fn observed(&self, state: usize) -> bool {
        self.document.evidence.observed(self.variable) == Some(state)
    }

    /// Draws the row of a state, and enters evidence when the row is clicked.
    fn state(&self, ui: &mut Ui, rect: Rect, state: usize, commands: &mut Commands) {
        let variable = &self.document.network()[self.variable];
        let label = &variable.states()[state];
        let posterior = self.posterior().map(|posterior| posterior[state]);
        let prior = self.prior().map(|prior| prior[state]);
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
        self.paint_state(ui, rect, state, &response);
    }

    /// Paints the name, the bar and the probability of a state.
    fn paint_state(&self, ui: &Ui, rect: Rect, state: usize, response: &Response) {
        let label = &self.document.network()[self.variable].states()[state];
        let observed = self.observed(state);
        let palette = Palette::of(ui);
        let painter = ui.painter_at(rect);
        let visuals = ui.style().interact(response);
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
        write_elided(ui, room, label, small_font(ui), ink);

        let track = Rect::from_min_max(
            pos2(split, rect.top() + 3.0),
            pos2(rect.right() - NUMBER_WIDTH, rect.bottom() - 3.0),
        );
        painter.rect_filled(track, 2.0, ui.visuals().extreme_bg_color);
        if let Some(p) = self.posterior().map(|posterior| posterior[state]) {
            let has_evidence = self.document.evidence.get(self.variable).is_some();
            let colour = if has_evidence { palette.evidence } else { palette.posterior };
            let bar =
                Rect::from_min_size(track.min, vec2(track.width() * p as f32, track.height()));
            painter.rect_filled(bar, 2.0, self.dimmed(colour));
            let end = rect.right_center() - vec2(4.0, 0.0);
            let ink = self.dimmed(ink);
            painter.text(end, Align2::RIGHT_CENTER, percent(p), small_font(ui), ink);
        }
        let prior = self.prior().filter(|_| !self.document.evidence.is_empty());
        if let Some(p) = prior.map(|prior| prior[state]) {
            let x = track.left() + track.width() * p as f32;
            painter.vline(x, track.y_range().expand(1.5), Stroke::new(2.0, palette.prior));
        }
    }

    /// The command for a click on `state`. A plain click observes the state, or retracts it if it
    /// is observed. With Alt, the state is excluded. With the command key, the state is added to
    /// the possible states or removed from them. If this leaves no state possible or every state,
    /// the finding is retracted.
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

    /// `colour`, dimmed if the posteriors are out of date.
    pub(super) fn dimmed(&self, colour: Color32) -> Color32 {
        if self.document.is_stale() { colour.gamma_multiply(STALE_OPACITY) } else { colour }
    }
}

/// Draws the tooltip of a state.
fn hover_card(ui: &mut Ui, label: &str, posterior: Option<f64>, prior: Option<f64>) {
    ui.strong(label);
    if let Some(p) = posterior {
        ui.label(format!("posterior {p:.9}"));
    }
    if let Some(p) = prior {
        ui.label(format!("prior {p:.9}"));
    }
    ui.weak(
        "Click: observe or retract. Ctrl+click: one of several possible states. Alt+click: \
         exclude.",
    );
}
