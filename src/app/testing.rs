//! Models and a stand-in for the workbench, to drive a pane in a test.

use std::sync::Arc;

use eframe::egui::Ui;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, Node};

use crate::app::command::{Command, Commands};
use crate::app::highlight::Highlight;
use crate::app::model::{Document, Model};
use crate::cancel::CancelToken;
use crate::engine::{LoadOptions, PaperOptions, by_name, propagate};
use crate::format::open;
use crate::graph::{JunctionTree, Triangulation};
use crate::network::Evidence;
use crate::propagation::{CompileOptions, MemoryLimit, Watch, compile};
use crate::session::{EngineChoice, Propagation, Source};

/// A pane's model with the commands of the frame before applied, as far as panes rely on it.
pub(crate) struct Bench {
    /// What the pane draws.
    pub model: Model,
    /// All commands that were pushed, oldest first; hovers left out.
    pub pushed: Vec<Command>,
}

impl Bench {
    /// The junction tree of the open network.
    pub fn tree(&self) -> &JunctionTree {
        self.model.compiled().expect("a compiled network").tree()
    }

    fn apply(&mut self, commands: &mut Commands) {
        let mut hovered = None;
        for command in commands.drain() {
            match command {
                Command::Hover(item) => hovered = Some(item),
                Command::Select(item) => {
                    self.model.selection = self.light(item.clone());
                    self.pushed.push(Command::Select(item));
                }
                other => self.pushed.push(other),
            }
        }
        self.model.hover = self.light(hovered);
    }

    fn light(&self, item: Option<crate::app::highlight::Item>) -> Highlight {
        Highlight::of(item, self.model.compiled().map(|compiled| &**compiled))
    }
}

/// A model with `network`, a sample's name, open and propagated without evidence by engine
/// `sequential`; with nothing open if the name is empty.
pub(crate) fn model(network: &str) -> Model {
    model_with(network, "sequential", &[])
}

/// As [`model`], with another engine and with findings by name.
pub(crate) fn model_with(network: &str, engine: &str, findings: &[(&str, &str)]) -> Model {
    let engine = by_name(engine).expect("an engine of this name");
    let paper = PaperOptions::default();
    let choice = EngineChoice { engine, precision: engine.precisions()[0], threads: 1, paper };
    let document = (!network.is_empty()).then(|| document(network, choice, findings));
    Model {
        document,
        working: None,
        failure: None,
        engine: choice,
        triangulation: Triangulation::Auto,
        memory: None,
        auto_propagate: true,
        keep_improving: false,
        improvement: None,
        selection: Highlight::default(),
        hover: Highlight::default(),
        fit_serial: 0,
    }
}

fn document(name: &str, choice: EngineChoice, findings: &[(&str, &str)]) -> Document {
    let read = Arc::new(open(name).expect("a sample"));
    let options = CompileOptions::default();
    let compiled = compile(Arc::clone(&read.network), &options, &CancelToken::new());
    let compiled = Arc::new(compiled.expect("nobody cancels"));
    let load = LoadOptions {
        precision: choice.precision,
        threads: choice.threads,
        memory: MemoryLimit::of_bytes(1 << 30),
        paper: choice.paper,
    };
    let mut loaded = choice.engine.load(&compiled, &load).expect("a small network");
    let mut run = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let posteriors = propagate(&mut *loaded, &compiled, evidence, &watch).expect("possible");
        let trace = watch.trace();
        Arc::new(Propagation {
            evidence: evidence.clone(),
            posteriors,
            elapsed: trace.elapsed,
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
    Document {
        source: Source::Named(name.to_owned()),
        serial: 1,
        engine: choice,
        read,
        compiled: Some(Arc::clone(&compiled)),
        evidence,
        prior: Some(prior),
        result: Some(result),
        running: None,
        impossible: None,
        engine_bytes: Some(loaded.peak_bytes()),
    }
}

/// A harness of 900 by 600 points around a pane that shows `network`.
pub(crate) fn drive<'a>(
    network: &str,
    show: impl FnMut(&mut Ui, &Model, &mut Commands) + 'a,
) -> Harness<'a, Bench> {
    drive_model(model(network), show)
}

/// As [`drive`], for any model.
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
                show(ui, &bench.model, &mut commands);
                bench.apply(&mut commands);
            },
            bench,
        )
}

/// The first widget whose label has `text` in it.
pub(crate) fn label_containing<'h>(harness: &'h Harness<'_, Bench>, text: &'h str) -> Node<'h> {
    let mut all = harness.query_all_by_label_contains(text);
    all.next().unwrap_or_else(|| panic!("a widget labelled '{text}'"))
}
