//! The state that all requests share: graphs, records, events of runs, and what is executed now.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, Checkpointer, ItemWrite, OwnerRequest, ThreadId, foreign};
use superstep::graph::{
    AnyGraph, AnyState, AnyThread, CancellationToken, Graphs, RunError, StateSnapshot, StatusKind, ThreadInfo,
};
use superstep::memory::{CheckpointerStore, Store};
use superstep_base::gather;
use superstep_base::time::now;
use tokio::sync::{Notify, OnceCell, Semaphore, watch};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::activity::{Activity, ActivityKind};
use crate::client_input::InputReaders;
use crate::error::{ApiError, ApiResult};
use crate::feed::Feeds;
use crate::forks::ForkHooks;
use crate::inputs::InputChecks;
use crate::inspection::replays::Replays;
use crate::observer::RunObserver;
use crate::options::Options;
use crate::progress::executing::ExecutingThreads;
use crate::progress::foreign::ForeignSearch;
use crate::progress::joined::JoinedRuns;
use crate::progress::log::EventLog;
use crate::progress::resumes::Resumes;
use crate::progress::waits::KnownPositions;
use crate::records::assistant::AssistantRecord;
use crate::records::deletion::Deletion;
use crate::records::items::{Lookup, Record, Records, StoredRecord, create, delete, put};
use crate::records::run::{RunPlace, RunRecord};
use crate::records::thread::ThreadRecord;
use crate::security::guard::Guard;
use crate::security::limits::{Limits, OpenRunCount};
use crate::security::past_secrets::PastSecrets;
use crate::security::secrets::Secrets;
use crate::telemetry::Metrics;
use crate::webhooks::client::Webhooks;
use crate::wire::with_interrupts;

/// The time for which a deletion waits for a thread that somebody holds: servers that search for work do so briefly.
const PATIENCE: Duration = Duration::from_millis(500);
/// The pause before a thread that somebody holds is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// The state of a server.
pub(crate) struct Server {
    pub graphs: Graphs,
    pub records: Records,
    /// The long-term store that nodes see.
    pub memory: Arc<dyn Store>,
    pub feeds: Feeds,
    pub log: EventLog,
    pub activity: Activity,
    /// The time for which the events of a run that has ended are kept.
    pub keep_events: Duration,
    /// Changes when a run was created here.
    pub created: watch::Sender<()>,
    pub inputs: InputChecks,
    pub readers: InputReaders,
    pub forks: ForkHooks,
    pub executing: ExecutingThreads,
    pub resumes: Resumes,
    pub joined: JoinedRuns,
    pub foreign: ForeignSearch,
    pub positions: KnownPositions,
    /// As many permits as runs are executed at a time.
    pub jobs: Semaphore,
    /// Listener of the runs that are executed.
    pub observer: Option<Arc<dyn RunObserver>>,
    /// Notified when a timer was set.
    pub has_timer: Notify,
    pub webhooks: Webhooks,
    pub stop: CancellationToken,
    /// Cancelled once no run is executed any more after `stop`: readers leave.
    pub closing: CancellationToken,
    pub guard: Arc<Guard>,
    pub limits: Limits,
    pub metrics: Metrics,
    pub open_runs: OpenRunCount,
    pub replays: Replays,
    pub past_secrets: PastSecrets,
    /// Set if `/docs` is served.
    pub has_page: bool,
    defaults: OnceCell<()>,
    orders: OnceCell<()>,
}

impl Server {
    pub(crate) fn new(graphs: Graphs, store: Arc<dyn Checkpointer>, options: Options) -> Self {
        let graphs = options.memory.into_iter().fold(graphs, Graphs::with_store);
        let memory = graphs.iter().find_map(|graph| graph.store().cloned());
        Self {
            metrics: Metrics::new(&graphs),
            graphs: graphs.with_shared_checkpointer(Arc::clone(&store)),
            memory: memory.unwrap_or_else(|| Arc::new(CheckpointerStore::new(Arc::clone(&store)))),
            records: Records::new(store),
            feeds: Feeds::default(),
            log: EventLog::default(),
            activity: Activity::new(),
            keep_events: options.keep_events,
            created: watch::Sender::new(()),
            inputs: InputChecks::default(),
            readers: options.readers,
            forks: options.forks,
            executing: ExecutingThreads::default(),
            resumes: Resumes::default(),
            joined: JoinedRuns::default(),
            foreign: ForeignSearch::default(),
            positions: KnownPositions::default(),
            jobs: Semaphore::new(options.jobs),
            observer: options.observer,
            stop: options.stop,
            closing: options.end,
            guard: options.security.guard(),
            limits: options.security.limits,
            open_runs: OpenRunCount::default(),
            replays: Replays::new(options.longest_replay),
            past_secrets: PastSecrets::default(),
            has_page: options.has_page,
            has_timer: Notify::new(),
            webhooks: Webhooks::new(options.allows_private_webhooks, options.webhook_secret),
            defaults: OnceCell::new(),
            orders: OnceCell::new(),
        }
    }

    /// Returns all assistants, those that graphs have by themselves among them.
    pub(crate) async fn assistants(&self) -> ApiResult<Vec<StoredRecord<AssistantRecord>>> {
        self.make_defaults().await?;
        Ok(self.records.all("").await?)
    }

    /// Returns an assistant by its id.
    pub(crate) async fn assistant(&self, id: &str) -> ApiResult<StoredRecord<AssistantRecord>> {
        self.make_defaults().await?;
        let Ok(id) = id.parse::<Uuid>() else {
            return Err(ApiError::invalid(format!("`{id}` is no id of an assistant: a UUID is expected")));
        };
        self.records.get(&id.to_string()).await?.ok_or_else(|| ApiError::not_found("assistant", &id.to_string()))
    }

    /// Returns an assistant by its id, or that of a graph by the graph's name.
    pub(crate) async fn assistant_or_graph(&self, name: &str) -> ApiResult<AssistantRecord> {
        self.make_defaults().await?;
        let id = match self.graphs.get(name) {
            Ok(graph) => crate::records::assistant::default_id(graph.name()).to_string(),
            Err(_) => name.to_owned(),
        };
        let found = self.records.get::<AssistantRecord>(&id).await?;
        found.map(|found| found.record).ok_or_else(|| {
            let known: Vec<&str> = self.graphs.iter().map(|graph| graph.name()).collect();
            // An id may have been one, where another name can only be a mistake.
            let status = match name.parse::<Uuid>() {
                Ok(_) => StatusCode::NOT_FOUND,
                Err(_) => StatusCode::UNPROCESSABLE_ENTITY,
            };
            ApiError::new(status, format!("there is no assistant `{name}`; the graphs are {}", known.join(", ")))
        })
    }

    /// Gives threads of an earlier version their places in lists.
    pub(crate) async fn make_orders(&self) -> ApiResult<()> {
        Ok(self.orders.get_or_try_init(|| self.records.make_orders()).await.copied()?)
    }

    /// Stores the assistants that graphs have by themselves, unless they are there.
    async fn make_defaults(&self) -> ApiResult<()> {
        let made = self.defaults.get_or_try_init(|| async {
            for graph in self.graphs.iter() {
                let record = AssistantRecord::default_of(graph.name(), now());
                if !matches!(self.records.look_up::<AssistantRecord>(&record.key()).await?, Lookup::Gone) {
                    continue;
                }
                match self.records.write(vec![create(&record)]).await {
                    Ok(()) | Err(CheckpointError::ItemConflict { .. }) => {}
                    Err(error) => return Err(ApiError::from(error)),
                }
            }
            Ok(())
        });
        made.await.copied()
    }

    /// Returns the record of a thread. One that another program made has none yet: then it is what the store says of the thread.
    pub(crate) async fn thread_record(&self, thread: &str) -> ApiResult<StoredRecord<ThreadRecord>> {
        if let Some(found) = self.records.get(&ThreadRecord::key_of(thread)).await? {
            return Ok(found);
        }
        let info = ThreadInfo::read(&*self.records.0, &ThreadId::from(thread)).await?;
        let info = info.filter(|info| !info.graph.is_empty()).ok_or_else(|| ApiError::not_found("thread", thread))?;
        Ok(StoredRecord::new(ThreadRecord::of(&info)))
    }

    /// Returns whether another program, which was running a thread when the server looked last, runs it now.
    pub(crate) async fn runs_elsewhere(&self, record: &ThreadRecord) -> ApiResult<bool> {
        if !record.state.is_some_and(|state| state.is_busy) {
            return Ok(false);
        }
        let found = ThreadInfo::read(&*self.records.0, &ThreadId::from(record.thread.as_str())).await?;
        Ok(found.is_some_and(|found| found.status == StatusKind::Running))
    }

    /// Writes the record of a thread that another program made.
    pub(crate) async fn adopt(&self, thread: &str) -> ApiResult<()> {
        let record = self.thread_record(thread).await?;
        self.check_trusted(thread).await?;
        match self.records.write(vec![create(&record.record)]).await {
            Ok(()) | Err(CheckpointError::ItemConflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails for a thread that was imported, or whose store comes from elsewhere, and that nobody has trusted.
    pub(crate) async fn check_trusted(&self, thread: &str) -> ApiResult<()> {
        let id = ThreadId::from(thread);
        match foreign(&*self.records.0, &id).await?.is_some_and(|foreign| !foreign.trusted) {
            true => Err(RunError::Foreign { thread: id }.into()),
            false => Ok(()),
        }
    }

    /// Returns the graph of a thread; `None` before its first run.
    pub(crate) fn graph_of(&self, record: &ThreadRecord) -> ApiResult<Option<&AnyGraph>> {
        Ok(record.graph.as_deref().map(|graph| self.graphs.get(graph)).transpose()?)
    }

    /// Returns a thread with its graph; `None` before its first run.
    pub(crate) async fn thread(&self, name: &str) -> ApiResult<Option<(&AnyGraph, AnyThread)>> {
        let record = self.thread_record(name).await?.record;
        Ok(self.graph_of(&record)?.map(|graph| (graph, graph.thread(name))))
    }

    /// Returns the values of a thread now, with the questions that are open.
    pub(crate) async fn values(&self, name: &str) -> ApiResult<Value> {
        let Some((graph, thread)) = self.thread(name).await? else { return Ok(Value::Null) };
        let Some(snapshot) = thread.state().await? else { return Ok(Value::Null) };
        let open: Vec<_> = snapshot.questions().filter(|question| !question.is_answered()).cloned().collect();
        let mut values = with_interrupts(snapshot.json(graph.schema()), &open);
        self.secrets_of(graph, name, &snapshot).await?.hide(&mut values);
        Ok(values)
    }

    /// Returns the values that the secret channels of a thread have, and have had.
    pub(crate) async fn secrets_of(
        &self,
        graph: &AnyGraph,
        thread: &str,
        snapshot: &StateSnapshot<AnyState>,
    ) -> Result<Secrets, RunError> {
        let secrets = self.past_secrets.of(graph, thread).await?;
        secrets.add_deep(graph, snapshot); // what tasks have written since the newest checkpoint
        Ok(secrets)
    }

    /// Has a run stopped at once, wherever it is executed.
    pub(crate) async fn cancel_running(&self, run: &RunRecord) -> ApiResult<()> {
        if !self.executing.stop(&run.thread, run.run) {
            self.records.0.send(&ThreadId::from(run.thread.as_str()), OwnerRequest::Cancel).await?;
        }
        Ok(())
    }

    /// Removes the checkpoints of a thread, if it has any.
    pub(crate) async fn delete_checkpoints(&self, graph: &AnyGraph, thread: &str) -> ApiResult<()> {
        let handle = graph.thread(thread);
        match Box::pin(retry_while_busy(PATIENCE, || handle.delete())).await {
            Ok(()) | Err(RunError::UnknownThread { .. } | RunError::EmptyInput { .. }) => Ok(()),
            Err(RunError::Checkpoint(CheckpointError::UnknownThread { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a thread with its checkpoints, its runs and what the server knows of it.
    pub(crate) async fn remove_thread(&self, thread: &str) -> ApiResult<()> {
        let record = self.thread_record(thread).await?;
        if let Some(graph) = self.graph_of(&record.record)? {
            self.delete_checkpoints(graph, thread).await?;
        }
        self.remove_records(&record).await
    }

    /// Removes what the server knows of a thread beside its checkpoints, which are gone.
    pub(crate) async fn remove_records(&self, record: &StoredRecord<ThreadRecord>) -> ApiResult<()> {
        let thread = record.record.thread.as_str();
        let (runs, damaged) = self.records.all_with_damage::<RunRecord>(&RunRecord::prefix_of(thread)).await?;
        let mut writes: Vec<_> = runs.iter().map(StoredRecord::remove).collect();
        writes.extend(damaged.into_iter().map(ItemWrite::delete));
        writes.extend(runs.iter().map(|run| delete(&RunPlace::of(&run.record))));
        writes.extend(runs.iter().filter_map(|run| run.record.timer()).map(|timer| delete(&timer)));
        writes.extend(record.record.timer().as_ref().map(delete));
        writes.push(record.remove());
        let graph = record.record.graph.as_deref().unwrap_or_default();
        if !record.record.is_temporary {
            writes.push(put(&Deletion { at: now(), thread: thread.to_owned(), graph: graph.to_owned() }));
        }
        self.records.write(writes).await?;
        self.past_secrets.forget(thread);
        self.activity.note(thread, graph, ActivityKind::Deleted, json!({}));
        Ok(())
    }
}

/// Tries something again while its thread is busy, for as long as `patience`.
pub(crate) async fn retry_while_busy<T, F>(patience: Duration, mut attempt: impl FnMut() -> F) -> Result<T, RunError>
where
    F: Future<Output = Result<T, RunError>>,
{
    let begun = Instant::now();
    loop {
        match attempt().await {
            Err(RunError::Checkpoint(CheckpointError::ThreadBusy { .. })) if begun.elapsed() < patience => {
                sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Returns the fields of an object that a client asked for with `select`; all without it.
pub(crate) fn select_fields(value: Value, select: Option<&[String]>) -> Value {
    match (select, value) {
        (Some(names), Value::Object(fields)) => {
            gather::<serde_json::Map<_, _>, _>(fields.into_iter().filter(|(name, _)| names.contains(name))).into()
        }
        (_, value) => value,
    }
}
