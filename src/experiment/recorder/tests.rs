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
        at_most: Duration::ZERO,
        ..RecordingSetup::new(Some("abc"))
    }
}

fn progress() -> Progress {
    Progress::new(CancelToken::new())
}

#[test]
fn a_recording_holds_every_tree_and_engine() {
    let progress = progress();
    let recorder = Recorder::new(setup(&["insurance"]), None, progress.cancel_token()).unwrap();
    let (name, trees) = recorder.missing().next().unwrap();
    assert!(name == "insurance" && recorder.forecast() > Duration::ZERO);
    // Two plain trees, and each that merging makes once.
    assert!((3..2 + 2 * MERGE_THRESHOLDS.len()).contains(&trees), "{trees}");
    let recording = recorder.run(&progress, |_| Ok(())).unwrap();
    assert_eq!(recording.networks.len(), trees);
    for tree in ["weighted-min-fill", "auto"] {
        let network = recording.find("insurance", tree).unwrap();
        let of = |engine: &str| network.runs.iter().filter(|r| r.engine == engine).count();
        assert_eq!((of("sequential"), of("cpu"), of("reference")), (1, 2, 0));
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
fn what_was_measured_before_an_interruption_is_kept_and_not_measured_again() {
    let networks = ["asia", "cancer", "asia", "insurance"];
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let interrupted = Progress::new(cancel.clone()).told_to(move |status| {
        // Within the second network, once its first tree is behind.
        if status.what.starts_with("cancer, auto") {
            stop.cancel();
        }
    });
    let kept = Mutex::new(Vec::new());
    let keep = |recording: &Recording| {
        kept.lock().unwrap().push(recording.write());
        Ok(())
    };
    let recorder = Recorder::new(setup(&networks), None, &cancel).unwrap();
    assert!(recorder.missing().map(|(name, _)| name).eq(["asia", "cancer", "insurance"]));
    let outcome = recorder.run(&interrupted, keep);
    assert_eq!(outcome, Err(ExperimentError::Cancelled(Cancelled)));

    let mut kept = kept.into_inner().unwrap();
    assert_eq!(kept.len(), 1);
    let held = Recording::read(&kept.remove(0)).unwrap();
    assert_eq!(held.names(), ["asia"]);
    let progress = progress();
    let recorder =
        Recorder::new(setup(&networks), Some(held.clone()), progress.cancel_token()).unwrap();
    assert_eq!(recorder.recording(), &held);
    assert!(recorder.missing().map(|(name, _)| name).eq(["cancer", "insurance"]));
    let mut names = Vec::new();
    let whole = recorder.run(&progress, |recording| {
        names.push(recording.names().join(" "));
        Ok(())
    });
    let whole = whole.unwrap();
    assert_eq!(names, ["asia cancer", "asia cancer insurance"]);
    assert_eq!(whole.networks[..held.networks.len()], held.networks);
    assert_eq!((&whole.provenance, &whole.settings), (&held.provenance, &held.settings));

    // Another time nothing is left to do, and other options are refused.
    let again = Recorder::new(setup(&["cancer"]), Some(whole.clone()), progress.cancel_token());
    let again = again.unwrap();
    assert_eq!((again.missing().len(), again.forecast()), (0, Duration::ZERO));
    assert_eq!(again.run(&progress, |_| panic!("nothing is new")).unwrap(), whole);
    let other = RecordingSetup { repeat: 3, ..setup(&["cancer"]) };
    let refused = Recorder::new(other, Some(whole), progress.cancel_token());
    assert!(matches!(refused.err(), Some(ExperimentError::Failed(_))));
}

#[test]
fn what_cannot_be_kept_ends_the_recording() {
    let progress = progress();
    let recorder =
        Recorder::new(setup(&["asia", "cancer"]), None, progress.cancel_token()).unwrap();
    let outcome = recorder.run(&progress, |_| Err("the disk is full".to_owned()));
    assert_eq!(outcome, Err(ExperimentError::Failed("the disk is full".to_owned())));
    progress.cancel_token().cancel();
    let outcome = Recorder::new(setup(&["asia"]), None, progress.cancel_token());
    assert!(matches!(outcome.err(), Some(ExperimentError::Cancelled(_))));
}
