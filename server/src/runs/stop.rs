//! Requests to stop a run. They are stored before they are acknowledged, as the server that executes the run may be killed, or none may
//! execute it at that moment. Must not know how a run is executed.

use std::sync::Arc;
use std::time::Duration;

use superstep::graph::CancellationToken;
use tokio::time::sleep;
use tokio_util::sync::DropGuard;
use uuid::Uuid;

use crate::error::ApiResult;
use crate::records::items::Records;
use crate::records::run::RunRecord;
use crate::server::Server;

/// The interval at which a server looks whether a run that it executes is to be stopped: a request that was sent to the server may have
/// been lost.
const PAUSE: Duration = Duration::from_secs(1);

impl RunRecord {
    /// Returns whether somebody has asked to stop the run.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.is_cancelled || self.is_rolled_back
    }
}

impl Records {
    /// Stores that a run is to be stopped, unless it has ended.
    pub(crate) async fn cancel(&self, run: &RunRecord) -> ApiResult<()> {
        let mark = |record: &mut RunRecord| record.is_cancelled |= !record.status.has_ended();
        self.change_run(run, mark).await.map(drop)
    }
}

/// Cancels the token of a run soon after it is stored that the run is to be stopped, or once the run is gone; until the guard is dropped.
pub(super) fn cancel_on_request(
    server: &Arc<Server>,
    thread: &str,
    run: Uuid,
    cancel: &CancellationToken,
) -> DropGuard {
    let (server, thread, cancel) = (Arc::clone(server), thread.to_owned(), cancel.clone());
    let left = CancellationToken::new();
    let guard = left.clone().drop_guard();
    tokio::spawn(async move {
        tokio::select! {
            () = left.cancelled() => {}
            () = wait_for_request(&server, &thread, run) => cancel.cancel(),
        }
    });
    guard
}

async fn wait_for_request(server: &Server, thread: &str, run: Uuid) {
    loop {
        sleep(PAUSE).await;
        match server.records.run(thread, run).await {
            Ok(found) if found.record.is_to_stop() => return,
            Err(error) if error.is_not_found() => return,
            _ => {}
        }
    }
}
