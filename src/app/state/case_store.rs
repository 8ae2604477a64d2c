//! The named cases of all networks, kept between runs.

use std::path::Path;

use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::store::{EntryId, Store};

/// The named cases of all networks, in memory and on disk. Cases are identified by their number.
#[derive(Default)]
pub(crate) struct CaseStore {
    /// The files of the cases; `None` if cases are lost at the end of the run.
    store: Option<Store>,
    entries: Vec<Entry>,
    /// The highest number given to a case so far.
    last_number: u64,
}

/// A case with its number and its file.
struct Entry {
    number: u64,
    /// The file of the case; `None` if the case is only in memory.
    id: Option<EntryId>,
    case: StoredCase,
}

/// A case as it is stored.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredCase {
    /// Where the network of the case can be read again; `None` if it cannot.
    pub(crate) network: Option<NetworkLocation>,
    pub(crate) name: String,
    /// Each finding with the name of its variable.
    pub(crate) evidence: Vec<(String, NamedFinding)>,
}

impl StoredCase {
    /// The content of the file of the case.
    fn json(&self) -> Vec<u8> {
        // Serialising plain data to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl CaseStore {
    /// Opens the store in `folder` and reads its cases.
    ///
    /// # Errors
    /// If the folder cannot be created or read, or the operating system cannot start a thread.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let (store, entries) = Store::open(folder)?;
        let mut cases = Self { store: Some(store), ..Self::default() };
        for entry in entries {
            // Skip files that cannot be read, but keep them: another version of the program may
            // have written them.
            if let Ok(case) = serde_json::from_slice(&entry.content) {
                cases.last_number += 1;
                cases.entries.push(Entry { number: cases.last_number, id: Some(entry.id), case });
            }
        }
        Ok(cases)
    }

    /// Checks that cases can be written to the folder of the store.
    ///
    /// # Errors
    /// If a file cannot be written there.
    pub(crate) fn check_writable(&self) -> std::io::Result<()> {
        self.store.as_ref().map_or(Ok(()), Store::check_writable)
    }

    /// Why a case could not be written or removed, if that has happened since the last call.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.store.as_ref().and_then(Store::take_error)
    }

    /// The cases of the network at `location`, each with its number.
    pub(crate) fn of_network(
        &self,
        location: &NetworkLocation,
    ) -> impl Iterator<Item = (u64, &StoredCase)> {
        let is_of_network = |entry: &&Entry| entry.case.network.as_ref() == Some(location);
        self.entries.iter().filter(is_of_network).map(|entry| (entry.number, &entry.case))
    }

    /// Adds `case` under a new number, and returns that number.
    pub(crate) fn add(&mut self, case: StoredCase) -> u64 {
        self.last_number += 1;
        self.insert(self.last_number, case);
        self.last_number
    }

    /// Adds `case` under `number`, which no stored case has.
    pub(crate) fn insert(&mut self, number: u64, case: StoredCase) {
        let copy = case.clone();
        let id = self.store.as_mut().map(|store| store.add(move || copy.json()));
        self.entries.push(Entry { number, id, case });
    }

    /// Changes the case with this number, if there is one.
    pub(crate) fn change(&mut self, number: u64, change: impl FnOnce(&mut StoredCase)) {
        let found = self.entries.iter_mut().find(|entry| entry.number == number);
        let Some(Entry { id, case, .. }) = found else { return };
        change(case);
        if let (Some(store), Some(id)) = (&self.store, id) {
            let copy = case.clone();
            store.write(id, move || copy.json());
        }
    }

    /// Removes the case with this number, if there is one.
    pub(crate) fn remove(&mut self, number: u64) {
        let found = self.entries.iter().position(|entry| entry.number == number);
        let Some(index) = found else { return };
        let removed = self.entries.remove(index);
        if let (Some(store), Some(id)) = (&self.store, &removed.id) {
            store.remove(id);
        }
    }
}
