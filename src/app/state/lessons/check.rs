//! Reads lesson files, and finds the mistakes in lessons.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde_json::value::RawValue;

use super::numbers;
use super::script::{Action, Lesson, LessonStep, Question};
use crate::app::state::pane::Pane;
use crate::app::widgets::equation;
use crate::format::FormatError;
use crate::network::Network;

/// The names of what a step may point at, other than a pane. The code that draws a target gives it
/// its name with a function of [`targets`](crate::app::widgets::targets).
pub const TARGETS: [&str; 11] = [
    "state",
    "step through",
    "stepping",
    "moral and fill edges",
    "tables of a message",
    "steps of a message",
    "memory of a message",
    "slow motion",
    "recorded runs",
    "menu",
    "engine",
];

/// Maximum size of a lesson file in bytes. A file of this size is read without the user noticing.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the lesson in the file at `path`.
///
/// # Errors
/// If the file cannot be read, is a pipe or a device, is larger than 1 MiB, is not JSON, or has a
/// mistake that can be found without reading its networks. The message says where.
pub fn read(path: &Path) -> Result<Lesson, String> {
    let place = path.display();
    crate::format::check_not_special(path).map_err(|error| error.to_string())?;
    let fail = |error: std::io::Error| format!("{place}: {error}");
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(&fail)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(&fail)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("{place}: the file is larger than 1 MiB; a lesson is much smaller"));
    }
    let mut lesson = parse(&text, &place.to_string())?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    lesson.folder = path.parent().map(Path::to_owned).unwrap_or_default();
    lesson.id = path.display().to_string();
    check(&lesson).map_err(|mistake| mistake.in_file(&text, &place.to_string()))?;
    Ok(lesson)
}

/// Whether the file at `path` is meant as a lesson: whether it holds a JSON object with a list of
/// steps. A file that cannot be read, or is too large, is not a lesson.
#[must_use]
pub fn is_lesson(path: &Path) -> bool {
    let is_small = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() <= MAX_BYTES);
    if crate::format::check_not_special(path).is_err() || !is_small(path) {
        return false;
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let text = text.trim_start_matches('\u{feff}');
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    value.get("steps").is_some_and(serde_json::Value::is_array)
}

/// Reads the JSON `text` of a lesson. `file` is the name of the file in messages.
///
/// # Errors
/// A message for the user, with line and column, if the text is not the JSON of a [`Lesson`].
pub(super) fn parse(text: &str, file: &str) -> Result<Lesson, String> {
    let text = without_mark(text);
    let error = |line, column, message| {
        FormatError { file: file.to_owned(), line, column, message }.to_string()
    };
    if !text.trim_start().starts_with('{') {
        let message = "this is not a lesson, which is a JSON object and begins with '{'";
        return Err(error(1, 1, message.to_owned()));
    }
    serde_json::from_str(text).map_err(|cause| {
        // serde_json ends its messages with the place; here it comes first.
        let (line, column, message) = (cause.line(), cause.column(), cause.to_string());
        let end = format!(" at line {line} column {column}");
        let message = message.strip_suffix(&end).unwrap_or(&message).to_owned();
        error(line, column, message)
    })
}

/// `text` without the byte order mark with which some editors begin a file.
fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// A mistake in the content of a lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The index of the step; `None` if the mistake is in no step.
    step: Option<usize>,
    /// Where in the step or else the lesson the mistake is: a field, a field of this field, and so
    /// on.
    path: &'static [&'static str],
    /// What is wrong and, in most cases, what was expected.
    message: String,
}

impl Mistake {
    /// A mistake at `path` in a step or a lesson.
    fn new(path: &'static [&'static str], message: impl Into<String>) -> Self {
        Self { step: None, path, message: message.into() }
    }

    /// The message for the user if the lesson is in `file`, whose content is `text`: with line and
    /// column of the value that is wrong. If it is missing, those of what should contain it.
    fn in_file(&self, text: &str, file: &str) -> String {
        let text = without_mark(text);
        let step = self.step.and_then(|step| elements(field(text, "steps")?).get(step).copied());
        let mut value = step.unwrap_or(text);
        for name in self.path {
            value = field(value, name).unwrap_or(value);
        }
        let before = &text[..value.as_ptr() as usize - text.as_ptr() as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
        let message = match self.step {
            Some(step) => format!("step {}: {}", step + 1, self.message),
            None => self.message.clone(),
        };
        FormatError { file: file.to_owned(), line, column, message }.to_string()
    }
}

/// The part of the JSON object `object` that is the value of its field `name`.
fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    fields.get(name).map(|value| value.get())
}

/// The parts of the JSON array `array` that are its elements.
fn elements(array: &str) -> Vec<&str> {
    let values: Vec<&RawValue> = serde_json::from_str(array).unwrap_or_default();
    values.into_iter().map(RawValue::get).collect()
}

/// Checks everything in `lesson` that does not depend on the content of its networks.
///
/// # Errors
/// The first mistake.
pub(super) fn check(lesson: &Lesson) -> Result<(), Mistake> {
    if lesson.title.trim().is_empty() {
        return Err(Mistake::new(&["title"], "the title is empty"));
    }
    if lesson.steps.is_empty() {
        return Err(Mistake::new(&["steps"], "there are no steps"));
    }
    check_network(lesson, &lesson.network)
        .map_err(|message| Mistake::new(&["network"], message))?;
    for (index, step) in lesson.steps.iter().enumerate() {
        let in_step = |mistake| Mistake { step: Some(index), ..mistake };
        check_step(lesson, step).map_err(in_step)?;
        let has_column = lesson.steps[..=index].iter().any(|step| step.column.is_some());
        if !step.compare.is_empty() && !has_column {
            let message = "'compare' needs a 'column' in this step or an earlier one";
            return Err(in_step(Mistake::new(&["compare"], message)));
        }
    }
    Ok(())
}

/// Checks one step of a lesson.
fn check_step(lesson: &Lesson, step: &LessonStep) -> Result<(), Mistake> {
    if let Some(target) = &step.target
        && Pane::by_title(target).is_none()
        && !TARGETS.contains(&target.as_str())
    {
        let known = Pane::ALL.map(Pane::title).into_iter().chain(TARGETS);
        let known = known.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let message = format!("there is no target '{target}'; expected one of {known}");
        return Err(Mistake::new(&["target"], message));
    }
    if step.maximise && step.pane().is_none() {
        let message = "'maximise' needs a pane in 'show' or 'target'";
        return Err(Mistake::new(&["maximise"], message));
    }
    if let Some(question) = &step.question {
        check_question(question)?;
    }
    if let Some(Action::Open(name)) = &step.action {
        check_network(lesson, name)
            .map_err(|message| Mistake::new(&["action", "open"], message))?;
    }
    equation::check_text(&step.text).map_err(|message| Mistake::new(&["text"], message))?;
    let problem = names(step).find_map(|(path, name)| Some((path, numbers::problem(name)?)));
    problem.map_or(Ok(()), |(path, message)| Err(Mistake::new(path, message)))
}

/// Checks a question.
fn check_question(question: &Question) -> Result<(), Mistake> {
    let options = question.options.len();
    if !(2..=6).contains(&options) {
        let message = format!("a question needs 2 to 6 options, and the number here is {options}");
        return Err(Mistake::new(&["question", "options"], message));
    }
    if question.right().is_none() {
        let message = format!("the answer '{}' is not one of the options", question.answer);
        return Err(Mistake::new(&["question", "answer"], message));
    }
    Ok(())
}

/// Checks that `name` is a sample or a file.
fn check_network(lesson: &Lesson, name: &str) -> Result<(), String> {
    use crate::format::NetworkSource::File;
    match lesson.source_of(name) {
        File(path) if !path.is_file() => {
            let path = path.display();
            Err(format!("network '{name}' is neither a sample nor a file: there is no {path}"))
        }
        _ => Ok(()),
    }
}

/// The names of all numbers in `step`, each with the path of the field that contains it.
fn names(step: &LessonStep) -> impl Iterator<Item = (&'static [&'static str], &str)> {
    type Path = &'static [&'static str];
    let of_question = step.question.iter().flat_map(|question| {
        let ask: (Path, _) = (&["question", "ask"], &question.ask);
        [ask, (&["question", "because"], &question.because)]
    });
    let text: (Path, _) = (&["text"], &step.text);
    let texts = std::iter::once(text).chain(of_question);
    let compared = step.compare.iter().map(|name| (&["compare"] as Path, name.as_str()));
    texts
        .flat_map(|(path, text)| numbers::names(text).map(move |name| (path, name)))
        .chain(compared)
}

/// What is wrong with `step` if it is taken with `network`: a variable or a state that the network
/// does not have. Nothing is reported for a step that opens a network, because the numbers of such
/// a step may belong to the old or to the new network.
pub(super) fn problem(step: &LessonStep, network: &Network) -> Option<String> {
    if matches!(step.action, Some(Action::Open(_))) {
        return None;
    }
    let states = names(step).find_map(|(_, name)| numbers::state_of(network, name)?.err());
    states.or_else(|| match &step.action {
        Some(Action::Observe(variable, state)) => {
            numbers::find_state(network, variable, state).err()
        }
        Some(Action::SelectVariable(name) | Action::Eliminate(name) | Action::TakeBack(name))
            if network.find(name).is_none() =>
        {
            Some(format!("the network has no variable '{name}'"))
        }
        _ => None,
    })
}

/// The first mistake in each step of `lesson` that is taken with `network`, which the lesson calls
/// `name`. Steps without mistakes are skipped.
pub(super) fn problems(lesson: &Lesson, name: &str, network: &Network) -> Vec<String> {
    let steps = lesson.steps.iter().enumerate();
    let taken = steps.filter(|(index, _)| lesson.network_at(*index) == name);
    taken
        .filter_map(|(index, step)| {
            Some(format!("step {}: {}", index + 1, problem(step, network)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::LESSONS;
    use super::*;

    /// The lesson with this step, or the first mistake in it.
    fn with_step(step: &str) -> Result<Lesson, String> {
        let text = format!("{{\"title\": \"T\", \"network\": \"asia\",\n\"steps\": [{step}]}}");
        let lesson = parse(&text, "class.json")?;
        check(&lesson).map_err(|mistake| mistake.in_file(&text, "class.json"))?;
        Ok(lesson)
    }

    #[test]
    fn shipped_lessons_have_no_mistakes() {
        for lesson in LESSONS.iter() {
            assert_eq!(check(lesson), Ok(()), "{}", lesson.id);
            for name in (0..lesson.steps.len()).map(|step| lesson.network_at(step)) {
                let network = lesson.source_of(name).open().unwrap().network;
                assert_eq!(problems(lesson, name, &network), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn every_shipped_lesson_asks_a_question() {
        for lesson in LESSONS.iter() {
            let questions = lesson.steps.iter().filter(|step| step.question.is_some()).count();
            assert!(questions >= 1, "{}", lesson.id);
        }
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        let error = |step: &str| with_step(step).unwrap_err();
        let typo = error(r#"{"text": "a", "txet": "b"}"#);
        assert!(typo.starts_with("class.json:2:"), "{typo}");
        assert!(typo.contains("unknown field `txet`, expected one of `text`"), "{typo}");
        let target = error(r#"{"text": "a"}, {"text": "a", "target": "Clique"}"#);
        assert!(
            target.starts_with("class.json:2:50: step 2: there is no target 'Clique'"),
            "{target}"
        );
        assert!(target.contains("'Cliques'") && target.contains("'stepping'"), "{target}");
        let pane = error(r#"{"text": "a", "show": "Tree"}"#);
        assert!(pane.contains("there is no pane 'Tree'; expected one of 'Variables'"), "{pane}");
        let number = error(r#"{"text": "{size}"}"#);
        assert!(number.contains("there is no number 'size'"), "{number}");
        let question = r#"{"ask": "?", "options": ["x", "y"], "answer": "z"}"#;
        let answer = error(&format!(r#"{{"text": "a", "question": {question}}}"#));
        assert_eq!(answer, "class.json:2:83: step 1: the answer 'z' is not one of the options");
        let network = error(r#"{"text": "a", "action": {"open": "nowhere.bif"}}"#);
        assert!(network.contains("'nowhere.bif' is neither a sample nor a file"), "{network}");
        let column = error(r#"{"text": "a", "compare": ["time"]}"#);
        assert!(column.contains("'compare' needs a 'column'"), "{column}");
        let pane = error(r#"{"text": "a", "maximise": true}"#);
        assert!(pane.contains("'maximise' needs a pane"), "{pane}");
        assert_eq!(error(""), "class.json:2:10: there are no steps");
        assert!(number.starts_with("class.json:2:20: step 1"), "{number}");
        assert!(network.starts_with("class.json:2:44: step 1"), "{network}");
        let second_line = error("{\"text\": \"ä\",\n  \"compare\": [\"size\"]}");
        assert!(
            second_line.starts_with("class.json:3:14: step 1: there is no number"),
            "{second_line}"
        );
        let equation = error(r#"{"text": "costs $5"}"#);
        assert!(equation.starts_with("class.json:2:20: step 1: a '$' begins"), "{equation}");
        for text in ["", "network alarm {}"] {
            let other = parse(text, "class.json").unwrap_err();
            assert!(other.starts_with("class.json:1:1: this is not a lesson"), "{other}");
        }
    }

    #[test]
    fn variables_and_states_are_checked_against_the_network() {
        let lesson = with_step(
            r#"{"text": "{lug=yes}"},
               {"text": "b", "action": {"observe": ["xray", "maybe"]}},
               {"text": "{xray=yes}, {Smoker=True}", "action": {"open": "cancer"}},
               {"text": "{xray=yes}"}"#,
        );
        let network = crate::format::open("asia").unwrap().network;
        let problems = problems(&lesson.unwrap(), "asia", &network);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!(problems[0], "step 1: the network has no variable 'lug'");
        assert!(problems[1].starts_with("step 2: variable 'xray' has no state 'maybe'"));
    }
}
