//! The past of a task, as it is stored. Most tasks have none, and no memory for one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock, Mutex};

use crate::checkpoint::TaskRecord;

static NONE: LazyLock<TaskRecord> = LazyLock::new(TaskRecord::default);

/// The record of a task that has questions, answers, failures or a journal; empty otherwise. Allocated when it is first
/// changed; clones share it until then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past(Option<Arc<TaskRecord>>);

impl Deref for Past {
    type Target = TaskRecord;

    fn deref(&self) -> &TaskRecord {
        self.0.as_deref().unwrap_or_else(|| &*NONE)
    }
}

impl DerefMut for Past {
    fn deref_mut(&mut self) -> &mut TaskRecord {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl From<TaskRecord> for Past {
    fn from(record: TaskRecord) -> Self {
        Self(Some(Arc::new(record)))
    }
}

/// The record that was stored of a task while its body runs: once an attempt has failed that another one, or the error
/// handler, follows.
pub(crate) type LatestRecord = Arc<Mutex<Option<TaskRecord>>>;

/// The starts of a task's body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Starts {
    /// The number of starts, in this run and earlier ones.
    pub all: u32,
    /// The last attempt of its run, from 1.
    pub last: u32,
    /// The time before which it does not start, in milliseconds since 1970: an attempt in an earlier run failed, and that run
    /// ended in the pause before the next.
    pub not_before: Option<u64>,
}
