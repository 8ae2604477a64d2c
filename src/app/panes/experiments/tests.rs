use std::sync::Arc;

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::command::{Command, ExperimentCommand};
use crate::app::testing::{Bench, drive_model, label_containing, model};
use crate::experiment::{
    Axis, Figure, Machine, Mark, MarkPosition, Origin, Panel as FigurePanel, Progress, Provenance,
    Record, Series, Shape, Table,
};
use crate::format::{NetworkOrigin, ReadNetwork};

/// A record with a table, and a figure with a recorded and a predicted series.
fn record() -> Arc<Record> {
    let series =
        |label: &str, origin, shape| Series::new(label, origin, shape, [(10.0, 2.0), (100.0, 9.0)]);
    let panel = FigurePanel {
        title: "Asia".to_owned(),
        x: Axis::log("Entries"),
        y: Axis::linear("Time, µs"),
        series: vec![
            series("gpu", Origin::Recorded, Shape::Points),
            series("model", Origin::Predicted, Shape::Line),
        ],
        marks: vec![Mark {
            label: "floor".to_owned(),
            origin: Origin::Paper,
            position: MarkPosition::Y(1.0),
        }],
    };
    Arc::new(Record {
        format: 1,
        experiment: "fig6".to_owned(),
        title: "Figure 6: speed-up".to_owned(),
        provenance: Provenance {
            version: "0".to_owned(),
            commit: None,
            date: "2026-01-02T03:04:05Z".to_owned(),
            machine: Machine { cpu: "fingers".to_owned(), threads: 10, gpu: None },
        },
        recorded: vec!["recorded on NVIDIA Abacus on 2026-01-02".to_owned()],
        propagations: None,
        settings: vec![("repeat".to_owned(), "3".to_owned())],
        notes: vec!["The model is too kind to Pigs.".to_owned()],
        tables: vec![Table::new("speedup").text("network", ["asia"]).count(
            "entries",
            None,
            [4711],
        )],
        figures: vec![Figure { title: "Speed-up".to_owned(), across: 1, panels: vec![panel] }],
    })
}

fn pane(model: Model) -> Harness<'static, Bench> {
    let mut pane = ExperimentsPane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

fn with_results(count: usize) -> Model {
    let mut model = model("asia");
    (0..count).for_each(|_| model.experiments.add(record()));
    model
}

#[test]
fn a_result_marks_recorded_and_predicted_numbers() {
    let mut harness = pane(with_results(1));
    harness.get_by_label("fig6 #1").click();
    harness.run();
    harness.get_by_label("recorded on NVIDIA Abacus on 2026-01-02");
    harness.get_by_label("The model is too kind to Pigs.");
    harness.get_by_label("gpu (recorded)");
    harness.get_by_label("model (predicted)");
    harness.get_by_label("4,711");
    label_containing(&harness, "Plot Asia: Time, µs against Entries");
}

#[test]
fn a_file_named_like_a_sample_can_be_chosen() {
    let mut model = model("asia");
    let document = model.document.as_mut().unwrap();
    let mut read = ReadNetwork::clone(&document.read);
    read.origin = NetworkOrigin::File("mine/asia.xdsl".into());
    document.read = Arc::new(read);
    let harness = pane(model);
    harness.get_by_label("asia (open)");
    let harness = pane(crate::app::testing::model("asia"));
    assert!(harness.query_by_label("asia (open)").is_none(), "the sample has its own button");
}

#[test]
fn a_result_is_renamed_exported_and_removed() {
    let mut harness = pane(with_results(1));
    harness.get_by_label("fig6 #1").click();
    harness.run();
    harness.get_by_label("Name").click();
    harness.run();
    harness.get_by_label("Name").type_text(" again");
    harness.run();
    harness.key_press(egui::Key::Enter);
    harness.run();
    harness.get_by_label("Folder").click();
    harness.run();
    harness.get_by_label("Folder").type_text("out");
    harness.run();
    harness.get_by_label("Export").click();
    harness.run();
    harness.get_by_label("Delete").click();
    harness.run();
    let number = harness.state().model.experiments.results[0].number;
    let pushed = &harness.state().pushed;
    assert!(
        matches!(&pushed[..], [
            Command::Experiment(ExperimentCommand::RenameResult(renamed, name)),
            Command::Experiment(ExperimentCommand::ExportResult(written, folder)),
            Command::Experiment(ExperimentCommand::RemoveResult(removed)),
        ] if [*renamed, *written, *removed] == [number; 3]
            && name.contains("again")
            && folder.as_os_str() == "out"),
        "{pushed:?}"
    );
}

#[test]
fn the_title_of_a_result_stays_in_view_while_the_result_is_scrolled() {
    let mut harness = pane(with_results(1));
    harness.get_by_label("fig6 #1").click();
    harness.run();
    let places = |harness: &Harness<'_, Bench>| {
        let title = harness.get_by_label("Figure 6: speed-up").rect().top();
        (title, harness.get_by_label("The model is too kind to Pigs.").rect().top())
    };
    let (title, note) = places(&harness);
    harness.hover_at(egui::pos2(600.0, 400.0));
    let wheel = egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: egui::vec2(0.0, -80.0),
        phase: egui::TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
    };
    harness.event(wheel);
    harness.run();
    let (title_after, note_after) = places(&harness);
    assert_eq!(title_after, title);
    assert!(note_after < note, "{note} {note_after}");
}

#[test]
fn the_equations_of_the_model_are_typeset() {
    let mut harness = pane(with_results(0));
    harness.get_by_label("Equations 4 and 6: predicted and measured time").click();
    harness.run();
    harness.get_by_label_contains("2(n − 1) τ + sum over i of sum over k ∈ Ne(C_i) of (|φ_X_i|");
    harness.get_by_label("min |φ_S| ≤ speedup ≤ max |φ_S|");
}

#[test]
fn two_results_are_overlaid() {
    let mut harness = pane(with_results(2));
    harness.get_by_label("Compare fig6 #1").click();
    harness.run();
    harness.get_by_label("Compare fig6 #2").click();
    harness.run();
    harness.get_by_label("fig6 #1 and fig6 #2");
    harness.get_by_label("fig6 #1: gpu (recorded)");
    harness.get_by_label("fig6 #2: gpu (recorded)");
    assert_eq!(harness.query_all_by_label_contains("Plot Asia").count(), 1);
}

#[test]
fn a_running_experiment_shows_its_progress_and_can_be_cancelled() {
    let mut model = model("asia");
    let progress = Progress::new(crate::cancel::CancelToken::new());
    progress.expect(4.0);
    progress.step("asia: sequential", 1.0).unwrap();
    progress.step("asia: gpu", 3.0).unwrap();
    model.experiments.running = Some(RunningExperiment {
        number: 1,
        title: "Figure 6".to_owned(),
        progress: Arc::new(progress),
    });
    let mut harness = pane(model);
    label_containing(&harness, "Figure 6: asia: gpu; 0 s");
    harness.get_by_label("Cancel the experiment").click();
    harness.run();
    assert!(harness.state().pushed.contains(&Command::Experiment(ExperimentCommand::Cancel)));
}
