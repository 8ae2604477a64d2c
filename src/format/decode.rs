//! From the bytes of a file to its text.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::format::OpenError;

/// The most that is read of one file, packed or unpacked. No network that can be solved comes near,
/// and a small `.gz` that unpacks without end must not take the machine's memory.
const MAX_BYTES: u64 = 1 << 30;

/// Reads all that `reader` gives, for the file called `file`, unpacked if it is gzip.
pub(super) fn read_all(file: &str, reader: impl Read) -> Result<Vec<u8>, OpenError> {
    unpack(file, read_limited(file, reader, MAX_BYTES, false)?, MAX_BYTES)
}

/// Unpacks `bytes` if they are gzip, which shows in the first two.
pub(super) fn unpack_all(file: &str, bytes: Vec<u8>) -> Result<Vec<u8>, OpenError> {
    unpack(file, bytes, MAX_BYTES)
}

fn unpack(file: &str, bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, OpenError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        read_limited(file, MultiGzDecoder::new(bytes.as_slice()), limit, true)
    } else {
        Ok(bytes)
    }
}

fn read_limited(
    file: &str,
    reader: impl Read,
    limit: u64,
    unpacked: bool,
) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes).map_err(|error| {
        let what = if unpacked { "damaged gzip: " } else { "" };
        OpenError::Unreadable { file: file.to_owned(), reason: format!("{what}{error}") }
    })?;
    if bytes.len() as u64 > limit {
        return Err(OpenError::TooLong { file: file.to_owned(), limit, unpacked });
    }
    Ok(bytes)
}

/// The text that `bytes` are: UTF-8 with or without a byte order mark, else Latin-1, of which every
/// byte is a character. Networks of the nineties carry their authors' names in it.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_recognised_by_its_first_bytes_and_unpacked_up_to_the_limit() {
        assert_eq!(unpack("f", b"plain".to_vec(), 100).unwrap(), b"plain");
        assert_eq!(unpack("f", packed(b"network"), 100).unwrap(), b"network");
        let two = [packed(b"net"), packed(b"work")].concat();
        assert_eq!(unpack("f", two, 100).unwrap(), b"network", "a file of two members");
        let bomb = packed(&vec![b'x'; 1 << 20]);
        assert!(bomb.len() < 10_000);
        let error = unpack("f", bomb, 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: holds more than 1000 bytes when unpacked, which is refused"
        );
    }

    #[test]
    fn damaged_gzip_says_so() {
        let mut bytes = packed(b"network");
        bytes.truncate(bytes.len() - 9);
        let error = unpack("f.gz", bytes, 100).unwrap_err().to_string();
        assert!(error.starts_with("f.gz: damaged gzip: "), "{error}");
    }

    #[test]
    fn utf8_with_and_without_mark_and_latin1_are_text() {
        assert_eq!(text("Kj\u{e6}rulff".as_bytes()), "Kj\u{e6}rulff");
        assert_eq!(text(b"\xef\xbb\xbfnetwork"), "network");
        assert_eq!(text(b"Kj\xe6rulff"), "Kj\u{e6}rulff");
    }
}
