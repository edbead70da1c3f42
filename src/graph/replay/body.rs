//! Running a body again over what was recorded: answers, effects, times, what its subgraphs came to.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::checkpoint::{Key, RowId, TaskRecord};

use super::report::{Comparison, Difference};
use super::walk::Recorded;
use crate::graph::channels::channel::{Channel, Stored};
use crate::graph::channels::state::State;
use crate::graph::define::node::NodeId;
use crate::graph::journal::book::Journal;
use crate::graph::records::reader::Reader;
use crate::graph::run::control::START_NODE;
use crate::graph::run::ctx::{Ctx, Known, TaskCtx};
use crate::graph::run::error::RunError;
use crate::graph::run::perform::start;
use crate::graph::run::position::Finished;
use crate::graph::run::settle::Judged;
use crate::graph::run::superstep::Run;

/// Why a comparison ends here: a difference that is noted, or a failure.
pub(crate) type Stopped = Option<RunError>;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// Gives the tasks what bodies are to find as it was: journals, questions with their answers.
    pub(crate) async fn read_again(&mut self, step: &Recorded<S>, comparison: &Comparison) -> Result<(), RunError> {
        let reader = &comparison.reader;
        for task in &mut self.tasks {
            let Some(record) = step.records.get(&task.key) else { continue };
            if let Some(known) = task.answers.as_ref().filter(|_| !comparison.goes_on) {
                let stored = step.mapping.stored_task(task.key);
                let payloads = payloads(reader, (self.pos.id, stored), record).await?;
                let (answers, askers) = (known.answers.clone(), known.askers.clone());
                task.answers = Some(Arc::new(Known { answers, askers, payloads }));
            }
        }
        if !self.is_root() {
            return Ok(());
        }
        let mut journals = reader.entries_of(self.pos.id, &step.mapping).await?;
        for task in &mut self.tasks {
            let entries = journals.remove(&task.key).unwrap_or_default();
            task.journal = Some(Arc::new(Journal::replayed(self.pos.id, task.key, entries)));
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
        comparison: &Comparison,
    ) -> Result<Box<Finished<S>>, Stopped> {
        let node = self.tasks[at].node;
        if node != START_NODE {
            match self.why_not(at, recorded) {
                Some(why) => comparison.skips(self.spot(), &self.node_name(node), why),
                None => match self.body_now(at, step, comparison).await? {
                    Some(now) => return Ok(now),
                    None => comparison.skips(self.spot(), &self.node_name(node), "nothing is kept of its subgraph"),
                },
            }
        }
        let mut now = taken(recorded);
        let blind = is_data_defined::<S>() || !now.fires || recorded.cached;
        if blind || (node == START_NODE && self.tasks.len() > 1) {
            (now.targets, now.sends, now.routed) = (recorded.targets.clone(), recorded.sends.clone(), true);
        } else if self.tasks.len() > 1 {
            now.routed = true;
            let routed = self.route(at, &mut now);
            routed.map_err(|error| self.note(at, comparison, Difference::new("route", "chosen", error.to_string())))?;
        }
        Ok(now)
    }

    fn why_not(&self, at: usize, recorded: &Finished<S>) -> Option<&'static str> {
        let (task, row) = (&self.tasks[at], self.table.row(self.tasks[at].node));
        if !row.options.replayable {
            Some("it is not marked `.replayable()`")
        } else if task.handled.is_some() {
            Some("its error handler ran")
        } else if recorded.cached {
            Some("its result came from the cache")
        } else if self.may_read_unsaved(at) {
            Some("it may read a channel that is never saved")
        } else {
            None
        }
    }

    /// Whether the state that a task started with may have held more than what is recorded.
    fn may_read_unsaved(&self, at: usize) -> bool {
        let (task, schema) = (&self.tasks[at], &self.table.schema);
        let reads = self.table.row(task.node).reads.as_ref();
        let mut channels = S::channels(schema).iter().enumerate();
        let unsaved = |(at, channel): (usize, &Channel)| {
            channel.stored() == Stored::Never && reads.is_none_or(|reads| reads.contains(at))
        };
        task.is_edge() && channels.any(unsaved)
    }

    /// Runs the body; none if that takes what is not kept.
    async fn body_now(
        &mut self,
        at: usize,
        step: &Recorded<S>,
        comparison: &Comparison,
    ) -> Result<Option<Box<Finished<S>>>, Stopped> {
        let mut ctx = self.context(at);
        let task = &self.tasks[at];
        if let Some(own) = Arc::get_mut(&mut ctx) {
            own.attempt = task.attempt.max(1);
        }
        ctx.calls.store(task.first_call, Ordering::Relaxed);
        ctx.inside().first_call = task.first_call;
        ctx.inside().stored = Some(step.mapping.stored_task(task.key));
        let payload = task.packet.as_ref().map(|packet| &packet.payload);
        let body = start(&self.table, task.node, &self.pos.state, payload, Ctx(Arc::clone(&ctx)));
        let ended = body.await;
        if comparison.has_lost() {
            return Ok(None);
        }
        if comparison.diverged() {
            return Err(None); // inside a subgraph
        }
        match self.judge(at, &ctx, ended, false) {
            Ok(Judged::Done(now)) => match left_out(&ctx, step.records.get(&self.tasks[at].key)) {
                Some(difference) => Err(self.note(at, comparison, difference)),
                None => Ok(Some(now)),
            },
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
        comparison.differs(self.spot(), &self.node_name(self.tasks[at].node), difference);
        None
    }
}

/// A recorded result before its routers have chosen.
fn taken<S: State>(recorded: &Finished<S>) -> Box<Finished<S>> {
    let (targets, sends) = recorded.chosen;
    Box::new(Finished {
        writes: recorded.writes.clone(),
        targets: recorded.targets.iter().take(targets as usize).copied().collect(),
        sends: recorded.sends.iter().take(sends as usize).cloned().collect(),
        chosen: recorded.chosen,
        fires: recorded.fires,
        ..Finished::default()
    })
}

/// Routers of graphs read from data may look at what a node returned beside its writes, which is not recorded.
fn is_data_defined<S: State>() -> bool {
    let none: &dyn Any = &();
    none.downcast_ref::<S::Schema>().is_none()
}

/// What was recorded and is not asked for any more.
fn left_out<C>(ctx: &TaskCtx<C>, record: Option<&TaskRecord>) -> Option<Difference> {
    // another attempt may have come another way
    let one_way = record.is_none_or(|record| record.failures.is_empty()) && !ctx.journal().is_copy();
    if let Some(entry) = ctx.journal().left_out(&ctx.own_effects()).filter(|_| one_way) {
        return Some(Difference::new(format!("effect `{}`", entry.0), read(entry.1), ()));
    }
    let asked = ctx.asked.load(Ordering::Relaxed) as usize;
    let answers = record.map_or(&[][..], |record| &record.answers);
    let mut own = answers.iter().filter(|answer| answer.asker.is_empty());
    let question = own.nth(asked)?;
    Some(Difference::new(format!("question `{}`", question.name), question.name.clone(), ()))
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

/// What a task asked, by place.
async fn payloads(
    reader: &Reader,
    (checkpoint, task): (crate::checkpoint::CheckpointId, u32),
    record: &TaskRecord,
) -> Result<BTreeMap<u32, Vec<u8>>, RunError> {
    let row = |place: u32| {
        let kept =
            record.questions.iter().find(|asked| asked.place == place && asked.task == task && asked.asker.is_some());
        let own = RowId { checkpoint, task, slot: RowId::QUESTIONS + place };
        Key::Row(kept.map_or(own, |asked| asked.payload))
    };
    let places: Vec<u32> = record.answers.iter().map(|answer| answer.place).collect();
    let found = reader.get(places.iter().map(|place| row(*place)).collect()).await?;
    Ok(places.into_iter().zip(found).filter_map(|(place, bytes)| Some((place, bytes?))).collect())
}
