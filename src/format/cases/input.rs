//! The text of an evidence file, of which only a part is in memory.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{ErrorKind, Read};

use memchr::{memchr, memrchr};

use crate::format::cases::CaseError;
use crate::format::decode::PADDING;
use crate::format::source::SourceText;
use crate::format::{FormatError, decode};
use crate::numbers::human_bytes;

/// Number of bytes to read at once. A smaller number takes more system calls; a larger one does not
/// make reading faster.
const CHUNK: usize = 1 << 17;

/// Maximum size of one case, in bytes. It keeps a file without line feeds from filling the memory,
/// and is far above the size of a case with a finding on each variable of a large network.
const MAX_CASE: usize = 1 << 24;

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Offset in bytes.
    pub offset: u64,
    /// Line, counted from one.
    pub line: usize,
    /// Column in characters, counted from one.
    pub column: usize,
}

impl Place {
    /// The beginning of a text.
    pub const START: Self = Self { offset: 0, line: 1, column: 1 };

    /// Converts the line and column of `error`, which are relative to this place, to the line and
    /// column in the whole text.
    pub fn absolute(self, error: FormatError) -> FormatError {
        let column = if error.line == 1 { self.column - 1 + error.column } else { error.column };
        FormatError { line: self.line - 1 + error.line, column, ..error }
    }
}

/// A text that is read from its beginning to its end. Only the part that is being looked at is in
/// memory.
pub(super) struct Input {
    /// The name of the file, for errors.
    file: String,
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The index in `buffer` of the first byte that was not skipped.
    start: usize,
    /// Whether the buffer holds the end of the text.
    is_complete: bool,
    place: Place,
    /// Whether bytes were found that are not UTF-8. From then on, all bytes are read as Latin-1.
    is_latin1: Cell<bool>,
}

impl Input {
    /// The text of `source`, which has been unpacked, and converted to UTF-8 if it was UTF-16 (see
    /// [`decode::stream`]). `place` is the position of the first byte of `source` in the whole
    /// text.
    ///
    /// # Errors
    /// If reading fails.
    pub fn new(file: &str, source: Box<dyn Read + Send>, place: Place) -> Result<Self, CaseError> {
        let mut input = Self {
            file: file.to_owned(),
            source,
            buffer: Vec::new(),
            start: 0,
            is_complete: false,
            place,
            is_latin1: Cell::new(false),
        };
        // One read may return fewer bytes than a byte order mark has.
        while place == Place::START && input.rest().len() < MARK.len() && input.fill()? {}
        while place == Place::START && input.rest().starts_with(MARK) {
            input.start += MARK.len();
            input.place.offset += MARK.len() as u64;
        }
        Ok(input)
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The position of the first byte that was not skipped.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The bytes in memory that were not skipped.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Whether [`rest`](Self::rest) reaches the end of the text.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Reads more bytes into memory. Returns `false` at the end of the text.
    ///
    /// # Errors
    /// If the source cannot be read, or more than [`MAX_CASE`] bytes are in memory already.
    pub fn fill(&mut self) -> Result<bool, CaseError> {
        if self.rest().len() > MAX_CASE {
            let message =
                format!("this case is longer than the maximum of {}", human_bytes(MAX_CASE as u64));
            return Err(self.error(0, message));
        }
        self.fill_unlimited()
    }

    /// As [`fill`](Self::fill), however much of the text is in memory already.
    fn fill_unlimited(&mut self) -> Result<bool, CaseError> {
        if self.is_complete {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + CHUNK, 0);
        let count = loop {
            match self.source.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        let count = count
            .inspect_err(|_| self.buffer.truncate(length))
            .map_err(|error| CaseError::without_place(&self.file, error.to_string()))?;
        self.buffer.truncate(length + count);
        self.is_complete = count == 0;
        if self.is_complete {
            let is_padding = |&&byte: &&u8| PADDING.contains(&char::from(byte));
            let padding = self.buffer.iter().rev().take_while(is_padding).count();
            self.buffer.truncate(self.buffer.len() - padding);
        }
        Ok(!self.is_complete)
    }

    /// Reads the rest of the text into memory.
    ///
    /// # Errors
    /// If the source cannot be read, or there are more than `limit` bytes.
    pub fn fill_all(&mut self, limit: usize) -> Result<(), CaseError> {
        while self.fill_unlimited()? {
            if self.rest().len() > limit {
                let limit = human_bytes(limit as u64);
                let message = format!("larger than {limit}, the maximum for this format");
                return Err(CaseError::without_place(&self.file, message));
            }
        }
        Ok(())
    }

    /// The end of the line that contains the byte at index `from` of [`rest`](Self::rest): the
    /// index after its line feed, or the length of `rest` if the text ends without a line feed.
    ///
    /// # Errors
    /// If reading fails.
    pub fn line_end(&mut self, from: usize) -> Result<usize, CaseError> {
        let mut searched = from;
        loop {
            if let Some(at) = memchr(b'\n', &self.rest()[searched..]) {
                return Ok(searched + at + 1);
            }
            searched = self.rest().len();
            if !self.fill()? {
                return Ok(self.rest().len());
            }
        }
    }

    /// The first `length` bytes of [`rest`](Self::rest) as text. They must not end within a
    /// character.
    pub fn text(&self, length: usize) -> Cow<'_, str> {
        let bytes = &self.rest()[..length];
        match std::str::from_utf8(bytes) {
            Ok(text) if !self.is_latin1.get() || text.is_ascii() => Cow::Borrowed(text),
            _ => {
                self.is_latin1.set(true);
                Cow::Owned(bytes.iter().copied().map(char::from).collect())
            }
        }
    }

    /// [`rest`](Self::rest) as text, without a last character of which only a part is in memory.
    pub fn rest_text(&self) -> Cow<'_, str> {
        let rest = self.rest();
        let length = match std::str::from_utf8(rest) {
            // `error_len` is `None` only if the bytes end within a character.
            Err(error) if !self.is_complete && error.error_len().is_none() => error.valid_up_to(),
            _ => rest.len(),
        };
        self.text(length)
    }

    /// The first character of [`rest`](Self::rest), which must not be empty, for error messages.
    pub fn first_character(&self) -> char {
        self.rest_text().chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// The number of bytes of [`rest`](Self::rest) that were decoded to `text`, which must be the
    /// beginning of what [`text`](Self::text) returned.
    pub fn byte_length(&self, text: &str) -> usize {
        if self.is_latin1.get() { text.chars().count() } else { text.len() }
    }

    /// Moves forward by `length` bytes.
    pub fn skip(&mut self, length: usize) {
        let skipped = &self.buffer[self.start..self.start + length];
        let mut last_line = skipped;
        if let Some(at) = memrchr(b'\n', skipped) {
            self.place.line += skipped.iter().filter(|&&byte| byte == b'\n').count();
            self.place.column = 1;
            last_line = &skipped[at + 1..];
        }
        // Counts the bytes that do not continue a character of UTF-8.
        let is_character = |&&byte: &&u8| self.is_latin1.get() || byte & 0xc0 != 0x80;
        self.place.column += last_line.iter().filter(is_character).count();
        self.place.offset += length as u64;
        self.start += length;
    }

    /// Moves forward over white space. Returns the byte after it; `None` at the end of the text.
    ///
    /// # Errors
    /// If reading fails.
    pub fn skip_white_space(&mut self) -> Result<Option<u8>, CaseError> {
        loop {
            let rest = self.rest();
            let count = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let next = rest.get(count).copied();
            self.skip(count);
            if next.is_some() || !self.fill()? {
                return Ok(next);
            }
        }
    }

    /// An error with `message` at the byte with index `at` of [`rest`](Self::rest).
    pub fn error(&self, at: usize, message: impl Into<String>) -> CaseError {
        let text = self.text(at);
        let source = SourceText { file: &self.file, text: &text };
        self.place.absolute(source.error(text.len(), message)).into()
    }
}

/// A byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a file or of standard input as [`Input::new`] expects them: unpacked if they are
/// gzip, and converted to UTF-8 if they are UTF-16.
///
/// # Errors
/// If reading fails, or the compressed data is damaged.
pub(super) fn decoded(
    file: &str,
    source: impl Read + Send + 'static,
) -> Result<Box<dyn Read + Send>, CaseError> {
    decode::stream(source).map_err(|error| CaseError::without_place(file, error.to_string()))
}
