//! Layout of records in the tree: their row keys, their parts, and the store's own record. Knows no store.
//!
//! Rows are limited because sled may put a row of more than 32 KiB into a blob file, which it never syncs, and so that
//! a repair finds a row in a damaged file without reading much around it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::damaged_store;
use crate::checkpoint::envelope::{Envelope, Flaw};
use crate::checkpoint::key_bytes::{ITEM, put_item, put_key, put_number, put_thread};
use crate::checkpoint::{CheckpointError, ItemKey, Key, ThreadId, decode_record, encode_record, key_bytes};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Maximum size of a row in bytes, name and envelope included.
const ROW_BYTES: usize = 32 << 10;
/// Maximum size of an envelope in bytes, without the name.
const ENVELOPE_BYTES: usize = 64;

/// First byte of the keys of records.
pub(in crate::checkpoint) const RECORDS: u8 = 2;
/// First byte of the keys that mark threads with an unfinished deletion.
pub(in crate::checkpoint) const DELETING: u8 = 3;
/// First byte of the keys of rows that record recent deletions, for the repair of a damaged store.
pub(in crate::checkpoint) const DELETIONS: u8 = 4;
/// First byte of the keys of the index of threads.
pub(in crate::checkpoint) const INDEX: u8 = 5;
/// First byte of the keys that mark threads which have changed since the index was brought up to date.
pub(in crate::checkpoint) const CHANGED: u8 = 6;
/// First byte of the keys of items.
pub(in crate::checkpoint) const ITEMS: u8 = 7;
/// A key after all others.
#[allow(dead_code, reason = "for databases without an open bound")]
pub(in crate::checkpoint) const LAST: &[u8] = &[0xff];
/// Key of the store's own record.
pub(in crate::checkpoint) const STORE: &[u8] = &[1];

/// Lease epochs and commit numbers start with the number of the opening, so that they grow across openings; each
/// opening has 2^40 of them.
pub(in crate::checkpoint) const EPOCH_SHIFT: u32 = 40;

/// Returns the common prefix of all names of a thread.
pub(in crate::checkpoint) fn thread_name(thread: &ThreadId) -> Vec<u8> {
    let mut name = Vec::with_capacity(thread.as_str().len() + 4);
    put_thread(thread, &mut name);
    name
}

/// Returns the name of an item.
pub(in crate::checkpoint) fn item_name(item: &ItemKey) -> Vec<u8> {
    let mut name = Vec::with_capacity(item.namespace.len() + item.key.len() + 8);
    put_item(item, &mut name);
    name
}

/// Returns the key of one row of a record or an item.
pub(in crate::checkpoint) fn row_key(name: &[u8], part: u32) -> Vec<u8> {
    let mut key = in_space(if name.first() == Some(&ITEM) { ITEMS } else { RECORDS }, name);
    if part > 0 {
        put_number(part.into(), &mut key);
    }
    key
}

pub(in crate::checkpoint) fn record_key(thread: &ThreadId, key: &Key) -> Vec<u8> {
    let mut row = Vec::with_capacity(thread.as_str().len() + 24);
    row.push(RECORDS);
    put_thread(thread, &mut row);
    put_key(key, &mut row);
    row
}

/// Prepends the first byte of a key space to `name`.
pub(in crate::checkpoint) fn in_space(space: u8, name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 8);
    key.push(space);
    key.extend_from_slice(name);
    key
}

/// Returns whether a row can be made again from others: a rewritten store does without it.
pub(in crate::checkpoint) fn is_derived(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(INDEX | CHANGED)))
}

/// Returns a bound after all keys with this prefix: no key contains the byte 0xFF.
pub(in crate::checkpoint) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut bound = prefix.to_vec();
    bound.push(0xff);
    bound
}

/// Splits a record into rows.
pub(in crate::checkpoint) fn split_record<'a>(
    name: &'a [u8],
    commit: u64,
    value: &'a [u8],
) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> + 'a {
    let room = room(name);
    let parts = u32::try_from(value.len().div_ceil(room).max(1)).unwrap_or(u32::MAX);
    (0..parts).map(move |part| {
        let start = part as usize * room;
        let payload = &value[start..value.len().min(start + room)];
        (row_key(name, part), Envelope { name, part, parts, commit, payload }.seal())
    })
}

/// Returns the rows that record which records of a thread a commit deleted; without keys: all of them.
pub(in crate::checkpoint) fn deletion_rows(thread: &[u8], commit: u64, keys: &[Key]) -> Vec<(Vec<u8>, Vec<u8>)> {
    listing_rows(thread, commit, keys.iter().map(key_bytes))
}

/// Returns the rows that record which items a commit deleted.
pub(in crate::checkpoint) fn item_deletion_rows(commit: u64, names: Vec<Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    listing_rows(&[ITEM], commit, names.into_iter())
}

/// Returns rows that list names, in as many as they need.
fn listing_rows(thread: &[u8], commit: u64, names: impl Iterator<Item = Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pieces: Vec<Vec<u8>> = vec![vec![]];
    for bytes in names {
        if pieces.last().is_some_and(|piece| piece.len() + bytes.len() > room(thread)) {
            pieces.push(vec![]);
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.extend_from_slice(&bytes));
    }
    let row = |(nth, payload): (u64, Vec<u8>)| {
        let mut key = in_space(DELETIONS, thread);
        put_number(nth, &mut key);
        (key, Envelope { name: thread, part: 0, parts: 1, commit, payload: &payload }.seal())
    };
    (0..).zip(pieces).map(row).collect()
}

/// Returns the number of payload bytes that fit in one row; names are far shorter than a row.
fn room(name: &[u8]) -> usize {
    ROW_BYTES.saturating_sub(ENVELOPE_BYTES + name.len()).max(1)
}

/// The store's own record.
#[derive(Debug, Serialize, Deserialize)]
struct StoreRecord {
    /// Number of openings.
    epoch: u64,
}

/// Encodes the store's own record as a row of commit `number`.
pub(in crate::checkpoint) fn store_row(epoch: u64, number: u64) -> Result<Vec<u8>> {
    let payload = encode_record(&StoreRecord { epoch })?;
    Ok(Envelope { name: STORE, part: 0, parts: 1, commit: number, payload: &payload }.seal())
}

/// Reads the number of openings from the store's own record.
pub(in crate::checkpoint) fn decode_epoch(store: &Path, row: &[u8]) -> Result<u64> {
    let row = Envelope::decode_prefix(row).map_err(|flaw| match flaw {
        Flaw::Damaged(reason) => damaged_store(store, reason),
        Flaw::Newer(format) => damaged_store(store, &format!("it has rows of format {format}")),
    })?;
    decode_record(&ThreadId::from(""), "store", row.payload).map(|StoreRecord { epoch }| epoch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::envelope::name_of;
    use crate::checkpoint::{Commit, RowId};

    #[rstest::rstest]
    #[case::empty(0, 1)]
    #[case::one_part(room(b"n"), 1)]
    #[case::one_byte_more(room(b"n") + 1, 2)]
    fn values_are_cut_into_parts(#[case] bytes: usize, #[case] rows: usize) {
        assert_eq!(split_record(b"n", 1, &vec![7; bytes]).count(), rows);
    }

    #[test]
    fn the_longest_names_leave_rows_under_32_kib() {
        let long = "\0".repeat(Commit::MAX_NAME);
        let key = Key::Log { channel: long.clone(), row: RowId::default() };
        let name = name_of(&long.as_str().into(), &key);
        let value = vec![7; 1 << 20];
        assert!(split_record(&name, u64::MAX, &value).all(|(_, row)| row.len() <= ROW_BYTES));
    }
}
