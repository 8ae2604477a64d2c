//! How much memory a propagation needs, computed before anything is allocated.

use crate::graph::{CliqueId, TreeStatistics};
use crate::network::VariableId;
use crate::numbers::{counted, human_bytes, thousands};
use crate::potential::Precision;
use crate::propagation::CompiledNetwork;

/// How much memory an engine needs for a compiled network, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Name of the engine.
    pub engine: &'static str,
    /// Number type of its tables.
    pub precision: Precision,
    /// Sizes of the junction tree.
    pub tree: TreeStatistics,
    /// Bytes that the engine will allocate; saturating. If the network is
    /// [unsupported](Self::unsupported), only the bytes of the clique tables.
    pub bytes: u64,
    /// Why the engine cannot load the network, however much memory there is; `None` if it can. The
    /// text continues a sentence after "but".
    pub unsupported: Option<String>,
    /// The clique with the largest table.
    pub largest: CliqueId,
    /// Names of the variables of the largest clique, by descending number of states.
    pub largest_variables: Vec<String>,
}

impl Forecast {
    /// The forecast for the engine called `engine`, which needs `bytes` for `compiled`.
    #[must_use]
    pub fn new(
        engine: &'static str,
        precision: Precision,
        compiled: &CompiledNetwork,
        bytes: u64,
    ) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let by_size = |clique: &CliqueId| (tree[*clique].entries, std::cmp::Reverse(*clique));
        let largest = tree.clique_ids().max_by_key(by_size).expect("a tree has a clique");
        let mut variables: Vec<VariableId> = tree[largest].variables.clone();
        variables.sort_by_key(|&variable| std::cmp::Reverse(network[variable].cardinality()));
        let name = |variable: VariableId| network[variable].name().to_owned();
        Self {
            engine,
            precision,
            tree: compiled.statistics().clone(),
            bytes,
            unsupported: None,
            largest,
            largest_variables: variables.into_iter().map(name).collect(),
        }
    }

    /// The forecast for an engine that cannot load `compiled` for some `reason`, which continues a
    /// sentence after "but". The bytes of the forecast count only the clique tables.
    #[must_use]
    pub fn unsupported(
        engine: &'static str,
        precision: Precision,
        compiled: &CompiledNetwork,
        reason: String,
    ) -> Self {
        let entries = compiled.statistics().total_clique_entries;
        let bytes = entries.saturating_mul(precision.bytes());
        Self { unsupported: Some(reason), ..Self::new(engine, precision, compiled, bytes) }
    }

    /// Whether the engine can load the network within `limit`.
    #[must_use]
    pub fn fits(&self, limit: MemoryLimit) -> bool {
        self.unsupported.is_none() && self.bytes <= limit.bytes()
    }

    /// Checks that the engine can load the network within `limit`.
    ///
    /// # Errors
    /// [`TooLarge`] with this forecast if it cannot.
    pub fn check(self, limit: MemoryLimit) -> Result<(), TooLarge> {
        if self.fits(limit) { Ok(()) } else { Err(TooLarge { forecast: Box::new(self), limit }) }
    }

    /// Why the network does not fit, as a clause of the message of [`TooLarge`].
    fn reason(&self, limit: MemoryLimit) -> String {
        match &self.unsupported {
            Some(reason) => format!("but {reason}"),
            None => format!("and the limit is {}", human_bytes(limit.bytes())),
        }
    }
}

/// Maximum memory that an engine may allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct MemoryLimit(u64);

impl MemoryLimit {
    /// A limit of `bytes`.
    #[must_use]
    pub fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Half of the memory that is available now; 2 GiB if the operating system does not say.
    #[must_use]
    pub fn half_of_available() -> Self {
        sysinfo::System::new().map_or(Self(2 << 30), |mut system| {
            system.refresh_memory();
            Self(system.available_memory() / 2)
        })
    }

    /// What remains of this limit after `bytes` are allocated; at least zero.
    #[must_use]
    pub fn minus(self, bytes: u64) -> Self {
        Self(self.0.saturating_sub(bytes))
    }

    /// The limit in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// A network needs more memory than the limit, or the engine does not support it at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "too large for engine {} in {}: {} for {} with {} table entries in all, {}; \
     the largest clique has {} entries over {}",
    .forecast.engine,
    .forecast.precision,
    human_bytes(.forecast.bytes),
    counted(.forecast.tree.cliques, "clique", "cliques"),
    thousands(.forecast.tree.total_clique_entries),
    .forecast.reason(*.limit),
    thousands(.forecast.tree.max_clique_entries),
    .forecast.largest_variables.join(", ")
)]
pub struct TooLarge {
    /// How much memory would be needed.
    pub forecast: Box<Forecast>,
    /// How much is allowed.
    pub limit: MemoryLimit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_is_not_tiny() {
        assert!(MemoryLimit::half_of_available().bytes() > 1 << 20);
    }
}
