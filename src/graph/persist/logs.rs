//! Lists of `append` channels, read from the entries of their logs: from chunks, and from what is in none.

use std::ops::Range;

use superstep_base::panics::catch_panic;

use super::channels::{LoadedChannels, ReadPolicy, channel};
use super::save::{log_name, log_with};
use crate::checkpoint::{ChannelShape, CheckpointId, Chunk, Key, LogRange, RowId, Slot, chunk_key};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::{Mapping, Puts, Reader};
use crate::graph::state::{AnyState, AnyWrite, Channel, DecodeError, Merge, Storage};
use crate::graph::superstep::{ENTRIES, LogTail, is_chunked};

/// Rules whose log entries are parts of one list.
const LISTS: [&str; 2] = ["append", "delta_append"];

impl Reader {
    /// Reads the values that are stored in a log.
    pub(super) async fn logs(
        &self,
        table: &Table,
        path: &str,
        at: usize,
        (mapping, how): (&Mapping, ReadPolicy),
        settled: &mut LoadedChannels,
    ) -> Result<(), RunError> {
        let Slot::Log { full, ranges, .. } = &settled.slots[at] else { return Ok(()) };
        if ranges.is_empty() {
            return Ok(());
        }
        settled.sizes[at] += ranges.iter().map(|range| range.bytes).sum::<u64>();
        let (full, ranges, known) = (*full, ranges.clone(), &table.schema.channels()[at]);
        // This version stored the log. A run also chunks the entries that are in no chunk yet.
        let Some(source) = mapping.source(at as u32) else {
            for range in &ranges {
                let read = self.apply_range(table, path, (mapping.at, at), range, &mut settled.state).await?;
                if how == ReadPolicy::Whole && range.log.is_none() {
                    settled.chunk(at, read.chunks(&log_name(table, path, at), known.storage()));
                }
            }
            return Ok(());
        };
        let mut read = Vec::with_capacity(ranges.len());
        for range in &ranges {
            read.push(self.entries(&source.log_with(range), known, range).await?);
        }
        let entries = || read.iter().flat_map(LogEntries::iter);
        let unreadable = |misread| self.unreadable_error(&channel(table, at), mapping.at, misread);
        // Written under another rule, the entries are not writes of the present one but parts of a list.
        if mapping.needs_fold(at, known) {
            settled.stale.insert(at);
            let entries = entries().map(|(_, bytes)| bytes.to_vec()).collect();
            // The list is read with its first value, and stored whole with the next checkpoint.
            let list = self.list(&source.channel, full, entries).await?.map_err(unreadable)?;
            return table.schema.take_list(&mut settled.state, at, &list).map_err(unreadable);
        }
        let (writes, misread) = decode_writes(table, at, entries());
        self.apply_writes(table, known, &mut settled.state, writes.into_iter())?;
        // Only after the entries before it are applied: a reader shows the list up to there.
        misread.map_or(Ok(()), |misread| Err(unreadable(misread)))?;
        // The channel had another name: its entries are copied to the log of the present one.
        for (range, entries) in ranges.iter().zip(&read) {
            let now = log_with(table, path, at, range);
            if source.log_with(range) != now {
                let copy = |(row, bytes): (_, &[u8])| (Key::Log { channel: now.clone(), row }, bytes.to_vec().into());
                settled.owed.extend(entries.iter().map(copy));
            }
        }
        Ok(())
    }

    /// Applies the entries of a range to a state of the version that stored them. Returns the entries.
    pub(super) async fn apply_range(
        &self,
        table: &Table,
        path: &str,
        (id, at): (CheckpointId, usize),
        range: &LogRange,
        state: &mut AnyState,
    ) -> Result<LogEntries, RunError> {
        let (log, known) = (log_with(table, path, at, range), &table.schema.channels()[at]);
        let read = self.entries(&log, known, range).await?;
        let (writes, misread) = decode_writes(table, at, read.iter());
        self.apply_writes(table, known, state, writes.into_iter())?;
        misread.map_or(Ok(read), |misread| Err(self.unreadable_error(&channel(table, at), id, misread)))
    }

    /// Sets a list to that of a newer state without the entries of these ranges. Returns false if it cannot.
    pub(super) async fn truncate_list(
        &self,
        table: &Table,
        path: &str,
        at: usize,
        (newer, added): (&AnyState, &[LogRange]),
        state: &mut AnyState,
    ) -> Result<bool, RunError> {
        let known = &table.schema.channels()[at];
        let mut entries = Vec::with_capacity(added.len());
        for range in added {
            entries.push(self.entries(&log_with(table, path, at, range), known, range).await?);
        }
        let (writes, misread) = decode_writes(table, at, entries.iter().flat_map(LogEntries::iter));
        Ok(misread.is_none() && table.schema.reset_without(state, at, newer, &writes))
    }

    fn apply_writes(
        &self,
        table: &Table,
        known: &Channel,
        state: &mut AnyState,
        mut writes: impl Iterator<Item = AnyWrite>,
    ) -> Result<(), RunError> {
        let mut merge = Merge::default();
        let applied = catch_panic(|| {
            writes.try_for_each(|write| {
                merge.clear();
                table.schema.apply(state, write, &mut merge).map_err(|error| known.redact(error.to_string()))
            })
        });
        let applied = applied.unwrap_or_else(|panic| Err(format!("its reducer panicked: {panic}")));
        applied.map_err(|reason| self.damaged_error(known.name(), &reason))
    }

    /// Returns the rows of a log that another rule wrote, if they are the parts of a list.
    async fn list(
        &self,
        stored: &ChannelShape,
        full: Option<RowId>,
        entries: Vec<Vec<u8>>,
    ) -> Result<Result<Vec<Vec<u8>>, DecodeError>, RunError> {
        if !LISTS.contains(&stored.rule.as_str()) {
            let reason =
                format!("it was stored as changes by the rule `{}`, which the channel no longer has", stored.rule);
            return Ok(Err(DecodeError { stored: stored.type_name.clone(), ..DecodeError::unreadable(&reason) }));
        }
        let mut rows = self.rows(full.map(Key::Row).into_iter().collect()).await?;
        rows.extend(entries);
        Ok(Ok(rows))
    }
}

impl LoadedChannels {
    /// Notes chunks of a log's entries that are in none, and the entries left over.
    fn chunk(&mut self, at: usize, (chunks, tail): (Puts, LogTail)) {
        self.owed.extend(chunks);
        self.tails.insert(at, tail);
    }
}

/// Decodes the entries of a log as writes, up to the first that cannot be read.
fn decode_writes<'a>(
    table: &Table,
    at: usize,
    entries: impl Iterator<Item = (RowId, &'a [u8])>,
) -> (Vec<AnyWrite>, Option<DecodeError>) {
    let mut writes = Vec::with_capacity(entries.size_hint().0);
    for (_, bytes) in entries {
        match table.schema.decode_write(at, false, bytes) {
            Ok(write) => writes.push(write),
            Err(misread) => return (writes, Some(misread)),
        }
    }
    (writes, None)
}

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
    pub(super) fn chunks(&self, log: &str, stored: Storage) -> (Puts, LogTail) {
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
                puts.extend(chunk_key(log, last).map(|key| (key, bytes.into())));
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
            let decoded =
                Chunk::decode(&bytes).ok_or_else(|| self.damaged_error(&key.to_string(), "it cannot be decoded"));
            let chunk = decoded?;
            let first = chunk.entries[0].0;
            if first < from {
                continue; // two chunks hold the same entries
            }
            let follows = first == range.first || (chunk.previous.is_some() && chunk.previous == read.last());
            if !follows {
                self.read_loose(log, from, first, &mut read).await?;
                read.entries.pop_if(|(row, _)| *row == first);
            }
            read.push_chunk(&chunk);
            from = read.last().unwrap_or(first).after();
        }
        if read.len() < range.count as usize {
            self.read_loose(log, from, range.last, &mut read).await?;
        }
        self.check_count(channel, range, read.len())?;
        Ok(read)
    }

    /// Reads entries that are in no chunk, or in one that is not used.
    async fn read_loose(&self, log: &str, first: RowId, last: RowId, read: &mut LogEntries) -> Result<(), RunError> {
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
        Err(self.damaged_error(&format!("log of channel `{}`", channel.name()), &reason))
    }
}
