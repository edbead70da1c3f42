//! A witness of the newest acknowledged batch, in a small file beside the log. Knows one row key and one number; must not
//! know what the row is.
//!
//! sled takes damage in its newest segment for the torn end of its log and drops everything after it without a word.
//! The witness is written after each sync, off the path of the answer, so what it names must be in the log. It is not synced itself (the system keeps
//! it over a kill), so after a power cut it may name an older batch, which must be there as well. Only the first time it is:
//! a store that holds anything has a witness.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::disk::{Disk, broken, io_at};
use super::files;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::envelope::Envelope;

const NAME: &str = "tip";

/// The file that names the newest acknowledged row.
#[derive(Debug)]
pub(super) struct Tip(Mutex<File>);

impl Tip {
    /// Opens or creates the file in a store's directory.
    pub(super) fn open(store: &Path) -> Result<Self, CheckpointError> {
        let path = store.join(NAME);
        let opened = files::open(&path, File::options().read(true).write(true).create(true).truncate(false));
        io_at(&path, "open the file", opened).map(|file| Self(Mutex::new(file)))
    }

    /// Returns whether nothing was ever written to the file, or it is gone.
    pub(super) fn is_blank(&self, store: &Path) -> Result<bool, CheckpointError> {
        Ok(self.bytes(store)?.iter().all(|&byte| byte == 0))
    }

    /// Brings what the file names to the disk.
    pub(super) fn sync(&self, store: &Path) -> Result<(), CheckpointError> {
        io_at(&store.join(NAME), "sync the file", self.with_file(|file| file.sync_all()))
    }

    /// Returns the number of the newest acknowledged commit, if the file names one.
    pub(super) fn number(&self, store: &Path) -> Result<Option<u64>, CheckpointError> {
        Ok(self.read(store)?.map(|(number, _)| number))
    }

    /// Returns the number of the newest acknowledged commit of a store that is not opened, if its file names one.
    pub(super) fn named(store: &Path) -> Option<u64> {
        std::fs::read(store.join(NAME)).ok().and_then(|bytes| parse(&bytes)).map(|(number, _)| number)
    }

    /// Checks that what the file names is in the log.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if it is not.
    pub(super) fn check(&self, disk: &Disk, store: &Path) -> Result<(), CheckpointError> {
        let Some((number, key)) = self.read(store)? else { return Ok(()) };
        let row = disk.get(&key)?;
        let found = row.as_deref().and_then(|row| Envelope::carve(row).ok()).map(|row| row.commit);
        match found {
            Some(found) if found >= number => Ok(()),
            _ => Err(broken(store, "its log ends before the newest acknowledged commit")),
        }
    }

    /// Names the row of the newest acknowledged commit.
    pub(super) fn write(&self, number: u64, key: &[u8]) {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        // Without this witness the commit is no less durable; the older one stays true.
        let _ = self.with_file(|file| file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes)));
    }

    /// Returns what the file names; none if nothing yet, or if it was being written when the power went.
    fn read(&self, store: &Path) -> Result<Option<(u64, Vec<u8>)>, CheckpointError> {
        Ok(parse(&self.bytes(store)?))
    }

    fn bytes(&self, store: &Path) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        let read = self.with_file(|file| file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)));
        io_at(&store.join(NAME), "read the file", read).map(|_| bytes)
    }

    fn with_file<T>(&self, action: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Tip {
    fn drop(&mut self) {
        let _ = self.with_file(|file| file.sync_data());
    }
}

fn parse(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let crc = crc32c::crc32c(&bytes[..bytes.len() - rest.len()]);
    rest.starts_with(&crc.to_le_bytes()).then(|| (u64::from_le_bytes(*number), key.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_name_may_follow_a_longer_one() {
        let store = tempfile::tempdir().unwrap();
        let tip = Tip::open(store.path()).unwrap();
        assert_eq!(tip.read(store.path()).unwrap(), None);
        tip.write(7, b"a long name");
        tip.write(8, b"name");
        assert_eq!(tip.read(store.path()).unwrap(), Some((8, b"name".to_vec())));
    }
}
