//! Writing files: everything that the program keeps on disk.
//!
//! [`write_atomically`] writes a regular file whole or not at all; stores write their entries with
//! it. A [`NewFile`] is written a part at a time, and takes its name only when it is complete. A
//! [`Store`] is a folder of entries, read when the store is opened and written in the background as
//! they change. An [`Autosave`] is one entry that is removed when the program ends normally; after
//! a crash the next run finds it as [`Abandoned`]. A file that cannot be read is kept under another
//! name by [`set_aside`].
//!
//! Nothing here knows what the bytes mean.

mod autosave;
mod entries;
mod set_aside;
mod whole_file;
mod writer;

pub use autosave::{Abandoned, Autosave};
pub use entries::{Entry, EntryId, Store};
pub use set_aside::set_aside;
pub use whole_file::{NewFile, make_folder, write_atomically};
