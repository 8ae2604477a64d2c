//! Names of files, names in files, and the files that commands write.

use serde_json::Value;

use crate::{cliquescope, file, is_close, json, run};

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

/// A network whose names contain an escape sequence, a line end and a formula.
const HOSTILE_NAMES: &str = r#"<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a&#10;b&#x9b;31m</NAME>
<OUTCOME>=1+2</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
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
        &["query", path, "--format", "csv"],
        &["bench", path, "--repeat", "1"],
        &["query", path, "--evidence", "a\nb\u{9b}31m=\u{1b}[2J"],
        &["info", "no\u{1b}[2J\nwhere"],
    ] {
        let (_, out, err) = run(arguments);
        assert!(is_safe(&out) && is_safe(&err), "{arguments:?}: {out:?} {err:?}");
        // If the line end in the name were printed, the line after it would begin with `b`.
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
    let record = folder.path().join("fig4.json");
    std::fs::write(&record, "mine").unwrap();
    let (code, _, err) = run(&arguments);
    assert_eq!(code, 1);
    assert!(err.contains("fig4") && err.contains("use --force to replace it"), "{err}");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "mine");
    let (code, _, err) = run(&[&arguments[..], &["--force"]].concat());
    assert_eq!(code, 0, "{err}");
    assert_ne!(std::fs::read_to_string(&record).unwrap(), "mine");
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
    assert!(output.status.success(), "{output:?}");
}
