//! The window, driven by its accessible labels, without a display.
#![cfg(feature = "app")]

mod common;

use cliquescope::app::state::command::{
    CaseCommand, CaseFileCommand, Command, DocumentCommand, EvidenceCommand, ExperimentCommand,
    HistoryCommand, TreeCommand, ViewCommand,
};
use cliquescope::app::state::highlight::Item;
use cliquescope::app::state::pane::Pane;
use cliquescope::app::{Settings, Workbench};
use cliquescope::cancel::CancelToken;
use cliquescope::format::NetworkSource;
use cliquescope::graph::{KnownOrders, MoralGraph, eliminate_in_order};
use cliquescope::network::Finding;
use common::window::{open, open_with, settle, wait_for};
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

fn posterior(harness: &Harness<'_, Workbench>, variable: &str, state: &str) -> f64 {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let id = document.network().find(variable).expect("the variable is there");
    let state = document.network()[id].state_index(state).expect("the state is there");
    document.result.as_ref().expect("posteriors are there").posteriors.of(id)[state]
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
fn a_state_stays_where_it_was_clicked() {
    let mut harness = open("asia");
    let at = |harness: &Harness<'_, Workbench>| {
        harness.get_by_label_contains("lung = no:").rect().center()
    };
    let before = at(&harness);
    for clicked in ["bronc = no:", "smoke = yes:", "asia = no:", "lung = no:"] {
        harness.get_by_label_contains(clicked).click();
        settle(&mut harness);
        assert_eq!(at(&harness), before, "after {clicked}");
    }
    assert_eq!(evidence_count(&harness), 4);
}

#[test]
fn evidence_is_cleared_and_brought_back() {
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
fn keys_do_what_they_are_for_whatever_button_has_the_focus() {
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
fn keys_that_edit_text_stay_in_the_field_that_is_typed_into() {
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
    assert_eq!(evidence_count(&harness), 1, "the text was meant");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    assert!(is_stepping(&harness), "no text is made by function keys");
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
fn what_was_known_of_a_network_is_entered_again_by_undo() {
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
    assert_eq!(evidence_count(&harness), 0, "nothing was known of this one");
    open(&mut harness, "asia");
    assert_eq!(evidence_count(&harness), 0, "nothing unasked");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);

    // It outlasts the run, and a change that is read from the file.
    let stored = serde_json::to_string(&harness.state().settings()).expect("plain data");
    let stored: Settings = serde_json::from_str(&stored).expect("what was written");
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
    assert_eq!(evidence_count(&harness), 2, "reading the file anew forgets no step");

    // What the user cleared is not offered again.
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
fn a_case_that_was_forgotten_or_replaced_is_brought_back_by_undo() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = open("asia");
    harness.state_mut().store_in(folder.path());
    let ctx = harness.ctx.clone();
    let ask = |harness: &mut Harness<'_, Workbench>, command: Command| {
        harness.state_mut().run_command(&ctx, command);
        settle(harness);
    };
    let cases = |harness: &Harness<'_, Workbench>| -> Vec<(u64, String, usize)> {
        let document = harness.state().model().document.as_ref().expect("a network is open");
        let told = document.cases.iter();
        told.map(|case| (case.number, case.name.clone(), case.evidence.len())).collect()
    };
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    ask(&mut harness, Command::Case(CaseCommand::Add("ill".to_owned())));
    ask(&mut harness, Command::Evidence(EvidenceCommand::Clear));
    ask(&mut harness, Command::Case(CaseCommand::Add("well".to_owned())));
    let (ill, well) = ((1, "ill".to_owned(), 1), (2, "well".to_owned(), 0));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    ask(&mut harness, Command::Case(CaseCommand::Replace(1)));
    ask(&mut harness, Command::Case(CaseCommand::Remove(1)));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    ask(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [(1, "ill".to_owned(), 0), well.clone()], "in its place");
    ask(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    ask(&mut harness, Command::History(HistoryCommand::Redo));
    ask(&mut harness, Command::History(HistoryCommand::Redo));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    ask(&mut harness, Command::History(HistoryCommand::Undo));
    ask(&mut harness, Command::History(HistoryCommand::Undo));
    ask(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(evidence_count(&harness), 1, "and evidence before that");
    drop(harness);

    // What is kept on the disk is what is seen.
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.store_in(folder.path());
    workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    let kept = cases(&harness).into_iter().map(|(_, name, findings)| (name, findings));
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    assert_eq!(kept, [("ill".to_owned(), 1), ("well".to_owned(), 0)]);
}

#[test]
fn impossible_evidence_is_named_and_can_be_retracted() {
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
fn without_auto_the_evidence_waits_and_old_posteriors_stay() {
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
fn a_search_leaves_the_variables_that_match() {
    let mut harness = open("asia");
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("bron");
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("bronc = yes").is_some());
    assert!(harness.query_by_label_contains("lung = yes").is_none());
}

#[test]
fn the_window_rests_when_nothing_changes() {
    for network in ["asia", "munin4"] {
        let mut harness = open(network);
        harness.run_steps(10);
        // Settles within a few frames, or `run` gives up with a panic.
        harness.run();
    }
}

#[test]
fn a_file_that_cannot_be_opened_leaves_the_network_open() {
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
fn what_failed_is_read_in_full_until_it_is_dismissed() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("broken.bif");
    std::fs::write(&path, "network x { } garbage").expect("it can be written to");
    let mut harness = open("asia");
    let bars = harness.get_by_label_contains("xray = yes").rect();
    harness.state_mut().open(NetworkSource::File(path.clone()), Vec::new());
    settle(&mut harness);
    harness.get_by_label_contains("broken.bif:1:15: expected");
    assert_eq!(harness.get_by_label_contains("xray = yes").rect(), bars, "nothing moves");
    harness.get_by_label("Dismiss").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("expected").is_none());
    // Also while much is still to be done for the network that stays open.
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
fn a_likelihood_above_one_makes_no_probability_above_one() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let network = harness.state().model().document.as_ref().expect("it is open").network();
    let dysp = network.find("dysp").expect("it is there");
    for (weight, name, other) in [(50.0, "P(e) scaled", "P(e)"), (0.5, "P(e)", "P(e) scaled")] {
        let finding = Finding::Likelihood([0.1, weight].into());
        harness.state_mut().run_command(&ctx, EvidenceCommand::Set(dysp, finding));
        settle(&mut harness);
        harness.get_by_label(name);
        assert!(harness.query_by_label(other).is_none());
    }
}

#[test]
fn a_narrow_window_has_the_choices_below_the_menus() {
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
fn a_tree_that_was_found_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("square.bif");
    let variable = |name| format!("variable {name} {{ type discrete [ 2 ] {{ y, n }}; }}\n");
    let text = ["a", "b", "c", "d"].map(variable).concat()
        + "probability ( a ) { table 0.3, 0.7; }\n"
        + "probability ( b | a ) { (y) 0.1, 0.9; (n) 0.6, 0.4; }\n"
        + "probability ( c | a ) { (y) 0.2, 0.8; (n) 0.5, 0.5; }\n"
        + "probability ( d | b, c ) { default 0.5, 0.5; }\n";
    std::fs::write(&path, text).expect("a folder for a test can be written to");
    let path = path.to_str().expect("a plain name").to_owned();

    let mut harness = open(&path);
    let settings = harness.state_mut().settings();
    assert_eq!(settings.orders.len(), 1, "the order was kept");
    assert_eq!(settings.recent.len(), 1, "the file was remembered");
    harness.get_by_label_contains("d = y").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

/// A ring of six variables as a file, and an order for it whose cliques are larger than need be.
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
    std::fs::write(&path, text).expect("a folder for a test can be written to");
    let path = path.to_str().expect("a plain name").to_owned();
    let network = cliquescope::format::open(&path).expect("it was just written").network;
    let graph = MoralGraph::of_network(&network);
    // Taking the variables with few states first connects those with many.
    let order = ["e", "r", "d", "b", "a", "c"].map(|name| network.find(name).unwrap());
    let poor = eliminate_in_order(&graph, &order, &CancelToken::new()).unwrap();
    let mut known = KnownOrders::default();
    known.insert(&graph, &poor.order, poor.total_entries(&graph));
    (path, known)
}

fn entries(workbench: &Workbench) -> u64 {
    workbench.model().compiled().map_or(0, |tree| tree.statistics().total_clique_entries)
}

#[test]
fn a_better_tree_is_found_beside_everything_else_and_used() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (path, orders) = ring_with_a_poor_order(folder.path());
    let mut harness = open_with(Settings { orders, ..Settings::default() }, &path);
    harness.get_by_label_contains("c = s3").click();
    settle(&mut harness);
    let (before, expected) = (entries(harness.state()), posterior(&harness, "e", "s0"));
    let compiled = harness.state().model().compiled().unwrap().clone();
    let e = compiled.network().find("e").unwrap();
    let kept = compiled.tree().clique_ids().find(|&clique| {
        let variables = &compiled.tree()[clique].variables;
        variables.len() == 3 && variables.binary_search(&e).is_ok()
    });
    let item = Item::Clique(kept.expect("the family of e is a clique of every tree"));
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
    assert_eq!(evidence_count(&harness), 1, "what was known is still known");
    assert!((posterior(&harness, "e", "s0") - expected).abs() < 1e-9);
    let (model, compiled) = (harness.state().model(), harness.state().model().compiled().unwrap());
    let Some(Item::Clique(clique)) = model.selected() else { panic!("{:?}", model.selected()) };
    assert!(compiled.tree()[*clique].variables.binary_search(&e).is_ok());
    let kept = harness.state_mut().settings().orders;
    assert_eq!(kept.entries(compiled_graph(&harness)), Some(best), "and found again next time");
}

fn compiled_graph<'h>(harness: &'h Harness<'_, Workbench>) -> &'h MoralGraph {
    harness.state().model().compiled().expect("it was compiled").moral_graph()
}

#[test]
fn every_network_is_improved_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (path, orders) = ring_with_a_poor_order(folder.path());
    let settings = Settings { orders, keep_improving: true, ..Settings::default() };
    let known = settings.orders.clone();
    let mut harness = open_with(settings, &path);
    let before = known.entries(compiled_graph(&harness)).unwrap();
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
fn an_experiment_is_run_kept_written_and_opened_again() {
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
    // What came of it is on screen by itself.
    harness.run_steps(3);
    harness.get_by_label("Forget");
    let folder = tempfile::tempdir().expect("a folder for a test");
    let kept = harness.state().model().experiments.results[0].clone();
    assert_eq!(kept.record.experiment, "fig4");
    let out = folder.path().to_owned();
    harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(kept.number, out));
    harness
        .state_mut()
        .run_command(&ctx, ExperimentCommand::OpenResult(folder.path().join("fig4-1.json")));
    harness.run_steps(3);
    let experiments = &harness.state().model().experiments;
    assert_eq!(experiments.results.len(), 2);
    assert_eq!(experiments.results[1].record, kept.record);
    assert_eq!(experiments.results[1].name, "fig4-1");
    for ending in ["svg", "csv"] {
        assert!(folder.path().join(format!("fig4-1.{ending}")).is_file());
    }
    // Written again it is the same; what else has the name is left as it is.
    let files = || std::fs::read_dir(folder.path()).expect("the folder").count();
    let written = files();
    let csv = folder.path().join("fig4-1.csv");
    for others in [None, Some("mine")] {
        if let Some(text) = others {
            std::fs::write(&csv, text).expect("it can be written to");
        }
        let out = folder.path().to_owned();
        harness.state_mut().run_command(&ctx, ExperimentCommand::ExportResult(kept.number, out));
        harness.run_steps(3);
        assert_eq!(files(), if others.is_some() { 2 * written } else { written });
    }
    assert_eq!(std::fs::read_to_string(csv).expect("a file"), "mine");
    assert!(folder.path().join("fig4-1-2.csv").is_file());
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

#[test]
fn cases_are_propagated_while_they_are_seen_and_go_through_files() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("two.csv");
    std::fs::write(&path, "xray,tub,either\nyes,,\n,yes,no\n").expect("it can be written to");
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
    assert_eq!(answers(harness.state()), 0, "nobody looks");
    harness.get_by_label("Cases").click();
    wait_for(&mut harness, |workbench| answers(workbench) == 3);
    harness.get_by_label("impossible");
    harness.get_by_label("48.9%");
    // What says the same as another case is answered as that was.
    harness.state_mut().run_command(&ctx, CaseCommand::Add("again".to_owned()));
    harness.run_steps(3);
    wait_for(&mut harness, |workbench| answers(workbench) == 4);
    // What is on screen may be impossible; the cases can be recalled all the same.
    harness.get_by_label("Recall two 2").click();
    settle(&mut harness);
    assert!(harness.state().model().failure.is_some());
    harness.get_by_label("Recall smoker").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "recalling can be taken back");

    let saved = folder.path().join("all.json");
    harness.state_mut().run_command(&ctx, CaseFileCommand::SaveCases(saved.clone()));
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(saved));
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1, "the first of them was entered");
    for name in ["two 1", "two 2", "smoker"] {
        harness.get_by_label(&format!("Recall {name}"));
    }
}

/// A file as a window system hands it over.
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
fn a_file_over_the_window_says_what_becomes_of_it_and_becomes_it() {
    let mut harness = open("asia");
    let small = |file: &str| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file)
    };
    let over = |file: &str| egui::HoveredFile { path: Some(small(file)), mime: String::new() };

    harness.input_mut().hovered_files = vec![over("small.cas")];
    harness.step();
    harness.get_by_label("Drop to enter the evidence of small.cas");
    harness.input_mut().hovered_files = vec![over("small.cas"), over("small.net")];
    harness.step();
    harness.get_by_label("Drop to open small.net");
    harness.get_by_label("Only one file can be opened at a time: 1 ignored");

    harness.input_mut().hovered_files.clear();
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(small("small.net"))));
    settle(&mut harness);
    assert!(harness.query_by_label_contains("Drop to").is_none());
    let network = harness.state().model().document.as_ref().unwrap().network();
    assert!(network.find("rain").is_some());
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(small("small.cas"))));
    settle(&mut harness);
    assert!(evidence_count(&harness) > 0);
}
