//! What is told of what was timed.

use cliquescope::numbers::thousands;
use cliquescope::potential::Precision;
use cliquescope::propagation::{Savings, human_bytes};
use cliquescope::statistics::Quantiles;
use serde::Serialize;

use super::cases::Drawn;
use super::changes::Changes;
use super::measure::{Batch, TimingCost};
use crate::cli::output::{Align, Table};

/// One line of the result.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Record {
    Timed(Timed),
    Batch(Batched),
    Changes(Changed),
    Failed {
        network: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        engine: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        case: Option<usize>,
        error: String,
    },
}

/// A network that was loaded into an engine.
#[derive(Clone, Serialize)]
pub struct Loaded {
    pub network: String,
    pub engine: &'static str,
    pub precision: Precision,
    pub threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
}

#[derive(Serialize)]
pub struct Timed {
    #[serde(flatten)]
    pub loaded: Loaded,
    /// Position of the case in the evidence file, counted from zero.
    pub case: usize,
    pub load_ms: f64,
    pub compile_ms: f64,
    pub propagate_ms: Quantiles,
    /// What one launch costs, what all of them cost, and the median without that; for engines that
    /// launch kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_us: Option<f64>,
    pub cliques: usize,
    pub total_clique_entries: u64,
    pub messages: usize,
    pub peak_bytes: u64,
    pub savings: Savings,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing_cost: Option<Box<TimingCost>>,
}

#[derive(Serialize)]
pub struct Batched {
    #[serde(flatten)]
    pub loaded: Loaded,
    #[serde(flatten)]
    pub batch: Batch,
    pub peak_bytes: u64,
}

#[derive(Serialize)]
pub struct Changed {
    #[serde(flatten)]
    pub loaded: Loaded,
    pub case: usize,
    #[serde(flatten)]
    pub changes: Changes,
}

/// A table of the records of each kind.
pub fn in_words(records: &[Record]) -> String {
    let timed = table(
        records,
        &[
            "case",
            "load ms",
            "compile ms",
            "min ms",
            "median ms",
            "max ms",
            "timing",
            "cliques",
            "entries",
            "messages",
            "peak",
        ],
        |record| match record {
            Record::Timed(timed) => Some((&timed.loaded, timed.cells())),
            _ => None,
        },
    );
    let batches = table(
        records,
        &["cases", "impossible", "batch ms", "cases/s", "one at a time", "deviation", "peak"],
        |record| match record {
            Record::Batch(batched) => Some((&batched.loaded, batched.cells())),
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
            "worst",
            "made",
        ],
        |record| match record {
            Record::Changes(changed) => Some((&changed.loaded, changed.cells())),
            _ => None,
        },
    );
    let filled = [timed, batches, changes].into_iter().flatten();
    filled.collect::<Vec<_>>().join("\n")
}

/// A table of the records that `cells` has something to tell of, if there are any: what was loaded, and
/// a number under each of `heads`.
fn table(
    records: &[Record],
    heads: &[&str],
    cells: impl Fn(&Record) -> Option<(&Loaded, Vec<String>)>,
) -> Option<String> {
    let loaded = ["network", "engine", "", "threads"];
    let sides = (0..loaded.len() + heads.len())
        .map(|column| if column < 3 { Align::Left } else { Align::Right });
    let mut table = Table::new(sides.collect::<Vec<_>>());
    table.row(loaded.iter().chain(heads).copied());
    let mut is_empty = true;
    for (loaded, numbers) in records.iter().filter_map(cells) {
        is_empty = false;
        let Loaded { network, engine, precision, threads, .. } = loaded;
        let first =
            [network.clone(), (*engine).to_owned(), precision.to_string(), threads.to_string()];
        table.row(first.into_iter().chain(numbers));
    }
    (!is_empty).then(|| table.to_string())
}

fn ms(value: f64) -> String {
    format!("{value:.3}")
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

impl Timed {
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
            human_bytes(self.peak_bytes),
        ]
    }
}

impl Batched {
    fn cells(&self) -> Vec<String> {
        let Batch { cases, impossible, batch_ms, cases_per_second, one_at_a_time } = &self.batch;
        vec![
            thousands(*cases as u64),
            impossible.to_string(),
            ms(batch_ms.median),
            thousands(*cases_per_second as u64),
            thousands(one_at_a_time.cases_per_second as u64),
            format!("{:.1e}", one_at_a_time.largest_deviation),
            human_bytes(self.peak_bytes),
        ]
    }
}

impl Changed {
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
