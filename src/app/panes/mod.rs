//! One file a pane. Every pane is a small struct with its own view state (scroll, zoom, sort order)
//! and `show(&mut self, ui, &Model, &mut Commands)`.
