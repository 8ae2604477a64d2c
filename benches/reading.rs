//! Time of reading a network, from text to network, for each format.
//!
//! `cargo bench --no-default-features --bench reading`. `samples` reads large shipped networks in
//! every format that can be written. `files` reads the largest file of each subfolder of the folder
//! `CLIQUESCOPE_CORPUS` (default: `../shared/corpus`).

use std::path::{Path, PathBuf};

use cliquescope::format::{Format, open, open_bytes, write};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// Names of large shipped networks, each with the extension of every format that can be written,
/// such as `munin4.bif`.
fn sample_files() -> Vec<String> {
    let formats = Format::ALL.iter().filter(|format| format.can_write());
    let extensions = formats.map(|format| format.extensions()[0]);
    extensions
        .flat_map(|extension| ["diabetes", "munin4"].map(|name| format!("{name}.{extension}")))
        .collect()
}

#[divan::bench(args = sample_files(), max_time = 1.0)]
fn samples(bencher: Bencher, file: &str) {
    let (name, extension) = file.split_once('.').expect("sample files have an extension");
    let network = open(name).expect("it is shipped").network;
    let format = Format::by_name(extension).expect("a known extension");
    let text = write(&network, format).expect("shipped networks can be written").text;
    read(bencher, file, text.as_bytes());
}

#[divan::bench(args = largest_files(), max_time = 1.0)]
fn files(bencher: Bencher, file: &str) {
    let bytes = std::fs::read(corpus().join(file)).expect("it was listed");
    read(bencher, file, &bytes);
}

fn read(bencher: Bencher, name: &str, bytes: &[u8]) {
    bencher
        .counter(BytesCount::of_slice(bytes))
        .with_inputs(|| bytes.to_vec())
        .bench_local_values(|bytes| open_bytes(name, bytes));
}

fn corpus() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    std::env::var_os("CLIQUESCOPE_CORPUS").map_or_else(default, PathBuf::from)
}

/// The largest file in each folder of the corpus; none if there is no corpus.
fn largest_files() -> Vec<String> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut folders = list(&corpus());
    folders.sort();
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let files = folders.iter().filter_map(|folder| list(folder).into_iter().max_by_key(size));
    files.filter_map(|file| Some(file.strip_prefix(corpus()).ok()?.display().to_string())).collect()
}
