//! Reusable parts of panes.

pub mod colour_scale;
pub mod equation;
pub mod fact;
pub mod figure;
pub mod graph_view;
pub mod icon_button;
pub mod naming;
pub mod scroll_to_focus;
pub mod short_text;
pub mod state_bar;
pub mod table;
pub mod targets;
