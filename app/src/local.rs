//! [`Local`]: the thread service of a store that this process holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::failure::{Call, Failure, json, shape};
use super::graphs::AppGraphs;
use super::relocation::locate;
use super::service::{AnswerInput, AnswerRequest, EventSink, SignalInput, ThreadRequest, ThreadService, ThreadsQuery};
use super::shapes::{CheckpointReport, SignalReport, ThreadLine, ThreadReport};
use super::store::StoreLocation;
use super::threads::AppThread;
use superstep::checkpoint::spending::delete_thread;
use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, OwnerRequest, StoreKind, ThreadId, similar_threads,
};
use superstep::graph::interrupt::{SignalId, SignalRequest};
use superstep::graph::{Answer, InterruptId, RunError, StatusKind, ThreadFilter, ThreadInfo};

/// The time in which a cancelled run has to end.
pub(crate) const CANCEL: Duration = Duration::from_secs(10);
/// The interval at which its end is looked for.
const CANCEL_POLL: Duration = Duration::from_millis(10);

/// The interval at which new events of a run in another process are looked for.
const EVENT_POLL: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(crate) struct Local {
    pub graphs: Arc<AppGraphs>,
    pub store: Arc<dyn Checkpointer>,
    /// The folder of the store, if it is in one.
    pub folder: Option<PathBuf>,
}

/// The result of opening a store.
pub(crate) enum OpenedStore {
    Open(Local),
    /// Another process holds the store; the error names it.
    Locked(Failure),
}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    /// Writes, and creates the store if there is none.
    Create,
    /// Removes records: may use the reserve that the store has for a full disk.
    Remove,
    /// Reads; falls back to a read-only store if it cannot be written.
    Look,
    /// Reads, and never writes.
    ReadOnly,
}

async fn open_for_reading(store: &StoreLocation) -> Result<Arc<dyn Checkpointer>, CheckpointError> {
    match store.open().await {
        Err(error) if error.is_unwritable() => store.open_read_only().await.map_err(|_| error),
        opened => opened,
    }
}

impl Local {
    /// Opens a store; except to [create](Access::Create) it, it has to exist.
    pub(crate) async fn open(
        graphs: &Arc<AppGraphs>,
        store: &StoreLocation,
        access: Access,
    ) -> Result<OpenedStore, Failure> {
        if access != Access::Create {
            Self::find(store)?;
        }
        let opened = match access {
            Access::Write | Access::Create => store.open().await,
            Access::Remove => store.open_to_remove().await,
            Access::ReadOnly => store.open_read_only().await,
            Access::Look => open_for_reading(store).await,
        };
        let folder = store.folder().map(Path::to_path_buf);
        match opened {
            Ok(store) => Ok(OpenedStore::Open(Self { graphs: Arc::clone(graphs), store, folder })),
            Err(error @ CheckpointError::Locked { .. }) => Ok(OpenedStore::Locked(error.into())),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if there is no store in its directory.
    pub(crate) fn find(store: &StoreLocation) -> Result<(), Failure> {
        let Some(path) = store.folder() else { return Ok(()) };
        let is_there = StoreKind::is_at(path).map_err(|error| {
            Failure::new(format!("cannot access the store at {}: {error}", path.display()))
                .help("run as its owner, or use another store with `--store PATH` or SUPERSTEP_STORE")
        })?;
        if !is_there {
            let help = "`run` creates one; use another with `--store PATH` or SUPERSTEP_STORE";
            return Err(Failure::new(format!("there is no store at {}", path.display())).help(help));
        }
        Ok(())
    }

    /// Returns an existing thread. Its repository is found if it was moved.
    pub(crate) async fn thread(&self, name: &str) -> Result<AppThread, Failure> {
        let info = self.info(name).await?;
        let graph = self.graphs.of_thread(name, &info.graph)?;
        let thread = graph.thread(Arc::clone(&self.store), info.id);
        locate(&thread, name, self.folder.as_deref()).await?;
        Ok(thread)
    }

    pub(crate) async fn info(&self, name: &str) -> Result<ThreadInfo, Failure> {
        match ThreadInfo::read(&*self.store, &ThreadId::from(name)).await? {
            Some(info) => Ok(info),
            None => Err(self.unknown(name).await?),
        }
    }

    /// Deletes a thread of any graph, also of one that this program does not have.
    pub(crate) async fn delete(&self, id: &ThreadId) -> Result<(), Failure> {
        let lease = self.store.claim(id, Claim::IfFree).await?;
        Ok(delete_thread(&*self.store, &lease).await?)
    }

    async fn unknown(&self, name: &str) -> Result<Failure, Failure> {
        let thread = ThreadId::from(name);
        let near = similar_threads(&*self.store, &thread).await;
        Ok(RunError::UnknownThread { thread, near }.into())
    }

    async fn threads(&self, request: ThreadsQuery) -> Result<Vec<ThreadLine>, Failure> {
        if let Some(lines) = self.newest_lines(&request).await? {
            return Ok(lines);
        }
        page(self.lines(&request, &filter(&request)).await?, &request)
    }

    /// Returns a page by reading few more threads than it has. None if that needs all of them: if there is no limit, if the status,
    /// which may depend on the graph, chooses among them, or if the page begins after a thread that is not found so.
    async fn newest_lines(&self, request: &ThreadsQuery) -> Result<Option<Vec<ThreadLine>>, Failure> {
        let Some(limit) = request.limit.filter(|_| !request.waiting && request.status.is_none()) else {
            return Ok(None);
        };
        let mut all = filter(request);
        if let Some(after) = &request.after {
            let Ok(Some(after)) = ThreadInfo::read(&*self.store, &ThreadId::from(after.as_str())).await else {
                return Ok(None);
            };
            all = up_to(all, request, after.updated_at);
        }
        let mut newest = limit.saturating_add(1);
        loop {
            let lines = self.lines(request, &all.clone().newest(newest)).await?;
            let is_all = lines.len() < newest;
            let Ok(page) = page(lines, request) else { return Ok(None) };
            if page.len() >= limit || is_all {
                return Ok(Some(page));
            }
            newest = newest.saturating_mul(2); // many are as new as the last one
        }
    }

    /// Returns the lines of the threads that match, the latest first.
    async fn lines(&self, request: &ThreadsQuery, filter: &ThreadFilter) -> Result<Vec<ThreadLine>, Failure> {
        let mut lines = vec![];
        for info in filter.page(&*self.store).await?.threads {
            if request.waiting && info.status != StatusKind::Interrupted {
                continue;
            }
            let asked = request.waiting || self.needs_graph(&info);
            let report = if asked { Some(self.report(&info).await) } else { None };
            let line = line(&info, report)?;
            let fits = request.status.as_ref().is_none_or(|status| *status == line.status);
            let asks = !request.waiting || line.status == StatusKind::Interrupted.as_str();
            lines.extend((fits && asks).then_some(line));
        }
        lines.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.thread.cmp(&b.thread)));
        Ok(lines)
    }

    /// Returns true if the status depends on the graph: its breakpoints, or a migration.
    fn needs_graph(&self, info: &ThreadInfo) -> bool {
        let Some(graph) = self.graphs.find(&info.graph) else { return false };
        let ended =
            matches!(info.status, StatusKind::New | StatusKind::Finished | StatusKind::Running | StatusKind::Damaged);
        let stopped = info.status == StatusKind::Pending && (info.has_stops || graph.graph.has_breakpoints());
        stopped || (!ended && info.fingerprint != graph.graph.fingerprint())
    }

    async fn report(&self, info: &ThreadInfo) -> Result<ThreadReport, Failure> {
        let graph = self.graphs.of_thread(info.id.as_str(), &info.graph)?;
        graph.thread(Arc::clone(&self.store), info.id.clone()).report().await
    }

    async fn show(&self, thread: &str, at: Option<u64>, task: Option<String>) -> Result<CheckpointReport, Failure> {
        let thread = self.thread(thread).await?;
        let mut shown = thread.show(at.map(CheckpointId)).await?;
        let tasks = &mut shown.snapshot.tasks;
        let Some(task) = task else {
            tasks.iter_mut().for_each(|task| task.input = None); // it is the state above, most often
            return Ok(shown);
        };
        let ids: Vec<String> = tasks.iter().map(|task| format!("{} ({})", task.id, task.node)).collect();
        tasks.retain(|shown| shown.id == task || shown.node == task);
        if tasks.is_empty() {
            let help = if ids.is_empty() { "it has none".into() } else { format!("its tasks are {}", ids.join(", ")) };
            let error = format!("checkpoint {} has no task `{task}`", shown.snapshot.info.checkpoint);
            return Err(Failure::new(error).help(help));
        }
        Ok(shown)
    }

    async fn send(&self, request: SignalInput) -> Result<Value, Failure> {
        let SignalInput { thread, name, value, by, note, key } = request;
        let thread = self.thread(&thread).await?;
        let mut request = SignalRequest::json(name, &value);
        request = by.into_iter().fold(request, SignalRequest::by);
        request = note.into_iter().fold(request, SignalRequest::note);
        request = key.into_iter().fold(request, SignalRequest::key);
        let signal = thread.send(request).await?.to_string();
        json(&SignalReport { signal, report: thread.report().await? })
    }

    /// Cancels the run of a thread, in whichever process it is, and waits for its end.
    async fn cancel(&self, name: &str) -> Result<Value, Failure> {
        let id = self.info(name).await?.id;
        let Some(owner) = self.store.send(&id, OwnerRequest::Cancel).await? else {
            let error = format!("thread `{name}` is not running: there is nothing to cancel");
            return Err(Failure::new(error).hint("`{status}` shows its status"));
        };
        let ended = async {
            while self.store.owner(&id).await?.is_some_and(|now| now.is_same(&owner)) {
                sleep(CANCEL_POLL).await;
            }
            Ok::<(), CheckpointError>(())
        };
        timeout(CANCEL, ended).await.map_err(|_| still_running(name))??;
        json(&self.thread(name).await?.report().await?)
    }

    async fn record(&self, request: AnswerRequest) -> Result<Value, Failure> {
        let thread = self.thread(&request.thread).await?;
        let answer = answer(&thread, request).await?;
        thread.record(answer).await?;
        json(&thread.report().await?)
    }
}

impl ThreadService for Local {
    fn call(&self, request: ThreadRequest) -> Call<'_, Value> {
        Box::pin(async move {
            match request {
                ThreadRequest::Threads(request) => json(&self.threads(request).await?),
                ThreadRequest::Status { thread } => json(&self.thread(&thread).await?.report().await?),
                ThreadRequest::History { thread, channel, limit, tasks } => {
                    let thread = self.thread(&thread).await?;
                    let limit = limit.unwrap_or(usize::MAX);
                    json(&match tasks {
                        true => thread.history_with_tasks(limit).await?,
                        false => thread.history(limit, channel.as_deref()).await?,
                    })
                }
                ThreadRequest::Show { thread, at, task } => json(&self.show(&thread, at, task).await?),
                ThreadRequest::Events { thread } | ThreadRequest::Follow { thread } => {
                    json(&self.thread(&thread).await?.events(None).await?)
                }
                ThreadRequest::Draft { thread, interrupt } => {
                    json(&self.thread(&thread).await?.draft(question_id(interrupt)?).await?)
                }
                ThreadRequest::Watch { thread } => self.info(&thread).await.map(|_| Value::Null),
                ThreadRequest::Answer(request) => self.record(request).await,
                ThreadRequest::Signal(request) => self.send(request).await,
                ThreadRequest::Discard { thread, signal } => discard(&self.thread(&thread).await?, &signal).await,
                ThreadRequest::Cancel { thread } => self.cancel(&thread).await,
            }
        })
    }

    /// Returns the recorded events, and goes on as long as another process runs the thread on a store that both share.
    fn follow<'a>(&'a self, request: ThreadRequest, sink: EventSink<'a>) -> Call<'a, ()> {
        Box::pin(async move {
            match request {
                ThreadRequest::Follow { thread } => self.follow_recorded(&thread, 0, sink).await,
                ThreadRequest::Watch { thread } => {
                    // A running thread shows what comes from now on: which of its events are of this run is not recorded.
                    let known = self.thread(&thread).await?.events(None).await?.len();
                    self.follow_recorded(&thread, known, sink).await
                }
                other => {
                    let events = self.call(other).await?;
                    _ = events.as_array().is_none_or(|events| events.iter().cloned().all(sink));
                    Ok(())
                }
            }
        })
    }
}

impl Local {
    /// Sends the recorded events of a thread after the first `sent`, until nobody runs it or nobody listens.
    async fn follow_recorded(&self, name: &str, mut sent: usize, sink: EventSink<'_>) -> Result<(), Failure> {
        let thread = self.thread(name).await?;
        let mut changes = self.store.watch();
        loop {
            let began = Instant::now();
            // Asked before the events are read: what a run stored before its end is among them.
            let is_running = self.store.owner(&thread.id).await?.is_some();
            let events = thread.events(None).await?;
            let wants_more = events.iter().skip(sent).cloned().all(&mut *sink);
            sent = sent.max(events.len());
            if !is_running || !wants_more {
                return Ok(());
            }
            // A long history takes a while to read: then it is read more rarely.
            let pause = EVENT_POLL.max(began.elapsed() * 10);
            tokio::select! {
                () = changes.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }
}

/// Returns the error of a cancelled run that does not end in time.
pub(crate) fn still_running(name: &str) -> Failure {
    let error = format!("the run of thread `{name}` was cancelled but has not ended yet: a task is still running");
    Failure::new(error).hint("`{status}` shows when it has ended")
}

/// Returns the lines of a page.
fn page(mut lines: Vec<ThreadLine>, request: &ThreadsQuery) -> Result<Vec<ThreadLine>, Failure> {
    if let Some(after) = &request.after {
        let last = lines.iter().position(|line| line.thread == *after).ok_or_else(|| {
            Failure::usage(format!("the list has no thread `{after}`"))
                .help("give the last thread of the previous page, with the same options")
        })?;
        lines.drain(..=last);
    }
    lines.truncate(request.limit.unwrap_or(usize::MAX));
    Ok(lines)
}

/// Narrows a filter to the threads that are not newer than a time, in milliseconds since 1970.
fn up_to(filter: ThreadFilter, request: &ThreadsQuery, time: u64) -> ThreadFilter {
    let end = time.saturating_add(1);
    let before = request.before.map_or(end, |before| before.min(end));
    filter.updated_before(SystemTime::UNIX_EPOCH + Duration::from_millis(before))
}

/// Returns the part of a filter that records alone can answer; the status of some threads only their graph knows.
fn filter(request: &ThreadsQuery) -> ThreadFilter {
    let time = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    let mut filter = ThreadFilter::new().prefix(&request.prefix);
    filter = request.graph.iter().fold(filter, ThreadFilter::graph);
    filter = request.metadata.iter().fold(filter, |filter, (key, value)| filter.metadata(key, value));
    filter = request.since.map(time).into_iter().fold(filter, ThreadFilter::updated_since);
    request.before.map(time).into_iter().fold(filter, ThreadFilter::updated_before)
}

/// Returns a line of the thread list. An unreadable thread does not hide the others.
fn line(info: &ThreadInfo, report: Option<Result<ThreadReport, Failure>>) -> Result<ThreadLine, Failure> {
    let mut line: ThreadLine = shape(info)?;
    match report {
        None => {}
        Some(Err(failure)) => line.reason = Some(failure.error),
        Some(Ok(report)) => {
            let position = report.position;
            line.reason = position.reason.filter(|_| position.status == StatusKind::NeedsMigration.as_str());
            (line.questions, line.status) = (position.questions, position.status);
        }
    }
    Ok(line)
}

/// Converts an answer of the command line to the answer of the question's type.
pub(crate) async fn answer(thread: &AppThread, request: AnswerRequest) -> Result<Answer, Failure> {
    let AnswerRequest { says, interrupt, by, note, .. } = request;
    let to = question_id(interrupt)?;
    let mut answer = match says {
        AnswerInput::Json(value) => {
            thread.check(to, Some(&value)).await?;
            let answer = Answer::json(&value);
            if let Some(to) = to { answer.to(to) } else { answer }
        }
        AnswerInput::Cancel => {
            thread.check(to, None).await?;
            let answer = Answer::cancel();
            if let Some(to) = to { answer.to(to) } else { answer }
        }
        AnswerInput::Reply(reply) => thread.decide(to, &reply).await?,
        AnswerInput::Edited(text) => thread.edited_answer(to, text).await?,
    };
    if let Some(by) = by {
        answer = answer.by(by);
    }
    Ok(if let Some(note) = note { answer.note(note) } else { answer })
}

fn question_id(given: Option<String>) -> Result<Option<InterruptId>, Failure> {
    let id = given.map(|id| id.parse::<InterruptId>()).transpose();
    id.map_err(|error| Failure::usage(error.to_string()).hint("`{status}` lists the pending questions"))
}

async fn discard(thread: &AppThread, signal: &str) -> Result<Value, Failure> {
    let hint = "`{status}` lists the signals in the mailbox";
    let id = signal.parse::<SignalId>().map_err(|error| Failure::usage(error.to_string()).hint(hint))?;
    thread.discard(id).await?;
    json(&thread.report().await?)
}
