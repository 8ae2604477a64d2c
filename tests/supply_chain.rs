//! The dependencies in the lock file come from one registry and have checksums. Their number does
//! not grow unnoticed.

use std::collections::BTreeMap;

/// Maximum number of locked crates, for all platforms and including the tests; 444 when the limit
/// was set. Before you raise this limit, check which crates are new.
const MAX_CRATES: usize = 460;

/// Maximum number of crates that are locked in more than one version; 31 when the limit was set.
const MAX_WITH_SEVERAL_VERSIONS: usize = 36;

/// Name and source of each locked crate, and whether it has a checksum.
fn locked() -> Vec<(String, Option<String>, bool)> {
    let packages = include_str!("../Cargo.lock").split("[[package]]").skip(1);
    let field = |package: &str, key: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    packages
        .map(|package| {
            let name = field(package, "name").expect("a package has a name");
            (name, field(package, "source"), field(package, "checksum").is_some())
        })
        .collect()
}

#[test]
fn every_crate_comes_from_one_registry_with_a_checksum() {
    let locked = locked();
    assert!(locked.len() > 100, "the lock file was read");
    let ours: Vec<_> = locked.iter().filter(|(_, source, _)| source.is_none()).collect();
    assert_eq!(ours.len(), 1, "only the program itself has no source: {ours:?}");
    let sources: std::collections::BTreeSet<_> =
        locked.iter().filter_map(|(_, source, _)| source.as_ref()).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
    let unchecked: Vec<_> =
        locked.iter().filter(|(_, source, checked)| source.is_some() && !checked).collect();
    assert!(unchecked.is_empty(), "{unchecked:?}");
}

#[test]
fn the_number_of_crates_does_not_grow_unnoticed() {
    let locked = locked();
    assert!(locked.len() <= MAX_CRATES, "{} crates, expected at most {MAX_CRATES}", locked.len());
    let mut versions = BTreeMap::<_, usize>::new();
    for (name, _, _) in &locked {
        *versions.entry(name).or_default() += 1;
    }
    versions.retain(|_, count| *count > 1);
    let several = versions.len();
    assert!(several <= MAX_WITH_SEVERAL_VERSIONS, "{several} in several versions: {versions:?}");
}

#[test]
fn the_program_has_no_build_script() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!folder.join("build.rs").exists());
    let manifest =
        std::fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml can be read");
    assert!(!manifest.contains("\nbuild ="), "no build script under another name");
    assert!(!manifest.contains("[build-dependencies]"));
}
