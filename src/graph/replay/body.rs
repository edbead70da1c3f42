//! Running a body again over what was recorded: answers, effects, times, what its subgraphs came to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::compare;
use super::unsaved::Unsaved;
use super::walk::Recorded;
use crate::checkpoint::TaskRecord;
use crate::graph::context::{Comparison, Ctx, Difference, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Journal, START_NODE};
use crate::graph::run::{Caught, Judged, Run, perform::start};
use crate::graph::state::{State, channels::is_data_defined};
use crate::graph::superstep::{Finished, Routing};

/// Why a comparison ends here: a difference that is noted, or a failure.
pub(crate) type Stopped = Option<RunError>;

/// What a replay goes along with: its findings, and the values that are not recorded.
pub(crate) struct Along<'a, S: State> {
    pub comparison: &'a Comparison,
    pub unsaved: &'a Unsaved<S>,
}

impl<S: State> Clone for Along<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: State> Copy for Along<'_, S> {}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// Gives the tasks what bodies are to find as it was: journals, questions with their answers.
    pub(crate) async fn read_again(&mut self, step: &Recorded<S>, comparison: &Comparison) -> Result<(), RunError> {
        let reader = &comparison.reader;
        if !self.is_root() {
            return Ok(());
        }
        let mut journals = reader.entries_of(self.pos.meta.id, &step.mapping).await?;
        for task in &mut self.step.tasks {
            let entries = journals.remove(&task.key).unwrap_or_default();
            task.journal = Some(Arc::new(Journal::replayed(self.pos.meta.id, task.key, entries)));
        }
        Ok(())
    }

    /// What a task comes to now: by its body if that may be run again, else by what was recorded; with the routes that are
    /// chosen beside siblings.
    pub(crate) async fn result_now(
        &mut self,
        at: usize,
        recorded: &Finished<S>,
        step: &Recorded<S>,
        along: Along<'_, S>,
    ) -> Result<Box<Finished<S>>, Stopped> {
        let (node, comparison) = (self.step.tasks[at].node, along.comparison);
        if node != START_NODE {
            let why = match self.why_not(at, recorded) {
                Some(why) => why.to_owned(),
                None => match self.tried(at, recorded, step, along).await? {
                    Ok(now) => return Ok(now),
                    Err(why) => why,
                },
            };
            comparison.skips(self.spot(), &self.node_name(node), &why);
        }
        let mut now = taken(recorded);
        // Routers of graphs read from data may look at what a node returned beside its writes, which is not recorded.
        let blind = is_data_defined::<S>() || !now.routing.fires || recorded.cached;
        if blind || (node == START_NODE && self.step.tasks.len() > 1) {
            take_routes(&mut now, recorded);
        } else if self.step.tasks.len() > 1 {
            self.routed_beside_siblings(at, recorded, &mut now, along)?;
        }
        Ok(now)
    }

    fn why_not(&self, at: usize, recorded: &Finished<S>) -> Option<&'static str> {
        let (task, row) = (&self.step.tasks[at], self.table.row(self.step.tasks[at].node));
        if !row.options.execution.replayable {
            Some("it is not marked `.replayable()`")
        } else if task.record.handled.is_some() {
            Some("its error handler ran")
        } else if recorded.cached {
            Some("its result came from the cache")
        } else {
            None
        }
    }

    /// Lets the routers choose after a result that was taken over.
    fn routed_beside_siblings(
        &self,
        at: usize,
        recorded: &Finished<S>,
        now: &mut Finished<S>,
        Along { comparison, unsaved }: Along<'_, S>,
    ) -> Result<(), Stopped> {
        let name = self.node_name(self.step.tasks[at].node);
        now.routing.is_done = true;
        let routed = self.route(at, now);
        let same = routed.is_ok() && compare::routes(&self.table, recorded, now).map_err(Some)?.is_none();
        if !same && unsaved.is_unknown(None) {
            comparison.skips(self.spot(), &name, &unread::<S>("its routers may read", unsaved, &self.table.schema));
            take_routes(now, recorded);
            return Ok(());
        }
        routed.map_err(|error| self.note(at, comparison, Difference::new("route", "chosen", error.to_string())))?;
        comparison.ran_routers(self.table.row(self.step.tasks[at].node).exits.routers.len());
        Ok(())
    }

    /// Runs the body over each state that it may have started with, until it comes to what was recorded. Returns its result,
    /// or why nothing can be said.
    async fn tried(
        &mut self,
        at: usize,
        recorded: &Finished<S>,
        step: &Recorded<S>,
        along: Along<'_, S>,
    ) -> Result<Result<Box<Finished<S>>, String>, Stopped> {
        let Along { comparison, unsaved } = along;
        if comparison.goes_on {
            return self.imagined(at, step, along).await;
        }
        let reads = self.table.row(self.step.tasks[at].node).reads.clone();
        let saved = Arc::clone(&self.pos.state);
        let states = match self.step.tasks[at].is_edge() {
            true => unsaved.states(&self.table.schema, &saved, reads.as_ref()),
            false => vec![Arc::clone(&saved)],
        };
        let (before, mut first) = (comparison.mark(), None);
        for state in states {
            comparison.go_back_to(&before);
            self.pos.state = state;
            match self.attempted(at, recorded, step, comparison).await {
                Ok(Some(now)) => return Ok(Ok(now)),
                Ok(None) => return Ok(Err("nothing is kept of its subgraph".into())),
                Err(Some(error)) => return Err(Some(error)),
                Err(None) => first = first.or_else(|| Some(comparison.mark())),
            }
        }
        self.pos.state = saved;
        let Some(first) = first else { return Err(None) };
        comparison.go_back_to(&first);
        let why = if self.step.tasks[at].is_edge() && unsaved.is_unknown(reads.as_ref()) {
            unread::<S>("it came out otherwise, but may have read", unsaved, &self.table.schema)
        } else if let Some(doubt) = comparison.doubted() {
            format!("it came out otherwise, but {doubt}")
        } else {
            return Err(None);
        };
        comparison.go_back_to(&before);
        Ok(Err(why))
    }

    /// Runs the body of a graph that may differ: what it comes to is not held against what was recorded.
    async fn imagined(
        &mut self,
        at: usize,
        step: &Recorded<S>,
        Along { comparison, unsaved }: Along<'_, S>,
    ) -> Result<Result<Box<Finished<S>>, String>, Stopped> {
        let reads = self.table.row(self.step.tasks[at].node).reads.as_ref();
        if self.step.tasks[at].is_edge() && unsaved.is_unknown(reads) {
            return Ok(Err(unread::<S>("it may read", unsaved, &self.table.schema)));
        }
        let now = self.body_now(at, step, comparison).await?;
        Ok(now.ok_or_else(|| "nothing is kept of its subgraph".into()))
    }

    /// Runs the body and compares its result.
    async fn attempted(
        &mut self,
        at: usize,
        recorded: &Finished<S>,
        step: &Recorded<S>,
        comparison: &Comparison,
    ) -> Result<Option<Box<Finished<S>>>, Stopped> {
        let several = self.step.tasks.len() > 1;
        let Some(now) = self.body_now(at, step, comparison).await? else { return Ok(None) };
        let lost = step.unsaved_writes(&self.step.tasks[at]);
        if let Some(difference) = compare::results(&self.table, recorded, &now, &lost, several).map_err(Some)? {
            return Err(self.note(at, comparison, difference));
        }
        if !self.table.row(self.step.tasks[at].node).options.subgraph {
            comparison.ran_body();
        }
        if step.moved.contains(&self.step.tasks[at].key) {
            let why = "it was asked its questions before the state was updated: they are not compared";
            comparison.skips(self.spot(), &self.node_name(self.step.tasks[at].node), why);
        }
        if several && now.routing.fires {
            comparison.ran_routers(self.table.row(self.step.tasks[at].node).exits.routers.len());
        }
        Ok(Some(now))
    }

    /// Runs the body; none if that takes what is not kept.
    async fn body_now(
        &mut self,
        at: usize,
        step: &Recorded<S>,
        comparison: &Comparison,
    ) -> Result<Option<Box<Finished<S>>>, Stopped> {
        let answers = self.step.tasks[at].answers.clone();
        let (mut ctx, ended) = self.run_body(at, step).await;
        let mut judged = self.judge(at, &ctx, ended, false);
        if let Ok(Judged::Asked(questions, _)) = &judged
            && let Some(rematched) = ctx.rematched(questions)
        {
            self.step.tasks[at].answers = Some(rematched);
            let (again, ended) = self.run_body(at, step).await;
            (judged, ctx) = (self.judge(at, &again, ended, false), again);
            self.step.tasks[at].answers = answers;
        }
        if comparison.has_lost() {
            return Ok(None);
        }
        if comparison.diverged() {
            return Err(None); // inside a subgraph
        }
        self.judged_now(at, &ctx, judged, step, comparison)
    }

    async fn run_body(&mut self, at: usize, step: &Recorded<S>) -> (Arc<TaskCtx<C>>, Caught<S, N>) {
        let mut ctx = self.context(at);
        let task = &self.step.tasks[at];
        if let Some(own) = Arc::get_mut(&mut ctx) {
            own.attempt.number = task.record.attempt.max(1);
        }
        ctx.progress.calls.store(task.record.first_call, Ordering::Relaxed);
        ctx.inside().subgraphs.first_call = task.record.first_call;
        ctx.inside().journal.stored = Some(step.mapping.stored_task(task.key));
        ctx.journal().read_anew(&ctx.own_effects());
        let payload = task.packet.as_ref().map(|packet| &packet.payload);
        let body = start(&self.table, task.node, &self.pos.state, payload, Ctx(Arc::clone(&ctx)));
        let ended = body.await;
        (ctx, ended)
    }

    fn judged_now(
        &mut self,
        at: usize,
        ctx: &TaskCtx<C>,
        judged: Result<Judged<S>, RunError>,
        step: &Recorded<S>,
        comparison: &Comparison,
    ) -> Result<Option<Box<Finished<S>>>, Stopped> {
        match judged {
            Ok(Judged::Done(now)) => {
                let moved = step.moved.contains(&self.step.tasks[at].key);
                match left_out(ctx, step.records.get(&self.step.tasks[at].key), moved) {
                    Some(difference) => Err(self.note(at, comparison, difference)),
                    None => Ok(Some(now)),
                }
            }
            Ok(Judged::Asked(questions, _)) => {
                let asked = questions.first().map_or_else(|| "asks".into(), |asked| asked.name().to_owned());
                Err(self.note(at, comparison, Difference::new(format!("question `{asked}`"), (), asked)))
            }
            Ok(Judged::Halted(_)) => Err(self.note(at, comparison, Difference::new("result", "ended", "stopped"))),
            Err(RunError::Checkpoint(error)) => Err(Some(error.into())),
            Err(error) => Err(self.note(at, comparison, difference(error))),
        }
    }

    fn note(&self, at: usize, comparison: &Comparison, difference: Difference) -> Stopped {
        comparison.differs(self.spot(), &self.node_name(self.step.tasks[at].node), difference);
        None
    }
}

/// A result before its routers have chosen.
pub(crate) fn taken<S: State>(recorded: &Finished<S>) -> Box<Finished<S>> {
    let (targets, sends) = recorded.routing.chosen;
    Box::new(Finished {
        writes: recorded.writes.clone(),
        routing: Routing {
            targets: recorded.routing.targets.iter().take(targets as usize).copied().collect(),
            sends: recorded.routing.sends.iter().take(sends as usize).cloned().collect(),
            chosen: recorded.routing.chosen,
            fires: recorded.routing.fires,
            is_done: false,
        },
        ..Finished::default()
    })
}

/// Takes the routes that were recorded.
pub(crate) fn take_routes<S: State>(now: &mut Finished<S>, recorded: &Finished<S>) {
    (now.routing.targets, now.routing.sends, now.routing.is_done) =
        (recorded.routing.targets.clone(), recorded.routing.sends.clone(), true);
}

/// Says that channels were read whose values nobody knows.
pub(super) fn unread<S: State>(what: &str, unsaved: &Unsaved<S>, schema: &S::Schema) -> String {
    format!("{what} {}, {}: declare what it reads with `.reads(..)`", unsaved.names(schema), unsaved.why(schema))
}

/// What was recorded and is not asked for any more. `moved`: the state was updated after the questions were asked.
fn left_out<C>(ctx: &TaskCtx<C>, record: Option<&TaskRecord>, moved: bool) -> Option<Difference> {
    // another attempt may have come another way
    let one_way = record.is_none_or(|record| record.failures.is_empty()) && !ctx.journal().is_copy();
    if let Some(entry) = ctx.journal().left_out(&ctx.own_effects()).filter(|_| one_way) {
        return Some(Difference::new(format!("effect `{}`", entry.0), read(entry.1), ()));
    }
    if moved {
        return None;
    }
    let name = ctx.unasked()?;
    Some(Difference::new(format!("question `{name}`"), name, ()))
}

fn difference(error: RunError) -> Difference {
    match error {
        RunError::NonDeterministic { key, recorded, now, .. } => {
            Difference::new(format!("effect `{key}`"), read(recorded), read(now))
        }
        RunError::NotRecorded { what, now, .. } => Difference::new(what, (), read(now)),
        RunError::QuestionChanged { before, now, place, .. } => {
            Difference::new(format!("question {place}"), before, now)
        }
        RunError::Diverged { what, recorded, now, .. } => Difference::new(what, read(recorded), read(now)),
        other => Difference::new("result", "ended", other.to_string()),
    }
}

/// JSON as an error shows it; it may be cut.
fn read(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
