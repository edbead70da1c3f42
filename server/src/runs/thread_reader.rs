//! Reader of the events of all runs of a thread, one run after the other, for as long as the thread is there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use super::reader::EventReader;
use crate::error::ApiResult;
use crate::records::event::RunEvent;
use crate::server::Server;

/// The pause before the store is asked again for a run that another process created.
const PAUSE: Duration = Duration::from_millis(500);

/// A place in the events of a thread: `RUN/NUMBER`, or `RUN/done` after the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadPlace {
    run: Uuid,
    /// None after the end of the run.
    number: Option<u64>,
}

impl ThreadPlace {
    /// Reads the id of an event; `None` for another text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (run, number) = text.split_once('/')?;
        let number = if number == "done" { None } else { Some(number.parse().ok()?) };
        Some(Self { run: run.parse().ok()?, number })
    }
}

impl std::fmt::Display for ThreadPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}/{number}", self.run),
            None => write!(f, "{}/done", self.run),
        }
    }
}

/// What comes next in the events of a thread.
pub(crate) enum ThreadPart {
    Events(Vec<(ThreadPlace, Arc<RunEvent>)>),
    /// A run has ended.
    Done(Uuid),
}

/// Reads the events of a thread.
pub(crate) struct ThreadReader {
    server: Arc<Server>,
    thread: String,
    created: watch::Receiver<()>,
    /// The run that is read.
    current: Option<EventReader>,
    /// The last run that was read, or is.
    last: Uuid,
}

impl ThreadReader {
    /// Returns a reader of the events after a place; without one, of those from now on.
    pub(crate) async fn new(server: &Arc<Server>, thread: &str, after: Option<ThreadPlace>) -> ApiResult<Self> {
        let record = server.thread_record(thread).await?.record;
        let created = server.created.subscribe();
        let mut reader =
            Self { server: Arc::clone(server), thread: thread.to_owned(), created, current: None, last: Uuid::nil() };
        match (after, record.queue.first()) {
            (Some(ThreadPlace { run, number: None }), _) => reader.last = run,
            (Some(ThreadPlace { run, number: Some(number) }), _) => reader.read(run, Some(number)).await?,
            (None, Some(first)) => reader.read(*first, None).await?,
            (None, None) => reader.last = server.records.last_run(thread).await?.unwrap_or_default(),
        }
        Ok(reader)
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Reads a run from now on, after a number.
    async fn read(&mut self, run: Uuid, after: Option<u64>) -> ApiResult<()> {
        let found = self.server.records.run(&self.thread, run).await?.record;
        let after = match after {
            Some(after) => after,
            None => self.server.newest_event(&found).await?,
        };
        self.last = run;
        self.current = Some(EventReader::after(&self.server, &found, after));
        Ok(())
    }

    /// Returns what comes next, once there is anything; `None` if the thread is gone.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<ThreadPart>> {
        loop {
            if let Some(current) = &mut self.current {
                let run = current.run().run;
                let Some(events) = current.next().await? else {
                    self.current = None;
                    return Ok(Some(ThreadPart::Done(run)));
                };
                let place = |event: &Arc<RunEvent>| ThreadPlace { run, number: Some(event.number) };
                return Ok(Some(ThreadPart::Events(events.into_iter().map(|event| (place(&event), event)).collect())));
            }
            self.created.mark_unchanged();
            match self.server.records.run_after(&self.thread, self.last).await? {
                Some(run) => {
                    self.last = run.run;
                    self.current = Some(EventReader::after(&self.server, &run, 0));
                }
                None if self.server.thread_record(&self.thread).await.is_err_and(|error| error.is_not_found()) => {
                    return Ok(None);
                }
                None => tokio::select! {
                    _ = self.created.changed() => {}
                    () = sleep(PAUSE) => {}
                },
            }
        }
    }
}

/// Returns the place after the end of a run.
pub(crate) fn after_run(run: Uuid) -> ThreadPlace {
    ThreadPlace { run, number: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_shown() {
        let run = Uuid::now_v7();
        for place in [ThreadPlace { run, number: Some(7) }, after_run(run)] {
            assert_eq!(ThreadPlace::parse(&place.to_string()), Some(place));
        }
        assert_eq!(ThreadPlace::parse("7"), None);
    }
}
