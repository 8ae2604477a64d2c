//! Commands on a machine with little memory: the shell limits the address space of the program.
//! With every limit that lets the program start, a command must answer correctly, or say that there
//! is not enough memory and end with exit code 3. It must not be ended by a signal, and must not
//! damage a file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Exit code of a command that has not enough memory.
const NO_MEMORY: i32 = 3;

/// All limits that are tried are below this, in MiB. The commands need much less.
const LARGEST: u64 = 2048;

/// Distance between limits, in MiB.
const STEP: usize = 10;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cliquescope"));
    command.args(arguments);
    command
}

/// Runs the program with at most `mib` of address space.
fn run_within(mib: u64, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &(mib << 10).to_string()]);
    command.arg(env!("CARGO_BIN_EXE_cliquescope")).args(arguments);
    command.output().expect("there is a shell")
}

/// The smallest even limit in MiB with which `--version` succeeds. With less, the operating system
/// cannot start the program. If limits cannot be tested here, prints why and returns `None`.
fn smallest_limit() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: this test limits the address space only on Linux");
        return None;
    }
    let starts = |&mib: &u64| run_within(mib, &["--version"]).status.success();
    let smallest = (16..LARGEST).step_by(2).find(starts);
    if smallest.is_none() {
        eprintln!("SKIPPED: the program does not start with any limit below {LARGEST} MiB");
    }
    smallest
}

/// Whether two outputs have the same text, with numbers that differ by at most 1e-4. The last
/// digits depend on the number of threads that there was memory for.
fn agree(found: &[u8], expected: &[u8]) -> bool {
    let split = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text);
        text.split([',', ':', '{', '}', '[', ']', '\n']).map(str::to_owned).collect()
    };
    let (found, expected) = (split(found), split(expected));
    let is_near = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-4,
        _ => a == b,
    };
    found.len() == expected.len() && found.iter().zip(&expected).all(is_near)
}

/// Runs the command with growing limits, until it answers twice. Its answers must agree with the
/// answer of a run without a limit. Returns how often there was not enough memory.
fn failures(smallest: u64, arguments: &[&str]) -> u32 {
    let expected = program(arguments).output().expect("the program starts");
    assert!(expected.status.success(), "{arguments:?}: {expected:?}");
    let (mut failures, mut answers) = (0, 0);
    for mib in (smallest..LARGEST).step_by(STEP) {
        let found = run_within(mib, arguments);
        let message = String::from_utf8_lossy(&found.stderr);
        match found.status.code() {
            Some(0) => {
                assert!(agree(&found.stdout, &expected.stdout), "{arguments:?} with {mib} MiB");
                answers += 1;
            }
            Some(NO_MEMORY) => {
                assert!(message.contains("not enough memory"), "{arguments:?}, {mib}: {message}");
                failures += 1;
            }
            _ => panic!("{arguments:?} with {mib} MiB: {:?}, {message}", found.status),
        }
        if answers == 2 {
            break;
        }
    }
    assert_eq!(answers, 2, "{arguments:?}: no limit below {LARGEST} MiB was large enough");
    failures
}

#[test]
fn with_too_little_memory_a_command_says_so() {
    let Some(smallest) = smallest_limit() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = folder.path().join("cases.csv");
    fs::write(&cases, format!("smoke,xray\n{}", "yes,no\n".repeat(2000))).expect("written");
    let cases = cases.to_str().expect("UTF-8");
    let options = ["--threads", "2", "--memory-limit", "8GiB"];
    let queries: [&[&str]; 3] = [
        &["query", "barley", "--precision", "f32", "--json"],
        &["query", "insurance", "--form", "table-free", "--json"],
        &["query", "asia", "--evidence-file", cases, "--format", "csv"],
    ];
    let failures: u32 =
        queries.iter().map(|query| failures(smallest, &[query, &options[..]].concat())).sum();
    println!("{failures} commands had too little memory");
    assert!(failures > 0, "no limit was too small");
}

/// `info` forecasts the memory of all engines. If the build has engine `gpu`, this engine prepares
/// the network on several threads for its forecast. The answer of `info` has a duration, so the
/// text is not compared.
#[test]
fn with_too_little_memory_info_says_so() {
    let Some(smallest) = smallest_limit() else { return };
    let mut answers = 0;
    for mib in smallest..LARGEST {
        let found = run_within(mib, &["info", "asia", "--memory-limit", "8GiB"]);
        if found.status.success() {
            answers += 1;
        } else {
            assert_eq!(found.status.code(), Some(NO_MEMORY), "{mib} MiB: {found:?}");
            let message = String::from_utf8_lossy(&found.stderr);
            assert!(message.contains("not enough memory"), "{mib} MiB: {message}");
        }
        if answers == 2 {
            return;
        }
    }
    panic!("no limit was large enough");
}

#[test]
fn a_file_is_not_damaged_if_there_is_too_little_memory_to_replace_it() {
    let Some(smallest) = smallest_limit() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("work.uai");
    let name = file.to_str().expect("UTF-8");
    let content = "what a person made";
    let arguments = ["convert", "barley", name, "--force"];
    for mib in (smallest..LARGEST).step_by(STEP) {
        fs::write(&file, content).expect("written");
        let found = run_within(mib, &arguments);
        if found.status.success() {
            return;
        }
        assert_eq!(found.status.code(), Some(NO_MEMORY), "{mib} MiB: {found:?}");
        assert_eq!(fs::read_to_string(Path::new(name)).expect("it is there"), content);
    }
    panic!("no limit was large enough");
}
