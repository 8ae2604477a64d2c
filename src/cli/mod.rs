//! The command line: arguments to the window or to a command, one file a command.
//!
//! Exit codes: 0 all is well, 1 an input or a case failed, 2 the command line is not understood.

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

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// See, set and time exact inference in Bayesian networks.
///
/// Without a command the window opens, on NETWORK if one is given. A NETWORK is the path of a file
/// or the name of a sample; a file that is called like a command is given with its folder, as ./info.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    window: window::Args,
}

#[derive(Subcommand)]
enum Command {
    /// Describe a network and its junction tree
    Info(info::Args),
    /// Compute the posteriors of all variables
    Query(query::Args),
    /// Write a network in another format
    Convert(convert::Args),
    /// Time the propagation
    Bench(bench::Args),
    /// List the engines and whether they can run here
    Engines(engines::Args),
    /// Run one of the paper's experiments: a table, a figure or a formula
    Experiment(experiment::Args),
    /// Record all engines on this machine, for machines that have no GPU
    Record(record::Args),
}

/// What a command comes to: the exit code, or a message that ends it.
type Outcome = Result<ExitCode, String>;

/// Runs what the command line asks for.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(Command::Info(args)) => info::run(&args),
        Some(Command::Query(args)) => query::run(&args),
        Some(Command::Convert(args)) => convert::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Engines(args)) => engines::run(&args),
        Some(Command::Experiment(args)) => experiment::run(&args),
        Some(Command::Record(args)) => record::run(&args),
        None => window::run(cli.window),
    };
    outcome.unwrap_or_else(|message| {
        output::note(&format!("error: {message}"));
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
