//! Models for tests, and a harness that draws one pane.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use eframe::egui::{Key, Ui};
use egui_kittest::kittest::{AccessKitNode, By, NodeT as _, Queryable as _};
use egui_kittest::{Harness, Node};

use crate::app::state::command::{Command, Commands, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::kept_run::KeptRun;
use crate::app::state::model::Model;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::state::settings::Settings;
use crate::cancel::CancelToken;
use crate::engine::{LoadOptions, PaperOptions, by_name, propagate};
use crate::experiment::{
    Gpu, Machine, MessageSizes, Provenance, RecordedNetwork, RecordedRun, Recording,
};
use crate::format::NetworkSource;
use crate::format::open;
use crate::graph::JunctionTree;
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{
    CompileOptions, MemoryLimit, MessageTiming, MessageTrace, Stage, StageTiming, Watch, compile,
};
use crate::session::{EngineChoice, Propagation};
use crate::statistics::Quantiles;

/// The model of a pane in a test, and the commands that the pane pushed. Only commands that select
/// an item, hover over one, keep a run or show a recording are applied to the model.
pub(crate) struct Bench {
    /// What the pane draws.
    pub model: Model,
    /// All commands that were pushed except hovers, oldest first.
    pub pushed: Vec<Command>,
}

impl Bench {
    /// The junction tree of the open network.
    pub fn tree(&self) -> &JunctionTree {
        self.model.compiled().expect("a compiled network").tree()
    }

    /// Keeps the commands of a frame, and applies those that change what the pane draws.
    fn apply(&mut self, commands: &mut Commands) {
        let mut hovered = None;
        for command in commands.drain() {
            match command {
                Command::View(ViewCommand::Hover(item)) => hovered = Some(item),
                Command::View(ViewCommand::Select(item)) => {
                    self.model.selection = self.highlight(item.clone());
                    self.pushed.push(ViewCommand::Select(item).into());
                }
                Command::View(ViewCommand::KeepRun) => {
                    let document = self.model.document.as_mut().expect("an open network");
                    document.kept = KeptRun::of(document);
                    self.pushed.push(ViewCommand::KeepRun.into());
                }
                Command::View(ViewCommand::ShowRecording(recorded)) => {
                    let document = self.model.document.as_mut().expect("an open network");
                    document.shown = recorded;
                    self.pushed.push(ViewCommand::ShowRecording(recorded).into());
                }
                other => self.pushed.push(other),
            }
        }
        self.model.hover = self.highlight(hovered);
    }

    fn highlight(&self, item: Option<Item>) -> Highlight {
        Highlight::of(item, self.model.compiled().map(|compiled| &**compiled))
    }
}

/// A model with the sample called `network` open, propagated without evidence by engine
/// `sequential`. No network is open if the name is empty.
pub(crate) fn model(network: &str) -> Model {
    model_with(network, "sequential", &[])
}

/// As [`model`], but with the engine called `engine` and with `findings`, each the name of a
/// variable and the label of its observed state.
pub(crate) fn model_with(network: &str, engine: &str, findings: &[(&str, &str)]) -> Model {
    let engine = by_name(engine).expect("an engine of this name");
    let paper = PaperOptions::default();
    let choice = EngineChoice { engine, precision: engine.precisions()[0], threads: 1, paper };
    let mut model = Model::new(Settings::default(), &[]);
    model.document = (!network.is_empty()).then(|| document(network, choice, findings));
    model.compute.engine = choice;
    model
}

/// Replaces the recordings of `model` by one of the open network on engine `gpu`. Each message
/// takes 1 µs, in a block of its own that waited for 2 µs before. The first message starts at
/// 10 µs, which is 8 µs after the end of initialisation; each of the others starts when the one
/// before ends.
pub(crate) fn record_on_gpu(model: &mut Model) -> &'static Recording {
    let microseconds = |index: usize| Duration::from_micros(index as u64);
    let document = model.document.as_mut().expect("an open network");
    let compiled = document.compiled.as_ref().expect("a compiled network");
    let messages = compiled.plan().ids().map(|message| MessageTiming {
        message,
        worker: 3 * message.index() as u32,
        wait: microseconds(2),
        start: microseconds(10 + message.index()),
        duration: microseconds(1),
        shared_with: 0,
    });
    let stage =
        |stage, from, to| StageTiming { stage, start: microseconds(from), end: microseconds(to) };
    let trace = MessageTrace {
        messages: messages.collect(),
        stages: vec![stage(Stage::Initialise, 0, 2), stage(Stage::Collect, 10, 30)],
        elapsed: microseconds(40),
        ..MessageTrace::default()
    };
    let run = RecordedRun {
        engine: "gpu".to_owned(),
        precision: Precision::F32,
        threads: 1,
        paper: None,
        propagate_us: Quantiles::of(&[40.0]).expect("one number"),
        overhead_us: Some(18.0),
        launch_us: Some(2.0),
        peak_bytes: 0,
        trace: Some(trace),
    };
    let gpu = Gpu {
        name: "NVIDIA Abacus".to_owned(),
        multiprocessors: 1,
        threads: 1,
        driver: None,
        clocks: None,
    };
    let mut recording = Recording::new(Provenance {
        version: "0".to_owned(),
        commit: None,
        date: "2026-01-02T03:04:05Z".to_owned(),
        machine: Machine { cpu: "test CPU".to_owned(), threads: 10, gpu: Some(gpu) },
    });
    recording.networks.push(RecordedNetwork {
        network: document.title(),
        triangulation: "auto".to_owned(),
        tree: compiled.statistics().clone(),
        messages: MessageSizes::of(compiled.tree(), compiled.plan()),
        runs: vec![run],
    });
    let recordings: &'static [Recording] = Box::leak(Box::new([recording]));
    document.recorded = RecordedRunRef::on_tree(recordings, &document.title(), compiled);
    model.recordings = recordings;
    &recordings[0]
}

/// The document of the sample called `name`, compiled and then propagated by the engine in
/// `choice`, once without evidence and once with `findings`.
fn document(name: &str, choice: EngineChoice, findings: &[(&str, &str)]) -> Document {
    let read = Arc::new(open(name).expect("a sample"));
    let options = CompileOptions::default();
    let compiled = compile(Arc::clone(&read.network), &options, &CancelToken::new());
    let compiled = Arc::new(compiled.expect("not cancelled"));
    let load = LoadOptions {
        precision: choice.precision,
        threads: choice.threads,
        memory: MemoryLimit::from_bytes(1 << 30),
        paper: choice.paper,
        ..LoadOptions::default()
    };
    let mut propagator = choice.engine.load(&compiled, &load).expect("a small network");
    let mut run = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let posteriors =
            propagate(&mut *propagator, &compiled, evidence, &watch).expect("possible");
        let trace = watch.trace();
        Arc::new(Propagation {
            evidence: evidence.clone(),
            posteriors,
            untraced: None,
            times: None,
            trace,
            engine: choice,
            compiled: Arc::clone(&compiled),
        })
    };
    let mut evidence = Evidence::none();
    for (variable, state) in findings {
        evidence.observe_named(&read.network, variable, state).expect("a finding of the network");
    }
    let (prior, result) = (run(&Evidence::none()), run(&evidence));
    let source = NetworkSource::Named(name.to_owned());
    let mut document = Document::new(source, 1, choice, read, evidence);
    document.compiled = Some(Arc::clone(&compiled));
    document.prior = Some(prior);
    document.result = Some(result);
    document.engine_bytes = Some(propagator.peak_bytes());
    document
}

/// A harness that draws a pane of 900 by 600 points with the [`model`] of `network`. `show` draws
/// the pane.
pub(crate) fn drive<'a>(
    network: &str,
    show: impl FnMut(&mut Ui, &Model, &mut Commands) + 'a,
) -> Harness<'a, Bench> {
    drive_model(model(network), show)
}

/// As [`drive`], but with this `model`.
pub(crate) fn drive_model<'a>(
    model: Model,
    mut show: impl FnMut(&mut Ui, &Model, &mut Commands) + 'a,
) -> Harness<'a, Bench> {
    let bench = Bench { model, pushed: Vec::new() };
    Harness::builder()
        .with_size([900.0, 600.0])
        .with_step_dt(1.0 / 60.0)
        .with_max_steps(200)
        .build_ui_state(
            move |ui, bench: &mut Bench| {
                let mut commands = Commands::default();
                bench.model.begin_frame();
                show(ui, &bench.model, &mut commands);
                bench.apply(&mut commands);
            },
            bench,
        )
}

/// The first widget whose label contains `text`.
pub(crate) fn label_containing<'h>(harness: &'h Harness<'_, Bench>, text: &'h str) -> Node<'h> {
    let mut all = harness.query_all_by_label_contains(text);
    all.next().unwrap_or_else(|| panic!("a widget labelled '{text}'"))
}

/// The label, the text or the number of each widget that the Tab key goes to, in order; `None` for
/// a widget without any. Of panes with more than a hundred such widgets, only the first hundred.
pub(crate) fn tab_stops(harness: &mut Harness<'_, Bench>) -> Vec<Option<String>> {
    let name = |node: AccessKitNode<'_>| {
        let number = || node.numeric_value().map(|number| number.to_string());
        node.label().or(node.value()).or_else(number)
    };
    let mut visited = HashSet::new();
    let mut stops = Vec::new();
    for _ in 0..100 {
        harness.key_press(Key::Tab);
        harness.run_steps(2);
        let focused = harness.ctx.memory(|memory| memory.focused());
        if focused.is_some_and(|id| visited.insert(id)) {
            let nodes = harness.query_all(By::new().predicate(|node| node.is_focused()));
            stops.push(nodes.filter_map(|node| name(node.accesskit_node())).next());
        }
    }
    stops
}
