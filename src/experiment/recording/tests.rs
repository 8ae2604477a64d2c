use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::cancel::CancelToken;
use crate::engine::{self, LoadOptions};
use crate::experiment::Machine;
use crate::network::Evidence;
use crate::propagation::{
    Activity, ActivityTiming, CompileOptions, MemoryLimit, MessageId, Watch, compile,
};

/// A recording of two runs on Asia, one of them traced, and the compiled network.
fn recording() -> (Recording, Arc<CompiledNetwork>) {
    let network = crate::format::open("asia").unwrap().network;
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
    let compiled = Arc::new(compiled);
    let options = LoadOptions {
        precision: Precision::F64,
        threads: 1,
        memory: MemoryLimit::from_bytes(1 << 30),
        ..LoadOptions::default()
    };
    let mut loaded = engine::by_name("sequential").unwrap().load(&compiled, &options).unwrap();
    let watch = Watch::timed(compiled.plan(), CancelToken::new());
    engine::propagate(&mut *loaded, &compiled, &Evidence::none(), &watch).unwrap();
    let mut trace = watch.trace();
    trace.activities.push(ActivityTiming {
        activity: Activity::Help(MessageId::new(3)),
        worker: 1,
        start: Duration::from_nanos(2),
        duration: Duration::from_nanos(5),
    });
    let run = RecordedRun {
        engine: "sequential".to_owned(),
        precision: Precision::F64,
        threads: 1,
        paper: None,
        propagate_us: Quantiles::of(&[1.0, 2.0, 4.0]).unwrap(),
        overhead_us: None,
        launch_us: None,
        peak_bytes: loaded.peak_bytes(),
        trace: Some(trace),
    };
    let paper = RecordedRun {
        engine: "gpu-paper".to_owned(),
        paper: Some(PaperOptions::default()),
        overhead_us: Some(1.5),
        trace: None,
        ..run.clone()
    };
    let mut recording = Recording::new(Provenance {
        version: "0".to_owned(),
        commit: None,
        date: "2026-01-02T03:04:05Z".to_owned(),
        machine: Machine { cpu: "abacus".to_owned(), threads: 1, gpu: None },
    });
    recording.networks.push(RecordedNetwork {
        network: "asia".to_owned(),
        triangulation: "auto".to_owned(),
        tree: compiled.statistics().clone(),
        messages: MessageSizes::of(compiled.tree(), compiled.plan()),
        runs: vec![run, paper],
    });
    (recording, compiled)
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let (recording, compiled) = recording();
    let read = Recording::read(&recording.write()).unwrap();
    assert_eq!(read, recording);
    let asia = read.find("Asia", "auto").unwrap();
    assert!(asia.matches(&compiled));
    let trace = asia.run("sequential", PaperOptions::default()).unwrap().trace.as_ref().unwrap();
    assert_eq!(trace.messages.len(), compiled.plan().messages().len());
    assert!(trace.messages.iter().any(|m| m.start > Duration::ZERO));
    assert_eq!(read.credit(), "recorded on abacus on 2026-01-02");
    assert!(read.find("asia", "min-fill").is_none());
}

#[test]
fn runs_are_found_by_engine_and_options() {
    let (recording, _) = recording();
    let asia = &recording.networks[0];
    let run = asia.run("gpu-paper", PaperOptions::default()).unwrap();
    assert_eq!((run.execution_us(), run.trace.is_some()), (0.5, false));
    let other = PaperOptions { block_size: 17, ..PaperOptions::default() };
    assert!(asia.run("gpu-paper", other).is_none());
    assert!(asia.run("sequential", other).is_some());
    assert!(asia.run("gpu", other).is_none());
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let (mut recording, _) = recording();
    recording.format += 1;
    let error = Recording::read(&recording.write()).unwrap_err();
    assert_eq!(error, "a recording of version 2; expected version 1");
    assert!(Recording::read(b"{}").unwrap_err().contains("expected gzip"));
}
