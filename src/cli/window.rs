//! Without a command: opens the window.

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(feature = "app")]
use cliquescope::format::NetworkSource;
use cliquescope::potential::Precision;
use cliquescope::propagation::MemoryLimit;

use super::{Outcome, options};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    network: Option<OsString>,

    /// Observe a variable in a state; can be repeated
    #[arg(long, value_name = "VAR=STATE", value_parser = options::finding)]
    evidence: Vec<String>,

    /// Start the lesson in FILE
    #[arg(long, value_name = "FILE", conflicts_with = "network")]
    lesson: Option<PathBuf>,

    /// Write a picture of the window to FILE once the posteriors are shown, and quit
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,

    /// Size of the window in points
    #[arg(long, value_name = "WxH", value_parser = options::size)]
    size: Option<(f32, f32)>,

    /// Colour theme, dark or light [default: as in the settings]
    #[arg(long)]
    theme: Option<Theme>,

    /// How to triangulate the moral graph, in place of the setting in the window
    #[arg(long, value_name = "METHOD", value_parser = options::triangulations())]
    triangulation: Option<String>,

    /// Engine to propagate with, in place of the setting in the window
    #[arg(long, value_parser = options::engine_names())]
    engine: Option<String>,

    /// Number type of the tables, f32 or f64, in place of the setting in the window
    #[arg(long)]
    precision: Option<Precision>,

    /// Memory that an engine may use, in place of the setting in the window
    #[arg(long, value_name = "SIZE", value_parser = options::memory)]
    memory_limit: Option<MemoryLimit>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Theme {
    Dark,
    Light,
}

/// Opens the window, if the program was built with it.
pub fn run(args: Args) -> Outcome {
    let evidence = findings(&args)?;
    check_engine(&args)?;
    open(args, evidence)
}

/// Opens the window with these arguments.
#[cfg(feature = "app")]
fn open(args: Args, evidence: Vec<(String, String)>) -> Outcome {
    if let Some(lesson) = &args.lesson {
        // A mistake in the lesson is reported in the terminal, before the window opens.
        cliquescope::app::state::lessons::read(lesson)?;
    }
    let launch = cliquescope::app::LaunchOptions {
        network: args.network.map(source),
        evidence,
        lesson: args.lesson,
        screenshot: args.screenshot,
        size: args.size,
        theme: args.theme.map(|theme| match theme {
            Theme::Dark => cliquescope::app::state::settings::ThemeChoice::Dark,
            Theme::Light => cliquescope::app::state::settings::ThemeChoice::Light,
        }),
        engine: args.engine,
        precision: args.precision,
        triangulation: args.triangulation.map(|name| name.parse()).transpose()?,
        memory: args.memory_limit,
    };
    let outcome = cliquescope::app::run(launch).map(|()| std::process::ExitCode::SUCCESS);
    outcome.map_err(|message| without_source_path(&message).into())
}

/// The network that the user named.
#[cfg(feature = "app")]
fn source(network: OsString) -> NetworkSource {
    match network.into_string() {
        Ok(name) => NetworkSource::Named(name),
        Err(path) => NetworkSource::File(path.into()),
    }
}

/// If `message` contains an error of winit, removes the path of the source file that winit puts
/// before the reason, and adds a hint. Returns other messages unchanged.
#[cfg(any(feature = "app", test))]
fn without_source_path(message: &str) -> String {
    let Some((before, rest)) = message.split_once("winit EventLoopError: os error at ") else {
        return message.to_owned();
    };
    let reason = rest.split_once(".rs:").and_then(|(_, rest)| rest.split_once(": "));
    let reason = reason.map_or(rest, |(_, reason)| reason).trim_end_matches('.');
    format!("{before}{reason}; 'cliquescope --help' lists the commands that need no display")
}

/// In a build without the window: returns an error that says so.
#[cfg(not(feature = "app"))]
fn open(args: Args, _: Vec<(String, String)>) -> Outcome {
    let _ = (
        args.lesson,
        args.screenshot,
        args.size,
        args.theme,
        args.triangulation,
        args.memory_limit,
    );
    Err("this program was built without the window; \
         'cliquescope --help' lists its commands"
        .to_owned()
        .into())
}

/// Checks that the requested engine can run and supports the requested precision, so that the
/// window does not open with another engine. If no engine was requested, checks nothing.
fn check_engine(args: &Args) -> Result<(), String> {
    let Some(name) = &args.engine else { return Ok(()) };
    let engine = options::engine(name)?;
    engine.availability().map_err(|reason| format!("engine {name} cannot run here: {reason}"))?;
    match args.precision {
        Some(precision) if !engine.precisions().contains(&precision) => {
            Err(format!("engine {name} does not support {precision}"))
        }
        _ => Ok(()),
    }
}

/// The findings as names of variables and states.
///
/// Splitting a finding requires the network, so the network is read here too. A mistake in the
/// network or in a finding is then reported in the terminal, before the window opens.
fn findings(args: &Args) -> Result<Vec<(String, String)>, String> {
    if args.evidence.is_empty() {
        return Ok(Vec::new());
    }
    let Some(spec) = &args.network else {
        return Err("--evidence needs a NETWORK".to_owned());
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

#[cfg(test)]
mod tests {
    use super::without_source_path;

    #[test]
    fn the_source_path_in_an_error_of_winit_is_replaced_with_a_hint() {
        let message = "the window cannot be opened: winit EventLoopError: os error at \
                       /home/a.rs/winit/src/mod.rs:765: neither A: nor B is set.";
        assert_eq!(
            without_source_path(message),
            "the window cannot be opened: neither A: nor B is set; \
             'cliquescope --help' lists the commands that need no display"
        );
        assert_eq!(without_source_path("out.png: it is a folder"), "out.png: it is a folder");
    }
}
