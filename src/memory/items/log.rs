//! The log of changed vectors: which items' vectors were written or deleted, numbered without gaps. A cache that knows the
//! vectors as of one number becomes true by reading the changes after it. Knows no vector.

use std::sync::Arc;

use super::super::error::StoreError;
use super::record::unreadable;
use crate::checkpoint::{Checkpointer, ExpectedItem, ItemKey, ItemWrite};

/// Items of the log: `last` has the last number, and each number the name of the item that changed.
const NAMESPACE: &str = "superstep.memory.changes";
/// Key of the last number, after all numbers.
const LAST: &str = "last";
/// Number of changes that are kept; a cache that is further behind reads all vectors.
const KEPT: u64 = 1024;

/// Returns the number of the last change; 0 before the first.
pub(super) async fn last_change(store: &dyn Checkpointer) -> Result<u64, StoreError> {
    let found = store.get_items(vec![key(LAST)]).await?.pop().flatten();
    found.map_or(Ok(0), |bytes| decode(&bytes))
}

/// Returns the writes that add a change of an item's vectors. They are refused if another change comes between.
pub(super) async fn change_writes(store: &dyn Checkpointer, name: &str) -> Result<Vec<ItemWrite>, StoreError> {
    let last = last_change(store).await?;
    let expected = if last == 0 { ExpectedItem::Absent } else { ExpectedItem::Value(encode(last)) };
    let next = last + 1;
    let mut writes =
        vec![ItemWrite::put(key(LAST), encode(next)).expecting(expected), ItemWrite::put(key(&digits(next)), name)];
    let oldest = next.checked_sub(KEPT).filter(|oldest| *oldest > 0);
    writes.extend(oldest.map(|oldest| ItemWrite::delete(key(&digits(oldest)))));
    Ok(writes)
}

/// Returns the names of the items that changed after one number, up to another; `None` if they are not all kept.
pub(super) async fn changes_between(
    store: &dyn Checkpointer,
    (after, last): (u64, u64),
) -> Result<Option<Vec<Arc<str>>>, StoreError> {
    let Some(count) = last.checked_sub(after).filter(|count| *count < KEPT) else { return Ok(None) };
    let keys = (after + 1..=last).map(|number| key(&digits(number))).collect();
    let found: Vec<Vec<u8>> = store.get_items(keys).await?.into_iter().flatten().collect();
    let names = found.iter().filter_map(|name| std::str::from_utf8(name).ok().map(Arc::from));
    let names: Vec<Arc<str>> = names.collect();
    Ok((names.len() as u64 == count).then_some(names))
}

fn key(key: &str) -> ItemKey {
    ItemKey::new(NAMESPACE, key)
}

fn digits(number: u64) -> String {
    format!("{number:016x}")
}

fn encode(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn decode(bytes: &[u8]) -> Result<u64, StoreError> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| unreadable(LAST, "it is no number".into()))
}
