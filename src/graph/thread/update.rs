//! Writing the state as if a node had returned the update. LangGraph: `update_state`, `bulk_update_state`.

use std::sync::Arc;

use super::fork::fork_upwards;
use super::handle::{Thread, ThreadCore};
use super::open::{RunEnd, end_to_keep};
use super::scope::ScopedRun;
use super::state_update::{AnyUpdate, AsNode, Attribution, ScheduledTasks, StateUpdate, UpdateReport};
use crate::checkpoint::{CheckpointId, Row, SendRecord, Source, TaskRecord, TaskStatus};
use crate::graph::context::RunShared;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::persist::save;
use crate::graph::records::reader::reader;
use crate::graph::records::{
    Durability, NEW_LINE, Puts, Recorder, SENT, START_KEY, START_NAME, START_NODE, ThreadGuard,
};
use crate::graph::run::Run;
use crate::graph::run::apply::fire;
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyWrites, ApplyError, Boxed, IntoWrites, Mask, State};
use crate::graph::superstep::writes::{apply_run_error, apply_writes, fresh_read, with_returned};
use crate::graph::superstep::{FinishedResult, StartInput, Task};

const UPDATING: &str = "updating a thread";

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Writes the state as if the node that ran last had returned the update. With [`at`](Self::at): on a new branch.
    ///
    /// The edges and routers of that node choose again what runs next. What nodes scheduled with
    /// [`Command`](crate::graph::Command)s stays pending, because an update has no command. (LangGraph drops it.)
    ///
    /// # Errors
    /// [`RunError::AmbiguousUpdate`] if it is not clear which node that is; any error of its routers, the reducers or
    /// the store.
    pub async fn update_state(&self, values: impl IntoWrites<S>) -> Result<UpdateReport, RunError> {
        self.update(StateUpdate::new(values)).await
    }

    /// Writes the state as if this node had returned the update. What it scheduled with a
    /// [`Command`](crate::graph::Command) stays pending, and so does what others did if it has no edge or router that says
    /// where the graph continues. Otherwise [`UpdateReport::dropped`] lists what was dropped.
    ///
    /// # Errors
    /// As [`update_state`](Self::update_state); [`RunError::UnknownNode`].
    pub async fn update_state_as(&self, node: N, values: impl IntoWrites<S>) -> Result<UpdateReport, RunError> {
        self.update(StateUpdate::new(values).as_node(node)).await
    }

    /// Writes one update.
    ///
    /// # Errors
    /// As [`update_state`](Self::update_state).
    pub async fn update(&self, update: StateUpdate<S, N>) -> Result<UpdateReport, RunError> {
        self.bulk_update([vec![update]]).await
    }

    /// Writes several supersteps of updates, each a checkpoint; updates of one superstep are reduced together.
    ///
    /// On a handle at a checkpoint of a subgraph that has ended, the thread goes back there: a fork of each graph
    /// around it becomes the newest, and the next [`proceed`](Self::proceed) resumes inside the subgraph, from the new
    /// checkpoint.
    ///
    /// # Errors
    /// [`RunError::InvalidUpdate`] if there are none; otherwise as [`update_state`](Self::update_state). Supersteps before
    /// the one that failed are stored.
    pub async fn bulk_update(
        &self,
        supersteps: impl IntoIterator<Item = Vec<StateUpdate<S, N>>>,
    ) -> Result<UpdateReport, RunError> {
        let untyped = |updates: Vec<StateUpdate<S, N>>| updates.into_iter().map(AnyUpdate::from).collect();
        self.core.update(supersteps.into_iter().map(untyped).collect()).await
    }
}

impl ThreadCore {
    /// Writes several supersteps of updates.
    fn update(&self, supersteps: Vec<Vec<AnyUpdate>>) -> Boxed<'_, Result<UpdateReport, RunError>> {
        Box::pin(catch_panics(UPDATING, self.update_locked(supersteps)))
    }

    async fn update_locked(&self, supersteps: Vec<Vec<AnyUpdate>>) -> Result<UpdateReport, RunError> {
        if supersteps.is_empty() || supersteps.iter().any(Vec::is_empty) {
            return Err(RunError::InvalidUpdate { what: "there is nothing to update".into() });
        }
        let updates = supersteps.iter().flatten().filter_map(|update| update.values.as_ref());
        self.check_writes(updates.flat_map(|writes| &writes.0))?;
        let mut thread = self.clone();
        if thread.settings.durability == Durability::Exit {
            thread.settings.durability = Durability::Sync; // each superstep is kept, so none replaces another
        }
        let recorder = thread.open().await?.ok_or(RunError::NoCheckpointer { what: "updating a thread" })?;
        let guard = ThreadGuard(Arc::clone(&recorder));
        let made = self.update_recorded(supersteps, &recorder).await;
        guard.release().await;
        made
    }

    async fn update_recorded(
        &self,
        supersteps: Vec<Vec<AnyUpdate>>,
        recorder: &Arc<Recorder>,
    ) -> Result<UpdateReport, RunError> {
        let shared = self.shared(Some(Arc::clone(recorder)), None);
        let over = self.is_over(recorder).await?;
        let written = catch_panics(UPDATING, self.write_supersteps(supersteps, shared, over)).await;
        let settled = recorder.settle().await; // also those before one that failed
        let (made, end) = written?;
        settled?;
        self.keep_end(recorder, end);
        if over {
            fork_upwards(&reader(recorder), recorder, self.stamp(), made.checkpoint).await?;
            recorder.settle().await?;
        }
        Ok(made)
    }

    /// Writes supersteps of updates; returns the position after the last as well, if it is worth keeping.
    async fn write_supersteps(
        &self,
        supersteps: Vec<Vec<AnyUpdate>>,
        shared: Arc<RunShared>,
        over: bool,
    ) -> Result<(UpdateReport, Option<Box<RunEnd>>), RunError> {
        let (mut checkpoint, mut dropped, mut end) = (self.at, vec![], None);
        for updates in supersteps {
            let mut scoped = self.load_for_update(Arc::clone(&shared), checkpoint, end).await?;
            if over {
                (scoped.run.child.caller, scoped.run.outbox.beside) = (None, vec![]);
            }
            dropped.extend(superstep(&mut scoped, updates).await?);
            checkpoint = Some(scoped.run.pos.meta.id);
            end = end_to_keep(scoped.run);
        }
        let nothing = || RunError::InvalidUpdate { what: "there is nothing to update".into() };
        Ok((UpdateReport { checkpoint: checkpoint.ok_or_else(nothing)?, dropped }, end))
    }
}

/// Writes one superstep of updates; returns the nodes whose results it dropped.
async fn superstep(scoped: &mut ScopedRun, mut updates: Vec<AnyUpdate>) -> Result<Vec<String>, RunError> {
    let alone = updates.len() == 1;
    let special = updates.iter().position(|update| matches!(update.by, AsNode::End | AsNode::Input | AsNode::Copy));
    match special {
        Some(_) if !alone => {
            Err(RunError::InvalidUpdate { what: "this update must be the only one of its superstep".into() })
        }
        Some(at) => {
            let update = updates.swap_remove(at);
            match update.by {
                AsNode::End => clear(scoped, update.values).await?,
                AsNode::Copy => copy(scoped).await?,
                AsNode::Input | AsNode::Inferred | AsNode::Start | AsNode::Node(_) => {
                    input(scoped, update.values).await?
                }
            }
            Ok(vec![])
        }
        None => nodes(scoped, updates).await,
    }
}

/// Applies finished results and drops everything else.
async fn clear(scoped: &mut ScopedRun, values: Option<AnyWrites>) -> Result<(), RunError> {
    if values.is_some_and(|values| !values.is_empty()) {
        return Err(RunError::InvalidUpdate { what: "clearing takes no values".into() });
    }
    scoped.restore().await?;
    scoped.check_results()?;
    let run = &mut scoped.run;
    if !run.pos.is_stored() {
        run.pos.meta.step = -1;
    }
    run.clear_pending().await
}

/// Stores new input, which the next run starts with.
async fn input(scoped: &mut ScopedRun, values: Option<AnyWrites>) -> Result<(), RunError> {
    let Some(writes) = values else {
        return Err(RunError::InvalidUpdate { what: "input needs values".into() });
    };
    scoped.check_planned()?;
    let run = &mut scoped.run;
    let writes = run.input_writes(writes);
    let recorder = run.recorder().cloned().ok_or(RunError::NoCheckpointer { what: "updating a thread" })?;
    let mut puts = vec![];
    if run.pos.start.is_some() {
        run.pos.channels.line = NEW_LINE;
    }
    run.pos.meta.step += 1;
    run.pos.meta.source = Source::Input;
    let applying = run.pos.control.begin(&run.table.wiring, &[]);
    run.pos.control.end(&run.table.wiring, &applying, false);
    run.enter(&recorder);
    let made_by = (run.pos.meta.id, START_KEY);
    let stored = save::rows(&run.table, &run.scope.path, made_by, &writes, &mut puts)?;
    run.pos.start = Some(Box::new(StartInput { writes, stored }));
    run.outbox.update = (!run.is_root()).then(|| external_writes(&[]).into());
    scoped.commit(puts).await
}

/// Copies the checkpoint beside the original.
async fn copy(scoped: &mut ScopedRun) -> Result<(), RunError> {
    scoped.check_planned()?;
    let run = &mut scoped.run;
    if !run.pos.is_stored() {
        return Err(RunError::InvalidUpdate { what: "there is no checkpoint to copy".into() });
    }
    let recorder = run.recorder().cloned().ok_or(RunError::NoCheckpointer { what: "updating a thread" })?;
    let parent = if run.is_root() { run.pos.meta.parent } else { Some(run.pos.meta.id) };
    run.pos.meta.step += 1;
    run.pos.meta.source = Source::Fork;
    run.enter(&recorder);
    (run.pos.meta.parent, run.pos.channels.line) = (parent, run.pos.meta.id);
    scoped.commit(vec![]).await
}

/// Writes one superstep of updates attributed to nodes.
async fn nodes(scoped: &mut ScopedRun, updates: Vec<AnyUpdate>) -> Result<Vec<String>, RunError> {
    let alone = updates.len() == 1;
    let mut named = vec![];
    let mut is_inferred = true;
    for update in updates {
        is_inferred &= matches!(update.by, AsNode::Inferred);
        let (node, writes) = (attributed_node(&scoped.run, &update.by, alone)?, update.values.unwrap_or_default());
        let writes = if node == START_NODE { scoped.run.input_writes(writes) } else { writes };
        named.push((node, FinishedResult { writes, returned: update.returned, ..FinishedResult::default() }));
    }
    // `restore` applies stored commands too: remember the deferred nodes as they were before.
    let deferred = scoped.run.pos.control.deferred.clone();
    scoped.restore().await?;
    let notes = scoped.notes_results();
    let run = &mut scoped.run;
    run.pos.control.deferred = deferred; // triggers of a command are dropped with the pending tasks
    // What commands of these nodes scheduled stays pending; that of other nodes may be dropped.
    let nodes = named.iter().map(|(node, _)| *node).collect();
    let scheduled = ScheduledTasks::of(run, &Attribution::new(run, nodes, is_inferred));
    // Finished results that the new checkpoint leaves out are reported to the caller (V9).
    let mut dropped: Vec<String> = run
        .step
        .tasks
        .iter()
        .filter(|task| scoped.is_head && task.is_done() && !named.iter().any(|(node, _)| *node == task.node))
        .map(|task| run.node_name(task.node).to_string())
        .collect();
    let pending = scheduled.dropped.iter().map(|node| run.node_name(*node).to_string());
    dropped.extend(pending.filter(|name| !dropped.contains(name)).collect::<Vec<_>>());
    // Stored, but not part of the state: log entries must not merge with them.
    if run.pos.start.is_some() || run.step.tasks.iter().any(|task| task.is_done()) {
        run.pos.channels.line = NEW_LINE;
    }
    let recorder = run.recorder().cloned().ok_or(RunError::NoCheckpointer { what: "updating a thread" })?;
    // Several updates may start from one checkpoint, so each has row ids of its own.
    let made_by = recorder.next_id();
    if !run.pos.is_stored() {
        run.pos.meta.step = -1;
    }
    // Store each update as the result of its node: run the node's routers, and keep its writes as rows.
    let (mut puts, mut results) = (vec![], vec![]);
    let mut used: Vec<u32> = vec![];
    for (at, (node, mut finished)) in named.into_iter().enumerate() {
        let key = own_key(run, node, at, &mut used);
        let from = (made_by, SENT * 2 + at as u32);
        let returned = finished.returned.take();
        if !run.table.exits(node).routers.is_empty() {
            // Each router sees the writes of its own update and of no other, as for parallel tasks.
            let seen = fresh_read(&run.table, &run.pos.state, &finished.writes);
            let seen = with_returned(&seen.map_err(|error| named_error(run, error, node))?, returned);
            run.choose_as(node, from, &seen, &mut finished)?;
        }
        finished.stored = save::rows(&run.table, &run.scope.path, from, &finished.writes, &mut puts)?;
        let sends = save::sends(&run.table, &finished.routing.sends, &mut puts)?;
        keep_result(run, key, &finished, sends, notes, &mut puts)?;
        results.push((node, finished));
    }
    // The graph around a subgraph takes the changes from this record.
    run.outbox.update = (!run.is_root()).then(|| external_writes(&results).into());
    apply(run, results, scheduled, made_by, &mut puts)?;
    scoped.checkpoint(Source::Update, puts).await?;
    Ok(dropped)
}

/// Returns the node that an update is attributed to.
fn attributed_node(run: &Run, by: &AsNode, alone: bool) -> Result<u32, RunError> {
    match by {
        AsNode::Start => Ok(START_NODE),
        AsNode::Node(node) if node.name() == START_NAME => Ok(START_NODE),
        AsNode::Node(node) => {
            run.table.node_index(node.as_str()).ok_or_else(|| RunError::UnknownNode { node: node.name().to_owned() })
        }
        AsNode::Inferred if !alone => Err(RunError::AmbiguousUpdate),
        AsNode::Inferred => match run.pos.control.last_ran {
            None => Ok(START_NODE),
            Some(last) if last.tied => Err(RunError::AmbiguousUpdate),
            Some(last) => Ok(last.node),
        },
        AsNode::Input | AsNode::End | AsNode::Copy => Err(RunError::AmbiguousUpdate),
    }
}

/// Returns the key of the planned task that the update replaces, or one that no task has.
fn own_key(run: &Run, node: u32, at: usize, used: &mut Vec<u32>) -> u32 {
    let open = |task: &&Task| task.node == node && !task.is_done() && !used.contains(&task.key);
    let planned = run.step.tasks.iter().find(open);
    let key = planned.map_or(SENT * 2 + at as u32, |task| task.key);
    used.push(key);
    key
}

/// Stores the writes of an update as the result of the planned task it replaces.
fn keep_result(
    run: &Run,
    key: u32,
    finished: &FinishedResult,
    sends: Vec<SendRecord>,
    is_head: bool,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let Some(task) = run.step.tasks.iter().find(|task| task.key == key && !task.is_done()) else { return Ok(()) };
    let exits = run.table.exits(task.node);
    let leads_on = !finished.routing.targets.is_empty() || !exits.targets.is_empty() || !exits.arrivals.is_empty();
    let is_empty = finished.stored.rows.is_empty() && sends.is_empty() && !leads_on;
    if !is_head || is_empty {
        return Ok(());
    }
    let record = TaskRecord {
        status: TaskStatus::Done,
        writes: finished.stored.rows.clone(),
        targets: finished.routing.targets.clone(),
        sends,
        handled: None,
        ..task.to_record()
    };
    puts.push((run.task_key(key), Row::record(record)));
    Ok(())
}

/// Returns the record of external writes, from which the graph around a subgraph takes the changes.
fn external_writes(results: &[(u32, FinishedResult)]) -> TaskRecord {
    let writes = results.iter().flat_map(|(_, finished)| finished.stored.rows.iter().copied()).collect();
    TaskRecord { status: TaskStatus::Done, writes, ..TaskRecord::default() }
}

fn named_error(run: &Run, error: ApplyError, node: u32) -> RunError {
    apply_run_error(&run.table, run.pos.meta.step + 1, error, vec![format!("`{}`", run.node_name(node))])
}

fn apply(
    run: &mut Run,
    results: Vec<(u32, FinishedResult)>,
    scheduled: ScheduledTasks,
    made_by: CheckpointId,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let table = Arc::clone(&run.table);
    run.reusable.merge.clear();
    let mut applying = run.pos.control.begin(&table.wiring, &[]);
    run.pos.control.clear(&mut applying);
    run.pos.start = None;
    let (mut taken, mut changed) = (Mask::default(), Mask::default());
    for (node, finished) in &results {
        let state = &mut run.pos.state;
        let writes = finished.writes.0.iter().cloned();
        if let Err(error) = apply_writes(&table, state, writes, &mut run.reusable.merge) {
            return Err(named_error(run, error, *node));
        }
        run.pos.keep_rows(&table, &finished.stored, &mut taken);
    }
    table.schema.end_step(&mut run.pos.state, run.reusable.merge.written(), &mut changed);
    run.pos.empty_slots(&changed);
    scheduled.restore(run, &mut applying);
    for (node, finished) in results {
        fire(&table, &mut run.pos.control, &mut applying, node, &finished);
        run.pos.control.sends.extend(finished.routing.sends);
    }
    run.end_apply(&applying, &mut changed);
    run.pos.encode_reduced(&table, &changed, made_by, puts)?;
    run.pos.check_size(&table, run.shared.limits.state_bytes)
}

impl Run {
    /// Applies the tasks that have ended and drops the others.
    async fn clear_pending(&mut self) -> Result<(), RunError> {
        let mut puts = vec![];
        if self.step.tasks.iter().all(|task| !task.is_done()) && self.step.tasks.is_empty() {
            return self.checkpoint(Source::Update, puts).await;
        }
        if self.pos.start.is_some() {
            self.pos.channels.line = NEW_LINE; // input that never started is stored, but not part of the state
        }
        let mut tasks = std::mem::take(&mut self.step.tasks);
        let table = Arc::clone(&self.table);
        let changed = self.apply(&table, &mut tasks, &mut puts)?;
        let made_by = self.recorder().map_or(self.pos.meta.id, |recorder| recorder.next_id());
        self.pos.encode_reduced(&table, &changed, made_by, &mut puts)?;
        self.pos.check_size(&table, self.shared.limits.state_bytes)?;
        self.pos.start = None;
        self.checkpoint(Source::Update, puts).await
    }
}
