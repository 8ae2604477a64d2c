//! A bar for each network: kernel overhead and execution time.

use eframe::egui::Ui;

use super::on_gpus;
use crate::app::state::model::{MeasuredOverhead, Model};
use crate::app::state::recordings::RecordedRunRef;
use crate::experiment::chart::{EXECUTION, OVERHEAD, PointRef};
use crate::experiment::{Axis, Origin, Panel, Series, Shape};
use crate::numbers;

/// The engines that have bars: first the recorded ones, then those that ran on this machine.
pub(super) fn engines(model: &Model) -> Vec<String> {
    let mut engines: Vec<String> = Vec::new();
    let recorded =
        on_gpus(model).filter(|run| run.run.overhead_us.is_some()).map(|run| run.engine());
    for engine in recorded.chain(model.overheads.iter().map(|live| live.engine.clone())) {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    engines
}

/// Where the recorded bars of `engine` come from; `None` if there are none.
pub(super) fn credit(model: &Model, engine: &str) -> Option<String> {
    let runs = recorded(model, engine);
    let mut trees: Vec<&str> = runs.iter().map(|run| run.network.triangulation.as_str()).collect();
    trees.sort_unstable();
    trees.dedup();
    Some(format!("{}, on trees by {}", runs.first()?.credit(), trees.join(" and ")))
}

/// The recorded runs of `engine`, one for each network. If a network was recorded on several trees,
/// the tree made by the triangulation that the window uses is preferred.
fn recorded(model: &Model, engine: &str) -> Vec<RecordedRunRef> {
    let mut runs: Vec<RecordedRunRef> = Vec::new();
    let method = model.compute.triangulation.name();
    for run in on_gpus(model) {
        if run.engine() != engine || run.run.overhead_us.is_none() {
            continue;
        }
        match runs.iter_mut().find(|known| known.network.network == run.network.network) {
            Some(known) if run.network.triangulation == method => *known = run,
            Some(_) => {}
            None => runs.push(run),
        }
    }
    runs
}

/// The two parts of the bar of a network, in microseconds or percent.
struct NetworkBar {
    /// Index of the network on the horizontal axis.
    category: f64,
    overhead: f64,
    execution: f64,
}

/// The bars of `engine`, in microseconds or, if `as_share`, as percentages of the whole time.
pub(super) fn panel(model: &Model, engine: &str, as_share: bool) -> Panel {
    let recorded = recorded(model, engine);
    let live: Vec<&MeasuredOverhead> =
        model.overheads.iter().filter(|live| live.engine == engine).collect();
    let mut names: Vec<String> = recorded.iter().map(|run| run.network.network.clone()).collect();
    for measured in &live {
        if !names.contains(&measured.network) {
            names.push(measured.network.clone());
        }
    }
    let bar = |network: &str, overhead: f64, whole: f64| {
        let category = names.iter().position(|name| name == network).unwrap_or(0) as f64;
        let overhead = overhead.min(whole);
        let scale = if as_share { 100.0 / whole.max(f64::MIN_POSITIVE) } else { 1.0 };
        NetworkBar { category, overhead: overhead * scale, execution: (whole - overhead) * scale }
    };
    let recorded: Vec<NetworkBar> = (recorded.iter())
        .map(|RecordedRunRef { network, run, .. }| {
            let overhead_us = run.overhead_us.unwrap_or(0.0);
            bar(&network.network, overhead_us, run.propagate_us.median)
        })
        .collect();
    let live: Vec<NetworkBar> =
        live.iter().map(|live| bar(&live.network, live.overhead_us, live.whole_us)).collect();
    let mut series = Vec::new();
    let live_stack = usize::from(!recorded.is_empty());
    for (bars, origin, stack) in [(recorded, Origin::Recorded, 0), (live, Origin::Live, live_stack)]
    {
        if !bars.is_empty() {
            let shape = Shape::Bars { stack };
            let overhead = bars.iter().map(|bar| (bar.category, bar.overhead));
            let execution = bars.iter().map(|bar| (bar.category, bar.execution));
            series.push(Series::new(OVERHEAD, origin, shape, overhead));
            series.push(Series::new(EXECUTION, origin, shape, execution));
        }
    }
    let label = if as_share { "Share of the time, %" } else { "Time of a propagation, µs" };
    Panel {
        title: String::new(),
        x: Axis::categories("", names),
        y: Axis::linear(label),
        series,
        marks: Vec::new(),
    }
}

/// Adds the share of a bar in its stack to the tooltip of the bar. The bars of `panel` are times.
pub(super) fn show_share(ui: &mut Ui, panel: &Panel, hit: PointRef) {
    let series = &panel.series[hit.series];
    let Some(bar) = series.points.get(hit.point) else { return };
    let stack = panel.series.iter().filter(|other| other.shape == series.shape);
    let parts = stack.flat_map(|series| &series.points).filter(|point| point.x == bar.x);
    let whole: f64 = parts.map(|part| part.y).sum();
    let share = numbers::share(bar.y, whole);
    ui.label(format!("{share} of {}", numbers::nanoseconds(whole * 1e3)));
}
