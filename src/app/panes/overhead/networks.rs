//! A bar for each network: kernel overhead and execution time.

use eframe::egui::Ui;

use super::on_gpus;
use crate::app::state::model::{MeasuredOverhead, Model};
use crate::app::state::recordings::RecordedRunRef;
use crate::experiment::chart::{EXECUTION, OVERHEAD, PointRef, TimeUnit};
use crate::experiment::{Axis, Origin, PAPER_TRIANGULATION, Panel, Series, Shape};
use crate::graph::Triangulation;
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

/// The triangulations for which `engine` has bars. The first is shown by default: the one that was
/// measured last on this machine, or else the paper's if it was recorded.
pub(super) fn triangulations(model: &Model, engine: &str) -> Vec<Triangulation> {
    let mut found: Vec<Triangulation> = Vec::new();
    let here = model.overheads.iter().rev().filter(|live| live.engine == engine);
    let here = here.map(|live| live.triangulation);
    let rest = std::iter::once(PAPER_TRIANGULATION).chain(Triangulation::ALL);
    let recorded = rest.filter(|method| !recorded(model, engine, *method).is_empty());
    for method in here.chain(recorded) {
        if !found.contains(&method) {
            found.push(method);
        }
    }
    found
}

/// The name of a triangulation in the list of choices.
pub(super) fn triangulation_name(method: Triangulation) -> String {
    match method {
        PAPER_TRIANGULATION => format!("trees by {}, as in the paper", method.name()),
        _ => format!("trees by {}", method.name()),
    }
}

/// Where the recorded bars of `engine` come from; `None` if there are none.
pub(super) fn credit(model: &Model, engine: &str, method: Triangulation) -> Option<String> {
    Some(recorded(model, engine, method).first()?.credit())
}

/// The recorded runs of `engine` on trees made by `method`, one for each network.
fn recorded(model: &Model, engine: &str, method: Triangulation) -> Vec<RecordedRunRef> {
    let mut runs: Vec<RecordedRunRef> = Vec::new();
    for run in on_gpus(model) {
        let is_wanted = run.engine() == engine
            && run.network.triangulation == method.name()
            && run.run.overhead_us.is_some();
        if is_wanted && runs.iter().all(|known| known.network.network != run.network.network) {
            runs.push(run);
        }
    }
    runs
}

/// The bar of a network. Times are in microseconds.
struct NetworkBar {
    /// Index of the network on the horizontal axis.
    category: f64,
    /// The kernel overhead.
    overhead: f64,
    /// The time of the whole propagation.
    whole: f64,
}

/// The bars of `engine` on trees made by `method`. If `as_share`, they show only the kernel
/// overhead, in percent of the whole time, as in experiment `fig7`.
pub(super) fn panel(model: &Model, engine: &str, method: Triangulation, as_share: bool) -> Panel {
    let recorded = recorded(model, engine, method);
    let live = model.overheads.iter();
    let live: Vec<&MeasuredOverhead> =
        live.filter(|live| live.engine == engine && live.triangulation == method).collect();
    let mut names: Vec<String> = recorded.iter().map(|run| run.network.network.clone()).collect();
    for measured in &live {
        if !names.contains(&measured.network) {
            names.push(measured.network.clone());
        }
    }
    let bar = |network: &str, overhead: f64, whole: f64| {
        let category = names.iter().position(|name| name == network).unwrap_or(0) as f64;
        NetworkBar { category, overhead: overhead.min(whole), whole }
    };
    let recorded: Vec<NetworkBar> = (recorded.iter())
        .map(|RecordedRunRef { network, run, .. }| {
            bar(&network.network, run.overhead_us.unwrap_or(0.0), run.propagate_us.median)
        })
        .collect();
    let live: Vec<NetworkBar> =
        live.iter().map(|live| bar(&live.network, live.overhead_us, live.whole_us)).collect();
    let unit = TimeUnit::of(recorded.iter().chain(&live).map(|bar| bar.whole));
    let live_stack = usize::from(!recorded.is_empty());
    let mut series = Vec::new();
    for (bars, origin, stack) in [(recorded, Origin::Recorded, 0), (live, Origin::Live, live_stack)]
    {
        let mut add = |label, height: &dyn Fn(&NetworkBar) -> f64| {
            let points = bars.iter().map(|bar| (bar.category, height(bar)));
            series.push(Series::new(label, origin, Shape::Bars { stack }, points));
        };
        if as_share {
            add(OVERHEAD, &|bar| 100.0 * bar.overhead / bar.whole.max(f64::MIN_POSITIVE));
        } else {
            add(OVERHEAD, &|bar| bar.overhead / unit.us);
            add(EXECUTION, &|bar| (bar.whole - bar.overhead) / unit.us);
        }
    }
    series.retain(|series| !series.points.is_empty());
    let label = if as_share {
        "% of the time".to_owned()
    } else {
        format!("Time of a propagation, {}", unit.name)
    };
    Panel {
        title: String::new(),
        x: Axis::categories("", names),
        y: Axis::linear(&label),
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
    ui.label(format!("{} of the whole time", numbers::share(bar.y, whole)));
}
