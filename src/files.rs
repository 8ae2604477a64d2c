//! Writing files such that a crash leaves the old file or the new one, never half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Puts `bytes` in the place of the file at `path`, or makes that file.
///
/// They are written to a new file in the same folder, which then takes the old one's name and its
/// permissions; a link stays a link to the new content. What is no plain file, as a pipe, is
/// written to as it is.
///
/// # Errors
/// What the operating system says. The file at `path` is then as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // The file that a link leads to is to be replaced, not the link.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let before = fs::metadata(&target).ok();
    if let Some(before) = &before {
        if before.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if !before.is_file() {
            return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
        }
        // Renaming asks only the folder for permission; a file that is protected stays as it is.
        OpenOptions::new().write(true).open(&target)?;
    }
    let (mut file, beside) = create_beside(&target)?;
    let result = (|| {
        file.write_all(bytes)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        // Otherwise the name could reach the disk before the content does.
        file.sync_all()?;
        fs::rename(&beside, &target)
    })();
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}

/// Makes the folder at `path`, and those that it is to be in, where they are not there.
///
/// # Errors
/// What the operating system says.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), "it is no folder"),
        _ => error,
    })
}

/// Makes a new, hidden file in the folder of `target`.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for attempt in 0_u32.. {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}.part", std::process::id()));
        let path = target.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            // Left over from a run that ended while it wrote, or another thread's.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = target.parent().unwrap_or(Path::new("/")).display();
                let reason = format!("there is no folder '{folder}'");
                return Err(io::Error::new(io::ErrorKind::NotFound, reason));
            }
            opened => return opened.map(|file| (file, path)),
        }
    }
    unreachable!("the loop ends with a file or an error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(folder.path(), b"x").unwrap_err();
        assert_eq!(error.to_string(), "it is a folder");
        let missing = folder.path().join("no/such");
        let error = write_atomically(&missing.join("file"), b"x").unwrap_err();
        assert_eq!(error.to_string(), format!("there is no folder '{}'", missing.display()));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_is_made_unless_something_else_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        for _ in 0..2 {
            make_folder(&path).unwrap();
        }
        fs::write(path.join("c"), b"").unwrap();
        assert_eq!(make_folder(&path.join("c")).unwrap_err().to_string(), "it is no folder");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_a_link_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write_atomically(&link, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
