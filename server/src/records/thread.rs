//! A thread as the server knows it beside its checkpoints: its metadata, and the runs that wait for it in their order.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::graph::{StatusKind, ThreadInfo};
use superstep_base::gather;
use utoipa::ToSchema;
use uuid::Uuid;

use super::assistant::default_id;
use super::items::{Record, key_part};
use super::timer::{Timer, TimerKind};

/// Time after which a thread is removed that a server should have removed with its run, in milliseconds.
const LEFT_OVER: u64 = 60_000;

/// The field of a configuration that nodes read.
const CONFIGURABLE: &str = "configurable";
/// The largest configuration that is kept of a thread, in bytes of JSON.
const CONFIG: usize = 64 << 10;

/// Record of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadRecord {
    pub thread: String,
    /// The graph of its runs, from the first one on.
    pub graph: Option<String>,
    pub metadata: Map<String, Value>,
    /// The configurations of its runs, the later ones over the earlier.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// In milliseconds since 1970, as all times of records.
    pub created_at: u64,
    pub updated_at: u64,
    /// The runs that have not ended, in the order in which they are executed.
    pub queue: Vec<Uuid>,
    /// The answers of these runs.
    #[serde(default)]
    pub answers: Vec<PendingAnswer>,
    /// The number of runs that were ever in the queue.
    #[serde(default)]
    pub created_runs: u64,
    /// The end of the last run, if it did not succeed.
    pub error: Option<RunFailure>,
    /// Deleted with its only run.
    pub is_temporary: bool,
    /// The state as the server saw it last.
    #[serde(default)]
    pub state: Option<StateMark>,
    #[serde(default)]
    pub ttl: Option<ThreadTtl>,
}

/// State of a thread without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateMark {
    pub updated_at: u64,
    /// Set if nodes are left to run.
    pub is_open: bool,
    /// The time at which the server saw it; 0 for one that another program left.
    #[serde(default)]
    pub seen_at: u64,
    /// Set if another program was running the thread.
    #[serde(default)]
    pub is_busy: bool,
    /// True if a task had failed, which changes no checkpoint; `None` where that is not known.
    #[serde(default)]
    pub has_failed: Option<bool>,
}

impl StateMark {
    /// Returns the mark of a thread whose state is being made: it is left alone for a minute, or until it has its mark.
    pub(crate) fn unfinished(now: u64) -> Self {
        let seen_at = now.saturating_add(60_000);
        Self { updated_at: now, is_open: true, seen_at, is_busy: false, has_failed: None }
    }

    /// Returns the mark of a state as the store lists it, with the time at which the server saw it last.
    pub(crate) fn of(info: &ThreadInfo, seen_at: u64) -> Self {
        Self {
            updated_at: info.updated_at,
            is_open: !matches!(info.status, StatusKind::New | StatusKind::Finished),
            seen_at,
            is_busy: info.status == StatusKind::Running,
            has_failed: (info.status != StatusKind::Running).then(|| has_failed(info)),
        }
    }

    /// Returns whether another program has changed the state since this mark of it was made.
    fn is_older(self, now: Self) -> bool {
        let has_failed = self.has_failed.zip(now.has_failed);
        now.updated_at > self.updated_at
            || now.is_busy != self.is_busy
            || has_failed.is_some_and(|(before, now)| before != now)
    }
}

fn has_failed(info: &ThreadInfo) -> bool {
    matches!(info.status, StatusKind::Failed | StatusKind::Damaged)
}

/// Time for which a thread is kept after its last change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThreadTtl {
    pub minutes: f64,
    pub strategy: TtlStrategy,
    pub created_at: u64,
    /// The time of its timer.
    pub checked_at: u64,
}

/// Action at the end of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TtlStrategy {
    Delete,
    /// Removes the checkpoints before the newest.
    KeepLatest,
}

/// An answer of a run that has not ended: another one to the same question is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingAnswer {
    pub run: Uuid,
    pub question: String,
    /// Set if the question takes answers of several people.
    pub is_vote: bool,
    pub by: Option<String>,
}

impl PendingAnswer {
    /// Returns whether both cannot be taken.
    fn excludes(&self, other: &Self) -> bool {
        self.question == other.question && (!self.is_vote || self.by == other.by)
    }
}

/// The failure of a run: the kind of error, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RunFailure {
    pub error: String,
    pub message: String,
}

impl RunFailure {
    /// Returns the failure of a run whose task failed with a text of the engine.
    pub(crate) fn of_task(text: &str) -> Self {
        let of_node = text.strip_prefix("node `").and_then(|text| text.split_once(" failed in superstep "));
        match of_node.and_then(|(_, rest)| rest.split_once(": ")) {
            Some((_, message)) => Self { error: "NodeError".into(), message: message.to_owned() },
            None => Self { error: "RunError".into(), message: text.to_owned() },
        }
    }

    /// Returns the failure of a thread that another program ran; `None` if it has not failed.
    fn elsewhere(info: &ThreadInfo) -> Option<Self> {
        let message = || "a run of another program has failed: the tasks of the state have its error".into();
        has_failed(info)
            .then(|| Self { error: "RunError".into(), message: info.reason.clone().unwrap_or_else(message) })
    }
}

impl Record for ThreadRecord {
    const NAMESPACE: &'static str = "superstep.server.threads";

    fn key(&self) -> String {
        Self::key_of(&self.thread)
    }
}

impl ThreadRecord {
    pub(crate) fn key_of(thread: &str) -> String {
        key_part(thread)
    }

    pub(crate) fn new(thread: impl Into<String>, now: u64) -> Self {
        Self {
            thread: thread.into(),
            graph: None,
            metadata: Map::new(),
            config: Map::new(),
            created_at: now,
            updated_at: now,
            queue: vec![],
            answers: vec![],
            created_runs: 0,
            error: None,
            is_temporary: false,
            state: None,
            ttl: None,
        }
    }

    /// Returns the record of a thread that another program made.
    pub(crate) fn of(info: &ThreadInfo) -> Self {
        let own = [("graph_id", info.graph.clone()), ("assistant_id", default_id(&info.graph).to_string())];
        let own = own.map(|(key, value)| (key.to_owned(), value));
        let metadata = info.metadata.iter().cloned().chain(own);
        Self {
            graph: Some(info.graph.clone()),
            metadata: gather(metadata.map(|(key, value)| (key, Value::from(value)))),
            updated_at: info.updated_at,
            state: Some(StateMark::of(info, 0)),
            error: RunFailure::elsewhere(info),
            ..Self::new(info.id.as_str(), info.created_at)
        }
    }

    /// Returns the record with what another program has done with the thread; `None` if that is nothing, if a run of a server is open,
    /// or if a server has seen the state since a time.
    pub(crate) fn changed_elsewhere(&self, info: &ThreadInfo, since: u64) -> Option<Self> {
        let seen_at = self.state.map_or(0, |state| state.seen_at);
        if self.is_temporary || !self.queue.is_empty() || seen_at >= since {
            return None;
        }
        let mark = StateMark::of(info, seen_at);
        let is_changed = self.state.is_none_or(|old| old.is_older(mark));
        let graph = Some(info.graph.clone());
        is_changed.then(|| Self { graph, state: Some(mark), error: RunFailure::elsewhere(info), ..self.clone() })
    }

    /// Returns whether no server has the thread in hand: it has no run, and a server has seen its state before a time. If it has no state
    /// any more, another program has deleted it; a server would have removed the record too.
    pub(crate) fn is_left(&self, at: u64) -> bool {
        self.queue.is_empty() && !self.is_temporary && self.state.is_some_and(|state| state.seen_at < at)
    }

    /// Returns whether a run that has not ended has an answer which excludes another one.
    pub(crate) fn takes_no(&self, answer: &PendingAnswer) -> bool {
        self.answers.iter().any(|pending| pending.excludes(answer))
    }

    /// Adds the configuration of a run. Its `configurable` is that of its assistant: what the request has there is for this run alone.
    pub(crate) fn add_config(&mut self, request: &Value, assistant: &Map<String, Value>) {
        let known = self.config.clone();
        self.merge_config(request, assistant);
        if serde_json::to_string(&self.config).map_or(0, |text| text.len()) > CONFIG {
            self.config = known; // the record is written with each run
        }
    }

    fn merge_config(&mut self, request: &Value, assistant: &Map<String, Value>) {
        let own = request["config"].as_object().into_iter().flatten().filter(|(name, _)| *name != CONFIGURABLE);
        self.config.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        let kept = self.config.entry(CONFIGURABLE).or_insert_with(|| Map::new().into());
        if let (Some(kept), Some(more)) = (kept.as_object_mut(), assistant.get(CONFIGURABLE).and_then(Value::as_object))
        {
            kept.extend(more.clone());
        }
    }

    /// Puts a run at the end of the queue; returns its place among all runs of the thread.
    pub(crate) fn push_run(&mut self, run: Uuid) -> u64 {
        self.queue.push(run);
        self.created_runs += 1;
        self.created_runs
    }

    /// Takes a run off the queue.
    pub(crate) fn remove_run(&mut self, run: Uuid) {
        self.queue.retain(|queued| *queued != run);
        self.answers.retain(|answer| answer.run != run);
    }

    /// Returns the status on the wire, as far as the server has seen the state.
    pub(crate) fn status(&self) -> &'static str {
        let is_open = self.state.is_some_and(|state| state.is_open);
        match (self.queue.is_empty(), &self.error) {
            (false, _) => "busy",
            _ if self.state.is_some_and(|state| state.is_busy) => "busy",
            (true, Some(failure)) if failure.error != "UserInterrupt" => "error",
            (true, failure) if is_open || failure.is_some() => "interrupted",
            (true, _) => "idle",
        }
    }

    /// Returns the time of the last change of the state.
    pub(crate) fn state_updated_at(&self) -> u64 {
        self.state.map_or(self.updated_at, |state| state.updated_at)
    }

    /// Returns the time at which the thread expires, unless it changes until then.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        let millis = (self.ttl?.minutes * 60_000.0) as u64;
        Some(self.updated_at.max(self.state_updated_at()).saturating_add(millis))
    }

    /// Returns the timer of the end of its time.
    pub(crate) fn timer(&self) -> Option<Timer> {
        self.ttl.map(|ttl| Timer::new(TimerKind::Thread, ttl.checked_at, self.key()))
    }

    /// Lets the thread be removed by its timer, should the server that ends its run die before it has removed it.
    pub(crate) fn remove_later(&mut self) {
        let checked_at = self.updated_at.saturating_add(LEFT_OVER);
        let strategy = TtlStrategy::Delete;
        self.ttl = Some(ThreadTtl { minutes: 0.0, strategy, created_at: self.updated_at, checked_at });
    }

    /// Adds metadata; a new value of a key is in the place of the old one.
    pub(crate) fn add_metadata(&mut self, metadata: Map<String, Value>, now: u64) {
        self.metadata.extend(metadata);
        self.updated_at = now;
    }
}
