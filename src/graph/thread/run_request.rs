//! Runs a request: loads the thread, drives the run and turns its exit into an outcome. Input starts here; answers and
//! commands are applied in `resume`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use tracing::Instrument;

use super::handle::ThreadCore;
use super::open::{RunEnd, end_to_keep, is_resumable};
use super::outcome::{Outcome, log_end};
use super::request::{AnyRequest, Kind};
use crate::checkpoint::TaskStatus;
use crate::graph::context::{Exit, GraphScope, RunShared};
use crate::graph::error::RunError;
use crate::graph::persist::load::position;
use crate::graph::records::reader::reader;
use crate::graph::records::{Mapping, NEW_LINE, Reader, Recorder, ThreadGuard};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::run::{Run, trace};
use crate::graph::state::{AnyState, AnyWrite, AnyWrites, Boxed};
use crate::graph::superstep::Position;
use crate::graph::superstep::task::planned_tasks;
use crate::graph::view::Sink;

const RUNNING: &str = "running a thread";

type RawInput = Arc<Map<String, Value>>;

impl ThreadCore {
    /// Runs a request.
    pub(crate) fn run(&self, request: AnyRequest) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        self.run_to(request, None)
    }

    /// Runs a request, and sends its events to a sink.
    pub(crate) fn run_to(
        &self,
        request: AnyRequest,
        sink: Option<Sink>,
    ) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        Box::pin(self.run_traced(Box::new(request), sink))
    }

    pub(crate) async fn run_traced(
        &self,
        request: Box<AnyRequest>,
        sink: Option<Sink>,
    ) -> Result<Outcome<AnyState>, RunError> {
        if !trace::is_on() {
            return catch_panics(RUNNING, self.run_locked(request, sink)).await;
        }
        let (mut thread, secrets) = (self.clone(), self.environment.secrets.clone().unwrap_or_default());
        thread.environment.secrets = Some(Arc::clone(&secrets));
        let span = trace::run_span(self.id.as_ref(), &self.graph.name, &[]);
        let outcome = Box::pin(catch_panics(RUNNING, thread.run_locked(request, sink))).instrument(span.clone()).await;
        span.in_scope(|| log_end(&outcome, &secrets));
        outcome
    }

    pub(crate) fn retry(&self) -> Boxed<'_, Result<Outcome<AnyState>, RunError>> {
        Box::pin(async move {
            if self.graph.store.is_none() {
                return Err(RunError::NoCheckpointer { what: "retry" });
            }
            self.clone().restart_superstep().run_traced(Box::new(AnyRequest::proceed()), None).await
        })
    }

    pub(crate) fn restart_superstep(mut self) -> Self {
        self.settings.restart_superstep = true;
        self
    }

    async fn run_locked(
        &self,
        mut request: Box<AnyRequest>,
        sink: Option<Sink>,
    ) -> Result<Outcome<AnyState>, RunError> {
        self.check_whole("a run")?;
        self.check()?;
        self.check_writes(request.writes())?;
        // Runs that are not stored go without a box.
        let opened = if self.stored_in().is_some() { Box::pin(self.open()).await? } else { None };
        let Some(recorder) = opened else {
            return Ok(self.drive(request, self.shared(None, sink)).await?.0);
        };
        recorder.add_items(std::mem::take(&mut request.items));
        let guard = ThreadGuard(Arc::clone(&recorder));
        let mut done = self.run_recorded(request, sink.clone(), &recorder).await;
        while self.is_answered(&done, &recorder).await? {
            done = self.run_recorded(Box::new(AnyRequest::proceed()), sink.clone(), &recorder).await;
        }
        guard.release().await;
        done
    }

    async fn run_recorded(
        &self,
        request: Box<AnyRequest>,
        sink: Option<Sink>,
        recorder: &Arc<Recorder>,
    ) -> Result<Outcome<AnyState>, RunError> {
        let shared = self.shared(Some(Arc::clone(recorder)), sink);
        let done = catch_panics(RUNNING, self.drive(request, shared)).await;
        recorder.lease().check()?; // its loss stopped the run, whatever else it reports
        if done.is_err() {
            recorder.drop_items(); // a request that was refused writes nothing
        }
        let settled = recorder.settle().await;
        let (outcome, end) = done?;
        settled?;
        self.keep_end(recorder, end);
        Ok(outcome)
    }

    /// Refuses writes that were made for another graph, which only a caller without types can give.
    pub(super) fn check_writes<'a>(&self, writes: impl IntoIterator<Item = &'a AnyWrite>) -> Result<(), RunError> {
        let what = || format!("the writes were made for another graph than `{}`", self.graph.name);
        let fit = writes.into_iter().all(|write| self.graph.table.schema.fits(write));
        if fit { Ok(()) } else { Err(RunError::InvalidConfig { what: what() }) }
    }

    fn check(&self) -> Result<(), RunError> {
        if self.limits.recursion < 1 {
            return Err(RunError::InvalidConfig { what: "the recursion limit must be at least 1".into() });
        }
        if self.id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
            return Err(RunError::InvalidConfig { what: "the name of a thread cannot be empty".into() });
        }
        let table = &self.graph.table;
        if table.questions.declared && !table.questions.unresumable && self.graph.store.is_none() {
            return Err(RunError::NoCheckpointer { what: "a graph that can ask questions" });
        }
        Ok(())
    }

    /// Returns the outcome of a run, and the position at its end if the next run may go on from it.
    async fn drive(
        &self,
        request: Box<AnyRequest>,
        shared: Arc<RunShared>,
    ) -> Result<(Outcome<AnyState>, Option<Box<RunEnd>>), RunError> {
        let mut run = match request.kind {
            Kind::Input(writes) if self.needs_nothing_loaded(&shared) => {
                begin(Box::new(self.empty_run(shared)), writes, request.given)?
            }
            // Boxed, the run too: a run that waits in a node keeps no room for loading.
            kind => Box::pin(self.load_run(kind, request.given, shared)).await?,
        };
        run.stops.overrides = self.stops_over(run.recorder().map_or(&[], |recorder| recorder.stops()));
        let exit = run.drive().await?;
        run.shared.stragglers.wait(|| run.table.declares_waits()).await?;
        if matches!(exit, Exit::Interrupted | Exit::Waiting(_) | Exit::Awaiting(_)) {
            run.leave_step()?;
            Box::pin(run.emit_interrupted()).await;
            if exit == Exit::Interrupted && run.open_questions() == 0 {
                Box::pin(run.emit_breakpoint()).await; // of a subgraph
            }
        }
        let is_kept = is_resumable(&exit) && run.recorder().is_some();
        let outcome = run.outcome(exit);
        Ok((outcome, if is_kept { end_to_keep(*run) } else { None }))
    }

    /// Returns true if there is no checkpoint to load, nor an item to store before the first one.
    fn needs_nothing_loaded(&self, shared: &RunShared) -> bool {
        let is_new = |recorder: &Arc<Recorder>| recorder.head().checkpoint.is_none() && !recorder.has_items();
        shared.recorder.as_ref().is_none_or(|recorder| self.at.is_none() && is_new(recorder))
    }

    fn empty_run(&self, shared: Arc<RunShared>) -> Run {
        let table = Arc::clone(&self.graph.table);
        let position = Position::empty(&table);
        Run::new(table, shared, GraphScope::root(), position)
    }

    /// Loads the thread as a run, with the request applied to it.
    async fn load_run(&self, kind: Kind, raw: Option<RawInput>, shared: Arc<RunShared>) -> Result<Box<Run>, RunError> {
        let writes = match kind {
            Kind::Input(writes) => writes,
            Kind::Go { answers, command } => {
                return Box::pin(self.resume_run(shared, answers, command)).await.map(Box::new);
            }
        };
        let end = shared.recorder.as_ref().and_then(|recorder| self.take_end_at_rest(recorder));
        let run = Box::new(match end {
            Some(end) => Run::new(Arc::clone(&self.graph.table), shared, GraphScope::root(), end.position),
            None => Box::pin(self.load_for_input(shared)).await?,
        });
        self.at_rest(&run).await?;
        let mut run = begin(run, writes, raw)?;
        run.commit_items().await?;
        Ok(run)
    }

    async fn load_for_input(&self, shared: Arc<RunShared>) -> Result<Run, RunError> {
        let (mut run, loaded) = self.load(shared, true).await?;
        if let Some((reader, mapping)) = loaded {
            let mut records = reader.tasks(run.pos.meta.id).await?;
            reader.apply_stored_command(&run.table, &mut run.pos, "", &mut records, &mapping).await?;
            mapping.check_pin(&reader)?;
            if !self.settings.discard && self.at.is_none() {
                mapping.check(&reader)?;
            }
            run.keep_children(&reader, &mapping).await?;
        }
        Ok(run)
    }

    /// Loads the thread's position as a run that has not started.
    pub(super) async fn load(
        &self,
        shared: Arc<RunShared>,
        fresh: bool,
    ) -> Result<(Run, Option<(Reader, Mapping)>), RunError> {
        let table = Arc::clone(&self.graph.table);
        let Some(recorder) = shared.recorder.clone() else { return Ok((self.empty_run(shared), None)) };
        let reader = reader(&recorder);
        let Some(id) = self.at.or(recorder.head().checkpoint) else { return Ok((self.empty_run(shared), None)) };
        self.check_at(&reader).await?;
        if let Some(end) = self.take_stored_end(&reader, &recorder).await? {
            let RunEnd { position, step } = *end;
            let mut run = Run::new(table, shared, GraphScope::root(), position);
            step.filter(|_| !fresh).into_iter().for_each(|step| run.take_up(step));
            let mapping = run.own_mapping();
            return Ok((run, Some((reader, mapping))));
        }
        let (mut pos, mapping) = position(&reader, &table, id).await?;
        if fresh && recorder.head().checkpoint != Some(id) {
            pos.channels.line = NEW_LINE;
        }
        reader.warn_of_unknown_channels(&pos.channels.unknown);
        Ok((Run::new(table, shared, GraphScope::root(), pos), Some((reader, mapping))))
    }

    /// Fails if the thread has unfinished tasks or pending questions (V4): new input must not drop them silently.
    async fn at_rest(&self, run: &Run) -> Result<(), RunError> {
        let idle = run.pos.start.is_none() && run.pos.control.is_idle(&run.table.wiring);
        if idle || self.settings.discard || self.at.is_some() {
            return Ok(());
        }
        let thread = self.id.clone().unwrap_or_else(|| "".into());
        let waiting = planned_tasks(&run.table, &run.pos);
        let names = waiting.iter().map(|task| format!("`{}`", run.node_name(task.node))).collect();
        let pending = self.open_questions(run).await?;
        let reason = match pending.len() {
            0 => unfinished_text(names),
            1 => format!("it waits for an answer to {}", count_names(pending)),
            _ => format!("it waits for answers to {}", count_names(pending)),
        };
        Err(RunError::Unfinished { thread, reason })
    }

    async fn open_questions(&self, run: &Run) -> Result<Vec<String>, RunError> {
        let Some(recorder) = run.recorder() else { return Ok(vec![]) };
        let records = reader(recorder).tasks(run.pos.meta.id).await?;
        let waiting = records.values().filter(|record| record.status == TaskStatus::Interrupted);
        let open = waiting.flat_map(|record| record.questions.iter().filter(|question| !question.answered));
        Ok(open.map(|question| format!("`{}`", question.name)).collect())
    }
}

/// Begins a run with an input; `raw` is the same as JSON, if it was given so.
fn begin(mut run: Box<Run>, writes: AnyWrites, raw: Option<RawInput>) -> Result<Box<Run>, RunError> {
    run.limit();
    run.begin_input(writes)?;
    run.input.raw = raw;
    Ok(run)
}

fn unfinished_text(tasks: Vec<String>) -> String {
    let has = if tasks.len() == 1 { "has" } else { "have" };
    format!("{} {has} not finished", count_names(tasks))
}

/// Joins the names in order, each once, with its number of occurrences.
fn count_names(names: Vec<String>) -> String {
    let mut times = BTreeMap::<String, usize>::new();
    names.into_iter().for_each(|name| *times.entry(name).or_default() += 1);
    let parts =
        times.into_iter().map(|(name, times)| if times == 1 { name } else { format!("{name} ({times} times)") });
    parts.collect::<Vec<_>>().join(" and ")
}
