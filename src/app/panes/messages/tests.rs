use super::list::compare;
use super::*;
use crate::app::testing::{Bench, drive, label_containing, model};
use crate::app::widgets::table::Sort;
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
fn a_click_selects_a_message_and_arrow_keys_move_the_selection() {
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
fn the_phase_filter_shows_half_of_the_messages() {
    let mut harness = asia();
    let all = harness.state().model.compiled().unwrap().plan().messages().len();
    assert_eq!(rows(&harness), all);
    harness.get_by_label("Distribute").click();
    harness.run();
    assert_eq!(rows(&harness), all / 2);
}

#[test]
fn messages_sort_by_every_column_and_ties_keep_the_plan_order() {
    let model = model("asia");
    let document = model.document.as_ref().unwrap();
    let (trace, compiled) = (document.trace().unwrap(), document.compiled.as_ref().unwrap());
    for column in
        [SortBy::Order, SortBy::Phase, SortBy::From, SortBy::To, SortBy::Separator, SortBy::Touched]
            .into_iter()
            .chain([
                SortBy::Start,
                SortBy::Duration,
                SortBy::PerTouched,
                SortBy::PerProcessed,
                SortBy::Processed,
                SortBy::Share,
            ])
    {
        for sort in [Sort::ascending(column), Sort::descending(column)] {
            let query = Query { sort, ..Query::default() };
            let lines = list(trace, compiled, query).rows;
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
fn estimated_times_are_marked_as_approximate() {
    let model = model("asia");
    let document = model.document.as_ref().unwrap();
    let compiled = document.compiled.as_ref().unwrap();
    let mut trace = document.trace().unwrap().clone();
    trace.messages.iter_mut().for_each(|timing| timing.shared_with = 0);
    trace.messages[4].shared_with = 3;
    let lines = list(&trace, compiled, Query::default()).rows;
    let spoken = lines.iter().map(|line| spoken(compiled, line).contains("≈"));
    assert!(spoken.enumerate().all(|(number, is_marked)| is_marked == (number == 4)));
    assert_eq!(naming::message_time(895.0, 0), "895 ns");
    assert_eq!(naming::message_time(895.0, 3), "≈ 895 ns");
    assert_eq!(naming::timed_together(0), None);
    assert!(naming::timed_together(3).unwrap().contains("3 others"));
}

#[test]
fn short_messages_can_be_filtered_out() {
    let model = model("asia");
    let document = model.document.as_ref().unwrap();
    let (trace, compiled) = (document.trace().unwrap(), document.compiled.as_ref().unwrap());
    let longest = trace.messages.iter().map(|timing| timing.duration).max().unwrap();
    let min_duration = longest.as_nanos() as f64 / 1e3;
    let lines = list(trace, compiled, Query { min_duration, ..Query::default() });
    assert!(!lines.rows.is_empty());
    assert!(lines.rows.iter().all(|line| line.duration == longest.as_nanos() as f64));
    assert!(lines.durations.total <= lines.total_of_all);
}

#[test]
fn without_a_network_the_pane_says_what_to_do() {
    let mut pane = MessagesPane::default();
    let mut harness = drive("", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness.get_by_label_contains("Open a network");
}
