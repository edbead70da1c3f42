//! Tasks that call subgraphs, found by their places in a namespace, and their calls. Must not know what is read of a subgraph.

use crate::checkpoint::{CheckpointId, CheckpointRecord};
use crate::graph::error::RunError;
use crate::graph::records::{BY_HANDLER, ListedCheckpoint, Reader};
use crate::graph::view::{Activation, AnyChild, TaskOutline};

/// A part of a namespace: a task, and the number of the call if there is one.
pub(super) struct TaskPlace<'a> {
    pub node: &'a str,
    pub id: &'a str,
    pub call: Option<u32>,
}

impl<'a> TaskPlace<'a> {
    /// Reads the parts of a namespace; `None` if it is none.
    pub(super) fn parse(namespace: &'a [String]) -> Option<Vec<Self>> {
        let mut places: Vec<Self> = vec![];
        for part in namespace {
            if let Some(call) = part.strip_prefix('#') {
                let place = places.last_mut().filter(|place| place.call.is_none())?;
                place.call = Some(call.parse().ok()?);
                continue;
            }
            let (node, id) = part.rsplit_once(':')?;
            places.push(Self { node, id, call: None });
        }
        Some(places)
    }
}

/// A call of a subgraph by a task: its number, and the newest checkpoint of the subgraph.
pub(super) type Call = (u32, CheckpointId);

/// A task, and the subgraphs that its node calls.
#[derive(Clone)]
pub(super) struct CallingTask {
    pub id: String,
    pub node: String,
    pub checkpoint: CheckpointId,
    /// The key of its record.
    stored: u32,
    /// The first call of its last attempt.
    first_call: u32,
    record: CheckpointRecord,
    children: Vec<AnyChild>,
}

impl CallingTask {
    /// Returns a task of a checkpoint, whose node calls these subgraphs.
    pub(super) async fn of(
        reader: &Reader,
        (checkpoint, record): ListedCheckpoint,
        task: &TaskOutline,
        children: &[AnyChild],
    ) -> Result<Self, RunError> {
        let first_call = reader.task(checkpoint, task.stored).await?.map_or(0, |task| task.first_call);
        let (id, node, children) = (task.id.clone(), task.name.clone(), children.to_vec());
        Ok(Self { id, node, checkpoint, stored: task.stored, first_call, record, children })
    }

    /// Returns the call with a number, or the active one. A number also finds a call of an earlier attempt.
    pub(super) async fn call(&self, reader: &Reader, number: Option<u32>) -> Result<Option<Call>, RunError> {
        let mut called = reader.children_of(self.checkpoint, self.stored).await?;
        called.retain(|(_, call, _)| number.is_none_or(|number| call & !BY_HANDLER == number));
        let earlier = called.last().filter(|_| number.is_some()).copied();
        let active = reader.active_child(&reader.tasks(self.checkpoint).await?, called).await?;
        Ok(active.or(earlier).map(|(_, call, tip)| (call, tip)))
    }

    /// Returns all calls.
    pub(super) async fn calls(&self, reader: &Reader) -> Result<Vec<Call>, RunError> {
        let called = reader.children_of(self.checkpoint, self.stored).await?;
        Ok(called.into_iter().map(|(_, call, tip)| (call, tip)).collect())
    }

    /// Returns the one of its subgraphs that made a checkpoint.
    pub(super) fn child(&self, made: &CheckpointRecord) -> Option<&AnyChild> {
        let same = self.children.iter().find(|child| child.0.fingerprint() == made.shape);
        same.or(self.children.first())
    }

    /// Returns the activation of a subgraph in one of its calls.
    pub(super) async fn activation(
        &self,
        reader: &Reader,
        child: &AnyChild,
        call: u32,
    ) -> Result<Activation, RunError> {
        let kept = self.record.children.iter().find(|(node, _)| *node == self.node && child.0.is_per_thread());
        let base = match kept {
            Some((_, before)) => reader.record(*before).await?.map_or(0, |record| record.control.version),
            None => 0,
        };
        let by_handler = call >= BY_HANDLER;
        let call = call.saturating_sub(if by_handler { BY_HANDLER } else { self.first_call });
        Ok(Activation { call, by_handler, base })
    }
}
