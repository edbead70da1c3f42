//! The input, the result and the answers of a task of a snapshot.

use std::sync::Arc;

use crate::checkpoint::AnswerRecord;
use crate::graph::build::Table;
use crate::graph::interrupt::{AnswerInfo, AnyQuestion, Shows};
use crate::graph::records::START_NODE;
use crate::graph::superstep::{Finished, Position, Task, TaskState};
use crate::graph::view::View;

pub(crate) fn result(task: &Task) -> Option<&Finished> {
    match &task.state {
        TaskState::Done(done) => Some(done),
        TaskState::Ready | TaskState::Asked { .. } | TaskState::Failed(_) => None,
    }
}

pub(crate) fn input(table: &Arc<Table>, pos: &Position, task: &Task) -> View {
    let reads = (task.node != START_NODE).then(|| table.row(task.node).reads.clone()).flatten();
    match (&task.packet, reads) {
        (Some(packet), _) => View::of_payload(Arc::clone(&packet.payload)),
        (None, Some(only)) => View::of_part(pos.state.clone(), table.schema.clone(), only),
        (None, None) => View::of_state(pos.state.clone(), table.schema.clone()),
    }
}

/// Returns the answers of a task, as a reader sees them.
pub(crate) fn answer_info(table: &Table, task: &Task) -> Vec<AnswerInfo> {
    let values = task.answers.iter().flat_map(|known| known.answers.values());
    let shows = |name: &str| table.asks(name).map_or_else(Shows::of::<AnyQuestion>, |asks| asks.shows);
    let info = |(record, bytes): (&AnswerRecord, &Vec<u8>)| AnswerInfo {
        name: record.name.clone(),
        value: (shows(&record.name).answer)(bytes),
        by: record.by.clone(),
        at: record.at,
        note: record.note.clone(),
    };
    task.record.answers.iter().zip(values).map(info).collect()
}
