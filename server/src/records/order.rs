//! Writes of records, and the orders in which threads are listed: each write of a thread's record changes its places in them too. Must
//! not know what is asked of a list.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{CheckpointError, ExpectedItem, ItemWrite};

use super::items::{Record, Records, create, decode_key_part, delete, put, read};
use super::thread::ThreadRecord;

/// Number of threads whose places are written at once.
const PAGE: usize = 256;

/// Time by which threads are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThreadTime {
    Created,
    Updated,
    State,
}

impl ThreadTime {
    const ALL: [Self; 3] = [Self::Created, Self::Updated, Self::State];

    /// Returns the first part of the keys of an order.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Created => "created/",
            Self::Updated => "updated/",
            Self::State => "state/",
        }
    }

    /// Returns the time of a thread.
    pub(crate) fn of(self, thread: &ThreadRecord) -> u64 {
        match self {
            Self::Created => thread.created_at,
            Self::Updated => thread.updated_at.max(thread.state_updated_at()),
            Self::State => thread.state_updated_at(),
        }
    }
}

/// Place of a thread in an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadPlace {
    pub by: ThreadTime,
    pub at: u64,
    /// Key of the thread's record.
    pub thread: String,
    pub status: String,
}

impl ThreadPlace {
    /// Returns the name of the thread.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        decode_key_part(&self.thread)
    }
}

impl Record for ThreadPlace {
    const NAMESPACE: &'static str = "superstep.server.orders";

    fn key(&self) -> String {
        format!("{}{:015}/{}", self.by.prefix(), self.at, self.thread)
    }
}

/// Mark of a store whose threads all have their places.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OrderMark;

impl Record for OrderMark {
    const NAMESPACE: &'static str = "superstep.server.marks";

    fn key(&self) -> String {
        "orders".into()
    }
}

impl Records {
    /// Writes records together, or none of them if one is not as expected.
    pub(crate) async fn write(&self, mut writes: Vec<ItemWrite>) -> Result<(), CheckpointError> {
        let placed: Vec<ItemWrite> = writes.iter().flat_map(place_writes).collect();
        writes.extend(placed);
        self.0.write_items(writes).await
    }

    /// Gives threads their places that an earlier version has stored without.
    pub(crate) async fn make_orders(&self) -> Result<(), CheckpointError> {
        if self.get::<OrderMark>(&OrderMark.key()).await?.is_some() {
            return Ok(());
        }
        let threads = self.all::<ThreadRecord>("").await?;
        for page in threads.chunks(PAGE) {
            let writes = page.iter().flat_map(|thread| places(Some(&thread.record))).map(|place| put(&place));
            self.0.write_items(writes.collect()).await?;
        }
        match self.0.write_items(vec![create(&OrderMark)]).await {
            Err(CheckpointError::ItemConflict { .. }) => Ok(()),
            written => written,
        }
    }
}

/// Returns the writes that a write of a thread's record brings along.
fn place_writes(write: &ItemWrite) -> Vec<ItemWrite> {
    if *write.key.namespace != *ThreadRecord::NAMESPACE {
        return vec![];
    }
    let old = match &write.expected {
        ExpectedItem::Value(bytes) => places(read(bytes).as_ref()),
        _ => vec![],
    };
    let new = places(write.value.as_deref().and_then(read).as_ref());
    let is_gone = |place: &&ThreadPlace| !new.iter().any(|new| new.key() == place.key());
    let gone = old.iter().filter(is_gone).map(delete);
    gone.chain(new.iter().filter(|place| !old.contains(place)).map(put)).collect()
}

/// Returns the places of a thread; none of one that ends with its run, as no list has it.
fn places(thread: Option<&ThreadRecord>) -> Vec<ThreadPlace> {
    let Some(thread) = thread.filter(|thread| !thread.is_temporary) else { return vec![] };
    let place = |by: ThreadTime| ThreadPlace {
        by,
        at: by.of(thread),
        thread: thread.key(),
        status: thread.status().to_owned(),
    };
    ThreadTime::ALL.map(place).into()
}
