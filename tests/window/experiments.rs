//! The pane of experiments.

use cliquescope::app::Workbench;
use cliquescope::app::state::command::{ExperimentCommand, ViewCommand};
use cliquescope::app::state::pane::Pane;
use egui_kittest::kittest::Queryable;

use crate::common::window::{open, settle, wait_for};
use crate::evidence_count;

#[test]
fn an_experiment_is_run_exported_and_opened_again() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Experiments));
    harness.run_steps(3);
    harness.get_by_label_contains("Figure 4").click();
    harness.run_steps(3);
    harness.get_by_label("none").click();
    harness.run_steps(2);
    harness.get_by_label("cancer").click();
    harness.run_steps(2);
    harness.get_by_label("Run the experiment").click();
    harness.run_steps(2);
    let results = |workbench: &Workbench| workbench.model().experiments.results.len();
    wait_for(&mut harness, |workbench| {
        assert_eq!(workbench.model().experiments.failure, None);
        results(workbench) == 1
    });
    // The result is shown without a further click.
    harness.run_steps(3);
    harness.get_by_label("Delete");
    let folder = tempfile::tempdir().expect("a folder for a test");
    let result = harness.state().model().experiments.results[0].clone();
    assert_eq!(result.record.experiment, "fig4");
    let out = folder.path().to_owned();
    harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(result.number, out));
    harness
        .state_mut()
        .run_command(&ctx, ExperimentCommand::OpenResult(folder.path().join("fig4-1.json")));
    harness.run_steps(3);
    let experiments = &harness.state().model().experiments;
    assert_eq!(experiments.results.len(), 2);
    assert_eq!(experiments.results[1].record, result.record);
    assert_eq!(experiments.results[1].name, "fig4-1");
    for extension in ["svg", "csv"] {
        assert!(folder.path().join(format!("fig4-1.{extension}")).is_file());
    }
    // Exporting the result again writes the same files. If one of them has other content by then,
    // the export writes all files under new names.
    let files = || std::fs::read_dir(folder.path()).expect("a folder for a test").count();
    let written = files();
    let csv = folder.path().join("fig4-1.csv");
    for other_content in [None, Some("mine")] {
        if let Some(text) = other_content {
            std::fs::write(&csv, text).expect("a writable folder");
        }
        let out = folder.path().to_owned();
        harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(result.number, out));
        harness.run_steps(3);
        assert_eq!(files(), if other_content.is_some() { 2 * written } else { written });
    }
    assert_eq!(std::fs::read_to_string(csv).expect("a file"), "mine");
    assert!(folder.path().join("fig4-1-2.csv").is_file());
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}
