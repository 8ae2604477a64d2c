//! An open file of cases that may be too long for the list of cases.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::format::cases::{CaseIndex, ReadCase};

/// An open file of cases, of which only the cases that were read last are in memory.
#[derive(Clone, Debug)]
pub struct LongCaseFile {
    /// The file.
    pub path: PathBuf,
    /// The cases of the file; `None` until all were found.
    pub index: Option<Arc<CaseIndex>>,
    /// Number of cases found so far.
    pub(crate) found: Arc<AtomicUsize>,
    /// The index in the file of the first case in `cases`, counted from zero.
    pub(crate) first: usize,
    /// The cases that were read last.
    pub(crate) cases: Arc<[ReadCase]>,
}

impl LongCaseFile {
    /// A file in which no case was found yet.
    pub(crate) fn new(path: &Path) -> Self {
        let (found, cases) = (Arc::default(), Arc::default());
        Self { path: path.to_owned(), index: None, found, first: 0, cases }
    }

    /// Number of cases found so far.
    #[must_use]
    pub fn found(&self) -> usize {
        self.index.as_ref().map_or_else(|| self.found.load(Ordering::Relaxed), |index| index.len())
    }

    /// The case at `index`, counted from zero, if it is among the cases that were read last.
    #[must_use]
    pub fn case(&self, index: usize) -> Option<&ReadCase> {
        self.cases.get(index.checked_sub(self.first)?)
    }

    /// Whether all cases in `range` are among the cases that were read last.
    #[must_use]
    pub fn has(&self, range: &Range<usize>) -> bool {
        (self.first..=self.first + self.cases.len()).contains(&range.start)
            && range.end <= self.first + self.cases.len()
    }

    /// The name of the file without its folder.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}
