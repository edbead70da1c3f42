//! Lists of `append` channels, read from their entries.

use super::save::log_name;
use super::settled::{LoadedChannels, channel};
use crate::checkpoint::panics::caught;
use crate::checkpoint::{ChannelShape, CheckpointId, Key, LogRange, RowId, Slot};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Mapping, Reader};
use crate::graph::state::{Channel, Merge, Misread, State, reading};

/// Rules whose log entries are parts of one list.
const LISTS: [&str; 2] = ["append", "delta_append"];

impl Reader {
    /// Reads the values that are stored in a log.
    pub(super) async fn logs<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        at: usize,
        mapping: &Mapping,
        settled: &mut LoadedChannels<S>,
    ) -> Result<(), RunError> {
        let Slot::Log { full, ranges, .. } = &settled.slots[at] else { return Ok(()) };
        if ranges.is_empty() {
            return Ok(());
        }
        settled.sizes[at] += ranges.iter().map(|range| range.bytes).sum::<u64>();
        let (full, ranges, known) = (*full, ranges.clone(), &S::channels(&table.schema)[at]);
        let Some(source) = mapping.source(at as u32) else {
            for range in &ranges {
                self.added(table, path, (mapping.at, at), range, &mut settled.state).await?;
            }
            return Ok(());
        };
        let now = log_name(table, path, at);
        let mut entries = vec![];
        for range in &ranges {
            entries.extend(self.entries(&source.log, known, range).await?);
        }
        let unreadable = |misread| self.unreadable(&channel(table, at), mapping.at, misread);
        if mapping.folds(at, known) {
            settled.stale.insert(at);
            let entries = entries.into_iter().map(|(_, bytes)| bytes).collect();
            let list = self.list(&source.channel, full, entries).await?.map_err(unreadable)?;
            return reading::take_list::<S>(&table.schema, &mut settled.state, at, &list).map_err(unreadable);
        }
        let (writes, misread) = decoded::<S, N, C, _>(table, at, entries.iter().map(|(row, bytes)| (*row, bytes)));
        self.applied(table, known, &mut settled.state, writes.into_iter())?;
        misread.map_or(Ok(()), |misread| Err(unreadable(misread)))?;
        if source.log != now {
            let owed = entries.into_iter().map(|(row, bytes)| (Key::Log { channel: now.clone(), row }, bytes));
            settled.owed.extend(owed);
        }
        Ok(())
    }

    pub(crate) async fn entries(
        &self,
        log: &str,
        channel: &Channel,
        range: &LogRange,
    ) -> Result<Vec<(RowId, Vec<u8>)>, RunError> {
        let key = |row| Key::Log { channel: log.to_owned(), row };
        let rows = self.scan(key(range.first)..=key(range.last)).await?;
        self.check_count(channel, range, rows.len())?;
        let row = |(key, bytes)| match key {
            Key::Log { row, .. } => Some((row, bytes)),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(row).collect())
    }

    fn check_count(&self, channel: &Channel, range: &LogRange, found: usize) -> Result<(), RunError> {
        if found == range.count as usize {
            return Ok(());
        }
        let reason = format!("{found} entries of {} are there", range.count);
        Err(self.damaged(&format!("log of channel `{}`", channel.name()), &reason))
    }

    /// Applies the entries of a range to a state of the version that stored them.
    pub(super) async fn added<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        (id, at): (CheckpointId, usize),
        range: &LogRange,
        state: &mut S,
    ) -> Result<(), RunError> {
        let (log, known) = (log_name(table, path, at), &S::channels(&table.schema)[at]);
        let entries = self.entries(&log, known, range).await?;
        let (writes, misread) = decoded::<S, N, C, _>(table, at, entries);
        self.applied(table, known, state, writes.into_iter())?;
        misread.map_or(Ok(()), |misread| Err(self.unreadable(&channel(table, at), id, misread)))
    }

    /// Sets a list to that of a newer state without the entries of these ranges. Returns false if it cannot.
    pub(super) async fn shortened<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        at: usize,
        (newer, added): (&S, &[LogRange]),
        state: &mut S,
    ) -> Result<bool, RunError> {
        let (log, known, mut entries) = (log_name(table, path, at), &S::channels(&table.schema)[at], vec![]);
        for range in added {
            entries.extend(self.entries(&log, known, range).await?);
        }
        let (writes, misread) = decoded::<S, N, C, _>(table, at, entries);
        Ok(misread.is_none() && state.reset_without(at, newer, &writes))
    }

    fn applied<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        known: &Channel,
        state: &mut S,
        mut writes: impl Iterator<Item = S::Write>,
    ) -> Result<(), RunError> {
        let mut merge = Merge::default();
        let applied = caught(|| {
            writes.try_for_each(|write| {
                merge.clear();
                state.apply(&table.schema, write, &mut merge).map_err(|error| known.redact(error.to_string()))
            })
        });
        let applied = applied.unwrap_or_else(|panic| Err(format!("its reducer panicked: {panic}")));
        applied.map_err(|reason| self.damaged(known.name(), &reason))
    }

    /// Returns the rows of a log that another rule wrote, if they are the parts of a list.
    async fn list(
        &self,
        stored: &ChannelShape,
        full: Option<RowId>,
        entries: Vec<Vec<u8>>,
    ) -> Result<Result<Vec<Vec<u8>>, Misread>, RunError> {
        if !LISTS.contains(&stored.rule.as_str()) {
            let reason = format!("it was kept as changes by the rule `{}`, which it no longer has", stored.rule);
            return Ok(Err(Misread { stored: stored.type_name.clone(), ..Misread::unreadable(&reason) }));
        }
        let mut rows = self.rows(full.map(Key::Row).into_iter().collect()).await?;
        rows.extend(entries);
        Ok(Ok(rows))
    }
}

/// Decodes the entries of a log as writes, up to the first that cannot be read.
fn decoded<S: State, N: NodeId, C, B: AsRef<[u8]>>(
    table: &Table<S, N, C>,
    at: usize,
    entries: impl IntoIterator<Item = (RowId, B)>,
) -> (Vec<S::Write>, Option<Misread>) {
    let mut writes = vec![];
    for (_, bytes) in entries {
        match reading::decode_write::<S>(&table.schema, at, false, bytes.as_ref()) {
            Ok(write) => writes.push(write),
            Err(misread) => return (writes, Some(misread)),
        }
    }
    (writes, None)
}
