//! Guided tours: what they say is data, what they do is done to the real window.
//!
//! A lesson opens a network of its own. What was open is put aside whole and comes back when the
//! lesson is left. How far each lesson is stands in the settings.

mod course;
mod draw;
mod script;

use std::sync::LazyLock;

pub(super) use course::Course;
pub(super) use draw::show;
pub use script::{Action, Lesson, LessonStep, Until};

/// All lessons.
pub static LESSONS: LazyLock<Vec<Lesson>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../assets/lessons.json"))
        .expect("the lessons that are shipped can be read")
});

/// What a lesson is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LessonCommand {
    /// Begin the lesson of this number, or go on where it was left.
    Start(usize),
    /// To the next step; what the present one asks for is done if it is not.
    Next,
    /// To the step before.
    Back,
    /// Do what the present step asks for.
    DoIt,
    /// Leave, with what was open before.
    Leave,
    /// Leave, and keep what the lesson opened.
    Stay,
}
