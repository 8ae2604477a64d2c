//! Entries that outlive a run of the program: a folder with one file per entry.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::unix_time;
use crate::store::whole_file::remove_leftovers;
use crate::store::writer::{Change, Writer};

/// Maximum size of an entry to read, in bytes; larger files are skipped. The limit is far above the
/// size of any result of an experiment. It only protects against a huge file that someone else put
/// into the folder.
const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// Identifies one entry of a [`Store`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId(PathBuf);

impl EntryId {
    /// The file that holds the entry.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// An entry as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id of the entry.
    pub id: EntryId,
    /// Its content.
    pub content: Vec<u8>,
}

/// A folder of entries, written on a background thread as they change, so that a crash loses only
/// the latest changes.
///
/// Several running programs may share a folder. Each sees the entries that existed when it opened
/// the store. No two programs [add](Self::add) an entry of the same name. If they write the same
/// [named](Self::named) entry, the last write wins; [`merge`](Self::merge) can keep both changes.
///
/// Dropping a store waits until everything is written.
pub struct Store {
    folder: PathBuf,
    writer: Writer,
    /// Number of ids that this store has given to new entries.
    added: u64,
}

impl Store {
    /// Opens the store in `folder`, which is created if necessary, and reads its entries in
    /// ascending order of their ids. [Added](Self::add) entries are therefore in the order in which
    /// they were added, unless the clock was set back. Entries that cannot be read or are
    /// larger than 64 MiB are skipped. Also removes the temporary files of programs that were
    /// killed while they wrote to the folder.
    ///
    /// # Errors
    /// If the folder cannot be created or read, or the operating system cannot start a thread.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<Entry>)> {
        let store = Self::open_unread(folder, Duration::ZERO)?;
        let mut ids: Vec<EntryId> = list(folder)?.collect();
        ids.sort();
        let read = |id: EntryId| Some(Entry { content: fs::read(&id.0).ok()?, id });
        Ok((store, ids.into_iter().filter_map(read).collect()))
    }

    /// Opens the store in `folder` without reading its entries. The background thread pauses for
    /// `interval` after each round of writing.
    ///
    /// # Errors
    /// If the folder cannot be created, or the operating system cannot start a thread.
    pub(super) fn open_unread(folder: &Path, interval: Duration) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        remove_leftovers(folder);
        Ok(Self { folder: folder.to_owned(), writer: Writer::start(interval)?, added: 0 })
    }

    /// An id for a new entry. It sorts after all earlier ids, unless the clock was set back.
    pub(super) fn new_id(&mut self) -> EntryId {
        let now = unix_time();
        // Two processes can see the same time, and process ids are reused, so the name has both.
        let name = format!("{:020}-{:06}-{}", now.as_nanos(), self.added, std::process::id());
        self.added += 1;
        self.named(&name)
    }

    /// Adds an entry with the result of `content`, which is called on the background thread.
    /// Returns at once.
    pub fn add(&mut self, content: impl FnOnce() -> Vec<u8> + Send + 'static) -> EntryId {
        let id = self.new_id();
        self.write(&id, content);
        id
    }

    /// The id of the entry called `name`, whether or not it exists.
    #[must_use]
    pub fn named(&self, name: &str) -> EntryId {
        EntryId(self.folder.join(format!("{name}.json")))
    }

    /// Replaces or creates the entry with the result of `content`, which is called on the
    /// background thread. Returns at once.
    pub fn write(&self, id: &EntryId, content: impl FnOnce() -> Vec<u8> + Send + 'static) {
        self.writer.change(&id.0, Change::Write(Box::new(content)));
    }

    /// Removes the entry on the background thread. Returns at once.
    pub fn remove(&self, id: &EntryId) {
        self.writer.change(&id.0, Change::Remove);
    }

    /// Replaces the entry with what `merge` makes of its content, which is empty if there is no
    /// such entry. `merge` is called on the background thread. Where files can be locked, no two
    /// programs merge the same entry at the same time. Returns at once.
    ///
    /// If the entry is changed again before `merge` is called, only the later change is made.
    pub fn merge(&self, id: &EntryId, merge: impl FnOnce(Vec<u8>) -> Vec<u8> + Send + 'static) {
        self.writer.change(&id.0, Change::Merge(Box::new(merge)));
    }

    /// Checks that files can be written to the folder.
    ///
    /// # Errors
    /// The error of the operating system if they cannot.
    pub fn check_writable(&self) -> io::Result<()> {
        tempfile::tempfile_in(&self.folder).map(|_| ())
    }

    /// Takes the error of the latest failed write; `None` if no write has failed since the last
    /// call.
    #[must_use]
    pub fn take_error(&self) -> Option<String> {
        self.writer.take_error()
    }
}

/// The entries in `folder`, in no particular order. Other files are skipped.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn list(folder: &Path) -> io::Result<impl Iterator<Item = EntryId>> {
    let is_entry = |path: &PathBuf| {
        // Reading a pipe may take forever.
        let is_small_file =
            |metadata: fs::Metadata| metadata.is_file() && metadata.len() <= MAX_ENTRY_BYTES;
        path.extension().is_some_and(|extension| extension == "json")
            && fs::metadata(path).is_ok_and(is_small_file)
    };
    let files = fs::read_dir(folder)?.filter_map(Result::ok);
    Ok(files.map(|file| file.path()).filter(is_entry).map(EntryId))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(folder: &Path) -> Vec<Vec<u8>> {
        let (_, entries) = Store::open(folder).unwrap();
        entries.into_iter().map(|entry| entry.content).collect()
    }

    #[test]
    fn entries_are_read_in_order_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("made");
        let (mut store, entries) = Store::open(&inside).unwrap();
        assert!(entries.is_empty());
        let ids: Vec<EntryId> =
            (0..12).map(|number| store.add(move || format!("{number}").into_bytes())).collect();
        store.write(&ids[3], || b"three".to_vec());
        store.remove(&ids[0]);
        store.write(&ids[7], || b"seven".to_vec());
        store.remove(&ids[7]);
        drop(store);
        let expected: Vec<&[u8]> =
            vec![b"1", b"2", b"three", b"4", b"5", b"6", b"8", b"9", b"10", b"11"];
        assert_eq!(contents(&inside), expected);
    }

    #[test]
    fn a_named_entry_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let id = store.named("mine");
        store.write(&id, || b"1".to_vec());
        drop(store);
        let (store, entries) = Store::open(folder.path()).unwrap();
        assert_eq!(entries, [Entry { id: store.named("mine"), content: b"1".to_vec() }]);
    }

    #[test]
    fn programs_that_merge_one_entry_lose_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let stores: Vec<Store> = (0..8).map(|_| Store::open(folder.path()).unwrap().0).collect();
        for (number, store) in stores.into_iter().enumerate() {
            store.merge(&store.named("all"), move |mut content| {
                content.push(b'0' + number as u8);
                content
            });
            std::thread::spawn(move || drop(store));
        }
        let path = folder.path().join("all.json");
        let mut found = Vec::new();
        while found.len() < 8 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            found = fs::read(&path).unwrap_or_default();
        }
        found.sort_unstable();
        assert_eq!(found, b"01234567");
    }

    #[test]
    fn other_files_in_the_folder_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), b"x").unwrap();
        fs::write(folder.path().join(".1.json.77-0.part"), b"half").unwrap();
        fs::create_dir(folder.path().join("folder.json")).unwrap();
        assert!(contents(folder.path()).is_empty());
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("removed");
        let (mut store, _) = Store::open(&inside).unwrap();
        fs::remove_dir_all(&inside).unwrap();
        store.add(Vec::new);
        let error = loop {
            match store.take_error() {
                Some(error) => break error,
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        };
        assert!(error.contains("removed"), "{error}");
        assert_eq!(store.take_error(), None);
    }
}
