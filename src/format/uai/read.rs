//! Reads UAI.

use super::{name, no_such_variable};
use crate::format::limits;
use crate::format::nodes::{MAX_UNNAMED_STATES, number};
use crate::format::rows::{RowAudit, ZeroRow};
use crate::format::source::SourceText;
use crate::format::validate;
use crate::format::{FormatError, Warning};
use crate::network::{Cpt, Factor, Network, Variable, VariableId};
use crate::numbers::counted;

/// Whether `text` begins with the kind of network.
pub(super) fn recognise(text: &str) -> bool {
    Words { text, offset: 0 }.next().is_some_and(|(word, _)| is_bayesian(word).is_some())
}

/// Whether `word`, the first of a file, says that the network is Bayesian rather than a Markov
/// network; `None` if it says neither.
fn is_bayesian(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("BAYES") {
        Some(true)
    } else if word.eq_ignore_ascii_case("MARKOV") {
        Some(false)
    } else {
        None
    }
}

/// Reads a network.
///
/// # Errors
/// The first mistake in the file.
pub(super) fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut reader = Reader { source, words: Words { text: source.text, offset: 0 } };
    let (word, offset) = reader.words.next().unwrap_or(("", source.text.len()));
    let Some(is_bayesian) = is_bayesian(word) else {
        let found =
            if word.is_empty() { "the end of the file".to_owned() } else { format!("'{word}'") };
        return Err(source.error(offset, format!("expected 'BAYES' or 'MARKOV', found {found}")));
    };
    let variables = reader.variables()?;
    let scopes = reader.scopes(&variables)?;
    let mut tables = Vec::with_capacity(scopes.len());
    let mut entries = 0;
    for (index, (scope, offset)) in scopes.iter().enumerate() {
        tables.push(reader.table(index, scope, *offset, &variables, &mut entries)?);
    }
    if let Some((word, offset)) = reader.words.next() {
        let message =
            format!("expected the end of the file after the last function, found '{word}'");
        return Err(source.error(offset, message));
    }
    if is_bayesian {
        bayesian(source, variables, scopes, tables)
    } else {
        let factors = scopes.into_iter().zip(tables);
        let factors = factors.map(|((scope, _), (values, _))| Factor::new(scope, values)).collect();
        let network = Network::markov("", variables, factors)
            .map_err(|error| source.error(0, error.to_string()))?;
        Ok((network, Vec::new()))
    }
}

/// The variables of a function, and the byte offset of their list.
type FunctionScope = (Vec<VariableId>, usize);

/// The values of a function, and the byte offset of the first. The last variable varies fastest.
type FunctionTable = (Vec<f64>, usize);

/// Builds a Bayesian network. In each scope the last variable is the child.
fn bayesian(
    source: SourceText<'_>,
    variables: Vec<Variable>,
    scopes: Vec<FunctionScope>,
    tables: Vec<FunctionTable>,
) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut audit = RowAudit::default();
    let mut first_at = vec![None; variables.len()];
    let mut cpts = Vec::with_capacity(scopes.len());
    for ((mut scope, offset), (mut values, values_at)) in scopes.into_iter().zip(tables) {
        let Some(child) = scope.pop() else {
            let message = "this function has no variable, expected a child as its last variable";
            return Err(source.error(offset, message));
        };
        if let Some(first) = first_at[child.index()].replace(offset) {
            let line = source.line(first);
            let message = format!(
                "variable {} is the child (the last variable) of a second function; the first is \
                 on line {line}",
                child.index()
            );
            return Err(source.error(offset, message));
        }
        let states = variables[child.index()].cardinality();
        let scale = audit.scale(values.chunks(states), variables[child.index()].name(), values_at);
        for (row, values) in values.chunks_mut(states).enumerate() {
            let result = audit.normalise(values, scale, values_at);
            let zero = ZeroRow { child, row: Some(row), offset: values_at };
            audit.allow_zeros(result, zero).map_err(|error| {
                let message =
                    format!("row {} of the table of x{}: {error}", row + 1, child.index());
                source.error(values_at, message)
            })?;
        }
        cpts.push(Cpt::new(child, scope, values));
    }
    let offset_of = |variable: &str| {
        let index = (0..first_at.len()).find(|&index| name(index) == variable);
        index.and_then(|index| first_at[index]).unwrap_or(0)
    };
    let network = validate::network(source, "", variables, cpts, &audit, offset_of)?;
    Ok((network, audit.warnings(source)))
}

struct Reader<'s> {
    source: SourceText<'s>,
    words: Words<'s>,
}

impl<'s> Reader<'s> {
    /// Reads the number of variables, and the number of states of each.
    fn variables(&mut self) -> Result<Vec<Variable>, FormatError> {
        let (count, _) = self.count("the number of variables")?;
        let (mut variables, mut total) = (Vec::new(), 0);
        for index in 0..count {
            let (states, offset) =
                self.count(&format!("the number of states of variable {index}"))?;
            if states == 0 || states > MAX_UNNAMED_STATES {
                let message = format!(
                    "variable {index} has {states} states, expected 1 to {MAX_UNNAMED_STATES}"
                );
                return Err(self.source.error(offset, message));
            }
            limits::count_states(self.source, &mut total, states, offset)?;
            variables.push(Variable::new(name(index), (0..states).map(|state| state.to_string())));
        }
        Ok(variables)
    }

    /// Reads the number of functions, and the variables of each.
    fn scopes(&mut self, variables: &[Variable]) -> Result<Vec<FunctionScope>, FormatError> {
        let (count, _) = self.count("the number of functions")?;
        let mut scopes = Vec::new();
        // For each variable, the last function that lists it.
        let mut listed = vec![None; variables.len()];
        for function in 0..count {
            let (size, start) =
                self.count(&format!("the number of variables of function {function}"))?;
            let mut scope = Vec::new();
            for _ in 0..size {
                let (variable, offset) =
                    self.count(&format!("a variable of function {function}"))?;
                if variable >= variables.len() {
                    let message = no_such_variable(variable, variables.len());
                    return Err(self.source.error(offset, message));
                }
                if listed[variable].replace(function) == Some(function) {
                    let message = format!("function {function} lists variable {variable} twice");
                    return Err(self.source.error(offset, message));
                }
                scope.push(VariableId::new(variable));
            }
            scopes.push((scope, start));
        }
        Ok(scopes)
    }

    /// Reads the values of a function with this `scope`, which is at byte `scope_at`. `entries` is
    /// the number of values in the file so far.
    fn table(
        &mut self,
        function: usize,
        scope: &[VariableId],
        scope_at: usize,
        variables: &[Variable],
        entries: &mut usize,
    ) -> Result<FunctionTable, FormatError> {
        let size = scope.iter().try_fold(1_usize, |size, variable| {
            size.checked_mul(variables[variable.index()].cardinality())
        });
        let total = size.and_then(|size| size.checked_add(*entries));
        let limit = limits::max_entries(self.source);
        let (Some(size), Some(total)) = (size, total.filter(|total| *total <= limit)) else {
            let message = format!(
                "with function {function}, which has {}, the file has more than the maximum of \
                 {limit} table entries",
                counted(scope.len(), "variable", "variables")
            );
            return Err(self.source.error(scope_at, message));
        };
        *entries = total;
        let (count, offset) =
            self.count(&format!("the number of values of function {function}"))?;
        if count != size {
            let message = format!(
                "function {function} has {}, expected {size}, one for each configuration of its \
                 variables",
                counted(count, "value", "values")
            );
            return Err(self.source.error(offset, message));
        }
        let mut values = Vec::new();
        let mut start = None;
        for position in 0..size {
            let what = || format!("value {} of {size} of function {function}", position + 1);
            let (word, offset) = self.word(what)?;
            let value = number(word).filter(|value| value.is_finite() && *value >= 0.0);
            let Some(value) = value else {
                let message =
                    format!("expected {}, a number of at least 0, found '{word}'", what());
                return Err(self.source.error(offset, message));
            };
            start.get_or_insert(offset);
            values.push(value);
        }
        Ok((values, start.unwrap_or(offset)))
    }

    /// The next word as a whole number, and its byte offset. `what` describes the number, for the
    /// error.
    fn count(&mut self, what: &str) -> Result<(usize, usize), FormatError> {
        let (word, offset) = self.word(|| what.to_owned())?;
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        match word.parse().ok().filter(|_| digits) {
            Some(count) => Ok((count, offset)),
            None => Err(self
                .source
                .error(offset, format!("expected {what}, a whole number, found '{word}'"))),
        }
    }

    /// The next word and its byte offset. `what` describes the word, for the error.
    fn word(&mut self, what: impl Fn() -> String) -> Result<(&'s str, usize), FormatError> {
        self.words.next().ok_or_else(|| {
            let message = format!("expected {}, found the end of the file", what());
            self.source.error(self.source.text.len(), message)
        })
    }
}

/// The words of a text with their byte offsets. Comments are skipped: they begin with `#`, or with
/// the word `c` at the start of a line, and end with the line.
struct Words<'s> {
    text: &'s str,
    offset: usize,
}

impl<'s> Iterator for Words<'s> {
    type Item = (&'s str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            let begins_line =
                || self.offset == 0 || matches!(bytes[self.offset - 1], b'\n' | b'\r');
            let ends_word = || bytes.get(self.offset + 1).is_none_or(u8::is_ascii_whitespace);
            if byte == b'#' || (byte == b'c' && begins_line() && ends_word()) {
                let in_line = |byte: &&u8| !matches!(**byte, b'\n' | b'\r');
                self.offset += bytes[self.offset..].iter().take_while(in_line).count();
            } else if byte.is_ascii_whitespace() {
                self.offset += 1;
            } else {
                break;
            }
        }
        let start = self.offset;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'#';
        self.offset += bytes[start..].iter().take_while(|byte| !ends(byte)).count();
        (start < self.offset).then(|| (&self.text[start..self.offset], start))
    }
}
