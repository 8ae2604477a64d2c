//! `cliquescope convert`: writes a network in another format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cliquescope::format::{self, Format};
use cliquescope::propagation::MemoryLimit;
use cliquescope::store::write_atomically;

use super::Outcome;
use super::{options, output};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    input: OsString,

    /// The file to write. Its extension chooses the format
    output: PathBuf,

    /// Format to write, whatever the extension: a name or extension such as bif, net, uai, xml or
    /// xdsl
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<Format>,

    /// Replace OUTPUT if it exists
    #[arg(long)]
    force: bool,
}

fn parse_format(name: &str) -> Result<Format, String> {
    Format::by_name(name).ok_or_else(|| format!("expected {}", written_extensions()))
}

/// The usual extensions of all formats that can be written.
fn written_extensions() -> String {
    let written = Format::ALL.iter().filter(|format| format.can_write());
    written.map(|format| format.extensions()[0]).collect::<Vec<_>>().join(", ")
}

/// Converts a file.
pub fn run(args: &Args) -> Outcome {
    let path = &args.output;
    let name = path.display();
    let format = args.to.or_else(|| Format::by_extension(&path.to_string_lossy()));
    let format = format.ok_or_else(|| {
        format!("{name}: unknown extension; use one of {}, or --to", written_extensions())
    })?;
    if path.exists() && !args.force {
        return Err(format!("{name} already exists; use --force to replace it").into());
    }
    let read = options::open(&args.input, MemoryLimit::from_bytes(u64::MAX))?;
    let written =
        format::write(&read.network, format).map_err(|error| format!("{name}: {error}"))?;
    for lost in &written.lost {
        output::note(&format!("warning: {name}: {} cannot represent {lost}", format.name()));
    }
    write(path, written.text.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes `bytes`, compressed if the extension of `path` is `gz`.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let is_compressed =
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    if is_compressed {
        write_atomically(path, &format::gzip(bytes))
    } else {
        write_atomically(path, bytes)
    }
}
