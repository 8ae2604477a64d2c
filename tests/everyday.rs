//! Maximised panes, the view for projectors, the keyboard and narrow windows, without a display.
#![cfg(feature = "app")]

mod common;

use std::collections::HashSet;

use cliquescope::app::state::command::{EngineCommand, StepCommand, ViewCommand};
use cliquescope::app::state::pane::Pane;
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use cliquescope::graph::Triangulation;
use common::window::{open, settle};
use eframe::egui::{Key, Modifiers, Rect, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{AccessKitNode, By, NodeT as _, Queryable};

fn maximised(harness: &Harness<'_, Workbench>) -> Option<Pane> {
    harness.state().model().maximised
}

#[test]
fn a_double_click_on_a_tab_lets_its_pane_fill_the_window() {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
    // A frame takes 1/60 s, because two clicks are a double click only if they are less than 0.3 s
    // apart.
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1440.0, 900.0))
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    let width = |harness: &Harness<'_, Workbench>| {
        let bar = harness.get_by_label_contains("Network: yes of xray");
        bar.rect().width()
    };
    let before = width(&harness);
    for _ in 0..2 {
        harness.get_by_label("Network").click();
        harness.step();
    }
    harness.run_steps(3);
    assert_eq!(maximised(&harness), Some(Pane::Network));
    assert!(harness.query_by_label("Timeline").is_none(), "the other panes are hidden");
    assert!(width(&harness) > 1.3 * before, "the network is fitted into the larger pane");
    harness.get_by_label("Restore").click();
    harness.run_steps(3);
    assert_eq!(maximised(&harness), None);
    harness.get_by_label("Timeline");
    assert!((width(&harness) - before).abs() < 1.0);
    // A command that shows another pane restores the layout.
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(Pane::Variables));
    harness.run_steps(2);
    harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Messages));
    harness.run_steps(3);
    assert_eq!(maximised(&harness), None);
}

#[test]
fn the_view_for_projectors_is_large_has_no_menus_and_is_not_stored() {
    let mut harness = open("asia");
    harness.key_press_modifiers(Modifiers::SHIFT, Key::F11);
    harness.run_steps(4);
    assert_eq!(harness.ctx.zoom_factor(), 1.5);
    for hidden in ["File", "View", "Triangulation"] {
        assert!(harness.query_by_label(hidden).is_none(), "{hidden}");
    }
    assert_eq!(harness.state().settings().zoom, 1.0, "the next run begins as usual");
    harness.get_by_label("Leave projector").click();
    harness.run_steps(4);
    assert_eq!(harness.ctx.zoom_factor(), 1.0);
    harness.get_by_label("File");
}

#[test]
fn on_a_projector_of_1280_by_800_the_tree_and_the_timeline_get_the_room_of_the_details() {
    let mut harness = open("barley");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleProjector);
    harness.run_steps(2);
    let size = Vec2::new(1280.0, 800.0) / 1.5;
    harness.set_size(size);
    harness.run_steps(4);
    let rect = |harness: &Harness<'_, Workbench>, label: &str| harness.get_by_label(label).rect();
    let tree = rect(&harness, "Find in the junction tree");
    for left in ["Variables", "Details", "Cliques"] {
        assert!(rect(&harness, left).right() < tree.left(), "{left} is a tab on the left");
    }
    assert!(size.x - tree.left() > 0.65 * size.x, "the tree has two thirds of the width");
    let chart = harness.get_by_label_contains("Message timeline:").rect();
    assert!(chart.height() > 95.0 && chart.bottom() <= size.y, "{chart:?}");
    harness.get_by_label("Cliques").click();
    harness.run_steps(3);
    harness.get_by_label("Filter cliques");
    // The stored layout is the usual one, not that of the projector.
    let stored = harness.state().settings().layout;
    harness.get_by_label("Leave projector").click();
    harness.run_steps(4);
    assert!(rect(&harness, "Details").left() > rect(&harness, "Find in the junction tree").right());
    assert_eq!(harness.state().settings().layout, stored);
}

#[test]
fn on_a_large_projector_the_panes_stay_where_they_are() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleProjector);
    harness.run_steps(2);
    harness.set_size(Vec2::new(1920.0, 1080.0) / 1.5);
    harness.run_steps(4);
    let tree = harness.get_by_label("Find in the junction tree").rect();
    assert!(harness.get_by_label("Details").rect().left() > tree.right());
}

#[test]
fn the_timeline_is_higher_while_sums_are_shown() {
    let mut harness = open("barley");
    harness.set_size(Vec2::new(1280.0, 800.0));
    harness.run_steps(3);
    let height = |harness: &Harness<'_, Workbench>| {
        harness.get_by_label_contains("Message timeline:").rect().height()
    };
    let before = height(&harness);
    harness.get_by_label("Sums").click();
    harness.run_steps(4);
    assert!(height(&harness) > before + 60.0, "{} after {before}", height(&harness));
    let mean = harness.get_by_label("Mean").rect();
    let chart = harness.get_by_label_contains("Message timeline:").rect();
    assert!(mean.left() > chart.right() && mean.bottom() + 100.0 < chart.bottom(), "{mean:?}");
    // The next run does not begin with the higher pane, and it is lower once sums are hidden.
    let stored = harness.state().settings().layout;
    harness.get_by_label("Sums").click();
    harness.run_steps(4);
    assert_eq!(height(&harness), before);
    assert_eq!(harness.state().settings().layout, stored);
}

#[test]
fn the_height_for_the_inside_of_a_message_is_given_back_after_the_last_table() {
    let mut harness = open("barley");
    let ctx = harness.ctx.clone();
    harness.set_size(Vec2::new(1280.0, 800.0));
    harness.run_steps(3);
    let graphs = |harness: &Harness<'_, Workbench>| harness.get_by_label("Timeline").rect().top();
    let before = graphs(&harness);
    let run = |harness: &mut Harness<'_, Workbench>, command: StepCommand| {
        harness.state_mut().run_command(&ctx, command);
        harness.run_steps(4);
        graphs(harness)
    };
    assert!(run(&mut harness, StepCommand::Begin) < before - 60.0, "the lower panes are higher");
    assert_eq!(run(&mut harness, StepCommand::End), before);
    // The table of sums needs the height for longer than stepping.
    run(&mut harness, StepCommand::Begin);
    harness.get_by_label("Timeline").click();
    harness.run_steps(4);
    harness.get_by_label("Sums").click();
    harness.run_steps(4);
    assert!(run(&mut harness, StepCommand::End) < before - 60.0, "sums need the height");
    harness.get_by_label("Sums").click();
    harness.run_steps(4);
    assert_eq!(graphs(&harness), before);
}

#[test]
fn the_messages_fit_their_pane() {
    for network in ["asia", "barley"] {
        let mut harness = open(network);
        let ctx = harness.ctx.clone();
        harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Messages));
        for size in [Vec2::new(1280.0, 800.0), Vec2::new(1920.0, 1080.0)] {
            harness.set_size(size);
            harness.run_steps(3);
            let pane = harness.get_by_label("Timeline").rect().left()
                ..=harness.get_by_label("Details").rect().left();
            for column in ["Sort by Processed", "Sort by Duration", "Sort by Share"] {
                // The table of cliques, at the right, has a column 'Share' too.
                let mut headers = harness.query_all_by_label(column).map(|header| header.rect());
                let in_pane =
                    |header: Rect| pane.contains(&header.left()) && pane.contains(&header.right());
                assert!(headers.any(in_pane), "{network} {size:?}: {column}");
            }
        }
    }
}

#[test]
fn the_key_e_moves_the_focus_to_a_state_and_space_observes_it() {
    let mut harness = open("asia");
    harness.key_press(Key::E);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let first = document.network().ids().next().expect("a variable");
    assert_eq!(document.evidence.observed(first), Some(0));
    harness.get_by_label("xray").click();
    harness.run_steps(3);
    harness.key_press(Key::E);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let xray = document.network().find("xray").expect("a variable of asia");
    assert_eq!(document.evidence.observed(xray), Some(0), "the selected variable comes first");
}

#[test]
fn arrow_keys_move_in_the_list_of_variables_and_one_tab_leaves_it() {
    let mut harness = open("asia");
    let press = |harness: &mut Harness<'static, Workbench>, keys: &[Key]| {
        for &key in keys {
            harness.key_press(key);
            harness.run_steps(3);
        }
        settle(harness);
        let document = harness.state().model().document.as_ref().expect("a network is open");
        let observed = |variable| document.evidence.observed(variable);
        document.network().ids().take(2).map(observed).collect::<Vec<_>>()
    };
    let down = Key::ArrowDown;
    assert_eq!(press(&mut harness, &[Key::E, down, Key::Space]), [Some(1), None]);
    // Past the heading of the second variable to its first state.
    assert_eq!(press(&mut harness, &[down, down, Key::Space]), [Some(1), Some(0)]);
    press(&mut harness, &[Key::Tab]);
    assert!(harness.get_by_label("Clear all").is_focused(), "what comes after the list");
}

#[test]
fn every_stop_of_the_tab_key_has_a_name() {
    let is_named = |node: &AccessKitNode<'_>| node.label().or(node.value()).is_some();
    // Once forwards and once backwards, each in a new window where nothing has the focus yet.
    let [forwards, backwards] = [Modifiers::NONE, Modifiers::SHIFT].map(|modifiers| {
        let mut harness = open("asia");
        let mut stops = HashSet::new();
        let mut nameless = Vec::new();
        for _ in 0..120 {
            harness.key_press_modifiers(modifiers, Key::Tab);
            harness.run_steps(2);
            let focused = harness.ctx.memory(|memory| memory.focused());
            stops.extend(focused);
            let named = By::new().predicate(|node| node.is_focused() && is_named(node));
            if harness.query_all(named).next().is_none() {
                nameless.extend(focused.and_then(|id| harness.ctx.read_response(id)));
            }
        }
        let places: Vec<Rect> = nameless.iter().map(|response| response.rect).collect();
        assert!(places.is_empty(), "{modifiers:?}: {places:?}");
        stops
    });
    assert!(forwards.len() > 30, "{}", forwards.len());
    assert_eq!(forwards, backwards);
}

#[test]
fn the_palette_shows_keys() {
    let mut harness = open("asia");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run_steps(3);
    harness.get_by_label_contains("Undo");
    assert!(harness.query_all_by_label_contains("Ctrl+Z").next().is_some());
}

#[test]
fn the_menu_says_that_improving_the_tree_changes_the_triangulation() {
    let mut harness = open("asia");
    harness.get_by_label("Tree").click();
    harness.run_steps(3);
    harness.get_by_label("Improve the tree");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    let ctx = harness.ctx.clone();
    let other = Triangulation::ALL.into_iter().find(|method| *method != Triangulation::Auto);
    let other = other.expect("another triangulation");
    harness.state_mut().run_command(&ctx, EngineCommand::SetTriangulation(other));
    settle(&mut harness);
    harness.get_by_label("Tree").click();
    harness.run_steps(3);
    harness.get_by_label("Improve the tree with triangulation auto");
}

#[test]
fn in_a_narrow_window_no_text_of_the_status_line_is_cut() {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(NetworkSource::Named("munin4".to_owned()), Vec::new());
    let size = Vec2::new(800.0, 600.0);
    let mut harness = Harness::builder()
        .with_size(size)
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    for name in ["network", "engine", "largest clique", "entries", "ln P(e)", "propagation"] {
        let begin = format!("{name} ");
        let is_fact = |node: &egui_kittest::Node<'_>| {
            let node = node.accesskit_node();
            let text = node.label().or_else(|| node.value());
            text.is_some_and(|text| text.starts_with(&begin))
        };
        let facts: Vec<_> =
            harness.query_all_by_label_contains(&begin).filter(|node| is_fact(node)).collect();
        assert!(!facts.is_empty(), "{name}");
        for node in facts {
            let rect = node.rect();
            assert!(rect.right() <= size.x && rect.bottom() <= size.y, "{name}: {rect:?}");
        }
    }
}
