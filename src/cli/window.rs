//! No command: the window.

use std::path::PathBuf;

use super::{Outcome, options};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    network: Option<String>,

    /// Open with this evidence; may be repeated
    #[arg(long, value_name = "VAR=STATE", value_parser = options::finding)]
    evidence: Vec<String>,

    /// Write a picture of the window to FILE once the posteriors are there, and quit
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,

    /// Size of the window
    #[arg(long, value_name = "WxH", value_parser = options::size)]
    size: Option<(f32, f32)>,

    /// Dark or light [default: as the settings have it]
    #[arg(long)]
    theme: Option<Theme>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Theme {
    Dark,
    Light,
}

/// Opens the window.
#[cfg(feature = "app")]
pub fn run(args: Args) -> Outcome {
    let launch = cliquescope::app::LaunchOptions {
        evidence: findings(&args)?,
        network: args.network,
        screenshot: args.screenshot,
        size: args.size,
        theme: args.theme.map(|theme| match theme {
            Theme::Dark => cliquescope::app::model::ThemeChoice::Dark,
            Theme::Light => cliquescope::app::model::ThemeChoice::Light,
        }),
    };
    cliquescope::app::run(launch).map(|()| std::process::ExitCode::SUCCESS)
}

/// Says that there is no window.
#[cfg(not(feature = "app"))]
pub fn run(args: Args) -> Outcome {
    findings(&args)?;
    let _ = (args.screenshot, args.size, args.theme);
    Err("this program was built without the window; \
         'cliquescope --help' lists the commands that it has"
        .to_owned())
}

/// The findings as variable and state by name.
///
/// They can only be told apart with the network at hand, so it is read here once; a mistake in
/// either is reported where the user still looks, in the terminal.
fn findings(args: &Args) -> Result<Vec<(String, String)>, String> {
    if args.evidence.is_empty() {
        return Ok(Vec::new());
    }
    let Some(spec) = &args.network else {
        return Err("--evidence needs a NETWORK that it is about".to_owned());
    };
    let read = cliquescope::format::open(spec).map_err(|error| error.to_string())?;
    let network = &read.network;
    options::evidence(network, &args.evidence)?;
    let by_name = |finding: &String| {
        let (variable, state) = options::split_finding(network, finding);
        (variable.to_owned(), state.to_owned())
    };
    Ok(args.evidence.iter().map(by_name).collect())
}
