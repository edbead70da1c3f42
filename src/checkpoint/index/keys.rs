//! Rows of a thread in the index: its summary, and a key in each sorted list that it belongs to. Knows bytes; no key contains
//! the byte 0xFF, as stores seek the end of a list with it.
//!
//! A key is a byte for the kind of list, the value by which the list is chosen or sorted, and the name of the thread, which
//! starts with its length: so the names of a list are in the order of [`Checkpointer::list`](crate::checkpoint::Checkpointer).

use superstep_base::Fnv;

use crate::checkpoint::codec::{decode_record, encode_record};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::key_bytes::{put_number, put_thread, take_number, take_thread};
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::listing::summary::ListedThread;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Key and row of the record that says that the index is complete. The row is the version of the format: it changes with the
/// keys, and with the fields of a summary.
#[cfg_attr(not(feature = "_embedded"), allow(dead_code, reason = "only stores on disk have one from before"))]
pub(in crate::checkpoint) const COMPLETE: (&[u8], &[u8]) = (&[0], &[2]);

const SUMMARY: u8 = 1;
const STATUS: u8 = 2;
const GRAPH: u8 = 3;
const PAIR: u8 = 4;
const UPDATED: u8 = 5;
const DUE: u8 = 6;
const WAKE: u8 = 7;

/// Rows of the index before and after a change; `None` for a row that is removed.
pub(in crate::checkpoint) type IndexRows = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Sorted rows of an index.
pub(in crate::checkpoint) trait IndexReads {
    /// Returns up to `limit` keys, from the first bound to before the second one.
    fn keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>>;

    /// Returns up to `limit` keys between the same bounds, the last one first.
    fn last_keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>>;

    /// Returns a row.
    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
}

/// Returns the key of a thread's summary.
pub(in crate::checkpoint) fn summary_key(thread: &ThreadId) -> Vec<u8> {
    with_name(vec![SUMMARY], thread)
}

/// Decodes a summary; an error of this kind means that the index has to be made anew.
pub(in crate::checkpoint) fn decode_summary(row: &[u8]) -> Result<ListedThread> {
    let damaged =
        || CheckpointError::Codec { what: "index".into(), reason: "a row does not match its checksum".into() };
    let (sum, bytes) = row.split_first_chunk().ok_or_else(damaged)?;
    if u32::from_le_bytes(*sum) != crc32c::crc32c(bytes) {
        return Err(damaged());
    }
    decode_record(&ThreadId::from(""), "index", bytes)
}

/// Returns the rows that turn the index from one summary of a thread to another.
pub(in crate::checkpoint) fn index_change(
    thread: &ThreadId,
    before: Option<&ListedThread>,
    after: Option<&ListedThread>,
) -> Result<IndexRows> {
    if before == after {
        return Ok(vec![]);
    }
    let (old, new) = (before.map(list_keys).unwrap_or_default(), after.map(list_keys).unwrap_or_default());
    let summary = after.map(encode_summary).transpose()?;
    let mut rows = vec![(summary_key(thread), summary)];
    rows.extend(old.iter().filter(|key| !new.contains(key)).map(|key| (key.clone(), None)));
    rows.extend(new.iter().filter(|key| !old.contains(key)).map(|key| (key.clone(), Some(vec![]))));
    Ok(rows)
}

fn encode_summary(summary: &ListedThread) -> Result<Vec<u8>> {
    let bytes = encode_record(summary)?;
    Ok([&crc32c::crc32c(&bytes).to_le_bytes()[..], &bytes].concat())
}

/// Returns the keys of a thread in the lists that it belongs to.
fn list_keys(thread: &ListedThread) -> Vec<Vec<u8>> {
    let mut lists = vec![status_list(thread.status), graph_list(&thread.graph)];
    lists.extend(thread.metadata.iter().map(|(key, value)| pair_list(key, value)));
    lists.push(with_number(updated_list(), thread.updated_at));
    if let Some(due) = thread.due {
        if thread.is_trusted() {
            lists.push(with_number(due_list(&due_group(&thread.graph, thread.version), thread.ready), due));
        }
        if matches!(thread.status, StatusKind::Waiting | StatusKind::AwaitingSignal) {
            lists.push(with_number(wake_list(), due));
        }
    }
    lists.into_iter().map(|list| with_name(list, &thread.id)).collect()
}

/// Returns the start of the keys of all summaries.
pub(super) fn summary_list() -> Vec<u8> {
    vec![SUMMARY]
}

/// Returns the start of the keys of threads with a status, as if no time had passed.
pub(super) fn status_list(status: StatusKind) -> Vec<u8> {
    vec![STATUS, status as u8]
}

/// Returns the start of the keys of threads of a graph. Names may share a list: their hashes are in the keys.
pub(super) fn graph_list(graph: &str) -> Vec<u8> {
    with_number(vec![GRAPH], hash(&[graph]))
}

/// Returns the start of the keys of threads with a pair of metadata.
pub(super) fn pair_list(key: &str, value: &str) -> Vec<u8> {
    with_number(vec![PAIR], hash(&[key, value]))
}

/// Returns the start of the keys of all threads by the time of their newest checkpoint.
pub(super) fn updated_list() -> Vec<u8> {
    vec![UPDATED]
}

/// Returns the start of the keys of all threads that are or will be due.
pub(super) fn all_due() -> Vec<u8> {
    vec![DUE]
}

/// Returns the start of the keys of threads that are or will be due and that a version of a graph stored.
pub(super) fn due_group(graph: &str, version: u32) -> Vec<u8> {
    with_number(with_number(all_due(), hash(&[graph])), version.into())
}

/// Takes the group from the front of the key of a thread that is or will be due.
pub(super) fn take_due_group(key: &[u8]) -> Option<&[u8]> {
    let mut rest = key.get(1..)?;
    take_number(&mut rest)?;
    take_number(&mut rest)?;
    key.get(..key.len() - rest.len())
}

/// Returns true if a group of threads that are due is of a graph, and of this version or an older one.
pub(super) fn is_due_group_of(group: &[u8], graph: &str, newest: u32) -> bool {
    let mut rest = group.get(1..).unwrap_or_default();
    take_number(&mut rest) == Some(hash(&[graph]))
        && take_number(&mut rest).is_some_and(|version| version <= newest.into())
}

/// Returns the start of the keys of threads of a group that are due, by the time since when; those that are due at any time
/// are apart from those that wait for theirs.
pub(super) fn due_list(group: &[u8], is_ready: bool) -> Vec<u8> {
    [group, &[u8::from(!is_ready)]].concat()
}

/// Returns the start of the keys of all threads that wait, by the time at which they can resume.
pub(super) fn wake_list() -> Vec<u8> {
    vec![WAKE]
}

/// Appends a number by which a list is chosen or sorted.
pub(super) fn with_number(mut list: Vec<u8>, number: u64) -> Vec<u8> {
    put_number(number, &mut list);
    list
}

/// Takes the number by which a list is sorted, and the name, from the end of a key.
pub(super) fn take_sorted(list: &[u8], key: &[u8]) -> Option<(u64, ThreadId)> {
    let mut rest = key.get(list.len()..)?;
    Some((take_number(&mut rest)?, take_thread(&mut rest)?))
}

/// Returns a bound after all keys of a list.
pub(super) fn list_end(list: &[u8]) -> Vec<u8> {
    [list, &[0xff]].concat()
}

fn with_name(mut list: Vec<u8>, thread: &ThreadId) -> Vec<u8> {
    put_thread(thread, &mut list);
    list
}

fn hash(parts: &[&str]) -> u64 {
    let mut hash = Fnv::new();
    for part in parts {
        hash.mix(part.as_bytes());
        hash.mix(&[0xff]);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::listing::summary::tests::summary;

    #[test]
    fn another_form_of_a_summary_is_another_version() {
        let row = encode_summary(&summary("t", StatusKind::Pending)).unwrap();
        assert_eq!((COMPLETE.1, row.len()), (&[2][..], 30), "raise the version of the index");
        assert_eq!(decode_summary(&row).unwrap().status, StatusKind::Pending);
        assert!(decode_summary(&row[..9]).is_err());
    }
}
