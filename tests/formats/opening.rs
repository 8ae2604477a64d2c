//! Opening a file or a sample, and finding out the format of a file.

use cliquescope::format::{self, Format, NetworkOrigin, OpenError, SAMPLES};

#[test]
fn an_unknown_format_is_reported_with_the_start_of_the_file() {
    let message = |name: &str, text: &str| format::open_bytes(name, text).unwrap_err().to_string();
    let known = Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    assert_eq!(
        message("a.html", "<html>\n<body/>"),
        format!("a.html: unknown format: it begins with '<html>'; the known formats are {known}")
    );
    assert_eq!(
        message("empty", " \n "),
        format!("empty: unknown format: it is empty; the known formats are {known}")
    );
    assert_eq!(
        message("empty.bif", "  "),
        "empty.bif:1:3: expected 'network', 'variable' or 'probability', found the end of the file",
        "the extension decides if there is no content"
    );
}

#[test]
fn the_content_decides_the_format_and_a_wrong_extension_causes_a_warning() {
    let read = format::open_bytes("a.xdsl", "network n { }").unwrap();
    assert_eq!(read.format, Format::Bif);
    assert_eq!(
        read.warnings[0].to_string(),
        "a.xdsl: the extension says XDSL, but the content is BIF and was read as BIF"
    );
    let read = format::open_bytes("anything.txt", "/* BIF */ network n { }").unwrap();
    assert_eq!((read.format, read.warnings), (Format::Bif, vec![]));
}

#[test]
fn for_an_unknown_name_the_samples_are_listed() {
    let error = format::open("no/such/file.bif").unwrap_err();
    assert_eq!(error, OpenError::NotFound("no/such/file.bif".into()));
    assert!(error.to_string().contains("the samples are asia, cancer"), "{error}");
}

#[test]
fn a_path_opens_a_file_and_a_name_opens_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asia");
    std::fs::write(&path, "network two { }").unwrap();
    let read = format::open(path.to_str().unwrap()).unwrap();
    assert_eq!(read.network.name(), "two");
    assert_eq!(read.origin, NetworkOrigin::File(path));
    assert_eq!(read.origin.title(), "asia");
    let read = format::open("Asia").unwrap();
    assert_eq!(read.origin, NetworkOrigin::Sample("asia"));
    let error = format::open(folder.path().to_str().unwrap()).unwrap_err();
    assert!(matches!(error, OpenError::Unreadable { .. }), "{error}");
}

#[test]
fn every_sample_opens_and_matches_its_description() {
    assert_eq!(SAMPLES.len(), 13);
    for sample in SAMPLES {
        let read = sample.open();
        assert_eq!(read.network.variables().len(), sample.variables, "{}", sample.name);
        assert_eq!(read.network.arc_count(), sample.arcs, "{}", sample.name);
        assert_eq!(read.network.name(), sample.name);
        assert!(read.warnings.len() <= 1, "{:?}", read.warnings);
    }
}
