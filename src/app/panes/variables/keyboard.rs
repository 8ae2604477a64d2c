//! Moving through the list of variables by keyboard.
//!
//! The list is one stop of the Tab key, and arrow keys move within it, as in a tree of files. If
//! every row were a stop, leaving a long list would take hundreds of presses.

use eframe::egui::{Event, FocusDirection, Id, Key, Modifiers, Sense, Ui};

use super::rows::{HEADING_HEIGHT, STATE_HEIGHT};
use crate::network::{Network, VariableId};

/// The keys that move in the list.
const KEYS: [Key; 6] =
    [Key::ArrowUp, Key::ArrowDown, Key::ArrowLeft, Key::ArrowRight, Key::Home, Key::End];

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The variable.
    pub(super) variable: VariableId,
    /// The state; `None` for the heading of the variable.
    pub(super) state: Option<usize>,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAction {
    /// Move to this row.
    MoveTo(Row),
    /// Expand this variable, or collapse it.
    Toggle(VariableId),
}

/// The variables in the list, and where they are.
pub(super) struct Listed<'a> {
    pub(super) network: &'a Network,
    /// The variables, in ascending order.
    pub(super) variables: &'a [VariableId],
    /// The upper edge of each variable, and the lower edge of the last one, in points from the top
    /// of the list.
    pub(super) tops: Vec<f32>,
}

impl Row {
    /// The heading of `variable`.
    pub(super) fn heading(variable: VariableId) -> Self {
        Self { variable, state: None }
    }

    /// The id of the row in the list that `ui` draws.
    pub(super) fn id(self, ui: &Ui) -> Id {
        ui.id().with(("row", self.variable, self.state))
    }

    /// What the row reacts to: to clicks and, if it is the stop of the Tab key, to the keyboard.
    pub(super) fn sense(self, stop: Option<Self>) -> Sense {
        if stop == Some(self) { Sense::click() } else { Sense::CLICK }
    }

    /// The upper and the lower edge of the row in the list, in points. `None` if the variable is
    /// not in the list.
    pub(super) fn range(self, listed: &Listed<'_>) -> Option<(f32, f32)> {
        let top = listed.tops[listed.variables.binary_search(&self.variable).ok()?];
        Some(match self.state {
            None => (top, top + HEADING_HEIGHT),
            Some(state) => {
                let top = top + HEADING_HEIGHT + state as f32 * STATE_HEIGHT;
                (top, top + STATE_HEIGHT)
            }
        })
    }

    /// Follows the keys that were pressed while this row has the focus. Returns the row that they
    /// lead to, and the variable to expand or to collapse.
    pub(super) fn follow_keys(
        self,
        ui: &Ui,
        listed: &Listed<'_>,
        is_expanded: impl Fn(VariableId) -> bool,
    ) -> (Self, Option<VariableId>) {
        // Several keys may be pressed in a frame that takes long.
        let pressed: Vec<Key> = ui.input_mut(|input| {
            let is_pressed = |event: &Event| match event {
                Event::Key { key, pressed: true, modifiers, .. } if modifiers.is_none() => {
                    KEYS.contains(key).then_some(*key)
                }
                _ => None,
            };
            let pressed = input.events.iter().filter_map(is_pressed).collect();
            KEYS.iter().for_each(|key| _ = input.consume_key(Modifiers::NONE, *key));
            pressed
        });
        if !pressed.is_empty() {
            // Otherwise egui would move the focus to the next widget in the arrow's direction.
            ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
        }
        let mut row = self;
        for key in pressed {
            match row.after(key, listed, &is_expanded) {
                Some(KeyAction::MoveTo(next)) => row = next,
                Some(KeyAction::Toggle(variable)) => return (row, Some(variable)),
                None => {}
            }
        }
        (row, None)
    }

    /// What `key` does in this row. `None` if it does nothing, or if the row is not in the list.
    fn after(
        self,
        key: Key,
        listed: &Listed<'_>,
        is_expanded: impl Fn(VariableId) -> bool,
    ) -> Option<KeyAction> {
        let Self { variable, state } = self;
        let index = listed.variables.binary_search(&variable).ok()?;
        let expanded = is_expanded(variable);
        let last_of = |variable: VariableId| {
            let last = listed.network[variable].cardinality() - 1;
            Self { variable, state: is_expanded(variable).then_some(last) }
        };
        let target = match (key, state) {
            (Key::ArrowDown, None) if expanded => Self { variable, state: Some(0) },
            (Key::ArrowDown, Some(state)) if self != last_of(variable) => {
                Self { variable, state: Some(state + 1) }
            }
            (Key::ArrowDown, _) => Self::heading(*listed.variables.get(index + 1)?),
            (Key::ArrowUp, None) => last_of(listed.variables[index.checked_sub(1)?]),
            (Key::ArrowUp, Some(state)) => Self { variable, state: state.checked_sub(1) },
            (Key::ArrowRight, None) if expanded => Self { variable, state: Some(0) },
            (Key::ArrowLeft, Some(_)) => Self::heading(variable),
            (Key::ArrowRight, None) => return Some(KeyAction::Toggle(variable)),
            (Key::ArrowLeft, None) if expanded => return Some(KeyAction::Toggle(variable)),
            (Key::Home, _) => Self::heading(*listed.variables.first()?),
            (Key::End, _) => last_of(*listed.variables.last()?),
            _ => return None,
        };
        Some(KeyAction::MoveTo(target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::open;

    #[test]
    fn arrow_keys_visit_every_row_and_open_and_close_variables() {
        let network = open("asia").unwrap().network;
        let variables: Vec<VariableId> = network.ids().take(3).collect();
        let listed = Listed { network: &network, variables: &variables, tops: vec![0.0; 4] };
        let row = |variable: usize, state| Row { variable: variables[variable], state };
        // The variable in the middle is expanded.
        let after = |row: Row, key| row.after(key, &listed, |variable| variable == variables[1]);
        let all = [row(0, None), row(1, None), row(1, Some(0)), row(1, Some(1)), row(2, None)];
        for pair in all.windows(2) {
            assert_eq!(after(pair[0], Key::ArrowDown), Some(KeyAction::MoveTo(pair[1])));
            assert_eq!(after(pair[1], Key::ArrowUp), Some(KeyAction::MoveTo(pair[0])));
        }
        assert_eq!((after(all[0], Key::ArrowUp), after(all[4], Key::ArrowDown)), (None, None));
        assert_eq!(after(all[0], Key::ArrowRight), Some(KeyAction::Toggle(variables[0])));
        assert_eq!(after(all[0], Key::ArrowLeft), None);
        assert_eq!(after(all[1], Key::ArrowLeft), Some(KeyAction::Toggle(variables[1])));
        assert_eq!(after(all[1], Key::ArrowRight), Some(KeyAction::MoveTo(all[2])));
        assert_eq!(after(all[3], Key::ArrowLeft), Some(KeyAction::MoveTo(all[1])));
        assert_eq!(after(all[2], Key::End), Some(KeyAction::MoveTo(all[4])));
        assert_eq!(after(all[2], Key::Home), Some(KeyAction::MoveTo(all[0])));
    }
}
