//! A task of a snapshot. Reads no record.

use std::sync::Arc;

use superstep_base::time::system_time;

use super::journal::NestedState;
use super::task_values::{answer_info, input, result};
use crate::checkpoint::FailureRecord;
use crate::graph::build::Table;
use crate::graph::interrupt::AwaitedSignal;
use crate::graph::records::{Mapping, Reader};
use crate::graph::superstep::{Finished, Position, Task, TaskState};
use crate::graph::view::event::task_id;
use crate::graph::view::{FailureInfo, Ledger, TaskSnapshot, View};

pub(crate) fn task_snapshot(
    table: &Arc<Table>,
    reader: &Reader,
    (pos, mapping): (&Position, &Mapping),
    task: &Task,
    live: bool,
    (inside, is_root): (Option<NestedState>, bool),
) -> TaskSnapshot {
    let (state, activation) = inside.map_or((None, None), |(state, activation)| (Some(state), activation));
    let writes = |done: &Finished| View::of_writes(done.writes.clone(), table.schema.clone());
    let mut shown = TaskSnapshot {
        id: task_id(pos.meta.id, task.key),
        name: table.node_name(task.node).to_string(),
        input: input(table, pos, task),
        error: task.record.error.clone(),
        result: result(task).filter(|_| task.record.handled.is_none()).map(writes),
        answers: answer_info(table, task),
        questions: if live && task.is_done() { vec![] } else { task.asked.to_vec() },
        subgraph: table.children_of(task.node).iter().any(|child| child.0.is_kept()),
        state,
        attempts: task.starts.all,
        failures: failures(task),
        wake: task.record.wake.or(task.starts.not_before).filter(|_| !task.is_done()).map(system_time),
        awaits: awaited(task),
        effects: task.record.effects,
        ledger: Ledger::of(table, reader, pos, (pos.meta.id, mapping.stored_task(task.key)), task, is_root),
        activation,
    };
    if is_root {
        shown.settle_below();
    }
    shown
}

/// Returns the failures of a task; the number of the attempt is known for the last ones.
fn failures(task: &Task) -> Vec<FailureInfo> {
    let unknown = task.record.failures.len().saturating_sub(task.record.failed.len());
    let attempts = std::iter::repeat_n(None, unknown).chain(task.record.failed.iter().copied().map(Some));
    let info = |(failure, attempt): (&FailureRecord, Option<u32>)| FailureInfo {
        attempt,
        error: failure.error.clone(),
        at: failure.at,
    };
    task.record.failures.iter().zip(attempts).map(info).collect()
}

fn awaited(task: &Task) -> Vec<AwaitedSignal> {
    let waits = matches!(task.state, TaskState::Asked { .. });
    if waits { task.record.receives.iter().map(AwaitedSignal::from).collect() } else { vec![] }
}
