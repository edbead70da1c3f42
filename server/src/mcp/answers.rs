//! Answers to questions, as a run that answers them: one that does not fit is refused, and changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{ElicitResult, ElicitationAction, InputResponses};
use serde_json::{Map, Value, json};
use superstep::graph::QuestionForm;

use super::client::Client;
use super::forms;
use super::position::{OpenQuestion, Position};
use crate::error::{ApiError, ApiResult};
use crate::panics::call_form;
use crate::runs::creation::Reader;
use crate::security::KeyRole;
use crate::server::Server;

/// The answers to open questions of a thread, all of which are taken, or none.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    position: &'a Position,
    by_question: Map<String, Value>,
}

impl<'a> Answers<'a> {
    /// Returns no answers yet.
    pub(super) fn of(position: &'a Position) -> Self {
        Self { position, by_question: Map::new() }
    }

    /// Adds an answer.
    ///
    /// # Errors
    /// 422 for one that the graph refuses.
    pub(super) fn add(&mut self, server: &Server, open: &OpenQuestion, value: Value) -> ApiResult<()> {
        let form = server.graphs.get(&self.position.graph)?.form(open.question.name());
        let check = |form: &QuestionForm| call_form(&open.question, "check", || form.check(&open.question, &value));
        if let Some(reason) = form.and_then(|form| check(form).unwrap_or_else(Some)) {
            let name = open.question.name();
            return Err(ApiError::invalid(format!("the answer to `{name}` cannot be followed: {reason}")));
        }
        self.by_question.insert(open.id(), value);
        Ok(())
    }

    /// Creates the run that answers, if there are answers.
    ///
    /// # Errors
    /// 403 without the right; 409 if a question was answered meanwhile; 422 if an answer does not fit.
    pub(super) async fn send(self, server: &Arc<Server>, client: &Client) -> ApiResult<()> {
        if self.by_question.is_empty() {
            return Ok(());
        }
        client.check(KeyRole::Answer)?;
        let program = if client.program.is_empty() { "a client" } else { &client.program };
        let by = client.caller.as_ref().map(|caller| &caller.name);
        let command = json!({ "resume": self.by_question, "by": by, "note": format!("by {program}, over MCP") });
        let request = json!({ "assistant_id": self.position.graph, "command": command });
        server.create_run(Some(&self.position.thread), request, Reader::OfEvents).await.map(drop)
    }
}

/// Answers the questions that a client has sent forms for. Returns the ids of those that it left open: a person has declined to
/// answer, or left the form. Forms for what is not open any more are ignored.
///
/// # Errors
/// Those of [`Answers::send`]; 422 if a response is no filled-in form.
pub(super) async fn respond(
    server: &Arc<Server>,
    client: &Client,
    position: &Position,
    responses: &InputResponses,
) -> ApiResult<BTreeSet<String>> {
    let (mut left, mut answers) = (BTreeSet::new(), Answers::of(position));
    for open in &position.questions {
        let Some(response) = responses.get(&open.id()) else { continue };
        match filled_in(open, response)? {
            None => _ = left.insert(open.id()),
            Some(value) => answers.add(server, open, value)?,
        }
    }
    answers.send(server, client).await?;
    Ok(left)
}

/// Returns the answer in a response; `None` if there is none.
fn filled_in(open: &OpenQuestion, response: &Value) -> ApiResult<Option<Value>> {
    let read: ElicitResult = serde_json::from_value(response.clone())
        .map_err(|error| ApiError::invalid(format!("the response to `{}` is no filled-in form: {error}", open.id())))?;
    match read.action {
        ElicitationAction::Accept => forms::read(&open.question, &read.content.unwrap_or_default()).map(Some),
        _ => Ok(None),
    }
}
