//! A monkey test of the window: sends it random clicks, drags, keys and scrolls, resizes it at
//! random, and opens random files. The window runs in the process of the test, without a display.
//! The same seed gives the same random numbers. What a click hits also depends on what the window
//! shows at that moment, which depends on when its threads answer and on what earlier windows
//! stored.
//! `fuzz/long.sh` runs the test for a given time.
#![cfg(feature = "app")]

mod common;
#[path = "common/long.rs"]
mod long;
#[path = "common/mutate.rs"]
mod mutate;

use std::path::Path;
use std::sync::Arc;

use cliquescope::app::state::command::{CaseFileCommand, Command, DocumentCommand, EngineCommand};
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use common::window::{settle, show};
use eframe::egui::{
    Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, pos2, vec2,
};
use egui_kittest::kittest::NodeT as _;
use egui_kittest::{Harness, Node};
use long::LongRun;
use mutate::mutate;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tempfile::TempDir;

/// Number of events in each window of the long run. Then the window is closed, and another one is
/// opened on what the first one stored, as in the next run of the program.
const EVENTS: usize = 150;

/// After this many events, the window must become idle, and its posteriors must be valid.
const EVENTS_BETWEEN_CHECKS: usize = 30;

/// Samples that are propagated within milliseconds, also in a build without optimisation.
const SAMPLES: [&str; 4] = ["asia", "cancer", "child", "insurance"];

/// Files of `tests/fixtures` to open, as they are or damaged.
const FILES: [&str; 10] = [
    "small.bif",
    "small.net",
    "small.xdsl",
    "markov.uai",
    "classes.net",
    "scales.bif",
    "small.csv",
    "small.json",
    "small.hcs",
    "small.evid",
];

/// A window, and the folder in which it stores cases and results, saves its work and finds files.
struct Monkey<'a> {
    harness: Harness<'static, Workbench>,
    random: &'a mut Pcg64Mcg,
    folder: &'a Path,
}

impl<'a> Monkey<'a> {
    fn new(folder: &'a Path, random: &'a mut Pcg64Mcg) -> Self {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.store_in(folder);
        workbench.autosave_in(&folder.join("unfinished"));
        let sample = SAMPLES[random.random_range(0..SAMPLES.len())];
        workbench.open(NetworkSource::Named(sample.to_owned()), Vec::new());
        Self { harness: show(workbench), random, folder }
    }

    /// A point in the middle of something with a label, or anywhere. Commands that end with
    /// an ellipsis are avoided, because they open a dialog of the system.
    fn target(&mut self) -> Pos2 {
        let size = self.harness.ctx.content_rect().size();
        let (x, y) = (self.random.random_range(0.0..size.x), self.random.random_range(0.0..size.y));
        let is_anywhere = self.random.random_bool(0.25);
        let choice: usize = self.random.random_range(0..usize::MAX);
        let is_visible = |node: &Node<'_>| {
            let node = node.accesskit_node();
            !node.is_hidden() && node.label().is_some() && node.bounding_box().is_some()
        };
        let opens_dialog = |node: &Node<'_>| {
            let label = node.accesskit_node().label();
            label.is_some_and(|label| label.ends_with('\u{2026}'))
        };
        let nodes = || self.harness.root().children_recursive().filter(is_visible);
        let (avoided, places): (Vec<Node<'_>>, Vec<Node<'_>>) = nodes().partition(opens_dialog);
        if places.is_empty() || is_anywhere {
            let anywhere = pos2(x, y);
            let is_avoided = avoided.iter().any(|node| node.rect().contains(anywhere));
            return if is_avoided { Pos2::ZERO } else { anywhere };
        }
        places[choice % places.len()].rect().center()
    }

    fn button(&self, position: Pos2, button: PointerButton, pressed: bool) {
        let modifiers = Modifiers::NONE;
        self.harness.event(Event::PointerButton { pos: position, button, pressed, modifiers });
    }

    /// Sends the window a random event, and draws one to three frames.
    fn act(&mut self) {
        match self.random.random_range(0..100) {
            0..55 => self.click(),
            55..65 => self.drag(),
            65..78 => self.scroll(),
            78..92 => self.press_key(),
            92..95 => {
                let size = vec2(
                    self.random.random_range(640.0..1920.0),
                    self.random.random_range(400.0..1080.0),
                );
                self.harness.set_size(size);
            }
            95..97 => self.open_sample(),
            _ => self.open_file(),
        }
        let frames = self.random.random_range(1..4);
        self.harness.run_steps(frames);
    }

    fn click(&mut self) {
        let position = self.target();
        let button = match self.random.random_range(0..10) {
            0 => PointerButton::Secondary,
            _ => PointerButton::Primary,
        };
        self.harness.event(Event::PointerMoved(position));
        self.button(position, button, true);
        self.button(position, button, false);
    }

    fn drag(&mut self) {
        let (from, to) = (self.target(), self.target());
        self.harness.event(Event::PointerMoved(from));
        self.button(from, PointerButton::Primary, true);
        self.harness.step();
        self.harness.event(Event::PointerMoved(from + (to - from) / 2.0));
        self.harness.step();
        self.harness.event(Event::PointerMoved(to));
        self.button(to, PointerButton::Primary, false);
    }

    fn scroll(&mut self) {
        let position = self.target();
        self.harness.event(Event::PointerMoved(position));
        let zooms = self.random.random_bool(0.3);
        self.harness.event(Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, self.random.random_range(-300.0..300.0)),
            phase: TouchPhase::Move,
            modifiers: if zooms { Modifiers::COMMAND } else { Modifiers::NONE },
        });
    }

    fn press_key(&mut self) {
        if self.random.random_bool(0.3) {
            let text = ["a", "x", "yes", "0.5", "\u{e9}", "-1", "1e400", "\u{202e}", " "];
            let text = text[self.random.random_range(0..text.len())];
            self.harness.event(Event::Text(text.to_owned()));
            return;
        }
        let key = Key::ALL[self.random.random_range(0..Key::ALL.len())];
        let modifiers = match self.random.random_range(0..4) {
            // Command+O and Command+S open a dialog of the system.
            0 if matches!(key, Key::O | Key::S) => return,
            0 => Modifiers::COMMAND,
            1 => Modifiers::SHIFT,
            _ => Modifiers::NONE,
        };
        self.harness.key_press_modifiers(modifiers, key);
    }

    fn open_sample(&mut self) {
        let sample = SAMPLES[self.random.random_range(0..SAMPLES.len())];
        self.run_command(DocumentCommand::Open(NetworkSource::Named(sample.to_owned())));
    }

    fn run_command(&mut self, command: impl Into<Command>) {
        let ctx = self.harness.ctx.clone();
        self.harness.state_mut().run_command(&ctx, command);
    }

    /// Opens a file, which may be damaged. Sometimes also reloads the open network.
    fn open_file(&mut self) {
        let name = FILES[self.random.random_range(0..FILES.len())];
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let mut bytes = std::fs::read(fixtures.join(name)).expect("a fixture");
        if self.random.random_bool(0.5) {
            bytes = mutate(&bytes, self.random);
        }
        if [".csv", ".json", ".hcs", ".evid"].iter().any(|extension| name.ends_with(extension)) {
            let path = self.folder.join(name);
            std::fs::write(&path, bytes).expect("a writable folder");
            self.run_command(CaseFileCommand::LoadEvidence(path));
        } else {
            let source = NetworkSource::Bytes { name: name.to_owned(), bytes: Arc::from(bytes) };
            self.run_command(DocumentCommand::Open(source));
        }
        if self.random.random_bool(0.2) {
            self.run_command(DocumentCommand::Reload);
        }
    }

    /// Waits until the window is idle, and checks what it shows.
    fn check(&mut self) {
        // The random events may have turned automatic propagation off, cancelled a propagation or
        // dismissed its failure. Then posteriors are out of date until the user asks for them.
        self.run_command(EngineCommand::Propagate);
        settle(&mut self.harness);
        let model = self.harness.state().model();
        if let Some(failure) = &model.failure {
            assert!(!failure.contains("internal error"), "{failure}");
        }
        let document = model.document.as_ref().expect("a network is open");
        let Some(result) = &document.result else { return };
        for variable in document.network().ids() {
            let sum: f64 = result.posteriors.of(variable).iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "the posterior sums to {sum}");
        }
    }
}

/// Opens a window, sends it `events` random events drawn with `seed`, and closes it.
fn episode(seed: u64, events: usize, folder: &Path) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut monkey = Monkey::new(folder, &mut random);
    for number in 1..=events {
        monkey.act();
        if number % EVENTS_BETWEEN_CHECKS == 0 {
            monkey.check();
        }
    }
}

/// A new folder, in which this process works from now on: the monkey may type the name of a file
/// and save something in it.
fn working_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a writable folder");
    std::env::set_current_dir(folder.path()).expect("a folder of this process");
    folder
}

#[test]
fn a_few_random_events_do_no_harm() {
    let folder = working_folder();
    for seed in 1..=2 {
        episode(seed, 2 * EVENTS_BETWEEN_CHECKS, folder.path());
    }
}

#[test]
#[ignore = "runs for LONG_SECONDS seconds"]
fn random_events_for_the_given_time() {
    let mut run = LongRun::from_environment("window");
    let folder = working_folder();
    let mut seed = run.seed;
    while run.has_time_left() {
        let cause = format!("seed {seed}: LONG_SECONDS=1 LONG_SEED={seed} starts with this seed");
        run.catch(&cause, || episode(seed, EVENTS, folder.path()));
        run.count(EVENTS as u64);
        seed = seed.wrapping_add(1);
    }
    run.finish();
}
