//! UAI evidence: the number of findings, then for each the positions of variable and state, counted
//! from zero. Files of the first evaluations hold several cases, and begin with their number.
//!
//! Sources: "Evidence Format" of the UAI 2014 inference competition, and the file formats of the
//! UAI 2008 and 2010 evaluations.

use super::CaseError;
use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::network::{Evidence, Finding, Network, VariableId};

/// Whether `text` is nothing but numbers.
pub(super) fn recognise(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number and the byte at which it stands.
type PlacedInteger = (usize, usize);

/// Reads the cases in `source`.
pub(super) fn read(source: SourceText<'_>, network: &Network) -> Result<Vec<Evidence>, CaseError> {
    let lines = numbers(source)?;
    let all: Vec<PlacedInteger> = lines.concat();
    let Some(&(first, _)) = all.first() else {
        let message = "there is nothing in it, expected the number of findings";
        return Err(source.error(0, message).into());
    };
    let whole =
        |numbers: &[PlacedInteger]| numbers.len().checked_sub(1) == numbers[0].0.checked_mul(2);
    // A case a line after a line with their number; else one case; else several, however parted.
    let line_each = lines[0].len() == 1
        && lines.len() > 1
        && lines.len() - 1 == first
        && lines[1..].iter().all(|line| whole(line));
    let cases: Vec<&[PlacedInteger]> = if line_each {
        lines[1..].iter().map(Vec::as_slice).collect()
    } else if whole(&all) {
        vec![&all]
    } else if let Some(cases) = split(&all[1..], first) {
        cases
    } else {
        let (last, at) = (all.len() - 1, all[0].1);
        let message = format!(
            "{last} numbers follow the number of findings, {first}, expected two for each: the \
             positions of a variable and of its state"
        );
        return Err(source.error(at, message).into());
    };
    let several = cases.len() > 1;
    let read = |(index, numbers): (usize, &&[PlacedInteger])| {
        let case = self::case(source, network, &numbers[1..]).map_err(CaseError::from);
        case.map_err(|error| if several { error.in_case(index + 1) } else { error })
    };
    cases.iter().enumerate().map(read).collect()
}

/// The numbers of each line that has one.
fn numbers(source: SourceText<'_>) -> Result<Vec<Vec<PlacedInteger>>, FormatError> {
    let mut lines = Vec::new();
    for line in source.text.lines() {
        let mut numbers = Vec::new();
        for word in line.split_whitespace() {
            // A part of the text, so the distance of the two is where it stands.
            let at = word.as_ptr() as usize - source.text.as_ptr() as usize;
            let number = word.parse().map_err(|_| {
                source.error(at, format!("found '{word}', expected a whole number"))
            })?;
            numbers.push((number, at));
        }
        if !numbers.is_empty() {
            lines.push(numbers);
        }
    }
    Ok(lines)
}

/// `numbers` as `count` cases one after another, if they are just that.
fn split(mut numbers: &[PlacedInteger], count: usize) -> Option<Vec<&[PlacedInteger]>> {
    let mut cases = Vec::new();
    for _ in 0..count {
        let length = numbers.first()?.0.checked_mul(2)?.checked_add(1)?;
        let (case, rest) = numbers.split_at_checked(length)?;
        cases.push(case);
        numbers = rest;
    }
    numbers.is_empty().then_some(cases)
}

fn case(
    source: SourceText<'_>,
    network: &Network,
    numbers: &[PlacedInteger],
) -> Result<Evidence, FormatError> {
    let mut evidence = Evidence::none();
    for (index, pair) in numbers.chunks_exact(2).enumerate() {
        let [(variable, variable_at), (state, state_at)] = *pair else { continue };
        let count = network.variables().len();
        if variable >= count {
            let message =
                format!("there is no variable {variable}; there are {count}, counted from 0");
            return Err(source.error(variable_at, message));
        }
        let variable = VariableId::new(variable);
        let (name, states) = (network[variable].name(), network[variable].cardinality());
        if state >= states {
            let message = format!(
                "variable '{name}' has no state {state}; it has {states} states, counted from 0"
            );
            return Err(source.error(state_at, message));
        }
        evidence.observe(network, variable, state);
        if evidence.len() <= index {
            return Err(source.error(variable_at, format!("variable '{name}' is given twice")));
        }
    }
    Ok(evidence)
}

/// `cases` as a file: one in the manner of 2014, several in that of 2008.
pub(super) fn write(network: &Network, cases: &[Evidence]) -> Result<String, String> {
    let line = |case: &Evidence| {
        let mut line = case.len().to_string();
        for (variable, finding) in case.iter() {
            let Finding::Observed(state) = finding else {
                return Err(format!(
                    "UAI evidence holds no likelihoods, and there is one of '{}'; JSON, CSV and a \
                     Hugin case do",
                    network[variable].name()
                ));
            };
            line += &format!(" {} {state}", variable.index());
        }
        Ok(line + "\n")
    };
    let lines = cases.iter().map(line).collect::<Result<String, String>>()?;
    match cases.len() {
        0 => Err("UAI evidence holds at least one case, and there is none".to_owned()),
        1 => Ok(lines),
        many => Ok(format!("{many}\n{lines}")),
    }
}
