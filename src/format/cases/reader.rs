//! Reads the cases of a file one after another, so that a file can have any length.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::arrangement::{self, Arrangement, CaseExtent};
use super::input::{Input, Place, decoded};
use super::table::Table;
use super::{CaseError, CaseFormat, evid, hcs, json};
use crate::allocate;
use crate::format::source::SourceText;
use crate::network::{Evidence, Network};

/// Maximum size in bytes of a file that is read as a whole: Hugin's case files, which hold one
/// case, and UAI evidence that does not have one case per line.
const MAX_WHOLE: usize = 1 << 26;

/// A file of UAI evidence with fewer bytes than this is always read as a whole. Its layout is then
/// known for certain; the layout of a longer file is inferred from its first two lines.
const SHORT: usize = 1 << 16;

/// One case of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCase {
    /// The number of the case, counted from one.
    pub number: usize,
    /// The line in which the case begins, counted from one; `None` if the file is read as a whole.
    pub line: Option<usize>,
    /// The name, if the case has one; only JSON and JSON lines have names.
    pub name: Option<String>,
    /// The evidence, or what is wrong with the case. The cases after it can be read nevertheless.
    pub evidence: Result<Evidence, CaseError>,
}

/// How the cases of a file are found.
#[derive(Clone)]
pub(super) enum Layout {
    Table(Table),
    Json(Arrangement),
    /// UAI evidence with one case per line, after a line with the number of cases.
    UaiLines,
    /// All cases of a file that is read as a whole.
    Whole(Arc<[Evidence]>),
}

/// Reads the cases of a file in order. Only a part of the file is in memory, except in formats that
/// need the whole file: Hugin case, and UAI evidence without a line for each case.
///
/// The iterator ends after an error, which means that the rest of the file cannot be read. A
/// mistake in a single case is an error in its [`evidence`](ReadCase::evidence) only. There are
/// three exceptions: a file that is a single JSON object, a JSON array that ends inside the case,
/// and a file that is read as a whole, in which any mistake is an error of [`new`](Self::new).
///
/// The reader borrows or shares the network: `N` is `&Network` or `Arc<Network>`.
pub struct CaseReader<N> {
    network: N,
    input: Input,
    format: CaseFormat,
    layout: Layout,
    /// Number of cases in the file before the next one.
    number: usize,
    warnings: Vec<String>,
    /// The number of bytes read from the source, and its size in bytes if this is known.
    progress: (Arc<AtomicU64>, Option<u64>),
    has_ended: bool,
}

/// Where a reader is in a file.
#[derive(Clone, Copy)]
pub(super) struct Position {
    place: Place,
    /// Number of cases before this position.
    pub number: usize,
}

impl Position {
    /// The offset in bytes from the beginning of the file, once unpacked and decoded.
    pub fn offset(&self) -> u64 {
        self.place.offset
    }
}

impl<N: Deref<Target = Network>> CaseReader<N> {
    /// Opens the file at `path`, which may be compressed with gzip.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the file cannot be read.
    pub fn open(path: &Path, network: N) -> Result<Self, CaseError> {
        let name = path.display().to_string();
        let (file, size) = open_file(path, &name)?;
        let count = Arc::<AtomicU64>::default();
        let mut reader =
            Self::new(&name, Counted { source: file, count: Arc::clone(&count) }, network)?;
        reader.progress = (count, size);
        Ok(reader)
    }

    /// Reads cases from `source`, the bytes of a file named `file`, which may be compressed with
    /// gzip.
    ///
    /// # Errors
    /// If `source` cannot be read, or the file does not begin as its format requires, for example
    /// if no column of a table is a variable. If the file is read as a whole, also if it is too
    /// large or has any mistake.
    pub fn new(
        file: &str,
        source: impl Read + Send + 'static,
        network: N,
    ) -> Result<Self, CaseError> {
        let mut input = Input::new(file, decoded(file, source)?, Place::START)?;
        while input.rest().len() < SHORT && input.fill()? {}
        let format = detect(&input);
        let mut warnings = Vec::new();
        let layout = layout(&mut input, format, &network, &mut warnings)?;
        let progress = (Arc::default(), None);
        Ok(Self { network, input, format, layout, number: 0, warnings, progress, has_ended: false })
    }

    /// Continues to read a file whose `layout` is known. `source` has the decoded bytes of the file
    /// from `position` on.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn resume(
        file: &str,
        source: Box<dyn Read + Send>,
        network: N,
        (format, layout): (CaseFormat, Layout),
        position: Position,
    ) -> Result<Self, CaseError> {
        let input = Input::new(file, source, position.place)?;
        let (number, warnings, progress) = (position.number, Vec::new(), (Arc::default(), None));
        Ok(Self { network, input, format, layout, number, warnings, progress, has_ended: false })
    }

    /// The position after the last case that was read.
    pub(super) fn position(&self) -> Position {
        Position { place: self.input.place(), number: self.number }
    }

    /// How the cases are found.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The format of the file.
    #[must_use]
    pub fn format(&self) -> CaseFormat {
        self.format
    }

    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        self.input.file()
    }

    /// Takes the warnings about ignored columns that were found since the last call, for the user.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The share of the file that was read, from 0 to 1; `None` if the length of the file is not
    /// known. This is an estimate if the file is compressed or in UTF-16. It stays close to 0 if
    /// the file is read as a whole.
    #[must_use]
    pub fn share_read(&self) -> Option<f64> {
        let (count, size) = &self.progress;
        let from_source = count.load(Ordering::Relaxed) as f64 / (*size)?.max(1) as f64;
        let offset = self.input.place().offset;
        let decoded = offset + self.input.rest().len() as u64;
        Some(from_source * offset as f64 / decoded.max(1) as f64)
    }

    /// Moves over the next case. Reads the case only if its count may cause a warning. Returns
    /// `false` if there is no next case.
    ///
    /// # Errors
    /// If the rest of the file cannot be read.
    pub(super) fn skip_case(&mut self) -> Result<bool, CaseError> {
        let is_skipped = match &mut self.layout {
            Layout::Table(table) if table.may_warn() => {
                table.next_case(&mut self.input, &self.network, &mut self.warnings)?.is_some()
            }
            Layout::Table(table) => table.skip_case(&mut self.input)?,
            Layout::Whole(cases) => self.number < cases.len(),
            layout => {
                let found = find_case(layout, &mut self.input, self.number)?;
                self.input.skip(found.map_or(0, |found| found.length));
                found.is_some()
            }
        };
        self.number += usize::from(is_skipped);
        Ok(is_skipped)
    }

    /// Reads the next case; `None` after the last one. A mistake in the case is an error of its
    /// evidence, unless it makes the rest of the file unreadable or the file is a single JSON
    /// object.
    fn read_case(&mut self) -> Result<Option<ReadCase>, CaseError> {
        let network = &*self.network;
        let number = self.number + 1;
        let (line, name, evidence) = match &mut self.layout {
            Layout::Table(table) => {
                let case = table.next_case(&mut self.input, network, &mut self.warnings)?;
                let Some((line, evidence)) = case else { return Ok(None) };
                (Some(line), None, evidence)
            }
            Layout::Whole(cases) => match cases.get(self.number) {
                Some(case) => (None, None, Ok(case.clone())),
                None => return Ok(None),
            },
            layout => {
                let Some(found) = find_case(layout, &mut self.input, self.number)? else {
                    return Ok(None);
                };
                let text = self.input.text(found.length);
                let source = SourceText { file: self.input.file(), text: &text };
                let case = match layout {
                    Layout::Json(arrangement) => json::read_case(source, network, *arrangement),
                    _ => evid::read_line(source, network).map(|evidence| (None, evidence)),
                };
                // A case with a mistake keeps its name.
                let name = match (&case, &*layout) {
                    (Err(_), Layout::Json(_)) => json::read_name(&text),
                    _ => None,
                };
                let place = self.input.place();
                let case = case.map_err(|error| CaseError::from(place.absolute(error)));
                drop(text);
                self.input.skip(found.length);
                let is_last =
                    !found.is_complete || matches!(layout, Layout::Json(Arrangement::Object));
                match case {
                    Err(error) if is_last => return Err(error.in_case(number)),
                    Err(error) => (Some(place.line), name, Err(error)),
                    Ok((name, evidence)) => (Some(place.line), name, Ok(evidence)),
                }
            }
        };
        self.number = number;
        let evidence = evidence.map_err(|error| error.in_case(number));
        Ok(Some(ReadCase { number, line, name, evidence }))
    }
}

impl<N: Deref<Target = Network>> Iterator for CaseReader<N> {
    type Item = Result<ReadCase, CaseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        allocate::check();
        let case = self.read_case().transpose();
        self.has_ended = !matches!(case, Some(Ok(_)));
        case
    }
}

/// Opens the file at `path`. Also returns its size in bytes if it is a regular file.
///
/// # Errors
/// If the file cannot be opened, or is a folder.
pub(super) fn open_file(path: &Path, name: &str) -> Result<(File, Option<u64>), CaseError> {
    let fail = |message: String| CaseError::without_place(name, message);
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let metadata = file.metadata().map_err(|error| fail(error.to_string()))?;
    if metadata.is_dir() {
        return Err(fail("this is a folder, expected a file".to_owned()));
    }
    Ok((file, metadata.is_file().then_some(metadata.len())))
}

/// Counts the bytes that are read.
struct Counted<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(bytes)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The format of the file whose beginning is in `input`.
fn detect(input: &Input) -> CaseFormat {
    let format = CaseFormat::detect(input.file(), &input.rest_text());
    let has_extension = CaseFormat::by_extension(input.file()).is_some();
    if format == CaseFormat::Json && !has_extension && arrangement::is_lines(input) {
        CaseFormat::JsonLines
    } else {
        format
    }
}

/// How cases are found in `input`, a file of this `format`. Adds warnings to `warnings`.
fn layout(
    input: &mut Input,
    format: CaseFormat,
    network: &Network,
    warnings: &mut Vec<String>,
) -> Result<Layout, CaseError> {
    Ok(match format {
        CaseFormat::Csv | CaseFormat::HuginData | CaseFormat::Netica => {
            Layout::Table(Table::open(input, format, network, warnings)?)
        }
        CaseFormat::Json | CaseFormat::JsonLines => Layout::Json(Arrangement::open(input, format)?),
        CaseFormat::Uai if !input.is_complete() && evid::has_case_per_line(&input.rest_text()) => {
            input.skip_white_space()?;
            let line = input.line_end(0)?;
            input.skip(line);
            Layout::UaiLines
        }
        CaseFormat::Uai | CaseFormat::HuginCase => {
            input.fill_all(MAX_WHOLE)?;
            let text = input.rest_text();
            let source = SourceText { file: input.file(), text: &text };
            let cases = match format {
                CaseFormat::Uai => evid::read(source, network)?,
                _ => vec![hcs::read(source, network)?],
            };
            Layout::Whole(cases.into())
        }
    })
}

/// Finds the next case of a file that is not a table, and moves to its beginning. `number` is the
/// number of cases before it. `None` after the last case.
fn find_case(
    layout: &Layout,
    input: &mut Input,
    number: usize,
) -> Result<Option<CaseExtent>, CaseError> {
    let arrangement = match layout {
        Layout::Json(arrangement) => *arrangement,
        _ => Arrangement::Lines,
    };
    arrangement.find_case(input, number)
}
