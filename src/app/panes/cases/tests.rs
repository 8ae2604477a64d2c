use std::sync::Arc;

use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::command::{CaseCommand, Command};
use crate::app::testing::{Bench, drive_model, model_with};
use crate::network::Evidence;

/// Asia with the evidence `xray = yes` and two cases: `well` without evidence, and `ill` with the
/// same evidence as the document.
fn cases_pane() -> egui_kittest::Harness<'static, Bench> {
    let mut model = model_with("asia", "sequential", &[("xray", "yes")]);
    let document = model.document.as_mut().unwrap();
    let (prior, result) = (document.prior.clone().unwrap(), document.result.clone().unwrap());
    let case = |number, name: &str, evidence: &Evidence, posteriors| Case {
        number,
        name: name.to_owned(),
        evidence: evidence.clone(),
        answer: Some(Ok(Arc::new(posteriors))),
    };
    document.cases = vec![
        case(1, "well", &Evidence::none(), prior.posteriors.clone()),
        case(2, "ill", &document.evidence, result.posteriors.clone()),
    ];
    let mut pane = CasesPane::default();
    drive_model(model, move |ui, model, commands| pane.show(ui, model, commands))
}

#[test]
fn cases_are_added_recalled_and_deleted() {
    let mut harness = cases_pane();
    harness.run_steps(3);
    harness.get_by_label("Recall well").click();
    harness.run_steps(3);
    harness.get_by_label("Name of the case").click();
    harness.run_steps(2);
    harness.get_by_label("Name of the case").type_text("third");
    harness.run_steps(2);
    harness.get_by_label("Add case").click();
    harness.run_steps(2);
    harness.get_by_label("More about ill").click();
    harness.run_steps(3);
    harness.get_by_label("Delete the case").click();
    harness.run_steps(2);
    let expected = [
        Command::Case(CaseCommand::Enter(1)),
        Command::Case(CaseCommand::Add("third".to_owned())),
        Command::Case(CaseCommand::Remove(2)),
    ];
    assert_eq!(harness.state().pushed, expected);
}

#[test]
fn a_case_is_renamed_in_the_list() {
    let mut harness = cases_pane();
    harness.run_steps(3);
    harness.get_by_label("More about well").click();
    harness.run_steps(3);
    harness.get_by_label("Rename").click();
    harness.run_steps(3);
    harness.input_mut().events.push(egui::Event::Text(" and at home".to_owned()));
    harness.run_steps(2);
    harness.key_press(egui::Key::Enter);
    harness.run_steps(2);
    assert_eq!(
        harness.state().pushed,
        [Command::Case(CaseCommand::Rename(1, "well and at home".to_owned()))]
    );
}

#[test]
fn escape_keeps_the_name_of_a_case() {
    let mut harness = cases_pane();
    harness.run_steps(3);
    harness.get_by_label("More about well").click();
    harness.run_steps(3);
    harness.get_by_label("Rename").click();
    harness.run_steps(3);
    harness.input_mut().events.push(egui::Event::Text(" and at home".to_owned()));
    harness.run_steps(2);
    harness.key_press(egui::Key::Escape);
    harness.run_steps(2);
    assert_eq!(harness.state().pushed, []);
    harness.get_by_label("Compare well");
}

#[test]
fn posteriors_are_shown_side_by_side_or_as_differences() {
    let mut harness = cases_pane();
    harness.run_steps(3);
    // The probability of lung = yes is 5.5% without evidence and 48.9% with it.
    harness.get_by_label("5.5%");
    assert_eq!(
        harness.get_all_by_label("48.9%").count(),
        2,
        "the current evidence, and the case with the same evidence"
    );
    harness.get_by_label("Compare ill").click();
    harness.run_steps(3);
    assert_eq!(harness.get_all_by_label("48.9%").count(), 1);
    harness.get_by_label("Compare ill").click();
    harness.run_steps(3);
    harness.get_by_role_and_label(egui::accesskit::Role::ComboBox, "Difference from").click();
    harness.run_steps(3);
    harness.get_by_label("no evidence").click();
    harness.run_steps(3);
    assert_eq!(harness.get_all_by_label("+43.37").count(), 2);
    harness.get_by_label("Largest first").click();
    harness.run_steps(3);
    let top = |label: &str| {
        let nodes = harness.get_all_by_label(label);
        nodes.map(|node| node.rect().top()).fold(f32::MAX, f32::min)
    };
    // The observed state xray = yes had a probability of 11.03% without evidence.
    assert!(top("+88.97") < top("+43.37"));
}

#[test]
fn a_case_out_of_range_is_not_called_impossible() {
    assert_eq!(failure(&PropagationError::OutOfRange.into()), "failed");
}
