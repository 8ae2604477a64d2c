//! Whether measuring may go on where a recording ends: it is of one program on one machine.

use super::RecordingSetup;
use crate::experiment::{Machine, Provenance, Recording, RecordingSettings};

/// What keeps times that `setup` measures from standing beside those that are `held`, in words.
pub(super) fn check(held: &Recording, setup: &RecordingSetup) -> Result<(), String> {
    let (before, now) = (&held.provenance, &setup.provenance);
    if !before.machine.is_as(&now.machine) {
        return Err(format!(
            "it was measured on another machine: {}; this is {}",
            machine(&before.machine),
            machine(&now.machine)
        ));
    }
    match (&before.commit, &now.commit) {
        (None, _) => return Err("it does not say which commit it was measured from".to_owned()),
        (_, None) => {
            return Err(format!(
                "it was measured from {}; {}",
                program(before),
                "which commit this program was built from is not known"
            ));
        }
        (a, b) if a != b || before.version != now.version => {
            return Err(format!(
                "it was measured from {}; this program is {}",
                program(before),
                program(now)
            ));
        }
        _ => {}
    }
    match &held.settings {
        Some(settings) if *settings == setup.settings() => Ok(()),
        Some(settings) => Err(format!(
            "it was measured with {}; now with {}",
            options(settings),
            options(&setup.settings())
        )),
        None => Err("it does not say with which options it was measured".to_owned()),
    }
}

fn program(of: &Provenance) -> String {
    let commit = of.commit.as_deref().unwrap_or("an unknown commit");
    format!("version {}, commit {commit}", of.version)
}

fn machine(machine: &Machine) -> String {
    let cpu = format!("{}, {} threads", machine.cpu, machine.threads);
    let Some(gpu) = &machine.gpu else { return cpu };
    let driver = gpu.driver.as_deref().unwrap_or("unknown");
    format!("{} (driver {driver}), {cpu}", gpu.name)
}

fn options(settings: &RecordingSettings) -> String {
    let RecordingSettings { repeat, threads, at_most } = settings;
    format!("repeat {repeat}, threads {threads}, at most {} ms a time", at_most.as_millis())
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

    fn held(setup: &RecordingSetup) -> Recording {
        let settings = Some(setup.settings());
        Recording { settings, ..Recording::new(setup.provenance.clone()) }
    }

    #[test]
    fn the_same_program_on_the_same_machine_goes_on() {
        let mut now = setup();
        let held = held(&now);
        now.provenance.date = "2100-01-01T00:00:00Z".to_owned();
        // Clocks are as they are found, which is not the same from one minute to the next.
        now.provenance.machine.gpu.as_mut().unwrap().clocks = None;
        assert_eq!(check(&held, &now), Ok(()));
    }

    #[test]
    fn another_machine_program_or_option_does_not() {
        type Change = fn(&mut RecordingSetup);
        let cases: [(Change, &str); 9] = [
            (
                |s| s.provenance.machine.cpu = "b".to_owned(),
                "another machine: NVIDIA H200 (driver 580), abacus, 4 threads; this is NVIDIA H200 (driver 580), b, 4",
            ),
            (|s| s.provenance.machine.threads = 5, "abacus, 5 threads"),
            (|s| s.provenance.machine.gpu = None, "this is abacus, 4 threads"),
            (|s| s.provenance.machine.gpu.as_mut().unwrap().driver = None, "(driver unknown)"),
            (
                |s| s.provenance.commit = Some("abd".to_owned()),
                "commit abc; this program is version",
            ),
            (
                |s| s.provenance.commit = None,
                "which commit this program was built from is not known",
            ),
            (|s| s.provenance.version = "9".to_owned(), "this program is version 9, commit abc"),
            (|s| s.repeat = 3, "at most 1200 ms a time; now with repeat 3, threads"),
            (|s| s.threads = 77, "now with repeat 60, threads 77"),
        ];
        for (change, message) in cases {
            let mut now = setup();
            let held = held(&now);
            change(&mut now);
            let error = check(&held, &now).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn what_a_recording_does_not_say_cannot_be_compared() {
        let now = setup();
        let unsettled = Recording { settings: None, ..held(&now) };
        assert!(check(&unsettled, &now).unwrap_err().contains("with which options"));
        let mut nameless = held(&now);
        nameless.provenance.commit = None;
        assert!(check(&nameless, &now).unwrap_err().contains("which commit it was"));
    }
}
