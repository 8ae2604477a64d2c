//! Output and exit codes of the commands, as a user or a script runs them.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod files;
mod info;
mod query;

use std::path::PathBuf;

use assert_cmd::Command;
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
