//! Options that several commands share.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, Engine, MappingLayout, Optimisation, Optimisations, PaperOptions};
use cliquescope::format::cases::{CaseError, CaseReader, ReadCase};
use cliquescope::format::{self, ReadNetwork};
use cliquescope::graph::{Triangulation, TriangulationOptions};
use cliquescope::network::{Evidence, Network, Variable};
use cliquescope::numbers::human_bytes;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, compile};

use super::{Failure, output};

/// The number of propagations that `info` and `bench` expect when they search for a tree. With a
/// larger number they would search longer before they show anything. With 20, the trees that
/// different seeds find for the linkage problems of the UAI 2014 competition differed twofold.
pub const COMPILE_RUNS: u32 = 100;

/// How to compile a network, and the memory limit.
#[derive(clap::Args)]
pub struct CompileArgs {
    /// How to triangulate the moral graph
    #[arg(long, value_name = "METHOD", default_value = Triangulation::default().name())]
    #[arg(value_parser = triangulations())]
    triangulation: String,

    /// Seed for breaking ties, which affects the junction tree. With a seed other than 0, auto
    /// searches even if it knows a good tree
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    seed: u64,

    /// Maximum time for which auto searches if it knows no good junction tree; it always tries each
    /// heuristic once. It stops earlier once the search costs more time than a smaller tree is
    /// likely to save
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    triangulation_budget: Duration,

    /// Memory that the junction tree, and then an engine, may use, such as 2GiB, 500MB or a number
    /// of bytes [default: half of the available memory]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory_limit: Option<MemoryLimit>,
}

/// The names of all triangulations, for `value_parser`.
pub fn triangulations() -> PossibleValuesParser {
    Triangulation::ALL.map(Triangulation::name).into()
}

impl CompileArgs {
    /// Compiles `network` for `runs` propagations.
    ///
    /// # Errors
    /// A message for the user if the method is unknown, or the triangulation needs too much memory.
    pub fn compile(
        &self,
        network: &Arc<Network>,
        runs: u32,
    ) -> Result<Arc<CompiledNetwork>, Failure> {
        compile_with(network, &self.options(runs)?)
    }

    /// Compiles `network` for `runs` propagations, without the edges of the variables that
    /// `evidence` observes.
    ///
    /// # Errors
    /// A message for the user if the method is unknown, or the triangulation needs too much memory.
    pub fn compile_given(
        &self,
        network: &Arc<Network>,
        evidence: &Evidence,
        runs: u32,
    ) -> Result<Arc<CompiledNetwork>, Failure> {
        let observed = evidence.observed_variables();
        compile_with(network, &CompileOptions { observed, ..self.options(runs)? })
    }

    /// How to compile a network for `runs` propagations.
    ///
    /// # Errors
    /// A message for the user if the method is unknown.
    pub fn options(&self, runs: u32) -> Result<CompileOptions, String> {
        let triangulation = TriangulationOptions {
            method: self.triangulation()?,
            seed: self.seed,
            steps: u64::MAX,
            runs,
            budget: self.triangulation_budget,
            max_bytes: self.memory().bytes(),
            ..Default::default()
        };
        Ok(CompileOptions { triangulation, ..CompileOptions::default() })
    }

    /// The chosen method.
    ///
    /// # Errors
    /// A message for the user if it is unknown.
    pub fn triangulation(&self) -> Result<Triangulation, String> {
        Triangulation::from_str(&self.triangulation)
    }

    /// The memory limit: `--memory-limit`, or else half of the available memory.
    pub fn memory(&self) -> MemoryLimit {
        self.memory_limit.unwrap_or_else(MemoryLimit::half_of_available)
    }
}

fn compile_with(
    network: &Arc<Network>,
    options: &CompileOptions,
) -> Result<Arc<CompiledNetwork>, Failure> {
    let compiled = compile(Arc::clone(network), options, &CancelToken::new());
    compiled.map(Arc::new).map_err(Failure::refusal)
}

/// Options of engine gpu-paper.
#[derive(clap::Args)]
pub struct PaperArgs {
    /// Threads per block, for engine gpu-paper
    #[arg(long, value_name = "N", default_value_t = PaperOptions::default().block_size)]
    #[arg(value_parser = whole(16..=1024_u32))]
    block_size: u32,

    /// Layout of the mapping tables in memory, naive or interleaved, for engine gpu-paper
    #[arg(long, default_value_t = PaperOptions::default().layout)]
    layout: MappingLayout,
}

impl PaperArgs {
    /// The options.
    pub fn options(&self) -> PaperOptions {
        PaperOptions { block_size: self.block_size, layout: self.layout }
    }
}

/// The optimisations that are switched off. The option is hidden, because it is meant for
/// `benches/ablation.py`.
#[derive(clap::Args)]
pub struct WithoutArgs {
    /// Switch off an optimisation of engine cpu; can be repeated
    #[arg(long, value_name = "OPTIMISATION", hide = true)]
    without: Vec<Optimisation>,
}

impl WithoutArgs {
    /// The optimisations that remain.
    pub fn optimisations(&self) -> Optimisations {
        let all = Optimisations::default();
        self.without.iter().fold(all, |rest, &optimisation| rest.without(optimisation))
    }
}

/// The names of all engines, for `value_parser`.
pub fn engine_names() -> PossibleValuesParser {
    engine::all().iter().map(|engine| engine.name()).collect::<Vec<_>>().into()
}

/// The engine called `name`.
///
/// # Errors
/// A message for the user if this build has no such engine.
pub fn engine(name: &str) -> Result<&'static dyn Engine, String> {
    engine::by_name(name).ok_or_else(|| format!("there is no engine '{name}'"))
}

/// The requested precision, or the default of `engine`.
pub fn precision(engine: &dyn Engine, requested: Option<Precision>) -> Precision {
    requested.unwrap_or(engine.precisions()[0])
}

/// Number of threads that a user may request on any machine. A user may request more only if the
/// machine runs more in parallel. More threads than the machine runs in parallel make nothing
/// faster, but are useful for tests.
const MAX_THREADS: usize = 64;

/// The requested number of threads, or as many as the machine runs in parallel. Reduces, with a
/// warning, a number above both [`MAX_THREADS`] and what the machine runs in parallel.
pub fn threads(requested: Option<u16>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let requested = requested.map_or(available, usize::from);
    let limit = available.max(MAX_THREADS);
    if requested > limit {
        output::note(&format!(
            "warning: --threads {requested} is reduced to {limit}; this machine runs {available} \
             in parallel"
        ));
    }
    requested.min(limit)
}

/// Opens a network and prints the reader's warnings. The memory limit is `memory`.
///
/// # Errors
/// A message for the user if the network cannot be read, or if its file is longer than the limit.
pub fn open(spec: impl AsRef<Path>, memory: MemoryLimit) -> Result<ReadNetwork, Failure> {
    let path = spec.as_ref();
    // The whole text of a file is in memory while it is read.
    if let Ok(file) = path.metadata()
        && file.is_file()
        && file.len() > memory.bytes()
    {
        let (size, limit) = (human_bytes(file.len()), human_bytes(memory.bytes()));
        let path = path.display();
        let message = format!("{path}: too large to read: {size}, and the memory limit is {limit}");
        return Err(Failure::refusal(message));
    }
    let read = format::open(path).map_err(|error| error.to_string())?;
    for warning in &read.warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(read)
}

/// Checks that `text` has the form `VAR=STATE`, for `value_parser`. [`split_finding`] splits it
/// once the network is known.
///
/// # Errors
/// A message for the user if it does not.
pub fn finding(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((variable, state)) if !variable.is_empty() && !state.is_empty() => Ok(text.to_owned()),
        _ => Err("expected VAR=STATE".to_owned()),
    }
}

/// Splits `VAR=STATE` at the first `=` that follows the name of a variable of `network`, because
/// names can contain `=`. If there is none, splits at the first `=`.
pub fn split_finding<'f>(network: &Network, finding: &'f str) -> (&'f str, &'f str) {
    let mut positions = finding.match_indices('=').map(|(at, _)| at);
    let split = positions.clone().find(|&at| network.find(&finding[..at]).is_some());
    match split.or_else(|| positions.next()) {
        Some(at) => (&finding[..at], &finding[at + 1..]),
        None => (finding, ""),
    }
}

/// The evidence given by findings of the form `VAR=STATE`, at most one for each variable.
///
/// # Errors
/// A message for the user if a variable or state is unknown, or a variable is given twice.
pub fn evidence(network: &Network, findings: &[String]) -> Result<Evidence, String> {
    let mut evidence = Evidence::none();
    for (index, finding) in findings.iter().enumerate() {
        let (variable, state) = split_finding(network, finding);
        let outcome = evidence.observe_named(network, variable, state);
        outcome.map_err(|error| format!("--evidence {finding}: {error}"))?;
        // A second finding on a variable replaces the first and does not increase the number.
        if evidence.len() <= index {
            return Err(format!("--evidence {finding}: variable '{variable}' is given twice"));
        }
    }
    Ok(evidence)
}

/// A reader of the cases in `file`. The file `-` is standard input.
///
/// # Errors
/// A message for the user if the file cannot be opened, or its header has a mistake.
pub fn case_reader(
    network: &Arc<Network>,
    file: &Path,
) -> Result<CaseReader<Arc<Network>>, String> {
    let network = Arc::clone(network);
    let reader = if file == Path::new("-") {
        CaseReader::new("standard input", std::io::stdin(), network)
    } else {
        CaseReader::open(file, network)
    };
    reader.map_err(|error| error.to_string())
}

/// All cases in `file`, as [`case_reader`] reads them. Prints warnings.
///
/// # Errors
/// A message for the user if the file cannot be read, or a case has a mistake.
pub fn cases(network: &Arc<Network>, file: &Path) -> Result<Vec<Evidence>, String> {
    let mut reader = case_reader(network, file)?;
    let cases: Result<Vec<Evidence>, CaseError> = reader.by_ref().map(evidence_of).collect();
    let cases = cases.map_err(|error| error.to_string())?;
    for warning in reader.take_warnings() {
        output::note(&format!("warning: {warning}"));
    }
    if cases.is_empty() {
        output::note(&format!("warning: {}: {NO_CASES}", reader.file()));
    }
    Ok(cases)
}

/// The evidence of a case.
///
/// # Errors
/// Why the case, or the rest of the file from this case on, cannot be read.
pub fn evidence_of(case: Result<ReadCase, CaseError>) -> Result<Evidence, CaseError> {
    case.and_then(|case| case.evidence)
}

/// Estimated size of the evidence and the posteriors of a case of `network`, in bytes. Limits on
/// the memory of a block of cases are only as accurate as this.
pub fn case_bytes(network: &Network) -> usize {
    /// Size of a finding in the map of an [`Evidence`], in bytes. An estimate: a key, a value with
    /// one allocation, and free space in the nodes of the map.
    const FINDING: usize = 64;
    /// Size of what every case has, in bytes, such as its name. An estimate.
    const FIXED: usize = 256;
    let states: usize = network.variables().iter().map(Variable::cardinality).sum();
    states * size_of::<f64>() + network.variables().len() * FINDING + FIXED
}

/// The warning about a file without cases.
pub const NO_CASES: &str = "no cases in the file";

/// Parses a width and height in points, such as `1440x900`.
///
/// # Errors
/// A message for the user if the text has another form.
pub fn size(text: &str) -> Result<(f32, f32), String> {
    let side = |text: &str| text.parse::<u16>().ok().filter(|&side| side > 0).map(f32::from);
    text.split_once(['x', 'X'])
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or_else(|| "expected WIDTHxHEIGHT in points, such as 1440x900".to_owned())
}

/// Parses a time in seconds, such as `0.5`.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds, such as 0.5".to_owned())
}

/// A parser of whole numbers in `range`, for `value_parser`.
pub fn whole<N>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (min, max) = (range.start(), range.end());
        number.ok_or_else(|| format!("expected a whole number from {min} to {max}"))
    }
}

/// What [`memory`] accepts, for its errors.
const EXPECTED_MEMORY: &str = "expected a size, such as 2GiB, 500MB or a number of bytes";

/// Parses a size in bytes, such as `2GiB`, `500MB` or `1048576`.
///
/// # Errors
/// A message for the user if the number or the unit is wrong.
pub fn memory(text: &str) -> Result<MemoryLimit, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => f64::from(1 << 20),
        "g" | "gib" => f64::from(1 << 30),
        "t" | "tib" => f64::from(1 << 20) * f64::from(1 << 20),
        _ => return Err(format!("unknown unit '{}'; {EXPECTED_MEMORY}", unit.trim())),
    };
    let number: f64 = number.parse().map_err(|_| EXPECTED_MEMORY.to_owned())?;
    Ok(MemoryLimit::from_bytes((number * factor) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cliquescope::network::{Cpt, VariableId};

    #[test]
    fn sizes_times_and_numbers_are_parsed_and_other_texts_refused() {
        let bytes = |text| memory(text).map(MemoryLimit::bytes);
        assert_eq!(bytes("1048576"), Ok(1 << 20));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("1.5 kib"), Ok(1536));
        assert_eq!(bytes("500MB"), Ok(500_000_000));
        assert_eq!(bytes("1T"), Ok(1 << 40));
        for wrong in ["", "GiB", "2 parsecs", "1.2.3", "-1"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "-1", "soon", "nan", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        let parse = whole(2..=1024_u32);
        assert_eq!((parse("2"), parse("1024")), (Ok(2), Ok(1024)));
        for wrong in ["", "1", "1025", "-3", "2.5", "many", "99999999999"] {
            let error = parse(wrong).unwrap_err();
            assert_eq!(error, "expected a whole number from 2 to 1024", "{wrong}");
        }
        assert_eq!(size("1440x900"), Ok((1440.0, 900.0)));
        for wrong in ["", "1440", "0x10", "axb", "1e3x2"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_huge_number_of_threads_is_reduced() {
        assert_eq!((threads(Some(1)), threads(Some(3))), (1, 3));
        assert!(threads(Some(u16::MAX)) < 10_000);
        assert_eq!(threads(Some(u16::MAX)), threads(None).max(MAX_THREADS));
    }

    #[test]
    fn findings_are_split_after_the_name_of_a_variable() {
        let variable = |name: &str| Variable::new(name, ["x", "y=z"]);
        let cpt = |index| Cpt::new(VariableId::new(index), vec![], vec![0.5, 0.5]);
        let variables = vec![variable("a=b"), variable("c")];
        let network = Network::new("n", variables, vec![cpt(0), cpt(1)]).unwrap();
        assert_eq!(split_finding(&network, "a=b=x"), ("a=b", "x"));
        assert_eq!(split_finding(&network, "c=y=z"), ("c", "y=z"));
        assert_eq!(split_finding(&network, "d=y=z"), ("d", "y=z"));
        let both = ["a=b=x".to_owned(), "c=y=z".to_owned()];
        assert_eq!(evidence(&network, &both).unwrap().len(), 2);
        let twice = ["c=x".to_owned(), "c=y=z".to_owned()];
        let error = evidence(&network, &twice).unwrap_err();
        assert_eq!(error, "--evidence c=y=z: variable 'c' is given twice");
        assert!(finding("c").is_err() && finding("=x").is_err() && finding("c=").is_err());
    }
}
