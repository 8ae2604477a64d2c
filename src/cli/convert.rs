//! `cliquescope convert`: a network from one format to another.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cliquescope::format::{self, Format};
use cliquescope::store::write_atomically;

use super::Outcome;
use super::{options, output};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    input: String,

    /// The file to write; its ending names the format
    output: PathBuf,

    /// Format to write, whatever the ending: its name or usual ending, as bif, net, uai, xml or xdsl
    #[arg(long, value_name = "FORMAT", value_parser = format_called)]
    to: Option<Format>,

    /// Replace OUTPUT if it is there
    #[arg(long)]
    force: bool,
}

fn format_called(name: &str) -> Result<Format, String> {
    Format::by_name(name).ok_or_else(|| format!("expected {}", written()))
}

/// The formats that are written, with their endings.
fn written() -> String {
    let written = Format::ALL.iter().filter(|format| format.is_written());
    written.map(|format| format.extensions()[0]).collect::<Vec<_>>().join(", ")
}

pub fn run(args: &Args) -> Outcome {
    let path = &args.output;
    let name = path.display();
    let format = args.to.or_else(|| Format::by_extension(&path.to_string_lossy()));
    let format = format.ok_or_else(|| {
        format!("{name}: the ending names no format; expected one of {}, or --to", written())
    })?;
    if path.exists() && !args.force {
        return Err(format!("{name} is there already; --force replaces it"));
    }
    let read = options::open(&args.input)?;
    let written =
        format::write(&read.network, format).map_err(|error| format!("{name}: {error}"))?;
    for lost in &written.lost {
        output::note(&format!("warning: {name}: {} has no place for {lost}", format.name()));
    }
    write(path, written.text.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes `bytes`, packed if the name ends so.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let is_packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    if is_packed {
        write_atomically(path, &format::gzip(bytes))
    } else {
        write_atomically(path, bytes)
    }
}
