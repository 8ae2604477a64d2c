//! A junction tree with the positions of everything that a propagation reads and writes, but
//! without tables.

use std::cmp::Reverse;
use std::ops::Range;

use crate::allocate;
use crate::engine::cpu::context::MIN_SHARED_ENTRIES;
use crate::engine::cpu::tree::division::{Division, RowBlocks, TargetTable, met_entries};
use crate::engine::cpu::tree::entry_map::EntryMap;
use crate::engine::cpu::tree::places::{BeliefTable, VariablePlaces};
use crate::engine::cpu::tree::rows::{ParentPort, ROW_HEAD, SumWord, SumWords};
use crate::lowering::{Optimisation, Optimisations};
use crate::network::VariableId;

/// The cliques, and where the tables that they exchange lie in memory.
///
/// The tables at ports toward children and the tables of private variables form the region *below*;
/// the tables at ports toward parents form the region *above*. A separator has a table in each
/// region: below in the order of the parent, above in the order of the child.
#[derive(Debug)]
pub struct Tree {
    /// The cliques in preorder.
    pub nodes: Vec<Node>,
    /// By variable: the tables that hold it.
    pub places: Vec<VariablePlaces>,
    /// Number of entries of the region below.
    pub below: usize,
    /// Number of entries of the region above.
    pub above: usize,
    /// Number of entries of the scratch memory, in which several threads that sum a large table
    /// keep copies of the tables onto which they sum.
    pub scratch: usize,
    /// Number of entries of all messages from parents that are stored.
    pub stored: usize,
    /// The optimisations to apply in this tree.
    pub optimisations: Optimisations,
}

/// Minimum number of entries of a message from a parent that is stored for the next propagation.
/// Computing a smaller one again takes little time. With a minimum of 512, changes of Munin3 and
/// Diabetes took 1.2 times as long; compressed separators had stored messages too at that time. If
/// it is wrong, only speed and memory change.
const MIN_STORED_ENTRIES: usize = 1 << 16;

/// In [`Permutation::inverse`], marks an entry that the separator's table at the parent holds and
/// its table at the child does not.
pub const NO_ENTRY: u32 = u32::MAX;

/// Where each entry of a separator lies in the tables at its two ends, if these have the variables
/// in different orders or hold different entries.
///
/// If the fastest variables are the same at both ends, entries lie in runs that are consecutive in
/// both tables, and each table is a sequence of such runs.
#[derive(Debug)]
pub struct Permutation {
    /// Number of entries of a run; one if entries are left out of either table.
    pub run: usize,
    /// By run of the table [`above`](Node::above): the position of its first entry in the table
    /// [`in_parent`](Node::in_parent). An entry that is left out there has the position of the last
    /// entry, a dummy.
    pub starts: Box<[u32]>,
    /// The inverse, for a separator so large that threads share its messages: by run of the table
    /// [`in_parent`](Node::in_parent), the position of its first entry in the table
    /// [`above`](Node::above). An entry that only the parent's table holds has [`NO_ENTRY`].
    pub inverse: Option<Box<[u32]>>,
}

impl Permutation {
    /// The position in the parent's table of entry number `entry` of the table above.
    pub fn position(&self, entry: usize) -> usize {
        self.starts[entry / self.run] as usize + entry % self.run
    }

    /// Bytes of both lists.
    fn bytes(&self) -> usize {
        let inverse = self.inverse.as_ref().map_or(0, |inverse| size_of_val::<[u32]>(inverse));
        size_of_val::<[u32]>(&self.starts) + inverse
    }
}

/// A clique, with the ranges of its tables in memory and its rows.
#[derive(Debug, Default)]
pub struct Node {
    pub variables: Vec<VariableId>,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    /// One past the last clique of the subtree that begins with this clique.
    pub end: usize,
    /// Entries of the clique's table. For a factored table, the entries that it would have if it
    /// were multiplied out.
    pub entries: usize,
    /// The cost of a pass over the table, as a number of table entries that cost the same.
    pub work: usize,
    /// The port to the parent.
    pub port: Option<ParentPort>,
    /// The table of the separator to the parent, in the region above, in the order of this clique.
    pub above: Range<usize>,
    /// The table of the same separator in the region below, in the order of the parent.
    pub in_parent: Range<usize>,
    /// Where the entries of [`above`](Self::above) lie in [`in_parent`](Self::in_parent). `None`
    /// means that every entry has the same position in both.
    pub permutation: Option<Permutation>,
    /// The tables of the ports toward children and then of the private variables, in the region
    /// below. Offsets in rows that point into these tables count from its start.
    pub below: Range<usize>,
    /// The range of each table in [`below`](Self::below), counted from the start of `below` as the
    /// offsets in rows are.
    pub tables: Vec<Range<usize>>,
    /// The table of the private variables, in the region below; `None` if there are no private
    /// variables.
    pub private: Option<Range<usize>>,
    /// For each port toward a child, and then for the private one, whether it holds the fastest
    /// group; see [`PortLayout`](crate::engine::cpu::tree::layout::PortLayout).
    pub is_vector: Vec<bool>,
    /// Number of entries of the full table of the separator to the parent; zero unless
    /// [`compress`](Tree::compress) was called.
    pub full_separator: usize,
    /// Which entries of that full table [`above`](Self::above) holds.
    pub above_map: EntryMap,
    /// Which entries of the separator's full table [`in_parent`](Self::in_parent) holds.
    pub in_parent_map: EntryMap,
    /// Which entries the table of the private variables holds.
    pub private_map: EntryMap,
    /// Where the message from the parent is stored, in the order of this clique; empty if it is
    /// not.
    pub stored: Range<usize>,
    /// Whether the message to the parent is one everywhere if the subtree has no evidence, because
    /// every table in the subtree sums to one over a variable that is only in the subtree.
    pub message_is_one: bool,
    /// The range of scratch memory for the copies of tables on the way down.
    pub scratch: Range<usize>,
    /// The parts in which the rows are summed on the way up.
    pub parts_up: Division,
    /// The parts in which the rows are summed on the way down.
    pub parts_down: Division,
    /// By part on the way down: a range of entries of the separator above, counted from the start
    /// of [`above`](Self::above), that covers all that the rows of the part meet.
    pub met_above: Vec<Range<usize>>,
    /// The words of all rows.
    pub words: Vec<u32>,
    /// Number of words of one row.
    pub stride: usize,
}

impl Node {
    /// The position in a row of the word that points into the table of child number `child`. The
    /// number after the last child means the table of the private variables.
    pub fn word(&self, child: usize) -> u32 {
        (ROW_HEAD + usize::from(self.parent.is_some()) + child) as u32
    }

    /// The words of those ports below for which `is_wanted` is true. Ports are numbered as for
    /// [`word`](Self::word).
    pub fn sum_words(&self, is_wanted: impl Fn(usize) -> bool) -> SumWords {
        let mut words = SumWords::default();
        for (port, &is_vector) in self.is_vector.iter().enumerate() {
            if is_wanted(port) {
                words.push(SumWord { word: self.word(port), shift: 0 }, is_vector);
            }
        }
        words
    }

    /// Allocates memory for the permutation, with runs of `run` entries, and for the inverse if
    /// threads share the messages; frees it if there is no permutation. Memory of the right size is
    /// kept. The ranges of the separator's two tables must be known.
    pub fn allocate_permutation(&mut self, run: Option<usize>) {
        let resized = |memory: Option<Box<[u32]>>, runs: usize| {
            let memory = memory.filter(|memory| memory.len() == runs);
            memory.unwrap_or_else(|| allocate::zeros(runs).into())
        };
        let (entries, in_parent) = (self.above.len(), self.in_parent.len());
        let (starts, inverse) = match self.permutation.take() {
            Some(memory) => (Some(memory.starts), memory.inverse),
            None => (None, None),
        };
        self.permutation = run.map(|run| {
            let is_shared = in_parent >= MIN_SHARED_ENTRIES;
            let inverse = is_shared.then(|| resized(inverse, in_parent / run));
            Permutation { run, starts: resized(starts, entries / run), inverse }
        });
    }

    /// Sets the permutation to what `write` appends to an empty vector, one number for each run of
    /// the separator, and then the inverse. Both are written into the memory that was
    /// [allocated](Self::allocate_permutation); without it, nothing happens.
    pub fn write_permutation(&mut self, write: impl FnOnce(&mut Vec<u32>)) {
        let Some(Permutation { run, starts, inverse }) = &mut self.permutation else { return };
        let mut written = std::mem::take(starts).into_vec();
        written.clear();
        write(&mut written);
        if let Some(inverse) = inverse {
            inverse.fill(NO_ENTRY);
            // Division is slow, and most permutations have runs of one entry.
            let run_at = |at: u32| if *run == 1 { at as usize } else { at as usize / *run };
            for (from, &to) in (0..).step_by(*run).zip(&written) {
                inverse[run_at(to)] = from;
            }
        }
        *starts = written.into();
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.words.len() / self.stride
    }

    /// Divides the rows of a large table into parts, for both directions, if that is one of the
    /// `optimisations`. The rows are in [blocks](RowBlocks) of `rows_per_block`. On the way up, no
    /// tables are copied: the layout makes sure that most separators to parents can be divided. On
    /// the way down, a part has at least `per_copied` times as many entries as its copies.
    pub fn divide_rows(
        &mut self,
        optimisations: Optimisations,
        rows_per_block: usize,
        per_copied: usize,
    ) {
        if !optimisations.has(Optimisation::DividedContractions) {
            return;
        }
        let above = self.port.map(|port| TargetTable {
            word: port.word,
            range: 0..self.above.len(),
            is_vector: port.is_vector,
        });
        let blocks = RowBlocks { words: &self.words, stride: self.stride, rows: rows_per_block };
        let divide = |tables: &[TargetTable], per_copied| {
            Division::new(blocks, tables, self.entries, per_copied)
        };
        let parts_up = above.map(|table| divide(&[table], None)).unwrap_or_default();
        let below = self.tables.iter().zip(&self.is_vector).enumerate();
        let below = below.map(|(number, (range, &is_vector))| TargetTable {
            word: self.word(number) as usize,
            range: range.clone(),
            is_vector,
        });
        let parts_down = divide(&below.collect::<Vec<_>>(), Some(per_copied));
        let met_above = |rows: &Range<usize>| self.met_above_by(blocks.part(rows));
        self.met_above = parts_down.parts.iter().map(met_above).collect();
        (self.parts_up, self.parts_down) = (parts_up, parts_down);
    }

    /// The shortest range that covers the entries of the separator above that the rows of `blocks`
    /// meet. The variables of the separator are the slowest, so this range is short.
    fn met_above_by(&self, blocks: RowBlocks<'_>) -> Range<usize> {
        let Some(port) = self.port else { return 0..0 };
        let met = blocks.ends().map(|(first, last)| {
            let end = last[port.word] + met_entries(last, port.is_vector);
            first[port.word] as usize..end as usize
        });
        met.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// Whether no two parts of the rows on the way down meet the same entry of the separator above,
    /// so that each part can write its own entries of the message from the parent.
    fn parts_meet_above_once(&self) -> bool {
        let mut end = 0;
        let mut met = self.met_above.iter();
        let are_consecutive = met.all(|met| std::mem::replace(&mut end, met.end) == met.start);
        self.met_above.is_empty() || (are_consecutive && end == self.above.len())
    }

    /// Bytes of the rows, the permutations and the maps.
    fn bytes(&self) -> usize {
        size_of_val::<[u32]>(&self.words)
            + self.permutation.as_ref().map_or(0, Permutation::bytes)
            + self.above_map.bytes()
            + self.in_parent_map.bytes()
            + self.private_map.bytes()
    }
}

impl Tree {
    /// `clique` and its ancestors without the root, from the bottom up.
    pub fn path_to_root(&self, clique: usize) -> impl Iterator<Item = usize> {
        let parent = |&clique: &usize| self.nodes[clique].parent;
        std::iter::successors(Some(clique), parent).filter(|&clique| clique > 0)
    }

    /// The range of `table` in the region below, and which entries it holds.
    pub fn beliefs(&self, table: BeliefTable) -> (Range<usize>, &EntryMap) {
        match table {
            BeliefTable::Separator(clique) => {
                let node = &self.nodes[clique];
                (node.in_parent.clone(), &node.in_parent_map)
            }
            BeliefTable::Private(clique) => {
                let node = &self.nodes[clique];
                (node.private.clone().expect("the clique has private variables"), &node.private_map)
            }
        }
    }

    /// Number of entries of the table in which the posterior of `variable` is read; zero if the
    /// variable was removed from the tree.
    pub fn belief_entries(&self, variable: VariableId) -> usize {
        let home = self.places[variable.index()].home;
        home.map_or(0, |(table, _)| self.beliefs(table).0.len())
    }

    /// Computes what follows from the tables and rows: the cost of each clique, the range of its
    /// scratch memory and the end of its subtree. Call this whenever tables or rows have changed.
    pub fn update_derived(&mut self) {
        self.scratch = 0;
        for node in &mut self.nodes {
            let copied = node.parts_down.copied_entries(&node.tables);
            let copies = node.parts_down.parts.len() * copied;
            node.scratch = self.scratch..self.scratch + copies;
            self.scratch = node.scratch.end;
            node.work = node.entries + node.words.len() + node.above.len();
        }
        for clique in (0..self.nodes.len()).rev() {
            let last = self.nodes[clique].children.last();
            self.nodes[clique].end = last.map_or(clique + 1, |&last| self.nodes[last].end);
        }
    }

    /// Chooses the messages from parents that are stored for the next propagation, the largest
    /// first. Together they have at most `max_entries` entries. Call this once the tables are
    /// final.
    ///
    /// While a stored message is used, the parent does not compute its belief over the separator.
    /// So no posterior may be read from this belief, and a root must have another table, which
    /// gives P(e). One is enough: the changed findings are below at most one child, so if the
    /// beliefs of the root change, at most one child uses a stored message.
    pub fn store_messages(&mut self, max_entries: usize) {
        if !self.optimisations.has(Optimisation::MessagesFromParents) {
            return;
        }
        let mut is_read = vec![false; self.nodes.len()];
        for (table, _) in self.places.iter().filter_map(|place| place.home) {
            if let BeliefTable::Separator(clique) = table {
                is_read[clique] = true;
            }
        }
        let has_other_table = self.nodes[0].tables.len() > 1;
        let can_store = |&clique: &usize| {
            let node = &self.nodes[clique];
            node.above.len() >= MIN_STORED_ENTRIES
                && !node.tables.is_empty()
                && !is_read[clique]
                && (node.parent != Some(0) || has_other_table)
                && node.parts_meet_above_once()
                // A message is zero at entries that the parent's table does not hold.
                && !node.in_parent_map.is_compressed()
        };
        let mut chosen: Vec<usize> = (0..self.nodes.len()).filter(can_store).collect();
        chosen.sort_by_key(|&clique| Reverse(self.nodes[clique].above.len()));
        let mut left = max_entries;
        for clique in chosen {
            let node = &mut self.nodes[clique];
            if let Some(after) = left.checked_sub(node.above.len()) {
                (node.stored, left) = (0..node.above.len(), after);
            }
        }
        for node in &mut self.nodes {
            node.stored = self.stored..self.stored + node.stored.len();
            self.stored = node.stored.end;
        }
    }

    /// Bytes of all messages from parents that are stored.
    pub fn stored_bytes(&self) -> usize {
        self.stored * size_of::<f64>()
    }

    /// Total entries of the tables of all cliques.
    pub fn entries(&self) -> usize {
        self.nodes.iter().map(|node| node.entries).sum()
    }

    /// Bytes of the rows, permutations and maps of all cliques.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(Node::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_meet_all_entries_of_the_separator_between_their_first_and_last() {
        // Rows of two entries, in blocks of two rows; the third word of each points into the table
        // of the separator above.
        let words = [0, 2, 5, 2, 2, 7, 4, 2, 3, 6, 2, 9, 8, 2, 1];
        let blocks = RowBlocks { words: &words, stride: 3, rows: 2 };
        let met_by = |is_vector, rows| {
            let port = Some(ParentPort { word: ROW_HEAD, is_vector });
            Node { port, ..Node::default() }.met_above_by(blocks.part(&rows))
        };
        assert_eq!(met_by(false, 0..4), 3..10);
        assert_eq!(met_by(true, 0..4), 3..11);
        assert_eq!(met_by(true, 0..2), 5..9);
        assert_eq!(met_by(true, 4..5), 1..3);
        assert_eq!(Node::default().met_above_by(blocks), 0..0, "the root");
    }
}
