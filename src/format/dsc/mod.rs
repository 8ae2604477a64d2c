//! DSC, the format of Microsoft's Bayesian network editor MSBN.
//!
//! Source: Decision Theory Group, Microsoft Research, *Proposal for a Bayesian Network Interchange
//! Format*, 1996. A value follows its name after `:`, `=` or `is`. A row names the states of the
//! parents by their positions, counted from zero; labels are understood too. Rows may come in any
//! order, `default` fills those that do not come.
//!
//! A node whose block or type is called `decision` has equal chances, one called `utility` is left out;
//! both are told of. Rows given by a `function` are no table here, and are refused.

mod parser;

use parser::Document;

use crate::format::braces;
use crate::format::language::{Features, Language};
use crate::format::nodes::{self, IfMissing};
use crate::format::source::SourceText;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Network};

/// What is known of the format.
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
    // The word "belief" came late; without it BIF begins alike, and the ending decides.
    braces::begins_with(text, &["belief", "network"]) || braces::begins_with(text, &["network"])
}

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let Document { name, mut nodes, distributions } = parser::parse(source)?;
    nodes::assign(source, &mut nodes, distributions)?;
    nodes::network(source, &name, Annotation::default(), &nodes, IfMissing::Refuse)
}
