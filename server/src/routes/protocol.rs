//! The event protocol over HTTP: commands, and the events of a thread as a stream that stays open over runs.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::streams::{HEARTBEAT, event, stream_headers};
use crate::error::{ApiError, ApiResult};
use crate::protocol::command::{CommandError, ProtocolCommand};
use crate::protocol::commands::execute;
use crate::protocol::event::ProtocolEvent;
use crate::protocol::filter::Filter;
use crate::protocol::reader::ProtocolReader;
use crate::security::Caller;
use crate::server::Server;

pub(super) async fn commands(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    caller: Option<Extension<Caller>>,
    body: Bytes,
) -> Response {
    let name = caller.as_ref().map(|caller| caller.name.as_str());
    match ProtocolCommand::parse(&body).map(|command| command.of_caller(name)) {
        Ok(command) => Json(command.answer(execute(&server, &thread, &command).await)).into_response(),
        Err(refusal) => (StatusCode::BAD_REQUEST, Json(refusal)).into_response(),
    }
}

pub(super) async fn events(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(params): Json<Value>,
) -> ApiResult<Response> {
    let invalid = |detail| ApiError::new(StatusCode::BAD_REQUEST, detail);
    let reader = ProtocolReader::new(&server, &thread, Filter::parse(&params).map_err(invalid)?);
    let pieces = stream::unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        let closing = reader.server().closing.clone();
        let next = tokio::select! {
            biased;
            next = timeout(HEARTBEAT, reader.next()) => next,
            () = closing.cancelled() => {
                return Some((Ok::<_, Infallible>(event("metadata", &json!({ "status": "shutdown" }).to_string(), None)), None));
            }
        };
        match next {
            Err(_) => Some((Ok(Bytes::from_static(b": heartbeat\r\n\r\n")), Some(reader))),
            Ok(Ok(None)) => None,
            Ok(Ok(Some(events))) => Some((Ok(lines(&events)), Some(reader))),
            Ok(Err(error)) => {
                let data = CommandError::from(error).answer(None).to_string();
                Some((Ok(event("error", &data, None)), None))
            }
        }
    });
    Ok((stream_headers(), Body::from_stream(pieces)).into_response())
}

fn lines(events: &[ProtocolEvent]) -> Bytes {
    let line = |sent: &ProtocolEvent| event(sent.method, &sent.json().to_string(), Some(&sent.seq.to_string()));
    events.iter().map(line).collect::<Vec<_>>().concat().into()
}
