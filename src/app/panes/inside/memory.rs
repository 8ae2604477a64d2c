//! The mapping tables in memory in both layouts, with the words that one warp reads in one step
//! (Figure 8 of the paper).

use std::ops::Range;

use eframe::egui::{
    Align, Align2, FontId, Label, Rect, RichText, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
    WidgetType, pos2,
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

/// What a warp reads from the mapping tables of one clique in one step.
struct WarpStep<'a> {
    tables: &'a MappingTables,
    /// Index of the warp.
    warp: usize,
    /// Index of the element that each thread reads from its mapping table.
    element: usize,
}

/// Draws the mapping tables in both layouts.
pub fn show(ui: &mut Ui, scene: &MessageScene<'_>, player: &StepPlayer) {
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
    for layout in MappingLayout::ALL {
        show_layout(ui, &step, layout);
    }
    let rect = Rect::from_two_pos(before, pos2(ui.min_rect().right(), ui.cursor().top()));
    targets::mark_rect(ui, rect, "memory of a message");
}

/// Draws the mapping tables in `layout`, with the words of `step`.
fn show_layout(ui: &mut Ui, step: &WarpStep<'_>, layout: MappingLayout) {
    let (entries, count) = (step.tables.entries(), step.tables.count());
    let words = layout.words_of_warp(entries, count, step.warp, step.element);
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
    let on_own_line = ui.available_width() < 2.0 * TEXT_WIDTH;
    let strip = |ui: &mut Ui| {
        let size = Vec2::new(ui.available_width(), CELL_HEIGHT + 4.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        response.widget_info(|| {
            let fetched = counted(fetched, "sector", "sectors");
            let label = format!("Memory, {layout}: words {all}; {fetched}");
            WidgetInfo::labeled(WidgetType::Other, true, label)
        });
        cells(ui, rect, step, layout, &words);
        response.on_hover_text(&hover);
    };
    ui.horizontal(|ui| {
        let name = Label::new(&text).truncate().halign(Align::LEFT);
        ui.add_sized(Vec2::new(TEXT_WIDTH, CELL_HEIGHT), name).on_hover_text(&hover);
        if !on_own_line {
            strip(ui);
        }
    });
    if on_own_line {
        strip(ui);
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
    let background = ui.visuals().extreme_bg_color;
    for word in start..end {
        let (j, n) = match layout {
            MappingLayout::Naive => (word / count, word % count),
            MappingLayout::Interleaved => (word % entries, word / entries),
        };
        let read = words.contains(&word);
        let fill = background.lerp_to_gamma(entry_colour(j), if read { 0.9 } else { 0.35 });
        let cell = cell_rect(word);
        painter.rect_filled(cell.shrink(0.5), 1, fill);
        if width >= MIN_NUMBER_WIDTH {
            let text = step.tables.element(j, n).to_string();
            let font = FontId::proportional(10.0);
            painter.text(cell.center(), Align2::CENTER_CENTER, text, font, ink_on(fill));
        }
        if read {
            let stroke = Stroke::new(1.5, palette.active);
            painter.rect_stroke(cell.shrink(0.5), 1, stroke, StrokeKind::Inside);
        }
        if word % SECTOR == 0 {
            let tick = row.bottom()..=row.bottom() + 4.0;
            painter.vline(cell.left(), tick, Stroke::new(1.0, ui.visuals().weak_text_color()));
        }
    }
}
