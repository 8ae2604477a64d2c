//! Reads the networks in the subfolders of `CLIQUESCOPE_CORPUS` (default: `../shared/corpus`) if
//! that folder exists. No file may cause a panic, every error must have a position, and at least
//! half of the files in each subfolder must open.

use std::path::Path;

use cliquescope::format::{self, OpenError};

const FOLDERS: [&str; 9] = ["bif", "net", "uai", "bifxml", "xml", "xdsl", "dnet", "dsl", "dsc"];

#[test]
fn every_file_of_the_corpus_opens_or_is_refused_with_a_position() {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let corpus = std::env::var_os("CLIQUESCOPE_CORPUS").map_or_else(default, Into::into);
    if !corpus.is_dir() {
        eprintln!("SKIPPED: there is no {}", corpus.display());
        return;
    }
    for folder in FOLDERS {
        let Ok(files) = std::fs::read_dir(corpus.join(folder)) else { continue };
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        let mut opened = 0;
        for path in &paths {
            match format::open_path(path) {
                Ok(_) => opened += 1,
                Err(OpenError::Format(error)) => {
                    assert!(error.line > 0 && error.column > 0 && !error.message.is_empty());
                    println!("{error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        println!("{folder}: {opened} of {} opened", paths.len());
        assert!(opened * 2 >= paths.len(), "at least half of {folder} should open");
    }
}
