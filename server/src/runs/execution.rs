//! Executes runs: the oldest of each thread's queue, as many threads at a time as there are jobs. The start of a run is one commit with
//! its first superstep, so that none is started twice; who executes it holds the lease of the thread.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::checkpoint::CheckpointError;
use superstep::graph::{AnyGraph, AnyState, AnyThread, CancellationToken, Name, Outcome, Request, RunError, Status};
use superstep_base::time::{millis, now};
use tokio::time::sleep;

use super::events::{debug_event, wire_event};
use super::request::{RunBody, StreamModes};
use crate::error::ApiError;
use crate::feed::Feed;
use crate::records::items::StoredRecord;
use crate::records::run::{OpenRun, RunRecord, RunStatus};
use crate::records::thread::{RunFailure, ThreadRecord};
use crate::server::Server;

/// The pause before open runs are looked at again that another server holds, or whose store cannot be reached.
const PAUSE: Duration = Duration::from_millis(500);

/// Result of an attempt to execute a run.
enum Attempt {
    Ended(RunStatus, Option<RunFailure>),
    /// It goes on at a time, in milliseconds since 1970.
    Until(u64),
    /// Somebody else holds the thread, or the store cannot be reached: again later.
    Later,
    /// This server stops.
    Stopped,
}

/// Executes open runs until the server stops.
pub(crate) async fn execute_all(server: Arc<Server>) {
    let mut watch = server.records.0.watch();
    loop {
        if let Err(error) = start_open(&server).await {
            tracing::warn!(%error, "the open runs cannot be read");
        }
        tokio::select! {
            () = server.stop.cancelled() => return,
            () = server.has_new.notified() => {}
            () = watch.changed() => {}
            () = sleep(PAUSE) => {}
        }
    }
}

/// Starts the threads with open runs that this server does not execute yet.
async fn start_open(server: &Arc<Server>) -> Result<(), CheckpointError> {
    for open in server.records.all::<OpenRun>("").await? {
        let thread = open.record.thread;
        if let Some(guard) = server.executing.enter(&thread) {
            let server = Arc::clone(server);
            tokio::spawn(async move {
                execute_thread(&server, &thread).await;
                drop(guard);
            });
        }
    }
    Ok(())
}

/// Executes the runs of a thread until none is open.
async fn execute_thread(server: &Arc<Server>, thread: &str) {
    loop {
        match execute_next(server, thread).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(thread, %error, "a run was not executed");
                return;
            }
        }
        if server.stop.is_cancelled() {
            return;
        }
    }
}

/// Executes the next run of a thread; returns whether there may be another.
async fn execute_next(server: &Arc<Server>, thread: &str) -> Result<bool, ApiError> {
    let key = ThreadRecord::key_of(thread);
    let Some(record) = server.records.get::<ThreadRecord>(&key).await? else { return Ok(false) };
    let Some(run) = record.record.queue.first().copied() else { return Ok(false) };
    let run = server.records.run(thread, run).await?;
    let attempt = {
        let Ok(_permit) = server.jobs.acquire().await else { return Ok(false) };
        attempt(server, &run).await
    };
    match attempt {
        Attempt::Ended(status, failure) => {
            let feed = server.feeds.of(run.record.run);
            server.records.end_run(&run.record, (status, failure.clone())).await?;
            if record.record.is_temporary {
                feed.set_result(server.values(thread).await?);
                server.remove_thread(thread).await?;
            }
            feed.end(failure);
            Ok(true)
        }
        Attempt::Until(time) => {
            tokio::select! {
                () = sleep(Duration::from_millis(time.saturating_sub(now()))) => {}
                () = server.stop.cancelled() => {}
            }
            Ok(true)
        }
        Attempt::Later | Attempt::Stopped => Ok(false),
    }
}

async fn attempt(server: &Arc<Server>, run: &StoredRecord<RunRecord>) -> Attempt {
    let parse = || {
        let body = RunBody::parse(&run.record.request)?;
        let modes = body.modes()?;
        Ok::<_, ApiError>((body, modes, server.graphs.get(&run.record.graph)?))
    };
    let (body, modes, graph) = match parse() {
        Ok(prepared) => prepared,
        Err(error) => return failure("ValueError", error.detail),
    };
    let feed = server.feeds.of(run.record.run);
    if feed.newest() == 0 {
        feed.send("metadata", json!({ "run_id": run.record.run, "attempt": 1 }));
    }
    let cancel = server.executing.token(&run.record.thread);
    let (thread, request) = match prepare(server, graph, run, &body, &cancel).await {
        Ok(prepared) => prepared,
        Err(done) => return *done,
    };
    let ended = follow(thread, request, &run.record.thread, &modes, &feed).await;
    let attempt = match ended {
        Ok(outcome) => of_outcome(&outcome),
        Err(error) => of_error(&error),
    };
    if let Attempt::Ended(RunStatus::Error, Some(failure)) = &attempt {
        feed.send("error", json!(failure));
    }
    attempt
}

/// Returns the thread and the request of a run: what was asked for, or to go on if an earlier process has begun it.
async fn prepare(
    server: &Arc<Server>,
    graph: &AnyGraph,
    run: &StoredRecord<RunRecord>,
    body: &RunBody,
    cancel: &CancellationToken,
) -> Result<(AnyThread, Request<AnyState, Name>), Box<Attempt>> {
    let invalid = |error: ApiError| Box::new(failure("ValueError", error.detail));
    let thread = graph.thread(run.record.thread.as_str());
    if run.record.status == RunStatus::Running {
        let thread = thread.cancel_with(cancel.clone()).drain_with(server.stop.clone());
        return match thread.status().await {
            Ok(Status::Finished | Status::Interrupted { .. } | Status::Stopped { .. }) => {
                Err(Box::new(Attempt::Ended(RunStatus::Success, None)))
            }
            Ok(_) => Ok((thread, Request::proceed())),
            Err(error) => Err(Box::new(of_error(&error))),
        };
    }
    let mut thread = body.configure(thread).map_err(invalid)?;
    if body.has_input() {
        thread = thread.discard_pending();
    }
    let request = body.request(graph).map_err(invalid)?;
    let begun = RunRecord { status: RunStatus::Running, updated_at: now(), ..run.record.clone() };
    let thread = thread.cancel_with(cancel.clone()).drain_with(server.stop.clone());
    Ok((thread, request.with_items([run.replace(&begun)])))
}

/// Runs a request, and feeds its events to the readers.
async fn follow(
    thread: AnyThread,
    request: Request<AnyState, Name>,
    name: &str,
    modes: &StreamModes,
    feed: &Arc<Feed>,
) -> Result<Outcome<AnyState>, RunError> {
    let mut events = thread.stream(request, modes.of_engine());
    while let Some(event) = events.next().await {
        let Some(wire) = wire_event(name, &event) else { continue };
        if modes.has("debug")
            && let Some((name, data)) = debug_event(event.step, &wire)
        {
            feed.send(name, data);
        }
        if modes.has(wire.0) {
            feed.send(wire.0, wire.1);
        }
    }
    events.outcome().await
}

fn of_outcome(outcome: &Outcome<AnyState>) -> Attempt {
    let until = |time: std::time::SystemTime| Attempt::Until(millis(time));
    match outcome {
        Outcome::Waiting { until: time, .. } => until(*time),
        Outcome::AwaitingSignal { until: time, .. } => time.map_or(Attempt::Later, until),
        Outcome::Drained(_) => Attempt::Stopped,
        Outcome::Cancelled(_) => Attempt::Ended(RunStatus::Interrupted, Some(user_interrupt())),
        _ => Attempt::Ended(RunStatus::Success, None),
    }
}

fn of_error(error: &RunError) -> Attempt {
    match error {
        RunError::Checkpoint(
            CheckpointError::ThreadBusy { .. }
            | CheckpointError::StaleLease { .. }
            | CheckpointError::ItemConflict { .. }
            | CheckpointError::Outage { .. },
        ) => Attempt::Later,
        RunError::RecursionLimit { .. } => failure("GraphRecursionError", error.to_string()),
        RunError::Node { error, .. } => failure("NodeError", error.to_string()),
        RunError::EmptyInput { .. } => failure("EmptyInputError", error.to_string()),
        _ => failure("RunError", error.to_string()),
    }
}

/// Returns the failure of a run that somebody has cancelled.
pub(crate) fn user_interrupt() -> RunFailure {
    RunFailure { error: "UserInterrupt".into(), message: "the run was cancelled".into() }
}

fn failure(error: &str, message: String) -> Attempt {
    Attempt::Ended(RunStatus::Error, Some(RunFailure { error: error.into(), message }))
}
