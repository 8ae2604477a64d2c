//! The messages of a propagation as a table.

use std::cmp::Ordering;
use std::sync::Arc;

use eframe::egui::{DragValue, Id, ScrollArea, Ui};
use egui_extras::{Column, TableBody, TableBuilder};

use crate::app::panes::common::{
    DurationSummary, LIVE_INTERVAL, empty_state, no_messages_reason, run_choice,
};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::recordings::Recorded;
use crate::app::widgets::naming;
use crate::app::widgets::table::{self, Cursor, Row, Sort, cell, number};
use crate::graph::CliqueId;
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Phase};
use crate::session::Propagation;

/// The table and how it is sorted and filtered.
#[derive(Debug, Default)]
pub struct MessagesPane {
    query: Query,
    cursor: Cursor<MessageId>,
    /// The rows of a finished propagation.
    listed: Option<Listed>,
}

/// What is listed, and in which order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Query {
    sort: Sort<By>,
    phase: Option<Phase>,
    /// Shorter messages are left out; in microseconds.
    least: f64,
}

impl Default for Query {
    fn default() -> Self {
        Self { sort: Sort::ascending(By::Order), phase: None, least: 0.0 }
    }
}

/// What the messages are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Order,
    Phase,
    From,
    To,
    Separator,
    Touched,
    Start,
    Duration,
    PerEntry,
    Share,
}

/// One message.
#[derive(Clone, Copy, Debug)]
struct Line {
    message: MessageId,
    phase: Phase,
    from: CliqueId,
    to: CliqueId,
    separator: u64,
    touched: u64,
    /// In nanoseconds, as the duration.
    start: f64,
    duration: f64,
    /// Others that it was timed together with.
    shared_with: u32,
}

impl Line {
    fn per_entry(&self) -> f64 {
        self.duration / self.touched.max(1) as f64
    }

    /// A time of this message: one that is a share of what several took is no more than about right.
    fn time(&self, nanoseconds: f64) -> String {
        let about = if self.shared_with > 0 { "≈ " } else { "" };
        format!("{about}{}", numbers::nanoseconds(nanoseconds))
    }
}

/// The rows that pass the filter, and what they sum up to.
#[derive(Clone, Debug, Default)]
struct Lines {
    lines: Vec<Line>,
    total: f64,
    median: f64,
    /// Of all messages of the propagation.
    whole: f64,
}

/// What a list is made from.
#[derive(Clone, Debug)]
enum Finished {
    Here(Arc<Propagation>),
    Recorded(Recorded),
}

impl PartialEq for Finished {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here(one), Self::Here(other)) => Arc::ptr_eq(one, other),
            (Self::Recorded(one), Self::Recorded(other)) => one == other,
            _ => false,
        }
    }
}

/// Rows kept from the frame before, and what they were made from.
#[derive(Debug)]
struct Listed {
    of: Finished,
    query: Query,
    lines: Arc<Lines>,
}

impl MessagesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        run_choice(ui, model, commands);
        if let Some(reason) = no_messages_reason(model) {
            empty_state(ui, reason);
            return;
        }
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            return;
        };
        let Some(trace) = document.trace() else { return };
        let finished = match (document.shown, &document.running, &document.result) {
            (Some(recorded), ..) => Some(Finished::Recorded(recorded)),
            (None, None, Some(result)) => Some(Finished::Here(Arc::clone(result))),
            _ => None,
        };
        let lines = if let Some(finished) = finished {
            self.finished(finished, &trace, compiled)
        } else {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
            Arc::new(list(&trace, compiled, self.query))
        };
        self.controls(ui, &lines, compiled);
        ui.separator();
        let selected = match model.selected() {
            Some(Item::Message(message)) => Some(*message),
            _ => None,
        };
        let row_of = |message| lines.lines.iter().position(|line| line.message == message);
        let scroll = self.cursor.reveal(selected, row_of);
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            // The times must be in sight beside two other panes on a small screen: names are cut first.
            ui.spacing_mut().item_spacing.x = 4.0;
            let mut table = TableBuilder::new(ui)
                .id_salt("messages")
                .auto_shrink(false)
                .column(Column::exact(40.0).clip(false))
                .column(Column::exact(64.0))
                .columns(Column::remainder().at_least(60.0).clip(true), 2)
                .columns(Column::exact(66.0), 2)
                .columns(Column::exact(66.0), 3)
                .column(Column::exact(42.0))
                .column(Column::exact(table::MARGIN));
            if let Some(row) = scroll {
                table = table.scroll_to_row(row, None);
            }
            let table = table.header(table::ROW_HEIGHT, |mut header| {
                let sort = &mut self.query.sort;
                sort.header(&mut header, By::Order, "#", "Place in the plan", false);
                sort.header(
                    &mut header,
                    By::Phase,
                    "Phase",
                    "Toward the root or away from it",
                    false,
                );
                sort.header(
                    &mut header,
                    By::From,
                    "From",
                    "The clique that is marginalised",
                    false,
                );
                sort.header(&mut header, By::To, "To", "The clique that is multiplied into", false);
                sort.number(
                    &mut header,
                    By::Separator,
                    "Separator",
                    "Entries of the separator's table",
                    true,
                );
                sort.number(
                    &mut header,
                    By::Touched,
                    "Touched",
                    "Entries of both cliques' tables; engines cpu and gpu may read fewer",
                    true,
                );
                sort.number(
                    &mut header,
                    By::Start,
                    "Start",
                    "Since the start of the propagation",
                    false,
                );
                sort.number(
                    &mut header,
                    By::Duration,
                    "Duration",
                    "From reading the sender to the receiver; ≈ where messages are so short that several \
                     were timed together, as a share by forecast",
                    true,
                );
                sort.number(
                    &mut header,
                    By::PerEntry,
                    "Per entry",
                    "Duration by entries touched; engines cpu and gpu may have read fewer",
                    true,
                );
                sort.number(&mut header, By::Share, "Share", "Of the sum over all messages", true);
            });
            table.body(|body| self.body(body, &lines, model, compiled, commands));
        });
    }

    fn controls(&mut self, ui: &mut Ui, lines: &Lines, compiled: &CompiledNetwork) {
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
            let value = DragValue::new(&mut self.query.least)
                .range(0.0..=f64::MAX)
                .speed(0.1)
                .max_decimals(3)
                .suffix(" µs");
            ui.add(value).labelled_by(label.id);
            ui.add_space(10.0);
            let (shown, all) = (lines.lines.len(), compiled.plan().messages().len());
            let count = if shown == all {
                numbers::counted(all, "message", "messages")
            } else {
                format!(
                    "{} of {} messages",
                    numbers::thousands(shown as u64),
                    numbers::thousands(all as u64)
                )
            };
            let (total, median) =
                (numbers::nanoseconds(lines.total), numbers::nanoseconds(lines.median));
            ui.weak(format!("{count}: total {total}, median {median}"));
        });
    }

    fn body(
        &mut self,
        mut body: TableBody<'_>,
        lines: &Lines,
        model: &Model,
        compiled: &CompiledNetwork,
        commands: &mut Commands,
    ) {
        let span = body.max_rect().x_range();
        let table = body.ui_mut().id();
        let rows = &lines.lines;
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
            cell(&mut row, line.phase.name());
            cell(&mut row, naming::clique(compiled, line.from));
            cell(&mut row, naming::clique(compiled, line.to));
            number(&mut row, numbers::thousands(line.separator));
            number(&mut row, numbers::thousands(line.touched));
            number(&mut row, line.time(line.start));
            number(&mut row, line.time(line.duration));
            number(&mut row, line.time(line.per_entry()));
            number(&mut row, numbers::share(line.duration, lines.whole));
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

    /// The rows of a finished propagation, worked out anew only when something changed.
    fn finished(
        &mut self,
        of: Finished,
        trace: &MessageTrace,
        compiled: &CompiledNetwork,
    ) -> Arc<Lines> {
        let fits = |listed: &&Listed| listed.of == of && listed.query == self.query;
        if let Some(listed) = self.listed.as_ref().filter(fits) {
            return Arc::clone(&listed.lines);
        }
        let lines = Arc::new(list(trace, compiled, self.query));
        self.listed = Some(Listed { of, query: self.query, lines: Arc::clone(&lines) });
        lines
    }
}

fn list(trace: &MessageTrace, compiled: &CompiledNetwork, query: Query) -> Lines {
    let messages = compiled.plan().messages();
    let all = trace.messages.iter().filter_map(|timing| {
        let message = messages.get(timing.message.index())?;
        Some(Line {
            message: timing.message,
            phase: message.phase,
            from: message.from,
            to: message.to,
            separator: compiled.tree()[message.separator].entries,
            touched: naming::entries_touched(compiled, timing.message),
            start: timing.start.as_nanos() as f64,
            duration: timing.duration.as_nanos() as f64,
            shared_with: timing.shared_with,
        })
    });
    let whole = all.clone().map(|line| line.duration).sum();
    let passes = |line: &Line| {
        query.phase.is_none_or(|phase| phase == line.phase) && line.duration >= query.least * 1e3
    };
    let mut lines: Vec<Line> = all.filter(passes).collect();
    lines.sort_by(|a, b| {
        query.sort.apply(compare(query.sort.column, a, b)).then(a.message.cmp(&b.message))
    });
    let total = lines.iter().map(|line| line.duration).sum();
    let median = DurationSummary::of(lines.iter().map(|line| line.duration)).median;
    Lines { lines, total, median, whole }
}

fn compare(column: By, a: &Line, b: &Line) -> Ordering {
    match column {
        By::Order => a.message.cmp(&b.message),
        By::Phase => (a.phase == Phase::Distribute).cmp(&(b.phase == Phase::Distribute)),
        By::From => a.from.cmp(&b.from),
        By::To => a.to.cmp(&b.to),
        By::Separator => a.separator.cmp(&b.separator),
        By::Touched => a.touched.cmp(&b.touched),
        By::Start => a.start.total_cmp(&b.start),
        By::Duration | By::Share => a.duration.total_cmp(&b.duration),
        By::PerEntry => a.per_entry().total_cmp(&b.per_entry()),
    }
}

fn spoken(compiled: &CompiledNetwork, line: &Line) -> String {
    format!(
        "Message {}: {}, {}; {}",
        line.message.index(),
        line.phase.name(),
        naming::message_ends(compiled, line.message),
        line.time(line.duration)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{Bench, drive, label_containing, model};
    use eframe::egui::Key;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    fn asia<'a>() -> Harness<'a, Bench> {
        let mut pane = MessagesPane::default();
        let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        harness
    }

    fn rows(harness: &Harness<'_, Bench>) -> usize {
        harness.query_all_by_label_contains("Message ").count()
    }

    #[test]
    fn a_click_selects_and_arrows_go_on() {
        let mut harness = asia();
        label_containing(&harness, "Message 3:").click();
        harness.run();
        let message = |index| Some(Item::Message(MessageId::new(index)));
        assert_eq!(harness.state().model.selected(), message(3).as_ref());
        harness.key_press(Key::ArrowUp);
        harness.run();
        assert_eq!(harness.state().model.selected(), message(2).as_ref());
    }

    #[test]
    fn the_phase_filter_leaves_half_of_the_messages() {
        let mut harness = asia();
        let all = harness.state().model.compiled().unwrap().plan().messages().len();
        assert_eq!(rows(&harness), all);
        harness.get_by_label("Distribute").click();
        harness.run();
        assert_eq!(rows(&harness), all / 2);
    }

    #[test]
    fn lines_sort_by_every_column_and_ties_keep_the_plan_order() {
        let model = model("asia");
        let document = model.document.as_ref().unwrap();
        let (trace, compiled) = (document.trace().unwrap(), document.compiled.as_ref().unwrap());
        for column in [By::Order, By::Phase, By::From, By::To, By::Separator, By::Touched]
            .into_iter()
            .chain([By::Start, By::Duration, By::PerEntry, By::Share])
        {
            for sort in [Sort::ascending(column), Sort::descending(column)] {
                let query = Query { sort, ..Query::default() };
                let lines = list(&trace, compiled, query).lines;
                assert_eq!(lines.len(), compiled.plan().messages().len());
                for pair in lines.windows(2) {
                    let order = sort.apply(compare(column, &pair[0], &pair[1]));
                    assert!(order.is_le());
                    assert!(order.is_lt() || pair[0].message < pair[1].message);
                }
            }
        }
    }

    #[test]
    fn times_that_are_shares_say_so() {
        let model = model("asia");
        let document = model.document.as_ref().unwrap();
        let compiled = document.compiled.as_ref().unwrap();
        let mut trace = document.trace().unwrap().as_ref().clone();
        trace.messages.iter_mut().for_each(|timing| timing.shared_with = 0);
        trace.messages[4].shared_with = 3;
        let lines = list(&trace, compiled, Query::default()).lines;
        let spoken = lines.iter().map(|line| spoken(compiled, line).contains("≈"));
        assert!(spoken.enumerate().all(|(number, is)| is == (number == 4)));
        assert_eq!(naming::timed_together(0), None);
        assert!(naming::timed_together(3).unwrap().contains("3 others"));
    }

    #[test]
    fn short_messages_can_be_left_out() {
        let model = model("asia");
        let document = model.document.as_ref().unwrap();
        let (trace, compiled) = (document.trace().unwrap(), document.compiled.as_ref().unwrap());
        let longest = trace.messages.iter().map(|timing| timing.duration).max().unwrap();
        let least = longest.as_nanos() as f64 / 1e3;
        let lines = list(&trace, compiled, Query { least, ..Query::default() });
        assert!(!lines.lines.is_empty());
        assert!(lines.lines.iter().all(|line| line.duration == longest.as_nanos() as f64));
        assert!(lines.total <= lines.whole);
    }

    #[test]
    fn without_a_network_it_says_what_to_do() {
        let mut pane = MessagesPane::default();
        let mut harness = drive("", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        harness.get_by_label_contains("Open a network");
    }
}
