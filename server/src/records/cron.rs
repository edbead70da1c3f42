//! Crons: requests for runs that are repeated by a schedule.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::items::Record;
use super::time::time_text;
use super::timer::{Timer, TimerKind};
use crate::security::secrets::visible_request;

/// Record of a cron.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CronRecord {
    pub cron: Uuid,
    pub assistant: Uuid,
    /// The thread of its runs; without it, each has one of its own.
    pub thread: Option<String>,
    pub schedule: String,
    /// Name of a time zone; UTC without it.
    pub timezone: Option<String>,
    pub end_time: Option<u64>,
    /// The request of each run.
    pub payload: Value,
    /// The secret channels of its graph: what the request writes to them is not shown.
    #[serde(default)]
    pub secret_channels: Vec<String>,
    pub metadata: Map<String, Value>,
    pub is_enabled: bool,
    /// Set if the threads of its runs stay when they have ended.
    pub keeps_threads: bool,
    /// The date of its next run; `None` if there is none.
    pub next: Option<u64>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A cron: a request for runs by a schedule.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cron)]
pub(crate) struct CronJson<'a> {
    cron_id: Uuid,
    assistant_id: Uuid,
    /// The thread of its runs; null if each has one of its own.
    #[schema(required)]
    thread_id: Option<&'a str>,
    schedule: &'a str,
    /// The name of a time zone; UTC if it is null.
    #[schema(required)]
    timezone: Option<&'a str>,
    #[schema(required, format = DateTime)]
    end_time: Option<String>,
    /// The request of each run.
    payload: Value,
    metadata: &'a Map<String, Value>,
    enabled: bool,
    /// Fate of the threads of its runs: `delete` or `keep`.
    on_run_completed: &'static str,
    #[schema(required, format = DateTime)]
    next_run_date: Option<String>,
    /// Null; clients of LangGraph expect it.
    #[schema(required, value_type = Option<String>)]
    user_id: (),
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

impl Record for CronRecord {
    const NAMESPACE: &'static str = "superstep.server.crons";

    fn key(&self) -> String {
        self.cron.to_string()
    }
}

impl CronRecord {
    /// Returns the timer of its next run.
    pub(crate) fn timer(&self) -> Option<Timer> {
        self.next.map(|at| Timer::new(TimerKind::Cron, at, self.key()))
    }

    /// Returns the cron on the wire.
    pub(crate) fn json(&self) -> Value {
        json!(CronJson {
            cron_id: self.cron,
            assistant_id: self.assistant,
            thread_id: self.thread.as_deref(),
            schedule: &self.schedule,
            timezone: self.timezone.as_deref(),
            end_time: self.end_time.map(time_text),
            payload: visible_request(&self.payload, &self.secret_channels),
            metadata: &self.metadata,
            enabled: self.is_enabled,
            on_run_completed: if self.keeps_threads { "keep" } else { "delete" },
            next_run_date: self.next.map(time_text),
            user_id: (),
            created_at: time_text(self.created_at),
            updated_at: time_text(self.updated_at),
        })
    }
}
