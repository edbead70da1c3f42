//! Signals that a run receives: taken from the mailbox and stored with the commit that uses them.

use super::mailbox::{PendingSignal, pending_signals, signals_after};
use super::puts::Puts;
use super::recorder::{Durability, Recorder};
use crate::checkpoint::{CheckpointError, CheckpointId, Key};
use crate::graph::interrupt::SignalId;

/// The number of signals in the first page that is read: mostly, the one to receive is among them.
const PAGE: usize = 8;

impl Recorder {
    /// Returns the signals that this run has not taken.
    pub(crate) async fn pending_signals(&self) -> Result<Vec<PendingSignal>, CheckpointError> {
        let mut pending_signals = pending_signals(&**self.store(), self.lease().thread()).await?;
        let inner = self.lock();
        pending_signals.retain(|pending| !inner.mail.taken.contains(&pending.id));
        Ok(pending_signals)
    }

    /// Returns the first signal of this name, sent until a time, that this run has not taken.
    pub(crate) async fn first_pending(
        &self,
        name: &str,
        until: Option<u64>,
    ) -> Result<Option<PendingSignal>, CheckpointError> {
        let (mut after, mut limit) = (None, PAGE);
        loop {
            let page = signals_after(&**self.store(), self.lease().thread(), after, limit).await?;
            after = page.last().map(|last| last.id).filter(|_| page.len() == limit);
            let inner = self.lock();
            let is_free = |pending: &PendingSignal| !inner.mail.taken.contains(&pending.id);
            let found = page.into_iter().find(|pending| pending.is_for(name, until) && is_free(pending));
            if found.is_some() || after.is_none() {
                return Ok(found);
            }
            limit *= 4;
        }
    }

    /// Takes a signal out of the mailbox for one task, whose journal is at a checkpoint; returns whether no other task has it. Its entry in the task's journal is
    /// stored and the signal removed in one commit.
    pub(crate) fn take_pending(
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
