//! Figure 6: speedup by mean separator size.

use crate::engine::CPU;
use crate::experiment::paper;
use crate::experiment::runs::labelled_dots;
use crate::experiment::source::{EngineConfig, TimeSource, on_gpu};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Fit, Mark, MarkPosition, Origin, PAPER_NETWORKS,
    Panel, Parameter, Progress, Record, Series, Setup, Table, Work,
};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "fig6",
    title: "Figure 6: speedup by mean separator size",
    question: "How much faster is the engine than its baseline, and does the speedup grow with the \
               separators as the paper's model predicts? The second panel compares the engine with \
               a tuned, multithreaded engine on the CPU.",
    equations: &[],
    parameters: &[
        Parameter::Engine,
        Parameter::Baseline,
        Parameter::Repeat,
        Parameter::Threads,
        Parameter::Paper,
    ],
    networks: &PAPER_NETWORKS,
    answer,
};

/// The tuned CPU baseline.
const TUNED_CPU: &str = CPU.name;

/// The times of a network, in microseconds.
struct NetworkTimes<'t> {
    tree: &'t NamedTree,
    engine: f64,
    baseline: f64,
    tuned_cpu: Option<f64>,
    work: Work,
}

/// Times the engine, its baseline and the tuned CPU baseline on each network.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let (engine, baseline) = (setup.engine.as_str(), setup.baseline.as_str());
    let source = TimeSource::choose(setup, &[engine, baseline, TUNED_CPU])?;
    progress.expect(3.0 * trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>());
    let threads = source.machine(setup).gpu.as_ref().map_or(1, |gpu| u64::from(gpu.threads));
    let mut rows = Vec::new();
    for tree in &trees {
        let mut median = |name: &str| -> Result<Option<f64>, ExperimentError> {
            let config = EngineConfig::new(name, setup);
            let run = source.time(setup, progress, record, tree, &config)?;
            Ok(run.map(|run| run.propagate_us.median))
        };
        let (Some(engine), Some(baseline)) = (median(engine)?, median(baseline)?) else { continue };
        let work = Work::of(&tree.messages(), threads);
        rows.push(NetworkTimes { tree, engine, baseline, tuned_cpu: median(TUNED_CPU)?, work });
    }
    let predicted = predicted_speedups(&rows, engine, baseline);
    let origin = source.origin();
    record.tables.push(table(&rows, &predicted, origin));
    record.note(
        "The predicted speedup is the time of the baseline divided by the time of the engine, both \
         by equation 6 with constants fitted to all of these networks. Both axes are logarithmic.",
    );
    let panels = vec![
        panel(
            format!("compared with {baseline}, as in the paper"),
            speedup_series(&rows, &predicted, format!("{engine} over {baseline}"), origin),
        ),
        panel(
            format!("compared with {TUNED_CPU}"),
            vec![tuned_series(&rows, format!("{engine} over {TUNED_CPU}"), origin)],
        ),
    ];
    record.figures.push(Figure { title: format!("Speedup of {engine}"), across: 2, panels });
    Ok(())
}

/// The speedup of each network by equation 6, with constants fitted to all networks. Each is `None`
/// if there are too few networks for a fit.
fn predicted_speedups(rows: &[NetworkTimes], engine: &str, baseline: &str) -> Vec<Option<f64>> {
    let (engine_on_gpu, baseline_on_gpu) = (on_gpu(engine), on_gpu(baseline));
    let fit = |on_gpu: bool, us: fn(&NetworkTimes) -> f64| {
        let measured = rows.iter().map(|r| (r.work.messages, r.work.entries(on_gpu), us(r)));
        Fit::of(&measured.collect::<Vec<_>>())
    };
    let fits = fit(engine_on_gpu, |r| r.engine).zip(fit(baseline_on_gpu, |r| r.baseline));
    let speedup = |work: &Work| {
        let (engine_fit, baseline_fit) = fits?;
        let time = |fit: Fit, on_gpu| fit.predict(work.messages, work.entries(on_gpu));
        Some(time(baseline_fit, baseline_on_gpu) / time(engine_fit, engine_on_gpu))
    };
    rows.iter().map(|row| speedup(&row.work)).collect()
}

impl NetworkTimes<'_> {
    /// Mean number of entries of a separator.
    fn mean_separator(&self) -> f64 {
        self.tree.compiled.statistics().mean_separator_entries
    }
}

/// The speedups over the baseline: measured, predicted, and printed in the paper.
fn speedup_series(
    rows: &[NetworkTimes],
    predicted: &[Option<f64>],
    label: String,
    origin: Origin,
) -> Vec<Series> {
    let measured = rows
        .iter()
        .map(|row| (row.mean_separator(), row.baseline / row.engine, row.tree.name.clone()));
    let model = rows
        .iter()
        .zip(predicted)
        .filter_map(|(row, speedup)| Some((row.mean_separator(), (*speedup)?, String::new())));
    let printed = rows
        .iter()
        .filter_map(|row| paper::table_1(&row.tree.name))
        .map(|printed| (printed.mean_separator as f64, printed.speedup, String::new()));
    vec![
        labelled_dots(label, origin, measured),
        labelled_dots("equation 6", Origin::Predicted, model),
        labelled_dots("printed", Origin::Paper, printed),
    ]
}

/// The speedups over the tuned CPU baseline.
fn tuned_series(rows: &[NetworkTimes], label: String, origin: Origin) -> Series {
    let points = rows.iter().filter_map(|row| {
        Some((row.mean_separator(), row.tuned_cpu? / row.engine, row.tree.name.clone()))
    });
    labelled_dots(label, origin, points)
}

/// A panel with the series that have points.
fn panel(title: String, mut series: Vec<Series>) -> Panel {
    series.retain(|series| !series.points.is_empty());
    Panel {
        title,
        x: Axis::log("mean entries of a separator"),
        y: Axis::log("speedup"),
        series,
        marks: vec![Mark {
            label: "equally fast".to_owned(),
            origin: Origin::Exact,
            position: MarkPosition::Y(1.0),
        }],
    }
}

/// The table of times and speedups.
fn table(rows: &[NetworkTimes], predicted: &[Option<f64>], origin: Origin) -> Table {
    let number =
        |of: &dyn Fn(&NetworkTimes) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    Table::new("speedups")
        .text("network", rows.iter().map(|row| row.tree.name.as_str()))
        .number("mean_separator", Origin::Exact, number(&|row| Some(row.mean_separator())))
        .number("engine_us", origin, number(&|row| Some(row.engine)))
        .number("baseline_us", origin, number(&|row| Some(row.baseline)))
        .number("cpu_us", origin, number(&|row| row.tuned_cpu))
        .number("speedup", origin, number(&|row| Some(row.baseline / row.engine)))
        .number("speedup_predicted", Origin::Predicted, predicted.iter().copied())
        .number("speedup_over_cpu", origin, number(&|row| Some(row.tuned_cpu? / row.engine)))
        .number(
            "speedup_paper",
            Origin::Paper,
            number(&|row| paper::table_1(&row.tree.name).map(|p| p.speedup)),
        )
}
