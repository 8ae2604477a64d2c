//! The columns of the table, and which of them a narrow pane leaves out.

use egui_extras::Column;

use super::list::SortBy;
use crate::app::widgets::naming;
use crate::app::widgets::table::{Header, MARGIN};
use crate::graph::CliqueId;
use crate::propagation::CompiledNetwork;

/// The headers of all columns.
const HEADERS: [Header<SortBy>; 12] = [
    Header::text(SortBy::Order, "#", "Number of the message in the plan"),
    Header::text(SortBy::Phase, "Phase", "Toward the root or away from it"),
    Header::text(SortBy::From, "From", "The clique that is marginalised"),
    Header::text(SortBy::To, "To", "The clique that is multiplied"),
    Header::number(SortBy::Separator, "Separator", "Entries of the separator's table"),
    Header::number(
        SortBy::Touched,
        "Touched",
        "Entries of both cliques' tables, as the paper counts",
    ),
    Header::number(
        SortBy::Processed,
        "Processed",
        "Table entries that the engine went through, without the zeros that it skipped; - if the \
         engine does not count them",
    ),
    Header::number(SortBy::Start, "Start", "Since the start of the propagation").smallest_first(),
    Header::number(
        SortBy::Duration,
        "Duration",
        "From reading the sender to writing the receiver. ≈ marks short messages that were timed \
         together; their common time is divided in proportion to their forecast cost.",
    ),
    Header::number(
        SortBy::PerTouched,
        "Per touched",
        "Time per entry touched, as the paper counts",
    ),
    Header::number(
        SortBy::PerProcessed,
        "Per processed",
        "Time per entry that the engine went through",
    ),
    Header::number(SortBy::Share, "Share", "Share of the total time of all messages"),
];

/// The columns that a narrow pane leaves out, in this order. Each can be computed from other
/// columns, or is a detail of the tree or of the timeline.
const EXPENDABLE: [SortBy; 5] =
    [SortBy::PerTouched, SortBy::PerProcessed, SortBy::Separator, SortBy::Start, SortBy::Share];

/// Width of the name of a clique without its variables, in points.
const ID_WIDTH: f32 = 40.0;
/// Minimum width, in points, at which the name of a clique is written with its variables. In less
/// room, nothing of them could be read.
const MIN_NAME_WIDTH: f32 = 84.0;

/// The width of a column in points; for names the minimum.
fn width(column: SortBy) -> f32 {
    match column {
        SortBy::Order => 36.0,
        SortBy::Phase => 60.0,
        SortBy::From | SortBy::To => ID_WIDTH,
        SortBy::Separator | SortBy::Start => 60.0,
        SortBy::Processed | SortBy::Duration => 64.0,
        SortBy::Touched => 68.0,
        // The titles of these columns are long, and the mark of the order is next to a title.
        SortBy::PerTouched => 78.0,
        SortBy::PerProcessed => 88.0,
        SortBy::Share => 40.0,
    }
}

/// The columns that are shown.
#[derive(Debug, PartialEq)]
pub(super) struct ShownColumns {
    headers: Vec<Header<SortBy>>,
    /// The width of each of the two columns of names, in points.
    name_width: f32,
}

impl ShownColumns {
    /// The columns for a table with `room` points, with `gap` points between columns.
    pub(super) fn for_room(room: f32, gap: f32) -> Self {
        let mut headers = HEADERS.to_vec();
        let free = |headers: &[Header<SortBy>]| {
            let widths: f32 = headers.iter().map(|header| width(header.column()) + gap).sum();
            room - MARGIN - widths
        };
        for expendable in EXPENDABLE {
            if free(&headers) >= 0.0 {
                break;
            }
            headers.retain(|header| header.column() != expendable);
        }
        let name_width = ID_WIDTH + free(&headers).max(0.0) / 2.0;
        Self { headers, name_width }
    }

    /// The headers from left to right. The first is above the numbers of the messages.
    pub(super) fn headers(&self) -> &[Header<SortBy>] {
        &self.headers
    }

    /// The columns from left to right, and an empty one that keeps the scroll bar away from the
    /// numbers.
    pub(super) fn columns(&self) -> impl Iterator<Item = Column> {
        let column = |header: &Header<SortBy>| match header.column() {
            SortBy::Order => Column::exact(width(SortBy::Order)).clip(false),
            SortBy::From | SortBy::To => Column::exact(self.name_width).clip(true),
            other => Column::exact(width(other)),
        };
        self.headers.iter().map(column).chain([Column::exact(MARGIN)])
    }

    /// The name of a clique, with its variables if there is room for them.
    pub(super) fn clique(&self, compiled: &CompiledNetwork, clique: CliqueId) -> String {
        if self.name_width >= MIN_NAME_WIDTH {
            naming::clique(compiled, clique)
        } else {
            naming::clique_id(clique)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_leaves_out_the_columns_that_matter_least() {
        const GAP: f32 = 4.0;
        let count = |room: f32| ShownColumns::for_room(room, GAP).headers.len();
        assert_eq!((count(1000.0), count(656.0), count(100.0)), (12, 10, 7));
        let narrow = ShownColumns::for_room(656.0, GAP);
        assert!(narrow.headers.iter().all(|header| header.column() != SortBy::PerTouched));
        for room in [500.0, 566.0, 656.0, 750.0, 1000.0, 1500.0] {
            let shown = ShownColumns::for_room(room, GAP);
            let fixed = |header: &Header<SortBy>| match header.column() {
                SortBy::From | SortBy::To => shown.name_width,
                other => width(other),
            };
            let total: f32 = shown.headers.iter().map(|header| fixed(header) + GAP).sum();
            assert!((total + MARGIN - room).abs() < 0.1, "{room}: {total}");
        }
    }
}
