//! The window.
//!
//! In each frame the [`Workbench`] receives what the [`session`](crate::session) reports, the panes
//! draw the [`Model`](state::model::Model) and push [`Command`](state::command::Command)s, and the
//! workbench applies the commands, which may send the session a new request.
//!
//! Imports go one way: workbench -> shell -> panes -> widgets and layout. Workbench, shell and
//! panes also import [`state`], which imports none of these three; panes take only data and
//! commands from it. `state` may import widgets, and all may import [`theme`]. Tests also import
//! `testing`, and tests of the shell run a whole workbench.
//!
//! **Invariants:** a pane never changes the model and never computes a posterior; nothing here
//! waits for the session.

pub mod layout;
pub mod panes;
mod shell;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;
pub mod theme;
pub mod widgets;
mod workbench;

use std::path::{Path, PathBuf};

use eframe::egui;

use crate::app::state::lessons::LessonCommand;
use crate::app::state::settings::ThemeChoice;
use crate::app::state::settings_file::{SettingsFile, StoredSettings};
use crate::format::NetworkSource;
use crate::graph::Triangulation;
use crate::potential::Precision;
use crate::propagation::MemoryLimit;

pub use state::left_evidence::LeftEvidence;
pub use state::settings::Settings;
pub use workbench::Workbench;

use shell::screenshot::Screenshot;
use state::view;

/// The sample that opens by default.
const DEFAULT_SAMPLE: &str = "asia";
/// The initial size of the window, in points.
const DEFAULT_SIZE: [f32; 2] = [1260.0, 730.0];
/// The smallest size to which the window can be resized, in points.
const MIN_SIZE: [f32; 2] = [640.0, 400.0];
/// The smallest and the largest scale of the window; 1 is normal size. A stored scale beyond these
/// could make the window unusable.
const ZOOM_RANGE: [f32; 2] = [0.5, 4.0];
/// Identifies the program to the desktop, and names the folder of its files.
const APP_ID: &str = "cliquescope";
/// The key of the settings in eframe's storage, where earlier versions kept them.
const SETTINGS_KEY: &str = "settings";

/// Options for opening the window. Options that are `None` leave the choice to the settings or to a
/// default.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// The network to open; `None` opens the sample `asia`.
    pub network: Option<NetworkSource>,
    /// Findings to enter, each the name of a variable and the label of its observed state.
    pub evidence: Vec<(String, String)>,
    /// The file of the lesson to start.
    pub lesson: Option<PathBuf>,
    /// Write a picture of the window to this path when the posteriors are on screen, and quit. Such
    /// a run uses the default settings and stores nothing.
    pub screenshot: Option<PathBuf>,
    /// Width and height of the window in points.
    pub size: Option<(f32, f32)>,
    /// The theme. It replaces the theme in the settings, also for later runs unless `screenshot` is
    /// set.
    pub theme: Option<ThemeChoice>,
    /// Name of the engine, for this run only.
    pub engine: Option<String>,
    /// Number type of the engine's tables, for this run only.
    pub precision: Option<Precision>,
    /// How networks are triangulated, for this run only.
    pub triangulation: Option<Triangulation>,
    /// Memory that engines may use, for this run only.
    pub memory: Option<MemoryLimit>,
}

impl LaunchOptions {
    /// A copy of `stored`, in which the engine, precision, triangulation and memory limit are
    /// replaced by those that these options give.
    fn settings_for_this_run(&self, stored: &Settings) -> Settings {
        let mut settings = stored.clone();
        if let Some(engine) = &self.engine {
            settings.engine.clone_from(engine);
        }
        if let Some(precision) = self.precision {
            settings.precision = precision;
        }
        if let Some(triangulation) = self.triangulation {
            settings.triangulation = triangulation.name().to_owned();
        }
        settings.memory = self.memory.or(settings.memory);
        settings
    }
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// If the window cannot be opened, for example without a display, or if a requested screenshot
/// cannot be taken or written.
pub fn run(options: LaunchOptions) -> Result<(), String> {
    let (screenshot, outcome) = options.screenshot.clone().map(Screenshot::new).unzip();
    let size = options.size.map_or(DEFAULT_SIZE, |(width, height)| [width, height]);
    let viewport = egui::ViewportBuilder::default()
        .with_title("Cliquescope")
        .with_app_id(APP_ID)
        .with_icon(icon()?)
        .with_inner_size(size)
        .with_min_inner_size(MIN_SIZE)
        .with_drag_and_drop(true);
    let native = eframe::NativeOptions {
        viewport,
        // The next run does not take over the size of a screenshot, nor a requested size.
        persist_window: screenshot.is_none() && options.size.is_none(),
        window_builder: size_override(&options),
        ..Default::default()
    };
    let started = eframe::run_native(
        "cliquescope",
        native,
        Box::new(move |creation| Ok(Box::new(Window::new(creation, options, screenshot)))),
    );
    started.map_err(|error| format!("the window cannot be opened: {error}"))?;
    match outcome.and_then(|outcome| outcome.lock().ok()?.take()) {
        Some(result) => result,
        None => Ok(()),
    }
}

/// A hook that replaces the size of the last window by the requested size or, for a screenshot, by
/// the default size. eframe restores the last size even if `persist_window` is off. `None` if
/// neither a size nor a screenshot was requested.
fn size_override(options: &LaunchOptions) -> Option<eframe::WindowBuilderHook> {
    if options.size.is_none() && options.screenshot.is_none() {
        return None;
    }
    let size = options.size.map(|(width, height)| [width, height]);
    Some(Box::new(move |last| {
        last.with_inner_size(size.unwrap_or(DEFAULT_SIZE))
            .with_maximized(false)
            .with_fullscreen(false)
    }))
}

/// The icon of the window.
///
/// # Errors
/// If the icon is not a PNG image.
fn icon() -> Result<egui::IconData, String> {
    eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon.png"))
        .map_err(|error| format!("the icon cannot be read: {error}"))
}

/// The workbench in a native window.
struct Window {
    workbench: Workbench,
    screenshot: Option<Screenshot>,
    /// The file of the settings. `None` for a screenshot, and if the folder of the file is unknown
    /// or cannot be opened.
    settings_file: Option<SettingsFile>,
    title: String,
}

/// Opens the file of the settings in `folder`, if there is a folder. If the file cannot be opened,
/// [`StoredSettings::problem`] says so.
fn open_settings(folder: Option<&Path>) -> (Option<SettingsFile>, StoredSettings) {
    let Some(folder) = folder else { return (None, StoredSettings::default()) };
    let folder = folder.join("settings");
    match SettingsFile::open(&folder) {
        Ok((file, stored)) => (Some(file), stored),
        Err(error) => {
            let folder = folder.display();
            let problem =
                format!("Settings will be lost when the window closes: {folder}: {error}");
            (None, StoredSettings { settings: None, problem: Some(problem) })
        }
    }
}

impl Window {
    /// Creates the workbench with the stored settings and the options, and opens the network.
    fn new(
        creation: &eframe::CreationContext<'_>,
        options: LaunchOptions,
        screenshot: Option<Screenshot>,
    ) -> Self {
        let folder = eframe::storage_dir(APP_ID).filter(|_| screenshot.is_none());
        let (settings_file, stored) = open_settings(folder.as_deref());
        let storage = creation.storage.filter(|_| screenshot.is_none());
        let of_earlier_version = || eframe::get_value(storage?, SETTINGS_KEY);
        let problem = stored.problem;
        let stored = stored.settings.or_else(of_earlier_version);
        let mut settings: Settings = stored.unwrap_or_default();
        settings.theme = options.theme.unwrap_or(settings.theme);
        view::set_theme(&creation.egui_ctx, settings.theme);
        let [min_zoom, max_zoom] = ZOOM_RANGE;
        creation.egui_ctx.set_zoom_factor(settings.zoom.clamp(min_zoom, max_zoom));
        theme::set_style(&creation.egui_ctx);
        let ctx = creation.egui_ctx.clone();
        let for_this_run = options.settings_for_this_run(&settings);
        let mut workbench = Workbench::new(settings, move || ctx.request_repaint());
        workbench.use_for_this_run(&for_this_run);
        if let Some(problem) = problem {
            workbench.warn(&problem);
        }
        if let Some(folder) = folder {
            workbench.store_in(&folder);
            workbench.autosave_in(&folder.join("unfinished"));
        }
        let default = || NetworkSource::Named(DEFAULT_SAMPLE.to_owned());
        workbench.open(options.network.unwrap_or_else(default), options.evidence);
        if let Some(lesson) = options.lesson {
            workbench.run_command(&creation.egui_ctx, LessonCommand::OpenFile(lesson));
        }
        Self { workbench, screenshot, settings_file, title: String::new() }
    }
}

impl eframe::App for Window {
    fn raw_input_hook(&mut self, _: &egui::Context, input: &mut egui::RawInput) {
        // A screenshot does not depend on where the pointer is.
        if self.screenshot.is_some() {
            let is_pointer = |event: &egui::Event| {
                matches!(event, egui::Event::PointerMoved(_) | egui::Event::MouseMoved(_))
            };
            input.events.retain(|event| !is_pointer(event));
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        self.workbench.show(ui);
        let model = self.workbench.model();
        if let Some(screenshot) = &mut self.screenshot {
            screenshot.advance(ui.ctx(), self.workbench.is_settled(), model.failure.as_deref());
        }
        let title = match &model.document {
            Some(document) => format!("{} - Cliquescope", document.title()),
            None => "Cliquescope".to_owned(),
        };
        if title != self.title {
            self.title.clone_from(&title);
            ui.ctx().send_viewport_cmd(egui::ViewportCommand::Title(title));
        }
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        self.workbench.end();
    }

    /// egui's memory, such as scroll positions, is not stored. The choices that later runs take
    /// over are in the [`Settings`].
    fn persist_egui_memory(&self) -> bool {
        false
    }

    fn save(&mut self, _: &mut dyn eframe::Storage) {
        if let Some(file) = &mut self.settings_file {
            file.write(&self.workbench.settings());
            if let Some(error) = file.take_error() {
                self.workbench.warn(&format!("The settings could not be saved: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_size_overrides_the_size_of_the_last_window() {
        let last = || egui::ViewportBuilder::default().with_inner_size([1280.0, 800.0]);
        let sized = |options: &LaunchOptions| match size_override(options) {
            Some(hook) => hook(last().with_maximized(true)),
            None => last(),
        };
        let mut options = LaunchOptions::default();
        assert_eq!(sized(&options), last());
        options.screenshot = Some(PathBuf::from("asia.png"));
        assert_eq!(sized(&options).inner_size, Some(DEFAULT_SIZE.into()));
        options.size = Some((1920.0, 1080.0));
        assert_eq!(sized(&options).inner_size, Some([1920.0, 1080.0].into()));
        assert_eq!(sized(&options).maximized, Some(false));
    }
}
