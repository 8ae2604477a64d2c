//! What the program is made of, as far as the lock file tells: one source, nothing unchecked, and
//! no more than there was.

use std::collections::BTreeMap;

/// Crates that may be locked, those of every platform and of the tests counted. Whoever raises this
/// has seen which are new.
const MOST: usize = 460;

/// Crates that may be there in several versions.
const MOST_IN_SEVERAL_VERSIONS: usize = 36;

/// Name, source and whether there is a checksum, of each locked crate.
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
fn every_crate_comes_from_one_registry_and_is_checked() {
    let locked = locked();
    assert!(locked.len() > 100, "the lock file was read");
    let ours: Vec<_> = locked.iter().filter(|(_, source, _)| source.is_none()).collect();
    assert_eq!(ours.len(), 1, "only the program itself lies beside: {ours:?}");
    let sources: std::collections::BTreeSet<_> =
        locked.iter().filter_map(|(_, source, _)| source.as_ref()).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
    let unchecked: Vec<_> =
        locked.iter().filter(|(_, source, checked)| source.is_some() && !checked).collect();
    assert!(unchecked.is_empty(), "{unchecked:?}");
}

#[test]
fn there_are_no_more_crates_than_there_were() {
    let locked = locked();
    assert!(locked.len() <= MOST, "{} crates, expected at most {MOST}", locked.len());
    let mut versions = BTreeMap::<_, usize>::new();
    for (name, _, _) in &locked {
        *versions.entry(name).or_default() += 1;
    }
    versions.retain(|_, count| *count > 1);
    let several = versions.len();
    assert!(several <= MOST_IN_SEVERAL_VERSIONS, "{several} in several versions: {versions:?}");
}

#[test]
fn nothing_of_ours_runs_at_build_time() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!folder.join("build.rs").exists());
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("it is there");
    assert!(!manifest.contains("\nbuild ="), "no build script by another name");
    assert!(!manifest.contains("[build-dependencies]"));
}
