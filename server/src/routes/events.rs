//! What happens to all threads, as one stream: a page with many threads needs one connection.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use super::runs::last_event_id;
use super::streams::{HEARTBEAT, event, stream_headers};
use crate::activity::ActivityEvent;
use crate::server::Server;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
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
    let reader = ActivityReader { changed: server.activity.watch(), server, seq };
    let pieces = stream::unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        let closing = reader.server.closing.clone();
        tokio::select! {
            biased;
            next = timeout(HEARTBEAT, reader.next()) => {
                let piece = next.unwrap_or_else(|_| Bytes::from_static(b": heartbeat\r\n\r\n"));
                Some((Ok::<_, Infallible>(piece), Some(reader)))
            }
            () = closing.cancelled() => {
                Some((Ok(event("metadata", &json!({ "status": "shutdown" }).to_string(), None)), None))
            }
        }
    });
    (stream_headers(), Body::from_stream(pieces)).into_response()
}

impl ActivityReader {
    /// Returns the lines of the next events, once there are any.
    async fn next(&mut self) -> Bytes {
        loop {
            self.changed.mark_unchanged();
            let newest = self.server.activity.newest();
            let events = self.server.activity.after(self.seq);
            if !events.is_empty() {
                return self.lines(&events);
            }
            if self.seq < newest {
                return self.skip_to(newest); // of an earlier process
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

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
            lines.push(event("activity", &sent.data, Some(&sent.seq.to_string())));
            self.seq = sent.seq;
        }
        lines.concat().into()
    }
}
