//! The active one of the subgraphs that a node runs: the one with a pending question. Knows no state and no table.

use super::ids::BY_HANDLER;
use super::reader::{Reader, Tasks};
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Shape, TaskRecord, TaskStatus, decode_record};
use crate::graph::error::RunError;

/// A subgraph's newest checkpoint: by task and call.
pub(crate) type Called = (u32, u32, CheckpointId);

/// The progress of a subgraph, in the order in which a reader prefers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Asking,
    Unfinished,
    AtItsEnd,
}

impl Reader {
    /// Returns the active one of the subgraphs that tasks run: of a task that has not ended, one with a pending
    /// question before one that is not over; else the first. For a task whose error handler took over, among those that
    /// the handler called.
    pub(crate) async fn active_child(&self, tasks: &Tasks, called: Vec<Called>) -> Result<Option<Called>, RunError> {
        let mut ranked: Vec<(u32, Called)> =
            called.into_iter().filter_map(|at| Some((rank(tasks.get(&at.0), at.1)?, at))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let Some(least) = ranked.first().map(|(rank, _)| *rank) else { return Ok(None) };
        ranked.retain(|(rank, _)| *rank == least);
        if let [(_, only)] = ranked[..] {
            return Ok(Some(only));
        }
        let mut best: Option<(Progress, Called)> = None;
        for (_, at) in ranked {
            let progress = self.progress(at.2).await?;
            if best.is_none_or(|(before, _)| progress < before) {
                best = Some((progress, at));
            }
            if progress == Progress::Asking {
                break;
            }
        }
        Ok(best.map(|(_, at)| at))
    }

    async fn progress(&self, id: CheckpointId) -> Result<Progress, RunError> {
        let asks = |task: &TaskRecord| {
            task.status == TaskStatus::Interrupted && task.questions.iter().any(|asked| !asked.answered)
        };
        if self.tasks(id).await?.values().any(asks) {
            return Ok(Progress::Asking);
        }
        let Some(record) = self.record(id).await? else { return Ok(Progress::AtItsEnd) };
        let over = record.control.is_over(&self.shape(&record).await?);
        Ok(if over { Progress::AtItsEnd } else { Progress::Unfinished })
    }

    /// The names behind the indexes of a checkpoint.
    pub(crate) async fn shape(&self, record: &CheckpointRecord) -> Result<Shape, RunError> {
        let bytes = self.one(Key::Shape(record.shape)).await?;
        let bytes = bytes.ok_or_else(|| self.damaged("shape", "it is missing"))?;
        Ok(decode_record(&self.thread, "shape", &bytes)?)
    }
}

/// None for what an earlier attempt called.
fn rank(task: Option<&TaskRecord>, call: u32) -> Option<u32> {
    let Some(task) = task else { return Some(0) };
    if call < task.first_call {
        return None;
    }
    let ended = u32::from(task.status == TaskStatus::Done);
    let left = u32::from(task.handled.is_some() != (call >= BY_HANDLER));
    Some(ended * 2 + left)
}
