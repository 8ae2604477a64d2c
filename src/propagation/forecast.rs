//! How much memory a propagation needs, computed before anything is allocated.

use std::fmt;
use std::str::FromStr;

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
    /// Minimum memory with which the engine can load the network, in bytes; saturating. If the
    /// network is [unsupported](Self::unsupported), this counts only the clique tables.
    pub bytes: u64,
    /// How many of these bytes are on a GPU at most.
    pub device_bytes: u64,
    /// The forms in which the engine can hold the network; empty if the engine has only one form or
    /// does not support the network. [`fastest_form`](Self::fastest_form) chooses among them.
    pub forms: Vec<FormForecast>,
    /// Why the engine cannot load the network, however much memory there is; `None` if it can. The
    /// text continues a sentence after "and".
    pub unsupported: Option<String>,
    /// Number of [observed](CompiledNetwork::observed) variables, whose edges were left out when
    /// the network was compiled.
    pub observed: usize,
    /// The clique with the largest table.
    pub largest: CliqueId,
    /// Names of the variables of the largest clique, by descending number of states.
    pub largest_variables: Vec<String>,
}

impl Forecast {
    /// What the program takes in addition to the forecast of engine `cpu` while it answers a query,
    /// in bytes: its code, the answer, [what is not counted](CompiledNetwork::structure_bytes) of
    /// the network and its tree, and what the allocator keeps. Small networks take less: a query of
    /// Asia takes 14 MiB. Only tests use this constant: tests/peak_memory.rs adds it to forecasts
    /// and compares the sum with the memory that a query takes.
    pub const PROCESS_BYTES: u64 = 20 << 20;

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
            device_bytes: 0,
            forms: Vec::new(),
            unsupported: None,
            observed: compiled.observed().len(),
            largest,
            largest_variables: variables.into_iter().map(name).collect(),
        }
    }

    /// The forecast for an engine that cannot load `compiled` for some `reason`, which continues a
    /// sentence after "and". The bytes of the forecast count only the clique tables.
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

    /// This forecast for an engine that can hold the network in any of these `forms`.
    ///
    /// # Panics
    /// If there is no form.
    #[must_use]
    pub fn with_forms(self, forms: Vec<FormForecast>) -> Self {
        let smallest = forms.iter().min_by_key(|form| form.bytes).expect("an engine has a form");
        let FormForecast { bytes, device_bytes, .. } = *smallest;
        Self { bytes, device_bytes, forms, ..self }
    }

    /// Of the forms that fit into `limit`, the one that is forecast to take the least time for
    /// loading and for `runs` propagations; `None` if none fits, or if there are no
    /// [`forms`](Self::forms).
    #[must_use]
    pub fn fastest_form(&self, limit: MemoryLimit, runs: u32) -> Option<FormForecast> {
        let fitting = self.forms.iter().filter(|form| form.bytes <= limit.bytes());
        fitting.min_by(|a, b| a.total_ns(runs).total_cmp(&b.total_ns(runs))).copied()
    }

    /// The [`forms`](Self::forms) other than `form`.
    pub fn other_forms(&self, form: Option<Form>) -> impl Iterator<Item = FormForecast> {
        self.forms.iter().copied().filter(move |other| Some(other.form) != form)
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

    /// Says that the network does not fit in spite of the evidence, as part of the message of
    /// [`TooLarge`]; empty if no evidence was taken into account, or if the engine does not support
    /// the network.
    fn in_spite_of_evidence(&self) -> &'static str {
        let is_refused_for_size = self.observed > 0 && self.unsupported.is_none();
        if is_refused_for_size { " even given the evidence" } else { "" }
    }

    /// Why the network does not fit, as a clause of the message of [`TooLarge`].
    fn reason(&self, limit: MemoryLimit) -> String {
        match &self.unsupported {
            Some(reason) => format!("and {reason}"),
            None => format!("and the limit is {}", human_bytes(limit.bytes())),
        }
    }
}

/// A form in which an engine holds a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Every clique has a table, or a few factors in its place. Results can be reused between runs.
    Tables,
    /// No clique has a table: products of factors and messages are computed where they are needed.
    TableFree,
}

impl Form {
    /// The form in a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::TableFree => "table-free",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = [Self::Tables, Self::TableFree].into_iter().find(|form| form.name() == name);
        found.ok_or_else(|| format!("'{name}' is not a form; expected tables or table-free"))
    }
}

/// The memory and time that a form needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormForecast {
    /// The form.
    pub form: Form,
    /// Bytes that the engine will allocate; saturating.
    pub bytes: u64,
    /// How many of these bytes are on a GPU at most.
    pub device_bytes: u64,
    /// Forecast time of loading in nanoseconds, on one thread of the CPU or on the GPU.
    pub load_ns: f64,
    /// Forecast time of a propagation without evidence in nanoseconds, on one thread of the CPU or
    /// on the GPU.
    pub run_ns: f64,
}

impl FormForecast {
    /// Forecast time of loading and of `runs` propagations in nanoseconds.
    #[must_use]
    pub fn total_ns(&self, runs: u32) -> f64 {
        self.load_ns + f64::from(runs) * self.run_ns
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

/// A network needs more memory than the limit, or the engine does not support the network at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "too large for engine {} in {}{}: {} for {} with {} table entries in all, {}; \
     the largest clique has {} entries over {}",
    .forecast.engine,
    .forecast.precision,
    .forecast.in_spite_of_evidence(),
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
