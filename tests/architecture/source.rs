//! The program's source files without comments and unit tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One file of `src`.
pub struct SourceFile {
    /// Path below `src`, with `/` between its parts.
    pub path: String,
    /// Source text without comments and without the unit tests at the end of the file.
    pub code: String,
}

/// All files of `src`, sorted by path, except `tests.rs`, `fixtures.rs` and `testing.rs`, which are
/// only for unit tests.
pub fn source_files() -> &'static [SourceFile] {
    static FILES: LazyLock<Vec<SourceFile>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut paths = Vec::new();
        collect(&root, &mut paths);
        paths.sort();
        assert!(paths.len() > 100, "the source was found");
        paths.iter().filter(|path| !is_for_tests(path)).map(|path| read(&root, path)).collect()
    });
    &FILES
}

/// Adds the paths of all Rust files in `folder` and its subfolders to `paths`.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the source") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// Whether the name of the file at `path` says that it is only for unit tests.
fn is_for_tests(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    matches!(stem, Some("tests" | "fixtures" | "testing"))
}

/// Reads the file at `path` and removes comments and unit tests.
fn read(root: &Path, path: &Path) -> SourceFile {
    let text = fs::read_to_string(path).expect("a source file is text");
    let below = path.strip_prefix(root).expect("the file is below the root");
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    // The module with unit tests is at the end of a file.
    let end = text.find("\nmod tests {").unwrap_or(text.len());
    let text = &text[..end];
    let lines = text.lines().map(|line| match line.trim_start().starts_with("//") {
        true => "",
        false => line.split(" // ").next().unwrap_or_default(),
    });
    SourceFile { path: parts.join("/"), code: lines.collect::<Vec<_>>().join("\n") }
}
