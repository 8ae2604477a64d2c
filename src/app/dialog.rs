//! File dialogs.
//!
//! A dialog runs on a thread of its own, which is the one exception to the rule that threads belong
//! to the session: the system's dialog blocks its caller for as long as the user thinks.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use crate::format::Format;
use crate::format::cases::CaseFormat;

/// What a chosen path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Open a network.
    OpenNetwork,
    /// Load evidence.
    LoadEvidence,
    /// Save the evidence.
    SaveEvidence,
    /// Add the cases of a file.
    OpenCases,
    /// Save all cases.
    SaveCases,
    /// Write the result of an experiment with this number into a folder.
    ExportResult(u64),
    /// Open the result of an experiment.
    OpenResult,
}

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
    purpose: Purpose,
    answer: Receiver<Option<PathBuf>>,
}

impl Dialog {
    /// Opens the system's dialog for `purpose`, and calls `wake` when the user has answered.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn open(purpose: Purpose, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (sender, answer) = channel();
        std::thread::Builder::new().name("file dialog".to_owned()).spawn(move || {
            let dialog = match purpose {
                Purpose::OpenNetwork => rfd::FileDialog::new()
                    .set_title("Open a Bayesian network")
                    .add_filter("Bayesian networks", &network_endings())
                    .add_filter("All files", &["*"]),
                Purpose::LoadEvidence | Purpose::OpenCases => rfd::FileDialog::new()
                    .set_title("Load evidence")
                    .add_filter("Evidence", &case_endings())
                    .add_filter("All files", &["*"]),
                Purpose::ExportResult(_) => {
                    rfd::FileDialog::new().set_title("Choose a folder for the result")
                }
                Purpose::OpenResult => rfd::FileDialog::new()
                    .set_title("Open the result of an experiment")
                    .add_filter("Results", &["json"]),
                Purpose::SaveEvidence | Purpose::SaveCases => {
                    let (title, name) = match purpose {
                        Purpose::SaveCases => ("Save all cases", "cases.json"),
                        _ => ("Save the evidence", "evidence.json"),
                    };
                    let dialog = rfd::FileDialog::new().set_title(title).set_file_name(name);
                    CaseFormat::ALL.into_iter().fold(dialog, |dialog, format| {
                        dialog.add_filter(format.name(), format.extensions())
                    })
                }
            };
            let path = match purpose {
                Purpose::SaveEvidence | Purpose::SaveCases => dialog.save_file(),
                Purpose::ExportResult(_) => dialog.pick_folder(),
                Purpose::OpenNetwork
                | Purpose::LoadEvidence
                | Purpose::OpenCases
                | Purpose::OpenResult => dialog.pick_file(),
            };
            // The window may be closed by now.
            let _ = sender.send(path);
            wake();
        })?;
        Ok(Self { purpose, answer })
    }

    /// What the path is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The user's answer once there is one: a path, or `None` for Cancel.
    #[must_use]
    pub fn answer(&self) -> Option<Option<PathBuf>> {
        match self.answer.try_recv() {
            Ok(path) => Some(path),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(None),
        }
    }
}
