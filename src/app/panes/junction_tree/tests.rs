use eframe::egui::{Rect, Vec2, pos2};
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::layout::label_place;
use crate::app::testing::{drive, drive_model, label_containing, model};
use crate::app::widgets::graph_view::PlacedEdge;
use crate::app::widgets::graph_view::camera::Camera;
use crate::cancel::CancelToken;
use crate::format;
use crate::network::{Cpt, Network, Variable, VariableId};
use crate::propagation::{CompileOptions, CompiledNetwork, compile};

/// Sizes of the pane in points, in a window of 1280x800 and in one of 1920x1080, without toolbar
/// and legend.
const PANES: [Vec2; 2] = [Vec2::new(668.0, 420.0), Vec2::new(1200.0, 640.0)];

#[test]
fn the_tree_of_every_sample_takes_half_the_width_of_its_pane_and_its_boxes_can_be_seen() {
    let samples = [
        "alarm",
        "asia",
        "barley",
        "cancer",
        "child",
        "diabetes",
        "insurance",
        "mildew",
        "munin2",
        "munin3",
        "munin4",
        "pigs",
        "water",
    ];
    for name in samples {
        let compiled = &compiled(format::open(name).unwrap().network);
        for by_area in [true, false] {
            let (nodes, edges) = picture(compiled, by_area);
            assert_eq!(edges.len(), compiled.tree().separators().len());
            let boxes: Vec<Rect> =
                nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size)).collect();
            let bounds = boxes.iter().copied().reduce(Rect::union).unwrap();
            for (index, a) in boxes.iter().enumerate() {
                let overlaps = |b: &Rect| a.shrink(0.01).intersects(b.shrink(0.01));
                assert!(!boxes[..index].iter().any(overlaps), "{name}: {a:?}");
            }
            let smallest = boxes.iter().map(|b| b.size().min_elem()).fold(f32::INFINITY, f32::min);
            for pane in PANES {
                let zoom = Camera::fitting(bounds, pane).zoom();
                let shown = bounds.width() * zoom;
                assert!(shown >= pane.x / 2.0, "{name}: {shown} of {}", pane.x);
                assert!(smallest * zoom >= 4.0, "{name}: {}", smallest * zoom);
            }
        }
    }
}

/// `network`, compiled with the default options.
fn compiled(network: Arc<Network>) -> CompiledNetwork {
    compile(network, &CompileOptions::default(), &CancelToken::new()).expect("not cancelled")
}

#[test]
fn every_separator_of_a_small_tree_has_room_for_its_label_on_a_small_screen() {
    for name in ["asia", "child", "barley", "mildew", "insurance"] {
        let (nodes, edges) = picture(&compiled(format::open(name).unwrap().network), true);
        let boxes = nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size));
        let zoom = Camera::fitting(boxes.reduce(Rect::union).unwrap(), PANES[0]).zoom();
        assert!(zoom >= style::label_zoom(nodes.len()), "{name}: {zoom}");
        for edge in edges {
            let along = (edge.path[edge.path.len() - 1] - edge.path[0]).abs() * zoom;
            // The height of text of 10 points, and the width of a number such as 907 k.
            assert!(along.y >= 12.0 || along.x >= 32.0, "{name}: {along} of {}", edge.text);
            assert!(!edge.text.is_empty());
        }
    }
}

#[test]
fn labels_on_a_common_line_are_drawn_once_if_they_agree_and_not_at_all_otherwise() {
    let edge = |to: usize, x: f32, text: &str| PlacedEdge {
        from: 0,
        to,
        path: vec![pos2(0.0, 0.0), pos2(x, 10.0), pos2(x, 20.0 * to as f32)],
        text: text.to_owned(),
    };
    let mut edges = [edge(1, 5.0, "2"), edge(2, 5.0, "2"), edge(3, 9.0, "4"), edge(4, 9.0, "6")];
    picture::label_common_lines_once(&mut edges);
    assert_eq!(edges.map(|edge| edge.text), ["2", "", "", ""]);
}

#[test]
fn no_two_labels_of_a_star_are_at_the_same_place() {
    const FEATURES: usize = 100;
    let variables: Vec<Variable> =
        (0..=FEATURES).map(|index| Variable::new(format!("v{index}"), ["no", "yes"])).collect();
    let class = VariableId::new(0);
    let feature = |index| Cpt::new(VariableId::new(index), vec![class], vec![0.5; 4]);
    let cpts = std::iter::once(Cpt::new(class, vec![], vec![0.5; 2]));
    let cpts = cpts.chain((1..=FEATURES).map(feature)).collect();
    let network = Network::new("naive Bayes", variables, cpts).expect("a valid network");
    let (_, edges) = picture(&compiled(Arc::new(network)), true);
    let labelled = edges.iter().filter(|edge| !edge.text.is_empty());
    let places: Vec<Pos2> =
        labelled.map(|edge| label_place(&edge.path).expect("a line has points")).collect();
    assert!(places.len() < edges.len(), "lines with a common part have one label");
    for (index, place) in places.iter().enumerate() {
        assert!(places[..index].iter().all(|other| other.distance(*place) > 1.0), "{place:?}");
    }
}

#[test]
fn boxes_carry_the_number_and_the_size_of_their_clique() {
    let model = model("asia");
    let compiled = model.compiled().unwrap();
    for (id, node) in compiled.tree().clique_ids().zip(picture(compiled, true).0) {
        let size = short_size(compiled.tree()[id].entries);
        assert_eq!(node.text.brief[0], format!("C{} {size}", id.index()));
        assert_eq!(node.text.subtitle, node.text.brief[0], "all names fit into the box");
    }
    let sizes: Vec<u64> = picture::largest(compiled)
        .into_iter()
        .map(|clique| compiled.tree().cliques()[clique].entries)
        .collect();
    assert!(sizes.windows(2).all(|pair| pair[0] >= pair[1]), "{sizes:?}");
}

/// A hidden Markov model of `states` binary states, whose cliques have 4 entries each.
fn chain(states: usize) -> CompiledNetwork {
    let variables: Vec<Variable> =
        (0..states).map(|index| Variable::new(format!("x{index}"), ["no", "yes"])).collect();
    let cpts = (0..states).map(|index| match index.checked_sub(1) {
        None => Cpt::new(VariableId::new(0), vec![], vec![0.5; 2]),
        Some(before) => {
            Cpt::new(VariableId::new(index), vec![VariableId::new(before)], vec![0.5; 4])
        }
    });
    let network = Network::new("chain", variables, cpts.collect()).expect("a valid network");
    compiled(Arc::new(network))
}

#[test]
fn of_cliques_of_one_size_all_or_none_belong_to_the_largest() {
    assert_eq!(picture::largest(&chain(11)).len(), 10);
    assert!(picture::largest(&chain(50)).is_empty());
    let barley = compiled(format::open("barley").unwrap().network);
    assert_eq!(picture::largest(&barley).len(), 10);
}

#[test]
fn the_cliques_of_the_selected_message_are_labelled_first() {
    use crate::app::state::highlight::Highlight;
    use crate::propagation::MessageId;
    let mut model = model("child");
    let compiled = Arc::clone(model.compiled().unwrap());
    let pane =
        JunctionTreePane { largest: picture::largest(&compiled), ..JunctionTreePane::default() };
    assert_eq!(pane.labelled(&model, &compiled), pane.largest);
    let last = compiled.plan().messages().len() - 1;
    let message = compiled.plan().messages()[last];
    let item = Item::Message(MessageId::new(last));
    model.selection = Highlight::of(Some(item), Some(&compiled));
    let labelled = pane.labelled(&model, &compiled);
    assert_eq!(labelled[..2], [message.from.index(), message.to.index()]);
    assert!(pane.largest.iter().all(|clique| labelled.contains(clique)));
    let distinct: std::collections::BTreeSet<usize> = labelled.iter().copied().collect();
    assert_eq!(distinct.len(), labelled.len());
}

#[test]
fn the_boxes_of_a_small_tree_name_all_variables_when_the_whole_tree_is_in_view() {
    // The pane next to the network in a lesson, in a window of 1280x800.
    let pane = Vec2::new(335.0, 340.0);
    for name in ["asia", "cancer"] {
        let compiled = compiled(format::open(name).unwrap().network);
        let mut harness = egui_kittest::Harness::new_ui(move |ui| {
            for by_area in [true, false] {
                let (nodes, _) = picture(&compiled, by_area);
                let boxes = nodes.iter().map(|n| Rect::from_center_size(n.centre, n.size));
                let bounds = boxes.reduce(Rect::union).unwrap();
                let zoom = Camera::fitting(bounds, pane).zoom();
                for node in &nodes {
                    let text = &node.text;
                    assert!(text.prefers_title);
                    let letters = text.title_size(ui.painter(), node.size * zoom);
                    assert!(letters.is_some(), "{} at {:?}", text.title, node.size * zoom);
                }
            }
        });
        harness.run();
    }
}

#[test]
fn larger_tables_have_larger_boxes_unless_the_user_switches_this_off() {
    let model = model("child");
    let compiled = model.compiled().unwrap();
    let area = |by_area: bool, clique: usize| {
        let size = picture(compiled, by_area).0[clique].size;
        size.x * size.y
    };
    let cliques = compiled.tree().cliques();
    let by_size = |&index: &usize| cliques[index].entries;
    let large = (0..cliques.len()).max_by_key(by_size).unwrap();
    let small = (0..cliques.len()).min_by_key(by_size).unwrap();
    assert!(area(true, large) > 2.0 * area(true, small));
    assert!(area(true, large) > 2.0 * area(false, large));
}

#[test]
fn the_box_of_a_larger_table_is_larger_whatever_the_names_of_its_variables() {
    for name in ["asia", "cancer", "child", "mildew", "alarm"] {
        let compiled = compiled(format::open(name).unwrap().network);
        let (nodes, _) = picture(&compiled, true);
        let mut boxes: Vec<(u64, f32)> = (compiled.tree().cliques().iter().zip(&nodes))
            .map(|(clique, node)| (clique.entries, node.size.x * node.size.y))
            .collect();
        boxes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for pair in boxes.windows(2) {
            let grows = pair[0].1 < pair[1].1;
            assert!(grows || pair[0].0 == pair[1].0, "{name}: {pair:?}");
        }
    }
}

#[test]
fn the_colours_can_show_time_and_the_share_of_zeros() {
    let mut pane = JunctionTreePane::default();
    let mut harness = drive("asia", move |ui, model, commands| {
        pane.show(ui, model, commands);
        let known = pane.colouring.values().iter().flatten().count();
        ui.ctx().data_mut(|data| data.insert_temp("known".into(), known));
    });
    harness.run();
    let cliques = harness.state().tree().cliques().len();
    for name in ["time", "time per entry", "share of zeros", "table entries"] {
        // The menu shows the current choice; its entries are drawn after it.
        harness.get_by_role(egui::accesskit::Role::ComboBox).click();
        harness.run();
        harness.get_all_by_label(name).last().unwrap().click();
        harness.run();
        let known: usize = harness.ctx.data(|data| data.get_temp("known".into())).unwrap();
        assert_eq!(known, cliques, "{name}");
    }
    harness.get_by_label("area").click();
    harness.run();
    label_containing(&harness, "log");
}

#[test]
fn a_newly_selected_message_is_brought_into_view() {
    use crate::app::state::highlight::Highlight;
    use crate::propagation::MessageId;
    let model = model("child");
    let compiled = Arc::clone(model.compiled().unwrap());
    let count = compiled.tree().cliques().len();
    let mut pane = JunctionTreePane::default();
    let mut frame = 0;
    let mut harness = drive_model(model, move |ui: &mut Ui, model, commands| {
        pane.show(ui, model, commands);
        frame += 1;
        if frame == 4 {
            pane.canvas.zoom_by(12.0);
        }
        let visible: Vec<bool> = (0..count).map(|clique| pane.canvas.is_visible(clique)).collect();
        ui.ctx().data_mut(|data| data.insert_temp("visible".into(), visible));
        ui.ctx().request_repaint();
    });
    harness.run_steps(60);
    let visible: Vec<bool> = harness.ctx.data(|data| data.get_temp("visible".into())).unwrap();
    let messages = compiled.plan().messages();
    let hidden = messages.iter().position(|message| !visible[message.to.index()]).unwrap();
    let item = Item::Message(MessageId::new(hidden));
    harness.state_mut().model.selection = Highlight::of(Some(item), Some(&compiled));
    harness.run_steps(60);
    let visible: Vec<bool> = harness.ctx.data(|data| data.get_temp("visible".into())).unwrap();
    assert!(visible[messages[hidden].to.index()]);
}
