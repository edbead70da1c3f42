//! A run as a client sees it: what was asked for, and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::items::{Record, key_part};
use super::thread::RunFailure;
use super::time::time_text;
use super::timer::{Timer, TimerKind};
use crate::security::secrets::visible_request;

/// Status of a run on the wire. A run that ends with a question is a success; one that was cancelled is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunStatus {
    Pending,
    Running,
    Success,
    Error,
    Interrupted,
}

impl RunStatus {
    /// Returns the status as it is on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// Record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    pub run: Uuid,
    /// The place among the runs of the thread in the order of their execution, from 1; no other run of it ever has it. 0 for a run that
    /// is in no queue yet.
    #[serde(default)]
    pub ordinal: u64,
    pub thread: String,
    pub graph: String,
    pub assistant: Uuid,
    pub metadata: Map<String, Value>,
    pub status: RunStatus,
    /// The request, as the client gave it.
    pub request: Value,
    /// The secret channels of its graph: what the request writes to them is not shown.
    #[serde(default)]
    pub secret_channels: Vec<String>,
    /// The assistant's context with that of the request.
    #[serde(default)]
    pub context: Map<String, Value>,
    /// Set if its events are stored.
    #[serde(default)]
    pub stores_events: bool,
    /// The number up to which events may have been sent; 0 as long as none can have been.
    #[serde(default)]
    pub events_to: u64,
    /// The number of times that an execution was begun.
    #[serde(default)]
    pub attempts: u32,
    /// Set if the run is to be removed with its checkpoints once it has stopped.
    #[serde(default)]
    pub is_rolled_back: bool,
    /// Set if somebody has asked to stop the run.
    #[serde(default)]
    pub is_cancelled: bool,
    pub multitask_strategy: String,
    pub created_at: u64,
    pub updated_at: u64,
    pub error: Option<RunFailure>,
    /// Time before which the run is in no queue.
    #[serde(default)]
    pub starts_at: Option<u64>,
    /// Set if it was created to start later: then its id is older than its place.
    #[serde(default)]
    pub is_delayed: bool,
    /// Set at its end if nodes of the thread were left to run: it has stopped at a question or a breakpoint, or failed.
    #[serde(default)]
    pub is_open: bool,
    /// The place in its trace of the request that created the run, as in the header `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunJson<'a> {
    run_id: Uuid,
    thread_id: &'a str,
    assistant_id: Uuid,
    metadata: &'a Map<String, Value>,
    status: RunStatus,
    /// The request, with `[secret]` in the place of what it writes to secret channels.
    kwargs: Value,
    multitask_strategy: &'a str,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// Null; clients of LangGraph expect it.
    #[schema(required, value_type = Option<String>)]
    langsmith_session_name: (),
}

impl Record for RunRecord {
    const NAMESPACE: &'static str = "superstep.server.runs";

    fn key(&self) -> String {
        Self::key_of(&self.thread, self.run)
    }
}

/// The number of events for which room is made at once: a number that may have been sent is not used again.
pub(crate) const EVENTS_AHEAD: u64 = 1000;

impl RunRecord {
    /// Returns the first part of the keys of a thread's runs.
    pub(crate) fn prefix_of(thread: &str) -> String {
        format!("{}/", key_part(thread))
    }

    pub(crate) fn key_of(thread: &str, run: Uuid) -> String {
        format!("{}{run}", Self::prefix_of(thread))
    }

    /// Returns the timer of a run that was created to start later.
    pub(crate) fn timer(&self) -> Option<Timer> {
        self.starts_at.map(|at| Timer::new(TimerKind::Run, at, self.key()))
    }

    /// Returns the request as clients read it: with what it has left out, and under the names that the fields have there.
    fn kwargs(&self) -> Value {
        let mut shown = visible_request(&self.request, &self.secret_channels);
        let Some(fields) = shown.as_object_mut() else { return shown };
        let modes = match fields.get("stream_mode") {
            Some(Value::Array(modes)) if !modes.is_empty() => modes.clone(),
            Some(Value::String(mode)) => vec![mode.clone().into()],
            _ => vec!["values".into()],
        };
        fields.insert("stream_mode".into(), modes.into());
        for (name, given) in [("subgraphs", "stream_subgraphs"), ("resumable", "stream_resumable")] {
            let value = fields.get(given).cloned().unwrap_or(false.into());
            fields.insert(name.into(), value);
        }
        for name in ["input", "command", "interrupt_before", "interrupt_after", "webhook"] {
            fields.entry(name).or_insert(Value::Null);
        }
        for name in ["config", "context"] {
            fields.entry(name).or_insert_with(|| Map::new().into());
        }
        fields.entry("durability").or_insert("async".into());
        shown
    }

    /// Returns the run on the wire.
    pub(crate) fn json(&self) -> Value {
        json!(RunJson {
            run_id: self.run,
            thread_id: &self.thread,
            assistant_id: self.assistant,
            metadata: &self.metadata,
            status: self.status,
            kwargs: self.kwargs(),
            multitask_strategy: &self.multitask_strategy,
            created_at: time_text(self.created_at),
            updated_at: time_text(self.updated_at),
            langsmith_session_name: (),
        })
    }
}

/// A run that has not ended, wherever it waits: a server that starts finds its work by these.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OpenRun {
    pub run: Uuid,
    pub thread: String,
    #[serde(default)]
    pub graph: String,
    /// Set if somebody has asked to stop it.
    #[serde(default)]
    pub is_to_stop: bool,
    /// Set with the first superstep of the run.
    #[serde(default)]
    pub is_running: bool,
    /// The time at which the run was created, in milliseconds since 1970; none in a record of an earlier release.
    #[serde(default)]
    pub created_at: Option<u64>,
}

impl Record for OpenRun {
    const NAMESPACE: &'static str = "superstep.server.open";

    fn key(&self) -> String {
        self.run.to_string()
    }
}

impl OpenRun {
    pub(crate) fn of(run: &RunRecord) -> Self {
        let (thread, graph) = (run.thread.clone(), run.graph.clone());
        let (is_running, created_at) = (run.status == RunStatus::Running, Some(run.created_at));
        Self { run: run.run, thread, graph, is_to_stop: run.is_to_stop(), is_running, created_at }
    }
}

/// Thread of a run that a client may name without its thread, or that is not open yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunPlace {
    pub run: Uuid,
    pub thread: String,
}

impl Record for RunPlace {
    const NAMESPACE: &'static str = "superstep.server.places";

    fn key(&self) -> String {
        self.run.to_string()
    }
}

impl RunPlace {
    pub(crate) fn of(run: &RunRecord) -> Self {
        Self { run: run.run, thread: run.thread.clone() }
    }
}
