//! The paper's experiments: their results, and the recordings shown on machines without a GPU.

use std::sync::Arc;

use assert_cmd::Command;
use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions, MappingLayout, PaperOptions};
use cliquescope::experiment::{
    self, Cell, Cells, Experiment, MERGE_THRESHOLDS, MergeRule, Origin, PAPER_NETWORKS,
    PAPER_TRIANGULATION, Progress, Record, Recording, Scale, Series, Setup, Subject, chart::Legend,
    merged, paper,
};
use cliquescope::graph::{Triangulation, TriangulationOptions, predicates};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, Watch, compile};

/// A setup for `networks` that takes little time.
fn setup(networks: &[&str]) -> Setup {
    let subjects = networks.iter().map(|name| Subject::sample(name).unwrap()).collect();
    Setup { repeat: 1, threads: 2, ..Setup::new(subjects) }
}

fn run(experiment: &Experiment, setup: &Setup) -> Record {
    experiment.run(setup, &Progress::new(CancelToken::new())).unwrap()
}

/// `network`, compiled with `triangulation` and without a search for a better tree.
fn compiled(network: &str, triangulation: Triangulation) -> CompiledNetwork {
    let network = Subject::sample(network).unwrap().network;
    let triangulation =
        TriangulationOptions { method: triangulation, restarts: 0, steps: 0, ..Default::default() };
    compile(
        network,
        &CompileOptions { triangulation, ..CompileOptions::default() },
        &CancelToken::new(),
    )
    .unwrap()
}

/// The rows and cells of a CSV text (RFC 4180).
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(!quoted && cell.is_empty() && row.is_empty(), "the last line is complete");
    rows
}

/// The element names of an SVG document.
///
/// # Panics
/// If the document is not well-formed.
fn elements(svg: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(svg);
    let (mut names, mut open) = (Vec::new(), 0);
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(element) => {
                open += 1;
                names.push(String::from_utf8(element.name().as_ref().to_vec()).unwrap());
                element.attributes().for_each(|attribute| drop(attribute.unwrap()));
            }
            quick_xml::events::Event::Empty(element) => {
                names.push(String::from_utf8(element.name().as_ref().to_vec()).unwrap());
                element.attributes().for_each(|attribute| drop(attribute.unwrap()));
            }
            quick_xml::events::Event::End(_) => open -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, 0);
    names
}

/// Checks that the titles and the credits of an SVG document end before its right edge. Assumes
/// that a character is 0.56 times as wide as the font size, an average for Helvetica.
fn assert_lines_fit(svg: &str, name: &str) {
    let attribute = |line: &str, name: &str| -> f64 {
        let (_, value) = line.split_once(&format!(" {name}='")).expect("the attribute");
        value.split('\'').next().unwrap().parse().unwrap()
    };
    let width = attribute(svg, "width");
    let lines: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text x='16.0'")).collect();
    assert!(lines.len() >= 3, "{name}: a title, credits and the title of a figure");
    for line in lines {
        let text = line.split(['<', '>']).nth(2).unwrap();
        let length = 0.56 * attribute(line, "font-size") * text.chars().count() as f64;
        assert!(attribute(line, "x") + length <= width, "{name}: {width} pixels for '{text}'");
    }
}

/// Checks that JSON and CSV are read back unchanged and that the SVG has at least one shape for
/// each point.
fn assert_exports_everything(record: &Record) {
    let name = &record.experiment;
    let json = serde_json::to_string(record).unwrap();
    assert_eq!(&Record::read(&json).unwrap(), record, "{name}");
    assert!(!record.tables.is_empty() && !record.figures.is_empty(), "{name}");
    for table in record.tables.iter().chain([&record.about()]) {
        let rows = parse_csv(&table.csv());
        assert_eq!(rows.len(), table.rows() + 1, "{name} {}", table.name);
        assert!(rows.iter().all(|row| row.len() == table.columns.len()), "{name}");
        for (index, column) in table.columns.iter().enumerate() {
            for (row, cells) in rows[1..].iter().enumerate() {
                match column.cells.cell(row) {
                    Cell::Text(text) => assert_eq!(cells[index], text),
                    Cell::Count(count) => assert_eq!(cells[index].parse(), Ok(count)),
                    Cell::Number(number) => assert_eq!(cells[index].parse(), Ok(number)),
                    Cell::Empty => assert_eq!(cells[index], ""),
                }
            }
        }
    }
    let svg = record.svg();
    assert_lines_fit(&svg, name);
    let names = elements(&svg);
    assert_eq!(names[0], "svg");
    let drawn = ["rect", "circle", "path", "polyline"];
    let points = record.figures.iter().flat_map(|figure| &figure.panels);
    let points = points.flat_map(|panel| panel.series.iter().map(|series| series.points.len()));
    let shapes = names.iter().filter(|name| drawn.contains(&name.as_str())).count();
    assert!(shapes > points.sum(), "{name}: fewer shapes than points");
}

fn numbers(record: &Record, table: &str, column: &str) -> Vec<Option<f64>> {
    let table = record.table(table).unwrap();
    match &table.column(column).unwrap().cells {
        Cells::Number(cells) => cells.clone(),
        Cells::Count(cells) => cells.iter().map(|n| n.map(|n| n as f64)).collect(),
        Cells::Text(_) => panic!("{column} holds text"),
    }
}

#[test]
fn every_experiment_runs_on_a_machine_without_a_gpu() {
    // Neither network is in the recording, so there are only measurements on the CPU.
    let on_the_cpu = Setup {
        engine: "cpu".to_owned(),
        baseline: "sequential".to_owned(),
        ..setup(&["asia", "alarm"])
    };
    for experiment in experiment::all() {
        let record = run(experiment, &on_the_cpu);
        assert_exports_everything(&record);
        assert_eq!(record.settings[0].1, "asia alarm");
    }
    let speedups = run(experiment::by_name("fig6").unwrap(), &on_the_cpu);
    let measured = numbers(&speedups, "speedups", "speedup");
    assert!(measured.len() == 2 && measured.iter().all(|s| s.is_some_and(|s| s > 0.0)));
    let table = speedups.table("speedups").unwrap();
    assert_eq!(table.column("speedup").unwrap().origin, Some(Origin::Live));
    assert_eq!(table.column("speedup_predicted").unwrap().origin, Some(Origin::Predicted));
    assert!(speedups.recorded.is_empty());
    assert_eq!(speedups.propagations, Some([1, 1]));
}

#[test]
fn every_experiment_uses_the_recording_on_request() {
    let recorded = Setup { prefer_recorded: true, ..setup(&["mildew", "pigs", "water"]) };
    for experiment in experiment::all() {
        let record = run(experiment, &recorded);
        assert_exports_everything(&record);
        let missing = |note: &&String| note.contains("does not hold");
        assert_eq!(record.notes.iter().find(missing), None, "{}", experiment.name);
        assert_eq!(record.recorded.is_empty(), experiment.name == "fig4", "{}", experiment.name);
        // The record reports the recording's number of propagations, not the setup's.
        let gives_repeats =
            record.notes.iter().any(|note| note.starts_with("Each time is the median of "));
        assert_eq!(gives_repeats, record.propagations.is_some_and(|[fewest, _]| fewest > 1));
        assert_eq!(gives_repeats, experiment.name != "fig4", "{}", experiment.name);
        let mut series = record.figures.iter().flat_map(|f| &f.panels).flat_map(|p| &p.series);
        assert!(series.all(|series| series.origin != Origin::Live));
        let mut points = record.figures.iter().flat_map(|f| &f.panels).flat_map(|p| &p.series);
        assert!(points.all(|s| s.points.iter().all(|p| p.x.is_finite() && p.y.is_finite())));
    }
}

#[test]
fn five_trees_of_table_1_have_the_sizes_in_the_paper() {
    // The trees of the three Munin networks differ slightly from the paper's.
    let names = ["mildew", "diabetes", "barley", "pigs", "water"];
    let setup = Setup { prefer_recorded: true, ..setup(&names) };
    let record = run(experiment::by_name("table1").unwrap(), &setup);
    for name in ["cliques", "max_clique", "min_clique", "max_separator", "min_separator"] {
        let ours = numbers(&record, "trees", name);
        assert_eq!(ours, numbers(&record, "trees", &format!("{name}_paper")), "{name}");
    }
    for name in ["mean_clique", "mean_separator"] {
        let printed = numbers(&record, "trees", &format!("{name}_paper"));
        for (ours, printed) in numbers(&record, "trees", name).iter().zip(printed) {
            assert!((ours.unwrap() - printed.unwrap()).abs() <= 1.0, "{name} {ours:?} {printed:?}");
        }
    }
    let same = record.notes.iter().filter(|note| note.contains("the sizes that the paper prints"));
    assert_eq!(same.count(), names.len());
}

#[test]
fn the_model_counts_messages_and_reports_a_violated_bound() {
    let setup = Setup { prefer_recorded: true, ..setup(&["pigs", "water"]) };
    let record = run(experiment::by_name("model").unwrap(), &setup);
    let messages: Vec<_> = numbers(&record, "networks", "messages").into_iter().flatten().collect();
    let cliques = ["pigs", "water"].map(|name| paper::table_1(name).unwrap().cliques);
    assert_eq!(messages, cliques.map(|n| 2.0 * (n as f64 - 1.0)));
    let violation =
        record.notes.iter().find(|note| note.starts_with("pigs: the lower bound says 3"));
    assert!(violation.is_some(), "pigs violates the lower bound: {:?}", record.notes);
    let ratios = record.notes.iter().filter(|note| note.contains("as long for an entry as"));
    assert_eq!(ratios.count(), 1, "one ratio for the whole fit, not one for each network");
}

#[test]
fn the_readme_the_notes_and_the_figure_give_the_same_share_of_launches_on_pigs() {
    let share = |triangulation: Triangulation| {
        let setup = Setup { prefer_recorded: true, triangulation, ..setup(&["pigs"]) };
        let record = run(experiment::by_name("fig7").unwrap(), &setup);
        let share = numbers(&record, "gpu-paper", "overhead_share")[0].unwrap();
        let text = format!("{:.0}%", 100.0 * share);
        let tree = triangulation.name();
        let has_printed = |engine| {
            let table = record.tables.iter().find(|table| table.name == engine).expect("a table");
            table.column("overhead_share_paper").is_some()
        };
        assert!(has_printed("gpu-paper") && !has_printed("gpu"), "the paper had no engine gpu");
        let note =
            format!("gpu-paper, on trees by {tree}: overhead is {text} of the time for pigs.");
        assert!(record.notes.contains(&note), "{:?}", record.notes);
        let figure = &record.figures[0].panels[1];
        assert_eq!(figure.y.value_text(figure.series[0].points[0].y.round()), text);
        text
    };
    let (paper, auto) = (share(PAPER_TRIANGULATION), share(Triangulation::Auto));
    let readme = include_str!("../README.md");
    assert!(readme.contains(&format!("kernel launches take {paper} of the time")));
    assert!(readme.contains(&format!("launches take {auto}.")));
    let setup = Setup { prefer_recorded: true, ..setup(&["pigs", "water"]) };
    let model = run(experiment::by_name("model").unwrap(), &setup);
    let pigs = model.notes.iter().find(|note| note.starts_with("pigs")).unwrap();
    assert!(
        pigs.contains(&format!("Launches and copies alone take {paper} of the time.")),
        "{pigs}"
    );
}

#[test]
fn no_line_connects_categories_and_every_series_of_dots_has_its_own_symbol() {
    let setup = Setup { prefer_recorded: true, ..setup(&["mildew", "pigs", "water"]) };
    for experiment in experiment::all() {
        let record = run(experiment, &setup);
        for figure in &record.figures {
            assert!(figure.across <= 2, "{}", experiment.name);
            let legend = Legend::of(&figure.panels);
            for panel in &figure.panels {
                let is_named = matches!(panel.x.scale, Scale::Categories(_));
                let joined = |series: &Series| series.is_joined(&panel.x.scale);
                assert!(!is_named || !panel.series.iter().any(joined), "{}", experiment.name);
                let dots = panel.series.iter().filter(|series| series.stack().is_none());
                let mut markers: Vec<_> = Vec::new();
                for series in dots {
                    let marker = legend.marker(series);
                    assert!(!markers.contains(&marker), "{}: {}", experiment.name, series.label);
                    markers.push(marker);
                }
            }
        }
    }
}

#[test]
fn interleaved_mapping_tables_take_fewer_transactions() {
    let setup = Setup { prefer_recorded: true, ..setup(&["mildew", "water"]) };
    let record = run(experiment::by_name("fig8").unwrap(), &setup);
    let transactions = |layout| numbers(&record, "layouts", &format!("{layout}_transactions"));
    for (naive, interleaved) in transactions("naive").iter().zip(transactions("interleaved")) {
        let (naive, interleaved) = (naive.unwrap(), interleaved.unwrap());
        // The 32 words of a full warp lie in at least four transactions. A part of a
        // warp needs fewer.
        assert!(naive > 4.0 * interleaved && (1.0..=5.0).contains(&interleaved));
    }
    assert_eq!(numbers(&record, "addresses", "interleaved_0")[31], Some(31.0));
}

#[test]
fn the_shipped_recording_covers_the_paper_networks() {
    let shipped = Recording::shipped();
    assert!(!shipped.is_empty());
    for recording in shipped {
        assert!(recording.provenance.machine.gpu.is_some(), "recorded on a machine with a GPU");
        for network in PAPER_NETWORKS {
            for tree in ["weighted-min-fill", "auto"] {
                let recorded = recording.find(network, tree).unwrap();
                for engine in ["sequential", "cpu", "gpu"] {
                    let run = recorded.run(engine, PaperOptions::default()).unwrap();
                    assert!(run.trace.is_some() && run.propagate_us.median > 0.0);
                }
                for layout in MappingLayout::ALL {
                    let paper = PaperOptions { layout, ..PaperOptions::default() };
                    let run = recorded.run("gpu-paper", paper).unwrap();
                    let trace = run.trace.as_ref().unwrap();
                    assert_eq!(trace.messages.len(), recorded.messages.len());
                    assert!(run.overhead_us.unwrap() < run.propagate_us.median);
                }
            }
        }
    }
}

#[test]
fn recorded_trees_match_the_trees_compiled_now() {
    let recording = &Recording::shipped()[0];
    for network in ["mildew", "pigs", "water"] {
        for (triangulation, name) in
            [(PAPER_TRIANGULATION, "weighted-min-fill"), (Triangulation::Auto, "auto")]
        {
            let recorded = recording.find(network, name).unwrap();
            let compiled = compiled(network, triangulation);
            assert!(recorded.matches(&compiled), "{network} {name}: record it again");
            assert_eq!(&recorded.tree, compiled.statistics());
        }
    }
}

#[test]
fn merged_trees_are_junction_trees_with_the_same_posteriors() {
    for network in ["asia", "insurance"] {
        let plain = Arc::new(compiled(network, PAPER_TRIANGULATION));
        let mut evidence = Evidence::none();
        let variable = plain.network().ids().next().unwrap();
        evidence.observe(plain.network(), variable, 0);
        let posteriors = |compiled: &Arc<CompiledNetwork>| {
            let options = LoadOptions {
                precision: Precision::F64,
                threads: 1,
                memory: MemoryLimit::from_bytes(1 << 30),
                ..LoadOptions::default()
            };
            let mut loaded =
                engine::by_name("sequential").unwrap().load(compiled, &options).unwrap();
            let watch = Watch::untimed(CancelToken::new());
            engine::propagate(&mut *loaded, compiled, &evidence, &watch).unwrap()
        };
        let expected = posteriors(&plain);
        for rule in [MergeRule::All, MergeRule::Paying] {
            for threshold in MERGE_THRESHOLDS {
                let merged = merged(&plain, threshold, rule, &CancelToken::new()).unwrap();
                let (graph, fill) = (merged.moral_graph(), merged.fill_edges());
                let verdict = predicates::is_junction_tree(graph, fill, merged.tree());
                assert_eq!(verdict, Ok(()), "{network} {threshold}");
                for (a, b) in posteriors(&merged).values().iter().zip(expected.values()) {
                    assert!((a - b).abs() < 1e-12, "{network} {threshold}: {a} {b}");
                }
            }
        }
        let merged = merged(&plain, 512, MergeRule::All, &CancelToken::new()).unwrap();
        let cliques = merged.tree().cliques().len();
        assert_eq!(cliques < plain.tree().cliques().len(), network == "insurance", "{network}");
    }
}

#[test]
fn a_cancelled_experiment_ends_with_an_error() {
    let progress = Progress::new(CancelToken::new());
    progress.cancel_token().cancel();
    for experiment in experiment::all() {
        let outcome = experiment.run(&setup(&["asia"]), &progress);
        assert!(matches!(outcome, Err(experiment::ExperimentError::Cancelled(_))));
    }
}

#[test]
fn the_experiment_command_writes_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results").display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("cliquescope").unwrap();
        command.arg("experiment").args(arguments).args(["--out", &out]).assert()
    };
    run(&["fig4", "--networks", "asia", "alarm"]).success();
    run(&["fig7", "--recorded", "--networks", "pigs"]).success();
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join("results").join(name)).unwrap();
    assert_eq!(parse_csv(&read("fig4.csv"))[0], ["from_entries", "below_entries", "asia", "alarm"]);
    assert!(read("fig7.csv").contains("overhead_us (recorded)"));
    assert!(parse_csv(&read("fig7-gpu.csv")).len() == 2);
    assert!(read("fig7-about.csv").contains("recorded on NVIDIA"));
    assert!(read("fig7.svg").contains("recorded on NVIDIA"));
    elements(&read("fig4.svg"));
    assert_eq!(Record::read(&read("fig7.json")).unwrap().experiment, "fig7");
    run(&["fig9"]).code(2);
    let output =
        run(&["fig4", "--networks", "asia", "--engine", "cpu", "--block-size", "64", "--force"]);
    let stderr = String::from_utf8(output.success().get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("warning: fig4 does not use --engine\n"), "{stderr}");
    assert!(stderr.contains("warning: fig4 does not use --block-size and --layout\n"), "{stderr}");
    let output =
        run(&["fig6", "--networks", "asia", "alarm", "--recorded", "--repeat", "3", "--force"]);
    let stderr = String::from_utf8(output.success().get_output().stderr.clone()).unwrap();
    assert!(!stderr.contains("does not use"), "{stderr}");
    run(&["fig4", "--networks", "no-such-network"]).code(1);
}
