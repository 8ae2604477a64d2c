//! A path that is typed, where the system has no file dialog to show.

use std::path::PathBuf;

use eframe::egui::{self, Key, Modifiers};

use crate::app::dialog::Purpose;

/// The box, with the path so far.
pub(super) struct PathBox {
    purpose: Purpose,
    path: String,
}

impl PathBox {
    /// A box for `purpose`, which begins with what a dialog would suggest.
    pub(super) fn new(purpose: Purpose) -> Self {
        Self { purpose, path: purpose.suggestion().to_owned() }
    }

    /// What the path is for.
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Draws the box. The answer once there is one: a path, or `None` for Cancel.
    pub(super) fn show(&mut self, ctx: &egui::Context) -> Option<Option<PathBuf>> {
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (mut enter, mut cancel) = (pressed(Key::Enter), pressed(Key::Escape));
        let window = egui::Window::new(self.purpose.title()).collapsible(false).resizable(false);
        window.anchor(egui::Align2::CENTER_TOP, [0.0, 80.0]).show(ctx, |ui| {
            ui.set_width(420.0);
            let label = ui.label("This system shows no file dialog. Path:");
            let edit = egui::TextEdit::singleline(&mut self.path).desired_width(f32::INFINITY);
            let edit = ui.add(edit).labelled_by(label.id);
            let focused = ctx.memory(|memory| memory.focused());
            if focused.is_none() {
                edit.request_focus();
            }
            ui.horizontal(|ui| {
                let some = !self.path.trim().is_empty();
                enter |= ui.add_enabled(some, egui::Button::new("Go on")).clicked();
                cancel |= ui.button("Cancel").clicked();
            });
        });
        let path = self.path.trim();
        match (cancel, enter && !path.is_empty()) {
            (true, _) => Some(None),
            // Absolute, so that what is told of it says where it is.
            (false, true) => Some(Some(std::path::absolute(path).unwrap_or_else(|_| path.into()))),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use crate::app::{Settings, Workbench};
    use crate::session::Source;

    use super::*;

    #[test]
    fn a_path_is_typed_where_no_dialog_came_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.open(Source::Named("asia".to_owned()), Vec::new());
        let mut harness = Harness::builder()
            .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
        while !harness.state().is_settled() {
            harness.step();
        }
        let typed = "This system shows no file dialog. Path:";
        let slowly = Duration::from_secs(3);
        harness.state_mut().take_answer(Purpose::SaveEvidence, None, slowly);
        harness.run_steps(3);
        assert!(harness.query_by_label(typed).is_none(), "the user has closed a dialog");

        let at_once = Duration::from_millis(9);
        harness.state_mut().take_answer(Purpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        assert!(harness.query_by_label(typed).is_none());

        harness.state_mut().take_answer(Purpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        let path = folder.path().join("known.json");
        let edit = |harness: &Harness<'_, Workbench>, text: &str| {
            let role = egui::accesskit::Role::TextInput;
            harness.get_by_role_and_label(role, typed).type_text(text);
        };
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.run_steps(2);
        edit(&harness, &path.display().to_string());
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(3);
        assert!(path.exists());
        assert!(harness.query_by_label(typed).is_none());
    }
}
