//! The junction trees that experiments run on.

use std::sync::Arc;

use super::{ExperimentError, MessageSizes, Progress, Setup, Subject};
use crate::cancel::{CancelToken, Cancelled};
use crate::graph::{
    MergeLimits, Triangulation, TriangulationError, TriangulationOptions, merge_small_separators,
};
use crate::network::Network;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, compile};

/// The limits that experiment `merging` tries, in entries: separators of at most this size are
/// merged away.
pub const MERGE_THRESHOLDS: [u64; 5] = [2, 8, 32, 128, 512];

/// Which small separators are merged away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// Small separators are removed until no further one fits the size limits; separators whose
    /// removal adds fewer entries go first.
    All,
    /// Within the same size limits, only separators whose removal saves time by equation 6 of the
    /// paper are removed, where a message costs as much as [`MESSAGE_ENTRIES`] entries; separators
    /// that save more go first.
    Paying,
}

/// Cost of a message in entries: the time of a kernel launch divided by the time in which a thread
/// of engine `gpu-paper` reads an entry, rounded up to a round number. On an NVIDIA H200,
/// experiment `model` reports a launch of 2.9 µs and 0.36 µs per entry, a quotient of about 8. A
/// larger value makes [`MergeRule::Paying`] merge more.
pub const MESSAGE_ENTRIES: f64 = 10.0;

/// Compiles `network` with the tree that `triangulation` makes within `memory`.
///
/// # Errors
/// If the triangulation needs more memory, or once `cancel` is set.
pub(super) fn compile_tree(
    network: &Arc<Network>,
    triangulation: Triangulation,
    memory: MemoryLimit,
    cancel: &CancelToken,
) -> Result<Arc<CompiledNetwork>, ExperimentError> {
    let triangulation = TriangulationOptions {
        method: triangulation,
        max_bytes: memory.bytes(),
        ..Default::default()
    };
    let options = CompileOptions { triangulation, ..CompileOptions::default() };
    match compile(Arc::clone(network), &options, cancel) {
        Ok(compiled) => Ok(Arc::new(compiled)),
        Err(TriangulationError::Cancelled(cancelled)) => Err(cancelled.into()),
        Err(TriangulationError::TooLarge(refusal)) => Err(refusal.into()),
    }
}

/// `compiled` with separators of at most `threshold` entries merged away by `rule`, within
/// [the usual limits](MergeLimits::of_separators).
///
/// # Errors
/// Once `cancel` is set.
pub fn merged(
    compiled: &CompiledNetwork,
    threshold: u64,
    rule: MergeRule,
    cancel: &CancelToken,
) -> Result<Arc<CompiledNetwork>, Cancelled> {
    let message = (rule == MergeRule::Paying).then_some(MESSAGE_ENTRIES);
    let limits = MergeLimits::of_separators(threshold, message, compiled.tree());
    let tree = merge_small_separators(compiled.moral_graph(), compiled.tree(), limits, cancel)?;
    Ok(Arc::new(compiled.with_other_tree(tree)))
}

/// A network with a junction tree.
pub(super) struct NamedTree {
    /// Name of the network.
    pub name: String,
    /// Name of the tree in recordings.
    pub label: String,
    pub compiled: Arc<CompiledNetwork>,
}

impl NamedTree {
    /// The networks of `setup`, each with the tree that `triangulation` makes.
    ///
    /// # Errors
    /// If a triangulation needs too much memory, or once the experiment is cancelled.
    pub fn all(
        setup: &Setup,
        triangulation: Triangulation,
        progress: &Progress,
    ) -> Result<Vec<Self>, ExperimentError> {
        let compile = |subject: &Subject| {
            let (memory, cancel) = (setup.memory, progress.cancel_token());
            Ok(Self {
                name: subject.name.clone(),
                label: tree_name(triangulation, None),
                compiled: compile_tree(&subject.network, triangulation, memory, cancel)?,
            })
        };
        setup.networks.iter().map(compile).collect()
    }

    /// The same network with [`merged`] cliques. `triangulation` is the one that made this tree; it
    /// becomes a part of the label.
    ///
    /// # Errors
    /// Once `cancel` is set.
    pub fn merged(
        &self,
        triangulation: Triangulation,
        threshold: u64,
        rule: MergeRule,
        cancel: &CancelToken,
    ) -> Result<Self, Cancelled> {
        Ok(Self {
            name: self.name.clone(),
            label: tree_name(triangulation, Some((threshold, rule))),
            compiled: merged(&self.compiled, threshold, rule, cancel)?,
        })
    }

    /// The table sizes of all messages of the plan.
    pub fn messages(&self) -> Vec<MessageSizes> {
        MessageSizes::of(self.compiled.tree(), self.compiled.plan())
    }

    /// Approximate work of loading the network and propagating it `repeat` times, in entries, for
    /// [`Progress::expect`].
    pub fn weight(&self, repeat: u32) -> f64 {
        /// Fixed work of a clique in a propagation, in entries. A rough value: it affects only the
        /// progress bar.
        const CLIQUE: f64 = 500.0;
        /// Work of loading, in propagations. A rough value too.
        const LOADING: f64 = 6.0;
        let statistics = self.compiled.statistics();
        let entries = statistics.total_clique_entries as f64 + CLIQUE * statistics.cliques as f64;
        entries * (f64::from(repeat) + LOADING)
    }
}

/// Name of a tree in recordings, such as `weighted-min-fill` or `weighted-min-fill, merged to 32`.
pub(super) fn tree_name(triangulation: Triangulation, merged: Option<(u64, MergeRule)>) -> String {
    let name = triangulation.name();
    match merged {
        None => name.to_owned(),
        Some((threshold, MergeRule::All)) => format!("{name}, merged to {threshold}"),
        Some((threshold, MergeRule::Paying)) => {
            format!("{name}, merged to {threshold} where it pays")
        }
    }
}
