//! Hugin case files: one case, usually with one finding per line, such as `smoke: "yes"`,
//! `smoke: #0` or `smoke: (0.3 0.7)`. `%` starts a comment.
//!
//! Source: "Case Files" in the HUGIN manual (hugin.com).

use super::{CaseError, value};
use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::network::{Evidence, EvidenceError, Finding, Network};

/// Whether `text` begins with a finding.
pub(super) fn recognise(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split('%').next().unwrap_or("").trim());
    let Some((name, value)) =
        lines.find(|line| !line.is_empty()).and_then(|line| line.split_once(':'))
    else {
        return false;
    };
    let name = name.trim();
    let quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
    !name.is_empty()
        && !value.trim().is_empty()
        && (quoted || !name.contains([' ', ',', ';', '\t']))
}

/// Reads the case in `source`.
///
/// # Errors
/// The first mistake in the case.
pub(super) fn read(source: SourceText<'_>, network: &Network) -> Result<Evidence, CaseError> {
    let mut reader = Reader { source, offset: 0 };
    let mut evidence = Evidence::none();
    let mut seen = std::collections::HashSet::new();
    while !reader.skip_blanks() {
        let offset = reader.offset;
        let name = reader.name()?;
        let Some(variable) = network.find(&name) else {
            // The error of `observe_named` suggests names that are similar.
            let error = Evidence::none().observe_named(network, &name, "");
            let message = error.err().as_ref().map(EvidenceError::to_string).unwrap_or_default();
            return Err(source.error(offset, message).into());
        };
        if !seen.insert(variable) {
            return Err(source.error(offset, format!("variable '{name}' is given twice")).into());
        }
        let offset = reader.after_colon(&name)?;
        let text = reader.value()?;
        let bare_index = false;
        value::enter(&mut evidence, network, variable, &text, bare_index)
            .map_err(|message| source.error(offset, message))?;
    }
    Ok(evidence)
}

struct Reader<'s> {
    source: SourceText<'s>,
    offset: usize,
}

impl Reader<'_> {
    /// Skips white space and comments. Returns whether the end of the file is reached.
    fn skip_blanks(&mut self) -> bool {
        loop {
            let rest = &self.source.text[self.offset..];
            self.offset += rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            if !rest.starts_with('%') {
                return rest.is_empty();
            }
            self.offset += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Reads the name of a variable, which may be in quotes.
    fn name(&mut self) -> Result<String, FormatError> {
        self.word(|c| c == ':' || c.is_whitespace())
    }

    /// Consumes the colon after `name`, and returns the byte offset of the value.
    fn after_colon(&mut self, name: &str) -> Result<usize, FormatError> {
        self.skip_blanks();
        if !self.source.text[self.offset..].starts_with(':') {
            let found = self.source.text[self.offset..].chars().next();
            let found = found.map_or("the end of the file".to_owned(), |c| format!("'{c}'"));
            let message = format!("expected ':' and a value for '{name}', found {found}");
            return Err(self.source.error(self.offset, message));
        }
        self.offset += 1;
        if self.skip_blanks() {
            let message = format!("expected a value for '{name}', found the end of the file");
            return Err(self.source.error(self.offset, message));
        }
        Ok(self.offset)
    }

    /// Reads a value: weights with their parentheses, a word, or a quoted text without its quotes.
    fn value(&mut self) -> Result<String, FormatError> {
        let rest = &self.source.text[self.offset..];
        if rest.starts_with('(') {
            let Some(end) = rest.find(')') else {
                return Err(self.source.error(self.offset, "this '(' is not closed"));
            };
            self.offset += end + 1;
            return Ok(rest[..=end].to_owned());
        }
        self.word(|c| c.is_whitespace() || c == '%')
    }

    /// Reads a word, up to a character for which `ends` returns true, or a text in double quotes,
    /// in which two consecutive quotes represent one.
    fn word(&mut self, ends: impl Fn(char) -> bool) -> Result<String, FormatError> {
        let rest = &self.source.text[self.offset..];
        let Some(inside) = rest.strip_prefix('"') else {
            let end = rest.find(ends).unwrap_or(rest.len());
            self.offset += end;
            return Ok(rest[..end].to_owned());
        };
        let mut word = String::new();
        let mut left = inside;
        loop {
            let Some((text, after)) = left.split_once('"') else {
                return Err(self.source.error(self.offset, "this quote is not closed"));
            };
            word.push_str(text);
            left = after;
            match left.strip_prefix('"') {
                Some(after) => {
                    word.push('"');
                    left = after;
                }
                None => break,
            }
        }
        self.offset = self.source.text.len() - left.len();
        Ok(word)
    }
}

/// The content of a file with `cases`, which must be a single case.
///
/// # Errors
/// If there is not exactly one case. The error is a sentence for the user.
pub(super) fn write(network: &Network, cases: &[Evidence]) -> Result<String, String> {
    let [case] = cases else {
        return Err(format!(
            "a Hugin case file holds one case, and there are {}; all other formats can hold \
             several",
            cases.len()
        ));
    };
    let mut text = String::new();
    for (variable, finding) in case.iter() {
        let variable = &network[variable];
        let name = variable.name();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let value = match finding {
            Finding::Observed(state) if variable.states()[*state].is_empty() => format!("#{state}"),
            Finding::Observed(state) => quoted(&variable.states()[*state]),
            Finding::Likelihood(weights) => {
                let weights: Vec<_> = weights.iter().map(|weight| format!("{weight:?}")).collect();
                format!("({})", weights.join(" "))
            }
        };
        text += &if plain { name.to_owned() } else { quoted(name) };
        text += &format!(": {value}\n");
    }
    Ok(text)
}
