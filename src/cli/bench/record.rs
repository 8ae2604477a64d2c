//! What is told of what was timed.

use cliquescope::numbers::thousands;
use cliquescope::potential::Precision;
use cliquescope::propagation::{Savings, human_bytes};
use serde::Serialize;

use super::cases::Drawn;
use super::changes::Changes;
use super::measure::{Batch, Spread, TimingCost};
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
    pub propagate_ms: Spread,
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
    pub timing_cost: Option<TimingCost>,
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
    let tables = [timed_in_words(records), batches_in_words(records), changes_in_words(records)];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn ms(value: f64) -> String {
    format!("{value:.3}")
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn timed_in_words(records: &[Record]) -> Option<String> {
    use Align::{Left, Right};
    let mut table = Table::new([
        Left, Left, Left, Right, Right, Right, Right, Right, Right, Right, Right, Right, Right,
        Right, Right,
    ]);
    table.row([
        "network",
        "engine",
        "",
        "threads",
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
    ]);
    let timed = records.iter().filter_map(|record| match record {
        Record::Timed(timed) => Some(timed),
        _ => None,
    });
    let mut is_empty = true;
    for timed in timed {
        is_empty = false;
        table.row([
            timed.loaded.network.clone(),
            timed.loaded.engine.to_owned(),
            timed.loaded.precision.to_string(),
            timed.loaded.threads.to_string(),
            timed.case.to_string(),
            format!("{:.1}", timed.load_ms),
            format!("{:.1}", timed.compile_ms),
            ms(timed.propagate_ms.min),
            ms(timed.propagate_ms.median),
            ms(timed.propagate_ms.max),
            timed.timing_cost.as_ref().map_or(String::new(), |cost| percent(cost.share)),
            thousands(timed.cliques as u64),
            thousands(timed.total_clique_entries),
            thousands(timed.messages as u64),
            human_bytes(timed.peak_bytes),
        ]);
    }
    // Where nothing was timed, the heading stands alone unless there is something else.
    let is_other = |record: &Record| matches!(record, Record::Batch(_) | Record::Changes(_));
    let others = records.iter().any(is_other);
    (!(is_empty && others)).then(|| table.to_string())
}

fn batches_in_words(records: &[Record]) -> Option<String> {
    use Align::{Left, Right};
    let mut table =
        Table::new([Left, Left, Left, Right, Right, Right, Right, Right, Right, Right, Right]);
    table.row([
        "network",
        "engine",
        "",
        "threads",
        "cases",
        "impossible",
        "batch ms",
        "cases/s",
        "one at a time",
        "deviation",
        "peak",
    ]);
    let mut is_empty = true;
    for record in records {
        let Record::Batch(Batched { loaded, batch, peak_bytes }) = record else { continue };
        is_empty = false;
        table.row([
            loaded.network.clone(),
            loaded.engine.to_owned(),
            loaded.precision.to_string(),
            loaded.threads.to_string(),
            thousands(batch.cases as u64),
            batch.impossible.to_string(),
            ms(batch.batch_ms.median),
            thousands(batch.cases_per_second as u64),
            thousands(batch.one_at_a_time.cases_per_second as u64),
            format!("{:.1e}", batch.one_at_a_time.largest_deviation),
            human_bytes(*peak_bytes),
        ]);
    }
    (!is_empty).then(|| table.to_string())
}

fn changes_in_words(records: &[Record]) -> Option<String> {
    use Align::{Left, Right};
    let mut table =
        Table::new([Left, Left, Left, Right, Right, Right, Right, Right, Right, Right, Right]);
    table.row([
        "network",
        "engine",
        "",
        "threads",
        "case",
        "set",
        "retracted",
        "exchanged",
        "min ms",
        "median ms",
        "max ms",
    ]);
    let mut is_empty = true;
    for record in records {
        let Record::Changes(Changed { loaded, case, changes }) = record else { continue };
        is_empty = false;
        table.row([
            loaded.network.clone(),
            loaded.engine.to_owned(),
            loaded.precision.to_string(),
            loaded.threads.to_string(),
            case.to_string(),
            changes.set.to_string(),
            changes.retracted.to_string(),
            changes.exchanged.to_string(),
            ms(changes.change_ms.min),
            ms(changes.change_ms.median),
            ms(changes.change_ms.max),
        ]);
    }
    (!is_empty).then(|| table.to_string())
}
