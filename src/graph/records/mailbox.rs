//! The signals that were sent to a thread and that no task has received. A run notes which it has taken: the store may still
//! show those.

use std::collections::HashSet;

use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Key, Order, SignalRecord, ThreadId, decode_record,
};

use super::recorder::{Durability, Puts, Recorder};
use crate::graph::define::signal::{KEYED, SignalId};

/// How many signals may wait in the mailbox of one thread.
pub(crate) const SIGNALS_LIMIT: usize = 1_000;
/// How large a signal may be, in bytes.
pub(crate) const SIGNAL_BYTES: usize = 1 << 20;

/// A signal in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub id: SignalId,
    pub record: SignalRecord,
}

/// Returns the signals of a thread, in the order in which they were sent.
pub(crate) async fn letters(store: &dyn Checkpointer, thread: &ThreadId) -> Result<Vec<Letter>, CheckpointError> {
    let range = Key::Signal { order: 0, id: 0 }..=Key::Signal { order: KEYED - 1, id: u64::MAX };
    let mut letters = vec![];
    for (key, bytes) in store.scan(thread, range, Order::Ascending, usize::MAX).await? {
        if let Key::Signal { order, id } = key {
            letters.push(Letter { id: SignalId { order, id }, record: decode_record(thread, key, &bytes)? });
        }
    }
    Ok(letters)
}

/// What a run has done with the mailbox of its thread.
#[derive(Debug, Default)]
pub(super) struct Mail {
    taken: HashSet<SignalId>,
    /// With durability `exit`: signals that the commit at the end of the run removes.
    pub(super) received: Vec<Key>,
}

impl Recorder {
    /// Returns the signals that this run has not taken.
    pub(crate) async fn letters(&self) -> Result<Vec<Letter>, CheckpointError> {
        let mut letters = letters(&**self.store(), self.lease().thread()).await?;
        let inner = self.lock();
        letters.retain(|letter| !inner.mail.taken.contains(&letter.id));
        Ok(letters)
    }

    /// Takes a signal out of the mailbox for one task, whose journal is at a checkpoint; returns whether no other task has it. Its entry in the task's journal is
    /// stored and the signal removed in one commit.
    pub(crate) fn take_letter(
        &self,
        id: SignalId,
        checkpoint: CheckpointId,
        entry: impl FnOnce() -> Result<Puts, CheckpointError>,
    ) -> Result<bool, CheckpointError> {
        if !self.lock().mail.taken.insert(id) {
            return Ok(false);
        }
        let puts = entry()?;
        self.queue_received(puts, id.key(), checkpoint);
        Ok(true)
    }

    /// Queues records, in order, and removes a signal with them. With durability `exit` at the end of the run, unless the task
    /// is one of the stored checkpoint: its effects are stored at once, and may come of the signal.
    fn queue_received(&self, puts: Puts, signal: Key, checkpoint: CheckpointId) {
        let mut inner = self.lock();
        if self.durability() == Durability::Exit && inner.expected != Some(checkpoint) {
            inner.held.extend(puts);
            inner.mail.received.push(signal);
            return;
        }
        self.send_now(&mut inner, puts, vec![signal]);
    }
}
