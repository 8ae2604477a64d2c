//! The background thread that writes the files of a store.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::allocate::start_thread;
use crate::mailbox::Mailbox;
use crate::store::write_atomically;

/// A function that computes the content of a file. It is called on the writer's thread.
pub(super) type Content = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// A function that computes the new content of a file from the old content. It is called on the
/// writer's thread.
pub(super) type Merge = Box<dyn FnOnce(Vec<u8>) -> Vec<u8> + Send>;

/// A change of a file.
pub(super) enum Change {
    /// Replaces or creates the file.
    Write(Content),
    /// Replaces the file while no other program merges it. A missing file counts as empty.
    Merge(Merge),
    /// Removes the file if it exists.
    Remove,
}

/// The newest change of each file.
type Changes = BTreeMap<PathBuf, Change>;

/// The handle to a thread that writes files. If a file changes several times before it is written,
/// only the newest change is made.
///
/// Dropping the writer waits until everything is written.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    changes: Mailbox<Changes>,
    /// The error of the latest failed change, until it is taken.
    error: Mutex<Option<String>>,
}

impl Writer {
    /// Starts the thread. It pauses for `interval` after each round of writing.
    ///
    /// # Errors
    /// If there is not enough memory for a thread, or the operating system cannot start one.
    pub fn start(interval: Duration) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let thread_shared = Arc::clone(&shared);
        let thread = start_thread("store", move || thread_shared.write_until_closed(interval))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Makes `change` to the file at `path`, in the background. Replaces an earlier change that was
    /// not made yet.
    pub fn change(&self, path: &Path, change: Change) {
        let path = path.to_owned();
        self.shared.changes.update(|changes| {
            changes.get_or_insert_default().insert(path, change);
        });
    }

    /// Takes the error of the latest failed change; `None` if no change has failed since the last
    /// call.
    pub fn take_error(&self) -> Option<String> {
        self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.changes.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Makes all changes, round after round, until the writer is dropped.
    fn write_until_closed(&self, interval: Duration) {
        while let Some(changes) = self.changes.take() {
            for (path, change) in changes {
                // A change that panics must not keep the writer from making the others.
                let made = catch_unwind(AssertUnwindSafe(|| apply(&path, change)));
                let defect = || Err(io::Error::other("a defect of this program"));
                if let Err(error) = made.unwrap_or_else(|_| defect()) {
                    let text = format!("{}: {error}", path.display());
                    *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                }
            }
            self.changes.pause(interval);
        }
    }
}

/// Makes `change` to the file at `path`.
fn apply(path: &Path, change: Change) -> io::Result<()> {
    match change {
        Change::Write(content) => write_atomically(path, &content()),
        Change::Merge(merge) => {
            let lock = File::create(path.with_extension("lock"))?;
            // Where files cannot be locked, programs that merge at the same moment may lose
            // changes.
            let _ = lock.lock();
            let old = match fs::read(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                old => old.unwrap_or_default(),
            };
            write_atomically(path, &merge(old))
        }
        Change::Remove => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_panics_is_an_error_and_the_others_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let [broken, whole] = ["a", "b"].map(|name| folder.path().join(name));
        let writer = Writer::start(Duration::from_millis(1)).unwrap();
        writer.change(&broken, Change::Write(Box::new(|| panic!("a defect for a test"))));
        while writer.shared.error.lock().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        writer.change(&whole, Change::Write(Box::new(|| b"whole".to_vec())));
        let error = writer.take_error();
        drop(writer);
        assert!(error.is_some_and(|error| error.ends_with("a defect of this program")));
        assert_eq!(fs::read(whole).unwrap(), b"whole");
    }
}
