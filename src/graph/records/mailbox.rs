//! The signals that were sent to a thread and that no task has received. A run notes which it has taken: the store may still
//! show those.

use std::collections::HashSet;

use crate::checkpoint::{
    CheckpointError, Checkpointer, Key, Order, ReceiveRecord, SignalRecord, ThreadId, decode_record,
};
use crate::graph::interrupt::{KEYED, SignalId};

/// The maximum number of signals in the mailbox of one thread.
pub(crate) const SIGNALS_LIMIT: usize = 1_000;

/// The maximum size of a signal in bytes.
pub(crate) const SIGNAL_BYTES: usize = 1 << 20;

/// A signal in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct PendingSignal {
    pub id: SignalId,
    pub record: SignalRecord,
}

impl PendingSignal {
    /// Returns true if a wait for signals of this name, until a time in milliseconds since 1970, takes it: one that was sent
    /// later is none of it, whenever the task runs.
    pub(crate) fn is_for(&self, name: &str, until: Option<u64>) -> bool {
        self.record.name == name && until.is_none_or(|until| self.record.at <= until)
    }

    /// Returns true if a task that waits takes it.
    pub(crate) fn is_awaited(&self, awaited: &ReceiveRecord) -> bool {
        self.is_for(&awaited.name, awaited.until)
    }
}

/// Returns the signals of a thread, in the order in which they were sent.
pub(crate) async fn pending_signals(
    store: &dyn Checkpointer,
    thread: &ThreadId,
) -> Result<Vec<PendingSignal>, CheckpointError> {
    signals_after(store, thread, None, usize::MAX).await
}

/// Returns at most this many of them, those after a signal.
pub(super) async fn signals_after(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    after: Option<SignalId>,
    limit: usize,
) -> Result<Vec<PendingSignal>, CheckpointError> {
    let first = after.map_or(Key::Signal { order: 0, id: 0 }, |after| after.next().key());
    let range = first..=Key::Signal { order: KEYED - 1, id: u64::MAX };
    let mut pending_signals = vec![];
    for (key, bytes) in store.scan(thread, range, Order::Ascending, limit).await? {
        if let Key::Signal { order, id } = key {
            pending_signals
                .push(PendingSignal { id: SignalId { order, id }, record: decode_record(thread, key, &bytes)? });
        }
    }
    Ok(pending_signals)
}

/// Changes of a run to the mailbox of its thread.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(super) taken: HashSet<SignalId>,
    /// With durability `exit`: signals that the commit at the end of the run removes.
    pub(super) received: Vec<Key>,
}
