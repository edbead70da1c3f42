//! Entries of a log, read from its chunks and from what is in none.

use std::ops::Range;

use crate::checkpoint::{Chunk, Key, LogRange, RowId, chunk_key};
use crate::graph::error::RunError;
use crate::graph::records::{Puts, Reader};
use crate::graph::state::{Channel, Stored};
use crate::graph::superstep::{ENTRIES, LogTail, is_chunked};

/// Entries of a log, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LogEntries {
    /// The bytes of all entries, one after the other.
    bytes: Vec<u8>,
    entries: Vec<(RowId, Range<usize>)>,
    /// The entries that were read from chunks, by index: a range for each chunk.
    chunked: Vec<Range<usize>>,
}

impl LogEntries {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries with their rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RowId, &[u8])> {
        self.entries.iter().map(|(row, range)| (*row, &self.bytes[range.clone()]))
    }

    fn push(&mut self, row: RowId, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.entries.push((row, start..self.bytes.len()));
    }

    fn push_chunk(&mut self, chunk: &Chunk<'_>) {
        let start = self.len();
        chunk.entries.iter().for_each(|(row, bytes)| self.push(*row, bytes));
        self.chunked.push(start..self.len());
    }

    fn last(&self) -> Option<RowId> {
        self.entries.last().map(|(row, _)| *row)
    }

    /// Returns the chunks of entries that are in none, and the entries at the end that make no chunk yet.
    pub(super) fn chunks(&self, log: &str, stored: Stored) -> (Puts, LogTail) {
        let (mut puts, mut tail) = (vec![], LogTail::default());
        let mut chunked = self.chunked.iter().peekable();
        for (at, (row, bytes)) in self.iter().enumerate() {
            chunked.next_if(|chunk| chunk.end <= at);
            if chunked.peek().is_some_and(|chunk| chunk.contains(&at)) {
                tail = LogTail::after(row);
                continue;
            }
            let entry = is_chunked(stored, false, bytes.len() as u64).then_some(bytes);
            if let Some((last, bytes)) = tail.push(row, entry) {
                puts.extend(chunk_key(log, last).map(|key| (key, bytes)));
            }
        }
        (puts, tail)
    }
}

impl Reader {
    /// Reads the entries of a range.
    pub(crate) async fn entries(&self, log: &str, channel: &Channel, range: &LogRange) -> Result<LogEntries, RunError> {
        let (mut read, mut from) = (LogEntries::default(), range.first);
        for (key, bytes) in self.chunks(log, range).await? {
            let decoded = Chunk::decode(&bytes).ok_or_else(|| self.damaged(&key.to_string(), "it cannot be decoded"));
            let chunk = decoded?;
            let first = chunk.entries[0].0;
            if first < from {
                continue; // two chunks hold the same entries
            }
            let follows = first == range.first || (chunk.previous.is_some() && chunk.previous == read.last());
            if !follows {
                self.loose(log, from, first, &mut read).await?;
                read.entries.pop_if(|(row, _)| *row == first);
            }
            read.push_chunk(&chunk);
            from = read.last().unwrap_or(first).after();
        }
        if read.len() < range.count as usize {
            self.loose(log, from, range.last, &mut read).await?;
        }
        self.check_count(channel, range, read.len())?;
        Ok(read)
    }

    /// Reads entries that are in no chunk, or in one that is not used.
    async fn loose(&self, log: &str, first: RowId, last: RowId, read: &mut LogEntries) -> Result<(), RunError> {
        if first > last {
            return Ok(());
        }
        let key = |row| Key::Log { channel: log.to_owned(), row };
        for (key, bytes) in self.scan(key(first)..=key(last)).await? {
            if let Key::Log { row, .. } = key {
                read.push(row, &bytes);
            }
        }
        Ok(())
    }

    /// Reads the chunks that end in a range.
    async fn chunks(&self, log: &str, range: &LogRange) -> Result<Vec<(Key, Vec<u8>)>, RunError> {
        let (Some(first), Some(last)) = (chunk_key(log, range.first), chunk_key(log, range.last)) else {
            return Ok(vec![]);
        };
        if (range.count as usize) < ENTRIES {
            return Ok(vec![]);
        }
        self.scan(first..=last).await
    }

    fn check_count(&self, channel: &Channel, range: &LogRange, found: usize) -> Result<(), RunError> {
        if found == range.count as usize {
            return Ok(());
        }
        let reason = format!("{found} entries of {} are there", range.count);
        Err(self.damaged(&format!("log of channel `{}`", channel.name()), &reason))
    }
}
