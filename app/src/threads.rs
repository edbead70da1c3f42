//! A thread of any graph, as commands use it: run, answered, read, rewritten and compared. Its questions are in `answering`.
//! Must not know words of a command line.

use std::sync::Arc;

use serde_json::Value;

use super::custom_output::CustomOutput;
use super::events::{event_json, gap, load_event_texts};
use super::failure::{Exit, Failure, json, shape};
use super::settings::{ForkPoint, ForkWrites, GraphSettings, Labels, WorkRepository};
use super::shapes::{
    BlockingNode, CheckpointReport, HistoryStep, Origin, ReplacedValue, SnapshotShape, StatusShape, TaskReport,
    ThreadReport,
};
use super::stops::StopArgs;
use superstep::checkpoint::{CheckpointId, Checkpointer, StopRecord, ThreadId, ThreadPlace, about_thread, foreign};
use superstep::graph::interrupt::{SignalId, SignalRequest};
use superstep::graph::view::TaskSnapshot;
use superstep::graph::{
    Answer, AnyGraph, AnyState, AnyThread, CancellationToken, CheckpointInfo, Event, Mode, Name, Outcome, Question,
    Replay, Request, RunError, RunStream, State, StateSnapshot, StateUpdate, Status, VerifyVerdict, Writes,
};

/// Validated writes to a graph's channels.
pub(crate) type AnyInput = Writes<AnyState>;

/// The kind of a run.
pub(crate) enum RunRequest {
    Input(AnyInput),
    /// An input in place of one that was never applied.
    OtherInput(AnyInput),
    Answer(Box<Answer>),
    Proceed,
    Retry,
    /// Runs from a checkpoint on a new branch, or resumes from the current one.
    Live {
        at: Option<CheckpointId>,
        step: bool,
    },
}

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A flowchart in Mermaid's language, as GitHub shows it.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// Plain text.
    Ascii,
}

/// A thread of a store, over its graph.
#[derive(Clone)]
pub(crate) struct AppThread {
    pub thread: AnyThread,
    pub graph: AnyGraph,
    pub id: ThreadId,
    pub store: Arc<dyn Checkpointer>,
    pub settings: Arc<GraphSettings>,
}

/// A run and its events.
pub(crate) struct AppRun {
    stream: RunStream<AnyState>,
    graph: AnyGraph,
    settings: Arc<GraphSettings>,
}

impl AppRun {
    /// Returns the next event; none at the end of the run.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        self.stream.next().await
    }

    pub(crate) async fn end(self) -> Result<Exit, RunError> {
        Ok(match self.stream.outcome().await? {
            Outcome::Finished(state) => self.settings.finished_exit(&state),
            Outcome::Interrupted(asked) => exit_code(&self.graph, &asked),
            Outcome::Stopped(_) | Outcome::Drained(_) | Outcome::Budget(..) => Exit::Halted,
            Outcome::Waiting { .. } | Outcome::AwaitingSignal { .. } => Exit::Waiting,
            Outcome::Cancelled(_) => Exit::Cancelled,
            _ => Exit::Halted,
        })
    }
}

impl AppThread {
    /// Returns the exit of a thread with this status.
    pub(crate) async fn exit_of(&self, status: &Status) -> Result<Exit, Failure> {
        Ok(match status {
            Status::Finished => match self.thread.state().await? {
                Some(snapshot) => self.settings.finished_exit(&snapshot.values),
                None => Exit::Finished,
            },
            Status::Interrupted { questions } => exit_code(&self.graph, questions),
            Status::Waiting { .. } | Status::AwaitingSignal { .. } => Exit::Waiting,
            Status::Pending { .. } => Exit::Cancelled,
            _ => Exit::Halted,
        })
    }

    /// Returns true if its graph works in the files of a machine.
    pub(crate) fn works_in_files(&self) -> bool {
        self.settings.presentation.repository.is_some()
    }

    /// Binds the thread to a place.
    pub(crate) fn with_place(mut self, place: Option<ThreadPlace>) -> Self {
        if let Some(place) = place {
            self.thread = self.thread.place(place);
        }
        self
    }
}

/// Returns the exit code of a thread with these pending questions: the first one that is declared.
fn exit_code(graph: &AnyGraph, open: &[Question]) -> Exit {
    let declared = open.iter().find_map(|question| graph.form(question.name()));
    declared.map_or(Exit::Asking, |form| Exit::of_question(form.exit_code()))
}

/// The events of a replay.
const REPLAYED: [Mode; 6] =
    [Mode::Tasks, Mode::Checkpoints, Mode::Updates, Mode::Custom, Mode::Messages, Mode::Journal];
/// The help that names the command for an external update.
const UPDATE_HELP: &str = "; on the command line: `update THREAD --as-node NODE`";
/// The events that a watched run emits.
pub(crate) const RUN_MODES: [Mode; 5] = [Mode::Tasks, Mode::Checkpoints, Mode::Custom, Mode::Messages, Mode::Stored];

impl AppThread {
    pub(crate) fn run(&self, go: RunRequest, cancel: CancellationToken) -> AppRun {
        let mut thread = self.thread.clone().cancel_with(cancel).record_events();
        let request = match go {
            RunRequest::Input(input) => Request::input(input),
            RunRequest::OtherInput(input) => {
                thread = thread.discard_pending();
                Request::input(input)
            }
            RunRequest::Answer(answer) => Request::answers([*answer]),
            RunRequest::Proceed => Request::proceed(),
            RunRequest::Live { at, step } => {
                thread = if step { thread.interrupt_after_all() } else { thread };
                if let Some(at) = at {
                    thread = thread.at(at);
                }
                Request::proceed()
            }
            RunRequest::Retry => {
                thread = thread.restart_superstep();
                Request::proceed()
            }
        };
        AppRun {
            stream: thread.stream_deep(request, RUN_MODES),
            graph: self.graph.clone(),
            settings: Arc::clone(&self.settings),
        }
    }

    /// Returns the thread with these stop points, which its next run stores; unchanged if there are none.
    pub(crate) fn with_stops(mut self, stops: &StopArgs) -> Result<Self, Failure> {
        if stops.is_empty() {
            return Ok(self);
        }
        let nodes = |names: &[String]| names.iter().map(|name| self.stop(name)).collect::<Result<Vec<Name>, _>>();
        let (before, after) = (nodes(&stops.stop_before)?, nodes(&stops.stop_after)?);
        self.thread = self.thread.remember_stops();
        if !stops.no_stops {
            self.thread = self.thread.interrupt_before(before).interrupt_after(after);
        }
        Ok(self)
    }

    /// Returns the thread whose next run stops after this many supersteps.
    pub(crate) fn with_max_supersteps(mut self, limit: Option<u64>) -> Self {
        if let Some(limit) = limit {
            self.thread = self.thread.max_supersteps(limit);
        }
        self
    }

    /// Returns the values that an input replaces in the state.
    pub(crate) async fn replaced_values(&self, input: &AnyInput) -> Result<Vec<ReplacedValue>, Failure> {
        let (schema, state) = (self.graph.schema(), self.thread.state().await?);
        let Some(state) = state else { return Ok(vec![]) };
        let before = state.json(schema);
        let mut replaced = vec![];
        for write in &input.0 {
            let channel = &self.graph.channels()[AnyState::channel_of(write)];
            let now = AnyState::encode_write(schema, write, serde_json::value::Serializer).ok();
            let was = before.get(channel.name()).cloned();
            if !channel.is_replaced() || was == now {
                continue;
            }
            let (was, now) = if channel.is_secret() { (None, None) } else { (was, now) };
            replaced.push(ReplacedValue { channel: channel.name().to_owned(), was, now });
        }
        Ok(replaced)
    }

    /// Stores a signal and runs nothing.
    pub(crate) async fn send(&self, request: SignalRequest) -> Result<SignalId, Failure> {
        Ok(self.thread.send(request).await?)
    }

    /// Removes a signal that no task has received.
    pub(crate) async fn discard(&self, signal: SignalId) -> Result<(), Failure> {
        Ok(self.thread.discard_signal(signal).await?)
    }

    pub(crate) async fn report(&self) -> Result<ThreadReport, Failure> {
        let status = self.thread.status().await?;
        let snapshot = self.snapshot_now().await?;
        let mut position: StatusShape = shape(&status)?;
        if let Status::Interrupted { questions } = &status {
            self.add_replies(questions, Some(&snapshot.values), &mut position.questions);
        }
        if let Status::Running { .. } = &status {
            let questions = questions_of(&snapshot.tasks);
            position.questions = shape(&questions)?;
            self.add_replies(&questions, Some(&snapshot.values), &mut position.questions);
        }
        position.next.clone_from(&snapshot.next);
        position.help = position.help.map(|help| help + UPDATE_HELP);
        for signal in &mut position.signals {
            signal.takes = self.graph.signal_shape(&signal.name);
        }
        let is_refused = snapshot.tasks.iter().all(|task| task.error.is_none());
        let blocking = if matches!(status, Status::Running { .. }) { self.blocking() } else { vec![] };
        Ok(ThreadReport {
            thread: self.id.to_string(),
            graph: self.graph.name().to_owned(),
            position,
            step: snapshot.step,
            summary: self.settings.summary.as_ref().and_then(|summary| summary(&snapshot.values)),
            board: self.settings.presentation.lines(&snapshot.values),
            state: snapshot.json(self.graph.schema()),
            checkpoint: Some(snapshot.id.0),
            refused: is_refused && matches!(status, Status::Failed { .. }),
            advice: vec![],
            origin: self.origin().await?,
            blocking,
            running: vec![],
            stops: self.stops().await?,
            mailbox: shape(&self.thread.mailbox().await?)?,
        })
    }

    /// Returns the cost so far, in millionths of a dollar; 0 if the graph reports none, or has not started.
    pub(crate) async fn cost(&self) -> u64 {
        let Some(cost) = &self.settings.presentation.cost else { return 0 };
        self.thread.state().await.ok().flatten().and_then(|state| cost(&state.values)).unwrap_or_default()
    }

    /// Returns the nodes that have blocked their executor thread in this process.
    pub(crate) fn blocking(&self) -> Vec<BlockingNode> {
        self.graph.blocking_nodes().into_iter().map(Into::into).collect()
    }

    /// Returns true if such nodes are not warned of.
    pub(crate) fn never_blocks(&self) -> bool {
        self.settings.presentation.never_blocks
    }

    /// Returns the git repository that the thread works in.
    pub(crate) async fn repository(&self) -> Option<WorkRepository> {
        self.settings.presentation.repository.as_ref()?;
        self.settings.presentation.repository(&self.snapshot_now().await.ok()?.values)
    }

    pub(crate) fn labels(&self) -> Labels {
        self.settings.presentation.labels.clone()
    }

    /// Returns true if there are lines for a live view.
    pub(crate) fn has_board(&self) -> bool {
        self.settings.presentation.board.is_some()
    }

    pub(crate) async fn history(&self, limit: usize, channel: Option<&str>) -> Result<Vec<HistoryStep>, Failure> {
        let history = self.thread.history().await?;
        let Some(channel) = channel else {
            let listed = history.limit(limit).outline().await?;
            return listed.into_iter().map(|(info, next)| step(&info, next)).collect();
        };
        if !self.graph.channels().iter().any(|known| known.name() == channel) {
            return Err(self.no_channel(channel));
        }
        let mut steps: Vec<HistoryStep> = vec![];
        for snapshot in history.all().await? {
            let value = snapshot.json(self.graph.schema()).get(channel).cloned().unwrap_or_default();
            let same =
                |newer: &HistoryStep| newer.value.as_ref() == Some(&value) && newer.info.parent == Some(snapshot.id.0);
            if steps.last().is_some_and(same) {
                steps.pop(); // it changed before
            }
            steps.push(HistoryStep { value: Some(value), ..step(&snapshot.info(), snapshot.next.clone())? });
        }
        steps.truncate(limit);
        Ok(steps)
    }

    /// Returns the history with the tasks of each checkpoint and their journals.
    pub(crate) async fn history_with_tasks(&self, limit: usize) -> Result<Vec<HistoryStep>, Failure> {
        let mut steps = vec![];
        for snapshot in self.thread.history().await?.limit(limit).all().await? {
            let mut tasks: Vec<TaskReport> = shape(&snapshot.tasks)?;
            tasks.iter_mut().for_each(|task| task.input = None);
            self.complete(&snapshot.tasks, &mut tasks).await?;
            steps.push(HistoryStep { tasks: Some(tasks), ..step(&snapshot.info(), snapshot.next.clone())? });
        }
        Ok(steps)
    }

    /// Returns the events from a checkpoint on, or from the first, oldest first.
    pub(crate) async fn events(&self, from: Option<CheckpointId>) -> Result<Vec<Value>, Failure> {
        let mut stream = self.at(from).replay(Replay::Recorded).stream_deep(REPLAYED);
        let mut events = vec![];
        while let Some(event) = stream.next().await {
            events.extend(event_json(&event, &self.settings.presentation.labels));
        }
        stream.finish().await?;
        events.iter_mut().for_each(load_event_texts);
        if from.is_none() {
            self.add_gap(&mut events).await?;
        }
        Ok(events)
    }

    /// Compares the thread with the present graph.
    pub(crate) async fn verify(&self, from: Option<CheckpointId>) -> Result<(Value, String, VerifyVerdict), Failure> {
        let found = self.at(from).verify().await?;
        let mut shown = json(&found)?;
        shown["verdict"] = json(&found.verdict())?;
        Ok((shown, format!("{found}\n"), found.verdict()))
    }

    /// Returns the result that the thread would have had with the present graph.
    pub(crate) async fn what_if(&self, from: Option<CheckpointId>) -> Result<(Value, String), Failure> {
        let found = self.at(from).what_if().await?;
        Ok((json(&found)?, format!("{found}\n")))
    }

    /// Returns the decisions that other values of a policy would have given; none if the graph decides by no policy.
    pub(crate) async fn policy_what_if(&self, changes: &[(String, String)]) -> Result<Option<CustomOutput>, Failure> {
        let Some(what_if) = &self.settings.what_if else { return Ok(None) };
        let snapshot = self.thread.state().await?.ok_or_else(|| never_ran(&self.id))?;
        Ok(what_if(&snapshot.values, changes).transpose()?)
    }

    /// Returns the differences between two checkpoints, for programs and for people.
    pub(crate) async fn diff(&self, from: CheckpointId, to: CheckpointId) -> Result<(Value, String), Failure> {
        let diff = self.thread.diff_deep(from, to).await?;
        Ok((json(&diff)?, format!("{diff}\n")))
    }

    pub(crate) async fn show(&self, at: Option<CheckpointId>) -> Result<CheckpointReport, Failure> {
        let snapshot = self.at(at).state_deep().await?.ok_or_else(|| never_ran(&self.id))?;
        let mut shown: SnapshotShape = shape(&snapshot)?;
        shown.state = snapshot.json(self.graph.schema());
        self.complete(&snapshot.tasks, &mut shown.tasks).await?;
        let (thread, graph) = (self.id.to_string(), self.graph.name().to_owned());
        Ok(CheckpointReport { thread, graph, origin: self.origin().await?, snapshot: shown })
    }

    pub(crate) async fn update(
        &self,
        at: Option<CheckpointId>,
        node: Option<String>,
        values: AnyInput,
    ) -> Result<Vec<String>, Failure> {
        let mut update = StateUpdate::new(values);
        if let Some(name) = node {
            update = match name.as_str() {
                "START" => update.as_start(),
                name => update.as_node(self.node(name)?),
            };
        }
        self.apply_update(at, update).await
    }

    /// Returns what a fork at a checkpoint writes, as a part of this thread or as a new one; none if the graph writes nothing.
    pub(crate) async fn fork_writes(&self, at: CheckpointId, new: Option<&str>) -> Result<Option<ForkWrites>, Failure> {
        let Some(forks) = &self.settings.forks else { return Ok(None) };
        let there = self.at(Some(at)).state().await?.ok_or_else(|| never_ran(&self.id))?;
        let newest = self.thread.state().await?.ok_or_else(|| never_ran(&self.id))?;
        let thread = new.map_or_else(|| self.id.to_string(), str::to_owned);
        let (at, newest) = (Arc::clone(&there.values), Arc::clone(&newest.values));
        match forks(ForkPoint { at, newest, thread, is_new_thread: new.is_some() }) {
            Some(writes) => Ok(Some(writes.await?)),
            None => Ok(None),
        }
    }

    /// Starts a new branch at a checkpoint.
    pub(crate) async fn fork(&self, at: CheckpointId, values: Option<AnyInput>) -> Result<Vec<String>, Failure> {
        let update = match values {
            Some(values) => StateUpdate::new(values),
            None => StateUpdate::copy(),
        };
        self.apply_update(Some(at), update).await
    }

    pub(crate) async fn draw(&self, format: Format, depth: usize) -> Result<String, Failure> {
        Ok(match format {
            Format::Mermaid => self.thread.mermaid(depth).await?,
            Format::Dot => self.thread.dot(depth).await?,
            Format::Ascii => self.thread.ascii(depth).await?,
        })
    }

    /// Copies the thread as of a checkpoint into a new one.
    pub(crate) async fn copy_to(&self, to: &str, at: CheckpointId) -> Result<(), Failure> {
        Ok(self.thread.copy_to(to, at).await?)
    }
}

impl AppThread {
    /// Reads the state with the progress of subgraphs.
    async fn snapshot_now(&self) -> Result<StateSnapshot<AnyState>, Failure> {
        let presentation = &self.settings.presentation;
        let read =
            if presentation.progress.is_some() { self.thread.state_deep().await? } else { self.thread.state().await? };
        let mut snapshot = read.ok_or_else(|| never_ran(&self.id))?;
        presentation.merge(&mut snapshot);
        Ok(snapshot)
    }

    /// Adds an event for the checkpoints that were removed before the first one.
    async fn add_gap(&self, events: &mut Vec<Value>) -> Result<(), Failure> {
        let Some(first) = events.first().and_then(|event| event["checkpoint"].as_u64()) else { return Ok(()) };
        let made = self.at(Some(CheckpointId(first))).state().await?;
        if let Some((missing, step)) = made.and_then(|made| Some((made.info().parent?, made.step))) {
            events.insert(0, gap(missing.0, step));
        }
        Ok(())
    }

    async fn stops(&self) -> Result<Vec<StopRecord>, Failure> {
        let about = about_thread(&*self.store, &self.id).await?;
        Ok(about.map(|about| about.stops).unwrap_or_default())
    }

    async fn origin(&self) -> Result<Origin, Failure> {
        Ok(foreign(&*self.store, &self.id).await?.into())
    }

    fn node(&self, name: &str) -> Result<Name, Failure> {
        let nodes: Vec<&str> = self.graph.nodes().collect();
        let help = format!("the nodes are {}, and START", nodes.join(", "));
        self.graph.node(name).ok_or_else(|| Failure::usage(format!("there is no node `{name}`")).help(help))
    }

    fn stop(&self, name: &str) -> Result<Name, Failure> {
        let nodes: Vec<&str> = self.graph.nodes().collect();
        let error = format!("graph `{}` has no node `{name}` to stop at", self.graph.name());
        let help = format!("its nodes are {}", nodes.join(", "));
        self.graph.node(name).ok_or_else(|| Failure::usage(error).help(help))
    }

    fn no_channel(&self, name: &str) -> Failure {
        let names: Vec<&str> = self.graph.channels().iter().map(|channel| channel.name()).collect();
        Failure::usage(format!("there is no channel `{name}`")).help(format!("the channels are {}", names.join(", ")))
    }

    /// Returns the thread at a checkpoint, or at its newest.
    fn at(&self, at: Option<CheckpointId>) -> AnyThread {
        let thread = self.thread.clone();
        if let Some(at) = at { thread.at(at) } else { thread }
    }

    async fn apply_update(
        &self,
        at: Option<CheckpointId>,
        update: StateUpdate<AnyState, Name>,
    ) -> Result<Vec<String>, Failure> {
        Ok(self.at(at).update(update).await?.dropped)
    }
}

fn step(info: &CheckpointInfo, next: Vec<String>) -> Result<HistoryStep, Failure> {
    Ok(HistoryStep { next, ..shape(info)? })
}

fn never_ran(id: &ThreadId) -> Failure {
    RunError::EmptyInput { thread: id.clone() }.into()
}

/// Returns the questions that tasks of a superstep have asked so far.
pub(super) fn questions_of(tasks: &[TaskSnapshot]) -> Vec<Question> {
    tasks.iter().flat_map(|task| &task.questions).cloned().collect()
}
