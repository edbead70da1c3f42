//! Threads that other programs made or changed in the same store: they get records, so that lists have one source. They are looked for
//! before a list is read. Must not know routes.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use superstep::checkpoint::{CheckpointError, ItemWrite, ThreadId};
use superstep::graph::{StatusKind, ThreadFilter, ThreadInfo};
use superstep_base::time::system_time;

use crate::error::ApiResult;
use crate::progress::foreign::{Looked, with_skew};
use crate::records::items::{StoredRecord, create};
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// The number of threads that are read and written at once.
const PAGE: usize = 512;

impl Server {
    /// Gives threads of other programs their records, and changes those of threads that have changed since the last look: all
    /// threads the first time, then those with new checkpoints, those that are running and those that were. Threads that were imported
    /// and that nobody has trusted get none.
    pub(crate) async fn find_foreign(&self) -> ApiResult<()> {
        let Some(mut looked) = self.foreign.enter().await else { return Ok(()) };
        let (began, since) = (Instant::now(), self.records.time());
        let look = Look { server: self, since, own: self.executing.names().into_iter().collect() };
        match looked.since {
            None => look.at_all(ThreadFilter::new(), &mut looked).await?,
            Some(last) => look.at_changes(last, &mut looked).await?,
        }
        (looked.began, looked.since) = (Some(began), Some(since));
        Ok(())
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

impl Look<'_> {
    async fn at_changes(&self, last: u64, looked: &mut Looked) -> ApiResult<()> {
        let running: Vec<ThreadId> = looked.running.drain().collect();
        let changed = ThreadFilter::new().updated_since(system_time(with_skew(last)));
        self.at_all(changed, looked).await?;
        self.at_all(ThreadFilter::new().status(StatusKind::Running), looked).await?;
        for thread in running {
            let found = ThreadInfo::read(&*self.server.records.0, &thread).await?;
            let made = self.at_page(found.into_iter().collect(), looked).await?;
            self.remove_deleted(&made).await?;
        }
        Ok(())
    }

    async fn at_all(&self, filter: ThreadFilter, looked: &mut Looked) -> ApiResult<()> {
        let mut next = Some(filter.clone().limit(PAGE));
        while let Some(filter_of_page) = next.take() {
            let page = self.server.graphs.threads(filter_of_page.clone()).await?;
            next = page.next.map(|last| filter.clone().limit(PAGE).after(last));
            let mut made = self.at_page(page.threads, looked).await?;
            if !made.is_empty() {
                let listed = self.server.graphs.threads(filter_of_page).await?.threads;
                let listed: HashSet<ThreadId> = listed.into_iter().map(|info| info.id).collect();
                made.retain(|thread| !listed.contains(thread));
            }
            self.remove_deleted(&made).await?;
        }
        Ok(())
    }

    /// Writes the records of threads; returns the threads that had none.
    async fn at_page(&self, page: Vec<ThreadInfo>, looked: &mut Looked) -> ApiResult<Vec<ThreadId>> {
        let page: Vec<ThreadInfo> = page.into_iter().filter(|info| self.is_foreign(info)).collect();
        let records = self.records(&page).await?;
        let mut changes = vec![];
        for info in &page {
            let found = records.get(info.id.as_str());
            if info.status == StatusKind::Running && found.is_none_or(|found| found.record.queue.is_empty()) {
                looked.running.insert(info.id.clone());
            }
            changes.extend(self.change(found, info));
        }
        self.write(changes).await?;
        Ok(page.into_iter().map(|info| info.id).filter(|id| !records.contains_key(id.as_str())).collect())
    }

    /// Removes the records of threads that were deleted while they got them.
    async fn remove_deleted(&self, made: &[ThreadId]) -> ApiResult<()> {
        for thread in made {
            if ThreadInfo::read(&*self.server.records.0, thread).await?.is_none() {
                self.remove(thread).await?;
            }
        }
        Ok(())
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
