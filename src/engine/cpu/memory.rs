//! Forecast of the memory that a tree takes.

use crate::engine::cpu::pass::kernel::ROW_HEAD;
use crate::engine::cpu::tables::multiply::AT_ONCE;
use crate::engine::cpu::tables::sparsity::GAP;
use crate::engine::cpu::tree::nodes::parts;
use crate::engine::cpu::tree::structure::Structure;

impl Structure {
    /// Bytes of full tables of numbers of `width` bytes, and bytes beside them: what describes them,
    /// what one propagation takes, and what making them takes, and leaving out zeros if that is done.
    pub fn bytes(&self, width: usize, compacts: bool) -> (usize, usize) {
        let (mut held, mut values, mut making, mut compacting) = (0, 0, 0, 0);
        for (clique, layout) in self.layouts.iter().enumerate() {
            let entries = layout.entries();
            let rows = layout.rows();
            let words = rows * (ROW_HEAD + layout.ports.len());
            let ports = layout.ports.iter().map(|port| port.scope.entries());
            let above = if self.shape.parents[clique].is_some() { 32 } else { 0 };
            let below = layout.ports.len() - usize::from(above > 0);
            let tables = ports.clone().take(layout.ports.len() - below).sum::<usize>() * above
                + ports.skip(layout.ports.len() - below).sum::<usize>() * 24;
            values += entries * width;
            held += words * 4 + tables;
            let ports = layout.ports.iter().map(|port| port.scope.entries());
            let tables: usize = ports.skip(layout.ports.len() - below).sum();
            held += (parts(entries, tables) - 1) * tables * 8;
            let compacted = (rows + entries / GAP) * (ROW_HEAD + layout.ports.len()) * 4;
            if compacts {
                compacting = compacting.max(entries * width + compacted);
            }
            if self.shape.families[clique].len() > AT_ONCE {
                making += entries * 8;
            }
        }
        (values, held + making.max(compacting))
    }
}
