//! Numbers of several steps side by side.

use std::collections::BTreeMap;

use super::numbers;
use super::script::Lesson;
use crate::app::state::model::Model;

/// The numbers of a lesson as they were at some of its steps: by the index of the step, and then by
/// the name of the number.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(BTreeMap<usize, BTreeMap<String, String>>);

/// The numbers to compare at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What the number in each row is.
    pub rows: Vec<String>,
    /// The columns.
    pub columns: Vec<Column>,
}

/// The numbers of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub heading: String,
    /// The number in each row; `None` if it was not known at this step, or if the user skipped this
    /// step by resuming the lesson at a later one.
    pub values: Vec<Option<String>>,
}

impl Columns {
    /// Stores the numbers of the step with index `step`, if the step has a column. A number that is
    /// not known at the moment keeps its earlier value.
    pub fn update(&mut self, lesson: &Lesson, step: usize, model: &Model) {
        if lesson.steps[step].column.is_none() {
            return;
        }
        let compared = lesson.steps.iter().flat_map(|step| &step.compare);
        let column = self.0.entry(step).or_default();
        for name in compared {
            if let Some(value) = numbers::value(name, model) {
                column.insert(name.clone(), value);
            }
        }
    }

    /// What the step with index `step` compares, if anything.
    pub fn comparison(&self, lesson: &Lesson, step: usize) -> Option<Comparison> {
        let names = &lesson.steps[step].compare;
        let column = |(index, heading): (usize, &String)| {
            let kept = self.0.get(&index);
            let value = |name: &String| kept.and_then(|column| column.get(name)).cloned();
            Column { heading: heading.clone(), values: names.iter().map(value).collect() }
        };
        let steps = lesson.steps[..=step].iter().enumerate();
        let headed = steps.filter_map(|(index, step)| Some((index, step.column.as_ref()?)));
        (!names.is_empty()).then(|| Comparison {
            rows: names.iter().map(|name| numbers::label(name)).collect(),
            columns: headed.map(column).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use crate::app::testing::model_with;

    #[test]
    fn numbers_of_two_steps_are_compared() {
        let lesson = check::parse(
            r#"{"title": "T", "network": "asia", "steps": [
                {"text": "a", "column": "before"},
                {"text": "b"},
                {"text": "c", "column": "after", "compare": ["lung=yes", "fill"]}]}"#,
            "class.json",
        );
        let lesson = lesson.unwrap();
        let mut columns = Columns::default();
        columns.update(&lesson, 0, &model_with("asia", "sequential", &[]));
        columns.update(&lesson, 1, &model_with("asia", "sequential", &[("asia", "yes")]));
        columns.update(&lesson, 2, &model_with("asia", "sequential", &[("xray", "yes")]));
        assert_eq!(columns.comparison(&lesson, 1), None);
        let compared = columns.comparison(&lesson, 2).unwrap();
        assert_eq!(compared.rows, ["lung = yes", "fill edges"]);
        let values = |index: usize| -> Vec<&str> {
            compared.columns[index].values.iter().map(|value| value.as_deref().unwrap()).collect()
        };
        assert_eq!(compared.columns.len(), 2);
        assert_eq!(
            (compared.columns[0].heading.as_str(), values(0)),
            ("before", vec!["5.5%", "1"])
        );
        assert_eq!(
            (compared.columns[1].heading.as_str(), values(1)),
            ("after", vec!["48.9%", "1"])
        );
        let skipped = Columns::default().comparison(&lesson, 2).unwrap();
        assert_eq!(skipped.columns[0].values, [None, None]);
    }
}
