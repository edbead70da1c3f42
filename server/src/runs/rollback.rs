//! Removal of a run that was rolled back, with the checkpoints that it made: the newest ones of its thread. Must not know how a run is
//! executed.

use std::time::Duration;

use superstep::checkpoint::spending::delete_thread;
use superstep::checkpoint::{CheckpointError, CheckpointId, Claim, Lease, ThreadId, rewind_claimed};
use superstep::graph::CheckpointInfo;

use super::lost_events::RUN_ID;
use crate::error::ApiResult;
use crate::records::items::Record;
use crate::records::run::RunRecord;
use crate::server::{Server, retry_while_busy};

/// The time for which another holder of the thread is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes a run with its checkpoints. Another server may do the same: the one that comes second must not touch what the next run of the
/// thread has made by then, so each looks under the lease of the thread whether the run is still there.
pub(super) async fn roll_back(server: &Server, run: &RunRecord) -> ApiResult<()> {
    if let Some(lease) = claim(server, run).await? {
        remove_checkpoints(server, run, lease).await?;
        server.records.remove_events(run.run, usize::MAX).await?;
        match server.records.remove_run(run).await {
            Err(error) if error.is_not_found() => {} // another server was faster
            removed => removed?,
        }
    }
    Ok(())
}

/// Claims the thread of a run; none if the run is gone.
async fn claim(server: &Server, run: &RunRecord) -> ApiResult<Option<Lease>> {
    let thread = &ThreadId::from(run.thread.as_str());
    let claimed = retry_while_busy(PATIENCE, move || async move {
        let claimed = server.records.0.claim(thread, Claim::IfFree).await;
        let is_there = server.records.get::<RunRecord>(&run.key()).await?.is_some();
        match claimed {
            claimed if is_there => Ok(claimed.map(Some)?),
            Ok(lease) => Ok(lease.release_unchanged().await.map(|()| None)?),
            Err(_) => Ok(None),
        }
    });
    Ok(Box::pin(claimed).await?)
}

async fn remove_checkpoints(server: &Server, run: &RunRecord, lease: Lease) -> ApiResult<()> {
    let store = &server.records.0;
    match newest_before(server, run).await? {
        Some(base) => {
            rewind_claimed(&**store, &lease, base).await?;
            lease.release().await?;
        }
        None => match delete_thread(&**store, &lease).await {
            Ok(()) | Err(CheckpointError::UnknownThread { .. }) => {}
            Err(error) => return Err(error.into()),
        },
    }
    Ok(())
}

/// Returns the newest checkpoint that the run has not made.
async fn newest_before(server: &Server, run: &RunRecord) -> ApiResult<Option<CheckpointId>> {
    let (thread, id) = (server.graphs.get(&run.graph)?.thread(run.thread.as_str()), run.run.to_string());
    let is_earlier =
        move |made: &CheckpointInfo| made.metadata.iter().all(|(key, value)| key != RUN_ID || *value != id);
    let earlier = thread.history().await?.filter(is_earlier).limit(1).metadata_only().await?;
    Ok(earlier.first().map(|made| made.id))
}
