//! Answers of a request, checked before its run is created: a client is told at once that an answer does not fit. Must not know how a
//! run is executed.

use superstep::graph::{AnyGraph, AnyThread, InterruptId, Question, RunError};
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
    Ok(ids.into_iter().map(|id| pending(id, command, &open)).collect())
}

/// Checks each answer of a command against the open questions of a thread, which are given; returns the result of each, in their order.
pub(crate) async fn check_each_answer(
    thread: &AnyThread,
    command: &CommandBody,
    open: &[Question],
) -> ApiResult<Vec<ApiResult<PendingAnswer>>> {
    let answers = command.answers()?;
    if answers.is_empty() {
        return Ok(vec![]);
    }
    let results = thread.check_each_answer(answers).await?.into_iter();
    Ok(results
        .map(|result| match result {
            Ok(id) => Ok(pending(id, command, open)),
            Err(error) => Err(refusal(error, command, open)),
        })
        .collect())
}

/// Returns an answer of a command, as one of a run that is still to begin.
fn pending(id: InterruptId, command: &CommandBody, open: &[Question]) -> PendingAnswer {
    let question = open.iter().find(|question| question.id() == id);
    PendingAnswer {
        run: Uuid::nil(),
        question: id.to_string(),
        is_vote: question.is_some_and(|question| question.approvals() > 1),
        by: command.by.clone(),
    }
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
