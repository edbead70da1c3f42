//! The end of a superstep: results applied in canonical order, triggers set, a checkpoint made. LangGraph: `after_tick`.

use std::sync::{Arc, Mutex};

use superstep_base::panics::catch_panic;

use super::state::{ChildState, Run};
use crate::checkpoint::{Source, TaskRecord, TaskStatus, encode_record};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::{Durability, NEW_LINE, Puts, Recorder};
use crate::graph::state::{AnyState, ApplyError, Mask, Merge};
use crate::graph::superstep::position::{apply_writes, merged, named, with_returned};
use crate::graph::superstep::{Applying, Control, Finished, Packet, SENDS_LIMIT, Task, TaskState};
use crate::graph::view::Mode;

impl Run {
    /// Applies the results of all tasks. Returns the records of what changed, for the commit.
    pub(crate) async fn apply_results(&mut self) -> Result<Puts, RunError> {
        let mut puts = std::mem::take(&mut self.outbox.input);
        puts.append(&mut self.outbox.finished);
        self.step.left = None;
        let mut tasks = std::mem::take(&mut self.step.tasks);
        let before = puts.len();
        let applied = catch_panic(|| self.applied(&mut tasks, &mut puts));
        if let Err(error) = applied.unwrap_or_else(|panic| Err(self.panicked_applying(&tasks, &panic))) {
            puts.truncate(before); // what a lone task wrote is dropped with it
            return Err(Box::pin(self.not_applied(&tasks, puts, error)).await);
        }
        self.pos.start = None;
        if self.has_listeners() {
            self.step.just_ran = tasks.iter().map(|task| task.node).collect();
        }
        self.step.tasks = tasks;
        self.step.tasks.clear();
        Ok(puts)
    }

    /// Makes the next checkpoint and waits for it as the durability requires.
    pub(crate) async fn commit(&mut self, puts: Puts, starts: bool) -> Result<(), RunError> {
        match self.commits(starts) {
            When::WithNext => self.queue_checkpoint(puts, Recorder::ride)?,
            When::Soon => self.queue_checkpoint(puts, |recorder, puts| recorder.queue(puts, None))?,
            When::AsAsked => self.checkpoint(Source::Loop, puts).await?,
        }
        if self.has_listeners() {
            Box::pin(self.emit_stored(self.pos.meta.step)).await;
            Box::pin(self.emit_shown_values()).await;
        }
        Ok(())
    }

    /// Applies the results and encodes what they changed.
    fn applied(&mut self, tasks: &mut [Task], puts: &mut Puts) -> Result<(), RunError> {
        let changed = self.apply(tasks, puts)?;
        if self.recorder().is_none() {
            return Ok(());
        }
        let (table, made_by) = (Arc::clone(&self.table), self.pos.meta.id);
        self.pos.encode_reduced(&table, &changed, made_by, puts)?;
        self.pos.check_size(&table, self.shared.limits.state_bytes)
    }

    /// Commits the checkpoint of the input now if a listener wants it; otherwise it is part of the next commit.
    pub(crate) async fn flush_input(&mut self) -> Result<(), RunError> {
        let Some(recorder) = self.recorder().filter(|_| !self.outbox.input.is_empty() && self.wants(Mode::Checkpoints))
        else {
            return Ok(());
        };
        let (recorder, head) = (Arc::clone(recorder), self.is_root().then_some(self.pos.meta.id));
        Ok(recorder.commit(std::mem::take(&mut self.outbox.input), head).await?)
    }

    pub(crate) fn apply(&mut self, tasks: &mut [Task], puts: &mut Puts) -> Result<Mask, RunError> {
        let lone = tasks.len() == 1;
        if lone && self.recorder().is_some() {
            self.save_lone_writes(&mut tasks[0], puts)?;
        }
        self.reusable.merge.clear();
        let mut pulls = std::mem::take(&mut self.reusable.pulls);
        pulls.clear();
        pulls.extend(tasks.iter().filter(|task| task.is_edge()).map(|task| task.node));
        let table = Arc::clone(&self.table);
        let mut applying = self.pos.control.begin(&table.wiring, &pulls);
        self.reusable.pulls = pulls;
        self.pos.control.clear(&mut applying);
        self.step.router_view = Mutex::default();
        let state = &mut self.pos.state;
        if let Err((error, nodes)) = write(&table, state, &mut self.reusable.merge, &mut self.child, tasks) {
            return Err(self.not_written(error, &nodes));
        }
        self.note_written(tasks);
        let state = &self.pos.state;
        let unseen = self.child.caller.is_some()
            && self.child.delta.is_none() // which is all that its caller gets
            && !shows(&table, table.channels.output.as_ref(), self.reusable.merge.written(), state);
        if unseen {
            self.child.last_shown.get_or_insert_with(|| state.clone());
        }
        let mut changed = Mask::default();
        table.schema.end_step(&mut self.pos.state, self.reusable.merge.written(), &mut changed);
        self.pos.empty_slots(&changed);
        if let Some(delta) = &mut self.child.delta {
            changed.iter().for_each(|channel| delta.forget(channel));
        }
        if lone {
            self.route_alone(&mut tasks[0])?;
            if self.recorder().is_some() {
                self.save_lone_result(&tasks[0], puts)?;
            }
        }
        let mut taken = Mask::default();
        for task in tasks.iter_mut() {
            let node = task.node;
            let TaskState::Done(done) = &mut task.state else { continue };
            self.pos.keep_rows(&table, &done.stored, &mut taken);
            fire(&table, &mut self.pos.control, &mut applying, node, done);
            self.pos.control.sends.append(&mut done.routing.sends);
            let count = self.pos.control.sends.len();
            if count > SENDS_LIMIT {
                let (from, what) = (self.node_name(node), "the sends of its superstep");
                return Err(RunError::TooMany { from, what, count, limit: SENDS_LIMIT });
            }
            for (name, child) in done.children.drain(..) {
                self.pos.keep_child(name, child);
            }
        }
        self.end_apply(&applying, &mut changed);
        self.note_shown(!unseen);
        Ok(changed)
    }

    /// Ends applying: if no task was triggered, releases the nodes and channels deferred until then; marks written
    /// channels as changed.
    pub(crate) fn end_apply(&mut self, applying: &Applying, changed: &mut Mask) {
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
        if shows || self::shows(&self.table, output, self.reusable.merge.written(), &self.pos.state) {
            (self.child.last_shown, self.child.has_shown) = (None, true);
        }
    }

    fn not_written(&self, error: ApplyError, nodes: &[u32]) -> RunError {
        let nodes = nodes.iter().map(|&node| format!("`{}`", self.node_name(node))).collect();
        named(&self.table, self.pos.meta.step + 1, error, nodes)
    }

    /// Routes a lone task: its routers see the new state itself.
    fn route_alone(&mut self, task: &mut Task) -> Result<(), RunError> {
        let TaskState::Done(done) = &mut task.state else { return Ok(()) };
        if done.routing.is_done || !done.routing.fires {
            return Ok(());
        }
        let routers = self.table.exits(task.node);
        if routers.routers.is_empty() {
            return Ok(());
        }
        let (node, key) = (task.node, task.key);
        let seen = with_returned(&self.pos.state, done.returned.take());
        self.choose(node, key, &seen, done)
    }

    /// Stores the results of a superstep that cannot be applied, so that the thread stays readable. Returns the error.
    async fn not_applied(&self, tasks: &[Task], puts: Puts, error: RunError) -> RunError {
        match self.store_unapplied(tasks, puts, &error).await {
            Ok(()) => error,
            Err(failure) => failure,
        }
    }

    async fn store_unapplied(&self, tasks: &[Task], mut puts: Puts, error: &RunError) -> Result<(), RunError> {
        let Some(recorder) = self.recorder() else { return Ok(()) };
        if let [only] = tasks {
            let (status, error) = (TaskStatus::Failed, Some(error.to_string()));
            let record = TaskRecord { status, error, ..only.to_record() };
            puts.push((self.task_key(only.key), encode_record(&record)?));
        }
        let head = (self.pos.start.is_some() && self.is_root()).then_some(self.pos.meta.id);
        Ok(recorder.commit(puts, head).await?)
    }

    /// Returns when the present checkpoint is committed. The first and the last one of a subgraph need not be on disk before the
    /// run goes on: no node has run since the one before, or the enclosing task ends next. Commits are stored in order, so the
    /// next one that is waited for covers it; a listener may wait for each.
    fn commits(&self, starts: bool) -> When {
        if self.is_root() || self.has_listeners() {
            return When::AsAsked;
        }
        match starts {
            true => When::WithNext,
            false if !self.pos.control.is_idle(&self.table.wiring) => When::AsAsked,
            false if self.child.is_whole_task => When::WithNext,
            false => When::Soon,
        }
    }

    /// Makes a checkpoint of the present position, and waits as the durability requires.
    pub(crate) async fn checkpoint(&mut self, source: Source, puts: Puts) -> Result<(), RunError> {
        let Some((recorder, puts)) = self.saved_checkpoint(source, puts)? else { return Ok(()) };
        let head = self.is_root().then_some(self.pos.meta.id);
        recorder.commit(puts, head).await?;
        Ok(())
    }

    /// Makes a checkpoint of the present position, and waits for nothing. Subgraphs only.
    fn queue_checkpoint(&mut self, puts: Puts, queue: impl FnOnce(&Recorder, Puts)) -> Result<(), RunError> {
        if let Some((recorder, puts)) = self.saved_checkpoint(Source::Loop, puts)? {
            queue(&recorder, puts);
        }
        Ok(())
    }

    /// Makes a checkpoint of the present position; returns its records, if they are stored.
    fn saved_checkpoint(&mut self, source: Source, mut puts: Puts) -> Result<Option<(Arc<Recorder>, Puts)>, RunError> {
        self.pos.meta.step += 1;
        self.pos.meta.source = source;
        let Some(recorder) = self.recorder().cloned() else { return Ok(None) };
        self.enter(&recorder);
        self.save_checkpoint(&recorder, &mut puts)?;
        Ok(Some((recorder, puts)))
    }

    /// Allocates the id of the next checkpoint and sets its parent.
    pub(crate) fn enter(&mut self, recorder: &Recorder) {
        let before = self.pos.meta.id;
        self.pos.meta.id = recorder.next_id();
        if before.0 == 0 || self.pos.channels.line == NEW_LINE {
            self.pos.channels.line = self.pos.meta.id;
        }
        self.outbox.previous = before;
        self.pos.meta.parent = match recorder.durability() {
            Durability::Exit if self.child.delta.is_none() => self.outbox.exit_parent,
            _ => (before.0 != 0).then_some(before),
        };
        self.pos.meta.created_at = self.shared.now();
    }

    pub(crate) fn is_root(&self) -> bool {
        self.scope.names.is_empty()
    }

    async fn emit_shown_values(&self) {
        if shows(&self.table, self.output(), self.reusable.merge.written(), &self.pos.state) {
            self.emit_values().await;
        }
    }

    /// Returns the state with the results of finished siblings applied.
    pub(crate) fn live(&self) -> AnyState {
        let ended: Vec<(u32, &Finished)> = self.ended().collect();
        let pulls: Vec<u32> = self.step.tasks.iter().filter(|task| task.is_edge()).map(|task| task.node).collect();
        state_after(&self.table, (&self.pos.state, &self.pos.control), &pulls, &ended)
    }

    /// Returns the state with the results so far, if there are any. Fails if they cannot be applied.
    pub(super) fn checked_results(&self) -> Result<Option<(AnyState, Merge)>, RunError> {
        let (mut applied, mut writers) = (None, vec![]);
        for (node, done) in self.ended() {
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
    fn ended(&self) -> impl Iterator<Item = (u32, &Finished)> {
        self.step.tasks.iter().filter_map(|task| match &task.state {
            TaskState::Done(done) => Some((task.node, &**done)),
            TaskState::Ready | TaskState::Asked { .. } | TaskState::Failed(_) => None,
        })
    }
}

/// When a checkpoint is committed.
enum When {
    /// With whatever is committed next.
    WithNext,
    /// Now, without waiting for it.
    Soon,
    /// Now, waiting as the durability asks.
    AsAsked,
}

/// Returns a state with the results of finished tasks applied; as it is if they cannot be. `pulls`: the nodes that edges
/// started in the superstep.
pub(super) fn state_after(
    table: &Table,
    (state, control): (&AnyState, &Control<Packet>),
    pulls: &[u32],
    ended: &[(u32, &Finished)],
) -> AnyState {
    let done: Vec<&Finished> = ended.iter().map(|(_, done)| *done).collect();
    let Some((mut after, merge)) = merged(table, state, &done) else { return state.clone() };
    let mut changed = Mask::default();
    table.schema.end_step(&mut after, merge.written(), &mut changed);
    if goes_quiet(table, control.without_sends(), pulls, ended) {
        table.schema.finish(&mut after, &mut changed);
    }
    after
}

/// Returns true if these results trigger no task.
fn goes_quiet(table: &Table, mut control: Control<Packet>, pulls: &[u32], ended: &[(u32, &Finished)]) -> bool {
    let mut applying = control.begin(&table.wiring, pulls);
    control.clear(&mut applying);
    ended.iter().for_each(|(node, done)| fire(table, &mut control, &mut applying, *node, done));
    control.end(&table.wiring, &applying, true)
}

/// Fires the edges of a node, and the targets that its routers and gotos chose. Its sends are added by the caller.
pub(crate) fn fire(table: &Table, control: &mut Control<Packet>, applying: &mut Applying, node: u32, done: &Finished) {
    let exits = table.exits(node);
    if done.routing.fires {
        exits.targets.iter().for_each(|&target| control.trigger(&table.wiring, applying, target));
        exits.arrivals.iter().for_each(|&(join, bit)| control.arrive(&table.wiring, applying, join, bit));
    }
    done.routing.targets.iter().for_each(|&target| control.trigger(&table.wiring, applying, target));
    let (targets, sends) = (&done.routing.targets, done.routing.sends.len());
    let (chosen, sent) = (done.routing.chosen.0 as usize, done.routing.chosen.1 as usize);
    control.note_goto(node, &targets[..chosen.min(targets.len())], sent.min(sends) as u32);
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

/// Returns true if a superstep wrote an output channel that can be read. LangGraph: `updated_channels`.
pub(crate) fn shows(table: &Table, output: Option<&Mask>, written: &Mask, state: &AnyState) -> bool {
    let shown = |channel| output.is_none_or(|only| only.contains(channel)) && table.schema.is_set(state, channel);
    written.iter().any(shown)
}
