//! The subscriptions of one connection. One reader of the thread serves them all, so each event is sent once and in order: the end of a
//! run never comes before its other events. Must not know connections.

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

/// The delay before a new subscription starts. Subscriptions that a client makes one after the other start together, so that none of them
/// gets the end of a run before another has its events.
const GATHERING: Duration = Duration::from_millis(20);

type Events = ApiResult<Vec<ProtocolEvent>>;

/// The subscriptions of a connection to a thread, by their ids.
pub(crate) struct Subscriptions {
    server: Arc<Server>,
    thread: String,
    /// Each filter starts after the newest event that was read for it.
    filters: HashMap<String, Filter>,
    /// The events after the earliest of these places.
    events: BoxStream<'static, Events>,
}

impl Subscriptions {
    /// Returns no subscriptions to a thread, which need not be there yet.
    pub(crate) fn new(server: Arc<Server>, thread: String) -> Self {
        Self { server, thread, filters: HashMap::new(), events: stream::empty().boxed() }
    }

    pub(crate) fn len(&self) -> usize {
        self.filters.len()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.filters.contains_key(id)
    }

    /// Adds a subscription and returns its id. The others wait until it has the events that they already got.
    pub(crate) fn add(&mut self, filter: Filter) -> String {
        let id = Uuid::now_v7().to_string();
        self.filters.insert(id.clone(), filter);
        let since = self.filters.values().map(|filter| filter.since).min().unwrap_or_default();
        self.events = read(ProtocolReader::new(&self.server, &self.thread, Filter::all_after(since)));
        id
    }

    /// Ends a subscription; returns whether it was there.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let was_there = self.filters.remove(id).is_some();
        if self.filters.is_empty() {
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
        let last = events.last().map_or(0, |event| event.seq);
        events.retain(|event| self.filters.values().any(|filter| filter.has(event)));
        self.filters.values_mut().for_each(|filter| filter.since = filter.since.max(last));
        events
    }
}

/// Returns the events of a thread, until it is gone or cannot be read. The reader exists during the delay, so a run makes its events.
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
