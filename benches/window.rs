//! Time of one frame of the window on Munin4, without rasterising.
//!
//! `cargo bench --bench window`. A window at rest draws no frames; `at_rest` is the time of a frame
//! that something outside the program requested.
#![allow(missing_docs, reason = "divan makes public items of its own")]

use std::time::Duration;

use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use divan::Bencher;
use eframe::egui::{Event, PointerButton, Pos2, Vec2, pos2, vec2};
use egui_kittest::Harness;

fn main() {
    divan::main();
}

/// A window that shows Munin4, with posteriors computed and the tree drawn.
fn munin4() -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(NetworkSource::Named("munin4".to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1920.0, 1080.0))
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    while !harness.state().is_settled() {
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    harness.run_steps(10);
    harness
}

/// The middle of the drawing.
const MIDDLE: Pos2 = pos2(900.0, 400.0);

#[divan::bench]
fn at_rest(bencher: Bencher<'_, '_>) {
    let mut harness = munin4();
    bencher.bench_local(|| harness.step());
}

#[divan::bench]
fn pointer_moving(bencher: Bencher<'_, '_>) {
    let mut harness = munin4();
    let mut turn = 0.0_f32;
    bencher.bench_local(|| {
        turn += 0.1;
        harness.event(Event::PointerMoved(MIDDLE + 200.0 * vec2(turn.cos(), turn.sin())));
        harness.step();
    });
}

#[divan::bench]
fn panning(bencher: Bencher<'_, '_>) {
    let mut harness = munin4();
    let button = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Default::default(),
    };
    harness.event(Event::PointerMoved(MIDDLE));
    harness.event(button(MIDDLE, true));
    harness.step();
    let mut turn = 0.0_f32;
    bencher.bench_local(|| {
        turn += 0.1;
        harness.event(Event::PointerMoved(MIDDLE + 100.0 * vec2(turn.cos(), turn.sin())));
        harness.step();
    });
}
