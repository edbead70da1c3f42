//! Lists of threads and threads that are due, by the indexes of the table `threads`. Knows columns and summaries; must not know how
//! these are made.
//!
//! Threads that are being run, and those without a summary, are read one by one beside the indexes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use superstep_base::time::system_time;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::name_in;
use super::cut::{CutName, readable};
use super::fault::Fault;
use super::pool::{Pool, PooledSession};
use super::query::Query;
use super::session::Session;
use super::summaries::{PIECE, refresh};
use super::writer::Writer;
use crate::checkpoint::listing::query::list_order;
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{CheckpointError, DueQuery, ListedThread, SummaryReader, ThreadId, ThreadQuery, decode_record};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Returns the time of the server, in milliseconds since 1970.
pub(super) async fn server_time(pool: &Pool) -> Result<u64> {
    let rows = pool.rows(Query::Clock, &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
}

/// Takes a reading of the clock of the server.
pub(super) async fn read_clock(writer: &Writer) -> Result<()> {
    writer.clock.note(server_time(&writer.pool).await?);
    Ok(())
}

/// Returns the threads that meet the conditions of a query.
pub(super) async fn list(pool: &Pool, query: &ThreadQuery) -> Result<Vec<ListedThread>> {
    let now = match query.at {
        Some(_) => query.time(),
        None => server_time(pool).await?,
    };
    let (mut found, mut reader) = (list_apart(pool, query, now).await?, SummaryReader::new(pool));
    let (mut after, mut count) = (query.after.clone(), 0);
    while count < query.searched() && may_be_stored(query) {
        let limit = query.searched().saturating_sub(count).clamp(PIECE, PIECE * 16);
        let rows = stored_page(pool, query, after.as_ref(), limit).await?;
        for row in &rows {
            let name = name_in(row)?;
            let summary = match decode_record::<ListedThread>(&name, "summary", row.get(2)) {
                Ok(summary) => Some(summary.at(now, false)),
                Err(_) => reader.read(&name, now).await?, // of another release
            };
            let fitting = summary.filter(|thread| query.fits(thread));
            count += usize::from(fitting.is_some());
            found.extend(fitting);
            after = Some(name);
        }
        if rows.len() < limit {
            break;
        }
    }
    found.sort_by(|a, b| list_order(&a.id, &b.id));
    found.dedup_by(|a, b| a.id == b.id);
    query.keep_newest(&mut found);
    found.truncate(query.page());
    Ok(found)
}

/// Returns whether a thread with a summary, which nobody runs, can meet the conditions.
fn may_be_stored(query: &ThreadQuery) -> bool {
    query.statuses.is_empty() || query.statuses.iter().any(|status| *status != StatusKind::Running)
}

/// Returns the threads that have no summary or an owner and meet the conditions.
async fn list_apart(pool: &Pool, query: &ThreadQuery, now: u64) -> Result<Vec<ListedThread>> {
    let (mut reader, mut found) = (SummaryReader::new(pool), vec![]);
    for row in pool.rows(Query::Apart, &[]).await? {
        let name = name_in(&row)?;
        if query.fits_name(&name) {
            found.extend(reader.read(&name, now).await?.filter(|thread| query.fits(thread)));
        }
    }
    Ok(found)
}

/// Conditions of a statement, and their parameters.
#[derive(Default)]
struct Conditions {
    sql: String,
    params: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl Conditions {
    /// Adds a parameter, and returns its name.
    fn param(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.params.push((Box::new(value), kind));
        format!("${}", self.params.len())
    }

    fn add(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    /// Returns the conditions of a query, or more than those where only the summary can tell.
    fn of_query(query: &ThreadQuery, after: Option<&ThreadId>) -> Self {
        let mut all = Self::default();
        if let Some(after) = after {
            let CutName { length, cut } = CutName::new(after);
            let length = all.param(length, Type::INT4);
            let (start, rest) = (all.param(cut.start, Type::BYTEA), all.param(cut.rest, Type::BYTEA));
            all.add(&format!("(name_length, name_start) >= ({length}, {start})"));
            all.add(&format!("(name_length, name_start, name_rest) > ({length}, {start}, {rest})"));
        }
        if !query.prefix.is_empty() {
            let CutName { length, cut } = CutName::new(&query.prefix.as_str().into());
            let (end, length) = ([cut.start.as_slice(), &[0xff]].concat(), all.param(length, Type::INT4));
            let (start, end) = (all.param(cut.start, Type::BYTEA), all.param(end, Type::BYTEA));
            all.add(&format!("name_length >= {length} AND name_start >= {start} AND name_start < {end}"));
        }
        all.add_statuses(query);
        if let Some(graph) = &query.graph {
            let graph = all.param(readable(graph), Type::TEXT);
            all.add(&format!("md5(graph) = md5({graph})"));
        }
        for (key, value) in &query.metadata {
            let pair = serde_json::json!({ readable(key): readable(value) }).to_string();
            let pair = all.param(pair, Type::TEXT);
            all.add(&format!("metadata @> {pair}::jsonb"));
        }
        // Times are stored in microseconds, by way of floating point.
        for (time, sign) in
            [(query.updated_since.map(|time| time.saturating_sub(1)), ">="), (query.updated_before, "<=")]
        {
            if let Some(time) = time {
                let time = all.param(time.cast_signed(), Type::INT8);
                all.add(&format!("updated_at {sign} to_timestamp({time}::float8 / 1000)"));
            }
        }
        all
    }

    /// A thread that waits is pending when its time has come, and only its summary knows that.
    fn add_statuses(&mut self, query: &ThreadQuery) {
        if query.statuses.is_empty() {
            return;
        }
        let mut statuses: Vec<StatusKind> = query.statuses.clone();
        if statuses.contains(&StatusKind::Pending) {
            statuses.extend([StatusKind::Waiting, StatusKind::AwaitingSignal]);
        }
        let names: Vec<&'static str> = statuses.iter().map(Into::into).collect();
        let names = self.param(names, Type::TEXT_ARRAY);
        self.add(&format!("status = ANY ({names})"));
    }
}

/// Reads the next threads with a summary that nobody runs, in the order of lists.
async fn stored_page(pool: &Pool, query: &ThreadQuery, after: Option<&ThreadId>, limit: usize) -> Result<Vec<Row>> {
    let conditions = &Conditions::of_query(query, after);
    let sql = &format!(
        "SELECT name_start, name_rest, summary FROM {{schema}}.threads \
         WHERE birth IS NOT NULL AND summary IS NOT NULL AND owner IS NULL{} \
         ORDER BY name_length, name_start, name_rest LIMIT {limit}",
        conditions.sql
    );
    let read = |session: Arc<PooledSession>| async move {
        let params: Vec<(&(dyn ToSql + Sync), Type)> =
            conditions.params.iter().map(|(value, kind)| (value.as_ref() as _, kind.clone())).collect();
        session.typed_rows(sql, &params).await
    };
    pool.run(read).await
}

/// Threads that are due, and the time of the server.
pub(super) struct DueNames {
    pub(super) names: Vec<ThreadId>,
    pub(super) now: u64,
    /// Graphs that the query does not ask for, with the newest version of the threads that are due.
    pub(super) others: BTreeMap<String, u32>,
}

/// Returns the threads that a query asks for and that nobody runs, those due for the longest time first.
pub(super) async fn due(pool: &Pool, query: &DueQuery) -> Result<DueNames> {
    refresh(pool).await?;
    let now = match query.at {
        Some(_) => query.time(),
        None => server_time(pool).await?,
    };
    let (graphs, versions) = asked_graphs(query);
    let (time, mut last, mut names) = (now.cast_signed(), (0_i64, 0_i64), vec![]);
    let wanted = query.limit.saturating_mul(2).max(8); // others may claim some of them
    loop {
        let rows = pool.rows(Query::Due, &[&graphs, &versions, &time, &last.0, &last.1, &query.with_left]).await?;
        for row in &rows {
            let name = name_in(row)?;
            let summary = decode_record::<ListedThread>(&name, "summary", row.get(2));
            last = (row.get(3), row.get(4));
            if summary.map_or(true, |summary| query.fits(&summary)) {
                names.push(name);
            }
        }
        if names.len() >= wanted || rows.len() < PIECE {
            break;
        }
    }
    let others = match query.finds_others {
        true => pool.rows(Query::OtherGraphs, &[&graphs, &versions, &time]).await?,
        false => vec![],
    };
    let other = |row: &Row| (row.get(0), u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX));
    Ok(DueNames { names, now, others: others.iter().map(other).collect() })
}

/// Returns the first time after `now` at which a thread may be due: the end of a wait, or of the lease of another
/// handle.
pub(super) async fn next_due(writer: &Writer, query: &DueQuery, now: u64) -> Result<Option<SystemTime>> {
    let ((graphs, versions), time) = (asked_graphs(query), now.cast_signed());
    let rows = writer.pool.rows(Query::NextDue, &[&graphs, &versions, &time, &writer.handle]).await?;
    let next = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
    Ok(next.map(|next| system_time(next.cast_unsigned())))
}

/// Returns the names of the graphs that a query asks for, and the newest version of each.
fn asked_graphs(query: &DueQuery) -> (Vec<String>, Vec<i64>) {
    query.graphs.iter().map(|(graph, newest)| (readable(graph), i64::from(*newest))).unzip()
}

/// Passes a hint to all handles that something may be due.
pub(super) async fn send_hint(session: &Session, channel: &str) -> std::result::Result<(), Fault> {
    session.rows(Query::Hint, &[&channel]).await.map(drop)
}
