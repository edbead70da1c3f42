//! The event protocol over HTTP: commands, and the events of a thread as a stream that stays open over runs.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::Value;

use super::sse::{LineSource, event, event_stream};
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
    Ok(event_stream(ProtocolReader::new(&server, &thread, Filter::parse(&params).map_err(invalid)?)))
}

impl LineSource for ProtocolReader {
    fn server(&self) -> &Server {
        self.server()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Bytes> {
        let refusal = |error| event("error", &CommandError::from(error).answer(None).to_string(), None);
        Ok(self.next().await.map_err(refusal)?.map(|events| lines(&events)))
    }
}

fn lines(events: &[ProtocolEvent]) -> Bytes {
    let line = |sent: &ProtocolEvent| event(sent.method, &sent.json().to_string(), Some(&sent.seq.to_string()));
    events.iter().map(line).collect::<Vec<_>>().concat().into()
}
