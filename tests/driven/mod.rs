//! The window in a test: without a display, driven by its accessible labels.
#![allow(dead_code, reason = "no test needs all of it")]

use std::time::{Duration, Instant};

use cliquescope::app::{Settings, Workbench};
use cliquescope::session::Source;
use eframe::egui::Vec2;
use egui_kittest::Harness;

/// A window that opens `network`, after everything there is to compute is computed.
pub fn window(network: &str) -> Harness<'static, Workbench> {
    window_with(Settings::default(), network)
}

/// As [`window`], with settings of an earlier run.
pub fn window_with(settings: Settings, network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(settings, || {});
    workbench.open(Source::Named(network.to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1440.0, 900.0))
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    harness
}

/// Draws frames until the worker has nothing left to do.
pub fn settle(harness: &mut Harness<'_, Workbench>) {
    // The frame that hears a click; from then on the window knows that there is work.
    harness.run_steps(2);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !harness.state().is_settled() {
        assert!(Instant::now() < deadline, "the worker does not come to rest");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}

/// Draws frames until `done`; what it waits for may come from any thread.
pub fn until(harness: &mut Harness<'_, Workbench>, done: impl Fn(&Workbench) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done(harness.state()) {
        assert!(Instant::now() < deadline, "what is waited for does not come");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}
