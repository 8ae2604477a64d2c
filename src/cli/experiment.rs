//! `cliquescope experiment`: the paper's table, figures and formulas on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use cliquescope::cancel::CancelToken;
use cliquescope::experiment::{self, Experiment, Progress, Record, Setup, Status, Subject};
use cliquescope::files::write_atomically;
use cliquescope::graph::Triangulation;
use cliquescope::numbers;
use cliquescope::propagation::MemoryLimit;

use super::Outcome;
use super::options::{self, PaperArgs};
use super::output;

/// Run one of the paper's experiments.
///
/// Writes NAME.json, NAME.svg, and a CSV file for each table to a folder. Engines that cannot run
/// here are taken from a recording that is part of the program, and marked as such.
///
/// table1  junction trees and times, the paper's beside ours
/// fig4    histograms of separator sizes
/// fig5    time against the threads of a block
/// fig6    speed-up against the mean separator size
/// fig7    kernel overhead against execution
/// fig8    naive against interleaved mapping tables
/// model   equations 4 to 6 against what is measured
/// merging merging small separators, the paper's future work
/// ladder  from the paper's kernel to engine gpu, and the floor
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Which experiment, or all
    #[arg(value_parser = names())]
    name: String,

    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// Paths of files, or names of samples [default: those of the paper's table or figure]
    #[arg(long, value_name = "NETWORK", num_args = 1..)]
    networks: Vec<String>,

    /// The engine that is looked at
    #[arg(long, value_parser = options::engine_names(), default_value = "gpu-paper")]
    engine: String,

    /// The engine that it is compared with
    #[arg(long, value_parser = options::engine_names(), default_value = "sequential")]
    baseline: String,

    /// How the moral graph is triangulated; weighted-min-fill gives the paper's own trees
    #[arg(long, value_name = "METHOD", default_value = "weighted-min-fill")]
    #[arg(value_parser = options::triangulations())]
    triangulation: String,

    /// Propagations for each time
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Threads that an engine may use [default: as many as the machine runs at once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Largest separator that experiment merging merges away besides those that it tries anyway, in
    /// entries
    #[arg(long, value_name = "ENTRIES")]
    threshold: Option<u64>,

    /// Memory that an engine may take, as 2GiB, 500MB or a number of bytes [default: half of what
    /// is available]
    #[arg(long, value_name = "SIZE", value_parser = options::memory)]
    memory_limit: Option<MemoryLimit>,

    /// Show the recording even where the engine runs
    #[arg(long)]
    recorded: bool,

    #[command(flatten)]
    paper: PaperArgs,
}

/// The names of all experiments, and `all`, for `value_parser`.
fn names() -> PossibleValuesParser {
    let names = experiment::all().iter().map(|experiment| experiment.name);
    names.chain(["all"]).collect::<Vec<_>>().into()
}

pub fn run(args: &Args) -> Outcome {
    let chosen = |experiment: &&Experiment| args.name == "all" || args.name == experiment.name;
    std::fs::create_dir_all(&args.out)
        .map_err(|error| format!("{}: {error}", args.out.display()))?;
    let mut opened = Vec::new();
    for experiment in experiment::all().iter().filter(chosen) {
        output::note(experiment.title);
        let setup = setup(args, experiment, &mut opened)?;
        let record = experiment.run(&setup, &progress()).map_err(|error| error.to_string())?;
        write(&args.out, &record)?;
        for note in record.recorded.iter().chain(&record.notes) {
            output::note(&format!("  {note}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What `experiment` is run on and how. A network that is `opened` already is not read again.
fn setup(
    args: &Args,
    experiment: &Experiment,
    opened: &mut Vec<(String, Subject)>,
) -> Result<Setup, String> {
    let default = experiment.networks.iter().map(|name| (*name).to_owned());
    let names = if args.networks.is_empty() { default.collect() } else { args.networks.clone() };
    let mut subject = |name: &String| {
        if let Some((_, subject)) = opened.iter().find(|(known, _)| known == name) {
            return Ok(subject.clone());
        }
        let read = options::open(name)?;
        let subject = Subject { name: read.origin.title(), network: read.network };
        opened.push((name.clone(), subject.clone()));
        Ok(subject)
    };
    let networks = names.iter().map(&mut subject).collect::<Result<_, String>>()?;
    let mut setup = Setup::new(networks);
    setup.engine.clone_from(&args.engine);
    setup.baseline.clone_from(&args.baseline);
    setup.triangulation = args.triangulation.parse::<Triangulation>()?;
    setup.repeat = args.repeat;
    setup.threads = options::threads(args.threads);
    setup.paper = args.paper.options();
    setup.prefer_recorded = args.recorded;
    setup.threshold = args.threshold.unwrap_or(setup.threshold);
    setup.memory = args.memory_limit.unwrap_or(setup.memory);
    Ok(setup)
}

/// Writes the record as JSON, as SVG, and each of its tables as CSV: the first as NAME.csv, the
/// others as NAME-TABLE.csv.
fn write(folder: &Path, record: &Record) -> Result<(), String> {
    for (name, text) in record.files(&record.experiment) {
        let path = folder.join(name);
        let outcome = write_atomically(&path, text.as_bytes());
        outcome.map_err(|error| format!("{}: {error}", path.display()))?;
        output::note(&format!("  {}", path.display()));
    }
    Ok(())
}

/// Progress that is told on standard error, a line a step.
pub fn progress() -> Progress {
    Progress::new(CancelToken::new()).told_to(|status| output::note(&in_a_line(status)))
}

/// An estimate of a time, without fractions of a second that would pretend to more.
pub fn seconds(time: Duration) -> String {
    numbers::counted(time.as_secs().max(1) as usize, "second", "seconds")
}

fn in_a_line(status: &Status) -> String {
    let share = format!("{:3.0}%", status.share * 100.0);
    match status.left {
        Some(left) if left >= Duration::from_secs(1) => {
            format!("{share}  {}  (about {} left)", status.what, seconds(left))
        }
        _ => format!("{share}  {}", status.what),
    }
}
