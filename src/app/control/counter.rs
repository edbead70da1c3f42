//! What the process that holds the store answers to others: the store's own replies, and those about runs under way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::timeout;

use super::live::{Followed, Live};
use crate::app::desk::{Ask, Desk};
use crate::app::failure::Failure;
use crate::app::local::{self, Local};
use crate::app::shapes::Stand;

/// The time in which a cancelled run has to end.
const CANCEL: Duration = Duration::from_secs(10);

pub(super) struct Counter {
    pub local: Local,
    pub live: Arc<Live>,
}

impl Counter {
    pub(super) async fn ask(&self, ask: Ask) -> Result<Value, Failure> {
        match ask {
            Ask::Answer(answer) if self.live.has(&answer.thread) => Err(self.busy(&answer.thread)),
            Ask::Cancel { thread } => self.cancel(thread).await,
            Ask::Answer(answer) => {
                let stored = self.local.ask(Ask::Answer(answer)).await;
                self.live.wake();
                stored
            }
            Ask::Signal(signal) => {
                let sent = self.local.ask(Ask::Signal(signal)).await;
                self.live.wake();
                sent
            }
            Ask::Status { thread } => self.status(thread).await,
            ask => self.local.ask(ask).await,
        }
    }

    /// The status of a thread, with the tasks of its run that run just now.
    async fn status(&self, thread: String) -> Result<Value, Failure> {
        let followed = self.live.follow(&thread);
        let stand = self.local.ask(Ask::Status { thread }).await?;
        let Some(mut followed) = followed else { return Ok(stand) };
        followed.catch_up();
        let events: Vec<Value> = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let Ok(mut shown) = serde_json::from_value::<Stand>(stand.clone()) else { return Ok(stand) };
        shown.add_running(events.iter());
        local::json(&shown)
    }

    async fn cancel(&self, thread: String) -> Result<Value, Failure> {
        let Some(ended) = self.live.cancel(&thread) else { return self.local.ask(Ask::Cancel { thread }).await };
        if timeout(CANCEL, ended.cancelled()).await.is_err() {
            let error =
                format!("the run of thread `{thread}` was told to cancel and has not ended yet: a task is in the way");
            return Err(Failure::new(error).hint("`{status}` tells when it has"));
        }
        self.local.ask(Ask::Status { thread }).await
    }

    fn busy(&self, thread: &str) -> Failure {
        let pid = std::process::id();
        Failure::new(format!("thread `{thread}` is running just now in process {pid}: it takes answers once it stops"))
            .hint("wait until it stops; `{events --follow}` tells when, `{cancel}` stops it")
    }

    /// Returns what the run of a thread under way told so far, and what tells the rest; nothing if there is none.
    pub(super) async fn watch(&self, thread: String) -> Result<(Vec<Value>, Option<Rest>), Failure> {
        let Some(mut followed) = self.live.follow(&thread) else {
            self.local.ask(Ask::Watch { thread }).await?;
            return Ok((vec![], None));
        };
        followed.catch_up();
        let events = followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((events, Some(Rest(followed))))
    }

    /// Returns what happened in a thread so far, and what tells the rest while it runs.
    pub(super) async fn follow(&self, thread: String) -> Result<(Vec<Value>, Option<Rest>), Failure> {
        let followed = self.live.follow(&thread);
        let recorded = self.local.ask(Ask::Events { thread }).await;
        let Some(mut followed) = followed else { return Ok((list(recorded?), None)) };
        let recorded = recorded.map(list).unwrap_or_default(); // a run just begun may have stored nothing
        followed.catch_up();
        let events =
            join(recorded, followed.before.iter().filter_map(|line| serde_json::from_str(line).ok()).collect());
        Ok((events, Some(Rest(followed))))
    }
}

fn list(value: Value) -> Vec<Value> {
    if let Value::Array(list) = value { list } else { vec![] }
}

/// The recorded events, and those of the run: what is recorded of the run already is told once. (So is what an attempt
/// that was cancelled told with the same words.)
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

/// An event without its time, which only a run under way tells.
fn timeless(event: &Value) -> String {
    let mut event = event.clone();
    if let Some(fields) = event.as_object_mut().filter(|fields| fields.get("at").is_some_and(Value::is_number)) {
        fields.remove("at");
    }
    event.to_string()
}

/// The events of a run from now on.
pub(super) struct Rest(Followed);

impl Rest {
    /// The next event; none once the run has ended.
    pub(super) async fn next(&mut self) -> Option<Value> {
        match self.0.rest.recv().await {
            Ok(line) => serde_json::from_str(&line).ok(),
            Err(RecvError::Lagged(count)) => Some(json!({ "kind": "missed", "count": count })),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Followed {
    /// Takes what was told since.
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
