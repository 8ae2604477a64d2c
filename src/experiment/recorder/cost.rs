//! How much is measured, and about how long that takes.

use super::RecordingSetup;
use crate::engine::{Algorithm, Capabilities, Device, EngineInfo};
use crate::experiment::measure::Effort;
use crate::graph::TreeStatistics;

/// What a run's time depends on, besides the tree.
pub(super) struct Kind {
    /// The engine.
    pub engine: &'static EngineInfo,
    /// Whether one propagation is watched message by message.
    pub traced: bool,
    /// Whether it only says how times go as something is varied.
    pub brief: bool,
    /// Whether the run before has left the network loaded.
    pub loaded: bool,
}

/// How often a time is measured.
///
/// What is compared in every picture are the times of `gpu` and `cpu`. A propagation of `sequential` or
/// `gpu-paper` takes up to a second and scatters little, so that a few of them do.
pub(super) fn effort(setup: &RecordingSetup, kind: &Kind) -> Effort {
    let slow = kind.engine.capabilities.algorithm == Algorithm::Hugin;
    let (repeat, part, at_least) = match (kind.brief, slow) {
        (true, _) => (setup.repeat.min(20), 20, 2),
        (false, true) => (setup.repeat, 4, 3),
        (false, false) => (setup.repeat, 1, 3),
    };
    Effort { repeat, at_most: setup.at_most / part, at_least, traced: kind.traced }
}

/// About how long a run takes on a machine like those of the shipped recordings.
pub(super) fn seconds(setup: &RecordingSetup, tree: &TreeStatistics, kind: &Kind) -> f64 {
    let entries = tree.total_clique_entries as f64;
    let messages = 2.0 * tree.cliques.saturating_sub(1) as f64;
    let Capabilities { device, algorithm, .. } = kind.engine.capabilities;
    let [load, propagation, overhead] = match (device, algorithm) {
        (Device::Cpu, Algorithm::Hugin) => [5e-9 * entries, 8e-9 * entries, 0.0],
        (Device::Gpu, Algorithm::Hugin) => {
            [20e-9 * entries, 2.7e-6 * messages + 2.5e-9 * entries, 2.7e-6 * messages]
        }
        (Device::Gpu, _) => [25e-9 * entries, 100e-6, 20e-6],
        (Device::Cpu, _) => [5e-9 * entries, 50e-6 + 0.8e-9 * entries, 0.0],
    };
    let counted = propagations(effort(setup, kind), propagation);
    let measured = counted * (propagation + overhead);
    let traced = if kind.traced { 2.0 * (propagation + overhead) } else { 0.0 };
    measured + traced + if kind.loaded { 0.0 } else { load + propagation }
}

/// How many are counted if each takes so many seconds.
fn propagations(effort: Effort, each: f64) -> f64 {
    let Effort { repeat, at_most, at_least, .. } = effort;
    let fit = (at_most.as_secs_f64() / each).floor().min(f64::from(repeat));
    fit.max(f64::from(at_least.min(repeat)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::experiment::{RecordedRun, Recording};

    fn kind(engine: &'static str, run: &RecordedRun) -> Kind {
        let traced = run.trace.is_some();
        let engine = EngineInfo::find(engine).expect("a known engine");
        Kind { engine, traced, brief: !traced, loaded: false }
    }

    /// Engine and run, on the tree beside them, of all that was recorded.
    fn recorded()
    -> impl Iterator<Item = (&'static TreeStatistics, &'static str, &'static RecordedRun)> {
        let networks = Recording::shipped().iter().flat_map(|recording| &recording.networks);
        networks.flat_map(|network| {
            network.runs.iter().map(|run| (&network.tree, run.engine.as_str(), run))
        })
    }

    #[test]
    fn forecasts_are_near_what_was_recorded() {
        let setup = RecordingSetup::new(None);
        for engine in ["sequential", "cpu", "gpu-paper", "gpu"] {
            let (mut forecast, mut real) = (0.0, 0.0);
            for (tree, engine, run) in recorded().filter(|(_, name, _)| *name == engine) {
                let kind = Kind { loaded: true, ..kind(engine, run) };
                let each = run.propagate_us.median / 1e6;
                let overhead = run.overhead_us.unwrap_or(0.0) / 1e6;
                let counted = propagations(effort(&setup, &kind), each);
                let watched = if kind.traced { 2.0 } else { 0.0 };
                real += (counted + watched) * (each + overhead);
                forecast += seconds(&setup, tree, &kind);
            }
            let ratio = forecast / real;
            assert!((0.5..2.0).contains(&ratio), "{engine}: {forecast} s of {real} s");
        }
    }

    #[test]
    fn fast_engines_are_measured_as_often_as_asked_and_slow_ones_a_few_times() {
        let setup = RecordingSetup::new(None);
        for (_, engine, run) in recorded() {
            let kind = kind(engine, run);
            let counted = propagations(effort(&setup, &kind), run.propagate_us.median / 1e6);
            let expected = match (engine, kind.brief) {
                ("gpu", false) => 60.0..=60.0,
                ("gpu", true) => 20.0..=20.0,
                ("cpu", _) => 30.0..=60.0,
                (_, false) => 3.0..=60.0,
                (_, true) => 2.0..=20.0,
            };
            assert!(expected.contains(&counted), "{engine}: {counted}");
        }
        let effort =
            Effort { repeat: 5, at_most: Duration::from_secs(1), at_least: 3, traced: false };
        for (each, counted) in [(0.1, 5.0), (0.3, 3.0), (10.0, 3.0)] {
            assert_eq!(propagations(effort, each), counted);
        }
        assert_eq!(propagations(Effort { repeat: 1, ..effort }, 10.0), 1.0);
    }
}
