//! The window, driven by its accessible labels, without a display.
#![cfg(feature = "app")]

mod common;

use cliquescope::app::state::command::{
    CaseCommand, CaseFileCommand, Command, DocumentCommand, EngineCommand, EvidenceCommand,
    ExperimentCommand, HistoryCommand, TreeCommand, ViewCommand,
};
use cliquescope::app::state::document::Document;
use cliquescope::app::state::highlight::Item;
use cliquescope::app::state::long_case_file::LongCaseFile;
use cliquescope::app::state::pane::Pane;
use cliquescope::app::{Settings, Workbench};
use cliquescope::cancel::CancelToken;
use cliquescope::format::NetworkSource;
use cliquescope::graph::{KnownOrders, MoralGraph, eliminate_in_order};
use cliquescope::network::Finding;
use common::large::{hub_and_chain, limit_for_an_observed_hub};
use common::window::{open, open_with, settle, show, wait_for};
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

/// The posterior probability of `state` of `variable`.
fn posterior(harness: &Harness<'_, Workbench>, variable: &str, state: &str) -> f64 {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let id = document.network().find(variable).expect("a variable of the network");
    let state = document.network()[id].state_index(state).expect("a state of the variable");
    document.result.as_ref().expect("posteriors").posteriors.of(id)[state]
}

fn document<'a>(harness: &'a Harness<'_, Workbench>) -> &'a Document {
    harness.state().model().document.as_ref().expect("a network is open")
}

fn evidence_count(harness: &Harness<'_, Workbench>) -> usize {
    harness.state().model().document.as_ref().map_or(0, |document| document.evidence.len())
}

#[test]
fn a_click_observes_a_state_and_a_second_click_retracts_it() {
    let mut harness = open("asia");
    assert!((posterior(&harness, "lung", "yes") - 0.055).abs() < 1e-9);
    harness.get_by_label_contains("lung = yes: 5.50%");

    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
    harness.get_by_label_contains("lung = yes: 48.87%");

    harness.get_by_label_contains("asia = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("lung = yes: 37.15%");

    harness.get_by_label("Retract asia").click();
    settle(&mut harness);
    harness.get_by_label_contains("xray = yes:").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.get_by_label_contains("lung = yes: 5.50%");
}

#[test]
fn a_state_stays_in_place_when_it_is_clicked() {
    let mut harness = open("asia");
    let position = |harness: &Harness<'_, Workbench>| {
        harness.get_by_label_contains("lung = no:").rect().center()
    };
    let before = position(&harness);
    for clicked in ["bronc = no:", "smoke = yes:", "asia = no:", "lung = no:"] {
        harness.get_by_label_contains(clicked).click();
        settle(&mut harness);
        assert_eq!(position(&harness), before, "after {clicked}");
    }
    assert_eq!(evidence_count(&harness), 4);
}

#[test]
fn clearing_the_evidence_can_be_undone_and_redone() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("smoke = no").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness.get_by_label("Clear all").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
}

fn is_stepping(harness: &Harness<'_, Workbench>) -> bool {
    harness.state().model().stepping.is_some()
}

#[test]
fn shortcuts_work_while_a_button_has_the_focus() {
    let mut harness = open("asia");
    harness.get_by_label("smoke").focus();
    harness.run_steps(2);
    harness.key_press(Key::F1);
    harness.run_steps(3);
    harness.get_by_label("observe it; click again to retract it");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label("observe it; click again to retract it").is_none());
    harness.get_by_label("smoke").focus();
    harness.run_steps(2);
    harness.key_press(Key::F8);
    harness.run_steps(3);
    assert!(is_stepping(&harness));
}

#[test]
fn editing_keys_go_to_the_focused_text_field() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("smoke");
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Delete);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1, "the keys edit the text");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    assert!(is_stepping(&harness), "function keys work while a text field has the focus");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

#[test]
fn undo_restores_the_evidence_of_a_reopened_network() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("smoke = no").click();
    settle(&mut harness);
    let ctx = harness.ctx.clone();
    let open = |harness: &mut Harness<'_, Workbench>, name: &str| {
        let source = NetworkSource::Named(name.to_owned());
        harness.state_mut().run_command(&ctx, DocumentCommand::Open(source));
        wait_for(harness, |workbench| {
            let document = workbench.model().document.as_ref();
            document.is_some_and(|document| document.title() == name) && workbench.is_settled()
        });
    };
    open(&mut harness, "cancer");
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0, "this network had no evidence");
    open(&mut harness, "asia");
    assert_eq!(evidence_count(&harness), 0, "nothing is restored without asking");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);

    // The undo history survives a restart of the program and a reload of the network.
    let stored =
        serde_json::to_string(&harness.state().settings()).expect("settings can be serialised");
    let stored: Settings = serde_json::from_str(&stored).expect("settings that were just written");
    let mut harness = open_with(stored.clone(), "asia");
    assert_eq!(evidence_count(&harness), 0);
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness
        .state_mut()
        .run_command(&ctx, EvidenceCommand::Retract(cliquescope::network::VariableId::new(2)));
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.state_mut().run_command(&ctx, DocumentCommand::Reload);
    harness.run_steps(2);
    wait_for(&mut harness, Workbench::is_settled);
    assert_eq!(evidence_count(&harness), 1);
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "a reload keeps the undo history");

    // Evidence that the user cleared is not restored in the next run.
    let mut harness = open_with(stored, "asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, EvidenceCommand::Clear);
    settle(&mut harness);
    let mut harness = open_with(harness.state().settings(), "asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
}

#[test]
fn undo_restores_a_removed_or_replaced_case() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = open("asia");
    harness.state_mut().store_in(folder.path());
    let ctx = harness.ctx.clone();
    let run = |harness: &mut Harness<'_, Workbench>, command: Command| {
        harness.state_mut().run_command(&ctx, command);
        settle(harness);
    };
    let cases = |harness: &Harness<'_, Workbench>| -> Vec<(u64, String, usize)> {
        let document = harness.state().model().document.as_ref().expect("a network is open");
        let cases = document.cases.iter();
        cases.map(|case| (case.number, case.name.clone(), case.evidence.len())).collect()
    };
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    run(&mut harness, Command::Case(CaseCommand::Add("ill".to_owned())));
    run(&mut harness, Command::Evidence(EvidenceCommand::Clear));
    run(&mut harness, Command::Case(CaseCommand::Add("well".to_owned())));
    let (ill, well) = ((1, "ill".to_owned(), 1), (2, "well".to_owned(), 0));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    run(&mut harness, Command::Case(CaseCommand::Replace(1)));
    run(&mut harness, Command::Case(CaseCommand::Remove(1)));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [(1, "ill".to_owned(), 0), well.clone()], "at its old position");
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    run(&mut harness, Command::History(HistoryCommand::Redo));
    run(&mut harness, Command::History(HistoryCommand::Redo));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(evidence_count(&harness), 1, "then the cleared evidence is restored");
    drop(harness);

    // The cases on disk are the cases on screen.
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.store_in(folder.path());
    workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    let stored = cases(&harness).into_iter().map(|(_, name, findings)| (name, findings));
    let mut stored: Vec<_> = stored.collect();
    stored.sort();
    assert_eq!(stored, [("ill".to_owned(), 1), ("well".to_owned(), 0)]);
}

#[test]
fn impossible_evidence_is_reported_and_can_be_retracted() {
    let mut harness = open("asia");
    harness.get_by_label_contains("tub = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("either = no").click();
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let impossible = document.impossible.clone().expect("the evidence is impossible");
    assert_eq!(impossible.conflict.len(), 2);
    harness.get_by_label("-∞");
    harness.get_by_label("Retract either").click();
    settle(&mut harness);
    assert!(posterior(&harness, "tub", "yes") > 0.999_999);
}

#[test]
fn without_auto_new_evidence_waits_and_old_posteriors_stay_on_screen() {
    let mut harness = open("asia");
    harness.get_by_label("Auto").click();
    harness.run_steps(2);
    harness.get_by_label_contains("xray = yes").click();
    harness.run_steps(3);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert!(document.is_stale());
    assert!((posterior(&harness, "lung", "yes") - 0.055).abs() < 1e-9);
    harness.get_by_label("1.0000 (stale)");
    harness.get_by_label("Propagate").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn a_search_shows_only_matching_variables() {
    let mut harness = open("asia");
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("bron");
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("bronc = yes").is_some());
    assert!(harness.query_by_label_contains("lung = yes").is_none());
}

#[test]
fn the_window_stops_repainting_when_nothing_changes() {
    for network in ["asia", "munin4"] {
        let mut harness = open(network);
        harness.run_steps(10);
        // Panics if the window keeps requesting frames.
        harness.run();
    }
}

#[test]
fn a_failed_open_keeps_the_current_network() {
    let mut harness = open("asia");
    harness.state_mut().open(NetworkSource::Named("no/such/file.bif".to_owned()), Vec::new());
    settle(&mut harness);
    let model = harness.state().model();
    assert!(model.failure.as_ref().is_some_and(|failure| failure.contains("no/such/file.bif")));
    assert_eq!(model.document.as_ref().map(|document| document.title()), Some("asia".to_owned()));
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn an_error_is_shown_in_full_until_it_is_dismissed() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("broken.bif");
    std::fs::write(&path, "network x { } garbage").expect("a writable folder");
    let mut harness = open("asia");
    let bars = harness.get_by_label_contains("xray = yes").rect();
    harness.state_mut().open(NetworkSource::File(path.clone()), Vec::new());
    settle(&mut harness);
    harness.get_by_label_contains("broken.bif:1:15: expected");
    assert_eq!(
        harness.get_by_label_contains("xray = yes").rect(),
        bars,
        "the layout does not move"
    );
    harness.get_by_label("Dismiss").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("expected").is_none());
    // The error is also shown while the network that stays open is still being compiled.
    harness.state_mut().open(NetworkSource::Named("munin4".to_owned()), Vec::new());
    wait_for(&mut harness, |workbench| {
        workbench.model().document.as_ref().is_some_and(|document| document.title() == "munin4")
    });
    harness.state_mut().open(NetworkSource::File(path), Vec::new());
    settle(&mut harness);
    wait_for(&mut harness, |workbench| workbench.model().compiled().is_some());
    harness.run_steps(5);
    harness.get_by_label_contains("broken.bif:1:15: expected");
}

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
    harness.get_by_label_contains("what the evidence leaves may be small enough");
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
    harness.get_by_label_contains("what the evidence leaves may be small enough");
    assert_eq!(entries(harness.state()), whole);
}

#[test]
fn with_a_likelihood_above_one_the_probability_is_labelled_as_scaled() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let network = harness.state().model().document.as_ref().expect("a network is open").network();
    let dysp = network.find("dysp").expect("a variable of the network");
    for (weight, name, other) in [(50.0, "P(e) scaled", "P(e)"), (0.5, "P(e)", "P(e) scaled")] {
        let finding = Finding::Likelihood([0.1, weight].into());
        harness.state_mut().run_command(&ctx, EvidenceCommand::Set(dysp, finding));
        settle(&mut harness);
        harness.get_by_label(name);
        assert!(harness.query_by_label(other).is_none());
    }
}

#[test]
fn a_narrow_window_moves_the_options_below_the_menus() {
    for (width, is_narrow) in [(1440.0, false), (640.0, true)] {
        let mut harness = open("asia");
        harness.set_size(egui::vec2(width, 600.0));
        harness.run_steps(3);
        let help = harness.get_by_label("Help").rect();
        let choice = harness.get_by_label("Triangulation").rect();
        assert!(!help.intersects(choice) && choice.left() >= 0.0);
        assert_eq!(choice.top() >= help.bottom(), is_narrow);
        assert!(harness.get_by_label("Propagate").rect().right() <= width);
    }
}

#[test]
fn a_sample_is_opened_from_the_palette() {
    let mut harness = open("asia");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run_steps(3);
    harness.input_mut().events.push(egui::Event::Text("sample cancer".to_owned()));
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert_eq!(document.title(), "cancer");
}

#[test]
fn a_file_and_its_elimination_order_are_stored_in_the_settings() {
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
    assert_eq!(settings.recent.len(), 1, "the file was stored");
    harness.get_by_label_contains("d = y").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

/// Writes a network of six variables in a ring to a file. Returns the path of the file and an
/// elimination order with needlessly large cliques.
fn ring_with_a_poor_order(folder: &std::path::Path) -> (String, KnownOrders) {
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
    // Eliminating variables with few states first adds fill edges between variables with many
    // states.
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

#[test]
fn an_experiment_is_run_exported_and_opened_again() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Experiments));
    harness.run_steps(3);
    harness.get_by_label_contains("Figure 4").click();
    harness.run_steps(3);
    harness.get_by_label("none").click();
    harness.run_steps(2);
    harness.get_by_label("cancer").click();
    harness.run_steps(2);
    harness.get_by_label("Run the experiment").click();
    harness.run_steps(2);
    let results = |workbench: &Workbench| workbench.model().experiments.results.len();
    wait_for(&mut harness, |workbench| {
        assert_eq!(workbench.model().experiments.failure, None);
        results(workbench) == 1
    });
    // The result is shown without a further click.
    harness.run_steps(3);
    harness.get_by_label("Forget");
    let folder = tempfile::tempdir().expect("a folder for a test");
    let result = harness.state().model().experiments.results[0].clone();
    assert_eq!(result.record.experiment, "fig4");
    let out = folder.path().to_owned();
    harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(result.number, out));
    harness
        .state_mut()
        .run_command(&ctx, ExperimentCommand::OpenResult(folder.path().join("fig4-1.json")));
    harness.run_steps(3);
    let experiments = &harness.state().model().experiments;
    assert_eq!(experiments.results.len(), 2);
    assert_eq!(experiments.results[1].record, result.record);
    assert_eq!(experiments.results[1].name, "fig4-1");
    for extension in ["svg", "csv"] {
        assert!(folder.path().join(format!("fig4-1.{extension}")).is_file());
    }
    // A second export replaces its own files. If a file of that name has other content, the export
    // writes all files under new names.
    let files = || std::fs::read_dir(folder.path()).expect("a folder for a test").count();
    let written = files();
    let csv = folder.path().join("fig4-1.csv");
    for other_content in [None, Some("mine")] {
        if let Some(text) = other_content {
            std::fs::write(&csv, text).expect("a writable folder");
        }
        let out = folder.path().to_owned();
        harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(result.number, out));
        harness.run_steps(3);
        assert_eq!(files(), if other_content.is_some() { 2 * written } else { written });
    }
    assert_eq!(std::fs::read_to_string(csv).expect("a file"), "mine");
    assert!(folder.path().join("fig4-1-2.csv").is_file());
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

#[test]
fn cases_are_answered_while_visible_and_can_be_saved_and_loaded() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("two.csv");
    std::fs::write(&path, "xray,tub,either\nyes,,\n,yes,no\n").expect("a writable folder");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::OpenCases(path));
    harness.get_by_label_contains("smoke = yes").click();
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, CaseCommand::Add("smoker".to_owned()));
    harness.run_steps(3);
    let answers = |workbench: &Workbench| {
        let document = workbench.model().document.as_ref().expect("a network is open");
        document.cases.iter().filter(|case| case.answer.is_some()).count()
    };
    assert_eq!(answers(harness.state()), 0, "the pane is hidden");
    harness.get_by_label("Cases").click();
    wait_for(&mut harness, |workbench| answers(workbench) == 3);
    harness.get_by_label("impossible");
    harness.get_by_label("48.9%");
    // A case with the same evidence as another case gets that case's answer.
    harness.state_mut().run_command(&ctx, CaseCommand::Add("again".to_owned()));
    harness.run_steps(3);
    wait_for(&mut harness, |workbench| answers(workbench) == 4);
    // A case can be recalled even if the current evidence is impossible.
    harness.get_by_label("Recall two 2").click();
    settle(&mut harness);
    assert!(harness.state().model().failure.is_some());
    harness.get_by_label("Recall smoker").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "recalling a case can be undone");

    let saved = folder.path().join("all.json");
    harness.state_mut().run_command(&ctx, CaseFileCommand::SaveCases(saved.clone()));
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(saved));
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1, "the first case was entered");
    for name in ["two 1", "two 2", "smoker"] {
        harness.get_by_label(&format!("Recall {name}"));
    }
}

#[test]
fn the_cases_of_a_long_file_are_read_as_they_are_shown() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("many.csv");
    let row = |number: usize| match number {
        4 => "maybe,\n".to_owned(),
        _ => format!("{},{}\n", ["yes", "no"][number % 2], ["", "yes"][number % 3 % 2]),
    };
    let rows: String = (1..=3000).map(row).collect();
    std::fs::write(&path, format!("smoke,xray\n{rows}")).expect("a writable folder");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(path.clone()));
    fn file(workbench: &Workbench) -> Option<&LongCaseFile> {
        workbench.model().document.as_ref()?.long_case_file.as_ref()
    }
    let is_read =
        |workbench: &Workbench| file(workbench).is_some_and(|file| file.case(0).is_some());
    wait_for(&mut harness, is_read);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "the first case was entered");
    harness.get_by_label("3,000 cases");
    harness.get_by_label("Enter case 2 of the file").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.get_by_label_contains("no state 'maybe'");
    harness.get_by_label("Add case 3 of the file").click();
    harness.run_steps(3);
    harness.get_by_label("Recall many 3");
    // Cases far away are read when they are wanted, and the last range that was wanted is shown.
    for range in [1000..1010, 2000..2010, 2990..3000] {
        harness.state_mut().run_command(&ctx, CaseFileCommand::ReadCases(range));
    }
    wait_for(&mut harness, |workbench| file(workbench).is_some_and(|file| file.has(&(2990..3000))));
    std::fs::write(&path, "smoke\nyes\n").expect("a writable folder");
    harness.state_mut().run_command(&ctx, CaseFileCommand::ReadCases(0..10));
    wait_for(&mut harness, |workbench| file(workbench).is_none());
    assert_eq!(harness.query_all_by_label("3,000 cases").count(), 0);
}

/// A dropped file as the windowing system delivers it.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

#[test]
fn the_window_says_what_dropping_a_file_will_do_and_does_it() {
    let mut harness = open("asia");
    let fixture = |file: &str| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file)
    };
    let hovered = |file: &str| egui::HoveredFile { path: Some(fixture(file)), mime: String::new() };

    harness.input_mut().hovered_files = vec![hovered("small.cas")];
    harness.step();
    harness.get_by_label("Drop to enter the evidence of small.cas");
    harness.input_mut().hovered_files = vec![hovered("small.cas"), hovered("small.net")];
    harness.step();
    harness.get_by_label("Drop to open small.net");
    harness.get_by_label("Only one file can be opened at a time: 1 ignored");

    harness.input_mut().hovered_files.clear();
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(fixture("small.net"))));
    settle(&mut harness);
    assert!(harness.query_by_label_contains("Drop to").is_none());
    let network = harness.state().model().document.as_ref().unwrap().network();
    assert!(network.find("rain").is_some());
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(fixture("small.cas"))));
    settle(&mut harness);
    assert!(evidence_count(&harness) > 0);
}
