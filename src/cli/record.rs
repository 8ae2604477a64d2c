//! `cliquescope record`: measures what machines without a GPU are shown.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cliquescope::experiment::{ExperimentError, Recorder, Recording, RecordingSetup, Subject};
use cliquescope::numbers;
use cliquescope::propagation::human_bytes;
use cliquescope::store::{make_folder, write_atomically};

use super::Outcome;
use super::experiment::{progress, seconds};
use super::options;
use super::output;

/// Record all engines on this machine, for machines that have no GPU.
///
/// Each network is propagated on two junction trees by every engine that runs here, with and
/// without a look at each message, and gpu-paper in every block size and layout. The file is named
/// after the machine and written after each network: what a run has measured when it is stopped is
/// kept, and --resume goes on from there.
#[derive(clap::Args)]
pub struct Args {
    /// Names of samples [default: the paper's eight]
    network: Vec<String>,

    /// Folder for the file
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Propagations for each time; slow engines are measured less often
    #[arg(long, value_name = "N", default_value_t = 60)]
    #[arg(value_parser = options::whole(1..=u32::MAX))]
    repeat: u32,

    /// Threads that an engine may use [default: as many as the machine runs at once]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// Commit that the program was built from, to be noted; without it a recording cannot be resumed
    #[arg(long, value_name = "ID")]
    commit: Option<String>,

    /// Keep the networks that the file holds and measure the others. It must be of this machine, this
    /// commit and the same options
    #[arg(long)]
    resume: bool,

    /// Replace the file if it is there
    #[arg(long, conflicts_with = "resume")]
    force: bool,
}

pub fn run(args: &Args) -> Outcome {
    let mut setup = RecordingSetup::new(args.commit.as_deref());
    if !args.network.is_empty() {
        let subject = |name: &String| {
            let missing = || format!("there is no sample '{name}'; recordings are of samples");
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
    let about_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let held = held(args, &path).map_err(|error| about_file(&error))?;

    let progress = progress();
    let recorder =
        Recorder::new(setup, held, progress.cancel_token()).map_err(|error| about_file(&error))?;
    // What cannot be written is better known before anything is measured.
    let before = std::fs::read(&path).unwrap_or_else(|_| recorder.recording().write());
    make_folder(&args.out)
        .and_then(|()| write_atomically(&path, &before))
        .map_err(|error| about_file(&error))?;
    tell_what_is_to_come(&recorder, &path);

    let recording = recorder
        .run(&progress, |recording| {
            write_atomically(&path, &recording.write()).map_err(|error| about_file(&error))?;
            output::note(&format!("{}: holds {}", path.display(), recording.names().join(", ")));
            Ok(())
        })
        .map_err(|error| match error {
            ExperimentError::Failed(reason) => {
                format!("{reason}; what {} holds is kept", path.display())
            }
            cancelled => cancelled.to_string(),
        })?;
    for (engine, least, most) in counts(&recording) {
        let counts = if least == most { least.to_string() } else { format!("{least} to {most}") };
        output::note(&format!("{engine}: medians of {counts} propagations"));
    }
    let size = human_bytes(std::fs::metadata(&path).map_or(0, |file| file.len()));
    output::note(&format!("{}: {size}, {}", path.display(), recording.credit()));
    Ok(ExitCode::SUCCESS)
}

/// What is in the file already and is to stay; `None` to begin anew.
fn held(args: &Args, path: &Path) -> Result<Option<Recording>, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if args.force {
        return Ok(None);
    }
    match Recording::read(&bytes) {
        // A run that was stopped within its first network leaves no more.
        Ok(recording) if recording.networks.is_empty() => Ok(None),
        Ok(recording) if args.resume => Ok(Some(recording)),
        Err(error) if args.resume => Err(error),
        _ => Err("is there already; --resume goes on with it, --force replaces it".to_owned()),
    }
}

fn tell_what_is_to_come(recorder: &Recorder, path: &Path) {
    let held = recorder.recording().names();
    if !held.is_empty() {
        output::note(&format!("{}: holds {} already", path.display(), held.join(", ")));
    }
    let trees: usize = recorder.remaining().map(|(_, trees)| trees).sum();
    if trees == 0 {
        output::note("there is nothing left to measure");
    } else {
        let time = seconds(recorder.forecast());
        let networks = numbers::counted(recorder.remaining().len(), "network", "networks");
        output::note(&format!("about {time} for {networks} on {trees} junction trees in all"));
    }
}

/// Of each engine the least and the greatest number of propagations that a time is the median of.
fn counts(recording: &Recording) -> Vec<(&str, usize, usize)> {
    let mut counts: Vec<(&str, usize, usize)> = Vec::new();
    for run in recording.networks.iter().flat_map(|network| &network.runs) {
        let count = run.propagate_us.count;
        match counts.iter_mut().find(|(engine, ..)| *engine == run.engine) {
            Some((_, least, most)) => (*least, *most) = (count.min(*least), count.max(*most)),
            None => counts.push((&run.engine, count, count)),
        }
    }
    counts
}

/// The machine in letters, digits and hyphens.
fn file_name(machine: &str) -> String {
    let title = machine.to_ascii_lowercase();
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}
