//! Runs a request: loads the thread, drives the run and turns its exit into an outcome.

use std::sync::Arc;

use tracing::Instrument;

use super::carry;
use super::handle::ThreadCore;
use super::last_end::{RunEnd, end_to_keep, is_resumable};
use super::outcome::Outcome;
use super::request::{AnyRequest, Kind};
use super::snapshot::add_command;
use super::trace::ended;
use super::unfinished::{counted, unfinished};
use super::votes::with_expired;
use crate::checkpoint::{Source, TaskStatus, encode_record};
use crate::graph::context::{Exit, GraphScope, Shared};
use crate::graph::error::RunError;
use crate::graph::interrupt::Answer;
use crate::graph::node::AnyCommand;
use crate::graph::persist::load::position;
use crate::graph::records::reader::reader;
use crate::graph::records::{COMMAND_KEY, Mapping, NEW_LINE, Reader, Tasks, ThreadGuard, fork};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::run::{Run, trace};
use crate::graph::state::{AnyState, Boxed};
use crate::graph::superstep::Position;
use crate::graph::superstep::task::planned;
use crate::graph::view::Sink;

const RUNNING: &str = "running a thread";

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
        Box::pin(self.perform(Box::new(request), sink))
    }

    pub(crate) async fn perform(
        &self,
        request: Box<AnyRequest>,
        sink: Option<Sink>,
    ) -> Result<Outcome<AnyState>, RunError> {
        if !trace::is_on() {
            return catch_panics(RUNNING, self.performed(request, sink)).await;
        }
        let span = trace::run_span(self.id.as_ref(), &self.graph.name, &[]);
        let outcome = Box::pin(catch_panics(RUNNING, self.performed(request, sink))).instrument(span.clone()).await;
        span.in_scope(|| ended(&outcome));
        outcome
    }

    async fn performed(&self, request: Box<AnyRequest>, sink: Option<Sink>) -> Result<Outcome<AnyState>, RunError> {
        self.check_whole("a run")?;
        self.check()?;
        let recorder = Box::pin(self.open()).await?;
        let _held = recorder.clone().map(ThreadGuard);
        let shared = self.shared(recorder.clone(), sink);
        let done = catch_panics(RUNNING, self.drive(request, shared)).await;
        let settled = match &recorder {
            Some(recorder) => recorder.settle().await,
            None => Ok(()),
        };
        let (outcome, end) = done?;
        settled?;
        if let Some(recorder) = &recorder {
            self.keep_end(recorder, end);
        }
        Ok(outcome)
    }

    fn check(&self) -> Result<(), RunError> {
        if self.limits.recursion < 1 {
            return Err(RunError::InvalidConfig { what: "the recursion limit must be at least 1".into() });
        }
        if self.id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
            return Err(RunError::InvalidConfig { what: "a thread needs a name: \"\" is none".into() });
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
        shared: Arc<Shared>,
    ) -> Result<(Outcome<AnyState>, Option<Box<RunEnd>>), RunError> {
        // Boxed, the run too: a run that waits in a node keeps no room for loading.
        let mut run = Box::pin(self.prepared(request, shared)).await?;
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
        let is_resumable = is_resumable(&exit);
        let outcome = run.outcome(exit);
        Ok((outcome, if is_resumable { end_to_keep(*run) } else { None }))
    }

    /// Loads the thread as a run, with the request applied to it.
    async fn prepared(&self, request: Box<AnyRequest>, shared: Arc<Shared>) -> Result<Box<Run>, RunError> {
        let writes = match request.kind {
            Kind::Input(writes) => writes,
            Kind::Go { answers, command } => {
                return Box::pin(self.resumed(shared, answers, command)).await.map(Box::new);
            }
        };
        let end = shared.recorder.as_ref().and_then(|recorder| self.take_end_at_rest(recorder));
        let mut run = Box::new(match end {
            Some(pos) => Run::new(Arc::clone(&self.graph.table), shared, GraphScope::root(), pos),
            None => Box::pin(self.load_for_input(shared)).await?,
        });
        self.at_rest(&run).await?;
        run.limit();
        run.begin_input(writes)?;
        run.input.raw = request.given;
        Ok(run)
    }

    async fn load_for_input(&self, shared: Arc<Shared>) -> Result<Run, RunError> {
        let (mut run, loaded) = self.load(shared, true).await?;
        if let Some((reader, mapping)) = loaded {
            let mut records = reader.tasks(run.pos.meta.id).await?;
            reader.commanded(&run.table, &mut run.pos, "", &mut records, &mapping).await?;
            mapping.check_pin(&reader)?;
            if !self.settings.discard && self.at.is_none() {
                mapping.check(&reader)?;
            }
            run.keep_children(&reader, &mapping).await?;
        }
        Ok(run)
    }

    /// Loads the thread's position as a run that has not started.
    async fn load(&self, shared: Arc<Shared>, fresh: bool) -> Result<(Run, Option<(Reader, Mapping)>), RunError> {
        let table = Arc::clone(&self.graph.table);
        let Some(recorder) = shared.recorder.clone() else {
            return Ok((Run::new(Arc::clone(&table), shared, GraphScope::root(), Position::empty(&table)), None));
        };
        let reader = reader(&recorder);
        let Some(id) = self.at.or(recorder.head().checkpoint) else {
            return Ok((Run::new(Arc::clone(&table), shared, GraphScope::root(), Position::empty(&table)), None));
        };
        self.check_at(&reader).await?;
        if let Some(RunEnd { position, step }) = self.take_stored_end(&reader, &recorder).await? {
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
        let waiting = planned(&run.table, &run.pos);
        let names = waiting.iter().map(|task| format!("`{}`", run.node_name(task.node))).collect();
        let pending = self.open_questions(run).await?;
        let reason = match pending.len() {
            0 => unfinished(names),
            1 => format!("it waits for an answer to {}", counted(pending)),
            _ => format!("it waits for answers to {}", counted(pending)),
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

    /// Resumes the thread. Everything written before a task runs is one commit.
    async fn resumed(
        &self,
        shared: Arc<Shared>,
        answers: Vec<Answer>,
        command: Option<AnyCommand>,
    ) -> Result<Run, RunError> {
        let recorder = shared.recorder.clone();
        if let Some(recorder) = &recorder {
            recorder.gather();
        }
        let run = self.load_to_resume(shared, answers, command).await?;
        if let Some(recorder) = &recorder {
            recorder.keep_gathered().await?;
        }
        if run.step.planned {
            run.emit_values().await;
        }
        Ok(run)
    }

    /// Loads the run to resume, with results restored, answers stored and the command applied; on a fork where one is
    /// needed.
    async fn load_to_resume(
        &self,
        shared: Arc<Shared>,
        answers: Vec<Answer>,
        command: Option<AnyCommand>,
    ) -> Result<Run, RunError> {
        if !answers.is_empty() && shared.recorder.is_none() {
            return Err(RunError::NoCheckpointer { what: "an answer" });
        }
        if command.is_none() && self.id.is_some() && shared.recorder.is_none() {
            return Err(RunError::NoCheckpointer { what: "continuing a thread" });
        }
        if let Some(thread) = self.replay_in_subgraph(&shared).await? {
            return Box::pin(thread.load_to_resume(shared, answers, command)).await;
        }
        let (mut run, loaded) = self.load(shared, false).await?;
        let Some((reader, mut mapping)) = loaded else { return self.unstarted(run, answers, command) };
        run.limit();
        run.stops.breakpoints_active = false;
        if command.is_none() {
            let matched;
            (run, matched) = self.matched_left(run, &reader, &answers).await?;
            if let Some(matched) = matched {
                return self.resume_left(run, &reader, matched).await;
            }
        }
        run.drop_left_step();
        if command.as_ref().is_some_and(|command| command.writes.is_empty() && command.goto.is_empty()) {
            return Err(self.unknown());
        }
        let behind = !run.is_at_head();
        let travels = (self.at.is_some() && answers.is_empty()) || self.settings.restart_superstep;
        let mut records = reader.tasks(run.pos.meta.id).await?;
        if let Some(before) = records.get(&COMMAND_KEY) {
            let before = reader.finished(&run.table, "", before, &mapping).await?;
            add_command(&run.table, &mut run.pos, &before);
        }
        let own = matches!(run.pos.meta.source, Source::Update | Source::Fork) && !self.settings.restart_superstep;
        let mut forks = behind || (travels && !own);
        let anew = forks && travels;
        if !mapping.is_same() && !anew {
            self.check_inside(&run, &reader, &records, &mapping).await?;
            records = run.migrate(&reader, records, &mapping).await?;
            (mapping, forks) = (run.own_mapping(), false);
        }
        let mapped_at = run.pos.meta.id;
        self.drop_undeclared_questions(&mut records);
        let now = self.environment.host.now(); // one time for all checks, or an answer in time might be stored late
        let answers = if travels || forks { answers } else { with_expired(&reader, &records, answers, now) };
        if !answers.is_empty() {
            let given = (answers, now);
            self.answered(&mut run, &reader, &mut records, given, forks.then_some(&mapping)).await?;
        } else if travels && !forks {
            self.forget(&run, &reader, &records, &mapping).await?;
        }
        let (carried, origin) = (forks && travels, run.pos.meta.id);
        match command {
            Some(command) => self.commanded(&mut run, &reader, &mut records, command, (carried, &mapping)).await?,
            None if carried => run.fork(Source::Fork, vec![]).await?,
            None => {}
        }
        run.step.planned = false;
        run.plan();
        if self.settings.restart_superstep
            && let Some(recorder) = run.recorder()
        {
            let tasks = run.step.tasks.iter().map(|task| task.key);
            let fork = fork::ForkPoint {
                from: origin,
                to: run.pos.meta.id,
                mapping: &mapping,
                parts: behind.then_some(&records),
            };
            recorder.commit_now(fork::journals(&reader, fork, tasks).await?).await?;
        }
        if !travels {
            let table = Arc::clone(&run.table);
            records.remove(&COMMAND_KEY);
            reader.restore(&table, "", &mut run.step.tasks, records, &mapping).await?;
            run.wake_due();
        } else if !forks {
            let asked = mapping.by_present_key(records);
            for task in &mut run.step.tasks {
                let Some(record) = asked.get(&task.key) else { continue };
                task.asked = reader.questions(&run.table, record).await?.into(); // shown until it asks again
            }
        }
        let moved = (run.pos.meta.id != mapped_at).then(|| run.own_mapping()); // a fork is in the present graph's words
        carry::attach_journals(&mut run, &reader, moved.as_ref().unwrap_or(&mapping), travels && !forks).await?;
        mapping.check(&reader)?;
        run.wake_signalled().await?;
        Ok(run)
    }

    /// Replays from a checkpoint of a subgraph: forks the graphs around it and resumes from the new head (V10).
    async fn replay_in_subgraph(&self, shared: &Shared) -> Result<Option<Self>, RunError> {
        let (Some(id), Some(recorder)) = (self.at, &shared.recorder) else { return Ok(None) };
        let reader = reader(recorder);
        let nested = reader.record(id).await?.is_some_and(|record| !record.namespace.is_empty());
        if !nested {
            return Ok(None);
        }
        super::travel::inside(&reader, recorder, self.stamp(), id).await?;
        let mut thread = self.clone();
        thread.at = None;
        Ok(Some(thread))
    }

    /// Starts a thread that has never run with a command; anything else is an error.
    fn unstarted(&self, mut run: Run, answers: Vec<Answer>, command: Option<AnyCommand>) -> Result<Run, RunError> {
        if !answers.is_empty() {
            let thread = self.id.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default();
            return Err(RunError::UnknownQuestion { question: format!("on thread{thread}, which has never run") });
        }
        let command = command.ok_or_else(|| self.unknown())?;
        if command.writes.is_empty() && command.goto.is_empty() {
            return Err(self.unknown());
        }
        run.limit();
        let AnyCommand { writes, goto, .. } = command;
        run.begin_input(writes)?;
        run.input.goto = goto;
        Ok(run)
    }

    /// Applies a command: a fork stores it with its checkpoint; otherwise a goto is recorded at the present checkpoint,
    /// and an update makes a checkpoint of its own (V7).
    async fn commanded(
        &self,
        run: &mut Run,
        reader: &Reader,
        records: &mut Tasks,
        command: AnyCommand,
        (forks, mapping): (bool, &Mapping),
    ) -> Result<(), RunError> {
        if command.parent.is_some() {
            return Err(RunError::NoParentGraph { node: "the command".into() });
        }
        let updates = !command.writes.is_empty();
        let mut puts = vec![];
        let before = records.get(&COMMAND_KEY).filter(|_| !updates && !forks).cloned();
        let beside_results = records.values().any(|record| record.status == TaskStatus::Done);
        // Stored, but not part of the state: the entries of a log must not close over them.
        if updates && (beside_results || run.pos.start.is_some()) {
            run.pos.channels.line = NEW_LINE;
        }
        let record = run.command(command, before, &mut puts)?;
        let Some(recorder) = run.recorder().cloned() else { return Ok(()) };
        if forks {
            return run.fork(Source::Fork, puts).await;
        }
        if updates {
            let origin = run.pos.meta.id;
            run.fork(Source::Update, puts).await?;
            run.does_not_count();
            let puts = self.copied(run, reader, (origin, false), records, mapping).await?;
            recorder.commit(puts, None).await?;
            return Ok(());
        }
        let key = run.task_key(COMMAND_KEY);
        if beside_results {
            recorder.keep(&key); // without it, the results alone would seem to have led to what comes next
        }
        puts.push((key, encode_record(&record)?));
        recorder.commit(puts, None).await?;
        Ok(())
    }

    /// Stores answers at the checkpoint itself, or at a fork that continues with copies of its tasks and their
    /// subgraphs.
    async fn answered(
        &self,
        run: &mut Run,
        reader: &Reader,
        records: &mut Tasks,
        (answers, now): (Vec<Answer>, u64),
        forks: Option<&Mapping>,
    ) -> Result<(), RunError> {
        let matched = self.matching(reader, records, answers, now).await?;
        if let Some(mapping) = forks {
            let way = (run.pos.meta.id, !run.is_at_head());
            run.fork(Source::Fork, vec![]).await?;
            run.does_not_count();
            let puts = self.copied(run, reader, way, records, mapping).await?;
            if let Some(recorder) = run.recorder() {
                recorder.commit_now(puts).await?;
            }
        }
        self.store_answers(run, reader, records, matched).await
    }
}
