//! The grammar of expressions.

use crate::format::net::quotes::unquote;
use crate::format::source::ErrorAt;

/// Maximum depth of an expression in levels, which bounds the recursion. Parentheses, calls and
/// operators add a level each, so a long sum is deep even without parentheses.
const MAX_DEPTH: usize = 100;

/// An expression with its byte offset.
#[derive(Debug)]
pub(super) struct Expression<'s> {
    pub offset: usize,
    pub kind: ExpressionKind<'s>,
}

/// The kinds of expressions.
#[derive(Debug)]
pub(super) enum ExpressionKind<'s> {
    Number(f64),
    Text(String),
    Name(&'s str),
    Call(&'s str, Vec<Expression<'s>>),
    Negative(Box<Expression<'s>>),
    Binary(Operator, Box<Expression<'s>>, Box<Expression<'s>>),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    DividedBy,
    Power,
}

/// The symbols of the operators with their precedence. A symbol comes before its prefixes, so that
/// the longest symbol matches.
const OPERATORS: [(&str, Operator, u8); 13] = [
    ("==", Operator::Equal, 1),
    ("!=", Operator::Unequal, 1),
    ("<>", Operator::Unequal, 1),
    ("<=", Operator::LessOrEqual, 1),
    (">=", Operator::GreaterOrEqual, 1),
    ("=", Operator::Equal, 1),
    ("<", Operator::Less, 1),
    (">", Operator::Greater, 1),
    ("+", Operator::Plus, 2),
    ("-", Operator::Minus, 2),
    ("*", Operator::Times, 3),
    ("/", Operator::DividedBy, 3),
    ("^", Operator::Power, 5),
];

/// The precedence of unary minus: above `*`, below `^`.
const NEGATION: u8 = 4;

/// Parses `raw`, which is at byte `base` of the file, as a list of expressions `( E, E, ... )`.
///
/// # Errors
/// The first mistake in the text.
pub(super) fn parse(raw: &str, base: usize) -> Result<Vec<Expression<'_>>, ErrorAt> {
    let mut parser = Parser { text: raw, base, offset: 0, height: 0 };
    parser.expect("(")?;
    let mut expressions = Vec::new();
    loop {
        expressions.push(parser.expression(0, 0)?);
        if !parser.take(",") {
            break;
        }
    }
    parser.expect_list_end()?;
    parser.skip();
    if parser.offset < raw.len() {
        return Err(parser.expected("';'"));
    }
    Ok(expressions)
}

struct Parser<'s> {
    text: &'s str,
    /// The byte offset of `text` in the file.
    base: usize,
    /// The current offset in `text`.
    offset: usize,
    /// The number of levels below the top of the last expression that was read.
    height: usize,
}

impl<'s> Parser<'s> {
    /// Reads an expression at this `depth`, up to an operator whose precedence is below `minimum`,
    /// or to anything that is not an operator.
    fn expression(&mut self, minimum: u8, depth: usize) -> Result<Expression<'s>, ErrorAt> {
        self.check_depth(depth)?;
        self.skip();
        let offset = self.base + self.offset;
        let mut left = if self.take("-") {
            let negative = self.expression(NEGATION, depth + 1)?;
            self.height += 1;
            Expression { offset, kind: ExpressionKind::Negative(Box::new(negative)) }
        } else {
            self.operand(depth)?
        };
        // Each operator adds a level above its operands: a long sum is a deep tree.
        loop {
            let left_height = self.height;
            self.skip();
            let rest = &self.text[self.offset..];
            let next = OPERATORS.iter().find(|(symbol, _, _)| rest.starts_with(symbol));
            let Some(&(symbol, operator, precedence)) = next.filter(|&&(_, _, p)| p >= minimum)
            else {
                return Ok(left);
            };
            self.offset += symbol.len();
            // Powers associate to the right, all other operators to the left.
            let minimum = if operator == Operator::Power { precedence } else { precedence + 1 };
            let right = self.expression(minimum, depth + 1)?;
            self.height = 1 + left_height.max(self.height);
            self.check_depth(depth + self.height)?;
            let kind = ExpressionKind::Binary(operator, Box::new(left), Box::new(right));
            left = Expression { offset, kind };
        }
    }

    /// Checks that an expression with this many levels is not too deep.
    fn check_depth(&self, levels: usize) -> Result<(), ErrorAt> {
        if levels > MAX_DEPTH {
            let message = format!("an expression is more than {MAX_DEPTH} levels deep");
            return Err((self.base + self.offset, message));
        }
        Ok(())
    }

    /// Reads a number, label, name, call, or expression in parentheses.
    fn operand(&mut self, depth: usize) -> Result<Expression<'s>, ErrorAt> {
        self.height = 0;
        let offset = self.base + self.offset;
        let rest = &self.text[self.offset..];
        let kind = match rest.chars().next() {
            Some('(') => {
                self.offset += 1;
                let inner = self.expression(0, depth + 1)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Some('"') => ExpressionKind::Text(self.quoted()?),
            Some(c) if c.is_ascii_digit() || c == '.' => ExpressionKind::Number(self.number()?),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let ends_name = |c: char| !(c.is_alphanumeric() || c == '_');
                let length = rest.find(ends_name).unwrap_or(rest.len());
                self.offset += length;
                let name = &rest[..length];
                if self.take("(") {
                    ExpressionKind::Call(name, self.arguments(depth)?)
                } else {
                    ExpressionKind::Name(name)
                }
            }
            _ => return Err(self.expected("a number, a name, a label or '('")),
        };
        Ok(Expression { offset, kind })
    }

    /// Reads the arguments of a call up to and including `)`. The `(` has been read.
    fn arguments(&mut self, depth: usize) -> Result<Vec<Expression<'s>>, ErrorAt> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        let mut height = 0;
        loop {
            arguments.push(self.expression(0, depth + 1)?);
            height = height.max(self.height + 1);
            if !self.take(",") {
                self.expect_list_end()?;
                self.height = height;
                return Ok(arguments);
            }
        }
    }

    /// Reads a label in double quotes, and resolves its escapes.
    fn quoted(&mut self) -> Result<String, ErrorAt> {
        let inner = &self.text[self.offset + 1..];
        let mut escaped = false;
        for (end, c) in inner.char_indices() {
            match c {
                '"' if !escaped => {
                    self.offset += end + 2;
                    return Ok(unquote(&inner[..end]));
                }
                _ => escaped = c == '\\' && !escaped,
            }
        }
        Err(self.expected("a label in double quotes"))
    }

    /// Reads a finite number without a sign.
    fn number(&mut self) -> Result<f64, ErrorAt> {
        let rest = &self.text[self.offset..];
        let mut before = ' ';
        let ends_number = |c: char| {
            let is_exponent_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            let continues = c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || is_exponent_sign;
            before = c;
            !continues
        };
        let length = rest.find(ends_number).unwrap_or(rest.len());
        match rest[..length].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.offset += length;
                Ok(value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// Consumes `symbol` if it comes next. Returns whether it was there.
    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        let taken = self.text[self.offset..].starts_with(symbol);
        self.offset += if taken { symbol.len() } else { 0 };
        taken
    }

    /// Consumes `symbol`, which must come next.
    fn expect(&mut self, symbol: &str) -> Result<(), ErrorAt> {
        if self.take(symbol) { Ok(()) } else { Err(self.expected(&format!("'{symbol}'"))) }
    }

    /// Consumes the `)` of a list of expressions, which must come next.
    fn expect_list_end(&mut self) -> Result<(), ErrorAt> {
        if self.take(")") { Ok(()) } else { Err(self.expected("an operator, ',' or ')'")) }
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.offset..];
            let trimmed = rest.trim_start();
            self.offset += rest.len() - trimmed.len();
            let end = if trimmed.starts_with('%') || trimmed.starts_with("//") {
                trimmed.find('\n')
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                comment.find("*/").map(|end| end + 4)
            } else {
                return;
            };
            self.offset += end.unwrap_or(trimmed.len());
        }
    }

    /// The error for the current position, where `what` was expected.
    fn expected(&self, what: &str) -> ErrorAt {
        let found = match self.text[self.offset..].chars().next() {
            Some(c) => format!("'{c}'"),
            None => "the end of the expression".to_owned(),
        };
        (self.base + self.offset, format!("expected {what} in the expression, found {found}"))
    }
}
