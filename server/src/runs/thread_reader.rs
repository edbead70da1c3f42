//! Reader of the events of all runs of a thread, one run after the other, for as long as the thread is there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use super::reader::EventReader;
use crate::error::ApiResult;
use crate::records::event::RunEvent;
use crate::records::run::RunRecord;
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

/// The next part of a thread's events.
pub(crate) enum ThreadPart {
    Events(Vec<(ThreadPlace, Arc<RunEvent>)>),
    /// A run has ended.
    Done(Uuid),
}

/// The runs of a thread in the order of their execution, for as long as the thread is there.
pub(crate) struct ThreadRuns {
    server: Arc<Server>,
    thread: String,
    created: watch::Receiver<()>,
    /// The last run that was found, by its id.
    last: Uuid,
    /// The run that was found last, if it was not returned yet.
    found: Option<RunRecord>,
    /// Runs that were created to start later, and were not returned yet.
    delayed: Vec<Uuid>,
    /// Set once the thread was there.
    is_known: bool,
}

impl ThreadRuns {
    /// Returns all runs of a thread, which need not be there yet.
    pub(crate) fn new(server: &Arc<Server>, thread: &str) -> Self {
        Self {
            server: Arc::clone(server),
            thread: thread.to_owned(),
            created: server.created.subscribe(),
            last: Uuid::nil(),
            found: None,
            delayed: vec![],
            is_known: false,
        }
    }

    /// Returns the runs of a thread after one.
    async fn after(server: &Arc<Server>, thread: &str, last: Uuid) -> ApiResult<Self> {
        let all = server.records.all::<RunRecord>(&RunRecord::prefix_of(thread)).await?;
        let waits = |run: &RunRecord| run.run <= last && run.starts_at.is_some() && !run.status.has_ended();
        let delayed = all.iter().filter(|run| waits(&run.record)).map(|run| run.record.run).collect();
        Ok(Self { last, delayed, is_known: true, ..Self::new(server, thread) })
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Returns the next run, once it was created; `None` if the thread is gone.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<RunRecord>> {
        loop {
            self.created.mark_unchanged();
            self.find().await?;
            let late = self.first_delayed().await?;
            let is_late =
                late.as_ref().is_some_and(|late| self.found.as_ref().is_none_or(|run| late.ordinal < run.ordinal));
            let next = if is_late { late } else { self.found.take() };
            if let Some(run) = next {
                self.delayed.retain(|delayed| *delayed != run.run);
                self.is_known = true;
                return Ok(Some(run));
            }
            match self.server.thread_record(&self.thread).await {
                Ok(_) => self.is_known = true,
                Err(error) if error.is_not_found() && self.is_known => return Ok(None),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                _ = self.created.changed() => {}
                () = sleep(PAUSE) => {}
            }
        }
    }

    /// Finds the next run that was created to start at once.
    async fn find(&mut self) -> ApiResult<()> {
        while self.found.is_none() {
            let Some(run) = self.server.records.run_after(&self.thread, self.last).await? else { return Ok(()) };
            self.last = run.run;
            match run.is_delayed {
                true => self.delayed.push(run.run),
                false => self.found = Some(run),
            }
        }
        Ok(())
    }

    /// Returns the first of the delayed runs that are in the queue by now, or were.
    async fn first_delayed(&mut self) -> ApiResult<Option<RunRecord>> {
        let mut first: Option<RunRecord> = None;
        for run in self.delayed.clone() {
            match self.server.records.run(&self.thread, run).await {
                Ok(found) if found.record.ordinal > 0 => {
                    let found = found.record;
                    first = Some(first.filter(|first| first.ordinal < found.ordinal).unwrap_or(found));
                }
                Ok(found) if !found.record.status.has_ended() => {}
                Ok(_) => self.delayed.retain(|delayed| *delayed != run), // it was cancelled before its time
                Err(error) if error.is_not_found() => self.delayed.retain(|delayed| *delayed != run),
                Err(error) => return Err(error),
            }
        }
        Ok(first)
    }
}

/// Reads the events of a thread.
pub(crate) struct ThreadReader {
    runs: ThreadRuns,
    /// The run that is read.
    current: Option<EventReader>,
}

impl ThreadReader {
    /// Returns a reader of the events after a place; without one, of those from now on.
    pub(crate) async fn new(server: &Arc<Server>, thread: &str, after: Option<ThreadPlace>) -> ApiResult<Self> {
        let record = server.thread_record(thread).await?.record;
        let newest = server.records.last_run(thread).await?.unwrap_or_default();
        let (last, number) = match (after, record.queue.first()) {
            (Some(ThreadPlace { run, number }), _) => (run, number.map(Some)),
            (None, Some(first)) => (*first, Some(None)),
            (None, None) => (newest, None),
        };
        let mut reader = Self { runs: ThreadRuns::after(server, thread, last).await?, current: None };
        if let Some(number) = number {
            reader.read(last, number).await?;
        }
        Ok(reader)
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        self.runs.server()
    }

    /// Reads a run from now on, after a number.
    async fn read(&mut self, run: Uuid, after: Option<u64>) -> ApiResult<()> {
        let server = &self.runs.server;
        let found = server.records.run(&self.runs.thread, run).await?.record;
        let after = match after {
            Some(after) => after,
            None => server.newest_event(&found).await?,
        };
        self.current = Some(EventReader::after(server, &found, after));
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
            let Some(run) = self.runs.next().await? else { return Ok(None) };
            self.current = Some(EventReader::after(&self.runs.server, &run, 0));
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
