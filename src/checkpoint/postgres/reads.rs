//! Reads of records, heads and names, each of them one statement, which sees one moment; and requests to owners. Knows sessions;
//! must not know leases or writes.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tokio_postgres::Row;

use super::columns::{head_in, name_in, owner_in};
use super::cut::{Cut, CutName};
use super::fault::Fault;
use super::pool::{Pool, PooledSession};
use super::put::key_of_parts;
use super::query::Query;
use super::session::Session;
use crate::checkpoint::listing::reads::{ReadFuture, ThreadReads};
use crate::checkpoint::{CheckpointError, Key, LeaseOwner, Order, OwnerRequest, Record, ThreadHead, ThreadId};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Returns the head of a thread.
pub(super) async fn head(pool: &Pool, thread: &ThreadId) -> Result<Option<ThreadHead>> {
    let row = pool.run(|session| async move { by_name(&session, Query::Head, thread).await }).await?;
    Ok(row.and_then(|row| head_in(&row, 0)))
}

/// Returns who holds a thread.
pub(super) async fn owner(pool: &Pool, thread: &ThreadId) -> Result<Option<Arc<LeaseOwner>>> {
    let row = pool.run(|session| async move { by_name(&session, Query::Owner, thread).await }).await?;
    Ok(row.and_then(|row| owner_in(&row, 1)))
}

impl ThreadReads for Pool {
    fn read_head(&self, thread: &ThreadId) -> ReadFuture<'_, Option<ThreadHead>> {
        let thread = thread.clone();
        Box::pin(async move { head(self, &thread).await })
    }

    fn read_records(&self, thread: &ThreadId, keys: Vec<Key>) -> ReadFuture<'_, Vec<Option<Vec<u8>>>> {
        let thread = thread.clone();
        Box::pin(async move { get(self, &thread, &keys).await })
    }

    fn read_range(&self, thread: &ThreadId, range: RangeInclusive<Key>, limit: usize) -> ReadFuture<'_, Vec<Record>> {
        let thread = thread.clone();
        Box::pin(async move { scan(self, &thread, &range, Order::Ascending, limit).await })
    }

    fn read_owner(&self, thread: &ThreadId) -> ReadFuture<'_, Option<Arc<LeaseOwner>>> {
        let thread = thread.clone();
        Box::pin(async move { owner(self, &thread).await })
    }

    fn read_names(&self, after: Option<&ThreadId>, limit: usize) -> ReadFuture<'_, Vec<ThreadId>> {
        let after = after.cloned();
        Box::pin(async move { threads(self, after.as_ref(), limit).await })
    }

    fn is_store_foreign(&self) -> bool {
        false
    }
}

/// Passes a request to whoever holds a thread, and returns who that is.
pub(super) async fn send_request(
    pool: &Pool,
    thread: &ThreadId,
    request: OwnerRequest,
    channel: &str,
) -> Result<Option<Arc<LeaseOwner>>> {
    let CutName { length, cut } = &CutName::new(thread);
    let request: &'static str = request.into();
    let send = |session: Arc<PooledSession>| async move {
        session.row(Query::SendRequest, &[length, &cut.start, &cut.hash, &request, &channel]).await
    };
    Ok(pool.run(send).await?.and_then(|row| owner_in(&row, 0)))
}

async fn by_name(session: &Session, query: Query, thread: &ThreadId) -> std::result::Result<Option<Row>, Fault> {
    let CutName { length, cut } = CutName::new(thread);
    session.row(query, &[&length, &cut.start, &cut.hash]).await
}

/// Returns the records under `keys`, in that order.
pub(super) async fn get(pool: &Pool, thread: &ThreadId, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>> {
    let name = &CutName::new(thread);
    let starts: &Vec<Vec<u8>> = &keys.iter().map(|key| Cut::key(key).start).collect();
    let read = |session: Arc<PooledSession>| async move {
        session.rows(Query::Get, &[&name.length, &name.cut.start, &name.cut.hash, starts]).await
    };
    let rows = pool.run(read).await?;
    let records = rows.iter().map(|row| record(thread, row)).collect::<Result<Vec<_>>>()?;
    let mut found: HashMap<Key, Vec<u8>> = records.into_iter().collect();
    let mut left: HashMap<&Key, usize> = HashMap::new();
    keys.iter().for_each(|key| *left.entry(key).or_default() += 1);
    let mut value_of = |key| {
        let uses = left.entry(key).or_default();
        *uses -= 1;
        if *uses == 0 { found.remove(key) } else { found.get(key).cloned() }
    };
    Ok(keys.iter().map(&mut value_of).collect())
}

/// Returns up to `limit` records of a range of keys.
pub(super) async fn scan(
    pool: &Pool,
    thread: &ThreadId,
    range: &RangeInclusive<Key>,
    order: Order,
    limit: usize,
) -> Result<Vec<Record>> {
    if range.start() > range.end() || limit == 0 {
        return Ok(Vec::new());
    }
    let scan = Scan {
        name: CutName::new(thread),
        first: Cut::key(range.start()),
        last: Cut::key(range.end()),
        limit: row_limit(limit),
    };
    let scan = &scan;
    let (short, long) = match order {
        Order::Ascending => (Query::ScanUp, Query::LongScanUp),
        Order::Descending => (Query::ScanDown, Query::LongScanDown),
    };
    let mut rows = Vec::new();
    let mut is_long = scan.first.is_long() || scan.last.is_long();
    if !is_long {
        rows = pool.run(|session| async move { scan.rows(&session, short).await }).await?;
        // The index knows only the start of a long key, and a limit may have cut off the wrong one.
        is_long = rows.iter().any(|row| !row.get::<_, &[u8]>(1).is_empty());
    }
    if is_long {
        rows = pool.run(|session| async move { scan.rows(&session, long).await }).await?;
    }
    rows.iter().map(|row| record(thread, row)).collect()
}

/// A range of keys of one thread.
struct Scan {
    name: CutName,
    first: Cut,
    last: Cut,
    limit: i64,
}

impl Scan {
    async fn rows(&self, session: &Session, query: Query) -> std::result::Result<Vec<Row>, Fault> {
        let Self { name, first, last, limit } = self;
        let (start, hash) = (&name.cut.start, &name.cut.hash);
        match query {
            Query::ScanUp | Query::ScanDown => {
                session.rows(query, &[&name.length, start, hash, &first.start, &last.start, limit]).await
            }
            _ => {
                let (from, to) = (&first.rest, &last.rest);
                session.rows(query, &[&name.length, start, hash, &first.start, &last.start, limit, from, to]).await
            }
        }
    }
}

/// Returns up to `limit` names after `after`, by length, then by bytes.
pub(super) async fn threads(pool: &Pool, after: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>> {
    let nothing = CutName { length: -1, cut: Cut::new(vec![]) };
    let (after, limit) = (&after.map_or(nothing, CutName::new), row_limit(limit));
    let read = |query, rest: &'static str| {
        pool.run(move |session: Arc<PooledSession>| async move {
            let rest = if rest == "hash" { &after.cut.hash } else { &after.cut.rest };
            session.rows(query, &[&after.length, &after.cut.start, rest, &limit]).await
        })
    };
    let mut rows = read(Query::Threads, "hash").await?;
    if after.cut.is_long() || rows.iter().any(|row| !row.get::<_, &[u8]>(1).is_empty()) {
        rows = read(Query::LongThreads, "rest").await?;
    }
    rows.iter().map(name_in).collect()
}

fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn record(thread: &ThreadId, row: &Row) -> Result<Record> {
    let key = key_of_parts(row.get(0), row.get(1));
    let key = key.ok_or_else(|| CheckpointError::damaged_record(thread, "record", "its key is not a name"))?;
    Ok((key, row.get(2)))
}
