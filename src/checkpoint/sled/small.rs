//! The small files that sled keeps beside its log: its settings and its newest snapshot. Knows their checksums; must not
//! know what they hold. sled says of none of them which one it cannot read.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::disk::broken;
use super::files::{self, io_at};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The settings with which every store is made, as sled writes them.
const CONF: &str = "conf";
/// Checksum and, in a snapshot, the length before it.
const CRC: usize = 4;
const LENGTH: usize = 8;

/// Checks the settings, if there are any, and the newest snapshot, if there is one.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] with the name of the file that is damaged; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check(store: &Path) -> Result<()> {
    let conf = read(store, CONF)?;
    // Settings that were never written are written by sled.
    if conf.len() > 2 * CRC && !is_whole(&conf, 0) {
        return Err(damaged(store, CONF));
    }
    match newest_snapshot(store)? {
        Some(name) if !is_whole(&read(store, &name)?, LENGTH) => Err(damaged(store, &name)),
        _ => Ok(()),
    }
}

fn damaged(store: &Path, name: &str) -> CheckpointError {
    broken(store, &format!("its file `{name}` does not match its checksum"))
}

/// Returns whether bytes end with their checksum, of all but `extra` bytes before it.
fn is_whole(bytes: &[u8], extra: usize) -> bool {
    let Some((rest, crc)) = bytes.split_last_chunk::<CRC>() else { return false };
    let Some(length) = rest.len().checked_sub(extra).filter(|length| *length > 0) else { return false };
    crc32fast::hash(&rest[..length]) == u32::from_le_bytes(*crc)
}

/// Returns the name of the snapshot that sled reads.
fn newest_snapshot(store: &Path) -> Result<Option<String>> {
    let mut newest = None;
    for entry in io_at(store, "list the files", fs::read_dir(store))? {
        let name = io_at(store, "list the files", entry)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("snap.") && !name.ends_with(".generating") {
            newest = newest.max(Some(name));
        }
    }
    Ok(newest)
}

fn read(store: &Path, name: &str) -> Result<Vec<u8>> {
    let path = store.join(name);
    let mut bytes = vec![];
    match files::read(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        read => io_at(&path, "read the file", read).map(|_| bytes),
    }
}
