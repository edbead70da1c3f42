//! Compares recorded supersteps with what the graph does now: planning, replayable bodies, routers, reducers. Writes
//! nothing, and stops at the first difference.

use std::sync::Arc;

use serde_json::Value;

use super::body::{Evidence, ReplayedTask, copy_routes, without_routes};
use super::compare::{self, UnsavedValues, unsaved_channels};
use super::walk::{StepRecord, Walk};
use crate::checkpoint::{Source, TaskRecord, TaskStatus};
use crate::graph::context::{Comparison, Difference, Spot};
use crate::graph::error::RunError;
use crate::graph::records::{COMMAND_KEY, START_NODE, UPDATE_KEY};
use crate::graph::run::Run;
use crate::graph::state::{AnyState, AnyWrite, Mask, Storage};
use crate::graph::superstep::writes::with_returned;
use crate::graph::superstep::{FinishedResult, Position, Task, TaskState};

pub(crate) struct LineEnd {
    pub pos: Position,
    /// True if tasks are still pending there.
    pub unfinished: bool,
}

impl Run {
    /// Compares superstep after superstep. Returns the end of the line; `None` after a difference. `inherited`: values
    /// of unsaved channels at the start of a subgraph.
    pub(crate) async fn compare_line(
        &mut self,
        walk: &mut Walk,
        inherited: UnsavedValues,
        comparison: &Comparison,
        limit: u64,
    ) -> Result<Option<LineEnd>, RunError> {
        let (mut end, mut inherited, mut unsaved) =
            (None, Some(inherited), UnsavedValues::all_unknown(&self.table.schema));
        for _ in 0..limit {
            let Some(step) = walk.next().await? else { break };
            let unfinished = !step.tasks.is_empty();
            let made = step.made.clone();
            match made.meta.source {
                Source::Input => unsaved = inherited.take().unwrap_or_else(UnsavedValues::defaults),
                Source::Fork => unsaved = UnsavedValues::defaults(),
                Source::Update => unsaved = UnsavedValues::all_unknown(&self.table.schema),
                Source::Loop => {}
            }
            if end.is_none() && made.meta.source != Source::Input {
                self.mark_resumed();
            }
            if step.is_complete() {
                self.superstep(step, comparison, &mut unsaved).await?;
            } else {
                self.skip(&step, comparison);
                unsaved = UnsavedValues::all_unknown(&self.table.schema);
            }
            if comparison.has_diverged() {
                return Ok(None);
            }
            end = Some(LineEnd { pos: made, unfinished });
        }
        Ok(end)
    }

    /// Marks the subgraph as resumed: it returns its current state.
    fn mark_resumed(&mut self) {
        (self.child.has_shown, self.child.last_shown) = (true, None);
    }

    pub(crate) fn spot(&self) -> Spot<'_> {
        Spot { checkpoint: self.pos.meta.id, step: self.pos.meta.step + 1, namespace: &self.scope.names, task: None }
    }

    /// Returns the place of a task of the superstep.
    pub(crate) fn spot_of(&self, task: usize) -> Spot<'_> {
        Spot { task: self.step.tasks.get(task).map(|task| task.key), ..self.spot() }
    }

    /// Reports a superstep as not compared: no checkpoint holds its results.
    fn skip(&mut self, step: &StepRecord, comparison: &Comparison) {
        self.pos = step.made.clone();
        if step.after.is_some() {
            self.mark_resumed();
        }
        let has_next = step.after.as_ref().is_some_and(|next| next.meta.source == Source::Loop);
        let why = match &step.after {
            None => "its superstep has not ended",
            Some(_) if has_next => "with durability `exit` it is not recorded",
            Some(_) => "its superstep was dropped",
        };
        let done = step.tasks.iter().filter(|task| task.is_done() && task.node != START_NODE);
        let names: Vec<_> = done.map(|task| self.node_name(task.node)).collect();
        names.iter().for_each(|name| comparison.note_skip(self.spot(), name, why));
        if names.is_empty() && has_next {
            comparison.note_skip(self.spot(), "", why);
        }
    }

    async fn superstep(
        &mut self,
        mut step: StepRecord,
        comparison: &Comparison,
        unsaved: &mut UnsavedValues,
    ) -> Result<(), RunError> {
        self.pos = step.before.clone();
        let recorded = self.take_results(&mut step);
        self.step.tasks = std::mem::take(&mut step.tasks);
        if let Some((node, difference)) = self.plan_difference(&step, &recorded) {
            comparison.set_divergence(self.spot(), &node, difference);
            return Ok(());
        }
        self.replay_tasks(&step, &recorded, comparison, unsaved).await
    }

    pub(crate) async fn replay_tasks(
        &mut self,
        step: &StepRecord,
        recorded: &[Option<Box<FinishedResult>>],
        comparison: &Comparison,
        unsaved: &mut UnsavedValues,
    ) -> Result<(), RunError> {
        let saved = self.pos.state.clone();
        comparison.begin_step(step.after.as_ref().map(|after| after.meta.created_at));
        self.limit();
        self.note_secrets();
        recorded.iter().flatten().for_each(|recorded| self.note_secrets_of(&recorded.writes));
        (self.step.planned, self.step.open_questions, self.step.has_failed) = (true, None, false);
        self.load_journals(step, &comparison.reader).await?;
        for (at, recorded) in recorded.iter().enumerate() {
            let Some(recorded) = recorded else { continue };
            let replayed = self.replay_task(at, recorded, step, Evidence { comparison, unsaved }).await;
            let ReplayedTask { now, has_run } = match replayed {
                Ok(replayed) => replayed,
                Err(stopped) => return stopped.map_or(Ok(()), Err),
            };
            // The body may have left a state with other unsaved values; siblings start from the saved one.
            if self.step.tasks.len() > 1 {
                self.pos.state = saved.clone();
            }
            // Writes whose values no row holds are not compared.
            let lost = step.unsaved_writes(&self.step.tasks[at]);
            let several = self.step.tasks.len() > 1;
            // A result of the body is compared as a whole, one from the record only by its routes.
            let difference = match has_run {
                true => compare::results(&self.table, recorded, &now, &lost, several)?,
                false if several => compare::routes(&self.table, recorded, &now)?,
                false => None, // it is the recorded result
            };
            if let Some(difference) = difference
                && comparison.note_difference(self.spot_of(at), &self.node_name(self.step.tasks[at].node), difference)
            {
                return Ok(());
            }
            self.step.tasks[at].state = TaskState::Done(now);
        }
        // Before the results are applied, which takes the writes out of the tasks.
        let (written, unknown) = self.unsaved_writes(step);
        let in_doubt = unsaved.is_unknown(None) || !unknown.is_empty();
        let in_doubt = self.route_single_task(step, recorded, (&saved, in_doubt), Evidence { comparison, unsaved })?;
        self.apply_and_compare(step, recorded, comparison, in_doubt)?;
        // The next superstep may read what this one wrote to unsaved channels.
        unsaved.advance(&self.table.schema, &saved, &written, unknown);
        Ok(())
    }

    /// Returns the tasks' writes to channels that are never saved, and the channels written with unknown values:
    /// unsaved ones, or secret ones that an export left out.
    fn unsaved_writes(&self, step: &StepRecord) -> (Vec<AnyWrite>, Mask) {
        let (mut written, mut unknown) = (vec![], Mask::default());
        let never: Mask = unsaved_channels(&self.table.schema).collect();
        for task in &self.step.tasks {
            let TaskState::Done(now) = &task.state else { continue };
            let own = now.writes.0.iter().filter(|write| never.contains(write.channel()));
            let known: Mask = own.clone().map(AnyWrite::channel).collect();
            written.extend(own.cloned());
            unknown.extend(step.unsaved_writes(task).into_iter().filter(|&channel| !known.contains(channel)));
        }
        (written, unknown)
    }

    /// Takes the recorded results out of the tasks; START's result is the input.
    pub(crate) fn take_results(&self, step: &mut StepRecord) -> Vec<Option<Box<FinishedResult>>> {
        let start = step.before.start.as_ref().map(|start| start.writes.clone());
        let take = |task: &mut Task| match std::mem::replace(&mut task.state, TaskState::Ready) {
            TaskState::Done(done) => Some(done),
            _ if task.node == START_NODE => Some(Box::new(FinishedResult {
                writes: start.clone().unwrap_or_default(),
                ..FinishedResult::default()
            })),
            TaskState::Ready | TaskState::Asked { .. } | TaskState::Failed(_) => None,
        };
        step.tasks.iter_mut().map(take).collect()
    }

    fn plan_difference(
        &self,
        step: &StepRecord,
        recorded: &[Option<Box<FinishedResult>>],
    ) -> Option<(String, Difference)> {
        let by_task = |(key, record): (&u32, &TaskRecord)| {
            let own = *key != COMMAND_KEY && *key != UPDATE_KEY && record.status == TaskStatus::Done;
            (own && self.step.tasks.iter().all(|task| task.key != *key)).then_some(*key)
        };
        let gone = step.records.iter().find_map(by_task);
        let new = recorded.iter().position(Option::is_none);
        if gone.is_none() && new.is_none() {
            return None;
        }
        let now: Vec<Value> = self.step.tasks.iter().map(|task| (*self.node_name(task.node)).into()).collect();
        let ended = self.step.tasks.iter().zip(recorded).filter(|(_, ended)| ended.is_some());
        let mut planned_then: Vec<Value> = ended.map(|(task, _)| (*self.node_name(task.node)).into()).collect();
        let node_of =
            |key: u32| self.table.nodes.get(key as usize).map_or_else(|| "?".into(), |row| row.name.to_string());
        let node = match (gone, new) {
            (Some(key), _) => node_of(key),
            (None, Some(at)) => self.node_name(self.step.tasks[at].node).to_string(),
            (None, None) => String::new(),
        };
        if gone.is_some() {
            planned_then.push(node.clone().into());
        }
        Some((node, Difference::new("tasks of the superstep", planned_then, now)))
    }

    /// Runs the routers of a superstep with one task over each state they may have seen, until their choice matches the
    /// record. `in_doubt`: they may have seen unknown values. Returns true if the choice cannot be compared.
    fn route_single_task(
        &mut self,
        step: &StepRecord,
        recorded: &[Option<Box<FinishedResult>>],
        (saved, in_doubt): (&AnyState, bool),
        Evidence { comparison, unsaved }: Evidence<'_>,
    ) -> Result<bool, RunError> {
        let ([task], [Some(recorded)]) = (&self.step.tasks[..], recorded) else { return Ok(false) };
        let TaskState::Done(done) = &task.state else { return Ok(false) };
        let (node, key) = (task.node, task.key);
        let exits = self.table.exits(node);
        if comparison.goes_on || done.routing.is_done || !done.routing.fires || exits.routers.is_empty() {
            return Ok(false);
        }
        comparison.ran_routers(exits.routers.len());
        if node == START_NODE && !step.records.contains_key(&key) {
            return Ok(in_doubt); // the comparison of the next superstep covers its choice
        }
        for state in unsaved.states(&self.table.schema, saved, None) {
            let mut now = without_routes(done);
            let seen = with_returned(&self.own_view(0, &state, &now.writes)?, done.returned.clone());
            now.routing.is_done = self.choose(node, key, &seen, &mut now).is_ok();
            if now.routing.is_done && compare::routes(&self.table, recorded, &now)?.is_none() {
                self.step.tasks[0].state = TaskState::Done(now);
                return Ok(false);
            }
        }
        if in_doubt {
            let mut now = without_routes(done);
            copy_routes(&mut now, recorded);
            self.step.tasks[0].state = TaskState::Done(now);
        }
        Ok(in_doubt)
    }

    /// Applies the results, and compares the new state with the next checkpoint.
    fn apply_and_compare(
        &mut self,
        step: &StepRecord,
        recorded: &[Option<Box<FinishedResult>>],
        comparison: &Comparison,
        in_doubt: bool,
    ) -> Result<(), RunError> {
        // At the end of the line there is no checkpoint to compare with.
        let Some(after) = &step.after else { return Ok(()) };
        let mut tasks = std::mem::take(&mut self.step.tasks);
        let nodes: Vec<String> = tasks.iter().map(|task| self.node_name(task.node).to_string()).collect();
        let nodes = nodes.join(", ");
        let (checkpoint, number) = (self.pos.meta.id, self.pos.meta.step + 1);
        // The records are discarded: a comparison writes nothing.
        let table = Arc::clone(&self.table);
        let applied = self.apply(&table, &mut tasks, &mut vec![]);
        let names = Arc::clone(&self.scope.names);
        let task = if let [only] = &tasks[..] { Some(only.key) } else { None };
        let spot = Spot { checkpoint, step: number, namespace: &names, task };
        let changed = match applied {
            Ok(changed) => changed,
            Err(error) if self.is_of_unsaved(&error) => {
                let why = "several of its tasks write a channel that is never saved, and may have run in several runs";
                comparison.note_skip(spot, &nodes, why);
                return Ok(());
            }
            Err(error) => {
                comparison.set_divergence(spot, &nodes, Difference::new("results", "applied", error.to_string()));
                return Ok(());
            }
        };
        // The routers of a lone task see the new state, so its targets are compared only now.
        if let ([task], [Some(recorded)]) = (&tasks[..], recorded)
            && let TaskState::Done(now) = &task.state
            && (task.node != START_NODE || step.records.contains_key(&task.key))
            && let Some(difference) = compare::targets(&self.table, recorded, now)
            && comparison.note_difference(spot, &nodes, difference)
        {
            return Ok(());
        }
        // A channel is the same if a recorded write is its value, or if neither run moved it.
        let before = &step.before.channels;
        let is_same = |at: usize| {
            let is_written = !comparison.goes_on && step.is_written(&self.table, at); // the writes agree
            is_written || (!changed.contains(at) && before.slots.get(at) == after.channels.slots.get(at))
        };
        if let Some(difference) = compare::states(&self.table, after, &self.pos, is_same)?
            && comparison.note_difference(spot, &nodes, difference)
        {
            return Ok(());
        }
        // Unknown values may have led the routers another way: the next tasks are not compared then.
        if in_doubt {
            comparison.note_skip(spot, &nodes, "its routers may have read a channel that is never saved");
        }
        if let Some(difference) = compare::next(&self.table, after, &self.pos)?
            && !in_doubt
            && comparison.note_difference(spot, &nodes, difference)
        {
            return Ok(());
        }
        comparison.count();
        Ok(())
    }

    /// True for two writes to a channel that is never saved: one of them may have been stored without its write.
    fn is_of_unsaved(&self, error: &RunError) -> bool {
        let RunError::ConcurrentUpdate { channel, .. } = error else { return false };
        let mut channels = self.table.schema.channels().iter();
        channels.any(|known| known.name() == channel && known.storage() == Storage::Never)
    }
}
