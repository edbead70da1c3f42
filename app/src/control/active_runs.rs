//! The active runs of this process and their latest events. A slow listener never blocks a run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use superstep::graph::CancellationToken;
use superstep::graph::runner::RunnerWaker;
use tokio::sync::broadcast;

/// The number of events of a run that are kept for late listeners.
const KEPT: usize = 1024;
/// The maximum number of their bytes.
const KEPT_BYTES: usize = 4 << 20;
/// The number of starts, turns and ends that are kept besides.
const ANCHORS: usize = 256;
/// The number of events that are made into lines only when somebody listens, or too many follow them.
const UNREAD: usize = 64;
/// The largest event in bytes; of a larger one only its kind and place are kept.
const LARGEST: usize = 1 << 20;

/// The active runs of this process by thread, and the runner to wake.
#[derive(Default)]
pub(crate) struct ActiveRuns(Mutex<HashMap<String, Arc<ActiveRun>>>, Mutex<Option<RunnerWaker>>);

struct ActiveRun {
    cancel: CancellationToken,
    ended: CancellationToken,
    log: Mutex<RunLog>,
}

/// Makes the JSON of an event, if there is any.
type EventMaker = Box<dyn FnOnce() -> Option<Value> + Send>;

#[derive(Default)]
struct RunLog {
    /// The latest events, which nobody has listened to yet.
    unread: VecDeque<EventMaker>,
    /// Starts, turns and ends among the dropped lines, for late listeners.
    anchors: VecDeque<Arc<str>>,
    lines: VecDeque<(Arc<str>, bool)>,
    bytes: usize,
    /// None before the first one, as most runs have none, and once the run has ended.
    listeners: Option<broadcast::Sender<Arc<str>>>,
    has_ended: bool,
}

/// Guard of an active run; dropping it ends the run's event stream.
pub(crate) struct RunGuard {
    live: Arc<ActiveRuns>,
    thread: String,
    track: Arc<ActiveRun>,
}

/// The past events of a run, and those to come.
pub(crate) struct RunSubscription {
    pub before: Vec<Arc<str>>,
    pub rest: broadcast::Receiver<Arc<str>>,
}

impl ActiveRuns {
    pub(super) fn wakes(&self, runner: RunnerWaker) {
        *lock(&self.1) = Some(runner);
    }

    pub(super) fn begin(self: &Arc<Self>, thread: &str, cancel: CancellationToken) -> RunGuard {
        let track = Arc::new(ActiveRun { cancel, ended: CancellationToken::new(), log: Mutex::default() });
        lock(&self.0).insert(thread.to_owned(), Arc::clone(&track));
        RunGuard { live: Arc::clone(self), thread: thread.to_owned(), track }
    }
}

#[cfg(unix)]
impl ActiveRuns {
    /// Wakes the runner, as it may take what was stored.
    pub(super) fn wake(&self) {
        lock(&self.1).iter().for_each(RunnerWaker::wake);
    }

    /// Cancels a run; returns a token that is cancelled when it has ended. None if there is no such run.
    pub(super) fn cancel(&self, thread: &str) -> Option<CancellationToken> {
        let track = lock(&self.0).get(thread).cloned()?;
        track.cancel.cancel();
        Some(track.ended.clone())
    }

    pub(super) fn follow(&self, thread: &str) -> Option<RunSubscription> {
        let track = lock(&self.0).get(thread).cloned()?;
        let mut log = lock(&track.log);
        if log.has_ended {
            return None;
        }
        log.read_all();
        let rest = log.listeners.get_or_insert_with(|| broadcast::Sender::new(KEPT)).subscribe();
        let lines = log.lines.iter().map(|(line, _)| line);
        Some(RunSubscription { before: log.anchors.iter().chain(lines).cloned().collect(), rest })
    }
}

impl RunGuard {
    /// Records an event and sends it to the listeners.
    pub(crate) fn record(&self, event: &Value) {
        let mut log = lock(&self.track.log);
        log.read_all();
        log.add(event);
    }

    /// Records an event whose JSON is made once somebody listens: most runs end before.
    pub(crate) fn record_lazily(&self, make: impl FnOnce() -> Option<Value> + Send + 'static) {
        lock(&self.track.log).add_lazily(Box::new(make));
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        let mut runs = lock(&self.live.0);
        if runs.get(&self.thread).is_some_and(|track| Arc::ptr_eq(track, &self.track)) {
            runs.remove(&self.thread);
        }
        drop(runs);
        let mut log = lock(&self.track.log);
        (log.listeners, log.has_ended) = (None, true);
        drop(log);
        self.track.ended.cancel();
    }
}

impl RunLog {
    fn add_lazily(&mut self, make: EventMaker) {
        self.unread.push_back(make);
        match self.listeners {
            Some(_) => self.read_all(),
            None if self.unread.len() > UNREAD => self.read_oldest(),
            None => {}
        }
    }

    /// Makes all events into lines.
    fn read_all(&mut self) {
        while !self.unread.is_empty() {
            self.read_oldest();
        }
    }

    fn read_oldest(&mut self) {
        let event = self.unread.pop_front().and_then(|make| make());
        event.iter().for_each(|event| self.add(event));
    }

    fn add(&mut self, event: &Value) {
        self.add_line(line(event).into(), is_anchor(event));
    }

    fn add_line(&mut self, line: Arc<str>, is_anchor: bool) {
        if let Some(listeners) = &self.listeners {
            _ = listeners.send(Arc::clone(&line)); // nobody may listen
        }
        self.bytes += line.len();
        self.lines.push_back((line, is_anchor));
        while self.lines.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some((oldest, is_anchor)) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
            if is_anchor {
                self.anchors.push_back(oldest);
            }
        }
        while self.anchors.len() > ANCHORS {
            self.anchors.pop_front();
        }
    }
}

/// Returns an event as a line; of one that is too large its kind and place.
fn line(event: &Value) -> String {
    let text = event.to_string();
    if text.len() <= LARGEST {
        return text;
    }
    let kept = ["kind", "step", "node", "path", "namespace", "at"].map(|key| (key.to_owned(), event[key].clone()));
    let mut kept = Value::Object(kept.into_iter().filter(|(_, value)| !value.is_null()).collect());
    kept["left_out"] = json!(text.len());
    kept.to_string()
}

/// Returns true if an event says which tasks run, and what they are about.
fn is_anchor(event: &Value) -> bool {
    let begins = event["value"]["turn"].is_object();
    begins || ["start", "end", "failed", "asked"].iter().any(|kind| event["kind"] == *kind)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
