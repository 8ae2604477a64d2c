//! What the user can ask for: one enum per feature, and [`Command`], which wraps them all.

use std::path::PathBuf;

pub use crate::app::state::case_files::CaseFileCommand;
pub use crate::app::state::cases::CaseCommand;
pub use crate::app::state::compute::EngineCommand;
pub use crate::app::state::elimination::EliminationCommand;
pub use crate::app::state::evidence::EvidenceCommand;
pub use crate::app::state::experiments::ExperimentCommand;
pub use crate::app::state::file_purpose::FilePurpose;
pub use crate::app::state::history::HistoryCommand;
pub use crate::app::state::improvement::TreeCommand;
pub use crate::app::state::lessons::LessonCommand;
use crate::app::state::pane::Pane;
pub use crate::app::state::stepping::StepCommand;
pub use crate::app::state::view::ViewCommand;
use crate::format::NetworkSource;

/// A change that the user asks for. Panes push commands, which are applied between frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Enter or retract findings.
    Evidence(EvidenceCommand),
    /// Undo or redo.
    History(HistoryCommand),
    /// Add, enter, change or remove named cases.
    Case(CaseCommand),
    /// Load or save evidence and cases.
    CaseFile(CaseFileCommand),
    /// Open, reload or restore a network, or discard work that is offered.
    Document(DocumentCommand),
    /// Choose how to compile and propagate, propagate, or cancel.
    Engine(EngineCommand),
    /// Start or stop the search for a better junction tree.
    Tree(TreeCommand),
    /// Eliminate variables by hand.
    Elimination(EliminationCommand),
    /// Run an experiment, or manage results.
    Experiment(ExperimentCommand),
    /// Change what the panes show.
    View(ViewCommand),
    /// Take a lesson.
    Lesson(LessonCommand),
    /// Step through the messages.
    Step(StepCommand),
    /// Ask for a file, save a picture, show or hide an overlay, or quit.
    Window(WindowCommand),
}

/// A command that opens a network, or that answers the offer to restore work.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentCommand {
    /// Open this network.
    Open(NetworkSource),
    /// Read the open network again.
    Reload,
    /// Restore the offered work of a run that crashed.
    Restore,
    /// Discard the offered work of a run that crashed.
    DiscardAutosave,
}

/// A command for the window itself.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowCommand {
    /// Ask the user for a path, and then use the path for this purpose.
    ChooseFile(FilePurpose),
    /// Save a picture of this pane, or of the whole window, to this file.
    SavePicture(Option<Pane>, PathBuf),
    /// Show or hide the list of keys.
    ToggleHelp,
    /// Show or hide the command palette.
    TogglePalette,
    /// Fill the screen, or leave full screen.
    ToggleFullScreen,
    /// Close the window.
    Quit,
}

impl FilePurpose {
    /// The command that uses the path that the user chose.
    #[must_use]
    pub fn command(self, path: PathBuf) -> Command {
        match self {
            Self::OpenNetwork => DocumentCommand::Open(NetworkSource::File(path)).into(),
            Self::OpenLesson => LessonCommand::OpenFile(path).into(),
            Self::LoadEvidence => CaseFileCommand::LoadEvidence(path).into(),
            Self::SaveEvidence => CaseFileCommand::SaveEvidence(path).into(),
            Self::OpenCases => CaseFileCommand::OpenCases(path).into(),
            Self::SaveCases => CaseFileCommand::SaveCases(path).into(),
            Self::ExportResult(number) => ExperimentCommand::ExportResult(number, path).into(),
            Self::OpenResult => ExperimentCommand::OpenResult(path).into(),
            Self::SavePicture(pane) => WindowCommand::SavePicture(pane, path).into(),
        }
    }
}

/// Implements `From<FeatureCommand> for Command`.
macro_rules! into_command {
    ($($variant:ident: $feature:ty),* $(,)?) => {
        $(impl From<$feature> for Command {
            fn from(command: $feature) -> Self {
                Self::$variant(command)
            }
        })*
    };
}

into_command! {
    Evidence: EvidenceCommand,
    History: HistoryCommand,
    Case: CaseCommand,
    CaseFile: CaseFileCommand,
    Document: DocumentCommand,
    Engine: EngineCommand,
    Tree: TreeCommand,
    Elimination: EliminationCommand,
    Experiment: ExperimentCommand,
    View: ViewCommand,
    Lesson: LessonCommand,
    Step: StepCommand,
    Window: WindowCommand,
}

/// The commands pushed during one frame, in order.
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    /// Adds `command`, which is applied once the frame is drawn.
    pub fn push(&mut self, command: impl Into<Command>) {
        self.0.push(command.into());
    }

    /// Adds `command` if there is one.
    pub fn extend(&mut self, command: Option<Command>) {
        self.0.extend(command);
    }

    /// Removes and returns all commands, oldest first.
    pub fn drain(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}
