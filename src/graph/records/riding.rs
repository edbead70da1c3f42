//! Checkpoints of subgraphs on their way into the store: they ride on the run's next commit. A subgraph that begins and ends
//! while nobody waits for anything is stored with the superstep of its caller, in one commit.

use super::puts::Puts;
use super::recorder::{Durability, Recorder};
use crate::checkpoint::CheckpointError;

impl Recorder {
    /// Takes records along with the next commit. Whoever lets time pass before that sends them on their way
    /// ([`send_riders`](Self::send_riders)).
    pub(crate) fn ride(&self, puts: Puts) {
        let mut inner = self.lock();
        if self.durability() == Durability::Exit || inner.is_gathering() {
            drop(inner);
            return self.queue(puts, None);
        }
        inner.riders.extend(puts);
    }

    /// Queues what waits for the next commit.
    pub(crate) fn send_riders(&self) {
        let mut inner = self.lock();
        if !inner.riders.is_empty() {
            self.send_now(&mut inner, vec![], vec![]);
        }
    }

    /// Waits until a reader finds everything in the store that was queued.
    pub(super) async fn catch_up(&self) -> Result<(), CheckpointError> {
        self.send_riders();
        self.drain(0).await
    }
}
