//! Answers of a request, checked before its run is created: a client is told at once that an answer does not fit. Must not know how a
//! run is executed.

use superstep::graph::{AnyGraph, Question, RunError};
use uuid::Uuid;

use super::request::CommandBody;
use crate::error::{ApiError, ApiResult};
use crate::records::thread::PendingAnswer;

/// Checks the answers of a command against the open questions of a thread that nobody runs; returns them as those of a run.
pub(crate) async fn check_answers(
    graph: &AnyGraph,
    thread: &str,
    command: &CommandBody,
) -> ApiResult<Vec<PendingAnswer>> {
    let answers = command.answers()?;
    if answers.is_empty() {
        return Ok(vec![]);
    }
    let handle = graph.thread(thread);
    let open: Vec<Question> = match handle.state().await? {
        Some(snapshot) => snapshot.questions().cloned().collect(),
        None => vec![],
    };
    let ids = handle.check_answers(answers).await.map_err(|error| refusal(error, command, &open))?;
    let pending = |id| {
        let question = open.iter().find(|question| question.id() == id);
        PendingAnswer {
            run: Uuid::nil(),
            question: id.to_string(),
            is_vote: question.is_some_and(|question| question.approvals() > 1),
            by: command.by.clone(),
        }
    };
    Ok(ids.into_iter().map(pending).collect())
}

/// Returns the error of an answer: who may not give it, and who has given it before, are told apart.
fn refusal(error: RunError, command: &CommandBody, open: &[Question]) -> ApiError {
    if let RunError::NotAnApprover { id, .. } = &error
        && let Some(question) = open.iter().find(|question| question.id() == *id)
        && command.by.is_some()
        && question.votes().iter().any(|vote| vote.by == command.by)
    {
        return ApiError::conflict(error.to_string());
    }
    error.into()
}
