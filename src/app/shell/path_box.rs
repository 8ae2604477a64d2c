//! A path that is typed, where the system has no file dialog to show.

use std::path::PathBuf;

use eframe::egui::{self, Key, Modifiers};

use crate::app::state::file_purpose::FilePurpose;
use crate::app::theme::Palette;

/// The box, with the path so far.
pub(crate) struct PathBox {
    purpose: FilePurpose,
    path: String,
    /// The path has the focus, and what is suggested was selected.
    has_begun: bool,
    /// The path of a file that is there, and whose replacement was asked about.
    asked: Option<String>,
    /// Why the path cannot be used, and which it was.
    problem: Option<(String, &'static str)>,
}

impl PathBox {
    /// A box for `purpose`, which begins with what a dialog would suggest.
    pub(crate) fn new(purpose: FilePurpose) -> Self {
        Self {
            purpose,
            path: purpose.suggestion().to_owned(),
            has_begun: false,
            asked: None,
            problem: None,
        }
    }

    /// What the path is for.
    pub(crate) fn purpose(&self) -> FilePurpose {
        self.purpose
    }

    /// Draws the box. The answer once there is one: a path, or `None` for Cancel.
    pub(crate) fn show(&mut self, ctx: &egui::Context) -> Option<Option<PathBuf>> {
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (mut enter, mut cancel) = (pressed(Key::Enter), pressed(Key::Escape));
        let window = egui::Window::new(self.purpose.title()).collapsible(false).resizable(false);
        window.anchor(egui::Align2::CENTER_TOP, [0.0, 80.0]).show(ctx, |ui| {
            ui.set_width(420.0);
            let label = ui.label("This system shows no file dialog. Path:");
            let edit = egui::TextEdit::singleline(&mut self.path).desired_width(f32::INFINITY);
            let edit = ui.add(edit).labelled_by(label.id);
            if edit.has_focus() && !std::mem::replace(&mut self.has_begun, true) {
                select_all(ctx, edit.id, &self.path);
            }
            if !self.has_begun || ctx.memory(|memory| memory.focused()).is_none() {
                edit.request_focus();
            }
            let asks = self.asked.as_deref() == Some(self.path.trim());
            if asks {
                ui.colored_label(Palette::of(ui).warning, "There is a file of this name.");
            }
            if let Some((_, problem)) =
                self.problem.as_ref().filter(|(path, _)| path == self.path.trim())
            {
                ui.colored_label(Palette::of(ui).error, *problem);
            }
            ui.horizontal(|ui| {
                let some = !self.path.trim().is_empty();
                let go_on = if asks { "Replace it" } else { "Go on" };
                enter |= ui.add_enabled(some, egui::Button::new(go_on)).clicked();
                cancel |= ui.button("Cancel").clicked();
            });
        });
        let path = self.path.trim();
        if enter
            && self.purpose.writes_file()
            && std::path::Path::new(path).is_file()
            && self.asked.as_deref() != Some(path)
        {
            // As the system's dialogs do, ask before a file is replaced.
            self.asked = Some(path.to_owned());
            return None;
        }
        if enter
            && !cancel
            && let Some(problem) = self.purpose.problem(std::path::Path::new(path))
        {
            self.problem = Some((path.to_owned(), problem));
            return None;
        }
        match (cancel, enter && !path.is_empty()) {
            (true, _) => Some(None),
            // Absolute, so that what is told of it says where it is.
            (false, true) => Some(Some(std::path::absolute(path).unwrap_or_else(|_| path.into()))),
            (false, false) => None,
        }
    }
}

/// Selects all of `text` in a text field, so that what is typed replaces it.
fn select_all(ctx: &egui::Context, field: egui::Id, text: &str) {
    use egui::text::{CCursor, CCursorRange};
    let mut state = egui::text_edit::TextEditState::load(ctx, field).unwrap_or_default();
    let end = CCursor::new(text.chars().count());
    state.cursor.set_char_range(Some(CCursorRange::two(CCursor::new(0), end)));
    state.store(ctx, field);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use crate::app::{Settings, Workbench};
    use crate::format::NetworkSource;

    use super::*;

    #[test]
    fn a_path_that_cannot_be_used_can_be_put_right() {
        let mut path_box = PathBox::new(FilePurpose::OpenNetwork);
        path_box.path = "/no/such/file.bif".to_owned();
        let mut harness = Harness::new_ui_state(
            |ui, (path_box, answer): &mut (PathBox, Option<Option<PathBuf>>)| {
                *answer = answer.take().or_else(|| path_box.show(ui.ctx()));
            },
            (path_box, None),
        );
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(2);
        harness.get_by_label("There is no such file.");
        assert_eq!(harness.state().1, None, "it stays open");
        let file = tempfile::NamedTempFile::new().unwrap();
        harness.state_mut().0.path = file.path().display().to_string();
        harness.key_press(Key::Enter);
        harness.run_steps(2);
        assert_eq!(harness.state().1, Some(Some(file.path().to_owned())));
    }

    #[test]
    fn a_path_is_typed_where_no_dialog_came_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
        let mut harness = Harness::builder()
            .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
        while !harness.state().is_settled() {
            harness.step();
        }
        let typed = "This system shows no file dialog. Path:";
        let slowly = Duration::from_secs(3);
        harness.state_mut().take_answer(FilePurpose::SaveEvidence, None, slowly);
        harness.run_steps(3);
        assert!(harness.query_by_label(typed).is_none(), "the user has closed a dialog");

        let at_once = Duration::from_millis(9);
        harness.state_mut().take_answer(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        assert!(harness.query_by_label(typed).is_none());

        harness.state_mut().take_answer(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        let path = folder.path().join("known.json");
        let edit = |harness: &Harness<'_, Workbench>, text: &str| {
            let role = egui::accesskit::Role::TextInput;
            harness.get_by_role_and_label(role, typed).type_text(text);
        };
        // What is typed replaces what is suggested.
        edit(&harness, &path.display().to_string());
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(3);
        assert!(path.exists());
        assert!(harness.query_by_label(typed).is_none());

        std::fs::write(&path, "mine").unwrap();
        harness.state_mut().take_answer(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        edit(&harness, &path.display().to_string());
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(3);
        harness.get_by_label("There is a file of this name.");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        harness.get_by_label("Replace it").click();
        harness.run_steps(3);
        assert!(std::fs::read_to_string(&path).unwrap().contains("evidence"));

        let network = folder.path().join("mine.uai");
        std::fs::write(&network, "BAYES 1 2 1 1 0 2 0.25 0.75").unwrap();
        harness.state_mut().open(NetworkSource::File(network.clone()), Vec::new());
        while !harness.state().is_settled() {
            harness.step();
        }
        let slowly = Duration::from_secs(3);
        harness.state_mut().take_answer(FilePurpose::SaveEvidence, Some(network.clone()), slowly);
        harness.run_steps(3);
        assert!(std::fs::read_to_string(&network).unwrap().starts_with("BAYES"));
    }
}
