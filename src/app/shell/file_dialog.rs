//! File dialogs.
//!
//! A dialog runs on a thread of its own, which is the one exception to the rule that threads belong
//! to the session: the system's dialog blocks its caller for as long as the user thinks.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use crate::app::state::file_purpose::FilePurpose;
use crate::clock::Instant;
use crate::format::Format;
use crate::format::cases::CaseFormat;

/// The endings of all network files.
fn network_endings() -> Vec<&'static str> {
    let endings = Format::ALL.iter().flat_map(|format| format.extensions());
    endings.copied().chain(["gz"]).collect()
}

/// The endings of all evidence files.
fn case_endings() -> Vec<&'static str> {
    CaseFormat::ALL.iter().flat_map(|format| format.extensions()).copied().collect()
}

/// A dialog that is open.
pub struct Dialog {
    purpose: FilePurpose,
    answer: Receiver<(Option<PathBuf>, Duration)>,
}

impl Dialog {
    /// Opens the system's dialog for `purpose`, and calls `wake` when the user has answered.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    #[expect(clippy::disallowed_methods, reason = "a dialog blocks its thread")]
    pub fn open(purpose: FilePurpose, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (sender, answer) = channel();
        std::thread::Builder::new().name("file dialog".to_owned()).spawn(move || {
            let began = Instant::now();
            let dialog = rfd::FileDialog::new().set_title(purpose.title());
            let dialog = match purpose {
                FilePurpose::OpenNetwork => dialog
                    .add_filter("Bayesian networks", &network_endings())
                    .add_filter("All files", &["*"]),
                FilePurpose::LoadEvidence | FilePurpose::OpenCases => {
                    dialog.add_filter("Evidence", &case_endings()).add_filter("All files", &["*"])
                }
                FilePurpose::ExportResult(_) => dialog,
                FilePurpose::OpenResult => dialog.add_filter("Results", &["json"]),
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
                | FilePurpose::LoadEvidence
                | FilePurpose::OpenCases
                | FilePurpose::OpenResult => dialog.pick_file(),
            };
            // The window may be closed by now.
            let _ = sender.send((path, began.elapsed()));
            wake();
        })?;
        Ok(Self { purpose, answer })
    }

    /// What the path is for.
    #[must_use]
    pub fn purpose(&self) -> FilePurpose {
        self.purpose
    }

    /// The answer once there is one: a path, or `None` for Cancel and where the system has no dialog to
    /// show; and what it took.
    #[must_use]
    pub fn answer(&self) -> Option<(Option<PathBuf>, Duration)> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some((None, Duration::ZERO)),
        }
    }
}
