//! Chunks of a log: copies of consecutive entries in one record, so that a long log is read in few records.
//!
//! A chunk adds nothing to a thread: whatever it holds is stored as entries too, and a reader that finds no chunk reads
//! those. It is an entry of a log of its own, whose name is that of the log after a zero byte.

use super::commit::Commit;
use super::key::{Key, RowId, chunk_log, chunked_log};
use super::key_bytes::{put_number, put_row, take_number, take_row};

/// First byte of a chunk.
const FORMAT: u8 = 1;

/// Consecutive entries of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk<'a> {
    /// Entry of the log before the first one, if it is known.
    pub(crate) previous: Option<RowId>,
    /// Entries, oldest first.
    pub(crate) entries: Vec<(RowId, &'a [u8])>,
}

/// A chunk as it is filled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenChunk {
    /// Entry of the log before the first one, if it is known.
    pub(crate) previous: Option<RowId>,
    last: RowId,
    count: usize,
    /// The chunk so far, and the number of its bytes before the entries.
    encoded: Vec<u8>,
    head: usize,
}

impl OpenChunk {
    /// Returns an empty chunk that follows an entry.
    pub(crate) fn after(previous: Option<RowId>) -> Self {
        Self { previous, ..Self::default() }
    }

    pub(crate) fn push(&mut self, row: RowId, bytes: &[u8]) {
        if self.count == 0 {
            self.encoded.extend([FORMAT, u8::from(self.previous.is_some())]);
            self.previous.iter().for_each(|row| put_row(row, &mut self.encoded));
            self.head = self.encoded.len();
        }
        put_row(&row, &mut self.encoded);
        put_number(bytes.len() as u64, &mut self.encoded);
        self.encoded.extend_from_slice(bytes);
        (self.last, self.count) = (row, self.count + 1);
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the number of bytes of the encoded entries.
    pub(crate) fn bytes(&self) -> usize {
        self.encoded.len() - self.head
    }

    /// Returns the last entry, and the encoded chunk. It has at least one entry.
    pub(crate) fn close(self) -> (RowId, Vec<u8>) {
        (self.last, self.encoded)
    }
}

impl<'a> Chunk<'a> {
    /// Decodes a chunk; `None` if the bytes are not one.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (head, mut bytes) = bytes.split_first_chunk()?;
        let previous = match head {
            [FORMAT, 0] => None,
            [FORMAT, 1] => Some(take_row(&mut bytes)?),
            _ => return None,
        };
        let mut entries = vec![];
        while !bytes.is_empty() {
            let row = take_row(&mut bytes)?;
            let length = usize::try_from(take_number(&mut bytes)?).ok()?;
            let (entry, rest) = bytes.split_at_checked(length)?;
            entries.push((row, entry));
            bytes = rest;
        }
        (!entries.is_empty()).then_some(Self { previous, entries })
    }
}

/// Returns the key of the chunk of a log that ends with an entry; `None` if the log's name leaves no room for one.
pub(crate) fn chunk_key(log: &str, last: RowId) -> Option<Key> {
    let channel = chunk_log(log);
    (channel.len() <= Commit::MAX_NAME).then_some(Key::Log { channel, row: last })
}

/// Returns true for the key of a chunk.
pub(crate) fn is_chunk(key: &Key) -> bool {
    matches!(key, Key::Log { channel, .. } if chunked_log(channel).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checkpoint::CheckpointId;

    fn row() -> impl Strategy<Value = RowId> {
        (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(checkpoint, task, slot)| RowId {
            checkpoint: CheckpointId(checkpoint),
            task,
            slot,
        })
    }

    proptest! {
        #[test]
        fn a_chunk_is_read_as_it_was_filled(
            previous in proptest::option::of(row()),
            entries in proptest::collection::vec((row(), proptest::collection::vec(any::<u8>(), 0..200)), 1..8),
            cut: usize,
        ) {
            let mut chunk = OpenChunk::after(previous);
            entries.iter().for_each(|(row, bytes)| chunk.push(*row, bytes));
            prop_assert_eq!(chunk.len(), entries.len());
            let (last, bytes) = chunk.close();
            prop_assert_eq!(last, entries[entries.len() - 1].0);
            let decoded = Chunk { previous, entries: entries.iter().map(|(row, bytes)| (*row, &**bytes)).collect() };
            prop_assert_eq!(Chunk::decode(&bytes[..cut % bytes.len()]) == Some(decoded.clone()), false);
            prop_assert_eq!(Chunk::decode(&bytes), Some(decoded));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Chunk::decode(&bytes);
        }
    }

    #[test]
    fn the_key_of_a_chunk_names_its_log() {
        let Some(Key::Log { channel, row }) = chunk_key("/a:1.0\0notes", RowId::default()) else { panic!("no key") };
        assert_eq!((chunked_log(&channel), row), (Some("/a:1.0\0notes"), RowId::default()));
        assert_eq!(chunked_log("notes"), None);
        assert_eq!(chunk_key(&"x".repeat(Commit::MAX_NAME), RowId::default()), None);
    }
}
