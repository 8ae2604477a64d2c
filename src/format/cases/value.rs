//! The value of a variable in an evidence file, as text.
//!
//! A value is the label of a state, `#` and the index of a state counted from zero, a mark for "not
//! observed", or an uncertain value. The uncertain values are Hugin's `(0.3 0.7)`, one weight per
//! state; Netica's likelihood `{yes 0.3, no 0.7}`, set of possible states `{low, medium}`, set of
//! impossible states `~{high}`, and range `[low, medium]`.

use crate::network::{Evidence, EvidenceError, Finding, Network, Variable, VariableId};

/// Marks for "not observed", unless the variable has a state of that name. An empty cell always
/// means "not observed".
const MISSING: [&str; 4] = ["*", "?", "NA", "N/A"];

/// Enters the value `text` of variable `id` into `evidence`. With `bare_index`, a number that is
/// not a label is the index of a state.
///
/// # Errors
/// If the value is not valid for the variable. The error is a sentence for the user.
pub(super) fn enter(
    evidence: &mut Evidence,
    network: &Network,
    id: VariableId,
    text: &str,
    bare_index: bool,
) -> Result<(), String> {
    let variable = &network[id];
    if text.is_empty() {
        return Ok(());
    }
    if let Some(state) = state(variable, text) {
        evidence.observe(network, id, state);
        return Ok(());
    }
    if MISSING.contains(&text) {
        return Ok(());
    }
    if let Some(state) = index(variable, text.trim(), bare_index)? {
        evidence.observe(network, id, state);
        return Ok(());
    }
    let weights = weights(variable, text.trim())?.ok_or_else(|| unknown_state(variable, text))?;
    evidence.set_likelihood(network, id, weights).map_err(|error| error.to_string())
}

/// The state labelled `text`, or the only one whose label is the same number.
fn state(variable: &Variable, text: &str) -> Option<usize> {
    variable.state_index(text).or_else(|| {
        let number: f64 = text.trim().parse().ok()?;
        let labels = variable.states().iter();
        let mut equal = labels.map(|label| label.trim().parse::<f64>() == Ok(number));
        let found = equal.position(|equal| equal)?;
        // Of several labels with the same number, such as 1 and 1.0, only an exact match counts.
        equal.all(|equal| !equal).then_some(found)
    })
}

/// The state whose index is `text`: digits after `#`, or digits alone if `bare`. `None` for other
/// text.
fn index(variable: &Variable, text: &str, bare: bool) -> Result<Option<usize>, String> {
    let digits = match text.strip_prefix('#') {
        Some(digits) => digits,
        None if bare => text,
        None => return Ok(None),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let states = variable.cardinality();
    match digits.parse() {
        Ok(state) if state < states => Ok(Some(state)),
        _ => Err(format!(
            "variable '{}' has no state number {digits}, expected 0 to {}",
            variable.name(),
            states - 1
        )),
    }
}

/// The weights in a bracketed value; `None` if the value is not bracketed, or is a range without
/// exactly two ends.
fn weights(variable: &Variable, text: &str) -> Result<Option<Vec<f64>>, String> {
    let inside = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(list) = inside("(", ")") {
        return numbers(list).map(Some);
    }
    if let Some(list) = inside("~{", "}") {
        let mut weights = vec![1.0; variable.cardinality()];
        for item in items(list) {
            weights[named(variable, item)?] = 0.0;
        }
        return Ok(Some(weights));
    }
    if let Some(list) = inside("{", "}") {
        return braces(variable, list).map(Some);
    }
    if let Some(list) = inside("[", "]") {
        let [first, last] = items(list)[..] else { return Ok(None) };
        let (first, last) = (named(variable, first)?, named(variable, last)?);
        let weight = |state| f64::from(u8::from((first..=last).contains(&state)));
        return Ok(Some((0..variable.cardinality()).map(weight).collect()));
    }
    Ok(None)
}

/// The weights in braces. The items are weights in the order of the states, or states, each with or
/// without a weight.
fn braces(variable: &Variable, list: &str) -> Result<Vec<f64>, String> {
    let items = items(list);
    let all_labels = items.iter().all(|item| variable.state_index(item).is_some());
    // If all items are labels, they are states, even if they are also numbers. The exception is a
    // single item such as `0.3 0.7`, with one weight for each of several states: it is read as
    // weights, even if a state has this label.
    if (!all_labels || (items.len() == 1 && variable.cardinality() > 1))
        && let Ok(weights) = numbers(list)
        && weights.len() == variable.cardinality()
    {
        return Ok(weights);
    }
    let mut weights = vec![0.0; variable.cardinality()];
    for item in items {
        let (state, weight) = match named(variable, item) {
            Ok(state) => (state, 1.0),
            Err(error) => {
                let (label, number) = item.rsplit_once(char::is_whitespace).ok_or(error)?;
                let weight =
                    number.parse().map_err(|_| format!("expected a weight, found '{number}'"))?;
                (named(variable, label.trim_end())?, weight)
            }
        };
        weights[state] = weight;
    }
    Ok(weights)
}

/// The numbers in `list`, separated by white space or commas.
fn numbers(list: &str) -> Result<Vec<f64>, String> {
    let words = list.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let number =
        |word: &str| word.parse().map_err(|_| format!("expected a weight, found '{word}'"));
    words.map(number).collect()
}

/// The items of `list`, separated by commas outside quotes.
fn items(list: &str) -> Vec<&str> {
    let mut quoted = false;
    let outside = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    list.split(outside).map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// The state that `item` gives by label, quoted label or index.
fn named(variable: &Variable, item: &str) -> Result<usize, String> {
    if let Some(found) = state(variable, item) {
        return Ok(found);
    }
    let quoted = item.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(found) = quoted.and_then(|label| variable.state_index(&label.replace("\"\"", "\"")))
    {
        return Ok(found);
    }
    index(variable, item, false)?.ok_or_else(|| unknown_state(variable, item))
}

/// The error for a `text` that is no value of `variable`. It lists the states.
fn unknown_state(variable: &Variable, text: &str) -> String {
    let error = EvidenceError::UnknownState {
        variable: variable.name().to_owned(),
        state: text.to_owned(),
        states: variable.states().to_vec(),
    };
    error.to_string()
}

/// `finding` on `variable` as text that [`enter`] reads back. A likelihood is written in Netica's
/// way.
pub(super) fn text(variable: &Variable, finding: &Finding) -> String {
    match finding {
        Finding::Observed(state) => label(variable, *state),
        Finding::Likelihood(weights) => {
            let item = |(state, weight): (usize, &f64)| {
                let label = &variable.states()[state];
                // Without quotes, the item must not be the label of another state.
                let plain = !label.is_empty()
                    && label.chars().all(|c| c.is_alphanumeric() || "_.-+".contains(c))
                    && variable.state_index(&format!("{label} {weight:?}")).is_none();
                let quoted = || format!("\"{}\"", label.replace('"', "\"\""));
                format!("{} {weight:?}", if plain { label.clone() } else { quoted() })
            };
            let items: Vec<_> = weights.iter().enumerate().map(item).collect();
            format!("{{{}}}", items.join(", "))
        }
    }
}

/// The mark for an unobserved `variable` in a table in which a cell must not be empty.
pub(super) fn missing(variable: &Variable) -> &'static str {
    if state(variable, MISSING[0]).is_none() { MISSING[0] } else { "\"\"" }
}

/// The label of a state, or `#` and its index if the label is empty.
fn label(variable: &Variable, state: usize) -> String {
    let label = &variable.states()[state];
    if !label.is_empty() {
        return label.clone();
    }
    let mut text = format!("#{state}");
    // A label takes precedence over an index, but an index may have leading zeros.
    while variable.state_index(&text).is_some() {
        text.insert(1, '0');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Cpt;

    fn network(states: &[&str]) -> Network {
        let row = vec![1.0 / states.len() as f64; states.len()];
        let cpt = Cpt::new(VariableId::new(0), vec![], row);
        Network::new("n", vec![Variable::new("v", states.iter().copied())], vec![cpt]).unwrap()
    }

    fn read(states: &[&str], text: &str) -> Result<Option<Finding>, String> {
        let (network, mut evidence) = (network(states), Evidence::none());
        enter(&mut evidence, &network, VariableId::new(0), text, false)?;
        Ok(evidence.get(VariableId::new(0)).cloned())
    }

    #[test]
    fn labels_take_precedence_over_other_meanings() {
        let observed = |state| Ok(Some(Finding::Observed(state)));
        assert_eq!(read(&["no", "yes"], "yes"), observed(1));
        assert_eq!(read(&["no", "yes"], "#1"), observed(1));
        assert_eq!(read(&["#1", "#0"], "#1"), observed(0));
        assert_eq!(read(&["NA", "*"], "*"), observed(1));
        assert_eq!(read(&["1", "2"], "2.0"), observed(1));
        assert_eq!(read(&["0", "00"], "00"), observed(1));
        for missing in ["", "*", "?", "NA"] {
            assert_eq!(read(&["no", "yes"], missing), Ok(None));
        }
        assert!(read(&["0", "00"], "0.0").unwrap_err().contains("no state '0.0'"));
        assert_eq!(
            read(&["no", "yes"], "#2").unwrap_err(),
            "variable 'v' has no state number 2, expected 0 to 1"
        );
        let huge = read(&["no", "yes"], "#99999999999999999999999").unwrap_err();
        assert!(huge.contains("no state number"), "{huge}");
    }

    #[test]
    fn uncertain_values_become_weights() {
        let states = ["low", "mid", "high"];
        for (text, expected) in [
            ("(0.3 0.7 0)", [0.3, 0.7, 0.0]),
            ("{0.3, 0.7, 0}", [0.3, 0.7, 0.0]),
            ("{0.3 0.7 0}", [0.3, 0.7, 0.0]),
            ("{high 2, low 1e-3}", [1e-3, 0.0, 2.0]),
            ("{low, #2}", [1.0, 0.0, 1.0]),
            ("~{ low }", [0.0, 1.0, 1.0]),
            ("[mid, high]", [0.0, 1.0, 1.0]),
            ("{\"low\" 0.5, mid 0.25}", [0.5, 0.25, 0.0]),
        ] {
            assert_eq!(
                read(&states, text),
                Ok(Some(Finding::Likelihood(expected.into()))),
                "{text}"
            );
        }
        assert_eq!(
            read(&["0", "1"], "{0, 1}"),
            Ok(Some(Finding::Likelihood([1.0, 1.0].into()))),
            "a set of states with numbers as labels"
        );
        for (text, part) in [
            ("{low 1, other 2}", "no state 'other'"),
            ("{low x}", "expected a weight, found 'x'"),
            ("(1 2)", "has 2 numbers, expected 3"),
            ("(1 -2 3)", "none negative"),
            ("(NaN 1 1)", "finite"),
            ("[high, low]", "not all zero"),
            ("{}", "not all zero"),
            ("5+-2", "no state '5+-2'"),
        ] {
            let error = read(&states, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn written_values_are_read_back() {
        let labels = ["plain", "two words", "com,ma", "quo\"te", "", "1", "#1", "#4", "#04"];
        let variable = Variable::new("v", labels);
        for state in 0..labels.len() {
            let finding = Finding::Observed(state);
            assert_eq!(read(&labels, &text(&variable, &finding)), Ok(Some(finding)));
        }
        let weights = [0.1, 1e-300, 0.30000000000000004, 4.0, 5.0, 0.0, 7.0, 8.0, 9.0];
        let finding = Finding::Likelihood(weights.into());
        assert_eq!(read(&labels, &text(&variable, &finding)), Ok(Some(finding)));

        // A label and its weight are the label of another state.
        let labels = ["low", "low 0.5"];
        let finding = Finding::Likelihood([0.5, 0.25].into());
        let written = text(&Variable::new("v", labels), &finding);
        assert_eq!(read(&labels, &written), Ok(Some(finding)));
    }
}
