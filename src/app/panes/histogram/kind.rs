//! The two kinds of tables of a junction tree.

use super::bins::Bin;
use crate::app::state::highlight::{Highlight, Item};
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers;

/// Which tables a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    /// The tables of the separators.
    Separators,
    /// The tables of the cliques.
    Cliques,
}

impl TableKind {
    /// The title of the histogram.
    pub fn title(self) -> &'static str {
        match self {
            Self::Separators => "Separator tables",
            Self::Cliques => "Clique tables",
        }
    }

    /// `count` with the word for these tables: `1 clique`, `2 cliques`.
    fn counted(self, count: usize) -> String {
        match self {
            Self::Separators => numbers::counted(count, "separator", "separators"),
            Self::Cliques => numbers::counted(count, "clique", "cliques"),
        }
    }

    /// All tables of `bin`, as an item that can be selected or hovered.
    pub fn item(self, bin: &Bin) -> Item {
        let members = bin.members.iter().copied();
        match self {
            Self::Separators => Item::Separators(members.map(SeparatorId::new).collect()),
            Self::Cliques => Item::Cliques(members.map(CliqueId::new).collect()),
        }
    }

    /// Number of tables of `bin` that are highlighted.
    pub fn highlighted_count(self, bin: &Bin, highlight: &Highlight) -> usize {
        let is_highlighted = |&&member: &&usize| match self {
            Self::Separators => highlight.separator(SeparatorId::new(member)),
            Self::Cliques => highlight.clique(CliqueId::new(member)),
        };
        bin.members.iter().filter(is_highlighted).count()
    }

    /// Describes the tables of `bin`, such as `26 separators with 1,000 to 1,778 entries`.
    pub fn describe(self, bin: &Bin) -> String {
        let (min, max) = (numbers::thousands(bin.min), numbers::thousands(bin.max));
        let entries = match bin.min {
            1 if bin.max == 1 => "1 entry".to_owned(),
            // The upper edge of this bin is beyond the range of `u64`; `bin_min` returns `u64::MAX`
            // for it, and `max` is one less.
            _ if bin.max == u64::MAX - 1 => format!("at least {min} entries"),
            _ if bin.min == bin.max => format!("{min} entries"),
            _ => format!("{min} to {max} entries"),
        };
        format!("{} with {entries}", self.counted(bin.members.len()))
    }
}
