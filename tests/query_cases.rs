//! `query` with files of cases: formats of the output, failed cases, long files, interruptions.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cliquescope::engine;
use cliquescope::format::sample;
use cliquescope::network::Evidence;
use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cliquescope"))
}

/// The exit code, standard output and standard error of `query asia` with these arguments.
fn query(arguments: &[&str]) -> (i32, String, String) {
    let output = program().args(["query", "asia"]).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A folder with a file of this name and text, and the path of the file.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Rows of evidence on three variables of Asia, in an order without a short period.
fn rows(count: usize) -> Vec<[&'static str; 3]> {
    let state = |number: usize| ["yes", "no", ""][number % 3];
    let row = |n: usize| [state(n * n / 5), state(n / 7), state(n / 11 + n)];
    (0..count).map(row).collect()
}

fn csv(rows: &[[&str; 3]]) -> String {
    let mut text = "smoke,xray,bronc\n".to_owned();
    for [smoke, xray, bronc] in rows {
        let _ = writeln!(text, "{smoke},{xray},{bronc}");
    }
    text
}

#[test]
fn each_row_of_a_long_file_gets_its_own_answer() {
    let rows = rows(50_000);
    let (folder, path) = file("cases.csv", &csv(&rows));
    let output = folder.path().join("answers.jsonl");
    let arguments = ["--evidence-file", path.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let (code, out, err) = query(&arguments);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let answers = lines(&std::fs::read_to_string(&output).unwrap());
    assert_eq!(answers.len(), rows.len());
    let network = sample("asia").unwrap().open().network;
    let mut singles = std::collections::BTreeMap::new();
    for (number, (row, answer)) in rows.iter().zip(&answers).enumerate() {
        assert_eq!(
            (&answer["case"], &answer["line"]),
            (&(number + 1).into(), &(number + 2).into())
        );
        let expected = singles.entry(row).or_insert_with(|| {
            let mut evidence = Evidence::none();
            for (name, state) in ["smoke", "xray", "bronc"].into_iter().zip(row) {
                if !state.is_empty() {
                    evidence.observe_named(&network, name, state).unwrap();
                }
            }
            engine::query(&network, &evidence).unwrap()
        });
        let ln = answer["ln_p_evidence"].as_f64().unwrap();
        assert!((ln - expected.ln_p_evidence()).abs() < 1e-9, "case {}", number + 1);
        for variable in network.ids() {
            let states = network[variable].states().iter().zip(expected.of(variable));
            for (state, p) in states {
                let found = &answer["posteriors"][network[variable].name()][state];
                assert!((found.as_f64().unwrap() - p).abs() < 1e-9, "case {}", number + 1);
            }
        }
    }
    assert_eq!(singles.len(), 27, "every combination of findings occurs");
}

/// A file whose cases 2, 3 and 4 fail: an unknown state, too many cells, impossible evidence.
const WITH_FAILURES: &str = "lung,either\nyes,\nmaybe,\nyes,yes,yes\nyes,no\n\nno,\n";

#[test]
fn failed_cases_are_reported_with_their_lines_and_the_others_answered() {
    let (_folder, path) = file("cases.csv", WITH_FAILURES);
    let path = path.to_str().unwrap();
    let impossible = "the evidence is impossible: either=no contradicts lung=yes";
    let unknown = "variable 'lung' has no state 'maybe'; its states are yes, no";
    let expected_errors = [
        format!("error: {path}:3:1: case 2: {unknown}"),
        format!("error: {path}:4:9: case 3: the row has 3 cells, expected 2"),
        format!("error: {path}:5: case 4: {impossible}"),
        "error: 3 of 5 cases have no answer".to_owned(),
    ];
    let mut outputs = Vec::new();
    for format in ["text", "json", "jsonl", "csv"] {
        let (code, out, err) = query(&["--evidence-file", path, "--format", format]);
        assert_eq!(code, 1);
        assert!(err.lines().eq(expected_errors.iter()), "{err}");
        outputs.push(out);
    }
    let text = &outputs[0];
    for part in [
        "case 2\nnot read\n",
        "case 3\nnot read\n",
        "lung=yes\nobserved    either=no\nimpossible\n",
        "case 5\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let json: Value = serde_json::from_str(&outputs[1]).unwrap();
    let objects = json["cases"].as_array().unwrap();
    let json_lines = lines(&outputs[2]);
    assert_eq!((objects.len(), json_lines.len()), (5, 5));
    for index in 0..5 {
        let is_failure = (1..4).contains(&index);
        assert_eq!(objects[index]["error"].is_string(), is_failure);
        assert_eq!(objects[index]["posteriors"].is_null(), is_failure);
        assert_eq!(json_lines[index]["error"], objects[index]["error"]);
        assert_eq!(json_lines[index]["case"], index + 1);
    }
    assert_eq!(json_lines[4]["line"], 7);
    let table: Vec<&str> = outputs[3].lines().collect();
    assert!(table[0].starts_with("case,ln_p_evidence,asia=yes,asia=no,tub=yes,"), "{}", table[0]);
    assert_eq!(table.len(), 6);
    // Two columns, 16 posteriors and the error.
    let last: Vec<&str> = table[5].split(',').collect();
    let ln = json_lines[4]["ln_p_evidence"].as_f64().unwrap();
    assert_eq!((last[0], last[1].parse::<f64>().unwrap(), last[18]), ("5", ln, ""));
}

#[test]
fn a_strict_query_stops_at_the_first_failure() {
    let (_folder, path) = file("cases.csv", WITH_FAILURES);
    let arguments = ["--evidence-file", path.to_str().unwrap(), "--strict", "--format", "jsonl"];
    let (code, out, err) = query(&arguments);
    assert_eq!((code, lines(&out).len()), (1, 1));
    assert!(err.contains("case 2: variable 'lung'") && !err.contains("case 3"), "{err}");
    assert!(err.contains("error: 1 of 2 cases have no answer\n"), "{err}");
    assert!(err.ends_with("; the answer to the first case was written\n"), "{err}");
    let (_folder, path) = file("cases.csv", "lung\nmaybe\nno\n");
    let arguments = ["--evidence-file", path.to_str().unwrap(), "--strict", "--json"];
    let (code, out, _) = query(&arguments);
    assert_eq!((code, out.as_str()), (1, ""));
}

#[test]
fn the_answers_before_a_damaged_end_are_written() {
    let (folder, path) = file("cases.json", "[{}, {\"evidence\": {\"lung\": \"no\"}}, {\"evi");
    let output = folder.path().join("answers.json");
    let arguments = ["--evidence-file", path.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let (code, _, err) = query(&arguments);
    assert_eq!(code, 1);
    assert!(err.contains("case 3: the file ends before the JSON is complete"), "{err}");
    assert!(err.contains("the answers to the first 2 cases were written"), "{err}");
    let answers: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
    assert_eq!(answers["cases"].as_array().unwrap().len(), 2);
}

#[test]
fn an_output_file_is_replaced_only_if_this_is_asked_for() {
    let (folder, path) = file("cases.csv", "lung\nno\n");
    let (cases, output) = (path.to_str().unwrap(), folder.path().join("answers.csv"));
    let arguments = ["--evidence-file", cases, "-o", output.to_str().unwrap()];
    assert_eq!(query(&arguments).0, 0);
    let first = std::fs::read(&output).unwrap();
    let (code, _, err) = query(&arguments);
    assert_eq!(code, 1);
    assert!(err.ends_with("already exists; use --force to replace it\n"), "{err}");
    assert_eq!(query(&[&arguments[..], &["--force", "--evidence", "xray=yes"]].concat()).0, 0);
    assert_ne!(std::fs::read(&output).unwrap(), first);
    let (code, _, err) = query(&["--evidence-file", cases, "-o", cases, "--force"]);
    assert_eq!(code, 1);
    assert!(err.contains("is an input"), "{err}");
    let (code, _, err) = query(&["-o", folder.path().join("answers").to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(err.contains("unknown extension; use .txt, .json, .jsonl or .csv"), "{err}");
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 2, "no temporary file is left");
}

#[test]
fn a_query_that_cannot_answer_creates_no_output_file() {
    let (folder, path) = file("cases.csv", "lungs\nno\n");
    let output = folder.path().join("answers.csv");
    let (cases, name) = (path.to_str().unwrap(), output.to_str().unwrap());
    assert_eq!(query(&["--evidence-file", cases, "-o", name]).0, 1);
    let limit = ["--evidence", "lung=no", "-o", name, "--memory-limit", "10"];
    assert_eq!(query(&limit).0, 3);
    assert!(!output.exists());
}

#[test]
fn a_pipe_that_is_closed_early_ends_the_query_without_an_error() {
    let (_folder, path) = file("cases.csv", &csv(&rows(100_000)));
    let mut child = program()
        .args(["query", "asia", "--format", "csv", "--evidence-file"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("case,"));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// Whether this program and its children ignore the signal HUP. Like `query`, assumes that they do
/// if the operating system does not say.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & 1 == 1)
}

#[cfg(unix)]
#[test]
fn an_interrupted_query_leaves_whole_rows() {
    let folder = tempfile::tempdir().unwrap();
    for (to_file, signal) in [(false, "INT"), (true, "INT"), (true, "TERM"), (true, "HUP")] {
        if signal == "HUP" && is_hangup_ignored() {
            eprintln!("SKIPPED: the signal HUP is ignored here, as under nohup");
            continue;
        }
        let output = folder.path().join(format!("{signal}.jsonl"));
        let mut command = program();
        command.args(["query", "asia", "--format", "jsonl", "--evidence-file", "-"]);
        if to_file {
            command.arg("--output").arg(&output);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The input stays open, so that the query does not end by itself.
        let mut input = child.stdin.take().unwrap();
        let feeding = std::thread::spawn(move || {
            // Fails if the query is interrupted before it has read everything.
            let _ = input.write_all(csv(&rows(40_000)).as_bytes());
            input
        });
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        if to_file {
            // The temporary file has content once the query answers.
            let has_content = |entry: std::io::Result<std::fs::DirEntry>| {
                entry.and_then(|entry| entry.metadata()).is_ok_and(|metadata| metadata.len() > 0)
            };
            let is_output = |entry: &std::io::Result<std::fs::DirEntry>| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| entry.path().extension().is_some_and(|e| e == "jsonl"))
            };
            let temporary = || {
                let entries = std::fs::read_dir(folder.path()).unwrap();
                entries.filter(|entry| !is_output(entry)).any(has_content)
            };
            while !temporary() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        } else {
            answers.read_line(&mut printed).unwrap();
        }
        let kill =
            || Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(kill().success());
        if signal == "HUP" {
            // When a terminal is closed, the signal may come twice. Whether `kill` succeeds here is
            // not checked, because the query may already have ended.
            kill();
        }
        answers.read_to_string(&mut printed).unwrap();
        let finished = child.wait_with_output().unwrap();
        drop(feeding.join().unwrap());
        assert_eq!(finished.status.code(), Some(130));
        let text = if to_file { std::fs::read_to_string(&output).unwrap() } else { printed };
        assert!(text.ends_with('\n'));
        let answers = lines(&text);
        let err = String::from_utf8(finished.stderr).unwrap();
        let expected = match answers.len() {
            1 => "the answer to the first case was written".to_owned(),
            count => format!(
                "the answers to the first {} cases were written",
                cliquescope::numbers::thousands(count as u64)
            ),
        };
        assert_eq!(err, format!("interrupted: {expected}\n"));
        assert!(answers.iter().enumerate().all(|(index, answer)| answer["case"] == index + 1));
    }
}

#[test]
fn a_case_with_a_mistake_keeps_its_name() {
    let text = "{\"name\": \"a\", \"evidence\": {\"smoke\": \"maybe\"}}\n\
                {\"evidence\": {\"smoke\": \"no\"}, \"name\": \"b\"}\n";
    let (_folder, path) = file("cases.jsonl", text);
    let (code, out, err) = query(&["--evidence-file", path.to_str().unwrap(), "--format", "csv"]);
    assert_eq!(code, 1, "{err}");
    let rows: Vec<&str> = out.lines().collect();
    assert!(rows[1].starts_with("1,a,,"), "{}", rows[1]);
    assert!(rows[2].starts_with("2,b,-0."), "{}", rows[2]);
}

#[test]
fn the_answer_says_if_a_case_was_computed_again() {
    // P(e) is far below the smallest number in single precision.
    let tiny = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2 1e-200 1\n4 1 0 0 1\n";
    let (_folder, path) = file("tiny.uai", tiny);
    let run = |evidence: &str| {
        let mut command = program();
        command.arg("query").arg(&path).args(["--precision", "f32", "--form", "tables", "--json"]);
        let output = command.args(["--evidence", evidence]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer["cases"][0].clone(), String::from_utf8(output.stderr).unwrap())
    };
    let (answer, err) = run("x1=0");
    assert_eq!(answer["recomputed"], true, "{answer}");
    assert_eq!(answer["posteriors"]["x0"]["0"], 1.0);
    assert_eq!(err, "note: the case was computed again with numbers of a wider range\n");
    let (answer, err) = run("x1=1");
    assert_eq!((&answer["recomputed"], err.as_str()), (&Value::Null, ""));
}
