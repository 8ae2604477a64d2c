//! What can be wrong with a file, and what was put right in it.

use crate::format::Format;

/// The place at which a file cannot be understood, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct FormatError {
    /// The file, as the user called it.
    pub file: String,
    /// Line, counted from one.
    pub line: usize,
    /// Column in characters, counted from one.
    pub column: usize,
    /// What was found and what was expected.
    pub message: String,
}

/// Why a network cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the operating system, or the decompressor, says.
        reason: String,
    },
    /// There is neither a file nor a sample of this name.
    #[error(
        "there is no file '{0}', and no sample of this name; the samples are {samples}",
        samples = sample_names()
    )]
    NotFound(String),
    /// The file is larger than what is read.
    #[error("{file}: holds more than {limit} bytes{}, which is refused",
        if *.unpacked { " when unpacked" } else { "" })]
    TooLong {
        /// The file.
        file: String,
        /// The most that is read.
        limit: u64,
        /// Whether it is the unpacked content of a `.gz` that is too long.
        unpacked: bool,
    },
    /// The file is in none of the formats that are read.
    #[error("{file}: not in a format that is read here ({known}): {found}", known = format_names())]
    UnknownFormat {
        /// The file.
        file: String,
        /// What stands in it.
        found: String,
    },
    /// The file is in a known format, and has a mistake.
    #[error(transparent)]
    Format(#[from] FormatError),
}

fn sample_names() -> String {
    crate::format::SAMPLES.iter().map(|sample| sample.name).collect::<Vec<_>>().join(", ")
}

fn format_names() -> String {
    Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// Something that was put right while reading, and that the user should know of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Rows summed to one only roughly, and were divided by their sum.
    RowsNormalised {
        /// The file, as the user called it.
        file: String,
        /// Rows that were off by more than [`ROUNDING_TOLERANCE`](crate::network::ROUNDING_TOLERANCE).
        off: usize,
        /// Rows that the file gives.
        rows: usize,
        /// The largest distance of a row's sum from one.
        worst: f64,
        /// The line of that row, counted from one.
        line: usize,
        /// The lines of the first of the rows that were off, counted from one; no more than six.
        lines: Vec<usize>,
    },
    /// What stands in the file is not what its ending says.
    OtherFormat {
        /// The file, as the user called it.
        file: String,
        /// The format that files with this ending have.
        ending: Format,
        /// The format that it is in, and was read as.
        found: Format,
    },
    /// Decision nodes were opened as chance variables all of whose states have equal chances.
    DecisionsAsChance {
        /// The file, as the user called it.
        file: String,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Nodes for which a Bayesian network has no place were left out.
    LeftOut {
        /// The file, as the user called it.
        file: String,
        /// What they are: `utility`, `constant`.
        kind: &'static str,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Variables for which the file has no table were given equal chances.
    WithoutTable {
        /// The file, as the user called it.
        file: String,
        /// The variables.
        variables: Vec<String>,
    },
    /// The file holds findings, which are evidence and no part of the network.
    FindingsLeftOut {
        /// The file, as the user called it.
        file: String,
        /// The variables that are observed.
        variables: Vec<String>,
    },
    /// Tables in percent, or of counts, were divided by 100 or by the sums of their rows.
    TablesRescaled {
        /// The file, as the user called it.
        file: String,
        /// Whether the tables are in percent; else they hold counts.
        percent: bool,
        /// The nodes whose tables these are.
        nodes: Vec<String>,
        /// The lines of the first of these tables, counted from one; no more than six.
        lines: Vec<usize>,
    },
    /// Rows of zeros, whose parents cannot be in their states, were given equal chances.
    RowsImpossible {
        /// The file, as the user called it.
        file: String,
        /// How many rows.
        rows: usize,
        /// The line of the first, counted from one.
        line: usize,
    },
    /// Expressions were put into tables at points in the intervals of the parents.
    Sampled {
        /// The file, as the user called it.
        file: String,
        /// The nodes whose tables these are.
        nodes: Vec<String>,
    },
    /// Rows that the file leaves open on purpose were given equal chances.
    RowsLeftOpen {
        /// The file, as the user called it.
        file: String,
        /// How many rows.
        rows: usize,
        /// The line of the first, counted from one.
        line: usize,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RowsNormalised { file, off, rows, worst, line, lines } => write!(
                f,
                "{file}: {off} of {rows} rows did not sum to 1 and were normalised ({}); the worst, \
                 in line {line}, was off by {worst:.2e}",
                some_lines(lines, *off)
            ),
            Self::TablesRescaled { file, percent, nodes, lines } => write!(
                f,
                "{file}: tables {}: {} ({})",
                if *percent {
                    "in percent were divided by 100"
                } else {
                    "of counts were divided by the sums of their rows"
                },
                some_of(nodes),
                some_lines(lines, nodes.len())
            ),
            Self::Sampled { file, nodes } => write!(
                f,
                "{file}: tables were estimated from points in the intervals of their parents: {}",
                some_of(nodes)
            ),
            Self::RowsImpossible { file, rows, line } => write!(
                f,
                "{file}: {rows} rows of zeros, the first in line {line}, were given equal chances: \
                 their parents cannot be in these states"
            ),
            Self::OtherFormat { file, ending, found } => write!(
                f,
                "{file}: is called like {}, but holds {} and was read as that",
                ending.name(),
                found.name()
            ),
            Self::DecisionsAsChance { file, nodes } => write!(
                f,
                "{file}: decisions became chance variables with equal chances: {}",
                some_of(nodes)
            ),
            Self::LeftOut { file, kind, nodes } => {
                write!(f, "{file}: {kind} nodes were left out: {}", some_of(nodes))
            }
            Self::WithoutTable { file, variables } => write!(
                f,
                "{file}: variables without a table were given equal chances: {}",
                some_of(variables)
            ),
            Self::FindingsLeftOut { file, variables } => {
                write!(f, "{file}: findings in the file were not entered: {}", some_of(variables))
            }
            Self::RowsLeftOpen { file, rows, line } => write!(
                f,
                "{file}: {rows} rows that the file leaves open, the first in line {line}, were \
                 given equal chances"
            ),
        }
    }
}

/// The first lines of `all` places.
fn some_lines(lines: &[usize], all: usize) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = if all > lines.len() && lines.len() > 1 { ", ..." } else { "" };
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    format!("{word} {}{more}", lines.join(", "))
}

/// The first few of `names`, and how many there are beyond.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
