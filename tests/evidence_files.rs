//! Evidence files in every format: reading, writing, and the positions of errors.

use cliquescope::format::cases::{self, CaseFile, CaseFormat};
use cliquescope::network::{Cpt, Evidence, Finding, Network, Variable, VariableId};

fn network(variables: &[(&str, &[&str])]) -> Network {
    let cpt = |(index, (_, states)): (usize, &(&str, &[&str]))| {
        let row = vec![1.0 / states.len() as f64; states.len()];
        Cpt::new(VariableId::new(index), vec![], row)
    };
    let cpts = variables.iter().enumerate().map(cpt).collect();
    let variables =
        variables.iter().map(|(name, states)| Variable::new(*name, states.iter().copied()));
    Network::new("n", variables.collect(), cpts).unwrap()
}

fn weather() -> Network {
    network(&[
        ("rain", &["no", "yes"]),
        ("wind", &["low", "mid", "high"]),
        ("very cold", &["a b", "c,d", "e\"f"]),
        ("hail", &["1", "2"]),
        ("odd", &["", "*", "NA", "{", "%"]),
    ])
}

fn read(file: &str, text: &str) -> CaseFile {
    cases::read(file, text, &weather()).unwrap_or_else(|error| panic!("{error}"))
}

fn error_message(file: &str, text: &str) -> String {
    match cases::read(file, text, &weather()) {
        Err(error) => error.to_string(),
        Ok(read) => panic!("no error for {text}: {read:?}"),
    }
}

/// The cases in Cliquescope's JSON format without whitespace, for comparison.
fn as_json(read: &CaseFile) -> String {
    let json = cases::write(CaseFormat::Json, &weather(), &read.cases).unwrap();
    json.split_whitespace().collect()
}

#[test]
fn formats_are_recognised_by_extension_and_five_of_them_also_by_content() {
    let netica_header = "// ~->[CASE-1]->~\n\n";
    for (text, file, format) in [
        ("{\"evidence\": {\"rain\": \"yes\"}}", "a.json", CaseFormat::Json),
        ("rain,wind\nyes,\n", "a.csv", CaseFormat::Csv),
        ("rain: \"yes\"\n", "a.hcs", CaseFormat::HuginCase),
        ("% a comment\n#, rain, wind\n1, yes, *\n", "a.dat", CaseFormat::HuginData),
        (&format!("{netica_header}IDnum rain wind\n1 yes *\n"), "a.cas", CaseFormat::Netica),
        ("1 0 1\n", "a.uai.evid", CaseFormat::Uai),
    ] {
        let by_name = read(file, text);
        assert_eq!(by_name.format, format);
        assert_eq!(as_json(&by_name), r#"{"evidence":{"rain":"yes"}}"#);
        assert!(by_name.warnings.is_empty(), "{:?}", by_name.warnings);
        // Without its extension, a file of Hugin data is read as CSV.
        if format != CaseFormat::HuginData {
            assert_eq!(read("standard input", text), by_name, "{file}");
        }
        assert_eq!(
            CaseFormat::by_extension(&format!("A/{}.GZ", file.to_uppercase())),
            Some(format)
        );
    }
    assert_eq!(CaseFormat::by_extension("a.csv/b"), None);
}

#[test]
fn tables_are_read_with_any_separator() {
    let expected = r#"[{"evidence":{"rain":"yes","wind":"high"}},{"evidence":{"hail":"2"}}]"#;
    for text in [
        "rain,wind,hail\nyes,high,\n,,2\n",
        "rain;wind;hail\r\nyes;high;?\r\nNA;*;2.0\r\n",
        "\u{feff}rain\twind\thail\nyes\thigh\t\n\t\t2",
        "rain wind hail\n\nyes high *\n* * 2",
        "\"rain\", \"wind\", \"hail\"\n\"yes\", \"high\", \"\"\n\"\", \"\", #1\n",
    ] {
        assert_eq!(as_json(&read("a.csv", text)), expected, "{text}");
    }
    let netica =
        read("a.cas", "IDnum\train\twind\thail\tNumCases\n1\t1\t#2\t*\t1\n2\t*\t*\t2\t1\n");
    assert_eq!(as_json(&netica), expected);
    assert!(netica.warnings.is_empty());
}

#[test]
fn ignored_columns_cause_warnings() {
    let read = read("a.csv", "id,rain,Wind,note\n7,yes,high,x\n8,no,low,\n");
    assert_eq!(read.cases.len(), 2);
    assert_eq!(
        read.warnings,
        ["a.csv: 3 columns are not variables and were ignored: id, Wind, note"]
    );
    let with_commas = cases::read("a.dat", "# rain, wind\n1, yes, *\n", &weather()).unwrap();
    assert!(with_commas.warnings.is_empty() && with_commas.cases[0].len() == 1, "{with_commas:?}");
    let counted = cases::read("a.dat", "# rain\n3 yes\n1 no\n", &weather()).unwrap();
    assert!(counted.warnings[0].contains("column '#' counts equal cases"), "{counted:?}");
    let numbered = cases::read("a.csv", ",rain\n0,yes\n1,no\n", &weather()).unwrap();
    assert!(numbered.warnings.is_empty(), "{numbered:?}");
}

#[test]
fn likelihoods_are_read_in_formats_that_have_them() {
    let weights = |file: &str, text: &str| {
        let read = read(file, text);
        let wind = weather().find("wind").unwrap();
        match read.cases[0].get(wind) {
            Some(Finding::Likelihood(weights)) => weights.to_vec(),
            other => panic!("{text} gives {other:?}"),
        }
    };
    assert_eq!(weights("a.hcs", "wind: (0.1 0.2 3e-1) % a comment"), [0.1, 0.2, 0.3]);
    assert_eq!(weights("a.cas", "rain wind\n* {0.1 0.2 0.3}\n"), [0.1, 0.2, 0.3]);
    assert_eq!(weights("a.cas", "rain wind\n* {low 0.5, high 1}\n"), [0.5, 0.0, 1.0]);
    assert_eq!(weights("a.cas", "rain,wind\n*,~{low}\n"), [0.0, 1.0, 1.0]);
    assert_eq!(weights("a.csv", "rain,wind\n,\"{low 0.5, high 1}\"\n"), [0.5, 0.0, 1.0]);
    assert_eq!(weights("a.json", r#"{"likelihood": {"wind": [1, 0, 2]}}"#), [1.0, 0.0, 2.0]);
}

#[test]
fn every_variant_of_uai_evidence_is_read() {
    let two = r#"[{"evidence":{"rain":"yes","hail":"1"}},{"evidence":{"wind":"high"}}]"#;
    assert_eq!(as_json(&read("a.evid", "2\n2 0 1 3 0\n1 1 2\n")), two);
    assert_eq!(as_json(&read("a.evid", "2 2 0 1 3 0 1 1 2")), two);
    for one in ["2 0 1 3 0", "2\n0 1\n3 0\n", "1\n2 0 1 3 0\n", "1 2 0 1 3 0"] {
        assert_eq!(as_json(&read("a.evid", one)), r#"{"evidence":{"rain":"yes","hail":"1"}}"#);
    }
    assert_eq!(read("a.evid", "0\n").cases, [Evidence::none()]);
}

#[test]
fn written_cases_are_read_back() {
    let network = weather();
    let mut all = Vec::new();
    for (index, variable) in network.ids().enumerate() {
        for state in 0..network[variable].cardinality() {
            let mut case = Evidence::none();
            case.observe(&network, variable, state);
            if index > 0 {
                let rain = VariableId::new(0);
                case.set_likelihood(&network, rain, [0.1, 0.30000000000000004]).unwrap();
            }
            all.push(case);
        }
    }
    all.push(Evidence::none());
    let only_observes =
        |case: &Evidence| case.iter().all(|(_, f)| matches!(f, Finding::Observed(_)));
    let observations: Vec<Evidence> =
        all.iter().filter(|case| only_observes(case)).cloned().collect();
    for format in CaseFormat::ALL {
        let name = format!("a.{}", format.extensions()[0]);
        let round_trip = |cases: &[Evidence]| {
            let text = cases::write(format, &network, cases).unwrap_or_else(|e| panic!("{e}"));
            let read = cases::read(&name, text.clone(), &network);
            let read = read.unwrap_or_else(|error| panic!("{error} in\n{text}"));
            assert_eq!(read.format, format);
            assert!(read.warnings.is_empty(), "{:?}", read.warnings);
            assert_eq!(read.cases, cases, "{text}");
        };
        let has_likelihoods = !matches!(format, CaseFormat::HuginData | CaseFormat::Uai);
        let cases = if has_likelihoods { &all } else { &observations };
        cases.iter().for_each(|case| round_trip(std::slice::from_ref(case)));
        if format == CaseFormat::HuginCase {
            let error = cases::write(format, &network, cases).unwrap_err();
            assert!(error.contains("holds one case"), "{error}");
        } else {
            round_trip(cases);
        }
        if !has_likelihoods {
            let error = cases::write(format, &network, &all).unwrap_err();
            assert!(error.contains("cannot hold the likelihood of 'rain'"), "{error}");
        }
    }
}

#[test]
fn errors_give_the_position_and_the_reason() {
    for (file, text, message) in [
        (
            "a.csv",
            "rain,wind\nyes,low\nyes,lo\n",
            "a.csv:3:5: case 2: variable 'wind' has no state 'lo'; its states are low, mid, high",
        ),
        ("a.csv", "rain,wind\nyes\n", "a.csv:2:1: case 1: the row has 1 cell, expected 2"),
        ("a.csv", "rain,wind\nyes,low,3\n", "a.csv:2:9: case 1: the row has 3 cells, expected 2"),
        ("a.csv", "rain,rain\n", "a.csv:1:6: column 'rain' occurs twice"),
        (
            "a.csv",
            "x,y\n",
            "a.csv:1:1: no column of the header (x, y) is a variable; variables are rain, wind, \
             very cold, hail, odd",
        ),
        ("a.csv", " \n", "a.csv:1:1: the file is empty, expected a header with names of variables"),
        ("a.csv", "rain,wind\nyes,\"low\n", "a.csv:2:5: case 1: this quote is not closed"),
        (
            "a.cas",
            "rain\n#2\n",
            "a.cas:2:1: case 1: variable 'rain' has no state number 2, expected 0 to 1",
        ),
        (
            "a.hcs",
            "rain: \"yes\"\nWind: \"low\"",
            "a.hcs:2:1: there is no variable 'Wind'; did you mean wind?",
        ),
        ("a.hcs", "rain \"yes\"", "a.hcs:1:6: expected ':' and a value for 'rain', found '\"'"),
        (
            "a.hcs",
            "rain",
            "a.hcs:1:5: expected ':' and a value for 'rain', found the end of the file",
        ),
        ("a.hcs", "rain: ", "a.hcs:1:7: expected a value for 'rain', found the end of the file"),
        ("a.hcs", "rain: (1 2", "a.hcs:1:7: this '(' is not closed"),
        ("a.hcs", "rain: \"y", "a.hcs:1:7: this quote is not closed"),
        ("a.hcs", "rain: yes rain: no", "a.hcs:1:11: variable 'rain' is given twice"),
        ("a.evid", "1 0 x", "a.evid:1:5: expected a whole number, found 'x'"),
        (
            "a.evid",
            "3 0 1",
            "a.evid:1:1: found 2 numbers after the number of findings, 3; expected two for each \
             finding: the indices of the variable and the state",
        ),
        ("a.evid", "1 5 0", "a.evid:1:3: there is no variable 5, expected 0 to 4"),
        (
            "a.evid",
            "2\n1 0 0\n1 0 2\n",
            "a.evid:3:5: case 2: variable 'rain' has no state 2, expected 0 to 1",
        ),
        (
            "a.evid",
            "3\n1 0 1\n1 1\n1 0 0\n",
            "a.evid:3:1: case 2: found 1 number after the number of findings, 1; expected two for \
             each finding: the indices of the variable and the state",
        ),
        ("a.evid", "2 0 1 0 1", "a.evid:1:7: variable 'rain' is given twice"),
        ("a.evid", "", "a.evid:1:1: the file is empty, expected the number of findings"),
        (
            "a.evid",
            "99999999999999999999 1 2",
            "a.evid:1:1: expected a whole number, found '99999999999999999999'",
        ),
    ] {
        assert_eq!(error_message(file, text), message);
    }
}

#[test]
fn files_are_written_and_read_plain_or_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let network = weather();
    let mut case = Evidence::none();
    case.observe(&network, VariableId::new(1), 2);
    for format in CaseFormat::ALL {
        let path = folder.path().join(format!("a.{}", format.extensions()[0]));
        cases::write_file(&path, &network, std::slice::from_ref(&case), &[]).unwrap();
        assert_eq!(cases::read_file(&path, &network).unwrap().cases, [case.clone()]);
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, b"wind: \"high\"").unwrap();
    let compressed = encoder.finish().unwrap();
    assert_eq!(cases::read("a.hcs.gz", compressed, &network).unwrap().cases, [case]);
    let error = cases::read_file(folder.path(), &network).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: this is a folder, expected a file", folder.path().display())
    );
}

#[test]
fn a_failed_write_leaves_the_file_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let network = weather();
    let mut case = Evidence::none();
    case.observe(&network, VariableId::new(1), 2);
    let path = folder.path().join("a.hcs");
    cases::write_file(&path, &network, std::slice::from_ref(&case), &[]).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = cases::write_file(&path, &network, &[case.clone(), case], &[]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: a Hugin case", path.display())), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
