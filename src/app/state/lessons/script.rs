//! The script of a lesson, as in `assets/lessons.json`.

use crate::app::state::pane::Pane;

/// A guided tour.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Identifies the lesson in the settings; unique among all lessons.
    pub id: String,
    /// The title, as in the menu.
    pub title: String,
    /// The sample that the lesson opens.
    pub network: String,
    /// The steps, in order.
    pub steps: Vec<LessonStep>,
}

/// One step of a lesson.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonStep {
    /// The text. Names in braces stand for numbers of the open network:
    ///
    /// * `{variables}`, `{cliques}`, `{messages}`: the number of variables, cliques or messages;
    /// * `{fill}`: the number of fill edges;
    /// * `{largest}`: the number of entries of the largest clique table;
    /// * `{total}`: the number of entries of all clique tables together;
    /// * `{separator}`: the mean number of entries of a separator table, rounded to a whole number;
    /// * `{time}`: the time of the newest propagation;
    /// * a variable and a state, such as `{lung=yes}`: the posterior of that state.
    pub text: String,
    /// What the step points at: the name of a [target](crate::app::widgets::targets), or the title
    /// of a pane.
    pub target: String,
    /// The pane that the step brings to the front.
    #[serde(default)]
    pub show: Option<Pane>,
    /// The task of the user, if there is one.
    #[serde(default)]
    pub action: Option<Action>,
    /// When the task is done.
    #[serde(default)]
    pub until: Until,
}

/// A task for the user. The button "Do it for me" does it too.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Open this sample.
    Open(String),
    /// Observe this variable in this state.
    Observe(String, String),
    /// Show moral and fill edges.
    FillEdges,
    /// Select the first clique.
    SelectClique,
    /// Select the clique with the largest table.
    SelectLargest,
    /// Select this variable.
    SelectVariable(String),
    /// Step through the messages.
    Walk,
    /// Go to the end of the messages.
    WalkToEnd,
    /// Play in slow motion.
    SlowMotion,
}

/// When the task of a step is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// At once: there is only text to read.
    #[default]
    Read,
    /// This sample is open and propagated.
    Opened(String),
    /// This variable is observed in this state.
    Observed(String, String),
    /// Moral and fill edges are shown.
    FillEdges,
    /// A clique is selected.
    CliqueSelected,
    /// A clique with the largest table is selected.
    LargestSelected,
    /// A variable is selected.
    VariableSelected,
    /// The user is stepping through the messages.
    Walking,
    /// Stepping has reached the end of the messages.
    Walked,
    /// Stepping is in slow motion.
    SlowMotion,
}

#[cfg(test)]
mod tests {
    use super::super::LESSONS;
    use super::*;

    #[test]
    fn there_are_four_lessons_of_five_to_eight_steps_and_every_task_has_an_end() {
        assert_eq!(LESSONS.len(), 4);
        for (index, lesson) in LESSONS.iter().enumerate() {
            assert!((5..=8).contains(&lesson.steps.len()), "{}", lesson.id);
            assert!(LESSONS[..index].iter().all(|other| other.id != lesson.id));
            assert!(crate::format::open(&lesson.network).is_ok());
            for step in &lesson.steps {
                assert_eq!(step.action.is_some(), step.until != Until::Read, "{}", step.text);
            }
        }
    }

    #[test]
    fn lessons_name_known_targets_variables_and_states() {
        /// Every target that a lesson may point at, except panes.
        const TARGETS: [&str; 10] = [
            "state",
            "step through",
            "stepping",
            "moral and fill edges",
            "tables of a message",
            "steps of a message",
            "memory of a message",
            "slow motion",
            "menu",
            "engine",
        ];
        for lesson in LESSONS.iter() {
            let mut network = crate::format::open(&lesson.network).unwrap().network;
            for step in &lesson.steps {
                let is_pane = Pane::ALL.iter().any(|pane| pane.title() == step.target);
                assert!(is_pane || TARGETS.contains(&step.target.as_str()), "{}", step.target);
                match &step.action {
                    Some(Action::Open(name)) => {
                        network = crate::format::open(name).unwrap().network;
                    }
                    Some(Action::Observe(variable, state)) => {
                        let id = network.find(variable).unwrap();
                        assert!(network[id].state_index(state).is_some());
                    }
                    Some(Action::SelectVariable(name)) => assert!(network.find(name).is_some()),
                    _ => {}
                }
            }
        }
    }
}
