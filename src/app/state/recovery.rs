//! The autosave of the open network's evidence and options, and recovery after a crash.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use egui_tiles::Tree;

use crate::app::state::compute::ComputeOptions;
use crate::app::state::core::Core;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::app::state::notices::Notices;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout;
use crate::app::state::settings::Settings;
use crate::engine::PaperOptions;
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::MemoryLimit;
use crate::safe_text::shortened;
use crate::store::{Abandoned, Autosave};

/// Maximum number of characters of a title that are shown. Titles are names of files, which are
/// rarely longer.
const MAX_TITLE: usize = 40;

/// The content of an autosave. Variables, states, engine and triangulation are stored by name, so
/// that another version of the program can read them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedWork {
    /// Where the network can be read again.
    pub(crate) network: NetworkLocation,
    /// The title of the network, shown with the offer to restore the work.
    title: String,
    /// Each finding with the name of its variable.
    pub(crate) evidence: Vec<(String, NamedFinding)>,
    engine: String,
    precision: Precision,
    #[serde(default)]
    paper: PaperOptions,
    triangulation: String,
    memory: Option<MemoryLimit>,
    layout: Tree<Pane>,
}

impl SavedWork {
    /// The work in `core`. `None` if nothing is open, or if the network cannot be read again.
    fn of(core: &Core) -> Option<Self> {
        let document = core.model.document.as_ref()?;
        let ComputeOptions { engine, triangulation, memory } = core.model.compute;
        Some(Self {
            network: NetworkLocation::of(&document.source)?,
            title: document.title(),
            evidence: NamedFinding::all(document.network(), &document.evidence),
            engine: engine.engine.name().to_owned(),
            precision: engine.precision,
            paper: engine.paper,
            triangulation: triangulation.name().to_owned(),
            memory,
            layout: core.layout_to_store().into_owned(),
        })
    }

    /// How the network was compiled and propagated.
    pub(crate) fn compute_options(&self) -> ComputeOptions {
        ComputeOptions::from_settings(&Settings {
            engine: self.engine.clone(),
            precision: self.precision,
            paper: self.paper,
            triangulation: self.triangulation.clone(),
            memory: self.memory,
            ..Settings::default()
        })
    }

    /// Where the panes were. `None` if the layout lacks a pane that this version has.
    pub(crate) fn layout(&self) -> Option<&Tree<Pane>> {
        Some(&self.layout).filter(|layout| pane_layout::is_complete(layout))
    }
}

/// The state at the last autosave, in a form that can be compared quickly in each frame.
#[derive(PartialEq)]
struct LastSaved {
    serial: u64,
    evidence: Evidence,
    compute: ComputeOptions,
    layout: Tree<Pane>,
}

impl LastSaved {
    fn of(core: &Core) -> Option<Self> {
        let document = core.model.document.as_ref()?;
        Some(Self {
            serial: document.serial,
            evidence: document.evidence.clone(),
            compute: core.model.compute,
            layout: core.layout_to_store().into_owned(),
        })
    }

    /// Whether `core` is still in this state.
    fn is_current(&self, core: &Core) -> bool {
        core.model.document.as_ref().is_some_and(|document| {
            self.serial == document.serial
                && self.evidence == document.evidence
                && self.compute == core.model.compute
                && self.layout == *core.layout_to_store()
        })
    }
}

/// The autosave of this run, and the autosaves that crashed runs left behind.
#[derive(Default)]
pub(crate) struct Recovery {
    /// The autosave of this run. `None` if autosave is off, and after the end of the run.
    autosave: Option<Autosave>,
    last_saved: Option<LastSaved>,
    /// Autosaves of crashed runs, newest first. They are offered one at a time.
    offers: VecDeque<(SavedWork, Abandoned)>,
    /// The serial number of the opening that restores the first offer. The offer is discarded only
    /// when that network is open.
    restoring: Option<u64>,
}

impl Recovery {
    /// Finds the autosaves of crashed runs in `folder`, and starts the autosave of this run there.
    /// Autosaves without evidence are discarded. Autosaves that cannot be parsed, such as those of
    /// another version of the program, are kept under another name, and `notices` says so.
    ///
    /// # Errors
    /// If the autosave cannot be started; the error is a message for the user.
    pub(crate) fn start(folder: &Path, notices: &mut Notices) -> Result<Self, String> {
        let mut offers = VecDeque::new();
        for abandoned in Abandoned::find(folder) {
            match serde_json::from_slice::<SavedWork>(&abandoned.content) {
                // Without evidence there is little to restore: the menu of recent files opens the
                // network as easily.
                Ok(work) if !work.evidence.is_empty() => offers.push_back((work, abandoned)),
                Ok(_) => abandoned.discard(),
                Err(error) => {
                    let kept = match abandoned.set_aside() {
                        Ok(copy) => format!("it is kept as {}", copy.display()),
                        Err(error) => format!("it could not be copied: {error}"),
                    };
                    notices.warning(&format!(
                        "The work of a run that did not end normally cannot be read ({error}); \
                         {kept}"
                    ));
                }
            }
        }
        let autosave =
            Autosave::start(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { autosave: Some(autosave), offers, ..Self::default() })
    }

    /// Removes the autosave of this run. Call this when the program ends normally. Offers that the
    /// user neither took nor discarded are made again by the next run.
    pub(crate) fn end(&mut self) {
        self.autosave = None;
    }

    /// The title and the number of findings of the first offer, unless an offer is being restored.
    /// The title is shortened, because a damaged file may have a very long one.
    pub(crate) fn offer(&self) -> Option<(Cow<'_, str>, usize)> {
        let (work, _) = self.offers.front().filter(|_| self.restoring.is_none())?;
        Some((shortened(&work.title, MAX_TITLE), work.evidence.len()))
    }

    /// The work of the first offer.
    pub(crate) fn offered_work(&self) -> Option<&SavedWork> {
        self.offers.front().map(|(work, _)| work)
    }

    /// Call this when the opening with this serial number is to restore the first offer.
    pub(crate) fn restore_with(&mut self, serial: u64) {
        self.restoring = Some(serial);
    }

    /// Call this when the opening with this serial number has succeeded. If this opening restored
    /// the first offer, discards the offer. If it replaced the opening that was to restore the
    /// offer, makes the offer again.
    pub(crate) fn opened(&mut self, serial: u64) {
        if self.restoring.take().is_some_and(|restoring| restoring == serial) {
            self.discard();
        }
    }

    /// Call this when an opening has failed. If the opening was to restore the first offer, makes
    /// the offer again.
    pub(crate) fn failed_to_open(&mut self) {
        self.restoring = None;
    }

    /// Discards the first offer with its autosave, so that the next offer is made.
    pub(crate) fn discard(&mut self) {
        if let Some((_, abandoned)) = self.offers.pop_front() {
            abandoned.discard();
        }
    }

    /// Saves the work if it has changed since the last save, and reports errors of earlier writes.
    /// Serialising and writing happen on another thread. Call this once per frame.
    pub(crate) fn save_changes(&mut self, core: &mut Core) {
        let Some(autosave) = &self.autosave else { return };
        let error = autosave.take_error();
        if core.model.document.is_some()
            && !self.last_saved.as_ref().is_some_and(|saved| saved.is_current(core))
        {
            if let Some(work) = SavedWork::of(core) {
                // Serialising plain data to memory cannot fail.
                autosave.save(move || serde_json::to_vec(&work).unwrap_or_default());
            }
            self.last_saved = LastSaved::of(core);
        }
        if let Some(error) = error {
            core.notices.error(&format!("Autosave failed: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_title_in_an_autosave_is_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let defaults = Settings::default();
        let work = SavedWork {
            network: NetworkLocation::Named("asia".to_owned()),
            title: "\u{e9}".repeat(1 << 20),
            evidence: vec![("xray".to_owned(), NamedFinding::State("yes".to_owned()))],
            engine: defaults.engine,
            precision: defaults.precision,
            paper: defaults.paper,
            triangulation: defaults.triangulation,
            memory: None,
            layout: pane_layout::initial_layout(pane_layout::Arrangement::Tabs),
        };
        let content = serde_json::to_vec(&work).unwrap();
        std::fs::write(folder.path().join("1.json"), content).unwrap();
        let recovery = Recovery::start(folder.path(), &mut Notices::default()).unwrap();
        let (title, findings) = recovery.offer().unwrap();
        assert_eq!((title.chars().count(), findings), (MAX_TITLE, 1));
    }

    #[test]
    fn an_autosave_that_cannot_be_read_is_kept_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let content = br#"{"evidence": [["xray", {"state": "yes"}]], "layout": "new"}"#;
        std::fs::write(folder.path().join("1.json"), content).unwrap();
        let mut notices = Notices::default();
        for _ in 0..2 {
            let recovery = Recovery::start(folder.path(), &mut notices).unwrap();
            assert_eq!(recovery.offer(), None);
            assert_eq!(std::fs::read(folder.path().join("1.bad")).unwrap(), content);
        }
        let notices: Vec<&str> = notices.all().collect();
        assert_eq!(notices.len(), 1, "the second start finds nothing: {notices:?}");
        assert!(notices[0].contains("1.bad"), "{notices:?}");
    }
}
