//! The cases to answer, in blocks.

use std::path::Path;
use std::sync::Arc;

use cliquescope::format::cases::CaseReader;
use cliquescope::network::{Evidence, Network};

use crate::cli::options;

/// Maximum number of cases in a block. A block of this size keeps the threads of an engine busy; a
/// larger one would take more memory.
const MAX_CASES: usize = 8192;

/// Number of cases in the first block; each block has twice as many as the one before it, up to
/// [`MAX_CASES`]. The answers to a small first block come early.
const FIRST_CASES: usize = 256;

/// Maximum estimated size in bytes of the evidence and the posteriors of a block, unless it has
/// only one case. At most five blocks are in memory at the same time, and at most three of these
/// have posteriors.
const MAX_BYTES: usize = 12 << 20;

/// A case without its evidence.
pub struct Row {
    /// The number of the case, counted from one.
    pub number: usize,
    /// The line of the file in which the case begins, if it is known.
    pub line: Option<usize>,
    /// The name that the file gives the case.
    pub name: Option<String>,
    /// What is wrong with the case, if it could not be read.
    pub error: Option<String>,
}

/// Cases that are answered together.
#[derive(Default)]
pub struct Block {
    pub rows: Vec<Row>,
    /// The evidence of the rows that could be read.
    pub evidence: Vec<Evidence>,
    /// Warnings of the reader, for the user.
    pub warnings: Vec<String>,
    /// Why no more cases can be read; `None` if reading did not fail.
    pub failure: Option<String>,
    /// Whether this is the last block.
    pub is_last: bool,
    /// The share of the file up to the end of this block, from 0 to 1, if it is known.
    pub share_read: Option<f64>,
}

impl Block {
    /// A block without cases: no more can be read because of `failure`.
    pub fn failed(failure: String) -> Self {
        Self { failure: Some(failure), is_last: true, ..Self::default() }
    }

    /// Estimated number of cases in the whole file; `u32::MAX` if the share that was read is not
    /// known. This block must be the first.
    pub fn expected_cases(&self) -> u32 {
        let count = self.rows.len();
        match self.share_read {
            _ if self.is_last => u32::try_from(count).unwrap_or(u32::MAX),
            // Saturates.
            Some(share) => (count as f64 / share.max(f64::MIN_POSITIVE)) as u32,
            None => u32::MAX,
        }
    }
}

/// Reads blocks of cases.
pub struct Blocks {
    /// `None` for a single case without a file.
    reader: Option<CaseReader<Arc<Network>>>,
    /// Findings for all cases. They replace a case's own findings on the same variables.
    shared: Evidence,
    /// Maximum number of cases in the next block.
    size: usize,
    max_size: usize,
    has_ended: bool,
}

impl Blocks {
    /// The cases in `file`, as [`options::case_reader`] reads them, with the `shared` findings in
    /// each. Without a file, there is one case.
    ///
    /// # Errors
    /// A message for the user if the file cannot be opened, or its header has a mistake.
    pub fn open(
        file: Option<&Path>,
        network: &Arc<Network>,
        shared: Evidence,
    ) -> Result<Self, String> {
        let reader = file.map(|file| options::case_reader(network, file)).transpose()?;
        let max_size = (MAX_BYTES / options::case_bytes(network)).clamp(1, MAX_CASES);
        let size = FIRST_CASES.min(max_size);
        Ok(Self { reader, shared, size, max_size, has_ended: false })
    }

    /// The next block; `None` after the last one. Only the last block can be empty.
    pub fn next_block(&mut self) -> Option<Block> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        let Some(reader) = &mut self.reader else {
            let row = Row { number: 1, line: None, name: None, error: None };
            let (rows, evidence) = (vec![row], vec![self.shared.clone()]);
            return Some(Block { rows, evidence, is_last: true, ..Block::default() });
        };
        let mut block = Block::default();
        for case in reader.by_ref().take(self.size) {
            let case = match case {
                Ok(case) => case,
                Err(error) => {
                    block.failure = Some(error.to_string());
                    break;
                }
            };
            let error = match case.evidence {
                Ok(mut evidence) => {
                    for (variable, finding) in self.shared.iter() {
                        evidence.insert(variable, finding.clone());
                    }
                    block.evidence.push(evidence);
                    None
                }
                Err(error) => Some(error.to_string()),
            };
            block.rows.push(Row { number: case.number, line: case.line, name: case.name, error });
        }
        block.is_last = block.rows.len() < self.size;
        block.warnings = reader.take_warnings();
        block.share_read = reader.share_read();
        self.has_ended = block.is_last;
        self.size = (2 * self.size).min(self.max_size);
        Some(block)
    }

    /// The file, as the user named it, or "standard input"; `None` without a file.
    pub fn file(&self) -> Option<&str> {
        self.reader.as_ref().map(CaseReader::file)
    }

    /// Whether the format of the file has names of cases.
    pub fn has_names(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.format().has_names())
    }
}
