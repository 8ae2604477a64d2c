//! DSC, the format of Microsoft's Bayesian network editor MSBN.
//!
//! Source: Decision Theory Group, Microsoft Research, *Proposal for a Bayesian Network Interchange
//! Format*, 1996. A value follows its name after `:`, `=` or `is`. A row gives the states of the
//! parents by index, counted from zero, or by label. Rows may come in any order; `default` fills
//! the rows not given.
//!
//! A node whose block or type is called `decision` gets a uniform distribution. A node whose block
//! or type is called `utility` is left out. Both cause a warning. A `function` instead of rows is
//! refused.

mod parser;

use parser::Document;

use crate::format::braces;
use crate::format::language::{Features, Language};
use crate::format::nodes::{self, IfMissing};
use crate::format::source::SourceText;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Network};

pub(super) static LANGUAGE: Language = Language {
    name: "DSC",
    extensions: &["dsc"],
    recognise,
    read,
    write: None,
    features: Features { names: true, ..Features::NONE },
};

/// Whether `text` looks like DSC.
fn recognise(text: &str) -> bool {
    // Older files lack the word "belief". They begin like BIF, and the file extension decides.
    braces::begins_with(text, &["belief", "network"]) || braces::begins_with(text, &["network"])
}

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let Document { name, mut nodes, distributions } = parser::parse(source)?;
    nodes::assign(source, &mut nodes, distributions)?;
    nodes::network(source, &name, Annotation::default(), &nodes, IfMissing::Refuse)
}
