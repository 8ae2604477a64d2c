//! A point a message: how large its tables are against how long it takes.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Ui;

use super::crossover::{Crossover, crossover};
use crate::app::state::model::Document;
use crate::app::state::recordings::Recorded;
use crate::app::widgets::naming;
use crate::engine::PaperOptions;
use crate::experiment::chart::PointRef;
use crate::experiment::{Axis, Mark, MarkPosition, Origin, Panel, Series, Shape};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};
use crate::session::Propagation;

/// A propagation on the tree of the open network.
#[derive(Clone, Debug)]
pub(super) enum Run {
    Here(Arc<Propagation>),
    Recorded(Recorded),
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

/// All runs that there are: this machine's, then the recorded ones.
pub(super) fn runs(document: &Document) -> Vec<Run> {
    let here = document.result.iter().filter(|result| document.is_of_this_tree(result));
    let here = here.map(|result| Run::Here(Arc::clone(result)));
    here.chain(document.recorded.iter().copied().map(Run::Recorded)).collect()
}

impl Run {
    /// The engine and what it was asked for.
    pub fn name(&self) -> String {
        match self {
            Self::Here(run) => format!("{} {}", run.engine.engine.name(), run.engine.precision),
            Self::Recorded(recorded) => format!("{} (recorded)", recorded.engine()),
        }
    }

    /// Where it ran.
    pub fn credit(&self) -> String {
        match self {
            Self::Here(_) => "the newest propagation of this machine".to_owned(),
            Self::Recorded(recorded) => recorded.credit(),
        }
    }

    pub fn trace(&self) -> &MessageTrace {
        match self {
            Self::Here(run) => &run.trace,
            Self::Recorded(recorded) => {
                recorded.trace().expect("only runs with traces are offered")
            }
        }
    }

    /// This machine's, and of the recorded ones the paper's two and the fastest on the GPU.
    pub fn tells_most(&self) -> bool {
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

/// The messages of some runs as points.
pub(super) struct Cloud {
    of: Arc<CompiledNetwork>,
    runs: Vec<Run>,
    launch: Option<Duration>,
    /// The messages of each series.
    messages: Vec<Vec<MessageId>>,
    /// Entries of both cliques' tables across, microseconds upward.
    pub panel: Panel,
    /// From what size on the GPU is faster.
    pub summary: String,
}

impl Cloud {
    /// The points of `runs`; `launch` is what one launch takes on this machine, if it has a GPU.
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
        if let Some((floor, origin)) = here.or(recorded) {
            let label = format!("one launch: {}", numbers::nanoseconds(floor * 1e3));
            marks.push(Mark { label, origin, position: MarkPosition::Y(floor) });
        }
        let summary = compare(runs, &series, &mut marks);
        let panel = Panel {
            title: String::new(),
            x: Axis::log("Table entries of both cliques"),
            y: Axis::log("Time of a message, µs"),
            series,
            marks,
        };
        Self { of: Arc::clone(compiled), runs: runs.to_vec(), launch, messages, panel, summary }
    }

    /// Whether it was made of this.
    pub fn is_of(
        &self,
        compiled: &Arc<CompiledNetwork>,
        runs: &[Run],
        launch: Option<Duration>,
    ) -> bool {
        Arc::ptr_eq(&self.of, compiled) && self.runs == runs && self.launch == launch
    }

    /// The message that a point stands for.
    pub fn message(&self, hit: PointRef) -> Option<MessageId> {
        self.messages.get(hit.series)?.get(hit.point).copied()
    }

    /// The points that stand for `message`.
    pub fn points_of(&self, message: MessageId) -> Vec<PointRef> {
        let of = |(series, messages): (usize, &Vec<MessageId>)| {
            let point = messages.iter().position(|known| *known == message)?;
            Some(PointRef { series, point })
        };
        self.messages.iter().enumerate().filter_map(of).collect()
    }
}

/// Marks where the first GPU run overtakes the first CPU run of the same machine, and says so.
fn compare(runs: &[Run], series: &[Series], marks: &mut Vec<Mark>) -> String {
    let pair = [Origin::Live, Origin::Recorded].into_iter().find_map(|origin| {
        let first =
            |on_gpu| runs.iter().position(|run| run.origin() == origin && run.on_gpu() == on_gpu);
        first(true).zip(first(false)).map(|pair| (pair, origin))
    });
    let Some(((gpu, cpu), origin)) = pair else {
        return "A message is a point: how large its tables are, how long it takes.".to_owned();
    };
    let points = |index: usize| -> Vec<(f64, f64)> {
        series[index].points.iter().map(|point| (point.x, point.y)).collect()
    };
    let (fast, slow) = (runs[gpu].name(), runs[cpu].name());
    match crossover(&points(cpu), &points(gpu)) {
        Crossover::At(entries) => {
            let size = numbers::short(entries);
            let label = format!("crossover: {size} entries");
            marks.push(Mark { label, origin, position: MarkPosition::X(entries) });
            format!("From about {size} entries on, a message of {fast} is faster than of {slow}.")
        }
        Crossover::SecondAlways => format!("{fast} is faster than {slow} for every size of table."),
        Crossover::FirstAlways => {
            format!("A message of {slow} is faster than of {fast} for every size of table.")
        }
        Crossover::Unknown => format!("{fast} and {slow} have no sizes of tables in common."),
    }
}

/// What is shown beside the pointer over a point.
pub(super) fn card(
    ui: &mut Ui,
    compiled: &CompiledNetwork,
    cloud: &Cloud,
    hit: PointRef,
    id: MessageId,
) {
    let message = compiled.plan()[id];
    let (series, run) = (&cloud.panel.series[hit.series], &cloud.runs[hit.series]);
    let point = &series.points[hit.point];
    let title = format!("Message {}, {}", id.index(), message.phase.name());
    ui.strong(title);
    ui.label(format!("{}, {}", run.label(), run.credit()));
    ui.label(format!("from {}", naming::clique(compiled, message.from)));
    ui.label(format!("to {}", naming::clique(compiled, message.to)));
    let separator = numbers::thousands(compiled.tree()[message.separator].entries);
    ui.label(format!("over {separator} separator entries"));
    ui.label(format!(
        "{} for {} entries",
        numbers::nanoseconds(point.y * 1e3),
        numbers::thousands(point.x as u64)
    ));
}
