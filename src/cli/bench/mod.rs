//! `cliquescope bench`: times propagations.

mod cases;
mod changes;
mod measure;
mod record;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cliquescope::clock::Instant;
use cliquescope::engine::{self, Engine, LoadError, LoadOptions, Propagator};
use cliquescope::format::SAMPLES;
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Form};

use super::info::FormRecord;
use super::options::{self, CompileArgs, PaperArgs, WithoutArgs};
use super::output::{self, milliseconds};
use super::{Failure, NO_MEMORY, Outcome};
use cases::CaseArgs;
use record::{BatchRecord, ChangesRecord, Memory, Record, RunInfo, TimedRecord};

/// Time propagations.
///
/// A propagation enters evidence and computes the posteriors of all variables from scratch: what an
/// engine could reuse is dropped before each, except with --changes and where --batch propagates
/// one case at a time. One extra propagation runs first, for warming up. If the network is too
/// large for the engine, each case is propagated in a junction tree of the network without the
/// edges of the observed variables, except with --batch, --changes and --form tables; engines
/// sequential and gpu-paper cannot do this. load_ms is the time for reading the file, and
/// compile_ms the time for building the junction tree and loading it into the engine, of which
/// engine_load_ms is for loading. peak_bytes is the engine's peak memory. For engines on a GPU, it
/// is the peak of host and GPU together, and host_bytes and device_bytes are the peaks of each,
/// which need not be reached at the same time. launch_us is the time of one kernel launch,
/// overhead_us the time of all launches and copies with empty kernels, and execution_us the median
/// time of a propagation minus overhead_us.
#[derive(clap::Args)]
pub struct Args {
    /// Paths of files, or names of samples [default: all samples]
    network: Vec<OsString>,

    /// Engine to propagate with; can be repeated
    #[arg(long, value_parser = options::engine_names())]
    #[arg(default_value = engine::default_engine().name())]
    engine: Vec<String>,

    /// Number type of the tables, f32 or f64 [default: the engine's default]
    #[arg(long)]
    precision: Option<Precision>,

    /// Threads that an engine may use [default: all that the machine has]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// Form in which engine cpu or gpu holds the network, tables or table-free [default: of the
    /// forms that fit into memory, the one that is forecast to be faster]
    #[arg(long)]
    form: Option<Form>,

    #[command(flatten)]
    cases: CaseArgs,

    /// Propagate all cases together, and compare the cases per second with one propagation per
    /// case. A file of cases is read in blocks, and the times of its blocks are added up
    #[arg(long)]
    batch: bool,

    /// Make N random changes to the findings of each case, one at a time, and time the propagation
    /// after each, which can reuse earlier results. All changes are repeated, and the fastest time
    /// of each counts
    #[arg(long, value_name = "N", conflicts_with = "batch")]
    #[arg(value_parser = options::whole(1..=u32::MAX))]
    changes: Option<u32>,

    /// Number of propagations to time
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = options::whole(1..=u32::MAX))]
    repeat: u32,

    /// Also measure the cost of timing every message, by propagating alternately with and without
    /// timing
    #[arg(long)]
    timing_cost: bool,

    #[command(flatten)]
    compile: CompileArgs,

    #[command(flatten)]
    paper: PaperArgs,

    #[command(flatten)]
    without: WithoutArgs,

    /// Write JSON: an array with an object for each network, engine and case; with --batch, for
    /// each network and engine
    #[arg(long)]
    json: bool,
}

/// Times all networks with all engines.
pub fn run(args: &Args) -> Outcome {
    let samples = || SAMPLES.iter().map(|sample| sample.name.into()).collect();
    let networks = if args.network.is_empty() { samples() } else { args.network.clone() };
    if networks.len() > 1 && args.cases.are_on_standard_input() {
        let message = "standard input can be read only once: name one network, or a file of cases";
        return Err(message.to_owned().into());
    }
    let mut records = Vec::new();
    for spec in &networks {
        bench_network(args, spec, &mut records);
    }
    if args.json {
        output::print_json(&records)?;
    } else {
        output::print(&record::as_text(&records))?;
    }
    let is_failed = |record: &Record| matches!(record, Record::Failed { .. });
    let is_refused = |record: &Record| matches!(record, Record::Failed { is_refusal: true, .. });
    Ok(if records.iter().any(is_refused) {
        ExitCode::from(NO_MEMORY)
    } else if records.iter().any(is_failed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A network, ready for any engine, and the cases to propagate.
struct Prepared {
    title: String,
    /// Time for reading the file.
    load: Duration,
    /// Empty if a file of cases is read in blocks.
    cases: Vec<Evidence>,
    drawn: Option<cases::DrawParameters>,
    compiled: Arc<CompiledNetwork>,
}

/// Opens and compiles the network `spec`, and reads or draws its cases.
fn prepare(args: &Args, spec: &OsStr) -> Result<Prepared, Failure> {
    let started = Instant::now();
    let read = options::open(spec, args.compile.memory())?;
    let load = started.elapsed();
    let compiled = args.compile.compile(&read.network, options::COMPILE_RUNS)?;
    let (cases, drawn) = match args.cases.file() {
        Some(_) if args.batch => (Vec::new(), None),
        _ => args.cases.read_or_draw(&compiled, args.compile.memory())?,
    };
    Ok(Prepared { title: read.origin.title(), load, cases, drawn, compiled })
}

/// Times the network `spec` with all engines. Failures become records.
fn bench_network(args: &Args, spec: &OsStr, records: &mut Vec<Record>) {
    let prepared = match prepare(args, spec) {
        Ok(prepared) => prepared,
        Err(error) => return fail(records, &spec.to_string_lossy(), None, None, error),
    };
    for name in &args.engine {
        let Ok(engine) = options::engine(name) else { continue };
        bench_engine(args, &prepared, engine, records);
    }
}

/// Times a prepared network with one engine. Failures become records.
fn bench_engine(
    args: &Args,
    prepared: &Prepared,
    engine: &'static dyn Engine,
    records: &mut Vec<Record>,
) {
    let Prepared { title, cases, compiled, .. } = prepared;
    let started = Instant::now();
    let options = LoadOptions {
        precision: options::precision(engine, args.precision),
        threads: options::threads(args.threads),
        memory: args.compile.memory(),
        paper: args.paper.options(),
        runs: LoadOptions::MANY_RUNS,
        form: args.form,
        optimisations: args.without.optimisations(),
    };
    let propagator = match engine.load(compiled, &options) {
        Ok(propagator) => propagator,
        Err(LoadError::TooLarge(_)) if can_bench_given_evidence(args, engine, cases) => {
            return bench_given_evidence(args, prepared, engine, &options, records);
        }
        Err(error) => return fail(records, title, Some(engine.name()), None, error),
    };
    let label = format!("{title}: {} {}", engine.name(), options.precision);
    let compiled = Arc::clone(compiled);
    let mut bench =
        EngineBench::new(args, prepared, engine, &options, compiled, propagator, started);
    if args.batch {
        let cases = match args.cases.file() {
            Some(file) => format!("the cases of {}", file.display()),
            None => format!("{} cases", cases.len()),
        };
        output::note(&format!("{label}, {cases} together"));
        match bench.batch() {
            Ok(record) => records.push(record),
            Err(error) => fail(records, title, Some(engine.name()), None, error),
        }
        return;
    }
    for case in 0..cases.len() {
        output::note(&format!("{label}, case {case}"));
        let record = match args.changes {
            Some(count) => bench.changes(case, count),
            None => bench.propagations(case),
        };
        match record {
            Ok(record) => records.push(record),
            Err(error) => fail(records, title, Some(engine.name()), Some(case), error),
        }
    }
}

/// Whether the cases can be propagated one by one, each in the tree given its evidence.
fn can_bench_given_evidence(args: &Args, engine: &dyn Engine, cases: &[Evidence]) -> bool {
    engine.info().capabilities.observed
        && args.form != Some(Form::Tables)
        && !args.batch
        && args.changes.is_none()
        && cases.iter().any(|case| !case.observed_variables().is_empty())
}

/// Times the propagation of each case in the junction tree given its evidence.
fn bench_given_evidence(
    args: &Args,
    prepared: &Prepared,
    engine: &'static dyn Engine,
    options: &LoadOptions,
    records: &mut Vec<Record>,
) {
    let Prepared { title, cases, .. } = prepared;
    for (case, evidence) in cases.iter().enumerate() {
        let label = format!("{title}: {} {}", engine.name(), options.precision);
        output::note(&format!("{label}, case {case}, compiled given its evidence"));
        let record = args
            .compile
            .compile_given(prepared.compiled.network(), evidence, options::COMPILE_RUNS)
            .and_then(|compiled| {
                let started = Instant::now();
                let loaded = engine.load(&compiled, options)?;
                let mut bench =
                    EngineBench::new(args, prepared, engine, options, compiled, loaded, started);
                Ok(bench.propagations(case)?)
            });
        match record {
            Ok(record) => records.push(record),
            Err(error) => fail(records, title, Some(engine.name()), Some(case), error),
        }
    }
}

/// A network that is loaded into an engine, with everything that its records need.
struct EngineBench<'a> {
    args: &'a Args,
    prepared: &'a Prepared,
    /// The loaded network, compiled whole or given the evidence of a case.
    compiled: Arc<CompiledNetwork>,
    propagator: Box<dyn Propagator>,
    info: RunInfo,
    /// Time for building the junction tree and loading it into the engine, in milliseconds.
    compile_ms: f64,
    /// The part of `compile_ms` that loading into the engine took.
    engine_load_ms: f64,
}

impl<'a> EngineBench<'a> {
    /// A network that `engine` loaded with `options`, beginning at `started`.
    fn new(
        args: &'a Args,
        prepared: &'a Prepared,
        engine: &'static dyn Engine,
        options: &LoadOptions,
        compiled: Arc<CompiledNetwork>,
        propagator: Box<dyn Propagator>,
        started: Instant,
    ) -> Self {
        let engine_load = started.elapsed();
        let compile_ms = milliseconds(compiled.elapsed() + engine_load);
        let engine_load_ms = milliseconds(engine_load);
        let form = propagator.form();
        let other_forms = form.map(|form| engine.other_forms(&compiled, options.precision, form));
        let other_forms =
            other_forms.unwrap_or_default().into_iter().map(FormRecord::new).collect();
        let info = RunInfo {
            network: prepared.title.clone(),
            engine: engine.name(),
            precision: options.precision,
            threads: propagator.threads(),
            form,
            other_forms,
            drawn: prepared.drawn,
        };
        Self { args, prepared, compiled, propagator, info, compile_ms, engine_load_ms }
    }

    /// Times the propagation of all cases together.
    fn batch(&mut self) -> Result<Record, String> {
        let (propagator, repeat) = (&mut *self.propagator, self.args.repeat);
        let batch = match self.args.cases.file() {
            Some(file) => {
                let blocks = CaseArgs::blocks(self.compiled.network(), file)?;
                let blocks = blocks.map(|block| block.map(Cow::Owned));
                let batch = measure::batch(propagator, blocks, repeat)?;
                if batch.cases == 0 {
                    output::note(&format!("warning: {}: {}", file.display(), options::NO_CASES));
                }
                batch
            }
            None => {
                let all = Ok(Cow::Borrowed(&self.prepared.cases[..]));
                measure::batch(propagator, std::iter::once(all), repeat)?
            }
        };
        let (info, memory) = (self.info.clone(), Memory::of(&mut *self.propagator));
        Ok(Record::Batch(BatchRecord { info, batch, memory }))
    }

    /// Times the propagations after `count` changes to the case with index `case`.
    fn changes(&mut self, case: usize, count: u32) -> Result<Record, String> {
        let Prepared { cases, compiled, .. } = self.prepared;
        let (propagator, repeat) = (&mut *self.propagator, self.args.repeat);
        let changes = changes::run(propagator, compiled.network(), &cases[case], count, repeat)?;
        Ok(Record::Changes(ChangesRecord { info: self.info.clone(), case, changes }))
    }

    /// Times propagations of the case with index `case`.
    fn propagations(&mut self, case: usize) -> Result<Record, String> {
        let Prepared { cases, load, .. } = self.prepared;
        let compiled = &*self.compiled;
        let (evidence, repeat) = (&cases[case], self.args.repeat);
        let runs = measure::time(&mut *self.propagator, compiled, evidence, repeat)?;
        let timing_cost = if self.args.timing_cost {
            Some(measure::timing_cost(&mut *self.propagator, compiled, evidence, repeat)?)
        } else {
            None
        };
        let overhead = self.propagator.gpu().and_then(|gpu| gpu.launch_overhead(repeat));
        let launch = overhead.and_then(|_| engine::launch_time());
        let overhead_us = overhead.map(|overhead| milliseconds(overhead) * 1e3);
        let statistics = compiled.statistics();
        Ok(Record::Timed(TimedRecord {
            info: self.info.clone(),
            case,
            load_ms: milliseconds(*load),
            compile_ms: self.compile_ms,
            engine_load_ms: self.engine_load_ms,
            propagate_ms: runs.propagate_ms,
            launch_us: launch.map(|launch| milliseconds(launch) * 1e3),
            overhead_us,
            execution_us: overhead_us.map(|us| runs.propagate_ms.median * 1e3 - us),
            left_out: compiled.observed().len(),
            cliques: statistics.cliques,
            total_clique_entries: statistics.total_clique_entries,
            messages: compiled.plan().messages().len(),
            memory: Memory::of(&mut *self.propagator),
            savings: runs.savings,
            recomputed: runs.recomputed,
            timing_cost,
        }))
    }
}

/// Prints `failure`, and records that `network` failed: with `engine` and in the case with index
/// `case`, if these are known.
fn fail(
    records: &mut Vec<Record>,
    network: &str,
    engine: Option<&'static str>,
    case: Option<usize>,
    failure: impl Into<Failure>,
) {
    let Failure { message: error, is_refusal } = failure.into();
    output::note(&format!("error: {network}: {error}"));
    records.push(Record::Failed { network: network.to_owned(), engine, case, error, is_refusal });
}
