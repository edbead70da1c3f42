//! The newest records of each thread: those that cannot exist are not looked up before they are written. Knows no disk.

use std::collections::HashMap;

use crate::checkpoint::{CheckpointId, Key, ThreadId};

/// Maximum number of threads that are remembered.
const THREADS: usize = 4096;
/// Maximum number of records that are remembered of a thread.
const RECORDS: usize = 64;

/// The newest records of threads that were not there before this opening; none of a thread once they are too many.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Recent(HashMap<ThreadId, Newest>);

/// The records of the two newest checkpoint numbers of a thread.
#[derive(Debug, Default)]
struct Newest {
    /// No other records are stored under this number or a greater one.
    from: u64,
    greatest: u64,
    names: HashMap<Vec<u8>, u64>,
}

impl Recent {
    pub(in crate::checkpoint) fn forget(&mut self, thread: &ThreadId) {
        self.0.remove(thread);
    }

    /// Notes the records that a commit wrote, with their checkpoints. `is_first`: the thread was not there.
    pub(in crate::checkpoint) fn note<'a>(
        &mut self,
        thread: &ThreadId,
        is_first: bool,
        written: impl Iterator<Item = (Option<CheckpointId>, &'a [u8])>,
    ) {
        let newest = if is_first { Some(Newest::default()) } else { self.0.remove(thread) };
        let Some(newest) = newest.and_then(|newest| newest.with(written)) else { return };
        if self.0.len() >= THREADS {
            self.0.clear();
        }
        self.0.insert(thread.clone(), newest);
    }

    /// Returns true if it is known that no record of this name is stored.
    pub(in crate::checkpoint) fn is_new(
        &self,
        thread: &ThreadId,
        checkpoint: Option<CheckpointId>,
        name: &[u8],
    ) -> bool {
        let Some((newest, checkpoint)) = self.0.get(thread).zip(checkpoint) else { return false };
        checkpoint.0 >= newest.from && !newest.names.contains_key(name)
    }
}

impl Newest {
    fn with<'a>(mut self, written: impl Iterator<Item = (Option<CheckpointId>, &'a [u8])>) -> Option<Self> {
        for (checkpoint, name) in written {
            let Some(CheckpointId(number)) = checkpoint else { continue };
            if number > self.greatest {
                (self.from, self.greatest) = (self.greatest, number);
                self.names.retain(|_, of| *of >= self.from);
            }
            if number >= self.from {
                self.names.insert(name.to_vec(), number);
            }
        }
        (self.names.len() <= RECORDS).then_some(self)
    }
}

/// Returns the checkpoint number that a record is stored under.
pub(in crate::checkpoint) fn checkpoint_of(key: &Key) -> Option<CheckpointId> {
    match key {
        Key::Checkpoint(checkpoint) | Key::Nested(checkpoint) => Some(*checkpoint),
        Key::Task { checkpoint, .. }
        | Key::Child { checkpoint, .. }
        | Key::Effect { checkpoint, .. }
        | Key::Event { checkpoint, .. } => Some(*checkpoint),
        Key::Row(row) | Key::Log { row, .. } => Some(row.checkpoint),
        Key::Head | Key::About | Key::Tag(_) | Key::Shape(_) | Key::Signal { .. } => None,
    }
}
