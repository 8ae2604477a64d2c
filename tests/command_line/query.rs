//! Command `query`: posteriors and failures, for one case and for the cases of a file.

use serde_json::Value;

use crate::common::large::hub_and_chain_text;
use crate::{cliquescope, file, is_close, json, keys, run};

#[test]
fn query_prints_ln_p_of_the_evidence_and_posteriors_in_file_order() {
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
fn a_network_that_is_too_large_is_rejected_with_the_forecast() {
    let (code, out, err) = run(&["query", "child", "--memory-limit", "2048"]);
    assert_eq!((code, out.as_str()), (3, ""));
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
    assert_eq!(code, 3);
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

    // The network is too large given the second case. The first case is still answered.
    let two = ["query", path, "--evidence-file", cases];
    let (code, out, err) = run(&[&two, &limit[..]].concat());
    assert_eq!(code, 1);
    assert!(out.contains("x40") && out.contains("no answer"), "{out}");
    let error = "too large for engine cpu in f64 even given the evidence: ";
    assert!(err.starts_with(&format!("error: {cases}:3: case 2: {error}")), "{err}");
    let bench = ["bench", path, "--evidence-file", cases, "--repeat", "1", "--json"];
    let (code, out, _) = run(&[&bench, &limit[..]].concat());
    assert_eq!(code, 3);
    let records: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&records[0]["left_out"], &records[0]["form"]), (&1.into(), &"table-free".into()));
    assert_eq!(records[1]["case"], 1);
    assert!(records[1]["error"].as_str().unwrap().contains("even given the evidence"));
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
    assert_eq!(code, 3);
    assert!(err.contains("too large to triangulate: 100,000 variables"), "{err}");
}

#[test]
fn all_commands_end_with_the_same_code_if_the_memory_limit_is_too_low() {
    let (folder, path) = file("chain.uai", chain(100_000));
    let (path, out) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
    for (limit, message) in
        [("1MB", "too large to read: 3.79 MiB"), ("10MB", "too large to triangulate:")]
    {
        for command in ["info", "query", "bench"] {
            let (code, _, err) = run(&[command, path, "--memory-limit", limit]);
            assert_eq!(code, 3, "{command}: {err}");
            assert!(err.contains(message), "{command}: {err}");
        }
        let experiment = ["experiment", "model", "--out", out, "--networks", path];
        let (code, _, err) = run(&[&experiment[..], &["--memory-limit", limit]].concat());
        assert_eq!(code, 3, "{err}");
        assert!(err.contains(message), "{err}");
    }
    let (code, _, err) = run(&["bench", "child", "--memory-limit", "2048"]);
    assert_eq!(code, 3);
    assert!(err.contains("too large for engine cpu in f64: "), "{err}");
}
