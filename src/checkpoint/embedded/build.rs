//! Rewritten stores: built in a directory that is either complete or absent, for backups and repairs; and
//! compactions, with the check of every row. Knows where a store is built and when it gets its name.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::Serialize;

use super::directory::{restrict, sync_path};
use super::files::io_at;
use super::kind::FORMAT_FILE;
use super::lock;
use super::opening::{OpenedStore, no_store};
use super::rows::{ITEMS, RECORDS, STORE, row_key};
use super::store::{EmbeddedStore, Store};
use crate::checkpoint::envelope::{Envelope, damaged_record};
use crate::checkpoint::{BackupReport, CheckpointError, Checkpointer, backup};

/// Copies every thread of a store into a new one in the directory `path`.
pub(in crate::checkpoint) async fn back_up<E: EmbeddedStore>(
    from: &dyn Checkpointer,
    path: &Path,
) -> Result<BackupReport, CheckpointError> {
    refuse_existing(path, "back up the store")?;
    build_beside(path, "back up the store", async |partial| copy::<E>(from, partial).await).await
}

async fn copy<E: EmbeddedStore>(from: &dyn Checkpointer, partial: &Path) -> Result<BackupReport, CheckpointError> {
    let to = Store::<E>::open(partial, &E::Options::default())?;
    let report = backup(from, &to).await?;
    to.close().await?;
    Ok(report)
}

/// Builds a store in a temporary directory, and renames that when it is complete and on disk.
pub(in crate::checkpoint) async fn build_beside<T>(
    path: &Path,
    what: &str,
    build: impl AsyncFnOnce(&Path) -> Result<T, CheckpointError>,
) -> Result<T, CheckpointError> {
    let partial = with_suffix(path, ".partial");
    clear(&partial)?;
    match build(&partial).await {
        Ok(report) => {
            io_at(path, what, fs::rename(&partial, path))?;
            sync_parent(path)?;
            Ok(report)
        }
        Err(error) => {
            let _ = fs::remove_dir_all(&partial); // the failure is what the caller has to know
            Err(error)
        }
    }
}

/// Removes the leftovers of an interrupted attempt, and nothing else.
fn clear(partial: &Path) -> Result<(), CheckpointError> {
    if !partial.exists() {
        return Ok(());
    }
    if !partial.join(lock::NAME).exists() {
        return refuse_existing(partial, "use the directory");
    }
    io_at(partial, "remove the directory", fs::remove_dir_all(partial))
}

pub(in crate::checkpoint) fn refuse_existing(path: &Path, what: &str) -> Result<(), CheckpointError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "the path already exists");
    Err(CheckpointError::io(what, path, source))
}

fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes the name of a directory durable.
fn sync_parent(path: &Path) -> Result<(), CheckpointError> {
    let whole = io_at(path, "find the directory", path.canonicalize())?;
    whole.parent().map_or(Ok(()), |parent| sync_path(parent.into()))
}

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CompactionReport {
    /// Size of the store's files before, in bytes.
    pub before: u64,
    /// Size of the store's files after, in bytes.
    pub after: u64,
    /// Number of rows copied.
    pub rows: u64,
}

impl fmt::Display for CompactionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, rows } = self;
        write!(f, "{before} bytes before, {after} bytes after; {rows} rows rewritten")
    }
}

/// Rewrites the store in the directory `path` in place. It must not be open.
pub(in crate::checkpoint) fn compact<E: EmbeddedStore>(path: &Path) -> Result<CompactionReport, CheckpointError> {
    if !path.join(FORMAT_FILE).exists() {
        return Err(no_store("compact the store", path));
    }
    let OpenedStore { engine, marker_file, lock, epoch, .. } = E::open_store(path, &E::options_to_remove())?;
    let before = size(path);
    drop(marker_file);
    let rows = engine.rewrite(path, epoch)?;
    restrict(path)?;
    let after = size(path);
    drop(lock); // last: no process may open it before
    Ok(CompactionReport { before, after, rows })
}

/// Checks that a row is intact and has its own key.
pub(in crate::checkpoint) fn verify_row(key: &[u8], row: &[u8]) -> Result<(), CheckpointError> {
    match key {
        STORE => Envelope::decode_prefix(row)
            .map(drop)
            .map_err(|_| damaged_record(&[], "the store's own record does not match")),
        [RECORDS | ITEMS, ..] => {
            let carved = Envelope::decode_prefix(row)
                .map_err(|_| damaged_record(&key[1..], "it does not match its checksum"))?;
            if row_key(carved.name, carved.part) == key {
                Ok(())
            } else {
                Err(damaged_record(&key[1..], "it holds another record"))
            }
        }
        _ => Ok(()),
    }
}

/// Returns the total size of the files under a directory, in bytes.
pub(in crate::checkpoint) fn size(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => allocated_bytes(&metadata),
        Err(_) => 0,
    };
    entries.filter_map(std::io::Result::ok).map(of).sum()
}

/// Returns the space that a file takes on the disk, without its holes.
#[cfg(unix)]
pub(in crate::checkpoint) fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.len().min(metadata.blocks() * 512)
}

#[cfg(not(unix))]
pub(in crate::checkpoint) fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}
