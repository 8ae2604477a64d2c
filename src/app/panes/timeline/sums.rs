//! Sums over a range of time, as in Perfetto: the number and the total time of the slices of each
//! kind, row or clique. A slice that lies only partly in the range counts with the part inside.

use std::collections::HashMap;

use super::rows::TimelineRow;
use super::shapes::between;
use super::slices::{Slice, SliceKind};
use crate::graph::CliqueId;
use crate::propagation::{CompiledNetwork, MessageId};

/// What the lines of a table of sums are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// Kinds of slices: the two phases, other work, and waits by their cause.
    #[default]
    Kind,
    /// Rows: threads, or blocks or multiprocessors of a GPU. Waits do not count.
    Row,
    /// The cliques that send the messages.
    Sender,
    /// The cliques that receive the messages.
    Receiver,
}

impl GroupBy {
    /// All groupings with their titles. `row` is the title of a row, such as `Thread`.
    #[must_use]
    pub fn all(row: &'static str) -> [(Self, &'static str); 4] {
        [
            (Self::Kind, "Phase"),
            (Self::Row, row),
            (Self::Sender, "Sender"),
            (Self::Receiver, "Receiver"),
        ]
    }
}

/// What one line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// A kind of slice, by its name.
    Kind(&'static str),
    /// A row, by its index.
    Row(usize),
    /// A clique.
    Clique(CliqueId),
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// What the line is about.
    pub group: Group,
    /// Number of slices that are at least partly in the range.
    pub count: usize,
    /// Sum of the parts in the range, in nanoseconds.
    pub total: f64,
}

impl Sum {
    /// The mean of the parts in the range, in nanoseconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.total / self.count.max(1) as f64
    }
}

/// The slices of `rows` that are at least partly in the time from `from` to `to`, each with the
/// index of its row and the length of the part in the range. A slice that only touches the range
/// is left out, unless it has no length itself. All times are in nanoseconds.
pub fn clipped(
    rows: &[TimelineRow],
    (from, to): (f64, f64),
) -> impl Iterator<Item = (usize, Slice, f64)> + '_ {
    let part = move |slice: &Slice| slice.end.min(to) - slice.start.max(from);
    let tracks = rows
        .iter()
        .enumerate()
        .flat_map(|(index, row)| row.tracks.iter().map(move |track| (index, track)));
    tracks.flat_map(move |(row, track)| {
        let seen = between(track, from, to).iter();
        let inside = seen.filter(move |slice| part(slice) > 0.0 || slice.length() == 0.0);
        inside.map(move |slice| (row, *slice, part(slice)))
    })
}

/// The sums over the time from `range.0` to `range.1`, in nanoseconds, largest first.
#[must_use]
pub fn sums(
    rows: &[TimelineRow],
    compiled: &CompiledNetwork,
    by: GroupBy,
    range: (f64, f64),
) -> Vec<Sum> {
    let message = |id: MessageId| compiled.plan()[id];
    let mut sums: HashMap<Group, Sum> = HashMap::new();
    for (row, slice, part) in clipped(rows, range) {
        let group = match (by, slice.kind) {
            (GroupBy::Kind, _) => Group::Kind(slice.kind_name()),
            (GroupBy::Row, SliceKind::Message(..) | SliceKind::Work(_)) => Group::Row(row),
            (GroupBy::Sender, SliceKind::Message(id, _)) => Group::Clique(message(id).from),
            (GroupBy::Receiver, SliceKind::Message(id, _)) => Group::Clique(message(id).to),
            _ => continue,
        };
        let sum = sums.entry(group).or_insert(Sum { group, count: 0, total: 0.0 });
        sum.count += 1;
        sum.total += part;
    }
    let mut sums: Vec<Sum> = sums.into_values().collect();
    let order = |sum: &Sum| match sum.group {
        Group::Kind(name) => (0, name),
        Group::Row(index) => (index, ""),
        Group::Clique(clique) => (clique.index(), ""),
    };
    sums.sort_by(|a, b| b.total.total_cmp(&a.total).then_with(|| order(a).cmp(&order(b))));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::panes::timeline::slices::{Cause, Work};
    use crate::app::testing::model;

    /// Two threads: the first message of Asia from 0 to 10, a wait until 30, the last message until
    /// 50; and the product at the root from 5 to 45 on the other thread.
    fn rows(compiled: &CompiledNetwork) -> Vec<TimelineRow> {
        let message = |id: MessageId, start: f64, end: f64| Slice {
            kind: SliceKind::Message(id, compiled.plan()[id].phase),
            start,
            end,
            shared_with: 0,
        };
        let (first, last) = ends(compiled);
        let waiting = Slice::wait(Cause::Message(first), 10.0, 30.0);
        let row = |track: Vec<Slice>| TimelineRow { tracks: vec![track], ..TimelineRow::default() };
        vec![
            row(vec![message(first, 0.0, 10.0), waiting, message(last, 30.0, 50.0)]),
            row(vec![Slice::work(Work::Root, 5.0, 45.0)]),
        ]
    }

    fn ends(compiled: &CompiledNetwork) -> (MessageId, MessageId) {
        (MessageId::new(0), MessageId::new(compiled.plan().messages().len() - 1))
    }

    fn totals(by: GroupBy, range: (f64, f64)) -> Vec<(Group, usize, f64)> {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let sums = sums(&rows(compiled), compiled, by, range);
        sums.into_iter().map(|sum| (sum.group, sum.count, sum.total)).collect()
    }

    #[test]
    fn messages_that_lie_partly_in_the_range_count_with_this_part() {
        assert_eq!(
            totals(GroupBy::Kind, (4.0, 40.0)),
            [
                (Group::Kind("product at the root"), 1, 35.0),
                (Group::Kind("waiting for a message"), 1, 20.0),
                (Group::Kind("distribute"), 1, 10.0),
                (Group::Kind("collect"), 1, 6.0),
            ]
        );
        let whole: f64 = totals(GroupBy::Kind, (0.0, 50.0)).iter().map(|line| line.2).sum();
        assert_eq!(whole, 90.0);
        assert!(totals(GroupBy::Kind, (60.0, 70.0)).is_empty());
    }

    #[test]
    fn threads_are_summed_without_waits_and_cliques_by_sender_or_receiver() {
        let by_row = totals(GroupBy::Row, (4.0, 40.0));
        assert_eq!(by_row, [(Group::Row(1), 1, 35.0), (Group::Row(0), 2, 16.0)]);
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let (first, last) = ends(compiled);
        let plan = compiled.plan();
        for (by, clique) in [
            (GroupBy::Sender, [plan[last].from, plan[first].from]),
            (GroupBy::Receiver, [plan[last].to, plan[first].to]),
        ] {
            let found = totals(by, (4.0, 40.0));
            let expected = clique.map(Group::Clique).into_iter().zip([10.0, 6.0]);
            let expected: Vec<_> = expected.map(|(group, total)| (group, 1, total)).collect();
            assert_eq!(found, expected, "{by:?}");
        }
    }

    #[test]
    fn a_message_at_the_edge_of_the_range_does_not_count() {
        let counted = totals(GroupBy::Kind, (10.0, 30.0));
        assert!(!counted.iter().any(|(group, ..)| *group == Group::Kind("collect")));
        assert!(!counted.iter().any(|(group, ..)| *group == Group::Kind("distribute")));
    }
}
