//! Threads as tasks of the protocol: the id of a task is its thread. Knows no request; everything is in the store.

use std::sync::Arc;

use rmcp::model::{DetailedTask, InputRequest, InputRequests, JsonObject, Task, TaskPayload, TaskStatus};
use serde_json::Value;
use superstep_base::time::now;

use super::client::Client;
use super::forms::form;
use super::position::{Position, PositionStatus};
use super::results::{of_position, summary};
use crate::error::{ApiError, ApiResult};
use crate::records::thread::ThreadRecord;
use crate::records::time::time_text;
use crate::runs::creation::StopAction;
use crate::runs::execution::user_interrupt;
use crate::security::KeyRole;
use crate::server::Server;

/// The pause between two polls, in milliseconds.
const POLL: u64 = 1000;

/// Returns a thread as a task that has just begun.
pub(super) fn new_task(position: &Position) -> Task {
    let (created, updated) = (time_text(position.created_at), time_text(position.updated_at));
    Task::new(&position.thread, TaskStatus::Working, created, updated)
        .with_poll_interval_ms(POLL)
        .with_status_message(summary(position))
}

/// Returns a thread as a task.
pub(super) fn task(position: &Position) -> ApiResult<DetailedTask> {
    let payload = match position.status {
        PositionStatus::Working => TaskPayload::Working,
        PositionStatus::InputRequired => TaskPayload::InputRequired { input_requests: requests(position)? },
        PositionStatus::Cancelled => TaskPayload::Cancelled,
        PositionStatus::Completed | PositionStatus::Failed => TaskPayload::Completed { result: result(position)? },
    };
    Ok(DetailedTask::new(new_task(position), payload))
}

/// Returns the open questions of a thread as forms, by their ids.
pub(super) fn requests(position: &Position) -> ApiResult<InputRequests> {
    let request = |open| form(open).map(InputRequest::Elicitation);
    position.questions.iter().map(|open| Ok((open.id(), request(open)?))).collect()
}

fn result(position: &Position) -> ApiResult<JsonObject> {
    match serde_json::to_value(of_position(position))? {
        Value::Object(fields) => Ok(fields),
        _ => Err(ApiError::invalid("the result is no object")),
    }
}

/// Cancels what a thread does, or waits for. One that is completed stays so.
pub(super) async fn cancel(server: &Arc<Server>, client: &Client, thread: &str) -> ApiResult<()> {
    client.check(KeyRole::Run)?;
    let queue = server.thread_record(thread).await?.record.queue;
    for run in &queue {
        match server.records.run(thread, *run).await {
            Ok(run) => server.stop_run(&run.record, StopAction::Interrupt, false).await?,
            Err(error) if error.is_not_found() => {} // it has ended meanwhile
            Err(error) => return Err(error),
        }
    }
    let waits = [PositionStatus::Working, PositionStatus::InputRequired];
    match queue.is_empty() && waits.contains(&Position::read(server, thread, client).await?.status) {
        true => mark_cancelled(server, thread).await,
        false => Ok(()),
    }
}

/// Notes that a thread which waits for an answer was cancelled. A later answer lets it continue all the same.
async fn mark_cancelled(server: &Server, thread: &str) -> ApiResult<()> {
    server.adopt(thread).await?;
    let key = ThreadRecord::key_of(thread);
    let marked = server.records.change::<ThreadRecord, ()>(&key, |found| {
        let found = found.filter(|found| found.record.queue.is_empty())?;
        let record = ThreadRecord { error: Some(user_interrupt()), updated_at: now(), ..found.record.clone() };
        Some((vec![found.replace(&record)], ()))
    });
    Ok(marked.await.map(|_| ())?)
}
