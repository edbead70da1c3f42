//! Reading a thread and rewriting its past: snapshots, history, updates, forks, status, retry, deletion.

use std::sync::Arc;
use std::time::SystemTime;

use super::handle::{Thread, ThreadCore};
use super::history::{Checkpoints, History};
use super::outcome::Outcome;
use super::request::AnyRequest;
use super::resting::Resting;
use super::snapshot::is_failed;
use crate::checkpoint::{CheckpointId, Claim, Source};
use crate::graph::build::{DrawOptions, StopOverrides, Stops, Table, ascii, dot};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{AwaitedSignal, Question};
use crate::graph::node::NodeId;
use crate::graph::persist::load::position;
use crate::graph::records::{Reader, START_NODE};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, Merge, State};
use crate::graph::superstep::position::{apply_writes, named};
use crate::graph::superstep::task::planned;
use crate::graph::superstep::{Position, TaskState};
use crate::graph::view::{Seen, Snapshot, StateSnapshot, TaskSnapshot};

/// The status of a thread. LangGraph derives it from `get_state(config).next`, which is empty for several of these.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Status {
    /// The thread has never run: nothing is stored. A mistyped name has this status.
    New,
    /// Nothing is left to run.
    Finished,
    /// Tasks are left to run: `proceed()` runs them.
    Pending {
        /// The nodes: a name for each task.
        next: Vec<String>,
    },
    /// Questions are pending.
    Interrupted {
        /// The questions.
        questions: Vec<Question>,
    },
    /// All unfinished tasks wait for a time in the future; `proceed()` resumes them from then on.
    Waiting {
        /// The earliest time at which a task can resume.
        until: SystemTime,
        /// The nodes: a name for each task.
        next: Vec<String>,
    },
    /// No task can run before a signal or a time; `proceed()` resumes from then on.
    AwaitingSignal {
        /// The signals that tasks wait for.
        signals: Vec<AwaitedSignal>,
        /// The earliest time at which a task resumes without a signal; none: never.
        until: Option<SystemTime>,
        /// The nodes: a name for each task.
        next: Vec<String>,
    },
    /// The thread stopped at a breakpoint of the graph or of this handle: before these nodes, or after the last
    /// superstep. At a breakpoint inside a subgraph it is [`Pending`](Self::Pending): the records do not distinguish
    /// that from a cancelled run.
    Stopped {
        /// The nodes.
        next: Vec<String>,
    },
    /// A task failed, or its results cannot be applied: `proceed()` tries again, `retry()` restarts the superstep.
    Failed {
        /// The reason.
        reason: String,
    },
    /// Another version of the graph stored the thread, and this one cannot resume it. It can be read, and moved on with
    /// [`update_state_as`](Thread::update_state_as).
    NeedsMigration {
        /// The incompatibilities.
        misfits: Vec<Incompatibility>,
    },
    /// A run holds the thread.
    Running,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the present state: with the results of tasks that ended since the newest checkpoint, and the pending
    /// questions. The effect of a command shows here once it has run, and in [`status`](Self::status) at once. None if
    /// the thread has never run. With [`at`](Self::at): that checkpoint as it was.
    ///
    /// # Errors
    /// If there is no store, it cannot be read, or the checkpoint is unknown.
    pub async fn state(&self) -> Result<Option<StateSnapshot<S>>, RunError> {
        Ok(self.core.state().await?.map(Snapshot::typed))
    }

    /// Returns the state with those of subgraphs in [`TaskSnapshot::state`](crate::graph::TaskSnapshot). Subgraphs show
    /// their present state, including results since their newest checkpoint, even below a checkpoint of the past.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_deep(&self) -> Result<Option<StateSnapshot<S>>, RunError> {
        Ok(self.core.state_deep().await?.map(Snapshot::typed))
    }

    /// Returns the checkpoints, newest first, as a stream: each is read when it is polled. LangGraph:
    /// `get_state_history`.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// let mut steps = thread.history().await?.limit(20);
    /// while let Some(step) = steps.next().await {
    ///     let step = step?;
    ///     println!("{} after superstep {}: next {:?}", step.id, step.step, step.next);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn history(&self) -> Result<History<S>, RunError> {
        Ok(History::of(self.core.history().await?))
    }

    /// Returns the graph as a mermaid flowchart, with the nodes to run next and the pending questions marked, and
    /// subgraphs expanded up to this depth.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn mermaid(&self, depth: usize) -> Result<String, RunError> {
        self.core.mermaid(depth).await
    }

    /// Returns the [`mermaid`](Self::mermaid) drawing in Graphviz's language.
    ///
    /// # Errors
    /// As [`mermaid`](Self::mermaid).
    pub async fn dot(&self, depth: usize) -> Result<String, RunError> {
        self.core.dot(depth).await
    }

    /// Returns the [`mermaid`](Self::mermaid) drawing as plain text.
    ///
    /// # Errors
    /// As [`mermaid`](Self::mermaid).
    pub async fn ascii(&self, depth: usize) -> Result<String, RunError> {
        self.core.ascii(depth).await
    }

    /// Returns the status of the thread.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// match thread.status().await? {
    ///     Status::Interrupted { questions } => println!("waits for {}", questions[0].id()),
    ///     Status::Failed { reason } => println!("{reason}"), // proceed() or retry()
    ///     Status::Pending { .. } => _ = thread.proceed().await?, // its process died, or it was cancelled
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn status(&self) -> Result<Status, RunError> {
        self.core.status().await
    }

    /// Drops the results of the unfinished superstep, answers included, and runs all of its tasks again (V3): for when
    /// two tasks wrote one channel, or a reducer failed. To run only the failed tasks again, use `proceed()`.
    ///
    /// # Errors
    /// As [`invoke`](Self::invoke).
    pub async fn retry(&self) -> Result<Outcome<S>, RunError> {
        Ok(self.core.retry().await?.typed())
    }

    /// Restarts the unfinished superstep with the next run: [`retry`](Self::retry) as a setting, for a stream.
    pub fn restart_superstep(mut self) -> Self {
        self.core = self.core.restart_superstep();
        self
    }

    /// Deletes the thread, its subgraphs included.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadBusy`](crate::checkpoint::CheckpointError) while a run holds it; if the store fails.
    pub async fn delete(&self) -> Result<(), RunError> {
        self.core.delete().await
    }
}

impl ThreadCore {
    pub(crate) fn state(&self) -> Boxed<'_, Result<Option<Snapshot<AnyState>>, RunError>> {
        Box::pin(async move { catch_panics("reading a thread", self.snapshot(false)).await })
    }

    pub(crate) fn state_deep(&self) -> Boxed<'_, Result<Option<Snapshot<AnyState>>, RunError>> {
        Box::pin(async move { catch_panics("reading a thread", self.snapshot(true)).await })
    }

    async fn snapshot(&self, deep: bool) -> Result<Option<Snapshot<AnyState>>, RunError> {
        let (reader, head) = self.reader("reading a thread").await?;
        let reader = self.with_end_read(reader, head);
        self.check_at(&reader).await?;
        let newest = self.newest(&reader, head).await?.map(|(id, _)| id);
        let Some(id) = self.at.or(newest) else { return Ok(None) };
        let seen = if self.at.is_none() { Seen::Live } else { Seen::Past };
        Ok(Some(Snapshot::read(&self.graph.table, &reader, id, seen, deep).await?))
    }

    pub(crate) fn history(&self) -> Boxed<'_, Result<Checkpoints, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.reader("history").await?;
            let namespace = self.scoped_history(&reader, head).await?;
            let reader = self.with_end_read(reader, head);
            let history = Checkpoints::new(Arc::clone(&self.graph.table), reader);
            Ok(history.of(namespace))
        })
    }

    pub(crate) fn mermaid(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(self.graph.draw(&self.marks(depth).await?)) })
    }

    pub(crate) fn dot(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(dot::dot(&self.graph.drawing(), &self.marks(depth).await?)) })
    }

    pub(crate) fn ascii(&self, depth: usize) -> Boxed<'_, Result<String, RunError>> {
        Box::pin(async move { Ok(ascii::ascii(&self.graph.drawing(), &self.marks(depth).await?)) })
    }

    async fn marks(&self, depth: usize) -> Result<DrawOptions, RunError> {
        let mut options = DrawOptions { expand: depth, ..DrawOptions::default() };
        if let Some(snapshot) = self.state_deep().await? {
            mark(&snapshot.next, &snapshot.tasks, "", &mut options);
        }
        Ok(options)
    }

    pub(crate) fn status(&self) -> Boxed<'_, Result<Status, RunError>> {
        Box::pin(async move { catch_panics("reading the status of a thread", self.read_status()).await })
    }

    async fn read_status(&self) -> Result<Status, RunError> {
        let (reader, head) = self.reader("status").await?;
        if self.id.as_ref().is_some_and(|id| reader.store.is_claimed(id)) {
            return Ok(Status::Running);
        }
        let Some((id, _)) = self.newest(&reader, head).await? else { return Ok(Status::New) };
        let reader = self.with_end_read(reader, head);
        let snapshot = Snapshot::read(&self.graph.table, &reader, id, Seen::Now, false).await?;
        if !snapshot.misfits.is_empty() {
            return Ok(Status::NeedsMigration { misfits: snapshot.misfits });
        }
        let questions: Vec<Question> =
            snapshot.questions().filter(|question| !question.is_answered()).cloned().collect();
        if !questions.is_empty() {
            return Ok(Status::Interrupted { questions });
        }
        if let Some(reason) = self.failure(&reader, id).await? {
            return Ok(Status::Failed { reason });
        }
        if snapshot.tasks.is_empty() {
            return Ok(Status::Finished);
        }
        let started = snapshot.tasks.iter().any(|task| task.attempts > 0);
        let stops = !started && self.stops(&reader, id).await?;
        let resting = self.resting(&reader, id, &snapshot).await?;
        let next = snapshot.next;
        Ok(if let Some(Resting { until, signals }) = resting {
            match until.filter(|_| signals.is_empty()) {
                Some(until) => Status::Waiting { until, next },
                None => Status::AwaitingSignal { signals, until, next },
            }
        } else if stops {
            Status::Stopped { next }
        } else {
            Status::Pending { next }
        })
    }

    /// Returns the reason why the superstep at the head cannot continue, if there is one.
    async fn failure(&self, reader: &Reader, id: CheckpointId) -> Result<Option<String>, RunError> {
        let mut records = reader.tasks(id).await?;
        if let Some(record) = records.values().find(|record| is_failed(record)) {
            return Ok(Some(record.error.clone().unwrap_or_default()));
        }
        let table = &self.graph.table;
        let path = reader.record(id).await?.map(|record| record.namespace).unwrap_or_default();
        let (mut pos, mapping) = position(reader, table, id).await?;
        reader.commanded(table, &mut pos, &path, &mut records, &mapping).await?;
        let mut tasks = planned(table, &pos);
        reader.restore(table, &path, &mut tasks, records, &mapping).await?;
        let (mut state, mut merge) = (pos.state.clone(), Merge::default());
        let mut writers: Vec<(usize, u32)> = vec![];
        for task in tasks {
            let TaskState::Done(done) = task.state else { return Ok(None) };
            writers.extend(done.writes.0.iter().map(|write| (write.channel(), task.node)));
            if let Err(error) = apply_writes(table, &mut state, done.writes.0, &mut merge) {
                let of = |(channel, node): &(usize, u32)| (*channel == error.channel()).then_some(*node);
                let nodes = writers.iter().filter_map(of).map(|node| format!("`{}`", table.row(node).name)).collect();
                return Ok(Some(named(table, pos.meta.step + 1, error, nodes).to_string()));
            }
        }
        pos.state = state;
        let encoded = pos.encode_reduced(table, merge.written(), id, &mut vec![]);
        Ok(encoded.err().map(|error| error.to_string()))
    }

    async fn stops(&self, reader: &Reader, id: CheckpointId) -> Result<bool, RunError> {
        let table = &self.graph.table;
        let (mut pos, mapping) = position(reader, table, id).await?;
        reader.commanded(table, &mut pos, "", &mut reader.tasks(id).await?, &mapping).await?;
        let nodes = planned(table, &pos).into_iter().map(|task| task.node);
        let StopOverrides { before, after } = self.read_stops(reader).await?;
        let before = Table::stops_at(before.as_ref().unwrap_or(&table.stops.before), nodes);
        Ok(pos.start.is_none() && (before || self.stopped_after(reader, &pos, after).await?))
    }

    /// Returns true if a run stops after the superstep that a position comes from.
    async fn stopped_after(
        &self,
        reader: &Reader,
        pos: &Position,
        after: Option<Stops<u32>>,
    ) -> Result<bool, RunError> {
        let table = &self.graph.table;
        let after = after.as_ref().unwrap_or(&table.stops.after);
        let Some(parent) = pos.meta.parent.filter(|_| pos.meta.source == Source::Loop && !matches!(after, Stops::None))
        else {
            return Ok(false);
        };
        let Some(record) = reader.record(parent).await? else { return Ok(false) }; // removed
        let (mut was, mapping) = reader.position(table, parent, record).await?;
        reader.commanded(table, &mut was, "", &mut reader.tasks(parent).await?, &mapping).await?;
        let ran = planned(table, &was).into_iter().map(|task| task.node).filter(|&node| node != START_NODE);
        let ran: Vec<u32> = ran.collect();
        let just = was.meta.step + 1 == pos.meta.step && !ran.is_empty(); // with durability `exit` there may be supersteps between
        Ok(just && Table::stops_at(after, ran.into_iter()))
    }

    pub(crate) fn retry(&self) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        Box::pin(async move {
            if self.graph.store.is_none() {
                return Err(RunError::NoCheckpointer { what: "retry" });
            }
            self.clone().restart_superstep().perform(Box::new(AnyRequest::proceed()), None).await
        })
    }

    pub(crate) fn restart_superstep(mut self) -> Self {
        self.settings.restart_superstep = true;
        self
    }

    pub(crate) fn delete(&self) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(async move {
            self.check_whole("deletion")?;
            let (Some(store), Some(id)) = (&self.graph.store, &self.id) else {
                return Err(RunError::NoCheckpointer { what: "deleting a thread" });
            };
            let lease = store.claim(id, Claim::IfFree).await?;
            store.delete_thread(&lease).await?;
            self.graph.last_ends.forget(id);
            Ok(())
        })
    }
}

/// Marks the nodes to run next and the pending questions, as paths of node names.
fn mark(next: &[String], tasks: &[TaskSnapshot], above: &str, options: &mut DrawOptions) {
    options.position.extend(next.iter().map(|node| format!("{above}{node}")));
    for task in tasks {
        let path = format!("{above}{}", task.name);
        match &task.state {
            Some(inside) => mark(&inside.next, &inside.tasks, &format!("{path}|"), options),
            None => {
                let open = task.questions.iter().filter(|question| !question.is_answered());
                options.asking.extend(open.map(|question| (path.clone(), question.name().to_owned())));
            }
        }
    }
}
