//! DNET, the format of Netica, as it stands in `.dne` and `.dnet` files.
//!
//! Source: Norsys Software Corp., *DNET-1 File Format*, 1998, and the files that Netica writes.
//!
//! * Tables are in odometer order over the parents and then the node, which turns fastest. Inner
//!   parentheses show the same and are not needed.
//! * `@imposs` marks what cannot come about, `@undef` what is not known: a row of nothing else is
//!   given equal chances, which bears on no posterior where it is indeed impossible. `#2` is the
//!   third state, as an entry of a function or as a whole row of probabilities.
//! * A continuous node that `levels` cut into intervals has these as its states.
//! * A node with neither table nor equation has equal chances, as Netica compiles it. An equation
//!   alone is no table, and such a node is refused; so are links that are delayed in time.
//! * A node may inherit what it does not say: `node A (class)`.

mod node;
mod states;

use std::collections::HashMap;

use crate::format::braces::{self, Block, Field, FieldValue, ListEntry, Parser};
use crate::format::language::{Features, Language};
use crate::format::limits;
use crate::format::nodes::{self, IfMissing, Word};
use crate::format::source::SourceText;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Network};

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "DNET",
    extensions: &["dne", "dnet"],
    recognise,
    read,
    write: None,
    features: Features { names: true, ..Features::NONE },
};

/// Whether `text` looks like DNET.
fn recognise(text: &str) -> bool {
    braces::begins_with(text, &["bnet"])
}

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let (name, block) = Parser::new(source).document("bnet")?;
    let mut classes = HashMap::new();
    let mut blocks = Vec::new();
    for field in &block.fields {
        let FieldValue::Block(inner) = &field.value else { continue };
        let labels = &field.labels;
        let (named, class) = if field.name.eq_ignore_ascii_case("node") {
            (labels.first(), false)
        } else if field.name.eq_ignore_ascii_case("define")
            && labels.first().is_some_and(|word| word.text.eq_ignore_ascii_case("node"))
        {
            (labels.get(1), true)
        } else {
            continue;
        };
        let named =
            named.ok_or_else(|| source.error(field.at, "expected the name of this node"))?;
        let parent = labels.get(if class { 2 } else { 1 });
        classes.insert(named.text.as_ref(), (inner, parent));
        if !class {
            blocks.push((field, named, inner, parent));
        }
    }
    let mut sketches = Vec::with_capacity(blocks.len());
    let mut states = 0;
    for (field, named, inner, parent) in blocks {
        let fields = NodeFields::new(source, &classes, named, inner, parent)?;
        let sketch = node::sketch(source, field, named, fields)?;
        limits::count_states(source, &mut states, sketch.states(), field.at)?;
        sketches.push(sketch);
    }
    let observed: Vec<String> =
        sketches.iter().filter_map(|sketch| sketch.observed().map(str::to_owned)).collect();
    let found = node::complete(source, sketches)?;
    let text = |field: &str| block.word(field).map(|word| word.text.to_string());
    let note =
        Annotation { title: text("title"), comment: text("comment"), ..Annotation::default() };
    let (network, mut warnings) =
        nodes::network(source, &name.text, note, &found, IfMissing::Uniform)?;
    if !observed.is_empty() {
        let file = source.file.to_owned();
        warnings.push(Warning::FindingsIgnored { file, variables: observed });
    }
    Ok((network, warnings))
}

/// The fields of a node and, behind them, those of the classes that it inherits from.
struct NodeFields<'b, 's> {
    blocks: Vec<&'b Block<'s>>,
}

type Classes<'b, 's> = HashMap<&'b str, (&'b Block<'s>, Option<&'b Word<'s>>)>;

impl<'b, 's> NodeFields<'b, 's> {
    fn new(
        source: SourceText<'_>,
        classes: &Classes<'b, 's>,
        node: &Word<'_>,
        block: &'b Block<'s>,
        mut class: Option<&'b Word<'s>>,
    ) -> Result<Self, FormatError> {
        // Every node that inherits looks through all of them.
        const MAX_ANCESTORS: usize = 32;
        const MAX_INHERITED: usize = 1000;
        let mut blocks = vec![block];
        while let Some(name) = class {
            let Some(&(inherited, next)) = classes.get(name.text.as_ref()) else {
                let message =
                    format!("'{}' inherits from '{}', which is not defined", node.text, name.text);
                return Err(source.error(name.at, message));
            };
            if inherited.fields.len() > MAX_INHERITED {
                let message = format!("'{}' has more than {MAX_INHERITED} fields", name.text);
                return Err(source.error(name.at, message));
            }
            if blocks.len() > MAX_ANCESTORS {
                let message = format!("'{}' inherits from itself, or too deeply", node.text);
                return Err(source.error(name.at, message));
            }
            blocks.push(inherited);
            class = next;
        }
        Ok(Self { blocks })
    }

    fn field(&self, name: &str) -> Option<&'b Field<'s>> {
        self.blocks.iter().find_map(|block| block.field(name))
    }

    fn word(&self, name: &str) -> Option<&'b Word<'s>> {
        match &self.field(name)?.value {
            FieldValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The entries of a list, and the byte of its field. A word alone is a list of one.
    fn list(&self, name: &str) -> Option<(Vec<&'b ListEntry<'s>>, usize)> {
        let field = self.field(name)?;
        match &field.value {
            FieldValue::List(entries) => Some((entries.iter().collect(), field.at)),
            _ => None,
        }
    }
}
