//! Answers that are sent while a run is going on: events as they come, or the values at its end. Headers go out at once, since a client
//! learns from them which run it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use crate::error::{ApiError, ApiResult};
use crate::records::event::RunEvent;
use crate::records::items::key_part;
use crate::records::run::RunRecord;
use crate::records::thread::RunFailure;
use crate::runs::reader::EventReader;
use crate::runs::request::StreamModes;
use crate::runs::thread_reader::{ThreadPart, ThreadReader, after_run};

/// The silence after which a reader gets a sign of life. Clients derive from it when to connect again.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// Reader of a run.
pub(super) struct Follow {
    pub modes: Option<StreamModes>,
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
pub(super) fn events(reader: EventReader, follow: Follow, mut headers: HeaderMap) -> Response {
    headers.extend(stream_headers());
    (headers, Body::from_stream(pieces(reader, follow))).into_response()
}

/// The next piece of a stream of events.
enum Piece {
    Events(Vec<Arc<RunEvent>>),
    Silence,
    /// The server stops; the run goes on at its next start, or on another one.
    Shutdown,
    End,
}

async fn next_piece(reader: &mut EventReader) -> ApiResult<Piece> {
    let closing = reader.server().closing.clone();
    tokio::select! {
        biased;
        next = timeout(HEARTBEAT, reader.next()) => Ok(match next {
            Err(_) => Piece::Silence,
            Ok(next) => next?.map_or(Piece::End, Piece::Events),
        }),
        () = closing.cancelled() => Ok(Piece::Shutdown),
    }
}

fn pieces(reader: EventReader, follow: Follow) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some((reader, follow)), async |state| {
        let (mut reader, follow) = state?;
        let last = |name: &str, data: Value| event(name, &data.to_string(), None);
        let piece = match next_piece(&mut reader).await {
            Ok(Piece::Events(events)) => lines(&events, &follow),
            Ok(Piece::Silence) => Bytes::from_static(b": heartbeat\r\n\r\n"),
            Ok(Piece::End) => return None,
            Ok(Piece::Shutdown) => return Some((Ok(last("metadata", json!({ "status": "shutdown" }))), None)),
            Err(error) => {
                let data = json!({ "error": "ServerError", "message": error.detail });
                return Some((Ok(last("error", data)), None));
            }
        };
        Some((Ok(piece), Some((reader, follow))))
    })
}

fn lines(events: &[Arc<RunEvent>], follow: &Follow) -> Bytes {
    let is_wanted = |event: &&Arc<RunEvent>| follow.modes.as_ref().is_none_or(|modes| modes.has(&event.name));
    let id = |sent: &RunEvent| follow.is_numbered.then(|| sent.number.to_string());
    let lines = events.iter().filter(is_wanted).map(|sent| event(&sent.name, &sent.data, id(sent).as_deref()));
    lines.collect::<Vec<_>>().concat().into()
}

/// The parts of a thread's events that a reader asks for.
pub(super) struct ThreadModes {
    pub has_runs: bool,
    pub has_states: bool,
}

impl ThreadModes {
    /// Reads the names of modes; all events of runs without any.
    pub(super) fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> ApiResult<Self> {
        let (mut modes, mut is_empty) = (Self { has_runs: false, has_states: false }, true);
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            is_empty = false;
            match name {
                "run_modes" => modes.has_runs = true,
                "state_update" => modes.has_states = true,
                "lifecycle" => {}
                other => {
                    let known = "run_modes, lifecycle, state_update";
                    return Err(ApiError::invalid(format!("there is no stream mode `{other}`: the modes are {known}")));
                }
            }
        }
        modes.has_runs |= is_empty;
        Ok(modes)
    }

    fn has(&self, event: &str) -> bool {
        self.has_runs || matches!(event, "metadata" | "error" | "gap") || (self.has_states && event == "values")
    }
}

/// Returns the events of all runs of a thread as they come.
pub(super) fn thread_events(reader: ThreadReader, modes: ThreadModes) -> Response {
    let pieces = stream::unfold(Some((reader, modes)), async |state| {
        let (mut reader, modes) = state?;
        let closing = reader.server().closing.clone();
        let next = tokio::select! {
            biased;
            next = timeout(HEARTBEAT, reader.next()) => next,
            () = closing.cancelled() => {
                return Some((Ok::<_, Infallible>(event("metadata", &json!({ "status": "shutdown" }).to_string(), None)), None));
            }
        };
        let piece = match next {
            Err(_) => Bytes::from_static(b": heartbeat\r\n\r\n"),
            Ok(Ok(None)) => return None,
            Ok(Ok(Some(part))) => thread_lines(part, &modes),
            Ok(Err(error)) => {
                let data = json!({ "error": "ServerError", "message": error.detail });
                return Some((Ok(event("error", &data.to_string(), None)), None));
            }
        };
        Some((Ok(piece), Some((reader, modes))))
    });
    (stream_headers(), Body::from_stream(pieces)).into_response()
}

fn thread_lines(part: ThreadPart, modes: &ThreadModes) -> Bytes {
    match part {
        ThreadPart::Done(run) => {
            let data = json!({ "status": "run_done", "run_id": run }).to_string();
            event("metadata", &data, Some(&after_run(run).to_string()))
        }
        ThreadPart::Events(events) => {
            let wanted = events.iter().filter(|(_, sent)| modes.has(&sent.name));
            let lines = wanted.map(|(place, sent)| event(&sent.name, &sent.data, Some(&place.to_string())));
            lines.collect::<Vec<_>>().concat().into()
        }
    }
}

/// Returns the lines of an event.
pub(super) fn event(name: &str, data: &str, id: Option<&str>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\r\n")).unwrap_or_default();
    Bytes::from(format!("event: {name}\r\ndata: {data}\r\n{id}\r\n"))
}

/// Returns the headers of all streams of events.
pub(super) fn stream_headers() -> HeaderMap {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
}

/// Returns the values of a run at its end, and blanks until then.
pub(super) fn values(reader: EventReader, follow: Follow, headers: HeaderMap) -> Response {
    let waiting = stream::unfold(Some((reader, follow)), async |waiting| {
        let (mut reader, follow) = waiting?;
        match next_piece(&mut reader).await {
            Ok(Piece::Silence | Piece::Events(_)) => {
                Some((Ok::<_, Infallible>(Bytes::from_static(b"\n")), Some((reader, follow))))
            }
            Ok(Piece::Shutdown) => Some((Ok(Bytes::from(shutdown().to_string())), None)),
            Ok(Piece::End) | Err(_) => Some((Ok(Bytes::from(end(&reader).await.to_string())), None)),
        }
    });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, json, Body::from_stream(waiting)).into_response()
}

fn shutdown() -> Value {
    let message = "the server stops; the run goes on at its next start, where it can be joined";
    json!({ "__error__": { "error": "Shutdown", "message": message } })
}

/// Returns the values of a run that has ended, or its failure.
async fn end(reader: &EventReader) -> Value {
    match outcome(reader).await {
        Ok(values) => values,
        Err(failure) => json!({ "__error__": failure }),
    }
}

async fn outcome(reader: &EventReader) -> Result<Value, RunFailure> {
    let (feed, run, server) = (reader.feed(), reader.run(), reader.server());
    if let Some(failure) = feed.failure() {
        return Err(failure);
    }
    if let Some(values) = feed.result() {
        return Ok(values);
    }
    if !feed.after(u64::MAX).has_ended
        && let Ok(found) = server.records.run(&run.thread, run.run).await
        && let Some(failure) = found.record.error
    {
        return Err(failure); // another process has ended it
    }
    let unreadable = |error: ApiError| RunFailure { error: "ServerError".into(), message: error.detail };
    server.values(&run.thread).await.map_err(unreadable)
}
