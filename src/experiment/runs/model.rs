//! The time model of section 3.4: equations 4 and 6.

use crate::experiment::paper;
use crate::experiment::runs::{dots, labelled_dots};
use crate::experiment::source::{EngineConfig, TimeSource, on_gpu};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Fit, Mark, MarkPosition, Origin, PAPER_NETWORKS,
    Panel, Parameter, Progress, Record, Setup, Table, Work,
};
use crate::graph::TreeStatistics;
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "model",
    title: "Equations 4 and 6: predicted and measured time",
    question: "Is the time a constant for each message plus a constant for each entry, as equation \
               6 says? What changes if the model runs no more threads at once than the GPU can? \
               And why can the speedup be below its lower bound?",
    equations: &[
        (
            "(4)",
            "entries one after another = sum_i sum_(k ∈ Ne(C_i)) \
             frac(|φ_(X_i)| + |φ_(X_k)|)(|φ_(S_(ik))|)",
        ),
        (
            "(6)",
            "time = 2(n − 1) τ + sum_i sum_(k ∈ Ne(C_i)) \
             frac(|φ_(X_i)| + |φ_(X_k)|)(|φ_(S_(ik))|)",
        ),
        ("section 3.4", "min |φ_S| ≤ speedup ≤ max |φ_S|"),
    ],
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

/// A network and its tree, with the median times of the engine and the baseline.
struct NetworkTimes<'t> {
    tree: &'t NamedTree,
    work: Work,
    engine_us: f64,
    baseline_us: f64,
    /// The share of the engine's time that is launch overhead, if it was measured.
    overhead_share: Option<f64>,
}

impl NetworkTimes<'_> {
    fn sizes(&self) -> &TreeStatistics {
        self.tree.compiled.statistics()
    }

    /// The measured speedup of the engine over the baseline.
    fn speedup(&self) -> f64 {
        self.baseline_us / self.engine_us
    }

    /// The speedup that the paper prints for this network.
    fn printed_speedup(&self) -> Option<f64> {
        paper::table_1(&self.tree.name).map(|printed| printed.speedup)
    }
}

/// Equation 6, fitted to the times of all networks. A fit is `None` if there are fewer than two
/// times.
struct Model {
    /// Whether the engine runs on a GPU.
    on_gpu: bool,
    /// The fit for the engine. On a GPU, each separator entry has its own thread.
    engine: Option<Fit>,
    /// As `engine`, with at most as many threads as the GPU runs at once.
    capped: Option<Fit>,
    /// The fit for the baseline, as if it read one entry after another.
    baseline: Option<Fit>,
    /// The fit for the GPU times that the paper prints, with the work of our trees.
    printed: Option<Fit>,
}

impl Model {
    /// Fits the model to the times in `rows`.
    fn fit(rows: &[NetworkTimes], on_gpu: bool) -> Self {
        let fit = |entries_and_us: &dyn Fn(&NetworkTimes) -> Option<(f64, f64)>| {
            let points = rows.iter().filter_map(|row| {
                let (entries, us) = entries_and_us(row)?;
                Some((row.work.messages, entries, us))
            });
            Fit::of(&points.collect::<Vec<_>>())
        };
        Self {
            on_gpu,
            engine: fit(&|row| Some((row.work.entries(on_gpu), row.engine_us))),
            capped: fit(&|row| Some((row.work.capped_entries(on_gpu), row.engine_us))),
            baseline: fit(&|row| Some((row.work.sequential, row.baseline_us))),
            printed: fit(&|row| {
                let printed = paper::table_1(&row.tree.name)?;
                Some((row.work.parallel, printed.gpu_ms * 1e3))
            }),
        }
    }

    /// The predicted time of the engine, in microseconds.
    fn engine_us(&self, row: &NetworkTimes) -> Option<f64> {
        Some(self.engine?.predict(row.work.messages, row.work.entries(self.on_gpu)))
    }

    /// The predicted time of the engine with limited threads, in microseconds.
    fn capped_us(&self, row: &NetworkTimes) -> Option<f64> {
        Some(self.capped?.predict(row.work.messages, row.work.capped_entries(self.on_gpu)))
    }

    /// The predicted time of the baseline, in microseconds.
    fn baseline_us(&self, row: &NetworkTimes) -> Option<f64> {
        Some(self.baseline?.predict(row.work.messages, row.work.sequential))
    }

    /// The predicted speedup of the engine over the baseline.
    fn speedup(&self, row: &NetworkTimes) -> Option<f64> {
        Some(self.baseline_us(row)? / self.engine_us(row)?)
    }
}

/// Times the engine and its baseline on each network, and fits equation 6 to the times.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let (engine, baseline) = (setup.engine.as_str(), setup.baseline.as_str());
    let source = TimeSource::choose(setup, &[engine, baseline])?;
    progress.expect(2.0 * trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>());
    let threads = source.machine(setup).gpu.as_ref().map_or(1, |gpu| u64::from(gpu.threads));
    let mut rows = Vec::new();
    let mut launch_us = None;
    for tree in &trees {
        let mut run = |name: &str| {
            source.time(setup, progress, record, tree, &EngineConfig::new(name, setup))
        };
        let (Some(engine), Some(baseline)) = (run(engine)?, run(baseline)?) else { continue };
        launch_us = launch_us.or(engine.launch_us);
        rows.push(NetworkTimes {
            tree,
            work: Work::of(&tree.messages(), threads),
            engine_us: engine.propagate_us.median,
            baseline_us: baseline.propagate_us.median,
            overhead_share: engine.overhead_share(),
        });
    }
    let model = Model::fit(&rows, on_gpu(engine));
    let origin = source.origin();
    record.tables.push(constants(engine, baseline, &model, launch_us, threads, origin));
    record.tables.push(table(&rows, &model, origin));
    note_bounds(record, &rows, &model, [engine, baseline]);
    if model.on_gpu {
        note_thread_limit(record, &rows, threads);
    }
    let panels =
        vec![times_panel(engine, &rows, &model, origin), bounds_panel(&rows, &model, origin)];
    record.figures.push(Figure { title: format!("The model and {engine}"), across: 2, panels });
    Ok(())
}

/// A row of the table of constants.
struct Constants {
    what: String,
    origin: Origin,
    message_us: Option<f64>,
    entry_ns: Option<f64>,
}

/// The table of the fitted constants and the times of launches. `threads` is the number of threads
/// that the GPU runs at once, and `origin` the origin of `launch_us`.
fn constants(
    engine: &str,
    baseline: &str,
    model: &Model,
    launch_us: Option<f64>,
    threads: u64,
    origin: Origin,
) -> Table {
    let fitted = |what: String, fit: Option<Fit>| Constants {
        what,
        origin: Origin::Predicted,
        message_us: fit.map(|fit| fit.message_us),
        entry_ns: fit.map(|fit| fit.entry_us * 1e3),
    };
    let launch = |what: &str, origin: Origin, us: Option<f64>| Constants {
        what: what.to_owned(),
        origin,
        message_us: us,
        entry_ns: None,
    };
    let [lowest, highest] = paper::LAUNCH_US.map(Some);
    let mut rows = vec![fitted(format!("{engine}: equation 6"), model.engine)];
    if model.on_gpu {
        let threads = numbers::thousands(threads);
        let what = format!("{engine}: equation 6 with at most {threads} threads at once");
        rows.push(fitted(what, model.capped));
    }
    rows.extend([
        fitted(format!("{baseline}: one entry after another"), model.baseline),
        fitted("GPU times of Table 1: equation 6".to_owned(), model.printed),
        launch("launch of an empty kernel", origin, launch_us),
        launch("launch, from the paper's overhead shares, lowest", Origin::Paper, lowest),
        launch("launch, from the paper's overhead shares, highest", Origin::Paper, highest),
    ]);
    Table::new("constants")
        .text("what", rows.iter().map(|row| row.what.as_str()))
        .text("origin", rows.iter().map(|row| row.origin.name()))
        .number("message_us", None, rows.iter().map(|row| row.message_us))
        .number("entry_ns", None, rows.iter().map(|row| row.entry_ns))
}

/// The table of work, times, speedups and their bounds. The columns for limited threads are only
/// for engines on a GPU.
fn table(rows: &[NetworkTimes], model: &Model, origin: Origin) -> Table {
    let number =
        |of: &dyn Fn(&NetworkTimes) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    let (exact, predicted) = (Origin::Exact, Origin::Predicted);
    let mut table = Table::new("networks")
        .text("network", rows.iter().map(|row| row.tree.name.as_str()))
        .count("messages", exact, rows.iter().map(|row| row.work.messages as u64))
        .number("entries", exact, number(&|row| Some(row.work.sequential)))
        .number("entries_in_turn", exact, number(&|row| Some(row.work.parallel)));
    if model.on_gpu {
        let capped = number(&|row| Some(row.work.capped));
        table = table.number("entries_in_turn_capped", exact, capped);
    }
    let (measured_us, predicted_us) =
        (number(&|row| Some(row.engine_us)), number(&|row| model.engine_us(row)));
    table = table.number("engine_us", origin, measured_us).number(
        "engine_predicted_us",
        predicted,
        predicted_us,
    );
    if model.on_gpu {
        let capped_us = number(&|row| model.capped_us(row));
        table = table.number("engine_capped_us", predicted, capped_us);
    }
    table
        .number("baseline_us", origin, number(&|row| Some(row.baseline_us)))
        .number("baseline_predicted_us", predicted, number(&|row| model.baseline_us(row)))
        .number("speedup", origin, number(&|row| Some(row.speedup())))
        .number("speedup_predicted", predicted, number(&|row| model.speedup(row)))
        .count("lower_bound", exact, rows.iter().map(|row| row.sizes().min_separator_entries))
        .number("mean_separator", exact, number(&|row| Some(row.sizes().mean_separator_entries)))
        .count("upper_bound", exact, rows.iter().map(|row| row.sizes().max_separator_entries))
        .number("speedup_paper", Origin::Paper, number(&|row| row.printed_speedup()))
}

/// Notes on the bounds of the speedup, and on the networks that violate the lower bound.
fn note_bounds(
    record: &mut Record,
    rows: &[NetworkTimes],
    model: &Model,
    [engine, baseline]: [&str; 2],
) {
    record.note(
        "The bounds min |S| ≤ speedup ≤ max |S| of section 3.4, where |S| is the number of \
         entries of a separator, only count entries. They ignore that every message costs a \
         launch, however small the message is, and that a GPU thread takes much longer for an \
         entry than a CPU.",
    );
    if let (Some(engine_fit), Some(baseline_fit)) = (model.engine, model.baseline)
        && baseline_fit.entry_us > 0.0
    {
        let times = engine_fit.entry_us / baseline_fit.entry_us;
        let decimals = if times < 10.0 { 2 } else { 0 };
        let thread = if model.on_gpu { "a thread of " } else { "" };
        record.note(format!(
            "By equation 6, {thread}{engine} takes {times:.decimals$} times as long for an entry \
             as {baseline}."
        ));
    }
    for row in rows {
        let (bound, speedup) = (row.sizes().min_separator_entries, row.speedup());
        if speedup >= bound as f64 {
            continue;
        }
        let launches = row.overhead_share.map_or_else(String::new, |share| {
            format!(" Launches and copies alone take {} of the time.", numbers::share(share, 1.0))
        });
        record.note(format!(
            "{}: the lower bound says {bound} times as fast; the measured speedup is \
             {speedup:.2}.{launches}",
            row.tree.name
        ));
    }
}

/// A note on the effect of running at most `threads` threads at once.
fn note_thread_limit(record: &mut Record, rows: &[NetworkTimes], threads: u64) {
    let increases = rows.iter().map(|row| row.work.capped / row.work.parallel - 1.0);
    let largest = increases.fold(0.0, f64::max);
    record.note(format!(
        "The limit of {} threads at once adds at most {:.1}% to the entries that threads read one \
         after another. It matters only for separators with more entries than this number.",
        numbers::thousands(threads),
        100.0 * largest
    ));
}

/// The panel of predicted time by measured time.
fn times_panel(engine: &str, rows: &[NetworkTimes], model: &Model, origin: Origin) -> Panel {
    let points = |predicted_us: &dyn Fn(&NetworkTimes) -> Option<f64>, has_names: bool| {
        let point = |row: &NetworkTimes| {
            let name = if has_names { row.tree.name.clone() } else { String::new() };
            Some((row.engine_us / 1e3, predicted_us(row)? / 1e3, name))
        };
        rows.iter().filter_map(point).collect::<Vec<_>>()
    };
    let mut series = vec![labelled_dots(
        "equation 6",
        Origin::Predicted,
        points(&|row| model.engine_us(row), true),
    )];
    if model.on_gpu {
        let capped = points(&|row| model.capped_us(row), false);
        series.push(labelled_dots("limited threads", Origin::Predicted, capped));
    }
    let measured = match origin {
        Origin::Recorded => "recorded, ms",
        _ => "measured, ms",
    };
    Panel {
        title: format!("{engine}: time"),
        x: Axis::log(measured),
        y: Axis::log("predicted, ms"),
        series,
        marks: vec![Mark {
            label: "prediction = measurement".to_owned(),
            origin: Origin::Exact,
            position: MarkPosition::Slope(1.0),
        }],
    }
}

/// The panel of the speedup and its bounds for each network.
fn bounds_panel(rows: &[NetworkTimes], model: &Model, origin: Origin) -> Panel {
    let (exact, predicted) = (Origin::Exact, Origin::Predicted);
    let series = |label: &str, origin: Origin, of: &dyn Fn(&NetworkTimes) -> Option<f64>| {
        dots(label, origin, rows.iter().map(of))
    };
    Panel {
        title: "speedup and its bounds".to_owned(),
        x: Axis::categories("", rows.iter().map(|row| row.tree.name.as_str())),
        y: Axis::log("speedup"),
        series: vec![
            series("max |S|", exact, &|row| Some(row.sizes().max_separator_entries as f64)),
            series("mean |S|", exact, &|row| Some(row.sizes().mean_separator_entries)),
            series("min |S|", exact, &|row| Some(row.sizes().min_separator_entries as f64)),
            series("measured", origin, &|row| Some(row.speedup())),
            series("equation 6", predicted, &|row| model.speedup(row)),
            series("printed", Origin::Paper, &|row| row.printed_speedup()),
        ],
        marks: Vec::new(),
    }
}
