//! Writing a file so that a crash leaves the old content or the new, never a mixture.
//!
//! The new content is first written to a temporary file. A program that is killed meanwhile leaves
//! this file behind; the next write to the same folder removes it. A running program holds a lock
//! on its temporary file, which the operating system releases when the program ends in any way. So
//! a temporary file without a lock is left over. The only exception is a file that was created but
//! not locked yet: its program notices if it was removed, and creates another. On a shared folder
//! whose locks do not reach other machines, the file of a program that runs on another machine may
//! be removed; that program then reports an error, and the old content stays.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The names of temporary files begin with a dot and end with this. It contains the name of this
/// program, because the files of other programs must not be removed.
const SUFFIX: &str = ".cliquescope.part";

/// Maximum number of temporary files that are created for one file. A second one is needed only if
/// another program removes the first in the moment before it is locked, so this limit is hardly
/// ever reached.
const MAX_ATTEMPTS: usize = 10;

/// Replaces the content of the file at `path` with `bytes`, or creates the file, as [`NewFile`]
/// does.
///
/// # Errors
/// If `path` is a folder, or the operating system reports an error. A regular file at `path` is
/// then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// The new content of a file, which is written a part at a time.
///
/// The bytes go to a temporary file in the same folder, which takes the name and the permissions of
/// the old file when it is [finished](Self::finish). If it is dropped before, the old file stays. A
/// symbolic link to a file stays a link, and the file is replaced. A pipe or a device is written to
/// directly.
pub struct NewFile {
    destination: Destination,
}

enum Destination {
    /// A pipe or a device.
    Direct(File),
    Temporary {
        file: NamedTempFile,
        target: PathBuf,
        permissions: Option<Permissions>,
    },
}

impl NewFile {
    /// Starts to write the file at `path`.
    ///
    /// # Errors
    /// If `path` is a folder or cannot be written, or its folder does not exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Replace the file that a link points to, not the link.
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let old = fs::metadata(&target).ok();
        if let Some(old) = &old {
            if old.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            // Renaming needs permission for the folder only, but must not replace a write-protected
            // file.
            let file = OpenOptions::new().write(true).open(&target)?;
            if !old.is_file() {
                return Ok(Self { destination: Destination::Direct(file) });
            }
        }
        if target.file_name().is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        remove_leftovers(folder);
        let file = create_locked(folder)?;
        let permissions = old.map(|old| old.permissions());
        Ok(Self { destination: Destination::Temporary { file, target, permissions } })
    }

    /// Completes the file: replaces the old file, if there is one.
    ///
    /// # Errors
    /// If the operating system reports an error. A regular file of this name is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        let Destination::Temporary { file, target, permissions } = self.destination else {
            return Ok(());
        };
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        // Without this, the new name could reach the disk before the content.
        file.as_file().sync_all()?;
        file.persist(&target)?;
        Ok(())
    }

    /// Shortens the file to its first `length` bytes. Has no effect on a pipe or a device.
    ///
    /// # Errors
    /// If the operating system reports an error.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        let Destination::Temporary { file, .. } = &mut self.destination else { return Ok(()) };
        file.as_file().set_len(length)?;
        file.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.destination {
            Destination::Direct(file) => file.write(bytes),
            Destination::Temporary { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates the folder at `path` and its parents, unless they exist.
///
/// # Errors
/// If the path contains something other than a folder, or the operating system reports an error.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), "not a folder"),
        _ => error,
    })
}

/// Removes the temporary files in `folder` whose programs no longer run. Errors are ignored.
pub(super) fn remove_leftovers(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files.filter_map(Result::ok) {
        let name = file.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b".") && name.ends_with(SUFFIX.as_bytes()) {
            let _ = remove_leftover(&file.path());
        }
    }
}

/// Removes the temporary file at `path`, unless a running program holds its lock.
fn remove_leftover(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    // Some file systems lock only a file that is open for writing.
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    // The lock is held until the file is removed, so that no program locks it in between.
    file.try_lock()?;
    fs::remove_file(path)
}

/// Creates a temporary file in `folder`, and locks it. Where files cannot be locked, it is not
/// locked, and leftovers stay.
fn create_locked(folder: &Path) -> io::Result<NamedTempFile> {
    for _ in 0..MAX_ATTEMPTS {
        let file = create_temporary(folder)?;
        let is_taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && file.path().exists() {
            return Ok(file);
        }
    }
    Err(io::Error::other("another program removes temporary files"))
}

/// Creates a hidden file in `folder`. Dropping the file removes it, unless it was persisted.
fn create_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any new file, before the umask; tempfile's default is 0o600.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let reason = format!("there is no folder '{}'", folder.display());
            io::Error::new(io::ErrorKind::NotFound, reason)
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_created_and_replaced_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn a_file_takes_its_name_when_it_is_finished_and_can_be_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write_atomically(&path, b"old").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"one\ntwo\nthr").unwrap();
        file.truncate(8).unwrap();
        file.write_all(b"three\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\nthree\n");
        drop(NewFile::create(&path).unwrap());
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[test]
    fn a_name_may_be_as_long_as_the_file_system_allows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        write_atomically(&path, b"content").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"content");
    }

    #[test]
    fn a_temporary_file_of_a_program_that_was_killed_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let part = |name: &str| File::create(folder.path().join(name)).unwrap();
        drop(part(".a.json.killed.cliquescope.part"));
        drop(part(".b.json.killed.cliquescope.part"));
        drop(part(".another-program.part"));
        let running = part(".a.json.running.cliquescope.part");
        running.try_lock().unwrap();
        write_atomically(&path, b"one").unwrap();
        let mut left = names(folder.path());
        left.sort();
        let expected = [".a.json.running.cliquescope.part", ".another-program.part", "a.json"];
        assert_eq!(left, expected);
    }

    #[test]
    fn programs_that_write_to_the_same_folder_do_not_remove_each_others_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |program: usize| {
            let path = folder.path().join(format!("{program}.json"));
            (0..200).for_each(|_| write_atomically(&path, b"content").unwrap());
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|program| _ = scope.spawn(move || write(program)));
        });
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, ["0.json", "1.json", "2.json", "3.json"]);
    }

    #[test]
    fn a_failed_write_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(folder.path(), b"x").unwrap_err();
        assert_eq!(error.to_string(), "it is a folder");
        let missing = folder.path().join("no/such");
        let error = write_atomically(&missing.join("file"), b"x").unwrap_err();
        assert_eq!(error.to_string(), format!("there is no folder '{}'", missing.display()));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_is_created_unless_a_file_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        for _ in 0..2 {
            make_folder(&path).unwrap();
        }
        fs::write(path.join("c"), b"").unwrap();
        assert_eq!(make_folder(&path.join("c")).unwrap_err().to_string(), "not a folder");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_symbolic_links_are_preserved() {
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

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_usual_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let metadata = fs::metadata(folder.path().join(name)).unwrap();
            metadata.permissions().mode() & 0o777
        };
        fs::write(folder.path().join("usual"), b"").unwrap();
        write_atomically(&folder.path().join("ours"), b"").unwrap();
        assert_eq!(mode("ours"), mode("usual"));
    }
}
