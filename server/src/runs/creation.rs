//! Runs as they are created, of requests and for threads that go on by themselves; and runs that are stopped. Must not know routes.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::checkpoint::ItemWrite;
use uuid::Uuid;

use super::answers::check_answers;
use super::check::CheckedRun;
use super::execution::user_interrupt;
use super::queue::NewRun;
use super::reader::EventReader;
use super::request::RunBody;
use super::schedule::execute;
use crate::activity::ActivityKind;
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::AssistantRecord;
use crate::records::run::{RunRecord, RunStatus};
use crate::records::thread::PendingAnswer;
use crate::security::secrets::secret_channels;
use crate::server::Server;

/// Metadata of a run that no client asked for.
const OWN: (&str, &str) = ("created_by", "system");

/// The way in which a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopAction {
    /// It ends; its checkpoints stay.
    Interrupt,
    /// It is removed with its checkpoints.
    Rollback,
}

impl StopAction {
    /// Reads the action of a request.
    pub(crate) fn parse(text: Option<&str>) -> ApiResult<Self> {
        match text {
            None | Some("interrupt") => Ok(Self::Interrupt),
            Some("rollback") => Ok(Self::Rollback),
            Some(other) => {
                Err(ApiError::invalid(format!("there is no action `{other}`: the actions are interrupt, rollback")))
            }
        }
    }
}

/// The reader of a run while it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Its values at the end.
    OfEnd,
    /// Its events, now or later.
    OfEvents,
}

impl Server {
    /// Creates a run of a thread, or of a new one that ends with it, and starts to execute it.
    pub(crate) async fn create_run(
        self: &Arc<Self>,
        thread: Option<&str>,
        request: Value,
        reader: Reader,
    ) -> ApiResult<(RunRecord, RunBody)> {
        self.create_run_with(thread, request, reader, vec![]).await
    }

    /// Creates a run as [`create_run`](Self::create_run) does, together with other writes or not at all.
    pub(crate) async fn create_run_with(
        self: &Arc<Self>,
        thread: Option<&str>,
        request: Value,
        reader: Reader,
        writes: Vec<ItemWrite>,
    ) -> ApiResult<(RunRecord, RunBody)> {
        let CheckedRun { request, body, assistant, context } = self.check_run(thread, &request).await?;
        if let Some(thread) = thread {
            self.check_trusted(thread).await?; // one that has a record may have been imported since
        }
        self.open_runs.add(&self.limits)?;
        let answers = self.check_answers(thread, &assistant, &body).await?;
        let new_thread = Uuid::now_v7().to_string();
        let new = NewRun {
            thread: thread.unwrap_or(&new_thread),
            assistant: &assistant,
            body: &body,
            request,
            context,
            stores_events: reader == Reader::OfEvents || body.stream_resumable,
            secret_channels: self.secret_channels(&assistant),
            queue_limit: self.limits.queue,
            answers,
            is_temporary: thread.is_none() && body.on_completion.as_deref() != Some("keep"),
            is_new: thread.is_none(),
            writes,
        };
        let run = match self.records.create_run(&new).await {
            Err(error) if error.is_not_found() => match self.adopt(new.thread).await {
                Ok(()) => self.records.create_run(&new).await?,
                Err(refusal) if refusal.is_not_found() => return Err(error),
                Err(refusal) => return Err(refusal),
            },
            created => created?,
        };
        if run.events_to > 0 {
            self.feeds.of(run.run).reserve(run.events_to);
        }
        match body.multitask_strategy.as_deref() {
            Some("interrupt") => self.stop_earlier(&run, StopAction::Interrupt).await?,
            Some("rollback") => self.stop_earlier(&run, StopAction::Rollback).await?,
            _ => {}
        }
        if let Some(command) = body.command.as_ref().filter(|command| command.resume.is_some()) {
            let fields = json!({ "run_id": run.run, "by": command.by });
            self.activity.note(&run.thread, &run.graph, ActivityKind::Answered, fields);
        }
        match run.starts_at {
            None => execute(self, &run.thread),
            Some(_) => self.has_timer.notify_one(),
        }
        self.created.send_replace(());
        Ok((run, body))
    }

    /// Checks a request before it is stored: one that cannot be executed is refused at once. Returns the context of the run.
    pub(super) fn check_request(&self, assistant: &AssistantRecord, body: &RunBody) -> ApiResult<Map<String, Value>> {
        body.modes()?;
        body.start()?;
        let unknown = || ApiError::not_found("version of the assistant", &assistant.current.to_string());
        let version = assistant.now().ok_or_else(unknown)?;
        let graph = self.graphs.get(&version.graph)?;
        let context = body.context_over(version);
        if !context.is_empty() {
            graph.with_json_context(&Value::Object(context.clone()))?;
        }
        body.check_input(&self.inputs, graph)?;
        _ = body.request(graph)?;
        Ok(context)
    }

    /// Returns the names of the secret channels of an assistant's graph.
    pub(crate) fn secret_channels(&self, assistant: &AssistantRecord) -> Vec<String> {
        let graph = assistant.now().and_then(|version| self.graphs.get(&version.graph).ok());
        graph.map(secret_channels).unwrap_or_default()
    }

    /// Checks the answers of a request for a thread that nobody runs: what a thread that is run asks next is not known.
    async fn check_answers(
        &self,
        thread: Option<&str>,
        assistant: &AssistantRecord,
        body: &RunBody,
    ) -> ApiResult<Vec<PendingAnswer>> {
        let (Some(command), Some(thread), Some(version)) = (&body.command, thread, assistant.now()) else {
            return Ok(vec![]);
        };
        let is_answer = command.resume.is_some() && body.start()?.is_none();
        match is_answer && self.is_idle(thread).await? {
            true => check_answers(self.graphs.get(&version.graph)?, thread, command).await,
            false => Ok(vec![]),
        }
    }

    /// Returns whether no run of a thread but such that answer is open.
    async fn is_idle(&self, thread: &str) -> ApiResult<bool> {
        match self.thread_record(thread).await {
            Ok(found) => {
                Ok(found.record.queue.iter().all(|run| found.record.answers.iter().any(|answer| answer.run == *run)))
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Creates a run for a thread that can go on by itself.
    pub(crate) async fn resume_thread(&self, thread: &str, graph: &str) -> ApiResult<()> {
        let request = json!({ "assistant_id": graph, "input": null, "metadata": { OWN.0: OWN.1 } });
        let (body, assistant) = (RunBody::parse(&request)?, self.assistant_or_graph(graph).await?);
        self.adopt(thread).await?;
        let new = NewRun {
            thread,
            assistant: &assistant,
            body: &body,
            request,
            context: Map::new(),
            stores_events: true,
            secret_channels: vec![],
            queue_limit: usize::MAX,
            answers: vec![],
            is_temporary: false,
            is_new: false,
            writes: vec![],
        };
        self.records.create_run(&new).await?;
        self.created.send_replace(());
        Ok(())
    }

    /// Stops a run: one that has not begun ends without a word to the engine.
    pub(crate) async fn stop_run(self: &Arc<Self>, run: &RunRecord, action: StopAction, waits: bool) -> ApiResult<()> {
        let (feed, failure) = (self.feeds.of(run.run), user_interrupt());
        let has_ended = match action {
            StopAction::Interrupt => self.end_pending(run, (RunStatus::Interrupted, Some(failure.clone()))).await?,
            StopAction::Rollback => self.records.roll_back(run).await?,
        };
        if has_ended {
            feed.end(Some(failure));
            return Ok(());
        }
        match self.records.run(&run.thread, run.run).await {
            Ok(found) if !found.record.status.has_ended() => {
                if action == StopAction::Interrupt {
                    self.records.cancel(run).await?;
                }
                self.cancel_running(run).await?;
            }
            Err(error) if !error.is_not_found() => return Err(error),
            _ => return Ok(()), // it has ended meanwhile, or is gone
        }
        match waits {
            true => self.wait_for_end(run).await,
            false => Ok(()),
        }
    }

    /// Waits until a run has ended, wherever it is executed.
    pub(crate) async fn wait_for_end(self: &Arc<Self>, run: &RunRecord) -> ApiResult<()> {
        let mut reader = EventReader::after(self, run, u64::MAX);
        while reader.next().await?.is_some() {}
        Ok(())
    }

    /// Stops the runs of a thread that were created before one.
    async fn stop_earlier(self: &Arc<Self>, run: &RunRecord, action: StopAction) -> ApiResult<()> {
        let queue = self.thread_record(&run.thread).await?.record.queue;
        for earlier in queue.into_iter().take_while(|queued| *queued != run.run) {
            let stopped = async {
                let earlier = self.records.run(&run.thread, earlier).await?;
                self.stop_run(&earlier.record, action, false).await
            };
            match stopped.await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {} // it is stopped, or was removed meanwhile
            }
        }
        Ok(())
    }
}
