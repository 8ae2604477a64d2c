//! A box in which the user types a path, on systems without a file dialog.

use std::path::{Path, PathBuf};

use eframe::egui::{self, Key, Modifiers};

use crate::app::state::file_purpose::FilePurpose;
use crate::app::theme::Palette;

/// How the user answered the box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathAnswer {
    /// The user chose this path, which was then made absolute.
    Chosen(PathBuf),
    /// The user cancelled.
    Cancelled,
}

/// The open box, with what the user has typed.
pub(crate) struct PathBox {
    purpose: FilePurpose,
    path: String,
    /// Whether the text field has had the focus. The suggested name is selected when the field
    /// first gets the focus.
    had_focus: bool,
    /// The path of an existing file that the user was last asked to replace.
    asked_to_replace: Option<String>,
    /// The path that was last found unusable, and why.
    problem: Option<(String, &'static str)>,
}

impl PathBox {
    /// A box for `purpose` with the suggested file name.
    pub(crate) fn new(purpose: FilePurpose) -> Self {
        Self {
            purpose,
            path: purpose.suggestion().to_owned(),
            had_focus: false,
            asked_to_replace: None,
            problem: None,
        }
    }

    /// What the path is for.
    pub(crate) fn purpose(&self) -> FilePurpose {
        self.purpose
    }

    /// Draws the box. Returns the answer once the user has given it.
    pub(crate) fn show(&mut self, ctx: &egui::Context) -> Option<PathAnswer> {
        let Pressed { confirm, cancel } = self.draw(ctx);
        if cancel {
            return Some(PathAnswer::Cancelled);
        }
        let text = self.path.trim();
        if !confirm || text.is_empty() {
            return None;
        }
        let path = Path::new(text);
        // Ask before replacing a file, as file dialogs do.
        if self.purpose.writes_file()
            && path.is_file()
            && self.asked_to_replace.as_deref() != Some(text)
        {
            self.asked_to_replace = Some(text.to_owned());
            return None;
        }
        if let Some(problem) = self.purpose.problem(path) {
            self.problem = Some((text.to_owned(), problem));
            return None;
        }
        // Later messages show the path, so make it absolute.
        Some(PathAnswer::Chosen(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())))
    }

    /// Draws the box, and returns which of its buttons or keys were pressed.
    fn draw(&mut self, ctx: &egui::Context) -> Pressed {
        let escape = ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
        let mut pressed = Pressed { confirm: false, cancel: escape };
        let window = egui::Window::new(self.purpose.title()).collapsible(false).resizable(false);
        window.anchor(egui::Align2::CENTER_TOP, [0.0, 80.0]).show(ctx, |ui| {
            ui.set_width(420.0);
            let label = ui.label("This system shows no file dialog. Path:");
            let edit = egui::TextEdit::singleline(&mut self.path).desired_width(f32::INFINITY);
            let edit = ui.add(edit).labelled_by(label.id);
            // Enter takes the focus from the field. If a button has the focus, Enter presses it.
            pressed.confirm = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if edit.has_focus() && !std::mem::replace(&mut self.had_focus, true) {
                select_all(ctx, edit.id, &self.path);
            }
            if !self.had_focus || ctx.memory(|memory| memory.focused()).is_none() {
                edit.request_focus();
            }
            let text = self.path.trim();
            let asks_to_replace = self.asked_to_replace.as_deref() == Some(text);
            if asks_to_replace {
                ui.colored_label(Palette::of(ui).warning, "A file of this name exists.");
            }
            if let Some((_, problem)) = self.problem.as_ref().filter(|(path, _)| path == text) {
                ui.colored_label(Palette::of(ui).error, *problem);
            }
            ui.horizontal(|ui| {
                let label = if asks_to_replace { "Replace it" } else { "OK" };
                let button = egui::Button::new(label);
                pressed.confirm |= ui.add_enabled(!text.is_empty(), button).clicked();
                pressed.cancel |= ui.button("Cancel").clicked();
            });
        });
        pressed
    }
}

/// Which buttons of the box, or keys for them, were pressed in this frame.
struct Pressed {
    confirm: bool,
    cancel: bool,
}

/// Selects all of `text` in a text field, so that typing replaces it.
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

    /// A window in which the network in `source` is open and propagated.
    fn open(source: NetworkSource) -> Harness<'static, Workbench> {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.open(source, Vec::new());
        let mut harness = Harness::builder()
            .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
        while !harness.state().is_settled() {
            harness.step();
        }
        harness
    }

    #[test]
    fn a_path_that_cannot_be_used_can_be_corrected() {
        let mut path_box = PathBox::new(FilePurpose::OpenNetwork);
        path_box.path = "/no/such/file.bif".to_owned();
        let mut harness = Harness::new_ui_state(
            |ui, (path_box, answer): &mut (PathBox, Option<PathAnswer>)| {
                *answer = answer.take().or_else(|| path_box.show(ui.ctx()));
            },
            (path_box, None),
        );
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(2);
        harness.get_by_label("There is no such file.");
        assert_eq!(harness.state().1, None, "the box stays open");
        let file = tempfile::NamedTempFile::new().unwrap();
        harness.state_mut().0.path = file.path().display().to_string();
        harness.key_press(Key::Enter);
        harness.run_steps(2);
        assert_eq!(harness.state().1, Some(PathAnswer::Chosen(file.path().to_owned())));
    }

    #[test]
    fn enter_presses_the_button_that_has_the_focus() {
        let answer = |tabs: usize| {
            let mut path_box = PathBox::new(FilePurpose::SaveEvidence);
            path_box.path = "new.json".to_owned();
            let mut harness = Harness::new_ui_state(
                |ui, (path_box, answer): &mut (PathBox, Option<PathAnswer>)| {
                    *answer = answer.take().or_else(|| path_box.show(ui.ctx()));
                },
                (path_box, None),
            );
            harness.run_steps(2);
            for _ in 0..tabs {
                harness.key_press(Key::Tab);
                harness.run_steps(2);
            }
            harness.key_press(Key::Enter);
            harness.run_steps(2);
            harness.state().1.clone()
        };
        let chosen = Some(PathAnswer::Chosen(std::path::absolute("new.json").unwrap()));
        assert_eq!(answer(0), chosen);
        assert_eq!(answer(1), chosen);
        assert_eq!(answer(2), Some(PathAnswer::Cancelled));
    }

    #[test]
    fn the_box_replaces_a_dialog_that_was_not_shown_and_asks_before_it_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut harness = open(NetworkSource::Named("asia".to_owned()));
        let path_label = "This system shows no file dialog. Path:";
        let slowly = Duration::from_secs(3);
        harness.state_mut().answer_dialog(FilePurpose::SaveEvidence, None, slowly);
        harness.run_steps(3);
        assert!(harness.query_by_label(path_label).is_none(), "the user closed a dialog");

        let at_once = Duration::from_millis(9);
        harness.state_mut().answer_dialog(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        assert!(harness.query_by_label(path_label).is_none());

        harness.state_mut().answer_dialog(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        let path = folder.path().join("known.json");
        let type_path = |harness: &Harness<'_, Workbench>, text: &str| {
            let role = egui::accesskit::Role::TextInput;
            harness.get_by_role_and_label(role, path_label).type_text(text);
        };
        // Typing replaces the suggestion.
        type_path(&harness, &path.display().to_string());
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(3);
        assert!(path.exists());
        assert!(harness.query_by_label(path_label).is_none());

        std::fs::write(&path, "mine").unwrap();
        harness.state_mut().answer_dialog(FilePurpose::SaveEvidence, None, at_once);
        harness.run_steps(3);
        type_path(&harness, &path.display().to_string());
        harness.run_steps(2);
        harness.key_press(Key::Enter);
        harness.run_steps(3);
        harness.get_by_label("A file of this name exists.");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        harness.get_by_label("Replace it").click();
        harness.run_steps(3);
        assert!(std::fs::read_to_string(&path).unwrap().contains("evidence"));
    }

    #[test]
    fn evidence_is_not_saved_to_the_file_of_the_open_network() {
        let folder = tempfile::tempdir().unwrap();
        let network = folder.path().join("mine.uai");
        std::fs::write(&network, "BAYES 1 2 1 1 0 2 0.25 0.75").unwrap();
        let mut harness = open(NetworkSource::File(network.clone()));
        let slowly = Duration::from_secs(3);
        harness.state_mut().answer_dialog(FilePurpose::SaveEvidence, Some(network.clone()), slowly);
        harness.run_steps(3);
        assert!(std::fs::read_to_string(&network).unwrap().starts_with("BAYES"));
    }
}
