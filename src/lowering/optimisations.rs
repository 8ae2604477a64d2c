//! The optimisations of engine `cpu`, each of which can be switched off.

use std::fmt;
use std::str::FromStr;

/// An optimisation of engine `cpu`. Switching one off changes time and memory, and results only in
/// their last bits.
///
/// What keeps numbers in range is not listed: rescaling, the maximum number of children with the
/// same separator that a clique may have, and the maximum number of factors that are multiplied
/// without rescaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimisation {
    /// Table entries that are zero whatever the evidence are left out.
    Sparsity,
    /// A separator has a table at each of its two ends. Each of these tables leaves out the entries
    /// that belong only to left-out entries of the table of the clique at that end.
    CompressedSeparators,
    /// For sparse tables of separators and of private variables, the state of each entry is listed,
    /// so that observations are entered and posteriors are read faster.
    EntryStates,
    /// The table of a clique is kept as a product of smaller tables where these are faster to read.
    FactoredTables,
    /// Variables that are in the same tables are merged into one, so that inner loops are longer.
    MergedVariables,
    /// The ends of separators have the same fastest variables where the layouts of the tables allow
    /// it, and messages are permuted by runs of entries.
    PermutedRuns,
    /// Rows of a table that a message or a finding makes zero are skipped.
    SkippedZeros,
    /// Messages that are one everywhere are not computed.
    MessagesOfOne,
    /// The vector instructions of the machine are used, not only those of every x86-64 processor.
    VectorInstructions,
    /// Large contractions are divided between threads.
    DividedContractions,
    /// Threads compute messages of different subtrees at the same time.
    ParallelSubtrees,
    /// During a propagation, threads that have nothing to do look for work for a while before they
    /// go to sleep.
    AwakeThreads,
    /// The layouts, rows, permutations and tables of a tree are made on several threads.
    ParallelPreparation,
    /// A propagation may use a junction tree of the unobserved variables.
    ReducedTrees,
    /// A second heuristic is tried if the first finds no small reduced tree.
    MoreHeuristics,
    /// The search for a reduced tree is skipped if it is expected to be in vain, and a tree that it
    /// found is used only if that is forecast to pay off.
    SearchLimits,
    /// Tables and messages of a reduced tree are used in the next one.
    ReusedCliques,
    /// Memory is reused from one reduced tree to the next, and from one contraction to the next.
    PooledMemory,
    /// Messages of the previous propagation are kept where the findings allow it.
    KeptMessages,
    /// Large messages from parents are stored, and used again while only findings below change.
    MessagesFromParents,
    /// Beliefs over variables that are d-separated from the changed findings are kept.
    DConnection,
    /// Many cases are propagated together, one in each lane of a vector register.
    BatchedCases,
    /// Small inputs of a contraction are multiplied with one another first. Small outputs are
    /// summed from a table that several of them share, not each from the whole product.
    GroupedFactors,
    /// A contraction without tables works on tiles of several variables.
    Tiles,
    /// Inputs of a contraction that do not depend on the innermost loops are multiplied outside
    /// these loops, not in each of their iterations.
    HoistedInputs,
    /// Loops over short rows of a tile are compiled with the length of the row as a constant.
    ConstantRows,
    /// In a propagation without tables, factors without observed variables are kept, in the index
    /// order of their cliques, from one propagation to the next.
    KeptFactors,
}

impl Optimisation {
    /// All optimisations.
    pub const ALL: [Self; 27] = [
        Self::Sparsity,
        Self::CompressedSeparators,
        Self::EntryStates,
        Self::FactoredTables,
        Self::MergedVariables,
        Self::PermutedRuns,
        Self::SkippedZeros,
        Self::MessagesOfOne,
        Self::VectorInstructions,
        Self::DividedContractions,
        Self::ParallelSubtrees,
        Self::AwakeThreads,
        Self::ParallelPreparation,
        Self::ReducedTrees,
        Self::MoreHeuristics,
        Self::SearchLimits,
        Self::ReusedCliques,
        Self::PooledMemory,
        Self::KeptMessages,
        Self::MessagesFromParents,
        Self::DConnection,
        Self::BatchedCases,
        Self::GroupedFactors,
        Self::Tiles,
        Self::HoistedInputs,
        Self::ConstantRows,
        Self::KeptFactors,
    ];

    /// The name on the command line, such as `merged-variables`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparsity => "sparsity",
            Self::CompressedSeparators => "compressed-separators",
            Self::EntryStates => "entry-states",
            Self::FactoredTables => "factored-tables",
            Self::MergedVariables => "merged-variables",
            Self::PermutedRuns => "permuted-runs",
            Self::SkippedZeros => "skipped-zeros",
            Self::MessagesOfOne => "messages-of-one",
            Self::VectorInstructions => "vector-instructions",
            Self::DividedContractions => "divided-contractions",
            Self::ParallelSubtrees => "parallel-subtrees",
            Self::AwakeThreads => "awake-threads",
            Self::ParallelPreparation => "parallel-preparation",
            Self::ReducedTrees => "reduced-trees",
            Self::MoreHeuristics => "more-heuristics",
            Self::SearchLimits => "search-limits",
            Self::ReusedCliques => "reused-cliques",
            Self::PooledMemory => "pooled-memory",
            Self::KeptMessages => "kept-messages",
            Self::MessagesFromParents => "messages-from-parents",
            Self::DConnection => "d-connection",
            Self::BatchedCases => "batched-cases",
            Self::GroupedFactors => "grouped-factors",
            Self::Tiles => "tiles",
            Self::HoistedInputs => "hoisted-inputs",
            Self::ConstantRows => "constant-rows",
            Self::KeptFactors => "kept-factors",
        }
    }
}

impl fmt::Display for Optimisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Optimisation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|optimisation| optimisation.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{name}' is not an optimisation; expected one of {names}")
        })
    }
}

/// The optimisations that an engine applies; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optimisations {
    /// One bit for each optimisation that is switched off.
    off: u32,
}

impl Optimisations {
    /// These optimisations with `optimisation` switched off.
    #[must_use]
    pub fn without(self, optimisation: Optimisation) -> Self {
        Self { off: self.off | 1 << optimisation as u32 }
    }

    /// Whether `optimisation` is applied.
    #[must_use]
    pub fn has(self, optimisation: Optimisation) -> bool {
        self.off >> optimisation as u32 & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_optimisation_is_switched_off_and_the_others_stay() {
        for off in Optimisation::ALL {
            assert_eq!(off.name().parse(), Ok(off));
            let others = Optimisations::default().without(off);
            for optimisation in Optimisation::ALL {
                assert_eq!(others.has(optimisation), optimisation != off);
            }
        }
        assert!("speed".parse::<Optimisation>().is_err());
    }
}
