//! What a file says about a network beside the model: titles, places, colours, remarks.
//!
//! Nothing here bears on a probability. What several formats have in common is spelt out, so that it
//! survives from one format to another; what only one has is kept word for word, and is written
//! again where that format is written.

use crate::network::VariableId;

/// What a file says beside the model, of the network and of each variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Of the network itself.
    pub network: Annotation,
    /// Of each variable, by position; what lies beyond the end has none.
    variables: Vec<Annotation>,
}

/// What a file says of one thing beside the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotation {
    /// What people should read in place of the name.
    pub title: Option<String>,
    /// A remark, of any number of lines.
    pub comment: Option<String>,
    /// The centre of the node in the drawing: x to the right and y downwards, in the units of the
    /// file, which are about a pixel or a point.
    pub position: Option<[f64; 2]>,
    /// The colour of the node: red, green, blue.
    pub colour: Option<[u8; 3]>,
    /// What only one format has, in the order of the file.
    pub attributes: Vec<Attribute>,
}

/// An attribute that means something in one format only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The name of that format, as [`Format::name`](crate::format::Format::name) gives it.
    pub format: &'static str,
    /// What it is called.
    pub name: String,
    /// What it says, as the format spells it.
    pub value: String,
}

/// What is said where nothing is.
static NOTHING: Annotation =
    Annotation { title: None, comment: None, position: None, colour: None, attributes: Vec::new() };

impl Annotations {
    /// What is said of `variable`.
    #[must_use]
    pub fn of(&self, variable: VariableId) -> &Annotation {
        self.variables.get(variable.index()).unwrap_or(&NOTHING)
    }

    /// The place at which to put what is said of `variable`.
    pub fn of_mut(&mut self, variable: VariableId) -> &mut Annotation {
        if self.variables.len() <= variable.index() {
            self.variables.resize(variable.index() + 1, Annotation::default());
        }
        &mut self.variables[variable.index()]
    }

    /// What is said, of the network first and then of the variables in their order.
    pub fn all(&self) -> impl Iterator<Item = &Annotation> {
        std::iter::once(&self.network).chain(&self.variables)
    }

    /// Where the file puts each of `count` variables, if it puts all of them somewhere and not all
    /// at one place.
    #[must_use]
    pub fn positions(&self, count: usize) -> Option<Vec<[f64; 2]>> {
        let positions: Vec<_> = (0..count)
            .map(|index| self.of(VariableId::new(index)).position)
            .collect::<Option<_>>()?;
        positions.iter().any(|position| *position != positions[0]).then_some(positions)
    }
}

impl Annotation {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == NOTHING
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
    fn what_was_put_is_found_and_nothing_else() {
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
        assert_eq!(annotations.positions(2), None, "all at one place");
        annotations.of_mut(VariableId::new(1)).position = Some([3.0, 2.0]);
        assert_eq!(annotations.positions(2), Some(vec![[1.0, 2.0], [3.0, 2.0]]));
    }
}
