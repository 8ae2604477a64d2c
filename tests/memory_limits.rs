//! Commands on a machine with little memory: the operating system limits the address space of a
//! child process. With any limit, a command must answer rightly or say that there is not enough
//! memory, with exit code 3. It must not abort or be killed, and must not damage a file.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Exit code of a command that has not enough memory.
const NO_MEMORY: i32 = 3;

/// Runs the program with at most `mib` of address space.
fn run(mib: u64, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v $0; exec \"$@\"", &(mib << 10).to_string()]);
    command.arg(env!("CARGO_BIN_EXE_cliquescope")).args(arguments);
    command.output().expect("there is a shell")
}

/// The smallest limit in MiB, in steps of 16, with which the program starts at all. With less, the
/// operating system ends it before its first instruction.
fn smallest_limit() -> u64 {
    let starts = |mib: &u64| run(*mib, &["--version"]).status.success();
    (64..4096).step_by(16).find(starts).expect("the program starts")
}

/// Runs the command with growing limits until it succeeds. Its output must then be that of a run
/// without a limit if `is_repeatable`. Returns how often there was not enough memory.
fn assert_succeeds_or_says_why(arguments: &[&str], is_repeatable: bool) -> u32 {
    let expected = run(1 << 30, arguments);
    assert!(expected.status.success(), "{arguments:?}: {expected:?}");
    let mut mib = smallest_limit();
    let mut failures = 0;
    loop {
        let found = run(mib, arguments);
        match found.status.code() {
            Some(0) => {
                assert!(!is_repeatable || found.stdout == expected.stdout, "{arguments:?}, {mib}");
                return failures;
            }
            Some(NO_MEMORY) => {
                let message = String::from_utf8_lossy(&found.stderr);
                assert!(message.contains("not enough memory"), "{arguments:?}, {mib}: {message}");
                failures += 1;
            }
            _ => panic!("{arguments:?} with {mib} MiB: {found:?}"),
        }
        mib += 8 + mib / 16;
    }
}

#[test]
fn with_too_little_memory_a_command_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = folder.path().join("cases.csv");
    fs::write(&cases, format!("smoke,xray\n{}", "yes,no\n".repeat(20_000))).expect("written");
    let cases = cases.to_str().expect("UTF-8");
    let output = folder.path().join("munin4.uai");
    let output = output.to_str().expect("UTF-8");
    let single = ["--threads", "2", "--memory-limit", "8GiB"];
    let queries: [&[&str]; 4] = [
        &["query", "barley", "--form", "tables", "--json"],
        &["query", "munin4", "--form", "table-free", "--json"],
        &["query", "barley", "--precision", "f32", "--json"],
        &["query", "asia", "--evidence-file", cases, "--format", "csv"],
    ];
    let mut failures = 0;
    for query in queries {
        failures += assert_succeeds_or_says_why(&[query, &single[..]].concat(), true);
    }
    let batch = ["bench", "insurance", "--batch", "--observed", "20%", "--cases", "200"];
    let batch = [&batch[..], &["--repeat", "1", "--json"], &single[..]].concat();
    failures += assert_succeeds_or_says_why(&batch, false);
    let convert = ["convert", "munin4", output, "--force"];
    failures += assert_succeeds_or_says_why(&convert, true);
    failures += assert_succeeds_or_says_why(&["info", "munin4"], false);
    assert!(failures > 0, "no limit was too small");
}

#[test]
fn a_file_is_not_damaged_if_there_is_too_little_memory_to_replace_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("work.uai");
    let content = "what a person made";
    fs::write(&file, content).expect("written");
    let name = file.to_str().expect("UTF-8");
    let found = run(smallest_limit(), &["convert", "munin4", name, "--force"]);
    match found.status.code() {
        Some(NO_MEMORY) => {
            assert_eq!(fs::read_to_string(Path::new(name)).expect("it is there"), content);
        }
        code => assert_eq!(code, Some(0), "{found:?}"),
    }
}
