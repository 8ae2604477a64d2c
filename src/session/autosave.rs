//! Keeping what the user has done on disk while it is done, so that it outlives a crash.
//!
//! Each running program keeps one file, which it removes when it ends as it should. A file whose
//! program is gone was left by a crash. Whether a program still runs shows in a lock on a second
//! file, which the operating system releases however the program ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::files::write_atomically;

/// The shortest time between two writes: a pointer that drags something changes it in every frame.
const INTERVAL: Duration = Duration::from_millis(300);

/// Makes what is to be written.
type Make = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// A file that is kept up to date on a thread of its own until this is dropped.
pub struct Autosave {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    file: PathBuf,
    lock: Option<File>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What is to be written; only the newest counts.
    wanted: Option<Make>,
    closed: bool,
    /// Why the last write failed.
    failure: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Autosave {
    /// Begins to keep a file in `folder`, which is made if need be.
    ///
    /// # Errors
    /// If the folder or the lock cannot be made, or the system gives no thread.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // A number of a process comes back one day, so the time tells two of them apart.
        let name = format!("{}-{}", std::process::id(), now.as_nanos());
        let file = folder.join(name).with_extension("json");
        let lock = File::create_new(lock_of(&file))?;
        lock.try_lock()?;
        let shared = Arc::<Shared>::default();
        let (of_writer, path) = (Arc::clone(&shared), file.clone());
        let writer = std::thread::Builder::new()
            .name("autosave".to_owned())
            .spawn(move || write_what_is_wanted(&of_writer, &path))?;
        Ok(Self { shared, writer: Some(writer), file, lock: Some(lock) })
    }

    /// Writes what `make` gives, in place of what was written before. Does not wait for it.
    pub fn keep(&self, make: impl FnOnce() -> Vec<u8> + Send + 'static) {
        self.shared.state().wanted = Some(Box::new(make));
        self.shared.changed.notify_one();
    }

    /// Why the last write failed, once.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.state().failure.take()
    }

    /// Where it writes.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl Drop for Autosave {
    /// Removes the file, unless it is a panic that ends the program.
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
        if !std::thread::panicking() {
            let _ = fs::remove_file(&self.file);
            let _ = fs::remove_file(lock_of(&self.file));
        }
        self.lock = None;
    }
}

fn lock_of(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

fn write_what_is_wanted(shared: &Shared, file: &Path) {
    let mut state = shared.state();
    loop {
        if let Some(make) = state.wanted.take() {
            drop(state);
            let result = write_atomically(file, &make());
            state = shared.state();
            state.failure = result.err().map(|error| format!("{}: {error}", file.display()));
            let rested = shared.changed.wait_timeout_while(state, INTERVAL, |state| !state.closed);
            state = rested.unwrap_or_else(PoisonError::into_inner).0;
        } else if state.closed {
            return;
        } else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a program that did not end as it should has left in a folder.
#[derive(Debug)]
pub struct Abandoned {
    /// What it kept.
    pub content: Vec<u8>,
    file: PathBuf,
}

impl Abandoned {
    /// All that was left in `folder`, the newest first. What running programs keep is not.
    #[must_use]
    pub fn find(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .filter(|path| is_abandoned(path))
            .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        files.sort();
        let read = |(_, file): (_, PathBuf)| Some(Self { content: fs::read(&file).ok()?, file });
        files.into_iter().rev().filter_map(read).collect()
    }

    /// Removes it.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_file(lock_of(&self.file));
    }
}

/// Whether nobody holds the lock of `file`.
fn is_abandoned(file: &Path) -> bool {
    match File::open(lock_of(file)).map(|lock| lock.try_lock()) {
        Ok(Ok(())) => true,
        // Where files cannot be locked, nobody can know.
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
    fn the_newest_is_kept_and_goes_with_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("made");
        let autosave = Autosave::begin(&inside).unwrap();
        for number in 0..100 {
            autosave.keep(move || format!("{number}").into_bytes());
        }
        wait_for(autosave.file(), b"99");
        assert!(Abandoned::find(&inside).is_empty(), "its program runs");
        drop(autosave);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
    }

    #[test]
    fn what_a_panic_leaves_is_found_newest_first_and_discarded() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Abandoned::find(folder.path()).is_empty());
        assert!(Abandoned::find(&folder.path().join("none")).is_empty());
        for text in [&b"old"[..], b"new"] {
            let path = folder.path().to_owned();
            let crash = std::thread::spawn(move || {
                let autosave = Autosave::begin(&path).unwrap();
                autosave.keep(|| text.to_vec());
                wait_for(autosave.file(), text);
                panic!("a crash");
            });
            assert!(crash.join().is_err());
            // Some file systems tell times apart by no less than this.
            std::thread::sleep(Duration::from_millis(20));
        }
        let running = Autosave::begin(folder.path()).unwrap();
        running.keep(|| b"running".to_vec());
        wait_for(running.file(), b"running");
        let mut abandoned = Abandoned::find(folder.path());
        let contents: Vec<&[u8]> = abandoned.iter().map(|one| one.content.as_slice()).collect();
        assert_eq!(contents, [&b"new"[..], b"old"]);
        abandoned.remove(0).discard();
        let left = Abandoned::find(folder.path());
        assert_eq!(left.len(), 1);
        left.into_iter().for_each(Abandoned::discard);
        assert!(Abandoned::find(folder.path()).is_empty());
        assert!(running.file().exists());
    }

    #[test]
    fn a_write_that_fails_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("goes");
        let autosave = Autosave::begin(&inside).unwrap();
        fs::remove_dir_all(&inside).unwrap();
        autosave.keep(Vec::new);
        let failure = loop {
            match autosave.failure() {
                Some(failure) => break failure,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert!(failure.contains("goes"), "{failure}");
        assert_eq!(autosave.failure(), None);
    }
}
