//! Runs the window in a test, without a display. Tests drive it through its accessible labels.

use std::time::{Duration, Instant};

use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use eframe::egui::Vec2;
use egui_kittest::Harness;

/// Opens `network` in a window and waits until nothing is left to compute.
pub fn open(network: &str) -> Harness<'static, Workbench> {
    open_with(Settings::default(), network)
}

/// Like [`open`], with the settings of an earlier run.
pub fn open_with(settings: Settings, network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(settings, || {});
    workbench.open(NetworkSource::Named(network.to_owned()), Vec::new());
    show(workbench)
}

/// Shows `workbench` in a window and waits until nothing is left to compute.
pub fn show(workbench: Workbench) -> Harness<'static, Workbench> {
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1440.0, 900.0))
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    harness
}

/// Draws frames until the worker has nothing left to do.
pub fn settle(harness: &mut Harness<'_, Workbench>) {
    wait_until(harness, "the worker is idle", |harness| harness.state().is_settled());
}

/// Draws frames until `condition` holds for the workbench.
pub fn wait_for(harness: &mut Harness<'_, Workbench>, condition: impl Fn(&Workbench) -> bool) {
    wait_until(harness, "a state of the workbench", |harness| condition(harness.state()));
}

/// Draws frames until `condition` holds.
///
/// # Panics
/// If `condition` does not hold within a minute. The message contains `what`.
pub fn wait_until<'a>(
    harness: &mut Harness<'a, Workbench>,
    what: &str,
    condition: impl Fn(&Harness<'a, Workbench>) -> bool,
) {
    // The first frame handles a pending click. Before that, the window may still appear idle.
    harness.run_steps(2);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition(harness) {
        assert!(Instant::now() < deadline, "not reached within a minute: {what}");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}
