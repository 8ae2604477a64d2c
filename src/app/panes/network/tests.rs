use std::cell::RefCell;
use std::rc::Rc;

use eframe::egui::{Pos2, Rect};
use egui_kittest::kittest::Queryable as _;

use super::picture::{Edge, Picture};
use super::*;
use crate::app::layout::arch::meets;
use crate::app::state::projector::WindowBefore;
use crate::app::testing::{drive, label_containing, model};
use crate::format;

/// A network of three variables with positions, two of them with titles and colours.
const PLACED: &str = r#"<smile id="placed"><nodes>
    <cpt id="a"><state id="n"/><state id="y"/><probabilities>0.3 0.7</probabilities></cpt>
    <cpt id="b"><state id="n"/><state id="y"/><parents>a</parents>
        <probabilities>0.1 0.9 0.2 0.8</probabilities></cpt>
    <cpt id="c"><state id="n"/><state id="y"/><probabilities>0.3 0.7</probabilities></cpt>
    </nodes><extensions><genie>
    <node id="a"><name>The first</name><interior color="ff0000"/><position>200 0 276 36</position></node>
    <node id="b"><name>B</name><interior color="0000ff"/><position>0 0 76 36</position></node>
    <node id="c"><position>0 100 76 136</position></node>
    </genie></extensions></smile>"#;

/// Writes `text` to a file in a temporary folder. Returns the folder, which is deleted when
/// dropped, and the path of the file.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn variables_are_drawn_at_the_positions_of_the_file_or_in_layers() {
    let network = format::open_bytes("a.xdsl", PLACED).unwrap().network;
    let Picture { nodes, lines, .. } = picture(&network, None, None);
    let centre: Vec<Pos2> = nodes.iter().map(|node| node.centre).collect();
    assert!(centre[0].x > centre[1].x && (centre[0].y - centre[1].y).abs() < 1e-3, "{centre:?}");
    assert!(centre[2].y > centre[1].y && (centre[2].x - centre[1].x).abs() < 1e-3, "{centre:?}");
    assert_eq!((lines[0].from, lines[0].to, lines[0].path.len()), (0, 1, 2));
    assert_eq!((&*nodes[0].text.title, &*nodes[0].text.brief[0]), ("a · The first", "a"));
    assert_eq!(nodes[1].text.title, "b", "a title that differs only in case is not repeated");
    let far = PLACED.replace("200 0 276 36", "1e300 0 1e300 36");
    let far = format::open_bytes("a.xdsl", far).unwrap().network;
    assert_eq!(file_positions(&far)[0], None);
    let layered = picture(&network, None, Some(1.0)).nodes;
    assert!(layered[1].centre.y > layered[0].centre.y, "an effect below its cause");
}

#[test]
fn the_bars_of_small_networks_can_be_clicked_when_all_of_the_network_is_in_view() {
    use crate::app::widgets::graph_view::camera::Camera;
    use crate::app::widgets::graph_view::chart::{CHART_BOTTOM, CHART_TOP};
    // The pane next to the junction tree in a window of 1280x800.
    let pane = Vec2::new(416.0, 463.0);
    for name in ["asia", "child"] {
        let network = format::open(name).unwrap().network;
        let nodes = picture(&network, None, Some(pane.x / pane.y)).nodes;
        let boxes = nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size));
        let zoom = Camera::fitting(boxes.reduce(Rect::union).unwrap(), pane).zoom();
        for (id, node) in network.ids().zip(&nodes) {
            let rows = (node.size.y - CHART_TOP - CHART_BOTTOM) * zoom;
            let row = rows / network[id].cardinality() as f32;
            assert!(row >= 8.0, "{}: {row}", network[id].name());
        }
    }
}

#[test]
fn moral_and_fill_edges_of_child_pass_around_boxes() {
    let model = model("child");
    let compiled = model.compiled().unwrap();
    for aspect in [0.8, 1.0, 1.3, 1.6, 2.0] {
        let Picture { nodes, lines, edges } =
            picture(compiled.network(), Some(compiled), Some(aspect));
        for (line, edge) in lines.iter().zip(&edges).filter(|(_, edge)| !is_arc(**edge)) {
            for (index, node) in nodes.iter().enumerate() {
                let other = Rect::from_center_size(node.centre, node.size);
                let is_end = [line.from, line.to].contains(&index);
                let is_behind = || line.path.windows(2).any(|ends| meets(other, ends[0], ends[1]));
                assert!(is_end || !is_behind(), "{edge:?} behind {index} with aspect {aspect}");
            }
        }
    }
}

fn is_arc(edge: Edge) -> bool {
    matches!(edge, Edge::Arc(..))
}

#[test]
fn layout_and_colours_of_the_file_are_used_and_its_layout_can_be_switched_off() {
    let (_folder, path) = file("placed.xdsl", PLACED);
    let pane = Rc::new(RefCell::new(NetworkPane::default()));
    let fills = Rc::new(RefCell::new(Vec::new()));
    let (shown, seen) = (Rc::clone(&pane), Rc::clone(&fills));
    let mut harness = drive(&path, move |ui, model, commands| {
        let mut pane = shown.borrow_mut();
        pane.show(ui, model, commands);
        let document = model.document.as_ref().unwrap();
        let style = NetworkStyle::new(ui, model, document, &pane.charts, None);
        *seen.borrow_mut() = document.network().ids().map(|id| style.variable(id).fill).collect();
    });
    harness.run();
    assert!(pane.borrow().shown.as_ref().unwrap().from_file);
    {
        let fills = fills.borrow();
        assert!(fills[0].r() > fills[2].r() && fills[0].b() < fills[2].b().max(1), "{fills:?}");
        assert!(fills[1].b() > fills[0].b(), "{fills:?}");
    }
    harness.get_by_label("Layout of the file").click();
    harness.run();
    assert!(!pane.borrow().shown.as_ref().unwrap().from_file);
    harness.get_by_label("Layout of the file").click();
    harness.run();
    assert!(pane.borrow().shown.as_ref().unwrap().from_file);
}

#[test]
fn the_view_for_projectors_has_a_layout_for_the_shape_of_its_pane() {
    // Sizes of the window before and in the view for projectors.
    const USUAL: Vec2 = Vec2::new(900.0, 600.0);
    const PROJECTED: Vec2 = Vec2::new(295.0, 270.0);
    let places = |pane: &RefCell<NetworkPane>| {
        let centres = pane.borrow().canvas.centres(0..20);
        (0..20).map(|node| centres[&node]).collect::<Vec<Pos2>>()
    };
    let pane = RefCell::new(NetworkPane::default());
    let mut harness = drive("child", |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    // The layout of a new pane in a window of the given size.
    let mut new_layout = |size| {
        harness.set_size(size);
        pane.take();
        harness.run();
        places(&pane)
    };
    let [projected, usual] = [PROJECTED, USUAL].map(&mut new_layout);
    assert_ne!(projected, usual);
    // The user looks at a part of the picture.
    pane.borrow_mut().canvas.zoom_by(2.0);
    harness.run();
    // The size changes some frames after the view is turned on or off.
    let before = WindowBefore { zoom: 1.0, is_fullscreen: false };
    harness.state_mut().model.projector = Some(before);
    harness.run();
    harness.set_size(PROJECTED);
    harness.run();
    assert_eq!(places(&pane), projected);
    assert!(pane.borrow().canvas.is_fitted());
    harness.state_mut().model.projector = None;
    harness.run();
    harness.set_size(USUAL);
    harness.run();
    assert_eq!(places(&pane), usual);
    harness.set_size(PROJECTED);
    harness.run();
    assert_eq!(places(&pane), usual, "another size alone changes nothing");
}

#[test]
fn a_fill_edge_between_neighbouring_boxes_leaves_them_at_the_top_or_bottom() {
    let model = model("asia");
    let compiled = model.compiled().unwrap();
    let Picture { nodes, lines, edges } = picture(compiled.network(), Some(compiled), Some(0.8));
    let fill = edges.iter().position(|edge| matches!(edge, Edge::Fill(..)));
    let fill = fill.expect("Asia has a fill edge");
    let line = &lines[fill];
    let [from, to] = [&nodes[line.from], &nodes[line.to]];
    assert!((from.centre.x - to.centre.x).abs() < from.size.x + 30.0, "neighbours");
    let height = line.path.iter().map(|point| (point.y - from.centre.y).abs()).fold(0.0, f32::max);
    assert!(height > from.size.y / 2.0 + 8.0, "{height} {line:?}");
}

#[test]
fn deep_networks_use_the_width_of_their_pane_and_most_of_its_height() {
    // The aspect ratio of the pane in a window of 1280 by 800 points.
    const ASPECT: f32 = 1.5;
    let used = ["barley", "mildew"].map(|name| {
        let network = format::open(name).unwrap().network;
        let nodes = picture(&network, None, Some(ASPECT)).nodes;
        let boxes = nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size));
        let size = boxes.reduce(Rect::union).unwrap().size();
        let scale = (ASPECT / size.x).min(1.0 / size.y);
        (name, scale * size.x / ASPECT, scale * size.y)
    });
    assert!(used.iter().all(|&(_, width, height)| width > 0.8 && height > 0.55), "{used:?}");
}

#[test]
fn without_positions_in_the_file_there_is_no_choice_of_layout() {
    let mut pane = NetworkPane::default();
    let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    assert!(harness.query_by_label("Layout of the file").is_none());
    label_containing(&harness, "8 arcs");
}

#[test]
fn a_markov_network_has_an_edge_for_each_pair_of_variables_in_a_factor() {
    let text = "MARKOV 3 2 2 2 2 3 0 1 2 2 1 2 8 1 2 3 4 5 6 7 8 4 1 2 3 4";
    let network = format::open_bytes("a.uai", text).unwrap().network;
    let lines = picture(&network, None, Some(1.0)).lines;
    let pairs: Vec<_> = lines.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(pairs, [(0, 1), (0, 2), (1, 2)]);
    let (_folder, path) = file("markov.uai", text);
    let mut pane = NetworkPane::default();
    let mut harness = drive(&path, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    label_containing(&harness, "2 factors");
}

#[test]
fn the_search_goes_through_variables_and_counts_them() {
    let mut pane = NetworkPane::default();
    let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness.get_by_label("Find in the network").focus();
    harness.run();
    harness.get_by_label("Find in the network").type_text("s");
    harness.run();
    label_containing(&harness, "found");
    harness.key_press(egui::Key::Enter);
    harness.run();
    label_containing(&harness, "1 of ");
    let selected = harness.state().model.selected().cloned();
    harness.key_press(egui::Key::Enter);
    harness.run();
    label_containing(&harness, "2 of ");
    assert_ne!(harness.state().model.selected().cloned(), selected);
}

#[test]
fn moral_and_fill_edges_have_a_legend() {
    for shown in [false, true] {
        let mut pane = NetworkPane::default();
        let mut harness = drive("asia", move |ui, model, commands| {
            let mut model = model.clone();
            model.fill_edges = shown;
            pane.show(ui, &model, commands);
        });
        harness.run();
        for label in ["arc", "moral edge", "fill edge"] {
            assert_eq!(harness.query_by_label(label).is_some(), shown, "{label}");
        }
    }
}
