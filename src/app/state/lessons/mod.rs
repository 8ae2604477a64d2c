//! Lessons: guided tours of the window. The texts and tasks of a lesson are data; the tasks are
//! done by ordinary commands.
//!
//! A lesson opens its own network. The user's own work is set aside, and restored when the user
//! leaves the lesson, unless the user keeps the lesson's network open. The settings store the step
//! at which each unfinished lesson was left.

mod command;
mod course;
mod progress;
mod script;
mod text;

use std::sync::LazyLock;

pub use command::LessonCommand;
pub(in crate::app) use course::{Course, UserWork};
pub use script::{Action, Lesson, LessonStep, Until};

/// All lessons.
pub static LESSONS: LazyLock<Vec<Lesson>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../assets/lessons.json"))
        .expect("the shipped lessons are valid")
});
