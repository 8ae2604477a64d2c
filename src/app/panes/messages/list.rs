//! The rows of the table: filtered and sorted messages.

use std::cmp::Ordering;

use crate::app::panes::common::DurationSummary;
use crate::app::widgets::naming;
use crate::app::widgets::table::Sort;
use crate::graph::CliqueId;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Phase};

/// Which messages are listed, and in which order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Query {
    pub sort: Sort<SortBy>,
    /// List only messages of this phase; `None` for all.
    pub phase: Option<Phase>,
    /// List only messages that took at least this many microseconds.
    pub min_duration: f64,
}

impl Default for Query {
    fn default() -> Self {
        Self { sort: Sort::ascending(SortBy::Order), phase: None, min_duration: 0.0 }
    }
}

/// A column that messages can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortBy {
    /// The number of the message in the plan.
    Order,
    Phase,
    From,
    To,
    Separator,
    /// Entries of both cliques; see [`MessageRow::touched`].
    Touched,
    /// See [`MessageRow::processed`].
    Processed,
    Start,
    Duration,
    /// Time per entry touched.
    PerTouched,
    /// Time per entry processed.
    PerProcessed,
    /// Share of the total duration of all messages.
    Share,
}

/// One message. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageRow {
    pub message: MessageId,
    pub phase: Phase,
    pub from: CliqueId,
    pub to: CliqueId,
    /// Entries of the separator.
    pub separator: u64,
    /// Entries of both cliques, sender and receiver, as the paper counts.
    pub touched: u64,
    /// Entries that the engine went through; `None` if it does not report them.
    pub processed: Option<u64>,
    pub start: f64,
    pub duration: f64,
    /// Number of other messages that were timed together with this one.
    pub shared_with: u32,
}

impl MessageRow {
    /// Nanoseconds per entry touched.
    pub fn per_touched(&self) -> f64 {
        self.duration / self.touched.max(1) as f64
    }

    /// Nanoseconds per entry processed, if that is known.
    pub fn per_processed(&self) -> Option<f64> {
        self.processed.filter(|&entries| entries > 0).map(|entries| self.duration / entries as f64)
    }

    /// `nanoseconds` with a unit, marked as approximate if the message was timed together with
    /// others.
    pub fn time(&self, nanoseconds: f64) -> String {
        naming::message_time(nanoseconds, self.shared_with)
    }
}

/// The messages that pass the filter of a [`Query`]. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageList {
    pub rows: Vec<MessageRow>,
    /// Total and median duration of the rows.
    pub durations: DurationSummary,
    /// Total duration of all messages of the propagation, listed or not.
    pub total_of_all: f64,
}

/// The messages of `trace` that pass the filter of `query`, sorted as `query` says. Ties are in
/// plan order.
pub(super) fn list(trace: &MessageTrace, compiled: &CompiledNetwork, query: Query) -> MessageList {
    let messages = compiled.plan().messages();
    let all = trace.messages.iter().filter_map(|timing| {
        let message = messages.get(timing.message.index())?;
        Some(MessageRow {
            message: timing.message,
            phase: message.phase,
            from: message.from,
            to: message.to,
            separator: compiled.tree()[message.separator].entries,
            touched: naming::entries_touched(compiled, timing.message),
            processed: trace.entries_processed(timing.message),
            start: timing.start.as_nanos() as f64,
            duration: timing.duration.as_nanos() as f64,
            shared_with: timing.shared_with,
        })
    });
    let total_of_all = all.clone().map(|row| row.duration).sum();
    let passes = |row: &MessageRow| {
        query.phase.is_none_or(|phase| phase == row.phase)
            && row.duration >= query.min_duration * 1e3
    };
    let mut rows: Vec<MessageRow> = all.filter(passes).collect();
    rows.sort_by(|a, b| {
        query.sort.apply(compare(query.sort.column, a, b)).then(a.message.cmp(&b.message))
    });
    let durations = DurationSummary::of(rows.iter().map(|row| row.duration));
    MessageList { rows, durations, total_of_all }
}

/// The order of two messages by `column`, smallest first.
pub(super) fn compare(column: SortBy, a: &MessageRow, b: &MessageRow) -> Ordering {
    match column {
        SortBy::Order => a.message.cmp(&b.message),
        SortBy::Phase => (a.phase == Phase::Distribute).cmp(&(b.phase == Phase::Distribute)),
        SortBy::From => a.from.cmp(&b.from),
        SortBy::To => a.to.cmp(&b.to),
        SortBy::Separator => a.separator.cmp(&b.separator),
        SortBy::Touched => a.touched.cmp(&b.touched),
        SortBy::Start => a.start.total_cmp(&b.start),
        SortBy::Duration | SortBy::Share => a.duration.total_cmp(&b.duration),
        SortBy::Processed => a.processed.cmp(&b.processed),
        SortBy::PerTouched => a.per_touched().total_cmp(&b.per_touched()),
        SortBy::PerProcessed => {
            let rank = |row: &MessageRow| row.per_processed().unwrap_or(-1.0);
            rank(a).total_cmp(&rank(b))
        }
    }
}
