//! Entering evidence by clicking states, in the network pane and in the list of variables.

use std::sync::Arc;

use eframe::egui::{self, Button, Modifiers, Response, Ui};

use crate::app::state::command::{Commands, EvidenceCommand, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::{BeliefStatus, Model};
use crate::app::widgets::state_bar::{BarStyle, Mark, StateBar, percent};
use crate::app::widgets::targets;
use crate::network::{Finding, VariableId};

/// Maximum height in points of the list of states in the menu of a variable. A longer list scrolls.
const MAX_MENU_HEIGHT: f32 = 280.0;

/// What a click on a state does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClickAction {
    /// Observe the state, or retract the finding if the state is already observed.
    Toggle,
    /// Exclude the state, or allow it again.
    Exclude,
    /// Add the state to the possible states, or remove it from them.
    Include,
}

impl ClickAction {
    /// What a click with these modifier keys does.
    fn of(modifiers: Modifiers) -> Self {
        match (modifiers.alt, modifiers.command) {
            (true, _) => Self::Exclude,
            (false, true) => Self::Include,
            (false, false) => Self::Toggle,
        }
    }

    /// The command for a click on `state` with this action. Excluding or including a state replaces
    /// likelihoods that were entered: all states that are still possible get weight one, and if
    /// only one is left, it is observed. If no state or every state would be possible, the command
    /// retracts the finding instead.
    fn command(self, document: &Document, variable: VariableId, state: usize) -> EvidenceCommand {
        if self == Self::Toggle {
            return EvidenceCommand::Toggle(variable, state);
        }
        let finding = document.evidence.get(variable);
        let possible = |s: usize| finding.is_none_or(|finding| finding.weight(s) > 0.0);
        let possible_after = |s: usize| match (self, s == state) {
            (_, true) if finding.is_some() => !possible(s),
            // Without a finding, the set of possible states starts with this state alone.
            (Self::Include, is_this) if finding.is_none() => is_this,
            (_, is_this) => !is_this && possible(s),
        };
        let states = 0..document.network()[variable].cardinality();
        let weights: Box<[f64]> = states.map(|s| f64::from(u8::from(possible_after(s)))).collect();
        let possible_count = weights.iter().filter(|weight| **weight > 0.0).count();
        if possible_count == 0 || possible_count == weights.len() {
            EvidenceCommand::Retract(variable)
        } else if possible_count == 1 {
            let only = weights.iter().position(|weight| *weight > 0.0).unwrap_or(state);
            EvidenceCommand::Set(variable, Finding::Observed(only))
        } else {
            EvidenceCommand::Set(variable, Finding::Likelihood(weights))
        }
    }
}

/// A state of a variable in a pane: what its row shows and what the row's clicks do.
#[derive(Clone, Copy)]
pub(in crate::app::panes) struct StateRow<'a> {
    pub model: &'a Model,
    pub document: &'a Document,
    pub variable: VariableId,
    pub state: usize,
}

impl StateRow<'_> {
    /// The name of the state.
    pub fn label(&self) -> &str {
        &self.document.network()[self.variable].states()[self.state]
    }

    /// The probability of the state: posterior or belief so far; `None` if there is none yet.
    fn probability(&self) -> Option<f64> {
        Some(self.model.belief(self.variable)?[self.state])
    }

    /// The prior of the state; `None` if there is none yet.
    fn prior(&self) -> Option<f64> {
        Some(self.document.prior.as_ref()?.posteriors.of(self.variable)[self.state])
    }

    /// What the row shows.
    pub fn bar(&self) -> StateBar {
        let finding = self.document.evidence.get(self.variable);
        let mark = match finding {
            None => Mark::None,
            Some(Finding::Observed(state)) if *state == self.state => Mark::Observed,
            Some(Finding::Observed(_)) => Mark::None,
            Some(finding) if finding.weight(self.state) > 0.0 => Mark::Possible,
            Some(_) => Mark::Excluded,
        };
        StateBar {
            label: Arc::from(self.label()),
            probability: self.probability(),
            prior: self.prior().filter(|_| !self.document.evidence.is_empty()),
            mark,
            has_finding: finding.is_some(),
            style: match self.model.belief_status() {
                BeliefStatus::Current => BarStyle::Filled,
                BeliefStatus::Stale => BarStyle::Faded,
                BeliefStatus::SoFar => BarStyle::Outlined,
            },
        }
    }

    /// Names the row for screen readers. `place` is added to the name where the same state may be
    /// on screen twice.
    pub fn name(&self, response: &Response, place: &str) {
        let variable = &self.document.network()[self.variable];
        let observed = self.document.evidence.observed(self.variable) == Some(self.state);
        response.widget_info(|| {
            let (name, label) = (variable.name(), self.label());
            let mut text = if place.is_empty() {
                format!("{name} = {label}")
            } else {
                format!("{place}: {label} of {name}")
            };
            if let Some(p) = self.probability() {
                text = format!("{text}: {}", percent(p, 2));
                if self.model.belief_status() == BeliefStatus::SoFar {
                    text.push_str(" so far");
                }
            }
            egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, observed, text)
        });
    }

    /// Enters evidence when the row is clicked, opens the menu of the state, and lets all panes
    /// highlight the variable while the pointer is over the row.
    ///
    /// If the row is the one that a lesson points at, it is marked as `target`.
    pub fn respond(
        &self,
        ui: &Ui,
        response: &Response,
        target: &'static str,
        commands: &mut Commands,
    ) {
        if self.model.pointed == Some((self.variable, self.state)) {
            targets::mark(response, target);
        }
        if response.clicked() {
            let action = ClickAction::of(ui.input(|input| input.modifiers));
            commands.push(action.command(self.document, self.variable, self.state));
        }
        if response.hovered() {
            commands.push(ViewCommand::Hover(Item::Variable(self.variable)));
        }
        response.context_menu(|ui| self.menu(ui, commands));
    }

    /// Draws the menu of the state.
    fn menu(&self, ui: &mut Ui, commands: &mut Commands) {
        let label = self.label();
        let (document, variable) = (self.document, self.variable);
        let finding = document.evidence.get(variable);
        let observed = document.evidence.observed(variable) == Some(self.state);
        let possible = finding.is_none_or(|finding| finding.weight(self.state) > 0.0);
        let verb = if observed { "Retract" } else { "Observe" };
        let exclude = if possible { "Exclude" } else { "Allow" };
        let include = match (finding.is_some() && possible, finding.is_some()) {
            (true, _) => format!("Remove {label} from the possible states"),
            (false, true) => format!("Add {label} to the possible states"),
            (false, false) => format!("Begin a set of possible states with {label}"),
        };
        for (title, keys, action) in [
            (format!("{verb} {label}"), "Click", ClickAction::Toggle),
            (format!("{exclude} {label}"), "Alt+click", ClickAction::Exclude),
            (include, "Ctrl+click", ClickAction::Include),
        ] {
            if ui.add(Button::new(title).shortcut_text(keys)).clicked() {
                commands.push(action.command(document, variable, self.state));
                ui.close();
            }
        }
        ui.separator();
        variable_items(ui, document, variable, commands);
    }

    /// Draws the tooltip of the state.
    pub fn hover_card(&self, ui: &mut Ui) {
        ui.strong(self.label());
        if let Some(p) = self.probability() {
            let name = match self.model.belief_status() {
                BeliefStatus::SoFar => "belief so far",
                BeliefStatus::Stale => "posterior (stale)",
                BeliefStatus::Current => "posterior",
            };
            ui.label(format!("{name} {p:.9}"));
        }
        if let Some(p) = self.prior() {
            ui.label(format!("prior {p:.9}"));
        }
        ui.weak(
            "Click: observe or retract. Ctrl+click: add to or remove from the possible states. \
             Alt+click: exclude or allow. Right click: menu.",
        );
    }
}

/// Draws the menu of a variable, with all its states.
pub(in crate::app::panes) fn variable_menu(
    ui: &mut Ui,
    document: &Document,
    variable: VariableId,
    commands: &mut Commands,
) {
    variable_items(ui, document, variable, commands);
    ui.separator();
    ui.label("Observe");
    egui::ScrollArea::vertical().max_height(MAX_MENU_HEIGHT).show(ui, |ui| {
        for (state, label) in document.network()[variable].states().iter().enumerate() {
            let observed = document.evidence.observed(variable) == Some(state);
            if ui.selectable_label(observed, label).clicked() {
                commands.push(EvidenceCommand::Toggle(variable, state));
                ui.close();
            }
        }
    });
}

/// Draws the items of a menu that concern all states of the variable.
fn variable_items(ui: &mut Ui, document: &Document, variable: VariableId, commands: &mut Commands) {
    if ui.button("Enter likelihoods…").clicked() {
        commands.push(ViewCommand::EditLikelihood(Some(variable)));
        ui.close();
    }
    let has_finding = document.evidence.get(variable).is_some();
    if ui.add_enabled(has_finding, Button::new("Retract the finding")).clicked() {
        commands.push(EvidenceCommand::Retract(variable));
        ui.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model_with;

    #[test]
    fn a_click_with_a_modifier_excludes_or_adds_a_state() {
        let network = "child"; // Disease has six states.
        let mut model = model_with(network, "sequential", &[]);
        let document = model.document.as_mut().unwrap();
        let variable = document.network().find("Disease").unwrap();
        let mut click = |modifiers: Modifiers, state: usize| {
            let command = ClickAction::of(modifiers).command(document, variable, state);
            match command {
                EvidenceCommand::Set(variable, finding) => {
                    document.evidence.insert(variable, finding);
                }
                EvidenceCommand::Retract(variable) => _ = document.evidence.retract(variable),
                other => panic!("{other:?}"),
            }
            let finding = document.evidence.get(variable);
            let states = 0..document.network()[variable].cardinality();
            states.filter(|&s| finding.is_none_or(|f| f.weight(s) > 0.0)).collect::<Vec<_>>()
        };
        assert_eq!(click(Modifiers::ALT, 2), [0, 1, 3, 4, 5]);
        assert_eq!(click(Modifiers::ALT, 0), [1, 3, 4, 5]);
        assert_eq!(click(Modifiers::ALT, 2), [1, 2, 3, 4, 5], "a second Alt+click allows it");
        assert_eq!(click(Modifiers::ALT, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(click(Modifiers::COMMAND, 4), [4]);
        assert_eq!(click(Modifiers::COMMAND, 1), [1, 4]);
        assert_eq!(click(Modifiers::COMMAND, 4), [1]);
        assert_eq!(click(Modifiers::COMMAND, 1).len(), 6, "no state is left: retracted");
        let toggle = ClickAction::of(Modifiers::SHIFT).command(document, variable, 3);
        assert_eq!(toggle, EvidenceCommand::Toggle(variable, 3));
    }
}
