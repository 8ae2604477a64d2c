//! What the panes show: selection, hover, layout and theme.

use crate::app::state::highlight::Item;
use crate::app::state::model::{Pane, ThemeChoice};
use crate::app::state::recordings::Recorded;
use crate::propagation::MessageId;

/// A command about what the panes show.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewCommand {
    /// Select this item, or nothing. Selecting the selected item again keeps it selected.
    Select(Option<Item>),
    /// The pointer is over this item. Pushed in every frame while it is.
    Hover(Item),
    /// Bring a pane to the front.
    Show(Pane),
    /// Zoom the graphs so that they fit their panes.
    Fit,
    /// Restore the initial layout of the panes.
    ResetLayout,
    /// Show or hide moral and fill edges in the network graph.
    ShowFillEdges(bool),
    /// Show the messages of a recorded run, or those of this machine.
    ShowRecording(Option<Recorded>),
    /// Show this message with its numbers. Pushed in every frame in which it is shown.
    Explain(MessageId),
    /// Dark, light, or as the system has it.
    SetTheme(ThemeChoice),
    /// Scale everything; 1 is normal size.
    SetZoom(f32),
}
