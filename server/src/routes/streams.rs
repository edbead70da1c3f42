//! Answers that are sent while a run is going on: events as they come, or the values at its end. Headers go out at once, since a client
//! learns from them which run it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use crate::feed::{FedEvent, Feed, FeedReader};
use crate::records::items::key_part;
use crate::records::run::RunRecord;
use crate::runs::request::StreamModes;
use crate::server::Server;

/// The silence after which a reader gets a sign of life. Clients derive from it when to connect again.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Reader of a run.
pub(super) struct Follow {
    pub run: RunRecord,
    pub modes: Option<StreamModes>,
    /// The number of the last event that the reader has.
    pub after: u64,
    /// Set if each event has its number.
    pub is_numbered: bool,
    /// Dropped when the reader leaves.
    pub _on_leave: Option<DropGuard>,
}

/// Returns the headers that name a run, and where its answer can be had again.
pub(super) fn run_headers(run: &RunRecord, again: Option<&str>, is_alone: bool) -> HeaderMap {
    let path = format!("/threads/{}/runs/{}", key_part(&run.thread), run.run);
    let mut headers = HeaderMap::new();
    let mut put = |name, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    match is_alone {
        true => put(header::CONTENT_LOCATION, &format!("/runs/{}", run.run)),
        false => put(header::CONTENT_LOCATION, &path),
    }
    again.iter().for_each(|again| put(header::LOCATION, &format!("{path}/{again}")));
    headers
}

/// Returns the events of a run as they come.
pub(super) fn events(feed: &Arc<Feed>, follow: Follow, mut headers: HeaderMap) -> Response {
    let content = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, content);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    let reader = feed.read_after(follow.after);
    (headers, Body::from_stream(pieces(reader, follow))).into_response()
}

fn pieces(reader: FeedReader, follow: Follow) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((reader, follow), async |(mut reader, follow)| {
        let piece = match timeout(HEARTBEAT, reader.next()).await {
            Err(_) => Bytes::from_static(b": heartbeat\r\n\r\n"),
            Ok(None) => return None,
            Ok(Some(events)) => lines(&events, &follow),
        };
        Some((Ok(piece), (reader, follow)))
    })
}

fn lines(events: &[Arc<FedEvent>], follow: &Follow) -> Bytes {
    let is_wanted = |event: &&Arc<FedEvent>| follow.modes.as_ref().is_none_or(|modes| modes.has(&event.name));
    let mut text = String::new();
    for event in events.iter().filter(is_wanted) {
        text += &format!("event: {}\r\ndata: {}\r\n", event.name, event.data);
        if follow.is_numbered {
            text += &format!("id: {}\r\n", event.number);
        }
        text += "\r\n";
    }
    Bytes::from(text)
}

/// Returns the values of a run at its end, and blanks until then.
pub(super) fn values(server: Arc<Server>, follow: Follow, headers: HeaderMap) -> Response {
    let reader = server.feeds.of(follow.run.run).read_after(u64::MAX);
    let waiting = stream::unfold(Some((server, reader, follow)), async |waiting| {
        let (server, mut reader, follow) = waiting?;
        match timeout(HEARTBEAT, reader.next()).await {
            Err(_) => Some((Ok::<_, Infallible>(Bytes::from_static(b"\n")), Some((server, reader, follow)))),
            Ok(_) => Some((Ok(Bytes::from(end(&server, &follow.run).await.to_string())), None)),
        }
    });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, json, Body::from_stream(waiting)).into_response()
}

/// Returns the values of a run that has ended, or its failure.
async fn end(server: &Server, run: &RunRecord) -> Value {
    let feed = server.feeds.of(run.run);
    if let Some(failure) = feed.failure() {
        return json!({ "__error__": failure });
    }
    match feed.result() {
        Some(values) => values,
        None => match server.values(&run.thread).await {
            Ok(values) => values,
            Err(error) => json!({ "__error__": { "error": "ServerError", "message": error.detail } }),
        },
    }
}
