//! Records of the server as items of the store: JSON with a version, read and written with what was there before. Knows no kind of
//! record. `order` has the writes of records, since those of threads change the order of their list too.

use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use superstep::checkpoint::{CheckpointError, Checkpointer, ExpectedItem, ItemKey, ItemScan, ItemWrite, Order};
use superstep_base::time::{millis, now};

/// The characters of a name that a path on the wire does not have as they are: clients take ids out of paths without decoding them.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The version of what this program writes. It is raised with a change that older programs cannot read; a field that may be absent is no
/// such change, so that servers of two releases share a store while one is replaced by the other.
const VERSION: u32 = 1;
/// The number of records that are read at once.
const PAGE: usize = 256;
/// The number of times a change is tried again after somebody else has changed the record meanwhile.
const TRIES: usize = 64;

/// A kind of record, which has a namespace of its own.
pub(crate) trait Record: Serialize + DeserializeOwned + Send + Sync {
    const NAMESPACE: &'static str;

    /// Returns the key of the record in its namespace.
    fn key(&self) -> String;
}

/// A record as it was read: a write of it is refused if somebody else has written it since.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord<R> {
    pub record: R,
    /// None for a record that nobody has written yet.
    bytes: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct VersionedRecord<R> {
    #[serde(default = "first_version")]
    version: u32,
    record: R,
}

fn first_version() -> u32 {
    1
}

/// The records of a store.
#[derive(Clone, Debug)]
pub(crate) struct Records(pub Arc<dyn Checkpointer>);

impl Records {
    /// Returns the time of the store's clock in milliseconds since 1970; of this process where the store has none.
    pub(crate) fn time(&self) -> u64 {
        self.0.time().map_or_else(now, millis)
    }

    pub(crate) async fn get<R: Record>(&self, key: &str) -> Result<Option<StoredRecord<R>>, CheckpointError> {
        let found = self.0.get_items(vec![ItemKey::new(R::NAMESPACE, key)]).await?;
        found.into_iter().flatten().next().map(decode).transpose()
    }

    /// Returns the records whose keys begin with `prefix`, in the order of their keys.
    pub(crate) async fn all<R: Record>(&self, prefix: &str) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        let (mut all, mut after) = (vec![], None);
        loop {
            let page = self.page::<R>(prefix, after.take(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|stored| stored.record.key());
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Returns records whose keys begin with `prefix` and come after a key, in the order of their keys.
    pub(crate) async fn page<R: Record>(
        &self,
        prefix: &str,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        self.scan(prefix, after.as_deref(), (Order::Ascending, limit)).await
    }

    /// Returns the last part of the last key with `prefix`, behind a `/`; `None` if there is no such key, or it is no `T`.
    pub(crate) async fn last_part<R: Record, T: FromStr>(&self, prefix: String) -> Result<Option<T>, CheckpointError> {
        let scan = ItemScan { order: Order::Descending, limit: 1, ..ItemScan::of(R::NAMESPACE).prefix(prefix) };
        let last = self.0.scan_items(&scan).await?.pop();
        Ok(last.and_then(|(item, _)| item.key.rsplit('/').next()?.parse().ok()))
    }

    /// Returns up to `limit` records after a key, in an order of their keys.
    pub(crate) async fn scan<R: Record>(
        &self,
        prefix: &str,
        after: Option<&str>,
        (order, limit): (Order, usize),
    ) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        let after = after.map(|key| ItemKey::new(R::NAMESPACE, key));
        let scan = ItemScan { after, order, limit, ..ItemScan::of(R::NAMESPACE).prefix(prefix) };
        self.0.scan_items(&scan).await?.into_iter().map(|(_, bytes)| decode(bytes)).collect()
    }

    /// Returns the records of keys that are there, in the order of the keys here.
    pub(crate) async fn get_all<R: Record>(
        &self,
        keys: impl IntoIterator<Item = String>,
    ) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        let keys = keys.into_iter().map(|key| ItemKey::new(R::NAMESPACE, key)).collect();
        self.0.get_items(keys).await?.into_iter().flatten().map(decode).collect()
    }

    /// Changes a record, and writes others with it: `change` is called again if somebody else has written one of them meanwhile.
    /// Returns what `change` returned last; `None` of it leaves everything as it is.
    pub(crate) async fn change<R: Record, T>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<StoredRecord<R>>) -> Option<(Vec<ItemWrite>, T)>,
    ) -> Result<Option<T>, CheckpointError> {
        for _ in 0..TRIES {
            let Some((writes, result)) = change(self.get(key).await?) else { return Ok(None) };
            match self.write(writes).await {
                Err(CheckpointError::ItemConflict { .. }) => tokio::task::yield_now().await,
                written => return written.map(|()| Some(result)),
            }
        }
        Err(CheckpointError::ItemConflict { item: ItemKey::new(R::NAMESPACE, key) })
    }
}

impl<R: Record> StoredRecord<R> {
    /// Returns a record that nobody has written yet.
    pub(crate) fn new(record: R) -> Self {
        Self { record, bytes: None }
    }

    /// Returns the write of a changed record in the place of this one.
    pub(crate) fn replace(&self, record: &R) -> ItemWrite {
        put(record).expecting(self.expected())
    }

    /// Returns the write that removes the record.
    pub(crate) fn remove(&self) -> ItemWrite {
        ItemWrite::delete(name(&self.record)).expecting(self.expected())
    }

    fn expected(&self) -> ExpectedItem {
        self.bytes.clone().map_or(ExpectedItem::Absent, ExpectedItem::Value)
    }
}

/// Returns the write of a record that must be new.
pub(crate) fn create<R: Record>(record: &R) -> ItemWrite {
    put(record).expecting(ExpectedItem::Absent)
}

/// Returns the write that removes a record, whoever has written it last.
pub(crate) fn delete<R: Record>(record: &R) -> ItemWrite {
    ItemWrite::delete(name(record))
}

/// Returns the write of a record, whatever was there before.
pub(crate) fn put<R: Record>(record: &R) -> ItemWrite {
    let bytes = serde_json::to_vec(&VersionedRecord { version: VERSION, record }).unwrap_or_default();
    ItemWrite::put(name(record), bytes)
}

fn name<R: Record>(record: &R) -> ItemKey {
    ItemKey::new(R::NAMESPACE, record.key())
}

/// Returns the record that is in bytes; `None` if they cannot be read.
pub(crate) fn read<R: Record>(bytes: &[u8]) -> Option<R> {
    decode(bytes.to_vec()).ok().map(|stored| stored.record)
}

fn decode<R: Record>(bytes: Vec<u8>) -> Result<StoredRecord<R>, CheckpointError> {
    let unreadable =
        |reason: String| CheckpointError::Codec { what: format!("a record of `{}`", R::NAMESPACE), reason };
    match serde_json::from_slice::<VersionedRecord<R>>(&bytes) {
        Ok(VersionedRecord { version, record }) if version <= VERSION => {
            Ok(StoredRecord { record, bytes: Some(bytes) })
        }
        Ok(VersionedRecord { version, .. }) => Err(unreadable(later_release(version))),
        Err(error) => Err(unreadable(match version_of(&bytes) {
            Some(version) if version > VERSION => later_release(version),
            _ => error.to_string(),
        })),
    }
}

/// Returns the version of a record whose form is not known.
fn version_of(bytes: &[u8]) -> Option<u32> {
    serde_json::from_slice::<VersionedRecord<IgnoredAny>>(bytes).ok().map(|found| found.version)
}

fn later_release(version: u32) -> String {
    format!("a later release wrote it, as version {version}, and this one knows version {VERSION}: update the server")
}

/// Returns a name as a part of a key: it contains no `/`.
pub(crate) fn key_part(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

/// Returns a name as a part of a path on the wire.
pub(crate) fn path_part(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}
