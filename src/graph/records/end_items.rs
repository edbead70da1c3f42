//! The last commit of a run, and the items that it takes along. Knows the recorder; must not know what an item says.

use std::fmt::{self, Debug, Formatter};

use super::recorder::{Durability, Puts, Recorder, log_commit_failure};
use crate::checkpoint::{CheckpointError, CheckpointId, Commit, ItemWrite};

/// Maker of the items of the last commit of a run, from the time of its checkpoint in milliseconds since 1970.
pub(crate) struct EndItems(Box<dyn FnOnce(u64) -> Vec<ItemWrite> + Send>);

impl EndItems {
    pub(crate) fn new(make: impl FnOnce(u64) -> Vec<ItemWrite> + Send + 'static) -> Self {
        Self(Box::new(make))
    }
}

impl Debug for EndItems {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("EndItems")
    }
}

impl Recorder {
    /// Makes items for the last commit of the run, should it have one.
    pub(crate) fn end_with_items(&self, items: Option<EndItems>) {
        self.lock().at_end = items;
    }

    /// Commits the last records of a run, whose last checkpoint is of a time, with the items of its end; without them if one is not as
    /// expected.
    pub(crate) async fn commit_end(
        &self,
        puts: Puts,
        head: Option<CheckpointId>,
        time: u64,
    ) -> Result<(), CheckpointError> {
        self.end_with_next();
        let Some(EndItems(make)) = self.take_end_items() else { return self.commit(puts, head).await };
        let items = make(time);
        let (whole, alone) = {
            let mut inner = self.lock();
            inner.head.checkpoint = head.or(inner.head.checkpoint);
            let alone = self.next_commit(&mut inner, puts, vec![]);
            (self.store().commit(Commit { items, ..alone.clone() }), alone)
        };
        self.drain(0).await?;
        let written = match whole.await {
            Err(CheckpointError::ItemConflict { .. }) => self.store().commit(alone).await,
            written => written,
        };
        written.inspect_err(|error| log_commit_failure(self.lease().thread(), error))
    }

    /// Takes the items of the end; `None` if the last commit cannot have them: it is not waited for, or has other items already.
    fn take_end_items(&self) -> Option<EndItems> {
        let mut inner = self.lock();
        let items = inner.at_end.take();
        let is_alone = self.durability() == Durability::Sync && !inner.is_gathering() && !inner.has_items();
        items.filter(|_| is_alone)
    }
}
