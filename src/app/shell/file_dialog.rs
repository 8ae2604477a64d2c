//! The system's file dialog.
//!
//! The dialog blocks its thread until the user answers, so it gets a thread of its own. This is the
//! only thread that the window starts itself.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use crate::allocate::start_thread;
use crate::app::state::file_purpose::FilePurpose;
use crate::clock::Instant;
use crate::format::Format;
use crate::format::cases::CaseFormat;

/// The extensions of all network files, including `gz` for compressed ones.
fn network_extensions() -> Vec<&'static str> {
    let extensions = Format::ALL.iter().flat_map(|format| format.extensions());
    extensions.copied().chain(["gz"]).collect()
}

/// The extensions of all evidence files that are not compressed.
fn case_extensions() -> Vec<&'static str> {
    CaseFormat::ALL.iter().flat_map(|format| format.extensions()).copied().collect()
}

/// The answer of a dialog that has ended.
pub struct DialogAnswer {
    /// The chosen path; `None` if the user cancelled or the system has no dialog.
    pub path: Option<PathBuf>,
    /// How long the dialog was open.
    pub duration: Duration,
}

/// An open dialog.
pub struct Dialog {
    purpose: FilePurpose,
    answer: Receiver<DialogAnswer>,
}

impl Dialog {
    /// Opens a dialog for `purpose`. `wake` is called from the thread of the dialog when the user
    /// has answered.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    pub fn open(purpose: FilePurpose, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (sender, answer) = channel();
        // A dialog blocks its thread.
        start_thread("file dialog", move || {
            let began = Instant::now();
            let dialog = rfd::FileDialog::new().set_title(purpose.title());
            let dialog = match purpose {
                FilePurpose::OpenNetwork => dialog
                    .add_filter("Networks", &network_extensions())
                    .add_filter("All files", &["*"]),
                FilePurpose::LoadEvidence | FilePurpose::OpenCases => dialog
                    .add_filter("Evidence", &case_extensions())
                    .add_filter("All files", &["*"]),
                FilePurpose::ExportResult(_) => dialog,
                FilePurpose::OpenResult => dialog.add_filter("Results", &["json"]),
                FilePurpose::OpenLesson => dialog.add_filter("Lessons", &["json"]),
                FilePurpose::SavePicture(_) => {
                    dialog.set_file_name(purpose.suggestion()).add_filter("PNG", &["png"])
                }
                FilePurpose::SaveEvidence | FilePurpose::SaveCases => {
                    let dialog = dialog.set_file_name(purpose.suggestion());
                    CaseFormat::ALL.into_iter().fold(dialog, |dialog, format| {
                        dialog.add_filter(format.name(), format.extensions())
                    })
                }
            };
            let path = match purpose {
                FilePurpose::SaveEvidence
                | FilePurpose::SaveCases
                | FilePurpose::SavePicture(_) => dialog.save_file(),
                FilePurpose::ExportResult(_) => dialog.pick_folder(),
                FilePurpose::OpenNetwork
                | FilePurpose::OpenLesson
                | FilePurpose::LoadEvidence
                | FilePurpose::OpenCases
                | FilePurpose::OpenResult => dialog.pick_file(),
            };
            // If the window was closed in the meantime, sending fails and the answer is lost.
            let _ = sender.send(DialogAnswer { path, duration: began.elapsed() });
            wake();
        })?;
        Ok(Self { purpose, answer })
    }

    /// What the path is for.
    #[must_use]
    pub fn purpose(&self) -> FilePurpose {
        self.purpose
    }

    /// The answer, once the dialog has ended.
    #[must_use]
    pub fn answer(&self) -> Option<DialogAnswer> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(DialogAnswer { path: None, duration: Duration::ZERO })
            }
        }
    }
}
