//! Networks that are written and read again keep what the format can hold.

use cliquescope::format::{self, Format, SAMPLES, WriteError};
use cliquescope::network::{Annotation, Attribute, Cpt, Network, Variable, VariableId};

use super::read;

const XML_FORMATS: [Format; 2] = [Format::XmlBif, Format::Xdsl];

/// Writes `network` in `format` and reads it back.
fn round_trip(network: &Network, format: Format) -> Network {
    let written = format::write(network, format).unwrap_or_else(|error| panic!("{error}"));
    let network = read("no extension", &written.text).network;
    std::sync::Arc::unwrap_or_clone(network)
}

fn assert_same(network: &Network, other: &Network) {
    assert_eq!(other.name(), network.name());
    assert_eq!(other.variables(), network.variables());
    for variable in network.ids() {
        let (cpt, found) = (network.cpt(variable), other.cpt(variable));
        assert_eq!(found.parents(), cpt.parents());
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-15;
        assert_eq!(found.values().len(), cpt.values().len());
        assert!(!cpt.values().iter().zip(found.values()).any(far), "{}", network[variable].name());
    }
}

#[test]
fn the_shipped_networks_are_unchanged_by_formats_with_names() {
    for sample in SAMPLES {
        let network = sample.open().network;
        for format in [Format::XmlBif, Format::Xdsl, Format::Bif, Format::Net] {
            assert_same(&network, &round_trip(&network, format));
        }
    }
}

#[test]
fn uai_keeps_everything_except_names() {
    for sample in SAMPLES {
        let network = sample.open().network;
        let written = format::write(&network, Format::Uai).unwrap();
        assert_eq!(written.lost, ["the names of variables and states"]);
        let read = read("no extension", &written.text).network;
        assert_eq!(read.cardinalities(), network.cardinalities());
        for (cpt, found) in network.cpts().iter().zip(read.cpts()) {
            assert_eq!((found.child(), found.parents()), (cpt.child(), cpt.parents()));
            let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-15;
            assert!(!cpt.values().iter().zip(found.values()).any(far), "{}", sample.name);
        }
    }
}

#[test]
fn bif_properties_are_unchanged() {
    let text = "network \"a net\" { property version 1; property position = (1, 2); }\n\
                variable a { type discrete [ 1 ] { x }; property \"position = (73, 165.5)\" ;\n\
                property note \"with ; in it\"; }\n\
                probability ( a ) { property it's // free; table 1; }\n";
    let network = read("t.bif", text).network;
    let note = network.annotations().of(VariableId::new(0));
    assert_eq!(note.position, Some([73.0, 165.5]));
    let values: Vec<_> = note.attributes.iter().map(|attribute| &*attribute.value).collect();
    assert_eq!(values, ["note \"with ; in it\"", "it's // free"]);
    assert_eq!(round_trip(&network, Format::Bif).annotations(), network.annotations());
    let written = format::write(&network, Format::Net).unwrap();
    assert_eq!(written.lost, ["4 attributes that only BIF has"]);
    let written = format::write(&network, Format::Uai).unwrap();
    assert_eq!(
        written.lost,
        [
            "the names of variables and states",
            "positions of 1 variable",
            "4 attributes that only BIF has"
        ]
    );
}

/// A network of two variables, the child first. Most of the names are not identifiers.
fn unusual() -> Network {
    let id = VariableId::new;
    let variables = vec![
        Variable::new("<b> & \"c\"", ["5 - 12", "u_20_", "", "'\u{e9}\u{1f600}'"]),
        Variable::new("20 a", ["\u{a0}x", "_"]),
    ];
    let cpts = vec![
        Cpt::new(
            id(0),
            vec![id(1)],
            vec![1e-300, 0.1, 0.2, 0.7, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0],
        ),
        Cpt::new(id(1), vec![], vec![1e-7, 1.0 - 1e-7]),
    ];
    Network::new("a net <1>", variables, cpts).unwrap()
}

#[test]
fn unusual_names_and_the_order_of_variables_are_unchanged() {
    let network = unusual();
    for format in [Format::Xdsl, Format::Net] {
        assert_same(&network, &round_trip(&network, format));
    }
    let refused = format::write(&network, Format::Bif).unwrap_err();
    assert!(
        matches!(&refused, WriteError::UnwritableText { text, .. } if text.contains('"')),
        "{refused}"
    );
    let refused = format::write(&network, Format::XmlBif).unwrap_err();
    assert!(
        matches!(&refused, WriteError::UnwritableText { text, .. } if text == "\u{a0}x"),
        "{refused}"
    );
    let plain = Variable::new("20 a", ["x", "_"]);
    let variables = vec![network.variables()[0].clone(), plain];
    let network = Network::new("a net <1>", variables, network.cpts().to_vec()).unwrap();
    assert_same(&network, &round_trip(&network, Format::XmlBif));
}

#[test]
fn text_that_xml_cannot_hold_is_refused() {
    let variable = Variable::new("a\u{1}", ["x"]);
    let cpt = Cpt::new(VariableId::new(0), vec![], vec![1.0]);
    let network = Network::new("n", vec![variable], vec![cpt]).unwrap();
    for (format, error) in XML_FORMATS.map(|format| (format, format::write(&network, format))) {
        let expected = format!(
            "{} cannot hold the text 'a\u{1}': XML cannot contain control characters, \
             U+FFFE or U+FFFF",
            format.name()
        );
        // XDSL could encode the character in an id, but not in the name for display.
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn xdsl_keeps_titles_positions_colours_and_comments() {
    let network = unusual();
    let mut annotations = network.annotations().clone();
    annotations.network.comment = Some("of\r\nlines & <tags>".to_owned());
    let note = annotations.of_mut(VariableId::new(1));
    note.title = Some("A title".to_owned());
    note.position = Some([571.5, -69.25]);
    note.colour = Some([1, 0x80, 0xff]);
    note.comment = Some("remark".to_owned());
    let network = network.with_annotations(annotations);
    let read = round_trip(&network, Format::Xdsl);
    let id = VariableId::new(1);
    let without = |note: &Annotation| Annotation { attributes: Vec::new(), ..note.clone() };
    assert_eq!(without(read.annotations().of(id)), without(network.annotations().of(id)));
    assert_eq!(read.annotations().network.comment, network.annotations().network.comment);
    // XDSL extensions that were read are written back unchanged.
    let twice = round_trip(&read, Format::Xdsl);
    assert_eq!(twice.annotations(), read.annotations());
}

#[test]
fn a_format_keeps_its_own_attributes() {
    let text = "<BIF VERSION='0.3'><NETWORK><NAME>n</NAME><PROPERTY>author x</PROPERTY>\
                <VARIABLE><NAME>a</NAME><OUTCOME>f</OUTCOME>\
                <PROPERTY>position = (73, 165.5)</PROPERTY>\
                <PROPERTY>observed = no</PROPERTY><PROPERTY>description = d</PROPERTY></VARIABLE>\
                <DEFINITION><FOR>a</FOR><TABLE>1</TABLE><PROPERTY>p</PROPERTY></DEFINITION>\
                </NETWORK></BIF>";
    let network = read("t.xml", text).network;
    let note = network.annotations().of(VariableId::new(0));
    assert_eq!(note.position, Some([73.0, 165.5]));
    assert_eq!(note.comment.as_deref(), Some("d"));
    let values = |attributes: &[Attribute]| -> Vec<String> {
        attributes.iter().map(|attribute| attribute.value.clone()).collect()
    };
    assert_eq!(values(&note.attributes), ["observed = no", "p"]);
    assert_eq!(round_trip(&network, Format::XmlBif).annotations(), network.annotations());

    let text = "<smile version='1.0' id='N' numsamples='7'><nodes>\
                <cpt id='a' diagtype='target'><state id='f'/><probabilities>1</probabilities>\
                <property id='cost'>4 &amp; 5</property></cpt></nodes><extensions>\
                <genie version='1.0' app='GeNIe 3' name='Net'><submodel id='s'><node id='a'>\
                <name>The A</name><interior color='e5f6f7'/><position>10 20 30 60</position>\
                <barchart active='true'/></node></submodel></genie></extensions></smile>";
    let network = read("t.xdsl", text).network;
    let note = network.annotations().of(VariableId::new(0));
    assert_eq!((note.title.as_deref(), note.position), (Some("The A"), Some([20.0, 40.0])));
    assert_eq!(note.colour, Some([0xe5, 0xf6, 0xf7]));
    let written = format::write(&network, Format::Xdsl).unwrap();
    for kept in
        ["numsamples=\"7\"", "diagtype=\"target\"", "4 &amp; 5", "<barchart active='true'/>"]
    {
        assert!(written.text.contains(kept), "{kept}\n{}", written.text);
    }
    assert_eq!(round_trip(&network, Format::Xdsl).annotations(), network.annotations());
}
