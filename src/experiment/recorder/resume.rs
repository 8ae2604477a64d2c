//! Whether a recording can be continued: all its times must be from the same program on the same
//! machine, measured with the same settings.

use super::RecordingSetup;
use crate::experiment::{Machine, Provenance, Recording, RecordingSettings};
use crate::numbers::counted;

/// Checks that times measured with `setup` are comparable with the times in `existing`.
///
/// # Errors
/// A message that says what differs.
pub(super) fn check(existing: &Recording, setup: &RecordingSetup) -> Result<(), String> {
    let (before, now) = (&existing.provenance, &setup.provenance);
    if !before.machine.is_comparable_with(&now.machine) {
        return Err(format!(
            "it was measured on another machine: {}; this is {}",
            describe_machine(&before.machine),
            describe_machine(&now.machine)
        ));
    }
    match (&before.commit, &now.commit) {
        (None, _) => return Err("it does not name the commit it was measured from".to_owned()),
        (_, None) => {
            return Err(format!(
                "it was measured from {}; the commit of this program is unknown",
                describe_program(before)
            ));
        }
        (a, b) if a != b || before.version != now.version => {
            return Err(format!(
                "it was measured from {}; this program is {}",
                describe_program(before),
                describe_program(now)
            ));
        }
        _ => {}
    }
    match &existing.settings {
        Some(settings) if *settings == setup.settings() => Ok(()),
        Some(settings) => Err(format!(
            "it was measured with {}; now with {}",
            describe_settings(settings),
            describe_settings(&setup.settings())
        )),
        None => Err("it does not say with which settings it was measured".to_owned()),
    }
}

fn describe_program(provenance: &Provenance) -> String {
    let commit = provenance.commit.as_deref().unwrap_or("an unknown commit");
    format!("version {}, commit {commit}", provenance.version)
}

fn describe_machine(machine: &Machine) -> String {
    let cpu = format!("{}, {}", machine.cpu, counted(machine.threads, "thread", "threads"));
    let Some(gpu) = &machine.gpu else { return cpu };
    let driver = gpu.driver.as_deref().unwrap_or("unknown");
    format!("{} (driver {driver}), {cpu}", gpu.name)
}

fn describe_settings(settings: &RecordingSettings) -> String {
    let RecordingSettings { repeat, threads, time_limit } = settings;
    format!("repeat {repeat}, threads {threads}, at most {} ms a run", time_limit.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Gpu;

    fn setup() -> RecordingSetup {
        let mut setup = RecordingSetup { networks: vec![], ..RecordingSetup::new(Some("abc")) };
        setup.provenance.machine = Machine {
            cpu: "abacus".to_owned(),
            threads: 4,
            gpu: Some(Gpu {
                name: "NVIDIA H200".to_owned(),
                multiprocessors: 132,
                threads: 1,
                driver: Some("580".to_owned()),
                clocks: Some("SM 345 MHz of 1980 MHz".to_owned()),
            }),
        };
        setup
    }

    fn existing(setup: &RecordingSetup) -> Recording {
        let settings = Some(setup.settings());
        Recording { settings, ..Recording::new(setup.provenance.clone()) }
    }

    #[test]
    fn the_same_program_on_the_same_machine_can_continue() {
        let mut now = setup();
        let existing = existing(&now);
        now.provenance.date = "2100-01-01T00:00:00Z".to_owned();
        // Clock rates change from minute to minute.
        now.provenance.machine.gpu.as_mut().unwrap().clocks = None;
        assert_eq!(check(&existing, &now), Ok(()));
    }

    #[test]
    fn another_machine_program_or_setting_cannot_continue() {
        type Change = fn(&mut RecordingSetup);
        let cases: [(Change, &str); 9] = [
            (
                |s| s.provenance.machine.cpu = "b".to_owned(),
                "another machine: NVIDIA H200 (driver 580), abacus, 4 threads; this is NVIDIA H200 \
                 (driver 580), b, 4",
            ),
            (|s| s.provenance.machine.threads = 5, "abacus, 5 threads"),
            (|s| s.provenance.machine.gpu = None, "this is abacus, 4 threads"),
            (|s| s.provenance.machine.gpu.as_mut().unwrap().driver = None, "(driver unknown)"),
            (
                |s| s.provenance.commit = Some("abd".to_owned()),
                "commit abc; this program is version",
            ),
            (|s| s.provenance.commit = None, "the commit of this program is unknown"),
            (|s| s.provenance.version = "9".to_owned(), "this program is version 9, commit abc"),
            (|s| s.repeat = 3, "at most 1200 ms a run; now with repeat 3, threads"),
            (|s| s.threads = 77, "now with repeat 60, threads 77"),
        ];
        for (change, message) in cases {
            let mut now = setup();
            let existing = existing(&now);
            change(&mut now);
            let error = check(&existing, &now).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_recording_without_settings_or_commit_cannot_continue() {
        let now = setup();
        let without_settings = Recording { settings: None, ..existing(&now) };
        assert!(check(&without_settings, &now).unwrap_err().contains("with which settings"));
        let mut without_commit = existing(&now);
        without_commit.provenance.commit = None;
        assert!(check(&without_commit, &now).unwrap_err().contains("name the commit it was"));
    }
}
