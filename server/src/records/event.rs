//! Events of runs as items: in batches, each under the number of its last event, so that those after a number are found by one scan;
//! and marks of runs whose events are to be removed at a time.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use superstep::checkpoint::{CheckpointError, Order};
use uuid::Uuid;

use super::items::{Record, Records};
use super::mark::{EventMark, SentMarks};

/// The number of batches that are read at once.
const PAGE: usize = 16;

/// An event of a run with its number.
#[derive(Clone, Debug)]
pub(crate) struct RunEvent {
    pub number: u64,
    pub name: Cow<'static, str>,
    /// JSON in one line.
    pub data: Arc<str>,
    /// The time at which it was sent, in milliseconds since 1970.
    pub at: u64,
    /// The mark of one that the checkpoints of its run can give again.
    pub mark: Option<EventMark>,
}

/// A batch of events of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EventBatch {
    pub run: Uuid,
    /// In the order of their numbers; never empty.
    events: Vec<StoredEvent>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredEvent(u64, String, Box<RawValue>, #[serde(default)] u64, #[serde(default)] Option<EventMark>);

impl Record for EventBatch {
    const NAMESPACE: &'static str = "superstep.server.events";

    fn key(&self) -> String {
        Self::key_of(self.run, self.events.last().map_or(0, |event| event.0))
    }
}

impl EventBatch {
    /// Returns a batch; `None` without events.
    pub(crate) fn of(run: Uuid, events: &[Arc<RunEvent>]) -> Option<Self> {
        let stored = |event: &Arc<RunEvent>| {
            let data = RawValue::from_string(event.data.to_string()).ok()?;
            Some(StoredEvent(event.number, event.name.to_string(), data, event.at, event.mark.clone()))
        };
        let events: Vec<_> = events.iter().filter_map(stored).collect();
        (!events.is_empty()).then_some(Self { run, events })
    }

    fn prefix_of(run: Uuid) -> String {
        format!("{run}/")
    }

    fn key_of(run: Uuid, last: u64) -> String {
        format!("{}{last:012}", Self::prefix_of(run))
    }

    fn events_after(self, number: u64) -> impl Iterator<Item = Arc<RunEvent>> {
        let events = self.events.into_iter().filter(move |event| event.0 > number);
        events.map(|StoredEvent(number, name, data, at, mark)| {
            Arc::new(RunEvent { number, name: name.into(), data: data.get().into(), at, mark })
        })
    }
}

/// A run that has ended, and whose events are removed at a time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EventsExpiry {
    pub run: Uuid,
    /// In milliseconds since 1970.
    pub at: u64,
}

impl Record for EventsExpiry {
    const NAMESPACE: &'static str = "superstep.server.expiring";

    fn key(&self) -> String {
        format!("{:015}/{}", self.at, self.run)
    }
}

impl Records {
    /// Returns stored events of a run after a number: those of the next batches.
    pub(crate) async fn events_after(&self, run: Uuid, number: u64) -> Result<Vec<Arc<RunEvent>>, CheckpointError> {
        let after = EventBatch::key_of(run, number);
        let batches = self.page::<EventBatch>(&EventBatch::prefix_of(run), Some(after), PAGE).await?;
        Ok(batches.into_iter().flat_map(|batch| batch.record.events_after(number)).collect())
    }

    /// Returns the number of the last stored event of a run; 0 if there is none.
    pub(crate) async fn last_event(&self, run: Uuid) -> Result<u64, CheckpointError> {
        let last = self.last_part::<EventBatch, u64>(EventBatch::prefix_of(run)).await?;
        Ok(last.unwrap_or_default())
    }

    /// Returns the marks of the stored events of a run: those of its newest superstep, and of subgraphs since then.
    pub(crate) async fn sent_marks(&self, run: Uuid) -> Result<SentMarks, CheckpointError> {
        let (prefix, mut before, mut newest) = (EventBatch::prefix_of(run), None::<String>, Vec::<EventMark>::new());
        loop {
            let page = self.scan::<EventBatch>(&prefix, before.as_deref(), (Order::Descending, PAGE)).await?;
            let events = page.iter().flat_map(|batch| batch.record.events.iter().rev());
            newest.extend(events.filter_map(|event| event.4.clone()));
            let mut steps = newest.iter().filter(|mark| mark.namespace.is_empty()).map(|mark| mark.step);
            let is_whole = steps.next().zip(steps.next_back()).is_some_and(|(newest, oldest)| oldest < newest);
            before = page.last().map(|batch| batch.record.key());
            if is_whole || page.len() < PAGE {
                let mut marks = SentMarks::default();
                newest.iter().rev().for_each(|mark| _ = marks.add(mark));
                return Ok(marks);
            }
        }
    }

    /// Removes the oldest batches of a run, or all of them.
    pub(crate) async fn remove_events(&self, run: Uuid, batches: usize) -> Result<(), CheckpointError> {
        let mut left = batches;
        while left > 0 {
            let page = self.page::<EventBatch>(&EventBatch::prefix_of(run), None, PAGE.min(left)).await?;
            if page.is_empty() {
                return Ok(());
            }
            left -= page.len();
            self.write(page.iter().map(|batch| batch.remove()).collect()).await?;
        }
        Ok(())
    }

    /// Removes the events of runs that have expired.
    pub(crate) async fn remove_expired_events(&self, now: u64) -> Result<(), CheckpointError> {
        loop {
            let page = self.page::<EventsExpiry>("", None, PAGE).await?;
            let expired: Vec<_> = page.iter().filter(|expiry| expiry.record.at <= now).collect();
            for expiry in &expired {
                self.remove_events(expiry.record.run, usize::MAX).await?;
                match self.write(vec![expiry.remove()]).await {
                    Ok(()) | Err(CheckpointError::ItemConflict { .. }) => {} // another server was faster
                    Err(error) => return Err(error),
                }
            }
            if expired.len() < PAGE {
                return Ok(());
            }
        }
    }
}
