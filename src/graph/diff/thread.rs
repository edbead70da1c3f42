//! `Thread::diff` and its variants: chooses the checkpoints, and compares the journals on the paths to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::compare::compare;
use super::outline::face;
use super::types::{Diff, RecordedEntry};
use crate::checkpoint::{CheckpointId, Key, Order};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::Reader;
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, State};
use crate::graph::thread::{Thread, ThreadCore};
use crate::graph::view::{Face, Seen, Snapshot};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the difference between two checkpoints of the thread: its channels, next tasks and questions. Checkpoints
    /// are compared as they were written, with the latest questions of their tasks. Shared data is not read: channels in
    /// the same rows, and common entries of an appended list. Also returns the journal entries recorded on the path from
    /// the common ancestor to each of the two.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), Box<dyn std::error::Error>> {
    /// let steps = thread.history().await?.limit(2).metadata_only().await?;
    /// let diff = thread.diff(steps[1].id, steps[0].id).await?;
    /// println!("{diff}"); // for people
    /// println!("{}", serde_json::to_string(&diff)?); // for tools
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], [`RunError::UnknownCheckpoint`]; if there is no store, it cannot be read, or a value in it does not fit its channel.
    pub async fn diff(&self, from: CheckpointId, to: CheckpointId) -> Result<Diff, RunError> {
        self.clone().at(from).diff_to(&self.clone().at(to)).await
    }

    /// Like [`diff`](Self::diff), with the subgraphs of both.
    ///
    /// # Errors
    /// As [`diff`](Self::diff).
    pub async fn diff_deep(&self, from: CheckpointId, to: CheckpointId) -> Result<Diff, RunError> {
        self.clone().at(from).diff_deep_to(&self.clone().at(to)).await
    }

    /// Returns the difference from this handle's checkpoint ([`at`](Self::at); else the thread's newest) to that of
    /// another: of any thread, store and graph. Channels are compared by name.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`] if one of the threads has never run; otherwise as [`diff`](Self::diff).
    pub async fn diff_to<T: State, M: NodeId, D: Send + Sync + 'static>(
        &self,
        to: &Thread<T, M, D>,
    ) -> Result<Diff, RunError> {
        self.core.diff(&to.core, false).await
    }

    /// Like [`diff_to`](Self::diff_to), with the subgraphs of both.
    ///
    /// # Errors
    /// As [`diff_to`](Self::diff_to).
    pub async fn diff_deep_to<T: State, M: NodeId, D: Send + Sync + 'static>(
        &self,
        to: &Thread<T, M, D>,
    ) -> Result<Diff, RunError> {
        self.core.diff(&to.core, true).await
    }
}

impl ThreadCore {
    fn diff<'a>(&'a self, to: &'a ThreadCore, deep: bool) -> Boxed<'a, Result<Diff, RunError>> {
        Box::pin(catch_panics("comparing checkpoints", self.compare_with(to, deep)))
    }

    async fn compare_with(&self, to: &ThreadCore, deep: bool) -> Result<Diff, RunError> {
        let mut diff = compare(&*self.face().await?, &*to.face().await?, deep).await?;
        let stores = self.graph.store.as_ref().zip(to.graph.store.as_ref());
        if self.id == to.id && stores.is_some_and(|(one, other)| Arc::ptr_eq(one, other)) {
            let (reader, _) = self.reader("comparing checkpoints").await?;
            let (old, new) = paths(&reader, diff.from.checkpoint, diff.to.checkpoint).await?;
            diff.unrecorded = self.journal_entries(&reader, old).await?;
            diff.recorded = to.journal_entries(&reader, new).await?;
            let same = |one: &RecordedEntry, other: &RecordedEntry| one.node == other.node && one.entry == other.entry;
            let both = diff.recorded.iter().filter(|new| diff.unrecorded.iter().any(|old| same(old, new)));
            let both: Vec<RecordedEntry> = both.cloned().collect();
            diff.recorded.retain(|only| !both.iter().any(|both| same(both, only)));
            diff.unrecorded.retain(|only| !both.iter().any(|both| same(both, only)));
        }
        Ok(diff)
    }

    /// Returns the journal entries of the checkpoints' tasks, oldest first.
    async fn journal_entries(&self, reader: &Reader, path: Vec<CheckpointId>) -> Result<Vec<RecordedEntry>, RunError> {
        let mut recorded = vec![];
        for checkpoint in path {
            let snapshot = Snapshot::read(&self.graph.table, reader, checkpoint, Seen::Past, false).await?;
            for task in &snapshot.tasks {
                let entries = task.ledger.entries().await?.into_iter();
                let (task, node) = (task.id.clone(), task.name.clone());
                recorded.extend(entries.map(|entry| {
                    let (task, node) = (task.clone(), node.clone());
                    RecordedEntry { checkpoint, task, node, entry }
                }));
            }
        }
        Ok(recorded)
    }

    async fn face(&self) -> Result<Box<dyn Face>, RunError> {
        let (reader, head) = self.known("comparing checkpoints").await?;
        self.check_at(&reader).await?;
        let newest = match self.at {
            Some(_) => None,
            None => self.newest(&reader, Some(head)).await?.map(|(id, _)| id),
        };
        let id = self.at.or(newest).ok_or_else(|| self.unknown())?;
        face(&self.graph.table, &reader, id).await
    }
}

/// Returns the checkpoints with journal entries between the common ancestor and each of two checkpoints, oldest first.
async fn paths(
    reader: &Reader,
    from: CheckpointId,
    to: CheckpointId,
) -> Result<(Vec<CheckpointId>, Vec<CheckpointId>), RunError> {
    if !reader.has_entries(from.max(to)).await? {
        return Ok((vec![], vec![]));
    }
    let (mut one, mut other) = ((from, vec![]), (to, vec![]));
    while one.0 != other.0 {
        let later = if one.0 > other.0 { &mut one } else { &mut other };
        let Some(record) = reader.record(later.0).await? else { break };
        let Some(parent) = record.parent.filter(|_| record.namespace.is_empty()) else { break };
        later.1.push(parent);
        later.0 = parent;
    }
    let written = reader.with_entries(one.0.min(other.0), from.max(to)).await?;
    let kept = |(_, path): (CheckpointId, Vec<CheckpointId>)| {
        path.into_iter().rev().filter(|checkpoint| written.contains(checkpoint)).collect()
    };
    Ok((kept(one), kept(other)))
}

impl Reader {
    /// True if any task up to this checkpoint has journal entries.
    async fn has_entries(&self, last: CheckpointId) -> Result<bool, RunError> {
        let range = entries_at(CheckpointId(0), 0)..=entries_at(last, u32::MAX);
        Ok(!self.store.scan(&self.thread, range, Order::Ascending, 1).await?.is_empty())
    }

    /// Returns the checkpoints of a range whose tasks have journal entries.
    async fn with_entries(&self, first: CheckpointId, last: CheckpointId) -> Result<BTreeSet<CheckpointId>, RunError> {
        let found = self.scan(entries_at(first, 0)..=entries_at(last, u32::MAX)).await?;
        let checkpoint = |(key, _): (Key, Vec<u8>)| match key {
            Key::Effect { checkpoint, key, .. } => Some(checkpoint).filter(|_| !key.is_empty()),
            _ => None,
        };
        Ok(found.into_iter().filter_map(checkpoint).collect())
    }
}

fn entries_at(checkpoint: CheckpointId, task: u32) -> Key {
    Key::Effect { checkpoint, task, key: String::new() }
}
