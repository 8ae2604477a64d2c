//! The mapping tables in memory in both layouts, with the words that one warp reads in one step
//! (Figure 8 of the paper).

use std::ops::Range;

use eframe::egui::{
    Align, Align2, FontId, Label, Layout, Rect, RichText, Sense, Stroke, StrokeKind, Ui, Vec2,
    WidgetInfo, WidgetType, pos2,
};

use super::grid::entry_colour;
use super::player::{StepPlayer, WarpRead};
use super::scene::MessageScene;
use crate::app::theme::{Palette, ink_on};
use crate::app::widgets::targets;
use crate::engine::{MappingLayout, SECTOR, WARP, sectors};
use crate::numbers::{counted, thousands};
use crate::potential::MappingTables;

/// Height of the cells in points.
const CELL_HEIGHT: f32 = 18.0;
/// Width in points of the text before the cells.
const TEXT_WIDTH: f32 = 210.0;
/// Minimum width, in points, at which words are drawn as cells.
const MIN_CELL_WIDTH: f32 = 3.0;
/// Maximum width of a cell in points.
const MAX_CELL_WIDTH: f32 = 26.0;
/// Minimum width, in points, of a cell with a number in it.
const MIN_NUMBER_WIDTH: f32 = 18.0;
/// Gap between sectors and between rows of sectors in points: room for the frames of the sectors.
const SECTOR_GAP: f32 = 8.0;
/// Approximate height in points of the texts above and below the cells of both layouts: with less,
/// the last row of cells may be out of view; with more, fewer tables are drawn with numbers.
const TEXTS_HEIGHT: f32 = 140.0;

/// What a warp reads from the mapping tables of one clique in one step.
struct WarpStep<'a> {
    tables: &'a MappingTables,
    /// Index of the warp.
    warp: usize,
    /// Index of the element that each thread reads from its mapping table.
    element: usize,
}

impl WarpStep<'_> {
    /// The words that the warp reads if the tables have this layout.
    fn words(&self, layout: MappingLayout) -> Vec<usize> {
        let (entries, count) = (self.tables.entries(), self.tables.count());
        layout.words_of_warp(entries, count, self.warp, self.element)
    }

    /// Draws `word` as a cell, with the number of its entry if there is room. `is_read` says
    /// whether the warp reads it.
    fn draw_word(&self, ui: &Ui, cell: Rect, layout: MappingLayout, word: usize, is_read: bool) {
        let (entries, count) = (self.tables.entries(), self.tables.count());
        let (j, n) = match layout {
            MappingLayout::Naive => (word / count, word % count),
            MappingLayout::Interleaved => (word % entries, word / entries),
        };
        let painter = ui.painter_at(cell);
        let background = ui.visuals().extreme_bg_color;
        let fill = background.lerp_to_gamma(entry_colour(j), if is_read { 0.9 } else { 0.35 });
        painter.rect_filled(cell.shrink(0.5), 1, fill);
        if cell.width() >= MIN_NUMBER_WIDTH {
            let text = self.tables.element(j, n).to_string();
            let font = FontId::proportional(10.0);
            painter.text(cell.center(), Align2::CENTER_CENTER, text, font, ink_on(fill));
        }
        if is_read {
            let stroke = Stroke::new(1.5, Palette::of(ui).active);
            painter.rect_stroke(cell.shrink(0.5), 1, stroke, StrokeKind::Inside);
        }
    }
}

/// Draws the mapping tables in both layouts: with a sector after the other in rows if there is room
/// for that in `height` points, or else, and if `height` is `None`, each layout in one row.
pub fn show(ui: &mut Ui, scene: &MessageScene<'_>, player: &StepPlayer, height: Option<f32>) {
    let detail = scene.detail;
    let WarpRead { warp, element, of_receiver } = player.warp(detail);
    let tables = if of_receiver { &detail.to } else { &detail.from };
    let [from, separator, to] = scene.names();
    let clique = if of_receiver { to } else { from };
    let step = WarpStep { tables, warp, element };
    let before = ui.cursor().min;
    let threads = warp * WARP..((warp + 1) * WARP).min(tables.entries());
    let readers = if threads.len() == 1 {
        format!("thread {} reads", threads.start)
    } else {
        format!("threads {} to {} read", threads.start, threads.end - 1)
    };
    let title = format!(
        "Mapping tables of {clique} onto {separator} in memory: {readers} element {element}"
    );
    ui.add(Label::new(RichText::new(title).strong()).wrap()).on_hover_text(format!(
        "{}. A GPU runs {WARP} threads, a warp, in lockstep, and reads memory in sectors of {} \
         bytes.",
        scene.threads(),
        4 * SECTOR
    ));
    let of_layout = |layout| Sectors::new(&step, layout, ui.available_width(), height);
    let sectors: Vec<Option<Sectors>> = MappingLayout::ALL.into_iter().map(of_layout).collect();
    // Either both layouts are drawn in rows or none, so that they can be compared.
    let are_in_rows = sectors.iter().all(Option::is_some);
    for (layout, sectors) in MappingLayout::ALL.into_iter().zip(sectors) {
        show_layout(ui, &step, layout, sectors.filter(|_| are_in_rows));
    }
    if are_in_rows {
        let text = format!(
            "Each cell is a word with the number of an entry of {clique}. A frame holds a sector \
             of {SECTOR} words; a thick frame is a sector that is fetched."
        );
        ui.add(Label::new(RichText::new(text).weak()).wrap());
    }
    let rect = Rect::from_two_pos(before, pos2(ui.min_rect().right(), ui.cursor().top()));
    targets::mark_rect(ui, rect, "memory of a message");
}

/// Draws the mapping tables in `layout`, with the words of `step`.
fn show_layout(ui: &mut Ui, step: &WarpStep<'_>, layout: MappingLayout, in_rows: Option<Sectors>) {
    let words = step.words(layout);
    let fetched = sectors(&words);
    let text = format!(
        "{layout}: {} in {}",
        counted(words.len(), "word", "words"),
        counted(fetched, "sector", "sectors")
    );
    let all = words.iter().map(|&word| thousands(word as u64)).collect::<Vec<_>>().join(", ");
    let fetched_bytes = thousands((fetched * SECTOR * 4) as u64);
    let used = thousands(4 * words.len() as u64);
    let hover = format!(
        "Words {all}\n{fetched_bytes} bytes fetched for {used} used\n\
         If cells do not fit, each word is a line at its position"
    );
    let name = Label::new(&text).truncate();
    let draw = |ui: &mut Ui| {
        let height = in_rows.as_ref().map_or(CELL_HEIGHT + 4.0, Sectors::height);
        let size = Vec2::new(ui.available_width(), height);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        response.widget_info(|| {
            let fetched = counted(fetched, "sector", "sectors");
            let label = format!("Memory, {layout}: words {all}; {fetched}");
            WidgetInfo::labeled(WidgetType::Other, true, label)
        });
        match &in_rows {
            Some(sectors) => sectors.draw(ui, rect, step, layout, &words),
            None => cells(ui, rect, step, layout, &words),
        }
        response.on_hover_text(&hover);
    };
    if in_rows.is_some() || ui.available_width() < 2.0 * TEXT_WIDTH {
        ui.add(name).on_hover_text(&hover);
        draw(ui);
        return;
    }
    ui.horizontal(|ui| {
        let size = Vec2::new(TEXT_WIDTH, CELL_HEIGHT);
        ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(TEXT_WIDTH);
            ui.add(name).on_hover_text(&hover);
        });
        draw(ui);
    });
}

/// Memory drawn with the words of each sector side by side, and several rows of sectors.
struct Sectors {
    /// The words that are drawn: whole sectors, except that memory may end before the last one.
    shown: Range<usize>,
    /// Number of sectors in a row.
    per_row: usize,
    /// Width of a cell in points.
    cell_width: f32,
}

impl Sectors {
    /// The sectors to draw in an area `width` points wide, if both layouts fit into `height` points.
    fn new(
        step: &WarpStep<'_>,
        layout: MappingLayout,
        width: f32,
        height: Option<f32>,
    ) -> Option<Self> {
        let min_width = MIN_NUMBER_WIDTH * SECTOR as f32 + SECTOR_GAP;
        let per_row = ((width / min_width) as usize).max(1);
        let cell_width =
            ((width / per_row as f32 - SECTOR_GAP) / SECTOR as f32).min(MAX_CELL_WIDTH);
        let room = (height? - TEXTS_HEIGHT) / MappingLayout::ALL.len() as f32;
        let rows = (room / (CELL_HEIGHT + SECTOR_GAP)).max(0.0) as usize;
        let words = per_row * rows * SECTOR;
        let total = step.tables.entries() * step.tables.count();
        let shown = shown_words(&step.words(layout), total, words)?;
        (shown.len() <= words && cell_width >= MIN_NUMBER_WIDTH).then_some(Self {
            shown,
            per_row,
            cell_width,
        })
    }

    /// Height in points.
    fn height(&self) -> f32 {
        let rows = self.shown.len().div_ceil(self.per_row * SECTOR);
        (CELL_HEIGHT + SECTOR_GAP) * rows as f32
    }

    /// Draws the sectors at `rect`, with the `words` that are read.
    fn draw(
        &self,
        ui: &Ui,
        rect: Rect,
        step: &WarpStep<'_>,
        layout: MappingLayout,
        words: &[usize],
    ) {
        let painter = ui.painter_at(rect);
        for start in self.shown.clone().step_by(SECTOR) {
            let place = (start - self.shown.start) / SECTOR;
            let (row, column) = (place / self.per_row, place % self.per_row);
            let advance = self.cell_width * SECTOR as f32 + SECTOR_GAP;
            let corner = Vec2::new(
                column as f32 * advance + SECTOR_GAP / 2.0,
                row as f32 * (CELL_HEIGHT + SECTOR_GAP) + SECTOR_GAP / 2.0,
            );
            let size = Vec2::new(self.cell_width, CELL_HEIGHT);
            let sector = start..(start + SECTOR).min(self.shown.end);
            for word in sector.clone() {
                let left = corner + Vec2::new(self.cell_width * (word - start) as f32, 0.0);
                let cell = Rect::from_min_size(rect.min + left, size);
                step.draw_word(ui, cell, layout, word, words.contains(&word));
            }
            let width = self.cell_width * sector.len() as f32;
            let frame = Rect::from_min_size(rect.min + corner, Vec2::new(width, CELL_HEIGHT));
            let is_fetched = sector.clone().any(|word| words.contains(&word));
            let stroke = if is_fetched {
                Stroke::new(2.0, ui.visuals().strong_text_color())
            } else {
                ui.visuals().widgets.noninteractive.bg_stroke
            };
            painter.rect_stroke(frame.expand(1.0), 2, stroke, StrokeKind::Outside);
        }
    }
}

/// The range of memory to draw, in words: all of `total` words if there are at most `max_cells`,
/// otherwise the sectors from the first to the last of the `words` that are read, and some more if
/// they are few. `None` if no words are read.
fn shown_words(words: &[usize], total: usize, max_cells: usize) -> Option<Range<usize>> {
    let (&first, &last) = words.iter().min().zip(words.iter().max())?;
    if total <= max_cells {
        return Some(0..total);
    }
    let start = first / SECTOR * SECTOR;
    let needed = (last + 1).next_multiple_of(SECTOR).min(total).max(start + 1);
    Some(start..needed.max((start + max_cells / 2).min(total)))
}

/// Draws memory with the `words` that are read: as cells if they fit, or else as a line at the
/// position of each word that is read.
fn cells(ui: &Ui, rect: Rect, step: &WarpStep<'_>, layout: MappingLayout, words: &[usize]) {
    let (entries, count) = (step.tables.entries(), step.tables.count());
    let max_cells = (rect.width() / 5.0) as usize;
    let Some(shown) = shown_words(words, entries * count, max_cells) else { return };
    let Range { start, end } = shown;
    let span = end - start;
    let width = (rect.width() / span as f32).min(MAX_CELL_WIDTH);
    let painter = ui.painter_at(rect);
    let row = Rect::from_min_size(rect.min, Vec2::new(width * span as f32, CELL_HEIGHT));
    let palette = Palette::of(ui);
    let cell_rect = |word: usize| {
        let left = rect.left() + width * (word - start) as f32;
        Rect::from_min_size(pos2(left, row.top()), Vec2::new(width, CELL_HEIGHT))
    };
    if width < MIN_CELL_WIDTH {
        painter.rect_filled(row, 2, ui.visuals().extreme_bg_color);
        for &word in words {
            let x = cell_rect(word).left();
            painter.vline(x, row.y_range(), Stroke::new(1.5, palette.active));
        }
        return;
    }
    for word in start..end {
        let cell = cell_rect(word);
        step.draw_word(ui, cell, layout, word, words.contains(&word));
        if word % SECTOR == 0 {
            let tick = row.bottom()..=row.bottom() + 4.0;
            painter.vline(cell.left(), tick, Stroke::new(1.0, ui.visuals().weak_text_color()));
        }
    }
}
