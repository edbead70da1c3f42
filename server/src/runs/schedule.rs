//! The schedule of threads: this server executes those for which it has created a run, those whose runs another process left, and those
//! that became due without a request, such as a thread that was answered by a command. Must not know how a run is executed.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use superstep::checkpoint::{DueQuery, ListedThread};
use superstep::graph::{RunError, Status, StatusKind};
use superstep_base::gather;
use tokio::time::{sleep, timeout};

use super::execution::{execute_next, leave};
use crate::error::ApiResult;
use crate::panics::catch_panic_of;
use crate::server::Server;

/// The interval at which the store is searched for work, where it sends no hint.
const PAUSE: Duration = Duration::from_millis(500);
/// The smallest interval between two searches: hints come with each change.
const REST: Duration = Duration::from_millis(100);

/// Executes open runs until the server stops, and then waits for those that are executed.
pub(crate) async fn execute_all(server: Arc<Server>) {
    let mut watch = server.records.0.watch();
    while !server.stop.is_cancelled() {
        if let Err(error) = start_found(&server).await {
            tracing::warn!(%error, "the store cannot be searched for open runs");
        }
        let next = async {
            sleep(REST).await;
            _ = timeout(PAUSE, watch.changed()).await;
        };
        tokio::select! {
            () = server.stop.cancelled() => {}
            () = next => {}
        }
    }
    server.executing.wait_until_none().await;
    server.closing.cancel();
}

/// Starts to execute the runs of a thread, unless that is done already.
pub(crate) fn execute(server: &Arc<Server>, thread: &str) {
    let Some(guard) = server.executing.enter(thread) else { return };
    let (server, thread) = (Arc::clone(server), thread.to_owned());
    tokio::spawn(async move {
        loop {
            execute_thread(&server, &thread).await;
            if server.stop.is_cancelled() || !guard.is_wanted_again() {
                return;
            }
        }
    });
}

/// Executes the runs of a thread until none is open.
async fn execute_thread(server: &Arc<Server>, thread: &str) {
    while !server.stop.is_cancelled() {
        match catch_panic_of(execute_next(server, thread)).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(thread, %error, "a run was not executed");
                return;
            }
        }
    }
}

/// Starts the threads that the store says have work.
async fn start_found(server: &Arc<Server>) -> ApiResult<()> {
    let executed = server.executing.runs();
    let open = server.records.open_runs().await?;
    server.open_runs.set(open.runs.len() + open.later.len());
    server.metrics.set_open(open.runs.iter());
    server.executing.stop_all_but(executed, &open);
    for open in open.runs {
        execute(server, &open.thread);
    }
    start_due(server).await
}

/// Creates runs for threads that are due and have none: somebody answered a question by a command, or the process that ran it is gone.
async fn start_due(server: &Arc<Server>) -> ApiResult<()> {
    let mut query = DueQuery::new(Vec::<String>::new(), server.jobs.available_permits());
    query.graphs = gather(server.graphs.iter().map(|graph| (graph.name().to_owned(), graph.version())));
    query.except = server.executing.names();
    for (lease, listed) in server.records.0.due(&query).await?.threads {
        lease.release().await?; // a thread that is held looks like one that runs
        match start_thread(server, &listed).await {
            Err(error) if error.status == StatusCode::SERVICE_UNAVAILABLE => return Err(error),
            Err(error) => {
                tracing::warn!(thread = listed.id.as_str(), %error, "a thread that could continue is not resumed");
                leave(server, listed.id.as_str()).await;
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Starts a thread that is due, with a new run unless it has one.
async fn start_thread(server: &Arc<Server>, listed: &ListedThread) -> ApiResult<()> {
    let thread = listed.id.as_str();
    if !(server.resumes.allow(listed) && is_ready(server, listed).await?) {
        leave(server, thread).await;
        return Ok(());
    }
    if server.thread_record(thread).await?.record.queue.is_empty() {
        server.resume_thread(thread, &listed.graph).await?;
    }
    execute(server, thread);
    Ok(())
}

/// Returns whether its graph can resume a thread: only the graph knows its breakpoints, and what it can read.
async fn is_ready(server: &Server, listed: &ListedThread) -> ApiResult<bool> {
    if listed.requested_at.is_some() {
        return Ok(true);
    }
    if server.was_left(listed).await? {
        return Ok(false);
    }
    let status = match server.graphs.get(&listed.graph)?.thread(listed.id.clone()).status().await {
        Err(RunError::Panic { .. }) => return Ok(false),
        status => status?,
    };
    Ok(match status {
        Status::Pending { .. } | Status::Waiting { .. } | Status::AwaitingSignal { .. } => true,
        Status::Interrupted { .. } => listed.status == StatusKind::Interrupted,
        _ => false,
    })
}
