//! A copy of a store that is opened in its place: fjall writes as soon as it opens a directory. Knows which of fjall's
//! files change, and how long a journal is; changes nothing in the store.
//!
//! The copy has links to the tables, which never change and are most of a store, and copies of all that is small. It is
//! made where temporary files are or, if there is no space, in memory. The process that reads it locks it: a copy that is
//! not locked was left by a process that was killed, and the next one removes it.

use std::fs::{self, DirBuilder, DirEntry, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::journal::walk;
use super::survey::{entries, journals};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::{self, io_at};
use crate::checkpoint::embedded::lock::{self, Lock};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Directory of files that are in memory, where the system has one.
const MEMORY: &str = "/dev/shm";

/// Start of the names of copies.
const PREFIX: &str = "superstep-read-";

/// A copy, removed on drop.
#[derive(Debug)]
pub(super) struct Copy {
    path: PathBuf,
    /// Held until the files are removed.
    _lock: Lock,
}

impl Copy {
    /// Copies a store whose files [`survey`](super::survey) has checked.
    pub(super) fn of(store: &Path) -> Result<Self> {
        let (temporary, memory) = (std::env::temp_dir(), Path::new(MEMORY));
        remove_abandoned(&temporary);
        remove_abandoned(memory);
        match Self::create_in(&temporary, store) {
            copied @ Err(CheckpointError::DiskFull { .. }) if memory.is_dir() => {
                Self::create_in(memory, store).or(copied)
            }
            copied => copied,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates an empty copy that no other user can read, under a name that is new, and locks it.
    fn create(parent: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                created => io_at(&path, "create the directory", created)?,
            }
            // Before it is locked, another process may take it for abandoned, and remove it: then a new one is made.
            match Lock::take(&path) {
                Ok(lock) if path.join(lock::NAME).exists() => return Ok(Self { path, _lock: lock }),
                Ok(_) | Err(CheckpointError::Locked { .. }) => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&path);
                    return Err(error);
                }
            }
        }
    }

    fn create_in(directory: &Path, store: &Path) -> Result<Self> {
        let copy = Self::create(directory)?;
        copy.copy_file(store, Path::new("version"))?;
        io_at(&copy.path, "create the file", File::create_new(copy.path.join("lock")))?;
        for (_, journal) in journals(store)? {
            copy.copy_journal(&journal)?;
        }
        for (keyspace, is_folder) in entries(&store.join("keyspaces"))? {
            if is_folder {
                copy.copy_keyspace(store, &keyspace)?;
            }
        }
        Ok(copy)
    }

    /// Copies the whole batches of a journal: no more is read, and fjall cuts off the rest.
    fn copy_journal(&self, journal: &Path) -> Result<()> {
        let open = || io_at(journal, "open the file", files::open_to_read(journal));
        let end = io_at(journal, "read the file", walk(open()?, 0))?.end;
        let to = self.path.join(journal.file_name().unwrap_or_default());
        let mut whole = open()?.take(end);
        let copied = File::create_new(&to).and_then(|mut file| io::copy(&mut whole, &mut file).map(drop));
        io_at(&to, "copy the file", copied)
    }

    fn copy_keyspace(&self, store: &Path, keyspace: &Path) -> Result<()> {
        let within = keyspace.strip_prefix(store).unwrap_or(keyspace);
        let tables = within.join("tables");
        io_at(&self.path, "create the directory", fs::create_dir_all(self.path.join(&tables)))?;
        for (file, is_folder) in entries(keyspace)? {
            if !is_folder {
                self.copy_file(store, file.strip_prefix(store).unwrap_or(&file))?;
            }
        }
        for (table, _) in entries(&store.join(&tables))? {
            let to = self.path.join(table.strip_prefix(store).unwrap_or(&table));
            let table = io_at(&table, "find the file", std::path::absolute(&table))?;
            io_at(&to, "link the file", link(&table, &to))?;
        }
        Ok(())
    }

    fn copy_file(&self, store: &Path, name: &Path) -> Result<()> {
        let (from, to) = (store.join(name), self.path.join(name));
        let mut opened = io_at(&from, "open the file", files::open_to_read(&from))?;
        let copied = File::create_new(&to).and_then(|mut file| io::copy(&mut opened, &mut file).map(drop));
        io_at(&to, "copy the file", copied)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path); // links are removed, not followed
    }
}

/// Removes copies that killed processes of this user left.
fn remove_abandoned(directory: &Path) {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    for copy in found.filter(is_copy_of_this_user) {
        if let Some(_lock) = Lock::take_abandoned(&copy.path()) {
            let _ = fs::remove_dir_all(copy.path()); // links are removed, not followed
        }
    }
}

fn is_copy_of_this_user(entry: &DirEntry) -> bool {
    let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
    is_named && entry.metadata().is_ok_and(|found| found.is_dir() && is_of_this_user(&found))
}

#[cfg(unix)]
fn is_of_this_user(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_of_this_user(_found: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn link(table: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(table, to)
}

#[cfg(not(unix))]
fn link(table: &Path, to: &Path) -> io::Result<()> {
    fs::copy(table, to).map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_copies_that_no_process_reads_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let read = Copy::create(directory.path()).unwrap();
        assert_eq!(read.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        for name in ["superstep-read-1-0", "superstep-read-1-1", "notes"] {
            fs::create_dir_all(at(name).join("keyspaces/1/tables")).unwrap();
            fs::write(at(name).join("0.jnl"), "rows").unwrap();
            fs::write(at(name).join(lock::NAME), "pid 1").unwrap();
        }
        symlink(at("notes").join("0.jnl"), at("superstep-read-1-0/keyspaces/1/tables/7")).unwrap();
        symlink(at("notes"), at("superstep-read-1-2")).unwrap();
        fs::write(at("superstep-read-1-3"), "a file").unwrap();
        remove_abandoned(directory.path());
        let mut left: Vec<_> = entries(directory.path()).unwrap().into_iter().map(|(path, _)| path).collect();
        left.sort();
        let mut expected =
            vec![at("notes"), at("superstep-read-1-2"), at("superstep-read-1-3"), read.path().to_path_buf()];
        expected.sort();
        assert_eq!(left, expected);
        assert!(at("notes/0.jnl").exists());
        drop(read);
        assert_eq!(entries(directory.path()).unwrap().len(), 3);
    }
}
