//! Lessons: guided tours of the window. The texts and tasks of a lesson are data; the tasks are
//! done by ordinary commands.
//!
//! A lesson opens its own network. The user's own work is set aside, and restored when the user
//! leaves the lesson, unless the user keeps the lesson's network open. The settings store the step
//! at which each unfinished lesson was left.
//!
//! The shipped lessons are files in `assets/lessons/`, in the format of the lesson files that users
//! write; `assets/lessons/README.md` describes it.

mod check;
mod columns;
mod command;
mod course;
pub mod numbers;
mod progress;
mod script;

use std::sync::{Arc, LazyLock};

pub use check::{TARGETS, is_lesson, read};
pub use columns::{Column, Comparison};
pub use command::LessonCommand;
pub(in crate::app) use course::{Course, UserWork};
pub use script::{Action, Lesson, LessonStep, Question};

/// The name and the text of each shipped lesson.
const SHIPPED: [(&str, &str); 5] = [
    ("asia", include_str!("../../../../assets/lessons/asia.json")),
    ("junction-tree", include_str!("../../../../assets/lessons/junction-tree.json")),
    ("elimination", include_str!("../../../../assets/lessons/elimination.json")),
    ("table-size", include_str!("../../../../assets/lessons/table-size.json")),
    ("gpu-time", include_str!("../../../../assets/lessons/gpu-time.json")),
];

/// The shipped lessons, in the order of the menu.
pub static LESSONS: LazyLock<Vec<Arc<Lesson>>> = LazyLock::new(|| {
    let shipped = |(name, text): (&str, &str)| {
        let lesson = check::parse(text, name).expect("the shipped lessons are valid");
        Arc::new(Lesson { id: name.to_owned(), ..lesson })
    };
    SHIPPED.into_iter().map(shipped).collect()
});
