//! Exit codes, error messages and warnings.

use serde_json::Value;

use crate::{file, is_close, run};

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
            "cases.json:1:23: case 1: invalid type: integer `1`, expected the label of a state, \
             in quotes",
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
    #[cfg(feature = "app")]
    {
        let lesson = r#"{"title": "T", "network": "asia", "steps": [{"txt": "a"}]}"#;
        let (_folder, path) = file("class.json", lesson);
        let (code, _, err) = run(&["--lesson", path.to_str().unwrap()]);
        assert_eq!(code, 1);
        assert!(err.contains("class.json:1:") && err.contains("unknown field `txt`"), "{err}");
    }
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
fn a_huge_number_of_threads_is_reduced_with_a_warning() {
    let (code, _, err) = run(&["query", "asia", "--threads", "65535"]);
    assert_eq!(code, 0);
    assert!(err.contains("warning: --threads 65535 is reduced to "), "{err}");
}
