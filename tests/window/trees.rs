//! The tree: networks that are too large, stored elimination orders, the search for better trees.

use std::path::Path;

use cliquescope::app::state::command::{EngineCommand, EvidenceCommand, TreeCommand, ViewCommand};
use cliquescope::app::state::highlight::Item;
use cliquescope::app::{Settings, Workbench};
use cliquescope::cancel::CancelToken;
use cliquescope::graph::{KnownOrders, MoralGraph, eliminate_in_order};
use eframe::egui;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::common::large::{hub_and_chain, limit_for_an_observed_hub};
use crate::common::window::{open, open_with, settle, show, wait_for};
use crate::{document, evidence_count, posterior};

#[test]
fn a_network_that_is_too_large_is_propagated_once_its_evidence_makes_it_small() {
    let mut workbench = Workbench::new(Settings::default(), || {});
    let ctx = egui::Context::default();
    let limit = Some(limit_for_an_observed_hub());
    workbench.run_command(&ctx, EngineCommand::SetMemoryLimit(limit));
    workbench.open(hub_and_chain(), Vec::new());
    let mut harness = show(workbench);
    let network = document(&harness).network().clone();
    let (hub, other) = (network.find("x0").unwrap(), network.find("x3").unwrap());
    let set = |harness: &mut Harness<'_, Workbench>, command: EvidenceCommand| {
        let ctx = harness.ctx.clone();
        harness.state_mut().run_command(&ctx, command);
        settle(harness);
    };
    let whole = entries(harness.state());
    harness.get_by_label_contains("too large for engine cpu in f64: ");
    harness.get_by_label_contains("Observe some variables: the network without them may be small");
    assert!(harness.query_by_label("Given the evidence").is_none(), "this is the whole tree");
    assert!(document(&harness).result.is_none());

    set(&mut harness, EvidenceCommand::Toggle(other, 1));
    harness.get_by_label_contains("too large for engine cpu in f64 even given the evidence: ");
    harness.get_by_label_contains("Observe more variables");

    set(&mut harness, EvidenceCommand::Toggle(hub, 7));
    assert!(harness.query_by_label_contains("too large").is_none());
    harness.get_by_label("Given the evidence");
    assert!(entries(harness.state()) * 100 < whole);
    let p = posterior(&harness, "x4", "2");
    assert!(p > 0.0 && p < 1.0);
    let trace = document(&harness).trace().expect("a trace of this tree");
    assert!(!trace.messages.is_empty());
    assert!(!document(&harness).is_stale());

    set(&mut harness, EvidenceCommand::Retract(hub));
    harness.get_by_label_contains("even given the evidence");
    set(&mut harness, EvidenceCommand::Clear);
    harness.get_by_label_contains("Observe some variables: the network without them may be small");
    assert_eq!(entries(harness.state()), whole);
}

#[test]
fn the_path_and_the_elimination_order_of_a_file_are_stored_in_the_settings() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("square.bif");
    let variable = |name| format!("variable {name} {{ type discrete [ 2 ] {{ y, n }}; }}\n");
    let text = ["a", "b", "c", "d"].map(variable).concat()
        + "probability ( a ) { table 0.3, 0.7; }\n"
        + "probability ( b | a ) { (y) 0.1, 0.9; (n) 0.6, 0.4; }\n"
        + "probability ( c | a ) { (y) 0.2, 0.8; (n) 0.5, 0.5; }\n"
        + "probability ( d | b, c ) { default 0.5, 0.5; }\n";
    std::fs::write(&path, text).expect("a writable folder");
    let path = path.to_str().expect("a UTF-8 path").to_owned();

    let mut harness = open(&path);
    let settings = harness.state_mut().settings();
    assert_eq!(settings.orders.len(), 1, "the order was stored");
    assert_eq!(settings.recent.len(), 1, "the path was stored");
    harness.get_by_label_contains("d = y").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

/// Writes a network of six variables in a ring to a file. Returns the path of the file and an
/// elimination order with needlessly large cliques.
fn ring_with_a_poor_order(folder: &Path) -> (String, KnownOrders) {
    let arcs = ["a | r", "b | r", "c | a", "d | b", "e | c, d"];
    let names = ["r", "a", "b", "c", "d", "e"];
    let mut text: String = (names.iter().zip([2, 9, 2, 7, 2, 2]))
        .map(|(name, states)| {
            let labels: Vec<String> = (0..states).map(|state| format!("s{state}")).collect();
            let labels = labels.join(", ");
            format!("variable {name} {{ type discrete [ {states} ] {{ {labels} }}; }}\n")
        })
        .collect();
    let uniform = |states: usize| vec![(1.0 / states as f64).to_string(); states].join(", ");
    text += "probability ( r ) { table 0.3, 0.7; }\n";
    for (arc, states) in arcs.iter().zip([9, 2, 7, 2, 2]) {
        text += &format!("probability ( {arc} ) {{ default {}; }}\n", uniform(states));
    }
    let path = folder.join("ring.bif");
    std::fs::write(&path, text).expect("a writable folder");
    let path = path.to_str().expect("a UTF-8 path").to_owned();
    let network = cliquescope::format::open(&path).expect("it was just written").network;
    let graph = MoralGraph::of_network(&network);
    // The fill edges of this order join `b` with `a` and with `c`, the variables with the most
    // states. A better order joins `r` with `c` and with `d`.
    let order = ["e", "r", "d", "b", "a", "c"].map(|name| network.find(name).unwrap());
    let poor = eliminate_in_order(&graph, &order, &CancelToken::new()).unwrap();
    let mut known = KnownOrders::default();
    known.insert(&graph, &poor.order, poor.total_entries(&graph));
    (path, known)
}

/// Total number of entries of all clique tables; 0 if no network is compiled.
fn entries(workbench: &Workbench) -> u64 {
    workbench.model().compiled().map_or(0, |tree| tree.statistics().total_clique_entries)
}

#[test]
fn a_better_tree_found_in_the_background_is_used() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (path, orders) = ring_with_a_poor_order(folder.path());
    let mut harness = open_with(Settings { orders, ..Settings::default() }, &path);
    harness.get_by_label_contains("c = s3").click();
    settle(&mut harness);
    let (before, expected) = (entries(harness.state()), posterior(&harness, "e", "s0"));
    let compiled = harness.state().model().compiled().unwrap().clone();
    let e = compiled.network().find("e").unwrap();
    let family_of_e = compiled.tree().clique_ids().find(|&clique| {
        let variables = &compiled.tree()[clique].variables;
        variables.len() == 3 && variables.binary_search(&e).is_ok()
    });
    let item = Item::Clique(family_of_e.expect("the family of e is a clique of every tree"));
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::Select(Some(item)));

    harness.get_by_label("Tree").click();
    harness.run_steps(3);
    harness.get_by_label("Improve the tree").click();
    wait_for(&mut harness, |workbench| {
        let improvement = workbench.model().improvement.as_ref();
        improvement.is_some_and(|improvement| improvement.has_ended())
            && entries(workbench) < before
    });
    settle(&mut harness);
    let best = harness.state().model().improvement.as_ref().unwrap().best();
    assert_eq!(entries(harness.state()), best);
    assert_eq!(evidence_count(&harness), 1, "the evidence is kept");
    assert!((posterior(&harness, "e", "s0") - expected).abs() < 1e-9);
    let (model, compiled) = (harness.state().model(), harness.state().model().compiled().unwrap());
    let Some(Item::Clique(clique)) = model.selected() else { panic!("{:?}", model.selected()) };
    assert!(compiled.tree()[*clique].variables.binary_search(&e).is_ok());
    let orders = harness.state_mut().settings().orders;
    assert_eq!(orders.entries(moral_graph_of(&harness)), Some(best), "stored for the next run");
}

fn moral_graph_of<'h>(harness: &'h Harness<'_, Workbench>) -> &'h MoralGraph {
    harness.state().model().compiled().expect("a compiled network").moral_graph()
}

#[test]
fn keep_improving_starts_a_search_that_can_be_stopped() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (path, orders) = ring_with_a_poor_order(folder.path());
    let settings = Settings { orders, keep_improving: true, ..Settings::default() };
    let known = settings.orders.clone();
    let mut harness = open_with(settings, &path);
    let before = known.entries(moral_graph_of(&harness)).unwrap();
    wait_for(&mut harness, |workbench| (1..before).contains(&entries(workbench)));
    settle(&mut harness);
    let mut harness = open("munin4");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, TreeCommand::SetKeepImproving(true));
    harness.run_steps(2);
    harness.get_by_label("improving the tree");
    harness.get_by_label("Stop").click();
    harness.run_steps(2);
    assert!(harness.state().model().improvement.is_none());
}
