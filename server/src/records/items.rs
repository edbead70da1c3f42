//! Records of the server as items of the store: JSON with a version, read and written with what was there before. A record that cannot
//! be read is left out of lists, so that it costs only itself. Knows no kind of record. `order` has the writes of records, since those of
//! threads change the order of their list too.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use superstep::checkpoint::{CheckpointError, Checkpointer, ExpectedItem, Item, ItemKey, ItemScan, ItemWrite, Order};
use superstep_base::time::{millis, now};

use super::damage::Damage;

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

/// A record that was looked for by its key.
#[derive(Clone, Debug)]
pub(crate) enum Lookup<R> {
    Found(StoredRecord<R>),
    /// There is none.
    Gone,
    /// Its bytes are damaged.
    Damaged,
    /// A later release wrote it, and another server of that release may work with it.
    Later,
}

impl<R> Lookup<R> {
    /// Returns the record; `None` if there is none that can be read.
    pub(crate) fn into_record(self) -> Option<StoredRecord<R>> {
        match self {
            Self::Found(record) => Some(record),
            Self::Gone | Self::Damaged | Self::Later => None,
        }
    }
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

/// The records of a store, and those that could not be read.
#[derive(Clone, Debug)]
pub(crate) struct Records(pub Arc<dyn Checkpointer>, Damage);

impl Records {
    pub(crate) fn new(store: Arc<dyn Checkpointer>) -> Self {
        Self(store, Damage::default())
    }

    /// Returns the time of the store's clock in milliseconds since 1970; of this process where the store has none.
    pub(crate) fn time(&self) -> u64 {
        self.0.time().map_or_else(now, millis)
    }

    /// Returns a record.
    ///
    /// # Errors
    /// If it cannot be read; if the store cannot.
    pub(crate) async fn get<R: Record>(&self, key: &str) -> Result<Option<StoredRecord<R>>, CheckpointError> {
        let found = self.0.get_items(vec![ItemKey::new(R::NAMESPACE, key)]).await?;
        Ok(found.into_iter().flatten().next().map(|bytes| decode(key, bytes)).transpose()?)
    }

    /// Looks for a record. One that cannot be read is logged the first time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) async fn look_up<R: Record>(&self, key: &str) -> Result<Lookup<R>, CheckpointError> {
        let item = ItemKey::new(R::NAMESPACE, key);
        let Some(bytes) = self.0.get_items(vec![item.clone()]).await?.into_iter().flatten().next() else {
            return Ok(Lookup::Gone);
        };
        Ok(match decode(&item.key, bytes) {
            Ok(found) => Lookup::Found(found),
            Err(unreadable) => {
                self.1.log(&item, &unreadable.error);
                if unreadable.is_later { Lookup::Later } else { Lookup::Damaged }
            }
        })
    }

    /// Returns the records whose keys begin with `prefix`, in the order of their keys.
    pub(crate) async fn all<R: Record>(&self, prefix: &str) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        Ok(self.all_with_damage(prefix).await?.0)
    }

    /// Returns the readable records whose keys begin with `prefix`, and the keys of the unreadable ones.
    pub(crate) async fn all_with_damage<R: Record>(
        &self,
        prefix: &str,
    ) -> Result<(Vec<StoredRecord<R>>, Vec<ItemKey>), CheckpointError> {
        let (mut all, mut damaged, mut after) = (vec![], vec![], None);
        loop {
            let scan = ItemScan { after, limit: PAGE, ..ItemScan::of(R::NAMESPACE).prefix(prefix) };
            let page = self.0.scan_items(&scan).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|(key, _)| key.clone());
            for (key, bytes) in page {
                match self.readable((key.clone(), bytes)) {
                    Some(found) => all.push(found),
                    None => damaged.push(key),
                }
            }
            if is_last {
                return Ok((all, damaged));
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

    /// Returns up to `limit` records after a key, in an order of their keys. Those that cannot be read are not counted.
    pub(crate) async fn scan<R: Record>(
        &self,
        prefix: &str,
        after: Option<&str>,
        (order, limit): (Order, usize),
    ) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        let (mut found, mut after) = (vec![], after.map(|key| ItemKey::new(R::NAMESPACE, key)));
        loop {
            let wanted = limit - found.len();
            let scan = ItemScan { after, order, limit: wanted, ..ItemScan::of(R::NAMESPACE).prefix(prefix) };
            let page = self.0.scan_items(&scan).await?;
            let is_last = page.len() < wanted;
            after = page.last().map(|(key, _)| key.clone());
            found.extend(page.into_iter().filter_map(|item| self.readable(item)));
            if is_last || found.len() == limit {
                return Ok(found);
            }
        }
    }

    /// Returns the records of keys that are there and can be read, in the order of the keys here.
    pub(crate) async fn get_all<R: Record>(
        &self,
        keys: impl IntoIterator<Item = String>,
    ) -> Result<Vec<StoredRecord<R>>, CheckpointError> {
        let keys: Vec<ItemKey> = keys.into_iter().map(|key| ItemKey::new(R::NAMESPACE, key)).collect();
        let found = self.0.get_items(keys.clone()).await?.into_iter();
        let found = keys.into_iter().zip(found).filter_map(|(key, bytes)| Some((key, bytes?)));
        Ok(found.filter_map(|item| self.readable(item)).collect())
    }

    /// Returns the record of an item; `None` if it cannot be read, which is logged the first time.
    fn readable<R: Record>(&self, (key, bytes): Item) -> Option<StoredRecord<R>> {
        decode(&key.key, bytes).map_err(|unreadable| self.1.log(&key, &unreadable.error)).ok()
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
    decode("", bytes.to_vec()).ok().map(|stored| stored.record)
}

/// A record that cannot be read.
struct UnreadableRecord {
    error: CheckpointError,
    /// True if a later release wrote it.
    is_later: bool,
}

impl From<UnreadableRecord> for CheckpointError {
    fn from(unreadable: UnreadableRecord) -> Self {
        unreadable.error
    }
}

fn decode<R: Record>(key: &str, bytes: Vec<u8>) -> Result<StoredRecord<R>, UnreadableRecord> {
    let unreadable = |is_later: bool, reason: String| UnreadableRecord {
        error: CheckpointError::Codec { what: format!("the record `{key}` of `{}`", R::NAMESPACE), reason },
        is_later,
    };
    match serde_json::from_slice::<VersionedRecord<R>>(&bytes) {
        Ok(VersionedRecord { version, record }) if version <= VERSION => {
            Ok(StoredRecord { record, bytes: Some(bytes) })
        }
        Ok(VersionedRecord { version, .. }) => Err(unreadable(true, later_release(version))),
        Err(error) => Err(match version_of(&bytes) {
            Some(version) if version > VERSION => unreadable(true, later_release(version)),
            _ => unreadable(false, error.to_string()),
        }),
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

/// Returns the name that is a part of a key.
pub(crate) fn decode_key_part(part: &str) -> Cow<'_, str> {
    percent_decode_str(part).decode_utf8_lossy()
}

/// Returns a name as a part of a path on the wire.
pub(crate) fn path_part(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}
