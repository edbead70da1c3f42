//! Forks of a thread at a checkpoint: a thread of its own, or another branch of the same one. Must not know what a program does for a fork
//! outside of the store.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{
    CheckpointId, Checkpointer, ExportOptions, ImportOptions, MemoryCheckpointer, ThreadArchive,
};
use superstep::graph::{AnyGraph, AnyThread, RunError, ThreadInfo};
use utoipa::ToSchema;

use super::file::export;
use super::new_thread::NewThread;
use crate::error::{ApiError, ApiResult};
use crate::forks::{ForkOrigin, PreparedFork};
use crate::panics::task_result;
use crate::records::thread::ThreadRecord;
use crate::routes::updates::state_update;
use crate::server::Server;

/// A fork of a thread.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ForkRequest)]
pub(in crate::routes) struct ForkBody {
    /// The checkpoint from which the fork continues.
    checkpoint: u64,
    /// The name of the new thread; without it the thread itself continues from the checkpoint, and keeps what came after it.
    thread: Option<String>,
    /// Channels that have other values in the fork.
    values: Option<Map<String, Value>>,
    /// The node that wrote the values, as if it had run; without it those that ran last.
    as_node: Option<String>,
    /// Stores nothing, and returns what would run.
    #[serde(default)]
    preview: bool,
}

/// A thread, and where it is forked.
struct Fork<'a> {
    server: &'a Server,
    graph: &'a AnyGraph,
    thread: &'a str,
    body: ForkBody,
}

pub(in crate::routes) async fn fork(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<ForkBody>,
) -> ApiResult<Json<Value>> {
    // A client that leaves in between must not leave half a fork: so the fork is a task of its own.
    let made = tokio::spawn(async move { make(&server, &thread, body).await }).await;
    task_result(made)?
}

async fn make(server: &Server, thread: &str, body: ForkBody) -> ApiResult<Json<Value>> {
    let record = server.thread_record(thread).await?.record;
    let graph = server.graph_of(&record)?.ok_or_else(|| has_no_run(thread))?;
    server.check_trusted(thread).await?;
    if let Some(name) = &body.thread {
        check_new_name(server, name).await?;
    }
    let fork = Fork { server, graph, thread, body };
    if fork.body.preview { fork.preview().await } else { fork.store(&record).await }
}

/// Fails for a name that no thread can have, and for that of another thread.
pub(super) async fn check_new_name(server: &Server, name: &str) -> ApiResult<()> {
    if name.is_empty() {
        return Err(ApiError::invalid("the name of a thread cannot be empty"));
    }
    let is_known = server.records.get::<ThreadRecord>(&ThreadRecord::key_of(name)).await?.is_some();
    if is_known || ThreadInfo::read(&*server.records.0, &name.into()).await?.is_some() {
        return Err(ApiError::conflict(format!("the thread `{name}` exists: choose another name")));
    }
    Ok(())
}

fn has_no_run(thread: &str) -> ApiError {
    ApiError::conflict(format!("the thread `{thread}` has no checkpoint before its first run"))
}

impl Fork<'_> {
    fn at(&self) -> CheckpointId {
        CheckpointId(self.body.checkpoint)
    }

    /// Writes the values of the fork at its checkpoint. Returns the answer.
    async fn write(&self, graph: &AnyGraph, thread: &str, values: Option<&Value>) -> ApiResult<Value> {
        let update = state_update(self.server, graph, (values, self.body.as_node.as_deref()))?;
        let found: AnyThread = graph.thread(thread);
        let made = found.clone().at(self.at()).update(update).await?;
        let next = found.state().await?.map(|state| state.next.clone()).unwrap_or_default();
        Ok(json!({ "thread": thread, "checkpoint": made.checkpoint.0, "next": next }))
    }

    /// Makes the fork in memory only.
    async fn preview(&self) -> ApiResult<Json<Value>> {
        let (_permit, thread) = (self.server.replays.permit()?, self.thread.into());
        let file = export(self.server, self.thread, &ExportOptions::new().with_secrets()).await?;
        let store = Arc::new(MemoryCheckpointer::new());
        ThreadArchive::read(file.as_slice(), &ImportOptions::new())?.store_in(&*store).await?;
        superstep::checkpoint::trust(&*store, &thread).await?;
        let graph = self.graph.clone().with_shared_checkpointer(store as Arc<dyn Checkpointer>);
        let mut made = self.write(&graph, self.thread, self.body.values.clone().map(Value::from).as_ref()).await?;
        made["thread"] = self.body.thread.as_deref().unwrap_or(self.thread).into();
        made["checkpoint"] = Value::Null;
        Ok(Json(made))
    }

    async fn store(&self, record: &ThreadRecord) -> ApiResult<Json<Value>> {
        let prepared = self.prepare().await?;
        let values = merged(prepared.as_deref(), self.body.values.clone());
        let made = match &self.body.thread {
            Some(name) => self.store_as(name, record, values.as_ref()).await,
            None => self.store_here(values.as_ref()).await,
        };
        match (prepared, made.is_ok()) {
            (Some(prepared), true) => prepared.stored().await,
            (Some(prepared), false) => prepared.undo().await,
            (None, _) => {}
        }
        made.map(Json)
    }

    async fn prepare(&self) -> ApiResult<Option<Box<dyn PreparedFork>>> {
        let Some(hook) = self.server.forks.get(self.graph.name()) else { return Ok(None) };
        let origin = ForkOrigin::new(self.graph.thread(self.thread), self.at(), self.body.thread.clone());
        hook.prepare(origin).await.map(Some).map_err(ApiError::invalid)
    }

    async fn store_here(&self, values: Option<&Value>) -> ApiResult<Value> {
        let made = self.write(self.graph, self.thread, values).await?;
        self.server.mark_state(self.thread).await?;
        Ok(made)
    }

    /// Stores the fork as a thread of its own.
    async fn store_as(&self, name: &str, origin: &ThreadRecord, values: Option<&Value>) -> ApiResult<Value> {
        let new = NewThread::create(self.server, name, origin).await?;
        let copied = self.graph.thread(self.thread).copy_to(name, self.at()).await;
        let has_copied = copied.is_ok();
        let made = match copied {
            Ok(()) => self.write(self.graph, name, values).await,
            // Another program has made a thread of the name meanwhile.
            Err(error @ RunError::InvalidConfig { .. }) => Err(ApiError::conflict(error.to_string())),
            Err(error) => Err(error.into()),
        };
        new.settle(made, has_copied).await
    }
}

/// Returns the values of a fork: those that its program has prepared, and over them those of the client.
fn merged(prepared: Option<&dyn PreparedFork>, given: Option<Map<String, Value>>) -> Option<Value> {
    let Some(Value::Object(mut all)) = prepared.map(PreparedFork::values) else { return given.map(Value::from) };
    all.extend(given.unwrap_or_default());
    Some(Value::Object(all))
}
