//! The changes of all threads as one stream: a page with many threads needs one connection.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use utoipa::IntoParams;

use super::runs::last_event_id;
use super::sse::{LineSource, event, event_stream};
use crate::activity::ActivityEvent;
use crate::server::Server;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// The number of the last event that the reader has; only new events without it.
    since: Option<u64>,
}

/// Reads events after a number.
struct ActivityReader {
    server: Arc<Server>,
    changed: watch::Receiver<()>,
    seq: u64,
}

pub(super) async fn events(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Response {
    let last = last_event_id(&headers).and_then(|id| id.parse().ok()).or(query.since);
    let seq = last.unwrap_or_else(|| server.activity.newest());
    event_stream(ActivityReader { changed: server.activity.watch(), server, seq })
}

impl LineSource for ActivityReader {
    fn server(&self) -> &Server {
        &self.server
    }

    /// Never ends.
    async fn next(&mut self) -> Result<Option<Bytes>, Bytes> {
        loop {
            self.changed.mark_unchanged();
            let newest = self.server.activity.newest();
            let events = self.server.activity.after(self.seq);
            if !events.is_empty() {
                return Ok(Some(self.lines(&events)));
            }
            if self.seq < newest {
                return Ok(Some(self.skip_to(newest))); // of an earlier process
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl ActivityReader {
    /// Returns the lines that say which events are missing, up to a number.
    fn skip_to(&mut self, seq: u64) -> Bytes {
        let gap = json!({ "from": self.seq + 1, "to": seq }).to_string();
        self.seq = seq;
        event("gap", &gap, Some(&seq.to_string()))
    }

    fn lines(&mut self, events: &[Arc<ActivityEvent>]) -> Bytes {
        let mut lines = vec![];
        for sent in events {
            if sent.seq > self.seq + 1 {
                lines.push(self.skip_to(sent.seq - 1));
            }
            lines.push(event("activity", &sent.json().to_string(), Some(&sent.seq.to_string())));
            self.seq = sent.seq;
        }
        lines.concat().into()
    }
}
