//! What a file says in addition to the model: titles, positions, colours, comments.
//!
//! None of this affects a probability. Properties that several formats share have fields, so they
//! survive conversion between formats. Attributes of a single format are stored without being
//! interpreted, and are written only to files of that format.

use crate::network::VariableId;

/// The annotations of a network and of its variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Annotation of the network itself.
    pub network: Annotation,
    /// The annotation of each variable, in file order. Variables beyond the end have none.
    variables: Vec<Annotation>,
}

/// What a file says about the network or one variable in addition to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotation {
    /// The text to display instead of the name.
    pub title: Option<String>,
    /// A comment, of any number of lines.
    pub comment: Option<String>,
    /// The centre of the node in the drawing, `[x, y]` with y downwards, in the units of the file
    /// (about a pixel or a point).
    pub position: Option<[f64; 2]>,
    /// The colour of the node: red, green, blue.
    pub colour: Option<[u8; 3]>,
    /// Attributes of a single format, in file order.
    pub attributes: Vec<Attribute>,
}

/// An attribute that only one format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The name of the format, as [`Format::name`](crate::format::Format::name) gives it.
    pub format: &'static str,
    /// The name of the attribute.
    pub name: String,
    /// Its value, as written in the file. In XML formats, entities are usually resolved.
    pub value: String,
}

static EMPTY: Annotation =
    Annotation { title: None, comment: None, position: None, colour: None, attributes: Vec::new() };

impl Annotations {
    /// The annotation of `variable`; an empty one if the file has none.
    #[must_use]
    pub fn of(&self, variable: VariableId) -> &Annotation {
        self.variables.get(variable.index()).unwrap_or(&EMPTY)
    }

    /// The annotation of `variable` for editing. An empty one is added if there is none.
    pub fn of_mut(&mut self, variable: VariableId) -> &mut Annotation {
        if self.variables.len() <= variable.index() {
            self.variables.resize(variable.index() + 1, Annotation::default());
        }
        &mut self.variables[variable.index()]
    }

    /// The annotation of the network, followed by the annotations of the variables in file order.
    /// Variables that come after the last annotated one may be left out.
    pub fn all(&self) -> impl Iterator<Item = &Annotation> {
        std::iter::once(&self.network).chain(&self.variables)
    }

    /// The position of each of the first `count` variables, as `[x, y]`. `None` if one of them has
    /// no position, or if all have the same position.
    #[must_use]
    pub fn positions(&self, count: usize) -> Option<Vec<[f64; 2]>> {
        let positions: Vec<_> = (0..count)
            .map(|index| self.of(VariableId::new(index)).position)
            .collect::<Option<_>>()?;
        positions.iter().any(|position| *position != positions[0]).then_some(positions)
    }
}

impl Annotation {
    /// Whether there is no title, comment, position, colour or attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == EMPTY
    }

    /// The attributes of the format called `format`.
    pub fn attributes_of(&self, format: &str) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(move |attribute| attribute.format == format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_belongs_to_one_variable() {
        let mut annotations = Annotations::default();
        let id = VariableId::new(2);
        annotations.of_mut(id).title = Some("Two".to_owned());
        assert_eq!(annotations.of(id).title.as_deref(), Some("Two"));
        assert!(annotations.of(VariableId::new(0)).is_empty());
        assert!(annotations.of(VariableId::new(9)).is_empty());
    }

    #[test]
    fn positions_are_given_only_if_they_place_every_variable() {
        let mut annotations = Annotations::default();
        annotations.of_mut(VariableId::new(0)).position = Some([1.0, 2.0]);
        assert_eq!(annotations.positions(2), None);
        annotations.of_mut(VariableId::new(1)).position = Some([1.0, 2.0]);
        assert_eq!(annotations.positions(2), None, "all at the same position");
        annotations.of_mut(VariableId::new(1)).position = Some([3.0, 2.0]);
        assert_eq!(annotations.positions(2), Some(vec![[1.0, 2.0], [3.0, 2.0]]));
    }
}
