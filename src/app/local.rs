//! The desk in this process: it holds the store.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use super::decide::{Reply, Verdict};
use super::desk::{AnswerAsk, Ask, Desk, Saying, SignalAsk, Tell, ThreadsAsk};
use super::erased::{AnyThread, Call};
use super::failure::Failure;
use super::graphs::Graphs;
use super::shapes::{Asked, Sent, Shown, Stand, ThreadLine};
use crate::checkpoint::unknown_thread::near_threads;
use crate::checkpoint::{CheckpointError, CheckpointId, Checkpointer, Claim, SledCheckpointer, SledOptions, ThreadId};
use crate::graph::{
    Answer, InterruptId, Question, RunError, SignalId, SignalRequest, StatusKind, ThreadFilter, ThreadInfo,
};

pub(crate) struct Local {
    pub graphs: Arc<Graphs>,
    pub store: Arc<dyn Checkpointer>,
}

/// The result of opening a store.
pub(crate) enum Opening {
    Open(Local),
    /// Another process holds it: which one, and since when.
    Held(Failure),
}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To write.
    Write,
    /// To remove from it: where the disk is full, with the reserve that the store has for this.
    Remove,
    /// To look at: where it cannot be written, it is only read.
    Look,
    /// To be read, and never written.
    ReadOnly,
}

/// Opens a store to look at it: a full disk or a read-only medium is no obstacle.
fn look(path: &Path) -> Result<SledCheckpointer, CheckpointError> {
    match SledCheckpointer::open(path) {
        Err(error) if error.is_unwritable() => SledCheckpointer::open_read_only(path).map_err(|_| error),
        opened => opened,
    }
}

impl Local {
    /// Opens a store that must be there, unless another process holds it.
    pub(crate) fn open(graphs: &Arc<Graphs>, path: &Path, access: Access) -> Result<Opening, Failure> {
        Self::find(path)?;
        match access {
            Access::Write => Self::create(graphs, path),
            Access::Remove => {
                let options = SledOptions { spend_reserve: true, ..SledOptions::default() };
                Self::opening(graphs, SledCheckpointer::open_with(path, options))
            }
            Access::ReadOnly => Self::opening(graphs, SledCheckpointer::open_read_only(path)),
            Access::Look => Self::opening(graphs, look(path)),
        }
    }

    /// Fails if there is no store.
    fn find(path: &Path) -> Result<(), Failure> {
        let holder = path.join("holder");
        let is_there = holder.try_exists().map_err(|error| {
            Failure::new(format!("cannot look for a store at {}: {error}", path.display()))
                .help("be its owner, or name another store with `--store PATH` or SUPERSTEP_STORE")
        })?;
        if !is_there {
            let help = "a `run` makes one; name another with `--store PATH` or SUPERSTEP_STORE";
            return Err(Failure::new(format!("there is no store at {}", path.display())).help(help));
        }
        Ok(())
    }

    /// Opens a store, or makes one.
    pub(crate) fn create(graphs: &Arc<Graphs>, path: &Path) -> Result<Opening, Failure> {
        Self::opening(graphs, SledCheckpointer::open(path))
    }

    fn opening(graphs: &Arc<Graphs>, opened: Result<SledCheckpointer, CheckpointError>) -> Result<Opening, Failure> {
        match opened {
            Ok(store) => Ok(Opening::Open(Self { graphs: Arc::clone(graphs), store: Arc::new(store) })),
            Err(error @ CheckpointError::Locked { .. }) => Ok(Opening::Held(error.into())),
            Err(error) => Err(error.into()),
        }
    }

    /// A thread that must be there.
    pub(crate) async fn thread(&self, name: &str) -> Result<Arc<dyn AnyThread>, Failure> {
        let info = self.info(name).await?;
        let graph = self.graphs.of_thread(name, &info.graph)?;
        Ok(graph.thread(Arc::clone(&self.store), info.id))
    }

    pub(crate) async fn info(&self, name: &str) -> Result<ThreadInfo, Failure> {
        match ThreadInfo::read(&*self.store, &ThreadId::from(name)).await? {
            Some(info) => Ok(info),
            None => Err(self.unknown(name).await?),
        }
    }

    /// Deletes a thread, of whichever graph.
    pub(crate) async fn delete(&self, id: &ThreadId) -> Result<(), Failure> {
        let lease = self.store.claim(id, Claim::IfFree).await?;
        Ok(self.store.delete_thread(&lease).await?)
    }

    async fn unknown(&self, name: &str) -> Result<Failure, Failure> {
        let thread = ThreadId::from(name);
        let near = near_threads(&*self.store, &thread).await;
        Ok(RunError::UnknownThread { thread, near }.into())
    }

    async fn threads(&self, ask: ThreadsAsk) -> Result<Vec<ThreadLine>, Failure> {
        let mut lines = vec![];
        for info in filter(&ask).page(&*self.store).await?.threads {
            if ask.waiting && info.standing != StatusKind::Interrupted {
                continue;
            }
            let asked = ask.waiting || self.only_its_graph_knows(&info);
            let stand = if asked { Some(self.stand(&info).await) } else { None };
            let line = line(&info, stand);
            let fits = ask.status.as_ref().is_none_or(|status| *status == line.status);
            let asks = !ask.waiting || line.status == StatusKind::Interrupted.as_str();
            lines.extend((fits && asks).then_some(line));
        }
        lines.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.thread.cmp(&b.thread)));
        if let Some(after) = &ask.after {
            let last = lines.iter().position(|line| line.thread == *after).ok_or_else(|| {
                Failure::usage(format!("the list has no thread `{after}`"))
                    .help("give the last thread of the page before, with the same options")
            })?;
            lines.drain(..=last);
        }
        lines.truncate(ask.limit.unwrap_or(usize::MAX));
        Ok(lines)
    }

    /// Only a graph knows its breakpoints, and whether it can go on with what another version of it stored.
    fn only_its_graph_knows(&self, info: &ThreadInfo) -> bool {
        let Some(graph) = self.graphs.find(&info.graph) else { return false };
        let ended =
            matches!(info.standing, StatusKind::New | StatusKind::Finished | StatusKind::Running | StatusKind::Damaged);
        let stopped = info.standing == StatusKind::Pending && (info.has_stops || graph.has_breakpoints());
        stopped || (!ended && info.fingerprint != graph.fingerprint())
    }

    async fn stand(&self, info: &ThreadInfo) -> Result<Stand, Failure> {
        let graph = self.graphs.of_thread(info.id.as_str(), &info.graph)?;
        graph.thread(Arc::clone(&self.store), info.id.clone()).stand().await
    }

    async fn show(&self, thread: &str, at: Option<u64>, task: Option<String>) -> Result<Shown, Failure> {
        let thread = self.thread(thread).await?;
        let mut shown = thread.show(at.map(CheckpointId)).await?;
        let Some(task) = task else {
            shown.tasks.iter_mut().for_each(|task| task.input = None); // it is the state above, most often
            return Ok(shown);
        };
        let ids: Vec<String> = shown.tasks.iter().map(|task| format!("{} ({})", task.id, task.node)).collect();
        shown.tasks.retain(|shown| shown.id == task || shown.node == task);
        if shown.tasks.is_empty() {
            let help = if ids.is_empty() { "it has none".into() } else { format!("its tasks are {}", ids.join(", ")) };
            let error = format!("checkpoint {} has no task `{task}`", shown.info.checkpoint);
            return Err(Failure::new(error).help(help));
        }
        Ok(shown)
    }

    async fn send(&self, ask: SignalAsk) -> Result<Value, Failure> {
        let SignalAsk { thread, name, value, by, note, key } = ask;
        let thread = self.thread(&thread).await?;
        let mut request = SignalRequest::json(name, &value);
        request = by.into_iter().fold(request, SignalRequest::by);
        request = note.into_iter().fold(request, SignalRequest::note);
        request = key.into_iter().fold(request, SignalRequest::key);
        let signal = thread.send(request).await?.to_string();
        json(&Sent { signal, stand: thread.stand().await? })
    }

    async fn record(&self, ask: AnswerAsk) -> Result<Value, Failure> {
        let thread = self.thread(&ask.thread).await?;
        let answer = answer(&*thread, ask).await?;
        thread.record(answer).await?;
        json(&thread.stand().await?)
    }
}

impl Desk for Local {
    fn ask(&self, ask: Ask) -> Call<'_, Value> {
        Box::pin(async move {
            match ask {
                Ask::Threads(ask) => json(&self.threads(ask).await?),
                Ask::Status { thread } => json(&self.thread(&thread).await?.stand().await?),
                Ask::History { thread, channel, limit, tasks } => {
                    let thread = self.thread(&thread).await?;
                    let limit = limit.unwrap_or(usize::MAX);
                    json(&match tasks {
                        true => thread.worked(limit).await?,
                        false => thread.history(limit, channel.as_deref()).await?,
                    })
                }
                Ask::Show { thread, at, task } => json(&self.show(&thread, at, task).await?),
                Ask::Events { thread } | Ask::Follow { thread } => {
                    json(&self.thread(&thread).await?.events(None).await?)
                }
                Ask::Draft { thread, interrupt } => {
                    json(&self.thread(&thread).await?.draft(question_id(interrupt)?).await?)
                }
                Ask::Watch { thread } => self.info(&thread).await.map(|_| Value::Null),
                Ask::Answer(ask) => self.record(ask).await,
                Ask::Signal(ask) => self.send(ask).await,
                Ask::Discard { thread, signal } => discard(&*self.thread(&thread).await?, &signal).await,
                Ask::Cancel { thread } => {
                    self.info(&thread).await?;
                    let error = format!("thread `{thread}` is not running: there is nothing to cancel");
                    Err(Failure::new(error).hint("`{status}` tells how it stands"))
                }
            }
        })
    }

    /// Nothing happens while nobody else holds the store.
    fn follow<'a>(&'a self, ask: Ask, tell: Tell<'a>) -> Call<'a, ()> {
        Box::pin(async move {
            let events = self.ask(ask).await?;
            _ = events.as_array().is_none_or(|events| events.iter().cloned().all(tell));
            Ok(())
        })
    }
}

/// Returns the part of a filter that records alone can answer; the status of some threads only their graph knows.
fn filter(ask: &ThreadsAsk) -> ThreadFilter {
    let time = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    let mut filter = ThreadFilter::new().prefix(&ask.prefix);
    filter = ask.graph.iter().fold(filter, ThreadFilter::graph);
    filter = ask.metadata.iter().fold(filter, |filter, (key, value)| filter.metadata(key, value));
    filter = ask.since.map(time).into_iter().fold(filter, ThreadFilter::updated_since);
    ask.before.map(time).into_iter().fold(filter, ThreadFilter::updated_before)
}

/// A thread in a list, with what its graph says of it. What keeps one from being read hides no other.
fn line(info: &ThreadInfo, stand: Option<Result<Stand, Failure>>) -> ThreadLine {
    let asked = |question: &Question| Asked { question: question.into(), ..Asked::default() };
    let mut line = ThreadLine::of(info, &asked);
    match stand {
        None => {}
        Some(Err(failure)) => line.reason = Some(failure.error),
        Some(Ok(stand)) => {
            let position = stand.position;
            line.reason = position.reason.filter(|_| position.status == StatusKind::NeedsMigration.as_str());
            (line.questions, line.status) = (position.questions, position.status);
        }
    }
    line
}

/// Makes the answer that was meant.
pub(crate) async fn answer(thread: &dyn AnyThread, ask: AnswerAsk) -> Result<Answer, Failure> {
    let AnswerAsk { says, interrupt, by, note, .. } = ask;
    let to = question_id(interrupt)?;
    let mut answer = match says {
        Saying::Json(value) => {
            thread.check(to, &value).await?;
            let answer = Answer::json(&value);
            if let Some(to) = to { answer.to(to) } else { answer }
        }
        Saying::Cancel => {
            let answer = Answer::cancel();
            if let Some(to) = to { answer.to(to) } else { answer }
        }
        Saying::Approve => thread.decide(to, &reply(Verdict::Approve, None, &by)).await?,
        Saying::Reject(feedback) => thread.decide(to, &reply(Verdict::Reject, feedback, &by)).await?,
        Saying::Edited(text) => thread.edited(to, text).await?,
        Saying::Revise(feedback) => thread.decide(to, &reply(Verdict::Revise, Some(feedback), &by)).await?,
    };
    if let Some(by) = by {
        answer = answer.by(by);
    }
    Ok(if let Some(note) = note { answer.note(note) } else { answer })
}

fn question_id(given: Option<String>) -> Result<Option<InterruptId>, Failure> {
    let id = given.map(|id| id.parse::<InterruptId>()).transpose();
    id.map_err(|error| Failure::usage(error.to_string()).hint("`{status}` lists the open questions"))
}

fn reply(verdict: Verdict, feedback: Option<String>, by: &Option<String>) -> Reply {
    Reply { verdict, feedback, by: by.clone() }
}

async fn discard(thread: &dyn AnyThread, signal: &str) -> Result<Value, Failure> {
    let hint = "`{status}` lists the signals in the mailbox";
    let id = signal.parse::<SignalId>().map_err(|error| Failure::usage(error.to_string()).hint(hint))?;
    thread.discard(id).await?;
    json(&thread.stand().await?)
}

pub(crate) fn json(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::new(format!("the reply is no JSON: {error}")))
}
