//! `cliquescope record`: a recording is neither lost nor mixed with measurements taken under other
//! settings.

use std::path::{Path, PathBuf};
use std::process::Command;

use cliquescope::experiment::Recording;

/// Runs `record ARGUMENTS --out FOLDER` with two threads, and with two propagations unless the
/// arguments say otherwise. Returns the exit code and standard error.
fn record(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cliquescope"));
    command.arg("record").args(arguments).arg("--out").arg(folder);
    command.args(["--threads", "2"]);
    if !arguments.contains(&"--repeat") {
        command.args(["--repeat", "2"]);
    }
    let output = command.output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The only file in `folder`, and the recording in it.
fn recording(folder: &Path) -> (PathBuf, Recording) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let path = files.remove(0);
    let recording = Recording::read(&std::fs::read(&path).unwrap()).unwrap();
    (path, recording)
}

#[test]
fn a_recording_is_resumed_or_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let out = &folder.path().join("recordings");
    let (code, err) = record(out, &["asia", "--commit", "abc", "--resume"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.lines().next().unwrap().starts_with("about "), "{err}");
    assert!(err.contains(" for 1 network on "), "{err}");
    assert!(err.contains("sequential: medians of 2 propagations\n"), "{err}");
    let (path, first) = recording(out);
    assert_eq!(first.names(), ["asia"]);

    let (code, err) = record(out, &["cancer", "asia", "--commit", "abc", "--resume"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("already has asia"), "{err}");
    assert!(!err.contains("asia, auto: "), "measured again: {err}");
    let (_, both) = recording(out);
    assert_eq!(both.names(), ["asia", "cancer"]);
    assert_eq!(both.networks[..first.networks.len()], first.networks);
    assert_eq!(both.provenance.date, first.provenance.date);
    let (code, err) = record(out, &["cancer", "--commit", "abc", "--resume"]);
    assert!(code == 0 && err.contains("nothing left to measure"), "{err}");

    let bytes = std::fs::read(&path).unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["asia", "--commit", "abc"], "use --resume to continue it or --force to replace it"),
        (&["asia", "--commit", "abd", "--resume"], "it was measured from version "),
        (&["asia", "--resume"], "it was measured from version "),
        (&["asia", "--commit", "abc", "--repeat", "3", "--resume"], "now with repeat 3, threads 2"),
    ];
    for (arguments, message) in cases {
        let (code, err) = record(out, arguments);
        assert_eq!(code, 1, "{arguments:?}");
        assert!(err.contains(message), "{arguments:?}: {err}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{arguments:?}");
    }
    let (code, err) = record(out, &["cancer", "--force"]);
    assert_eq!(code, 0, "{err}");
    let warned = err.contains("warning: without --commit the recording cannot be resumed");
    assert_eq!(warned, option_env!("CLIQUESCOPE_COMMIT").is_none(), "{err}");
    assert_eq!(recording(out).1.names(), ["cancer"]);
}

#[test]
fn a_file_that_is_not_a_recording_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    assert_eq!(record(out, &["asia", "--commit", "abc"]).0, 0);
    let (path, _) = recording(out);
    std::fs::write(&path, "something else").unwrap();
    for arguments in [&["asia", "--commit", "abc"][..], &["asia", "--commit", "abc", "--resume"]] {
        let (code, err) = record(out, arguments);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains(path.to_str().unwrap()), "{err}");
        assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    }
}

#[test]
fn an_unusable_output_folder_is_reported_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a file");
    std::fs::write(&out, "").unwrap();
    let (code, err) = record(&out, &["asia", "--commit", "abc"]);
    assert_eq!(code, 1);
    assert!(err.starts_with("error: ") && err.lines().count() == 1, "{err}");
}
