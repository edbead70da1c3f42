//! The events of a thread as those of the protocol, run after run, for as long as the thread is there. Knows where runs and their events
//! are; must not know connections.

use std::sync::Arc;

use serde_json::Value;

use super::conversion::RunConverter;
use super::event::{ProtocolEvent, RunNumbers};
use super::filter::Filter;
use crate::error::ApiResult;
use crate::records::event::RunEvent;
use crate::records::run::{RunRecord, RunStatus};
use crate::runs::reader::EventReader;
use crate::runs::thread_reader::ThreadRuns;
use crate::server::Server;
use crate::wire::interrupts;

/// Reads the events of a thread that a filter asks for: those that are stored, and then those that come.
pub(crate) struct ProtocolReader {
    runs: ThreadRuns,
    thread: String,
    filter: Filter,
    current: Option<RunReader>,
}

/// Reads the events of one run.
struct RunReader {
    events: EventReader,
    converter: RunConverter,
    has_started: bool,
}

impl ProtocolReader {
    /// Returns a reader of a thread, which need not be there yet.
    pub(crate) fn new(server: &Arc<Server>, thread: &str, filter: Filter) -> Self {
        Self { runs: ThreadRuns::new(server, thread), thread: thread.to_owned(), filter, current: None }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        self.runs.server()
    }

    /// Returns the next events, once there are any; `None` if the thread is gone.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<Vec<ProtocolEvent>>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(run) = self.runs.next().await? else { return Ok(None) };
                if !RunNumbers::of(&run).is_over_at(self.filter.since) {
                    self.current = Some(RunReader::new(self.runs.server(), &run));
                }
                continue;
            };
            let events = match current.events.next().await? {
                Some(events) => current.convert(&events),
                None => {
                    let last = current.end(&self.thread).await?;
                    self.current = None;
                    last
                }
            };
            let wanted: Vec<_> = events.into_iter().filter(|event| self.filter.has(event)).collect();
            if !wanted.is_empty() {
                return Ok(Some(wanted));
            }
        }
    }
}

impl RunReader {
    fn new(server: &Arc<Server>, run: &RunRecord) -> Self {
        Self { events: EventReader::after(server, run, 0), converter: RunConverter::new(run), has_started: false }
    }

    fn start(&mut self, at: u64) -> Vec<ProtocolEvent> {
        match std::mem::replace(&mut self.has_started, true) {
            true => vec![],
            false => self.converter.start(at),
        }
    }

    fn convert(&mut self, events: &[Arc<RunEvent>]) -> Vec<ProtocolEvent> {
        let mut converted = self.start(events.first().map_or(0, |first| first.at));
        converted.extend(events.iter().flat_map(|event| self.converter.convert(event)));
        converted
    }

    /// Returns the last events of a run that has ended.
    async fn end(&mut self, thread: &str) -> ApiResult<Vec<ProtocolEvent>> {
        let server = self.events.server();
        let run = match server.records.run(thread, self.events.run().run).await {
            Ok(found) => Some(found.record),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let asked = match &run {
            Some(run) if run.is_open && run.status == RunStatus::Success => server.questions_since(run).await?,
            _ => vec![],
        };
        let mut events = self.start(0);
        events.extend(self.converter.end(run.as_ref(), &asked));
        Ok(events)
    }
}

impl Server {
    /// Returns the open questions of a thread, if no run was queued after one: then they are its own.
    async fn questions_since(&self, run: &RunRecord) -> ApiResult<Vec<Value>> {
        match self.thread_record(&run.thread).await {
            Ok(thread) if thread.record.created_runs == run.ordinal => self.open_questions(&run.thread).await,
            Ok(_) => Ok(vec![]),
            Err(error) if error.is_not_found() => Ok(vec![]),
            Err(error) => Err(error),
        }
    }

    /// Returns the open questions of a thread.
    pub(super) async fn open_questions(&self, thread: &str) -> ApiResult<Vec<Value>> {
        let (graph, handle) = match self.thread(thread).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(vec![]),
            Err(error) if error.is_not_found() => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let Some(snapshot) = handle.state().await? else { return Ok(vec![]) };
        let mut open = interrupts(snapshot.questions().filter(|question| !question.is_answered()));
        let secrets = self.secrets_of(graph, thread, &snapshot).await?;
        open.iter_mut().for_each(|question| secrets.hide(question));
        Ok(open)
    }

    /// Returns the events of a run that are there now.
    pub(super) async fn present_events(&self, run: &RunRecord) -> ApiResult<Vec<Arc<RunEvent>>> {
        let mut events: Vec<Arc<RunEvent>> = vec![];
        loop {
            let last = events.last().map_or(0, |event| event.number);
            let stored = self.records.events_after(run.run, last).await?;
            if stored.is_empty() {
                events.extend(self.feeds.of(run.run).after(last).events);
                return Ok(events);
            }
            events.extend(stored);
        }
    }
}
