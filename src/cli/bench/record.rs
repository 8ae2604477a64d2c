//! The results as JSON and as tables.

use cliquescope::engine::Propagator;
use cliquescope::numbers::{human_bytes, thousands};
use cliquescope::potential::Precision;
use cliquescope::propagation::{Form, Savings};
use cliquescope::statistics::Quantiles;
use serde::Serialize;

use super::cases::DrawParameters;
use super::changes::Changes;
use super::measure::{Batch, TimingCost};
use crate::cli::info::FormRecord;
use crate::cli::output::{Align, Table};

/// One object of the JSON, or one row of a table. A failure has no row: it was already printed.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Record {
    Timed(TimedRecord),
    Batch(BatchRecord),
    Changes(ChangesRecord),
    Failed {
        network: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        engine: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        case: Option<usize>,
        error: String,
        /// Whether more memory is needed than the limit allows.
        #[serde(skip)]
        is_refusal: bool,
    },
}

/// What was run: a network, loaded into an engine.
#[derive(Clone, Serialize)]
pub struct RunInfo {
    pub network: String,
    pub engine: &'static str,
    pub precision: Precision,
    pub threads: usize,
    /// The form in which the engine holds the network, if it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// The memory that the other forms would take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_forms: Vec<FormRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawParameters>,
}

/// The times of propagations of one case.
#[derive(Serialize)]
pub struct TimedRecord {
    #[serde(flatten)]
    pub info: RunInfo,
    /// Position among the cases, counted from zero.
    pub case: usize,
    /// Time for reading the file of the network.
    pub load_ms: f64,
    /// Time for building the junction tree and loading it into the engine.
    pub compile_ms: f64,
    /// The part of `compile_ms` for loading the tree into the engine.
    pub engine_load_ms: f64,
    pub propagate_ms: Quantiles,
    /// On a GPU, time of one kernel launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_us: Option<f64>,
    /// On a GPU, time of all launches and copies of one propagation with empty kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// On a GPU, median time of a propagation minus `overhead_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_us: Option<f64>,
    /// Number of observed variables whose edges were left out when the junction tree was built.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    pub cliques: usize,
    pub total_clique_entries: u64,
    pub messages: usize,
    #[serde(flatten)]
    pub memory: Memory,
    pub savings: Savings,
    /// Whether the case was computed again because its numbers were out of the engine's range.
    pub recomputed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing_cost: Option<Box<TimingCost>>,
}

/// The times of a batch of cases.
#[derive(Serialize)]
pub struct BatchRecord {
    #[serde(flatten)]
    pub info: RunInfo,
    #[serde(flatten)]
    pub batch: Batch,
    #[serde(flatten)]
    pub memory: Memory,
}

/// The peak memory of an engine.
#[derive(Serialize)]
pub struct Memory {
    /// The peak of host and GPUs together.
    peak_bytes: u64,
    /// For an engine on a GPU, the peak on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_bytes: Option<u64>,
    /// For an engine on a GPU, the peak on GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_bytes: Option<u64>,
}

impl Memory {
    /// The peak memory of `propagator` so far.
    pub fn of(propagator: &mut dyn Propagator) -> Self {
        let peak_bytes = propagator.peak_bytes();
        let device_bytes = propagator.gpu().map(|gpu| gpu.device_bytes());
        let host_bytes = propagator.gpu().map(|gpu| gpu.host_bytes());
        Self { peak_bytes, host_bytes, device_bytes }
    }

    /// The peak as text; for an engine on a GPU also the peak on GPUs.
    fn as_text(&self) -> String {
        let peak = human_bytes(self.peak_bytes);
        match self.device_bytes {
            Some(device_bytes) => format!("{peak}, {} on the GPU", human_bytes(device_bytes)),
            None => peak,
        }
    }
}

/// The times of single changes of the evidence of one case.
#[derive(Serialize)]
pub struct ChangesRecord {
    #[serde(flatten)]
    pub info: RunInfo,
    /// Position among the cases, counted from zero.
    pub case: usize,
    #[serde(flatten)]
    pub changes: Changes,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A table for each kind of record.
pub fn as_text(records: &[Record]) -> String {
    let timed = table(
        records,
        &[
            "case",
            "load ms",
            "compile ms",
            "min ms",
            "median ms",
            "max ms",
            "timing cost",
            "cliques",
            "entries",
            "messages",
            "peak memory",
        ],
        |record| match record {
            Record::Timed(timed) => Some((&timed.info, timed.cells())),
            _ => None,
        },
    );
    let batches = table(
        records,
        &[
            "cases",
            "impossible",
            "computed again",
            "batch ms",
            "cases/s",
            "GPUs",
            "cases/s one at a time",
            "deviation",
            "peak memory",
        ],
        |record| match record {
            Record::Batch(batch) => Some((&batch.info, batch.cells())),
            _ => None,
        },
    );
    let changes = table(
        records,
        &[
            "case",
            "set",
            "retracted",
            "exchanged",
            "min ms",
            "median ms",
            "max ms",
            "slowest change",
            "entries it rebuilt",
        ],
        |record| match record {
            Record::Changes(changes) => Some((&changes.info, changes.cells())),
            _ => None,
        },
    );
    let filled = [timed, batches, changes].into_iter().flatten();
    filled.collect::<Vec<_>>().join("\n")
}

/// A table of the records of one kind, with a row for each; `None` if there are no such records.
///
/// For a record of this kind, `cells` returns what was run, and a cell for each of `headings`. For
/// any other record, it returns `None`.
fn table(
    records: &[Record],
    headings: &[&str],
    cells: impl Fn(&Record) -> Option<(&RunInfo, Vec<String>)>,
) -> Option<String> {
    const LEFT_ALIGNED: usize = 3; // network, engine and precision; all others are right-aligned
    let info_headings = ["network", "engine", "precision", "threads"];
    let columns = (0..info_headings.len() + headings.len())
        .map(|column| if column < LEFT_ALIGNED { Align::Left } else { Align::Right });
    let mut table = Table::new(columns.collect::<Vec<_>>());
    table.row(info_headings.iter().chain(headings).copied());
    let mut is_empty = true;
    for (info, cells) in records.iter().filter_map(cells) {
        is_empty = false;
        let RunInfo { network, engine, precision, threads, .. } = info;
        let info =
            [network.clone(), (*engine).to_owned(), precision.to_string(), threads.to_string()];
        table.row(info.into_iter().chain(cells));
    }
    (!is_empty).then(|| table.to_string())
}

fn ms(value: f64) -> String {
    format!("{value:.3}")
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

impl TimedRecord {
    /// A cell for each heading of the table.
    fn cells(&self) -> Vec<String> {
        vec![
            self.case.to_string(),
            format!("{:.1}", self.load_ms),
            format!("{:.1}", self.compile_ms),
            ms(self.propagate_ms.min),
            ms(self.propagate_ms.median),
            ms(self.propagate_ms.max),
            self.timing_cost.as_ref().map_or(String::new(), |cost| percent(cost.share)),
            thousands(self.cliques as u64),
            thousands(self.total_clique_entries),
            thousands(self.messages as u64),
            self.memory.as_text(),
        ]
    }
}

impl BatchRecord {
    /// A cell for each heading of the table.
    fn cells(&self) -> Vec<String> {
        let Batch {
            cases,
            impossible,
            recomputed,
            batch_ms,
            cases_per_second,
            gpus,
            one_at_a_time,
        } = &self.batch;
        vec![
            thousands(*cases as u64),
            impossible.to_string(),
            recomputed.to_string(),
            ms(batch_ms.median),
            thousands(*cases_per_second as u64),
            gpus.map_or(String::new(), |gpus| gpus.to_string()),
            thousands(one_at_a_time.cases_per_second as u64),
            format!("{:.1e}", one_at_a_time.largest_deviation),
            self.memory.as_text(),
        ]
    }
}

impl ChangesRecord {
    /// A cell for each heading of the table.
    fn cells(&self) -> Vec<String> {
        let Changes { set, retracted, exchanged, change_ms, worst } = &self.changes;
        vec![
            self.case.to_string(),
            set.to_string(),
            retracted.to_string(),
            exchanged.to_string(),
            ms(change_ms.min),
            ms(change_ms.median),
            ms(change_ms.max),
            worst.kind.name().to_owned(),
            thousands(worst.savings.entries_rebuilt),
        ]
    }
}
