//! Evidence files of any length: read a part at a time, and cases read by their number.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::format::cases::{self, CaseFormat, CaseIndex, CaseReader, ReadCase};
use cliquescope::format::{gzip, sample};
use cliquescope::network::{Evidence, Network};

fn asia() -> Arc<Network> {
    sample("asia").expect("a sample of this name").open().network
}

/// Returns at most `count` bytes at a time, so that parts end inside rows and even characters.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    count: usize,
}

impl Read for Trickle {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.count.min(bytes.len());
        self.bytes.read(&mut bytes[..count])
    }
}

/// Reads the cases of a file, whose source returns at most `count` bytes at a time.
fn read(file: &str, bytes: impl Into<Vec<u8>>, count: usize, network: &Network) -> Vec<ReadCase> {
    let source = Trickle { bytes: Cursor::new(bytes.into()), count };
    let reader = CaseReader::new(file, source, network).unwrap_or_else(|error| panic!("{error}"));
    reader.map(|case| case.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The line and the evidence of each of `cases`, none of which may have a mistake.
fn lines_and_evidence(cases: Vec<ReadCase>) -> Vec<(Option<usize>, Evidence)> {
    let evidence = |case: ReadCase| (case.line, case.evidence.expect("a case without mistakes"));
    cases.into_iter().map(evidence).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_table_is_the_same_however_its_bytes_arrive() {
    let network = asia();
    let plain = "smoke,xray,note\nyes,,a\n\nno,yes,b\n,no,c\n";
    let expected = lines_and_evidence(read("a.csv", plain, usize::MAX, &network));
    let lines: Vec<_> = expected.iter().map(|(line, _)| line.unwrap()).collect();
    assert_eq!(lines, [2, 4, 5]);
    assert_eq!(expected[1].1.len(), 2);
    let without_last_feed = plain.trim_end();
    let variants: [(&str, Vec<u8>); 7] = [
        ("plain", plain.into()),
        ("without the last line feed", without_last_feed.into()),
        ("CRLF", plain.replace('\n', "\r\n").into()),
        ("byte order mark", format!("\u{feff}{plain}").into()),
        ("DOS padding", format!("{plain}\u{1a}\0\0\0").into()),
        ("UTF-16", utf16(plain)),
        ("gzip", gzip(plain.as_bytes())),
    ];
    for (name, bytes) in variants {
        for count in [1, 2, 3, 7, 64, usize::MAX] {
            let found = lines_and_evidence(read("a.csv", bytes.clone(), count, &network));
            assert_eq!(found, expected, "{name}, {count} bytes at a time");
        }
    }
}

#[test]
fn a_character_split_between_two_reads_does_not_turn_the_file_into_latin1() {
    let network = asia();
    // The padding shifts the text by one byte, so that the part of the file that the reader looks
    // at first can end within an 'é'.
    for padding in ["", "x"] {
        let text = format!("smoke,é{padding}\n{}", "yes,éééééé\n".repeat(20_000));
        for count in [1000, 1001, usize::MAX] {
            let source = Trickle { bytes: Cursor::new(text.clone().into()), count };
            let mut reader = CaseReader::new("a.csv", source, &*network).unwrap();
            assert_eq!(reader.by_ref().filter(|case| case.is_ok()).count(), 20_000);
            let warnings = reader.take_warnings();
            assert!(warnings[0].contains(&format!("'é{padding}'")), "{warnings:?}");
        }
    }
}

#[test]
fn a_quoted_cell_may_span_lines_of_several_parts() {
    let network = asia();
    let note = "line\n".repeat(50_000);
    let text = format!("note,smoke\n\"{note}\",no\n\"a \"\"b\"\"\n\",yes\nlast,no\n");
    let cases = lines_and_evidence(read("a.csv", text, 1000, &network));
    let lines: Vec<_> = cases.iter().map(|(line, _)| line.unwrap()).collect();
    assert_eq!(lines, [2, 50_003, 50_005]);
    let smoke = network.find("smoke").unwrap();
    let states: Vec<_> = cases.iter().map(|(_, case)| case.observed(smoke)).collect();
    assert_eq!(states, [Some(1), Some(0), Some(1)]);
}

/// The number of each case, and its error if it has one.
fn numbers_and_errors(cases: Vec<ReadCase>) -> Vec<(usize, Option<String>)> {
    let error = |case: ReadCase| (case.number, case.evidence.err().map(|error| error.to_string()));
    cases.into_iter().map(error).collect()
}

#[test]
fn a_mistake_in_a_case_does_not_end_the_file() {
    let network = asia();
    let error = |number, message: &str| (number, Some(message.to_owned()));
    let csv = "smoke,xray\nyes,no\nyess,no\nyes,no,no\nyes\n\"no,yes\nno,yes\n";
    let found = numbers_and_errors(read("a.csv", csv, 5, &network));
    let expected = [
        (1, None),
        error(2, "a.csv:3:1: case 2: variable 'smoke' has no state 'yess'; its states are yes, no"),
        error(3, "a.csv:4:8: case 3: the row has 3 cells, expected 2"),
        error(4, "a.csv:5:1: case 4: the row has 1 cell, expected 2"),
        error(5, "a.csv:6:1: case 5: this quote is not closed"),
        (6, None),
    ];
    assert_eq!(found, expected);

    let unknown = "case 2: there is no variable 'smokes'; did you mean smoke?";
    let array = "[{},\n {\"evidence\": {\"smokes\": \"no\"}}, 3,\n{\"name\": \"d\"}]";
    let found = read("a.json", array, 5, &network);
    assert_eq!(found[3].name.as_deref(), Some("d"));
    let found = numbers_and_errors(found);
    assert_eq!(found[1], error(2, &format!("a.json:2:30: {unknown}")));
    assert!(found[2].1.as_ref().unwrap().starts_with("a.json:2:34: case 3: invalid type"));
    assert!(found[0].1.is_none() && found[3].1.is_none() && found.len() == 4);

    let lines = "{}\n\n{\"evidence\": {\"smokes\": \"no\"}}\n{\"evidence\": {\n{\"name\": \"d\"}";
    let found = numbers_and_errors(read("a.jsonl", lines, 5, &network));
    assert_eq!(found[1], error(2, &format!("a.jsonl:3:29: {unknown}")));
    assert_eq!(
        found[2],
        error(3, "a.jsonl:4:14: case 3: the line ends before the JSON is complete")
    );
    assert!(found[3].1.is_none() && found.len() == 4);
}

#[test]
fn cases_before_a_damaged_end_are_read() {
    let network = asia();
    let error = |file: &str, text: &[u8]| {
        let source = Cursor::new(text.to_vec());
        let cases: Vec<_> = CaseReader::new(file, source, &*network).unwrap().collect();
        let (last, cases) = cases.split_last().unwrap();
        assert!(cases.iter().all(Result::is_ok));
        (cases.len(), last.as_ref().unwrap_err().to_string())
    };
    let (count, message) = error("a.json", b"[{}, {}, {\"name\": \"x");
    assert_eq!(count, 2);
    assert_eq!(message, "a.json:1:20: case 3: the file ends before the JSON is complete");
    let (count, message) = error("a.json", b"[{}, {} {}]");
    assert_eq!((count, &*message), (2, "a.json:1:9: expected ',' or ']' after a case"));
    let mut packed = gzip(("smoke\n".to_owned() + &"yes\n".repeat(1 << 20)).as_bytes());
    packed.truncate(packed.len() - 9);
    let (count, message) = error("a.csv.gz", &packed);
    assert!(count > 1000 && message.starts_with("a.csv.gz: damaged gzip: "), "{count} {message}");
}

#[test]
fn a_long_file_of_uai_evidence_has_a_case_per_line() {
    let network = asia();
    let count = 20_000;
    let line = |number: usize| match number % 3 {
        0 => "0\n".to_owned(),
        1 => format!("1 2 {}\n", number % 2),
        _ => "2 0 1 6 0\n".to_owned(),
    };
    let text = format!("{count}\n\n{}", (0..count).map(line).collect::<String>());
    let cases = lines_and_evidence(read("a.evid", text.clone(), usize::MAX, &network));
    assert_eq!(cases.len(), count);
    assert!(
        cases.iter().enumerate().all(|(number, (line, case))| {
            *line == Some(number + 3) && case.len() == number % 3
        })
    );
    let broken = text.replacen("2 0 1 6 0", "2 0 1 6", 1);
    let found = numbers_and_errors(read("a.evid", broken, usize::MAX, &network));
    let message = found[2].1.as_ref().unwrap();
    assert!(message.starts_with("a.evid:5:1: case 3: found 3 numbers after"), "{message}");
    assert_eq!(found.iter().filter(|(_, error)| error.is_some()).count(), 1);
}

#[test]
fn a_case_that_never_ends_does_not_fill_the_memory() {
    let network = asia();
    let source = io::repeat(b'x');
    let mut reader = CaseReader::new("a.csv", b"smoke\n".chain(source), &*network).unwrap();
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "a.csv:2:1: this case is longer than the maximum of 16.0 MiB");
    assert!(reader.next().is_none());
}

/// Writes a file and finds its cases.
fn index(name: &str, bytes: &[u8]) -> (tempfile::TempDir, CaseIndex) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let index = CaseIndex::build(&path, asia(), &CancelToken::new(), |_| {});
    (folder, index.unwrap_or_else(|error| panic!("{error}")).expect("it was not cancelled"))
}

#[test]
fn cases_read_by_their_number_equal_the_cases_read_in_order() {
    let network = asia();
    let state = |number: usize| ["yes", "no", "", "maybe"][number % 7 % 4];
    let row = |number| format!("{},\"a\nb\",{}\n", state(number), state(number / 7));
    let csv = "smoke,note,xray\n".to_owned() + &(0..1500).map(row).collect::<String>();
    let cases: Vec<Evidence> = read("a.csv", csv.clone(), usize::MAX, &network)
        .into_iter()
        .map(|case| case.evidence.unwrap_or_default())
        .collect();
    let written = |format| cases::write(format, &network, &cases).unwrap();
    let files = [
        ("a.csv", csv.clone().into_bytes()),
        ("a.csv.gz", gzip(csv.as_bytes())),
        ("a.csv", utf16(&csv)),
        ("a.json", written(CaseFormat::Json).into_bytes()),
        ("a.jsonl", written(CaseFormat::JsonLines).into_bytes()),
        ("a.evid", written(CaseFormat::Uai).into_bytes()),
    ];
    for (name, bytes) in files {
        let expected = read(name, bytes.clone(), usize::MAX, &network);
        let (folder, index) = index(name, &bytes);
        let named = |case: ReadCase| {
            let evidence = case.evidence.map_err(|error| (error.place, error.message));
            (case.number, case.line, case.name, evidence)
        };
        assert_eq!(index.len(), 1500);
        for range in [0..3, 255..258, 700..700, 1400..1500, 1499..1600, 2000..2001, 0..1500] {
            let expected = expected.iter().skip(range.start).take(range.len()).cloned().map(named);
            let found = index.read(range.clone()).unwrap();
            assert!(found.into_iter().map(named).eq(expected), "{name} {range:?}");
        }
        drop(folder);
    }
}

#[test]
fn finding_the_cases_warns_about_all_ignored_columns() {
    let rows = |last: usize| "no,x,1\n".repeat(600) + &format!("no,x,{last}\n");
    let (_folder, once) =
        index("a.csv", ("smoke,note,NumCases\n".to_owned() + &rows(1)).as_bytes());
    assert_eq!((once.len(), once.warnings().len()), (601, 1));
    let (_folder, twice) =
        index("a.csv", ("smoke,note,NumCases\n".to_owned() + &rows(2)).as_bytes());
    assert!(twice.warnings()[0].ends_with("column 'note' is not a variable and was ignored"));
    assert!(twice.warnings()[1].contains("column 'NumCases' counts equal cases"));
    assert_eq!((twice.len(), twice.warnings().len()), (601, 2));
    assert_eq!(twice.read(599..601).unwrap().len(), 2);
}

#[test]
fn no_case_of_a_changed_file_is_read() {
    let (folder, index) = index("a.csv", b"smoke\nyes\nno\n");
    assert_eq!(index.read(0..9).unwrap().len(), 2);
    std::fs::write(folder.path().join("a.csv"), "smoke\nno\n").unwrap();
    let error = index.read(0..9).unwrap_err().to_string();
    assert!(error.ends_with("the file was changed since it was opened; open it again"), "{error}");
}

#[test]
fn finding_the_cases_can_be_cancelled_and_reports_how_many_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "smoke\n".to_owned() + &"no\n".repeat(5000)).unwrap();
    let cancel = CancelToken::new();
    let mut counts = Vec::new();
    let report = |count| {
        counts.push(count);
        if count > 1000 {
            cancel.cancel();
        }
    };
    assert!(CaseIndex::build(&path, asia(), &cancel, report).unwrap().is_none());
    assert_eq!(counts, [0, 256, 512, 768, 1024]);
    let folder_error = CaseIndex::build(folder.path(), asia(), &CancelToken::new(), |_| {});
    let message = folder_error.err().unwrap().to_string();
    assert!(message.ends_with("this is a folder, expected a file"), "{message}");
}
