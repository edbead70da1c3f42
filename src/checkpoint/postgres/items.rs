//! Items as parameters of statements, and reads of them. Knows sessions; must not know threads.

use std::sync::Arc;

use super::fault::Fault;
use super::pool::{Pool, PooledSession};
use super::query::Query;
use super::session::Params;
use crate::checkpoint::{CheckpointError, ExpectedItem, Item, ItemKey, ItemScan, ItemWrite, Order};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Writes of items, column by column.
pub(super) struct ItemColumns<'a> {
    /// In the order of their names, so that two processes do not wait for each other.
    writes: Vec<&'a ItemWrite>,
    pub(super) namespaces: Vec<&'a str>,
    pub(super) keys: Vec<&'a str>,
    pub(super) expected: Vec<i32>,
    pub(super) found: Vec<Option<&'a [u8]>>,
    pub(super) values: Vec<Option<&'a [u8]>>,
}

impl<'a> ItemColumns<'a> {
    pub(super) fn new(writes: &'a [ItemWrite]) -> Self {
        let mut writes: Vec<&ItemWrite> = writes.iter().collect();
        writes.sort_by(|a, b| a.key.cmp(&b.key));
        let expected = writes.iter().map(|write| match &write.expected {
            ExpectedItem::Any => (0, None),
            ExpectedItem::Absent => (1, None),
            ExpectedItem::Value(value) => (2, Some(value.as_slice())),
        });
        let (expected, found) = expected.unzip();
        Self {
            namespaces: writes.iter().map(|write| &*write.key.namespace).collect(),
            keys: writes.iter().map(|write| &*write.key.key).collect(),
            values: writes.iter().map(|write| write.value.as_deref()).collect(),
            expected,
            found,
            writes,
        }
    }

    /// Reads the answer of a function that checks items.
    pub(super) fn check(&self, wrong: i32) -> std::result::Result<(), Fault> {
        let wrong = usize::try_from(wrong).ok().and_then(|wrong| self.writes.get(wrong.checked_sub(1)?));
        let error = wrong.map(|write| CheckpointError::ItemConflict { item: write.key.clone() });
        error.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Writes items; one whose answer was lost is not written a second time.
pub(super) async fn write(pool: &Pool, id: [u8; 16], writes: &[ItemWrite]) -> Result<()> {
    let (columns, id) = (&ItemColumns::new(writes), id.as_slice());
    let write = |session: Arc<PooledSession>| async move {
        let ItemColumns { namespaces, keys, expected, found, values, .. } = columns;
        let row = session.row(Query::WriteItems, &[&id, namespaces, keys, expected, found, values]).await?;
        columns.check(row.map_or(0, |row| row.get(0)))
    };
    pool.run(write).await
}

/// Returns the values of items, in the order of their names here.
pub(super) async fn get(pool: &Pool, items: &[ItemKey]) -> Result<Vec<Option<Vec<u8>>>> {
    let namespaces: Vec<&str> = items.iter().map(|item| &*item.namespace).collect();
    let keys: Vec<&str> = items.iter().map(|item| &*item.key).collect();
    let rows = pool.rows(Query::GetItems, &[&namespaces, &keys]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns the items of a scan.
pub(super) async fn scan(pool: &Pool, scan: &ItemScan) -> Result<Vec<Item>> {
    let Some((first, last)) = scan.bounds() else { return Ok(Vec::new()) };
    let (last_namespace, last_key) = last.as_ref().map(|last| (&*last.namespace, &*last.key)).unzip();
    let (after_namespace, after_key) = scan.after.as_ref().map(|item| (&*item.namespace, &*item.key)).unzip();
    let namespace = scan.namespace.as_deref();
    let prefix = if namespace.is_some() { scan.prefix.as_str() } else { "" };
    let limit = i64::try_from(scan.limit).unwrap_or(i64::MAX);
    let params: Params<'_> = &[
        &&*first.namespace,
        &&*first.key,
        &last_namespace,
        &last_key,
        &after_namespace,
        &after_key,
        &namespace,
        &prefix,
        &limit,
    ];
    let query = match scan.order {
        Order::Ascending => Query::ItemsUp,
        Order::Descending => Query::ItemsDown,
    };
    let rows = pool.rows(query, params).await?;
    Ok(rows.iter().map(|row| (ItemKey::new(row.get::<_, &str>(0), row.get::<_, &str>(1)), row.get(2))).collect())
}
