use std::sync::Arc;

use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::command::{CaseCommand, Command};
use crate::app::testing::{Bench, drive_model, model_with};
use crate::network::Evidence;

/// Asia with `xray = yes` on screen and two cases: `well`, which knows nothing, and `ill`, which is
/// what is on screen.
fn bench() -> egui_kittest::Harness<'static, Bench> {
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
fn cases_are_kept_recalled_and_forgotten() {
    let mut harness = bench();
    harness.run_steps(3);
    harness.get_by_label("Recall well").click();
    harness.run_steps(3);
    harness.get_by_label("Name of the case").click();
    harness.run_steps(2);
    harness.get_by_label("Name of the case").type_text("third");
    harness.run_steps(2);
    harness.get_by_label("Keep the evidence").click();
    harness.run_steps(2);
    harness.get_by_label("More about ill").click();
    harness.run_steps(3);
    harness.get_by_label("Forget the case").click();
    harness.run_steps(2);
    let expected = [
        Command::Case(CaseCommand::Enter(1)),
        Command::Case(CaseCommand::Add("third".to_owned())),
        Command::Case(CaseCommand::Remove(2)),
    ];
    assert_eq!(harness.state().pushed, expected);
}

#[test]
fn a_case_is_renamed_in_its_place() {
    let mut harness = bench();
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
fn posteriors_stand_side_by_side_and_as_differences() {
    let mut harness = bench();
    harness.run_steps(3);
    // lung = yes without evidence and with it.
    harness.get_by_label("5.5%");
    assert_eq!(harness.get_all_by_label("48.9%").count(), 2, "now, and the case that is the same");
    harness.get_by_label("Compare ill").click();
    harness.run_steps(3);
    assert_eq!(harness.get_all_by_label("48.9%").count(), 1);
    harness.get_by_label("Compare ill").click();
    harness.run_steps(3);
    harness.get_by_role_and_label(egui::accesskit::Role::ComboBox, "Difference to").click();
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
    // xray = yes: observed, 11.03% before.
    assert!(top("+88.97") < top("+43.37"));
}
