//! A whole thread: tags for its checkpoints, retention, deletion, a copy of its past, and trust in an imported one.
//!
//! Knows few records: a copy is made of bytes, and only checkpoints and the thread's own record are decoded.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_base::gather;

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::spending::delete_thread;
use crate::checkpoint::{
    self, AboutRecord, CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit, GcCounts, Key, Lease, Order,
    Record, Retention, ThreadHead, ThreadId, decode_record, encode_again, encode_record,
};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Reader, clock};
use crate::graph::state::{Boxed, State};

/// The number of records copied at once.
const PAGE: usize = 1000;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Tags the checkpoint that this handle is [at](Self::at), or the newest; [`gc`](Self::gc) keeps it. A tag of
    /// another checkpoint moves; that checkpoint is returned.
    ///
    /// # Errors
    /// [`RunError::EmptyInput`] if the thread has never run; as [`checkpoint::tag`].
    pub async fn tag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        self.core.tag(name.as_ref()).await
    }

    /// Removes a tag; returns the checkpoint that had it.
    ///
    /// # Errors
    /// As [`checkpoint::untag`].
    pub async fn untag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        self.core.untag(name.as_ref()).await
    }

    /// Returns the tags of the thread's checkpoints, in order.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn tags(&self) -> Result<Vec<(String, CheckpointId)>, RunError> {
        self.core.tags().await
    }

    /// Removes everything of the thread's past that the policy does not keep.
    ///
    /// ```
    /// # use superstep::checkpoint::Retention;
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// thread.clone().at(CheckpointId(3)).tag("before the edit").await?;
    /// println!("{}", thread.gc(&Retention::new().keep_last(20)).await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`checkpoint::gc`].
    pub async fn gc(&self, policy: &Retention) -> Result<GcCounts, RunError> {
        self.core.gc(policy).await
    }

    /// Allows an imported thread to be run, answered, updated and forked. Returns false if it was trusted already.
    ///
    /// # Errors
    /// As [`checkpoint::trust`].
    pub async fn trust(&self) -> Result<bool, RunError> {
        self.core.trust().await
    }

    /// Deletes the thread, its subgraphs included.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadBusy`](crate::checkpoint::CheckpointError) while a run holds it; if the store fails.
    pub async fn delete(&self) -> Result<(), RunError> {
        self.core.delete().await
    }

    /// Makes the checkpoint that this handle is [at](Self::at) the newest: those made after it are removed.
    ///
    /// # Errors
    /// [`RunError::InvalidConfig`] if the handle is at no checkpoint; as [`checkpoint::rewind`].
    pub async fn rewind(&self) -> Result<GcCounts, RunError> {
        self.core.rewind().await
    }

    /// Copies the thread as it was at a checkpoint into a new one: the checkpoints that lead to it, with everything
    /// they need. Results of the tasks planned there are not copied.
    ///
    /// # Errors
    /// [`RunError::InvalidConfig`] if there is a thread of that name, [`RunError::UnknownCheckpoint`]; if the store fails.
    pub async fn copy_to(&self, to: impl Into<ThreadId>, at: CheckpointId) -> Result<(), RunError> {
        self.core.copy_to(to.into(), at).await
    }
}

impl ThreadCore {
    pub(crate) fn tag<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Option<CheckpointId>, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.reader("a tag").await?;
            self.check_at(&reader).await?;
            let newest = self.newest(&reader, head).await?.map(|(id, _)| id);
            let id = self.at.or(newest).ok_or_else(|| self.empty_input_error())?;
            Ok(checkpoint::tag(&*reader.store, &reader.thread, id, name).await?)
        })
    }

    pub(crate) fn untag<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Option<CheckpointId>, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.store_and_id("a tag")?;
            Ok(checkpoint::untag(&**store, thread, name).await?)
        })
    }

    pub(crate) fn tags(&self) -> Boxed<'_, Result<Vec<(String, CheckpointId)>, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.store_and_id("tags")?;
            Ok(checkpoint::tags(&**store, thread).await?)
        })
    }

    pub(crate) fn gc<'a>(&'a self, policy: &'a Retention) -> Boxed<'a, Result<GcCounts, RunError>> {
        Box::pin(async move {
            self.check_whole("a removal")?;
            let (store, thread) = self.store_and_id("a removal")?;
            Ok(checkpoint::gc(&**store, thread, policy).await?)
        })
    }

    pub(crate) fn rewind(&self) -> Boxed<'_, Result<GcCounts, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.store_and_id("a rewind")?;
            let to = self.at.ok_or_else(|| RunError::InvalidConfig {
                what: "a rewind needs a checkpoint: choose one with `at`".into(),
            })?;
            let swept = checkpoint::rewind(&**store, thread, to).await?;
            self.graph.last_ends.forget(thread);
            Ok(swept)
        })
    }

    pub(crate) fn trust(&self) -> Boxed<'_, Result<bool, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.store_and_id("trust")?;
            Ok(checkpoint::trust(&**store, thread).await?)
        })
    }

    pub(crate) fn delete(&self) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(async move {
            self.check_whole("deletion")?;
            let Some((store, id)) = self.stored_in() else {
                return Err(RunError::NoCheckpointer { what: "deleting a thread" });
            };
            let lease = store.claim(id, Claim::IfFree).await?;
            delete_thread(&**store, &lease).await?;
            self.graph.last_ends.forget(id);
            Ok(())
        })
    }

    fn store_and_id(&self, what: &'static str) -> Result<(&Arc<dyn Checkpointer>, &ThreadId), RunError> {
        self.graph.store.as_ref().zip(self.id.as_ref()).ok_or(RunError::NoCheckpointer { what })
    }

    pub(crate) fn copy_to(&self, to: ThreadId, at: CheckpointId) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(async move {
            let (reader, head) = self.reader("copying a thread").await?;
            let line = reader.line(at).await?;
            let way: BTreeSet<CheckpointId> =
                gather(line.into_iter().flat_map(|(id, record)| [Some(id), record.base]).flatten());
            let lease = reader.store.claim(&to, Claim::IfFree).await?;
            if to.as_str().is_empty() {
                return Err(RunError::InvalidConfig { what: "the name of a thread cannot be empty".into() });
            }
            if reader.store.head(&to).await?.is_some() {
                return Err(RunError::InvalidConfig { what: format!("there is a thread `{to}` already") });
            }
            let next = head.map_or(at.0 + 1, |head| head.next);
            let copy = Copy {
                reader: &reader,
                now: self.now(),
                lease,
                head: ThreadHead { checkpoint: None, next, birth: self.environment.host.random() & clock::BIRTH },
            };
            copy.records(&way, at).await?;
            copy.commit(vec![], Some(at)).await
        })
    }
}

struct Copy<'a> {
    reader: &'a Reader,
    /// In milliseconds since 1970.
    now: u64,
    lease: Lease,
    head: ThreadHead,
}

impl Copy<'_> {
    async fn records(&self, way: &BTreeSet<CheckpointId>, at: CheckpointId) -> Result<(), RunError> {
        let store: &Arc<dyn Checkpointer> = &self.reader.store;
        let last = Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX };
        let mut from = Key::About;
        loop {
            let page = store.scan(&self.reader.thread, from.clone()..=last.clone(), Order::Ascending, PAGE).await?;
            let is_last = page.len() < PAGE;
            let end = page.last().map(|(key, _)| key.clone());
            let kept = page.into_iter().filter(|(key, _)| belongs(key, way, at));
            let kept = kept.map(|record| self.adjust(record, at)).collect::<Result<Vec<_>, _>>()?;
            self.commit(kept, None).await?;
            let Some(end) = end.filter(|_| !is_last) else { return Ok(()) };
            from = end; // it is copied twice, which changes nothing
        }
    }

    /// Adjusts a record for the new thread: its creation time, and the log line of the last checkpoint. Log entries of
    /// tasks that ran at that checkpoint are copied but not part of its state, so later entries start a range of their
    /// own.
    fn adjust(&self, (key, bytes): Record, at: CheckpointId) -> Result<Record, RunError> {
        match key {
            Key::About => {
                let about: AboutRecord = decode_record(&self.reader.thread, &key, &bytes)?;
                Ok((key, encode_record(&AboutRecord { created_at: self.now, ..about })?))
            }
            Key::Checkpoint(id) if id == at => {
                let record: CheckpointRecord = decode_record(&self.reader.thread, &key, &bytes)?;
                Ok((key, encode_again(&bytes, &CheckpointRecord { line: CheckpointId(self.head.next), ..record })?))
            }
            _ => Ok((key, bytes)),
        }
    }

    async fn commit(&self, puts: Vec<Record>, checkpoint: Option<CheckpointId>) -> Result<(), RunError> {
        let head = ThreadHead { checkpoint, ..self.head };
        let moved = Commit::new(self.lease.thread().clone(), self.lease.epoch(), None, head);
        Ok(self.reader.store.commit(moved.with_records(puts)).await?)
    }
}

fn belongs(key: &Key, way: &BTreeSet<CheckpointId>, at: CheckpointId) -> bool {
    match key {
        Key::Head | Key::Tag(_) | Key::Signal { .. } => false,
        Key::About | Key::Shape(_) => true,
        Key::Checkpoint(id) => way.contains(id),
        Key::Nested(id) => *id < at,
        Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => *checkpoint < at,
        Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => *checkpoint < at,
        Key::Row(row) | Key::Log { row, .. } => row.checkpoint <= at,
    }
}
