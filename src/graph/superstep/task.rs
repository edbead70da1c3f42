//! One task of a superstep: its state, its past as it is stored, and what its end means. Knows no store.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::position::{FinishedResult, Packet, Position};
use crate::checkpoint::{CheckpointId, FailureRecord, TaskRecord, TaskStatus};
use crate::graph::build::{Branch, Table};
use crate::graph::context::{Answers, AnyContext};
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::node::{AnyCommand, Name, Sends, Target};
use crate::graph::records::{Journal, SENT, START_KEY, START_NODE};
use crate::graph::state::{AnyState, Payload};

/// The maximum number of sends of one task, and of all tasks of a superstep.
pub(crate) const SENDS_LIMIT: usize = 100_000;
/// The maximum number of pending questions in one superstep.
pub(crate) const QUESTIONS_LIMIT: usize = 10_000;
/// The number of failed attempts of a task that are kept.
const FAILURES_KEPT: usize = 100;

/// One task of a superstep.
pub(crate) struct Task {
    pub key: u32,
    pub node: u32,
    pub packet: Option<Packet>,
    pub state: TaskState,
    pub answers: Answers,
    /// True if it has run before, in this process or another.
    pub again: bool,
    pub starts: Starts,
    /// Its past, as it is stored: questions, answers, failures. The result is in `state` alone, the attempts in `starts`.
    pub record: LazyRecord,
    /// The questions of its last run with their payloads, answered ones included.
    pub asked: AskedQuestions,
    /// Tasks of the root graph only.
    pub journal: Option<Arc<Journal>>,
    /// Tasks with a retry policy or an error handler only.
    pub latest: Option<LatestRecord>,
}

pub(crate) enum TaskState {
    Ready,
    /// Ended. `cached`: not in this run.
    Done(Box<FinishedResult>),
    Asked {
        questions: Arc<[Question]>,
        fresh: bool,
    },
    Failed(Box<RunError>),
}

impl Task {
    pub(crate) fn edge(node: u32) -> Self {
        Self::new(if node == START_NODE { START_KEY } else { node }, node, None)
    }

    pub(crate) fn send(at: usize, node: u32, packet: Packet) -> Self {
        Self::new(SENT + at as u32, node, Some(packet))
    }

    fn new(key: u32, node: u32, packet: Option<Packet>) -> Self {
        Self {
            key,
            node,
            packet,
            state: TaskState::Ready,
            answers: Answers::default(),
            again: false,
            starts: Starts::default(),
            record: LazyRecord::default(),
            asked: AskedQuestions::default(),
            journal: None,
            latest: None,
        }
    }

    /// Returns the same task as it was planned. Takes its payload.
    pub(crate) fn planned_again(&mut self) -> Self {
        Self::new(self.key, self.node, self.packet.take())
    }

    pub(crate) fn is_edge(&self) -> bool {
        self.packet.is_none()
    }

    /// Returns the number of its pending questions.
    pub(crate) fn open(&self) -> usize {
        match &self.state {
            TaskState::Asked { questions, .. } => questions.len(),
            TaskState::Ready | TaskState::Done(_) | TaskState::Failed(_) => 0,
        }
    }

    /// Its open questions.
    pub(crate) fn asks(&self) -> &[Question] {
        match &self.state {
            TaskState::Asked { questions, .. } => questions,
            TaskState::Ready | TaskState::Done(_) | TaskState::Failed(_) => &[],
        }
    }

    /// Returns its result, if it has ended with one.
    pub(crate) fn result(&self) -> Option<&FinishedResult> {
        match &self.state {
            TaskState::Done(done) => Some(done),
            TaskState::Ready | TaskState::Asked { .. } | TaskState::Failed(_) => None,
        }
    }

    /// Returns the error that it failed with.
    pub(crate) fn failure(&self) -> Option<&RunError> {
        if let TaskState::Failed(error) = &self.state { Some(error) } else { None }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, TaskState::Done(_))
    }

    /// Returns true if it is to run now. A task that waits for an answer is not run again, unless `rerun` (V12).
    pub(crate) fn runs(&self, rerun: bool) -> bool {
        match &self.state {
            TaskState::Ready => true,
            TaskState::Asked { fresh, .. } => *fresh || rerun,
            TaskState::Done(_) | TaskState::Failed(_) => false,
        }
    }

    /// Returns its past with the attempts, without a result.
    pub(crate) fn to_record(&self) -> TaskRecord {
        self.starts.with(self.record.to_record())
    }

    /// Returns the record to store if the run drops the task before its end.
    pub(crate) fn dropped_record(&mut self) -> TaskRecord {
        self.catch_up();
        TaskRecord { wake: self.starts.not_before, ..self.to_record() }
    }

    /// Restores what was stored while its body ran, if the body did not end.
    pub(crate) fn catch_up(&mut self) {
        let latest = self.latest.take();
        let record = latest.and_then(|latest| latest.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(record) = record {
            self.restore(record);
        }
    }

    /// Restores the past from a record.
    pub(crate) fn restore(&mut self, mut record: TaskRecord) {
        let not_before = if record.status == TaskStatus::Pending { record.wake.take() } else { None };
        let time = |at: usize| record.times.get(at).copied().unwrap_or_default();
        self.starts = Starts { all: record.attempts, last: record.attempt, not_before, times: [time(0), time(1)] };
        self.record = without_result(record).into();
    }

    /// Notes that its last attempt failed.
    pub(crate) fn note_failure(&mut self, failure: FailureRecord) {
        self.note_failure_of(self.starts.all, failure);
    }

    /// Notes that the first of the last so many attempts failed.
    pub(crate) fn note_failures(&mut self, of: u32, failures: Vec<FailureRecord>) {
        let first = (self.starts.all + 1).saturating_sub(of);
        (first..).zip(failures).for_each(|(attempt, failure)| self.note_failure_of(attempt, failure));
    }

    fn note_failure_of(&mut self, attempt: u32, failure: FailureRecord) {
        note_failure(&mut self.record, attempt, failure);
    }
}

/// Notes that an attempt failed. Beyond the limit, the oldest failures are dropped.
pub(crate) fn note_failure(record: &mut TaskRecord, attempt: u32, failure: FailureRecord) {
    if record.failures.len() >= FAILURES_KEPT {
        record.failures.remove(0);
    }
    if record.failed.len() >= FAILURES_KEPT {
        record.failed.remove(0);
    }
    record.failures.push(failure);
    record.failed.push(attempt);
}

/// Returns the past of a task without its result.
fn without_result(record: TaskRecord) -> TaskRecord {
    TaskRecord {
        status: TaskStatus::default(),
        writes: vec![],
        targets: vec![],
        sends: vec![],
        chosen: (0, 0),
        cached: false,
        children: vec![],
        ..record
    }
}

/// The tasks that a position plans, in canonical order: START, edges by name, then sends.
pub(crate) fn plan(table: &Table, pos: &Position, pulls: &mut Vec<u32>, tasks: &mut Vec<Task>) {
    tasks.clear();
    if let (None, Some(node)) = (&pos.start, pos.control.lone_pull()) {
        tasks.push(Task::edge(node));
        return;
    }
    pos.control.pulls(&table.wiring, pulls);
    let start = pos.start.is_some().then_some(START_NODE);
    tasks.reserve_exact(usize::from(start.is_some()) + pulls.len() + pos.control.sends.len());
    tasks.extend(start.into_iter().chain(pulls.iter().copied()).map(Task::edge));
    let sends = pos.control.sends.iter().enumerate();
    tasks.extend(sends.map(|(at, (node, packet))| Task::send(at, *node, packet.clone())));
}

/// Resolves what a command and the routers chose.
pub(crate) struct Resolve<'a> {
    pub table: &'a Table,
    pub from: &'a Arc<str>,
    pub made_by: (CheckpointId, u32),
}

impl Resolve<'_> {
    /// Follows a router's choice.
    pub(crate) fn branch(
        &self,
        branch: &Branch,
        state: &AnyState,
        context: &AnyContext,
        into: &mut FinishedResult,
    ) -> Result<(), RunError> {
        let chosen = (branch.choose)(state, context);
        let what = || format!("the router after `{}` takes a run's context of another type", self.from);
        let target = chosen.ok_or_else(|| RunError::InvalidConfig { what: what() })?;
        self.target(target, branch.only.as_deref(), into)
    }

    /// Follows the goto of a command.
    pub(crate) fn command(
        &self,
        goto: Vec<Target<Name>>,
        node: u32,
        into: &mut FinishedResult,
    ) -> Result<(), RunError> {
        let only = if node == START_NODE { None } else { self.table.row(node).exits.destinations.as_deref() };
        goto.into_iter().try_for_each(|target| self.target(target, only, into))
    }

    fn target(&self, target: Target<Name>, only: Option<&[u32]>, into: &mut FinishedResult) -> Result<(), RunError> {
        match target {
            Target::End => Ok(()),
            Target::Node(node) if node.as_str() == "__end__" => Ok(()),
            Target::Node(node) => {
                let at = self.target_index(&node)?;
                self.check_target(at, only)?;
                if !self.table.row(at).body.by_edges() {
                    return Err(self.not_startable(at, "only sends start it"));
                }
                into.routing.targets.push(at);
                Ok(())
            }
            Target::Many(many) => many.into_iter().try_for_each(|target| self.target(target, only, into)),
            Target::Sends(Sends { payloads, empty: Some(target), .. }) if payloads.is_empty() => {
                self.target(*target, only, into)
            }
            Target::Sends(sends) => {
                if sends.node.as_str() == "__end__" {
                    return Err(RunError::SendToEnd { from: Arc::clone(self.from) });
                }
                let at = self.target_index(&sends.node)?;
                self.check_target(at, only)?;
                if self.table.row(at).body.payload_type().is_none_or(|(takes, _)| takes != sends.takes) {
                    return Err(self.not_startable(at, &format!("it takes no `{}`", sends.type_name)));
                }
                let count = into.routing.sends.len() + sends.payloads.len();
                if count > SENDS_LIMIT {
                    let from = Arc::clone(self.from);
                    return Err(RunError::TooMany { from, what: "the sends of its task", count, limit: SENDS_LIMIT });
                }
                sends.payloads.into_iter().for_each(|payload| self.send(at, payload, into));
                Ok(())
            }
        }
    }

    fn send(&self, node: u32, payload: Arc<dyn Payload>, into: &mut FinishedResult) {
        let (checkpoint, task) = self.made_by;
        let slot = crate::checkpoint::RowId::SENDS + into.routing.sends.len() as u32;
        into.routing.sends.push((node, Packet { payload, row: crate::checkpoint::RowId { checkpoint, task, slot } }));
    }

    fn target_index(&self, node: &Name) -> Result<u32, RunError> {
        let unknown = || RunError::UnknownTarget { from: Arc::clone(self.from), to: node.as_str().to_owned() };
        self.table.node_index(node.as_str()).ok_or_else(unknown)
    }

    fn check_target(&self, node: u32, only: Option<&[u32]>) -> Result<(), RunError> {
        if only.is_none_or(|only| only.contains(&node)) {
            return Ok(());
        }
        let to = self.table.row(node).name.to_string();
        Err(RunError::UndeclaredTarget { from: Arc::clone(self.from), to })
    }

    fn not_startable(&self, node: u32, reason: &str) -> RunError {
        let to = self.table.row(node).name.to_string();
        RunError::NotStartable { from: Arc::clone(self.from), to, reason: reason.to_owned() }
    }
}

/// Notes in an empty result what a task has returned. Its routers have not chosen yet.
pub(crate) fn command_result(
    resolve: &Resolve<'_>,
    command: AnyCommand,
    node: u32,
    into: &mut FinishedResult,
) -> Result<(), RunError> {
    let AnyCommand { writes, returned, goto, .. } = command;
    (into.writes, into.returned) = (writes, returned);
    if !goto.is_empty() {
        resolve.command(goto, node, into)?;
        into.routing.chosen = (into.routing.targets.len() as u32, into.routing.sends.len() as u32);
    }
    Ok(())
}

/// The tasks that a position plans.
pub(crate) fn planned_tasks(table: &Table, pos: &Position) -> Vec<Task> {
    let mut tasks = vec![];
    plan(table, pos, &mut vec![], &mut tasks);
    tasks
}

/// The questions of a task. Copies share them; where there are none, there is nothing to share.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedQuestions(Option<Arc<[Question]>>);

impl Deref for AskedQuestions {
    type Target = [Question];

    fn deref(&self) -> &[Question] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<Q: Into<Arc<[Question]>>> From<Q> for AskedQuestions {
    fn from(questions: Q) -> Self {
        Self(Some(questions.into()))
    }
}

static NONE: LazyLock<TaskRecord> = LazyLock::new(TaskRecord::default);

/// The record of a task that has questions, answers, failures or a journal; empty otherwise. Allocated when it is first
/// changed; clones share it until then.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyRecord(Option<Arc<TaskRecord>>);

impl LazyRecord {
    /// Returns true if nothing of its past is stored but its starts.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn to_record(&self) -> TaskRecord {
        self.0.as_deref().cloned().unwrap_or_default()
    }
}

impl Deref for LazyRecord {
    type Target = TaskRecord;

    fn deref(&self) -> &TaskRecord {
        self.0.as_deref().unwrap_or_else(|| &*NONE)
    }
}

impl DerefMut for LazyRecord {
    fn deref_mut(&mut self) -> &mut TaskRecord {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl From<TaskRecord> for LazyRecord {
    fn from(record: TaskRecord) -> Self {
        Self(Some(Arc::new(record)))
    }
}

/// The record that was stored of a task while its body runs: once an attempt has failed that another one, or the error
/// handler, follows.
pub(crate) type LatestRecord = Arc<Mutex<Option<TaskRecord>>>;

/// The starts of a task's body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Starts {
    /// The number of starts, in this run and earlier ones.
    pub all: u32,
    /// The last attempt of its run, from 1.
    pub last: u32,
    /// The time before which it does not start, in milliseconds since 1970: an attempt in an earlier run failed, and that run
    /// ended in the pause before the next.
    pub not_before: Option<u64>,
    /// Times of its first start and of its last end, in milliseconds since 1970; 0 where they are not noted.
    pub times: [u64; 2],
}

impl Starts {
    /// Returns the past of a task with its attempts.
    pub(crate) fn with(self, past: TaskRecord) -> TaskRecord {
        let Self { all: attempts, last: attempt, times, .. } = self;
        let times = times.into_iter().take_while(|time| *time > 0).collect();
        TaskRecord { attempts, attempt, times, ..past }
    }
}
