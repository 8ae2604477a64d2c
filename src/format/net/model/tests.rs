//! Tables given by expressions are compared with numbers computed independently.

use crate::format::{ReadNetwork, open_bytes};

const NODES: &str = r#"net {}
    node l { states = ("red" "green"); }
    node b { subtype = boolean; states = ("no" "yes"); }
    node n { subtype = number; state_values = (0 1 2.5); states = ("" "" ""); }
    node counts { subtype = number; state_values = (0 1 2 3); states = ("" "" "" ""); }
    node part { subtype = interval; state_values = (0 1 2 4); states = ("" "" ""); }
    node line { subtype = interval; state_values = (-inf 0 1 inf); states = ("" "" ""); }
    function f { }
    potential (f) { model_nodes = (); model_data = (1 + 1); }
    "#;

fn read(potential: &str) -> Result<ReadNetwork, String> {
    open_bytes("a.net", format!("{NODES}{potential}")).map_err(|error| error.to_string())
}

/// The table of `node` from the attributes `model` of its potential. The name of the node may be
/// followed by ` |` and parents.
fn table(node: &str, model: &str) -> Vec<f64> {
    let head = node.split(" |").next().unwrap();
    let read = read(&format!("potential ({node}) {{ {model} }}"));
    let network = read.unwrap_or_else(|error| panic!("{model}: {error}")).network;
    network.cpt(network.find(head).unwrap()).values().to_vec()
}

fn from_expression(node: &str, expression: &str) -> Vec<f64> {
    table(node, &format!("model_nodes = (); model_data = ({expression});"))
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-9);
    assert!(!far, "{found:?}\nexpected {expected:?}");
}

#[test]
fn the_value_of_an_expression_is_the_state() {
    assert_eq!(from_expression("l | b", r#"if (b, "red", "green")"#), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(from_expression("b | l", r#"l == "green""#), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(
        from_expression("b | n", "not (n > 1) % a remark\n"),
        [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    );
    assert_eq!(
        from_expression("n | b", "if (and (b, true), 5 / f, max (0, -1, 1))")[..6],
        [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    );
    assert_eq!(
        from_expression("part | n", "n + 0.5 - 2 ^ -1 * 0"),
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    );
    assert_eq!(
        from_expression("part", "-2 ^ 2 + 10 - 4 - 1"),
        [0.0, 1.0, 0.0],
        "-(2^2) + 10 - 4 - 1 = 1"
    );
    assert_eq!(from_expression("part", "mod (7, 4) * exp (log (1))"), [0.0, 0.0, 1.0]);
    assert_eq!(from_expression("part", "1 /*/ + 9 */ + 1"), [0.0, 0.0, 1.0]);
}

#[test]
fn model_nodes_choose_among_expressions() {
    let model = r#"model_nodes = (b); model_data = ("red", Distribution (1, 3));"#;
    assert_eq!(table("l | n b", model)[..4], [1.0, 0.0, 0.25, 0.75]);
    assert_eq!(table("l | b n", model)[4..8], [1.0, 0.0, 0.25, 0.75]);
}

#[test]
fn listing_a_parent_with_one_state_in_model_nodes_changes_nothing() {
    let one = "node one { states = (\"s\"); } ";
    let model = r#"model_nodes = (one b one one); model_data = ("red", "green");"#;
    let read = read(&format!("{one} potential (l | one b) {{ {model} }}")).expect("it is valid");
    let l = read.network.find("l").unwrap();
    assert_eq!(read.network.cpt(l).values(), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn distributions_have_the_probabilities_of_their_definitions() {
    assert_close(&from_expression("counts", "Binomial (3, 0.2)"), &[0.512, 0.384, 0.096, 0.008]);
    assert_close(&from_expression("counts", "Binomial (2, 1)"), &[0.0, 0.0, 1.0, 0.0]);
    let e = (-2.0_f64).exp();
    let poisson = [e, 2.0 * e, 2.0 * e, 1.0 - 5.0 * e];
    assert_close(&from_expression("counts", "Poisson (f)"), &poisson);
    assert_close(&from_expression("counts", "Geometric (0.5)"), &[0.5, 0.25, 0.125, 0.125]);
    assert_close(
        &from_expression("counts", "NegativeBinomial (2, 0.5)"),
        &[0.25, 0.25, 0.1875, 0.3125],
    );
    let normal = [0.308_537_538_726, 0.382_924_922_548, 0.308_537_538_726];
    assert_close(&from_expression("line", "Normal (0.5, 1)"), &normal);
    let below_1 = 1.0 - (-1.0_f64).exp();
    assert_close(&from_expression("line", "Weibull (2, 1)"), &[0.0, below_1, 1.0 - below_1]);
    assert_close(&from_expression("line", "Gamma (1, 1)"), &[0.0, below_1, 1.0 - below_1]);
    assert_close(&from_expression("line", "LogNormal (0, 4)"), &[0.0, 0.5, 0.5]);
    assert_close(&from_expression("part", "Beta (2, 1, 0, 4)"), &[0.0625, 0.1875, 0.75]);
    assert_close(&from_expression("part", "Uniform (0, 4)"), &[0.25, 0.25, 0.5]);
    assert_close(&from_expression("part", "truncate (1, Uniform (0, 4), 3)"), &[0.0, 0.5, 0.5]);
    let below_2 = 1.0 - 0.135_335_283_237;
    assert_close(
        &from_expression("part | b", "if (b, truncate (Gamma (1, 1), 2), 3)")[3..],
        &[below_1 / below_2, 1.0 - below_1 / below_2, 0.0],
    );
}

#[test]
fn bounds_and_mode_may_come_in_any_order() {
    // The triangular distribution from 0 to 4 with mode 1 has the probability 1/4 below 1, and 2/3
    // below 2.
    for order in ["0, 4, 1", "1, 0, 4", "4, 1, 0"] {
        let table = from_expression("part", &format!("Triangular ({order})"));
        assert_close(&table, &[0.25, 5.0 / 12.0, 1.0 / 3.0]);
    }
    assert_close(&from_expression("part", "Triangular (0, 0, 4)"), &[0.4375, 0.3125, 0.25]);
    // The beta distribution with shapes 1 and 5 has the probability (1 - x)^5 above x.
    let above = |x: f64| (1.0 - x).powi(5);
    let expected = [1.0 - above(0.25), above(0.25) - above(0.5), above(0.5)];
    assert_close(&from_expression("part", "PERT (0, 0, 4)"), &expected);
    assert_close(&from_expression("part", "PERT (4, 0, 0)"), &expected);
}

/// `b` is the node D-out of the network *Family Out* that comes with Hugin. The probability that it
/// is false is 0.8 (the leak) times the probability that follows each true cause in the expression.
/// If both causes are true, it is 0.8 * 0.15 * 0.05 = 0.006.
#[test]
fn noisy_or_is_false_if_all_true_causes_are_inhibited() {
    let causes = "node f_out { subtype = boolean; states = (\"\" \"\"); }
        node bp { subtype = boolean; states = (\"\" \"\"); }
        node b {";
    let text = NODES.replace("node b {", causes);
    let model = "potential (b | f_out bp) { model_nodes = (); \
                 model_data = (NoisyOR (f_out, 0.15, bp, 0.05, true, 0.8)); }";
    let read = open_bytes("a.net", format!("{text}{model}")).unwrap();
    let values = read.network.cpt(read.network.find("b").unwrap()).values();
    assert_close(values, &[0.8, 0.2, 0.04, 0.96, 0.12, 0.88, 0.006, 0.994]);
}

/// The first table is an example in the Hugin forum, *Interval nodes*, 2007.
#[test]
fn interval_parents_are_evaluated_at_evenly_spaced_points() {
    let text = "net {} node a { subtype = interval; state_values = (0 1 2); states = (\"\" \"\"); }
        node b { subtype = interval; state_values = (0 1 2 3 4); states = (\"\" \"\" \"\" \"\"); }
        node c { states = (\"x\" \"y\"); }
        potential (b | c a) { SAMPLES model_nodes = (); model_data = (2 * a); }
        potential (c) { model_data = (Distribution (0.25, 0.75)); }";
    let table = |samples: &str, data: &str| {
        let text = text.replace("SAMPLES", samples).replace("2 * a", data);
        let read = open_bytes("a.net", text).unwrap();
        let warnings: Vec<_> = read.warnings.iter().map(ToString::to_string).collect();
        let table = read.network.cpt(read.network.find("b").unwrap()).values().to_vec();
        (table, warnings)
    };
    let (found, warnings) = table("", "2 * a");
    let half = [0.48, 0.52, 0.0, 0.0, 0.0, 0.0, 0.48, 0.52];
    assert_close(&found, &[half, half].concat());
    assert_eq!(
        warnings,
        [
            "a.net: variables without a table were given uniform distributions: a",
            "a.net: tables were estimated from points in the intervals of their parents: b"
        ]
    );
    let even = [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5];
    assert_close(&table("samples_per_interval = 26;", "2 * a").0, &[even, even].concat());
    let weights = "if (a < 0.5, Distribution (1, 1, 0, 0), Distribution (1, 0, 0, 9))";
    let (found, _) = table("samples_per_interval = 2;", weights);
    assert_close(&found[..8], &[0.3, 0.25, 0.0, 0.45, 0.1, 0.0, 0.0, 0.9]);
    let (_, warnings) = table("", "if (c == \"x\", 1, 2)");
    assert_eq!(warnings, ["a.net: variables without a table were given uniform distributions: a"]);
    let error = open_bytes("a.net", text.replace("SAMPLES", "samples_per_interval = 0;"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "a.net:4:54: expected 1 to 10000 for 'samples_per_interval', found '0'"
    );
}

#[test]
fn unsupported_and_wrong_expressions_are_refused_with_their_place() {
    let cases = [
        (
            "part",
            "aggregate (counts, part)",
            "'aggregate' with 2 arguments is not supported in the expression of 'part'; expected \
             'data' or another expression",
        ),
        (
            "part",
            "truncate (0, Exponential (1), 4)",
            "'truncate' needs a supported continuous distribution and one or two bounds",
        ),
        (
            "n | line",
            "if (line > 0, 1, 0)",
            "'n' depends on 'line', whose interval from -inf to 0 is infinite; \
             expected 'data', or finite bounds",
        ),
        ("n", "NoisyOR (true, 0.1)", "'NoisyOR' needs a boolean node"),
        (
            "b",
            "NoisyOR (true)",
            "'NoisyOR' has 1 argument, expected pairs of a cause and the probability that it is \
             inhibited",
        ),
        ("b | n", "NoisyOR (n, 0.1)", "expected a condition, found the number 0"),
        ("b", "NoisyOR (true, 2)", "expected a probability from 0 to 1, found 2"),
        ("part", "Triangular (1, 1, 1)", "'Triangular' has invalid parameters: 1, 1, 1"),
        ("part", "PERT (0, 4)", "'PERT' has invalid parameters: 0, 4"),
        ("n", "b", "the expression of 'n' uses 'b', expected one of its parents"),
        ("n", "7", "the value of the expression is the number 7, which is not a state of 'n'"),
        ("b", "1", "the value of the expression is the number 1, which is not a state of 'b'"),
        ("b", "1 == true", "the number 1 cannot be compared with true"),
        ("b", "not (1)", "expected a condition, found the number 1"),
        ("b", "true + 1", "expected a number, found true"),
        ("n", "1 +", "expected a number, a name, a label or '(' in the expression, found ')'"),
        ("n", "1 2", "expected an operator, ',' or ')' in the expression, found '2'"),
        ("n", "max (1 2)", "expected an operator, ',' or ')' in the expression, found '2'"),
        (
            "n",
            "1, 2",
            "'n' has 2 expressions, expected 1, one for each configuration of its \
          'model_nodes'",
        ),
        ("n", "Poisson (1)", "'Poisson' needs a node with the values 0, 1, 2 and so on"),
        ("n", "Normal (0, 1)", "'Normal' needs a node whose states are intervals"),
        ("counts", "Poisson (-1)", "'Poisson' has invalid parameters: -1"),
        ("counts", "Binomial (4, 0.5)", "'Binomial' has invalid parameters: 4, 0.5"),
        ("line", "Normal (0, 0)", "'Normal' has invalid parameters: 0, 0"),
        ("line", "Gamma (1e9, 1)", "'Gamma' has invalid parameters: 1000000000, 1"),
        ("line", "Beta (0/0, 1)", "'Beta' has invalid parameters: NaN, 1"),
        (
            "part",
            "Uniform (0, 8)",
            "the intervals of 'part' cover 0.5 of 'Uniform', expected 1 (use 'truncate')",
        ),
        (
            "part",
            "truncate (0, 1)",
            "'truncate' needs a supported continuous distribution and one or two bounds",
        ),
        (
            "part",
            "truncate (0 / 0, Weibull (2, 1), 3)",
            "'Weibull' has probability 0 between NaN and 3",
        ),
        (
            "part",
            "truncate (0, Normal (0, 1), 0 / 0)",
            "'Normal' has probability 0 between 0 and NaN",
        ),
        ("l", "Distribution (0 / 0, 1)", "expected a weight of at least 0, found NaN"),
        ("l", "Distribution (1, -3)", "expected a weight of at least 0, found -3"),
        (
            "l | part",
            "Distribution (0, if (part > 1.5, 0, 1))",
            "all states of 'l' have weight 0 at a point in the intervals of its parents",
        ),
        (
            "l",
            "Distribution (1)",
            "'Distribution' has 1 weight, expected 2, one for each state \
          of 'l'",
        ),
    ];
    for (node, expression, expected) in cases {
        let model = format!("potential ({node}) {{ model_data = ({expression}); }}");
        let error = read(&model).err().unwrap_or_else(|| panic!("{expression} was read"));
        let (place, message) = error.split_once(": ").unwrap();
        assert_eq!(message, expected, "{expression}");
        assert!(place.starts_with("a.net:10:"), "{error}");
    }
    let deep = format!("{}1{}", "(".repeat(1000), ")".repeat(1000));
    // Each pair of parentheses adds 90 additions to those of the pair inside it. These are fewer
    // levels than the maximum; all pairs together have more.
    let sums = format!("{}1{}", "(".repeat(50), format!("{})", "+1".repeat(90)).repeat(50));
    let calls = format!("{}1{}", "max (".repeat(50), format!("{})", "+1".repeat(90)).repeat(50));
    for long in [deep, sums, calls, vec!["1"; 100_000].join("+"), "-".repeat(100_000)] {
        let model = format!("potential (n) {{ model_data = ({long}); }}");
        let error = read(&model).unwrap_err();
        assert!(error.contains("an expression is more than 100 levels deep"), "{error}");
    }
}

#[test]
fn tables_that_are_too_large_are_refused_before_they_are_filled() {
    let labels = "\"s\" ".repeat(1000);
    let mut text = String::new();
    for parent in 0..7 {
        text.push_str(&format!("node p{parent} {{ states = ({labels}); }}\n"));
    }
    let model = "{ model_nodes = (); model_data = (\"red\"); }";
    for parents in ["p0 p1 p2", "p0 p1 p2 p3 p4 p5 p6"] {
        let error = read(&format!("{text} potential (l | {parents}) {model}")).unwrap_err();
        assert!(error.contains("more than the maximum of 4194304 table entries"), "{error}");
    }
}

#[test]
fn nodes_without_states_are_refused_before_their_tables_are_made() {
    for (attributes, model) in [
        ("subtype = number;", "Poisson (1)"),
        ("subtype = number;", "1"),
        ("subtype = interval; state_values = (0);", "Uniform (0, 1)"),
        ("", "Distribution ()"),
    ] {
        let text = format!(
            "net {{}} node a {{ states = (); {attributes} }} \
             potential (a) {{ model_data = ({model}); }}"
        );
        let error = open_bytes("a.net", text).unwrap_err().to_string();
        assert_eq!(error, "a.net:1:13: 'a' has no states", "{model}");
    }
}

#[test]
fn many_states_and_long_labels_take_more_steps() {
    // The table of `many` takes nearly all of the 2^25 steps that a file may take: each of its
    // 520,000 probabilities counts as 64 steps.
    let words = |count: usize| (0..count).map(|n| format!(" {n}")).collect::<String>();
    let labels = |count: usize| " \"\"".repeat(count);
    let nodes = format!(
        "node p {{ states = ({}); }}
        node many {{ subtype = interval; state_values = ({}); states = ({}); }}
        node two {{ states = (u v); }}
        node one {{ subtype = interval; state_values = (0 1); states = (\"\"); }}
        potential (many | p) {{ model_data = (Uniform (0, 1000)); }}\n",
        words(520),
        words(1001),
        labels(1000)
    );
    let is_refused = |potential: String| match read(&format!("{nodes}{potential}")) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.ends_with("take too many steps"), "{error}");
            true
        }
    };
    let averaged = |samples: usize| {
        format!(
            "node wide {{ subtype = interval; state_values = ({}); states = ({}); }}
            potential (wide | one) {{ samples_per_interval = {samples}; model_data = (one); }}",
            words(1001),
            labels(1000)
        )
    };
    assert!(!is_refused(averaged(100)) && is_refused(averaged(6000)));
    let compared = |bytes: usize| {
        let label = "x".repeat(bytes);
        format!("potential (two | p) {{ model_data = (if (p == \"{label}\", \"u\", \"v\")); }}")
    };
    assert!(!is_refused(compared(1000)) && is_refused(compared(1 << 20)));
}

#[test]
fn functions_that_use_themselves_or_take_too_many_steps_are_refused() {
    let mut text = String::from("function g0 { } potential (g0) { model_data = (1); }\n");
    for g in 1..30 {
        let before = g - 1;
        text.push_str(&format!(
            "function g{g} {{ }} potential (g{g}) {{ model_data = (g{before} + g{before}); }}\n"
        ));
    }
    let twice = format!("{text} potential (part) {{ model_data = (g29); }}");
    let error = read(&twice).unwrap_err();
    assert!(error.ends_with("take too many steps"), "{error}");
    let fewer = format!("{text} potential (line) {{ model_data = (Normal (g20, 1)); }}");
    assert!(read(&fewer).is_ok(), "about 2^22 steps are below the maximum");
    let chain = |length: usize| {
        let link =
            |g| format!("function h{} {{ }} potential (h{0}) {{ model_data = (h{g}); }}\n", g + 1);
        let links: String = (0..length).map(link).collect();
        read(&format!(
            "function h0 {{ }} potential (h0) {{ model_data = (1); }}\n{links}\
             potential (part) {{ model_data = (h{length}); }}"
        ))
    };
    assert!(chain(31).is_ok());
    let too_long = "'h0' uses itself, or ends a chain of more than 32 function nodes";
    assert!(chain(32).unwrap_err().ends_with(too_long));
    let itself = "function g { } potential (g) { model_data = (g); } \
                  potential (part) { model_data = (g); }";
    assert!(read(itself).unwrap_err().contains("'g' uses itself"));
}
