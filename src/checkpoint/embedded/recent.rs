//! What the last commits of each thread have written: records that cannot exist are not looked up before they are
//! written. Knows no disk.

use std::collections::HashMap;

use crate::checkpoint::{CheckpointId, Head, Key, ThreadId};

/// Maximum number of threads that are remembered.
const THREADS: usize = 4096;
/// Maximum number of records that are remembered of a thread.
const RECORDS: usize = 64;

/// The last commits, by thread.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Recent(HashMap<ThreadId, Written>);

/// What is known of a thread.
#[derive(Debug)]
pub(in crate::checkpoint) struct Written {
    pub(in crate::checkpoint) head: Head,
    /// The stored row of the head.
    pub(in crate::checkpoint) row: Vec<u8>,
    /// The records of its newest checkpoints; none for a thread that was there before, or once they are too many.
    newest: Option<Newest>,
}

/// The records of the two newest checkpoint numbers of a thread.
#[derive(Debug, Default)]
struct Newest {
    /// No other records are stored under this number or a greater one.
    from: u64,
    greatest: u64,
    names: HashMap<Vec<u8>, u64>,
}

impl Recent {
    pub(in crate::checkpoint) fn get(&self, thread: &ThreadId) -> Option<&Written> {
        self.0.get(thread)
    }

    pub(in crate::checkpoint) fn forget(&mut self, thread: &ThreadId) {
        self.0.remove(thread);
    }

    /// Notes a commit: its head, and the records it wrote with their checkpoints. `is_first`: the thread was not there.
    pub(in crate::checkpoint) fn note<'a>(
        &mut self,
        thread: &ThreadId,
        is_first: bool,
        (head, row): (Head, Vec<u8>),
        written: impl Iterator<Item = (Option<CheckpointId>, &'a [u8])>,
    ) {
        let newest =
            if is_first { Some(Newest::default()) } else { self.0.remove(thread).and_then(|last| last.newest) };
        let newest = newest.and_then(|newest| newest.with(written));
        if self.0.len() >= THREADS {
            self.0.clear();
        }
        self.0.insert(thread.clone(), Written { head, row, newest });
    }
}

impl Written {
    /// Returns true if no record of this name is stored.
    pub(in crate::checkpoint) fn is_new(&self, checkpoint: Option<CheckpointId>, name: &[u8]) -> bool {
        let Some((newest, checkpoint)) = self.newest.as_ref().zip(checkpoint) else { return false };
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
