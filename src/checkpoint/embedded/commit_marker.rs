//! Marker of the newest acknowledged batch, in a small file beside the log. Knows one row key and one number; must not
//! know what the row is.
//!
//! An embedded database takes damage near the end of its log for a torn end, and silently drops everything after it. The
//! marker is written after each sync and before the reply, so the row it names must be in the log, and a commit whose
//! marker cannot be written is not acknowledged: it could be lost without notice. It is synced only when
//! it is first created (the system keeps it over a kill), so after a power cut it may name an older batch, which must
//! be in the log as well. A store that contains anything has a marker.
//!
//! The file has two slots with the same content, each with a checksum: if one is torn or damaged, the other is used. A
//! slot is a magic number (8 bytes), the number of the commit (8, least byte first), the length of the key (4), the
//! key, and the crc32c of all that. Earlier releases wrote one slot without a magic number at the start of the file.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::engine::{FaultSwitch, Tree};
use super::files::{self, damaged_store, io_at};
use crate::checkpoint::CheckpointError;
use crate::checkpoint::envelope::{Envelope, is_unwritten};

const NAME: &str = "tip";
/// Size of a slot in bytes; larger than any key.
const SLOT: usize = 8 << 10;
/// First bytes of a slot. As a commit number it would be out of range, so it cannot be confused with the old format.
const MAGIC: [u8; 8] = *b"tip 2\r\n\xff";

/// Newest acknowledged commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) struct CommitMarker {
    pub(in crate::checkpoint) number: u64,
    /// Key of a row that it wrote.
    key: Vec<u8>,
}

impl CommitMarker {
    /// Reads the marker of a store; `None` if there is none yet.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if it exists and cannot be read.
    pub(in crate::checkpoint) fn read(store: &Path) -> Result<Option<Self>, CheckpointError> {
        let path = store.join(NAME);
        let mut bytes = vec![];
        match files::open_to_read(&path).and_then(|file| file.take(4 * SLOT as u64).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => io_at(&path, "read the file", read)?,
        };
        if is_unwritten(&bytes) {
            return Ok(None);
        }
        let reason = "its file `tip` cannot be read, so whether its newest commits are there is unknown";
        Self::newest(&bytes).map(Some).ok_or_else(|| damaged_store(store, reason))
    }

    /// Returns the newest marker of all slots.
    fn newest(bytes: &[u8]) -> Option<Self> {
        let slots = bytes.chunks(SLOT).take(2).filter_map(|slot| Self::parse(slot.strip_prefix(&MAGIC)?, &MAGIC));
        let earlier = if bytes.starts_with(&MAGIC) { None } else { Self::parse(bytes, &[]) };
        slots.chain(earlier).max_by_key(|marker| marker.number)
    }

    /// Parses a slot after its first bytes.
    fn parse(bytes: &[u8], start: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(start), &bytes[..bytes.len() - rest.len()]);
        let is_whole = rest.starts_with(&crc.to_le_bytes());
        is_whole.then(|| Self { number: u64::from_le_bytes(*number), key: key.to_vec() })
    }

    /// Checks that the row it names is in the log.
    ///
    /// # Errors
    /// [`CheckpointError::DamagedStore`] if it is not.
    pub(in crate::checkpoint) fn check(&self, tree: &impl Tree, store: &Path) -> Result<(), CheckpointError> {
        let row = tree.get(&self.key)?;
        let found = row.as_ref().and_then(|row| Envelope::decode_prefix(row.as_ref()).ok()).map(|row| row.commit);
        match found {
            Some(found) if found >= self.number => Ok(()),
            _ => Err(damaged_store(store, "its log ends before the newest acknowledged commit")),
        }
    }
}

/// File that contains the marker.
#[derive(Debug)]
pub(in crate::checkpoint) struct MarkerFile {
    file: Mutex<File>,
    path: PathBuf,
    faults: FaultSwitch,
}

impl MarkerFile {
    /// Opens or creates the file in a store's directory.
    pub(in crate::checkpoint) fn open(store: &Path) -> Result<Self, CheckpointError> {
        let path = store.join(NAME);
        let opened = files::open(&path, File::options().read(true).write(true).create(true).truncate(false));
        let file = Mutex::new(io_at(&path, "open the file", opened)?);
        Ok(Self { file, path, faults: FaultSwitch::default() })
    }

    pub(in crate::checkpoint) fn sync(&self) -> Result<(), CheckpointError> {
        io_at(&self.path, "sync the file", self.with_file(|file| file.sync_all()))
    }

    /// Writes the marker of a commit.
    ///
    /// # Errors
    /// [`CheckpointError::DiskFull`], [`CheckpointError::Io`].
    pub(in crate::checkpoint) fn write(&self, number: u64, key: &[u8]) -> Result<(), CheckpointError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(number.to_le_bytes());
        bytes.extend((key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        if bytes.len() > SLOT {
            return Ok(()); // no key is that long
        }
        // The second slot first: that of an earlier release is where the first slot is.
        let written = self.faults.check().and_then(|()| {
            [SLOT as u64, 0].into_iter().try_for_each(|slot| {
                self.with_file(|file| file.seek(SeekFrom::Start(slot)).and_then(|_| file.write_all(&bytes)))
            })
        });
        io_at(&self.path, "write the file", written)
    }

    /// Makes the next write fail.
    #[cfg(feature = "test-util")]
    pub(in crate::checkpoint) fn fail_next_write(&self) {
        self.faults.fail_next();
    }

    fn with_file<T>(&self, action: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        action(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for MarkerFile {
    fn drop(&mut self) {
        let _ = self.with_file(|file| file.sync_data());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(store: &Path) -> Option<(u64, Vec<u8>)> {
        CommitMarker::read(store).unwrap().map(|marker| (marker.number, marker.key))
    }

    #[test]
    fn a_shorter_name_may_follow_a_longer_one() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(read(store.path()), None);
        let marker_file = MarkerFile::open(store.path()).unwrap();
        assert_eq!(read(store.path()), None);
        marker_file.write(7, b"a long name").unwrap();
        marker_file.write(8, b"name").unwrap();
        assert_eq!(read(store.path()), Some((8, b"name".to_vec())));
    }

    #[test]
    fn no_number_makes_a_slot_one_of_an_earlier_release() {
        let store = tempfile::tempdir().unwrap();
        for number in (1 << 40)..(1 << 40) + 40 {
            MarkerFile::open(store.path()).unwrap().write(number, b"name").unwrap();
            assert_eq!(read(store.path()), Some((number, b"name".to_vec())));
        }
    }

    #[rstest::rstest]
    #[case::first(0)]
    #[case::second(SLOT)]
    fn a_damaged_slot_leaves_the_other(#[case] slot: usize) {
        let store = tempfile::tempdir().unwrap();
        MarkerFile::open(store.path()).unwrap().write(8, b"name").unwrap();
        let path = store.path().join(NAME);
        let mut bytes = fs::read(&path).unwrap();
        bytes[slot + 20] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(store.path()), Some((8, b"name".to_vec())));
        bytes[SLOT - slot + 20] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(matches!(CommitMarker::read(store.path()), Err(CheckpointError::DamagedStore { .. })));
    }

    #[test]
    fn the_file_of_an_earlier_release_is_read_and_replaced() {
        let store = tempfile::tempdir().unwrap();
        let mut bytes = [&9_u64.to_le_bytes()[..], &4_u32.to_le_bytes(), b"name"].concat();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        fs::write(store.path().join(NAME), &bytes).unwrap();
        assert_eq!(read(store.path()), Some((9, b"name".to_vec())));
        MarkerFile::open(store.path()).unwrap().write(10, b"n").unwrap();
        assert_eq!(read(store.path()), Some((10, b"n".to_vec())));
    }
}
