//! What is left of a run that did not end as it should: kept while the window is open, and offered
//! when the next one opens.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use eframe::egui::{self, Ui};
use egui_tiles::Tree;

use crate::app::state::command::{Commands, DocumentCommand};
use crate::app::state::model::Pane;
use crate::app::workbench::{NamedFinding, Workbench};
use crate::app::{shell::pane_layout, state::settings};
use crate::engine::PaperOptions;
use crate::format::NetworkSource;
use crate::graph::Triangulation;
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::MemoryLimit;
use crate::session::EngineChoice;
use crate::store::{Abandoned, Autosave};

/// What is kept, by names, so that another version reads it as far as it still means something.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Kept {
    /// A path, or the name of a sample.
    network: NetworkLocation,
    /// What the network is called.
    title: String,
    evidence: Vec<(String, NamedFinding)>,
    engine: String,
    precision: Precision,
    #[serde(default)]
    paper: PaperOptions,
    triangulation: String,
    memory: Option<MemoryLimit>,
    layout: Tree<Pane>,
}

/// Where a network was read from, as far as it can be read there again.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NetworkLocation {
    Named(String),
    File(PathBuf),
}

impl NetworkLocation {
    /// Where `source` reads from, by a path that means the same in every folder.
    pub(crate) fn of(source: &NetworkSource) -> Option<Self> {
        let absolute =
            |path: &Path| Self::File(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        match source {
            NetworkSource::Named(spec) if Path::new(spec).exists() => {
                Some(absolute(Path::new(spec)))
            }
            NetworkSource::Named(spec) => Some(Self::Named(spec.clone())),
            NetworkSource::File(path) => Some(absolute(path)),
            // Bytes that came from elsewhere could not be read again.
            NetworkSource::Bytes { .. } => None,
        }
    }
}

/// What the last write holds, as it is compared in every frame.
struct Written {
    serial: u64,
    evidence: Evidence,
    engine: EngineChoice,
    triangulation: Triangulation,
    memory: Option<MemoryLimit>,
    layout: Tree<Pane>,
}

/// The file of this run, and what earlier ones have left.
#[derive(Default)]
pub(crate) struct Recovery {
    autosave: Option<Autosave>,
    written: Option<Written>,
    /// What is worth an offer, the newest first; one is offered at a time.
    offers: VecDeque<(Kept, Abandoned)>,
    /// The opening that takes what is offered, which stays until the network is there.
    restoring: Option<u64>,
}

impl Recovery {
    /// Looks for what was left in `folder`, and begins to keep a file there.
    fn begin(folder: &Path) -> Result<Self, String> {
        let mut offers = VecDeque::new();
        for abandoned in Abandoned::find(folder) {
            match serde_json::from_slice::<Kept>(&abandoned.content) {
                // A network without evidence is opened as easily from the list of recent files.
                Ok(kept) if !kept.evidence.is_empty() => offers.push_back((kept, abandoned)),
                // The other ones are of a version that nobody can read any more.
                Ok(_) | Err(_) => abandoned.discard(),
            }
        }
        let autosave =
            Autosave::start(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { autosave: Some(autosave), offers, ..Self::default() })
    }

    /// The title of what is offered, and its number of findings.
    fn offered(&self) -> Option<(&str, usize)> {
        let (kept, _) = self.offers.front().filter(|_| self.restoring.is_none())?;
        Some((&kept.title, kept.evidence.len()))
    }

    /// The network of the opening `serial` is there.
    pub(crate) fn opened(&mut self, serial: u64) {
        if self.restoring.take_if(|restoring| *restoring == serial).is_some() {
            self.discard();
        }
    }

    /// A network cannot be opened. What is offered may be taken another time.
    pub(crate) fn failed(&mut self) {
        self.restoring = None;
    }

    /// Forgets what is offered; what was left before that is offered next.
    pub(crate) fn discard(&mut self) {
        if let Some((_, abandoned)) = self.offers.pop_front() {
            abandoned.discard();
        }
    }
}

impl Workbench {
    /// Keeps what is open and what is known in `folder` from now on, and offers what an earlier run
    /// that did not end as it should has left there.
    pub fn recover_in(&mut self, folder: &Path) {
        match Recovery::begin(folder) {
            Ok(recovery) => self.recovery = recovery,
            Err(error) => self.complain(&format!("Nothing is kept in case of a crash: {error}")),
        }
    }

    /// The window ends as it should: nothing is left to be offered. What was offered and neither
    /// taken nor declined will be again.
    pub fn end(&mut self) {
        self.recovery.autosave = None;
    }

    /// Opens what was offered.
    pub(crate) fn restore(&mut self) {
        let Some((kept, _)) = self.recovery.offers.front() else { return };
        let kept = kept.clone();
        let named = settings::Settings {
            engine: kept.engine,
            precision: kept.precision,
            paper: kept.paper,
            triangulation: kept.triangulation,
            memory: kept.memory,
            ..settings::Settings::default()
        };
        self.use_for_this_run(&named);
        if pane_layout::is_complete(&kept.layout) {
            self.layout = kept.layout;
        }
        let source = match kept.network {
            NetworkLocation::Named(spec) => NetworkSource::Named(spec),
            NetworkLocation::File(path) => NetworkSource::File(path),
        };
        self.begin_opening(source, kept.evidence);
        self.recovery.restoring = Some(self.source_serial);
    }

    /// Has what changed in this frame written. Writing and all that is slow is done elsewhere.
    pub(crate) fn keep_what_changed(&mut self) {
        // What a lesson opened is not the user's; what is kept is what was there before it.
        if self.course.is_some() {
            return;
        }
        let Some(autosave) = &self.recovery.autosave else { return };
        let failure = autosave.take_error();
        if let Some(document) = &self.model.document
            && !self.recovery.written.as_ref().is_some_and(|written| {
                written.serial == document.serial
                    && written.evidence == document.evidence
                    && written.engine == self.model.engine
                    && written.triangulation == self.model.triangulation
                    && written.memory == self.model.memory
                    && written.layout == self.layout
            })
        {
            let written = Written {
                serial: document.serial,
                evidence: document.evidence.clone(),
                engine: self.model.engine,
                triangulation: self.model.triangulation,
                memory: self.model.memory,
                layout: self.layout.clone(),
            };
            if let Some(network) = NetworkLocation::of(&document.source) {
                let kept = Kept {
                    network,
                    title: document.title(),
                    evidence: NamedFinding::all(document.network(), &document.evidence),
                    engine: self.model.engine.engine.name().to_owned(),
                    precision: self.model.engine.precision,
                    paper: self.model.engine.paper,
                    triangulation: self.model.triangulation.name().to_owned(),
                    memory: self.model.memory,
                    layout: self.layout.clone(),
                };
                // Plain data, of which every value can be written.
                autosave.save(move || serde_json::to_vec(&kept).unwrap_or_default());
            }
            self.recovery.written = Some(written);
        }
        if let Some(failure) = failure {
            self.complain(&format!("Nothing is kept in case of a crash: {failure}"));
        }
    }
}

/// Draws the offer, if there is one.
pub(crate) fn show(ui: &mut Ui, recovery: &Recovery, commands: &mut Commands) {
    let Some((title, findings)) = recovery.offered() else { return };
    egui::Panel::top("recovery").show(ui, |ui| {
        ui.horizontal(|ui| {
            let known = match findings {
                1 => "1 finding".to_owned(),
                many => format!("{many} findings"),
            };
            ui.label(format!(
                "The last run did not end as it should. {title} was open with {known}."
            ));
            if ui.button(format!("Restore the evidence of {title}")).clicked() {
                commands.push(DocumentCommand::Restore);
            }
            if ui.button("Discard it").clicked() {
                commands.push(DocumentCommand::DiscardAutosave);
            }
        });
    });
}
