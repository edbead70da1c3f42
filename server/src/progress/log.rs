//! The log of the events of runs in the store: written in batches, a moment after they were sent, and removed some time after the end of
//! their run. All runs share the writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep::checkpoint::ItemWrite;
use superstep_base::time::now;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use crate::feed::Feed;
use crate::records::event::{EventBatch, EventsExpiry};
use crate::records::items::{Records, put};

/// The time for which events are gathered.
pub(crate) const GATHER: Duration = Duration::from_millis(40);
/// The number of times a write is tried.
const TRIES: u32 = 5;

/// The runs whose events are to be written.
#[derive(Default)]
pub(crate) struct EventLog {
    waiting: Mutex<HashMap<Uuid, Arc<Feed>>>,
    pub(crate) has_events: Notify,
    /// Notified when readers wait for events until they are stored.
    pub(crate) has_waiting_readers: Notify,
    /// Held while events are written.
    writing: tokio::sync::Mutex<()>,
}

impl EventLog {
    /// Has the new events of a run written soon.
    pub(crate) fn write_soon(&self, run: Uuid, feed: &Arc<Feed>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.insert(run, Arc::clone(feed)).is_none() && waiting.len() == 1 {
            self.has_events.notify_one();
        }
        drop(waiting);
        if feed.has_waiting_readers() {
            self.has_waiting_readers.notify_one();
        }
    }

    /// Returns the writes of the last events of a run, once all earlier ones are written.
    pub(crate) async fn last_events(&self, run: Uuid, feed: &Feed) -> Vec<ItemWrite> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
        let _written = self.writing.lock().await;
        EventBatch::of(run, &feed.take_unstored().0).iter().map(put).collect()
    }

    /// Writes the events of all runs that wait.
    pub(crate) async fn write_gathered(&self, records: &Records) {
        let _written = self.writing.lock().await;
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut writes, mut excesses) = (vec![], vec![]);
        for (run, feed) in &waiting {
            let (events, excess) = feed.take_unstored();
            writes.extend(EventBatch::of(*run, &events).iter().map(put));
            excesses.extend((excess > 0).then_some((*run, excess)));
        }
        if writes.is_empty() {
            return;
        }
        write(records, &writes).await;
        waiting.values().for_each(|feed| feed.release());
        for (run, batches) in excesses {
            if let Err(error) = records.remove_events(run, batches).await {
                tracing::warn!(%error, "the oldest events of a run are not removed");
            }
        }
    }
}

/// Writes events, or gives up after some tries: then a reader that comes back does not get them.
async fn write(records: &Records, writes: &[ItemWrite]) {
    for attempt in 1.. {
        match records.write(writes.to_vec()).await {
            Ok(()) => return,
            Err(error) if attempt == TRIES => {
                return tracing::warn!(%error, "events of runs are not stored: a reader that comes back does not get them");
            }
            Err(_) => sleep(GATHER * 2_u32.pow(attempt)).await,
        }
    }
}

/// Returns the write that has the events of a run removed after a time.
pub(crate) fn expiry(run: Uuid, keep: Duration) -> ItemWrite {
    put(&EventsExpiry { run, at: now().saturating_add(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX)) })
}
