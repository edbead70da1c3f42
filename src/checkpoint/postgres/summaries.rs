//! Summaries of threads in the columns of their rows, as lists read them and people see them. A commit and a post remove the summary
//! of a thread; the holder makes a new one when it has released the thread, or else whoever lists next. Knows columns; must not know
//! queries for threads.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::name_in;
use super::cut::readable;
use super::pool::Pool;
use super::query::Query;
use crate::checkpoint::{CheckpointError, ListedThread, SummaryReader, encode_record};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of threads that are read at once.
pub(super) const PIECE: usize = 256;

/// Makes the summaries of threads that have changed and that nobody runs.
pub(super) async fn refresh(pool: &Pool) -> Result<()> {
    let (mut reader, mut last) = (SummaryReader::new(pool), 0_i64);
    loop {
        let rows = pool.rows(Query::Unlisted, &[&last]).await?;
        for row in &rows {
            last = row.get(2);
            refresh_row(pool, &mut reader, row).await?;
        }
        if rows.len() < PIECE {
            return Ok(());
        }
    }
}

/// Makes the summary of one thread, by the number of its row.
pub(super) async fn refresh_thread(pool: &Pool, id: i64) -> Result<()> {
    for row in &pool.rows(Query::UnlistedThread, &[&id]).await? {
        refresh_row(pool, &mut SummaryReader::new(pool), row).await?;
    }
    Ok(())
}

async fn refresh_row(pool: &Pool, reader: &mut SummaryReader<'_>, row: &Row) -> Result<()> {
    match reader.read_records(&name_in(row)?).await? {
        Some(summary) => write_summary(pool, row, &summary).await,
        None => Ok(()),
    }
}

/// Writes a summary, unless the thread has changed since its row was read.
async fn write_summary(pool: &Pool, row: &Row, found: &ListedThread) -> Result<()> {
    let [id, epoch, commit, posts] = [2, 3, 4, 5].map(|at| row.get::<_, i64>(at));
    let status: &'static str = found.status.into();
    let is_ready = found.ready && found.due.is_some() && found.is_trusted();
    let due = found.due.filter(|_| found.is_trusted()).map(u64::cast_signed);
    let pairs = found.metadata.iter().map(|(key, value)| (readable(key), readable(value).into()));
    let metadata = serde_json::Value::Object(pairs.collect()).to_string();
    let (bytes, graph, version) = (encode_record(found)?, readable(&found.graph), i64::from(found.version));
    let [wake, created, updated] = [found.wakes.first().copied(), Some(found.created_at), Some(found.updated_at)];
    let [wake, created, updated] = [wake, created, updated].map(|time| time.map(u64::cast_signed));
    let params: &[&(dyn ToSql + Sync)] = &[
        &id, &epoch, &commit, &posts, &bytes, &status, &graph, &due, &wake, &created, &updated, &metadata, &is_ready,
        &version,
    ];
    pool.rows(Query::WriteSummary, params).await.map(drop)
}
