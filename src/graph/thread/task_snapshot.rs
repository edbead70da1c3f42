//! A task of a snapshot. Reads no record.

use std::sync::Arc;
use std::time::SystemTime;

use crate::checkpoint::FailureRecord;

use super::journal::{Activation, Inside, Ledger};
use super::snapshot::{AnswerInfo, Nested, answer_info, children_of, input, name, result};
use crate::graph::channels::state::State;
use crate::graph::channels::writes::Writes;
use crate::graph::compile::table::Table;
use crate::graph::define::interrupt::Question;
use crate::graph::define::node::NodeId;
use crate::graph::define::signal::AwaitedSignal;
use crate::graph::records::mapping::Mapping;
use crate::graph::records::reader::Reader;
use crate::graph::run::clock;
use crate::graph::run::origin::task_id;
use crate::graph::run::position::{Finished, Position};
use crate::graph::run::task::{Stand, Task};
use crate::graph::run::view::View;

/// A task of a snapshot.
#[derive(Clone, Debug)]
pub struct TaskSnapshot {
    /// What names it within its thread: [`Ctx::task_id`](crate::graph::Ctx::task_id).
    pub id: String,
    /// The node.
    pub name: String,
    /// What it is started with: what it reads of the state, or its payload.
    pub input: View,
    /// How it failed.
    pub error: Option<String>,
    /// What it wrote, once it has ended.
    pub result: Option<View>,
    /// Its questions.
    pub questions: Vec<Question>,
    /// The answers it has got, in the order of its questions.
    pub answers: Vec<AnswerInfo>,
    /// Whether it runs a subgraph.
    pub subgraph: bool,
    /// The subgraph's state, if asked for and there is one.
    pub state: Option<Box<Nested>>,
    /// How often it was started.
    pub attempts: u32,
    /// How its attempts failed, oldest first: at most the last 100.
    pub failures: Vec<FailureInfo>,
    /// When it goes on by itself, if it waits for a time.
    pub wake: Option<SystemTime>,
    /// The signals that it, or a task of its subgraphs, waits for.
    pub awaits: Vec<AwaitedSignal>,
    /// How many entries its journal has.
    pub effects: u32,
    pub(super) ledger: Ledger,
    /// Which activation of the subgraph `state` is of.
    pub(super) activation: Option<Activation>,
}

/// A failed attempt of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureInfo {
    /// Which attempt it was, from 1; unknown for a failure that an earlier release recorded.
    pub attempt: Option<u32>,
    /// Why it failed.
    pub error: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

pub(super) fn task_snapshot<S: State, N: NodeId, C: Send + Sync + 'static>(
    table: &Arc<Table<S, N, C>>,
    reader: &Reader,
    (pos, mapping): (&Position<S>, &Mapping),
    task: &Task<S>,
    live: bool,
    (inside, is_root): (Option<Inside>, bool),
) -> TaskSnapshot {
    let (state, activation) = inside.map_or((None, None), |(state, activation)| (Some(state), activation));
    let writes = |done: &Finished<S>| View::of_writes(Writes(done.writes.0.clone()), Arc::clone(table));
    let mut shown = TaskSnapshot {
        id: task_id(pos.id, task.key),
        name: name(table, task.node),
        input: input(table, pos, task),
        error: task.error.clone(),
        result: result(task).filter(|_| task.handled.is_none()).map(writes),
        answers: answer_info(table, task),
        questions: if live && task.is_done() { vec![] } else { task.asked.clone() },
        subgraph: children_of(table, task.node).iter().any(|child| child.0.is_kept()),
        state,
        attempts: task.attempts,
        failures: failures(task),
        wake: task.wake.filter(|_| !task.is_done()).map(clock::time),
        awaits: awaited(task),
        effects: task.effects,
        ledger: Ledger::of(table, reader, pos, (pos.id, mapping.stored_task(task.key)), task, is_root),
        activation,
    };
    if is_root {
        shown.settle_below();
    }
    shown
}

/// What is known of the attempt that each failure was: of those recorded last.
fn failures<S: State>(task: &Task<S>) -> Vec<FailureInfo> {
    let unknown = task.failures.len().saturating_sub(task.failed.len());
    let attempts = std::iter::repeat_n(None, unknown).chain(task.failed.iter().copied().map(Some));
    let info = |(failure, attempt): (&FailureRecord, Option<u32>)| FailureInfo {
        attempt,
        error: failure.error.clone(),
        at: failure.at,
    };
    task.failures.iter().zip(attempts).map(info).collect()
}

fn awaited<S: State>(task: &Task<S>) -> Vec<AwaitedSignal> {
    let waits = matches!(task.stand, Stand::Asked { .. });
    if waits { task.receives.iter().map(AwaitedSignal::from).collect() } else { vec![] }
}
