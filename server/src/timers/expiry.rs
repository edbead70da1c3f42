//! Threads at the end of their time: deleted, or only their past. A thread that has changed since, or has a run, is kept longer.

use std::sync::Arc;

use superstep::checkpoint::{CheckpointError, Retention, ThreadId, gc};
use superstep_base::time::now;

use crate::error::ApiResult;
use crate::records::items::StoredRecord;
use crate::records::thread::{ThreadRecord, ThreadTtl, TtlStrategy};
use crate::records::timer::Timer;
use crate::server::Server;

/// Time after which a thread with a run is looked at again, in milliseconds.
const LATER: u64 = 60_000;

/// Ends a thread whose time is over.
pub(super) async fn expire(server: &Arc<Server>, timer: &StoredRecord<Timer>) -> ApiResult<()> {
    let is_due = |thread: &ThreadRecord| thread.timer().as_ref() == Some(&timer.record);
    let Some(found) = server.records.due_record(timer, is_due).await? else { return Ok(()) };
    let thread = &found.record;
    let Some(ttl) = thread.ttl else { return Ok(()) };
    let end = thread.expires_at().unwrap_or_default();
    if end > now() || !thread.queue.is_empty() {
        return check_later(server, &found, Some(ThreadTtl { checked_at: end.max(now() + LATER), ..ttl })).await;
    }
    let ended = match ttl.strategy {
        TtlStrategy::Delete => server.remove_thread(&thread.thread).await,
        TtlStrategy::KeepLatest => keep_latest(server, &thread.thread).await,
    };
    match ended {
        Ok(()) if ttl.strategy == TtlStrategy::Delete => Ok(()),
        Ok(()) => check_later(server, &found, None).await,
        Err(error) => {
            tracing::warn!(thread = thread.thread, %error, "a thread whose time is over could not be removed");
            check_later(server, &found, Some(ThreadTtl { checked_at: now() + LATER, ..ttl })).await
        }
    }
}

async fn check_later(server: &Server, found: &StoredRecord<ThreadRecord>, ttl: Option<ThreadTtl>) -> ApiResult<()> {
    let later = ThreadRecord { ttl, ..found.record.clone() };
    let mut writes = Timer::replace(found.record.timer().as_ref(), later.timer().as_ref());
    writes.push(found.replace(&later));
    Ok(server.records.write(writes).await?)
}

/// Removes the checkpoints of a thread but the newest one, and the one before it.
pub(crate) async fn keep_latest(server: &Server, thread: &str) -> ApiResult<()> {
    let policy = Retention::new().keep_last(1).keep_unfinished(false).keep_tagged(false);
    match gc(&*server.records.0, &ThreadId::from(thread), &policy).await {
        Ok(_) | Err(CheckpointError::UnknownThread { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
