//! What a lesson is made of.

use crate::app::state::model::Pane;

/// A guided tour.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Its name in the settings.
    pub id: String,
    /// Its name in the menu.
    pub title: String,
    /// The sample that it opens.
    pub network: String,
    /// Its steps.
    pub steps: Vec<LessonStep>,
}

/// One step of a lesson.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonStep {
    /// What it says. In braces: `{variables}`, `{cliques}`, `{largest}`, `{total}`, `{separator}`,
    /// `{messages}`, `{fill}`, `{time}` of the open network, and `{lung=yes}` for a posterior.
    pub text: String,
    /// What it points at: the name of a [target](crate::app::widgets::targets), or a pane by its title.
    pub target: String,
    /// The pane that it brings to the front.
    #[serde(default)]
    pub show: Option<Pane>,
    /// What it asks the user to do.
    #[serde(default)]
    pub action: Option<Action>,
    /// When that is done.
    #[serde(default)]
    pub until: Until,
}

/// Something that a lesson can do for the user.
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
    /// Step to the end.
    WalkToEnd,
    /// Play in slow motion.
    SlowMotion,
}

/// When a step is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// When it has been read.
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
    /// The clique with the largest table is.
    LargestSelected,
    /// A variable is selected.
    VariableSelected,
    /// Somebody steps through the messages.
    Walking,
    /// All messages are passed.
    Walked,
    /// The propagation plays in slow motion.
    SlowMotion,
}

#[cfg(test)]
mod tests {
    use super::super::LESSONS;
    use super::*;
    use crate::app::shell::actions::PANES;

    #[test]
    fn four_lessons_of_five_to_eight_steps() {
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
    fn what_lessons_name_is_there() {
        let named = [
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
                let is_pane = PANES.iter().any(|(_, title)| *title == step.target);
                assert!(is_pane || named.contains(&step.target.as_str()), "{}", step.target);
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
