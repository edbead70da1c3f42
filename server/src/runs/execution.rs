//! One run of a thread, from its start or from where an earlier process left it. The start of a run is one commit with its first
//! superstep, so that none is started twice; who executes it holds the lease of the thread.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, Claim, ThreadId};
use superstep::graph::{
    AnyGraph, AnyState, AnyThread, CancellationToken, EventKind, Name, Outcome, Request, RunError, RunStream,
    SecretValues, Status,
};
use superstep_base::panics::catch_panic_in;
use superstep_base::time::{millis, now};
use superstep_metrics::MODES;
use tokio::time::sleep;
use tracing::Instrument;

use super::events::Converter;
use super::lost_events::{RUN_ID, send_lost_events};
use super::queue::RunEnd;
use super::request::{RunBody, StreamModes};
use super::rollback::roll_back;
use super::sender::EventSender;
use crate::activity::ActivityKind;
use crate::error::{ApiError, ApiResult};
use crate::feed::Feed;
use crate::panics::panic_error;
use crate::progress::log::expiry;
use crate::records::items::{Lookup, StoredRecord, put};
use crate::records::run::{EVENTS_AHEAD, OpenRun, RunRecord, RunStatus};
use crate::records::thread::{RunFailure, ThreadRecord};
use crate::security::secrets::Secrets;
use crate::server::Server;
use crate::telemetry::{RunListeners, execution_span, record_end};

/// The number of events for which there must be room: an event of the engine is a few on the wire.
const ROOM: u64 = 100;
/// The time for a process to write the end of a run after its last superstep.
const GRACE: Duration = Duration::from_millis(500);
/// The pause before a store is asked again whether a signal has come.
const SIGNALS: Duration = Duration::from_secs(5);

/// Result of an attempt to execute a run.
enum Attempt {
    Ended(RunEnd),
    /// It goes on later.
    Until(Wait),
    /// Somebody else holds the thread, or the store cannot be reached: again later.
    Later,
    /// This server stops.
    Stopped,
}

/// The end of a run's wait: a time, or a signal.
#[derive(Clone, Copy)]
struct Wait {
    /// A time in milliseconds since 1970.
    until: Option<u64>,
    has_signals: bool,
}

/// Executes the next run of a thread; returns whether there may be another.
pub(crate) async fn execute_next(server: &Arc<Server>, thread: &str) -> ApiResult<bool> {
    let key = ThreadRecord::key_of(thread);
    let Some(record) = server.records.look_up::<ThreadRecord>(&key).await?.into_record() else { return Ok(false) };
    let Some(run) = record.record.queue.first().copied() else { return Ok(false) };
    let cancel = server.executing.token(thread, run);
    let (run, attempt) = {
        let Ok(_permit) = server.jobs.acquire().await else { return Ok(false) };
        if server.records.0.owner(&ThreadId::from(thread)).await?.is_some() {
            return Ok(false); // another process runs it
        }
        let found = match server.records.look_up::<RunRecord>(&RunRecord::key_of(thread, run)).await? {
            Lookup::Found(found) => found,
            Lookup::Gone | Lookup::Later => return Ok(false), // it was removed meanwhile, or is for another server
            Lookup::Damaged => {
                server.records.remove_damaged_run(thread, run).await?;
                return Ok(true);
            }
        };
        let run = match start_feed(server, found).await {
            Ok(started) if !started.record.status.has_ended() => started,
            ended => {
                server.feeds.of(run).leave(); // somebody has ended it since the queue was read
                return ended.map(|_| true);
            }
        };
        let span = execution_span(&run.record);
        let attempt = catch_panic_in(attempt(server, &run, &cancel)).instrument(span.clone()).await;
        let attempt = attempt.unwrap_or_else(|_| failure("RunError", panic_error().detail));
        if let Attempt::Ended((status, failure)) = &attempt {
            record_end(&span, *status, failure.as_ref());
        }
        (run, attempt)
    };
    let end = match attempt {
        Attempt::Ended(end) => end,
        Attempt::Until(wait) if wait_for(server, wait, &cancel).await => return Ok(true),
        Attempt::Until(_) => (RunStatus::Interrupted, Some(user_interrupt())),
        Attempt::Later | Attempt::Stopped => {
            leave_feed(server, &run.record).await?;
            return Ok(false);
        }
    };
    end_run(server, &run.record, end, record.record.is_temporary).await?;
    Ok(true)
}

/// Prepares the feed of a run: its events get numbers that no process has used.
async fn start_feed(server: &Server, run: StoredRecord<RunRecord>) -> ApiResult<StoredRecord<RunRecord>> {
    let feed = server.feeds.of(run.record.run);
    if run.record.stores_events {
        feed.store_events();
    }
    let before = run.record.events_to;
    feed.start(before, before);
    if feed.room() >= ROOM {
        return Ok(run);
    }
    let to = feed.newest() + EVENTS_AHEAD;
    let run = server.records.change_run(&run.record, |record| record.events_to = to).await?;
    feed.start(before, to);
    Ok(run)
}

/// Stores the events of a run that this process does not execute any more, and has not ended.
async fn leave_feed(server: &Server, run: &RunRecord) -> ApiResult<()> {
    let feed = server.feeds.of(run.run);
    let (newest, reserved) = (feed.newest(), feed.reserved());
    let events = server.log.last_events(run.run, &feed).await;
    feed.leave();
    if !events.is_empty() {
        server.records.write(events).await?;
    }
    let give_back = |record: &mut RunRecord| {
        // Unless another process executes the run by now, and has made room for its own events.
        if record.events_to == reserved {
            record.events_to = newest.min(reserved);
        }
    };
    server.records.change_run(run, give_back).await.map(drop)
}

/// Waits until a run can go on, or the server stops; returns whether it may, as nobody has cancelled it meanwhile.
async fn wait_for(server: &Server, wait: Wait, cancel: &CancellationToken) -> bool {
    let mut watch = server.records.0.watch();
    let time = wait.until.map_or(SIGNALS, |until| Duration::from_millis(until.saturating_sub(now())));
    tokio::select! {
        () = cancel.cancelled() => false,
        () = sleep(time) => true,
        () = watch.changed(), if wait.has_signals => true,
        () = server.stop.cancelled() => true,
    }
}

/// Writes the end of a run before its events end: a reader asks for its status then.
async fn end_run(server: &Arc<Server>, run: &RunRecord, end: RunEnd, is_temporary: bool) -> ApiResult<()> {
    let (feed, status, failure) = (server.feeds.of(run.run), end.0, end.1.clone());
    if status != RunStatus::Success {
        leave(server, &run.thread).await;
    }
    let mut last = server.log.last_events(run.run, &feed).await;
    if run.stores_events {
        last.push(expiry(run.run, server.keep_events));
    }
    if !server.end_run(run, end, last).await? {
        roll_back(server, run).await?;
        server.mark_state(&run.thread).await?;
    }
    if is_temporary {
        feed.set_result(server.values(&run.thread).await?);
        // Another server may wait for the values: then the thread is removed by its timer.
        if feed.is_own() || run.stores_events {
            server.remove_thread(&run.thread).await?;
        }
    }
    let fields = json!({ "run_id": run.run, "status": status, "error": failure });
    server.activity.note(&run.thread, &run.graph, ActivityKind::Ended, fields);
    feed.end(failure);
    if run.stores_events && !is_temporary {
        server.feeds.remove(run.run);
    }
    Ok(())
}

/// Keeps a thread from being resumed by itself, until somebody writes it: its run has failed or was cancelled.
pub(super) async fn leave(server: &Server, thread: &str) {
    let left = async {
        match server.records.0.claim(&ThreadId::from(thread), Claim::IfFree).await {
            Err(CheckpointError::ThreadBusy { .. }) => Ok(()), // somebody runs it already
            lease => lease?.leave().await,
        }
    };
    if let Err(error) = left.await {
        tracing::warn!(thread, %error, "the thread may be resumed again by itself");
    }
}

async fn attempt(server: &Arc<Server>, run: &StoredRecord<RunRecord>, cancel: &CancellationToken) -> Attempt {
    if run.record.is_to_stop() {
        return Attempt::Ended((RunStatus::Interrupted, Some(user_interrupt())));
    }
    let plan = match Plan::of(server, &run.record) {
        Ok(plan) => plan,
        Err(error) => return failure("ValueError", error.detail),
    };
    let feed = server.feeds.of(run.record.run);
    if run.record.status == RunStatus::Pending && !feed.is_taken_over() {
        plan.send_metadata(&feed);
    }
    let (thread, request) = match plan.prepare(server, run, cancel).await {
        Ok(prepared) => prepared,
        Err(_) if feed.is_taken_over() && is_ended_by_another(server, &run.record).await => return Attempt::Later,
        Err(done) => {
            let thread = plan.graph.thread(run.record.thread.as_str());
            let mut sender = plan.sender(server, plan.secrets(server, SecretValues::default()).await);
            plan.resume_events(server, &mut sender, &thread).await;
            return *done;
        }
    };
    plan.note(server, ActivityKind::Started, json!({ "attempt": run.record.attempts + 1 }));
    let observer = server.observer.as_ref().map(|observer| observer.begin(&thread, cancel.clone()));
    let listeners = RunListeners::new(server.metrics.begin(&run.record), observer);
    let stream = plan.stream(server, &thread, request);
    let secrets = plan.secrets(server, stream.secrets()).await;
    let sender = plan.sender(server, secrets.clone());
    let result = follow(server, stream, (&plan, &thread, sender), listeners).await;
    server.metrics.end_execution(&run.record.graph, &result);
    let mut attempt = match result {
        Ok(outcome) => {
            plan.note_questions(server, &outcome);
            of_outcome(&outcome)
        }
        Err(error) => of_error(&error),
    };
    if let Attempt::Ended((_, Some(failure))) = &mut attempt {
        secrets.hide_in_text(&mut failure.message); // a node may have put them into its error
    }
    if let Attempt::Ended((RunStatus::Error, Some(failure))) = &attempt {
        feed.send("error", &json!(failure));
    }
    attempt
}

/// Returns whether a run that has nothing left to execute is ended by the process that executed it: it may be about to write that.
async fn is_ended_by_another(server: &Server, run: &RunRecord) -> bool {
    sleep(GRACE).await;
    server.records.run(&run.thread, run.run).await.map_or(true, |found| found.record.status.has_ended())
}

/// A run as its record describes it.
struct Plan<'a> {
    run: &'a RunRecord,
    body: RunBody,
    modes: StreamModes,
    graph: AnyGraph,
}

impl<'a> Plan<'a> {
    fn of(server: &Server, run: &'a RunRecord) -> ApiResult<Self> {
        let body = RunBody::parse(&run.request)?;
        let (modes, graph) = (body.modes()?, server.graphs.get(&run.graph)?);
        let graph = match run.context.is_empty() {
            true => graph.clone(),
            false => graph.with_json_context(&Value::Object(run.context.clone()))?,
        };
        Ok(Self { run, body, modes, graph })
    }

    /// Tells the readers of all threads what the run does.
    fn note(&self, server: &Server, kind: ActivityKind, mut fields: Value) {
        fields["run_id"] = json!(self.run.run);
        server.activity.note(&self.run.thread, &self.run.graph, kind, fields);
    }

    fn note_questions(&self, server: &Server, outcome: &Outcome<AnyState>) {
        for question in outcome.questions() {
            let fields =
                json!({ "question": question.id().to_string(), "name": question.name(), "node": question.node() });
            self.note(server, ActivityKind::Question, fields);
        }
    }

    /// Returns the thread and the request of a run: what was asked for, or to go on if an earlier process has begun it.
    async fn prepare(
        &self,
        server: &Server,
        run: &StoredRecord<RunRecord>,
        cancel: &CancellationToken,
    ) -> Result<(AnyThread, Request<AnyState, Name>), Box<Attempt>> {
        let invalid = |error: ApiError| Box::new(failure("ValueError", error.detail));
        let thread = self.graph.thread(self.run.thread.as_str());
        let thread = thread.cancel_with(cancel.clone()).drain_with(server.stop.clone());
        let thread = self.body.configure(thread).map_err(invalid)?;
        let thread = thread.metadata(RUN_ID, self.run.run.to_string());
        let mut thread = thread.metadata("assistant_id", self.run.assistant.to_string());
        if self.run.status == RunStatus::Running {
            return match thread.status().await {
                Ok(Status::Finished | Status::Interrupted { .. } | Status::Stopped { .. }) => {
                    Err(Box::new(Attempt::Ended((RunStatus::Success, None))))
                }
                Ok(_) => Ok((thread, Request::proceed())),
                Err(error) => Err(Box::new(of_error(&error))),
            };
        }
        if let Some(checkpoint) = self.body.start().map_err(invalid)? {
            thread = thread.at(checkpoint);
        }
        if self.body.has_input() {
            thread = thread.discard_pending();
        }
        let request = self.body.request(&self.graph).map_err(invalid)?;
        let begun = RunRecord { status: RunStatus::Running, updated_at: now(), attempts: 1, ..self.run.clone() };
        Ok((thread, request.with_items([run.replace(&begun), put(&OpenRun::of(&begun))])))
    }

    fn send_metadata(&self, feed: &Feed) {
        if feed.is_fresh() {
            feed.send("metadata", &json!({ "run_id": self.run.run, "attempt": self.run.attempts + 1 }));
        }
    }

    fn sender<'b>(&'b self, server: &'b Server, secrets: Secrets) -> EventSender<'b> {
        EventSender {
            run: self.run,
            feed: server.feeds.of(self.run.run),
            log: &server.log,
            converter: Converter::new(&self.graph, self.run, &self.modes, self.body.stream_subgraphs),
            secrets,
            created: &server.created,
            is_resumed: self.run.status == RunStatus::Running,
        }
    }

    /// Sends the first events of a run that another process may have begun. None may execute it meanwhile: both would send them.
    async fn resume_events(&self, server: &Server, sender: &mut EventSender<'_>, thread: &AnyThread) {
        let is_taken_over = sender.feed.take_over() && sender.is_resumed && self.run.stores_events;
        if is_taken_over {
            match server.records.sent_marks(self.run.run).await {
                Ok(marks) => sender.feed.set_marks(marks),
                Err(error) => tracing::warn!(%error, "it is not known which events of a run are stored"),
            }
        }
        self.send_metadata(&sender.feed);
        if is_taken_over && let Err(error) = send_lost_events(sender, thread, self.modes.of_engine()).await {
            tracing::warn!(%error, "events of a run whose process was killed cannot be made again");
        }
    }

    /// Returns the values of secret channels that the run gets to know, those of its request, and those that the thread has had.
    async fn secrets(&self, server: &Server, of_run: SecretValues) -> Secrets {
        let secrets = Secrets::of_run(of_run, &self.graph, &self.run.request);
        match server.past_secrets.of(&self.graph, &self.run.thread).await {
            Ok(past) => secrets.add_all(&past),
            Err(error) => tracing::warn!(thread = self.run.thread, %error, "the secrets of earlier runs are not known"),
        }
        secrets
    }

    fn stream(&self, server: &Server, thread: &AnyThread, request: Request<AnyState, Name>) -> RunStream<AnyState> {
        let mut modes = self.modes.of_engine();
        modes.extend(MODES);
        if let Some(observer) = &server.observer {
            modes.extend(observer.modes().iter().copied());
        }
        thread.stream_deep(request, modes)
    }
}

/// Runs a request, and feeds its events to the readers.
async fn follow(
    server: &Server,
    mut events: RunStream<AnyState>,
    (plan, thread, mut sender): (&Plan<'_>, &AnyThread, EventSender<'_>),
    mut listeners: RunListeners,
) -> Result<Outcome<AnyState>, RunError> {
    let (feed, mut is_first) = (Arc::clone(&sender.feed), true);
    while let Some(event) = events.next().await {
        if std::mem::take(&mut is_first) {
            plan.resume_events(server, &mut sender, thread).await; // the thread is claimed by now
        }
        listeners.on_event(&event);
        if let EventKind::Checkpoint(made) = &event.kind
            && event.namespace.is_empty()
        {
            let fields = json!({ "step": made.step, "checkpoint": made.id, "next": made.next });
            plan.note(server, ActivityKind::Position, fields);
        }
        sender.send(&event);
        if feed.room() < ROOM {
            make_room(server, plan.run, &feed).await;
        }
    }
    let outcome = events.outcome().await.inspect_err(|error| listeners.on_error(error));
    if is_first && outcome.is_ok() {
        plan.resume_events(server, &mut sender, thread).await;
    }
    outcome
}

/// Makes room for more events, before their numbers are used.
async fn make_room(server: &Server, run: &RunRecord, feed: &Feed) {
    let to = feed.newest() + 10 * EVENTS_AHEAD;
    match server.records.change_run(run, |record| record.events_to = to).await {
        Ok(_) => feed.extend(to),
        Err(error) => tracing::warn!(%error, "no room is made for events of a run: it is tried again"),
    }
}

fn of_outcome(outcome: &Outcome<AnyState>) -> Attempt {
    match outcome {
        Outcome::Waiting { until, .. } => Attempt::Until(Wait { until: Some(millis(*until)), has_signals: false }),
        Outcome::AwaitingSignal { until, .. } => Attempt::Until(Wait { until: until.map(millis), has_signals: true }),
        Outcome::Drained(_) => Attempt::Stopped,
        Outcome::Cancelled(_) => Attempt::Ended((RunStatus::Interrupted, Some(user_interrupt()))),
        _ => Attempt::Ended((RunStatus::Success, None)),
    }
}

fn of_error(error: &RunError) -> Attempt {
    match error {
        RunError::Checkpoint(
            CheckpointError::ThreadBusy { .. }
            | CheckpointError::StaleLease { .. }
            | CheckpointError::ItemConflict { .. }
            | CheckpointError::Outage { .. },
        ) => Attempt::Later,
        RunError::RecursionLimit { .. } => failure("GraphRecursionError", error.to_string()),
        RunError::Node { error, .. } => failure("NodeError", error.to_string()),
        RunError::EmptyInput { .. } => failure("EmptyInputError", error.to_string()),
        _ => failure("RunError", error.to_string()),
    }
}

/// Returns the failure of a run that somebody has cancelled.
pub(crate) fn user_interrupt() -> RunFailure {
    RunFailure { error: "UserInterrupt".into(), message: "the run was cancelled".into() }
}

fn failure(error: &str, message: String) -> Attempt {
    Attempt::Ended((RunStatus::Error, Some(RunFailure { error: error.into(), message })))
}
