//! The junction trees that experiments run on.

use std::sync::Arc;

use super::{ExperimentError, MessageSizes, Progress, Setup, Subject};
use crate::cancel::CancelToken;
use crate::graph::{MergeLimits, Triangulation, TriangulationOptions, merge_small_separators};
use crate::network::Network;
use crate::propagation::{CompileOptions, CompiledNetwork, compile};

/// Largest separators that are merged away, entries: what experiment `merging` goes through.
pub const MERGE_THRESHOLDS: [u64; 5] = [2, 8, 32, 128, 512];

/// Compiles `network` with what `triangulation` makes of it, searching for no longer than ever.
pub(super) fn tree(
    network: &Arc<Network>,
    triangulation: Triangulation,
    cancel: &CancelToken,
) -> Result<Arc<CompiledNetwork>, ExperimentError> {
    let triangulation = TriangulationOptions { method: triangulation, ..Default::default() };
    let options = CompileOptions { triangulation };
    Ok(Arc::new(compile(Arc::clone(network), &options, cancel)?))
}

/// Which small separators are merged away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// All that the sizes allow, those first that add fewest entries.
    All,
    /// Those of which equation 6 says that it pays, those first that save most, for a message that
    /// costs as much as [`MESSAGE_ENTRIES`].
    Paying,
}

/// What launching a kernel costs, in entries that a thread of engine `gpu-paper` goes through: 2.6
/// over 0.28 microseconds as experiment `model` finds them on an NVIDIA H200.
pub const MESSAGE_ENTRIES: f64 = 10.0;

/// `compiled` with separators of at most `threshold` entries merged away by `rule`, within
/// [the usual limits](MergeLimits::of_separators).
#[must_use]
pub fn merged(compiled: &CompiledNetwork, threshold: u64, rule: MergeRule) -> Arc<CompiledNetwork> {
    let message = (rule == MergeRule::Paying).then_some(MESSAGE_ENTRIES);
    let limits = MergeLimits::of_separators(threshold, message, compiled.tree());
    let tree = merge_small_separators(compiled.moral_graph(), compiled.tree(), limits);
    Arc::new(CompiledNetwork::with_tree(Arc::clone(compiled.network()), tree))
}

/// A network with a junction tree.
pub(super) struct Tree {
    /// The network's name.
    pub name: String,
    /// What the tree is called in recordings.
    pub label: String,
    pub compiled: Arc<CompiledNetwork>,
}

impl Tree {
    /// The networks of `setup`, each with the tree that `triangulation` makes.
    pub fn all(
        setup: &Setup,
        triangulation: Triangulation,
        progress: &Progress,
    ) -> Result<Vec<Self>, ExperimentError> {
        let of_subject = |subject: &Subject| {
            Ok(Self {
                name: subject.name.clone(),
                label: tree_name(triangulation, None),
                compiled: tree(&subject.network, triangulation, progress.cancel_token())?,
            })
        };
        setup.networks.iter().map(of_subject).collect()
    }

    /// The same network with [`merged`] cliques.
    pub fn merged(&self, triangulation: Triangulation, threshold: u64, rule: MergeRule) -> Self {
        Self {
            name: self.name.clone(),
            label: tree_name(triangulation, Some((threshold, rule))),
            compiled: merged(&self.compiled, threshold, rule),
        }
    }

    /// Table sizes of the messages.
    pub fn messages(&self) -> Vec<MessageSizes> {
        MessageSizes::of(self.compiled.tree(), self.compiled.plan())
    }

    /// About how much work it is to load it and propagate so many times.
    pub fn weight(&self, repeat: u32) -> f64 {
        let statistics = self.compiled.statistics();
        // A message is worth some entries, and loading some propagations.
        let entries = statistics.total_clique_entries as f64 + 500.0 * statistics.cliques as f64;
        entries * (f64::from(repeat) + 6.0)
    }
}

/// What a tree is called in recordings, as `weighted-min-fill` or `weighted-min-fill, merged to 64`.
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
