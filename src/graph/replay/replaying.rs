//! The public API of replays: `Thread::replay` with its mode and first checkpoint, awaited or as a stream; `Thread::verify`
//! and `Thread::what_if`, which run no effects. Writes nothing, unless a replay is live.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::compare::UnsavedValues;
use super::recorded_events::RecordedEvents;
use super::walk::Walk;
use crate::checkpoint::{CheckpointId, ThreadId, about_thread};
use crate::graph::context::{Comparison, GraphScope, Spot, VerifyReport, WhatIf};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{CheckpointInfo, ListedCheckpoint, Reader};
use crate::graph::run::Run;
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, State};
use crate::graph::superstep::Position;
use crate::graph::thread::{AnyRequest, EventStream, Outcome, Thread, ThreadCore};
use crate::graph::view::{CheckpointFilter, Event, EventLog, Mode, ReplayListener, Sink};

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
    /// - tasks that a killed process has left without a result, except those whose subgraphs have checkpoints;
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
#[must_use = "a replay starts when it is awaited or its events are read"]
pub struct ReplayRequest<S: State, N, C = ()> {
    thread: ThreadCore,
    mode: Replay,
    limit: u64,
    since: Option<CheckpointFilter>,
    types: PhantomData<fn(S, N, C)>,
}

impl<S: State, N, C> std::fmt::Debug for ReplayRequest<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayRequest").field("mode", &self.mode).field("limit", &self.limit).finish_non_exhaustive()
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
    pub fn replay(&self, mode: Replay) -> ReplayRequest<S, N, C> {
        ReplayRequest { thread: self.core.clone(), mode, limit: u64::MAX, since: None, types: PhantomData }
    }

    /// Compares the records with what the graph does now, superstep by superstep, up to the first difference; with
    /// [`at`](Self::at) from that checkpoint on, along the newest branch. Routers and reducers run again over the
    /// recorded states; so do the bodies of nodes marked [`replayable`](crate::graph::NodeExt::replayable), over
    /// recorded answers, effects, times and results of subgraphs. For other nodes the recorded writes are used, and the
    /// report lists them. No effect happens, and nothing is written.
    ///
    /// To limit the supersteps: [`replay`](Self::replay)`(Replay::Verify).supersteps(1)`. Subgraphs are compared with
    /// the task they run in.
    ///
    /// Not compared: reducers of channels kept as logs of their writes, a superstep that has not ended, supersteps that
    /// durability [`Exit`](crate::graph::Durability::Exit) leaves out, the routes of graphs read from data, channels that
    /// are never saved, and checkpoints lost or removed by [`gc`](Self::gc): it starts at the oldest one with no gap after
    /// it.
    ///
    /// **Channels that are never saved** start each run at their defaults, and a run may have started at any checkpoint.
    /// Writes of bodies in this replay are known; those of other nodes and the input are not. A body runs over each value
    /// that it may have seen until its result matches the record. If none matches, that is a difference, unless the body
    /// may have read an unknown value: then its recorded result is used, and the report names the channel. For a node that
    /// declares what it [`reads`](crate::graph::NodeExt::reads), only those channels count.
    ///
    /// The report counts the bodies and routers that ran, and lists the results that were used as recorded:
    /// [`VerifyReport::verdict`](crate::graph::VerifyReport::verdict) distinguishes full agreement, partial agreement, and
    /// nothing compared at all.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; if there is no store, it cannot be read, or the checkpoint is unknown.
    pub async fn verify(&self) -> Result<VerifyReport, RunError> {
        self.core.verify().await
    }

    /// Returns the result that the thread would have with the current graph: runs its supersteps again over the
    /// records, with new routes, reducers and replayable bodies, and continues after differences. It ends at the first
    /// task without a record, and at the first effect that differs from the recorded one. Results of subgraphs are used
    /// as recorded, and listed if the subgraph would start with a different state; it ends before a subgraph that would
    /// get a different input. No effect happens, and nothing is written.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub async fn what_if(&self) -> Result<WhatIf, RunError> {
        self.core.what_if().await
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> ReplayRequest<S, N, C> {
    /// Ends after `limit` supersteps; one that is interrupted or failed counts.
    pub fn supersteps(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Begins, in the graph and in each of its subgraphs, with the first checkpoint that passes the filter, or with the events of a run
    /// that resumes at the one before it and leads to it; at the newest one, if none passes. So a replay of [`Replay::Recorded`] is one of
    /// the thread's newest run, whose checkpoints are known by their [metadata](Thread::metadata). Others ignore it.
    pub fn since(mut self, fits: impl Fn(&CheckpointInfo) -> bool + Send + Sync + 'static) -> Self {
        self.since = Some(Box::new(fits));
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

    async fn perform(self, sink: Option<Sink>) -> Result<ReplayResult<S>, RunError> {
        match self.mode {
            Replay::Recorded => {
                let sink = sink.unwrap_or_else(Sink::deaf);
                let emitted = self.thread.emit_recorded(sink, self.since, self.limit).await?;
                Ok(ReplayResult::Recorded { supersteps: emitted })
            }
            Replay::Verify => Ok(ReplayResult::Verified(self.thread.verify_up_to(self.limit).await?)),
            Replay::WhatIf => Ok(ReplayResult::WhatIf(Box::new(self.thread.what_if_up_to(self.limit).await?))),
            Replay::Live => {
                let mut thread = self.thread;
                if self.limit < u64::MAX {
                    thread.settings.supersteps = Some(self.limit);
                }
                Ok(ReplayResult::Live(thread.replay_live(sink).await?.typed()))
            }
        }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> IntoFuture for ReplayRequest<S, N, C> {
    type Output = Result<ReplayResult<S>, RunError>;
    type IntoFuture = Boxed<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(catch_panics("replaying a thread", self.perform(None)))
    }
}

impl ThreadCore {
    fn replay_live(&self, sink: Option<Sink>) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        Box::pin(async move {
            self.known("a replay").await?;
            self.run_traced(Box::new(AnyRequest::proceed()), sink).await
        })
    }

    fn emit_recorded(
        &self,
        sink: Sink,
        since: Option<CheckpointFilter>,
        limit: u64,
    ) -> Boxed<'_, Result<u64, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.known("a replay").await?;
            self.check_at(&reader).await?;
            let Some((newest, _)) = self.newest(&reader, Some(head)).await? else {
                return Err(self.empty_input_error());
            };
            let names: Arc<[String]> = self.scope.nodes.clone().into();
            let wanted = sink.wants(Mode::Custom, true) || sink.wants(Mode::Messages, true);
            let listens = wanted && reader.has_events().await?;
            let listener = ReplayListener { sink, events: EventLog::default(), since, listens };
            let mut line = self.recorded_line(&reader, newest).await?;
            let base = listener.trim(&mut line);
            let table = &self.graph.table;
            let walk = Walk::new(Arc::clone(table), reader.clone(), line, listener.needs_states(&names));
            let whole = names.is_empty() && !self.limits.only_output;
            let output = if whole { None } else { table.channels.output.as_ref() };
            let places = Arc::clone(&names);
            RecordedEvents {
                table,
                reader: &reader,
                listener: &listener,
                names,
                places,
                output,
                base,
                shares_state: false,
            }
            .emit(walk, limit)
            .await
        })
    }

    /// Returns the checkpoints to replay: the ancestors of the newest one, from the handle's checkpoint on. If that is
    /// on an abandoned branch, the line ends at the newest checkpoint descended from it.
    async fn recorded_line(&self, reader: &Reader, newest: CheckpointId) -> Result<Vec<ListedCheckpoint>, RunError> {
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

    pub(crate) fn verify(&self) -> Boxed<'_, Result<VerifyReport, RunError>> {
        Box::pin(async move { catch_panics("verifying a thread", self.verify_up_to(u64::MAX)).await })
    }

    fn verify_up_to(&self, supersteps: u64) -> Boxed<'_, Result<VerifyReport, RunError>> {
        Box::pin(async move {
            let (mut run, mut walk, comparison) = self.replay_run(false).await?;
            run.compare_line(&mut walk, UnsavedValues::defaults(), &comparison, supersteps).await?;
            let mut report = comparison.report();
            report.hide(&run.secrets());
            Ok(report)
        })
    }

    pub(crate) fn what_if(&self) -> Boxed<'_, Result<WhatIf, RunError>> {
        Box::pin(async move { catch_panics("replaying a thread", self.what_if_up_to(u64::MAX)).await })
    }

    fn what_if_up_to(&self, supersteps: u64) -> Boxed<'_, Result<WhatIf, RunError>> {
        Box::pin(async move {
            let (mut run, mut walk, comparison) = self.replay_run(true).await?;
            let mut found = run.what_if(&mut walk, &comparison, supersteps).await?;
            found.hide(&run.secrets());
            Ok(found)
        })
    }

    async fn replay_run(&self, goes_on: bool) -> Result<ReplayRun, RunError> {
        self.check_whole("a replay")?;
        self.check_trusted().await?;
        let (reader, head) = self.known("a replay").await?;
        let Some(head) = head.checkpoint else { return Err(self.empty_input_error()) };
        self.check_at(&reader).await?;
        let line = self.recorded_line(&reader, head).await?;
        let table = Arc::clone(&self.graph.table);
        let line_begins = line.first().cloned();
        let walk = Walk::new(Arc::clone(&table), reader.clone(), line, true);
        let about = about_thread(&*reader.store, &reader.thread).await?;
        let comparison = Arc::new(Comparison::new(reader, goes_on, about.as_ref()));
        if self.at.is_none()
            && let Some((id, first)) = line_begins.filter(|(_, first)| first.parent.is_some())
        {
            let spot = Spot { checkpoint: id, step: first.step, namespace: &[], task: None };
            comparison.note_skip(spot, "", "the previous checkpoint and all before it were removed, or are lost");
        }
        let mut shared = self.own_shared();
        shared.limits.may_ask = true;
        shared.replay = Some(Arc::clone(&comparison));
        let empty = Position::empty(&table);
        Ok((Run::new(table, Arc::new(shared), GraphScope::root(), empty), walk, comparison))
    }
}

/// The result of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReplayResult<S: State> {
    /// The recorded events were emitted.
    Recorded {
        /// Number of supersteps.
        supersteps: u64,
    },
    /// The thread was compared with the current graph.
    Verified(VerifyReport),
    /// The thread was run over its records with the current graph.
    WhatIf(Box<WhatIf>),
    /// The thread ran from the checkpoint, with this outcome.
    Live(Outcome<S>),
}

/// The events of a replay, in order, and its result. Dropping it ends the replay.
#[must_use = "a replay advances only while its stream is read"]
pub struct ReplayStream<S: State>(EventStream<ReplayResult<S>>);

impl<S: State> std::fmt::Debug for ReplayStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayStream").field("running", &self.0.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> ReplayStream<S> {
    pub(crate) fn new(
        modes: Vec<Mode>,
        subgraphs: bool,
        thread: Option<ThreadId>,
        run: impl FnOnce(Sink) -> Boxed<'static, Result<ReplayResult<S>, RunError>>,
    ) -> Self {
        Self(EventStream::new(modes, subgraphs, thread, run))
    }

    /// Returns the next event; `None` once the replay has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Replays to the end without yielding the remaining events, and returns the result.
    ///
    /// # Errors
    /// If there is no store, it cannot be read, or a value in it does not fit its channel; any error of a live replay.
    pub async fn finish(self) -> Result<ReplayResult<S>, RunError> {
        self.0.finish().await
    }
}

impl<S: State> Stream for ReplayStream<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll(cx)
    }
}

type ReplayRun = (Run, Walk, Arc<Comparison>);
