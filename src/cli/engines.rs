//! `cliquescope engines`: lists the engines.

use std::process::ExitCode;

use cliquescope::engine::{self, Engine, ErrorBound};
use cliquescope::potential::Precision;
use serde::Serialize;

use super::Outcome;
use super::output::{self, Align, Table};

#[derive(clap::Args)]
pub struct Args {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// An engine in the list.
#[derive(Serialize)]
struct Record {
    engine: &'static str,
    summary: &'static str,
    default: bool,
    precisions: &'static [Precision],
    /// The error bound for each of `precisions`, in the same order.
    error_bounds: Vec<ErrorBound>,
    available: bool,
    /// Why the engine cannot run on this machine; null if it can.
    reason: Option<String>,
}

impl Record {
    fn of(engine: &dyn Engine) -> Self {
        let reason = engine.availability().err();
        let bound = |&precision| ErrorBound::of(precision);
        Self {
            engine: engine.name(),
            summary: engine.summary(),
            default: engine.info() == engine::default_engine().info(),
            precisions: engine.precisions(),
            error_bounds: engine.precisions().iter().map(bound).collect(),
            available: reason.is_none(),
            reason,
        }
    }
}

/// Lists the engines.
pub fn run(args: &Args) -> Outcome {
    let records: Vec<Record> = engine::all().iter().map(|&engine| Record::of(engine)).collect();
    if args.json {
        output::print_json(&records)?;
    } else {
        let mut table = Table::new([Align::Left; 4]);
        table.row(["engine", "precisions", "available", "description"]);
        for record in &records {
            let precisions: Vec<_> = record.precisions.iter().map(|p| p.name()).collect();
            let available = match (&record.reason, record.default) {
                (None, true) => "yes, default".to_owned(),
                (None, false) => "yes".to_owned(),
                (Some(reason), _) => format!("no: {reason}"),
            };
            table.row([record.engine, &precisions.join(" "), &available, record.summary]);
        }
        output::print(&table.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
