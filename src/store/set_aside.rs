//! Copies of files that cannot be read, for a person who may repair them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::write_atomically;

/// Writes `content`, which is the content of the file at `path`, to a new file in the same
/// folder. The extension of the copy is `bad`; if a file of this name exists, it is `2.bad`, then
/// `3.bad` and so on. If one of these files has this content already, writes nothing. Returns the
/// path of the copy.
///
/// # Errors
/// If a copy cannot be read or written.
pub fn set_aside(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let extension = if number == 1 { "bad".to_owned() } else { format!("{number}.bad") };
        let copy = path.with_extension(extension);
        match fs::read(&copy) {
            Ok(known) if known == content => return Ok(copy),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_atomically(&copy, content)?;
                return Ok(copy);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
