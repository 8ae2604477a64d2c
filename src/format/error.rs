//! Errors of reading and opening files, and warnings about corrections.

use crate::format::Format;

/// A mistake in a file, with its line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct FormatError {
    /// The file name, as the user gave it.
    pub file: String,
    /// Line, counted from one.
    pub line: usize,
    /// Column in characters, counted from one.
    pub column: usize,
    /// What is wrong and, in most cases, what was expected.
    pub message: String,
}

/// An error while opening a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why: the message of the operating system or the decompressor, or that it is a folder, a
        /// pipe or a device.
        reason: String,
    },
    /// There is neither a file nor a sample with this name.
    #[error(
        "there is no file and no sample named '{0}'; the samples are {samples}",
        samples = sample_names()
    )]
    NotFound(String),
    /// The file is too large.
    #[error("{file}: larger than the maximum of {limit} bytes{}",
        if *.unpacked { " when unpacked" } else { "" })]
    TooLarge {
        /// The file.
        file: String,
        /// The maximum size in bytes.
        limit: u64,
        /// Whether the unpacked content of a gzip file is too large, rather than the file itself.
        unpacked: bool,
    },
    /// The format of the file is unknown.
    #[error("{file}: unknown format: {found}; the known formats are {}", format_names())]
    UnknownFormat {
        /// The file.
        file: String,
        /// How the content begins, as a clause for the message.
        found: String,
    },
    /// The format is known, but the file has a mistake.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// The names of all samples, separated by commas.
fn sample_names() -> String {
    crate::format::SAMPLES.iter().map(|sample| sample.name).collect::<Vec<_>>().join(", ")
}

/// The names of all formats, separated by commas.
fn format_names() -> String {
    Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// Maximum number of lines that a warning lists. It only limits the length of its message.
pub(super) const SHOWN_LINES: usize = 6;

/// A correction made while reading that the user should know about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Rows did not sum to one, and were divided by their sum.
    RowsNormalised {
        /// The file name, as the user gave it.
        file: String,
        /// The number of rows whose sum differed from one by more than
        /// [`ROUNDING_TOLERANCE`](crate::network::ROUNDING_TOLERANCE), after a table in percent was
        /// divided by 100.
        off: usize,
        /// The number of rows that the file gives as numbers or, in NET, as expressions. Rows of
        /// zeros do not count.
        rows: usize,
        /// The largest deviation of a sum from one.
        worst: f64,
        /// The line of the row with the largest deviation, counted from one. Some readers know only
        /// where a table is; this is then the line of the table.
        line: usize,
        /// The first lines with rows that were off, counted from one; at most six. As with `line`,
        /// some readers give the lines of tables instead.
        lines: Vec<usize>,
        /// Whether there are more such lines.
        more_lines: bool,
    },
    /// The content of the file is in a format other than the one that its extension indicates.
    UnexpectedFormat {
        /// The file name, as the user gave it.
        file: String,
        /// The format that belongs to the extension.
        extension: Format,
        /// The format of the content, in which the file was read.
        found: Format,
    },
    /// Decision nodes were read as chance variables with a uniform distribution.
    DecisionsAsChance {
        /// The file name, as the user gave it.
        file: String,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Nodes of a kind that a Bayesian network does not have were left out.
    NodesLeftOut {
        /// The file name, as the user gave it.
        file: String,
        /// The kind of these nodes: `utility`, `function`, `constant` or `disconnected`.
        kind: &'static str,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// Variables for which the file has no table were given a uniform distribution.
    TablesMissing {
        /// The file name, as the user gave it.
        file: String,
        /// The variables.
        variables: Vec<String>,
    },
    /// The file contains findings. They are not part of the network and were ignored.
    FindingsIgnored {
        /// The file name, as the user gave it.
        file: String,
        /// The variables with findings.
        variables: Vec<String>,
    },
    /// Tables in percent were divided by 100, or tables of counts by the sums of their rows.
    TablesRescaled {
        /// The file name, as the user gave it.
        file: String,
        /// Whether the tables are in percent; otherwise they hold counts.
        percent: bool,
        /// The nodes with these tables.
        nodes: Vec<String>,
        /// The first lines with such tables, counted from one; at most six.
        lines: Vec<usize>,
        /// Whether there are more such lines.
        more_lines: bool,
    },
    /// Rows of zeros were given a uniform distribution, because the parents cannot be in the states
    /// of these rows together.
    ZeroRows {
        /// The file name, as the user gave it.
        file: String,
        /// The number of such rows.
        rows: usize,
        /// The line of the first such row, counted from one.
        line: usize,
    },
    /// Tables were estimated: their expressions were evaluated at points in the intervals of the
    /// parents.
    TablesEstimated {
        /// The file name, as the user gave it.
        file: String,
        /// The nodes with these tables.
        nodes: Vec<String>,
    },
    /// Rows that the file leaves undefined on purpose were given a uniform distribution.
    RowsUndefined {
        /// The file name, as the user gave it.
        file: String,
        /// The number of such rows.
        rows: usize,
        /// The line of the first such row, counted from one.
        line: usize,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RowsNormalised { file, off, rows, worst, line, lines, more_lines } => write!(
                f,
                "{file}: rows that did not sum to 1 were normalised: {off} of {rows} ({}); the \
                 worst, on line {line}, was off by {worst:.2e}",
                list_lines(lines, *more_lines)
            ),
            Self::TablesRescaled { file, percent, nodes, lines, more_lines } => write!(
                f,
                "{file}: tables {}: {} ({})",
                if *percent {
                    "in percent were divided by 100"
                } else {
                    "of counts were divided by the sums of their rows"
                },
                list_names(nodes),
                list_lines(lines, *more_lines)
            ),
            Self::TablesEstimated { file, nodes } => write!(
                f,
                "{file}: tables were estimated from points in the intervals of their parents: {}",
                list_names(nodes)
            ),
            Self::ZeroRows { file, rows, line } => write!(
                f,
                "{file}: rows of zeros were made uniform, because the parents cannot be in these \
                 states together: {rows}, the first on line {line}"
            ),
            Self::UnexpectedFormat { file, extension, found } => write!(
                f,
                "{file}: the extension says {}, but the content is {found} and was read as {found}",
                extension.name(),
                found = found.name()
            ),
            Self::DecisionsAsChance { file, nodes } => write!(
                f,
                "{file}: decision nodes were read as chance variables with uniform distributions: \
                 {}",
                list_names(nodes)
            ),
            Self::NodesLeftOut { file, kind, nodes } => {
                write!(f, "{file}: {kind} nodes were left out: {}", list_names(nodes))
            }
            Self::TablesMissing { file, variables } => write!(
                f,
                "{file}: variables without a table were given uniform distributions: {}",
                list_names(variables)
            ),
            Self::FindingsIgnored { file, variables } => {
                write!(f, "{file}: findings in the file were ignored: {}", list_names(variables))
            }
            Self::RowsUndefined { file, rows, line } => write!(
                f,
                "{file}: undefined rows were made uniform: {rows}, the first on line {line}"
            ),
        }
    }
}

/// Formats `lines` as `line 3` or `lines 3, 5`, and `are_more` as `, ...`.
fn list_lines(lines: &[usize], are_more: bool) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = if are_more { ", ..." } else { "" };
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    format!("{word} {}{more}", lines.join(", "))
}

/// The first of `names`, separated by commas, and how many more there are.
fn list_names(names: &[String]) -> String {
    /// Maximum number of names that a warning lists. It only limits the length of the warning.
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
