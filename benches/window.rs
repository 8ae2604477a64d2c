//! Time of one frame of the window, without rasterising: laying out the window, and turning its
//! shapes into triangles.
//!
//! `cargo bench --bench window`. A window at rest draws no frames; `at_rest` is the time of a frame
//! that something outside the program requested. `triangles_at_rest` is the part of a frame at rest
//! that the toolkit takes to gather all triangles.

use std::fmt::Write as _;
use std::time::Duration;

use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use divan::Bencher;
use eframe::egui::{
    Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, Vec2, pos2, vec2,
};
use egui_kittest::Harness;

fn main() {
    divan::main();
}

/// A shipped network, and networks whose junction trees have 1,000 and 5,000 cliques.
const NETWORKS: [&str; 3] = ["munin4", "1000", "5000"];

/// A tree of `cliques` arcs between binary variables, in UAI format. Each arc is a clique.
fn tree_network(cliques: usize) -> String {
    let mut text = format!("BAYES\n{}\n", cliques + 1);
    text.extend(std::iter::repeat_n("2 ", cliques + 1));
    write!(text, "\n{}\n1 0\n", cliques + 1).expect("strings can be written");
    let mut seed = 1_usize;
    for child in 1..=cliques {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
        let parent = child - 1 - (seed >> 8) % child.min(40);
        writeln!(text, "2 {parent} {child}").expect("strings can be written");
    }
    text.push_str("2 0.4 0.6\n");
    (0..cliques).for_each(|_| text.push_str("4 0.2 0.8 0.7 0.3\n"));
    text
}

/// A window that shows the junction tree of a network, with posteriors computed.
fn window(network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(Settings::default(), || {});
    let folder = std::env::temp_dir().join(format!("cliquescope-bench-{}", std::process::id()));
    let source = match network.parse() {
        Ok(cliques) => {
            std::fs::create_dir_all(&folder).expect("a writable temporary folder");
            let path = folder.join(format!("{network}.uai"));
            std::fs::write(&path, tree_network(cliques)).expect("a writable temporary folder");
            NetworkSource::File(path)
        }
        Err(_) => NetworkSource::Named(network.to_owned()),
    };
    workbench.open(source, Vec::new());
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1920.0, 1080.0))
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    while !harness.state().is_settled() {
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    harness.run_steps(60);
    // The file of a generated network is no longer needed.
    std::fs::remove_dir_all(folder).ok();
    harness
}

/// Draws a frame and gathers its triangles, as the toolkit does before it hands them to the GPU.
fn frame(harness: &mut Harness<'_, Workbench>) {
    harness.step();
    triangles(harness);
}

fn triangles(harness: &Harness<'_, Workbench>) {
    let (shapes, scale) = (harness.output().shapes.clone(), harness.output().pixels_per_point);
    divan::black_box(harness.ctx.tessellate(shapes, scale));
}

/// The middle of the drawing.
const MIDDLE: Pos2 = pos2(900.0, 400.0);

#[divan::bench(args = NETWORKS)]
fn at_rest(bencher: Bencher<'_, '_>, network: &str) {
    let mut harness = window(network);
    bencher.bench_local(|| frame(&mut harness));
}

#[divan::bench(args = NETWORKS)]
fn triangles_at_rest(bencher: Bencher<'_, '_>, network: &str) {
    let harness = window(network);
    bencher.bench_local(|| triangles(&harness));
}

#[divan::bench(args = NETWORKS)]
fn pointer_moving(bencher: Bencher<'_, '_>, network: &str) {
    let mut harness = window(network);
    let mut turn = 0.0_f32;
    bencher.bench_local(|| {
        turn += 0.1;
        harness.event(Event::PointerMoved(MIDDLE + 200.0 * vec2(turn.cos(), turn.sin())));
        frame(&mut harness);
    });
}

#[divan::bench(args = NETWORKS)]
fn panning(bencher: Bencher<'_, '_>, network: &str) {
    let mut harness = window(network);
    let button = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    harness.event(Event::PointerMoved(MIDDLE));
    harness.event(button(MIDDLE, true));
    harness.step();
    let mut turn = 0.0_f32;
    bencher.bench_local(|| {
        turn += 0.1;
        harness.event(Event::PointerMoved(MIDDLE + 100.0 * vec2(turn.cos(), turn.sin())));
        frame(&mut harness);
    });
}

#[divan::bench(args = NETWORKS)]
fn zooming(bencher: Bencher<'_, '_>, network: &str) {
    let mut harness = window(network);
    harness.event(Event::PointerMoved(MIDDLE));
    harness.step();
    let mut turn = 0_u32;
    bencher.bench_local(|| {
        turn += 1;
        let direction = if turn % 40 < 20 { 0.2 } else { -0.2 };
        harness.event(Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta: vec2(0.0, direction),
            phase: TouchPhase::Move,
            modifiers: Modifiers::NONE,
        });
        frame(&mut harness);
    });
}

#[divan::bench(args = NETWORKS)]
fn slow_motion(bencher: Bencher<'_, '_>, network: &str) {
    let mut harness = window(network);
    harness.key_press(Key::F9);
    harness.run_steps(30);
    bencher.bench_local(|| frame(&mut harness));
}
