//! What panes may ask for.

use std::path::PathBuf;

use crate::app::lessons::LessonCommand;
use crate::app::state::highlight::Item;
use crate::app::state::model::{Pane, ThemeChoice};
use crate::app::state::recordings::Recorded;
use crate::app::state::stepping::Walk;
use crate::graph::Triangulation;
use crate::network::{Finding, VariableId};
use crate::propagation::{MemoryLimit, MessageId};
use crate::session::{EngineChoice, Source, Trial};

/// One wish of the user, applied between frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Ask for a file and open it.
    OpenDialog,
    /// Open this network.
    Open(Source),
    /// Read the open network anew.
    Reload,
    /// Observe this state; if it is observed already, retract it.
    ToggleState(VariableId, usize),
    /// Enter this finding.
    SetFinding(VariableId, Finding),
    /// Forget what is known of a variable.
    Retract(VariableId),
    /// Forget all evidence.
    ClearEvidence,
    /// Take back the last change of evidence.
    Undo,
    /// Do again what was taken back.
    Redo,
    /// Ask for a file and load evidence from it.
    LoadEvidenceDialog,
    /// Load evidence from this file.
    LoadEvidence(PathBuf),
    /// Ask for a file and save the evidence.
    SaveEvidenceDialog,
    /// Keep the evidence as a case of this name.
    KeepCase(String),
    /// Enter the evidence of the case with this number.
    RecallCase(u64),
    /// Call the case with this number so.
    RenameCase(u64, String),
    /// Put the evidence in the place of what is known in the case with this number.
    ReplaceCase(u64),
    /// Take the case with this number off the list.
    RemoveCase(u64),
    /// Ask for a file and add its cases.
    OpenCasesDialog,
    /// Add the cases of this file.
    OpenCases(PathBuf),
    /// Ask for a file and write all cases of the open network to it.
    SaveCasesDialog,
    /// Write all cases of the open network to this file.
    SaveCases(PathBuf),
    /// Select this, or nothing. Selecting what is selected keeps it so.
    Select(Option<Item>),
    /// The pointer is over this. Pushed anew in every frame in which it is.
    Hover(Item),
    /// Bring a pane to the front.
    Show(Pane),
    /// Zoom the pictures so that everything is seen.
    Fit,
    /// Put the panes back where they were at first.
    ResetLayout,
    /// Propagate with another engine.
    SetEngine(EngineChoice),
    /// Compile with another triangulation.
    SetTriangulation(Triangulation),
    /// Allow engines more or less memory; `None` is half of what is available.
    SetMemoryLimit(Option<MemoryLimit>),
    /// Propagate whenever evidence changes, or only when asked.
    SetAutoPropagate(bool),
    /// Show the messages of a recorded run, or those of this machine.
    ShowRecording(Option<Recorded>),
    /// Propagate now, even if nothing changed.
    Propagate,
    /// Show no more what failed.
    DismissFailure,
    /// Give up what the worker is doing.
    Cancel,
    /// Run an experiment.
    RunExperiment(Box<Trial>),
    /// Give up the experiment that runs.
    CancelExperiment,
    /// Call the result with this number so.
    RenameResult(u64, String),
    /// Take the result with this number off the list.
    RemoveResult(u64),
    /// Ask for a folder and write the result with this number into it.
    ExportResultDialog(u64),
    /// Write the result with this number into this folder.
    ExportResult(u64, PathBuf),
    /// Ask for a file and open the result in it.
    OpenResultDialog,
    /// Open the result in this file.
    OpenResult(PathBuf),
    /// Search for a better junction tree until nothing is found any more.
    ImproveTree,
    /// Use the best junction tree that was found, and search no further.
    StopImproving,
    /// Search for a better junction tree whenever a network is open, or only when asked.
    SetKeepImproving(bool),
    /// Show moral and fill edges in the picture of the network, or hide them.
    ShowFillEdges(bool),
    /// Something that a lesson is asked for.
    Lesson(LessonCommand),
    /// Walk through the messages.
    Walk(Walk),
    /// Show this message with its numbers. Pushed anew in every frame in which it is shown.
    Explain(MessageId),
    /// Dark, light, or as the system has it.
    SetTheme(ThemeChoice),
    /// Everything larger or smaller; 1 is normal.
    SetZoom(f32),
    /// Show or hide the list of shortcuts.
    ToggleHelp,
    /// Show or hide the command palette.
    TogglePalette,
    /// Open what a run that did not end as it should has left.
    Restore,
    /// Forget what a run that did not end as it should has left.
    Decline,
    /// Ask for a file and save a picture of this pane, or of the window, to it.
    SavePictureDialog(Option<Pane>),
    /// Save a picture of this pane, or of the window, to this file.
    SavePicture(Option<Pane>, PathBuf),
    /// Close the window.
    Quit,
}

/// Commands pushed during one frame, in order.
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    /// Asks for `command` once the frame is drawn.
    pub fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// As [`push`](Self::push), if there is one.
    pub fn extend(&mut self, command: Option<Command>) {
        self.0.extend(command);
    }

    /// Takes all commands, oldest first.
    pub fn drain(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}
