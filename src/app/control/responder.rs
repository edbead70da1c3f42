//! Replies of the process that holds the store to other processes: from the store, and about active runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::timeout;

use super::active_runs::{ActiveRuns, RunSubscription};
use crate::app::failure::Failure;
use crate::app::local::{self, Local};
use crate::app::service::{ThreadRequest, ThreadService};
use crate::app::shapes::ThreadReport;

/// The time in which a cancelled run has to end.
const CANCEL: Duration = Duration::from_secs(10);

pub(super) struct Responder {
    pub local: Local,
    pub live: Arc<ActiveRuns>,
}

impl Responder {
    pub(super) async fn call(&self, request: ThreadRequest) -> Result<Value, Failure> {
        match request {
            ThreadRequest::Answer(answer) if self.live.has(&answer.thread) => Err(self.busy(&answer.thread)),
            ThreadRequest::Cancel { thread } => self.cancel(thread).await,
            ThreadRequest::Answer(answer) => {
                let stored = self.local.call(ThreadRequest::Answer(answer)).await;
                self.live.wake();
                stored
            }
            ThreadRequest::Signal(signal) => {
                let sent = self.local.call(ThreadRequest::Signal(signal)).await;
                self.live.wake();
                sent
            }
            ThreadRequest::Status { thread } => self.status(thread).await,
            request => self.local.call(request).await,
        }
    }

    /// Returns the status of a thread with the running tasks of its active run.
    async fn status(&self, thread: String) -> Result<Value, Failure> {
        let followed = self.live.follow(&thread);
        let report = self.local.call(ThreadRequest::Status { thread }).await?;
        let Some(mut followed) = followed else { return Ok(report) };
        followed.catch_up();
        let events: Vec<Value> = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let Ok(mut shown) = serde_json::from_value::<ThreadReport>(report.clone()) else { return Ok(report) };
        shown.add_running(events.iter());
        local::json(&shown)
    }

    async fn cancel(&self, thread: String) -> Result<Value, Failure> {
        let Some(ended) = self.live.cancel(&thread) else {
            return self.local.call(ThreadRequest::Cancel { thread }).await;
        };
        if timeout(CANCEL, ended.cancelled()).await.is_err() {
            let error =
                format!("the run of thread `{thread}` was told to cancel and has not ended yet: a task is in the way");
            return Err(Failure::new(error).hint("`{status}` tells when it has"));
        }
        self.local.call(ThreadRequest::Status { thread }).await
    }

    fn busy(&self, thread: &str) -> Failure {
        let pid = std::process::id();
        Failure::new(format!("thread `{thread}` is running just now in process {pid}: it takes answers once it stops"))
            .hint("wait until it stops; `{events --follow}` tells when, `{cancel}` stops it")
    }

    /// Returns the events of the active run so far, and a stream of the rest; none without a run.
    pub(super) async fn watch(&self, thread: String) -> Result<(Vec<Value>, Option<LiveEvents>), Failure> {
        let Some(mut followed) = self.live.follow(&thread) else {
            self.local.call(ThreadRequest::Watch { thread }).await?;
            return Ok((vec![], None));
        };
        followed.catch_up();
        let events = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((events, Some(LiveEvents(followed))))
    }

    /// Returns the recorded events of a thread, and a stream of those of its active run.
    pub(super) async fn follow(&self, thread: String) -> Result<(Vec<Value>, Option<LiveEvents>), Failure> {
        let followed = self.live.follow(&thread);
        let recorded = self.local.call(ThreadRequest::Events { thread }).await;
        let Some(mut followed) = followed else { return Ok((list(recorded?), None)) };
        let recorded = recorded.map(list).unwrap_or_default(); // a new run may have stored nothing
        followed.catch_up();
        let events =
            join(recorded, followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect());
        Ok((events, Some(LiveEvents(followed))))
    }
}

fn list(value: Value) -> Vec<Value> {
    if let Value::Array(list) = value { list } else { vec![] }
}

/// Merges recorded and live events: an event that is in both is returned once. (So is an event that a cancelled attempt
/// emitted with the same content.)
fn join(recorded: Vec<Value>, live: Vec<Value>) -> Vec<Value> {
    let mut again: HashMap<String, usize> = HashMap::new();
    live.iter().for_each(|event| *again.entry(timeless(event)).or_default() += 1);
    let is_new = |event: &Value| match again.get_mut(&timeless(event)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let mut events: Vec<Value> = recorded.into_iter().rev().filter(is_new).collect();
    events.reverse();
    events.extend(live);
    events
}

/// Returns an event without its time, which only live events have.
fn timeless(event: &Value) -> String {
    let mut event = event.clone();
    if let Some(fields) = event.as_object_mut().filter(|fields| fields.get("at").is_some_and(Value::is_number)) {
        fields.remove("at");
    }
    event.to_string()
}

/// The events of a run from now on.
pub(super) struct LiveEvents(RunSubscription);

impl LiveEvents {
    pub(super) async fn next(&mut self) -> Option<Value> {
        match self.0.rest.recv().await {
            Ok(line) => serde_json::from_str(&line).ok(),
            Err(RecvError::Lagged(count)) => Some(json!({ "kind": "missed", "count": count })),
            Err(RecvError::Closed) => None,
        }
    }
}

impl RunSubscription {
    /// Moves the events that were sent meanwhile to `before`.
    fn catch_up(&mut self) {
        loop {
            match self.rest.try_recv() {
                Ok(line) => self.before.push(line),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing_recorded(&[], &["a"], &["a"])]
    #[case::all_recorded(&["a", "b"], &["a", "b"], &["a", "b"])]
    #[case::an_earlier_attempt(&["start", "asked", "start"], &["start"], &["start", "asked", "start"])]
    #[case::not_yet_recorded(&["a"], &["b"], &["a", "b"])]
    fn recorded_events_are_sent_once(#[case] recorded: &[&str], #[case] live: &[&str], #[case] events: &[&str]) {
        let values = |words: &[&str]| words.iter().map(|word| json!(word)).collect::<Vec<_>>();
        assert_eq!(join(values(recorded), values(live)), values(events));
    }
}
