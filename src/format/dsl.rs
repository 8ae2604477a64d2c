//! DSL, the format of GeNIe and SMILE before XDSL.
//!
//! Source: the manual of GeNIe, *DSL file format*. In tables the node varies fastest, then its last
//! parent. A list of resulting states has one state for each configuration of the parents, in the
//! same order.

use crate::format::braces::{self, Block, Field, FieldValue, ListEntry, Parser};
use crate::format::language::{Features, Language};
use crate::format::nodes::{self, Definition, IfMissing, Labels, Node, Number, Role, Word, number};
use crate::format::source::SourceText;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Network};

pub(super) static LANGUAGE: Language = Language {
    name: "DSL",
    extensions: &["dsl"],
    recognise,
    read,
    write: None,
    features: Features { names: true, ..Features::NONE },
};

/// Whether `text` looks like DSL.
fn recognise(text: &str) -> bool {
    braces::begins_with(text, &["net"])
}

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let (name, block) = Parser::new(source).document("net")?;
    let mut found = Vec::new();
    collect(source, &block, &mut found)?;
    let note = note(&block, &name.text);
    nodes::network(source, &name.text, note, &found, IfMissing::Refuse)
}

/// Appends the nodes of `block`, and of its submodels at any depth, to `found`.
fn collect<'s>(
    source: SourceText<'s>,
    block: &Block<'s>,
    found: &mut Vec<Node<'s>>,
) -> Result<(), FormatError> {
    for field in &block.fields {
        let FieldValue::Block(inner) = &field.value else { continue };
        if field.name.eq_ignore_ascii_case("node") {
            found.push(node(source, field, inner)?);
        } else if field.name.eq_ignore_ascii_case("submodel") {
            collect(source, inner, found)?;
        }
    }
    Ok(())
}

/// Reads the block of a node. `field` is the field that holds this `block`.
fn node<'s>(
    source: SourceText<'s>,
    field: &Field<'s>,
    block: &Block<'s>,
) -> Result<Node<'s>, FormatError> {
    let header = block.block("HEADER");
    let name = field.labels.first().or_else(|| header.and_then(|header| header.word("ID")));
    let name =
        name.ok_or_else(|| source.error(field.offset, "expected the name of this node"))?.clone();
    let kind = block.word("TYPE").ok_or_else(|| {
        source.error(field.offset, format!("expected TYPE = ... in the node '{}'", name.text))
    })?;
    let empty = Block::default();
    let body = block.block("DEFINITION").unwrap_or(&empty);
    let states = body.list("NAMESTATES").or_else(|| body.list("NAMECHOICES"));
    let states = words(source, states, "the label of a state")?;
    let parents = words(source, block.list("PARENTS"), "the name of a parent")?;
    let (role, definition, offset) = definition(source, field, &name, kind, body, &states)?;
    let note = note(block, &name.text);
    Ok(Node { name, role, states, parents, definition, offset, note })
}

/// Determines the role of the node called `name` from its type `kind`, and reads its definition
/// from `body`. Returns both with the byte offset of the definition. `field` is the field of the
/// node.
fn definition<'s>(
    source: SourceText<'s>,
    field: &Field<'s>,
    name: &Word<'s>,
    kind: &Word<'s>,
    body: &Block<'s>,
    states: &[Word<'s>],
) -> Result<(Role, Definition<'static>, usize), FormatError> {
    let list = |part: &str| {
        body.list(part).ok_or_else(|| {
            source
                .error(field.offset, format!("expected {part} = (...) in the node '{}'", name.text))
        })
    };
    match kind.text.to_ascii_uppercase().as_str() {
        "CPT" | "CHANCE" => {
            let (entries, offset) = list("PROBABILITIES")?;
            Ok((Role::Chance, Definition::Table(numbers(source, entries)?), offset))
        }
        "TRUTHTABLE" | "DETERMINISTIC" => {
            let (entries, offset) = list("RESULTINGSTATES")?;
            let labels = Labels::new(&name.text, states);
            let outcomes = entries.iter().map(|entry| {
                let label = text(source, entry, "the label of a state")?;
                match labels.get(label) {
                    Some(state) => Ok((Some(state), entry.offset)),
                    None => Err(labels.unknown(source, label, entry.offset)),
                }
            });
            Ok((Role::Chance, Definition::Function(outcomes.collect::<Result<_, _>>()?), offset))
        }
        "NOISY_MAX" => {
            let (entries, offset) = list("PROBABILITIES")?;
            let strengths = body.list("STRENGTHS").map_or(&[][..], |(entries, _)| entries);
            let strengths = numbers(source, strengths)?;
            let columns = numbers(source, entries)?;
            Ok((Role::Chance, Definition::NoisyMax { strengths, columns }, offset))
        }
        "NOISY_ADDER" => {
            let (entries, offset) = list("PROBABILITIES")?;
            let weights = body.list("WEIGHTS").map_or(&[][..], |(entries, _)| entries);
            let weights = numbers(source, weights)?;
            let columns = numbers(source, entries)?;
            Ok((Role::Chance, Definition::NoisyAdder { weights, columns }, offset))
        }
        "LIST" | "DECISION" => Ok((Role::Decision, Definition::Missing, field.offset)),
        "TABLE" | "UTILITY" | "MAU" | "ALU" => {
            Ok((Role::LeftOut("utility"), Definition::Missing, field.offset))
        }
        "EQUATION" => {
            let message = format!(
                "'{}' is continuous (it is given by an equation), expected a table",
                name.text
            );
            Err(source.error(kind.offset, message))
        }
        _ => {
            let message = format!(
                "'{}' has the type '{}', expected CPT, TRUTHTABLE, NOISY_MAX, NOISY_ADDER, \
                 LIST, TABLE, MAU or ALU",
                name.text, kind.text
            );
            Err(source.error(kind.offset, message))
        }
    }
}

/// The title, comment, position and colour in `block`, which describes the network or node called
/// `name`. A title that repeats the name is left out.
fn note(block: &Block<'_>, name: &str) -> Annotation {
    let text = |part: &str| {
        let word = block.block("HEADER")?.word(part)?;
        (!word.text.is_empty()).then(|| word.text.to_string())
    };
    let screen = block.block("SCREEN");
    let position = screen.and_then(|screen| screen.block("POSITION")).and_then(|position| {
        let coordinate = |part: &str| number(&position.word(part)?.text);
        Some([coordinate("CENTER_X")?, coordinate("CENTER_Y")?])
    });
    // A Windows COLORREF: red is the lowest byte.
    let colour = screen.and_then(|screen| screen.word("COLOR")?.text.parse::<u32>().ok());
    let colour = colour.map(|colour| {
        let [red, green, blue, _] = colour.to_le_bytes();
        [red, green, blue]
    });
    let title = text("NAME").filter(|title| title != name);
    Annotation { title, comment: text("COMMENT"), position, colour, ..Annotation::default() }
}

/// The text of a list entry. `what` describes the expected text, for the error.
fn text<'e>(
    source: SourceText<'_>,
    entry: &'e ListEntry<'_>,
    what: &str,
) -> Result<&'e str, FormatError> {
    entry
        .word
        .as_deref()
        .ok_or_else(|| source.error(entry.offset, format!("expected {what}, found ','")))
}

/// The words of `list`; none if the list is missing. `what` describes a word, for the error.
fn words<'s>(
    source: SourceText<'_>,
    list: Option<(&[ListEntry<'s>], usize)>,
    what: &str,
) -> Result<Vec<Word<'s>>, FormatError> {
    let entries = list.map_or(&[][..], |(entries, _)| entries);
    let words = entries.iter().map(|entry| match &entry.word {
        Some(text) => Ok(Word { text: text.clone(), offset: entry.offset }),
        None => Err(source.error(entry.offset, format!("expected {what}, found ','"))),
    });
    words.collect()
}

/// The entries of a list, all of which must be numbers.
fn numbers(source: SourceText<'_>, entries: &[ListEntry<'_>]) -> Result<Vec<Number>, FormatError> {
    let numbers = entries.iter().map(|entry| {
        let word = text(source, entry, "a number")?;
        let value = number(word).ok_or_else(|| {
            source.error(entry.offset, format!("expected a number, found '{word}'"))
        })?;
        Ok(Number { value, offset: entry.offset })
    });
    numbers.collect()
}
