//! Output and exit codes of the commands, as a user or a script runs them.

mod common;

use std::path::PathBuf;

use assert_cmd::Command;
use common::large::hub_and_chain_text;
use serde_json::Value;

fn cliquescope(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cliquescope"));
    command.args(arguments);
    command
}

/// Runs the program. Returns its exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = cliquescope(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The JSON output of a command, which must succeed.
fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = run(arguments);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Writes a file to a temporary folder. Returns the folder, which is removed when it is dropped,
/// and the path of the file.
fn file(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn is_close(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-9
}

#[test]
fn info_prints_the_sizes_of_the_network_and_its_tree() {
    let info = json(&["info", "asia", "--triangulation", "min-fill", "--json"]);
    assert_eq!(info["network"], "asia");
    assert_eq!(info["variables"], 8);
    assert_eq!(info["states"], 16);
    assert_eq!(info["arcs"], 8);
    assert_eq!(info["triangulation"], "min-fill");
    assert_eq!(info["cliques"], 6);
    assert_eq!(info["total_clique_entries"], 40);
    assert_eq!(info["max_clique_entries"], 8);
    assert_eq!(info["min_clique_entries"], 4);
    assert!(is_close(&info["mean_clique_entries"], 40.0 / 6.0));
    assert_eq!(info["total_separator_entries"], 16);
    assert_eq!(info["max_separator_entries"], 4);
    assert_eq!(info["min_separator_entries"], 2);
    assert!(is_close(&info["mean_separator_entries"], 16.0 / 5.0));
    assert!(info["depth"].as_u64().unwrap() >= 2);
    assert!(info["compile_ms"].as_f64().unwrap() >= 0.0);
    assert!(info["forecasts"].as_array().unwrap().iter().all(|f| f["fits"] == true));
    let (code, out, _) = run(&["info", "asia"]);
    assert_eq!(code, 0);
    for part in ["largest clique", "sequential", "separators"] {
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn query_prints_posteriors_and_ln_p_of_the_evidence_in_file_order() {
    let answer = json(&["query", "asia", "--evidence", "smoke=no", "--json"]);
    assert_eq!(keys(&answer), ["network", "engine", "precision", "cases"]);
    assert_eq!(answer["network"], "asia");
    assert_eq!(answer["engine"], "cpu");
    let case = &answer["cases"][0];
    assert_eq!(keys(case), ["ln_p_evidence", "posteriors"]);
    assert!(is_close(&case["ln_p_evidence"], 0.5_f64.ln()));
    let posteriors = &case["posteriors"];
    let order = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"];
    assert_eq!(keys(posteriors), order);
    assert_eq!(keys(&posteriors["dysp"]), ["yes", "no"]);
    // By hand: P(either) = 1 - (1 - 0.0104)(1 - 0.01), P(xray) = 0.05 + 0.93 P(either).
    assert!(is_close(&posteriors["either"]["yes"], 0.020296));
    assert!(is_close(&posteriors["xray"]["yes"], 0.05 + 0.93 * 0.020296));
    let (code, out, err) = run(&["query", "asia", "--evidence", "smoke=no"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("ln P(e)     -0.693147181\nP(e)        0.500000000\n"), "{out}");
    assert!(out.contains("either    yes     0.020296000\n"), "{out}");
}

#[test]
fn query_uses_the_chosen_engine_and_precision_and_accepts_a_seed() {
    let arguments = ["--engine", "sequential", "--precision", "f32", "--seed", "7", "--json"];
    let answer = json(&[&["query", "cancer"], &arguments[..]].concat());
    assert_eq!(answer["engine"], "sequential");
    assert_eq!(answer["precision"], "f32");
    let smoker = answer["cases"][0]["posteriors"]["Smoker"]["True"].as_f64().unwrap();
    assert!((smoker - 0.3).abs() < 1e-5);
    let (code, _, err) = run(&["query", "cancer", "--engine", "reference", "--precision", "f32"]);
    assert_eq!(code, 1);
    assert!(err.contains("engine reference does not support f32"), "{err}");
}

#[test]
fn every_case_of_a_file_is_answered_even_if_one_is_impossible() {
    let (_folder, path) = file(
        "cases.json",
        r#"[{"evidence": {"either": "no", "lung": "yes"}},
            {"likelihood": {"tub": [1, 0.5]}},
            {"evidence": {"lung": "no"}, "likelihood": {"lung": [5, 0.25]}}]"#,
    );
    let path = path.to_str().unwrap();
    let (code, out, _) = run(&["query", "asia", "--evidence-file", path, "--json"]);
    assert_eq!(code, 1);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let cases = answer["cases"].as_array().unwrap();
    assert_eq!(keys(&cases[0]), ["error"]);
    let error = cases[0]["error"].as_str().unwrap();
    assert!(error.contains("either=no") && error.contains("lung=yes"), "{error}");
    assert!(is_close(&cases[1]["ln_p_evidence"], (0.0104 + 0.5 * 0.9896_f64).ln()));
    assert!(is_close(&cases[2]["ln_p_evidence"], (0.25 * 0.945_f64).ln()));
    assert!(is_close(&cases[2]["posteriors"]["lung"]["no"], 1.0));

    let (code, out, err) = run(&["query", "asia", "--evidence-file", path]);
    assert_eq!(code, 1);
    assert!(out.contains("case 1\n") && out.contains("case 3\n"), "{out}");
    assert!(err.starts_with(&format!("error: {path}:1: case 1: the evidence is")), "{err}");
    // A finding on the command line replaces the case's finding on the same variable. This makes
    // the first case possible.
    let arguments = ["query", "asia", "--evidence-file", path, "--evidence", "lung=no"];
    assert_eq!(run(&arguments).0, 0);
}

#[test]
fn cases_are_read_from_a_table_or_from_standard_input() {
    let (_folder, path) = file("cases.csv", "id,xray,smoke\n1,yes,\n2,,no\n");
    let path = path.to_str().unwrap();
    let (code, out, err) = run(&["query", "asia", "--evidence-file", path, "--json"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(err, format!("warning: {path}: column 'id' is not a variable and was ignored\n"));
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["cases"].as_array().unwrap().len(), 2);
    assert!(is_close(&answer["cases"][1]["ln_p_evidence"], 0.5_f64.ln()));
    let output = cliquescope(&["query", "asia", "--evidence-file", "-", "--json"])
        .write_stdin("smoke: \"no\"")
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(is_close(&answer["cases"][0]["ln_p_evidence"], 0.5_f64.ln()));
}

#[test]
fn bench_writes_a_record_per_network_engine_and_case() {
    let (_folder, path) = file("cases.json", r#"[{}, {}]"#);
    let (code, out, err) = run(&[
        "bench",
        "asia",
        "asia",
        "--engine",
        "sequential",
        "--engine",
        "reference",
        "--repeat",
        "3",
        "--threads",
        "1",
        "--evidence-file",
        path.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.lines().count(), 8, "one line of progress per record: {err}");
    let records: Value = serde_json::from_str(&out).unwrap();
    let records = records.as_array().unwrap();
    assert_eq!(records.len(), 8);
    for record in records {
        assert_eq!(
            keys(record),
            [
                "network",
                "engine",
                "precision",
                "threads",
                "case",
                "load_ms",
                "compile_ms",
                "propagate_ms",
                "cliques",
                "total_clique_entries",
                "messages",
                "peak_bytes",
                "savings"
            ]
        );
        let ms = |key: &str| record["propagate_ms"][key].as_f64().unwrap();
        assert!(0.0 < ms("min") && ms("min") <= ms("median") && ms("median") <= ms("max"));
        assert_eq!(record["threads"], 1);
        assert_eq!(record["messages"], 10);
        assert!(record["peak_bytes"].as_u64().unwrap() > 0);
    }
    assert_eq!(records[1]["case"], 1);
    assert_eq!(records[2]["engine"], "reference");
}

#[test]
fn bench_times_drawn_cases_one_at_a_time_and_in_a_batch() {
    let drawn =
        ["--observed", "25%", "--cases", "5", "--case-seed", "9", "--repeat", "1", "--json"];
    let records = json(&[&["bench", "asia"], &drawn[..]].concat());
    let records = records.as_array().unwrap();
    assert_eq!(records.len(), 5);
    let drawn_as = serde_json::json!({"observed": 0.25, "variables": 2, "cases": 5, "seed": 9});
    assert!(records.iter().all(|record| record["drawn"] == drawn_as));

    let engines = ["--batch", "--engine", "cpu", "--engine", "reference"];
    let records = json(&[&["bench", "asia"], &drawn[..], &engines].concat());
    let records = records.as_array().unwrap();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record["drawn"], drawn_as);
        assert_eq!((&record["cases"], &record["impossible"]), (&5.into(), &0.into()));
        assert!(record["cases_per_second"].as_f64().unwrap() > 0.0);
        let alone = &record["one_at_a_time"];
        assert_eq!(alone["cases"], 5);
        assert!(alone["largest_deviation"].as_f64().unwrap() < 1e-12);
    }
    let (code, out, _) = run(&["bench", "asia", "--observed", "1", "--batch", "--repeat", "1"]);
    assert_eq!(code, 0);
    assert!(out.contains("one at a time"), "{out}");
}

#[test]
fn bench_times_changes_of_evidence() {
    let records = json(&["bench", "asia", "--changes", "30", "--json"]);
    let record = &records[0];
    let number = |key: &str| record[key].as_u64().unwrap();
    assert_eq!(number("set") + number("retracted") + number("exchanged"), 30);
    assert!(number("set") > 5 && number("retracted") > 5);
    assert!(record["change_ms"]["max"].as_f64().unwrap() > 0.0);
    let worst = &record["worst"];
    assert_eq!(worst["ms"], record["change_ms"]["max"]);
    assert!(worst["change"].as_u64().unwrap() < 30);
    assert!(number(worst["kind"].as_str().unwrap()) > 0);
}

#[test]
fn bench_measures_the_cost_of_timing() {
    let records = json(&["bench", "asia", "--timing-cost", "--repeat", "3", "--json"]);
    let cost = &records[0]["timing_cost"];
    assert_eq!(cost["messages"], 10);
    assert!(cost["share"].is_number() && cost["timed_ms"]["median"].is_number(), "{cost}");
}

#[test]
fn bench_draws_possible_cases_of_a_markov_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.uai");
    // The three variables of the ring must be equal. Independent draws would mostly be impossible.
    let ring = "MARKOV 3 2 2 2 3 2 0 1 2 1 2 2 2 0 4 3 0 0 1 4 1 0 0 1 4 1 0 0 1";
    std::fs::write(&path, ring).unwrap();
    let path = path.to_str().unwrap();
    let drawn = ["--observed", "100%", "--cases", "30", "--batch", "--repeat", "1", "--json"];
    let records = json(&[&["bench", path], &drawn[..]].concat());
    assert_eq!(records[0]["cases"], 30, "{records}");
    assert_eq!(records[0]["impossible"], 0);
    // No case can be drawn if every configuration has weight zero.
    let path = folder.path().join("none.uai");
    std::fs::write(&path, "MARKOV 1 2 1 1 0 2 0 0").unwrap();
    let (code, _, err) = run(&[&["bench", path.to_str().unwrap()], &drawn[..]].concat());
    assert_eq!(code, 1);
    assert!(err.contains("no case can be drawn: all configurations have weight zero"), "{err}");
}

#[test]
fn bench_continues_after_a_network_that_fails() {
    let (code, out, err) = run(&["bench", "no-such-net", "cancer", "--repeat", "1", "--json"]);
    assert_eq!(code, 1);
    let records: Value = serde_json::from_str(&out).unwrap();
    assert!(
        records[0]["error"].as_str().unwrap().contains("no file and no sample named 'no-such-net'")
    );
    assert_eq!(records[1]["network"], "cancer");
    assert!(err.contains("error: no-such-net: "), "{err}");
}

#[test]
fn engines_are_listed_with_their_availability() {
    let engines = json(&["engines", "--json"]);
    let engines = engines.as_array().unwrap();
    assert_eq!(engines.iter().filter(|engine| engine["default"] == true).count(), 1);
    for engine in engines {
        assert_eq!(engine["available"] == true, engine["reason"].is_null());
        assert!(!engine["precisions"].as_array().unwrap().is_empty());
    }
    let (code, out, _) = run(&["engines"]);
    assert_eq!(code, 0);
    assert!(out.contains("sequential"), "{out}");
}

#[test]
fn a_network_that_is_too_large_is_rejected_with_the_forecast() {
    let (code, out, err) = run(&["query", "child", "--memory-limit", "2048"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: too large for engine cpu in f64: "), "{err}");
    assert!(err.contains("; the largest clique has"), "{err}");
    let info = json(&["info", "child", "--memory-limit", "2048", "--json"]);
    assert_eq!(info["forecasts"][0]["fits"], false);
    assert_eq!(info["memory_limit_bytes"], 2048);
}

#[test]
fn a_network_that_is_small_given_the_evidence_is_queried_and_timed() {
    let (folder, path) = file("hub.uai", hub_and_chain_text());
    let cases = folder.path().join("cases.csv");
    std::fs::write(&cases, "x0,x3\n7,\n,1\n").unwrap();
    let (path, cases) = (path.to_str().unwrap(), cases.to_str().unwrap());
    let limit = ["--memory-limit", "6MiB"];
    let (code, _, err) = run(&[&["query", path], &limit[..]].concat());
    assert_eq!(code, 1);
    assert!(err.contains("too large for engine cpu in f64: "), "{err}");
    let one = ["query", path, "--evidence", "x0=7", "--json"];
    let found = json(&[&one, &limit[..]].concat());
    assert_eq!(found["cases"][0]["posteriors"]["x0"]["7"], 1.0);
    let (expected, found) = (&json(&one)["cases"][0], &found["cases"][0]);
    let close = |name: &str| {
        let state = |answer: &Value| answer["posteriors"][name]["2"].clone();
        is_close(&state(found), state(expected).as_f64().unwrap())
    };
    assert!(close("x1") && close("x40"));

    // The second case leaves too much. The first is answered all the same.
    let two = ["query", path, "--evidence-file", cases];
    let (code, out, err) = run(&[&two, &limit[..]].concat());
    assert_eq!(code, 1);
    assert!(out.contains("x40") && out.contains("no answer"), "{out}");
    let error = "too large for engine cpu in f64 even given the evidence: ";
    assert!(err.starts_with(&format!("error: {cases}:3: case 2: {error}")), "{err}");
    let bench = ["bench", path, "--evidence-file", cases, "--repeat", "1", "--json"];
    let (code, out, _) = run(&[&bench, &limit[..]].concat());
    assert_eq!(code, 1);
    let records: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&records[0]["left_out"], &records[0]["form"]), (&1.into(), &"table-free".into()));
    assert_eq!(records[1]["case"], 1);
    assert!(records[1]["error"].as_str().unwrap().contains("even given the evidence"));
}

#[test]
fn errors_in_files_are_reported_with_line_and_column() {
    let text = "network n { }\nvariable a { type discrete [ 2 ] { x, y }; }\n";
    let (_folder, path) = file("mine.bif", format!("{text}probability ( a ) {{ table 0.2 0.7; }}"));
    let path = path.to_str().unwrap();
    let (code, _, err) = run(&["info", path]);
    assert_eq!(code, 1);
    assert!(err.starts_with(&format!("error: {path}:3:21: the table of 'a': ")), "{err}");
    let (_folder, path) = file("mine.bif", format!("{text}probability(a){{table 0.2 0.7999;}}"));
    let path = path.to_str().unwrap();
    let (code, out, err) = run(&["query", path, "--json"]);
    assert_eq!(code, 0);
    assert!(err.starts_with(&format!("warning: {path}: rows that did not sum to 1 were")), "{err}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["network"], "mine");
    assert!(is_close(&answer["cases"][0]["posteriors"]["a"]["x"], 0.2 / 0.9999));
}

#[test]
fn a_network_can_have_the_name_of_a_command() {
    let text = "variable a { type discrete [ 1 ] { x }; } probability ( a ) { table 1; }";
    let (folder, _) = file("info", text);
    let output =
        cliquescope(&["info", "./info", "--json"]).current_dir(folder.path()).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["variables"], 1);
}

#[test]
fn a_file_takes_precedence_over_a_sample_of_the_same_name() {
    let text = "variable a { type discrete [ 1 ] { x }; } probability ( a ) { table 1; }";
    let (folder, _) = file("asia", text);
    let output =
        cliquescope(&["info", "asia", "--json"]).current_dir(folder.path()).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["variables"], 1);
}

#[test]
fn errors_in_the_input_are_explained() {
    let (_folder, path) = file("cases.json", "{\"finding\": 1}");
    let path = path.to_str().unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["info", "nowhere"], "there is no file and no sample named 'nowhere'"),
        (
            &["query", "asia", "--evidence", "smoke=maybe"],
            "no state 'maybe'; its states are yes, no",
        ),
        (&["query", "asia", "--evidence", "smok=yes"], "did you mean smoke?"),
        (&["query", "asia", "--evidence-file", path], "case 1: unknown key 'finding'"),
        (&["query", "asia", "--evidence-file", "nowhere.json"], "nowhere.json: "),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments:?}");
        assert!(err.starts_with("error: ") && err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn errors_in_evidence_files_are_reported_with_their_position() {
    let cases = [
        ("", "cases.json: the file is empty, expected a case"),
        ("{\"evidence\": {", "cases.json:1:14: case 1: the file ends before the JSON is complete"),
        (
            "{\"evidence\": {\"xray\": 1}}",
            "cases.json:1:23: case 1: invalid type: integer `1`, expected the label of a state, in quotes",
        ),
    ];
    for (content, message) in cases {
        let (_folder, path) = file("cases.json", content);
        let (code, out, err) =
            run(&["query", "asia", "--evidence-file", path.to_str().unwrap(), "--json"]);
        assert_eq!((code, out.as_str()), (1, ""), "{content}");
        assert!(err.contains(message), "{content}: {err}");
    }
    for (name, content) in [("none.json", "[]"), ("none.csv", "xray,smoke\n")] {
        let (_folder, path) = file(name, content);
        let path = path.to_str().unwrap();
        let (code, _, err) = run(&["query", "asia", "--evidence-file", path]);
        assert_eq!((code, err), (0, format!("warning: {path}: no cases in the file\n")));
    }
}

#[test]
fn cases_keep_their_names() {
    let (_folder, path) = file(
        "cases.json",
        r#"[{"name": "a smoker?", "evidence": {"xray": "yes"}}, {},
            {"name": "never", "evidence": {"either": "no", "lung": "yes"}}]"#,
    );
    let path = path.to_str().unwrap();
    let (_, out, _) = run(&["query", "asia", "--evidence-file", path, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let case = |index: usize| &answer["cases"][index];
    assert_eq!(keys(case(0)), ["name", "ln_p_evidence", "posteriors"]);
    assert_eq!(case(0)["name"], "a smoker?");
    assert_eq!(keys(case(1)), ["ln_p_evidence", "posteriors"]);
    assert_eq!(keys(case(2)), ["name", "error"]);
    let (_, out, err) = run(&["query", "asia", "--evidence-file", path]);
    assert!(out.starts_with("case 1: a smoker?\nobserved    xray=yes\n"), "{out}");
    assert!(out.contains("\ncase 2\n") && out.contains("\ncase 3: never\n"), "{out}");
    assert!(err.starts_with(&format!("error: {path}:2: case 3: ")), "{err}");
}

#[test]
fn errors_for_wrong_numbers_and_unknown_commands_say_what_is_expected() {
    let cases: [(&[&str], &str); 6] = [
        (&["bench", "asia", "--repeat", "many"], "a whole number from 1 to 4294967295"),
        (
            &["query", "asia", "--seed", "-1"],
            "'-1' for '--seed <N>': expected a whole number from 0",
        ),
        (&["query", "asia", "--block-size", "5"], "expected a whole number from 16 to 1024"),
        (
            &["info", "asia", "--triangulation-budget", "-1"],
            "expected a number of seconds, such as 0.5",
        ),
        (&["infos", "asia"], "expected one of the commands info, query, convert"),
        (&["munin4", "pigs"], "or a single NETWORK"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn failed_writes_are_explained() {
    let (folder, path) = file("a.txt", "");
    let missing = folder.path().join("no/such");
    let (code, _, err) = run(&["convert", "asia", missing.join("a.bif").to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(err.contains(&format!("a.bif: there is no folder '{}'", missing.display())), "{err}");
    let path = path.to_str().unwrap();
    let (code, _, err) = run(&["experiment", "fig4", "--networks", "asia", "--out", path]);
    assert_eq!((code, err), (1, format!("error: {path}: not a folder\n")));
}

#[test]
fn errors_in_the_command_line_exit_with_code_2() {
    let cases: [&[&str]; 13] = [
        &["query"],
        &["query", "asia", "--engine", "abacus"],
        &["query", "asia", "--precision", "f16"],
        &["query", "asia", "--evidence", "smoke"],
        &["info", "asia", "--triangulation", "guess"],
        &["info", "asia", "--memory-limit", "much"],
        &["bench", "asia", "--repeat", "0"],
        &["bench", "asia", "--observed", "20"],
        &["bench", "asia", "--cases", "3"],
        &["bench", "asia", "--observed", "20%", "--evidence-file", "cases.json"],
        &["--size", "big"],
        &["--engine", "abacus"],
        &["--size", "800x600", "info", "asia"],
    ];
    for arguments in cases {
        assert_eq!(run(arguments).0, 2, "{arguments:?}");
    }
}

#[test]
fn window_options_are_checked_before_the_window_opens() {
    let (code, _, err) = run(&["asia", "--evidence", "smoke=maybe"]);
    assert_eq!(code, 1);
    assert!(err.contains("no state 'maybe'"), "{err}");
    let (code, _, err) = run(&["--evidence", "smoke=yes"]);
    assert_eq!(code, 1);
    assert!(err.contains("--evidence needs a NETWORK"), "{err}");
    let (code, _, err) = run(&["--engine", "reference", "--precision", "f32"]);
    assert_eq!(code, 1);
    assert!(err.contains("engine reference does not support f32"), "{err}");
}

#[cfg(not(feature = "app"))]
#[test]
fn a_build_without_the_window_says_so() {
    for arguments in [&[][..], &["munin4"]] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("built without the window"), "{err}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_cliquescope"))
        .args(["query", "alarm", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn convert_writes_another_format_and_warns_about_lost_information() {
    let (folder, net) = file(
        "a.net",
        "net {} node a { label = \"A\"; states = (\"n\" \"y\"); \
                                       HR_x = \"1\"; } potential (a) { data = (0.25 0.75); }",
    );
    let net = net.to_str().unwrap();
    let target = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (code, out, err) = run(&["convert", net, &target("a.bif.gz")]);
    assert_eq!((code, &*out), (0, ""), "{err}");
    assert!(
        err.contains("warning: ") && err.contains("a.bif.gz: BIF cannot represent titles of 1"),
        "{err}"
    );
    assert!(err.contains("BIF cannot represent 1 attribute that only Hugin NET has"), "{err}");
    let compressed = std::fs::read(target("a.bif.gz")).unwrap();
    assert_eq!(compressed[..2], [0x1f, 0x8b]);
    let found = json(&["query", &target("a.bif.gz"), "--json"]);
    assert!(is_close(&found["cases"][0]["posteriors"]["a"]["y"], 0.75), "{found}");

    let (code, _, err) = run(&["convert", net, &target("a.bif.gz")]);
    assert_eq!(code, 1);
    assert!(err.contains("already exists; use --force to replace it"), "{err}");
    assert_eq!(std::fs::read(target("a.bif.gz")).unwrap(), compressed);
    assert_eq!(run(&["convert", "asia", &target("a.bif.gz"), "--force"]).0, 0);
    assert_eq!(json(&["info", &target("a.bif.gz"), "--json"])["variables"], 8);

    let (code, _, err) = run(&["convert", "asia", &target("asia.txt")]);
    assert_eq!(code, 1);
    assert!(err.contains("unknown extension; use one of bif, net, uai"), "{err}");
    assert_eq!(run(&["convert", "asia", &target("asia.txt"), "--to", "UAI"]).0, 0);
    assert!(std::fs::read_to_string(target("asia.txt")).unwrap().starts_with("BAYES\n8\n"));
    let (code, _, err) = run(&["convert", "asia", &target("asia.dne")]);
    assert_eq!(code, 1);
    assert!(err.contains("DNET can be read but not written"), "{err}");
    assert!(!std::path::Path::new(&target("asia.dne")).exists());
}

#[test]
fn query_prints_the_partition_function_of_a_markov_network() {
    let (_folder, path) = file("m.uai", "MARKOV 2 2 2 2 2 0 1 1 0 4 1 2 3 4 2 1 10");
    let found = json(&["query", path.to_str().unwrap(), "--json"]);
    let case = &found["cases"][0];
    assert!(is_close(&case["ln_p_evidence"], 73_f64.ln()), "{found}");
    assert!(is_close(&case["posteriors"]["x0"]["1"], 70.0 / 73.0), "{found}");
    let (code, text, _) = run(&["query", path.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(text.contains("\nZ(e)        73.000000000") && !text.contains("P(e)"), "{text}");
}

/// A network whose names contain an escape sequence, a line end and a formula.
const HOSTILE_NAMES: &str = r#"<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a&#10;b&#x9b;31m</NAME><OUTCOME>=1+2</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a&#10;b&#x9b;31m</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK></BIF>
"#;

#[test]
fn names_from_files_cannot_control_the_terminal() {
    let (_folder, path) = file("hostile.xml", HOSTILE_NAMES);
    let path = path.to_str().unwrap();
    let is_safe = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
    for arguments in [
        &["info", path][..],
        &["query", path],
        &["query", path, "--json"],
        &["bench", path, "--repeat", "1"],
        &["query", path, "--evidence", "a\nb\u{9b}31m=\u{1b}[2J"],
        &["info", "no\u{1b}[2J\nwhere"],
    ] {
        let (_, out, err) = run(arguments);
        assert!(is_safe(&out) && is_safe(&err), "{arguments:?}: {out:?} {err:?}");
        assert!(out.lines().chain(err.lines()).all(|line| !line.starts_with('b')), "{out} {err}");
    }
    let (_, out, _) = run(&["query", path]);
    assert!(out.contains("a\\nb\\u{9b}31m"), "{out}");
    let answer = json(&["query", path, "--json"]);
    assert!(answer["cases"][0]["posteriors"]["a\nb\u{9b}31m"]["=1+2"].is_number(), "{answer}");
}

#[test]
fn an_experiment_replaces_files_only_if_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["experiment", "fig4", "--networks", "asia", "--out", path];
    let (code, _, err) = run(&arguments);
    assert_eq!(code, 0, "{err}");
    let csv = folder.path().join("fig4.json");
    std::fs::write(&csv, "mine").unwrap();
    let (code, _, err) = run(&arguments);
    assert_eq!(code, 1);
    assert!(err.contains("fig4") && err.contains("use --force to replace it"), "{err}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "mine");
    let (code, _, err) = run(&[&arguments[..], &["--force"]].concat());
    assert_eq!(code, 0, "{err}");
    assert_ne!(std::fs::read_to_string(&csv).unwrap(), "mine");
}

#[test]
fn a_huge_number_of_threads_is_reduced_with_a_warning() {
    let (code, _, err) = run(&["query", "asia", "--threads", "65535"]);
    assert_eq!(code, 0);
    assert!(err.contains("warning: --threads 65535 is reduced to "), "{err}");
}

#[cfg(unix)]
#[test]
fn file_names_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"net\xe9.xml"));
    if std::fs::write(&path, HOSTILE_NAMES).is_err() {
        eprintln!("SKIPPED: this file system accepts only names in UTF-8");
        return;
    }
    for command in ["info", "query", "bench"] {
        let output = cliquescope(&[command]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
    let converted = folder.path().join("converted.bif");
    let output = cliquescope(&["convert"]).arg(&path).arg(&converted).output().unwrap();
    assert!(output.status.success() || !output.stderr.is_empty(), "{output:?}");
}

/// A chain of `length` binary variables in UAI.
fn chain(length: usize) -> String {
    let mut text = format!("BAYES\n{length}\n{}\n{length}\n1 0\n", "2 ".repeat(length));
    (1..length).for_each(|v| text += &format!("2 {} {v}\n", v - 1));
    text += "2 0.5 0.5\n";
    (1..length).for_each(|_| text += "4 0.75 0.25 0.375 0.625\n");
    text
}

#[test]
fn a_long_chain_is_answered_and_a_small_memory_limit_refuses_it() {
    let (_folder, path) = file("chain.uai", chain(100_000));
    let path = path.to_str().unwrap();
    let info = json(&["info", path, "--json"]);
    assert_eq!((&info["variables"], &info["cliques"]), (&100_000.into(), &99_999.into()));
    let (code, out, err) = run(&["query", path, "--evidence", "x99999=1"]);
    assert_eq!((code, out.lines().count() > 200_000), (0, true), "{err}");
    let (code, _, err) = run(&["query", path, "--memory-limit", "10MB"]);
    assert_eq!(code, 1);
    assert!(err.contains("too large to triangulate: 100,000 variables"), "{err}");
}
