//! `cliquescope query`: computes the posteriors of all variables.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions, PropagationError, QueryError};
use cliquescope::network::{Evidence, Finding, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::{Form, Posteriors};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::options::{self, CompileArgs, PaperArgs, WithoutArgs};
use super::output::{self, Align, Table};

#[derive(clap::Args)]
pub struct Args {
    /// Path of a file, or name of a sample
    network: String,

    /// Observe a variable in a state; can be repeated. Applies to every case of an evidence file
    /// and replaces the case's own finding on the variable
    #[arg(long, value_name = "VAR=STATE", value_parser = options::finding)]
    evidence: Vec<String>,

    /// File of cases: JSON, CSV, Hugin's .hcs or .dat, Netica's .cas or UAI's .evid; - is standard
    /// input. JSON is one object {"name": NAME, "evidence": {VAR: STATE}, "likelihood": {VAR:
    /// [...]}}, all keys optional, or an array of such objects. A table has a header of variables
    /// and a row per case; an empty cell or * means that the variable is not observed
    #[arg(long, value_name = "FILE")]
    evidence_file: Option<PathBuf>,

    /// Engine to propagate with
    #[arg(long, value_parser = options::engine_names())]
    #[arg(default_value = engine::default_engine().name())]
    engine: String,

    /// Number type of the tables, f32 or f64 [default: the engine's default]
    #[arg(long)]
    precision: Option<Precision>,

    /// Threads that the engine may use [default: all that the machine has]
    #[arg(long, value_name = "N", value_parser = options::whole(1..=u16::MAX))]
    threads: Option<u16>,

    /// Form in which engine cpu holds the network, tables or table-free [default: the
    /// form that is forecast to be faster]
    #[arg(long)]
    form: Option<Form>,

    #[command(flatten)]
    compile: CompileArgs,

    #[command(flatten)]
    paper: PaperArgs,

    #[command(flatten)]
    without: WithoutArgs,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let engine = options::engine(&args.engine)?;
    let precision = options::precision(engine, args.precision);
    let read = options::open(&args.network)?;
    let network = &read.network;
    let (names, cases) = cases(network, args)?;

    let runs = u32::try_from(cases.len()).unwrap_or(u32::MAX);
    let load = LoadOptions {
        precision,
        threads: options::threads(args.threads),
        memory: args.compile.memory(),
        paper: args.paper.options(),
        runs,
        form: args.form,
        optimisations: args.without.optimisations(),
    };
    let (compile, cancel) = (args.compile.options(runs)?, CancelToken::new());
    let answers = engine::query_cases(engine, network, &cases, &compile, &load, &cancel)
        .map_err(|error| error.to_string())?;

    if args.json {
        let answers = names.iter().zip(&answers);
        let cases: Vec<Value> =
            answers.map(|(name, answer)| record(network, name.as_deref(), answer)).collect();
        output::print_json(&json!({
            "network": read.origin.title(),
            "engine": engine.name(),
            "precision": precision,
            "cases": cases,
        }))?;
    } else {
        let mut text = String::new();
        let several = cases.len() > 1;
        for (index, (case, answer)) in cases.iter().zip(&answers).enumerate() {
            let name = names[index].as_ref().map_or_else(String::new, |name| format!(": {name}"));
            if several || !name.is_empty() {
                let separator = if index > 0 { "\n" } else { "" };
                let _ = writeln!(text, "{separator}case {}{name}", index + 1);
            }
            as_text(&mut text, network, case, answer);
        }
        output::print(&text)?;
        for (index, answer) in answers.iter().enumerate() {
            let Err(error) = answer else { continue };
            let case = if several { format!("case {}: ", index + 1) } else { String::new() };
            output::note(&format!("error: {case}{error}"));
        }
    }
    Ok(if answers.iter().all(Result::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names and the evidence of all cases, with the findings of the command line in each.
fn cases(network: &Network, args: &Args) -> Result<(Vec<Option<String>>, Vec<Evidence>), String> {
    let shared = options::evidence(network, &args.evidence)?;
    let mut cases = options::cases(network, args.evidence_file.as_ref())?;
    for (_, case) in &mut cases {
        for (variable, finding) in shared.iter() {
            case.insert(variable, finding.clone());
        }
    }
    Ok(cases.into_iter().unzip())
}

/// The answer to one case as JSON.
fn record(network: &Network, name: Option<&str>, answer: &Result<Posteriors, QueryError>) -> Value {
    let mut record = Map::new();
    if let Some(name) = name {
        record.insert("name".to_owned(), json!(name));
    }
    match answer {
        Err(error) => {
            record.insert("error".to_owned(), json!(error.to_string()));
        }
        Ok(posteriors) => {
            let variables = network.ids().map(|id| {
                let states = network[id].states().iter().cloned();
                let values = posteriors.of(id).iter().map(|&p| json!(p));
                (network[id].name().to_owned(), Value::Object(states.zip(values).collect()))
            });
            record.insert("ln_p_evidence".to_owned(), json!(posteriors.ln_p_evidence()));
            record.insert("posteriors".to_owned(), Value::Object(variables.collect()));
        }
    }
    Value::Object(record)
}

/// Appends the findings of `case` and its `answer` to `text`.
fn as_text(
    text: &mut String,
    network: &Network,
    case: &Evidence,
    answer: &Result<Posteriors, QueryError>,
) {
    for (variable, finding) in case.iter() {
        let _ = match finding {
            Finding::Observed(state) => {
                let variable = &network[variable];
                writeln!(text, "observed    {}={}", variable.name(), variable.states()[*state])
            }
            Finding::Likelihood(weights) => {
                writeln!(text, "likelihood  {} {weights:?}", network[variable].name())
            }
        };
    }
    let posteriors = match answer {
        Ok(posteriors) => posteriors,
        Err(error) => {
            let is_impossible =
                matches!(error, QueryError::Propagation(PropagationError::Impossible(_)));
            let _ = writeln!(text, "{}", if is_impossible { "impossible" } else { "no answer" });
            return;
        }
    };
    let ln = posteriors.ln_p_evidence();
    // In a Markov network the joint distribution is not normalised.
    let name = if network.is_bayesian() { "P(e)" } else { "Z(e)" };
    let _ = writeln!(text, "ln {name}     {ln:.9}\n{name}        {}\n", probability(ln));
    let mut table = Table::new([Align::Left, Align::Left, Align::Right]);
    table.row(["variable", "state", "P(state | e)"]);
    for id in network.ids() {
        for (state, p) in network[id].states().iter().zip(posteriors.of(id)) {
            table.row([network[id].name(), state, &format!("{p:.9}")]);
        }
    }
    let _ = write!(text, "{table}");
}

/// exp(`ln`) in decimal, even where it is outside the range of f64.
fn probability(ln: f64) -> String {
    let p = ln.exp();
    if p == 0.0 || p.is_subnormal() || p.is_infinite() {
        let log10 = ln / std::f64::consts::LN_10;
        return format!("{:.5}e{}", 10_f64.powf(log10 - log10.floor()), log10.floor());
    }
    if (1e-4..1e6).contains(&p) { format!("{p:.9}") } else { format!("{p:.5e}") }
}

#[cfg(test)]
mod tests {
    use super::probability;

    #[test]
    fn probabilities_outside_the_range_of_f64_are_written() {
        assert_eq!(probability(0.0), "1.000000000");
        assert_eq!(probability(-20.0), "2.06115e-9");
        assert_eq!(probability(-1000.0), "5.07596e-435");
        assert_eq!(probability(1000.0), "1.97007e434");
    }
}
