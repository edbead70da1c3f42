//! Subgraphs beyond their tasks: the names that state of their own is stored under, and their pointers when tasks are dropped;
//! the writes that are lost when a task of a subgraph hands a command to the graph around, which ends the subgraph.

use std::sync::Arc;

use super::delta::Delta;
use super::state::Run;
use crate::checkpoint::{BoxFuture, CheckpointId};
use crate::graph::build::{GraphCore, Persistence};
use crate::graph::context::{GraphScope, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::persist::save::is_of_task;
use crate::graph::records::reader::reader;
use crate::graph::records::{BY_HANDLER, HANDLER, Mapping, NEW_LINE, Reader, SENT, START_KEY, START_NODE};
use crate::graph::state::Mask;
use crate::graph::superstep::{Position, Task, TaskState};
use crate::graph::view::AnyChild;

impl Run {
    /// Keeps the pointers of subgraphs with state of their own whose tasks are about to be dropped.
    pub(crate) async fn keep_children(&mut self, reader: &Reader, mapping: &Mapping) -> Result<(), RunError> {
        let table = Arc::clone(&self.table);
        if !table.nodes.iter().any(|row| has_lasting(&row.children)) {
            return Ok(());
        }
        self.plan();
        let mut found = vec![];
        for (task, call, id) in reader.children(self.pos.meta.id).await? {
            let Ok(task) = mapping.task(task) else { continue };
            let Some(task) = self.step.tasks.iter().find(|known| known.key == task) else { continue };
            if task.node != START_NODE && has_lasting(&table.row(task.node).children) {
                lasting_children(reader, called_name(&table.row(task.node).name, call), id, &mut found).await?;
            }
        }
        found.into_iter().for_each(|(name, id)| self.pos.keep_child(name, id));
        Ok(())
    }
}

/// Returns true if any of these subgraphs, or of those below them, has state of its own.
fn has_lasting(children: &[AnyChild]) -> bool {
    let below = |child: &AnyChild| {
        let nodes = child.0.outline().nodes.iter();
        nodes.map(|node| child.0.children(&node.name)).any(has_lasting)
    };
    children.iter().any(|child| child.0.is_per_thread() || below(child))
}

/// Collects the newest checkpoints of subgraphs with state of their own: the subgraph that is at this checkpoint, or
/// those below it.
fn lasting_children<'a>(
    reader: &'a Reader,
    name: String,
    id: CheckpointId,
    found: &'a mut Vec<(String, CheckpointId)>,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        let Some(record) = reader.record(id).await? else { return Ok(()) };
        if !is_of_task(&record.namespace) {
            found.push((name, id));
            return Ok(());
        }
        found.extend(record.children.iter().map(|(inner, at)| (nested_name(&name, inner), *at)));
        let shape = reader.shape(&record).await?;
        for (task, call, at) in reader.children(id).await? {
            let sent = task.checked_sub(SENT).and_then(|place| record.control.sends.get(place as usize));
            let node = sent.map_or(task, |send| send.node);
            if let Some(node) = shape.nodes.get(node as usize) {
                lasting_children(reader, nested_name(&name, &called_name(node, call)), at, found).await?;
            }
        }
        Ok(())
    })
}

/// Loads the position that a subgraph with state of its own starts from. One of several tasks of a worker takes a copy;
/// any other continues the logs of the last activation.
pub(crate) async fn load_kept(
    child: &GraphCore,
    reader: &Reader,
    id: CheckpointId,
    scope: Arc<GraphScope>,
    apart: bool,
) -> Result<(Position, Arc<GraphScope>, bool), RunError> {
    let record = reader.record(id).await?.ok_or_else(|| reader.missing_subgraph())?;
    let path = record.namespace.clone();
    let (mut pos, mapping) = reader.position(&child.table, id, record).await?;
    mapping.check_pin(reader)?;
    if apart || path != scope.path {
        return Ok((pos, scope, true)); // a node on the way may have another name now, or run more than once at a time
    }
    if reader.has_later_entries(&child.table, &path, &pos).await? {
        pos.channels.line = NEW_LINE;
    }
    Ok((pos, Arc::new(GraphScope { path, ..GraphScope::clone(&scope) }), false))
}

/// Returns the last checkpoint of a subgraph with state of its own before this activation.
pub(crate) fn last_checkpoint(ctx: &Arc<TaskCtx>, persistence: Persistence, call: u32) -> Option<CheckpointId> {
    (persistence == Persistence::PerThread).then(|| ctx.child_checkpoint(&own_name(ctx, call))).flatten()
}

/// Returns the control version at which an activation of a subgraph starts.
pub(crate) async fn base_version(
    reader: &Reader,
    ctx: &Arc<TaskCtx>,
    persistence: Persistence,
    call: u32,
) -> Result<u64, RunError> {
    let Some(id) = last_checkpoint(ctx, persistence, call) else { return Ok(0) };
    let record = reader.record(id).await?.ok_or_else(|| reader.missing_subgraph())?;
    Ok(record.control.version)
}

/// Returns a path without the tasks that run its subgraphs, apart from workers: tasks of one worker run concurrently.
pub(crate) fn lasting_path(path: &str) -> String {
    let part = |part: &str| match part.split_once(':') {
        Some((name, task)) if is_of_worker(task) => format!("{name}~{task}"),
        Some((name, _)) => name.to_owned(),
        None => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Returns true if a send started the task in this part of a path: `checkpoint.task`, the task as a hexadecimal number.
fn is_of_worker(task: &str) -> bool {
    let number = task.rsplit('.').next().unwrap_or_default();
    u32::from_str_radix(number, 16).is_ok_and(|number| number >= SENT)
}

/// Returns the number under which a task's record points at its subgraph.
pub(crate) fn pointer_number(ctx: &Arc<TaskCtx>, call: u32) -> u32 {
    if ctx.facts.handler { call | BY_HANDLER } else { call }
}

/// Returns the name that the state is stored under; calls after the first of one task are numbered.
pub(crate) fn own_name(ctx: &Arc<TaskCtx>, call: u32) -> String {
    numbered_name(&ctx.facts.name, call)
}

/// Returns the name that the state of a subgraph inside another is stored under.
pub(crate) fn nested_name(outer: &str, inner: &str) -> String {
    format!("{outer}/{inner}")
}

/// Returns the same for a call that a task's record points at.
fn called_name(node: &str, call: u32) -> String {
    match call.checked_sub(BY_HANDLER) {
        Some(call) => numbered_name(&format!("{HANDLER}{node}"), call),
        None => numbered_name(node, call),
    }
}

fn numbered_name(name: &str, call: u32) -> String {
    if call == 0 { name.to_string() } else { format!("{name}#{call}") }
}

impl Run {
    /// Notes the channels that nodes of a subgraph write, which a command for the graph around it drops.
    pub(crate) fn note_written(&mut self, tasks: &[Task]) {
        if self.child.caller.is_some() && self.pos.start.is_none() && !tasks.is_empty() {
            self.child.written.extend(self.reusable.merge.written().iter());
        }
    }

    /// Returns the names of the channels to which the subgraph's nodes have written.
    pub(crate) async fn dropped_channels(&self) -> Vec<String> {
        let mut written = self.child.written.clone();
        for task in &self.step.tasks {
            if let TaskState::Done(done) = &task.state {
                written.extend(done.writes.0.iter().map(|write| write.channel()));
            }
        }
        written.extend(self.written_before().await.iter());
        written.iter().map(|channel| self.table.channel(channel).to_owned()).collect()
    }

    /// Returns the channels that nodes wrote in earlier runs of the activation, as they are stored.
    async fn written_before(&self) -> Mask {
        if let Some(delta) = &self.child.delta {
            return delta.channels();
        }
        let (true, Some(recorder)) = (self.child.is_resumed, self.recorder()) else { return Mask::default() };
        let earlier = Delta::read_of(&self.table, &reader(recorder), self.pos.meta.id, |key| key != START_KEY).await;
        earlier.map(|delta| delta.channels()).unwrap_or_default()
    }

    /// Logs a warning of what a command for the graph around this one drops.
    pub(crate) async fn warn_of_dropped(&self) {
        let dropped = self.dropped_channels().await;
        if !dropped.is_empty() {
            tracing::warn!(
                subgraph = self.scope.names.join("/"),
                channels = ?dropped,
                "what a subgraph wrote is dropped: one of its nodes handed a command to the graph around it"
            );
        }
    }
}
