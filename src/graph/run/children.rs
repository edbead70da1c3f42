//! Subgraphs with state of their own: the names it is stored under, and their pointers when tasks are dropped.

use std::sync::Arc;

use super::state::Run;
use crate::checkpoint::CheckpointId;
use crate::graph::build::{GraphCore, Persistence};
use crate::graph::context::{GraphScope, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::records::{BY_HANDLER, HANDLER, Mapping, NEW_LINE, Reader, START_NODE};
use crate::graph::superstep::Position;

impl Run {
    /// Keeps the pointers of subgraphs with state of their own whose tasks are about to be dropped.
    pub(crate) async fn keep_children(&mut self, reader: &Reader, mapping: &Mapping) -> Result<(), RunError> {
        let table = Arc::clone(&self.table);
        let per_thread =
            |node: u32| node != START_NODE && table.row(node).children.iter().any(|child| child.0.is_per_thread());
        if !(0..table.nodes.len()).any(|node| per_thread(node as u32)) {
            return Ok(());
        }
        self.plan();
        for (task, call, id) in reader.children(self.pos.meta.id).await? {
            let Ok(task) = mapping.task(task) else { continue };
            let Some(task) = self.step.tasks.iter().find(|known| known.key == task && per_thread(known.node)) else {
                continue;
            };
            let name = &table.row(task.node).name;
            let name = match call.checked_sub(BY_HANDLER) {
                Some(call) => numbered(&format!("{HANDLER}{name}"), call),
                None => numbered(name, call),
            };
            self.pos.keep_child(name, id);
        }
        Ok(())
    }
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
    if apart || own_part(&path) != own_part(&scope.path) {
        return Ok((pos, scope, true)); // its node may have another name now
    }
    if reader.has_later_entries(&child.table, &path, &pos).await? {
        pos.channels.line = NEW_LINE;
    }
    Ok((pos, Arc::new(GraphScope { path, ..GraphScope::clone(&scope) }), false))
}

/// Returns the last checkpoint of a subgraph with state of its own before this activation.
pub(crate) fn last_checkpoint(ctx: &Arc<TaskCtx>, persistence: Persistence, call: u32) -> Option<CheckpointId> {
    (persistence == Persistence::PerThread).then(|| ctx.kept(&own_name(ctx, call))).flatten()
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

/// Returns the node and call in the last part of a path.
fn own_part(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split(['~', ':']).next().unwrap_or_default()
}

/// Returns the number under which a task's record points at its subgraph.
pub(crate) fn pointer_number(ctx: &Arc<TaskCtx>, call: u32) -> u32 {
    if ctx.facts.handler { call | BY_HANDLER } else { call }
}

/// Returns the name that the state is stored under; calls after the first of one task are numbered.
pub(crate) fn own_name(ctx: &Arc<TaskCtx>, call: u32) -> String {
    numbered(&ctx.facts.name, call)
}

fn numbered(name: &str, call: u32) -> String {
    if call == 0 { name.to_string() } else { format!("{name}#{call}") }
}
