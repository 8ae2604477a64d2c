//! The purposes for which the user chooses a path.

use std::path::Path;

use crate::app::state::pane::Pane;

/// What the user chooses a path for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePurpose {
    /// Open a network.
    OpenNetwork,
    /// Open and start a lesson.
    OpenLesson,
    /// Load evidence.
    LoadEvidence,
    /// Save the evidence.
    SaveEvidence,
    /// Add the cases of a file to the list.
    OpenCases,
    /// Save all listed cases.
    SaveCases,
    /// Write the files of the experiment result with this number into a folder.
    ExportResult(u64),
    /// Open the result of an experiment.
    OpenResult,
    /// Save a picture of a pane, or of the whole window.
    SavePicture(Option<Pane>),
}

impl FilePurpose {
    /// The title of the dialog.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenNetwork => "Open a network",
            Self::OpenLesson => "Open a lesson",
            Self::LoadEvidence => "Load evidence",
            Self::SaveEvidence => "Save the evidence",
            Self::OpenCases => "Open cases",
            Self::SaveCases => "Save all cases",
            Self::ExportResult(_) => "Choose a folder for the result",
            Self::OpenResult => "Open the result of an experiment",
            Self::SavePicture(_) => "Save a picture",
        }
    }

    /// Whether the path names a file to write.
    #[must_use]
    pub fn writes_file(self) -> bool {
        matches!(self, Self::SaveEvidence | Self::SaveCases | Self::SavePicture(_))
    }

    /// Why `path` cannot be used, if that is clear without reading or writing.
    #[must_use]
    pub fn problem(self, path: &Path) -> Option<&'static str> {
        // If the system cannot tell whether the path exists, assume that it does.
        let is_missing = |path: &Path| matches!(path.try_exists(), Ok(false));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match self {
            // The folder is created if it does not exist.
            Self::ExportResult(_) => path.is_file().then_some("This is a file."),
            // The user has not typed anything yet.
            _ if path.as_os_str().is_empty() => None,
            _ if path.is_dir() => Some("This is a folder."),
            _ if self.writes_file() => {
                folder.is_some_and(is_missing).then_some("There is no such folder.")
            }
            _ => is_missing(path).then_some("There is no such file."),
        }
    }

    /// The suggested name of a file to write; empty for a file to read and for a folder.
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
