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
               separators as the paper's model predicts? The second panel compares it with a tuned \
               engine on all threads of the CPU.",
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

/// The tuned CPU baseline, on all threads.
const TUNED_CPU: &str = CPU.name;

/// The times of a network, in microseconds.
struct Row<'t> {
    tree: &'t NamedTree,
    engine: f64,
    baseline: f64,
    tuned_cpu: Option<f64>,
    work: Work,
}

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
        rows.push(Row { tree, engine, baseline, tuned_cpu: median(TUNED_CPU)?, work });
    }
    // GPU engines process |S| entries at once, the others one.
    let entries = |name: &str, work: &Work| work.entries(on_gpu(name));
    let fit = |name: &str, us: fn(&Row) -> f64| {
        let measured = rows.iter().map(|r| (r.work.messages, entries(name, &r.work), us(r)));
        Fit::of(&measured.collect::<Vec<_>>())
    };
    let fits = fit(engine, |r| r.engine).zip(fit(baseline, |r| r.baseline));
    let predicted: Vec<Option<f64>> = rows
        .iter()
        .map(|row| {
            let (of_engine, of_baseline) = fits?;
            let time = |fit: Fit, name| fit.predict(row.work.messages, entries(name, &row.work));
            Some(time(of_baseline, baseline) / time(of_engine, engine))
        })
        .collect();
    let origin = source.origin();
    record.tables.push(table(&rows, &predicted, origin));
    record.note(
        "The prediction is the time of the baseline over that of the engine, each by equation 6 with \
         its two constants fitted to all of these networks. Both axes are logarithmic.",
    );
    let printed: Vec<_> = rows
        .iter()
        .filter_map(|row| paper::table_1(&row.tree.name))
        .map(|p| (p.mean_separator as f64, p.speedup, String::new()))
        .collect();
    let size = |row: &Row| row.tree.compiled.statistics().mean_separator_entries;
    let name = |row: &Row| row.tree.name.clone();
    let measured = rows.iter().map(|r| (size(r), r.baseline / r.engine, name(r)));
    let model =
        rows.iter().zip(&predicted).filter_map(|(r, p)| Some((size(r), (*p)?, String::new())));
    let over_tuned = rows.iter().filter_map(|r| Some((size(r), r.tuned_cpu? / r.engine, name(r))));
    let first = vec![
        labelled_dots(format!("{engine} over {baseline}"), origin, measured),
        labelled_dots("equation 6", Origin::Predicted, model),
        labelled_dots("printed", Origin::Paper, printed),
    ];
    let second =
        vec![labelled_dots(format!("{engine} over {TUNED_CPU}, all threads"), origin, over_tuned)];
    let titles = [format!("against {baseline}, as in the paper"), format!("against {TUNED_CPU}")];
    let panels =
        titles.into_iter().zip([first, second]).map(|(title, series)| panel(title, series));
    record.figures.push(Figure {
        title: format!("Speedup of {engine}"),
        across: 2,
        panels: panels.collect(),
    });
    Ok(())
}

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

fn table(rows: &[Row], predicted: &[Option<f64>], origin: Origin) -> Table {
    let number = |of: &dyn Fn(&Row) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    let mean = |row: &Row| row.tree.compiled.statistics().mean_separator_entries;
    Table::new("speedups")
        .text("network", rows.iter().map(|row| row.tree.name.as_str()))
        .number("mean_separator", Origin::Exact, number(&|row| Some(mean(row))))
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
