//! Compresses the tables at ports: entries that no row meets are left out.
//!
//! If zeros are left out of a clique's table, its rows may meet few entries of its separators. The
//! tables at the two ends of a separator may then hold different entries.
//!
//! Ports are explained in [`tree`](crate::engine::cpu::tree), rows and the entries that they meet
//! in [`rows`](crate::engine::cpu::tree::rows), and the two regions at [`Tree`].

use std::ops::Range;

use crate::allocate;
use crate::engine::cpu::tree::entry_map::EntryMap;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::places::BeliefTable;
use crate::engine::cpu::tree::rows::ROW_HEAD;
use crate::lowering::Optimisation;

impl Tree {
    /// Leaves out the entries that no row meets, in both regions. Then lists the states of the
    /// entries that remain, if that is one of the optimisations. Call this once, after zeros were
    /// removed from the cliques' tables.
    pub fn compress(&mut self) {
        let (mut above, mut below) = (0, 0);
        for clique in 0..self.nodes.len() {
            self.compress_above(clique, &mut above);
            self.compress_below(clique, &mut below);
        }
        (self.above, self.below) = (above, below);
        for clique in 1..self.nodes.len() {
            self.compress_permutation(clique);
        }
        if self.optimisations.has(Optimisation::EntryStates) {
            self.list_states();
        }
    }

    /// Lists the states of entries where observations are entered and where posteriors are read.
    fn list_states(&mut self) {
        for place in &self.places {
            for &(clique, axis) in &place.separators {
                self.nodes[clique].above_map.list_states(axis);
            }
            match place.home {
                Some((BeliefTable::Separator(clique), axis)) => {
                    self.nodes[clique].in_parent_map.list_states(axis);
                }
                Some((BeliefTable::Private(clique), axis)) => {
                    self.nodes[clique].private_map.list_states(axis);
                }
                None => {}
            }
        }
    }

    /// Compresses the table of the separator above `clique`. The compressed table begins at `end`,
    /// which is then moved to the end of this table.
    fn compress_above(&mut self, clique: usize, end: &mut usize) {
        let node = &mut self.nodes[clique];
        if let Some(port) = node.port {
            let met = met(node, port.word, port.is_vector, 0..node.above.len());
            let map = EntryMap::new(&met);
            let length = map.position(node.above.len());
            for row in node.words.chunks_exact_mut(node.stride) {
                row[port.word] = map.position(row[port.word] as usize) as u32;
            }
            (node.full_separator, node.above_map) = (node.above.len(), map);
            node.above = *end..*end + length;
            *end = node.above.end;
        } else {
            node.above = *end..*end;
        }
    }

    /// Compresses the tables at all ports below `clique`. The compressed tables begin at `end`,
    /// which is then moved to the end of these tables.
    fn compress_below(&mut self, clique: usize, end: &mut usize) {
        let first = *end;
        let mut tables = Vec::new();
        for number in 0..self.nodes[clique].is_vector.len() {
            let node = &self.nodes[clique];
            let child = node.children.get(number).copied();
            let port = match child {
                Some(child) => self.nodes[child].in_parent.clone(),
                None => node.private.clone().expect("the last port is the private one"),
            };
            let port = port.start - node.below.start..port.end - node.below.start;
            let word = ROW_HEAD + usize::from(node.parent.is_some()) + number;
            let map = EntryMap::new(&met(node, word, node.is_vector[number], port.clone()));
            // A dummy entry at the end receives the entries of the child's message that this clique
            // does not hold.
            let dummy = usize::from(child.is_some() && map.is_compressed());
            let range = *end..*end + map.position(port.len()) + dummy;
            *end = range.end;
            tables.push(range.start - first..range.end - first);
            let node = &mut self.nodes[clique];
            for row in node.words.chunks_exact_mut(node.stride) {
                let position = map.position(row[word] as usize - port.start);
                row[word] = (position + range.start - first) as u32;
            }
            match child {
                Some(child) => {
                    let child = &mut self.nodes[child];
                    (child.in_parent, child.in_parent_map) = (range, map);
                }
                None => (node.private, node.private_map) = (Some(range), map),
            }
        }
        (self.nodes[clique].below, self.nodes[clique].tables) = (first..*end, tables);
    }

    /// Adapts the permutation of the separator above `clique` to the entries that the tables at its
    /// two ends now hold. Entries that only `clique` holds are mapped to the dummy entry of the
    /// parent's table.
    fn compress_permutation(&mut self, clique: usize) {
        let node = &mut self.nodes[clique];
        let (own, parents) = (&node.above_map, &node.in_parent_map);
        if !own.is_compressed() && !parents.is_compressed() {
            return;
        }
        let dummy = node.in_parent.len() - 1;
        let position = |entry: usize| {
            let entry = node.permutation.as_ref().map_or(entry, |order| order.position(entry));
            if parents.holds(entry) { parents.position(entry) } else { dummy }
        };
        let entries = (0..node.full_separator).filter(|&entry| own.holds(entry));
        let mut permutation: Vec<u32> = allocate::with_capacity(node.above.len());
        permutation.extend(entries.map(|entry| position(entry) as u32));
        node.allocate_permutation(Some(1));
        node.write_permutation(|memory| memory.extend(permutation));
    }
}

/// For each entry of the table at a port: whether any row meets it. `word` is the position in a row
/// of the word for this port. `port` is the range of the table, counted from the same start as the
/// offsets in these words.
fn met(node: &Node, word: usize, is_vector: bool, port: Range<usize>) -> Vec<bool> {
    let mut met = allocate::zeros::<bool>(port.len());
    for row in node.words.chunks_exact(node.stride) {
        let at = row[word] as usize - port.start;
        let length = if is_vector { row[1] as usize } else { 1 };
        met[at..at + length].fill(true);
    }
    met
}
