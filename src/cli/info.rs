//! `cliquescope info`: the sizes of a network and its junction tree.

use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

use cliquescope::engine::{self, Engine, LoadOptions};
use cliquescope::graph::TreeStatistics;
use cliquescope::network::Variable;
use cliquescope::numbers::{human_bytes, thousands};
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Forecast, Form, FormForecast, MemoryLimit};
use cliquescope::safe_text::visible;
use serde::Serialize;

use super::options::{self, CompileArgs};
use super::output::{self, Align, Table, milliseconds};
use super::{Failure, Outcome};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    network: OsString,

    #[command(flatten)]
    compile: CompileArgs,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Record {
    network: String,
    variables: usize,
    states: usize,
    arcs: usize,
    /// Number of factors of a Markov network, which has no arcs; `None` for a Bayesian network.
    #[serde(skip_serializing_if = "Option::is_none")]
    factors: Option<usize>,
    triangulation: &'static str,
    compile_ms: f64,
    #[serde(flatten)]
    tree: TreeStatistics,
    largest_clique: Vec<String>,
    memory_limit_bytes: u64,
    forecasts: Vec<ForecastRecord>,
}

/// The memory that an engine would allocate, and whether the engine can load the network.
#[derive(Serialize)]
struct ForecastRecord {
    engine: &'static str,
    precision: Precision,
    bytes: u64,
    /// Of `bytes`, the memory of a GPU; the rest is memory of the host.
    #[serde(skip_serializing_if = "is_zero")]
    device_bytes: u64,
    fits: bool,
    /// The form in which the engine would hold the network for many propagations.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Form>,
    /// The memory that the other forms would take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_forms: Vec<FormRecord>,
    /// Why the engine cannot load the network, whatever the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The memory of a form in which an engine could hold a network.
#[derive(Clone, Serialize)]
pub struct FormRecord {
    form: Form,
    bytes: u64,
}

impl FormRecord {
    /// The form and the memory of `forecast`.
    pub fn new(forecast: FormForecast) -> Self {
        Self { form: forecast.form, bytes: forecast.bytes }
    }
}

impl ForecastRecord {
    fn new(forecast: &Forecast, limit: MemoryLimit) -> Self {
        let chosen = forecast.fastest_form(limit, LoadOptions::MANY_RUNS);
        let form = chosen.map(|chosen| chosen.form);
        Self {
            engine: forecast.engine,
            precision: forecast.precision,
            bytes: chosen.map_or(forecast.bytes, |chosen| chosen.bytes),
            device_bytes: chosen.map_or(forecast.device_bytes, |chosen| chosen.device_bytes),
            fits: forecast.fits(limit),
            form,
            other_forms: forecast.other_forms(form).map(FormRecord::new).collect(),
            obstacle: forecast.unsupported.clone(),
        }
    }

    /// The chosen form, or why the engine cannot load the network; then the part of the memory that
    /// is on the GPU, and the memory that the other forms would take.
    fn note(&self, limit: u64) -> String {
        let mut notes = Vec::new();
        match &self.obstacle {
            Some(obstacle) => notes.push(obstacle.clone()),
            None if self.fits => notes.extend(self.form.map(|form| form.to_string())),
            None => notes.push(format!("exceeds the limit of {}", human_bytes(limit))),
        }
        if self.device_bytes > 0 {
            notes.push(format!("{} on the GPU", human_bytes(self.device_bytes)));
        }
        let others = self.other_forms.iter();
        notes.extend(others.map(|other| format!("{}: {}", other.form, human_bytes(other.bytes))));
        notes.join("; ")
    }
}

/// Memory for making the forecasts of all engines, in bytes per clique. Measured on 100,000
/// isolated variables and on a chain of as many; it only matters for networks of about this size or
/// larger. If it is too small, the command may take more memory than the limit.
const FORECAST_BYTES_PER_CLIQUE: u64 = 5500;

/// Describes a network and its junction tree.
pub fn run(args: &Args) -> Outcome {
    let limit = args.compile.memory();
    let read = options::open(&args.network, limit)?;
    let compiled = args.compile.compile(&read.network, options::COMPILE_RUNS)?;
    let needed = compiled.structure_bytes(FORECAST_BYTES_PER_CLIQUE);
    if needed > limit.bytes() {
        let (needed, limit) = (human_bytes(needed), human_bytes(limit.bytes()));
        let cliques = thousands(compiled.statistics().cliques as u64);
        return Err(Failure::refusal(format!(
            "too large to forecast the memory of the engines: {needed} for the network and \
             {cliques} cliques, and the limit is {limit}"
        )));
    }
    let forecasts: Vec<Forecast> = forecasts(&compiled).collect();
    let record = Record {
        network: read.origin.title(),
        variables: read.network.variables().len(),
        states: read.network.variables().iter().map(Variable::cardinality).sum(),
        arcs: read.network.arc_count(),
        factors: (!read.network.is_bayesian()).then(|| read.network.factor_count()),
        triangulation: args.compile.triangulation()?.name(),
        compile_ms: milliseconds(compiled.elapsed()),
        tree: compiled.statistics().clone(),
        largest_clique: forecasts.first().map(|f| f.largest_variables.clone()).unwrap_or_default(),
        memory_limit_bytes: limit.bytes(),
        forecasts: forecasts.iter().map(|forecast| ForecastRecord::new(forecast, limit)).collect(),
    };
    if args.json {
        output::print_json(&record)?;
    } else {
        output::print(&as_text(&record))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A forecast for each engine and precision.
fn forecasts(compiled: &CompiledNetwork) -> impl Iterator<Item = Forecast> {
    engine::all().iter().flat_map(move |&engine: &&dyn Engine| {
        engine.precisions().iter().map(move |&precision| engine.forecast(compiled, precision))
    })
}

/// The `mean` of sizes that add up to `total`; `-` if it is unknown because the total saturated.
fn mean(mean: f64, total: u64) -> String {
    if total == u64::MAX { "-".to_owned() } else { format!("{mean:.1}") }
}

/// The information as text.
fn as_text(record: &Record) -> String {
    let tree = &record.tree;
    let mut table = Table::new([Align::Left, Align::Right]);
    let mut count = |name: &str, number: u64| table.row([name.to_owned(), thousands(number)]);
    count("variables", record.variables as u64);
    count("states", record.states as u64);
    match record.factors {
        Some(factors) => count("factors", factors as u64),
        None => count("arcs", record.arcs as u64),
    }
    count("cliques", tree.cliques as u64);
    count("depth", tree.depth as u64);
    let mut text = format!("{}\n{table}\n", visible(&record.network));

    let mut table =
        Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["table entries", "total", "largest", "smallest", "mean"]);
    table.row([
        "cliques".to_owned(),
        thousands(tree.total_clique_entries),
        thousands(tree.max_clique_entries),
        thousands(tree.min_clique_entries),
        mean(tree.mean_clique_entries, tree.total_clique_entries),
    ]);
    table.row([
        "separators".to_owned(),
        thousands(tree.total_separator_entries),
        thousands(tree.max_separator_entries),
        thousands(tree.min_separator_entries),
        mean(tree.mean_separator_entries, tree.total_separator_entries),
    ]);
    let _ = writeln!(text, "{table}");
    let _ = writeln!(text, "largest clique: {}", visible(&record.largest_clique.join(", ")));
    let _ =
        writeln!(text, "triangulated by {} in {:.1} ms\n", record.triangulation, record.compile_ms);

    let mut table = Table::new([Align::Left, Align::Left, Align::Right, Align::Left]);
    table.row(["engine", "precision", "memory", ""]);
    for forecast in &record.forecasts {
        let note = forecast.note(record.memory_limit_bytes);
        table.row([
            forecast.engine,
            forecast.precision.name(),
            &human_bytes(forecast.bytes),
            &note,
        ]);
    }
    let _ = write!(text, "{table}");
    text
}
