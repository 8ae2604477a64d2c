//! DNET, the text format of Netica, in `.dne` and `.dnet` files.
//!
//! Source: Norsys Software Corp., *DNET-1 File Format*, 1998, and files written by Netica.
//!
//! * In tables the node varies fastest, then its last parent. Inner parentheses are optional.
//! * `@imposs` marks an impossible entry, `@undef` an unknown one. A row of only such marks and
//!   zeros becomes uniform, which changes no posterior if the row is indeed impossible. In any
//!   other row a mark counts as zero. `#2` is the third state: as an entry of a function, or as a
//!   row of probabilities in which that state is certain.
//! * The intervals given by `levels` are the states of a continuous node.
//! * A node with neither a table nor an equation gets a uniform distribution, as in Netica. A node
//!   with only an equation is refused, and so are links with a delay in time.
//! * A node may inherit fields from a class: `node A (class)`.

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
        let (node_name, is_class) = if field.name.eq_ignore_ascii_case("node") {
            (labels.first(), false)
        } else if field.name.eq_ignore_ascii_case("define")
            && labels.first().is_some_and(|word| word.text.eq_ignore_ascii_case("node"))
        {
            (labels.get(1), true)
        } else {
            continue;
        };
        let node_name = node_name
            .ok_or_else(|| source.error(field.offset, "expected the name of this node"))?;
        let base = labels.get(if is_class { 2 } else { 1 });
        classes.insert(node_name.text.as_ref(), (inner, base));
        if !is_class {
            blocks.push((field, node_name, inner, base));
        }
    }
    let mut partial_nodes = Vec::with_capacity(blocks.len());
    let mut states = 0;
    for (field, node_name, inner, base) in blocks {
        let fields = NodeFields::new(source, &classes, node_name, inner, base)?;
        let partial = node::partial(source, field, node_name, fields)?;
        limits::count_states(source, &mut states, partial.states(), field.offset)?;
        partial_nodes.push(partial);
    }
    let observed: Vec<String> =
        partial_nodes.iter().filter_map(|node| node.observed().map(str::to_owned)).collect();
    let found = node::complete(source, partial_nodes)?;
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

/// The blocks in which the fields of a node are looked up: its own block, then the blocks of its
/// classes.
struct NodeFields<'b, 's> {
    blocks: Vec<&'b Block<'s>>,
}

/// For each class and node by name, its block and the name of the class that it inherits from.
type Classes<'b, 's> = HashMap<&'b str, (&'b Block<'s>, Option<&'b Word<'s>>)>;

impl<'b, 's> NodeFields<'b, 's> {
    /// The fields in `block`, the block of `node`, and in `class` and the classes above it.
    ///
    /// # Errors
    /// If a class is not defined or has too many fields, or there are too many classes.
    fn new(
        source: SourceText<'_>,
        classes: &Classes<'b, 's>,
        node: &Word<'_>,
        block: &'b Block<'s>,
        mut class: Option<&'b Word<'s>>,
    ) -> Result<Self, FormatError> {
        // These bound the time, because looking up a field may visit all fields of all classes of
        // a node.
        const MAX_ANCESTORS: usize = 32;
        const MAX_CLASS_FIELDS: usize = 1000;
        let mut blocks = vec![block];
        while let Some(name) = class {
            let Some(&(inherited, next)) = classes.get(name.text.as_ref()) else {
                let message =
                    format!("'{}' inherits from '{}', which is not defined", node.text, name.text);
                return Err(source.error(name.offset, message));
            };
            if inherited.fields.len() > MAX_CLASS_FIELDS {
                let message = format!("'{}' has more than {MAX_CLASS_FIELDS} fields", name.text);
                return Err(source.error(name.offset, message));
            }
            if blocks.len() > MAX_ANCESTORS {
                let message = format!(
                    "'{}' inherits from itself, or from more than {MAX_ANCESTORS} classes",
                    node.text
                );
                return Err(source.error(name.offset, message));
            }
            blocks.push(inherited);
            class = next;
        }
        Ok(Self { blocks })
    }

    /// The field called `name`, from the first block that has it.
    fn field(&self, name: &str) -> Option<&'b Field<'s>> {
        self.blocks.iter().find_map(|block| block.field(name))
    }

    /// The word or quoted text of a field.
    fn word(&self, name: &str) -> Option<&'b Word<'s>> {
        match &self.field(name)?.value {
            FieldValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The entries of a list, and the byte offset of its field.
    fn list(&self, name: &str) -> Option<(Vec<&'b ListEntry<'s>>, usize)> {
        let field = self.field(name)?;
        match &field.value {
            FieldValue::List(entries) => Some((entries.iter().collect(), field.offset)),
            _ => None,
        }
    }
}
