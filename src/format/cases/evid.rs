//! UAI evidence: the number of findings, then for each the indices of its variable and its state,
//! counted from zero. Files of the 2008 and 2010 evaluations begin with the number of cases.
//!
//! Sources: "Evidence Format" of the UAI 2014 inference competition, and the file formats of the
//! UAI 2008 and 2010 evaluations.

use super::CaseError;
use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::format::uai::no_such_variable;
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::numbers::counted;

/// Whether `text` consists of whole numbers, at least one.
pub(super) fn recognise(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A whole number and its byte offset.
type PlacedInteger = (usize, usize);

/// Reads the cases in `source`.
///
/// # Errors
/// The first mistake in the file.
pub(super) fn read(source: SourceText<'_>, network: &Network) -> Result<Vec<Evidence>, CaseError> {
    let lines = numbers(source)?;
    let all: Vec<PlacedInteger> = lines.concat();
    let Some(&(first, _)) = all.first() else {
        let message = "the file is empty, expected the number of findings";
        return Err(source.error(0, message).into());
    };
    let is_complete =
        |numbers: &[PlacedInteger]| numbers.len().checked_sub(1) == numbers[0].0.checked_mul(2);
    // Three layouts are tried in turn: the number of cases on a line of its own and then one case
    // per line; a single case; the number of cases and then the cases, broken into lines in any
    // way.
    let one_per_line = lines[0].len() == 1
        && lines.len() > 1
        && lines.len() - 1 == first
        && lines[1..].iter().all(|line| is_complete(line));
    let cases: Vec<&[PlacedInteger]> = if one_per_line {
        lines[1..].iter().map(Vec::as_slice).collect()
    } else if is_complete(&all) {
        vec![&all]
    } else if let Some(cases) = split(&all[1..], first) {
        cases
    } else {
        // If there are as many other lines as the first line says, each was meant to be a case.
        let is_count = lines[0].len() == 1 && lines.len() - 1 == first;
        let wrong = lines[1..].iter().position(|line| is_count && !is_complete(line));
        return Err(match wrong {
            Some(index) => {
                CaseError::from(wrong_count(source, &lines[index + 1])).in_case(index + 1)
            }
            None => wrong_count(source, &all).into(),
        });
    };
    let several = cases.len() > 1;
    let read = |(index, numbers): (usize, &&[PlacedInteger])| {
        let case = self::case(source, network, &numbers[1..]).map_err(CaseError::from);
        case.map_err(|error| if several { error.in_case(index + 1) } else { error })
    };
    cases.iter().enumerate().map(read).collect()
}

/// Whether `lines`, the beginning of a file, have the number of cases on the first line and a
/// complete case on the second. Such a file is taken to have one case per line, and is read line by
/// line.
pub(super) fn has_case_per_line(lines: &str) -> bool {
    let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
    let mut numbers = || lines.next()?.split_whitespace().map(|word| word.parse().ok()).collect();
    let (first, second): (Option<Vec<usize>>, Option<Vec<usize>>) = (numbers(), numbers());
    let is_complete =
        |numbers: Vec<usize>| numbers.len().checked_sub(1) == numbers[0].checked_mul(2);
    first.is_some_and(|numbers| numbers.len() == 1) && second.is_some_and(is_complete)
}

/// Reads the case in `source`, which is one line.
///
/// # Errors
/// The first mistake in the line.
pub(super) fn read_line(
    source: SourceText<'_>,
    network: &Network,
) -> Result<Evidence, FormatError> {
    let numbers = numbers(source)?.concat();
    let findings = numbers.first().map_or(0, |&(first, _)| first);
    if findings.checked_mul(2) != Some(numbers.len().saturating_sub(1)) {
        return Err(wrong_count(source, &numbers));
    }
    case(source, network, numbers.get(1..).unwrap_or_default())
}

/// The error for `numbers` that are not a number of findings followed by two numbers for each
/// finding. They are the numbers of one case, or of the whole file if its lines cannot be assigned
/// to cases.
fn wrong_count(source: SourceText<'_>, numbers: &[PlacedInteger]) -> FormatError {
    let (first, offset) = numbers[0];
    let message = format!(
        "found {} after the number of findings, {first}; expected two for each finding: \
         the indices of the variable and the state",
        counted(numbers.len() - 1, "number", "numbers")
    );
    source.error(offset, message)
}

/// The numbers of each line that is not empty.
fn numbers(source: SourceText<'_>) -> Result<Vec<Vec<PlacedInteger>>, FormatError> {
    let mut lines = Vec::new();
    for line in source.text.lines() {
        let mut numbers = Vec::new();
        for word in line.split_whitespace() {
            let offset = word.as_ptr() as usize - source.text.as_ptr() as usize;
            let number = word.parse().map_err(|_| {
                source.error(offset, format!("expected a whole number, found '{word}'"))
            })?;
            numbers.push((number, offset));
        }
        if !numbers.is_empty() {
            lines.push(numbers);
        }
    }
    Ok(lines)
}

/// Splits `numbers` into `count` cases, each with its number of findings; `None` if the numbers do
/// not form exactly `count` cases.
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

/// The case in `numbers`: pairs of the index of a variable and of its state.
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
            return Err(source.error(variable_at, no_such_variable(variable, count)));
        }
        let variable = VariableId::new(variable);
        let (name, states) = (network[variable].name(), network[variable].cardinality());
        if state >= states {
            let message =
                format!("variable '{name}' has no state {state}, expected 0 to {}", states - 1);
            return Err(source.error(state_at, message));
        }
        evidence.observe(network, variable, state);
        if evidence.len() <= index {
            return Err(source.error(variable_at, format!("variable '{name}' is given twice")));
        }
    }
    Ok(evidence)
}

/// The content of a file with `cases`: a single case in the format of 2014, several cases in the
/// format of 2008.
///
/// # Errors
/// If there is no case, or a finding is a likelihood. The error is a sentence for the user.
pub(super) fn write(network: &Network, cases: &[Evidence]) -> Result<String, String> {
    let line = |case: &Evidence| {
        let mut line = case.len().to_string();
        for (variable, finding) in case.iter() {
            let Finding::Observed(state) = finding else {
                return Err(format!(
                    "UAI evidence cannot hold the likelihood of '{}'; JSON, CSV, Netica cases and \
                     Hugin case can",
                    network[variable].name()
                ));
            };
            line += &format!(" {} {state}", variable.index());
        }
        Ok(line + "\n")
    };
    let lines = cases.iter().map(line).collect::<Result<String, String>>()?;
    match cases.len() {
        0 => Err("UAI evidence needs at least one case, and there is none".to_owned()),
        1 => Ok(lines),
        count => Ok(format!("{count}\n{lines}")),
    }
}
