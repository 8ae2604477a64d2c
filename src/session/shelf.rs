//! What the user keeps from one run of the program to the next: a folder with a file for each thing.
//!
//! Everything is read when the shelf is opened, and written on a thread of its own as it changes, so
//! that a crash loses no more than the change of that moment. Programs that run at the same time
//! may share a folder: a file has one owner, and each sees what the others have put there when it
//! starts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::files::write_atomically;

/// What a file on the shelf may hold at most; larger ones are none of ours.
const MOST_BYTES: u64 = 64 << 20;

/// Makes what is to be written.
type Make = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// What is to be done with each file; of several wishes for one file only the newest counts.
type Job = (Slot, Option<Make>);

/// The place of one thing on a [`Shelf`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(PathBuf);

/// A thing that was on the shelf when it was opened.
pub type Thing = (Slot, Vec<u8>);

/// See the module. Dropping it waits until all is written.
pub struct Shelf {
    folder: PathBuf,
    /// `None` once it is being dropped.
    jobs: Option<Sender<Job>>,
    writer: Option<JoinHandle<()>>,
    /// Why the last write failed.
    failure: Arc<Mutex<Option<String>>>,
    /// Things that were put there in this run.
    count: u64,
}

impl Shelf {
    /// Opens the shelf in `folder`, which is made if need be, and gives what is on it in the order in
    /// which it was put there.
    ///
    /// # Errors
    /// If the folder cannot be made or read, or the system gives no thread.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<Thing>)> {
        fs::create_dir_all(folder)?;
        let is_ours = |path: &PathBuf| {
            let size = fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
            path.extension().is_some_and(|ending| ending == "json") && size <= MOST_BYTES
        };
        let entries = fs::read_dir(folder)?.filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
        paths.sort();
        let read = |path: PathBuf| Some((fs::read(&path).ok()?, path));
        let things = paths.into_iter().filter_map(read);
        let things = things.map(|(content, path)| (Slot(path), content)).collect();
        let (jobs, wanted) = channel();
        let failure = Arc::<Mutex<Option<String>>>::default();
        let of_writer = Arc::clone(&failure);
        let writer = std::thread::Builder::new()
            .name("shelf".to_owned())
            .spawn(move || write_what_is_wanted(&wanted, &of_writer))?;
        let folder = folder.to_owned();
        Ok((Self { folder, jobs: Some(jobs), writer: Some(writer), failure, count: 0 }, things))
    }

    /// Puts what `make` gives there as one more thing. Does not wait for it.
    pub fn put(&mut self, make: impl FnOnce() -> Vec<u8> + Send + 'static) -> Slot {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Names stand in the order of time; two programs may have the same time.
        let name = format!("{:020}-{:06}-{}.json", now.as_nanos(), self.count, std::process::id());
        self.count += 1;
        let slot = Slot(self.folder.join(name));
        self.replace(&slot, make);
        slot
    }

    /// The place of the thing called `name`, for what there is one of.
    #[must_use]
    pub fn slot(&self, name: &str) -> Slot {
        Slot(self.folder.join(name).with_extension("json"))
    }

    /// Puts what `make` gives in the place of what is in `slot`. Does not wait for it.
    pub fn replace(&self, slot: &Slot, make: impl FnOnce() -> Vec<u8> + Send + 'static) {
        self.send((slot.clone(), Some(Box::new(make))));
    }

    /// Takes off what is in `slot`. Does not wait for it.
    pub fn remove(&self, slot: &Slot) {
        self.send((slot.clone(), None));
    }

    /// Why the last write failed, once.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write_what_is_wanted(wanted: &Receiver<Job>, failure: &Mutex<Option<String>>) {
    while let Ok(first) = wanted.recv() {
        let jobs: BTreeMap<Slot, Option<Make>> =
            std::iter::once(first).chain(wanted.try_iter()).collect();
        for (Slot(path), make) in jobs {
            let result = match make {
                Some(make) => write_atomically(&path, &make()),
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                },
            };
            if let Err(error) = result {
                let text = format!("{}: {error}", path.display());
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(folder: &Path) -> Vec<Vec<u8>> {
        let (_, things) = Shelf::open(folder).unwrap();
        things.into_iter().map(|(_, content)| content).collect()
    }

    #[test]
    fn things_are_there_in_their_order_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("made");
        let (mut shelf, things) = Shelf::open(&inside).unwrap();
        assert!(things.is_empty());
        let slots: Vec<Slot> =
            (0..12).map(|number| shelf.put(move || format!("{number}").into_bytes())).collect();
        shelf.replace(&slots[3], || b"three".to_vec());
        shelf.remove(&slots[0]);
        shelf.replace(&slots[7], || b"seven".to_vec());
        shelf.remove(&slots[7]);
        drop(shelf);
        let expected: Vec<&[u8]> =
            vec![b"1", b"2", b"three", b"4", b"5", b"6", b"8", b"9", b"10", b"11"];
        assert_eq!(contents(&inside), expected);
    }

    #[test]
    fn what_has_a_name_is_found_by_it() {
        let folder = tempfile::tempdir().unwrap();
        let (shelf, _) = Shelf::open(folder.path()).unwrap();
        let slot = shelf.slot("mine");
        shelf.replace(&slot, || b"1".to_vec());
        drop(shelf);
        let (shelf, things) = Shelf::open(folder.path()).unwrap();
        assert_eq!(things, [(shelf.slot("mine"), b"1".to_vec())]);
    }

    #[test]
    fn what_is_none_of_ours_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), b"x").unwrap();
        fs::write(folder.path().join(".1.json.77-0.part"), b"half").unwrap();
        fs::create_dir(folder.path().join("folder.json")).unwrap();
        assert!(contents(folder.path()).is_empty());
    }

    #[test]
    fn a_write_that_fails_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("goes");
        let (mut shelf, _) = Shelf::open(&inside).unwrap();
        fs::remove_dir_all(&inside).unwrap();
        shelf.put(Vec::new);
        let failure = loop {
            match shelf.failure() {
                Some(failure) => break failure,
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        };
        assert!(failure.contains("goes"), "{failure}");
        assert_eq!(shelf.failure(), None);
    }
}
