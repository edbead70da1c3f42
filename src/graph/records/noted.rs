//! Recorded events on their way into the store: they ride on the run's next commit, in order. Knows no node and no stream.

use crate::checkpoint::{CheckpointError, CheckpointId, EventRecord, Key, Order, encode_record};

use super::recorder::{LAG, Puts, Recorder};

/// How many events, and bytes of them, wait for the next commit of the run at most; then they get one of their own.
const EVENTS: usize = 256;
const BYTES: usize = 256 << 10;
/// The largest event that is recorded, in bytes.
const LARGEST: usize = 1 << 20;

/// Events that wait for the next commit.
#[derive(Debug, Default)]
pub(super) struct Noted {
    puts: Puts,
    bytes: usize,
    /// The superstep that emits now, and the number of its next event.
    next: Option<(CheckpointId, u64)>,
}

impl Noted {
    pub(super) fn take(&mut self) -> Puts {
        self.bytes = 0;
        std::mem::take(&mut self.puts)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.puts.is_empty()
    }

    fn counts(&self, checkpoint: CheckpointId) -> bool {
        self.next.is_some_and(|(counted, _)| counted == checkpoint)
    }

    fn add(&mut self, checkpoint: CheckpointId, first: u64, bytes: Vec<u8>) {
        let number = self.next.filter(|(counted, _)| *counted == checkpoint).map_or(first, |(_, number)| number);
        self.next = Some((checkpoint, number + 1));
        self.bytes += bytes.len();
        self.puts.push((Key::Event { checkpoint, number }, bytes));
    }

    fn is_full(&self) -> bool {
        self.puts.len() >= EVENTS || self.bytes >= BYTES
    }
}

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

    /// The number of a superstep's first event: an earlier run may have begun it.
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
