use std::sync::Mutex;

use super::super::trees::MERGE_THRESHOLDS;
use super::*;
use crate::cancel::Cancelled;
use crate::potential::Precision;

fn setup(networks: &[&str]) -> RecordingSetup {
    RecordingSetup {
        networks: networks.iter().map(|name| Subject::sample(name).unwrap()).collect(),
        repeat: 2,
        threads: 2,
        time_limit: Duration::ZERO,
        ..RecordingSetup::new(Some("abc"))
    }
}

fn progress() -> Progress {
    Progress::new(CancelToken::new())
}

#[test]
fn a_recording_has_every_tree_and_every_engine_that_traces_messages() {
    let progress = progress();
    let recorder = Recorder::new(setup(&["insurance"]), None, progress.cancel_token()).unwrap();
    let (name, trees) = recorder.remaining().next().unwrap();
    assert!(name == "insurance" && recorder.forecast() > Duration::ZERO);
    // The two unmerged trees and at least one merged tree. At least one other merged tree equals
    // an earlier tree and is left out.
    assert!((3..2 + 2 * MERGE_THRESHOLDS.len()).contains(&trees), "{trees}");
    let recording = recorder.run(&progress, |_| Ok(())).unwrap();
    assert_eq!(recording.networks.len(), trees);
    for tree in ["weighted-min-fill", "auto"] {
        let network = recording.find("insurance", tree).unwrap();
        let runs_of = |engine: &str| network.runs.iter().filter(|r| r.engine == engine).count();
        assert_eq!((runs_of("sequential"), runs_of("cpu"), runs_of("reference")), (1, 2, 0));
        for run in &network.runs {
            let trace = run.trace.as_ref().filter(|t| !t.messages.is_empty());
            assert!(trace.is_some() || run.engine != "sequential");
            assert_eq!((run.propagate_us.count, run.precision), (2, Precision::F32));
        }
    }
    let merged = &recording.networks[2];
    assert!(merged.triangulation.starts_with("weighted-min-fill, merged to "));
    assert!(merged.runs.iter().all(|run| run.trace.is_none()));
    assert!(merged.runs.iter().any(|run| run.engine == "sequential"));
    assert_eq!(Recording::read(&recording.write()).unwrap(), recording);
}

#[test]
fn networks_measured_before_an_interruption_are_kept_and_not_measured_again() {
    let networks = ["asia", "cancer", "asia", "insurance"];
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let interrupted = Progress::new(cancel.clone()).with_listener(move |status| {
        // Stops in the second network, after its first tree.
        if status.step.starts_with("cancer, auto") {
            stop.cancel();
        }
    });
    let saved = Mutex::new(Vec::new());
    let save = |recording: &Recording| {
        saved.lock().unwrap().push(recording.write());
        Ok(())
    };
    let recorder = Recorder::new(setup(&networks), None, &cancel).unwrap();
    assert!(recorder.remaining().map(|(name, _)| name).eq(["asia", "cancer", "insurance"]));
    let outcome = recorder.run(&interrupted, save);
    assert_eq!(outcome, Err(ExperimentError::Cancelled(Cancelled)));

    let mut saved = saved.into_inner().unwrap();
    assert_eq!(saved.len(), 1);
    let existing = Recording::read(&saved.remove(0)).unwrap();
    assert_eq!(existing.names(), ["asia"]);
    let progress = progress();
    let recorder =
        Recorder::new(setup(&networks), Some(existing.clone()), progress.cancel_token()).unwrap();
    assert_eq!(recorder.recording(), &existing);
    assert!(recorder.remaining().map(|(name, _)| name).eq(["cancer", "insurance"]));
    let mut names = Vec::new();
    let complete = recorder.run(&progress, |recording| {
        names.push(recording.names().join(" "));
        Ok(())
    });
    let complete = complete.unwrap();
    assert_eq!(names, ["asia cancer", "asia cancer insurance"]);
    assert_eq!(complete.networks[..existing.networks.len()], existing.networks);
    assert_eq!(
        (&complete.provenance, &complete.settings),
        (&existing.provenance, &existing.settings)
    );

    // Now nothing remains to be measured, and other settings are refused.
    let resumed =
        Recorder::new(setup(&["cancer"]), Some(complete.clone()), progress.cancel_token());
    let resumed = resumed.unwrap();
    assert_eq!((resumed.remaining().len(), resumed.forecast()), (0, Duration::ZERO));
    assert_eq!(resumed.run(&progress, |_| panic!("nothing was measured")).unwrap(), complete);
    let other = RecordingSetup { repeat: 3, ..setup(&["cancer"]) };
    let refused = Recorder::new(other, Some(complete), progress.cancel_token());
    assert!(matches!(refused.err(), Some(ExperimentError::Failed(_))));
}

#[test]
fn a_recording_ends_if_it_cannot_be_saved_and_does_not_begin_if_cancelled() {
    let progress = progress();
    let recorder =
        Recorder::new(setup(&["asia", "cancer"]), None, progress.cancel_token()).unwrap();
    let outcome = recorder.run(&progress, |_| Err("the disk is full".to_owned()));
    assert_eq!(outcome, Err(ExperimentError::Failed("the disk is full".to_owned())));
    progress.cancel_token().cancel();
    let outcome = Recorder::new(setup(&["asia"]), None, progress.cancel_token());
    assert!(matches!(outcome.err(), Some(ExperimentError::Cancelled(_))));
}
