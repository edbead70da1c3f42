//! A typed thread behind [`AnyThread`].

use std::sync::Arc;

use serde_json::Value;

use super::custom_output::Said;
use super::decide::Reply;
use super::erased::{AnyRun, AnyThread, Call, ErasedWrites, Format, RunRequest, WorkRepository};
use super::events::{add_journals, event_json, gap, load_event_texts};
use super::failure::Failure;
use super::local::json;
use super::run::TypedRun;
use super::settings::{ForkPoint, ForkWrites, GraphSettings, Labels};
use super::shapes::{
    BlockingNode, CheckpointReport, Draft, HistoryStep, Origin, ReplacedValue, StopShape, TaskReport, ThreadReport,
};
use super::stops::StopArgs;
use crate::checkpoint::{BoxFuture, CheckpointId, Checkpointer, ThreadId, about_thread, foreign};
use crate::graph::shape::snapshot::{SnapshotShape, TaskShape};
use crate::graph::shape::status::StatusShape;
use crate::graph::{
    Answer, CancellationToken, CheckpointInfo, CompiledGraph, InterruptId, Mode, NodeId, Replay, Request, RunError,
    SignalId, SignalRequest, State, StateSnapshot, StateUpdate, Status, Thread, Writes,
};

pub(crate) struct TypedThread<S: State, N, C> {
    pub graph: CompiledGraph<S, N, C>,
    pub thread: Thread<S, N, C>,
    pub id: ThreadId,
    pub store: Arc<dyn Checkpointer>,
    pub settings: Arc<GraphSettings<S>>,
}

/// The events of a replay.
const REPLAYED: [Mode; 6] =
    [Mode::Tasks, Mode::Checkpoints, Mode::Updates, Mode::Custom, Mode::Messages, Mode::Journal];
/// The help that names the command for an external update.
const UPDATE_HELP: &str = "; by hand here: `update THREAD --as-node NODE`";
/// The events that a watched run emits.
const RUN_MODES: [Mode; 5] = [Mode::Tasks, Mode::Checkpoints, Mode::Custom, Mode::Messages, Mode::Stored];

impl<S: State, N: NodeId, C: Send + Sync + 'static> TypedThread<S, N, C> {
    /// Returns the same thread with another handle.
    fn with_thread(&self, thread: Thread<S, N, C>) -> Arc<dyn AnyThread> {
        let (graph, id, store, settings) =
            (self.graph.clone(), self.id.clone(), Arc::clone(&self.store), Arc::clone(&self.settings));
        Arc::new(Self { graph, thread, id, store, settings })
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> AnyThread for TypedThread<S, N, C> {
    fn run(&self, go: RunRequest, cancel: CancellationToken) -> Result<Box<dyn AnyRun>, Failure> {
        let mut thread = self.thread.clone().cancel_with(cancel).record_events();
        let request = match go {
            RunRequest::Input(writing) => Request::input(self.writes(writing)?),
            RunRequest::OtherInput(writing) => {
                thread = thread.discard_pending();
                Request::input(self.writes(writing)?)
            }
            RunRequest::Answer(answer) => Request::answers([*answer]),
            RunRequest::Proceed => Request::proceed(),
            RunRequest::Drained(drain) => {
                thread = thread.drain_with(drain);
                Request::proceed()
            }
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
        Ok(Box::new(TypedRun { stream: thread.stream_deep(request, RUN_MODES), settings: Arc::clone(&self.settings) }))
    }

    fn with_stops(self: Arc<Self>, stops: &StopArgs) -> Result<Arc<dyn AnyThread>, Failure> {
        if stops.is_empty() {
            return Ok(self);
        }
        let nodes = |names: &[String]| names.iter().map(|name| self.stop(name)).collect::<Result<Vec<N>, _>>();
        let (before, after) = (nodes(&stops.stop_before)?, nodes(&stops.stop_after)?);
        let mut thread = self.thread.clone().remember_stops();
        if !stops.no_stops {
            thread = thread.interrupt_before(before).interrupt_after(after);
        }
        Ok(self.with_thread(thread))
    }

    fn with_max_supersteps(self: Arc<Self>, limit: Option<u64>) -> Arc<dyn AnyThread> {
        match limit {
            Some(limit) => self.with_thread(self.thread.clone().max_supersteps(limit)),
            None => self,
        }
    }

    fn replaced<'a>(&'a self, input: &'a ErasedWrites) -> Call<'a, Vec<ReplacedValue>> {
        let writes = input.0.downcast_ref::<Writes<S>>().cloned();
        Box::pin(async move {
            let (schema, state) = (self.graph.schema(), self.thread.state().await?);
            let (Some(state), Some(writes)) = (state, writes) else { return Ok(vec![]) };
            let before = state.json(schema);
            let mut replaced = vec![];
            for write in &writes.0 {
                let channel = &S::channels(schema)[S::channel_of(write)];
                let now = S::encode_write(schema, write, serde_json::value::Serializer).ok();
                let was = before.get(channel.name()).cloned();
                if !channel.is_replaced() || was == now {
                    continue;
                }
                let (was, now) = if channel.is_secret() { (None, None) } else { (was, now) };
                replaced.push(ReplacedValue { channel: channel.name().to_owned(), was, now });
            }
            Ok(replaced)
        })
    }

    fn record(&self, answer: Answer) -> Call<'_, ()> {
        Box::pin(async move {
            self.thread.clone().max_supersteps(0).answer(answer).await?;
            Ok(())
        })
    }

    fn send(&self, request: SignalRequest) -> Call<'_, SignalId> {
        Box::pin(async move { Ok(self.thread.send(request).await?) })
    }

    fn discard(&self, signal: SignalId) -> Call<'_, ()> {
        Box::pin(async move { Ok(self.thread.discard_signal(signal).await?) })
    }

    fn status(&self) -> BoxFuture<'_, Result<Status, RunError>> {
        Box::pin(self.thread.status())
    }

    fn report(&self) -> Call<'_, ThreadReport> {
        Box::pin(async move {
            let status = self.thread.status().await?;
            let snapshot = self.now().await?;
            let mut position =
                StatusShape::of(&status, &|question| self.open_question(question, Some(&snapshot.values)));
            position.next.clone_from(&snapshot.next);
            position.help = position.help.map(|help| help + UPDATE_HELP);
            for signal in &mut position.signals {
                signal.takes = self.graph.signal_shape(&signal.name);
            }
            let is_refused = snapshot.tasks.iter().all(|task| task.error.is_none());
            let blocking = if matches!(status, Status::Running) { self.blocking() } else { vec![] };
            Ok(ThreadReport {
                thread: self.id.to_string(),
                graph: self.graph.name().to_owned(),
                position,
                step: snapshot.step,
                summary: self.settings.summary.map(|summary| summary(&snapshot.values)),
                board: self.settings.presentation.lines(&snapshot.values),
                state: snapshot.json(self.graph.schema()),
                checkpoint: Some(snapshot.id.0),
                refused: is_refused && matches!(status, Status::Failed { .. }),
                advice: vec![],
                origin: self.origin().await?,
                blocking,
                running: vec![],
                stops: self.stops().await?,
                mailbox: self.thread.mailbox().await?.iter().map(Into::into).collect(),
            })
        })
    }

    fn cost(&self) -> BoxFuture<'_, u64> {
        Box::pin(async move {
            let Some(cost) = self.settings.presentation.cost else { return 0 };
            self.thread.state().await.ok().flatten().map_or(0, |state| cost(&state.values))
        })
    }

    fn blocking(&self) -> Vec<BlockingNode> {
        self.graph.blocking_nodes().into_iter().map(Into::into).collect()
    }

    fn never_blocks(&self) -> bool {
        self.settings.presentation.never_blocks
    }

    fn repository(&self) -> BoxFuture<'_, Option<WorkRepository>> {
        Box::pin(async move {
            let repository = self.settings.presentation.repository?;
            let state = self.now().await.ok()?.values;
            let folder = repository(&state);
            let commit = self.settings.presentation.commit.and_then(|commit| commit(&state));
            #[cfg(feature = "agents")]
            let origin = self.settings.presentation.origin.and_then(|origin| origin(&state));
            (!folder.as_os_str().is_empty()).then_some(WorkRepository {
                folder,
                commit,
                #[cfg(feature = "agents")]
                origin,
            })
        })
    }

    fn labels(&self) -> Labels {
        self.settings.presentation.labels.clone()
    }

    fn has_board(&self) -> bool {
        self.settings.presentation.board.is_some()
    }

    fn check<'a>(&'a self, to: Option<InterruptId>, answer: Option<&'a Value>) -> Call<'a, ()> {
        Box::pin(self.check_answer(to, answer))
    }

    fn draft(&self, to: Option<InterruptId>) -> Call<'_, Draft> {
        Box::pin(self.answer_draft(to))
    }

    fn edited<'a>(&'a self, to: Option<InterruptId>, text: String) -> Call<'a, Answer> {
        Box::pin(self.edited_answer(to, text))
    }

    fn decide<'a>(&'a self, to: Option<InterruptId>, reply: &'a Reply) -> Call<'a, Answer> {
        Box::pin(self.decide_answer(to, reply))
    }

    fn history<'a>(&'a self, limit: usize, channel: Option<&'a str>) -> Call<'a, Vec<HistoryStep>> {
        Box::pin(async move {
            let history = self.thread.history().await?;
            let Some(channel) = channel else {
                let listed = history.limit(limit).outline().await?;
                return Ok(listed.into_iter().map(|(info, next)| step(&info, next)).collect());
            };
            let at = S::channels(self.graph.schema()).iter().position(|known| known.name() == channel);
            if at.is_none() {
                return Err(self.no_channel(channel));
            }
            let mut steps: Vec<HistoryStep> = vec![];
            for snapshot in history.all().await? {
                let value = snapshot.json(self.graph.schema()).get(channel).cloned().unwrap_or_default();
                let same = |newer: &HistoryStep| {
                    newer.value.as_ref() == Some(&value) && newer.info.parent == Some(snapshot.id.0)
                };
                if steps.last().is_some_and(same) {
                    steps.pop(); // it changed before
                }
                steps.push(HistoryStep { value: Some(value), ..step(&snapshot.info(), snapshot.next.clone()) });
            }
            steps.truncate(limit);
            Ok(steps)
        })
    }

    fn history_with_tasks(&self, limit: usize) -> Call<'_, Vec<HistoryStep>> {
        Box::pin(async move {
            let mut steps = vec![];
            for snapshot in self.thread.history().await?.limit(limit).all().await? {
                let tasks = snapshot.tasks.iter().map(|task| TaskShape::of(task, &|one| self.open_question(one, None)));
                let mut tasks: Vec<TaskReport> = tasks.map(|task| TaskShape { input: None, ..task }).collect();
                add_journals(&snapshot.tasks, &mut tasks).await?;
                steps.push(HistoryStep { tasks: Some(tasks), ..step(&snapshot.info(), snapshot.next.clone()) });
            }
            Ok(steps)
        })
    }

    fn events(&self, from: Option<CheckpointId>) -> Call<'_, Vec<Value>> {
        Box::pin(async move {
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
        })
    }

    fn verify(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String, crate::graph::Verdict)> {
        Box::pin(async move {
            let found = self.at(from).verify().await?;
            let mut shown = json(&found)?;
            shown["verdict"] = json(&found.verdict())?;
            Ok((shown, format!("{found}\n"), found.verdict()))
        })
    }

    fn what_if(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String)> {
        Box::pin(async move {
            let found = self.at(from).what_if().await?;
            Ok((json(&found)?, format!("{found}\n")))
        })
    }

    fn policy_what_if<'a>(&'a self, changes: &'a [(String, String)]) -> Call<'a, Option<Said>> {
        Box::pin(async move {
            let Some(what_if) = self.settings.what_if else { return Ok(None) };
            let snapshot = self.thread.state().await?.ok_or_else(|| never_ran(&self.id))?;
            Ok(Some(what_if(&snapshot.values, changes)?))
        })
    }

    fn diff(&self, from: CheckpointId, to: CheckpointId) -> Call<'_, (Value, String)> {
        Box::pin(async move {
            let diff = self.thread.diff_deep(from, to).await?;
            Ok((json(&diff)?, format!("{diff}\n")))
        })
    }

    fn show(&self, at: Option<CheckpointId>) -> Call<'_, CheckpointReport> {
        Box::pin(async move {
            let snapshot = self.at(at).state_deep().await?.ok_or_else(|| never_ran(&self.id))?;
            let json = snapshot.json(self.graph.schema());
            let mut shape = SnapshotShape::of(&snapshot, json, &|one| self.open_question(one, None));
            add_journals(&snapshot.tasks, &mut shape.tasks).await?;
            let (thread, graph) = (self.id.to_string(), self.graph.name().to_owned());
            Ok(CheckpointReport { thread, graph, origin: self.origin().await?, snapshot: shape })
        })
    }

    fn update(&self, at: Option<CheckpointId>, node: Option<String>, values: ErasedWrites) -> Call<'_, Vec<String>> {
        Box::pin(async move {
            let mut update = StateUpdate::new(self.writes(values)?);
            if let Some(name) = node {
                update = match name.as_str() {
                    "START" => update.as_start(),
                    name => update.as_node(self.node(name)?),
                };
            }
            self.apply_update(at, update).await
        })
    }

    fn fork_writes<'a>(&'a self, at: CheckpointId, new: Option<&'a str>) -> Call<'a, Option<ForkWrites>> {
        Box::pin(async move {
            let Some(forks) = self.settings.forks else { return Ok(None) };
            let there = self.at(Some(at)).state().await?.ok_or_else(|| never_ran(&self.id))?;
            let newest = self.thread.state().await?.ok_or_else(|| never_ran(&self.id))?;
            let thread = new.map_or_else(|| self.id.to_string(), str::to_owned);
            let (at, newest) = (Arc::clone(&there.values), Arc::clone(&newest.values));
            Ok(Some(forks(ForkPoint { at, newest, thread, is_new_thread: new.is_some() }).await?))
        })
    }

    fn fork(&self, at: CheckpointId, values: Option<ErasedWrites>) -> Call<'_, Vec<String>> {
        Box::pin(async move {
            let update = match values {
                Some(values) => StateUpdate::new(self.writes(values)?),
                None => StateUpdate::copy(),
            };
            self.apply_update(Some(at), update).await
        })
    }

    fn draw(&self, format: Format, depth: usize) -> Call<'_, String> {
        Box::pin(async move {
            Ok(match format {
                Format::Mermaid => self.thread.mermaid(depth).await?,
                Format::Dot => self.thread.dot(depth).await?,
                Format::Ascii => self.thread.ascii(depth).await?,
            })
        })
    }

    fn copy_to<'a>(&'a self, to: &'a str, at: CheckpointId) -> Call<'a, ()> {
        Box::pin(async move { Ok(self.thread.copy_to(to, at).await?) })
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> TypedThread<S, N, C> {
    fn writes(&self, writing: ErasedWrites) -> Result<Writes<S>, Failure> {
        let other = |_| Failure::new(format!("the input was made for another graph than `{}`", self.graph.name()));
        writing.0.downcast::<Writes<S>>().map(|writes| *writes).map_err(other)
    }

    /// Reads the state with the progress of subgraphs.
    async fn now(&self) -> Result<StateSnapshot<S>, Failure> {
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

    async fn stops(&self) -> Result<Vec<StopShape>, Failure> {
        let about = about_thread(&*self.store, &self.id).await?;
        Ok(about.map(|about| about.stops).unwrap_or_default().into_iter().map(Into::into).collect())
    }

    async fn origin(&self) -> Result<Origin, Failure> {
        Ok(foreign(&*self.store, &self.id).await?.into())
    }

    fn node(&self, name: &str) -> Result<N, Failure> {
        let nodes: Vec<&str> = self.graph.nodes().collect();
        let help = format!("the nodes are {}, and START", nodes.join(", "));
        self.graph.node(name).ok_or_else(|| Failure::usage(format!("there is no node `{name}`")).help(help))
    }

    fn stop(&self, name: &str) -> Result<N, Failure> {
        let nodes: Vec<&str> = self.graph.nodes().collect();
        let error = format!("graph `{}` has no node `{name}` to stop at", self.graph.name());
        let help = format!("its nodes are {}", nodes.join(", "));
        self.graph.node(name).ok_or_else(|| Failure::usage(error).help(help))
    }

    fn no_channel(&self, name: &str) -> Failure {
        let channels = S::channels(self.graph.schema()).iter();
        let names: Vec<&str> = channels.map(|channel| channel.name()).collect();
        Failure::usage(format!("there is no channel `{name}`")).help(format!("the channels are {}", names.join(", ")))
    }

    /// Returns the thread at a checkpoint, or at its newest.
    fn at(&self, at: Option<CheckpointId>) -> Thread<S, N, C> {
        let thread = self.thread.clone();
        if let Some(at) = at { thread.at(at) } else { thread }
    }

    async fn apply_update(&self, at: Option<CheckpointId>, update: StateUpdate<S, N>) -> Result<Vec<String>, Failure> {
        Ok(self.at(at).update(update).await?.dropped)
    }
}

fn step(info: &CheckpointInfo, next: Vec<String>) -> HistoryStep {
    HistoryStep { info: info.into(), next, value: None, tasks: None }
}

fn never_ran(id: &ThreadId) -> Failure {
    RunError::EmptyInput { thread: id.clone() }.into()
}
