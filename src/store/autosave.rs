//! Saving unsaved work continuously, so that it survives a crash.
//!
//! Each running program has one entry, which it removes when it ends normally. An entry whose
//! program no longer runs was left by a crash. A running program holds a lock on a second file; the
//! operating system releases the lock however the program ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::entries::{self, EntryId, Store};
use crate::store::set_aside;

/// Minimum time between two writes. Dragging something changes the content in every frame; a crash
/// loses at most the changes of about this time.
const INTERVAL: Duration = Duration::from_millis(300);

/// An entry that is removed when this value is dropped, but stays if the program crashes.
pub struct Autosave {
    /// `None` only while this is being dropped.
    store: Option<Store>,
    id: EntryId,
    /// `None` only while this is being dropped.
    lock: Option<File>,
}

impl Autosave {
    /// Starts an autosave in `folder`, which is created if necessary.
    ///
    /// # Errors
    /// If the folder or the lock file cannot be created, the lock file cannot be locked, or the
    /// operating system cannot start a thread.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let mut store = Store::open_unread(folder, INTERVAL)?;
        let id = store.new_id();
        let lock = File::create_new(lock_path(id.path()))?;
        lock.try_lock()?;
        Ok(Self { store: Some(store), id, lock: Some(lock) })
    }

    /// Calls `content` on the background thread and saves the result in place of what was saved
    /// before. A later call replaces content that is not written yet. Returns at once.
    pub fn save(&self, content: impl FnOnce() -> Vec<u8> + Send + 'static) {
        if let Some(store) = &self.store {
            store.write(&self.id, content);
        }
    }

    /// Takes the error of the latest failed write; `None` if no write has failed since the last
    /// call.
    #[must_use]
    pub fn take_error(&self) -> Option<String> {
        self.store.as_ref().and_then(Store::take_error)
    }

    /// The file of the entry.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.id.path()
    }
}

impl Drop for Autosave {
    /// Removes the entry, unless the value is dropped because its thread panicked.
    fn drop(&mut self) {
        // Waits for the last write, which would otherwise create the file again.
        self.store = None;
        if !std::thread::panicking() {
            let _ = fs::remove_file(self.path());
            let _ = fs::remove_file(lock_path(self.path()));
        }
        self.lock = None;
    }
}

fn lock_path(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

/// An entry that a program left behind because it did not end normally.
#[derive(Debug)]
pub struct Abandoned {
    /// What the program had saved.
    pub content: Vec<u8>,
    file: PathBuf,
}

impl Abandoned {
    /// The abandoned entries in `folder`, the newest first. Entries of running programs are
    /// skipped, and so are entries that cannot be read or exceed the size limit of a [`Store`].
    #[must_use]
    pub fn find(folder: &Path) -> Vec<Self> {
        let Ok(ids) = entries::list(folder) else { return Vec::new() };
        let mut files: Vec<(SystemTime, PathBuf)> = ids
            .map(|id| id.path().to_owned())
            .filter(|path| is_abandoned(path))
            .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        files.sort();
        let read = |(_, file): (_, PathBuf)| Some(Self { content: fs::read(&file).ok()?, file });
        files.into_iter().rev().filter_map(read).collect()
    }

    /// Keeps a copy of the content under another name, which it returns, and removes the entry.
    ///
    /// # Errors
    /// If the copy cannot be written. The entry then stays.
    pub fn set_aside(self) -> io::Result<PathBuf> {
        let copy = set_aside(&self.file, &self.content)?;
        self.discard();
        Ok(copy)
    }

    /// Removes the entry.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_file(lock_path(&self.file));
    }
}

/// Whether it is certain that no running program holds the lock of `file`.
fn is_abandoned(file: &Path) -> bool {
    // Some file systems lock only a file that is open for writing.
    let lock = OpenOptions::new().read(true).write(true).open(lock_path(file));
    match lock.map(|lock| lock.try_lock()) {
        Ok(Ok(())) => true,
        // Either the program runs, or files cannot be locked here, so that it may be running.
        Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) => false,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(path: &Path, content: &[u8]) {
        while fs::read(path).ok().as_deref() != Some(content) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_newest_content_is_saved_and_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("new");
        let autosave = Autosave::start(&inside).unwrap();
        for number in 0..100 {
            autosave.save(move || format!("{number}").into_bytes());
        }
        wait_for(autosave.path(), b"99");
        assert!(Abandoned::find(&inside).is_empty(), "the program still runs");
        drop(autosave);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
    }

    #[test]
    fn entries_left_by_a_panic_are_found_newest_first_and_discarded() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Abandoned::find(folder.path()).is_empty());
        assert!(Abandoned::find(&folder.path().join("none")).is_empty());
        for text in [&b"old"[..], b"new"] {
            let path = folder.path().to_owned();
            let crash = std::thread::spawn(move || {
                let autosave = Autosave::start(&path).unwrap();
                autosave.save(|| text.to_vec());
                wait_for(autosave.path(), text);
                panic!("a crash");
            });
            assert!(crash.join().is_err());
            // Modification times may have a resolution of some milliseconds.
            std::thread::sleep(Duration::from_millis(20));
        }
        let running = Autosave::start(folder.path()).unwrap();
        running.save(|| b"running".to_vec());
        wait_for(running.path(), b"running");
        let mut abandoned = Abandoned::find(folder.path());
        let contents: Vec<&[u8]> = abandoned.iter().map(|entry| entry.content.as_slice()).collect();
        assert_eq!(contents, [&b"new"[..], b"old"]);
        abandoned.remove(0).discard();
        let remaining = Abandoned::find(folder.path());
        assert_eq!(remaining.len(), 1);
        remaining.into_iter().for_each(Abandoned::discard);
        assert!(Abandoned::find(folder.path()).is_empty());
        assert!(running.path().exists());
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("removed");
        let autosave = Autosave::start(&inside).unwrap();
        fs::remove_dir_all(&inside).unwrap();
        autosave.save(Vec::new);
        let error = loop {
            match autosave.take_error() {
                Some(error) => break error,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert!(error.contains("removed"), "{error}");
        assert_eq!(autosave.take_error(), None);
    }
}
