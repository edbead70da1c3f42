//! The public API of replays: the mode, the first checkpoint, and awaiting or streaming.

use std::marker::PhantomData;
use std::sync::Arc;

use super::recorded_events::RecordedEvents;
use super::stream::{ReplayStream, Replayed};
use super::walk::Walk;
use crate::checkpoint::CheckpointId;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Listed, Reader};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, State};
use crate::graph::thread::{AnyRequest, Outcome, Thread, ThreadCore};
use crate::graph::view::{EventLog, Mode, ReplayListener, Sink};

/// The mode of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// Emits the events again from the store; nothing runs. Starts at the handle's checkpoint, else at the first; after
    /// [`gc`](crate::graph::Thread::gc) at the oldest one left.
    ///
    /// The events are those of the original runs, superstep by superstep along the checkpoints that led to the newest one;
    /// abandoned branches are left out. Not recorded, and so not replayed:
    /// - the order in which parallel tasks emitted and ended: they come one after the other, in canonical order, a
    ///   subgraph's events before the result of its task;
    /// - the number of resumes, which emit the checkpoint and the starts again: here once, and a start after each answer;
    /// - failed attempts before a success, and their subgraphs; breakpoints; cache hits; the supersteps left (0 here);
    /// - events that nodes emitted, except with [`record_events`](crate::graph::Thread::record_events);
    /// - supersteps within a run of durability [`Exit`](crate::graph::Durability), and those of
    ///   [`Stateless`](crate::graph::Persistence) subgraphs.
    ///
    /// Beside the events of a run there is one for each answer: [`EventKind::Answered`](crate::graph::EventKind).
    Recorded,
    /// Compares what was recorded with what the graph does now; see [`Thread::verify`](crate::graph::Thread::verify).
    Verify,
    /// Returns the result that the thread would have with the current graph; see
    /// [`Thread::what_if`](crate::graph::Thread::what_if).
    WhatIf,
    /// Runs from the handle's checkpoint again, for real, on a new branch: side effects included. LangGraph: replay. The same
    /// as [`Thread::proceed`](crate::graph::Thread::proceed) of a handle that is [`at`](crate::graph::Thread::at) a checkpoint.
    Live,
}

/// A replay that has not started: `.await` it for its result, or read its events.
#[must_use = "a replay begins when it is awaited or its events are read"]
pub struct Replaying<S: State, N, C = ()> {
    thread: ThreadCore,
    mode: Replay,
    limit: u64,
    types: PhantomData<fn(S, N, C)>,
}

impl<S: State, N, C> std::fmt::Debug for Replaying<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replaying").field("mode", &self.mode).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Replays the thread, from its first checkpoint or that of [`at`](Self::at) to the newest one descended from it.
    /// If checkpoints were removed, it starts at the oldest one with no gap after it.
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
        Replaying { thread: self.core.clone(), mode, limit: u64::MAX, types: PhantomData }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Replaying<S, N, C> {
    /// Ends after `limit` supersteps; one that is interrupted or failed counts.
    pub fn supersteps(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Yields the events of these modes as they are read.
    pub fn stream(self, modes: impl IntoIterator<Item = Mode>) -> ReplayStream<S> {
        self.build_stream(modes.into_iter().collect(), false)
    }

    /// Yields the events of these modes, those of subgraphs included.
    pub fn stream_deep(self, modes: impl IntoIterator<Item = Mode>) -> ReplayStream<S> {
        self.build_stream(modes.into_iter().collect(), true)
    }

    fn build_stream(self, modes: Vec<Mode>, deep: bool) -> ReplayStream<S> {
        let thread = self.thread.id.clone();
        ReplayStream::new(modes, deep, thread, |sink| {
            Box::pin(catch_panics("replaying a thread", self.perform(Some(sink))))
        })
    }

    async fn perform(self, sink: Option<Sink>) -> Result<Replayed<S>, RunError> {
        match self.mode {
            Replay::Recorded => {
                let sink = sink.unwrap_or_else(Sink::deaf);
                Ok(Replayed::Recorded { supersteps: self.thread.emit_recorded(sink, self.limit).await? })
            }
            Replay::Verify => Ok(Replayed::Verified(self.thread.verify_up_to(self.limit).await?)),
            Replay::WhatIf => Ok(Replayed::WhatIf(Box::new(self.thread.what_if_up_to(self.limit).await?))),
            Replay::Live => {
                let mut thread = self.thread;
                if self.limit < u64::MAX {
                    thread.settings.supersteps = Some(self.limit);
                }
                Ok(Replayed::Live(thread.replay_live(sink).await?.typed()))
            }
        }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> IntoFuture for Replaying<S, N, C> {
    type Output = Result<Replayed<S>, RunError>;
    type IntoFuture = Boxed<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(catch_panics("replaying a thread", self.perform(None)))
    }
}

impl ThreadCore {
    fn replay_live(&self, sink: Option<Sink>) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        Box::pin(async move {
            self.known("a replay").await?;
            self.perform(Box::new(AnyRequest::proceed()), sink).await
        })
    }

    fn emit_recorded(&self, sink: Sink, limit: u64) -> Boxed<'_, Result<u64, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.known("a replay").await?;
            self.check_at(&reader).await?;
            let Some((newest, _)) = self.newest(&reader, Some(head)).await? else { return Err(self.unknown()) };
            let names: Arc<[String]> = self.scope.nodes.clone().into();
            let wanted = sink.wants(Mode::Custom, true) || sink.wants(Mode::Messages, true);
            let listens = wanted && reader.has_events().await?;
            let listener = ReplayListener { sink, events: EventLog::default(), listens };
            let line = self.recorded_line(&reader, newest).await?;
            let table = &self.graph.table;
            let walk = Walk::new(Arc::clone(table), reader.clone(), line, listener.needs_states(&names));
            let whole = names.is_empty() && !self.limits.only_output;
            let output = if whole { None } else { table.channels.output.as_ref() };
            let places = Arc::clone(&names);
            RecordedEvents { table, reader: &reader, listener: &listener, names, places, output }
                .emit(walk, limit)
                .await
        })
    }

    /// Returns the checkpoints to replay: the ancestors of the newest one, from the handle's checkpoint on. If that is
    /// on an abandoned branch, the line ends at the newest checkpoint descended from it.
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
