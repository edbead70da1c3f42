//! Reader of the events of a run, wherever it is executed: those of this process from memory, others from the store. What is nowhere any
//! more is said by an event of its own.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep_base::time::now;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::error::{ApiError, ApiResult};
use crate::feed::Feed;
use crate::records::event::RunEvent;
use crate::records::run::RunRecord;
use crate::server::Server;

/// The pause before the store is asked again for events of a run that another process executes.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads the events of a run.
pub(crate) struct EventReader {
    server: Arc<Server>,
    run: RunRecord,
    feed: Arc<Feed>,
    changed: watch::Receiver<()>,
    /// The number of the last event that was read.
    number: u64,
    /// Set once a run that had not ended was waited for.
    has_waited: bool,
}

impl EventReader {
    /// Returns a reader of the events after a number; of none, but of their end, after the largest.
    pub(crate) fn after(server: &Arc<Server>, run: &RunRecord, number: u64) -> Self {
        let feed = server.feeds.of(run.run);
        let changed = if number == u64::MAX { feed.watch_end() } else { feed.watch() };
        Self { server: Arc::clone(server), has_waited: run.status.has_ended(), run: run.clone(), feed, changed, number }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Returns the run as it was when the reader began.
    pub(crate) fn run(&self) -> &RunRecord {
        &self.run
    }

    /// Returns the events of the run in this process.
    pub(crate) fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Returns the next events, once there are any; `None` at the end of the run.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<Vec<Arc<RunEvent>>>> {
        loop {
            self.changed.mark_unchanged();
            let part = self.feed.after(self.number);
            if part.events.first().is_some_and(|first| Some(first.number) == self.number.checked_add(1)) {
                return Ok(Some(self.read(part.events)));
            }
            if self.run.stores_events && self.number < u64::MAX {
                let stored = self.server.records.events_after(self.run.run, self.number).await?;
                if !stored.is_empty() {
                    return Ok(Some(self.read(stored)));
                }
            }
            if !part.events.is_empty() {
                return Ok(Some(self.read(part.events)));
            }
            if part.has_ended || (!part.is_here && self.has_waited && self.has_ended().await?) {
                return Ok(None);
            }
            self.wait(part.is_here).await;
            self.has_waited = true;
        }
    }

    /// Notes that events were read, and says which ones before each are missing.
    fn read(&mut self, events: Vec<Arc<RunEvent>>) -> Vec<Arc<RunEvent>> {
        let mut read = Vec::with_capacity(events.len());
        for event in events {
            read.extend(gap(self.number.saturating_add(1), event.number).map(Arc::new));
            self.number = event.number;
            read.push(event);
        }
        read
    }

    /// Returns whether the run has ended, by what the store says; that it is gone too.
    async fn has_ended(&self) -> ApiResult<bool> {
        match self.server.records.run(&self.run.thread, self.run.run).await {
            Ok(found) if !found.record.status.has_ended() => Ok(false),
            Err(error) if !error.is_not_found() => Err(error),
            // Its last events were written with its end.
            _ if self.run.stores_events && self.number < u64::MAX => {
                Ok(self.server.records.events_after(self.run.run, self.number).await?.is_empty())
            }
            _ => Ok(true),
        }
    }

    async fn wait(&mut self, is_here: bool) {
        tokio::select! {
            _ = self.changed.changed() => {}
            () = sleep(PAUSE), if !is_here => {}
        }
    }
}

/// Returns the event that says which events before one are missing; `None` if none is.
fn gap(expected: u64, found: u64) -> Option<RunEvent> {
    let (from, to) = (expected, found.checked_sub(1)?);
    let data = json!({ "from": from, "to": to }).to_string().into();
    (from <= to).then(|| RunEvent { number: to, name: "gap".into(), data, at: now(), mark: None })
}

impl Server {
    /// Returns the number of the newest event of a run.
    pub(crate) async fn newest_event(&self, run: &RunRecord) -> ApiResult<u64> {
        let sent = self.feeds.of(run.run).newest();
        if sent > 0 {
            return Ok(sent);
        }
        self.records.last_event(run.run).await.map_err(ApiError::from)
    }
}
