//! The subscriptions of one connection, which read a thread together: each event is sent once, in the order of the thread, so that the end
//! of a run comes after what the run has done, whichever subscription asks for it. Must not know connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::sleep;
use uuid::Uuid;

use super::event::ProtocolEvent;
use super::filter::Filter;
use super::reader::ProtocolReader;
use crate::error::ApiResult;
use crate::panics::catch_panic_of;
use crate::server::Server;

/// The time before a new subscription begins: those that a client makes one after the other begin together, so that none of them has the
/// end of a run first.
const GATHERING: Duration = Duration::from_millis(20);

type Events = ApiResult<Vec<ProtocolEvent>>;

/// The subscriptions of a connection to a thread, by their ids.
pub(crate) struct Subscriptions {
    server: Arc<Server>,
    thread: String,
    all: HashMap<String, Subscription>,
    /// All events that one of them has not passed.
    events: BoxStream<'static, Events>,
}

struct Subscription {
    filter: Filter,
    /// The number of the newest event that came by, whether it was asked for or not.
    passed: u64,
}

impl Subscriptions {
    /// Returns no subscriptions to a thread, which need not be there yet.
    pub(crate) fn new(server: Arc<Server>, thread: String) -> Self {
        Self { server, thread, all: HashMap::new(), events: stream::empty().boxed() }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    /// Adds a subscription and returns its id. The others wait until it has had the events that they have passed.
    pub(crate) fn add(&mut self, filter: Filter) -> String {
        let id = Uuid::now_v7().to_string();
        self.all.insert(id.clone(), Subscription { passed: filter.since, filter });
        let first = self.all.values_mut().map(Subscription::continue_after).min().unwrap_or_default();
        self.events = read(ProtocolReader::new(&self.server, &self.thread, Filter::all_after(first)));
        id
    }

    /// Ends a subscription; returns whether it was there.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let was_there = self.all.remove(id).is_some();
        if self.all.is_empty() {
            self.events = stream::empty().boxed();
        }
        was_there
    }

    /// Returns the next events that a subscription asks for, once there are any; `None` if the thread is gone. Loses nothing if it is
    /// dropped before.
    pub(crate) async fn next(&mut self) -> Option<Events> {
        loop {
            let wanted = self.events.next().await?.map(|events| self.select(events));
            if wanted.as_ref().is_ok_and(Vec::is_empty) {
                continue;
            }
            return Some(wanted);
        }
    }

    fn select(&mut self, mut events: Vec<ProtocolEvent>) -> Vec<ProtocolEvent> {
        if let Some(last) = events.iter().map(|event| event.seq).max() {
            self.all.values_mut().for_each(|each| each.passed = each.passed.max(last));
        }
        events.retain(|event| self.all.values().any(|each| each.filter.has(event)));
        events
    }
}

impl Subscription {
    /// Leaves out the events that came by, and returns the number of the last of them.
    fn continue_after(&mut self) -> u64 {
        self.filter.since = self.passed;
        self.passed
    }
}

/// Returns the events of a thread, until it is gone or cannot be read. Those between now and the first one are made, as the reader is there.
fn read(reader: ProtocolReader) -> BoxStream<'static, Events> {
    let gathered = stream::once(sleep(GATHERING)).filter_map(async |()| None);
    let events = stream::unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        match catch_panic_of(reader.next()).await {
            Ok(Some(events)) => Some((Ok(events), Some(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    gathered.chain(events).fuse().boxed()
}
