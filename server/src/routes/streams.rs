//! Answers that are sent while a run is going on: events as they come, or the values at its end. Headers go out soon, since a client
//! learns from them which run it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use super::sse::{LineSource, Piece, event, event_stream, next_piece, server_error};
use crate::error::{ApiError, ApiResult};
use crate::panics::catch_panic_of;
use crate::records::event::RunEvent;
use crate::records::items::path_part;
use crate::records::run::RunRecord;
use crate::records::thread::RunFailure;
use crate::runs::reader::EventReader;
use crate::runs::request::StreamModes;
use crate::runs::thread_reader::{ThreadPart, ThreadReader, after_run};
use crate::server::Server;

/// The time for which an answer waits for the end of its run before its headers are sent.
const SOON: Duration = Duration::from_millis(20);

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
    let path = format!("/threads/{}/runs/{}", path_part(&run.thread), run.run);
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
pub(super) fn events(reader: EventReader, follow: Follow, headers: HeaderMap) -> Response {
    (headers, event_stream(RunLines { reader, follow })).into_response()
}

struct RunLines {
    reader: EventReader,
    follow: Follow,
}

impl LineSource for RunLines {
    fn server(&self) -> &Server {
        self.reader.server()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Bytes> {
        let events = self.reader.next().await.map_err(|error| server_error(&error))?;
        Ok(events.map(|events| lines(&events, &self.follow)))
    }
}

fn lines(events: &[Arc<RunEvent>], follow: &Follow) -> Bytes {
    // A reader that names modes gets their events alone, without the one that names the run.
    let fits = |modes: &StreamModes, event: &RunEvent| event.name != "metadata" && modes.has(&event.name);
    let is_wanted = |event: &&Arc<RunEvent>| follow.modes.as_ref().is_none_or(|modes| fits(modes, event));
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
    event_stream(ThreadLines { reader, modes })
}

struct ThreadLines {
    reader: ThreadReader,
    modes: ThreadModes,
}

impl LineSource for ThreadLines {
    fn server(&self) -> &Server {
        self.reader.server()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Bytes> {
        let part = self.reader.next().await.map_err(|error| server_error(&error))?;
        Ok(part.map(|part| thread_lines(part, &self.modes)))
    }
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

/// Returns the values of a run at its end, and blanks until then. The answer to a run that ends soon is sent as a whole.
pub(super) async fn values(mut reader: EventReader, follow: Follow, headers: HeaderMap) -> Response {
    match timeout(SOON, reader.next()).await {
        Ok(Ok(None)) => (headers, Json(end(&reader).await)).into_response(),
        _ => values_later(reader, follow, headers),
    }
}

fn values_later(reader: EventReader, follow: Follow, headers: HeaderMap) -> Response {
    let waiting = stream::unfold(Some((reader, follow)), async |waiting| {
        let (mut reader, follow) = waiting?;
        let closing = reader.server().closing.clone();
        let (piece, rest) = match next_piece(&closing, reader.next()).await {
            Piece::Silence | Piece::Next(Ok(Some(_))) => (Bytes::from_static(b"\n"), Some((reader, follow))),
            Piece::Shutdown => (Bytes::from(shutdown().to_string()), None),
            Piece::Next(Ok(None) | Err(_)) => (Bytes::from(end(&reader).await.to_string()), None),
        };
        Some((Ok::<_, Infallible>(piece), rest))
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
    catch_panic_of(server.values(&run.thread)).await.map_err(unreadable)
}
