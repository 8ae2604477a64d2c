//! From the paper's algorithm to engine `gpu`, step by step, compared with the floor.

use crate::engine::{GPU, GPU_PAPER, MappingLayout, PaperOptions};
use crate::experiment::floor::{FLOOR_GPU, floor_us};
use crate::experiment::runs::{dots, labelled_dots};
use crate::experiment::source::{EngineConfig, TimeSource};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, BLOCK_SIZES, Experiment, ExperimentError, Figure, Origin, PAPER_NETWORKS, Panel,
    Parameter, Progress, Record, RecordedRun, Setup, Table,
};
use crate::graph::Triangulation;
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "ladder",
    title: "From the paper's algorithm to engine gpu, and to the floor",
    question: "What does each step gain: the interleaved layout, the best block size, no launch \
               overhead, one launch for all messages, a smaller tree? And how far is the last step \
               from the floor, a lower bound for the time?",
    equations: &[],
    parameters: &[Parameter::Repeat],
    networks: &PAPER_NETWORKS,
    answer,
};

/// The steps, in the order of the figure.
const STEPS: [&str; 6] = ["naive", "interleaved", "best", "no overhead", GPU.name, "gpu, auto"];

/// The times of a network, in microseconds, in the order of [`STEPS`].
type StepTimes = [Option<f64>; STEPS.len()];

/// Times each step on each network, and computes the floor.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let smallest = NamedTree::all(setup, Triangulation::Auto, progress)?;
    let source = TimeSource::choose(setup, &[GPU_PAPER.name, GPU.name])?;
    let weights = trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>();
    progress.expect(weights * (2 * BLOCK_SIZES.len() + 2) as f64);
    let mut rows: Vec<StepTimes> = Vec::new();
    let mut best_options = Vec::new();
    for (tree, smallest) in trees.iter().zip(&smallest) {
        let mut time = |tree: &NamedTree, config: &EngineConfig| {
            source.time(setup, progress, record, tree, config)
        };
        let mut runs: Vec<RecordedRun> = Vec::new();
        for layout in MappingLayout::ALL {
            for block_size in BLOCK_SIZES {
                let paper = PaperOptions { block_size, layout };
                let config = EngineConfig { paper, ..EngineConfig::new(GPU_PAPER.name, setup) };
                runs.extend(time(tree, &config)?);
            }
        }
        let gpu = EngineConfig::new(GPU.name, setup);
        let gpu_runs = [time(tree, &gpu)?, time(smallest, &gpu)?];
        let median = |run: &RecordedRun| run.propagate_us.median;
        let best = runs.iter().min_by(|a, b| median(a).total_cmp(&median(b)));
        best_options.push(best.and_then(|run| run.paper));
        rows.push([
            default_size_us(&runs, MappingLayout::Naive),
            default_size_us(&runs, MappingLayout::Interleaved),
            best.map(median),
            best.map(RecordedRun::execution_us),
            gpu_runs[0].as_ref().map(median),
            gpu_runs[1].as_ref().map(median),
        ]);
    }
    let floors: Vec<[f64; 2]> = trees
        .iter()
        .zip(&smallest)
        .map(|(tree, smallest)| [tree, smallest].map(|tree| floor_us(tree.compiled.tree())))
        .collect();
    record.note(format!(
        "The floor is a lower bound for engines that read all clique tables. It is the time of one \
         launch with a copy back, plus a time for each level of the tree, once in collect and once \
         in distribute: the time to read the tables of the level or to send a message to another \
         block, whichever is longer. An engine that skips zeros or does without clique tables may \
         be faster. The constants of the floor were measured on an {FLOOR_GPU}."
    ));
    record.note(format!(
        "naive and interleaved: gpu-paper with {} threads per block. best: the fastest of both \
         layouts and all block sizes. no overhead: the same without the launch overhead. gpu: one \
         launch for all messages, on the same tree. gpu, auto: the same on the smallest known \
         tree.",
        PaperOptions::default().block_size
    ));
    record.tables.push(table(&trees, &rows, &best_options, &floors, source.origin()));
    let panels = trees
        .iter()
        .zip(&rows)
        .zip(&floors)
        .map(|((tree, times), floors)| panel(&tree.name, times, *floors, source.origin()));
    record.figures.push(Figure {
        title: "Time of a propagation, step by step".to_owned(),
        across: 2,
        panels: panels.collect(),
    });
    Ok(())
}

/// The median time with `layout` and the default block size, in microseconds.
fn default_size_us(runs: &[RecordedRun], layout: MappingLayout) -> Option<f64> {
    let paper = PaperOptions { layout, ..PaperOptions::default() };
    let run = runs.iter().find(|run| run.paper == Some(paper));
    run.map(|run| run.propagate_us.median)
}

/// The table of the times of all steps. `floors` holds the floor of each network's tree and of its
/// smallest known tree, in microseconds.
fn table(
    trees: &[NamedTree],
    rows: &[StepTimes],
    best: &[Option<PaperOptions>],
    floors: &[[f64; 2]],
    origin: Origin,
) -> Table {
    let best = best.iter().map(|options| {
        options.map_or_else(String::new, |o| format!("{}, {} threads", o.layout, o.block_size))
    });
    let names = ["naive", "interleaved", "best", "no_overhead", GPU.name, "gpu_auto"];
    let mut table = Table::new("steps")
        .text("network", trees.iter().map(|tree| tree.name.as_str()))
        .text("best_options", best);
    for (step, name) in names.iter().enumerate() {
        let cells = rows.iter().map(|row| row[step]);
        table = table.number(&format!("{name}_us"), origin, cells);
    }
    table.number("floor_us", Origin::Predicted, floors.iter().map(|floor| floor[0])).number(
        "floor_auto_us",
        Origin::Predicted,
        floors.iter().map(|floor| floor[1]),
    )
}

/// The panel of a network, in milliseconds: its times by step, and the floor of the tree of each
/// step. `times` and the floors are in microseconds.
fn panel(name: &str, times: &StepTimes, [floor, floor_auto]: [f64; 2], origin: Origin) -> Panel {
    let milliseconds = |us: f64| us / 1e3;
    let label = |us: f64| numbers::nanoseconds(us * 1e3);
    let points = times.iter().enumerate().filter_map(|(step, us)| {
        let us = (*us)?;
        Some((step as f64, milliseconds(us), label(us)))
    });
    let last = STEPS.len() - 1;
    let floor_of = |step| if step == last { floor_auto } else { floor };
    let floors = (0..=last).map(|step| Some(milliseconds(floor_of(step))));
    Panel {
        title: name.to_owned(),
        x: Axis::categories("", STEPS),
        y: Axis::log("ms"),
        series: vec![
            labelled_dots("time", origin, points),
            dots("floor", Origin::Predicted, floors),
        ],
        marks: Vec::new(),
    }
}
