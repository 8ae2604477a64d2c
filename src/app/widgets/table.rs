//! Parts of sortable tables: header cells, rows that can be clicked and focused, arrow keys.

use std::cmp::Ordering;

use eframe::egui::{
    Align, Button, EventFilter, Id, InputState, Key, Layout, Rangef, Rect, Response, RichText,
    Sense, Ui, WidgetInfo, WidgetType,
};
use egui_extras::TableRow;

/// Height of a row in points.
pub const ROW_HEIGHT: f32 = 20.0;
/// Width in points of an empty last column, which keeps the scroll bar away from the numbers.
pub const MARGIN: f32 = 8.0;
/// Number of rows that Page Up and Page Down move the focus by.
const PAGE_ROWS: isize = 10;

/// The column that a table is sorted by, and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort<C> {
    /// The column.
    pub column: C,
    /// Whether the largest comes first.
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

    /// `ordering`, reversed if the largest comes first.
    #[must_use]
    pub fn apply(self, ordering: Ordering) -> Ordering {
        if self.descending { ordering.reverse() } else { ordering }
    }

    /// Draws `header` as a cell of `row`. A click sorts by its column, and another click reverses
    /// the order.
    pub fn header(&mut self, row: &mut TableRow<'_, '_>, header: Header<C>) {
        row.col(|ui| {
            ui.with_layout(aligned(header.align), |ui| self.button(ui, header));
        });
    }

    /// Draws the button of a header, with a mark if the table is sorted by its column.
    fn button(&mut self, ui: &mut Ui, header: Header<C>) {
        let Header { column, title, hint, largest_first, .. } = header;
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

/// The header of a column that a table can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header<C> {
    column: C,
    align: Align,
    title: &'static str,
    hint: &'static str,
    /// Whether the first click sorts largest first.
    largest_first: bool,
}

impl<C: Copy> Header<C> {
    /// The header of a column of text, with the tooltip `hint`. The first click sorts smallest
    /// first.
    #[must_use]
    pub const fn text(column: C, title: &'static str, hint: &'static str) -> Self {
        Self { column, align: Align::LEFT, title, hint, largest_first: false }
    }

    /// The header of a column of numbers, with the tooltip `hint`. The first click sorts largest
    /// first.
    #[must_use]
    pub const fn number(column: C, title: &'static str, hint: &'static str) -> Self {
        Self { column, align: Align::RIGHT, title, hint, largest_first: true }
    }

    /// The column that a click sorts by.
    #[must_use]
    pub const fn column(&self) -> C {
        self.column
    }

    /// The same header, but the first click sorts smallest first.
    #[must_use]
    pub const fn smallest_first(mut self) -> Self {
        self.largest_first = false;
        self
    }
}

/// The appearance of a row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Unique in the window, and the same in every frame.
    pub id: Id,
    /// The horizontal extent of the table.
    pub span: Rangef,
    /// Whether the row is selected.
    pub selected: bool,
    /// Whether the item of the row is hovered, here or in another pane.
    pub hovered: bool,
    /// What a screen reader says.
    pub label: String,
}

impl Row {
    /// Draws the first cell with `add_contents`, and makes the whole row one widget that can be
    /// clicked and focused. Returns the response of this widget. The first column of the table must
    /// not be clipped, because the widget extends over all columns.
    pub fn first_cell(
        self,
        row: &mut TableRow<'_, '_>,
        add_contents: impl FnOnce(&mut Ui),
    ) -> Response {
        row.set_selected(self.selected);
        let mut response = None;
        row.col(|ui| {
            // Selectable labels would intercept clicks on the row.
            ui.style_mut().interaction.selectable_labels = false;
            let height = ui.max_rect().y_range();
            let rect =
                Rect::from_x_y_ranges(self.span, height.expand(0.5 * ui.spacing().item_spacing.y));
            let row_response = ui.interact(rect, self.id, Sense::click());
            let visuals = ui.visuals();
            if !self.selected && (row_response.hovered() || self.hovered) {
                ui.painter().rect_filled(rect, 0, visuals.widgets.hovered.weak_bg_fill);
            }
            if row_response.has_focus() {
                let stroke = visuals.selection.stroke;
                let inside = eframe::egui::StrokeKind::Inside;
                ui.painter().rect_stroke(rect, 2, stroke, inside);
            }
            let (selected, label) = (self.selected, self.label);
            row_response.widget_info(|| {
                WidgetInfo::selected(WidgetType::SelectableLabel, true, selected, label.clone())
            });
            ui.with_layout(aligned(Align::LEFT), add_contents);
            response = Some(row_response);
        });
        response.expect("`col` calls its closure")
    }
}

/// Draws a cell with left-aligned text.
pub fn cell(row: &mut TableRow<'_, '_>, text: impl Into<String>) {
    aligned_cell(row, Align::LEFT, text.into());
}

/// Draws a cell with a right-aligned number.
pub fn number(row: &mut TableRow<'_, '_>, text: impl Into<String>) {
    aligned_cell(row, Align::RIGHT, text.into());
}

/// Draws a cell with text.
fn aligned_cell(row: &mut TableRow<'_, '_>, align: Align, text: String) {
    row.col(|ui| {
        // Selectable labels would intercept clicks on the row.
        ui.style_mut().interaction.selectable_labels = false;
        ui.with_layout(aligned(align), |ui| ui.label(text));
    });
}

/// The layout of a cell: vertically centred, and horizontally at the right for [`Align::RIGHT`],
/// otherwise at the left.
fn aligned(align: Align) -> Layout {
    if align == Align::RIGHT {
        Layout::right_to_left(Align::Center)
    } else {
        Layout::left_to_right(Align::Center)
    }
}

/// Keyboard focus within a table, and scrolling to the selected row.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<T> {
    /// The item that was selected in the last frame.
    selected: Option<T>,
    /// The item whose row takes the focus as soon as it is drawn.
    focus: Option<T>,
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Self { selected: None, focus: None }
    }
}

impl<T: Copy + PartialEq> Cursor<T> {
    /// The row of `selected`, to scroll to, if the selection has changed since the last frame.
    /// `row_of` maps an item to its row.
    pub fn reveal(
        &mut self,
        selected: Option<T>,
        row_of: impl FnOnce(T) -> Option<usize>,
    ) -> Option<usize> {
        let before = std::mem::replace(&mut self.selected, selected);
        if before == selected { None } else { row_of(selected?) }
    }

    /// Call this for each row after drawing it: `response` is the response of the row, `item` is
    /// what it shows, and `index` is its position among `count` rows. Returns what the user selects
    /// through this row in this frame: `item` if the row is clicked or Enter is pressed, or another
    /// item if a key moves the focus from this row to the row of that item. `item_at` maps a row to
    /// its item.
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
            // egui passes arrow keys to a row only from its second frame with the focus.
            response.ctx.request_repaint();
            // The key that moved the focus here may still be pressed in this frame; ignore it.
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

/// The row that a pressed key moves the focus to. `row` is the response of row `index` of `count`.
/// `None` if this row does not have the focus, or if the focus stays there.
fn key_target(row: &Response, index: usize, count: usize) -> Option<usize> {
    if !row.has_focus() || count == 0 {
        return None;
    }
    let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
    row.ctx.memory_mut(|memory| memory.set_focus_lock_filter(row.id, filter));
    let steps: [(Key, isize); 6] = [
        (Key::ArrowDown, 1),
        (Key::ArrowUp, -1),
        (Key::PageDown, PAGE_ROWS),
        (Key::PageUp, -PAGE_ROWS),
        (Key::Home, isize::MIN),
        (Key::End, isize::MAX),
    ];
    let pressed = |input: &InputState| steps.into_iter().find(|(key, _)| input.key_pressed(*key));
    let (_, step) = row.ctx.input(pressed)?;
    let target = (index as isize).saturating_add(step).clamp(0, count as isize - 1);
    (target as usize != index).then_some(target as usize)
}
