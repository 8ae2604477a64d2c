//! A notation for equations in plain text, a small part of AsciiMath.

use super::Math;

/// Maximum number of parentheses inside one another. Each takes some stack when an equation is read
/// or laid out.
const MAX_DEPTH: usize = 32;

/// Reads an equation such as `φ*_S = sum_(C∖S) ψ_C`:
///
/// * `a_b` and `a_(b c)` have a subscript;
/// * `sum_(a, b)` is a sum over `a` and `b`, which are set below the sign;
/// * `frac(a)(b)` is a fraction;
/// * text in double quotes, such as a name with an underscore, is set without the quotes and is not
///   read as notation;
/// * everything else is set as it is.
///
/// # Errors
/// A message that says what was expected, and after which text.
pub fn parse(text: &str) -> Result<Math, String> {
    let mut parser = Parser { text, rest: text, depth: 0 };
    let row = parser.row()?;
    match parser.rest {
        "" => Ok(row),
        _ => Err(parser.expected("a '(' for the ')'")),
    }
}

/// An equation that is being read.
struct Parser<'t> {
    text: &'t str,
    /// What has not been read yet.
    rest: &'t str,
    /// Number of parentheses that are open.
    depth: usize,
}

impl Parser<'_> {
    /// Reads up to the end of the text or to a closing parenthesis, which is not read.
    fn row(&mut self) -> Result<Math, String> {
        let mut parts: Vec<Math> = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            match self.part()? {
                // A text ends at a space, because a line may end there.
                Math::Text(text) => match parts.last_mut() {
                    Some(Math::Text(last)) if !last.ends_with(' ') => last.push_str(&text),
                    _ => parts.push(Math::Text(text)),
                },
                Math::Row(inner) => parts.extend(inner),
                part => parts.push(part),
            }
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Math::Row(parts),
        })
    }

    /// Reads a row after an opening parenthesis.
    fn inner_row(&mut self) -> Result<Math, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("expected at most {MAX_DEPTH} parentheses inside one another"));
        }
        self.depth += 1;
        let row = self.row();
        self.depth -= 1;
        row
    }

    /// Reads a sum sign with what the sum runs over, a fraction, a text in parentheses, or a word
    /// with its subscript, if it has one.
    fn part(&mut self) -> Result<Math, String> {
        if self.take("sum_") {
            let over = Box::new(self.argument()?);
            // The space after the sum sign is part of its layout.
            self.rest = self.rest.trim_start();
            return Ok(Math::Sum(over));
        }
        if self.rest.starts_with("frac(") {
            self.take("frac");
            let above = self.argument()?;
            return Ok(Math::Fraction(Box::new(above), Box::new(self.argument()?)));
        }
        if self.take("(") {
            let mut parts = vec![Math::text("(")];
            match self.inner_row()? {
                Math::Row(inner) => parts.extend(inner),
                inner => parts.push(inner),
            }
            if !self.take(")") {
                return Err(self.expected("')'"));
            }
            parts.push(Math::text(")"));
            return Ok(Math::Row(parts));
        }
        let word = self.word()?;
        if self.take("_") {
            return Ok(Math::Subscript(Box::new(word), Box::new(self.argument()?)));
        }
        Ok(word)
    }

    /// Reads what follows `_`, `sum_` or `frac`: a word, or a row in parentheses, which are not
    /// shown.
    fn argument(&mut self) -> Result<Math, String> {
        if !self.take("(") {
            return self.word();
        }
        let inner = self.inner_row()?;
        if self.take(")") { Ok(inner) } else { Err(self.expected("')'")) }
    }

    /// Reads a text in quotes; or letters and digits, which an asterisk may follow; or one other
    /// character.
    fn word(&mut self) -> Result<Math, String> {
        if self.take("\"") {
            let Some((text, rest)) = self.rest.split_once('"') else {
                return Err(self.expected("a closing '\"'"));
            };
            self.rest = rest;
            return Ok(Math::text(text));
        }
        let letters = self.rest.chars().take_while(|letter| letter.is_alphanumeric());
        let mut length: usize = letters.map(char::len_utf8).sum();
        if length == 0 {
            length = self.rest.chars().next().map_or(0, char::len_utf8);
        } else if self.rest[length..].starts_with('*') {
            length += 1;
        }
        if length == 0 {
            return Err(self.expected("a word or '('"));
        }
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Math::text(word))
    }

    /// Skips `symbol` if it comes next, and returns whether it did.
    fn take(&mut self, symbol: &str) -> bool {
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expected(&self, what: &str) -> String {
        let read = &self.text[..self.text.len() - self.rest.len()];
        format!("expected {what} after '{read}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_fractions_and_subscripts_are_read() {
        let sum = Math::Sum(Box::new(Math::Row(vec![Math::text("x, "), Math::text("y")])));
        let expected = Math::Row(vec![
            Math::subscript("φ*", "S"),
            Math::text(" "),
            Math::text("= "),
            sum,
            Math::subscript("ψ", "C1"),
            Math::Fraction(Box::new(Math::text("a")), Box::new(Math::subscript("b", "2"))),
        ]);
        assert_eq!(parse("φ*_S = sum_(x, y) ψ_(C1)frac(a)(b_2)"), Ok(expected));
        assert_eq!(parse("\"x_1\""), Ok(Math::text("x_1")));
        assert_eq!(parse("f(x)").unwrap().spoken(), "f(x)");
    }

    #[test]
    fn a_mistake_is_reported_with_its_place() {
        assert_eq!(parse("φ_(S").unwrap_err(), "expected ')' after 'φ_(S'");
        assert_eq!(parse("a)").unwrap_err(), "expected a '(' for the ')' after 'a'");
        assert_eq!(parse("frac(a)").unwrap_err(), "expected a word or '(' after 'frac(a)'");
        assert_eq!(parse("\"a").unwrap_err(), "expected a closing '\"' after '\"'");
    }

    #[test]
    fn parentheses_may_not_be_too_deep() {
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(parse(&nested(32)).unwrap().spoken(), nested(32));
        for opening in ["(", "x_(", "sum_("] {
            let error = parse(&opening.repeat(300_000)).unwrap_err();
            assert_eq!(error, "expected at most 32 parentheses inside one another");
        }
    }
}
