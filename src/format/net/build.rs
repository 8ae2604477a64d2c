//! From the blocks of a NET file to a network.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::blocks::{
    AttributeValue, Class, NetAttribute, NodeBlock, NodeKind, PotentialBlock, PotentialData,
};
use super::classes::Classes;
use super::model::{Models, Usage, attribute};
use super::{NAME, states, unfold};
use crate::format::nodes::{self, Definition, IfMissing, Node, Role};
use crate::format::source::SourceText;
use crate::format::{FormatError, Warning};
use crate::network::{self, Annotation, Network};

/// Builds the network from the `classes` of a file.
///
/// # Errors
/// The first mistake that concerns names, tables or classes.
pub(super) fn network<'s>(
    source: SourceText<'s>,
    mut classes: Vec<Class<'s>>,
) -> Result<(Network, Vec<Warning>), FormatError> {
    let potentials: Vec<_> =
        classes.iter_mut().map(|class| std::mem::take(&mut class.potentials)).collect();
    let lookup = Classes::new(source, &classes)?;
    let class = &classes[lookup.network];
    let mut built = Vec::with_capacity(classes.len());
    let (mut usage, mut estimated) = (Usage::default(), Vec::new());
    for (index, potentials) in potentials.into_iter().enumerate() {
        let class = &classes[index];
        let potentials = potentials_by_child(source, &class.nodes, potentials)?;
        let block_of = |name: &str| lookup.block(index, name);
        let mut models = Models::new(source, &class.nodes, block_of, &potentials, usage);
        built.push(nodes(source, class, potentials, &mut models)?);
        usage = models.usage;
        estimated.append(&mut models.estimated);
    }
    let found = if class.instances.is_empty() {
        with_original_names(class, built.swap_remove(lookup.network))
    } else {
        unfold::unfold(&lookup, &built)?
    };
    let name = text(&class.attributes, NAME).map_or(Cow::Borrowed(class.name), Cow::Owned);
    let note = annotation(&class.attributes, &["inputs", "outputs", "name"]);
    let (network, mut warnings) = nodes::network(source, &name, note, &found, IfMissing::Uniform)?;
    if !estimated.is_empty() {
        warnings.push(Warning::TablesEstimated { file: source.file.to_owned(), nodes: estimated });
    }
    Ok((network, warnings))
}

/// The nodes of one class, under the names that its potentials use.
fn nodes<'b, 's: 'b>(
    source: SourceText<'s>,
    class: &Class<'s>,
    mut potentials: HashMap<String, PotentialBlock<'s>>,
    models: &mut Models<'s, impl Fn(&str) -> Option<&'b NodeBlock<'s>>>,
) -> Result<Vec<Node<'s>>, FormatError> {
    // A function node is not a dimension of a table: Hugin uses its value when it computes the
    // table.
    let functions: HashSet<&str> = class
        .nodes
        .iter()
        .filter(|block| block.kind == NodeKind::Function)
        .map(|block| &*block.name.text)
        .collect();
    let mut found = Vec::with_capacity(class.nodes.len());
    for block in &class.nodes {
        let mut potential = potentials.remove(&*block.name.text);
        if let Some(potential) = &mut potential {
            potential.parents.retain(|parent| !functions.contains(&*parent.text));
        }
        found.push(node(source, block, potential, models)?);
    }
    Ok(found)
}

/// Replaces each name in `nodes`, the nodes of `class`, with the name in the attribute [`NAME`] of
/// the node that it refers to, if that node has this attribute.
fn with_original_names<'s>(class: &Class<'s>, mut nodes: Vec<Node<'s>>) -> Vec<Node<'s>> {
    let original_names: HashMap<&str, Cow<'_, str>> =
        class.nodes.iter().map(|block| (&*block.name.text, original_name(block))).collect();
    for node in &mut nodes {
        for word in std::iter::once(&mut node.name).chain(&mut node.parents) {
            if let Some(original) = original_names.get(&*word.text) {
                word.text = original.clone();
            }
        }
    }
    nodes
}

fn original_name<'s>(block: &NodeBlock<'s>) -> Cow<'s, str> {
    text(&block.attributes, NAME).map_or_else(|| block.name.text.clone(), Cow::Owned)
}

/// The potentials by the name of their child, or of their first child if they have several.
///
/// # Errors
/// If the first child of a potential is unknown, if it is a chance node but not the only child, or
/// if two potentials have the same first child.
fn potentials_by_child<'s>(
    source: SourceText<'s>,
    blocks: &[NodeBlock<'s>],
    potentials: Vec<PotentialBlock<'s>>,
) -> Result<HashMap<String, PotentialBlock<'s>>, FormatError> {
    let kinds: HashMap<&str, NodeKind> =
        blocks.iter().map(|block| (&*block.name.text, block.kind)).collect();
    let mut by_child = HashMap::with_capacity(potentials.len());
    for potential in potentials {
        let child = &potential.children[0];
        let Some(kind) = kinds.get(&*child.text) else {
            let message = format!("there is no variable '{}'", child.text);
            return Err(source.error(child.offset, message));
        };
        if let [_, second, ..] = &potential.children[..]
            && matches!(kind, NodeKind::Chance)
        {
            let message = format!(
                "this potential is for '{}' and '{}' together, expected '|' between a node and its \
                 parents",
                child.text, second.text
            );
            return Err(source.error(second.offset, message));
        }
        let offset = child.offset;
        let name = child.text.to_string();
        if let Some(first) = by_child.insert(name.clone(), potential) {
            let line = source.line(first.offset);
            let message = format!("'{name}' has a second potential; the first is on line {line}");
            return Err(source.error(offset, message));
        }
    }
    Ok(by_child)
}

/// The node of `block` with its states, and with the table of `potential` if it is a chance node.
fn node<'b, 's: 'b>(
    source: SourceText<'s>,
    block: &NodeBlock<'s>,
    potential: Option<PotentialBlock<'s>>,
    models: &mut Models<'s, impl Fn(&str) -> Option<&'b NodeBlock<'s>>>,
) -> Result<Node<'s>, FormatError> {
    let name = block.name.clone();
    let offset = name.offset;
    let role = match block.kind {
        NodeKind::Chance => Role::Chance,
        NodeKind::Decision => Role::Decision,
        NodeKind::Utility => Role::LeftOut("utility"),
        NodeKind::Function => Role::LeftOut("function"),
        NodeKind::Continuous => {
            let message = format!(
                "'{}' is continuous, expected discrete nodes only (discretise it first)",
                name.text
            );
            return Err(source.error(offset, message));
        }
    };
    let states = match role {
        Role::LeftOut(_) => Vec::new(),
        _ => states::labels(source, block)?,
    };
    let without_table = |states, parents| Node {
        name: name.clone(),
        role,
        states,
        parents,
        definition: Definition::Missing,
        offset,
        note: annotation(&block.attributes, &["states"]),
    };
    let Some(potential) = potential.filter(|_| role == Role::Chance) else {
        return Ok(without_table(states, Vec::new()));
    };
    match potential.data {
        Some((PotentialData::Numbers(numbers), offset)) if !numbers.is_empty() => {
            let definition = Definition::Weights(numbers);
            Ok(Node { definition, offset, ..without_table(states, potential.parents) })
        }
        Some((PotentialData::Malformed(error), _)) => Err(error),
        _ => match model(&potential) {
            Some(model) => {
                let definition = Definition::Weights(models.table(block, &potential, model)?);
                let offset = model.offset;
                Ok(Node { definition, offset, ..without_table(states, potential.parents) })
            }
            None => Ok(without_table(states, potential.parents)),
        },
    }
}

/// The attribute with the expressions of a table; `None` if it is missing or has only parentheses
/// and white space.
fn model<'p, 's>(potential: &'p PotentialBlock<'s>) -> Option<&'p NetAttribute<'s>> {
    let model = attribute(potential, "model_data")?;
    model.raw.chars().any(|c| !matches!(c, '(' | ')') && !c.is_whitespace()).then_some(model)
}

/// The value of the last attribute called `name`, if it is a text.
fn text(attributes: &[NetAttribute<'_>], name: &str) -> Option<String> {
    attributes.iter().rev().find(|field| field.name == name).and_then(|field| match &field.value {
        AttributeValue::Text(text) => Some(text.clone()),
        _ => None,
    })
}

/// The annotation given by `attributes`. Attributes named in `excluded` are left out: the reader
/// uses them itself or has no use for them.
fn annotation(attributes: &[NetAttribute<'_>], excluded: &[&str]) -> Annotation {
    let mut annotation = Annotation::default();
    for field in attributes {
        match (field.name, &field.value) {
            ("label", AttributeValue::Text(text)) => {
                annotation.title = Some(text.clone()).filter(|text| !text.is_empty());
            }
            ("HR_Desc", AttributeValue::Text(text)) => {
                annotation.comment = Some(text.clone()).filter(|text| !text.is_empty());
            }
            ("position", AttributeValue::List(items)) => {
                let coordinate =
                    |index: usize| nodes::number(items.get(index)?.text).filter(|v| v.is_finite());
                // The y axis of Hugin points up, the y axis of this program down.
                annotation.position = coordinate(0).zip(coordinate(1)).map(|(x, y)| [x, -y]);
            }
            (NAME | states::EMPTY_LABELS, _) => {}
            (name, _) if excluded.contains(&name) => {}
            (name, _) => annotation.attributes.push(network::Attribute {
                format: super::LANGUAGE.name,
                name: name.to_owned(),
                value: field.raw.to_owned(),
            }),
        }
    }
    annotation
}
