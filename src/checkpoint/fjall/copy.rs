//! A copy of a store that is opened in its place: fjall writes as soon as it opens a directory. Knows which of fjall's
//! files change, and how long a journal is; changes nothing in the store.
//!
//! The copy has links to the tables, which never change and are most of a store, and copies of all that is small. It is
//! made where temporary files are or, if there is no space, in memory.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::journal::walk;
use super::survey::{entries, journals};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::{self, io_at};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Directory of files that are in memory, where the system has one.
const MEMORY: &str = "/dev/shm";

/// A copy, removed on drop.
#[derive(Debug)]
pub(super) struct Copy(PathBuf);

impl Copy {
    /// Copies a store whose files [`survey`](super::survey) has checked.
    pub(super) fn of(store: &Path) -> Result<Self> {
        let copied = Self::within(&std::env::temp_dir(), store);
        match copied {
            Err(CheckpointError::DiskFull { .. }) if Path::new(MEMORY).is_dir() => {
                Self::within(Path::new(MEMORY), store).or(copied)
            }
            copied => copied,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn within(directory: &Path, store: &Path) -> Result<Self> {
        let copy = Self(create(directory)?);
        copy.file(store, Path::new("version"))?;
        io_at(&copy.0, "create the file", File::create_new(copy.0.join("lock")))?;
        for (_, journal) in journals(store)? {
            copy.journal(&journal)?;
        }
        for (keyspace, is_folder) in entries(&store.join("keyspaces"))? {
            if is_folder {
                copy.keyspace(store, &keyspace)?;
            }
        }
        Ok(copy)
    }

    /// Copies the whole batches of a journal: no more is read, and fjall cuts off the rest.
    fn journal(&self, journal: &Path) -> Result<()> {
        let open = || io_at(journal, "open the file", files::read(journal));
        let end = io_at(journal, "read the file", walk(open()?, 0))?.end;
        let to = self.0.join(journal.file_name().unwrap_or_default());
        let mut whole = open()?.take(end);
        let copied = File::create_new(&to).and_then(|mut file| io::copy(&mut whole, &mut file).map(drop));
        io_at(&to, "copy the file", copied)
    }

    fn keyspace(&self, store: &Path, keyspace: &Path) -> Result<()> {
        let within = keyspace.strip_prefix(store).unwrap_or(keyspace);
        let tables = within.join("tables");
        io_at(&self.0, "create the directory", fs::create_dir_all(self.0.join(&tables)))?;
        for (file, is_folder) in entries(keyspace)? {
            if !is_folder {
                self.file(store, file.strip_prefix(store).unwrap_or(&file))?;
            }
        }
        for (table, _) in entries(&store.join(&tables))? {
            let to = self.0.join(table.strip_prefix(store).unwrap_or(&table));
            let table = io_at(&table, "find the file", std::path::absolute(&table))?;
            io_at(&to, "link the file", link(&table, &to))?;
        }
        Ok(())
    }

    fn file(&self, store: &Path, name: &Path) -> Result<()> {
        let (from, to) = (store.join(name), self.0.join(name));
        let mut opened = io_at(&from, "open the file", files::read(&from))?;
        let copied = File::create_new(&to).and_then(|mut file| io::copy(&mut opened, &mut file).map(drop));
        io_at(&to, "copy the file", copied)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // links are removed, not followed
    }
}

/// Creates a directory that no other user can read, under a name that is new.
fn create(parent: &Path) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("superstep-read-{}-{number}", std::process::id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {} // of a killed process that had our id
            created => return io_at(&path, "create the directory", created).map(|()| path),
        }
    }
}

#[cfg(unix)]
fn link(table: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(table, to)
}

#[cfg(not(unix))]
fn link(table: &Path, to: &Path) -> io::Result<()> {
    fs::copy(table, to).map(drop)
}
