//! Numbered list of the newest events of all threads of a store, for pages that show many threads at once. It is in memory: a reader that
//! comes back after too long gets the numbers of the events that it missed, and not the events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use superstep::graph::{StatusKind, ThreadInfo};
use superstep_base::time::now;
use tokio::sync::watch;

use crate::records::deletion::Deletion;
use crate::records::time::time_text;

/// The number of events that are kept.
pub(crate) const KEPT: usize = 10_000;
/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActivityKind {
    /// A run begins, or goes on.
    Started,
    /// A superstep has ended.
    Position,
    /// A question was asked.
    Question,
    /// A question was answered.
    Answered,
    /// A run has ended.
    Ended,
    /// The thread was deleted.
    Deleted,
}

impl ActivityKind {
    fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Position => "position",
            Self::Question => "question",
            Self::Answered => "answered",
            Self::Ended => "ended",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the kind that shows what another process has done.
    fn of_status(status: StatusKind) -> Self {
        match status {
            StatusKind::Running => Self::Position,
            StatusKind::Interrupted => Self::Question,
            _ => Self::Ended,
        }
    }
}

/// An event with its number.
#[derive(Debug)]
pub(crate) struct ActivityEvent {
    pub seq: u64,
    at: u64,
    thread: String,
    graph: String,
    kind: ActivityKind,
    /// The fields that only this kind has.
    fields: Value,
}

impl ActivityEvent {
    /// Returns the event as JSON.
    pub(crate) fn json(&self) -> Value {
        let (at, kind) = (time_text(self.at), self.kind.name());
        let mut data = json!({ "seq": self.seq, "at": at, "thread": self.thread, "graph": self.graph, "kind": kind });
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, self.fields.clone()) {
            data.extend(fields);
        }
        data
    }
}

/// The newest events.
#[derive(Debug)]
pub(crate) struct Activity {
    inner: Mutex<Recent>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Recent {
    events: VecDeque<Arc<ActivityEvent>>,
    newest: u64,
    /// The newest kind of each thread that changed lately, and when.
    known: HashMap<String, (ActivityKind, u64)>,
}

impl Activity {
    /// Returns an empty list. Its numbers begin after those of earlier processes.
    pub(crate) fn new() -> Self {
        let recent = Recent { events: VecDeque::new(), newest: now() * 1000, known: HashMap::new() };
        Self { inner: Mutex::new(recent), changed: watch::Sender::new(()) }
    }

    /// Returns whether somebody reads.
    pub(crate) fn has_readers(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    /// Adds an event of a thread, with fields of its own.
    pub(crate) fn note(&self, thread: &str, graph: &str, kind: ActivityKind, fields: Value) {
        let (at, thread, graph) = (now(), thread.to_owned(), graph.to_owned());
        let mut recent = self.lock();
        recent.newest += 1;
        let event = ActivityEvent { seq: recent.newest, at, thread: thread.clone(), graph, kind, fields };
        recent.events.push_back(Arc::new(event));
        if recent.events.len() > KEPT {
            recent.events.pop_front();
        }
        if recent.known.len() > KEPT {
            recent.known.clear();
        }
        recent.known.insert(thread, (kind, at));
        drop(recent);
        self.changed.send_replace(());
    }

    /// Returns the number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        self.lock().newest
    }

    /// Returns the events after a number, as far as they are kept.
    pub(crate) fn after(&self, seq: u64) -> Vec<Arc<ActivityEvent>> {
        let recent = self.lock();
        let first = recent.events.partition_point(|event| event.seq <= seq);
        recent.events.range(first..).cloned().collect()
    }

    /// Returns a watch of new events.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Adds what another process has done with a thread, unless it is known.
    pub(crate) fn note_foreign(&self, info: &ThreadInfo) {
        let kind = ActivityKind::of_status(info.status);
        if kind != ActivityKind::Position && self.has_noted(info, kind) {
            return;
        }
        let fields = json!({ "status": info.status, "step": info.step, "checkpoint": info.checkpoint });
        self.note(info.id.as_str(), &info.graph, kind, fields);
    }

    /// Adds that another process has deleted a thread, unless it is known.
    pub(crate) fn note_foreign_deletion(&self, deletion: &Deletion) {
        let is_known = |known: &(ActivityKind, u64)| known.0 == ActivityKind::Deleted && deletion.at <= known.1;
        if !self.lock().known.get(&deletion.thread).is_some_and(is_known) {
            self.note(&deletion.thread, &deletion.graph, ActivityKind::Deleted, json!({}));
        }
    }

    /// Returns whether a kind of event was noted of a thread as it is now; the end of a run comes after its question.
    fn has_noted(&self, info: &ThreadInfo, kind: ActivityKind) -> bool {
        let recent = self.lock();
        let is_same = |(noted, at): &(ActivityKind, u64)| {
            info.updated_at <= *at && (*noted == kind || *noted == ActivityKind::Ended)
        };
        recent.known.get(info.id.as_str()).is_some_and(is_same)
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
