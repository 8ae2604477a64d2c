//! Figure 5: time by block size.

use crate::engine::{GPU_PAPER, MappingLayout, PaperOptions};
use crate::experiment::paper;
use crate::experiment::source::{EngineConfig, TimeSource};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, BLOCK_SIZES, Experiment, ExperimentError, Figure, Mark, MarkPosition, Origin, Panel,
    Parameter, Progress, Record, RecordedRun, Series, Setup, Shape, Table,
};
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "fig5",
    title: "Figure 5: execution time by block size",
    question: "How many threads should a block have? On the paper's GPU, which has 7 \
               multiprocessors, 48 were best for Barley and 16 for Munin3.",
    equations: &[],
    parameters: &[Parameter::Repeat],
    networks: &["barley", "munin3"],
    answer,
};

/// A run with one block size and layout, and the tree it ran on.
struct BlockSizeRun<'t> {
    tree: &'t NamedTree,
    paper: PaperOptions,
    run: RecordedRun,
}

/// Times engine `gpu-paper` with each block size and each layout.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let source = TimeSource::choose(setup, &[GPU_PAPER.name])?;
    let weights = trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>();
    progress.expect(weights * (2 * BLOCK_SIZES.len()) as f64);
    let mut rows = Vec::new();
    for tree in &trees {
        for layout in MappingLayout::ALL {
            for block_size in BLOCK_SIZES {
                let paper = PaperOptions { block_size, layout };
                let config = EngineConfig { paper, ..EngineConfig::new(GPU_PAPER.name, setup) };
                let run = source.time(setup, progress, record, tree, &config)?;
                rows.extend(run.map(|run| BlockSizeRun { tree, paper, run }));
            }
        }
    }
    record.tables.push(table(&rows, source.origin()));
    for tree in &trees {
        let of_tree = rows.iter().filter(|row| row.tree.name == tree.name);
        let best =
            of_tree.min_by(|a, b| a.run.propagate_us.median.total_cmp(&b.run.propagate_us.median));
        if let Some(best) = best {
            let PaperOptions { block_size, layout } = best.paper;
            let time = numbers::nanoseconds(best.run.propagate_us.median * 1e3);
            record.note(format!(
                "{}: fastest with {block_size} threads per block and the {layout} layout: {time}.",
                tree.name
            ));
        }
    }
    let panels = trees.iter().map(|tree| panel(tree, &rows, source.origin())).collect();
    record.figures.push(Figure {
        title: "Time of a propagation on gpu-paper".to_owned(),
        across: 2,
        panels,
    });
    Ok(())
}

/// The table of all times.
fn table(rows: &[BlockSizeRun], origin: Origin) -> Table {
    let number =
        |of: &dyn Fn(&BlockSizeRun) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    Table::new("times")
        .text("network", rows.iter().map(|row| row.tree.name.as_str()))
        .text("layout", rows.iter().map(|row| row.paper.layout.name()))
        .count("block_size", Origin::Exact, rows.iter().map(|row| u64::from(row.paper.block_size)))
        .number("lower_us", origin, number(&|row| Some(row.run.propagate_us.lower)))
        .number("median_us", origin, number(&|row| Some(row.run.propagate_us.median)))
        .number("upper_us", origin, number(&|row| Some(row.run.propagate_us.upper)))
        .number("overhead_us", origin, number(&|row| row.run.overhead_us))
}

/// The times on `tree` by block size, with a line for each layout.
fn panel(tree: &NamedTree, rows: &[BlockSizeRun], origin: Origin) -> Panel {
    let line = |layout: MappingLayout| {
        let of_line =
            rows.iter().filter(|row| row.tree.name == tree.name && row.paper.layout == layout);
        let points =
            of_line.map(|row| (f64::from(row.paper.block_size), row.run.propagate_us.median / 1e3));
        Series::new(layout.name(), origin, Shape::Line, points)
    };
    let best = paper::BEST_BLOCK_SIZES.iter().filter(|(name, _)| *name == tree.name);
    Panel {
        title: tree.name.clone(),
        x: Axis::log("threads per block"),
        y: Axis::linear("ms"),
        series: MappingLayout::ALL.map(line).into(),
        marks: best
            .map(|&(_, size)| Mark {
                label: format!("best in the paper: {size}"),
                origin: Origin::Paper,
                position: MarkPosition::X(f64::from(size)),
            })
            .collect(),
    }
}
