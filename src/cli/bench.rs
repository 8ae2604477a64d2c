//! `cliquescope bench`: how long a propagation takes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions, Propagator};
use cliquescope::format::SAMPLES;
use cliquescope::network::Evidence;
use cliquescope::numbers::thousands;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Savings, Watch, human_bytes};
use serde::Serialize;

use super::Outcome;
use super::options::{self, CompileArgs, PaperArgs};
use super::output::{self, Align, Table, milliseconds};

/// Time the propagation.
///
/// A propagation is: evidence in, all posteriors of all variables out, computed anew; what an engine
/// would keep for the same evidence is forgotten before each. One more than asked for runs first and
/// is not counted. load_ms is reading the file; compile_ms is building the junction tree and loading
/// it into the engine. peak_bytes is what the engine holds at most. For engines that launch kernels,
/// launch_us is the time of one launch, overhead_us that of the same launches and copies with empty
/// kernels, and execution_us the median less that.
#[derive(clap::Args)]
pub struct Args {
    /// Paths of files, or names of samples [default: all samples]
    network: Vec<String>,

    /// What propagates; may be repeated
    #[arg(long, value_parser = options::engine_names())]
    #[arg(default_value = engine::default_engine().name())]
    engine: Vec<String>,

    /// Number type of the tables, f32 or f64 [default: the engine's own]
    #[arg(long)]
    precision: Option<Precision>,

    /// Threads that an engine may use [default: as many as the machine runs at once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Cases in JSON, as for query, each timed by itself [default: one case without evidence]
    #[arg(long, value_name = "FILE")]
    evidence_file: Option<PathBuf>,

    /// Propagations that are counted
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    #[command(flatten)]
    compile: CompileArgs,

    #[command(flatten)]
    paper: PaperArgs,

    /// Write JSON: an array with an object for each network, engine and case
    #[arg(long)]
    json: bool,
}

/// One line of the result.
#[derive(Serialize)]
#[serde(untagged)]
enum Record {
    Timed(Timed),
    Failed {
        network: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        engine: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        case: Option<usize>,
        error: String,
    },
}

#[derive(Serialize)]
struct Timed {
    network: String,
    engine: &'static str,
    precision: Precision,
    threads: usize,
    /// Position of the case in the evidence file, counted from zero.
    case: usize,
    load_ms: f64,
    compile_ms: f64,
    /// The propagation that is not counted: what was made ready for the evidence included.
    propagate_ms: Spread,
    /// What one launch costs, what all of them cost, and the median without that; for engines that
    /// launch kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_us: Option<f64>,
    cliques: usize,
    total_clique_entries: u64,
    messages: usize,
    peak_bytes: u64,
    savings: Savings,
}

/// What repeating one propagation gave.
struct Runs {
    propagate_ms: Spread,
    savings: Savings,
}

/// Milliseconds over all repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Spread {
    /// Of at least one duration. The median of an even number is the mean of the middle two.
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let middle = (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2;
        Self {
            min: milliseconds(times[0]),
            median: milliseconds(middle),
            max: milliseconds(times[times.len() - 1]),
        }
    }
}

pub fn run(args: &Args) -> Outcome {
    let samples = || SAMPLES.iter().map(|sample| sample.name.to_owned()).collect();
    let networks = if args.network.is_empty() { samples() } else { args.network.clone() };
    let mut records = Vec::new();
    for spec in &networks {
        bench_network(args, spec, &mut records);
    }
    if args.json {
        output::print_json(&records)?;
    } else {
        output::print(&in_words(&records))?;
    }
    let failed = records.iter().any(|record| matches!(record, Record::Failed { .. }));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn bench_network(args: &Args, spec: &str, records: &mut Vec<Record>) {
    let prepared = (|| {
        let started = Instant::now();
        let read = options::open(spec)?;
        let load = started.elapsed();
        let cases = options::cases(&read.network, args.evidence_file.as_ref())?;
        let compiled = args.compile.compile(&read.network)?;
        Ok((read.origin.title(), load, cases, compiled))
    })();
    let (title, load, cases, compiled) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return fail(records, spec, None, None, error),
    };
    for name in &args.engine {
        let Ok(engine) = options::engine(Some(name)) else { continue };
        let started = Instant::now();
        let options = LoadOptions {
            precision: options::precision(engine, args.precision),
            threads: options::threads(args.threads),
            memory: args.compile.memory(),
            paper: args.paper.options(),
        };
        let mut propagator = match engine.load(&compiled, &options) {
            Ok(propagator) => propagator,
            Err(error) => {
                fail(records, &title, Some(engine.name()), None, error.to_string());
                continue;
            }
        };
        let compile_time = compiled.elapsed() + started.elapsed();
        for (case, evidence) in cases.iter().enumerate() {
            output::note(&format!("{title}: {} {}, case {case}", engine.name(), options.precision));
            match time(&mut *propagator, &compiled, evidence, args.repeat) {
                Ok(Runs { propagate_ms, savings }) => {
                    let overhead = propagator.launch_overhead(args.repeat);
                    let launch = overhead.and_then(|_| engine::launch_time());
                    let launch_us = launch.map(|launch| milliseconds(launch) * 1e3);
                    let overhead_us = overhead.map(|overhead| milliseconds(overhead) * 1e3);
                    let execution_us = overhead_us.map(|us| propagate_ms.median * 1e3 - us);
                    records.push(Record::Timed(Timed {
                        network: title.clone(),
                        engine: engine.name(),
                        precision: options.precision,
                        threads: propagator.threads(),
                        case,
                        load_ms: milliseconds(load),
                        compile_ms: milliseconds(compile_time),
                        propagate_ms,
                        launch_us,
                        overhead_us,
                        execution_us,
                        cliques: compiled.statistics().cliques,
                        total_clique_entries: compiled.statistics().total_clique_entries,
                        messages: compiled.plan().messages().len(),
                        peak_bytes: propagator.peak_bytes(),
                        savings,
                    }))
                }
                Err(error) => fail(records, &title, Some(engine.name()), Some(case), error),
            }
        }
    }
}

fn fail(
    records: &mut Vec<Record>,
    network: &str,
    engine: Option<&'static str>,
    case: Option<usize>,
    error: String,
) {
    output::note(&format!("error: {network}: {error}"));
    records.push(Record::Failed { network: network.to_owned(), engine, case, error });
}

/// Propagates `repeat` times after one that warms up.
fn time(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    repeat: u32,
) -> Result<Runs, String> {
    let mut times = Vec::with_capacity(repeat as usize + 1);
    let mut savings = Savings::default();
    for _ in 0..=repeat {
        let watch = Watch::untimed(CancelToken::new());
        propagator.forget();
        let started = Instant::now();
        let posteriors = engine::propagate(propagator, compiled, evidence, &watch);
        let elapsed = started.elapsed();
        posteriors.map_err(|error| error.to_string())?;
        times.push(elapsed);
        savings = watch.trace().savings;
    }
    times.remove(0);
    Ok(Runs { propagate_ms: Spread::of(times), savings })
}

fn in_words(records: &[Record]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        Left, Left, Left, Right, Right, Right, Right, Right, Right, Right, Right, Right, Right,
        Right,
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
        "cliques",
        "entries",
        "messages",
        "peak",
    ]);
    for record in records {
        let Record::Timed(timed) = record else { continue };
        let ms = |value: f64| format!("{value:.3}");
        table.row([
            timed.network.clone(),
            timed.engine.to_owned(),
            timed.precision.to_string(),
            timed.threads.to_string(),
            timed.case.to_string(),
            format!("{:.1}", timed.load_ms),
            format!("{:.1}", timed.compile_ms),
            ms(timed.propagate_ms.min),
            ms(timed.propagate_ms.median),
            ms(timed.propagate_ms.max),
            thousands(timed.cliques as u64),
            thousands(timed.total_clique_entries),
            thousands(timed.messages as u64),
            human_bytes(timed.peak_bytes),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        let of = |ms: &[u64]| Spread::of(ms.iter().map(|&ms| Duration::from_millis(ms)).collect());
        assert_eq!(of(&[3, 1, 8]), Spread { min: 1.0, median: 3.0, max: 8.0 });
        assert_eq!(of(&[4, 1, 2, 9]), Spread { min: 1.0, median: 3.0, max: 9.0 });
        assert_eq!(of(&[5]), Spread { min: 5.0, median: 5.0, max: 5.0 });
    }
}
