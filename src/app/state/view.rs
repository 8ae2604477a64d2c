//! What the panes show: selection, hover, layout and theme.

use eframe::egui;

use crate::app::state::core::Core;
use crate::app::state::highlight::Item;
use crate::app::state::kept_run::KeptRun;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout;
use crate::app::state::projector;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::state::settings::ThemeChoice;
use crate::network::VariableId;
use crate::propagation::MessageId;

/// A command about what the panes show.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewCommand {
    /// Select this item, or nothing. Selecting the selected item again keeps it selected.
    Select(Option<Item>),
    /// The pointer is over this item. Pushed in every frame in which the pointer is there.
    Hover(Item),
    /// Bring this pane to the front.
    Show(Pane),
    /// Let this pane fill the window, or restore the layout if it does already.
    ToggleMaximised(Pane),
    /// Restore the layout if a pane fills the window.
    Restore,
    /// Turn the view for projectors on or off: large, without menu bar and status line.
    ToggleProjector,
    /// Give this pane at least as much height as the panes above and below it, until
    /// [`GiveHeightBack`](Self::GiveHeightBack).
    Enlarge(Pane),
    /// If the group of this pane was enlarged for another pane, keep its height until
    /// [`GiveHeightBack`](Self::GiveHeightBack) for this pane too.
    KeepEnlarged(Pane),
    /// This pane no longer needs the height that it was given.
    GiveHeightBack(Pane),
    /// Move the keyboard focus to the states of the selected variable, or of the first one.
    FocusStates,
    /// Zoom the graphs so that each fits its pane.
    Fit,
    /// Restore the initial layout of the panes.
    ResetLayout,
    /// Show or hide moral and fill edges in the network graph.
    ShowFillEdges(bool),
    /// Show the messages of this recorded run, or for `None` those of the run on this machine.
    ShowRecording(Option<RecordedRunRef>),
    /// Keep the run whose trace is drawn, to compare it with others.
    KeepRun,
    /// Compute the message detail of this message. Pushed in every frame in which a pane shows the
    /// message.
    Explain(MessageId),
    /// Show sliders for the likelihoods of this variable, or hide the sliders.
    EditLikelihood(Option<VariableId>),
    /// Use the dark theme, the light theme, or the theme of the system.
    SetTheme(ThemeChoice),
    /// Scale everything; 1 is normal size.
    SetZoom(f32),
}

/// Applies `command`. Ignores `Hover` and `Explain`, which the workbench handles itself.
pub(crate) fn apply(core: &mut Core, ctx: &egui::Context, command: ViewCommand) {
    match command {
        ViewCommand::Select(item) => core.select(item),
        ViewCommand::Hover(_) | ViewCommand::Explain(_) => {}
        ViewCommand::Show(pane) => core.show_pane(pane),
        ViewCommand::ToggleMaximised(pane) => {
            let is_maximised = core.model.maximised == Some(pane);
            core.model.maximised = Some(pane).filter(|_| !is_maximised);
        }
        ViewCommand::Restore => core.model.maximised = None,
        ViewCommand::ToggleProjector => projector::toggle(core, ctx),
        ViewCommand::Enlarge(pane) => core.enlarge(pane),
        ViewCommand::KeepEnlarged(pane) => core.keep_enlarged(pane),
        ViewCommand::GiveHeightBack(pane) => core.give_height_back(pane),
        ViewCommand::FocusStates => {
            core.show_pane(Pane::Variables);
            core.model.focus_serial += 1;
        }
        ViewCommand::Fit => core.model.fit_serial += 1,
        ViewCommand::ResetLayout => {
            core.model.maximised = None;
            core.set_layout(pane_layout::initial_layout(core.arrangement()));
        }
        ViewCommand::ShowFillEdges(show) => core.model.fill_edges = show,
        ViewCommand::ShowRecording(recorded) => {
            if let Some(document) = core.document() {
                (document.shown, document.second_shown) = (recorded, None);
            }
        }
        ViewCommand::EditLikelihood(variable) => {
            core.model.likelihood = variable;
            if variable.is_some() {
                core.show_pane(Pane::Variables);
            }
        }
        ViewCommand::KeepRun => {
            if let Some(document) = core.document() {
                document.kept = KeptRun::of(document);
            }
        }
        ViewCommand::SetTheme(theme) => {
            core.model.settings.theme = theme;
            set_theme(ctx, theme);
        }
        ViewCommand::SetZoom(zoom) => ctx.set_zoom_factor(zoom),
    }
}

/// Draws everything in `theme` from now on.
pub(crate) fn set_theme(ctx: &egui::Context, theme: ThemeChoice) {
    ctx.set_theme(match theme {
        ThemeChoice::System => egui::ThemePreference::System,
        ThemeChoice::Dark => egui::ThemePreference::Dark,
        ThemeChoice::Light => egui::ThemePreference::Light,
    });
}
