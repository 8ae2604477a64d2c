//! The messages of a propagation as a table.

mod columns;
mod list;

use std::sync::Arc;

use eframe::egui::{DragValue, Id, ScrollArea, Ui};
use egui_extras::{TableBody, TableBuilder};

use crate::app::panes::common::{FinishedRun, LIVE_INTERVAL, TracedMessages, choose_messages};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::naming;
use crate::app::widgets::table::{self, Cursor, Row, cell, number};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Phase};
use columns::ShownColumns;
use list::{MessageList, MessageRow, Query, SortBy, list};

/// Gap between columns in points. A wider one leaves less room for names.
const COLUMN_GAP: f32 = 4.0;

/// The table and its view state.
#[derive(Debug, Default)]
pub struct MessagesPane {
    query: Query,
    cursor: Cursor<MessageId>,
    /// The list of a finished propagation.
    cached: Option<CachedList>,
}

/// A list, and everything that it depends on.
#[derive(Debug)]
struct CachedList {
    finished: FinishedRun,
    query: Query,
    list: Arc<MessageList>,
}

impl MessagesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(TracedMessages { document, compiled, trace }) =
            choose_messages(ui, model, commands)
        else {
            return;
        };
        let finished = FinishedRun::of(document);
        let list = if let Some(finished) = finished {
            self.cached_list(finished, trace, compiled)
        } else {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
            Arc::new(list(trace, compiled, self.query))
        };
        self.controls(ui, &list, compiled);
        ui.separator();
        let selected = match model.selected() {
            Some(Item::Message(message)) => Some(*message),
            _ => None,
        };
        let row_of = |message| list.rows.iter().position(|row| row.message == message);
        let scroll = self.cursor.reveal(selected, row_of);
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.x = COLUMN_GAP;
            let columns = ShownColumns::for_room(ui.available_width(), COLUMN_GAP);
            let mut table = TableBuilder::new(ui).id_salt("messages").auto_shrink(false);
            for column in columns.columns() {
                table = table.column(column);
            }
            if let Some(row) = scroll {
                table = table.scroll_to_row(row, None);
            }
            let table = table.header(table::ROW_HEIGHT, |mut row| {
                for header in columns.headers() {
                    self.query.sort.header(&mut row, *header);
                }
            });
            table.body(|body| {
                self.body(body, &columns, &list, model, compiled, commands);
            });
        });
    }

    /// Draws the filters, and the number and the durations of the listed messages.
    fn controls(&mut self, ui: &mut Ui, list: &MessageList, compiled: &CompiledNetwork) {
        ui.horizontal(|ui| {
            for (phase, title) in [
                (None, "All"),
                (Some(Phase::Collect), "Collect"),
                (Some(Phase::Distribute), "Distribute"),
            ] {
                ui.selectable_value(&mut self.query.phase, phase, title);
            }
            ui.add_space(10.0);
            let label = ui.label("Minimum duration");
            let value = DragValue::new(&mut self.query.min_duration)
                .range(0.0..=f64::MAX)
                .speed(0.1)
                .max_decimals(3)
                .suffix(" µs");
            ui.add(value).labelled_by(label.id);
            ui.add_space(10.0);
            let (shown, all) = (list.rows.len(), compiled.plan().messages().len());
            let count = if shown == all {
                numbers::counted(all, "message", "messages")
            } else {
                format!(
                    "{} of {} messages",
                    numbers::thousands(shown as u64),
                    numbers::thousands(all as u64)
                )
            };
            let total = numbers::nanoseconds(list.durations.total);
            let median = numbers::nanoseconds(list.durations.median);
            ui.weak(format!("{count}: total {total}, median {median}"));
        });
    }

    /// Draws the rows of the table.
    fn body(
        &mut self,
        mut body: TableBody<'_>,
        columns: &ShownColumns,
        list: &MessageList,
        model: &Model,
        compiled: &CompiledNetwork,
        commands: &mut Commands,
    ) {
        let span = body.max_rect().x_range();
        let table = body.ui_mut().id();
        let rows = &list.rows;
        body.rows(table::ROW_HEIGHT, rows.len(), |mut row| {
            let index = row.index();
            let line = rows[index];
            let appearance = Row {
                id: Id::new((table, "message", line.message)),
                span,
                selected: model.selection.message(line.message),
                hovered: model.hover.message(line.message),
                label: spoken(compiled, &line),
            };
            let response = appearance.first_cell(&mut row, |ui| {
                ui.label(line.message.index().to_string());
            });
            for header in &columns.headers()[1..] {
                match header.column() {
                    SortBy::From => cell(&mut row, columns.clique(compiled, line.from)),
                    SortBy::To => cell(&mut row, columns.clique(compiled, line.to)),
                    SortBy::Phase => cell(&mut row, line.phase.name()),
                    column => number(&mut row, number_text(&line, column, list.total_of_all)),
                }
            }
            cell(&mut row, "");
            if response.hovered() {
                commands.push(ViewCommand::Hover(Item::Message(line.message)));
            }
            let at = |index: usize| rows.get(index).map(|line| line.message);
            let chosen = self.cursor.follow(&response, line.message, index, rows.len(), at);
            if let Some(chosen) = chosen {
                commands.push(ViewCommand::Select(Some(Item::Message(chosen))));
            }
        });
    }

    /// The list of a finished propagation, computed only when something changed.
    fn cached_list(
        &mut self,
        finished: FinishedRun,
        trace: &MessageTrace,
        compiled: &CompiledNetwork,
    ) -> Arc<MessageList> {
        let is_current =
            |cached: &&CachedList| cached.finished == finished && cached.query == self.query;
        if let Some(cached) = self.cached.as_ref().filter(is_current) {
            return Arc::clone(&cached.list);
        }
        let list = Arc::new(list(trace, compiled, self.query));
        self.cached = Some(CachedList { finished, query: self.query, list: Arc::clone(&list) });
        list
    }
}

/// What `line` has in a column of numbers. `total` is the duration of all messages, in nanoseconds.
fn number_text(line: &MessageRow, column: SortBy, total: f64) -> String {
    let unknown = || "-".to_owned();
    match column {
        SortBy::Separator => numbers::thousands(line.separator),
        SortBy::Touched => numbers::thousands(line.touched),
        SortBy::Processed => line.processed.map_or_else(unknown, numbers::thousands),
        SortBy::Start => line.time(line.start),
        SortBy::Duration => line.time(line.duration),
        SortBy::PerTouched => line.time(line.per_touched()),
        SortBy::PerProcessed => line.per_processed().map_or_else(unknown, |time| line.time(time)),
        SortBy::Share => numbers::share(line.duration, total),
        SortBy::Order | SortBy::Phase | SortBy::From | SortBy::To => String::new(),
    }
}

/// What a screen reader says about a message.
fn spoken(compiled: &CompiledNetwork, line: &MessageRow) -> String {
    format!(
        "Message {}: {}, {}; {}",
        line.message.index(),
        line.phase.name(),
        naming::message_ends(compiled, line.message),
        line.time(line.duration)
    )
}

#[cfg(test)]
mod tests;
