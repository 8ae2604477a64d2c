//! Runs every fuzz target on its seeds and on 3000 mutations of them, on the stable compiler and
//! without libFuzzer.
//!
//! `cargo test --release --test fuzz_smoke` runs only this test. The mutations are the same in
//! every run. The seeds include files of a collection next to the repository, if there is one: see
//! `fuzz/seeds.sh`.
#![cfg(unix)]

#[path = "common/mutate.rs"]
mod mutate;
#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code, missing_docs, reason = "part of another package")]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mutate::mutate;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use targets::TARGETS;

/// Number of mutations per target. All targets together take a few seconds in a release build.
const MUTATIONS: usize = 3000;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// Path and content of each file in `folder`, ordered by path.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs the target called `name` on `bytes`. If the target panics, saves `bytes` to a file and
/// panics with the path of that file.
fn run(name: &str, bytes: &[u8]) {
    if std::panic::catch_unwind(|| targets::run(name, bytes)).is_err() {
        let path = std::env::temp_dir().join(format!("fuzz-smoke-{name}"));
        fs::write(&path, bytes).unwrap();
        panic!("target {name} failed; its input is in {}", path.display());
    }
}

#[test]
fn no_target_panics_on_its_seeds_or_on_mutations_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(fuzz_folder().join("seeds.sh")).arg(folder.path()).status().unwrap();
    assert!(status.success(), "seeds.sh failed");
    for (name, _) in TARGETS {
        let seeds = files(&folder.path().join(name));
        assert!(!seeds.is_empty(), "no seeds for {name}");
        for (_, bytes) in &seeds {
            run(name, bytes);
        }
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for (_, bytes) in seeds.iter().cycle().take(MUTATIONS) {
            run(name, &mutate(bytes, &mut random));
        }
    }
}

#[test]
fn every_target_has_a_program_for_libfuzzer() {
    let programs: Vec<String> = files(&fuzz_folder().join("fuzz_targets"))
        .iter()
        .map(|(path, _)| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(programs, TARGETS.map(|(name, _)| name));
    for name in &programs {
        let program = fuzz_folder().join("fuzz_targets").join(format!("{name}.rs"));
        let call = format!("run(\"{name}\", bytes)");
        assert!(fs::read_to_string(program).unwrap().contains(&call), "{name}");
    }
}
