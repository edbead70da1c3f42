//! Recorded events: they ride on the next commit of the run, or get one of their own.

use super::recorder::{LAG, Recorder};
use crate::checkpoint::{CheckpointError, CheckpointId, EventRecord, Key, Order, encode_record};

/// The largest event that is recorded, in bytes.
const LARGEST: usize = 1 << 20;

impl Recorder {
    /// Notes an event of the superstep that starts at a checkpoint of the root graph. Too large a one is left out, unless it
    /// `is_kept` in any case.
    pub(crate) async fn note(
        &self,
        checkpoint: CheckpointId,
        event: &EventRecord,
        is_kept: bool,
    ) -> Result<(), CheckpointError> {
        let bytes = encode_record(event)?;
        if bytes.len() > LARGEST && !is_kept {
            return Ok(());
        }
        let first = self.first_number(checkpoint).await?;
        {
            let mut inner = self.lock();
            inner.noted.add(checkpoint, first, bytes);
            if !inner.noted.is_full() {
                return Ok(());
            }
            self.send_now(&mut inner, vec![], vec![]);
        }
        self.drain(LAG).await
    }

    /// The number of a superstep's first event: an earlier run may have started it.
    async fn first_number(&self, checkpoint: CheckpointId) -> Result<u64, CheckpointError> {
        if checkpoint >= self.first || self.lock().noted.counts(checkpoint) {
            return Ok(0);
        }
        let key = |number| Key::Event { checkpoint, number };
        let range = key(0)..=key(u64::MAX);
        let found = self.store().scan(self.lease().thread(), range, Order::Descending, 1).await?;
        Ok(match found.first() {
            Some((Key::Event { number, .. }, _)) => number + 1,
            _ => 0,
        })
    }
}
