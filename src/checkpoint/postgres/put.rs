//! Commits and posts as parameters of statements. Knows records and the functions of the schema; must not know when they are sent.

use super::cut::{Cut, CutName};
use super::fault::Fault;
use super::items::ItemColumns;
use super::leases::Ticket;
use super::query::Query;
use super::session::{Params, Session};
use crate::checkpoint::{CheckpointError, Commit, ItemWrite, Key, Record, ThreadId, key_from_bytes};

/// A commit of more bytes is sent in several statements of one transaction: a statement holds less than 1 GiB.
const LARGE: usize = 96 << 20;

/// Records to write, column by column; keys that are not cut leave the last two empty.
#[derive(Default)]
struct Columns<'a> {
    keys: Vec<Vec<u8>>,
    values: Vec<&'a [u8]>,
    hashes: Vec<Vec<u8>>,
    rests: Vec<Vec<u8>>,
}

impl<'a> Columns<'a> {
    /// Takes the last record of each key: a statement cannot write a row twice.
    fn new(records: &'a [Record]) -> Self {
        let mut newest: Vec<&Record> = records.iter().rev().collect();
        if newest.len() > 1 {
            // A stable sort leaves the newest of equal keys first.
            newest.sort_by(|a, b| a.0.cmp(&b.0));
            newest.dedup_by(|later, first| later.0 == first.0);
        }
        let cuts: Vec<Cut> = newest.iter().map(|(key, _)| Cut::key(key)).collect();
        let is_long = cuts.iter().any(Cut::is_long);
        let mut columns =
            Self { values: newest.iter().map(|(_, value)| value.as_slice()).collect(), ..Self::default() };
        for Cut { start, hash, rest } in cuts {
            columns.keys.push(start);
            if is_long {
                columns.hashes.push(hash);
                columns.rests.push(rest);
            }
        }
        columns
    }
}

/// Returns the size of the values of a commit in bytes.
pub(super) fn commit_bytes(commit: &Commit<Vec<u8>>) -> usize {
    record_bytes(&commit.puts) + commit.items.iter().map(ItemWrite::bytes).sum::<usize>()
}

/// Returns the size of the values of records in bytes.
pub(super) fn record_bytes(records: &[Record]) -> usize {
    records.iter().map(|(_, value)| value.len()).sum()
}

/// Sends commit `number` of a lease; returns whether it was written.
pub(super) async fn send_commit(
    session: &Session,
    ticket: &Ticket,
    commit: &Commit<Vec<u8>>,
    number: u64,
) -> Result<bool, Fault> {
    match commit_bytes(commit) > LARGE {
        true => Box::pin(send_parts(session, ticket, commit, number)).await,
        false => send_part(session, ticket, commit, number, &commit.puts).await,
    }
}

async fn send_part(
    session: &Session,
    ticket: &Ticket,
    commit: &Commit<Vec<u8>>,
    number: u64,
    puts: &[Record],
) -> Result<bool, Fault> {
    let columns = Columns::new(puts);
    let (mut deletes, mut delete_hashes) = (Vec::new(), Vec::new());
    for Cut { start, hash, .. } in commit.deletes.iter().map(Cut::key) {
        deletes.push(start);
        delete_hashes.extend((!hash.is_empty()).then_some(hash));
    }
    let numbers = [ticket.epoch, number, commit.head.next, commit.head.birth].map(u64::cast_signed);
    let [epoch, number, next, birth] = &numbers;
    let [expected, head] = [commit.expected, commit.head.checkpoint].map(|id| id.map(|id| id.0.cast_signed()));
    let Columns { keys, values, hashes, rests } = &columns;
    let params: Params<'_> = &[
        &ticket.id,
        epoch,
        number,
        &expected,
        &head,
        next,
        birth,
        &deletes,
        &delete_hashes,
        keys,
        values,
        hashes,
        rests,
        &commit.is_last,
    ];
    if commit.items.is_empty() {
        let row = session.row(Query::Commit, params).await?;
        return Ok(row.is_some_and(|row| row.get(0)));
    }
    let items = ItemColumns::new(&commit.items);
    let ItemColumns { namespaces, keys, expected, found, values, .. } = &items;
    let params = [params, &[namespaces, keys, expected, found, values]].concat();
    let wrong = session.row(Query::CommitWithItems, &params).await?.map_or(-1, |row| row.get(0));
    items.check(wrong)?;
    Ok(wrong == 0)
}

/// Sends a commit that is too large for one statement.
async fn send_parts(session: &Session, ticket: &Ticket, commit: &Commit<Vec<u8>>, number: u64) -> Result<bool, Fault> {
    session.batch("BEGIN").await?;
    let written = send_all(session, ticket, commit, number).await;
    let end = if matches!(written, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
    session.batch(end).await?;
    written
}

async fn send_all(session: &Session, ticket: &Ticket, commit: &Commit<Vec<u8>>, number: u64) -> Result<bool, Fault> {
    if !send_part(session, ticket, commit, number, &[]).await? {
        return Ok(false);
    }
    let mut rest = commit.puts.as_slice();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |(_, value): &&Record| {
            bytes += value.len();
            bytes <= LARGE
        };
        let (part, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        let Columns { keys, values, hashes, rests } = &Columns::new(part);
        session.row(Query::Put, &[&ticket.id, keys, values, hashes, rests]).await?;
        rest = later;
    }
    Ok(true)
}

/// Sends records without a lease, which all have to be new if that is set; returns whether the thread exists.
pub(super) async fn send_post(
    session: &Session,
    thread: &ThreadId,
    id: [u8; 16],
    (records, is_new): (&[Record], bool),
) -> Result<bool, Fault> {
    let CutName { length, cut } = CutName::new(thread);
    let Columns { keys, values, hashes, rests } = &Columns::new(records);
    let id = id.as_slice();
    let params: Params<'_> = &[&length, &cut.start, &cut.hash, &id, keys, values, hashes, rests, &is_new];
    let row = session.row(Query::Post, params).await?;
    match (row.and_then(|row| row.get::<_, Option<bool>>(0)), records) {
        (None, [(key, _), ..]) => {
            Err(CheckpointError::RecordExists { thread: thread.clone(), key: key.clone() }.into())
        }
        (posted, _) => Ok(posted.unwrap_or(false)),
    }
}

/// Returns the key whose parts are stored.
pub(super) fn key_of_parts(mut start: Vec<u8>, rest: &[u8]) -> Option<Key> {
    start.extend_from_slice(rest);
    key_from_bytes(&start)
}
