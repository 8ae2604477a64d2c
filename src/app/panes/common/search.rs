//! The search field of a picture.

use eframe::egui::{Key, TextEdit, Ui, WidgetInfo, WidgetType};
use fixedbitset::FixedBitSet;

/// Tooltip of the search field.
const TOOLTIP: &str = "Enter: go to the next item found. Shift+Enter: go to the one before.";

/// A search text and the items found.
#[derive(Default)]
pub(in crate::app::panes) struct Search {
    text: String,
    /// The items found, by index; `None` while the text is empty.
    found: Option<FixedBitSet>,
    /// Index of the item that Enter selected last.
    last: Option<usize>,
}

impl Search {
    /// The items found; `None` while the search text is empty.
    pub fn matches(&self) -> Option<&FixedBitSet> {
        self.found.as_ref()
    }

    /// Draws the search field called `name`. `find` is passed the text in lower case, and
    /// returns the items that match it. When the user presses Enter, returns the next item found,
    /// and after the last one the first; with Shift, the one before, and before the first one the
    /// last.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        (name, hint): (&str, &str),
        find: impl FnOnce(&str) -> FixedBitSet,
    ) -> Option<usize> {
        let edit = TextEdit::singleline(&mut self.text).hint_text(hint).desired_width(130.0);
        let response = ui.add(edit).on_hover_text(TOOLTIP);
        response.widget_info(|| WidgetInfo::labeled(WidgetType::TextEdit, true, name));
        if response.changed() {
            self.last = None;
            let text = self.text.trim().to_lowercase();
            self.found = (!text.is_empty()).then(|| find(&text));
        }
        let found = self.found.as_ref()?;
        let (entered, backwards) =
            ui.input(|input| (input.key_pressed(Key::Enter), input.modifiers.shift));
        let chosen = if response.lost_focus() && entered {
            // Keep the focus, so that Enter can be pressed again.
            response.request_focus();
            self.last = next(found, self.last, backwards);
            self.last
        } else {
            None
        };
        ui.weak(summary(found, self.last));
        chosen
    }
}

/// The next item of `found` after `last`, or before it if `backwards`. If there is no further item,
/// begins again at the other end. `None` if nothing was found.
fn next(found: &FixedBitSet, last: Option<usize>, backwards: bool) -> Option<usize> {
    if backwards {
        let before = found.ones().rev().find(|&item| last.is_none_or(|last| item < last));
        before.or_else(|| found.ones().next_back())
    } else {
        let after = found.ones().find(|&item| last.is_none_or(|last| item > last));
        after.or_else(|| found.ones().next())
    }
}

/// How many items were found, and which of them was selected last: `3 of 90`.
fn summary(found: &FixedBitSet, last: Option<usize>) -> String {
    let count = found.count_ones(..);
    match last {
        _ if count == 0 => "none".to_owned(),
        Some(last) => format!("{} of {count}", found.count_ones(..last + 1)),
        None => format!("{count} found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_goes_round_the_items_found_in_both_directions() {
        let mut found = FixedBitSet::with_capacity(10);
        found.extend([2, 5, 9]);
        assert_eq!(summary(&found, None), "3 found");
        let mut last = None;
        let forwards: Vec<_> = (0..4)
            .map(|_| {
                last = next(&found, last, false);
                summary(&found, last)
            })
            .collect();
        assert_eq!(forwards, ["1 of 3", "2 of 3", "3 of 3", "1 of 3"]);
        assert_eq!(next(&found, last, true), Some(9));
        assert_eq!(next(&found, None, true), Some(9));
        let none = FixedBitSet::with_capacity(10);
        assert_eq!((next(&none, None, false), summary(&none, None)), (None, "none".to_owned()));
    }
}
