//! The cases to propagate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cliquescope::engine::{self, LoadOptions, RunError};
use cliquescope::format::cases::CaseError;
use cliquescope::network::{Evidence, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, MemoryLimit};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::changes::failure;
use crate::cli::{Failure, options, output};

#[derive(clap::Args)]
pub struct CaseArgs {
    /// File of cases, as for query; each is timed separately unless --batch is given [default: one
    /// case without evidence]
    #[arg(long, value_name = "FILE")]
    evidence_file: Option<PathBuf>,

    /// Draw random cases: this share of the variables, such as 20% or 0.2, is observed in the
    /// states of a sample of the joint distribution
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "evidence_file")]
    observed: Option<f64>,

    /// Number of cases to draw; the observed variables are drawn separately for each case
    #[arg(long, value_name = "N", default_value_t = 1, requires = "observed")]
    #[arg(value_parser = options::whole(1..=u32::MAX))]
    cases: u32,

    /// Seed for drawing cases
    #[arg(long, value_name = "N", default_value_t = 1, requires = "observed")]
    #[arg(value_parser = options::whole(0..=u64::MAX))]
    case_seed: u64,
}

/// The parameters with which cases were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DrawParameters {
    /// Share of the variables that is observed.
    observed: f64,
    /// Number of observed variables per case.
    variables: usize,
    cases: u32,
    seed: u64,
}

/// Maximum size in bytes of the evidence and the posteriors of a block, unless it has only
/// [`MIN_BLOCK`] cases. A larger limit takes more memory, and speeds up only networks whose blocks
/// have fewer than [`MAX_BLOCK`] cases.
const BLOCK_BYTES: usize = 64 << 20;

/// Minimum number of cases in a block, so that an engine on a GPU has enough cases for its threads.
const MIN_BLOCK: usize = 1024;

/// Maximum number of cases in a block. Larger blocks are not faster per case.
const MAX_BLOCK: usize = 1 << 16;

impl CaseArgs {
    /// The file to read in blocks, if the cases come from a file that can be read repeatedly.
    pub fn file(&self) -> Option<&Path> {
        self.evidence_file.as_deref().filter(|&file| file != Path::new("-"))
    }

    /// Whether the cases are read from standard input.
    pub fn are_on_standard_input(&self) -> bool {
        self.evidence_file.as_deref() == Some(Path::new("-"))
    }

    /// The cases of `file` in blocks, so that its length does not matter.
    ///
    /// # Errors
    /// If the file cannot be opened, or its header has a mistake. A mistake in a case, or an error
    /// while reading it, is the error of its block.
    pub fn blocks(
        network: &Arc<Network>,
        file: &Path,
    ) -> Result<impl Iterator<Item = Result<Vec<Evidence>, String>>, String> {
        let mut reader = options::case_reader(network, file)?;
        let size = (BLOCK_BYTES / options::case_bytes(network)).clamp(MIN_BLOCK, MAX_BLOCK);
        Ok(std::iter::from_fn(move || {
            let block: Result<Vec<Evidence>, CaseError> =
                reader.by_ref().take(size).map(options::evidence_of).collect();
            for warning in reader.take_warnings() {
                output::note(&format!("warning: {warning}"));
            }
            let block = block.map_err(|error| error.to_string());
            (block != Ok(Vec::new())).then_some(block)
        }))
    }

    /// Reads or draws the cases. Also returns the parameters of drawn cases.
    ///
    /// Cases of a Markov network are drawn by propagation, which uses at most `memory`.
    ///
    /// # Errors
    /// A message for the user if the file of the cases cannot be read or has a mistake, or if no
    /// case can be drawn.
    pub fn read_or_draw(
        &self,
        compiled: &Arc<CompiledNetwork>,
        memory: MemoryLimit,
    ) -> Result<(Vec<Evidence>, Option<DrawParameters>), Failure> {
        let network = compiled.network();
        let Some(observed) = self.observed else {
            let cases = match &self.evidence_file {
                Some(file) => options::cases(network, file)?,
                None => vec![Evidence::none()],
            };
            return Ok((cases, None));
        };
        let variables = (observed * network.variables().len() as f64).round() as usize;
        let mut rng = Pcg64Mcg::seed_from_u64(self.case_seed);
        let cases = if network.is_bayesian() {
            (0..self.cases).map(|_| Evidence::drawn(network, variables, &mut rng)).collect()
        } else {
            let loading = LoadOptions {
                precision: Precision::F64,
                threads: options::threads(None),
                memory,
                ..LoadOptions::default()
            };
            let loaded = engine::default_engine().load(compiled, &loading);
            let mut loaded = loaded.map_err(|error| {
                let Failure { message, is_refusal } = error.into();
                Failure { message: format!("no case can be drawn: {message}"), is_refusal }
            })?;
            let draw = |_| engine::draw(&mut *loaded, network, variables, &mut rng);
            let drawn: Result<_, RunError> = (0..self.cases).map(draw).collect();
            drawn.map_err(|error| match error {
                RunError::Impossible => {
                    "no case can be drawn: all configurations have weight zero".to_owned()
                }
                other => format!("no case can be drawn: {}", failure(other)),
            })?
        };
        let (number, seed) = (self.cases, self.case_seed);
        Ok((cases, Some(DrawParameters { observed, variables, cases: number, seed })))
    }
}

/// Parses a share, such as `20%` or `0.2`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|number| number * unit);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a share from 0 to 1, such as 0.2 or 20%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_parsed_as_numbers_and_as_percentages() {
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("25%"), Ok(0.25));
        assert_eq!(share("1"), Ok(1.0));
        for wrong in ["", "%", "20", "-1%", "nan", "a fifth"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
