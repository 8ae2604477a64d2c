//! Which file imports which other files, found from `use` declarations and from paths in the code.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::SourceFile;

/// Top-level modules that any module may import and that import only each other.
const LEAVES: [&str; 9] = [
    "allocate",
    "cancel",
    "clock",
    "id",
    "mailbox",
    "numbers",
    "palette",
    "safe_text",
    "statistics",
];

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
pub fn top_level_imports(file: &SourceFile) -> BTreeSet<String> {
    let items = named_items(file).into_iter();
    let mut imports: BTreeSet<String> =
        items.filter_map(|item| item.path.into_iter().next()).collect();
    imports.retain(|import| !LEAVES.contains(&import.as_str()));
    // An upper-case name is an item of the crate root, not a module.
    imports.retain(|import| import.starts_with(char::is_lowercase));
    imports
}

/// The import cycles: each set of two or more files that import each other, directly or indirectly.
/// `mod.rs`, `lib.rs` and `main.rs` are left out because they name all files of their folder.
pub fn cycles(files: &[SourceFile]) -> Vec<Vec<&str>> {
    let graph = ImportGraph::of(files);
    let count = files.len();
    // One depth-first search from each file is fast enough for several hundred files.
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

/// The graph whose vertices are files and whose edges are imports.
struct ImportGraph {
    /// For each file, the indices of the files that it imports.
    imports: Vec<Vec<usize>>,
}

impl ImportGraph {
    /// The graph of `files`. In it, `mod.rs`, `lib.rs` and `main.rs` have no edges.
    fn of(files: &[SourceFile]) -> Self {
        // Each module's path and the index of its file.
        let modules: BTreeMap<Vec<&str>, usize> = files
            .iter()
            .enumerate()
            .map(|(index, file)| (module_path(&file.path), index))
            .collect();
        // For each file, the last part and the absolute path of each item that it re-exports.
        let reexports: Vec<BTreeMap<String, Vec<String>>> = files
            .iter()
            .map(|file| {
                let reexported = named_items(file).into_iter().filter(|item| item.is_reexport);
                reexported.filter_map(|item| Some((item.path.last()?.clone(), item.path))).collect()
            })
            .collect();
        let is_left_out = |file: usize| {
            let path = &files[file].path;
            path.ends_with("mod.rs") || path == "lib.rs" || path == "main.rs"
        };
        let imports_of = |(index, file): (usize, &SourceFile)| {
            if is_left_out(index) {
                return Vec::new();
            }
            let items = named_items(file);
            let targets =
                items.iter().filter_map(|item| resolve(&item.path, &modules, &reexports, 0));
            let targets: BTreeSet<usize> =
                targets.filter(|&target| target != index && !is_left_out(target)).collect();
            targets.into_iter().collect()
        };
        Self { imports: files.iter().enumerate().map(imports_of).collect() }
    }

    /// For each file, whether it can be reached from `from` through one or more imports.
    fn reachable(&self, from: usize) -> Vec<bool> {
        let mut reached = vec![false; self.imports.len()];
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for &next in &self.imports[file] {
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

/// Finds the longest prefix of `path` that is a module, follows re-exports from there, and returns
/// the index of the file where they end; `None` if no prefix is a module of the crate. `modules`
/// gives the file of each module, `reexports` the items that each file re-exports. Follows at most
/// eight re-exports; `depth` is the number of those already followed.
fn resolve(
    path: &[String],
    modules: &BTreeMap<Vec<&str>, usize>,
    reexports: &[BTreeMap<String, Vec<String>>],
    depth: usize,
) -> Option<usize> {
    let prefix =
        |length: usize| -> Vec<&str> { path[..length].iter().map(String::as_str).collect() };
    // The longest prefix of the path that is a module, and the file of that module.
    let (length, &file) =
        (1..=path.len()).rev().find_map(|n| Some((n, modules.get(&prefix(n))?)))?;
    match path.get(length).and_then(|name| reexports[file].get(name)) {
        Some(origin) if depth < 8 => {
            let rest = path[length + 1..].iter().cloned();
            let origin: Vec<String> = origin.iter().cloned().chain(rest).collect();
            resolve(&origin, modules, reexports, depth + 1)
        }
        _ => Some(file),
    }
}

/// An item that a file names.
struct NamedItem {
    /// Absolute path from the crate's root, such as `["engine", "cpu", "Cpu"]`.
    path: Vec<String>,
    /// Whether the file re-exports the item with `pub use`.
    is_reexport: bool,
}

/// The items that `file` names: in its `use` declarations, and in the rest of its code by paths
/// that begin with one of [`ROOTS`]. The same item may occur several times.
fn named_items(file: &SourceFile) -> Vec<NamedItem> {
    let module = module_path(&file.path);
    let (declarations, other_code) = split_off_use_declarations(&file.code);
    let mut items = Vec::new();
    for declaration in declarations {
        items.extend(expand(declaration.tree).iter().map(|path| NamedItem {
            path: absolute(path, &module),
            is_reexport: declaration.is_public,
        }));
    }
    items.extend(
        paths_in_code(&other_code)
            .map(|path| NamedItem { path: absolute(path, &module), is_reexport: false }),
    );
    items
}

/// A `use` declaration.
struct UseDeclaration<'a> {
    /// What follows `use`, without the semicolon, such as `a::{b, c::d}`.
    tree: &'a str,
    /// Whether the declaration begins with `pub`, with any visibility.
    is_public: bool,
}

/// Splits `code` into its `use` declarations and everything else. A declaration is recognised if
/// `use` is the first word of its line after the visibility.
fn split_off_use_declarations(code: &str) -> (Vec<UseDeclaration<'_>>, String) {
    let (mut declarations, mut other_code) = (Vec::new(), String::new());
    // A piece ends at a semicolon. It may begin with a block of code that has no semicolon after
    // it, such as a function, so the declaration is at the end of the piece.
    for piece in code.split_inclusive(';') {
        let split = piece.rsplit_once("use ").and_then(|(before, tree)| {
            let visibility = before.rsplit('\n').next().unwrap_or_default().trim();
            let is_public = visibility.starts_with("pub");
            (is_public || visibility.is_empty()).then_some((before, tree, is_public))
        });
        if let Some((before, tree, is_public)) = split {
            declarations.push(UseDeclaration { tree: tree.trim_end_matches(';'), is_public });
            other_code.push_str(before);
        } else {
            other_code.push_str(piece);
        }
    }
    (declarations, other_code)
}

/// What the path of an item of this crate may begin with. The program names the library
/// `cliquescope`.
const ROOTS: [&str; 4] = ["crate::", "cliquescope::", "super::", "self::"];

/// The paths in `code` that begin with one of [`ROOTS`].
fn paths_in_code(code: &str) -> impl Iterator<Item = &str> {
    ROOTS.into_iter().flat_map(move |root| {
        // In `super::super::a` only the first match is the beginning of the path.
        let matches = code.match_indices(root).map(|(start, _)| start);
        let starts = matches.filter(|&start| !code[..start].ends_with("::"));
        starts.map(|start| {
            let is_part_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let rest = &code[start..];
            let end = rest.find(|c| !is_part_of_path(c)).unwrap_or(rest.len());
            rest[..end].trim_end_matches(':')
        })
    })
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
/// into another crate becomes a path below `module`, so it seems to be an import of `module` itself
/// and is ignored.
fn absolute(path: &str, module: &[&str]) -> Vec<String> {
    let mut base: Vec<&str> = module.to_vec();
    let mut parts = path.split("::").peekable();
    match parts.peek().copied().unwrap_or_default() {
        "crate" | "cliquescope" => {
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
fn items_are_found_in_use_declarations_and_in_code() {
    let code = "use super::a::{B, c};\nfn f() { crate::d::e(); }\n\npub(crate) use self::g::H;\n";
    let file = SourceFile { path: "m/n.rs".to_owned(), code: code.to_owned() };
    let found: Vec<_> =
        named_items(&file).iter().map(|i| (i.path.join("::"), i.is_reexport)).collect();
    let expected = [("m::a::B", false), ("m::a::c", false), ("m::n::g::H", true), ("d::e", false)];
    assert_eq!(found, expected.map(|(path, is_reexport)| (path.to_owned(), is_reexport)));
}

#[test]
fn top_level_imports_are_found_in_all_forms() {
    let code = "use crate::{a, b::{C, d}};\nuse super::super::e::F;\nuse super::g;\n\
                use cliquescope::{h, i::J};\nuse std::fmt;\nuse crate::{cancel, k as l};\n\
                use crate::Top;\nfn f() { crate::m::n(); super::super::o::p(); }\n";
    let file = SourceFile { path: "x/y.rs".to_owned(), code: code.to_owned() };
    let found = top_level_imports(&file);
    assert_eq!(found.into_iter().collect::<String>(), "abehikmox");
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
