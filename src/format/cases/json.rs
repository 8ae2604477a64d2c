//! Cases in a JSON format of this program.
//!
//! A case is an object with optional keys, `{"name": NAME, "evidence": {VARIABLE: STATE},
//! "likelihood": {VARIABLE: [numbers in state order]}}`; a file holds one case or an array of
//! cases, or in the format JSON lines one case per line. Each case is read by itself, so that a
//! file of any length can be read. If a variable is both observed and given a likelihood, the
//! weights of all states but the observed one are set to zero, so that ln P(e) counts both
//! findings.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value, json};

use crate::format::FormatError;
use crate::format::cases::arrangement::{Arrangement, INCOMPLETE};
use crate::format::source::SourceText;
use crate::network::{Evidence, EvidenceError, Finding, Network};

/// A case and its name, if it has one.
pub(super) type NamedCase = (Option<String>, Evidence);

/// Reads the case in `source`, an object.
///
/// # Errors
/// If the text is not JSON, has an unknown or repeated key or a value of the wrong type, names a
/// variable or state that `network` does not have, or gives weights that are not a likelihood.
pub(super) fn read_case(
    source: SourceText<'_>,
    network: &Network,
    arrangement: Arrangement,
) -> Result<NamedCase, FormatError> {
    // Without trailing white space, an error at the end of the text is on its last line.
    let mut json = serde_json::Deserializer::from_str(source.text.trim_end());
    let result = Case { network }.deserialize(&mut json).and_then(|case| json.end().map(|()| case));
    result.map_err(|error| {
        // serde_json ends its messages with the place; here it comes first.
        let (line, column, message) = (error.line(), error.column(), error.to_string());
        let end = format!(" at line {line} column {column}");
        let message = match error.classify() {
            Category::Eof if arrangement == Arrangement::Lines => {
                "the line ends before the JSON is complete".to_owned()
            }
            Category::Eof => INCOMPLETE.to_owned(),
            _ => message.strip_suffix(&end).unwrap_or(&message).to_owned(),
        };
        // serde_json counts columns in bytes.
        let start = source.text.lines().nth(line.max(1) - 1).unwrap_or("").bytes().take(column);
        let column = start.filter(|byte| byte & 0xc0 != 0x80).count().max(1);
        let line = line.max(1);
        FormatError { file: source.file.to_owned(), line, column, message }
    })
}

/// The content of a file with `cases`, one per line. `names` are the names of the first
/// cases; further cases have no name.
pub(super) fn write_lines(network: &Network, cases: &[Evidence], names: &[String]) -> String {
    let names = names.iter().map(Some).chain(std::iter::repeat(None));
    let line = |(case, name)| format!("{}\n", case_value(network, case, name));
    cases.iter().zip(names).map(line).collect()
}

/// The content of a file with `cases`: one case as an object, any other number as an array. `names`
/// are the names of the first cases; further cases have no name.
pub(super) fn write(network: &Network, cases: &[Evidence], names: &[String]) -> String {
    let names = names.iter().map(Some).chain(std::iter::repeat(None));
    let mut values: Vec<Value> =
        cases.iter().zip(names).map(|(case, name)| case_value(network, case, name)).collect();
    let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
    format!("{value:#}\n")
}

/// The object of one case.
fn case_value(network: &Network, case: &Evidence, name: Option<&String>) -> Value {
    let (mut evidence, mut likelihood) = (Map::new(), Map::new());
    for (id, finding) in case.iter() {
        let name = network[id].name().to_owned();
        match finding {
            Finding::Observed(state) => {
                evidence.insert(name, json!(network[id].states()[*state]));
            }
            Finding::Likelihood(weights) => {
                likelihood.insert(name, json!(weights));
            }
        }
    }
    let mut value = Map::from_iter([("evidence".to_owned(), Value::Object(evidence))]);
    if !likelihood.is_empty() {
        value.insert("likelihood".to_owned(), Value::Object(likelihood));
    }
    if let Some(name) = name {
        value.insert("name".to_owned(), json!(name));
    }
    Value::Object(value)
}

/// The name in `text`, a case with a mistake; `None` if it has no name that can be read, for
/// example because the text is not JSON.
pub(super) fn read_name(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: Option<String>,
    }
    // Without this check, serde would also read `Named` from an array.
    let is_object = text.trim_start().starts_with('{');
    let named = is_object.then(|| serde_json::from_str(text).ok()).flatten();
    named.and_then(|Named { name }| name)
}

/// Reads one case.
#[derive(Clone, Copy)]
struct Case<'a> {
    network: &'a Network,
}

impl<'de> DeserializeSeed<'de> for Case<'_> {
    type Value = NamedCase;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<NamedCase, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Case<'_> {
    type Value = NamedCase;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a case: an object with the keys 'name', 'evidence' and 'likelihood', all optional",
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedCase, A::Error> {
        let (mut observed, mut likelihood, mut title) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            let (name, slot) = match key.as_str() {
                "evidence" => ("evidence", &mut observed),
                "likelihood" => ("likelihood", &mut likelihood),
                "name" => {
                    if title.replace(map.next_value::<String>()?).is_some() {
                        return Err(A::Error::custom("the key 'name' is given twice"));
                    }
                    continue;
                }
                _ => {
                    return Err(A::Error::custom(format!(
                        "unknown key '{key}', expected 'name', 'evidence' or 'likelihood'"
                    )));
                }
            };
            let is_likelihood = name == "likelihood";
            let findings = Findings { network: self.network, is_likelihood };
            if slot.replace(map.next_value_seed(findings)?).is_some() {
                return Err(A::Error::custom(format!("the key '{name}' is given twice")));
            }
        }
        let mut evidence: Evidence = observed.unwrap_or_default();
        for (variable, finding) in likelihood.unwrap_or_default().iter() {
            let finding = match (evidence.observed(variable), finding) {
                (Some(state), Finding::Likelihood(weights)) if weights[state] == 0.0 => {
                    let variable = &self.network[variable];
                    // A likelihood of zeros could not be written and read again.
                    return Err(A::Error::custom(format!(
                        "impossible evidence: '{}' is observed in state '{}', for which its \
                         likelihood is zero",
                        variable.name(),
                        variable.states()[state]
                    )));
                }
                (Some(state), Finding::Likelihood(weights)) => {
                    let mut masked = vec![0.0; weights.len()];
                    masked[state] = weights[state];
                    Finding::Likelihood(masked.into())
                }
                _ => finding.clone(),
            };
            evidence.insert(variable, finding);
        }
        Ok((title, evidence))
    }
}

/// Reads the value of the key `likelihood` or `evidence`.
struct Findings<'a> {
    network: &'a Network,
    /// Whether the key is `likelihood`.
    is_likelihood: bool,
}

impl<'de> DeserializeSeed<'de> for Findings<'_> {
    type Value = Evidence;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Evidence, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Findings<'_> {
    type Value = Evidence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_likelihood {
            "an object of variables, each with an array of numbers"
        } else {
            "an object of variables, each with the label of a state"
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Evidence, A::Error> {
        let mut evidence = Evidence::none();
        while let Some(name) = map.next_key::<String>()? {
            let before = evidence.len();
            if self.is_likelihood {
                let weights = map.next_value::<Vec<f64>>()?;
                evidence.set_likelihood_named(self.network, &name, weights)
            } else {
                let StateLabel(state) = map.next_value()?;
                evidence.observe_named(self.network, &name, &state)
            }
            .map_err(|error: EvidenceError| A::Error::custom(error))?;
            if evidence.len() == before {
                return Err(A::Error::custom(format!("variable '{name}' is given twice")));
            }
        }
        Ok(evidence)
    }
}

/// The label of a state.
struct StateLabel(String);

impl<'de> Deserialize<'de> for StateLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = StateLabel;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the label of a state, in quotes")
            }

            fn visit_str<E>(self, label: &str) -> Result<StateLabel, E> {
                Ok(StateLabel(label.to_owned()))
            }
        }

        deserializer.deserialize_str(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;
    use crate::format::cases::{self, CaseError, CaseFile};

    fn asia() -> std::sync::Arc<Network> {
        format::sample("asia").unwrap().open().network
    }

    fn read(file: &str, text: &str) -> Result<CaseFile, CaseError> {
        cases::read(file, text, &asia())
    }

    fn read_cases(text: &str) -> Vec<Evidence> {
        read("e.json", text).unwrap().cases
    }

    fn refused(text: &str) -> String {
        read("e.json", text).unwrap_err().to_string()
    }

    #[test]
    fn one_case_and_several_are_read() {
        let network = asia();
        let one = read_cases(r#"{"evidence": {"smoke": "no"}}"#);
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].observed(network.find("smoke").unwrap()), Some(1));
        let text = r#"[{}, {"likelihood": {"tub": [1, 0.5]}}]"#;
        let several = read_cases(text);
        assert!(several[0].is_empty());
        let tub = several[1].get(network.find("tub").unwrap()).unwrap();
        assert_eq!(tub, &Finding::Likelihood([1.0, 0.5].into()));
        assert_eq!(read_cases("[]"), []);
    }

    #[test]
    fn an_observed_variable_keeps_only_the_weight_of_the_observed_state() {
        let network = asia();
        for text in [
            r#"{"evidence": {"tub": "no"}, "likelihood": {"tub": [1, 0.5]}}"#,
            r#"{"likelihood": {"tub": [1, 0.5]}, "evidence": {"tub": "no"}}"#,
        ] {
            let case = &read_cases(text)[0];
            let tub = case.get(network.find("tub").unwrap()).unwrap();
            assert_eq!(tub, &Finding::Likelihood([0.0, 0.5].into()));
        }
    }

    #[test]
    fn errors_give_the_case_the_line_and_the_column() {
        assert_eq!(
            refused("[{},\n {\"evidence\": {\"smoke\": \"maybe\"}}]"),
            "e.json:2:32: case 2: variable 'smoke' has no state 'maybe'; its states are yes, no"
        );
        assert_eq!(
            refused(r#"{"findings": {}}"#),
            "e.json:1:11: case 1: unknown key 'findings', expected 'name', 'evidence' or \
             'likelihood'"
        );
        for (text, part) in [
            (r#"{"evidence": {"smoker": "no"}}"#, "no variable 'smoker'; did you mean smoke?"),
            (r#"{"evidence": {"tub": "no", "tub": "yes"}}"#, "variable 'tub' is given twice"),
            (r#"{"evidence": {}, "evidence": {}}"#, "'evidence' is given twice"),
            (r#"{"name": "a", "name": "a"}"#, "'name' is given twice"),
            (r#"{"name": 7}"#, "expected a string"),
            (r#"{"likelihood": {"tub": [1]}}"#, "has 1 number, expected 2"),
            (r#"{"likelihood": {"tub": [0, 0]}}"#, "not all zero"),
            (
                r#"{"likelihood": {"tub": [1, 0]}, "evidence": {"tub": "no"}}"#,
                "impossible evidence: 'tub' is observed in state 'no', for which its likelihood is",
            ),
            (r#"{"likelihood": {"tub": 1}}"#, "expected a sequence"),
            (r#"{"evidence": {"tub": 0}}"#, "integer `0`, expected the label of a state"),
            (r#"{"evidence": []}"#, "expected an object of variables"),
            ("[3]", "case 1: invalid type: integer `3`, expected a case"),
            ("[{}, ]", "e.json:1:6: expected a case, found ']'"),
            ("[{} {}]", "e.json:1:5: expected ',' or ']' after a case"),
            ("[{},", "the file ends before the JSON is complete"),
            ("[{}", "the file ends before the JSON is complete"),
            ("[{}] 1", "e.json:1:6: trailing characters"),
            ("3", "expected a case (an object) or an array of cases"),
            ("é", "e.json:1:1: expected a case (an object) or an array of cases, found 'é'"),
            (r#"{"name": "éé", "evidence": {"smoke": "é"}}"#, "e.json:1:41: case 1: variable"),
            (" \n", "e.json: the file is empty, expected a case"),
            (
                r#"{"evidence": {"tub"#,
                "e.json:1:18: case 1: the file ends before the JSON is complete",
            ),
            ("{} {}", "trailing characters"),
        ] {
            let message = refused(text);
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn written_cases_are_read_back() {
        let network = asia();
        let text = r#"[{"evidence": {"smoke": "no", "asia": "yes"},
                        "likelihood": {"tub": [4.444444444444444e104, 0.30000000000000004]}}, {}]"#;
        let written = read_cases(text);
        assert_eq!(read_cases(&write(&network, &written, &[])), written);
        let one = &written[..1];
        assert!(write(&network, one, &[]).starts_with('{'));
        assert_eq!(read_cases(&write(&network, one, &[])), one);
        assert_eq!(write(&network, &[], &[]), "[]\n");
        let named = write(&network, &written, &["a \"smoker\"".to_owned()]);
        let names = [Some("a \"smoker\"".to_owned()), None];
        assert_eq!(read("e.json", &named).unwrap().names, names);
        let lines = write_lines(&network, &written, &["a \"smoker\"".to_owned()]);
        assert_eq!(lines.lines().count(), 2);
        for file in ["e.jsonl", "standard input"] {
            let read = read(file, &lines).unwrap();
            assert_eq!((read.cases, &read.names[..]), (written.clone(), &names[..]));
        }
    }
}
