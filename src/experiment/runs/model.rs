//! The time model of section 3.4: equations 4 to 6.

use crate::experiment::paper;
use crate::experiment::runs::{dots, labelled_dots};
use crate::experiment::source::{EngineConfig, TimeSource, on_gpu};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Fit, Mark, MarkPosition, Origin, PAPER_NETWORKS,
    Panel, Parameter, Progress, Record, Setup, Table, Work,
};
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "model",
    title: "Equations 4 to 6: predicted and measured time",
    question: "Is the time a constant for each message plus a constant for each entry, as equation \
               6 says? What changes if no more threads run at once than the GPU has? And why does \
               Pigs violate the lower bound of the speedup?",
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

/// The work and the times of a network; times in microseconds.
struct NetworkTimes<'t> {
    tree: &'t NamedTree,
    work: Work,
    engine: f64,
    baseline: f64,
}

/// Fitted constants.
#[derive(Clone, Copy)]
struct Fits {
    /// Equation 6 for the engine.
    engine: Option<Fit>,
    /// As `engine`, with at most as many threads as the GPU runs at once.
    capped: Option<Fit>,
    /// Equation 6 for the baseline, which reads one entry after another.
    baseline: Option<Fit>,
    /// Equation 6 for the GPU times that the paper prints, with the work of these trees.
    printed: Option<Fit>,
}

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
        let (Some(fast), Some(slow)) = (run(engine)?, run(baseline)?) else { continue };
        launch_us = launch_us.or(fast.launch_us);
        let (engine, baseline) = (fast.propagate_us.median, slow.propagate_us.median);
        rows.push(NetworkTimes {
            tree,
            work: Work::of(&tree.messages(), threads),
            engine,
            baseline,
        });
    }
    let on_gpu = on_gpu(engine);
    let fits = fit(&rows, on_gpu);
    let origin = source.origin();
    record.tables.push(constants(engine, baseline, fits, launch_us, threads, origin));
    record.tables.push(table(&rows, fits, on_gpu, origin));
    notes(record, &rows, fits, launch_us);
    if on_gpu {
        let increases = rows.iter().map(|row| row.work.capped / row.work.parallel - 1.0);
        let largest = increases.fold(0.0, f64::max);
        record.note(format!(
            "The limit of {} threads at once adds at most {:.1}% to the entries that threads read \
             one after another: most separators have fewer entries than the GPU has threads.",
            numbers::thousands(threads),
            100.0 * largest
        ));
    }
    let panels = vec![
        times_panel(engine, &rows, fits, on_gpu, origin),
        bounds_panel(&rows, fits, on_gpu, origin),
    ];
    record.figures.push(Figure { title: format!("The model and {engine}"), across: 2, panels });
    Ok(())
}

fn fit(rows: &[NetworkTimes], on_gpu: bool) -> Fits {
    let fit = |point: &dyn Fn(&NetworkTimes) -> Option<(f64, f64)>| {
        let points = rows.iter().filter_map(|row| {
            let (entries, us) = point(row)?;
            Some((row.work.messages, entries, us))
        });
        Fit::of(&points.collect::<Vec<_>>())
    };
    Fits {
        engine: fit(&|row| Some((row.work.entries(on_gpu), row.engine))),
        capped: fit(&|row| Some((row.work.capped_entries(on_gpu), row.engine))),
        baseline: fit(&|row| Some((row.work.sequential, row.baseline))),
        printed: fit(&|row| {
            paper::table_1(&row.tree.name).map(|printed| (row.work.parallel, printed.gpu_ms * 1e3))
        }),
    }
}

/// The table of constants: the fitted ones, and the times of launches.
fn constants(
    engine: &str,
    baseline: &str,
    fits: Fits,
    launch_us: Option<f64>,
    threads: u64,
    origin: Origin,
) -> Table {
    let threads = numbers::counted(threads as usize, "thread", "threads");
    let rows = [
        (format!("{engine}: equation 6"), Origin::Predicted, fits.engine),
        (format!("{engine}: at most {threads}"), Origin::Predicted, fits.capped),
        (format!("{baseline}: one entry after another"), Origin::Predicted, fits.baseline),
        ("GPU times of Table 1: equation 6".to_owned(), Origin::Predicted, fits.printed),
    ];
    let mut what: Vec<String> = rows.iter().map(|(what, ..)| what.clone()).collect();
    let mut origins: Vec<&str> = rows.iter().map(|(_, origin, _)| origin.name()).collect();
    let mut message: Vec<Option<f64>> = rows.iter().map(|r| r.2.map(|f| f.message_us)).collect();
    let mut entry: Vec<Option<f64>> = rows.iter().map(|r| r.2.map(|f| f.entry_us * 1e3)).collect();
    let mut add = |name: &str, origin: Origin, us: Option<f64>| {
        what.push(name.to_owned());
        origins.push(origin.name());
        message.push(us);
        entry.push(None);
    };
    add("launch of an empty kernel", origin, launch_us);
    add(
        "launch, from the paper's overhead shares, lowest",
        Origin::Paper,
        Some(paper::LAUNCH_US[0]),
    );
    add(
        "launch, from the paper's overhead shares, highest",
        Origin::Paper,
        Some(paper::LAUNCH_US[1]),
    );
    Table::new("constants")
        .text("what", what)
        .text("origin", origins)
        .number("message_us", None, message)
        .number("entry_ns", None, entry)
}

fn table(rows: &[NetworkTimes], fits: Fits, on_gpu: bool, origin: Origin) -> Table {
    let number =
        |of: &dyn Fn(&NetworkTimes) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    let sizes = |row: &NetworkTimes| row.tree.compiled.statistics().clone();
    let (exact, predicted) = (Origin::Exact, Origin::Predicted);
    Table::new("networks")
        .text("network", rows.iter().map(|row| row.tree.name.as_str()))
        .count("messages", exact, rows.iter().map(|row| row.work.messages as u64))
        .number("entries", exact, number(&|row| Some(row.work.sequential)))
        .number("entries_in_turn", exact, number(&|row| Some(row.work.parallel)))
        .number("entries_in_turn_capped", exact, number(&|row| Some(row.work.capped)))
        .number("engine_us", origin, number(&|row| Some(row.engine)))
        .number("engine_predicted_us", predicted, number(&|row| engine_us(row, fits, on_gpu)))
        .number(
            "engine_capped_us",
            predicted,
            number(&|row| {
                Some(fits.capped?.predict(row.work.messages, row.work.capped_entries(on_gpu)))
            }),
        )
        .number("baseline_us", origin, number(&|row| Some(row.baseline)))
        .number("baseline_predicted_us", predicted, number(&|row| baseline_us(row, fits)))
        .number("speedup", origin, number(&|row| Some(row.baseline / row.engine)))
        .number("speedup_predicted", predicted, number(&|row| speedup(row, fits, on_gpu)))
        .count("lower_bound", exact, rows.iter().map(|row| sizes(row).min_separator_entries))
        .number("mean_separator", exact, number(&|row| Some(sizes(row).mean_separator_entries)))
        .count("upper_bound", exact, rows.iter().map(|row| sizes(row).max_separator_entries))
        .number(
            "speedup_paper",
            Origin::Paper,
            number(&|row| paper::table_1(&row.tree.name).map(|p| p.speedup)),
        )
}

/// The time of the engine by equation 6, in microseconds.
fn engine_us(row: &NetworkTimes, fits: Fits, on_gpu: bool) -> Option<f64> {
    Some(fits.engine?.predict(row.work.messages, row.work.entries(on_gpu)))
}

/// The time of the baseline by equation 6, in microseconds.
fn baseline_us(row: &NetworkTimes, fits: Fits) -> Option<f64> {
    Some(fits.baseline?.predict(row.work.messages, row.work.sequential))
}

fn speedup(row: &NetworkTimes, fits: Fits, on_gpu: bool) -> Option<f64> {
    Some(baseline_us(row, fits)? / engine_us(row, fits, on_gpu)?)
}

/// Notes on the bounds of the speedup, and on the networks that violate the lower one.
fn notes(record: &mut Record, rows: &[NetworkTimes], fits: Fits, launch_us: Option<f64>) {
    record.note(
        "The bounds min |S| <= speedup <= max |S| of section 3.4 only count entries. They ignore \
         that every message costs a launch, however small it is, and that an entry takes a GPU \
         thread much longer than a CPU.",
    );
    for row in rows {
        let bound = row.tree.compiled.statistics().min_separator_entries;
        let speedup = row.baseline / row.engine;
        if speedup < bound as f64 {
            let launches = launch_us.map_or_else(String::new, |launch| {
                let share = (launch * row.work.messages / row.engine).min(1.0);
                format!(" Launches alone take {:.0}% of the time.", 100.0 * share)
            });
            let entry = fits.engine.zip(fits.baseline).filter(|(_, b)| b.entry_us > 0.0);
            let slower = entry.map_or_else(String::new, |(engine, baseline)| {
                let times = engine.entry_us / baseline.entry_us;
                format!(" An entry takes a GPU thread {times:.0} times as long as the baseline.")
            });
            record.note(format!(
                "{}: the lower bound says {bound} times faster; the measured speedup is \
                 {speedup:.2}.{launches}{slower}",
                row.tree.name
            ));
        }
    }
}

/// Predicted time by measured time.
fn times_panel(
    engine: &str,
    rows: &[NetworkTimes],
    fits: Fits,
    on_gpu: bool,
    origin: Origin,
) -> Panel {
    let points = |us: &dyn Fn(&NetworkTimes) -> Option<f64>, has_names: bool| {
        let point = |row: &NetworkTimes| {
            let name = if has_names { row.tree.name.clone() } else { String::new() };
            Some((row.engine / 1e3, us(row)? / 1e3, name))
        };
        rows.iter().filter_map(point).collect::<Vec<_>>()
    };
    let limited = |row: &NetworkTimes| {
        Some(fits.capped?.predict(row.work.messages, row.work.capped_entries(on_gpu)))
    };
    let mut series = vec![labelled_dots(
        "equation 6",
        Origin::Predicted,
        points(&|row| engine_us(row, fits, on_gpu), true),
    )];
    if on_gpu {
        series.push(labelled_dots("limited threads", Origin::Predicted, points(&limited, false)));
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

/// The speedup and its bounds for each network.
fn bounds_panel(rows: &[NetworkTimes], fits: Fits, on_gpu: bool, origin: Origin) -> Panel {
    let sizes = |row: &NetworkTimes| row.tree.compiled.statistics().clone();
    Panel {
        title: "speedup and its bounds".to_owned(),
        x: Axis::categories("", rows.iter().map(|row| row.tree.name.as_str())),
        y: Axis::log("speedup"),
        series: vec![
            dots(
                "max |S|",
                Origin::Exact,
                rows.iter().map(|r| Some(sizes(r).max_separator_entries as f64)),
            ),
            dots(
                "mean |S|",
                Origin::Exact,
                rows.iter().map(|r| Some(sizes(r).mean_separator_entries)),
            ),
            dots(
                "min |S|",
                Origin::Exact,
                rows.iter().map(|r| Some(sizes(r).min_separator_entries as f64)),
            ),
            dots("measured", origin, rows.iter().map(|r| Some(r.baseline / r.engine))),
            dots("equation 6", Origin::Predicted, rows.iter().map(|r| speedup(r, fits, on_gpu))),
            dots(
                "printed",
                Origin::Paper,
                rows.iter().map(|r| paper::table_1(&r.tree.name).map(|p| p.speedup)),
            ),
        ],
        marks: Vec::new(),
    }
}
