//! File dialogs.
//!
//! A dialog runs on a thread of its own, which is the one exception to the rule that threads belong
//! to the session: the system's dialog blocks its caller for as long as the user thinks.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use crate::app::state::model::Pane;
use crate::clock::Instant;
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
    /// Save a picture of a pane, or of the window.
    SavePicture(Option<Pane>),
}

impl Purpose {
    /// What stands over the dialog.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenNetwork => "Open a Bayesian network",
            Self::LoadEvidence => "Load evidence",
            Self::SaveEvidence => "Save the evidence",
            Self::OpenCases => "Open cases",
            Self::SaveCases => "Save all cases",
            Self::ExportResult(_) => "Choose a folder for the result",
            Self::OpenResult => "Open the result of an experiment",
            Self::SavePicture(_) => "Save a picture",
        }
    }

    /// Whether a file is written to the path.
    #[must_use]
    pub fn writes_file(self) -> bool {
        matches!(self, Self::SaveEvidence | Self::SaveCases | Self::SavePicture(_))
    }

    /// Why nothing can be read from `path` or written to it, if that is seen at once.
    #[must_use]
    pub fn problem(self, path: &Path) -> Option<&'static str> {
        // What may not be looked at may be there all the same.
        let is_missing = |path: &Path| matches!(path.try_exists(), Ok(false));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match self {
            Self::ExportResult(_) => None,
            _ if path.as_os_str().is_empty() => None,
            _ if path.is_dir() => Some("This is a folder."),
            _ if self.writes_file() => {
                folder.is_some_and(is_missing).then_some("There is no such folder.")
            }
            _ => is_missing(path).then_some("There is no such file."),
        }
    }

    /// What a file that is to be written may be called; nothing for one that is read.
    #[must_use]
    pub fn suggestion(self) -> &'static str {
        match self {
            Self::SaveEvidence => "evidence.json",
            Self::SaveCases => "cases.json",
            Self::SavePicture(_) => "picture.png",
            _ => "",
        }
    }
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
    answer: Receiver<(Option<PathBuf>, Duration)>,
}

impl Dialog {
    /// Opens the system's dialog for `purpose`, and calls `wake` when the user has answered.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn open(purpose: Purpose, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (sender, answer) = channel();
        std::thread::Builder::new().name("file dialog".to_owned()).spawn(move || {
            let began = Instant::now();
            let dialog = rfd::FileDialog::new().set_title(purpose.title());
            let dialog = match purpose {
                Purpose::OpenNetwork => dialog
                    .add_filter("Bayesian networks", &network_endings())
                    .add_filter("All files", &["*"]),
                Purpose::LoadEvidence | Purpose::OpenCases => {
                    dialog.add_filter("Evidence", &case_endings()).add_filter("All files", &["*"])
                }
                Purpose::ExportResult(_) => dialog,
                Purpose::OpenResult => dialog.add_filter("Results", &["json"]),
                Purpose::SavePicture(_) => {
                    dialog.set_file_name(purpose.suggestion()).add_filter("PNG", &["png"])
                }
                Purpose::SaveEvidence | Purpose::SaveCases => {
                    let dialog = dialog.set_file_name(purpose.suggestion());
                    CaseFormat::ALL.into_iter().fold(dialog, |dialog, format| {
                        dialog.add_filter(format.name(), format.extensions())
                    })
                }
            };
            let path = match purpose {
                Purpose::SaveEvidence | Purpose::SaveCases | Purpose::SavePicture(_) => {
                    dialog.save_file()
                }
                Purpose::ExportResult(_) => dialog.pick_folder(),
                Purpose::OpenNetwork
                | Purpose::LoadEvidence
                | Purpose::OpenCases
                | Purpose::OpenResult => dialog.pick_file(),
            };
            // The window may be closed by now.
            let _ = sender.send((path, began.elapsed()));
            wake();
        })?;
        Ok(Self { purpose, answer })
    }

    /// What the path is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
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
