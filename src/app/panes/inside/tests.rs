use eframe::egui::{Key, Ui};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::*;
use crate::app::state::command::{Command, ViewCommand};
use crate::app::testing::{Bench, drive_model, label_containing, model_with, tab_stops};
use crate::cancel::CancelToken;
use crate::engine::Stepper as EngineStepper;
use crate::network::Evidence;
use crate::propagation::MemoryLimit;
use crate::session::{Explanation, Question};

/// The pane with message `index` of asia selected and its numbers available.
fn pane<'a>(index: usize) -> Harness<'a, Bench> {
    let mut model = model_with("asia", "sequential", &[]);
    let compiled = Arc::clone(model.compiled().unwrap());
    let message = MessageId::new(index);
    let memory = MemoryLimit::from_bytes(1 << 30);
    let mut stepper = EngineStepper::new(&compiled, Evidence::none(), memory).unwrap();
    let detail = stepper.message(message, &CancelToken::new()).unwrap();
    let evidence = Evidence::none();
    let question = Question {
        compiled: Arc::clone(&compiled),
        evidence,
        message,
        beliefs_after: None,
        memory: None,
    };
    let explanation = Explanation { detail: Arc::new(detail), beliefs: None };
    model.explained = Some((question, Ok(explanation)));
    model.selection =
        crate::app::state::highlight::Highlight::of(Some(Item::Message(message)), Some(&compiled));
    let mut pane = InsidePane::default();
    let mut harness = drive_model(model, move |ui: &mut Ui, model, commands| {
        pane.show(ui, model, commands);
    });
    harness.run_steps(3);
    harness
}

/// The tables of the message that the pane shows.
fn detail(harness: &Harness<'_, Bench>) -> Arc<MessageDetail> {
    let (_, answer) = harness.state().model.explained.as_ref().unwrap();
    Arc::clone(&answer.as_ref().unwrap().detail)
}

#[test]
fn a_message_of_another_network_is_never_shown() {
    let mut harness = pane(1);
    label_containing(&harness, "Sender entry 0:");
    let model = &mut harness.state_mut().model;
    let mut other = model_with("cancer", "sequential", &[]);
    let compiled = Arc::clone(other.compiled().unwrap());
    let [first, second] = [0, 1].map(MessageId::new);
    // The only answer is a failure for a message that is no longer wanted.
    let (question, _) = model.explained.take().unwrap();
    let question = Question { compiled: Arc::clone(&compiled), message: first, ..question };
    other.explained = Some((question, Err("too large".to_owned())));
    other.selection =
        crate::app::state::highlight::Highlight::of(Some(Item::Message(second)), Some(&compiled));
    *model = other;
    harness.run_steps(2);
    harness.get_by_label("The tables are being computed.");
}

#[test]
fn all_entries_of_both_cliques_are_listed_and_sender_entries_name_their_separator_entry() {
    let harness = pane(1);
    let detail = detail(&harness);
    for entry in 0..detail.sender_values.len() {
        let (j, _) = detail.from.place(entry);
        let text = format!("Sender entry {entry}:");
        let label = label_containing(&harness, &text);
        let said = label.accesskit_node().label().unwrap_or_default();
        assert!(said.ends_with(&format!("goes to separator entry {j}")), "{said}");
    }
    assert_eq!(
        harness.query_all_by_label_contains("Receiver entry").count(),
        detail.receiver_values.len()
    );
}

#[test]
fn the_pane_requests_the_numbers_of_its_message() {
    let harness = pane(2);
    let request = Command::View(ViewCommand::Explain(MessageId::new(2)));
    assert!(harness.state().pushed.contains(&request));
}

#[test]
fn buttons_and_keys_move_by_one_step() {
    let mut harness = pane(0);
    harness.get_by_label_contains("The whole message: ");
    harness.get_by_label("Before the first step").click();
    harness.run_steps(2);
    harness.get_by_label("Nothing is done yet.");
    harness.get_by_label("Next step").click();
    harness.run_steps(2);
    harness.get_by_label_contains("adds entry 0 of");
    harness.key_press(Key::Period);
    harness.run_steps(2);
    harness.get_by_label_contains("adds entry 1 of");
    harness.key_press(Key::Comma);
    harness.run_steps(2);
    harness.get_by_label_contains("adds entry 0 of");
}

#[test]
fn a_thread_adds_only_its_own_entries() {
    let mut harness = pane(0);
    let detail = detail(&harness);
    harness.get_by_label("Thread by thread").click();
    harness.run_steps(2);
    harness.get_by_label("Before the first step").click();
    harness.run_steps(2);
    for n in 0..detail.from.count() {
        harness.get_by_label("Next step").click();
        harness.run_steps(2);
        let entry = detail.from.element(0, n);
        harness.get_by_label_contains(&format!("Thread 0 adds entry {entry} of"));
    }
    harness.get_by_label("Next step").click();
    harness.run_steps(2);
    harness.get_by_label_contains("Thread 0 divides");
    harness.get_by_label("Next thread").click();
    harness.run_steps(2);
    harness.get_by_label("Next step").click();
    harness.run_steps(2);
    harness.get_by_label_contains("Thread 1 adds");
}

#[test]
fn the_tab_key_skips_the_scroll_bars() {
    let mut harness = pane(1);
    // Too low for all rows, so that the tables have scroll bars.
    harness.set_size(eframe::egui::vec2(900.0, 260.0));
    harness.run_steps(3);
    let stops = tab_stops(&mut harness);
    assert!(stops.len() > 5 && stops.iter().all(Option::is_some), "{stops:?}");
}

#[test]
fn a_click_on_an_entry_jumps_to_its_step() {
    let mut harness = pane(1);
    label_containing(&harness, "Receiver entry 2:").click();
    harness.run_steps(3);
    harness.get_by_label_contains("multiplies entry 2 of");
}

#[test]
fn the_memory_of_both_layouts_is_described() {
    let harness = pane(1);
    harness.get_by_label_contains("Memory, naive: words 0, ");
    harness.get_by_label_contains("Memory, interleaved: words 0, 1");
}

#[test]
fn with_room_the_memory_is_drawn_in_sectors_and_the_tables_end_with_their_rows() {
    let mut harness = pane(1);
    let frames = "A frame holds a sector of 8 words";
    harness.set_size(eframe::egui::vec2(1270.0, 560.0));
    harness.run_steps(3);
    harness.get_by_label_contains(frames);
    // The lesson's frame around the tables.
    let tables = targets::find(&harness.ctx, "tables of a message").unwrap();
    let rows = detail(&harness).sender_values.len().max(detail(&harness).receiver_values.len());
    assert!(tables.height() < 60.0 + grid::ROW_HEIGHT * rows as f32, "{tables:?}");
    harness.set_size(eframe::egui::vec2(1270.0, 260.0));
    harness.run_steps(3);
    assert!(harness.query_by_label_contains(frames).is_none());
}

#[test]
fn a_table_that_needs_more_than_its_share_of_the_width_gets_it_from_the_others() {
    assert_eq!(table_widths([100.0, 100.0, 100.0], 1000.0), [320.0, 340.0, 340.0]);
    let widths = table_widths([200.0, 250.0, 450.0], 1000.0);
    assert!(widths.iter().zip([200.0, 250.0, 450.0]).all(|(width, wanted)| *width >= wanted));
    assert!((widths.iter().sum::<f32>() - 1000.0).abs() < 0.01, "{widths:?}");
}

#[test]
fn the_pane_stops_repainting() {
    let mut harness = pane(1);
    // Panics if the window still repaints after many frames.
    harness.run();
}
