//! `cliquescope query`: computes the posteriors of all variables.
//!
//! Cases are read, answered and written in blocks, by three threads, so that a file of cases can
//! have any length. Answers are written in the order of the cases.

mod answers;
mod blocks;
mod output_format;
mod pipeline;
mod report;
mod writer;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use cliquescope::allocate;
use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, CaseQuery, LoadOptions, PropagationError, QueryError};
use cliquescope::numbers::thousands;
use cliquescope::potential::Precision;
use cliquescope::propagation::{Form, Posteriors};
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::options::{self, CompileArgs, PaperArgs, WithoutArgs};
use super::{Failure, Outcome};
use answers::{Context, Formatter};
use blocks::{Block, Blocks, Row};
use output_format::OutputFormat;
use report::Report;
use writer::{AnswerWriter, AnsweredBlock};

/// Exit code after an interruption by a signal: 128 plus the number of SIGINT, as shells
/// report a program that Ctrl+C ended.
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    network: OsString,

    /// Observe a variable in a state; can be repeated. Applies to every case of an evidence file
    /// and replaces the case's own finding on the variable
    #[arg(long, value_name = "VAR=STATE", value_parser = options::finding)]
    evidence: Vec<String>,

    /// File of cases: JSON, JSON lines, CSV, Hugin's .hcs or .dat, Netica's .cas or UAI's .evid; -
    /// is standard input. JSON is one object {"name": NAME, "evidence": {VAR: STATE}, "likelihood":
    /// {VAR: [...]}}, all keys optional, or an array of such objects; JSON lines is one object per
    /// line. A table has a header of variables and a row per case; an empty cell or * means that
    /// the variable is not observed. A case with a mistake is reported, and the others are answered
    #[arg(long, value_name = "FILE")]
    evidence_file: Option<PathBuf>,

    /// Stop at the first case that has a mistake or no answer
    #[arg(long)]
    strict: bool,

    /// Engine to propagate with
    #[arg(long, value_parser = options::engine_names())]
    #[arg(default_value = engine::default_engine().name())]
    engine: String,

    /// Number type of the tables, f32 or f64 [default: the engine's default]
    #[arg(long)]
    precision: Option<Precision>,

    /// Threads that the engine may use [default: all that the machine has]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// Form in which engine cpu or gpu holds the network, tables or table-free [default: of the
    /// forms that fit into memory, the one that is forecast to be faster]
    #[arg(long)]
    form: Option<Form>,

    #[command(flatten)]
    compile: CompileArgs,

    #[command(flatten)]
    paper: PaperArgs,

    #[command(flatten)]
    without: WithoutArgs,

    /// File to write the answers to [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Format of the answers: text, json (one object with all cases), jsonl (one object per line)
    /// or csv (a column for each state) [default: by the extension of the output file, else text]
    #[arg(long)]
    format: Option<OutputFormat>,

    /// Write JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Replace the output file if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

impl Args {
    /// The format that was asked for, or else the one of the extension of the output file.
    fn output_format(&self) -> Result<OutputFormat, String> {
        match (&self.output, self.format) {
            _ if self.json => Ok(OutputFormat::Json),
            (_, Some(format)) => Ok(format),
            (None, None) => Ok(OutputFormat::Text),
            (Some(file), None) => {
                OutputFormat::by_extension(&file.to_string_lossy()).ok_or_else(|| {
                    let file = file.display();
                    format!(
                        "{file}: unknown extension; use .txt, .json, .jsonl or .csv, or --format"
                    )
                })
            }
        }
    }

    /// Checks that the output file may be written.
    fn check_output(&self) -> Result<(), String> {
        let Some(output) = &self.output else { return Ok(()) };
        let target = output.canonicalize().ok();
        let is_same = |input: &Path| target.is_some() && input.canonicalize().ok() == target;
        let name = output.display();
        if self.evidence_file.as_deref().is_some_and(is_same) || is_same(Path::new(&self.network)) {
            return Err(format!("{name} is an input: choose another file for the output"));
        }
        if output.is_file() && !self.force {
            return Err(format!("{name} already exists; use --force to replace it"));
        }
        Ok(())
    }
}

/// Answers a query.
pub fn run(args: &Args) -> Outcome {
    let engine = options::engine(&args.engine)?;
    let precision = options::precision(engine, args.precision);
    let format = args.output_format()?;
    args.check_output()?;
    let read = options::open(&args.network, args.compile.memory())?;
    let network = &read.network;
    let shared = options::evidence(network, &args.evidence)?;
    let mut blocks = Blocks::open(args.evidence_file.as_deref(), network, shared)?;
    let mut report = Report::new(blocks.file(), args.output.is_some());
    let first = blocks.next_block().unwrap_or_default();
    let context = Context {
        network: Arc::clone(network),
        title: read.origin.title(),
        engine: engine.name(),
        precision: precision.to_string(),
        has_several: first.rows.len() > 1 || !first.is_last,
        has_names: blocks.has_names(),
    };
    let writer = AnswerWriter::new(Formatter::new(format, context), args.output.as_deref())?;

    let runs = first.expected_cases();
    let load = LoadOptions {
        precision,
        threads: options::threads(args.threads),
        memory: args.compile.memory(),
        paper: args.paper.options(),
        runs,
        form: args.form,
        optimisations: args.without.optimisations(),
    };
    let (compile, cancel) = (args.compile.options(runs)?, CancelToken::new());
    stop_on_signals(&cancel);
    let query = CaseQuery::new(engine, network, &compile, &load, &cancel);
    let is_strict = args.strict;
    let mut work = Work {
        query,
        engine: engine.name(),
        is_strict,
        failure: None,
        is_refusal: false,
        report: &mut report,
    };
    let mut first = Some(first);
    let mut writer = pipeline::run(
        move || match first.take() {
            Some(block) => Some(block),
            None => allocate::or_error(|| blocks.next_block())
                .unwrap_or_else(|error| Some(Block::failed(error.to_string()))),
        },
        |block| work.answer(block),
        writer,
        AnswerWriter::write,
        &cancel,
    );
    let (failure, is_refusal) = (work.failure.take(), work.is_refusal);
    if let Some(failure) = &failure
        && writer.cases == 0
    {
        report.clear();
        return Err(Failure { message: failure.clone(), is_refusal });
    }
    let written = writer.finish(!cancel.is_cancelled());
    report.finish();
    let what_was_written = match writer.cases {
        0 => "no answer was written".to_owned(),
        1 => "the answer to the first case was written".to_owned(),
        count => {
            let count = thousands(count as u64);
            format!("the answers to the first {count} cases were written")
        }
    };
    if cancel.is_cancelled() {
        report.note(&format!("interrupted: {what_was_written}"));
        return Ok(written.map(|()| ExitCode::from(INTERRUPTED))?);
    }
    match written.err().or(failure) {
        Some(failure) => Err(format!("{failure}; {what_was_written}").into()),
        None if report.failed > 0 => Ok(ExitCode::FAILURE),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Sets `cancel` when the user presses Ctrl+C or closes the terminal, or the program is asked to
/// end. At the second Ctrl+C or request, the program ends at once.
fn stop_on_signals(cancel: &CancelToken) {
    // When a terminal is closed, the shell and then the operating system send SIGHUP. So a second
    // SIGHUP must not end the program at once.
    #[cfg(unix)]
    if !is_hangup_ignored() {
        let _ = register(SIGHUP, cancel.flag());
    }
    for signal in [SIGINT, SIGTERM] {
        let flag = cancel.flag();
        // The order matters: the first handler ends the program if the flag is already set, and
        // the second handler sets the flag only afterwards. If a handler cannot be registered, the
        // signal ends the program at once, as it does by default.
        let _ = register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&flag))
            .and_then(|_| register(signal, flag));
    }
}

/// Whether the program was started so that it goes on when the terminal is closed, as `nohup` does.
/// Also true if this cannot be found out: only Linux has the file that says so.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

/// The warning that the device of `engine` failed for some `reason`, so that the default engine
/// answers the cases from `first` on.
fn device_warning(engine: &str, reason: &str, first: Option<&Row>) -> String {
    let default = engine::default_engine().name();
    let number = first.map_or(1, |row| row.number);
    format!("engine {engine} failed: {reason}; engine {default} answers from case {number} on")
}

/// The middle stage: answers blocks, and reports cases that failed.
struct Work<'a> {
    query: CaseQuery<'a>,
    /// Name of the engine that the user chose.
    engine: &'static str,
    is_strict: bool,
    /// Why the work ended early, if it did.
    failure: Option<String>,
    /// Whether the work ended early because the network needs more memory than the limit allows.
    is_refusal: bool,
    report: &'a mut Report,
}

impl Work<'_> {
    /// Answers a block of cases. If the work has to end, breaks with the cases of the block that
    /// are still to be written; with `None` if there are no such cases.
    fn answer(&mut self, mut block: Block) -> ControlFlow<Option<AnsweredBlock>, AnsweredBlock> {
        self.report.warn(&block.warnings);
        if block.is_last && block.rows.is_empty() && block.failure.is_none() {
            self.report.warn_if_no_cases();
        }
        let had_failed = self.query.device_failure().is_some();
        let answers = allocate::or_error(|| self.query.answer(&block.evidence));
        if let Some(reason) = self.query.device_failure().filter(|_| !had_failed) {
            let warning = device_warning(self.engine, reason, block.rows.first());
            self.report.warn(&[warning]);
        }
        let mut answers = match answers {
            Ok(Ok(answers)) => answers,
            Ok(Err(QueryError::Propagation(PropagationError::Cancelled(_)))) => {
                return ControlFlow::Break(None);
            }
            Ok(Err(error)) => {
                self.is_refusal =
                    matches!(&error, QueryError::Load(error) if error.exceeds_limit());
                self.failure = Some(error.to_string());
                return ControlFlow::Break(None);
            }
            Err(error) => {
                self.failure = Some(error.to_string());
                return ControlFlow::Break(None);
            }
        };
        let mut answered = 0;
        let mut stop_at = None;
        for (index, row) in block.rows.iter().enumerate() {
            let failure = match &row.error {
                Some(error) => Some(error.clone()),
                None => {
                    answered += 1;
                    answers[answered - 1].as_ref().err().map(ToString::to_string)
                }
            };
            let Some(failure) = failure else { continue };
            self.report.fail(row, &failure);
            if self.is_strict {
                answered -= usize::from(row.error.is_none());
                stop_at = Some(index);
                break;
            }
        }
        // With --strict, the case that failed is the last.
        let cases = stop_at.map_or(block.rows.len(), |failed| failed + 1);
        if let Some(end) = stop_at {
            block.rows.truncate(end);
            block.evidence.truncate(answered);
            answers.truncate(answered);
        }
        let is_recomputed =
            |answer: &&Result<Posteriors, _>| answer.as_ref().is_ok_and(Posteriors::is_recomputed);
        self.report.recomputed += answers.iter().filter(is_recomputed).count();
        self.report.advance(cases, block.share_read);
        self.failure = match stop_at {
            Some(_) => Some("stopped at the first failure, as --strict demands".to_owned()),
            None => block.failure.take(),
        };
        let has_rows = !block.rows.is_empty();
        let block = AnsweredBlock { block, answers };
        match self.failure {
            Some(_) => ControlFlow::Break(has_rows.then_some(block)),
            None => ControlFlow::Continue(block),
        }
    }
}
