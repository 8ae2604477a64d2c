//! The window around the panes: menu, status line, dialogs, pictures, and where the panes are.

pub(crate) mod actions;
pub(crate) mod drag_and_drop;
pub(crate) mod engine_menu;
pub(crate) mod file_dialog;
pub(crate) mod menu;
pub(crate) mod pane_layout;
pub(crate) mod path_box;
pub(crate) mod picture;
pub(crate) mod screenshot;
pub(crate) mod status;
pub(crate) mod stepping_bar;
