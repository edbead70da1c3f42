//! The end of a superstep: results applied in canonical order, routers run, triggers set (LangGraph: `after_tick`). Routers
//! beside siblings see the state with their own task's writes, otherwise the new state. What is stored is in `commit`.

use std::sync::{Arc, Mutex, PoisonError};

use superstep_base::panics::{catch_panic, catch_panic_as};

use super::state::{ChildState, Run};
use crate::checkpoint::CheckpointId;
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::Puts;
use crate::graph::state::{AnyState, AnyWrites, ApplyError, Mask, Merge};
use crate::graph::superstep::position::merge_results;
use crate::graph::superstep::writes::{apply_run_error, apply_writes, fresh_read, with_returned};
use crate::graph::superstep::{
    ApplyPass, Control, FinishedResult, Packet, Resolve, RouterView, SENDS_LIMIT, Task, TaskState,
};

impl Run {
    /// Applies the results of all tasks. Returns the records of what changed, for the commit.
    pub(crate) fn apply_results(&mut self, table: &Table) -> Result<Puts, ApplyFailure> {
        let mut puts = std::mem::take(&mut self.outbox.input);
        if !self.outbox.finished.is_empty() {
            puts.append(&mut self.outbox.finished);
        }
        self.step.left = None;
        let mut tasks = std::mem::take(&mut self.step.tasks);
        let before = puts.len();
        let applied = catch_panic(|| self.apply_and_encode(table, &mut tasks, &mut puts));
        if let Err(error) = applied.unwrap_or_else(|panic| Err(self.panicked_applying(&tasks, &panic))) {
            puts.truncate(before); // what a lone task wrote is dropped with it
            return Err(ApplyFailure(Box::new((tasks, puts, error))));
        }
        self.pos.start = None;
        if self.has_listeners() {
            self.step.just_ran = tasks.iter().map(|task| task.node).collect();
        }
        self.reuse_tasks(tasks);
        Ok(puts)
    }

    /// Keeps what can be used for the tasks of the next superstep.
    fn reuse_tasks(&mut self, mut tasks: Vec<Task>) {
        if let [Task { state: TaskState::Done(_), .. }] = &tasks[..]
            && let Some(Task { state: TaskState::Done(mut result), .. }) = tasks.pop()
        {
            result.clear();
            self.reusable.result = Some(result);
        }
        tasks.clear();
        self.step.tasks = tasks;
    }

    /// Applies the results and encodes what they changed.
    fn apply_and_encode(&mut self, table: &Table, tasks: &mut [Task], puts: &mut Puts) -> Result<(), RunError> {
        let changed = self.apply(table, tasks, puts)?;
        if self.recorder().is_none() {
            return Ok(());
        }
        self.pos.encode_reduced(table, &changed, self.pos.meta.id, puts)?;
        self.pos.check_size(table, self.shared.limits.state_bytes)
    }

    /// Applies the results of tasks. `table`: that of the run. Returns the channels that changed.
    pub(crate) fn apply(&mut self, table: &Table, tasks: &mut [Task], puts: &mut Puts) -> Result<Mask, RunError> {
        let lone = tasks.len() == 1;
        // A lone task that ended in this run has stored nothing yet: its writes join the superstep's commit.
        if lone && self.recorder().is_some() {
            self.save_lone_writes(&mut tasks[0], puts)?;
        }
        self.reusable.merge.clear();
        let mut pulls = std::mem::take(&mut self.reusable.pulls);
        pulls.clear();
        match tasks {
            [only] => pulls.extend(only.is_edge().then_some(only.node)),
            _ => pulls.extend(tasks.iter().filter(|task| task.is_edge()).map(|task| task.node)),
        }
        // Consume the triggers that started these tasks before their results set new ones.
        let mut applying = self.pos.control.begin(&table.wiring, &pulls);
        self.reusable.pulls = pulls;
        self.pos.control.clear(&mut applying);
        self.step.router_view = Mutex::default();
        // Reduce all writes in canonical order, whatever order the tasks ended in.
        let state = &mut self.pos.state;
        if let Err((error, nodes)) = write(table, state, &mut self.reusable.merge, &mut self.child, tasks) {
            return Err(self.not_written(error, &nodes));
        }
        self.note_written(tasks);
        let state = &self.pos.state;
        // The caller of a subgraph gets the state as of the last superstep that wrote an output channel.
        let unseen = self.child.caller.is_some()
            && self.child.delta.is_none() // which is all that its caller gets
            && !shows_output(table, table.channels.output.as_ref(), self.reusable.merge.written(), state);
        if unseen {
            self.child.last_shown.get_or_insert_with(|| state.clone());
        }
        // End the superstep: channels that live for one superstep are emptied.
        let mut changed = Mask::default();
        table.schema.end_step(&mut self.pos.state, self.reusable.merge.written(), &mut changed);
        if !changed.is_empty() {
            self.pos.empty_slots(&changed);
            if let Some(delta) = &mut self.child.delta {
                changed.iter().for_each(|channel| delta.forget(channel));
            }
        }
        // Routers of a lone task see the new state; those of siblings ran when their task ended.
        if lone {
            let Task { node, key, state, .. } = &mut tasks[0];
            if let TaskState::Done(done) = state {
                self.route_alone(*node, *key, done)?;
            }
            if self.recorder().is_some() {
                self.save_lone_result(&tasks[0], puts)?;
            }
        }
        // In canonical order again: rows into slots, triggers, sends, and the ends of subgraphs.
        let mut taken = Mask::default();
        for task in tasks.iter_mut() {
            let node = task.node;
            let TaskState::Done(done) = &mut task.state else { continue };
            self.pos.keep_rows(table, &done.stored, &mut taken);
            fire(table, &mut self.pos.control, &mut applying, node, done);
            self.keep_sends(node, done)?;
            for (name, child) in done.children.drain(..) {
                self.pos.keep_child(name, child);
            }
        }
        // Only after all triggers is it known whether the run went quiet, which releases what is deferred.
        self.end_apply(&applying, &mut changed);
        self.note_shown(!unseen);
        Ok(changed)
    }

    /// Ends applying: if no task was triggered, releases the nodes and channels deferred until then; marks written
    /// channels as changed.
    pub(crate) fn end_apply(&mut self, applying: &ApplyPass, changed: &mut Mask) {
        if self.pos.control.end(&self.table.wiring, applying, true) {
            self.table.schema.finish(&mut self.pos.state, changed);
        }
        self.reusable.merge.written().iter().for_each(|channel| {
            changed.insert(channel);
        });
    }

    /// Subgraphs only: records the present state as the last shown if this superstep, end-of-step changes included,
    /// wrote an output channel.
    fn note_shown(&mut self, shows: bool) {
        let Some(output) = self.child.caller.map(|_| self.table.channels.output.as_ref()) else { return };
        if shows || self::shows_output(&self.table, output, self.reusable.merge.written(), &self.pos.state) {
            (self.child.last_shown, self.child.has_shown) = (None, true);
        }
    }

    pub(super) fn not_written(&self, error: ApplyError, nodes: &[u32]) -> RunError {
        let nodes = nodes.iter().map(|&node| format!("`{}`", self.node_name(node))).collect();
        apply_run_error(&self.table, self.pos.meta.step + 1, error, nodes)
    }

    /// Routes a lone task: its routers see the new state itself.
    pub(super) fn route_alone(&self, node: u32, key: u32, done: &mut FinishedResult) -> Result<(), RunError> {
        if done.routing.is_done || !done.routing.fires || self.table.exits(node).routers.is_empty() {
            return Ok(());
        }
        let seen = with_returned(&self.pos.state, done.returned.take());
        self.choose(node, key, &seen, done)
    }

    /// Adds the sends of a task to those of its superstep.
    pub(super) fn keep_sends(&mut self, node: u32, done: &mut FinishedResult) -> Result<(), RunError> {
        self.pos.control.sends.append(&mut done.routing.sends);
        let count = self.pos.control.sends.len();
        if count > SENDS_LIMIT {
            let (from, what) = (self.node_name(node), "the sends of its superstep");
            return Err(RunError::TooMany { from, what, count, limit: SENDS_LIMIT });
        }
        Ok(())
    }

    /// Returns the state with the results of finished siblings applied.
    pub(crate) fn live_state(&self) -> AnyState {
        let ended: Vec<(u32, &FinishedResult)> = self.results().collect();
        let pulls: Vec<u32> = self.step.tasks.iter().filter(|task| task.is_edge()).map(|task| task.node).collect();
        state_after(&self.table, (&self.pos.state, &self.pos.control), &pulls, &ended)
    }

    /// Returns the state with the results so far, if there are any. Fails if they cannot be applied.
    pub(super) fn checked_results(&self) -> Result<Option<(AnyState, Merge)>, RunError> {
        let (mut applied, mut writers) = (None, vec![]);
        for (node, done) in self.results() {
            let (state, merge) = applied.get_or_insert_with(|| (self.pos.state.clone(), Merge::default()));
            writers.extend(done.writes.0.iter().map(|write| (write.channel(), node)));
            let writes = done.writes.0.iter().cloned();
            if let Err(error) = apply_writes(&self.table, state, writes, merge) {
                let channel = error.channel();
                let nodes: Vec<u32> = writers.iter().filter(|(at, _)| *at == channel).map(|(_, node)| *node).collect();
                return Err(self.not_written(error, &nodes));
            }
        }
        Ok(applied)
    }

    /// Returns the results of finished tasks.
    fn results(&self) -> impl Iterator<Item = (u32, &FinishedResult)> {
        self.step.tasks.iter().filter_map(|task| Some((task.node, task.result()?)))
    }

    /// Runs the routers of a task's node over the state with only this task's writes.
    pub(crate) fn route(&self, at: usize, result: &mut FinishedResult) -> Result<(), RunError> {
        let task = &self.step.tasks[at];
        if self.table.row(task.node).exits.routers.is_empty() {
            return Ok(());
        }
        let (writes, returned) = (std::mem::take(&mut result.writes), result.returned.clone());
        // A replay runs a superstep over several states.
        let mut own = RouterView::default();
        let mut shared = self.step.router_view.lock().unwrap_or_else(PoisonError::into_inner);
        let view = if self.shared.replay.is_some() { &mut own } else { &mut *shared };
        let choose = |seen: &AnyState| self.choose(task.node, task.key, seen, result);
        let chosen = view.with(&self.table, &self.pos.state, (&writes, returned), choose);
        result.writes = writes;
        let chosen = chosen.map_err(|error| self.not_seen(at, error)).and_then(|chosen| chosen);
        chosen.inspect_err(|_| self.note_secrets_of(&result.writes))
    }

    /// Runs the routers after a node over this state.
    pub(crate) fn choose(
        &self,
        node: u32,
        key: u32,
        seen: &AnyState,
        result: &mut FinishedResult,
    ) -> Result<(), RunError> {
        self.choose_as(node, (self.pos.meta.id, key), seen, result)
    }

    /// Runs the routers after a node, with sends stored under other row ids.
    pub(crate) fn choose_as(
        &self,
        node: u32,
        made_by: (CheckpointId, u32),
        seen: &AnyState,
        result: &mut FinishedResult,
    ) -> Result<(), RunError> {
        let (from, exits) = (self.table.node_name(node), self.table.exits(node));
        let resolve = Resolve { table: &self.table, from, made_by };
        let choose = || {
            let mut routers = exits.routers.iter();
            routers.try_for_each(|branch| resolve.branch(branch, seen, &self.shared.context, result))
        };
        catch_panic_as(choose, |panic| self.panic_error(Arc::clone(from), format!("its router: {panic}")))
    }

    pub(crate) fn own_view(&self, at: usize, state: &AnyState, writes: &AnyWrites) -> Result<AnyState, RunError> {
        fresh_read(&self.table, state, writes).map_err(|error| self.not_seen(at, error))
    }

    fn not_seen(&self, at: usize, error: ApplyError) -> RunError {
        let node = vec![self.node_name(self.step.tasks[at].node).to_string()];
        apply_run_error(&self.table, self.pos.meta.step + 1, error, node)
    }
}

/// Results that cannot be applied: the tasks, the records before them, and the reason.
pub(crate) struct ApplyFailure(pub(super) Box<(Vec<Task>, Puts, RunError)>);

/// Returns a state with the results of finished tasks applied; as it is if they cannot be. `pulls`: the nodes that edges
/// started in the superstep.
pub(super) fn state_after(
    table: &Table,
    (state, control): (&AnyState, &Control<Packet>),
    pulls: &[u32],
    ended: &[(u32, &FinishedResult)],
) -> AnyState {
    let done: Vec<&FinishedResult> = ended.iter().map(|(_, done)| *done).collect();
    let Some((mut after, merge)) = merge_results(table, state, &done) else { return state.clone() };
    let mut changed = Mask::default();
    table.schema.end_step(&mut after, merge.written(), &mut changed);
    if goes_quiet(table, control.without_sends(), pulls, ended) {
        table.schema.finish(&mut after, &mut changed);
    }
    after
}

/// Returns true if these results trigger no task.
fn goes_quiet(table: &Table, mut control: Control<Packet>, pulls: &[u32], ended: &[(u32, &FinishedResult)]) -> bool {
    let mut applying = control.begin(&table.wiring, pulls);
    control.clear(&mut applying);
    ended.iter().for_each(|(node, done)| fire(table, &mut control, &mut applying, *node, done));
    control.end(&table.wiring, &applying, true)
}

/// Fires the edges of a node, and the targets that its routers and gotos chose. Its sends are added by the caller.
pub(crate) fn fire(
    table: &Table,
    control: &mut Control<Packet>,
    applying: &mut ApplyPass,
    node: u32,
    done: &FinishedResult,
) {
    let exits = table.exits(node);
    if done.routing.fires {
        exits.targets.iter().for_each(|&target| control.trigger(&table.wiring, applying, target));
        exits.arrivals.iter().for_each(|&(join, bit)| control.arrive(&table.wiring, applying, join, bit));
    }
    done.routing.targets.iter().for_each(|&target| control.trigger(&table.wiring, applying, target));
    if done.routing.chosen != (0, 0) {
        let (targets, sends) = (&done.routing.targets, done.routing.sends.len());
        let (chosen, sent) = (done.routing.chosen.0 as usize, done.routing.chosen.1 as usize);
        control.note_goto(node, &targets[..chosen.min(targets.len())], sent.min(sends) as u32);
    }
}

/// Applies all writes in canonical order. The error names the nodes that wrote the channel.
fn write(
    table: &Table,
    state: &mut AnyState,
    merge: &mut Merge,
    child: &mut ChildState,
    tasks: &mut [Task],
) -> Result<(), (ApplyError, Vec<u32>)> {
    let several = tasks.len() > 1;
    let mut writers: Vec<(usize, u32)> = vec![];
    for task in tasks.iter_mut() {
        let TaskState::Done(done) = &mut task.state else { continue };
        let writes = std::mem::take(&mut done.writes.0);
        if several {
            writers.extend(writes.iter().map(|write| (write.channel(), task.node)));
        }
        if let Some(delta) = &mut child.delta {
            writes.iter().for_each(|write| delta.record(&table.schema, write));
        }
        if let Some(taken) = &mut child.taken_state {
            writes.iter().for_each(|write| taken.undo.note(&table.schema, state, write));
        }
        if let Err(error) = apply_writes(table, state, writes, merge) {
            let channel = error.channel();
            writers.push((channel, task.node));
            let mut nodes: Vec<u32> = writers.iter().filter(|(at, _)| *at == channel).map(|(_, node)| *node).collect();
            nodes.dedup();
            return Err((error, nodes));
        }
    }
    Ok(())
}

/// Returns the channels with which a subgraph over the state of the graph around it starts.
pub(crate) fn all_channels(table: &Table) -> Mask {
    (0..table.schema.channels().len()).collect()
}

/// Returns true if a superstep wrote an output channel that can be read. LangGraph: `updated_channels`.
pub(crate) fn shows_output(table: &Table, output: Option<&Mask>, written: &Mask, state: &AnyState) -> bool {
    let shown = |channel| output.is_none_or(|only| only.contains(channel)) && table.schema.is_set(state, channel);
    written.iter().any(shown)
}
