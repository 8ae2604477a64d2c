//! Files in other encodings, compressed, empty, unreadable or missing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cliquescope::format::{Format, open_bytes, open_path};
use cliquescope::network::Network;

/// File name and content of each network fixture.
pub fn networks() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if Format::by_extension(&name).is_some() {
            all.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    all.sort();
    all
}

/// The variables with their states, and the values of all factors. None of these depends on the
/// encoding of the file.
type Model = (Vec<(String, Vec<String>)>, Vec<Vec<f64>>);

fn model(network: &Network) -> Model {
    let variables = network.variables().iter();
    let named = variables.map(|variable| (variable.name().to_owned(), variable.states().to_vec()));
    (named.collect(), network.factors().map(|factor| factor.values().to_vec()).collect())
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Model {
    let read = open_bytes(name, bytes).unwrap_or_else(|error| panic!("{error}"));
    model(&read.network)
}

#[test]
fn there_is_a_fixture_for_each_format() {
    let fixtures = networks();
    for format in Format::ALL {
        let of_format = |(name, _): &&(String, String)| Format::by_extension(name) == Some(*format);
        let (name, text) = fixtures.iter().find(of_format).unwrap();
        let opened = open_bytes(name, text.as_str()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(opened.format, *format);
        assert!(opened.network.variables().len() >= 3);
    }
}

#[test]
fn encoding_and_compression_change_nothing() {
    for (name, text) in networks() {
        let plain = read(&name, text.as_str());
        let little =
            |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        // Starts with a byte order mark.
        let marked = format!("\u{feff}{text}");
        assert_eq!(read(&name, marked.as_str()), plain, "{name} in UTF-8 with a mark");
        let twice = format!("\u{feff}{marked}");
        assert_eq!(read(&name, twice.as_str()), plain, "{name} with two marks");
        // In UTF-16 an XML declaration names the wrong encoding, which must be ignored.
        assert_eq!(read(&name, little(&twice)), plain, "{name} in UTF-16 with two marks");
        assert_eq!(read(&name, little(&marked)), plain, "{name} in UTF-16");
        assert_eq!(read(&name, big(&marked)), plain, "{name} in UTF-16, big-endian");
        assert_eq!(read(&name, text.replace('\n', "\r\n")), plain, "{name} with CR and LF");
        let long = text.replace('\n', &" ".repeat(10_000));
        // Joining the lines would change a line comment or a quoted text of several lines.
        let comments = ["//", "% ", "\"Rain\n"].iter().any(|comment| text.contains(comment));
        if !comments {
            assert_eq!(read(&name, long), plain, "{name} in one line");
        }
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        assert_eq!(read(&format!("{name}.gz"), packer.finish().unwrap()), plain);
    }
}

/// These inputs were found by fuzzing.
#[test]
fn inputs_that_once_broke_a_reader_are_refused() {
    let found: [&[u8]; 3] = [
        b"\xfe\xff\xfe\xff\x91\x93\0\0\0\xff\x01\0\xbc",
        b"\xff\xfe\xff\xfe\0\0\0e\xff\xff\xf6\xff\0\0}\xff&#\x0f\0-5;\0\0",
        b"bnet n { node a { states = (); probs = (#75, 1); }; };",
    ];
    for bytes in found {
        for format in Format::ALL {
            let name = format!("a.{}", format.extensions()[0]);
            assert!(open_bytes(&name, bytes).is_err(), "{name}");
        }
    }
}

#[test]
fn latin1_text_is_read() {
    for (name, text) in networks() {
        if !text.contains("rain") {
            continue;
        }
        let latin: Vec<u8> = text.replace("low", "l\u{f8}w").chars().map(|c| c as u8).collect();
        assert!(std::str::from_utf8(&latin).is_err(), "{name} is not UTF-8 any more");
        let result = open_bytes(&name, latin);
        let read = result.unwrap_or_else(|error| panic!("{error}"));
        let wind = read.network.find("wind").expect("the variable is there");
        assert_eq!(read.network[wind].states()[0], "l\u{f8}w", "{name}");
    }
}

#[test]
fn a_compression_bomb_is_refused() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let megabyte = vec![b' '; 1 << 20];
    for _ in 0..80 {
        packer.write_all(&megabyte).unwrap();
    }
    let bomb = packer.finish().unwrap();
    assert!(bomb.len() < 100_000);
    for format in Format::ALL {
        let name = format!("a.{}.gz", format.extensions()[0]);
        let error = open_bytes(&name, bomb.clone()).unwrap_err().to_string();
        let expected =
            format!("{name}: larger than the maximum of {} bytes when unpacked", 1 << 26);
        assert_eq!(error, expected);
    }
}

#[test]
fn empty_files_and_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let name = format!("a.{}", format.extensions()[0]);
        for empty in ["", " \n", "\u{feff}", "\u{feff}\n"] {
            assert!(open_bytes(&name, empty).is_err(), "{name} that holds {empty:?}");
        }
        let path = folder.path().join(&name);
        let error = open_path(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
        fs::create_dir(&path).unwrap();
        let error = open_path(&path).unwrap_err().to_string();
        assert_eq!(error, format!("{}: this is a folder, expected a file", path.display()));
    }
    let error = open_bytes("a", "").unwrap_err().to_string();
    assert!(error.contains("it is empty"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_without_read_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bif");
    fs::write(&path, "variable").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser can read the file anyway.
    if fs::read(&path).is_err() {
        assert!(open_path(&path).unwrap_err().to_string().contains("ermission"));
    }
}

#[test]
fn a_file_that_changes_or_disappears_while_it_is_read_is_read_whole_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole: PathBuf = folder.path().join("a.bif");
    let text = networks().into_iter().find(|(name, _)| name == "small.bif").unwrap().1;
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut length = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                length = (length + 37) % text.len();
                // Written in place, so that a reader may see parts of both versions.
                let _ = fs::write(&whole, &text.as_bytes()[..length]);
                let _ = fs::write(&whole, &text);
                let _ = fs::remove_file(&whole);
            }
        });
        // What was written may end after the network's own block: this is a network of no
        // variables.
        let sizes = (0..500).filter_map(|_| open_path(&whole).ok());
        let mut sizes = sizes.map(|read| read.network.variables().len());
        let wrong = sizes.find(|size| ![0, 3].contains(size));
        // The writer must end before an assertion may fail.
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}
