//! The junction trees that experiments run on.

use std::sync::Arc;

use super::ExperimentError;
use crate::cancel::CancelToken;
use crate::graph::{MergeLimits, Triangulation, TriangulationOptions, merge_small_separators};
use crate::network::Network;
use crate::propagation::{CompileOptions, CompiledNetwork, compile};

/// Largest separators that are merged away, entries: what experiment `merging` goes through.
pub const MERGE_THRESHOLDS: [u64; 6] = [2, 8, 32, 128, 512, 2048];

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

/// `compiled` with separators of at most `threshold` entries merged away, within
/// [the usual limits](MergeLimits::of_separators).
#[must_use]
pub fn merged(compiled: &CompiledNetwork, threshold: u64) -> Arc<CompiledNetwork> {
    let limits = MergeLimits::of_separators(threshold, compiled.tree());
    let tree = merge_small_separators(compiled.moral_graph(), compiled.tree(), limits);
    Arc::new(CompiledNetwork::with_tree(Arc::clone(compiled.network()), tree))
}

/// What a tree is called in recordings, as `weighted-min-fill` or `weighted-min-fill, merged to 64`.
pub(super) fn tree_name(triangulation: Triangulation, threshold: Option<u64>) -> String {
    let name = triangulation.name();
    threshold.map_or_else(|| name.to_owned(), |most| format!("{name}, merged to {most}"))
}
