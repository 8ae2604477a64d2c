//! Runs every fuzz target on its seeds and on 3000 mutations of them, on the stable compiler and
//! without libFuzzer.
//!
//! `cargo test --release --test fuzz_smoke` runs only these tests. The mutations are the same in
//! every run. `fuzz/long.sh` runs other mutations for a given time. The seeds include small
//! files of the corpus next to the repository, if it exists: see `fuzz/seeds.sh`.
#![cfg(unix)]

#[path = "common/long.rs"]
mod long;
#[path = "common/mutate.rs"]
mod mutate;
#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code, missing_docs, reason = "part of another package")]
mod targets;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use long::LongRun;
use mutate::mutate;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use targets::TARGETS;

/// Number of mutations per target. All targets together take a few seconds in a release build.
const MUTATIONS: usize = 3000;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// Path and content of each file in `folder`, ordered by path.
fn files(folder: &Path) -> Seeds {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs the target called `name` on `bytes`. If the target panics, saves `bytes` to a file named
/// after their hash, in the folder for temporary files, and panics with the path of that file.
fn run(name: &str, bytes: &[u8]) {
    if std::panic::catch_unwind(|| targets::run(name, bytes)).is_err() {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let file = format!("fuzz-smoke-{name}-{:016x}", hasher.finish());
        let path = std::env::temp_dir().join(file);
        fs::write(&path, bytes).unwrap();
        panic!("target {name} failed; its input is in {}", path.display());
    }
}

/// Path and content of each seed of a target.
type Seeds = Vec<(PathBuf, Vec<u8>)>;

/// The name and the seeds of each target.
fn all_seeds() -> Vec<(&'static str, Seeds)> {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(fuzz_folder().join("seeds.sh")).arg(folder.path()).status().unwrap();
    assert!(status.success(), "seeds.sh failed");
    let seeds = |(name, _)| {
        let seeds = files(&folder.path().join(name));
        assert!(!seeds.is_empty(), "no seeds for {name}");
        (name, seeds)
    };
    TARGETS.into_iter().map(seeds).collect()
}

#[test]
fn no_target_panics_on_its_seeds_or_on_mutations_of_them() {
    for (name, seeds) in all_seeds() {
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

/// Number of mutations for one target before the next target has its turn.
const ROUND: usize = 200;

#[test]
#[ignore = "runs for LONG_SECONDS seconds"]
fn mutations_for_the_given_time() {
    let mut long = LongRun::from_environment("readers");
    let targets = all_seeds();
    let mut random = Pcg64Mcg::seed_from_u64(long.seed);
    while long.has_time_left() {
        for (name, seeds) in &targets {
            for _ in 0..ROUND {
                let (_, bytes) = &seeds[random.random_range(0..seeds.len())];
                let bytes = mutate(bytes, &mut random);
                long.catch("the input above", || run(name, &bytes));
            }
            long.count(ROUND as u64);
        }
    }
    long.finish();
}
