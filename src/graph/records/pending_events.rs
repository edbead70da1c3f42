//! Recorded events that wait for the next commit of their run, and their numbers. Knows nothing of what they say.

use crate::checkpoint::{CheckpointId, Key, Row};

/// The number of events, and of their bytes, that wait for the next commit of the run; more get one of their own.
const EVENTS: usize = 256;
const BYTES: usize = 256 << 10;

/// Events that wait for the next commit.
#[derive(Debug, Default)]
pub(super) struct PendingEvents {
    puts: Vec<(Key, Row)>,
    bytes: usize,
    /// The superstep that emits now, and the number of its next event.
    next: Option<(CheckpointId, u64)>,
}

impl PendingEvents {
    pub(super) fn take(&mut self) -> Vec<(Key, Row)> {
        self.bytes = 0;
        std::mem::take(&mut self.puts)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.puts.is_empty()
    }

    pub(super) fn counts(&self, checkpoint: CheckpointId) -> bool {
        self.next.is_some_and(|(counted, _)| counted == checkpoint)
    }

    pub(super) fn add(&mut self, checkpoint: CheckpointId, first: u64, bytes: Vec<u8>) {
        let number = self.next.filter(|(counted, _)| *counted == checkpoint).map_or(first, |(_, number)| number);
        self.next = Some((checkpoint, number + 1));
        self.bytes += bytes.len();
        self.puts.push((Key::Event { checkpoint, number }, bytes.into()));
    }

    pub(super) fn is_full(&self) -> bool {
        self.puts.len() >= EVENTS || self.bytes >= BYTES
    }
}
