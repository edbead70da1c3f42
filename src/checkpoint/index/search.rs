//! Threads that meet all conditions of a list. Each condition is a sorted list of names, and the search leaps from one to the
//! next; names with a prefix are sought length by length, as names are sorted by length first.

use std::collections::{BTreeSet, HashSet};

use super::keys::{
    IndexReads, decode_summary, graph_list, list_end, pair_list, status_list, summary_key, summary_list, take_sorted,
    updated_list, wake_list, with_number,
};
use super::names::{NameBytes, Names};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::key_bytes::{put_number, put_thread, take_thread};
use crate::checkpoint::listing::query::ThreadQuery;
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::listing::summary::ListedThread;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of threads up to which a time narrows a list that other conditions narrow already.
const FEW: usize = 1024;
/// The number of keys that are read at once at least, where the newest threads are looked for.
const FEW_NEWEST: usize = 32;

/// Returns the threads of an index that meet the conditions, without the exceptions.
pub(super) fn search(
    rows: &dyn IndexReads,
    query: &ThreadQuery,
    is_store_foreign: bool,
    except: &HashSet<ThreadId>,
) -> Result<Vec<ListedThread>> {
    if let Some(newest) = query.newest {
        return search_newest(rows, query, newest, is_store_foreign, except);
    }
    let (now, limit, mut found) = (query.time(), query.page(), vec![]);
    let mut conditions = conditions(rows, query, now)?;
    let mut bound = query.after.as_ref().map(after).unwrap_or_default();
    while found.len() < limit {
        let Some(name) = next_name(&mut conditions, bound, &query.prefix)? else { break };
        let Some(thread) = take_thread(&mut &name[..]) else { return Err(foreign_key()) };
        bound = [&name[..], &[0]].concat();
        if except.contains(&thread) {
            continue;
        }
        found.extend(fitting(rows, query, &thread, (now, is_store_foreign))?);
    }
    Ok(found)
}

/// Returns the summary of a thread, if it meets the conditions at a time.
fn fitting(
    rows: &dyn IndexReads,
    query: &ThreadQuery,
    thread: &ThreadId,
    (now, is_store_foreign): (u64, bool),
) -> Result<Option<ListedThread>> {
    let Some(row) = rows.row(&summary_key(thread))? else { return Ok(None) };
    Ok(Some(decode_summary(&row)?.at(now, is_store_foreign)).filter(|thread| query.fits(thread)))
}

/// Returns the newest threads of an index that meet the conditions, without the exceptions, and those that are as new as the last.
fn search_newest(
    rows: &dyn IndexReads,
    query: &ThreadQuery,
    newest: usize,
    is_store_foreign: bool,
    except: &HashSet<ThreadId>,
) -> Result<Vec<ListedThread>> {
    let (list, now, mut found) = (updated_list(), query.time(), vec![]);
    let from = with_number(list.clone(), query.updated_since.unwrap_or(0));
    let mut to = query.updated_before.map_or_else(|| list_end(&list), |before| with_number(list.clone(), before));
    let mut oldest = None;
    while from < to {
        let keys = rows.last_keys(&from, &to, FEW_NEWEST.max(newest.min(FEW)))?;
        let Some(last) = keys.last().cloned() else { break };
        for key in keys {
            let (time, thread) = take_sorted(&list, &key).ok_or_else(foreign_key)?;
            if oldest.is_some_and(|oldest| time < oldest) {
                return Ok(found);
            }
            if except.contains(&thread) || !query.fits_name(&thread) {
                continue;
            }
            found.extend(fitting(rows, query, &thread, (now, is_store_foreign))?);
            oldest = oldest.or((found.len() >= newest).then_some(time));
        }
        to = last;
    }
    Ok(found)
}

/// Returns the sorted names for each condition that has some.
fn conditions<'a>(rows: &'a dyn IndexReads, query: &ThreadQuery, now: u64) -> Result<Vec<Names<'a>>> {
    let mut all = vec![];
    if !query.statuses.is_empty() {
        let lists = query.statuses.iter().map(|status| Names::list(rows, status_list(*status)));
        let mut any: Vec<Names<'_>> = lists.collect();
        if query.statuses.contains(&StatusKind::Pending) {
            // These wait in the index, but their time has come.
            any.push(Names::Sorted(names_between(rows, wake_list(), 0, now.saturating_add(1), usize::MAX)?));
        }
        all.push(Names::Any(any));
    }
    all.extend(query.graph.iter().map(|graph| Names::list(rows, graph_list(graph))));
    all.extend(query.metadata.iter().map(|(key, value)| Names::list(rows, pair_list(key, value))));
    if let (Some(_), _) | (_, Some(_)) = (query.updated_since, query.updated_before) {
        let (since, before) = (query.updated_since.unwrap_or(0), query.updated_before.unwrap_or(u64::MAX));
        let limit = if all.is_empty() { usize::MAX } else { FEW };
        let names = names_between(rows, updated_list(), since, before, limit)?;
        if names.len() < limit {
            all.push(Names::Sorted(names));
        }
    }
    if all.is_empty() {
        all.push(Names::list(rows, summary_list()));
    }
    Ok(all)
}

/// Returns the names of up to `limit` keys of a list that is sorted by a number.
fn names_between(
    rows: &dyn IndexReads,
    list: Vec<u8>,
    since: u64,
    before: u64,
    limit: usize,
) -> Result<BTreeSet<NameBytes>> {
    if since >= before {
        return Ok(BTreeSet::new());
    }
    let to = if before == u64::MAX { list_end(&list) } else { with_number(list.clone(), before) };
    let keys = rows.keys(&with_number(list.clone(), since), &to, limit)?;
    let name = |key: Vec<u8>| take_sorted(&list, &key).map(|(_, thread)| name_bytes(&thread)).ok_or_else(foreign_key);
    keys.into_iter().map(name).collect()
}

/// Returns the first name at or after a bound that all lists have and that has the prefix.
fn next_name(lists: &mut [Names<'_>], mut bound: NameBytes, prefix: &str) -> Result<Option<NameBytes>> {
    'leap: loop {
        let Some((first, others)) = lists.split_first_mut() else { return Ok(None) };
        let Some(name) = first.seek(&bound)? else { return Ok(None) };
        let next = prefix_bound(&name, prefix)?;
        if next > name {
            bound = next;
            continue;
        }
        for list in others {
            match list.seek(&name)? {
                None => return Ok(None),
                Some(other) if other > name => {
                    bound = other;
                    continue 'leap;
                }
                Some(_) => {}
            }
        }
        return Ok(Some(name));
    }
}

/// Returns the name itself if it has the prefix, else a bound before the next name that may have it.
fn prefix_bound(name: &NameBytes, prefix: &str) -> Result<NameBytes> {
    let thread = take_thread(&mut &name[..]).ok_or_else(foreign_key)?;
    let (text, length) = (thread.as_str(), thread.as_str().len());
    if text.starts_with(prefix) {
        return Ok(name.clone());
    }
    let is_before = text < prefix || length < prefix.len();
    let length = if is_before { length.max(prefix.len()) } else { length + 1 };
    let mut bound = vec![];
    put_number(length as u64, &mut bound);
    bound.extend_from_slice(prefix.as_bytes());
    Ok(bound)
}

fn name_bytes(thread: &ThreadId) -> NameBytes {
    let mut bytes = vec![];
    put_thread(thread, &mut bytes);
    bytes
}

/// Returns the bound after a name.
fn after(thread: &ThreadId) -> NameBytes {
    [&name_bytes(thread)[..], &[0]].concat()
}

fn foreign_key() -> CheckpointError {
    CheckpointError::Codec { what: "index".into(), reason: "a key holds no name".into() }
}
