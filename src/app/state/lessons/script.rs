//! The script of a lesson: what a lesson file contains.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use crate::app::state::pane::Pane;
use crate::format::{NetworkSource, sample};

/// A guided tour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Identifies the lesson in the settings: the name of a shipped lesson, or the path of a lesson
    /// file that the user opened. Not in the file.
    #[serde(skip)]
    pub id: String,
    /// The folder of the lesson file; empty for a shipped lesson. Not in the file.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The title, as in the menu.
    pub title: String,
    /// The network that the lesson opens; see [`source_of`](Self::source_of).
    pub network: String,
    /// The steps, in order.
    pub steps: Vec<LessonStep>,
}

impl Lesson {
    /// The network that a lesson calls `name`: a sample, or else a file whose path is relative to
    /// the folder of the lesson file.
    #[must_use]
    pub fn source_of(&self, name: &str) -> NetworkSource {
        match sample(name) {
            Some(sample) => NetworkSource::Named(sample.name.to_owned()),
            None => NetworkSource::File(self.folder.join(name)),
        }
    }

    /// The network that is open when the step with index `step` starts, by its name.
    #[must_use]
    pub fn network_at(&self, step: usize) -> &str {
        let opened = self.steps[..step].iter().rev().find_map(|step| match &step.action {
            Some(Action::Open(name)) => Some(name),
            _ => None,
        });
        opened.unwrap_or(&self.network)
    }
}

/// One step of a lesson.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonStep {
    /// The text. [Names in braces](super::numbers) stand for numbers.
    pub text: String,
    /// What the step points at: one of the [`TARGETS`](super::check::TARGETS), or the title of a
    /// pane.
    #[serde(default)]
    pub target: Option<String>,
    /// The pane that the step brings to the front, by its title. If it is missing, the pane that
    /// the step points at comes to the front.
    #[serde(default, deserialize_with = "pane_by_title")]
    pub show: Option<Pane>,
    /// Whether the pane that the step brings to the front fills the window.
    #[serde(default)]
    pub maximise: bool,
    /// The question that the user answers before anything else.
    #[serde(default)]
    pub question: Option<Question>,
    /// The task of the user, if there is one.
    #[serde(default)]
    pub action: Option<Action>,
    /// The heading of the column in which the lesson keeps the numbers of this step, once the
    /// question is answered and the task is done.
    #[serde(default)]
    pub column: Option<String>,
    /// The numbers to compare side by side, by their [names](super::numbers): a row for each, and a
    /// column for each step with a [`column`](Self::column) up to this one.
    #[serde(default)]
    pub compare: Vec<String>,
}

impl LessonStep {
    /// Whether the lesson stays at the step once its task is done, because there is more to see, or
    /// because the numbers for its column are known only then.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.question.is_some() || self.column.is_some() || !self.compare.is_empty()
    }

    /// The pane that the step brings to the front.
    #[must_use]
    pub fn pane(&self) -> Option<Pane> {
        self.show.or_else(|| Pane::by_title(self.target.as_deref()?))
    }
}

/// A question that the user answers before the program shows the answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub ask: String,
    /// The possible answers.
    pub options: Vec<String>,
    /// The right answer, which is one of `options`.
    pub answer: String,
    /// Why this answer is right. Shown once the question is answered and the task of the step is
    /// done.
    #[serde(default)]
    pub because: String,
}

impl Question {
    /// The index of the right answer in `options`.
    #[must_use]
    pub fn right(&self) -> Option<usize> {
        self.options.iter().position(|option| *option == self.answer)
    }
}

/// A task for the user. The button "Do it for me" does the task too.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Open this network. Done when it is open and propagated.
    Open(String),
    /// Observe this variable in this state.
    Observe(String, String),
    /// Show moral and fill edges.
    FillEdges,
    /// Select a clique. "Do it for me" selects the first one that is not the root.
    SelectClique,
    /// Select a clique with the largest table.
    SelectLargest,
    /// Select a variable. "Do it for me" selects this one.
    SelectVariable(String),
    /// Eliminate this variable in the pane Elimination.
    Eliminate(String),
    /// Take the elimination of this variable back.
    TakeBack(String),
    /// Eliminate all variables. "Do it for me" uses min-fill.
    EliminateAll,
    /// Step through the messages.
    #[serde(rename = "walk")]
    StepThrough,
    /// Go to the end of the messages.
    #[serde(rename = "walk_to_end")]
    StepToEnd,
    /// Play in slow motion.
    SlowMotion,
    /// Play recorded runs of engines `gpu-paper` and `gpu` in slow motion.
    RecordedRuns,
}

impl Action {
    /// Whether the user steps through the messages after this task.
    #[must_use]
    pub fn steps_through_messages(&self) -> bool {
        matches!(self, Self::StepThrough | Self::StepToEnd | Self::SlowMotion | Self::RecordedRuns)
    }
}

/// Reads the title of a pane.
fn pane_by_title<'de, D: Deserializer<'de>>(title: D) -> Result<Option<Pane>, D::Error> {
    let title = String::deserialize(title)?;
    let titles = || Pane::ALL.map(|pane| format!("'{}'", pane.title())).join(", ");
    let unknown = || format!("there is no pane '{title}'; expected one of {}", titles());
    Pane::by_title(&title).map(Some).ok_or_else(|| serde::de::Error::custom(unknown()))
}
