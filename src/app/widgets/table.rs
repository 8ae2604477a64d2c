//! What the sortable tables share: header cells, rows that can be clicked and focused, arrow keys.

use std::cmp::Ordering;

use eframe::egui::{
    Align, Button, EventFilter, Id, InputState, Key, Layout, Rangef, Rect, Response, RichText,
    Sense, Ui, WidgetInfo, WidgetType,
};
use egui_extras::TableRow;

/// Height of a row of text.
pub const ROW_HEIGHT: f32 = 20.0;
/// Width of an empty last column, so that the scroll bar covers no number.
pub const MARGIN: f32 = 8.0;

/// By which column a table is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort<C> {
    /// The column.
    pub column: C,
    /// Largest first.
    pub descending: bool,
}

impl<C: Copy + PartialEq> Sort<C> {
    /// Sorted by `column`, smallest first.
    #[must_use]
    pub fn ascending(column: C) -> Self {
        Self { column, descending: false }
    }

    /// Sorted by `column`, largest first.
    #[must_use]
    pub fn descending(column: C) -> Self {
        Self { column, descending: true }
    }

    /// `ordering`, turned around if the largest comes first.
    #[must_use]
    pub fn apply(self, ordering: Ordering) -> Ordering {
        if self.descending { ordering.reverse() } else { ordering }
    }

    /// A header cell over text that sorts by `column` when clicked, and turns the order around
    /// when clicked again. `largest_first` is the order of the first click.
    pub fn header(
        &mut self,
        row: &mut TableRow<'_, '_>,
        column: C,
        title: &str,
        hint: &str,
        largest_first: bool,
    ) {
        row.col(|ui| {
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                self.button(ui, column, title, hint, largest_first);
            });
        });
    }

    /// As [`header`](Self::header), over numbers, which stand flush right.
    pub fn number(
        &mut self,
        row: &mut TableRow<'_, '_>,
        column: C,
        title: &str,
        hint: &str,
        largest_first: bool,
    ) {
        row.col(|ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                self.button(ui, column, title, hint, largest_first);
            });
        });
    }

    fn button(&mut self, ui: &mut Ui, column: C, title: &str, hint: &str, largest_first: bool) {
        let sorted = self.column == column;
        let (mark, order) = match (sorted, self.descending) {
            (false, _) => ("", ""),
            (true, true) => (" ⏷", ", largest first"),
            (true, false) => (" ⏶", ", smallest first"),
        };
        ui.spacing_mut().button_padding.x = 0.0;
        let text = RichText::new(format!("{title}{mark}")).strong().small();
        let response = ui.add(Button::new(text).frame(false));
        response.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Button, true, format!("Sort by {title}{order}"))
        });
        if response.on_hover_text(hint).clicked() {
            let descending = if sorted { !self.descending } else { largest_first };
            *self = Self { column, descending };
        }
    }
}

/// How a row looks and what it says.
#[derive(Clone, Debug)]
pub struct Row {
    /// Tells the row from all others, in every frame alike.
    pub id: Id,
    /// The horizontal extent of the table.
    pub span: Rangef,
    /// The row is selected.
    pub selected: bool,
    /// The row lights up, because what it stands for is pointed at somewhere.
    pub hovered: bool,
    /// What a screen reader says.
    pub label: String,
}

impl Row {
    /// The first cell of the row, with `add_contents` in it, and the whole row as one widget that
    /// can be clicked and focused. The first column of the table must not clip.
    pub fn first_cell(
        self,
        row: &mut TableRow<'_, '_>,
        add_contents: impl FnOnce(&mut Ui),
    ) -> Response {
        row.set_selected(self.selected);
        let mut response = None;
        row.col(|ui| {
            // Labels that can be selected as text would take the clicks of the row.
            ui.style_mut().interaction.selectable_labels = false;
            let height = ui.max_rect().y_range();
            let rect =
                Rect::from_x_y_ranges(self.span, height.expand(0.5 * ui.spacing().item_spacing.y));
            let whole = ui.interact(rect, self.id, Sense::click());
            let visuals = ui.visuals();
            if !self.selected && (whole.hovered() || self.hovered) {
                ui.painter().rect_filled(rect, 0, visuals.widgets.hovered.weak_bg_fill);
            }
            if whole.has_focus() {
                let stroke = visuals.selection.stroke;
                let inside = eframe::egui::StrokeKind::Inside;
                ui.painter().rect_stroke(rect, 2, stroke, inside);
            }
            let (selected, label) = (self.selected, self.label);
            whole.widget_info(|| {
                WidgetInfo::selected(WidgetType::SelectableLabel, true, selected, label.clone())
            });
            ui.with_layout(Layout::left_to_right(Align::Center), add_contents);
            response = Some(whole);
        });
        response.expect("a cell is drawn when it is added")
    }
}

/// A cell of text.
pub fn cell(row: &mut TableRow<'_, '_>, text: impl Into<String>) {
    row.col(|ui| {
        ui.style_mut().interaction.selectable_labels = false;
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| ui.label(text.into()));
    });
}

/// A cell with a number, flush right.
pub fn number(row: &mut TableRow<'_, '_>, text: impl Into<String>) {
    row.col(|ui| {
        ui.style_mut().interaction.selectable_labels = false;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(text.into()));
    });
}

/// Which row has the keyboard, and when to scroll to the selected one.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<T> {
    /// What was selected in the frame before.
    selected: Option<T>,
    /// The row that takes the focus as soon as it is drawn.
    focus: Option<T>,
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Self { selected: None, focus: None }
    }
}

impl<T: Copy + PartialEq> Cursor<T> {
    /// The row to scroll to, if the selection has changed since the frame before; `row_of` gives
    /// the row of an item.
    pub fn reveal(
        &mut self,
        selected: Option<T>,
        row_of: impl FnOnce(T) -> Option<usize>,
    ) -> Option<usize> {
        let before = std::mem::replace(&mut self.selected, selected);
        if before == selected { None } else { row_of(selected?) }
    }

    /// What the row `response` of `item`, number `index` of `count`, asks to select: itself when it
    /// is clicked (or Enter is pressed), another one when an arrow key leads there.
    pub fn follow(
        &mut self,
        response: &Response,
        item: T,
        index: usize,
        count: usize,
        item_at: impl FnOnce(usize) -> Option<T>,
    ) -> Option<T> {
        if self.focus == Some(item) {
            self.focus = None;
            response.request_focus();
            // A row keeps the arrow keys to itself only from its second frame with the focus on.
            response.ctx.request_repaint();
            // The key that led here may be of this very frame, and must not lead on.
            return None;
        }
        if response.clicked() {
            response.request_focus();
            return Some(item);
        }
        let target = item_at(key_target(response, index, count)?)?;
        self.focus = Some(target);
        Some(target)
    }
}

/// Where the arrow keys lead from row `index` of `count` while `row` has the focus.
fn key_target(row: &Response, index: usize, count: usize) -> Option<usize> {
    if !row.has_focus() || count == 0 {
        return None;
    }
    let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
    row.ctx.memory_mut(|memory| memory.set_focus_lock_filter(row.id, filter));
    let steps: [(Key, isize); 6] = [
        (Key::ArrowDown, 1),
        (Key::ArrowUp, -1),
        (Key::PageDown, 10),
        (Key::PageUp, -10),
        (Key::Home, isize::MIN),
        (Key::End, isize::MAX),
    ];
    let pressed = |input: &InputState| steps.into_iter().find(|(key, _)| input.key_pressed(*key));
    let (_, step) = row.ctx.input(pressed)?;
    let target = (index as isize).saturating_add(step).clamp(0, count as isize - 1);
    (target as usize != index).then_some(target as usize)
}
