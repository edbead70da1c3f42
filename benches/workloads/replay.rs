//! The lower bound of a durable superstep: the engine's commits, written to a bare sled with the same number of syncs.
//! Knows the contract of a store, and sled.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex};

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, MemoryCheckpointer, Order,
    Receipt, Record, ThreadHead, ThreadId, encode_record,
};

/// The values of one commit, the head's last.
pub(crate) type Values = Vec<Vec<u8>>;

/// The records of one commit, and the head.
pub(crate) type Records = (Vec<Record>, ThreadHead);

/// A memory store that records its commits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    store: MemoryCheckpointer,
    commits: Arc<Mutex<Vec<Records>>>,
}

impl Recording {
    /// Returns the commits since the last call.
    pub(crate) fn take(&self) -> Vec<Values> {
        let values = |(records, head): Records| {
            let records = records.into_iter().map(|(_, value)| value);
            records.chain([encode_record(&head).unwrap()]).collect()
        };
        self.take_records().into_iter().map(values).collect()
    }

    /// Returns the commits since the last call, with the keys of their records.
    pub(crate) fn take_records(&self) -> Vec<Records> {
        std::mem::take(&mut self.commits.lock().unwrap())
    }
}

impl Checkpointer for Recording {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.store.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let records = commit.puts.iter().map(|(key, row)| (key.clone(), row.to_bytes().unwrap().into_owned()));
        self.commits.lock().unwrap().push((records.collect(), commit.head));
        self.store.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.store.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.store.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        self.store.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        self.store.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        self.store.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.store.owner(thread)
    }
}

/// A sled opened like our store, and a handle to sync its log.
#[derive(Debug)]
pub(crate) struct BareSled {
    db: sled::Db,
    log: File,
    written: u64,
}

impl BareSled {
    pub(crate) fn open(path: &Path) -> Self {
        let db = sled::Config::new().path(path).segment_size(8 << 20).cache_capacity(64_000_000).flush_every_ms(None);
        let db = db.open().unwrap();
        Self { db, log: File::open(path.join("db")).unwrap(), written: 0 }
    }

    /// Writes commits, each durable before the next.
    pub(crate) fn write(&mut self, commits: &[Values]) {
        for values in commits {
            self.apply(values);
            self.db.flush().unwrap();
            self.log.sync_data().unwrap();
        }
    }

    /// Writes commits without waiting for the disk.
    pub(crate) fn write_unsynced(&mut self, commits: &[Values]) {
        for values in commits {
            self.apply(values);
            self.db.flush().unwrap();
        }
    }

    fn apply(&mut self, values: &Values) {
        let mut batch = sled::Batch::default();
        let Some((head, records)) = values.split_last() else { return };
        for value in records {
            self.written += 1;
            batch.insert(&[&b"t-000000"[..], &self.written.to_be_bytes()].concat()[..], &value[..]);
        }
        batch.insert(&b"t-000000"[..], &head[..]);
        self.db.apply_batch(batch).unwrap();
    }
}
