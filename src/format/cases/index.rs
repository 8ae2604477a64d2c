//! Where the cases of a long file are, so that any of them can be read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::reader::{Layout, Position, open_file};
use super::{CaseError, CaseFormat, CaseReader, ReadCase};
use crate::cancel::{CancelToken, Cancelled};
use crate::format::decode;
use crate::network::Network;

/// Number of cases from one stored position to the next. A smaller number takes more memory; a
/// larger one takes more time to find a case.
const CASES_PER_MARK: usize = 256;

/// Reads any cases of a file without keeping cases in memory, unless the file is read as a
/// whole, such as a Hugin case. Cases are counted from zero.
///
/// The index keeps the file open, or a temporary file if the file had to be unpacked. If the open
/// file is changed, no more cases can be read. Changes to a file that was unpacked have no effect.
pub struct CaseIndex {
    path: PathBuf,
    network: Arc<Network>,
    file: Arc<Mutex<File>>,
    /// Size and time of the last change when the file was opened.
    stamp: (u64, Option<SystemTime>),
    format: CaseFormat,
    layout: Layout,
    /// The position of every case whose number is divisible by [`CASES_PER_MARK`].
    marks: Vec<Position>,
    len: usize,
    warnings: Vec<String>,
}

impl fmt::Debug for CaseIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaseIndex").field("path", &self.path).field("len", &self.len).finish()
    }
}

impl CaseIndex {
    /// Finds the cases in the file at `path`. Findings are not read, unless the file is read as a
    /// whole or has a column of counts. A file that is compressed or in UTF-16 is unpacked into a
    /// temporary file. `report` is called now and then with the number of cases found so far.
    /// `None` if `cancel` was set.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn build(
        path: &Path,
        network: Arc<Network>,
        cancel: &CancelToken,
        mut report: impl FnMut(usize),
    ) -> Result<Option<Self>, CaseError> {
        let name = path.display().to_string();
        let fail = |error: io::Error| CaseError::without_place(&name, error.to_string());
        // Opening a pipe may block forever.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let message = "expected a regular file, not a pipe or a device";
            return Err(CaseError::without_place(&name, message));
        }
        let (file, _) = open_file(path, &name)?;
        let Some(file) = plain(file, cancel).map_err(fail)? else { return Ok(None) };
        let stamp = stamp(&file).map_err(fail)?;
        let file = Arc::new(Mutex::new(file));
        let source = SharedFile { file: Arc::clone(&file), offset: 0 };
        let mut reader = CaseReader::new(&name, source, Arc::clone(&network))?;
        let (mut marks, mut len) = (Vec::new(), 0);
        loop {
            if len % CASES_PER_MARK == 0 {
                if cancel.is_cancelled() {
                    return Ok(None);
                }
                marks.push(reader.position());
                report(len);
            }
            if !reader.skip_case()? {
                break;
            }
            len += 1;
        }
        let (format, layout) = (reader.format(), reader.layout().clone());
        let (path, warnings) = (path.to_owned(), reader.take_warnings());
        Ok(Some(Self { path, network, file, stamp, format, layout, marks, len, warnings }))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The network whose variables the cases observe.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the file has no case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Warnings about ignored columns, for the user.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads the cases in `range`, as far as the file has them.
    ///
    /// # Errors
    /// If the file was changed since it was opened or cannot be read, or if it is a single JSON
    /// object with a mistake.
    pub fn read(&self, range: Range<usize>) -> Result<Vec<ReadCase>, CaseError> {
        let name = self.path.display().to_string();
        let fail = |message: String| CaseError::without_place(&name, message);
        let range = range.start..range.end.min(self.len);
        if range.is_empty() {
            return Ok(Vec::new());
        }
        {
            let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            if stamp(&file).map_err(|error| fail(error.to_string()))? != self.stamp {
                return Err(fail("the file was changed since it was opened; open it again".into()));
            }
        }
        let mark = self.marks[range.start / CASES_PER_MARK];
        let source = SharedFile { file: Arc::clone(&self.file), offset: mark.offset() };
        let layout = (self.format, self.layout.clone());
        let network = Arc::clone(&self.network);
        let mut reader = CaseReader::resume(&name, Box::new(source), network, layout, mark)?;
        for _ in mark.number..range.start {
            reader.skip_case()?;
        }
        reader.take(range.len()).collect()
    }
}

/// The size of a file and the time of its last change.
fn stamp(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// `file`, or a temporary file with its decoded text if it is compressed or in UTF-16. `None` if
/// `cancel` was set.
fn plain(mut file: File, cancel: &CancelToken) -> io::Result<Option<File>> {
    let mut head = Vec::new();
    file.by_ref().take(4).read_to_end(&mut head)?;
    file.rewind()?;
    if decode::is_plain(&head) {
        return Ok(Some(file));
    }
    let mut unpacked = tempfile::tempfile()?;
    let mut source = decode::stream(file)?;
    while io::copy(&mut source.by_ref().take(1 << 20), &mut unpacked)? > 0 {
        if let Err(Cancelled) = cancel.check() {
            return Ok(None);
        }
    }
    unpacked.rewind()?;
    Ok(Some(unpacked))
}

/// Reads a file that others read too, each from an offset of its own.
struct SharedFile {
    file: Arc<Mutex<File>>,
    offset: u64,
}

impl Read for SharedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        let count = file.read(bytes)?;
        self.offset += count as u64;
        Ok(count)
    }
}
