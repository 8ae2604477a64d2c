//! Tables that `model_data` gives by expressions.
//!
//! Source: *The HUGIN API Reference Manual*, chapter "Generating Tables". `model_nodes` are some of
//! the parents, and `model_data` has an expression for each of their configurations. A parent stands
//! for its state in a configuration of all parents: a labelled one for its label, a boolean one for
//! `false` or `true`, a numbered one for its value. An expression gives the value of the node's
//! state, or the name of a distribution with its parameters.
//!
//! What Hugin estimates by sampling (parents that are intervals) or by convolution (`aggregate`), and
//! what is a function of posteriors (`probability`), has no exact table and is refused, as is whatever
//! the manual leaves open.

mod distribution;
mod evaluate;
mod parser;
mod special;

use std::collections::HashMap;

use super::parser::{Attribute, Kind, NodeBlock, PotentialBlock, Value};
use super::states;
use crate::format::FormatError;
use crate::format::draft;
use crate::format::nodes::Number;
use crate::format::source::Source;
use evaluate::Evaluation;
use parser::Expression;

/// What is wrong, and the byte at which it stands.
type Refusal = (usize, String);

/// What the states of a node stand for.
#[derive(Debug)]
enum Domain {
    Labels(Vec<String>),
    /// Two states, `false` and `true`.
    Boolean,
    Numbers(Vec<f64>),
    /// The bounds of the intervals, one more than states.
    Intervals(Vec<f64>),
}

impl Domain {
    fn new(source: Source<'_>, block: &NodeBlock<'_>) -> Result<Self, FormatError> {
        let labels = states::labels(source, block)?;
        let subtype = states::subtype(block);
        let expected = match subtype {
            Some("boolean") if labels.len() == 2 => return Ok(Self::Boolean),
            Some("number") => labels.len(),
            Some("interval") => labels.len() + 1,
            _ => {
                let labels = labels.into_iter().map(|label| label.text.into_owned());
                return Ok(Self::Labels(labels.collect()));
            }
        };
        let words = states::values(source, states::field(block, "state_values"))?;
        let values: Option<Vec<f64>> = words.iter().map(|word| states::value(word)).collect();
        let rises = |values: &Vec<f64>| values.is_sorted_by(|a, b| a < b);
        match values.filter(|values| values.len() == expected && rises(values)) {
            Some(values) if subtype == Some("number") => Ok(Self::Numbers(values)),
            Some(values) => Ok(Self::Intervals(values)),
            None => {
                let message = format!(
                    "expected {expected} rising 'state_values' of '{}', on which an expression \
                     depends",
                    block.name.text
                );
                Err(source.error(block.name.at, message))
            }
        }
    }

    fn states(&self) -> usize {
        match self {
            Self::Labels(labels) => labels.len(),
            Self::Boolean => 2,
            Self::Numbers(values) => values.len(),
            Self::Intervals(bounds) => bounds.len() - 1,
        }
    }
}

/// The expressions of a file.
pub(super) struct Models<'b, 's> {
    source: Source<'s>,
    blocks: HashMap<&'b str, &'b NodeBlock<'s>>,
    /// What function nodes compute, where it is one expression.
    functions: HashMap<String, Expression<'s>>,
    /// Entries of the tables so far.
    entries: usize,
    /// Steps that all evaluations may still take.
    steps: usize,
}

/// The most steps that the expressions of a file may take together: few seconds.
const MAX_STEPS: usize = 1 << 25;

impl<'b, 's> Models<'b, 's> {
    /// Gathers what expressions may name.
    pub fn new(
        source: Source<'s>,
        blocks: &'b [NodeBlock<'s>],
        potentials: &HashMap<String, PotentialBlock<'s>>,
    ) -> Self {
        let mut functions = HashMap::new();
        for block in blocks.iter().filter(|block| block.kind == Kind::Function) {
            let potential = potentials.get(&*block.name.text);
            let model = potential.and_then(|potential| attribute(potential, "model_data"));
            // What is wrong in a function that no table needs is no concern.
            if let Some(model) = model
                && let Ok(mut expressions) = parser::parse(model.raw, model.raw_at)
                && expressions.len() == 1
            {
                functions.extend(expressions.pop().map(|one| (block.name.text.to_string(), one)));
            }
        }
        let blocks = blocks.iter().map(|block| (&*block.name.text, block)).collect();
        Self { source, blocks, functions, entries: 0, steps: MAX_STEPS }
    }

    /// The table of the node `block`, as weights, which `model` gives in its potential.
    pub fn table(
        &mut self,
        block: &NodeBlock<'s>,
        potential: &PotentialBlock<'s>,
        model: &Attribute<'s>,
    ) -> Result<Vec<Number>, FormatError> {
        let source = self.source;
        let refuse = |(at, message): Refusal| source.error(at, message);
        let child = Domain::new(source, block)?;
        let mut parents = Vec::with_capacity(potential.parents.len());
        for parent in &potential.parents {
            let parent_block = self.blocks.get(&*parent.text).ok_or_else(|| {
                source.error(parent.at, format!("there is no node '{}'", parent.text))
            })?;
            parents.push((&*parent.text, Domain::new(source, parent_block)?));
        }
        let cards: Vec<usize> = parents.iter().map(|(_, domain)| domain.states()).collect();
        let named = (&*block.name.text, model.at);
        let rows = draft::count_entries(source, &mut self.entries, named, &cards, child.states())?;
        let expressions = parser::parse(model.raw, model.raw_at).map_err(refuse)?;
        let chosen = self.model_nodes(potential, &parents)?;
        let expected: usize = chosen.iter().map(|&parent| cards[parent]).product();
        if expressions.len() != expected {
            let message = format!(
                "'{}' has {} expressions, expected {expected}, one for each configuration of its {} \
                 'model_nodes'",
                block.name.text,
                expressions.len(),
                chosen.len()
            );
            return Err(source.error(model.at, message));
        }
        let mut numbers = Vec::with_capacity(rows * child.states());
        let mut configuration = vec![0; parents.len()];
        let mut row = vec![0.0; child.states()];
        for _ in 0..rows {
            let index = chosen.iter().fold(0, |index, &p| index * cards[p] + configuration[p]);
            let mut evaluation = Evaluation {
                node: &block.name.text,
                child: &child,
                parents: &parents,
                configuration: &configuration,
                functions: &self.functions,
                steps: &mut self.steps,
                depth: 0,
            };
            row.fill(0.0);
            evaluation.fill(&expressions[index], &mut row).map_err(refuse)?;
            numbers.extend(row.iter().map(|&value| Number { value, at: expressions[index].at }));
            for (state, &card) in configuration.iter_mut().zip(&cards).rev() {
                *state = (*state + 1) % card;
                if *state > 0 {
                    break;
                }
            }
        }
        Ok(numbers)
    }

    /// The positions among `parents` of the nodes in `model_nodes`.
    fn model_nodes(
        &self,
        potential: &PotentialBlock<'s>,
        parents: &[(&str, Domain)],
    ) -> Result<Vec<usize>, FormatError> {
        let Some(field) = attribute(potential, "model_nodes") else { return Ok(Vec::new()) };
        let Value::List(items) = &field.value else { return Ok(Vec::new()) };
        let position = |item: &super::parser::Item<'s>| {
            parents.iter().position(|(name, _)| *name == item.text).ok_or_else(|| {
                let message = format!("'{}' in 'model_nodes' is not among the parents", item.text);
                self.source.error(item.at, message)
            })
        };
        items.iter().map(position).collect()
    }
}

/// The last attribute of `potential` called `name`.
pub(super) fn attribute<'p, 's>(
    potential: &'p PotentialBlock<'s>,
    name: &str,
) -> Option<&'p Attribute<'s>> {
    potential.attributes.iter().rfind(|field| field.name == name)
}

#[cfg(test)]
mod tests {
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

    /// The table of `node`, which `model` gives.
    fn table(node: &str, model: &str) -> Vec<f64> {
        let head = node.split(" |").next().unwrap();
        let read = read(&format!("potential ({node}) {{ {model} }}"));
        let network = read.unwrap_or_else(|error| panic!("{model}: {error}")).network;
        network.cpt(network.find(head).unwrap()).values().to_vec()
    }

    fn one(node: &str, expression: &str) -> Vec<f64> {
        table(node, &format!("model_nodes = (); model_data = ({expression});"))
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-9);
        assert!(!far, "{found:?}\nexpected {expected:?}");
    }

    #[test]
    fn an_expression_gives_the_state_of_its_value() {
        assert_eq!(one("l | b", r#"if (b, "red", "green")"#), [0.0, 1.0, 1.0, 0.0]);
        assert_eq!(one("b | l", r#"l == "green""#), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(one("b | n", "not (n > 1) % a remark\n"), [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!(
            one("n | b", "if (and (b, true), 5 / f, max (0, -1, 1))")[..6],
            [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(
            one("part | n", "n + 0.5 - 2 ^ -1 * 0"),
            [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(one("part", "-2 ^ 2 + 10 - 4 - 1"), [0.0, 1.0, 0.0], "-(2^2) + 10 - 4 - 1 = 1");
        assert_eq!(one("part", "mod (7, 4) * exp (log (1))"), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn model_nodes_choose_among_expressions() {
        let model = r#"model_nodes = (b); model_data = ("red", Distribution (1, 3));"#;
        assert_eq!(table("l | n b", model)[..4], [1.0, 0.0, 0.25, 0.75]);
        assert_eq!(table("l | b n", model)[4..8], [1.0, 0.0, 0.25, 0.75]);
    }

    #[test]
    fn distributions_have_the_masses_of_their_definitions() {
        assert_close(&one("counts", "Binomial (3, 0.2)"), &[0.512, 0.384, 0.096, 0.008]);
        assert_close(&one("counts", "Binomial (2, 1)"), &[0.0, 0.0, 1.0, 0.0]);
        let e = (-2.0_f64).exp();
        let poisson = [e, 2.0 * e, 2.0 * e, 1.0 - 5.0 * e];
        assert_close(&one("counts", "Poisson (f)"), &poisson);
        assert_close(&one("counts", "Geometric (0.5)"), &[0.5, 0.25, 0.125, 0.125]);
        assert_close(&one("counts", "NegativeBinomial (2, 0.5)"), &[0.25, 0.25, 0.1875, 0.3125]);
        let normal = [0.308_537_538_726, 0.382_924_922_548, 0.308_537_538_726];
        assert_close(&one("line", "Normal (0.5, 1)"), &normal);
        let weibull = 1.0 - (-1.0_f64).exp();
        assert_close(&one("line", "Weibull (2, 1)"), &[0.0, weibull, 1.0 - weibull]);
        assert_close(&one("line", "Gamma (1, 1)"), &[0.0, weibull, 1.0 - weibull]);
        assert_close(&one("line", "LogNormal (0, 4)"), &[0.0, 0.5, 0.5]);
        assert_close(&one("part", "Beta (2, 1, 0, 4)"), &[0.0625, 0.1875, 0.75]);
        assert_close(&one("part", "Uniform (0, 4)"), &[0.25, 0.25, 0.5]);
        assert_close(&one("part", "truncate (1, Uniform (0, 4), 3)"), &[0.0, 0.5, 0.5]);
        let half = 0.5 * (1.0 - 0.135_335_283_237);
        assert_close(
            &one("part | b", "if (b, truncate (Gamma (1, 1), 2), 3)")[3..],
            &[weibull / (2.0 * half), 1.0 - weibull / (2.0 * half), 0.0],
        );
    }

    #[test]
    fn what_has_no_exact_table_is_refused_with_its_place() {
        let cases = [
            (
                "b",
                "NoisyOR (b, 0.1)",
                "'NoisyOR' of 2 arguments in the expression of 'b' is not \
              computed here; expected 'data', or an expression with a table",
            ),
            (
                "n | part",
                "part",
                "'n' depends on 'part', whose states are intervals; Hugin takes \
              samples from them, which is no table; expected 'data'",
            ),
            ("n", "b", "the expression of 'n' names 'b', expected one of its parents"),
            ("n", "7", "the expression gives the number 7, which is no state of 'n'"),
            ("b", "1", "the expression gives the number 1, which is no state of 'b'"),
            ("b", "1 == true", "the number 1 cannot be compared with true"),
            ("b", "not (1)", "expected a condition, found the number 1"),
            ("b", "true + 1", "expected a number, found true"),
            ("n", "1 +", "expected a number, a name, a label or '(' in the expression, found ')'"),
            ("n", "1 2", "expected ')' in the expression, found '2'"),
            (
                "n",
                "1, 2",
                "'n' has 2 expressions, expected 1, one for each configuration of its 0 \
              'model_nodes'",
            ),
            ("n", "Poisson (1)", "'Poisson' needs a node with the values 0, 1, 2 and so on"),
            ("n", "Normal (0, 1)", "'Normal' needs a node whose states are intervals"),
            ("counts", "Poisson (-1)", "'Poisson' cannot have the parameters (-1)"),
            ("counts", "Binomial (4, 0.5)", "'Binomial' cannot have the parameters (4, 0.5)"),
            ("line", "Normal (0, 0)", "'Normal' cannot have the parameters (0, 0)"),
            ("line", "Gamma (1e9, 1)", "'Gamma' cannot have the parameters (1000000000, 1)"),
            ("line", "Beta (0/0, 1)", "'Beta' cannot have the parameters (NaN, 1)"),
            (
                "part",
                "Uniform (0, 8)",
                "the intervals of 'part' hold 0.5 of 'Uniform', expected all \
              of it; 'truncate' cuts it to them",
            ),
            (
                "part",
                "truncate (0, 1)",
                "expected 'truncate' of a continuous distribution between \
              one or two bounds",
            ),
            (
                "l",
                "Distribution (1)",
                "'Distribution' has 1 weights, expected 2, one for each state \
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
        for long in [deep, vec!["1"; 100_000].join("+"), "-".repeat(100_000)] {
            let model = format!("potential (n) {{ model_data = ({long}); }}");
            let error = read(&model).unwrap_err();
            assert!(error.contains("nested more than 100 deep"), "{error}");
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
            assert!(error.contains("more than 4194304 entries, which is refused"), "{error}");
        }
    }

    #[test]
    fn functions_that_call_each_other_end() {
        let mut text = String::from("function g0 { } potential (g0) { model_data = (1); }\n");
        for g in 1..30 {
            let before = g - 1;
            text.push_str(&format!(
                "function g{g} {{ }} potential (g{g}) {{ model_data = (g{before} + g{before}); }}\n"
            ));
        }
        let twice = format!("{text} potential (part) {{ model_data = (g29); }}");
        let error = read(&twice).unwrap_err();
        assert!(error.ends_with("take too many steps, which is refused"), "{error}");
        let chances = format!("{text} potential (line) {{ model_data = (Normal (g20, 1)); }}");
        assert!(read(&chances).is_ok(), "few of many steps");
        let chain = |length: usize| {
            let link = |g| {
                format!("function h{} {{ }} potential (h{0}) {{ model_data = (h{g}); }}\n", g + 1)
            };
            let links: String = (0..length).map(link).collect();
            read(&format!(
                "function h0 {{ }} potential (h0) {{ model_data = (1); }}\n{links}\
                 potential (part) {{ model_data = (h{length}); }}"
            ))
        };
        assert!(chain(31).is_ok());
        assert!(chain(32).unwrap_err().contains("names 'h0', expected one of its parents"));
        let itself = "function g { } potential (g) { model_data = (g); } \
                      potential (part) { model_data = (g); }";
        assert!(read(itself).unwrap_err().ends_with("names 'g', expected one of its parents"));
    }
}
