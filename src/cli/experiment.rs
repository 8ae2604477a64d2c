//! `cliquescope experiment`: runs the paper's experiments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use cliquescope::cancel::CancelToken;
use cliquescope::engine::PaperOptions;
use cliquescope::experiment::{
    self, Experiment, Parameter, Progress, Record, Setup, Status, Subject,
};
use cliquescope::graph::Triangulation;
use cliquescope::numbers;
use cliquescope::propagation::MemoryLimit;
use cliquescope::store::{make_folder, write_atomically};

use super::options::{self, PaperArgs};
use super::output;
use super::{Failure, Outcome};

/// Run an experiment: a table, a figure or a formula of the paper, or one that goes beyond it
///
/// Writes NAME.json, NAME.svg if the experiment has figures, a CSV file for each table, and
/// NAME-about.csv into a folder. The times of engines that cannot run on this machine come from a
/// recording that is part of the program, and are marked.
///
/// table1  junction trees and times, next to the paper's
/// fig4    histograms of separator sizes
/// fig5    time by threads per block
/// fig6    speed-up by mean separator size
/// fig7    kernel overhead and execution time
/// fig8    naive and interleaved mapping tables
/// model   equations 4 to 6 and measured times
/// merging merging small separators, the paper's future work
/// ladder  from the paper's kernel to engine gpu, and a lower bound
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Name of the experiment, or all
    #[arg(value_parser = names())]
    name: String,

    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// Paths of files, or names of samples [default: the networks of the experiment]
    #[arg(long, value_name = "NETWORK", num_args = 1..)]
    networks: Vec<OsString>,

    /// Engine under study [default: gpu-paper]
    #[arg(long, value_parser = options::engine_names())]
    engine: Option<String>,

    /// Engine to compare with [default: sequential]
    #[arg(long, value_parser = options::engine_names())]
    baseline: Option<String>,

    /// How to triangulate the moral graph; weighted-min-fill gives trees like the paper's
    #[arg(long, value_name = "METHOD", default_value = "weighted-min-fill")]
    #[arg(value_parser = options::triangulations())]
    triangulation: String,

    /// Maximum number of propagations for each median; slow engines get fewer [default: 10]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u32::MAX))]
    repeat: Option<u32>,

    /// Threads that an engine may use [default: all that the machine has]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// One more threshold for experiment merging, besides its own: separators of at most this many
    /// entries are merged away
    #[arg(long, value_name = "ENTRIES", value_parser = options::whole(0..=u64::MAX))]
    threshold: Option<u64>,

    /// Memory that an engine may use, such as 2GiB, 500MB or a number of bytes [default: half of
    /// the available memory]
    #[arg(long, value_name = "SIZE", value_parser = options::memory)]
    memory_limit: Option<MemoryLimit>,

    /// Use the recording even if the engine can run on this machine
    #[arg(long)]
    recorded: bool,

    /// Replace files of an earlier run
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    paper: PaperArgs,
}

/// The names of all experiments, and `all`, for `value_parser`.
fn names() -> PossibleValuesParser {
    let names = experiment::all().iter().map(|experiment| experiment.name);
    names.chain(["all"]).collect::<Vec<_>>().into()
}

impl Args {
    /// The options that the user gave and `experiment` does not use, among those that have a
    /// [`Parameter`]. The options of engine gpu-paper count as given only if they differ from their
    /// defaults.
    fn unused_options(&self, experiment: &Experiment) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.engine.is_some(), Parameter::Engine, "--engine"),
            (self.baseline.is_some(), Parameter::Baseline, "--baseline"),
            (self.repeat.is_some(), Parameter::Repeat, "--repeat"),
            (self.threads.is_some(), Parameter::Threads, "--threads"),
            (self.threshold.is_some(), Parameter::Threshold, "--threshold"),
            (
                self.paper.options() != PaperOptions::default(),
                Parameter::Paper,
                "--block-size and --layout",
            ),
        ];
        let used = experiment.parameters;
        let unused =
            given.into_iter().filter(|(given, parameter, _)| *given && !used.contains(parameter));
        unused.map(|(_, _, option)| option)
    }
}

/// Runs experiments and writes their records.
pub fn run(args: &Args) -> Outcome {
    let chosen = |experiment: &&Experiment| args.name == "all" || args.name == experiment.name;
    make_folder(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    if !args.force {
        for experiment in experiment::all().iter().filter(chosen) {
            refuse_to_replace(&args.out, experiment.name)?;
        }
    }
    let mut opened = Vec::new();
    for experiment in experiment::all().iter().filter(chosen) {
        output::note(experiment.title);
        if args.name != "all" {
            for option in args.unused_options(experiment) {
                output::note(&format!("warning: {} does not use {option}", experiment.name));
            }
        }
        let setup = setup(args, experiment, &mut opened)?;
        let record = experiment.run(&setup, &progress())?;
        write(&args.out, &record)?;
        for note in record.recorded.iter().chain(&record.notes) {
            output::note(&format!("  {note}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if `folder` has a file that may come from an earlier run of the experiment called `name`.
/// Only the end of a run shows which files the run writes, so this function looks for every file
/// that the run might write.
fn refuse_to_replace(folder: &Path, name: &str) -> Result<(), String> {
    let in_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
    let is_of_experiment = |file: &str| {
        let rest = file.strip_prefix(name);
        rest.is_some_and(|rest| match rest {
            ".json" | ".svg" | ".csv" => true,
            _ => rest.starts_with('-') && rest.ends_with(".csv"),
        })
    };
    for file in std::fs::read_dir(folder).map_err(in_folder)? {
        let file = file.map_err(in_folder)?;
        if file.file_name().to_str().is_some_and(is_of_experiment) {
            let path = file.path();
            return Err(format!("{} already exists; use --force to replace it", path.display()));
        }
    }
    Ok(())
}

/// The networks and settings for `experiment`. Networks in `opened` are not read again.
fn setup(
    args: &Args,
    experiment: &Experiment,
    opened: &mut Vec<(OsString, Subject)>,
) -> Result<Setup, Failure> {
    let default = experiment.networks.iter().map(OsString::from);
    let names = if args.networks.is_empty() { default.collect() } else { args.networks.clone() };
    let memory = args.memory_limit.unwrap_or_else(MemoryLimit::half_of_available);
    let mut subject = |name: &OsString| {
        if let Some((_, subject)) = opened.iter().find(|(known, _)| known == name) {
            return Ok(subject.clone());
        }
        let read = options::open(name, memory)?;
        let subject = Subject { name: read.origin.title(), network: read.network };
        opened.push((name.clone(), subject.clone()));
        Ok(subject)
    };
    let networks = names.iter().map(&mut subject).collect::<Result<_, Failure>>()?;
    let mut setup = Setup::new(networks);
    setup.engine = args.engine.clone().unwrap_or(setup.engine);
    setup.baseline = args.baseline.clone().unwrap_or(setup.baseline);
    setup.triangulation = args.triangulation.parse::<Triangulation>()?;
    setup.repeat = args.repeat.unwrap_or(setup.repeat);
    setup.threads = options::threads(args.threads);
    setup.paper = args.paper.options();
    setup.prefer_recorded = args.recorded;
    setup.threshold = args.threshold.unwrap_or(setup.threshold);
    setup.memory = memory;
    Ok(setup)
}

/// Writes the record as JSON, its figures as SVG, and its tables as CSV: the first table to
/// NAME.csv, and each other table to NAME-TABLE.csv. Also writes the program, the machine, the
/// settings and the notes to NAME-about.csv.
fn write(folder: &Path, record: &Record) -> Result<(), String> {
    for (name, text) in record.files(&record.experiment) {
        let path = folder.join(name);
        let outcome = write_atomically(&path, text.as_bytes());
        outcome.map_err(|error| format!("{}: {error}", path.display()))?;
        output::note(&format!("  {}", path.display()));
    }
    Ok(())
}

/// Progress that prints a line to standard error for each step.
pub fn progress() -> Progress {
    Progress::new(CancelToken::new()).with_listener(|status| output::note(&progress_line(status)))
}

/// `time` in whole seconds, rounded down but at least one, such as `12 seconds`.
pub fn seconds(time: Duration) -> String {
    numbers::counted(time.as_secs().max(1) as usize, "second", "seconds")
}

fn progress_line(status: &Status) -> String {
    let share = format!("{:3.0}%", status.share * 100.0);
    match status.remaining {
        Some(left) if left >= Duration::from_secs(1) => {
            format!("{share}  {}  (about {} left)", status.step, seconds(left))
        }
        _ => format!("{share}  {}", status.step),
    }
}
