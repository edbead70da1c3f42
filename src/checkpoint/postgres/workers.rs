//! The list of workers: the entry of this handle, which it renews for as long as it lives, and those of all others. Knows
//! sessions; must not know threads.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tokio_util::sync::CancellationToken;

use super::columns::owner_in;
use super::query::Query;
use super::writer::Writer;
use crate::checkpoint::{CheckpointError, StoreWorker, WorkerGuard};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Enters the handle in the list. Refuses a name that a live worker has.
pub(super) async fn join(writer: Arc<Writer>, graphs: Vec<String>, version: String) -> Result<WorkerGuard> {
    let (owner, time) = (&writer.owner, writer.book.time.as_secs_f64() * 1000.0);
    let pid = i64::from(owner.pid);
    let entry: [&(dyn ToSql + Sync); 7] = [&owner.name, &writer.handle, &owner.host, &pid, &version, &graphs, &time];
    if writer.pool.rows(Query::JoinWorkers, &entry).await?.is_empty() {
        return Err(name_error(&writer).await?);
    }
    let (stop, (done, removed)) = (CancellationToken::new(), oneshot::channel());
    tokio::spawn(stay(writer, stop.clone(), done));
    Ok(WorkerGuard::new(stop, removed))
}

/// Returns the error of a name that another worker has.
async fn name_error(writer: &Arc<Writer>) -> Result<CheckpointError> {
    let name = writer.owner.name.clone();
    let other = list(writer).await?.into_iter().find(|worker| worker.name == name);
    let StoreWorker { host, pid, .. } = other.unwrap_or_default();
    Ok(CheckpointError::WorkerExists { name, host, pid })
}

/// Renews the entry until the guard is dropped, then removes it.
async fn stay(writer: Arc<Writer>, stop: CancellationToken, done: oneshot::Sender<()>) {
    let pause = writer.book.time / 3;
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => break,
            () = sleep(pause) => {}
        }
        let threads = i32::try_from(writer.book.live().len()).unwrap_or(i32::MAX);
        let sign: [&(dyn ToSql + Sync); 3] = [&writer.owner.name, &writer.handle, &threads];
        if let Err(error) = writer.pool.rows(Query::SeeWorker, &sign).await {
            tracing::warn!(%error, "the list of workers was not updated");
        }
    }
    _ = writer.pool.rows(Query::LeaveWorkers, &[&writer.owner.name, &writer.handle]).await;
    _ = done.send(());
}

/// Returns all workers that live or have died a short while ago, by name.
pub(super) async fn list(writer: &Arc<Writer>) -> Result<Vec<StoreWorker>> {
    Ok(writer.pool.rows(Query::Workers, &[]).await?.iter().filter_map(worker).collect())
}

fn worker(row: &Row) -> Option<StoreWorker> {
    let owner = owner_in(row, 0)?;
    let number = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or_default().cast_unsigned();
    Some(StoreWorker {
        name: owner.name.clone(),
        host: owner.host.clone(),
        pid: owner.pid,
        since: number(4),
        last_seen: number(3),
        threads: row.get::<_, i32>(5).cast_unsigned(),
        version: row.get::<_, Option<String>>(6).unwrap_or_default(),
        graphs: row.get::<_, Option<Vec<String>>>(7).unwrap_or_default(),
    })
}
