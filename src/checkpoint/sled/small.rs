//! Checks of the small files beside sled's log: its settings and its newest snapshot. Knows their checksums; must not
//! know their content. sled's own errors do not name the file.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::{self, broken, io_at};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Settings of the database, written by sled.
const CONF: &str = "conf";
/// Lengths of the checksum and, in a snapshot, of the length field before it.
const CRC: usize = 4;
const LENGTH: usize = 8;

/// Checks the settings and the newest snapshot, where they exist.
///
/// # Errors
/// [`CheckpointError::DamagedStore`] with the name of the damaged file; [`CheckpointError::Io`] if it cannot be read.
pub(super) fn check(store: &Path) -> Result<()> {
    let conf = read(store, CONF)?;
    // sled writes missing settings.
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

/// Returns whether bytes end with the checksum of all but the last `extra` bytes before it.
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
