//! `Thread::diff` and its variants: chooses two checkpoints, compares their channels and the journals on the paths to them.
//! Channels stored in the same rows are not read, and of a log that only grew only the new entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_base::gather;

use super::edits::{Edit, edits, join_pointer};
use super::outline::face;
use super::report::{ChannelDiff, Diff, DiffQuestion, RecordedEntry, Side, SubgraphChange, SubgraphDiff, ValueChange};
use crate::checkpoint::{BoxFuture, CheckpointId, Key, Order};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Reader, growth};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, Channel, Mask, State, Storage};
use crate::graph::thread::{Thread, ThreadCore};
use crate::graph::view::{Face, ReadMode, Snapshot};

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
            let snapshot = Snapshot::read(&self.graph.table, reader, checkpoint, ReadMode::Past, false).await?;
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

    pub(super) async fn face(&self) -> Result<Box<dyn Face>, RunError> {
        let (reader, head) = self.known("comparing checkpoints").await?;
        self.check_at(&reader).await?;
        let newest = match self.at {
            Some(_) => None,
            None => self.newest(&reader, Some(head)).await?.map(|(id, _)| id),
        };
        let id = self.at.or(newest).ok_or_else(|| self.empty_input_error())?;
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
        Ok(gather(found.into_iter().filter_map(checkpoint)))
    }
}

fn entries_at(checkpoint: CheckpointId, task: u32) -> Key {
    Key::Effect { checkpoint, task, key: String::new() }
}

/// Compares two checkpoints; with `deep`, their subgraphs too.
pub(crate) fn compare<'a>(from: &'a dyn Face, to: &'a dyn Face, deep: bool) -> BoxFuture<'a, Result<Diff, RunError>> {
    Box::pin(async move {
        let asked = |face: &dyn Face| face.facts().questions.iter().map(DiffQuestion::from).collect::<Vec<_>>();
        let (gone, asked) = difference(asked(from), asked(to));
        let subgraphs = if deep { compare_subgraphs(from, to).await? } else { vec![] };
        let channels = Channels::pair(from, to).compare().await?;
        let (recorded, unrecorded) = (vec![], vec![]);
        Ok(Diff { from: side(from), to: side(to), channels, asked, gone, recorded, unrecorded, subgraphs })
    })
}

fn side(face: &dyn Face) -> Side {
    let facts = face.facts();
    Side {
        thread: facts.reader.thread.clone(),
        checkpoint: facts.id,
        step: facts.step,
        source: facts.source,
        next: facts.next.clone(),
    }
}

/// Returns the questions that only the old and only the new checkpoint has.
fn difference(old: Vec<DiffQuestion>, mut new: Vec<DiffQuestion>) -> (Vec<DiffQuestion>, Vec<DiffQuestion>) {
    let mut gone = vec![];
    for asked in old {
        match new.iter().position(|other| other.is_like(&asked)) {
            Some(at) => drop(new.remove(at)),
            None => gone.push(asked),
        }
    }
    (gone, new)
}

async fn compare_subgraphs(from: &dyn Face, to: &dyn Face) -> Result<Vec<SubgraphDiff>, RunError> {
    let (old, new) = (from.facts(), to.facts());
    let mut found = vec![];
    for (node, at, child) in &new.inside {
        let now = child.0.face(&new.reader, *at).await?;
        let inside = match old.inside.iter().find(|(known, ..)| known == node) {
            Some((_, at, child)) => {
                let was = child.0.face(&old.reader, *at).await?;
                SubgraphChange::Diff(Box::new(compare(&*was, &*now, true).await?))
            }
            None => SubgraphChange::Began(side(&*now)),
        };
        if !matches!(&inside, SubgraphChange::Diff(diff) if diff.is_empty()) {
            found.push(SubgraphDiff { node: node.clone(), inside });
        }
    }
    for (node, at, child) in old.inside.iter().filter(|(node, ..)| new.inside.iter().all(|(known, ..)| known != node)) {
        let was = child.0.face(&old.reader, *at).await?;
        found.push(SubgraphDiff { node: node.clone(), inside: SubgraphChange::Ended(side(&*was)) });
    }
    Ok(found)
}

struct Pair<'a> {
    channel: &'a Channel,
    secret: bool,
    old: Option<usize>,
    new: Option<usize>,
}

struct Channels<'a> {
    from: &'a dyn Face,
    to: &'a dyn Face,
    /// Set if equal rows mean equal values: one store, thread and graph.
    one_thread: bool,
    pairs: Vec<Pair<'a>>,
}

impl<'a> Channels<'a> {
    fn pair(from: &'a dyn Face, to: &'a dyn Face) -> Self {
        let (old, new) = (from.facts(), to.facts());
        let place = |channels: &[Channel], name: &str| channels.iter().position(|channel| channel.name() == name);
        let both = to.channels().iter().enumerate().map(|(at, channel)| {
            let before = place(from.channels(), channel.name());
            let secret = channel.is_secret() || before.is_some_and(|at| from.channels()[at].is_secret());
            Pair { channel, secret, old: before, new: Some(at) }
        });
        let gone = from.channels().iter().enumerate().filter(|(_, known)| place(to.channels(), known.name()).is_none());
        let gone = gone.map(|(at, channel)| Pair { channel, secret: channel.is_secret(), old: Some(at), new: None });
        let kept = |pair: &Pair<'_>| pair.channel.storage() != Storage::Never;
        let one_store = Arc::ptr_eq(&old.reader.store, &new.reader.store);
        let one_thread = one_store && old.reader.thread == new.reader.thread && old.graph == new.graph;
        Self { from, to, one_thread, pairs: both.chain(gone).filter(kept).collect() }
    }

    async fn compare(self) -> Result<Vec<ChannelDiff>, RunError> {
        let mut found: Vec<Option<ChannelDiff>> = vec![];
        let mut unread = vec![];
        for pair in self.pairs.iter().filter(|pair| !self.is_same(pair)) {
            match self.log_growth(pair).await? {
                Some(diff) => found.push(diff),
                None => {
                    unread.push((found.len(), pair));
                    found.push(None);
                }
            }
        }
        let old: Mask = unread.iter().filter_map(|(_, pair)| pair.old).collect();
        let new: Mask = unread.iter().filter_map(|(_, pair)| pair.new).collect();
        let (old, new) = (self.from.values(&old).await?, self.to.values(&new).await?);
        for (at, pair) in unread {
            found[at] = compare_values(pair, &old, &new);
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn is_same(&self, pair: &Pair<'_>) -> bool {
        let (Some(old), Some(new)) = (pair.old, pair.new) else { return false };
        self.one_thread && self.from.facts().slots[old] == self.to.facts().slots[new]
    }

    /// Returns the difference of a log that only grew; `None` if the whole values have to be compared.
    async fn log_growth(&self, pair: &Pair<'_>) -> Result<Option<Option<ChannelDiff>>, RunError> {
        let (Some(old), Some(new)) = (pair.old, pair.new) else { return Ok(None) };
        let one_log = self.one_thread && self.from.facts().path == self.to.facts().path;
        let new_entries = growth(&self.from.facts().slots[old], &self.to.facts().slots[new]).filter(|_| one_log);
        let Some(new_entries) = new_entries else { return Ok(None) };
        let Some(items) = self.to.items(new, &new_entries).await? else { return Ok(None) };
        let path = format!("{}/-", join_pointer("", pair.channel.name()));
        let patch: Vec<Edit> = items.into_iter().map(|value| Edit::Add { path: path.clone(), value }).collect();
        Ok(Some(channel_diff(pair, ValueChange::Changed, patch)))
    }
}

fn compare_values(pair: &Pair<'_>, old: &Map<String, Value>, new: &Map<String, Value>) -> Option<ChannelDiff> {
    let (name, mut patch) = (pair.channel.name(), vec![]);
    let path = join_pointer("", name);
    let change = match (old.get(name), new.get(name)) {
        (None, None) => return None,
        (None, Some(value)) => {
            patch.push(Edit::Add { path, value: value.clone() });
            ValueChange::Added
        }
        (Some(old), None) => {
            patch.push(Edit::Remove { path, old: old.clone() });
            ValueChange::Removed
        }
        (Some(old), Some(new)) => {
            edits(&path, old, new, &mut patch);
            ValueChange::Changed
        }
    };
    channel_diff(pair, change, patch)
}

fn channel_diff(pair: &Pair<'_>, change: ValueChange, patch: Vec<Edit>) -> Option<ChannelDiff> {
    let channel = pair.channel.name().to_owned();
    match pair.secret {
        _ if patch.is_empty() => None,
        true => Some(ChannelDiff { channel, change: ValueChange::Secret, patch: vec![] }),
        false => Some(ChannelDiff { channel, change, patch }),
    }
}
