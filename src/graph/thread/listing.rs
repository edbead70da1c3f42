//! The status of the threads of a store, read from their records, with the questions that they wait for: no state is decoded,
//! and no graph is needed.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use superstep_base::time::{rfc3339, system_time};

use crate::checkpoint::listing::query::ListedFields;
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, ForeignRecord, Key, LeaseOwner, ListedThread, Order, QuestionRecord,
    SummaryReader, TaskRecord, TaskStatus, ThreadId, ThreadPlace, ThreadQuery, decode_record,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AwaitedSignal, Question, Terms};
use crate::graph::json::{Object, metadata, time_text};
use crate::graph::records::{COMMAND_KEY, Tasks, clock};

/// A thread as a list shows it. Its JSON is what `superstep threads --json` prints.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// The name.
    pub id: ThreadId,
    /// The name of its graph; empty if the thread was started and nothing of it stored.
    pub graph: String,
    /// The status. Breakpoints and a needed migration do not show here, because only the graph knows of them.
    pub status: StatusKind,
    /// The process that runs it, if it is [`Running`](StatusKind::Running).
    pub owner: Option<Arc<LeaseOwner>>,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// The last superstep, from -1.
    pub step: i64,
    /// When it was first written, in milliseconds since 1970.
    pub created_at: u64,
    /// When its newest checkpoint was made, in milliseconds since 1970.
    pub updated_at: u64,
    /// The [fingerprint](crate::graph::CompiledGraph::fingerprint) of the graph that stored its newest checkpoint.
    pub fingerprint: u64,
    /// The import time and trust, if it was made elsewhere.
    pub foreign: Option<ForeignRecord>,
    /// The metadata of its newest checkpoint: [`Thread::metadata`](crate::graph::Thread::metadata).
    pub metadata: Vec<(String, String)>,
    /// The pending questions, if it is [`Interrupted`](StatusKind::Interrupted). Their types are not known here:
    /// payloads and answers are JSON.
    pub questions: Vec<Question>,
    /// The earliest time at which a waiting task can resume.
    pub wake: Option<SystemTime>,
    /// The signals that its tasks wait for.
    pub awaits: Vec<AwaitedSignal>,
    /// The reason why it is [`Damaged`](StatusKind::Damaged).
    pub reason: Option<String>,
    /// True if breakpoints are stored with it: [`Thread::remember_stops`](crate::graph::Thread::remember_stops).
    pub has_stops: bool,
    /// The machine and the folder that it is bound to: [`Thread::place`](crate::graph::Thread::place).
    pub place: Option<ThreadPlace>,
    /// The time of a request that a runner resumes it: [`Thread::request_run`](crate::graph::Thread::request_run).
    pub requested_at: Option<u64>,
}

impl Serialize for ThreadInfo {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let metadata = Some(metadata(&self.metadata)).filter(|pairs| !pairs.is_empty());
        Object::new(out)?
            .put("thread", self.id.as_str())?
            .put("graph", &self.graph)?
            .put("status", self.status)?
            .put_some("owner", self.owner.as_deref())?
            .put("checkpoint", self.checkpoint)?
            .put("step", self.step)?
            .put("created_at", rfc3339(self.created_at))?
            .put("updated_at", rfc3339(self.updated_at))?
            .put_some("metadata", metadata)?
            .put("foreign", self.foreign.is_some())?
            .put_some("trusted", self.foreign.as_ref().map(|foreign| foreign.trusted))?
            .put_some("until", self.wake.map(time_text))?
            .put_list("signals", &self.awaits)?
            .put_some("reason", self.reason.as_ref())?
            .put_some("place", self.place.as_ref())?
            .put_some("requested_at", self.requested_at.map(rfc3339))?
            .put("questions", &self.questions)?
            .end()
    }
}

impl From<ListedThread> for ThreadInfo {
    fn from(summary: ListedThread) -> Self {
        Self {
            id: summary.id,
            graph: summary.graph,
            status: summary.status,
            owner: summary.owner,
            checkpoint: summary.checkpoint,
            step: summary.step,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            fingerprint: summary.fingerprint,
            foreign: summary.foreign,
            metadata: summary.metadata,
            questions: vec![],
            wake: summary.wake.map(system_time),
            awaits: summary.awaits.iter().map(AwaitedSignal::from).collect(),
            reason: summary.reason,
            has_stops: summary.has_stops,
            place: summary.place,
            requested_at: summary.requested_at,
        }
    }
}

/// Returns the time that decides whether threads of a store still wait.
fn time(store: &dyn Checkpointer) -> SystemTime {
    store.time().unwrap_or_else(SystemTime::now)
}

impl ThreadInfo {
    /// Returns one thread; none if the store does not have it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read(store: &dyn Checkpointer, id: &ThreadId) -> Result<Option<Self>, RunError> {
        Self::read_at(store, id, time(store)).await
    }

    /// Returns one thread as of a time, which decides whether it still waits: for threads with a
    /// [`clock`](crate::graph::Thread::clock) of their own.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read_at(store: &dyn Checkpointer, id: &ThreadId, now: SystemTime) -> Result<Option<Self>, RunError> {
        let summary = SummaryReader::new(&store).read_intact(id, clock::millis(now)).await?;
        let Some(summary) = summary else { return Ok(None) };
        Ok(Some(Self::with_questions(store, summary).await?))
    }

    /// Returns all threads of a store, in byte order of length and name. One whose records cannot be read is
    /// [`Damaged`](StatusKind::Damaged) and does not affect the others.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all(store: &dyn Checkpointer) -> Result<Vec<Self>, RunError> {
        Self::all_at(store, time(store)).await
    }

    /// Returns all threads of a store as of a time, which decides whether they still wait.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all_at(store: &dyn Checkpointer, now: SystemTime) -> Result<Vec<Self>, RunError> {
        Self::list(store, &ThreadQuery { at: Some(now), ..ThreadQuery::default() }).await
    }

    /// Returns the threads that meet the conditions of a query.
    pub(super) async fn list(store: &dyn Checkpointer, query: &ThreadQuery) -> Result<Vec<Self>, RunError> {
        let mut threads = vec![];
        for summary in store.list(query).await? {
            let id = summary.id.clone();
            let info = Self::with_questions(store, summary).await.or_else(|error| damaged_info(&id, error))?;
            threads.extend(Some(info).filter(|info| info.fits(query)));
        }
        Ok(threads)
    }

    /// Returns true if the thread meets the conditions of a query, whatever the page.
    pub(super) fn fits(&self, query: &ThreadQuery) -> bool {
        let Self { id, status, graph, metadata, updated_at, .. } = self;
        query.fits_listed(&ListedFields { id, status: *status, graph, metadata, updated_at: *updated_at })
    }

    /// Reads the pending questions of the thread, those of one that is [running](StatusKind::Running) among them: tasks of its
    /// superstep may have asked while others are still at work.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn read_questions(&self, store: &dyn Checkpointer) -> Result<Vec<Question>, RunError> {
        let Some(checkpoint) = self.checkpoint else { return Ok(vec![]) };
        let birth = store.head(&self.id).await?.map_or(0, |head| head.birth);
        let tasks = read_tasks(store, &self.id, checkpoint).await?;
        Ok(read_questions(store, &self.id, birth, &tasks).await?)
    }

    /// Adds the pending questions to a summary. They are read only if it has some.
    async fn with_questions(store: &dyn Checkpointer, summary: ListedThread) -> Result<Self, RunError> {
        let info = Self::from(summary);
        if info.status != StatusKind::Interrupted {
            return Ok(info);
        }
        Ok(Self { questions: info.read_questions(store).await?, ..info })
    }
}

/// Returns the pending questions, without their types.
async fn read_questions(
    store: &dyn Checkpointer,
    id: &ThreadId,
    birth: u64,
    tasks: &Tasks,
) -> Result<Vec<Question>, CheckpointError> {
    let asking = tasks.values().filter(|task| task.status != TaskStatus::Done);
    let of = |task| move |asked| (task, asked);
    let open = asking.flat_map(|task: &TaskRecord| task.questions.iter().map(of(task)));
    let open: Vec<(&TaskRecord, &QuestionRecord)> = open.filter(|(_, asked)| !asked.answered).collect();
    let keys: Vec<Key> = open.iter().map(|(_, asked)| Key::Row(asked.payload)).collect();
    let rows = if keys.is_empty() { vec![] } else { store.get(id, keys).await? };
    let question = |((task, asked), payload): ((&TaskRecord, &QuestionRecord), Option<Vec<u8>>)| {
        let terms = Terms::of(task, asked);
        Question { terms, ..Question::from_record(asked, birth, payload.unwrap_or_default()) }
    };
    Ok(open.into_iter().zip(rows).map(question).collect())
}

async fn read_tasks(
    store: &dyn Checkpointer,
    id: &ThreadId,
    checkpoint: CheckpointId,
) -> Result<Tasks, CheckpointError> {
    let range = Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: COMMAND_KEY - 1 };
    let after = Key::Task { checkpoint, task: COMMAND_KEY + 1 }..=Key::Task { checkpoint, task: u32::MAX };
    let mut tasks = Tasks::new();
    for range in [range, after] {
        for (key, bytes) in store.scan(id, range, Order::Ascending, usize::MAX).await? {
            if let Key::Task { task, .. } = key {
                tasks.insert(task, decode_record(id, key, &bytes)?);
            }
        }
    }
    Ok(tasks)
}

/// Returns a thread whose records cannot be read as a list entry; passes other errors on.
fn damaged_info(id: &ThreadId, error: RunError) -> Result<ThreadInfo, RunError> {
    match &error {
        RunError::Checkpoint(error @ (CheckpointError::Damaged { .. } | CheckpointError::Format { .. })) => {
            Ok(ListedThread::damaged(id, error).into())
        }
        _ => Err(error),
    }
}
