//! The public face of replays: which kind, from which checkpoint, awaited or as a stream.

use std::sync::Arc;

use super::stream::{ReplayStream, Replayed};
use super::told::Teller;
use super::walk::Walk;
use crate::checkpoint::CheckpointId;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Listed, Reader};
use crate::graph::run::net::netted;
use crate::graph::state::{Boxed, State};
use crate::graph::thread::{Request, Thread};
use crate::graph::view::{Heard, Mode, Sink, Telling};

/// How a thread is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// Tells the events again from the store; nothing runs. From the handle's checkpoint on, else from the
    /// first; after [`gc`](crate::graph::Thread::gc) from the oldest checkpoint that is kept.
    ///
    /// The events are those that runs of the thread told, superstep by superstep along the line of checkpoints that led to the
    /// newest one; branches that were left are not told. What the records do not tell:
    /// - in which order parallel tasks emitted and ended: they are told one after the other, in canonical order, a subgraph
    ///   whole before what its task came to;
    /// - how often a run was resumed, so that checkpoints and starts were told again: here once, and a start after each answer;
    /// - attempts that failed before one succeeded, and their subgraphs; breakpoints; whether a result was from the cache, and
    ///   how many supersteps were left (0 here);
    /// - what nodes emitted, except with [`record_events`](crate::graph::Thread::record_events);
    /// - supersteps within a run of durability [`Exit`](crate::graph::Durability), and those of
    ///   [`Stateless`](crate::graph::Persistence) subgraphs.
    ///
    /// Beside what runs tell, it tells the answers: [`EventKind::Answered`](crate::graph::EventKind).
    Recorded,
    /// Compares what was recorded with what the graph does now; see [`Thread::verify`](crate::graph::Thread::verify).
    Verify,
    /// Tells what the thread would have come to with the graph as it is now; see
    /// [`Thread::what_if`](crate::graph::Thread::what_if).
    WhatIf,
    /// Runs from the handle's checkpoint again, for real, on a new branch: side effects included. LangGraph: replay. The same
    /// as [`Thread::proceed`](crate::graph::Thread::proceed) of a handle that is [`at`](crate::graph::Thread::at) a checkpoint.
    Live,
}

/// A replay that has not begun: `.await` it for what it comes to, or read its events.
#[must_use = "a replay begins when it is awaited or its events are read"]
pub struct Replaying<S: State, N, C = ()> {
    thread: Thread<S, N, C>,
    mode: Replay,
    limit: u64,
}

impl<S: State, N, C> std::fmt::Debug for Replaying<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replaying").field("mode", &self.mode).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Replays the thread, from its first checkpoint or that of [`at`](Self::at) to the newest that followed it. Where
    /// checkpoints were removed it begins at the oldest kept one with no gap after it.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, Replay, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State + std::fmt::Debug, N: NodeId>(thread: Thread<S, N>, from: CheckpointId) -> Result<(), RunError> {
    /// let mut events = thread.clone().at(from).replay(Replay::Recorded).stream([Mode::Updates]);
    /// while let Some(event) = events.next().await {
    ///     println!("{} {:?}", event.step, event.kind);
    /// }
    /// println!("{:?}", events.finish().await?);
    /// # Ok(()) }
    /// ```
    pub fn replay(&self, mode: Replay) -> Replaying<S, N, C> {
        Replaying { thread: self.clone(), mode, limit: u64::MAX }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Replaying<S, N, C> {
    /// Ends after so many supersteps; one that waits or failed counts.
    pub fn supersteps(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Yields the events of these modes as they are read.
    pub fn stream(self, modes: impl IntoIterator<Item = Mode>) -> ReplayStream<S> {
        self.streams(modes.into_iter().collect(), false)
    }

    /// The same, with the events of subgraphs.
    pub fn stream_deep(self, modes: impl IntoIterator<Item = Mode>) -> ReplayStream<S> {
        self.streams(modes.into_iter().collect(), true)
    }

    fn streams(self, modes: Vec<Mode>, deep: bool) -> ReplayStream<S> {
        let thread = self.thread.id.clone();
        ReplayStream::new(modes, deep, thread, |sink| Box::pin(netted("replaying a thread", self.perform(Some(sink)))))
    }

    async fn perform(self, sink: Option<Sink>) -> Result<Replayed<S>, RunError> {
        match self.mode {
            Replay::Recorded => {
                let sink = sink.unwrap_or_else(Sink::deaf);
                Ok(Replayed::Recorded { supersteps: self.thread.tell_recorded(sink, self.limit).await? })
            }
            Replay::Verify => Ok(Replayed::Verified(self.thread.verified(self.limit).await?)),
            Replay::WhatIf => Ok(Replayed::WhatIf(Box::new(self.thread.imagined(self.limit).await?))),
            Replay::Live => {
                self.thread.known("a replay").await?;
                let limited = self.limit < u64::MAX;
                let thread = if limited { self.thread.max_supersteps(self.limit) } else { self.thread };
                Ok(Replayed::Live(thread.perform(Request::proceed(), sink).await?))
            }
        }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> IntoFuture for Replaying<S, N, C> {
    type Output = Result<Replayed<S>, RunError>;
    type IntoFuture = Boxed<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(netted("replaying a thread", self.perform(None)))
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    async fn tell_recorded(&self, sink: Sink, limit: u64) -> Result<u64, RunError> {
        let (reader, head) = self.known("a replay").await?;
        self.check_at(&reader).await?;
        let Some((newest, _)) = self.newest(&reader, Some(head)).await? else { return Err(self.unknown()) };
        let names: Arc<[String]> = self.scope.nodes.clone().into();
        let wanted = sink.wants(Mode::Custom, true) || sink.wants(Mode::Messages, true);
        let listens = wanted && reader.has_events().await?;
        let telling = Telling { sink, heard: Heard::default(), listens };
        let line = self.recorded_line(&reader, newest).await?;
        let table = &self.graph.table;
        let walk = Walk::new(Arc::clone(table), reader.clone(), line, telling.needs_states(&names));
        let whole = names.is_empty() && !self.limits.only_output;
        let output = if whole { None } else { table.channels.output.as_ref() };
        Teller { table, reader: &reader, telling: &telling, places: Arc::clone(&names), names, output }
            .tell(walk, limit)
            .await
    }

    /// The line that is replayed: that of the newest checkpoint, from the handle's own on; of a branch that was left, that of the
    /// newest checkpoint which followed the handle's.
    pub(crate) async fn recorded_line(&self, reader: &Reader, newest: CheckpointId) -> Result<Vec<Listed>, RunError> {
        let line = async |tip| match self.scope.nodes.is_empty() {
            true => reader.line(tip).await,
            false => reader.nested_line(tip, CheckpointId(0)).await,
        };
        let mut found = line(newest).await?;
        let Some(from) = self.at else { return Ok(found) };
        if found.iter().all(|(id, _)| *id != from) {
            found = line(reader.newest_after(from).await?).await?;
        }
        found.retain(|(id, _)| *id >= from);
        Ok(found)
    }
}
