//! Table 1: junction trees and times, ours next to the numbers that the paper prints.

use crate::engine::{self, Algorithm, CPU, Device, EngineInfo, GPU, GPU_PAPER, SEQUENTIAL};
use crate::experiment::paper::{self, PaperNetwork};
use crate::experiment::runs::dots;
use crate::experiment::source::{EngineConfig, TimeSource};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Origin, PAPER_NETWORKS, Panel, Parameter, Progress,
    Record, RecordedRun, Recording, Setup, Table,
};
use crate::graph::TreeStatistics;
use crate::numbers::thousands;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "table1",
    title: "Table 1: junction trees and propagation times",
    question: "How large are the junction trees, and how long does each engine take on them, \
               compared with the numbers in the paper?",
    equations: &[],
    parameters: &[Parameter::Repeat, Parameter::Threads, Parameter::Paper],
    networks: &PAPER_NETWORKS,
    answer,
};

/// The engines to time. Speedups are relative to the first.
const ENGINES: [&EngineInfo; 4] = [&SEQUENTIAL, &GPU_PAPER, &CPU, &GPU];

/// A run of one engine on one network: a row of the table of times.
struct EngineRun {
    network: String,
    engine: String,
    origin: Origin,
    run: RecordedRun,
    /// Time of engine `sequential` on the same machine, in microseconds.
    sequential_us: Option<f64>,
}

/// Compares the tree of each network with the paper's, and adds the times of all engines.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    record.tables.push(tree_table(&trees));
    for tree in &trees {
        if let Some(printed) = paper::table_1(&tree.name) {
            record.note(difference(&tree.name, tree.compiled.statistics(), printed));
        }
    }
    let rows = times(setup, progress, record, &trees)?;
    record.tables.push(time_table(&rows));
    record.figures.push(figure(&trees, &rows));
    Ok(())
}

/// The table of tree sizes, ours and the paper's.
fn tree_table(trees: &[NamedTree]) -> Table {
    let ours = |of: fn(&TreeStatistics) -> u64| {
        trees.iter().map(move |tree| Some(of(tree.compiled.statistics()))).collect::<Vec<_>>()
    };
    let mean = |of: fn(&TreeStatistics) -> f64| {
        trees.iter().map(move |tree| Some(of(tree.compiled.statistics()))).collect::<Vec<_>>()
    };
    let printed = |of: fn(&PaperNetwork) -> u64| {
        trees.iter().map(move |tree| paper::table_1(&tree.name).map(of)).collect::<Vec<_>>()
    };
    let (exact, paper) = (Origin::Exact, Origin::Paper);
    Table::new("trees")
        .text("network", trees.iter().map(|tree| tree.name.as_str()))
        .count("cliques", exact, ours(|s| s.cliques as u64))
        .count("cliques_paper", paper, printed(|p| p.cliques))
        .count("max_clique", exact, ours(|s| s.max_clique_entries))
        .count("max_clique_paper", paper, printed(|p| p.max_clique))
        .count("min_clique", exact, ours(|s| s.min_clique_entries))
        .count("min_clique_paper", paper, printed(|p| p.min_clique))
        .number("mean_clique", exact, mean(|s| s.mean_clique_entries))
        .count("mean_clique_paper", paper, printed(|p| p.mean_clique))
        .count("max_separator", exact, ours(|s| s.max_separator_entries))
        .count("max_separator_paper", paper, printed(|p| p.max_separator))
        .count("min_separator", exact, ours(|s| s.min_separator_entries))
        .count("min_separator_paper", paper, printed(|p| p.min_separator))
        .number("mean_separator", exact, mean(|s| s.mean_separator_entries))
        .count("mean_separator_paper", paper, printed(|p| p.mean_separator))
        .count("total_clique", exact, ours(|s| s.total_clique_entries))
        .count("depth", exact, ours(|s| s.depth as u64))
}

/// A note that lists the sizes in which our tree differs from the paper's, with the reason, or that
/// says that all agree.
fn difference(name: &str, ours: &TreeStatistics, printed: &PaperNetwork) -> String {
    // The paper's means may be rounded up or down.
    let is_near = |mean: f64, printed: u64| (mean.round() as i64 - printed as i64).abs() <= 1;
    let fields = [
        ("cliques", ours.cliques as u64, printed.cliques),
        ("largest clique", ours.max_clique_entries, printed.max_clique),
        ("smallest clique", ours.min_clique_entries, printed.min_clique),
        ("largest separator", ours.max_separator_entries, printed.max_separator),
        ("smallest separator", ours.min_separator_entries, printed.min_separator),
    ];
    let mut differing: Vec<String> = fields
        .iter()
        .filter(|(_, ours, printed)| ours != printed)
        .map(|(what, ours, printed)| {
            format!("{what} {} instead of {}", thousands(*ours), thousands(*printed))
        })
        .collect();
    let means = [
        ("mean clique", ours.mean_clique_entries, printed.mean_clique),
        ("mean separator", ours.mean_separator_entries, printed.mean_separator),
    ];
    for (what, ours, printed) in means {
        if !is_near(ours, printed) {
            let ours = thousands(ours.round() as u64);
            differing.push(format!("{what} {ours} instead of {}", thousands(printed)));
        }
    }
    if differing.is_empty() {
        format!(
            "{name}: the tree has the sizes that the paper prints, apart from the rounding of means."
        )
    } else {
        format!(
            "{name}: {}. The paper does not name its triangulation; where several variables are \
             equally good to eliminate next, different choices may give different trees.",
            differing.join(", ")
        )
    }
}

/// For each tree, the times of all engines that run here. If some engines do not run here, the
/// times of all engines in the first recording follow. If recordings are preferred, only the
/// recorded times are returned.
fn times(
    setup: &Setup,
    progress: &Progress,
    record: &mut Record,
    trees: &[NamedTree],
) -> Result<Vec<EngineRun>, ExperimentError> {
    let here: Vec<&EngineInfo> = ENGINES
        .into_iter()
        .filter(|info| engine::by_name(info.name).is_some_and(|e| e.availability().is_ok()))
        .collect();
    let mut sources = Vec::new();
    if !setup.prefer_recorded {
        sources.push((TimeSource::ThisMachine, here.clone()));
    }
    if setup.prefer_recorded || here.len() < ENGINES.len() {
        let recorded = Recording::shipped().first();
        sources.extend(recorded.map(|r| (TimeSource::Recording(r), ENGINES.to_vec())));
    }
    progress.expect(
        trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>() * here.len() as f64,
    );
    let mut rows = Vec::new();
    for tree in trees {
        for (source, engines) in &sources {
            if let TimeSource::Recording(recording) = source
                && recording.find(&tree.name, &tree.label).is_none()
            {
                continue;
            }
            let mut sequential_us = None;
            for engine in engines {
                let config = EngineConfig::new(engine.name, setup);
                let run = source.time(setup, progress, record, tree, &config)?;
                let Some(run) = run else { continue };
                if *engine == ENGINES[0] {
                    sequential_us = Some(run.propagate_us.median);
                }
                rows.push(EngineRun {
                    network: tree.name.clone(),
                    engine: config.title(),
                    origin: source.origin(),
                    run,
                    sequential_us,
                });
            }
        }
    }
    Ok(rows)
}

/// The device of the run, if the paper measures the same algorithm; otherwise `None`.
fn paper_device(run: &RecordedRun) -> Option<Device> {
    let capabilities = run.info()?.capabilities;
    (capabilities.algorithm == Algorithm::Hugin).then_some(capabilities.device)
}

/// The table of times, a row for each run.
fn time_table(rows: &[EngineRun]) -> Table {
    let number = |of: &dyn Fn(&EngineRun) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    let printed = |row: &EngineRun| paper::table_1(&row.network);
    Table::new("times")
        .text("network", rows.iter().map(|row| row.network.as_str()))
        .text("engine", rows.iter().map(|row| row.engine.as_str()))
        .text("origin", rows.iter().map(|row| row.origin.name()))
        .count("propagations", None, rows.iter().map(|row| row.run.propagate_us.count as u64))
        .number("min_us", None, number(&|row| Some(row.run.propagate_us.min)))
        .number("lower_us", None, number(&|row| Some(row.run.propagate_us.lower)))
        .number("median_us", None, number(&|row| Some(row.run.propagate_us.median)))
        .number("upper_us", None, number(&|row| Some(row.run.propagate_us.upper)))
        .number("max_us", None, number(&|row| Some(row.run.propagate_us.max)))
        .number("overhead_us", None, number(&|row| row.run.overhead_us))
        .number(
            "speedup",
            None,
            number(&|row| Some(row.sequential_us? / row.run.propagate_us.median)),
        )
        .number(
            "paper_us",
            Origin::Paper,
            number(&|row| match paper_device(&row.run)? {
                Device::Cpu => printed(row).map(|p| p.cpu_ms * 1e3),
                Device::Gpu => printed(row).map(|p| p.gpu_ms * 1e3),
            }),
        )
        .number(
            "speedup_paper",
            Origin::Paper,
            number(&|row| {
                let on_gpu = paper_device(&row.run) == Some(Device::Gpu);
                printed(row).filter(|_| on_gpu).map(|p| p.speedup)
            }),
        )
}

/// A figure with a dot for each time, by network.
fn figure(trees: &[NamedTree], rows: &[EngineRun]) -> Figure {
    let mut series = Vec::new();
    let mut measured_engines: Vec<(&str, Origin)> = Vec::new();
    for row in rows {
        if !measured_engines.contains(&(&row.run.engine, row.origin)) {
            measured_engines.push((&row.run.engine, row.origin));
        }
    }
    for (engine, origin) in measured_engines {
        let milliseconds = |tree: &NamedTree| {
            let row = rows.iter().find(|row| {
                row.network == tree.name && row.run.engine == engine && row.origin == origin
            });
            row.map(|row| row.run.propagate_us.median / 1e3)
        };
        series.push(dots(engine, origin, trees.iter().map(milliseconds)));
    }
    let printed = |of: fn(&PaperNetwork) -> f64| {
        trees.iter().map(move |tree| paper::table_1(&tree.name).map(of))
    };
    series.push(dots("Core 2 Quad", Origin::Paper, printed(|p| p.cpu_ms)));
    series.push(dots("GeForce GTX 460", Origin::Paper, printed(|p| p.gpu_ms)));
    series.retain(|series| !series.points.is_empty());
    Figure {
        title: "Time of a propagation".to_owned(),
        across: 1,
        panels: vec![Panel {
            title: String::new(),
            x: Axis::categories("", trees.iter().map(|tree| tree.name.as_str())),
            y: Axis::log("ms"),
            series,
            marks: Vec::new(),
        }],
    }
}
