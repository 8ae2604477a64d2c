//! Tests of the rules in ARCHITECTURE.md that the compiler cannot check. They read the source as
//! text.

mod imports;
mod source;

use source::{SourceFile, source_files};

/// Maximum number of files in an import cycle. `mod.rs`, `lib.rs` and `main.rs` do not count.
const LARGEST_CYCLE: usize = 6;

/// Files and folders that may contain `unsafe`: an allocator, calls of it and of the operating
/// system, calls of the CUDA driver, functions that choose an instruction set after checking that
/// the processor supports it, and the vector instructions that these use.
const UNSAFE_ALLOWED: [&str; 5] = [
    "allocate/huge_pages.rs",
    "allocate/reserve.rs",
    "engine/cuda/",
    "engine/lanes.rs",
    "engine/simd.rs",
];

/// Files and folders in which threads may be started.
const THREADS_ALLOWED: [&str; 7] = [
    "allocate/",
    "session/",
    "store/",
    "engine/",
    "graph/search.rs",
    "app/shell/file_dialog.rs",
    "cli/query/pipeline.rs",
];

/// Files and folders that may run work on the threads of rayon.
const RAYON_ALLOWED: [&str; 3] = ["allocate/threads.rs", "engine/", "graph/search.rs"];

/// The files that may use a clock other than `crate::clock`, which all files may use.
/// `propagation/watch.rs` reads the processor's counter.
const CLOCKS_ALLOWED: [&str; 2] = ["clock.rs", "propagation/watch.rs"];

/// Checks that `is_restricted` holds for no line outside the files and folders in `allowed`.
///
/// # Panics
/// If it does hold for a line elsewhere. The message has `rule` and all such lines.
fn assert_only_in(allowed: &[&str], rule: &str, is_restricted: impl Fn(&str) -> bool) {
    let is_checked =
        |file: &&SourceFile| !allowed.iter().any(|prefix| file.path.starts_with(prefix));
    let offences: Vec<String> = source_files()
        .iter()
        .filter(is_checked)
        .flat_map(|file| {
            let found = file.code.lines().filter(|line| is_restricted(line));
            found.map(|line| format!("src/{}: {}", file.path, line.trim())).collect::<Vec<_>>()
        })
        .collect();
    assert!(offences.is_empty(), "{rule}:\n{}", offences.join("\n"));
}

/// Whether `text` contains `word` as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let table = imports::allowed_imports();
    let mut offences = Vec::new();
    for file in source_files() {
        let Some(module) = imports::module_of(&file.path) else {
            let is_root = ["lib.rs", "main.rs"].contains(&file.path.as_str());
            let imports = imports::top_level_imports(file);
            assert!(is_root || imports.is_empty(), "src/{} imports {imports:?}", file.path);
            continue;
        };
        let allowed = table.get(module).unwrap_or_else(|| {
            panic!("src/{}: module '{module}' is not in the import table", file.path)
        });
        for import in imports::top_level_imports(file) {
            if import != module && !allowed.contains(import.as_str()) {
                offences.push(format!("src/{} imports {import}", file.path));
            }
        }
    }
    assert!(
        offences.is_empty(),
        "not allowed by the table in ARCHITECTURE.md:\n{}",
        offences.join("\n")
    );
}

#[test]
fn files_do_not_import_each_other_in_large_cycles() {
    for cycle in imports::cycles(source_files()) {
        assert!(cycle.len() <= LARGEST_CYCLE, "these files import each other: {cycle:?}");
    }
}

#[test]
fn egui_is_used_only_in_app() {
    let crates = ["egui", "eframe", "egui_plot", "egui_graphs", "egui_tiles", "egui_extras"];
    assert_only_in(&["app/"], "egui outside src/app", |line| {
        crates.iter().any(|name| line.contains(&format!("{name}::")))
    });
}

#[test]
fn cuda_is_used_only_by_the_engines_on_a_gpu() {
    assert_only_in(&["engine/cuda/"], "cudarc outside src/engine/cuda", |line| {
        has_word(line, "cudarc")
    });
}

#[test]
fn unsafe_code_is_only_in_the_listed_places() {
    assert_only_in(&UNSAFE_ALLOWED, "unsafe code outside the listed places", |line| {
        has_word(line, "unsafe")
    });
    // The compiler denies unsafe code, so a module that needs it must allow it explicitly.
    let lints = include_str!("../../Cargo.toml");
    assert!(lints.contains("unsafe_code = \"deny\""), "Cargo.toml must deny unsafe code");
}

#[test]
fn threads_and_clocks_are_used_only_in_the_listed_places() {
    let starts = ["thread::spawn", "thread::Builder", "thread::scope", "ThreadPoolBuilder"];
    assert_only_in(&["allocate/threads.rs"], "a thread starts without start_thread", |line| {
        starts.iter().any(|start| line.contains(start))
    });
    let starts = ["start_thread", "thread_pool", "on_own_thread"];
    assert_only_in(&THREADS_ALLOWED, "a thread is started outside the listed places", |line| {
        starts.iter().any(|start| has_word(line, start))
    });
    assert_only_in(&RAYON_ALLOWED, "rayon is used outside the listed places", |line| {
        has_word(line, "rayon")
    });
    let uses_std = |line: &str| line.contains("std::time::") && has_word(line, "Instant");
    let clocks = ["web_time::", "quanta::", "SystemTime::now"];
    assert_only_in(&CLOCKS_ALLOWED, "a clock is read outside the listed places", |line| {
        uses_std(line) || clocks.iter().any(|clock| line.contains(clock))
    });
}

#[test]
fn the_graph_module_names_no_type_with_probabilities() {
    for file in source_files().iter().filter(|file| file.path.starts_with("graph/")) {
        for name in ["Cpt", "Factor", "Evidence", "Posteriors", "Potential"] {
            assert!(!has_word(&file.code, name), "src/{} mentions {name}", file.path);
        }
    }
}

#[test]
fn panes_name_neither_the_workbench_nor_a_session_nor_a_propagator() {
    for file in source_files().iter().filter(|file| file.path.starts_with("app/panes/")) {
        for name in ["Workbench", "Propagator", "Session"] {
            assert!(!has_word(&file.code, name), "src/{} mentions {name}", file.path);
        }
        assert!(!file.code.contains("engine::propagate"), "src/{} runs inference", file.path);
    }
}

#[test]
fn no_engine_is_recognised_by_its_name() {
    let names = ["\"cpu\"", "\"gpu\"", "\"gpu-paper\"", "\"sequential\"", "\"reference\""];
    // The names are defined in `engine`. A CSV file has columns called `cpu` and `gpu` for the
    // machine's devices.
    let allowed = ["engine/", "experiment/csv.rs"];
    assert_only_in(&allowed, "the name of an engine in quotes", |line| {
        names.iter().any(|name| line.contains(name))
    });
}
