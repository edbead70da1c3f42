//! Threads that other programs made or changed in the same store: they get records, so that lists have one source. They are looked for
//! before a list is read. Must not know routes.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use superstep::checkpoint::{CheckpointError, ItemWrite, ThreadId, ThreadQuery};
use superstep::graph::{StatusKind, ThreadInfo};
use tokio::time::sleep;

use crate::error::ApiResult;
use crate::progress::foreign::{FirstLook, with_skew};
use crate::records::items::{Record, StoredRecord, create};
use crate::records::order::{ThreadPlace, ThreadTime};
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// The number of threads whose records are read and written at once.
const PAGE: usize = 512;
/// The number of threads that are listed and put in order at once.
const BATCH: usize = 50_000;
/// The number of threads that are looked for one by one.
const FEW: usize = 8;
/// The smallest interval at which all threads are looked at again, and the part of the time that may go into it: one hundredth.
const INTERVAL: Duration = Duration::from_secs(60);
const PART: u32 = 100;

/// Finds the threads that other programs have left, so that the first list need not. While lists are read, looks at all of them again
/// from time to time. Ends when the server stops.
pub(crate) async fn watch_foreign(server: Arc<Server>) {
    let began = Instant::now();
    if let Err(error) = server.find_foreign().await {
        tracing::warn!(%error, "threads of other programs are not listed yet");
    }
    let mut took = began.elapsed();
    while server.stop.run_until_cancelled(sleep(INTERVAL.max(took * PART))).await.is_some() {
        if !server.foreign.take_reader() {
            continue;
        }
        let began = Instant::now();
        if let Err(error) = server.look_again().await {
            tracing::warn!(%error, "changes by other programs are not listed yet");
        }
        took = began.elapsed();
    }
}

impl Server {
    /// Gives threads of other programs their records, and changes those of threads that have changed since the last look: all
    /// threads the first time, then those with new checkpoints, those that are running and those that were. Threads that were imported
    /// and that nobody has trusted get none.
    pub(crate) async fn find_foreign(&self) -> ApiResult<()> {
        self.foreign.note_reader();
        let Some(mut looked) = self.foreign.enter().await else { return Ok(()) };
        let (began, look) = (Instant::now(), Look::of(self));
        match looked.since {
            None => look.at_first(&self.foreign.begin_first(look.since)).await?,
            Some(last) => look.at_changes(last).await?,
        }
        (looked.began, looked.since) = (Some(began), Some(look.since));
        Ok(())
    }

    /// Does the same for a list of threads in the order of their creation, the newest first. It need not wait for the first look, which
    /// comes to the newest threads first, but for [the part](Self::wait_for_foreign) that it shows.
    pub(crate) async fn find_newest_foreign(&self) -> ApiResult<()> {
        match self.foreign.first_began() {
            Some(began) => Look::of(self).at_changes(began).await,
            None => self.find_foreign().await,
        }
    }

    /// Waits until the first look has come to the threads that were made at a time or later, in milliseconds since 1970.
    pub(crate) async fn wait_for_foreign(&self, time: u64) -> ApiResult<()> {
        match self.foreign.wait_until_reached(time).await {
            true => Ok(()),
            false => self.find_foreign().await,
        }
    }

    /// Looks at all threads again: at those that have failed without a new checkpoint or were deleted, which no other look sees.
    pub(crate) async fn look_again(&self) -> ApiResult<()> {
        Look::of(self).at_all(None).await
    }

    /// Returns the record of a thread as another program has left it; `None` if that has deleted the thread.
    pub(crate) async fn refresh(&self, record: &ThreadRecord) -> ApiResult<Option<ThreadRecord>> {
        let (look, id) = (Look::of(self), ThreadId::from(record.thread.as_str()));
        match ThreadInfo::read(&*self.records.0, &id).await? {
            Some(info) => look.at_page(vec![info]).await.map(drop)?,
            None => look.remove_lost(record).await?,
        }
        Ok(self.records.get::<ThreadRecord>(&record.key()).await?.map(|found| found.record))
    }
}

/// One look at the threads of the store.
struct Look<'a> {
    server: &'a Server,
    /// The time at which it began.
    since: u64,
    /// The threads that this server executes.
    own: HashSet<ThreadId>,
}

impl<'a> Look<'a> {
    fn of(server: &'a Server) -> Self {
        Self { server, since: server.records.time(), own: server.executing.names().into_iter().collect() }
    }

    async fn at_changes(&self, last: u64) -> ApiResult<()> {
        let running = self.server.foreign.take_running();
        let (mut changed, mut busy) = (ThreadQuery::default(), ThreadQuery::default());
        changed.updated_since = Some(with_skew(last));
        busy.statuses = vec![StatusKind::Running];
        self.at_listed(changed).await?;
        self.at_listed(busy).await?;
        for thread in running {
            let found = ThreadInfo::read(&*self.server.records.0, &thread).await?;
            let made = self.at_page(found.into_iter().collect()).await?;
            self.remove_deleted(made).await?;
        }
        Ok(())
    }

    /// Looks at the threads of a list, a page at a time.
    async fn at_listed(&self, mut query: ThreadQuery) -> ApiResult<()> {
        query.limit = Some(PAGE);
        loop {
            let page = self.list(&query).await?;
            let is_last = page.len() < PAGE;
            query.after = page.last().map(|last| last.id.clone());
            let made = self.at_page(page).await?;
            self.remove_deleted(made).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Looks at all threads while others wait for the newest of them.
    async fn at_first(&self, first: &FirstLook<'_>) -> ApiResult<()> {
        self.at_all(Some(first)).await?;
        first.end();
        Ok(())
    }

    /// Looks at the summaries of all threads, and at the records of those that are gone.
    async fn at_all(&self, first: Option<&FirstLook<'_>>) -> ApiResult<()> {
        let (mut query, mut names) = (ThreadQuery::default(), HashSet::new());
        query.limit = Some(BATCH);
        loop {
            let mut batch = self.list(&query).await?;
            let is_last = batch.len() < BATCH;
            let is_whole = is_last && query.after.is_none();
            query.after = batch.last().map(|last| last.id.clone());
            names.extend(batch.iter().map(|info| ThreadRecord::key_of(info.id.as_str())));
            batch.sort_by_key(|info| Reverse(info.created_at));
            self.at_batch(batch, first.filter(|_| is_whole)).await?;
            if is_last {
                return self.remove_all_lost(&names).await;
            }
        }
    }

    /// Looks at threads in their order, which is that of `first` too.
    async fn at_batch(&self, batch: Vec<ThreadInfo>, first: Option<&FirstLook<'_>>) -> ApiResult<()> {
        let (mut rest, mut made) = (batch, vec![]);
        while !rest.is_empty() {
            let later = rest.split_off(rest.len().min(PAGE));
            let page = std::mem::replace(&mut rest, later);
            let oldest = page.last().map_or(0, |info| info.created_at);
            made.extend(self.at_page(page).await?);
            first.iter().for_each(|first| first.reach(oldest + 1)); // the next page may have others of that time
        }
        self.remove_deleted(made).await
    }

    async fn list(&self, query: &ThreadQuery) -> ApiResult<Vec<ThreadInfo>> {
        Ok(self.server.records.0.list(query).await?.into_iter().map(ThreadInfo::from).collect())
    }

    /// Writes the records of threads; returns the threads that had none.
    async fn at_page(&self, page: Vec<ThreadInfo>) -> ApiResult<Vec<ThreadId>> {
        let page: Vec<ThreadInfo> = page.into_iter().filter(|info| self.is_foreign(info)).collect();
        let records = self.records(&page).await?;
        let mut changes = vec![];
        for info in &page {
            let found = records.get(info.id.as_str());
            if info.status == StatusKind::Running && found.is_none_or(|found| found.record.queue.is_empty()) {
                self.server.foreign.note_running(&info.id);
            }
            changes.extend(self.change(found, info));
        }
        self.write(changes).await?;
        Ok(page.into_iter().map(|info| info.id).filter(|id| !records.contains_key(id.as_str())).collect())
    }

    /// Removes the records of threads that were deleted while they got them.
    async fn remove_deleted(&self, mut made: Vec<ThreadId>) -> ApiResult<()> {
        if made.len() > FEW {
            let names = self.names().await?;
            made.retain(|thread| !names.contains(thread));
        }
        for thread in made {
            if ThreadInfo::read(&*self.server.records.0, &thread).await?.is_none() {
                self.remove(&thread).await?;
            }
        }
        Ok(())
    }

    /// Returns the names of all threads.
    async fn names(&self) -> ApiResult<HashSet<ThreadId>> {
        let (mut names, mut after) = (HashSet::new(), None);
        loop {
            let page = self.server.records.0.threads(after.as_ref(), BATCH).await?;
            let is_last = page.len() < BATCH;
            after = page.last().cloned();
            names.extend(page);
            if is_last {
                return Ok(names);
            }
        }
    }

    /// Removes what the server knows of threads that another program has deleted. `names` are the keys of all that are there.
    async fn remove_all_lost(&self, names: &HashSet<String>) -> ApiResult<()> {
        let (records, mut after) = (&self.server.records, None);
        loop {
            let places = records.page::<ThreadPlace>(ThreadTime::Created.prefix(), after.take(), PAGE).await?;
            after = places.last().map(|last| last.record.key());
            let is_last = places.len() < PAGE;
            let keys = places.into_iter().map(|place| place.record.thread).filter(|key| !names.contains(key));
            for found in records.get_all::<ThreadRecord>(keys).await? {
                if found.record.is_left(self.since) {
                    self.remove_lost(&found.record).await?;
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Removes what the server knows of a thread, if another program has deleted it.
    async fn remove_lost(&self, record: &ThreadRecord) -> ApiResult<()> {
        let id = ThreadId::from(record.thread.as_str());
        if self.own.contains(&id) || ThreadInfo::read(&*self.server.records.0, &id).await?.is_some() {
            return Ok(());
        }
        let found = self.server.records.get::<ThreadRecord>(&record.key()).await?;
        match found.filter(|found| found.record.is_left(self.since)) {
            Some(found) => match self.server.remove_records(&found).await {
                Err(error) if error.status == StatusCode::CONFLICT => Ok(()), // it has a run now
                removed => removed,
            },
            None => Ok(()),
        }
    }

    async fn remove(&self, thread: &ThreadId) -> ApiResult<()> {
        let key = ThreadRecord::key_of(thread.as_str());
        let removed = self.server.records.change::<ThreadRecord, _>(&key, |found| {
            let found = found.filter(|found| found.record.queue.is_empty())?;
            Some((vec![found.remove()], ()))
        });
        Ok(removed.await.map(|_| ())?)
    }

    /// Returns whether a thread is one that this server does not execute, can show, and may show.
    fn is_foreign(&self, info: &ThreadInfo) -> bool {
        let is_trusted = info.foreign.as_ref().is_none_or(|foreign| foreign.trusted);
        is_trusted && !self.own.contains(&info.id) && self.server.graphs.get(&info.graph).is_ok()
    }

    async fn records(&self, page: &[ThreadInfo]) -> ApiResult<HashMap<String, StoredRecord<ThreadRecord>>> {
        let keys = page.iter().map(|info| ThreadRecord::key_of(info.id.as_str()));
        let found = self.server.records.get_all::<ThreadRecord>(keys).await?;
        Ok(found.into_iter().map(|found| (found.record.thread.clone(), found)).collect())
    }

    /// Returns the write of a thread's record with what the store says of it; `None` if there is nothing to change.
    fn change(&self, found: Option<&StoredRecord<ThreadRecord>>, info: &ThreadInfo) -> Option<ItemWrite> {
        match found {
            None => Some(create(&ThreadRecord::of(info))),
            Some(found) => Some(found.replace(&found.record.changed_elsewhere(info, self.since)?)),
        }
    }

    /// Writes records together, or each alone if one has changed meanwhile.
    async fn write(&self, changes: Vec<ItemWrite>) -> ApiResult<()> {
        if changes.is_empty() {
            return Ok(());
        }
        match self.server.records.write(changes.clone()).await {
            Err(CheckpointError::ItemConflict { .. }) => self.write_each(changes).await?,
            written => written?,
        }
        Ok(())
    }

    async fn write_each(&self, changes: Vec<ItemWrite>) -> ApiResult<()> {
        for change in changes {
            match self.server.records.write(vec![change]).await {
                Ok(()) | Err(CheckpointError::ItemConflict { .. }) => {} // the next look sees what came meanwhile
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
