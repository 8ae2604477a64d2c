//! Command `bench`: the measurements and what each record holds.

use serde_json::Value;

use crate::{file, json, keys, run};

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
                "engine_load_ms",
                "propagate_ms",
                "cliques",
                "total_clique_entries",
                "messages",
                "peak_bytes",
                "savings",
                "recomputed"
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
fn standard_input_is_refused_for_several_networks() {
    let (code, _, err) = run(&["bench", "asia", "cancer", "--evidence-file", "-"]);
    assert_eq!(code, 1);
    assert!(err.contains("standard input can be read only once"), "{err}");
}

#[test]
fn a_batch_without_cases_is_reported_and_takes_no_time() {
    let (_folder, path) = file("cases.csv", "smoke,xray\n");
    let path = path.to_str().unwrap();
    let batch = ["bench", "asia", "--batch", "--repeat", "1", "--json", "--evidence-file", path];
    let (code, out, err) = run(&batch);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("cases.csv: no cases in the file"), "{err}");
    let records: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&records[0]["cases"], &records[0]["cases_per_second"]), (&0.into(), &0.0.into()));
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
