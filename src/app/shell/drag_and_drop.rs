//! Files that the user drags over the window and drops there.

use std::path::{Path, PathBuf};

use eframe::egui::{self, Align2, Area, Context, Id, Order, RichText};

use crate::app::state::command::{
    CaseFileCommand, Command, Commands, DocumentCommand, LessonCommand,
};
use crate::app::state::lessons;
use crate::app::theme::Palette;
use crate::format::NetworkSource;
use crate::format::cases::CaseFormat;

/// While files are dragged over the window, says what dropping them will do. When they are dropped,
/// pushes the command that opens one of them.
pub(crate) fn show(ctx: &Context, network_is_open: bool, commands: &mut Commands) {
    let (dragged, dropped) = ctx.input(|input| {
        let dragged = input.raw.hovered_files.iter().filter_map(|file| file.path.clone());
        let dropped = input.raw.dropped_files.iter().map(|file| file.path().to_owned());
        (dragged.collect::<Vec<_>>(), dropped.collect::<Vec<_>>())
    });
    if let Some(path) = file_to_open(&dragged) {
        announce(ctx, path, dragged.len(), network_is_open);
    }
    if let Some(path) = file_to_open(&dropped) {
        let path = path.clone();
        commands.push(if lessons::is_lesson(&path) {
            Command::Lesson(LessonCommand::OpenFile(path))
        } else if is_evidence(&path) {
            Command::CaseFile(CaseFileCommand::LoadEvidence(path))
        } else {
            Command::Document(DocumentCommand::Open(NetworkSource::File(path)))
        });
    }
}

/// Whether `path` has the extension of an evidence format. Other files are taken for networks.
/// Lessons have the extension of an evidence format too; only their content tells them apart.
fn is_evidence(path: &Path) -> bool {
    CaseFormat::by_extension(&path.to_string_lossy()).is_some()
}

/// The file to open of several: the first network, or the first file if none is a network.
fn file_to_open(paths: &[PathBuf]) -> Option<&PathBuf> {
    paths.iter().find(|path| !is_evidence(path)).or_else(|| paths.first())
}

/// Says on screen what dropping `path` will do, and how many of the `files` dragged files are
/// ignored.
fn announce(ctx: &Context, path: &Path, files: usize, network_is_open: bool) {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let may_be_lesson = path.extension().is_some_and(|extension| extension == "json");
    let text = match (is_evidence(path), network_is_open) {
        (true, true) if may_be_lesson => {
            format!("Drop to enter the evidence of {name}, or to start it if it is a lesson")
        }
        (true, false) if may_be_lesson => format!("Drop to start {name}, if it is a lesson"),
        (false, _) => format!("Drop to open {name}"),
        (true, true) => format!("Drop to enter the evidence of {name}"),
        (true, false) => format!("{name} is evidence: open a network first"),
    };
    let others = (files > 1)
        .then(|| format!("Only one file can be opened at a time: {} ignored", files - 1));
    let screen = ctx.content_rect();
    ctx.layer_painter(egui::LayerId::new(Order::Foreground, Id::new("dropping shade")))
        .rect_filled(screen, 0.0, egui::Color32::from_black_alpha(96));
    Area::new(Id::new("dropping"))
        .order(Order::Tooltip)
        .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
        .interactable(false)
        .show(ctx, |ui| {
            let edge = Palette::of(ui).hovered;
            egui::Frame::popup(ui.style()).stroke((2.0, edge)).inner_margin(24).show(ui, |ui| {
                ui.vertical_centered(|ui| {
                    ui.label(RichText::new(text).heading());
                    if let Some(others) = others {
                        ui.weak(others);
                    }
                });
            });
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_opened_rather_than_evidence() {
        let paths = ["a.cas", "b.net.gz", "c.bif"].map(PathBuf::from);
        assert_eq!(file_to_open(&paths), Some(&paths[1]));
        assert_eq!(file_to_open(&paths[..1]), Some(&paths[0]));
        assert_eq!(file_to_open(&[]), None);
    }
}
