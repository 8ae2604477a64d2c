//! The window around the panes: menu, bars, status line, dialogs, pictures, and the tabs of the
//! panes.

pub(crate) mod actions;
pub(crate) mod command_palette;
pub(crate) mod drag_and_drop;
pub(crate) mod engine_menu;
pub(crate) mod file_chooser;
pub(crate) mod file_dialog;
mod focus_ring;
pub(crate) mod help;
pub(crate) mod lesson_strip;
pub(crate) mod menu;
pub(crate) mod overlays;
pub(crate) mod pane_area;
pub(crate) mod path_box;
pub(crate) mod picture;
pub(crate) mod recovery_bar;
pub(crate) mod screenshot;
pub(crate) mod shortcuts;
pub(crate) mod status;
pub(crate) mod stepping_bar;
pub(crate) mod tree_menu;
