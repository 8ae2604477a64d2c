//! `cliquescope record`: records measurements for machines without a GPU.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cliquescope::experiment::{ExperimentError, Recorder, Recording, RecordingSetup, Subject};
use cliquescope::numbers;
use cliquescope::store::{make_folder, write_atomically};

use super::Outcome;
use super::experiment::{progress, seconds};
use super::options;
use super::output;

/// Measure all engines on this machine, for display on machines without a GPU.
///
/// Each engine that can time its messages and run on this machine propagates each network on a
/// junction tree like the paper's and on the smallest known one, with and without timing each
/// message. gpu-paper also runs with every block size and layout, and some engines also run on
/// trees in which small separators are merged away. The file is named after the machine and written
/// after each network. If a run is stopped, the file has the networks measured so far, and --resume
/// continues from there.
#[derive(clap::Args)]
pub struct Args {
    /// Names of samples [default: the paper's eight]
    network: Vec<String>,

    /// Folder for the file
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Maximum number of propagations for each median; slow engines make fewer, and so do runs with
    /// other block sizes or merged separators
    #[arg(long, value_name = "N", default_value_t = 60)]
    #[arg(value_parser = options::whole(1..=u32::MAX))]
    repeat: u32,

    /// Threads that an engine may use [default: all that the machine has]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// Commit that the program was built from, to be recorded [default: the one that the build
    /// noted, if any]. A recording without a commit cannot be resumed
    #[arg(long, value_name = "ID")]
    commit: Option<String>,

    /// Keep the networks in the file and measure the others. The file must be from this machine and
    /// commit, with the same options
    #[arg(long)]
    resume: bool,

    /// Replace the file if it exists
    #[arg(long, conflicts_with = "resume")]
    force: bool,
}

/// Makes or continues a recording.
pub fn run(args: &Args) -> Outcome {
    let mut setup = RecordingSetup::new(args.commit.as_deref());
    if !args.network.is_empty() {
        let subject = |name: &String| {
            let missing = || format!("there is no sample '{name}'; only samples can be recorded");
            Subject::sample(name).ok_or_else(missing)
        };
        setup.networks = args.network.iter().map(subject).collect::<Result<_, _>>()?;
    }
    setup.repeat = args.repeat;
    setup.threads = options::threads(args.threads);
    if setup.provenance.commit.is_none() {
        output::note("warning: without --commit the recording cannot be resumed");
    }
    let path = args.out.join(format!("{}.json.gz", file_name(setup.provenance.machine.title())));
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let existing = existing_recording(args, &path).map_err(|error| in_file(&error))?;

    let progress = progress();
    let recorder =
        Recorder::new(setup, existing, progress.cancel_token()).map_err(|error| in_file(&error))?;
    // Find out before measuring whether the file can be written.
    let before = std::fs::read(&path).unwrap_or_else(|_| recorder.recording().write());
    make_folder(&args.out)
        .and_then(|()| write_atomically(&path, &before))
        .map_err(|error| in_file(&error))?;
    announce(&recorder, &path);

    let recording = recorder
        .run(&progress, |recording| {
            write_atomically(&path, &recording.write()).map_err(|error| in_file(&error))?;
            output::note(&format!("{}: has {}", path.display(), recording.names().join(", ")));
            Ok(())
        })
        .map_err(|error| match error {
            ExperimentError::Failed(reason) => {
                format!("{reason}; {} keeps what was measured", path.display())
            }
            cancelled => cancelled.to_string(),
        })?;
    for (engine, min, max) in counts(&recording) {
        let counts = if min == max {
            numbers::counted(min, "propagation", "propagations")
        } else {
            format!("{min} to {max} propagations")
        };
        output::note(&format!("{engine}: medians of {counts}"));
    }
    let size = numbers::human_bytes(std::fs::metadata(&path).map_or(0, |file| file.len()));
    output::note(&format!("{}: {size}, {}", path.display(), recording.credit()));
    Ok(ExitCode::SUCCESS)
}

/// The recording to continue; `None` to start a new one.
fn existing_recording(args: &Args, path: &Path) -> Result<Option<Recording>, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if args.force {
        return Ok(None);
    }
    match Recording::read(&bytes) {
        // A run that was stopped during its first network left this file.
        Ok(recording) if recording.networks.is_empty() => Ok(None),
        Ok(recording) if args.resume => Ok(Some(recording)),
        Err(error) if args.resume => Err(error),
        _ => Err("already exists; use --resume to continue it or --force to replace it".to_owned()),
    }
}

/// Prints what will be measured and about how long it takes.
fn announce(recorder: &Recorder, path: &Path) {
    let measured = recorder.recording().names();
    if !measured.is_empty() {
        output::note(&format!("{}: already has {}", path.display(), measured.join(", ")));
    }
    let trees: usize = recorder.remaining().map(|(_, trees)| trees).sum();
    if trees == 0 {
        output::note("nothing left to measure");
    } else {
        let time = seconds(recorder.forecast());
        let networks = numbers::counted(recorder.remaining().len(), "network", "networks");
        let trees = numbers::counted(trees, "junction tree", "junction trees");
        output::note(&format!("about {time} for {networks} on {trees}"));
    }
}

/// For each engine, the minimum and the maximum number of propagations per median.
fn counts(recording: &Recording) -> Vec<(&str, usize, usize)> {
    let mut counts: Vec<(&str, usize, usize)> = Vec::new();
    for run in recording.networks.iter().flat_map(|network| &network.runs) {
        let count = run.propagate_us.count;
        match counts.iter_mut().find(|(engine, ..)| *engine == run.engine) {
            Some((_, min, max)) => (*min, *max) = (count.min(*min), count.max(*max)),
            None => counts.push((&run.engine, count, count)),
        }
    }
    counts
}

/// The title of a `machine` as a file name without an extension: lower-case letters and digits,
/// with a hyphen in place of all other characters between them.
fn file_name(machine: &str) -> String {
    let title = machine.to_ascii_lowercase();
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}
