//! Commands about lessons.

use std::path::PathBuf;
use std::sync::Arc;

use super::Lesson;

/// A command about lessons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LessonCommand {
    /// Start this lesson at the step where it was left.
    Start(Arc<Lesson>),
    /// Read the lesson in this file, add it to the menu, and start it.
    OpenFile(PathBuf),
    /// Go to the next step, after doing the task of the current step if the task is not done yet.
    /// If there is more to see once the task is done, only do the task. At the last step, end the
    /// lesson as [`Leave`](Self::Leave) does. Does nothing before the question of the current step
    /// is answered.
    Next,
    /// Go to the previous step.
    Back,
    /// Answer the question of the current step with the option that has this index, if the question
    /// is not answered yet.
    Predict(usize),
    /// Show the answer to the question of the current step.
    ShowAnswer,
    /// Do the task of the current step.
    DoIt,
    /// Leave the lesson and return to the user's own work. If no network was open when the lesson
    /// started, the network of the lesson stays open.
    Leave,
    /// Leave the lesson and keep its network open. If this network is not open yet, return to the
    /// user's own work.
    Stay,
}
