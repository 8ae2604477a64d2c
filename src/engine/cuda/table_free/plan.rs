//! A propagation as launches of kernels, and the lists that the launches read.
//!
//! All tables are parts of one buffer: first the factors and likelihoods, then a message for each
//! separator, then *scratch* tables, whose memory each clique uses again. A message from a child is
//! replaced by the message to the child.

use std::ops::Range;

use super::planner::Planner;
use super::records::{Contraction, Reading};
use crate::lowering::{Operand, Program};
use crate::network::VariableId;
use crate::propagation::{MessageId, Phase};

/// A table in the buffer of all tables.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The position of its first entry in the buffer.
    pub first: u64,
    /// Number of entries.
    pub entries: u64,
    /// Its number among all tables of a propagation. Tables that share memory have different
    /// numbers.
    pub number: u32,
}

/// A launch of a kernel; see `kernels/table_free.cu`.
#[derive(Clone, Copy, Debug)]
pub enum Launch {
    /// A contraction in which each row, an entry of the output, is computed by a single thread.
    /// `record`: the index of its record.
    /// `varying`: number of inputs that vary in the inner run.
    Contract { record: u32, varying: u32, blocks: u32 },
    /// A contraction with one input, in which each row is computed by a block of threads of its
    /// own. `record`: the index of its record.
    SumRows { record: u32, blocks: u32 },
    /// Multiplies a table by the power of two that brings its largest entry into [1, 2).
    Rescale { table: Table },
    /// Divides the belief over a separator by the message from the child. The quotient is the
    /// message to the child, and takes the memory of the message from the child; `message` is this
    /// memory, with the number of the message to the child. `has_message`: whether the message from
    /// the child was computed; otherwise it is one everywhere.
    Divide { belief: Table, message: Table, has_message: bool },
    /// Computes `count` readings, of which the first is number `first`. A reading is the sum of
    /// some entries of a table.
    Read { first: u32, count: u32 },
}

/// The launches for a clique in one phase. There are none if the clique has nothing to compute.
#[derive(Clone, Debug)]
pub struct CliqueLaunches {
    pub phase: Phase,
    /// The message to the parent, or from it; `None` at the root.
    pub message: Option<MessageId>,
    /// Indices into [`Plan::launches`].
    pub launches: Range<usize>,
    /// Number of entries of the clique times the number of its launches of [`Launch::Contract`]: an
    /// upper bound on the products that are summed.
    pub work: u64,
}

/// What a table is computed from, and how large its entries can be before it is scaled.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The numbers of the tables that are read.
    pub inputs: Vec<u32>,
    /// Each product starts as 2 to this power, and is then multiplied by the inputs.
    pub head: i32,
    /// All sums of products are less than 2 to this power.
    pub bound: i32,
    /// Whether the table is the first input, divided by the second if there is one.
    pub is_quotient: bool,
}

/// A factor or a likelihood, restricted to the observed states. These tables are at the start of
/// the buffer, one after another.
#[derive(Clone, Debug)]
pub struct OperandTable {
    pub operand: Operand,
    /// The variables of the table in index order: those that are unobserved and have several
    /// states.
    pub variables: Vec<VariableId>,
}

/// The launches of a propagation, and the records that they read.
#[derive(Default)]
pub struct Plan {
    /// The contractions to which launches refer.
    pub records: Vec<Contraction>,
    /// For each record: where its inputs begin, where their lists of offsets begin, and the digits
    /// of the numbers of its tiles and steps. `struct Contraction` of `kernels/table_free.cu`
    /// describes these lists.
    pub numbers: Vec<u64>,
    /// Lists of offsets, to which [`numbers`](Self::numbers) refers.
    pub offsets: Vec<u32>,
    /// The sums from which the posteriors and P(e) are computed.
    pub readings: Vec<Reading>,
    /// In the order in which they are enqueued.
    pub launches: Vec<Launch>,
    /// The cliques in collect, and then those in distribute, in the order of their launches.
    pub cliques: Vec<CliqueLaunches>,
    /// The factors and likelihoods, in the order of their tables.
    pub operands: Vec<OperandTable>,
    /// Number of entries of all operands, which are at the start of the buffer.
    pub operand_entries: u64,
    /// Number of entries of the buffer.
    pub entries: u64,
    /// By number of a table. The operands come first; they have no sources.
    pub sources: Vec<Sources>,
    /// The numbers of all tables that have sources, each after its sources.
    pub computed: Vec<u32>,
    /// For each variable that is read: its readings, state after state, with equally many for each
    /// state.
    pub posteriors: Vec<(VariableId, TableReadings)>,
    /// The readings of P(e), which is the sum of the product at the root.
    pub total: TableReadings,
}

/// Readings of one table.
#[derive(Clone, Debug, Default)]
pub struct TableReadings {
    /// The indices of the readings in [`Plan::readings`].
    pub readings: Range<usize>,
    /// The number of the table.
    pub table: u32,
}

impl Plan {
    /// The plan for `program`; `None` if a contraction has more inputs, or more entries, than the
    /// kernels support.
    #[must_use]
    pub fn new(program: &Program) -> Option<Self> {
        Planner::new(program).plan()
    }

    /// Number of bytes that the buffers of this plan take on the GPU.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let lists = size_of_val(&*self.records)
            + size_of_val(&*self.numbers)
            + size_of_val(&*self.offsets)
            + size_of_val(&*self.readings);
        4 * self.entries
            + lists as u64
            + 8 * self.readings.len() as u64
            + 8 * self.sources.len() as u64
    }
}
