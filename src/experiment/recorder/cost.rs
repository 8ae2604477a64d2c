//! How often a time is measured, and a forecast of how long measuring takes.

use super::RecordingSetup;
use crate::engine::{Algorithm, Capabilities, Device, EngineInfo};
use crate::experiment::measure::Effort;
use crate::graph::TreeStatistics;

/// What the duration of a run depends on, besides the tree and the [`RecordingSetup`].
pub(super) struct RunKind {
    /// The engine.
    pub engine: &'static EngineInfo,
    /// Whether one propagation is traced, message by message.
    pub is_traced: bool,
    /// Whether the run is one of a series that varies an option or the tree.
    pub is_sweep: bool,
    /// Whether the previous run has already loaded the network.
    pub is_loaded: bool,
}

/// How many propagations of a run are timed, and for how long.
///
/// Engines that pass one message after another have a quarter of the time limit: they are slow, and
/// their times vary little, so a few propagations are enough. A run of a sweep has a twentieth, and
/// at most 20 propagations.
pub(super) fn effort(setup: &RecordingSetup, kind: &RunKind) -> Effort {
    let is_slow = kind.engine.capabilities.algorithm == Algorithm::Hugin;
    let (repeat, time_divisor, min_repeat) = match (kind.is_sweep, is_slow) {
        (true, _) => (setup.repeat.min(20), 20, 2),
        (false, true) => (setup.repeat, 4, 3),
        (false, false) => (setup.repeat, 1, 3),
    };
    let time_limit = setup.time_limit / time_divisor;
    Effort { repeat, time_limit, min_repeat, is_traced: kind.is_traced }
}

/// Approximate duration of a run in seconds, on a machine like the one of the shipped recordings.
/// The constants for propagations and launch overhead were fitted to these recordings, which do not
/// hold loading times. All constants serve only this forecast.
pub(super) fn seconds(setup: &RecordingSetup, tree: &TreeStatistics, kind: &RunKind) -> f64 {
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
    let timed = propagations(effort(setup, kind), propagation) * (propagation + overhead);
    let traced = if kind.is_traced { 2.0 * (propagation + overhead) } else { 0.0 };
    timed + traced + if kind.is_loaded { 0.0 } else { load + propagation }
}

/// Approximate number of propagations that are timed if each takes this many seconds.
fn propagations(effort: Effort, seconds_each: f64) -> f64 {
    let Effort { repeat, time_limit, min_repeat, .. } = effort;
    let fitting = (time_limit.as_secs_f64() / seconds_each).floor().min(f64::from(repeat));
    fitting.max(f64::from(min_repeat.min(repeat)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::experiment::{RecordedRun, Recording};

    fn kind(engine: &'static str, run: &RecordedRun) -> RunKind {
        let is_traced = run.trace.is_some();
        let engine = EngineInfo::find(engine).expect("a known engine");
        RunKind { engine, is_traced, is_sweep: !is_traced, is_loaded: false }
    }

    /// All runs of the shipped recordings, each with its tree and the name of its engine.
    fn recorded()
    -> impl Iterator<Item = (&'static TreeStatistics, &'static str, &'static RecordedRun)> {
        let networks = Recording::shipped().iter().flat_map(|recording| &recording.networks);
        networks.flat_map(|network| {
            network.runs.iter().map(|run| (&network.tree, run.engine.as_str(), run))
        })
    }

    #[test]
    fn the_forecast_of_each_engine_is_within_a_factor_of_two_of_the_recorded_time() {
        let setup = RecordingSetup::new(None);
        for engine in ["sequential", "cpu", "gpu-paper", "gpu"] {
            let (mut forecast, mut measured) = (0.0, 0.0);
            for (tree, engine, run) in recorded().filter(|(_, name, _)| *name == engine) {
                let kind = RunKind { is_loaded: true, ..kind(engine, run) };
                let each = run.propagate_us.median / 1e6;
                let overhead = run.overhead_us.unwrap_or(0.0) / 1e6;
                let timed = propagations(effort(&setup, &kind), each);
                let traced = if kind.is_traced { 2.0 } else { 0.0 };
                measured += (timed + traced) * (each + overhead);
                forecast += seconds(&setup, tree, &kind);
            }
            let ratio = forecast / measured;
            assert!(
                (0.5..2.0).contains(&ratio),
                "{engine}: forecast {forecast} s, measured {measured} s"
            );
        }
    }

    #[test]
    fn slow_engines_and_sweeps_may_be_measured_less_often() {
        let setup = RecordingSetup::new(None);
        for (_, engine, run) in recorded() {
            let kind = kind(engine, run);
            let timed = propagations(effort(&setup, &kind), run.propagate_us.median / 1e6);
            let expected = match (engine, kind.is_sweep) {
                ("gpu", false) => 60.0..=60.0,
                ("gpu", true) => 20.0..=20.0,
                ("cpu", _) => 30.0..=60.0,
                (_, false) => 3.0..=60.0,
                (_, true) => 2.0..=20.0,
            };
            assert!(expected.contains(&timed), "{engine}: {timed}");
        }
        let second = Duration::from_secs(1);
        let effort = Effort { repeat: 5, time_limit: second, min_repeat: 3, is_traced: false };
        for (each, timed) in [(0.1, 5.0), (0.3, 3.0), (10.0, 3.0)] {
            assert_eq!(propagations(effort, each), timed);
        }
        assert_eq!(propagations(Effort { repeat: 1, ..effort }, 10.0), 1.0);
    }
}
