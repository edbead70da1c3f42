//! The list of workers: the entry of this handle, which it renews for as long as it lives, and those of all others. Knows
//! sessions; must not know threads.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use super::query::Query;
use super::writer::{Writer, owner_in};
use crate::checkpoint::{CheckpointError, StoreWorker, WorkerGuard};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Enters the handle in the list. Refuses a name that a live worker has.
pub(super) async fn join(writer: Arc<Writer>, graphs: Vec<String>, version: String) -> Result<WorkerGuard> {
    let enter = |session: Arc<super::pool::PooledSession>| {
        let (writer, graphs, version) = (&writer, &graphs, &version);
        async move {
            let (owner, time) = (&writer.owner, millis(writer.book.time));
            let pid = i64::from(owner.pid);
            session
                .row(Query::JoinWorkers, &[&owner.name, &writer.handle, &owner.host, &pid, version, graphs, &time])
                .await
        }
    };
    if writer.pool.run(enter).await?.is_none() {
        return Err(taken(&writer).await?);
    }
    let (stop, (done, removed)) = (CancellationToken::new(), oneshot::channel());
    tokio::spawn(stay(writer, stop.clone(), done));
    Ok(WorkerGuard::new(stop, removed))
}

/// Returns the error of a name that another worker has.
async fn taken(writer: &Arc<Writer>) -> Result<CheckpointError> {
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
        let see = |session: Arc<super::pool::PooledSession>| {
            let writer = &writer;
            async move { session.rows(Query::SeeWorker, &[&writer.owner.name, &writer.handle, &threads]).await }
        };
        if let Err(error) = writer.pool.run(see).await {
            tracing::warn!(%error, "the list of workers was not updated");
        }
    }
    let leave = |session: Arc<super::pool::PooledSession>| {
        let writer = &writer;
        async move { session.rows(Query::LeaveWorkers, &[&writer.owner.name, &writer.handle]).await }
    };
    _ = writer.pool.run(leave).await;
    _ = done.send(());
}

/// Returns all workers that live or have died a short while ago, by name.
pub(super) async fn list(writer: &Arc<Writer>) -> Result<Vec<StoreWorker>> {
    let read = |session: Arc<super::pool::PooledSession>| async move { session.rows(Query::Workers, &[]).await };
    Ok(writer.pool.run(read).await?.iter().filter_map(worker).collect())
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

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
