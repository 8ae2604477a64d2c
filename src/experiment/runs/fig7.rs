//! Figure 7: kernel overhead and execution time.

use crate::engine::{EngineInfo, GPU};
use crate::experiment::chart::{EXECUTION, OVERHEAD, TimeUnit};
use crate::experiment::paper;
use crate::experiment::runs::{bars, dots};
use crate::experiment::source::{EngineConfig, TimeSource, on_gpu};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Origin, PAPER_NETWORKS, Panel, Parameter, Progress,
    Record, RecordedRun, Setup, Table,
};
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "fig7",
    title: "Figure 7: kernel overhead and execution time",
    question: "How much of the time of a propagation on the GPU goes into launching kernels, and \
               how much into computing? The overhead is the time of the same launches and copies \
               with empty kernels.",
    equations: &[],
    parameters: &[Parameter::Engine, Parameter::Repeat, Parameter::Paper],
    networks: &PAPER_NETWORKS,
    answer,
};

/// Times the engine and its kernel overhead on each network. If the engine runs the paper's kernel,
/// also times engine `gpu`.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let mut engines = vec![setup.engine.as_str()];
    if is_paper_kernel(&setup.engine) {
        engines.push(GPU.name);
    }
    let source = TimeSource::choose(setup, &engines)?;
    let weights = trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>();
    progress.expect(weights * engines.len() as f64);
    let mut panels = Vec::new();
    for engine in engines {
        let config = EngineConfig::new(engine, setup);
        let mut runs = Vec::new();
        for tree in &trees {
            runs.push(source.time(setup, progress, record, tree, &config)?);
        }
        if !on_gpu(engine) {
            record.note(format!("Engine {engine} launches no kernels."));
        }
        record.tables.push(table(engine, &trees, &runs, source.origin()));
        if let Some(note) = extremes(setup, engine, &trees, &runs) {
            record.note(note);
        }
        panels.extend(engine_panels(engine, &trees, &runs, source.origin()));
    }
    record.figures.push(Figure {
        title: "Kernel overhead and execution time".to_owned(),
        across: 2,
        panels,
    });
    Ok(())
}

/// Whether the engine called `name` runs the paper's kernel. The paper prints the overhead of that
/// kernel.
fn is_paper_kernel(name: &str) -> bool {
    EngineInfo::find(name).is_some_and(|info| info.capabilities.paper_options)
}

/// The table of times and overheads of one engine.
fn table(engine: &str, trees: &[NamedTree], runs: &[Option<RecordedRun>], origin: Origin) -> Table {
    let number = |of: &dyn Fn(&RecordedRun) -> Option<f64>| {
        runs.iter().map(|run| run.as_ref().and_then(of)).collect::<Vec<_>>()
    };
    let table = Table::new(engine)
        .text("network", trees.iter().map(|tree| tree.name.as_str()))
        .count("messages", Origin::Exact, trees.iter().map(|t| t.messages().len() as u64))
        .number("total_us", origin, number(&|run| Some(run.propagate_us.median)))
        .number("overhead_us", origin, number(&|run| run.overhead_us))
        .number("execution_us", origin, number(&|run| Some(run.execution_us())))
        .number("launch_us", origin, number(&|run| run.launch_us))
        .number("overhead_share", origin, number(&RecordedRun::overhead_share));
    if !is_paper_kernel(engine) {
        return table;
    }
    let printed = |tree: &NamedTree| {
        let printed = paper::OVERHEAD_SHARES.iter().find(|(name, _)| *name == tree.name);
        printed.map(|(_, share)| *share)
    };
    table.number("overhead_share_paper", Origin::Paper, trees.iter().map(printed))
}

/// A note on the networks with the largest and the smallest share of overhead; `None` if there are
/// no shares.
fn extremes(
    setup: &Setup,
    engine: &str,
    trees: &[NamedTree],
    runs: &[Option<RecordedRun>],
) -> Option<String> {
    let triangulation = setup.triangulation.name();
    let shares = trees
        .iter()
        .zip(runs)
        .filter_map(|(t, run)| Some((&t.name, run.as_ref()?.overhead_share()?)));
    let mut shares: Vec<_> = shares.collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    let percent = |part: f64| numbers::share(part, 1.0);
    let (max_network, max) = shares.pop()?;
    let largest = format!(
        "{engine}, on trees by {triangulation}: overhead is {} of the time for {max_network}",
        percent(max)
    );
    Some(match shares.first() {
        Some((min_network, min)) => format!("{largest} and {} for {min_network}.", percent(*min)),
        None => format!("{largest}."),
    })
}

/// A panel of the times of `engine`, and a panel of the shares of these times that are overhead.
fn engine_panels(
    engine: &str,
    trees: &[NamedTree],
    runs: &[Option<RecordedRun>],
    origin: Origin,
) -> [Panel; 2] {
    let number = |of: &dyn Fn(&RecordedRun) -> Option<f64>| {
        runs.iter().map(|run| run.as_ref().and_then(of)).collect::<Vec<_>>()
    };
    let unit = TimeUnit::of(runs.iter().flatten().map(|run| run.propagate_us.median));
    let overhead = number(&|run| Some(run.overhead_us.unwrap_or(0.0) / unit.us));
    let execution = number(&|run| Some(run.execution_us() / unit.us));
    let times = vec![bars(OVERHEAD, origin, 0, overhead), bars(EXECUTION, origin, 0, execution)];
    let percent = |share: f64| 100.0 * share;
    let shares = number(&|run| Some(percent(run.overhead_share().unwrap_or(0.0))));
    let mut shares = vec![bars(OVERHEAD, origin, 0, shares)];
    if is_paper_kernel(engine) {
        let printed = trees.iter().map(|tree| {
            let printed = paper::OVERHEAD_SHARES.iter().find(|(name, _)| *name == tree.name);
            printed.map(|(_, share)| percent(*share))
        });
        shares.push(dots(OVERHEAD, Origin::Paper, printed));
        shares.retain(|series| !series.points.is_empty());
    }
    let panel = |title: String, label: &str, series| Panel {
        title,
        x: Axis::categories("", trees.iter().map(|tree| tree.name.as_str())),
        y: Axis::linear(label),
        series,
        marks: Vec::new(),
    };
    [
        panel(format!("{engine}: time"), unit.name, times),
        panel(format!("{engine}: overhead"), "% of the time", shares),
    ]
}
