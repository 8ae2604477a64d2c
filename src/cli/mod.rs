//! The command line: opens the window or runs a command. Each command has a module.
//!
//! Exit codes: 0 for success, 1 if the command or one of its cases failed, 2 if the command line
//! cannot be parsed, 3 if the machine did not have enough memory or more was needed than
//! `--memory-limit` allows, 130 if a query was interrupted.

mod bench;
mod convert;
mod engines;
mod experiment;
mod info;
mod options;
mod output;
mod query;
mod record;
mod window;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use cliquescope::allocate;
use cliquescope::engine::LoadError;
use cliquescope::experiment::ExperimentError;

/// Run, watch and time exact inference in Bayesian networks.
///
/// Without a command, opens the window, with NETWORK if given. A NETWORK is the path of a file or
/// the name of a sample. If a file has the name of a command, give its folder too, as in ./info.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    window: window::Args,
}

// The help of a command without a comment here is the longer comment on its `Args`.
#[derive(Subcommand)]
enum Command {
    /// Describe a network and its junction tree
    Info(info::Args),
    /// Compute the posteriors of all variables
    Query(query::Args),
    /// Write a network in another format
    Convert(convert::Args),
    Bench(bench::Args),
    /// List the engines and whether they can run on this machine
    Engines(engines::Args),
    Experiment(experiment::Args),
    Record(record::Args),
}

/// The exit code of a command that failed because the machine did not have enough memory, or
/// because more was needed than the memory limit allows.
const NO_MEMORY: u8 = 3;

/// How a command ends: with an exit code or a failure.
type Outcome = Result<ExitCode, Failure>;

/// Why a command failed.
struct Failure {
    /// For the user.
    message: String,
    /// Whether more memory is needed than the limit allows. The exit code is then [`NO_MEMORY`].
    is_refusal: bool,
}

impl Failure {
    /// A failure because more memory is needed than the limit allows. `message` says so.
    fn refusal(message: impl Display) -> Self {
        Self { message: message.to_string(), is_refusal: true }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, is_refusal: false }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let is_refusal = matches!(error, ExperimentError::TooLarge(_));
        Self { message: error.to_string(), is_refusal }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self { message: error.to_string(), is_refusal: error.exceeds_limit() }
    }
}

/// Runs the program as the command line says.
pub fn main() -> ExitCode {
    let code = match parse(std::env::args_os()) {
        Ok(cli) => execute(cli),
        Err(error) => {
            let _ = error.print();
            u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    };
    if allocate::has_used_reserve() {
        end_at_once(code);
    }
    code
}

/// Ends the program without what the C library does at a normal exit. At a normal exit, mimalloc
/// would read a table that it may have failed to allocate.
fn end_at_once(code: ExitCode) -> ! {
    let _ = std::io::stdout().flush();
    // An `ExitCode` can be compared with another one, but not converted to a number.
    let number = (0..=u8::MAX).find(|&number| code == ExitCode::from(number));
    signal_hook::low_level::exit(number.unwrap_or(NO_MEMORY).into())
}

/// Does what the command line says.
fn execute(cli: Cli) -> ExitCode {
    let outcome = match &cli.command {
        Some(command) => allocate::effect_or_error(|| run(command))
            .unwrap_or_else(|error| Err(error.to_string().into())),
        // If a step of the window runs out of memory, the window must stay open. So the steps
        // catch this failure themselves.
        None => window::run(cli.window),
    };
    let code = outcome.unwrap_or_else(|failure| {
        output::note(&format!("error: {}", failure.message));
        if failure.is_refusal { ExitCode::from(NO_MEMORY) } else { ExitCode::FAILURE }
    });
    let is_for_memory = code == ExitCode::FAILURE && allocate::has_failed();
    if is_for_memory { ExitCode::from(NO_MEMORY) } else { code }
}

/// Runs a command.
fn run(command: &Command) -> Outcome {
    match command {
        Command::Info(args) => info::run(args),
        Command::Query(args) => query::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Engines(args) => engines::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Record(args) => record::run(args),
    }
}

/// Ends the program when even its reserve of memory is used up, without allocating.
pub fn end_without_memory() {
    let _ = std::io::stderr().write_all(b"error: not enough memory\n");
    signal_hook::low_level::exit(NO_MEMORY.into());
}

/// The command line with all its commands.
fn command_line() -> clap::Command {
    // Without this, clap reports a negative number as an unknown option.
    let numbers = |arg: Arg| {
        let takes_value = arg.get_action().takes_values() && !arg.is_positional();
        arg.allow_negative_numbers(takes_value)
    };
    Cli::command().mut_subcommands(|command| command.mut_args(numbers))
}

/// Parses the command line. If the first word is neither an option nor a command, but another
/// argument follows, the error lists the commands.
fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command_line();
    let matches = command.try_get_matches_from_mut(arguments).map_err(|error| {
        let unknown = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(name)) => command.find_subcommand(name).is_none(),
            _ => false,
        };
        if !unknown {
            return error;
        }
        // The first argument is not a command, so clap took it for a NETWORK and rejected the
        // second argument.
        let names = command.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>();
        let names = names.join(", ");
        let message = format!("expected one of the commands {names}, or a single NETWORK");
        command.error(ErrorKind::InvalidSubcommand, message)
    })?;
    Cli::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn every_command_has_help() {
        for mut command in command_line().get_subcommands().cloned() {
            let name = command.get_name().to_owned();
            assert!(command.get_about().is_some(), "{name}");
            // Line breaks depend on the width of the terminal.
            let help = command.render_long_help().to_string();
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = match name.as_str() {
                "bench" => "compile_ms the time for building",
                "experiment" => "fig4 histograms of separator sizes",
                "record" => "--resume continues from there",
                _ => "Usage:",
            };
            assert!(words.contains(expected), "{help}");
        }
    }
}
