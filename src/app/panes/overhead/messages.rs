//! The time of each message by the size of its tables.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Ui;

use super::crossover::{Crossover, crossover};
use crate::app::state::document::Document;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::widgets::naming;
use crate::engine::PaperOptions;
use crate::experiment::chart::PointRef;
use crate::experiment::{Axis, Mark, MarkPosition, Origin, Panel, Series, Shape};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};
use crate::session::Propagation;

/// A propagation on the tree of the open network, on this machine or in a recording.
#[derive(Clone, Debug)]
pub(super) enum Run {
    Here(Arc<Propagation>),
    Recorded(RecordedRunRef),
}

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here(one), Self::Here(other)) => Arc::ptr_eq(one, other),
            (Self::Recorded(one), Self::Recorded(other)) => one == other,
            _ => false,
        }
    }
}

/// All runs: first the one on this machine, then the recorded ones.
pub(super) fn runs(document: &Document) -> Vec<Run> {
    let here = document.result.iter().filter(|result| document.is_on_current_tree(result));
    let here = here.map(|result| Run::Here(Arc::clone(result)));
    here.chain(document.recorded.iter().copied().map(Run::Recorded)).collect()
}

impl Run {
    /// The engine and its precision; for a recorded run also its options, and `(recorded)`.
    pub fn name(&self) -> String {
        match self {
            Self::Here(run) => format!("{} {}", run.engine.engine.name(), run.engine.precision),
            Self::Recorded(recorded) => format!("{} (recorded)", recorded.engine()),
        }
    }

    /// Where the run comes from.
    pub fn credit(&self) -> String {
        match self {
            Self::Here(_) => "the last propagation on this machine".to_owned(),
            Self::Recorded(recorded) => recorded.credit(),
        }
    }

    /// The trace of the run.
    pub fn trace(&self) -> &MessageTrace {
        match self {
            Self::Here(run) => &run.trace,
            Self::Recorded(recorded) => recorded.trace().expect("only traced runs are offered"),
        }
    }

    /// Whether the run is shown unless the user hides it. This holds for the run on this machine,
    /// for the recorded runs of the paper's GPU engine with default options, and for the recorded
    /// runs of all other engines except those that pass messages on several CPU threads.
    pub fn is_shown_by_default(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::Recorded(recorded) => match recorded.run.paper {
                Some(paper) => paper == PaperOptions::default(),
                None => recorded.run.info().is_some_and(|info| !info.capabilities.parallel),
            },
        }
    }

    fn on_gpu(&self) -> bool {
        match self {
            Self::Here(run) => run.engine.engine.info().capabilities.on_gpu(),
            Self::Recorded(recorded) => recorded.on_gpu(),
        }
    }

    /// As [`name`](Self::name), but without `(recorded)`: the legend and the tooltip of a point say
    /// where the run comes from.
    fn label(&self) -> String {
        match self {
            Self::Here(_) => self.name(),
            Self::Recorded(recorded) => recorded.engine(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Here(_) => Origin::Live,
            Self::Recorded(_) => Origin::Recorded,
        }
    }
}

/// A plot with a point for each message of some runs.
pub(super) struct MessagePlot {
    compiled: Arc<CompiledNetwork>,
    runs: Vec<Run>,
    /// Time of one kernel launch on this machine, if it was measured.
    launch: Option<Duration>,
    /// The message of each point, series by series.
    messages: Vec<Vec<MessageId>>,
    /// The plot, with the table entries of both cliques on the horizontal axis and the time in
    /// microseconds on the vertical axis.
    pub panel: Panel,
    /// A sentence that says from which size on the GPU is faster or, without runs to compare, what
    /// the points are.
    pub summary: String,
}

impl MessagePlot {
    /// The plot of `runs`. `launch` is the time of one kernel launch on this machine, if it was
    /// measured.
    pub fn new(compiled: &Arc<CompiledNetwork>, runs: &[Run], launch: Option<Duration>) -> Self {
        let mut series = Vec::new();
        let mut messages = Vec::new();
        for run in runs {
            let timings = &run.trace().messages;
            let points = timings.iter().map(|timing| {
                let entries = naming::entries_touched(compiled, timing.message);
                (entries as f64, timing.duration.as_nanos() as f64 / 1e3)
            });
            series.push(Series::new(run.label(), run.origin(), Shape::Points, points));
            messages.push(timings.iter().map(|timing| timing.message).collect());
        }
        let mut marks = Vec::new();
        let recorded = runs.iter().find_map(|run| match run {
            Run::Recorded(recorded) => Some((recorded.run.launch_us?, Origin::Recorded)),
            Run::Here(_) => None,
        });
        let here = launch.map(|launch| (launch.as_secs_f64() * 1e6, Origin::Live));
        if let Some((launch_us, origin)) = here.or(recorded) {
            let label = format!("one launch: {}", numbers::nanoseconds(launch_us * 1e3));
            marks.push(Mark { label, origin, position: MarkPosition::Y(launch_us) });
        }
        let summary = compare(runs, &series, &mut marks);
        let panel = Panel {
            title: String::new(),
            x: Axis::log("Table entries of both cliques"),
            y: Axis::log("Time of a message, µs"),
            series,
            marks,
        };
        Self {
            compiled: Arc::clone(compiled),
            runs: runs.to_vec(),
            launch,
            messages,
            panel,
            summary,
        }
    }

    /// Whether this is the plot that [`new`](Self::new) would make from these arguments.
    pub fn is_for(
        &self,
        compiled: &Arc<CompiledNetwork>,
        runs: &[Run],
        launch: Option<Duration>,
    ) -> bool {
        Arc::ptr_eq(&self.compiled, compiled) && self.runs == runs && self.launch == launch
    }

    /// The message that a point shows.
    pub fn message(&self, hit: PointRef) -> Option<MessageId> {
        self.messages.get(hit.series)?.get(hit.point).copied()
    }

    /// The points of `message`, one for each run that has it.
    pub fn points_of(&self, message: MessageId) -> Vec<PointRef> {
        let point = |(series, messages): (usize, &Vec<MessageId>)| {
            let point = messages.iter().position(|known| *known == message)?;
            Some(PointRef { series, point })
        };
        self.messages.iter().enumerate().filter_map(point).collect()
    }
}

/// Compares the first GPU run with the first CPU run of the same origin. If the GPU becomes faster
/// at some size, adds a mark at this size. Returns a sentence on the result.
fn compare(runs: &[Run], series: &[Series], marks: &mut Vec<Mark>) -> String {
    let pair = [Origin::Live, Origin::Recorded].into_iter().find_map(|origin| {
        let first =
            |on_gpu| runs.iter().position(|run| run.origin() == origin && run.on_gpu() == on_gpu);
        first(true).zip(first(false)).map(|pair| (pair, origin))
    });
    let Some(((gpu, cpu), origin)) = pair else {
        return "Each point is a message: the size of its tables and its time.".to_owned();
    };
    let points = |index: usize| -> Vec<(f64, f64)> {
        series[index].points.iter().map(|point| (point.x, point.y)).collect()
    };
    let (on_gpu, on_cpu) = (runs[gpu].name(), runs[cpu].name());
    match crossover(&points(cpu), &points(gpu)) {
        Crossover::At(entries) => {
            let size = numbers::short(entries);
            let label = format!("crossover: {size} entries");
            marks.push(Mark { label, origin, position: MarkPosition::X(entries) });
            format!(
                "From about {size} entries on, messages of {on_gpu} are faster than messages of \
                 {on_cpu}."
            )
        }
        Crossover::SecondAlways => {
            format!(
                "Messages of {on_gpu} are faster than messages of {on_cpu} for every table size."
            )
        }
        Crossover::Never => {
            format!(
                "There is no table size from which on messages of {on_gpu} are faster than \
                 messages of {on_cpu}."
            )
        }
        Crossover::Unknown => format!("{on_gpu} and {on_cpu} have no table sizes in common."),
    }
}

/// Draws the tooltip of a point.
pub(super) fn show_tooltip(
    ui: &mut Ui,
    compiled: &CompiledNetwork,
    plot: &MessagePlot,
    hit: PointRef,
    id: MessageId,
) {
    let message = compiled.plan()[id];
    let (series, run) = (&plot.panel.series[hit.series], &plot.runs[hit.series]);
    let point = &series.points[hit.point];
    let title = format!("Message {}, {}", id.index(), message.phase.name());
    ui.strong(title);
    ui.label(format!("{}, {}", run.label(), run.credit()));
    ui.label(format!("from {}", naming::clique(compiled, message.from)));
    ui.label(format!("to {}", naming::clique(compiled, message.to)));
    let separator = compiled.tree()[message.separator].entries as usize;
    let separator = numbers::counted(separator, "separator entry", "separator entries");
    ui.label(format!("through {separator}"));
    ui.label(format!(
        "{} for {} entries",
        numbers::nanoseconds(point.y * 1e3),
        numbers::thousands(point.x as u64)
    ));
}
