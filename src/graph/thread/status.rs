//! The status of a thread, in full: with what only its graph knows.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{ArrivedSignals, CheckpointId, LeaseOwner, Source, is_failed, is_resting};
use crate::graph::build::{StopOverrides, Stops, Table};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{AwaitedSignal, Question};
use crate::graph::json::{Object, time_text};
use crate::graph::node::NodeId;
use crate::graph::persist::load::position;
use crate::graph::records::{Reader, START_NODE, clock};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, Merge, State};
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::writes::{apply_run_error, apply_writes};
use crate::graph::superstep::{Position, TaskState};
use crate::graph::view::{ReadMode, Snapshot};

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
    Running {
        /// The process that runs it.
        owner: Arc<LeaseOwner>,
    },
}

impl Serialize for Status {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let (next, questions): (&[String], &[Question]) = match self {
            Self::Pending { next } | Self::Stopped { next } => (next, &[]),
            Self::Waiting { next, .. } | Self::AwaitingSignal { next, .. } => (next, &[]),
            Self::Interrupted { questions } => (&[], questions),
            Self::New | Self::Finished | Self::Failed { .. } | Self::NeedsMigration { .. } => (&[], &[]),
            Self::Running { .. } => (&[], &[]),
        };
        let out = Object::new(out)?.put("status", self.kind())?.put("next", next)?.put("questions", questions)?;
        let out = match self {
            Self::Failed { reason } => out.put("reason", reason)?,
            Self::NeedsMigration { misfits } => {
                let misfit = misfits.first();
                out.put_some("reason", misfit.map(ToString::to_string))?
                    .put_some("help", misfit.map(|one| one.help()))?
            }
            Self::Waiting { until, .. } => out.put("until", time_text(*until))?,
            Self::AwaitingSignal { signals, until, .. } => {
                out.put_some("until", until.map(time_text))?.put_list("signals", signals)?
            }
            Self::Pending { .. } | Self::Interrupted { .. } | Self::Stopped { .. } => out,
            Self::Running { owner } => out.put("owner", &**owner)?,
            Self::New | Self::Finished => out,
        };
        out.end()
    }
}

impl Status {
    /// Returns the status in one word.
    pub fn kind(&self) -> StatusKind {
        match self {
            Self::New => StatusKind::New,
            Self::Finished => StatusKind::Finished,
            Self::Pending { .. } => StatusKind::Pending,
            Self::Interrupted { .. } => StatusKind::Interrupted,
            Self::Waiting { .. } => StatusKind::Waiting,
            Self::AwaitingSignal { .. } => StatusKind::AwaitingSignal,
            Self::Stopped { .. } => StatusKind::Stopped,
            Self::Failed { .. } => StatusKind::Failed,
            Self::NeedsMigration { .. } => StatusKind::NeedsMigration,
            Self::Running { .. } => StatusKind::Running,
        }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
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
}

impl ThreadCore {
    pub(crate) fn status(&self) -> Boxed<'_, Result<Status, RunError>> {
        Box::pin(async move { catch_panics("reading the status of a thread", self.read_status()).await })
    }

    async fn read_status(&self) -> Result<Status, RunError> {
        let (reader, head) = self.reader("status").await?;
        if !self.environment.lease.holds(&reader.thread)
            && let Some(owner) = reader.store.owner(&reader.thread).await?
        {
            return Ok(Status::Running { owner });
        }
        let Some((id, _)) = self.newest(&reader, head).await? else { return Ok(Status::New) };
        let reader = self.with_end_read(reader, head);
        let snapshot = Snapshot::read(&self.graph.table, &reader, id, ReadMode::Now, false).await?;
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
        Ok(match self.rest(&reader, id, &snapshot).await? {
            Some(rest) => rest,
            None if stops => Status::Stopped { next: snapshot.next },
            None => Status::Pending { next: snapshot.next },
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
        reader.apply_stored_command(table, &mut pos, &path, &mut records, &mapping).await?;
        let mut tasks = planned_tasks(table, &pos);
        reader.restore(table, &path, &mut tasks, records, &mapping).await?;
        let (mut state, mut merge) = (pos.state.clone(), Merge::default());
        let mut writers: Vec<(usize, u32)> = vec![];
        for task in tasks {
            let TaskState::Done(done) = task.state else { return Ok(None) };
            writers.extend(done.writes.0.iter().map(|write| (write.channel(), task.node)));
            if let Err(error) = apply_writes(table, &mut state, done.writes.0, &mut merge) {
                let of = |(channel, node): &(usize, u32)| (*channel == error.channel()).then_some(*node);
                let nodes = writers.iter().filter_map(of).map(|node| format!("`{}`", table.row(node).name)).collect();
                return Ok(Some(apply_run_error(table, pos.meta.step + 1, error, nodes).to_string()));
            }
        }
        pos.state = state;
        let encoded = pos.encode_reduced(table, merge.written(), id, &mut vec![]);
        Ok(encoded.err().map(|error| error.to_string()))
    }

    async fn stops(&self, reader: &Reader, id: CheckpointId) -> Result<bool, RunError> {
        let table = &self.graph.table;
        let (mut pos, mapping) = position(reader, table, id).await?;
        reader.apply_stored_command(table, &mut pos, "", &mut reader.tasks(id).await?, &mapping).await?;
        let nodes = planned_tasks(table, &pos).into_iter().map(|task| task.node);
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
        reader.apply_stored_command(table, &mut was, "", &mut reader.tasks(parent).await?, &mapping).await?;
        let ran = planned_tasks(table, &was).into_iter().map(|task| task.node).filter(|&node| node != START_NODE);
        let ran: Vec<u32> = ran.collect();
        let just = was.meta.step + 1 == pos.meta.step && !ran.is_empty(); // with durability `exit` there may be supersteps between
        Ok(just && Table::stops_at(after, ran.into_iter()))
    }

    /// Returns what the thread waits for, if every unfinished task waits for a time or a signal that has not come.
    async fn rest(
        &self,
        reader: &Reader,
        id: CheckpointId,
        snapshot: &Snapshot<AnyState>,
    ) -> Result<Option<Status>, RunError> {
        let now = self.now();
        let waiting = snapshot.tasks.iter().filter(|task| task.wake.is_some() || !task.awaits.is_empty());
        if waiting.clone().count() < snapshot.next.len() || snapshot.next.is_empty() {
            return Ok(None);
        }
        let records = reader.tasks(id).await?;
        let arrived = ArrivedSignals::read(&&*reader.store, &reader.thread, id, &records).await?;
        let resting = records.iter().filter(|(task, record)| is_resting((**task, *record), &arrived, now)).count();
        let until = waiting.clone().filter_map(|task| task.wake).filter(|&wake| clock::millis(wake) > now).min();
        let signals: Vec<AwaitedSignal> = waiting.flat_map(|task| task.awaits.clone()).collect();
        let next = snapshot.next.clone();
        Ok((resting == next.len()).then(|| match until.filter(|_| signals.is_empty()) {
            Some(until) => Status::Waiting { until, next },
            None => Status::AwaitingSignal { signals, until, next },
        }))
    }
}
