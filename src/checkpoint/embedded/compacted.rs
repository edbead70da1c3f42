//! The report of a compaction, and the check of every row that it writes anew.

use std::path::Path;
use std::{fmt, fs};

use serde::Serialize;

use super::rows::{RECORDS, STORE, row_key};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::envelope::{Envelope, damaged};

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// Size of the store's files before, in bytes.
    pub before: u64,
    /// Size of the store's files after, in bytes.
    pub after: u64,
    /// Number of rows copied.
    pub rows: u64,
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, rows } = self;
        write!(f, "{before} bytes before, {after} bytes after; {rows} rows written anew")
    }
}

/// Checks that a row is intact and has its own key.
pub(in crate::checkpoint) fn verify(key: &[u8], row: &[u8]) -> Result<(), CheckpointError> {
    match key {
        STORE => {
            Envelope::decode_prefix(row).map(drop).map_err(|_| damaged(&[], "the store's own record does not match"))
        }
        [RECORDS, ..] => {
            let carved =
                Envelope::decode_prefix(row).map_err(|_| damaged(&key[1..], "it does not match its checksum"))?;
            if row_key(carved.name, carved.part) == key {
                Ok(())
            } else {
                Err(damaged(&key[1..], "it holds another record"))
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
        Ok(metadata) => allocated(&metadata),
        Err(_) => 0,
    };
    entries.filter_map(std::io::Result::ok).map(of).sum()
}

/// Returns the space that a file takes on the disk, without its holes.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.len().min(metadata.blocks() * 512)
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}
