//! The canvas in a window of its own, without a display.

use eframe::egui::{Event, MouseWheelUnit, PointerButton, TouchPhase, pos2, vec2};
use egui_kittest::Harness;

use super::*;

const SIZE: Vec2 = vec2(400.0, 300.0);

/// A picture of three boxes in a row, joined by two lines, and what was pointed at last.
struct Window {
    canvas: GraphCanvas<u32>,
    key: u32,
    pointing: Option<Pointing>,
}

fn window() -> Harness<'static, Window> {
    let node = |x: f32| NodePlace {
        centre: pos2(x, 0.0),
        size: vec2(40.0, 20.0),
        text: NodeText { title: "box".to_owned(), ..NodeText::default() },
    };
    let edge = |from: usize, to: usize| EdgePlace {
        from,
        to,
        path: vec![pos2(from as f32 * 100.0, 0.0), pos2(to as f32 * 100.0, 0.0)],
        text: "edge".to_owned(),
    };
    let mut canvas = GraphCanvas::new("test");
    canvas.set_graph(vec![node(0.0), node(100.0), node(200.0)], vec![edge(0, 1), edge(1, 2)]);
    let state = Window { canvas, key: 0, pointing: None };
    let mut harness = Harness::builder().with_size(SIZE).build_ui_state(
        |ui, window: &mut Window| {
            window.pointing = Some(window.canvas.interact(ui));
            let node = |_| NodeLook { fill: egui::Color32::GRAY, ..NodeLook::default() };
            let edge = |_| EdgeLook { width: 1.0, ..EdgeLook::default() };
            window.canvas.draw(ui, window.key, node, edge);
        },
        state,
    );
    harness.run();
    harness
}

fn screen(harness: &Harness<'_, Window>, point: Pos2) -> Pos2 {
    let canvas = &harness.state().canvas;
    canvas.camera.to_pane(canvas.rect, point)
}

fn pointing(harness: &Harness<'_, Window>) -> Pointing {
    harness.state().pointing.expect("a frame was drawn")
}

#[test]
fn a_picture_rests_and_is_drawn_anew_only_when_something_changed() {
    let mut harness = window();
    let live = harness.state().canvas.live_frames();
    let shapes = harness.output().shapes.len();
    harness.run_steps(10);
    assert_eq!(harness.state().canvas.live_frames(), live);
    assert_eq!(harness.output().shapes.len(), shapes, "a replayed frame shows the same");

    harness.state_mut().key = 1;
    harness.run();
    assert_eq!(harness.state().canvas.live_frames(), live + 1);
}

#[test]
fn things_under_a_resting_pointer_are_known_in_frames_that_are_not_drawn_anew() {
    let mut harness = window();
    harness.hover_at(screen(&harness, pos2(100.0, 0.0)));
    harness.run();
    let live = harness.state().canvas.live_frames();
    harness.run_steps(5);
    assert_eq!(pointing(&harness).hovered, Some(Target::Node(1)));
    assert_eq!(harness.state().canvas.live_frames(), live);
    harness.hover_at(screen(&harness, pos2(150.0, 2.0)));
    harness.run();
    assert_eq!(pointing(&harness).hovered, Some(Target::Edge(1)));
    harness.hover_at(screen(&harness, pos2(150.0, 60.0)));
    harness.run();
    assert_eq!(pointing(&harness).hovered, None);
}

#[test]
fn a_click_is_on_a_thing_or_on_the_ground() {
    let mut harness = window();
    let mut click = |point: Pos2| {
        let at = screen(&harness, point);
        harness.hover_at(at);
        harness.step();
        for pressed in [true, false] {
            let modifiers = egui::Modifiers::NONE;
            harness.event(Event::PointerButton {
                pos: at,
                button: PointerButton::Primary,
                pressed,
                modifiers,
            });
            harness.step();
        }
        pointing(&harness).clicked
    };
    assert_eq!(click(pos2(0.0, 0.0)), Some(Some(Target::Node(0))));
    assert_eq!(click(pos2(50.0, 80.0)), Some(None));
}

#[test]
fn a_notch_of_the_wheel_zooms_at_the_pointer() {
    let mut harness = window();
    let thing = pos2(100.0, 0.0);
    let at = screen(&harness, thing);
    let before = harness.state().canvas.zoom();
    harness.hover_at(at);
    harness.run();
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, 1.0),
        phase: TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
    });
    harness.run_steps(60);
    let factor = harness.state().canvas.zoom() / before;
    assert!((factor - NOTCH).abs() < 0.02, "{factor}");
    assert!(screen(&harness, thing).distance(at) < 0.5);
    assert!(!harness.state().canvas.is_fitted());
    harness.state_mut().canvas.fit();
    harness.run();
    assert!((harness.state().canvas.zoom() - before).abs() < 1e-4);
}

#[test]
fn a_drag_takes_the_picture_along() {
    let mut harness = window();
    let before = screen(&harness, Pos2::ZERO);
    harness.drag_at(pos2(200.0, 250.0));
    harness.step();
    harness.hover_at(pos2(230.0, 240.0));
    harness.step();
    harness.drop_at(pos2(230.0, 240.0));
    harness.run();
    let moved = screen(&harness, Pos2::ZERO) - before;
    assert!((moved - vec2(30.0, -10.0)).length() < 1.0, "{moved:?}");
}
