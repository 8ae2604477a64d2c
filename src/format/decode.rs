//! From the bytes of a file to its text: gzip and character encodings.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::allocate;
use crate::format::OpenError;

/// The maximum size in bytes, compressed or not, of a file that is read as a whole. The files of
/// networks that can be solved are far smaller.
const MAX_BYTES: u64 = 1 << 30;

/// The maximum unpacked size of a gzip file in bytes, unless [`MAX_RATIO`] allows more. Without a
/// limit, a small file could unpack to any size and exhaust the memory.
const MAX_UNPACKED: u64 = 1 << 26;

/// The maximum compression ratio of a gzip file that unpacks to more than [`MAX_UNPACKED`] bytes.
/// The shipped networks have ratios below 20.
const MAX_RATIO: u64 = 100;

/// The content of the file at `path`, unpacked if it is gzip.
///
/// # Errors
/// If the file cannot be read, is a folder or too large, or is damaged gzip.
pub(super) fn read_path(path: &Path) -> Result<Vec<u8>, OpenError> {
    let name = path.display().to_string();
    let unreadable = |reason: String| OpenError::Unreadable { file: name.clone(), reason };
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unreadable("this is a folder, expected a file".to_owned()));
    }
    // If the file is too large, `read_limited` reads one byte more than the maximum and refuses it.
    let size = file.metadata().map_or(0, |metadata| metadata.len()).min(MAX_BYTES);
    let mut bytes = Vec::new();
    // The end of the file is found without reserving again.
    allocate::reserve(&mut bytes, size as usize + MIN_READ);
    unpack_all(&name, read_limited(&name, file, bytes, MAX_BYTES, false)?)
}

/// Unpacks `bytes` if they begin with the two bytes that mark gzip.
///
/// # Errors
/// If the gzip data is damaged, or too large when unpacked.
pub(super) fn unpack_all(file: &str, bytes: Vec<u8>) -> Result<Vec<u8>, OpenError> {
    let limit = (bytes.len() as u64 * MAX_RATIO).clamp(MAX_UNPACKED, MAX_BYTES);
    unpack(file, bytes, limit)
}

/// As [`unpack_all`], with a `limit` for the unpacked size in bytes.
fn unpack(file: &str, bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, OpenError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        read_limited(file, MultiGzDecoder::new(bytes.as_slice()), Vec::new(), limit, true)
    } else {
        Ok(bytes)
    }
}

/// Minimum number of bytes that are read at once. A larger number is no faster.
const MIN_READ: usize = 1 << 16;

/// Reads all bytes, which must be at most `limit`, and appends them to `bytes`. `unpacked` says
/// whether `reader` unpacks a gzip file, for the error.
fn read_limited(
    file: &str,
    reader: impl Read,
    mut bytes: Vec<u8>,
    limit: u64,
    unpacked: bool,
) -> Result<Vec<u8>, OpenError> {
    let unreadable = |error: io::Error| {
        let what = if unpacked { "damaged gzip: " } else { "" };
        OpenError::Unreadable { file: file.to_owned(), reason: format!("{what}{error}") }
    };
    let mut reader = reader.take(limit + 1);
    loop {
        if bytes.capacity() - bytes.len() < MIN_READ {
            let more = bytes.len().max(MIN_READ);
            allocate::reserve(&mut bytes, more);
        }
        let free = (bytes.capacity() - bytes.len()) as u64;
        if reader.by_ref().take(free).read_to_end(&mut bytes).map_err(unreadable)? == 0 {
            break;
        }
    }
    if bytes.len() as u64 > limit {
        return Err(OpenError::TooLarge { file: file.to_owned(), limit, unpacked });
    }
    Ok(bytes)
}

/// The bytes of a text that may be too large to be read as a whole: unpacked if `source` is gzip,
/// and converted to UTF-8 if they are UTF-16, which is recognised as in [`text`]. Latin-1, byte
/// order marks and padding are left as they are.
///
/// # Errors
/// If the first bytes cannot be read. Reading the result fails if the gzip data is damaged.
pub(super) fn stream(source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (head, source) = peek(source, 2)?;
    if head == [0x1f, 0x8b] {
        decoded(Unpacker(MultiGzDecoder::new(source)))
    } else {
        decoded(source)
    }
}

/// Whether [`stream`] leaves a text unchanged that begins with the four bytes `head`.
pub(super) fn is_plain(head: &[u8]) -> bool {
    !head.starts_with(&[0x1f, 0x8b]) && utf16_unit(head).is_none()
}

/// The function that converts two bytes to a code unit, if a text that begins with `head` is
/// UTF-16. Only the first four bytes of `head` matter.
fn utf16_unit(head: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match head {
        [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// `source` in UTF-8 if it is UTF-16, otherwise unchanged.
fn decoded(source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (head, source) = peek(source, 4)?;
    Ok(match utf16_unit(&head) {
        Some(unit) => {
            Box::new(FromUtf16 { source, unit, bytes: Vec::new(), text: Cursor::default() })
        }
        None => Box::new(source),
    })
}

/// The first bytes of `source`, at most `count`, and a reader of all its bytes.
fn peek(mut source: impl Read + Send, count: u64) -> io::Result<(Vec<u8>, impl Read + Send)> {
    let mut head = Vec::new();
    source.by_ref().take(count).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(source)))
}

/// Unpacks gzip, and says so in errors.
struct Unpacker<R>(MultiGzDecoder<R>);

impl<R: Read> Read for Unpacker<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let damaged =
            |error: io::Error| io::Error::new(error.kind(), format!("damaged gzip: {error}"));
        self.0.read(bytes).map_err(damaged)
    }
}

/// Converts UTF-16 to UTF-8 while it is being read. Gives the same text as [`utf16`], but keeps
/// byte order marks.
struct FromUtf16<R> {
    source: R,
    /// Converts two bytes to a code unit.
    unit: fn([u8; 2]) -> u16,
    /// Bytes that are not decoded yet: an odd byte, or the first half of a surrogate pair.
    bytes: Vec<u8>,
    /// The decoded text, and how much of it has been returned.
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(bytes)?;
            if count > 0 || bytes.is_empty() {
                return Ok(count);
            }
            // 16 KiB at a time; the exact number affects nothing but time.
            let is_end = self.source.by_ref().take(1 << 14).read_to_end(&mut self.bytes)? == 0;
            let pairs = self.bytes.chunks_exact(2).map(|pair| (self.unit)([pair[0], pair[1]]));
            let mut units: Vec<u16> = pairs.collect();
            if !is_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
                units.pop();
            }
            if units.is_empty() && is_end {
                return Ok(0);
            }
            self.bytes.drain(..2 * units.len());
            self.text = Cursor::new(String::from_utf16_lossy(&units).into_bytes());
        }
    }
}

/// Compresses `bytes` with gzip, at its best compression.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector cannot fail.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// `name` without a `.gz` extension.
pub(super) fn without_gz(name: &str) -> &str {
    match name.len().checked_sub(3).and_then(|end| name.split_at_checked(end)) {
        Some((plain, extension)) if extension.eq_ignore_ascii_case(".gz") => plain,
        _ => name,
    }
}

/// Decodes `bytes` as UTF-16 if they begin with its byte order mark or with two characters from
/// U+0001 to U+00FF in UTF-16. Otherwise decodes them as UTF-8 if they are valid UTF-8, else as
/// Latin-1, which accepts any bytes and occurs in files of the 1990s. Removes the byte order marks
/// at the start and, except from UTF-16, [`PADDING`] at the end.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    if let Some(unit) = utf16_unit(bytes) {
        return utf16(bytes, unit);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text.trim_start_matches(MARK).trim_end_matches(PADDING)),
        Err(_) => {
            let mut bytes = bytes;
            while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
                bytes = rest;
            }
            let mut text: String = bytes.iter().copied().map(char::from).collect();
            text.truncate(text.trim_end_matches(PADDING).len());
            Cow::Owned(text)
        }
    }
}

/// The byte order mark. A file may begin with several, if each of several programs added one.
/// [`text`] removes all of them: otherwise the XML parser would remove one, and its byte offsets
/// would be wrong.
const MARK: char = '\u{feff}';

/// The characters that DOS programs append to a text: the end-of-file character, and zeros that
/// fill the last block.
pub(super) const PADDING: [char; 2] = ['\u{1a}', '\0'];

/// Decodes UTF-16, and removes the byte order marks at the start. Unpaired surrogates become
/// replacement characters; an odd last byte is ignored. `unit` converts two bytes to a code unit.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let letters = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    letters.skip_while(|&c| c == MARK).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_little_more_memory_than_its_size() {
        let size = 4 * MIN_READ;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; size]).unwrap();
        let bytes = read_path(file.path()).unwrap();
        assert_eq!(bytes.len(), size);
        assert!(bytes.capacity() < 2 * size, "{} bytes are reserved", bytes.capacity());
    }

    #[test]
    fn gzip_is_recognised_by_its_first_bytes_and_unpacked_up_to_the_limit() {
        assert_eq!(unpack("f", b"plain".to_vec(), 100).unwrap(), b"plain");
        assert_eq!(unpack("f", gzip(b"network"), 100).unwrap(), b"network");
        let two = [gzip(b"net"), gzip(b"work")].concat();
        assert_eq!(unpack("f", two, 100).unwrap(), b"network", "a file of two members");
        let bomb = gzip(&vec![b'x'; 1 << 20]);
        assert!(bomb.len() < 10_000);
        let error = unpack("f", bomb, 1000).unwrap_err();
        assert_eq!(error.to_string(), "f: larger than the maximum of 1000 bytes when unpacked");
    }

    #[test]
    fn damaged_gzip_is_reported() {
        let mut bytes = gzip(b"network");
        bytes.truncate(bytes.len() - 9);
        let error = unpack("f.gz", bytes, 100).unwrap_err().to_string();
        assert!(error.starts_with("f.gz: damaged gzip: "), "{error}");
    }

    #[test]
    fn utf16_is_decoded_with_and_without_byte_order_marks() {
        let little =
            |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for spelt in ["network \u{e6} \u{1f600}", "\u{feff}network \u{e6} \u{1f600}"] {
            assert_eq!(text(&little(spelt)), "network \u{e6} \u{1f600}");
            assert_eq!(text(&big(spelt)), "network \u{e6} \u{1f600}");
        }
        assert_eq!(text(b"\xff\xfea\0\0\xd8b\0c"), "a\u{fffd}b");
        assert_eq!(text(b"\xff\xfe"), "");
        assert_eq!(text(&little("\u{feff}\u{feff}net")), "net", "marked twice");
    }

    #[test]
    fn a_text_is_unpacked_and_decoded_as_it_is_read() {
        let streamed = |bytes: Vec<u8>| {
            let mut text = String::new();
            stream(Cursor::new(bytes)).unwrap().read_to_string(&mut text).map(|_| text)
        };
        // The surrogate pairs are at odd positions, so one of them is cut between two reads.
        let long = format!("x{}", "\u{1f600}".repeat(10_000));
        let units = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        assert_eq!(streamed(units(&format!("ab{long}"))).unwrap(), format!("ab{long}"));
        assert_eq!(streamed(units("\u{feff}y")).unwrap(), "\u{feff}y");
        assert_eq!(streamed(b"\xff\xfea\0\0\xd8".to_vec()).unwrap(), "\u{feff}a\u{fffd}");
        assert_eq!(streamed(gzip(&units("ab\n"))).unwrap(), "ab\n");
        assert_eq!(
            (streamed(b"a".to_vec()).unwrap(), streamed(vec![]).unwrap()),
            ("a".into(), "".into())
        );
        let mut damaged = gzip(b"network");
        damaged.truncate(15);
        assert!(streamed(damaged).unwrap_err().to_string().starts_with("damaged gzip: "));
    }

    #[test]
    fn utf8_and_latin1_are_decoded_and_dos_padding_is_removed() {
        assert_eq!(text("Kj\u{e6}rulff".as_bytes()), "Kj\u{e6}rulff");
        assert_eq!(text(b"\xef\xbb\xbfnetwork"), "network");
        assert_eq!(text(b"\xef\xbb\xbf\xef\xbb\xbfnetwork"), "network", "marked twice");
        assert_eq!(text(b"Kj\xe6rulff"), "Kj\u{e6}rulff");
        assert_eq!(text(b"\xef\xbb\xbf\xef\xbb\xbfKj\xe6rulff"), "Kj\u{e6}rulff");
        assert_eq!(text(b"network\n\x1a\0\0"), "network\n", "as DOS ends a text");
        assert_eq!(text(b"\xe6 \x1a"), "\u{e6} ");
    }
}
