//! Commands about lessons.

/// A command about lessons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LessonCommand {
    /// Start the lesson with this index in [`LESSONS`](super::LESSONS), at the step where it was
    /// left.
    Start(usize),
    /// Go to the next step, after doing the task of the current step if the task is not done yet.
    /// At the last step, end the lesson and return to the user's own work.
    Next,
    /// Go to the previous step.
    Back,
    /// Do the task of the current step.
    DoIt,
    /// Leave the lesson and return to the user's own work.
    Leave,
    /// Leave the lesson and keep its network open.
    Stay,
}
