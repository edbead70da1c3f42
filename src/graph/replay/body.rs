//! Runs the body of a recorded task again, with its recorded answers, effects, times and subgraph results. A subgraph that it
//! calls is compared superstep by superstep, and returns its result to the body.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::compare::{self, UnsavedValues};
use super::walk::{StepRecord, Walk, channels_without_row};
use crate::checkpoint::{Source, TaskRecord};
use crate::graph::build::GraphCore;
use crate::graph::context::{Comparison, Difference, GraphScope, Spot, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::records::{Caller, Journal, Reader, START_NAME, START_NODE};
use crate::graph::run::children::{base_version, pointer_number};
use crate::graph::run::enter::graph_scope;
use crate::graph::run::perform::start;
use crate::graph::run::{BodyOutcome, BodyResult, ChildInput, Delta, Run, StateMode};
use crate::graph::state::{AnySchema, AnyState, AnyWrites};
use crate::graph::superstep::{FinishedResult, Position, Routing};
use crate::graph::view::ChildOutput;

/// Reason a comparison ends: an error, or `None` for a difference that is already in the report.
pub(crate) type Abort = Option<RunError>;

/// The report of a replay, and the possible values of channels that are never saved.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub comparison: &'a Comparison,
    pub unsaved: &'a UnsavedValues,
}

/// The result of a task in a replay.
pub(crate) struct ReplayedTask {
    pub now: Box<FinishedResult>,
    /// Set if its body has run; else the writes are the recorded ones.
    pub has_run: bool,
}

impl Run {
    pub(crate) async fn load_journals(&mut self, step: &StepRecord, reader: &Reader) -> Result<(), RunError> {
        if !self.is_root() {
            return Ok(());
        }
        let mut journals = reader.entries_of(self.pos.meta.id, &step.mapping).await?;
        for task in &mut self.step.tasks {
            let entries = journals.remove(&task.key).unwrap_or_default();
            task.journal = Some(Arc::new(Journal::for_replay(self.pos.meta.id, task.key, entries)));
        }
        Ok(())
    }

    /// Returns the task's result with today's graph: from its body if that may run again, else from the record. With
    /// several tasks in the superstep, its routers have run too.
    pub(crate) async fn replay_task(
        &mut self,
        at: usize,
        recorded: &FinishedResult,
        step: &StepRecord,
        replay: Evidence<'_>,
    ) -> Result<ReplayedTask, Abort> {
        let (node, comparison) = (self.step.tasks[at].node, replay.comparison);
        let ended_before = step.ended_before.contains(&self.step.tasks[at].key);
        if node != START_NODE {
            let why = match self.skip_reason(at, recorded, ended_before) {
                Some(why) => why.to_owned(),
                None => match self.replay_body(at, recorded, step, replay).await? {
                    Ok(now) => return Ok(ReplayedTask { now, has_run: true }),
                    Err(why) => why,
                },
            };
            comparison.note_skip(self.spot(), &self.node_name(node), &why);
        }
        let mut now = without_routes(recorded);
        // Routers of data-defined graphs may read the object that a node returned, which is not recorded.
        let blind = self.table.schema.is_data_defined() || !now.routing.fires || recorded.cached || ended_before;
        if blind || (node == START_NODE && self.step.tasks.len() > 1) {
            copy_routes(&mut now, recorded);
        } else if self.step.tasks.len() > 1 {
            self.route_with_siblings(at, recorded, &mut now, replay)?;
        }
        Ok(ReplayedTask { now, has_run: false })
    }

    fn skip_reason(&self, at: usize, recorded: &FinishedResult, ended_before: bool) -> Option<&'static str> {
        let (task, row) = (&self.step.tasks[at], self.table.row(self.step.tasks[at].node));
        if !row.options.execution.replayable {
            Some("it is not marked `.replayable()`")
        } else if task.record.handled.is_some() {
            Some("its error handler ran")
        } else if recorded.cached {
            Some("its result came from the cache")
        } else if ended_before {
            Some("it ended before the state was updated")
        } else {
            None
        }
    }

    /// Runs the routers on a result taken from the record.
    fn route_with_siblings(
        &self,
        at: usize,
        recorded: &FinishedResult,
        now: &mut FinishedResult,
        Evidence { comparison, unsaved }: Evidence<'_>,
    ) -> Result<(), Abort> {
        let name = self.node_name(self.step.tasks[at].node);
        now.routing.is_done = true;
        let routed = self.route(at, now);
        let same = routed.is_ok() && compare::routes(&self.table, recorded, now).map_err(Some)?.is_none();
        if !same && unsaved.is_unknown(None) {
            comparison.note_skip(
                self.spot(),
                &name,
                &unknown_reason("its routers may read", unsaved, &self.table.schema),
            );
            copy_routes(now, recorded);
            return Ok(());
        }
        routed.map_err(|error| self.note(at, comparison, Difference::new("route", "chosen", error.to_string())))?;
        comparison.ran_routers(self.table.row(self.step.tasks[at].node).exits.routers.len());
        Ok(())
    }

    /// Runs the body over each state it may have started with, until the result matches the record. Returns the result,
    /// or why the body cannot be compared.
    async fn replay_body(
        &mut self,
        at: usize,
        recorded: &FinishedResult,
        step: &StepRecord,
        replay: Evidence<'_>,
    ) -> Result<Result<Box<FinishedResult>, String>, Abort> {
        let Evidence { comparison, unsaved } = replay;
        if comparison.goes_on {
            return self.run_hypothetical(at, step, replay).await;
        }
        let reads = self.table.row(self.step.tasks[at].node).reads.clone();
        let saved = self.pos.state.clone();
        let states = match self.step.tasks[at].is_edge() {
            true => unsaved.states(&self.table.schema, &saved, reads.as_ref()),
            false => vec![saved.clone()],
        };
        comparison.take_doubt(); // of a body before
        let (before, mut first) = (comparison.mark(), None);
        for state in states {
            comparison.go_back_to(&before);
            self.pos.state = state;
            match self.run_and_compare(at, recorded, step, comparison).await {
                Ok(Some(now)) => return Ok(Ok(now)),
                Ok(None) => return Ok(Err("its subgraph has no records".into())),
                Err(Some(error)) => return Err(Some(error)),
                Err(None) => first = first.or_else(|| Some(comparison.mark())),
            }
        }
        self.pos.state = saved;
        let Some(first) = first else { return Err(None) };
        comparison.go_back_to(&first);
        let why = if self.step.tasks[at].is_edge() && unsaved.is_unknown(reads.as_ref()) {
            unknown_reason("its result differs, but it may have read", unsaved, &self.table.schema)
        } else if let Some(doubt) = comparison.take_doubt() {
            format!("its result differs, but {doubt}")
        } else {
            return Err(None);
        };
        comparison.go_back_to(&before);
        Ok(Err(why))
    }

    /// Runs the body in `what_if`: its result is not compared with the record.
    async fn run_hypothetical(
        &mut self,
        at: usize,
        step: &StepRecord,
        Evidence { comparison, unsaved }: Evidence<'_>,
    ) -> Result<Result<Box<FinishedResult>, String>, Abort> {
        let reads = self.table.row(self.step.tasks[at].node).reads.as_ref();
        if self.step.tasks[at].is_edge() && unsaved.is_unknown(reads) {
            return Ok(Err(unknown_reason("it may read", unsaved, &self.table.schema)));
        }
        let now = self.body_result(at, step, comparison).await?;
        Ok(now.ok_or_else(|| "its subgraph has no records".into()))
    }

    /// Runs the body and compares its result; `None` if its subgraph has no records.
    async fn run_and_compare(
        &mut self,
        at: usize,
        recorded: &FinishedResult,
        step: &StepRecord,
        comparison: &Comparison,
    ) -> Result<Option<Box<FinishedResult>>, Abort> {
        let routes_too = self.step.tasks.len() > 1;
        let Some(now) = self.body_result(at, step, comparison).await? else { return Ok(None) };
        let lost = step.unsaved_writes(&self.step.tasks[at]);
        if let Some(difference) = compare::results(&self.table, recorded, &now, &lost, routes_too).map_err(Some)? {
            return Err(self.note(at, comparison, difference));
        }
        if !self.table.row(self.step.tasks[at].node).options.subgraph {
            comparison.ran_body();
        }
        if step.stale.contains(&self.step.tasks[at].key) {
            let why = "it asked its questions before the state was updated: they are not compared";
            comparison.note_skip(self.spot(), &self.node_name(self.step.tasks[at].node), why);
        }
        if routes_too && now.routing.fires {
            comparison.ran_routers(self.table.row(self.step.tasks[at].node).exits.routers.len());
        }
        Ok(Some(now))
    }

    /// Runs the body; `None` if its subgraph has no records.
    async fn body_result(
        &mut self,
        at: usize,
        step: &StepRecord,
        comparison: &Comparison,
    ) -> Result<Option<Box<FinishedResult>>, Abort> {
        let answers = self.step.tasks[at].answers.clone();
        let (mut ctx, ended) = self.run_body(at, step).await;
        let mut judged = self.body_outcome(at, &ctx, ended, false);
        if let Ok(BodyOutcome::Asked(questions, _)) = &judged
            && let Some(rematched) = ctx.rematch_answers(questions)
        {
            self.step.tasks[at].answers = Some(rematched);
            let (again, ended) = self.run_body(at, step).await;
            (judged, ctx) = (self.body_outcome(at, &again, ended, false), again);
            self.step.tasks[at].answers = answers;
        }
        if comparison.has_lost() {
            return Ok(None);
        }
        if comparison.has_diverged() {
            return Err(None); // inside a subgraph
        }
        self.replayed_result(at, &ctx, judged, step, comparison)
    }

    async fn run_body(&mut self, at: usize, step: &StepRecord) -> (Arc<TaskCtx>, BodyResult) {
        let mut ctx = self.context(at, None);
        let task = &self.step.tasks[at];
        if let Some(own) = Arc::get_mut(&mut ctx) {
            own.attempt.number = task.starts.last.max(1);
        }
        ctx.progress.calls.store(task.record.first_call, Ordering::Relaxed);
        ctx.state().subgraphs.first_call = task.record.first_call;
        ctx.state().journal.stored = Some(step.mapping.stored_task(task.key));
        ctx.journal().read_anew(&ctx.own_effects());
        let payload = task.packet.as_ref().map(|packet| &packet.payload);
        let body = start(&self.table, task.node, &self.pos.state, payload, Arc::clone(&ctx));
        let ended = body.await;
        (ctx, ended)
    }

    fn replayed_result(
        &mut self,
        at: usize,
        ctx: &TaskCtx,
        judged: Result<BodyOutcome, RunError>,
        step: &StepRecord,
        comparison: &Comparison,
    ) -> Result<Option<Box<FinishedResult>>, Abort> {
        match judged {
            Ok(BodyOutcome::Done(now)) => {
                self.note_secrets_of(&now.writes);
                let stale = step.stale.contains(&self.step.tasks[at].key);
                let record = step.records.get(&self.step.tasks[at].key);
                if let Some(difference) = unused_record(ctx, record, stale) {
                    return Err(self.note(at, comparison, difference));
                }
                let left_out =
                    if ctx.journal().is_copy() { vec![] } else { ctx.journal().left_out(&ctx.own_effects()) };
                for (key, _) in left_out {
                    let why = format!("effect `{key}` was recorded by an attempt that failed, and did not happen now");
                    comparison.note_skip(self.spot(), &self.node_name(self.step.tasks[at].node), &why);
                }
                Ok(Some(now))
            }
            Ok(BodyOutcome::Asked(questions, _)) => {
                let asked = questions.first().map_or_else(|| "asks".into(), |asked| asked.name().to_owned());
                Err(self.note(at, comparison, Difference::new(format!("question `{asked}`"), (), asked)))
            }
            Ok(BodyOutcome::Halted(_)) => Err(self.note(at, comparison, Difference::new("result", "ended", "stopped"))),
            Err(RunError::Checkpoint(error)) => Err(Some(error.into())),
            Err(error) => Err(self.note(at, comparison, difference(error))),
        }
    }

    fn note(&self, at: usize, comparison: &Comparison, difference: Difference) -> Abort {
        comparison.set_divergence(self.spot_of(at), &self.node_name(self.step.tasks[at].node), difference);
        None
    }
}

/// Returns the recorded result without the routes and sends that routers chose.
pub(crate) fn without_routes(recorded: &FinishedResult) -> Box<FinishedResult> {
    let (targets, sends) = recorded.routing.chosen;
    Box::new(FinishedResult {
        writes: recorded.writes.clone(),
        routing: Routing {
            targets: recorded.routing.targets.iter().take(targets as usize).copied().collect(),
            sends: recorded.routing.sends.iter().take(sends as usize).cloned().collect(),
            chosen: recorded.routing.chosen,
            fires: recorded.routing.fires,
            is_done: false,
        },
        ..FinishedResult::default()
    })
}

pub(crate) fn copy_routes(now: &mut FinishedResult, recorded: &FinishedResult) {
    (now.routing.targets, now.routing.sends, now.routing.is_done) =
        (recorded.routing.targets.clone(), recorded.routing.sends.clone(), true);
}

/// Returns why a task is not compared: it may read channels whose values are unknown.
pub(super) fn unknown_reason(what: &str, unsaved: &UnsavedValues, schema: &AnySchema) -> String {
    format!("{what} {}, {}: declare what it reads with `.reads(..)`", unsaved.names(schema), unsaved.reason(schema))
}

/// Returns the first recorded effect or question that the body did not use. `stale`: the state was updated after asking.
fn unused_record(ctx: &TaskCtx, record: Option<&TaskRecord>, stale: bool) -> Option<Difference> {
    // a failed attempt may have recorded effects that the last one did not need
    let one_way = record.is_none_or(|record| record.failures.is_empty()) && !ctx.journal().is_copy();
    if let Some(entry) = ctx.journal().left_out(&ctx.own_effects()).into_iter().next().filter(|_| one_way) {
        return Some(Difference::new(format!("effect `{}`", entry.0), parse_json(entry.1), ()));
    }
    if stale {
        return None;
    }
    let name = ctx.unasked_question()?;
    Some(Difference::new(format!("question `{name}`"), name, ()))
}

fn difference(error: RunError) -> Difference {
    match error {
        RunError::NonDeterministic { key, recorded, now, .. } => {
            Difference::new(format!("effect `{key}`"), parse_json(recorded), parse_json(now))
        }
        RunError::NotRecorded { what, now, .. } => Difference::new(what, (), parse_json(now)),
        RunError::QuestionChanged { before, now, place, .. } => {
            Difference::new(format!("question {place}"), before, now)
        }
        RunError::Diverged { what, recorded, now, .. } => Difference::new(what, parse_json(recorded), parse_json(now)),
        other => Difference::new("result", "ended", other.to_string()),
    }
}

/// Parses JSON from an error; text that was cut stays a string.
fn parse_json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Compares the recorded run of the subgraph that the task called, and returns the subgraph's result.
pub(crate) async fn replay_child(
    child: &GraphCore,
    begin: ChildInput,
    mode: StateMode,
    ctx: &Arc<TaskCtx>,
    call: u32,
    comparison: &Comparison,
) -> Result<ChildOutput, RunError> {
    let (task, reader) = (ctx, &comparison.reader);
    let stored = task.state().journal.stored.unwrap_or(task.at.task);
    let caller = Caller { checkpoint: task.at.checkpoint, task: stored, call: pointer_number(ctx, call) };
    let no_records = || {
        comparison.note_lost();
        diverged_error(ctx)
    };
    // The record of the call points at the subgraph's newest checkpoint, and its parents lead to the first.
    let tip = reader.child(caller.checkpoint, caller.task, caller.call).await?.ok_or_else(no_records)?;
    let line = reader.nested_line(tip, caller.checkpoint).await?;
    let path = line.last().map(|(_, record)| record.namespace.clone()).unwrap_or_default();
    // Journal paths count versions from the start of the activation, so the comparison needs the same start.
    let base = base_version(reader, ctx, child.persistence, call).await?;
    let scope = Arc::new(GraphScope { path, ..graph_scope(ctx, child.persistence, call).since_version(base) });
    let mut run = Run::new(Arc::clone(&child.table), Arc::clone(&task.shared), scope, Position::empty(&child.table));
    run.child.caller = Some(caller);
    let mut walk = Walk::new(Arc::clone(&child.table), reader.clone(), line, true);
    let mut unsaved = UnsavedValues::defaults();
    // What the subgraph starts with is compared before its supersteps.
    match begin {
        ChildInput::Input(input) => compare_input(&run, &walk, &run.input_writes(input), comparison).await?,
        ChildInput::State(state, _) => {
            // Channels that are never saved start with the parent's values, or with the defaults.
            unsaved = UnsavedValues::of(&child.table.schema, &state);
            if comparison.goes_on {
                compare_initial_state(&run, &walk, &state, ctx, comparison).await?;
            }
        }
    }
    let ended = if comparison.has_diverged() {
        None
    } else {
        run.compare_line(&mut walk, unsaved, comparison, u64::MAX).await?
    };
    let Some(end) = ended else { return Err(diverged_error(ctx)) };
    if end.unfinished {
        return Err(no_records()); // it ended with a command for its parent
    }
    // A resumed subgraph returns its current state instead of the last one that was shown.
    if !run.child.has_shown || run.child.last_shown.is_some() {
        comparison.note_doubt("whether its subgraph was resumed is not recorded");
    }
    // Only a subgraph over its parent's state returns its writes.
    let delta = match mode {
        StateMode::Shared => Delta::read(&child.table, reader, tip).await?.finish(&child.table.schema, &end.pos.state),
        StateMode::Mapped | StateMode::Own => Default::default(),
    };
    Ok(ChildOutput { state: run.child.last_shown.unwrap_or(end.pos.state), delta, shown: run.child.has_shown })
}

/// Reports a subgraph over its parent's state, used as recorded, that would start with a different state now.
async fn compare_initial_state(
    run: &Run,
    walk: &Walk,
    now: &AnyState,
    ctx: &Arc<TaskCtx>,
    comparison: &Comparison,
) -> Result<(), RunError> {
    let Some((id, record)) = walk.first() else { return Ok(()) };
    let (was, _) = comparison.reader.position(&run.table, *id, record.clone()).await?;
    let other = compare::changed_channels(&run.table, &was.state, now)?;
    if !other.is_empty() {
        let spot = Spot { checkpoint: ctx.at.checkpoint, step: ctx.at.step, namespace: &ctx.scope.names, task: None };
        let why = format!("it is a subgraph, and would start with a different {}", other.join(" and "));
        comparison.note_skip(spot, &ctx.facts.name, &why);
    }
    Ok(())
}

async fn compare_input(run: &Run, walk: &Walk, input: &AnyWrites, comparison: &Comparison) -> Result<(), RunError> {
    let Some((id, record)) = walk.first().filter(|(_, record)| record.source == Source::Input) else { return Ok(()) };
    let Some(start) = &record.control.start else { return Ok(()) };
    let mapping = comparison.reader.mapping(&run.table, *id, record).await?;
    let lost = channels_without_row(start, &mapping);
    let start = comparison.reader.start(&run.table, &record.namespace, start, &mapping).await?;
    if let Some(mut difference) = compare::writes(&run.table, &start.writes.0, &input.0, &lost)? {
        difference.what = format!("input, {}", difference.what);
        let spot = Spot { checkpoint: *id, step: record.step + 1, namespace: &run.scope.names, task: None };
        comparison.set_divergence(spot, START_NAME, difference);
    }
    Ok(())
}

/// Returns the error that ends the body which called the subgraph.
fn diverged_error(ctx: &Arc<TaskCtx>) -> RunError {
    let node = Arc::clone(&ctx.facts.name);
    RunError::Diverged { node, what: "a subgraph".into(), recorded: "one way".into(), now: "another".into() }
}
