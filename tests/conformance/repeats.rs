//! Repeated runs, batches, memory and timings.

use cliquescope::cancel::CancelToken;
use cliquescope::engine;
use cliquescope::network::Evidence;
use cliquescope::propagation::{Posteriors, Stage, Watch};

use crate::fixtures::{random_evidence, rng, sample};
use crate::subject::{Subject, probable_evidence, propagate};

/// The bits of all numbers of a result.
fn bits(posteriors: &Posteriors) -> Vec<u64> {
    let numbers = posteriors.values().iter().copied().chain([posteriors.ln_p_evidence()]);
    numbers.map(f64::to_bits).collect()
}

pub fn a_repeated_run_has_the_same_bits(subject: &Subject) {
    for name in subject.required(&["child", "alarm", "water", "pigs"]) {
        let compiled = sample(name);
        let (nothing, some) = (Evidence::none(), probable_evidence(subject, &compiled));
        let mut propagator = subject.load(&compiled);
        let mut run = |evidence: &Evidence| {
            propagator.forget();
            bits(&propagate(&mut *propagator, &compiled, evidence).unwrap())
        };
        let first = run(&some);
        let between = run(&nothing);
        assert_eq!(run(&some), first, "{name}");
        assert_eq!(run(&nothing), between, "{name}");
        assert_ne!(first, between, "{name}: the findings must change the result");
    }
}

pub fn a_repeated_load_has_the_same_bits(subject: &Subject) {
    for name in subject.required(&["child", "alarm", "water", "pigs"]) {
        let compiled = sample(name);
        let evidence = probable_evidence(subject, &compiled);
        let run = || bits(&subject.propagate(&compiled, &evidence).unwrap());
        assert_eq!(run(), run(), "{name}");
    }
}

/// The batch mixes possible and impossible cases. Some cases observe the same variables, others
/// observe different ones.
pub fn a_batch_agrees_with_single_runs(subject: &Subject) {
    for name in subject.required(&["asia", "alarm", "pigs"]) {
        let compiled = sample(name);
        let network = compiled.network();
        let mut rng = rng(17);
        let mut cases = vec![Evidence::none()];
        for count in [1, 3, network.variables().len() / 5, network.variables().len() / 2] {
            cases.extend((0..4).map(|_| Evidence::drawn(network, count, &mut rng)));
            cases.extend((0..2).map(|_| random_evidence(&mut rng, network)));
        }
        let mut other = cases[1].clone();
        let (first, _) = other.iter().next().expect("one variable is observed");
        other.observe(network, first, 0);
        cases.push(other);
        let mut propagator = subject.load(&compiled);
        let watch = Watch::untimed(CancelToken::new());
        let together = propagator.run_batch(&cases, &watch).unwrap();
        assert_eq!(together.len(), cases.len());
        assert!(together.iter().filter(|answer| answer.is_ok()).count() > 16);
        for (number, (case, answer)) in cases.iter().zip(&together).enumerate() {
            let context = format!("{name}, case {number}");
            match (answer, propagator.run(case, &watch)) {
                (Ok(answer), Ok(alone)) => {
                    subject.assert_close(network, answer.values(), alone.values(), &context);
                    let (found, expected) = (answer.ln_p_evidence(), alone.ln_p_evidence());
                    subject.assert_close_ln(network, found, expected, &context);
                }
                (answer, alone) => assert_eq!(answer.as_ref().err(), alone.as_ref().err()),
            }
        }
        watch.cancel();
        assert!(propagator.run_batch(&cases, &watch).is_err());
    }
}

pub fn the_forecast_suffices_and_is_exact_on_the_cpu(subject: &Subject) {
    for name in subject.required(&["asia", "child", "alarm", "water", "munin3"]) {
        let compiled = sample(name);
        let forecast = subject.engine().forecast(&compiled, subject.precision);
        assert_eq!((forecast.engine, forecast.precision), (subject.engine, subject.precision));
        let mut propagator = subject.load(&compiled);
        propagate(&mut *propagator, &compiled, &Evidence::none()).unwrap();
        let (peak, bytes) = (propagator.peak_bytes(), subject.forecast_bytes(&compiled));
        if subject.engine().info().capabilities.on_gpu() {
            assert!(peak <= bytes, "{name}: {peak} of {bytes} bytes");
            let gpu = propagator.gpu().unwrap();
            let (host_bytes, device_bytes) = (gpu.host_bytes(), gpu.device_bytes());
            assert!(0 < device_bytes && device_bytes <= peak, "{name}: {device_bytes} of {peak}");
            assert!(
                host_bytes <= peak && peak <= host_bytes + device_bytes,
                "{name}: {host_bytes}"
            );
        } else {
            assert_eq!(peak, bytes, "{name}");
        }
        // Given evidence, the engine may build a reduced tree. The memory may then exceed the
        // forecast, but not the limit.
        let evidence = random_evidence(&mut rng(5), compiled.network());
        let _ = propagate(&mut *propagator, &compiled, &evidence);
        let limit = subject.load_options().memory.bytes();
        assert!((peak..=limit).contains(&propagator.peak_bytes()));
    }
}

pub fn stages_and_messages_are_timed(subject: &Subject) {
    let compiled = sample("child");
    let watch = Watch::timed(compiled.plan(), CancelToken::new());
    let mut propagator = subject.load(&compiled);
    engine::propagate(&mut *propagator, &compiled, &Evidence::none(), &watch).unwrap();
    let trace = watch.trace();
    assert!(watch.is_finished());
    let stages: Vec<Stage> = trace.stages.iter().map(|timing| timing.stage).collect();
    assert!(trace.stages.is_sorted_by_key(|timing| timing.start));
    if !subject.engine().info().capabilities.traces_messages {
        assert!(stages.contains(&Stage::Initialise) && stages.contains(&Stage::Read));
        return;
    }
    assert_eq!(stages, Stage::ALL);
    let messages = compiled.plan().messages().len();
    assert_eq!(watch.progress(), (messages, messages));
    assert_eq!(trace.messages.len(), messages);
    for timing in &trace.messages {
        assert!(timing.start + timing.duration <= trace.elapsed);
        assert!((timing.worker as usize) < propagator.threads());
    }
}
