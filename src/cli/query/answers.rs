//! The answers as text, JSON, JSON lines or CSV.

use std::fmt::Write;
use std::sync::Arc;

use cliquescope::engine::{PropagationError, QueryError};
use cliquescope::network::{Evidence, Finding, Network};
use cliquescope::numbers::power_of_ten;
use cliquescope::propagation::Posteriors;
use cliquescope::safe_text::{csv_cell, json_for_terminal, visible};
use serde_json::Value;

use super::blocks::Row;
use super::output_format::OutputFormat;

/// What all answers have in common.
pub struct Context {
    pub network: Arc<Network>,
    /// The title of the network.
    pub title: String,
    pub engine: &'static str,
    pub precision: String,
    /// Whether there are several cases, which are numbered in text.
    pub has_several: bool,
    /// Whether CSV has a column of names.
    pub has_names: bool,
}

/// Formats answers. The parts that all answers share, such as names and labels, are formatted only
/// once, by [`Formatter::begin`].
pub struct Formatter {
    format: OutputFormat,
    context: Context,
    /// For each state of each variable: what comes before its probability. In text, the headings
    /// of the table come first.
    prefixes: Prefixes,
    /// What comes after the last probability.
    suffix: &'static str,
    /// Whether no answer was formatted yet.
    is_first: bool,
    /// Memory for a number as text.
    number: zmij::Buffer,
}

impl Formatter {
    /// A formatter of answers. Call [`begin`](Self::begin) before the first answer.
    pub fn new(format: OutputFormat, context: Context) -> Self {
        let (prefixes, number) = (Prefixes::default(), zmij::Buffer::new());
        Self { format, context, prefixes, suffix: "", is_first: true, number }
    }

    /// Formats what all answers share, and returns what comes before them.
    pub fn begin(&mut self) -> String {
        let network = &self.context.network;
        (self.prefixes, self.suffix) = match self.format {
            OutputFormat::Text => (text_prefixes(network), "\n"),
            OutputFormat::Json | OutputFormat::JsonLines => json_prefixes(network),
            OutputFormat::Csv => {
                let mut prefixes = Prefixes::default();
                let states = network.variables().iter().map(|variable| variable.cardinality());
                (0..states.sum()).for_each(|_| prefixes.push(","));
                (prefixes, ",\n")
            }
        };
        match self.format {
            OutputFormat::Text | OutputFormat::JsonLines => String::new(),
            OutputFormat::Json => {
                let (title, engine) = (quoted(&self.context.title), quoted(self.context.engine));
                let precision = quoted(&self.context.precision);
                let mut header = format!("{{\"network\":{title},\"engine\":{engine},");
                let _ = write!(header, "\"precision\":{precision},\"cases\":[");
                header
            }
            OutputFormat::Csv => csv_header(network, self.context.has_names),
        }
    }

    /// What comes after all answers.
    pub fn footer(&self) -> &'static str {
        if matches!(self.format, OutputFormat::Json) { "]}\n" } else { "" }
    }

    /// Appends to `text` the answer to the case `row`: the posteriors, or why there are none.
    /// `evidence` is missing if the case could not be read.
    pub fn append(
        &mut self,
        text: &mut String,
        row: &Row,
        evidence: Option<&Evidence>,
        answer: Result<&Posteriors, Failure<'_>>,
    ) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        match self.format {
            OutputFormat::Text => self.append_text(text, row, evidence, answer, is_first),
            OutputFormat::Csv => self.append_csv(text, row, answer),
            OutputFormat::Json => {
                text.push_str(if is_first { "{" } else { ",{" });
                self.append_json(text, row, answer);
                text.push('}');
            }
            OutputFormat::JsonLines => {
                let _ = write!(text, "{{\"case\":{}", row.number);
                if let Some(line) = row.line {
                    let _ = write!(text, ",\"line\":{line}");
                }
                text.push(',');
                self.append_json(text, row, answer);
                text.push_str("}\n");
            }
        }
    }

    /// Appends the members of an object.
    fn append_json(
        &mut self,
        text: &mut String,
        row: &Row,
        answer: Result<&Posteriors, Failure<'_>>,
    ) {
        if let Some(name) = &row.name {
            let _ = write!(text, "\"name\":{},", quoted(name));
        }
        match answer {
            Err(failure) => {
                let _ = write!(text, "\"error\":{}", quoted(&failure.to_string()));
            }
            Ok(posteriors) => {
                text.push_str("\"ln_p_evidence\":");
                push_number(&mut self.number, text, posteriors.ln_p_evidence(), "null");
                if posteriors.is_recomputed() {
                    text.push_str(",\"recomputed\":true");
                }
                text.push_str(",\"posteriors\":{");
                self.push_values(text, posteriors, "null");
            }
        }
    }

    /// Appends a line of cells.
    fn append_csv(
        &mut self,
        text: &mut String,
        row: &Row,
        answer: Result<&Posteriors, Failure<'_>>,
    ) {
        let _ = write!(text, "{}", row.number);
        if self.context.has_names {
            text.push(',');
            text.push_str(&csv_cell(row.name.as_deref().unwrap_or("")));
        }
        text.push(',');
        match answer {
            Err(failure) => {
                text.extend(std::iter::repeat_n(',', self.prefixes.ends.len() + 1));
                text.push_str(&csv_cell(&failure.to_string()));
                text.push('\n');
            }
            Ok(posteriors) => {
                push_number(&mut self.number, text, posteriors.ln_p_evidence(), "");
                self.push_values(text, posteriors, "");
            }
        }
    }

    /// Appends the evidence and a table of the posteriors.
    fn append_text(
        &self,
        text: &mut String,
        row: &Row,
        evidence: Option<&Evidence>,
        answer: Result<&Posteriors, Failure<'_>>,
        is_first: bool,
    ) {
        let network = &self.context.network;
        if self.context.has_several || row.name.is_some() {
            let separator = if is_first { "" } else { "\n" };
            let name =
                row.name.as_ref().map_or_else(String::new, |name| format!(": {}", visible(name)));
            let _ = writeln!(text, "{separator}case {}{name}", row.number);
        }
        for (variable, finding) in evidence.into_iter().flat_map(Evidence::iter) {
            let variable = &network[variable];
            let name = visible(variable.name());
            let _ = match finding {
                Finding::Observed(state) => {
                    writeln!(text, "observed    {name}={}", visible(&variable.states()[*state]))
                }
                Finding::Likelihood(weights) => writeln!(text, "likelihood  {name} {weights:?}"),
            };
        }
        let posteriors = match answer {
            Ok(posteriors) => posteriors,
            Err(failure) => {
                let _ = writeln!(text, "{}", failure.summary());
                return;
            }
        };
        let ln = posteriors.ln_p_evidence();
        // In a Markov network the joint distribution is not normalised.
        let name = if network.is_bayesian() { "P(e)" } else { "Z(e)" };
        let _ = writeln!(text, "ln {name}     {ln:.9}\n{name}        {}\n", probability(ln));
        let mut prefixes = self.prefixes.iter();
        text.extend(prefixes.next());
        for (prefix, p) in prefixes.zip(posteriors.values()) {
            let _ = write!(text, "{prefix}{p:.9}");
        }
        text.push_str(self.suffix);
    }

    /// Appends all probabilities.
    fn push_values(&mut self, text: &mut String, posteriors: &Posteriors, missing: &str) {
        for (prefix, &p) in self.prefixes.iter().zip(posteriors.values()) {
            text.push_str(prefix);
            push_number(&mut self.number, text, p, missing);
        }
        text.push_str(self.suffix);
    }
}

/// Appends the shortest decimal that is read back as `number`, or `missing` if it is not finite.
fn push_number(buffer: &mut zmij::Buffer, text: &mut String, number: f64, missing: &str) {
    text.push_str(if number.is_finite() { buffer.format_finite(number) } else { missing });
}

/// Many short texts, one after another in memory.
#[derive(Default)]
struct Prefixes {
    text: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Prefixes {
    fn push(&mut self, prefix: &str) {
        self.text.push_str(prefix);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

/// `text` as a string in JSON.
fn quoted(text: &str) -> String {
    json_for_terminal(&Value::from(text).to_string()).into_owned()
}

/// Why a case has no answer.
#[derive(Clone, Copy)]
pub enum Failure<'a> {
    /// The case could not be read.
    Unreadable(&'a str),
    /// The engine has no answer.
    Unanswered(&'a QueryError),
}

impl Failure<'_> {
    /// The failure in one or two words.
    fn summary(self) -> &'static str {
        match self {
            Self::Unreadable(_) => "not read",
            Self::Unanswered(QueryError::Propagation(PropagationError::Impossible(_))) => {
                "impossible"
            }
            Self::Unanswered(_) => "no answer",
        }
    }
}

impl std::fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(message) => f.write_str(message),
            Self::Unanswered(error) => error.fmt(f),
        }
    }
}

/// The table of all posteriors in text, cut at the probabilities: the headings, then what comes
/// before each probability.
fn text_prefixes(network: &Network) -> Prefixes {
    const HEADINGS: [&str; 3] = ["variable", "state", "P(state | e)"];
    /// Number of characters of a written probability.
    const PROBABILITY: usize = "0.000000000".len();
    let width = |text: &str| visible(text).chars().count();
    let widest = |heading: &str, texts: &mut dyn Iterator<Item = &str>| {
        texts.map(width).fold(width(heading), usize::max)
    };
    let variables = network.variables();
    let name_width = widest(HEADINGS[0], &mut variables.iter().map(|variable| variable.name()));
    let states = variables.iter().flat_map(|variable| variable.states());
    let state_width = widest(HEADINGS[1], &mut states.map(String::as_str));
    let probability_width = width(HEADINGS[2]);
    let mut prefixes = Prefixes::default();
    let [name, state, probability] = HEADINGS;
    prefixes.push(&format!("{name:<name_width$}  {state:<state_width$}  {probability}"));
    let padding = 2 + probability_width - PROBABILITY;
    for variable in variables {
        let name = visible(variable.name());
        for state in variable.states() {
            let state = visible(state);
            prefixes.push(&format!("\n{name:<name_width$}  {state:<state_width$}{:padding$}", ""));
        }
    }
    prefixes
}

/// The keys of the JSON object of all posteriors, and what ends this object.
fn json_prefixes(network: &Network) -> (Prefixes, &'static str) {
    let mut prefixes = Prefixes::default();
    let mut before = "";
    for variable in network.variables() {
        let name = quoted(variable.name());
        for (index, state) in variable.states().iter().enumerate() {
            let state = quoted(state);
            prefixes.push(&match index {
                0 => format!("{before}{name}:{{{state}:"),
                _ => format!(",{state}:"),
            });
        }
        before = "},";
    }
    (prefixes, if before.is_empty() { "}" } else { "}}" })
}

/// The header of the CSV output.
fn csv_header(network: &Network, has_names: bool) -> String {
    let mut header = "case,".to_owned();
    header.push_str(if has_names { "name," } else { "" });
    header.push_str("ln_p_evidence,");
    for variable in network.variables() {
        for state in variable.states() {
            header.push_str(&csv_cell(&format!("{}={state}", variable.name())));
            header.push(',');
        }
    }
    header.push_str("error\n");
    header
}

/// exp(`ln`) in decimal, even where it is outside the range of f64.
fn probability(ln: f64) -> String {
    let p = ln.exp();
    if p == 0.0 || p.is_subnormal() || p.is_infinite() {
        return power_of_ten(ln / std::f64::consts::LN_10, 5);
    }
    if (1e-4..1e6).contains(&p) { format!("{p:.9}") } else { format!("{p:.5e}") }
}

#[cfg(test)]
mod tests {
    use cliquescope::engine;
    use cliquescope::format;

    use super::*;

    /// The whole output in `format` for a case of Cancer and one that could not be read.
    fn output(format: OutputFormat) -> String {
        let network = format::sample("cancer").unwrap().open().network;
        let context = Context {
            network: Arc::clone(&network),
            title: "can\"cer".to_owned(),
            engine: "cpu",
            precision: "f64".to_owned(),
            has_several: true,
            has_names: true,
        };
        let mut formatter = Formatter::new(format, context);
        let mut text = formatter.begin();
        let posteriors = engine::query(&network, &Evidence::none()).unwrap();
        let row = Row { number: 1, line: Some(2), name: Some("a,b".to_owned()), error: None };
        formatter.append(&mut text, &row, Some(&Evidence::none()), Ok(&posteriors));
        let row = Row { number: 2, line: None, name: None, error: None };
        formatter.append(&mut text, &row, None, Err(Failure::Unreadable("no \"x\", ever")));
        text + formatter.footer()
    }

    #[test]
    fn json_has_all_cases_in_one_object() {
        let value: Value = serde_json::from_str(&output(OutputFormat::Json)).unwrap();
        assert_eq!(value["network"], "can\"cer");
        let cases = value["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0]["name"], "a,b");
        let smoker = &cases[0]["posteriors"]["Smoker"];
        assert!((smoker["True"].as_f64().unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(cases[1], serde_json::json!({"error": "no \"x\", ever"}));
    }

    #[test]
    fn json_lines_number_the_cases() {
        let text = output(OutputFormat::JsonLines);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["case"], &lines[0]["line"]), (&1.into(), &2.into()));
        assert_eq!(lines[1], serde_json::json!({"case": 2, "error": "no \"x\", ever"}));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn csv_has_a_column_for_each_state() {
        let text = output(OutputFormat::Csv);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("case,name,ln_p_evidence,Pollution=low,"), "{}", lines[0]);
        assert!(lines[0].ends_with(",error"));
        assert!(lines[1].starts_with("1,\"a,b\",") && lines[1].ends_with(','), "{}", lines[1]);
        let commas = lines[0].matches(',').count();
        assert_eq!(lines[1].matches(',').count(), commas + 1, "one is inside quotes");
        assert_eq!(lines[2], format!("2,{}\"no \"\"x\"\", ever\"", ",".repeat(commas - 1)));
    }

    #[test]
    fn text_aligns_the_probabilities() {
        let text = output(OutputFormat::Text);
        let table: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("variable")).take(11).collect();
        let ends: Vec<usize> = table.iter().map(|line| line.len()).collect();
        assert!(ends.iter().all(|&end| end == ends[0]), "{text}");
        assert!(table[3].starts_with("Smoker ") && table[3].ends_with(" 0.300000000"), "{text}");
        assert!(text.ends_with("\n\ncase 2\nnot read\n"), "{text}");
    }

    #[test]
    fn probabilities_outside_the_range_of_f64_are_written() {
        assert_eq!(probability(0.0), "1.000000000");
        assert_eq!(probability(-20.0), "2.06115e-9");
        assert_eq!(probability(-1000.0), "5.07596e-435");
        assert_eq!(probability(1000.0), "1.97007e434");
        for rounded_up in [-435.000_000_1, 434.999_999_9] {
            let text = probability(rounded_up * std::f64::consts::LN_10);
            assert_eq!(text, format!("1.00000e{}", rounded_up.round()));
        }
    }
}
