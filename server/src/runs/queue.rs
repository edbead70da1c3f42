//! Runs that are created, and those that end: each change of a run is written together with its thread's queue. Knows records; must
//! not know how a run is executed.

use serde_json::{Map, Value};
use superstep::checkpoint::{CheckpointError, ItemWrite};
use superstep_base::time::now;
use uuid::Uuid;

use super::request::RunBody;
use super::webhook::delivery;
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::AssistantRecord;
use crate::records::delivery::DeliveryRecord;
use crate::records::items::{Records, StoredRecord, create, delete, put};
use crate::records::run::{EVENTS_AHEAD, OpenRun, RunPlace, RunRecord, RunStatus};
use crate::records::thread::{PendingAnswer, RunFailure, StateMark, ThreadRecord};
use crate::records::timer::Timer;
use crate::security::limits::full_queue;
use crate::telemetry::traceparent;

/// The refusal of an answer while another one to its question waits.
pub(crate) const IS_ANSWERED: &str = "the question is answered already: the run with that answer has not ended";

/// The strategies for a run of a thread that has one already.
const STRATEGIES: [&str; 4] = ["enqueue", "reject", "interrupt", "rollback"];

/// A run that is to be created.
pub(crate) struct NewRun<'a> {
    pub thread: &'a str,
    pub assistant: &'a AssistantRecord,
    pub body: &'a RunBody,
    pub request: Value,
    pub context: Map<String, Value>,
    pub stores_events: bool,
    pub secret_channels: Vec<String>,
    /// The number of runs in the queue with which it is full.
    pub queue_limit: usize,
    pub answers: Vec<PendingAnswer>,
    /// Set if the thread is made with the run.
    pub is_new: bool,
    /// Set if the thread is deleted with the run.
    pub is_temporary: bool,
    /// Writes with which the run is created.
    pub writes: Vec<ItemWrite>,
}

impl Records {
    /// Creates a run at the end of its thread's queue.
    pub(crate) async fn create_run(&self, new: &NewRun<'_>) -> ApiResult<RunRecord> {
        let graph = new.assistant.now().map(|version| version.graph.clone()).unwrap_or_default();
        let strategy = new.body.multitask_strategy.as_deref().unwrap_or("enqueue");
        if !STRATEGIES.contains(&strategy) {
            let known = STRATEGIES.join(", ");
            return Err(ApiError::invalid(format!("there is no multitask strategy `{strategy}`: there are {known}")));
        }
        let time = now();
        let run = RunRecord {
            run: Uuid::nil(),
            ordinal: 0,
            thread: new.thread.to_owned(),
            graph,
            assistant: new.assistant.assistant,
            metadata: new.body.metadata.clone().unwrap_or_default(),
            status: RunStatus::Pending,
            request: new.request.clone(),
            context: new.context.clone(),
            secret_channels: new.secret_channels.clone(),
            stores_events: new.stores_events,
            events_to: 0,
            attempts: 0,
            is_rolled_back: false,
            is_cancelled: false,
            multitask_strategy: strategy.to_owned(),
            created_at: time,
            updated_at: time,
            error: None,
            starts_at: new.body.delay().map(|delay| time.saturating_add(delay)),
            is_delayed: new.body.delay().is_some(),
            is_open: false,
            traceparent: traceparent(),
        };
        let may_create = new.is_new || new.body.if_not_exists.as_deref() == Some("create");
        let mut refusal = None;
        let key = ThreadRecord::key_of(new.thread);
        let created = self.change::<ThreadRecord, RunRecord>(&key, |found| {
            refusal = match &found {
                None if !may_create => Some(ApiError::not_found("thread", new.thread)),
                Some(thread) if strategy == "reject" && !thread.record.queue.is_empty() => {
                    Some(ApiError::conflict(format!("the thread `{}` has a run already", new.thread)))
                }
                Some(thread) if thread.record.queue.len() >= new.queue_limit => {
                    Some(full_queue(new.thread, thread.record.queue.len()))
                }
                Some(thread) if new.answers.iter().any(|answer| thread.record.takes_no(answer)) => {
                    Some(ApiError::conflict(IS_ANSWERED))
                }
                _ => None,
            };
            if refusal.is_some() {
                return None;
            }
            let (mut writes, run) = enqueue(found, &run, new);
            writes.extend(run.timer().as_ref().map(put));
            if new.is_new || run.starts_at.is_some() {
                writes.push(create(&RunPlace::of(&run)));
            }
            writes.extend(new.writes.iter().cloned());
            Some((writes, run))
        });
        match (created.await?, refusal) {
            (Some(run), _) => Ok(run),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Err(ApiError::not_found("thread", new.thread)),
        }
    }

    /// Returns a run of a thread.
    pub(crate) async fn run(&self, thread: &str, run: Uuid) -> ApiResult<StoredRecord<RunRecord>> {
        let found = self.get(&RunRecord::key_of(thread, run)).await?;
        found.ok_or_else(|| ApiError::not_found("run", &run.to_string()))
    }

    /// Returns the run of a thread that was created next after one.
    pub(crate) async fn run_after(&self, thread: &str, run: Uuid) -> ApiResult<Option<RunRecord>> {
        let (prefix, after) = (RunRecord::prefix_of(thread), RunRecord::key_of(thread, run));
        let next = self.page::<RunRecord>(&prefix, Some(after), 1).await?.pop();
        Ok(next.map(|stored| stored.record))
    }

    /// Returns the run of a thread that was created last.
    pub(crate) async fn last_run(&self, thread: &str) -> ApiResult<Option<Uuid>> {
        Ok(self.last_part::<RunRecord, Uuid>(RunRecord::prefix_of(thread)).await?)
    }

    /// Puts a run that was created to start later at the end of its thread's queue, and returns it; `None` if it has ended.
    pub(crate) async fn enqueue_delayed(
        &self,
        timer: &StoredRecord<Timer>,
    ) -> Result<Option<RunRecord>, CheckpointError> {
        let is_due = |run: &RunRecord| run.status == RunStatus::Pending;
        let Some(run) = self.due_record(timer, is_due).await? else { return Ok(None) };
        let key = ThreadRecord::key_of(&run.record.thread);
        self.change::<ThreadRecord, _>(&key, |found| {
            let mut thread = found.as_ref()?.record.clone();
            let ordinal = thread.push_run(run.record.run);
            let started = RunRecord { starts_at: None, ordinal, ..run.record.clone() };
            let written = found?.replace(&thread);
            Some((vec![written, run.replace(&started), create(&OpenRun::of(&started)), timer.remove()], started))
        })
        .await
    }

    /// Has a run removed with its checkpoints as soon as it has stopped. One that nobody has begun is removed at once; returns whether
    /// it was.
    pub(crate) async fn roll_back(&self, run: &RunRecord) -> ApiResult<bool> {
        loop {
            let stored = self.run(&run.thread, run.run).await?;
            if stored.record.status.has_ended() {
                return Ok(false);
            }
            let is_pending = stored.record.status == RunStatus::Pending;
            let writes = match is_pending {
                true => self.removal(&stored).await?,
                false => {
                    let rolled_back = RunRecord { is_rolled_back: true, ..stored.record.clone() };
                    vec![stored.replace(&rolled_back), put(&OpenRun::of(&rolled_back))]
                }
            };
            match self.write(writes).await {
                Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
                written => return Ok(written.map(|()| is_pending)?),
            }
        }
    }

    /// Removes a run that was rolled back, and takes it off the queue of its thread.
    pub(crate) async fn remove_run(&self, run: &RunRecord) -> ApiResult<()> {
        loop {
            let stored = self.run(&run.thread, run.run).await?;
            match self.write(self.removal(&stored).await?).await {
                Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
                written => return Ok(written?),
            }
        }
    }

    /// Returns the writes that remove a run.
    async fn removal(&self, stored: &StoredRecord<RunRecord>) -> ApiResult<Vec<ItemWrite>> {
        let run = &stored.record;
        let mut writes = vec![stored.remove(), delete(&OpenRun::of(run)), delete(&RunPlace::of(run))];
        writes.extend(run.timer().as_ref().map(delete));
        if let Some(thread) = self.get::<ThreadRecord>(&ThreadRecord::key_of(&stored.record.thread)).await? {
            let mut record = thread.record.clone();
            record.remove_run(stored.record.run);
            record.error = None;
            writes.push(thread.replace(&record));
        }
        Ok(writes)
    }

    /// Writes the end of a run that may end, and takes it off the queue of its thread; returns whether it did.
    pub(crate) async fn end_run(
        &self,
        run: &RunRecord,
        end: RunEnding,
        may_end: fn(&RunRecord) -> bool,
    ) -> ApiResult<bool> {
        let key = ThreadRecord::key_of(&run.thread);
        loop {
            let stored = self.run(&run.thread, run.run).await?;
            if !may_end(&stored.record) {
                return Ok(false);
            }
            let thread = self.get::<ThreadRecord>(&key).await?;
            let mut writes = end_writes(&stored, thread.as_ref(), &end);
            writes.extend(end.writes.iter().cloned());
            match self.write(writes).await {
                Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
                written => return Ok(written.map(|()| true)?),
            }
        }
    }
}

impl Records {
    /// Changes the record of a run; returns it as it is then.
    pub(crate) async fn change_run(
        &self,
        run: &RunRecord,
        edit: impl Fn(&mut RunRecord),
    ) -> ApiResult<StoredRecord<RunRecord>> {
        let key = RunRecord::key_of(&run.thread, run.run);
        let changed = self.change::<RunRecord, ()>(&key, |found| {
            let found = found?;
            let mut record = found.record.clone();
            edit(&mut record);
            Some((vec![found.replace(&record)], ()))
        });
        changed.await?;
        self.run(&run.thread, run.run).await
    }
}

/// The end of a run: its status, and the failure if there is one.
pub(crate) type RunEnd = (RunStatus, Option<RunFailure>);

/// The end of a run with what is stored beside it.
pub(crate) struct RunEnding {
    pub end: RunEnd,
    /// The state of the thread at the end.
    pub state: Option<StateMark>,
    /// The values at the end, for a webhook.
    pub values: Value,
    /// Writes with which the end is stored.
    pub writes: Vec<ItemWrite>,
}

/// Returns the writes of the end of a run.
fn end_writes(
    stored: &StoredRecord<RunRecord>,
    thread: Option<&StoredRecord<ThreadRecord>>,
    ending: &RunEnding,
) -> Vec<ItemWrite> {
    let (run, (status, failure)) = (&stored.record, &ending.end);
    let is_open = ending.state.is_some_and(|state| state.is_open);
    let ended = RunRecord { status: *status, error: failure.clone(), updated_at: now(), is_open, ..run.clone() };
    let mut writes = vec![stored.replace(&ended), delete(&OpenRun::of(run))];
    if let Some(thread) = thread {
        let mut record = thread.record.clone();
        record.remove_run(run.run);
        (record.error, record.updated_at) = (failure.clone(), ended.updated_at);
        record.state = ending.state.or(record.state);
        if record.is_temporary {
            record.remove_later();
            writes.extend(record.timer().as_ref().map(put));
        }
        writes.push(thread.replace(&record));
    }
    writes.extend(run.timer().as_ref().map(delete));
    writes.extend(delivery(run, &ended, &ending.values).iter().flat_map(DeliveryRecord::create));
    writes
}

/// Returns the writes of a new run at the end of a queue.
fn enqueue(
    found: Option<StoredRecord<ThreadRecord>>,
    run: &RunRecord,
    new: &NewRun<'_>,
) -> (Vec<ItemWrite>, RunRecord) {
    let mut thread = match &found {
        Some(thread) => thread.record.clone(),
        None => {
            ThreadRecord { is_temporary: new.is_temporary, ..ThreadRecord::new(run.thread.as_str(), run.created_at) }
        }
    };
    // The first of a queue is executed at once.
    let is_first = thread.queue.is_empty() && run.starts_at.is_none();
    let events_to = if is_first { EVENTS_AHEAD } else { 0 };
    // The id is made with each try: the ids of a thread's runs are in the order of its queue.
    let mut run = RunRecord { run: Uuid::now_v7(), events_to, ..run.clone() };
    if run.starts_at.is_none() {
        run.ordinal = thread.push_run(run.run);
    }
    thread.answers.extend(new.answers.iter().map(|answer| PendingAnswer { run: run.run, ..answer.clone() }));
    if thread.graph.is_none() {
        thread.graph = Some(run.graph.clone());
        let words = [("graph_id", run.graph.clone()), ("assistant_id", run.assistant.to_string())];
        thread.metadata.extend(words.map(|(key, value)| (key.to_owned(), Value::from(value))));
    }
    if let Some(version) = new.assistant.now() {
        thread.add_config(&new.request, &version.config);
    }
    thread.updated_at = run.created_at;
    let written = found.map_or_else(|| create(&thread), |found| found.replace(&thread));
    let open = run.starts_at.is_none().then(|| create(&OpenRun::of(&run)));
    ([written, create(&run)].into_iter().chain(open).collect(), run)
}
