//! `cliquescope record`: measures what machines without a GPU are shown.

use std::path::PathBuf;
use std::process::ExitCode;

use cliquescope::experiment::{Recording, RecordingSetup, Subject, record_all};
use cliquescope::files::write_atomically;
use cliquescope::propagation::human_bytes;

use super::Outcome;
use super::experiment::progress;
use super::options;
use super::output;

/// Record all engines on this machine, for machines that have no GPU.
///
/// Each network is propagated on two junction trees by every engine that runs here, with and
/// without a look at each message, and gpu-paper in every block size and layout. The file is named
/// after the machine and takes the place of one of the same name.
#[derive(clap::Args)]
pub struct Args {
    /// Names of samples [default: the paper's eight]
    network: Vec<String>,

    /// Folder for the file
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Propagations for each time; slow engines are measured less often
    #[arg(long, value_name = "N", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Threads that an engine may use [default: as many as the machine runs at once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Commit that the program was built from, to be noted
    #[arg(long, value_name = "ID")]
    commit: Option<String>,
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
    let recording = record_all(&setup, &progress()).map_err(|error| error.to_string())?;
    let bytes = recording.write();
    let path = args.out.join(format!("{}.json.gz", file_name(&recording)));
    std::fs::create_dir_all(&args.out)
        .and_then(|()| write_atomically(&path, &bytes))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let size = human_bytes(bytes.len() as u64);
    output::note(&format!("{}: {size}, {}", path.display(), recording.credit()));
    Ok(ExitCode::SUCCESS)
}

/// The machine in letters, digits and hyphens.
fn file_name(recording: &Recording) -> String {
    let title = recording.provenance.machine.title().to_ascii_lowercase();
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}
