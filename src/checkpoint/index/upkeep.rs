//! Lists and due threads of a store that keeps an index. The index is brought up to date first: the summaries of threads that
//! have changed are read and written to it, unless somebody runs them. Threads that run are read from their records.

use std::collections::{BTreeMap, HashSet};

use superstep_base::time::system_time;

use super::changes::ChangedThreads;
use super::due::{DueGroups, DueWalk};
use super::keys::{IndexReads, decode_summary, summary_key};
use super::search::search;
use crate::checkpoint::commit::Receipt;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::leases::lease::{Lease, Leases};
use crate::checkpoint::listing::due::{DueQuery, DueThreads, note_version};
use crate::checkpoint::listing::query::{ThreadQuery, list_by_reading, list_order};
use crate::checkpoint::listing::reads::{ReadFuture, ThreadReads};
use crate::checkpoint::listing::summary::ListedThread;
use crate::checkpoint::listing::summary_reader::SummaryReader;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of threads whose summaries are written at once.
const PIECE: usize = 256;

/// A store that keeps an index.
pub(in crate::checkpoint) trait IndexedStore: Send + Sync {
    fn changes(&self) -> &ChangedThreads;
    fn leases(&self) -> &Leases;

    /// Claims a thread that nobody runs.
    fn claim_free<'a>(&'a self, thread: &'a ThreadId) -> ReadFuture<'a, Lease>;

    /// Reads the index as of one moment.
    fn read_index(&self, read: &mut dyn FnMut(&dyn IndexReads) -> Result<()>) -> Result<()>;

    /// Changes the index, without waiting for the disk.
    fn write_index(&self, write: IndexWrite) -> Receipt;
}

/// A change of an index.
#[derive(Debug)]
pub(in crate::checkpoint) enum IndexWrite {
    /// Empties it, after all earlier commits.
    Start,
    /// Replaces the rows of threads.
    Entries(Vec<IndexEntry>),
    /// Notes that it is complete.
    Complete,
}

/// The summary of a thread as of a change; without one the thread is gone. An entry is ignored if the thread has changed
/// again.
#[derive(Debug)]
pub(in crate::checkpoint) struct IndexEntry {
    pub(in crate::checkpoint) thread: ThreadId,
    /// The number of its last change before its records were read.
    pub(in crate::checkpoint) change: Option<u64>,
    pub(in crate::checkpoint) summary: Option<ListedThread>,
}

/// Returns the threads of a store that meet the conditions of a query. Without a usable index it reads every thread.
pub(in crate::checkpoint) async fn list(
    store: &dyn IndexedStore,
    reads: &dyn ThreadReads,
    query: &ThreadQuery,
) -> Result<Vec<ListedThread>> {
    match list_by_index(store, reads, query).await {
        Ok(found) => Ok(found),
        Err(_) => list_by_reading(reads, query).await,
    }
}

async fn list_by_index(
    store: &dyn IndexedStore,
    reads: &dyn ThreadReads,
    query: &ThreadQuery,
) -> Result<Vec<ListedThread>> {
    bring_up_to_date(store, reads).await?;
    let held = store.leases().held_threads();
    let changed = store.changes().all().into_iter().map(|(thread, _)| thread);
    let apart: HashSet<ThreadId> = changed.chain(held).collect();
    let mut found = vec![];
    read_index(store, &mut |rows| {
        found = search(rows, query, reads.is_store_foreign(), &apart)?;
        Ok(())
    })?;
    let (mut reader, now) = (SummaryReader::new(reads), query.time());
    for thread in apart.iter().filter(|thread| query.fits_name(thread)) {
        found.extend(reader.read(thread, now).await?.filter(|thread| query.fits(thread)));
    }
    query.keep_newest(&mut found);
    found.sort_by(|a, b| list_order(&a.id, &b.id));
    found.truncate(query.page());
    Ok(found)
}

/// Reads the index; one that cannot be read is made anew for the next list.
fn read_index(store: &dyn IndexedStore, read: &mut dyn FnMut(&dyn IndexReads) -> Result<()>) -> Result<()> {
    store.read_index(read).inspect_err(|_| store.changes().discard())
}

/// Writes the summaries of threads that have changed and that nobody runs.
async fn bring_up_to_date(store: &dyn IndexedStore, reads: &dyn ThreadReads) -> Result<()> {
    let changes = store.changes();
    let _turn = changes.turn().await;
    if !changes.is_complete() {
        make_index(store, reads).await?;
    }
    let (held, mut reader) = (store.leases().held_threads(), SummaryReader::new(reads));
    let mut changed = changes.all();
    changed.retain(|(thread, _)| !held.contains(thread));
    for piece in changed.chunks(PIECE) {
        let piece: Vec<_> = piece.iter().map(|(thread, change)| (thread.clone(), Some(*change))).collect();
        write_summaries(store, &mut reader, piece).await?;
    }
    Ok(())
}

/// Makes the index of a store that has none.
async fn make_index(store: &dyn IndexedStore, reads: &dyn ThreadReads) -> Result<()> {
    let changes = store.changes();
    changes.track();
    store.write_index(IndexWrite::Start).await?;
    let (mut reader, mut after) = (SummaryReader::new(reads), None);
    loop {
        let names = reads.read_names(after.as_ref(), PIECE).await?;
        let is_last = names.len() < PIECE;
        after = names.last().cloned();
        let piece = names.into_iter().map(|thread| (thread.clone(), changes.number(&thread))).collect();
        write_summaries(store, &mut reader, piece).await?;
        if is_last {
            break;
        }
    }
    store.write_index(IndexWrite::Complete).await?;
    changes.complete();
    Ok(())
}

async fn write_summaries(
    store: &dyn IndexedStore,
    reader: &mut SummaryReader<'_>,
    threads: Vec<(ThreadId, Option<u64>)>,
) -> Result<()> {
    let mut entries = vec![];
    for (thread, change) in threads {
        let summary = reader.read_records(&thread).await?;
        entries.push(IndexEntry { thread, change, summary });
    }
    store.write_index(IndexWrite::Entries(entries)).await
}

/// Claims threads that are due, those that have been due for the longest time first.
pub(in crate::checkpoint) async fn due(
    store: &dyn IndexedStore,
    reads: &dyn ThreadReads,
    query: &DueQuery,
) -> Result<DueThreads> {
    if reads.is_store_foreign() {
        return Ok(DueThreads::default());
    }
    bring_up_to_date(store, reads).await?;
    let (now, mut threads, mut groups) = (query.time(), vec![], DueGroups::default());
    read_index(store, &mut |rows| {
        groups = DueGroups::read(rows, query)?;
        Ok(())
    })?;
    let (mut walk, mut reader) = (DueWalk::until(&groups.asked, now), SummaryReader::new(reads));
    while threads.len() < query.limit {
        let Some((_, thread)) = next_free(store, query, &mut walk)? else { break };
        let lease = match store.claim_free(&thread).await {
            Err(CheckpointError::ThreadBusy { .. }) => continue,
            lease => lease?,
        };
        // Somebody may have run it since the index was brought up to date.
        let found = reader.read_records(&thread).await?.map(|found| found.at(now, false));
        match found.filter(|found| found.can_resume() && query.fits(found)) {
            Some(found) => threads.push((lease, found)),
            None => lease.release().await?,
        }
    }
    let next = next_free(store, query, &mut DueWalk::after(&groups.asked, now))?.map(|(due, _)| system_time(due));
    let others = if query.finds_others { graphs_of(store, &groups.others, now)? } else { BTreeMap::new() };
    Ok(DueThreads { threads, next, others })
}

/// Returns the graphs of groups that have a thread which is due, each with its newest version.
fn graphs_of(store: &dyn IndexedStore, groups: &[Vec<u8>], now: u64) -> Result<BTreeMap<String, u32>> {
    let mut graphs = BTreeMap::new();
    for group in groups {
        let mut walk = DueWalk::until(std::slice::from_ref(group), now);
        read_index(store, &mut |rows| {
            while let Some((_, thread)) = walk.next(rows)? {
                let row = rows.row(&summary_key(&thread))?.filter(|_| store.leases().is_available(&thread, false));
                if let Some(row) = row {
                    let ListedThread { graph, version, .. } = decode_summary(&row)?;
                    note_version(&mut graphs, &graph, version);
                    break;
                }
            }
            Ok(())
        })?;
    }
    Ok(graphs)
}

/// Returns the next thread of a walk that is asked for, that nobody runs and nobody has left.
fn next_free(store: &dyn IndexedStore, query: &DueQuery, walk: &mut DueWalk) -> Result<Option<(u64, ThreadId)>> {
    let mut found = None;
    read_index(store, &mut |rows| {
        found = walk.next(rows)?;
        while let Some((_, thread)) = &found
            && !(store.leases().is_available(thread, query.with_left) && is_asked(rows, query, thread)?)
        {
            found = walk.next(rows)?;
        }
        Ok(())
    })?;
    Ok(found)
}

fn is_asked(rows: &dyn IndexReads, query: &DueQuery, thread: &ThreadId) -> Result<bool> {
    let row = rows.row(&summary_key(thread))?;
    Ok(row.map(|row| decode_summary(&row)).transpose()?.is_some_and(|thread| query.fits(&thread)))
}
