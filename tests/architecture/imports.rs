//! Which file imports which, from `use` declarations and paths in the code.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::SourceFile;

/// Top-level modules that any module may import: leaves without imports of their own.
const LEAVES: [&str; 7] = ["cancel", "clock", "id", "mailbox", "numbers", "palette", "statistics"];

/// The top-level module of the file at `path`; `None` for `lib.rs`, `main.rs` and the leaves.
pub fn module_of(path: &str) -> Option<&str> {
    let module = path.split('/').next()?.trim_end_matches(".rs");
    (!LEAVES.contains(&module) && !["lib", "main"].contains(&module)).then_some(module)
}

/// The table "Allowed imports" of ARCHITECTURE.md: for each module, the modules that it may import.
pub fn allowed_imports() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let text = include_str!("../../ARCHITECTURE.md");
    let (_, section) =
        text.split_once("## Allowed imports").expect("ARCHITECTURE.md has this section");
    let table = section.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let names = |cell: &'static str| cell.split('`').skip(1).step_by(2);
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let module = cells.next().and_then(|cell| names(cell).next()).expect("a module");
        (module, names(cells.next().unwrap_or_default()).collect())
    })
    .collect()
}

/// The top-level modules that `file` imports, without leaves.
pub fn top_level_imports(file: &SourceFile) -> BTreeSet<&str> {
    let mut imports = BTreeSet::new();
    for root in ["crate::", "cliquescope::"] {
        for (at, _) in file.code.match_indices(root) {
            let rest = &file.code[at + root.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            imports.insert(&rest[..end]);
        }
    }
    imports.retain(|import| !import.is_empty() && !LEAVES.contains(import));
    // An upper-case name is an item of the crate root, not a module.
    imports.retain(|import| !import.starts_with(char::is_uppercase));
    imports
}

/// The import cycles: each set of two or more files that import each other, directly or indirectly.
/// `mod.rs`, `lib.rs` and `main.rs` are left out because they name all files of their folder.
pub fn cycles(files: &[SourceFile]) -> Vec<Vec<&str>> {
    let graph = Graph::of(files);
    let count = files.len();
    // One depth-first search from each file is fast enough for some hundred files.
    let reachable: Vec<Vec<bool>> = (0..count).map(|from| graph.reachable(from)).collect();
    let mut seen = vec![false; count];
    let mut cycles = Vec::new();
    for file in 0..count {
        if seen[file] || !reachable[file][file] {
            continue;
        }
        let both_ways = |other: &usize| reachable[file][*other] && reachable[*other][file];
        let cycle: Vec<usize> = (0..count).filter(both_ways).collect();
        cycle.iter().for_each(|&member| seen[member] = true);
        cycles.push(cycle.into_iter().map(|member| files[member].path.as_str()).collect());
    }
    cycles
}

/// The import graph: for each file, the indices of the files that it imports.
struct Graph {
    edges: Vec<Vec<usize>>,
}

impl Graph {
    fn of(files: &[SourceFile]) -> Self {
        let modules: BTreeMap<Vec<&str>, usize> = files
            .iter()
            .enumerate()
            .map(|(index, file)| (module_path(&file.path), index))
            .collect();
        let reexports: Vec<BTreeMap<String, Vec<String>>> = files
            .iter()
            .map(|file| {
                let uses = uses(file).into_iter().filter(|(is_public, _)| *is_public);
                uses.filter_map(|(_, path)| Some((path.last()?.clone(), path))).collect()
            })
            .collect();
        let is_left_out = |file: usize| {
            let path = &files[file].path;
            path.ends_with("mod.rs") || path == "lib.rs" || path == "main.rs"
        };
        let edges_of = |(index, file): (usize, &SourceFile)| {
            if is_left_out(index) {
                return Vec::new();
            }
            let targets = uses(file)
                .into_iter()
                .filter_map(|(_, path)| resolve(&path, &modules, &reexports, 0));
            let targets: BTreeSet<usize> =
                targets.filter(|&target| target != index && !is_left_out(target)).collect();
            targets.into_iter().collect()
        };
        Self { edges: files.iter().enumerate().map(edges_of).collect() }
    }

    /// For each file, whether it can be reached from `from` through one or more imports.
    fn reachable(&self, from: usize) -> Vec<bool> {
        let mut reached = vec![false; self.edges.len()];
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for &next in &self.edges[file] {
                if !std::mem::replace(&mut reached[next], true) {
                    open.push(next);
                }
            }
        }
        reached
    }
}

/// The path of the module in the file at `path`: `engine/cpu/mod.rs` holds `engine::cpu`.
fn module_path(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// The index of the file that defines the item at `path`. Follows up to eight re-exports.
fn resolve(
    path: &[String],
    modules: &BTreeMap<Vec<&str>, usize>,
    reexports: &[BTreeMap<String, Vec<String>>],
    depth: usize,
) -> Option<usize> {
    let prefix =
        |length: usize| -> Vec<&str> { path[..length].iter().map(String::as_str).collect() };
    let (length, &file) =
        (1..=path.len()).rev().find_map(|n| Some((n, modules.get(&prefix(n))?)))?;
    match path.get(length).and_then(|name| reexports[file].get(name)) {
        Some(further) if depth < 8 => {
            let rest = path[length + 1..].iter().cloned();
            let further: Vec<String> = further.iter().cloned().chain(rest).collect();
            resolve(&further, modules, reexports, depth + 1)
        }
        _ => Some(file),
    }
}

/// The absolute path of each item that `file` names, and whether `file` re-exports the item.
fn uses(file: &SourceFile) -> Vec<(bool, Vec<String>)> {
    let module = module_path(&file.path);
    let mut found = Vec::new();
    let mut rest = String::new();
    for statement in file.code.split_inclusive(';') {
        let declaration = statement.rfind("use ").filter(|&at| {
            let before = statement[..at].lines().last().unwrap_or_default().trim();
            before.is_empty() || before.starts_with("pub")
        });
        let Some(at) = declaration else {
            rest.push_str(statement);
            continue;
        };
        rest.push_str(&statement[..at]);
        let is_public = statement[..at]
            .trim_end()
            .lines()
            .last()
            .is_some_and(|line| line.trim_start().starts_with("pub"));
        let tree = statement[at + 4..].trim_end_matches(';');
        let absolute = expand(tree).into_iter().map(|path| absolute(&path, &module));
        found.extend(absolute.map(|path| (is_public, path)));
    }
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in rest.match_indices(root) {
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = rest[at..].find(|c| !is_path(c)).unwrap_or(rest.len() - at);
            let path = rest[at..at + end].trim_end_matches(':');
            found.push((false, absolute(path, &module)));
        }
    }
    found
}

/// The paths of a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, body)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let body = body.trim();
    let body = body.strip_suffix('}').unwrap_or(body);
    let (mut depth, mut branch, mut branches) = (0, String::new(), Vec::new());
    for c in body.chars().chain([',']) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(std::mem::take(&mut branch));
                continue;
            }
            _ => {}
        }
        branch.push(c);
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| expand(branch)).map(|path| format!("{prefix}{path}")).collect()
}

/// Converts `path`, which occurs in `module`, to an absolute path from the crate's root. A path
/// into another crate becomes a path below `module`, which matches no file.
fn absolute(path: &str, module: &[&str]) -> Vec<String> {
    let mut base: Vec<&str> = module.to_vec();
    let mut parts = path.split("::").peekable();
    match parts.peek().copied().unwrap_or_default() {
        "crate" => {
            base.clear();
            parts.next();
        }
        "self" => {
            parts.next();
        }
        "super" => {
            while parts.next_if_eq(&"super").is_some() {
                base.pop();
            }
        }
        _ => {}
    }
    base.into_iter().chain(parts).map(str::to_owned).collect()
}

#[test]
fn use_trees_are_expanded() {
    assert_eq!(expand("a::b"), ["a::b"]);
    assert_eq!(expand("a::{b, c::{d, e}}"), ["a::b", "a::c::d", "a::c::e"]);
    assert_eq!(expand("a::b as c"), ["a::b"]);
}

#[test]
fn a_cycle_is_found_through_a_re_export() {
    let file = |path: &str, code: &str| SourceFile { path: path.to_owned(), code: code.to_owned() };
    let files = [
        file("folder/mod.rs", "mod a;\nmod b;\npub use a::Thing;\npub use self::a::Other;"),
        file("folder/a.rs", "use super::b::Part;"),
        file("folder/b.rs", "use crate::folder::Other;"),
        file("folder/c.rs", "use crate::folder::a;"),
    ];
    assert_eq!(cycles(&files), [["folder/a.rs", "folder/b.rs"]]);
}
