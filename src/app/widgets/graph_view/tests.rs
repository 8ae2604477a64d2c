//! Tests of the canvas in a window without a display.

use std::cell::Cell;

use eframe::egui::{self, Event, MouseWheelUnit, PointerButton, TouchPhase, pos2, vec2};
use egui_kittest::Harness;

use super::edge::EdgeStyle;
use super::node::NodeStyle;
use super::*;

/// Size of the window in points.
const SIZE: Vec2 = vec2(400.0, 300.0);

/// Three boxes in a row joined by two lines, the key of the styles, and the result of the last
/// `interact`.
struct Fixture {
    canvas: GraphCanvas<u32>,
    key: u32,
    pointing: Option<Pointing>,
}

/// The fixture in a window, after its first frames.
fn fixture() -> Harness<'static, Fixture> {
    let node = |x: f32| PlacedNode {
        centre: pos2(x, 0.0),
        size: vec2(40.0, 20.0),
        text: NodeText { title: "box".to_owned(), ..NodeText::default() },
    };
    let edge = |from: usize, to: usize| PlacedEdge {
        from,
        to,
        path: vec![pos2(from as f32 * 100.0, 0.0), pos2(to as f32 * 100.0, 0.0)],
        text: "edge".to_owned(),
    };
    let mut canvas = GraphCanvas::new();
    canvas.set_graph(vec![node(0.0), node(100.0), node(200.0)], vec![edge(0, 1), edge(1, 2)], &[]);
    let state = Fixture { canvas, key: 0, pointing: None };
    let mut harness = Harness::builder().with_size(SIZE).build_ui_state(
        |ui, fixture: &mut Fixture| {
            fixture.pointing = Some(fixture.canvas.interact(ui));
            // Only the second box changes with the key.
            let key = fixture.key;
            let node = |index| NodeStyle {
                fill: egui::Color32::from_gray(if index == 1 { 60 + key as u8 } else { 60 }),
                ..NodeStyle::default()
            };
            let edge = |_| EdgeStyle { width: 1.0, ..EdgeStyle::default() };
            fixture.canvas.draw(ui, fixture.key, node, edge);
        },
        state,
    );
    harness.run();
    harness
}

#[test]
fn a_small_box_has_its_number() {
    let texts = |number: &str| {
        let brief = vec![format!("{number} 6"), format!("{number}\n6"), number.to_owned()];
        Arc::new(NodeText { brief, ..NodeText::default() })
    };
    let boxes = Cell::new(0);
    let _harness = Harness::new_ui(|ui| {
        // Sizes of boxes at the scale of a projector, in a window of 1280 by 800 pixels: the
        // smallest box of the network Child, and a box of a star-shaped tree of a hundred cliques.
        for (number, size) in [("C3", vec2(22.0, 10.0)), ("C10", vec2(24.0, 18.0))] {
            let rect = Rect::from_min_size(Pos2::ZERO, size);
            let (text, style) = (texts(number), NodeStyle::default());
            let node = super::Node { centre: Pos2::ZERO, size, text, style };
            assert!(super::node::can_hold_text(rect));
            let Some((_, egui::Shape::Text(shape))) = node.brief(ui.painter(), rect) else {
                panic!("no text in the box of {number}")
            };
            assert!(shape.galley.text().starts_with(number));
            boxes.set(boxes.get() + 1);
        }
    });
    assert!(boxes.get() > 0, "a frame was drawn");
}

#[test]
fn the_label_of_a_box_has_what_the_box_does_not_show_of_its_number_and_its_size() {
    let brief = vec!["C2 59 k".to_owned(), "C2\n59 k".to_owned(), "C2".to_owned()];
    let text = Arc::new(NodeText { brief, ..NodeText::default() });
    let labels = Cell::default();
    let _harness = Harness::new_ui(|ui| {
        // Room for both in a line, for both in two lines, for the number alone, and for nothing.
        let sizes = [vec2(80.0, 16.0), vec2(36.0, 40.0), vec2(22.0, 12.0), vec2(13.5, 10.0)];
        labels.set(sizes.map(|size| {
            let (text, style) = (Arc::clone(&text), NodeStyle::default());
            let rect = Rect::from_min_size(Pos2::ZERO, size);
            let node = super::Node { centre: rect.center(), size, text, style };
            node.missing_brief(ui.painter(), rect)
        }));
    });
    let labels = labels.take();
    assert_eq!(
        labels.each_ref().map(Option::as_deref),
        [None, None, Some("59 k"), Some("C2 59 k")]
    );
}

#[test]
fn zooming_in_shows_more_of_a_long_title() {
    let names: Vec<String> = (1..=6).map(|number| format!("DIFFN_PATHO_{number}")).collect();
    let text = NodeText {
        title: names.join(", "),
        subtitle: "C312 · 6 vars · 8 k".to_owned(),
        ..NodeText::default()
    };
    let text = Arc::new(text);
    let shown = Cell::new((0, 0));
    let _harness = Harness::new_ui(|ui| {
        let whole_texts = |zoom: f32| {
            let (text, style) = (Arc::clone(&text), NodeStyle::default());
            let node = super::Node { centre: Pos2::ZERO, size: vec2(56.0, 40.0), text, style };
            let needed = Rect::EVERYTHING;
            let view = chunk::View { painter: ui.painter(), zoom, origin: Vec2::ZERO, needed };
            let mut shapes = Vec::new();
            node.add_shapes(&view, &mut shapes);
            let texts = shapes.iter().filter_map(|shape| match shape {
                egui::Shape::Text(text) => Some(!text.galley.elided),
                _ => None,
            });
            texts.filter(|whole| *whole).count()
        };
        shown.set((whole_texts(1.2), whole_texts(4.0)));
    });
    assert_eq!(shown.get(), (0, 2), "the title and the subtitle");
}

/// Where `point` of the picture is on the screen.
fn screen(harness: &Harness<'_, Fixture>, point: Pos2) -> Pos2 {
    let canvas = &harness.state().canvas;
    canvas.camera.to_pane(canvas.rect, point)
}

/// What the pointer did in the last frame.
fn pointing(harness: &Harness<'_, Fixture>) -> Pointing {
    harness.state().pointing.expect("a frame was drawn")
}

#[test]
fn a_picture_is_redrawn_only_when_something_changed() {
    let mut harness = fixture();
    let made = harness.state().canvas.made_chunk_count();
    let shapes = harness.output().shapes.len();
    harness.run_steps(10);
    assert_eq!(harness.state().canvas.made_chunk_count(), made);
    assert_eq!(harness.output().shapes.len(), shapes, "a cached frame shows the same");

    harness.state_mut().key = 1;
    harness.run();
    assert_eq!(harness.state().canvas.made_chunk_count(), made + 1);
}

#[test]
fn what_is_under_the_pointer_is_known_in_cached_frames_too() {
    let mut harness = fixture();
    harness.hover_at(screen(&harness, pos2(100.0, 0.0)));
    harness.run();
    let made = harness.state().canvas.made_chunk_count();
    harness.run_steps(5);
    assert_eq!(pointing(&harness).hovered, Some(Target::Node(1)));
    assert_eq!(harness.state().canvas.made_chunk_count(), made);
    harness.hover_at(screen(&harness, pos2(150.0, 2.0)));
    harness.run();
    assert_eq!(pointing(&harness).hovered, Some(Target::Edge(1)));
    harness.hover_at(screen(&harness, pos2(150.0, 60.0)));
    harness.run();
    assert_eq!(pointing(&harness).hovered, None);
}

#[test]
fn a_click_hits_a_node_or_the_background() {
    let mut harness = fixture();
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
        pointing(&harness).click
    };
    assert_eq!(click(pos2(0.0, 0.0)), Some(Click::Target(Target::Node(0))));
    assert_eq!(click(pos2(50.0, 80.0)), Some(Click::Background));
}

#[test]
fn a_notch_of_the_wheel_zooms_at_the_pointer() {
    let mut harness = fixture();
    let node = pos2(100.0, 0.0);
    let at = screen(&harness, node);
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
    assert!((factor - interact::ZOOM_PER_NOTCH).abs() < 0.02, "{factor}");
    assert!(screen(&harness, node).distance(at) < 0.5);
    assert!(!harness.state().canvas.is_fitted());
    harness.state_mut().canvas.fit();
    harness.run();
    assert!((harness.state().canvas.zoom() - before).abs() < 1e-4);
}

#[test]
fn while_zooming_only_what_is_in_view_is_drawn() {
    let mut harness = fixture();
    let node = |index: usize| PlacedNode {
        centre: pos2((index % 100) as f32 * 60.0, (index / 100) as f32 * 60.0),
        size: vec2(40.0, 20.0),
        text: NodeText::default(),
    };
    harness.state_mut().canvas.set_graph((0..10_000).map(node).collect(), Vec::new(), &[]);
    harness.run();
    harness.hover_at(pos2(200.0, 150.0));
    harness.run();
    // Vertices of what is drawn except the map, per box in view. The mesh of the map has four
    // vertices for each of the 10,000 boxes.
    let share_drawn = |harness: &Harness<'_, Fixture>| {
        let shapes = harness.output().shapes.iter().map(|clipped| &clipped.shape);
        let sizes = shapes.map(|shape| match shape {
            egui::Shape::Mesh(mesh) if mesh.vertices.len() < 40_000 => mesh.vertices.len(),
            _ => 0,
        });
        let canvas = &harness.state().canvas;
        let in_view = nodes_of(&canvas.graph)
            .filter(|node| canvas.rect.contains(canvas.camera.to_pane(canvas.rect, node.centre)));
        sizes.sum::<usize>() as f32 / in_view.count() as f32
    };
    let notch = |harness: &mut Harness<'_, Fixture>| {
        harness.event(Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta: vec2(0.0, 3.0),
            phase: TouchPhase::Move,
            modifiers: egui::Modifiers::NONE,
        });
        harness.step();
    };
    (0..6).for_each(|_| notch(&mut harness));
    let zooming = share_drawn(&harness);
    harness.run();
    harness.drag_at(pos2(200.0, 150.0));
    harness.step();
    // Further than what was drawn beyond the pane while zooming.
    harness.hover_at(pos2(300.0, 140.0));
    harness.step();
    let dragging = share_drawn(&harness);
    assert!(zooming > 0.0 && dragging > 2.0 * zooming, "{zooming} and {dragging}");
}

#[test]
fn a_drag_moves_the_picture() {
    let mut harness = fixture();
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

#[test]
fn a_small_drag_moves_what_was_drawn() {
    let mut harness = fixture();
    harness.drag_at(pos2(200.0, 250.0));
    harness.step();
    harness.hover_at(pos2(210.0, 240.0));
    harness.run();
    let made = harness.state().canvas.made_chunk_count();
    harness.hover_at(pos2(235.0, 240.0));
    harness.run();
    harness.drop_at(pos2(235.0, 240.0));
    harness.run();
    assert_eq!(harness.state().canvas.made_chunk_count(), made);
}

#[test]
fn only_items_near_a_changed_item_are_drawn_again() {
    let mut harness = fixture();
    let node = |index: usize| PlacedNode {
        centre: pos2(index as f32 * 60.0, 0.0),
        size: vec2(40.0, 20.0),
        text: NodeText::default(),
    };
    let nodes = (0..10 * chunk::CHUNK_SIZE).map(node).collect();
    harness.state_mut().canvas.set_graph(nodes, Vec::new(), &[]);
    harness.run();
    let made = harness.state().canvas.made_chunk_count();
    harness.state_mut().key = 1;
    harness.run();
    assert_eq!(harness.state().canvas.made_chunk_count(), made + 1);
}

#[test]
fn a_tiny_node_can_be_hit_within_four_points() {
    let mut harness = fixture();
    let node = |x: f32| PlacedNode {
        centre: pos2(x, 0.0),
        size: vec2(40.0, 20.0),
        text: NodeText::default(),
    };
    let nodes = vec![node(0.0), node(5_000.0), node(100_000.0)];
    harness.state_mut().canvas.set_graph(nodes, Vec::new(), &[]);
    harness.run();
    let centre = screen(&harness, pos2(5_000.0, 0.0));
    for (offset, hit) in [(3.5, Some(Target::Node(1))), (4.5, None)] {
        for direction in [vec2(1.0, 0.0), vec2(0.0, -1.0)] {
            harness.hover_at(centre + direction * offset);
            harness.run();
            assert_eq!(pointing(&harness).hovered, hit, "{offset}");
        }
    }
}

#[test]
fn nodes_move_to_their_new_places_and_then_no_more_frames_are_requested() {
    let mut harness = fixture();
    harness.ctx.all_styles_mut(|style| style.animation_time = 0.1);
    let node = |x: f32| PlacedNode {
        centre: pos2(x, 0.0),
        size: vec2(40.0, 20.0),
        text: NodeText::default(),
    };
    let origins = [Some(pos2(200.0, 50.0)), None];
    harness.state_mut().canvas.set_graph(vec![node(0.0), node(100.0)], Vec::new(), &origins);
    let made = harness.state().canvas.made_chunk_count();
    // Panics if the window keeps requesting frames.
    harness.run();
    assert!(harness.state().canvas.made_chunk_count() > made + 2, "several frames show the motion");
}

#[test]
fn a_map_shows_what_is_in_view_and_moves_the_camera() {
    let mut harness = fixture();
    let map = |harness: &Harness<'_, Fixture>| {
        let canvas = &harness.state().canvas;
        minimap::area(canvas.rect, canvas.bounds, &canvas.camera)
    };
    assert_eq!(map(&harness), None, "everything is in view");
    harness.state_mut().canvas.zoom_by(4.0);
    harness.run();
    let area = map(&harness).expect("part of the picture is out of view");
    let at = area.left_center() + vec2(2.0, 0.0);
    harness.hover_at(at);
    harness.step();
    harness.drag_at(at);
    harness.step();
    assert_eq!(pointing(&harness).hovered, None, "the map covers the picture");
    harness.drop_at(at);
    harness.step();
    assert_eq!(pointing(&harness).click, None);
    harness.run();
    let left = screen(&harness, Pos2::ZERO);
    assert!(harness.state().canvas.rect.contains(left), "{left:?}");

    // A click that is pressed and released in one frame moves the camera too.
    let pos = area.right_center() - vec2(2.0, 0.0);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::NONE);
        let event = Event::PointerButton { pos, button, pressed, modifiers };
        harness.input_mut().events.push(event);
    }
    harness.run();
    let left = screen(&harness, Pos2::ZERO);
    assert!(!harness.state().canvas.rect.contains(left), "{left:?}");
}
