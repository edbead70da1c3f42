//! Tests of one node or one router, without the rest of its graph.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use superstep_base::time::system_time;

use super::script::{EffectCall, Script, Test};
use crate::checkpoint::{CheckpointId, RowId};
use crate::graph::context::{EarlierQuestion, GraphScope};
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::node::{NodeId, Worker};
use crate::graph::run::Run;
use crate::graph::state::{AnyState, Payload, State};
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{FinishedResult, Packet, Position, Task, TaskState};
use crate::graph::view::{DebugState, View};

/// The result of a node that ran alone.
#[derive(Clone)]
#[non_exhaustive]
pub struct NodeRun<S> {
    /// The state with its writes applied.
    pub state: Arc<S>,
    /// Its writes, as JSON: a list of `{channel: value}`.
    pub writes: Value,
    /// The nodes that its edges, routers and commands lead to: a name for each task.
    pub next: Vec<String>,
    /// The question without a scripted answer; nothing was written then.
    pub asks: Option<Question>,
    /// Number of starts: one, and one more after each answer and wait.
    pub runs: u32,
    /// The time when it ended.
    pub ended_at: SystemTime,
    /// The effects it called.
    pub effects: Vec<EffectCall>,
}

impl<S: State> fmt::Debug for NodeRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Alone");
        shown
            .field("state", &DebugState(&*self.state))
            .field("next", &self.next)
            .field("effects", &self.effects)
            .finish()
    }
}

/// The choice of the routers after a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RouteChoice {
    /// Nodes; empty for END.
    pub targets: Vec<String>,
    /// Workers, with their payloads as JSON.
    pub sends: Vec<(String, Value)>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Runs a node over a state, with its retries, handler and limits, and the routers after it. Nothing is stored.
    ///
    /// # Errors
    /// [`RunError::UnknownNode`]; and the error of the node.
    pub async fn node(&self, node: N, state: S) -> Result<NodeRun<S>, RunError> {
        let node = self.index(&node)?;
        self.run_alone(Task::edge(node), state).await
    }

    /// Runs a worker over a payload and a state.
    ///
    /// # Errors
    /// As [`node`](Self::node).
    pub async fn worker<I: Payload>(
        &self,
        worker: &Worker<N, I>,
        payload: I,
        state: S,
    ) -> Result<NodeRun<S>, RunError> {
        let row = RowId { checkpoint: CheckpointId(0), task: 0, slot: RowId::SENDS };
        let node = self.index(&worker.node)?;
        self.run_alone(Task::send(0, node, Packet { payload: Arc::new(payload), row }), state).await
    }

    /// Runs the routers after a node over a state.
    ///
    /// # Errors
    /// [`RunError::UnknownNode`]; and the error of an invalid choice.
    pub fn route(&self, node: N, state: &S) -> Result<RouteChoice, RunError> {
        let (node, run) = (self.index(&node)?, self.new_run(&self.script(), state.clone()));
        let mut chosen = FinishedResult::default();
        run.choose(node, node, &AnyState::of(Arc::new(state.clone())), &mut chosen)?;
        let name = |node: u32| run.node_name(node).to_string();
        let sends = chosen.routing.sends.iter().map(|(node, packet)| (name(*node), packet.payload.json())).collect();
        Ok(RouteChoice { targets: chosen.routing.targets.iter().map(|&node| name(node)).collect(), sends })
    }

    fn index(&self, node: &N) -> Result<u32, RunError> {
        let unknown = || RunError::UnknownNode { node: node.name().to_owned() };
        self.graph.core.table.node_index(node.name()).ok_or_else(unknown)
    }

    fn new_run(&self, script: &Arc<Script>, state: S) -> Run {
        let table = Arc::clone(&self.graph.core.table);
        let mut thread = self.graph.detached_thread(Arc::clone(&self.context));
        thread.core.environment.host = self.host(script);
        let mut shared = thread.core.own_shared();
        shared.limits.may_ask = true;
        shared.environment.stage = Some(Arc::clone(script) as _);
        let pos = Position::with_state(&table, AnyState::of(Arc::new(state)));
        let mut run = Run::new(table, Arc::new(shared), GraphScope::root(), pos);
        run.limit();
        run
    }

    async fn run_alone(&self, task: Task, state: S) -> Result<NodeRun<S>, RunError> {
        let script = self.script();
        let mut run = self.new_run(&script, state);
        run.step.tasks = vec![task];
        run.step.planned = true;
        let asks = loop {
            run.execute().await?;
            match &mut run.step.tasks[0].state {
                TaskState::Failed(error) => return Err(RunError::clone(error)),
                TaskState::Done(_) | TaskState::Ready => break None,
                TaskState::Asked { questions, .. } => match questions.first().cloned() {
                    Some(question) => match give_answer(&mut run.step.tasks[0], &question, &script) {
                        true => {}
                        false => break Some(question),
                    },
                    None => match run.step.tasks[0].record.wake {
                        Some(wake) => script.wait_until(wake),
                        None => break None,
                    },
                },
            }
            run.step.tasks[0].state = TaskState::Ready;
            run.step.tasks[0].again = true;
        };
        finish(run, asks, &script)
    }
}

/// Gives a task the scripted answer to its question; returns false if there is none.
fn give_answer(task: &mut Task, question: &Question, script: &Script) -> bool {
    let Some(answer) = script.answer(question) else { return false };
    let Ok(bytes) = answer.bytes else { return false };
    let mut known = task.answers.take().map(Arc::unwrap_or_clone).unwrap_or_default();
    let (asker, name, payload) = (question.asker.clone(), question.name.clone(), Some(question.payload.clone()));
    known.asked.insert(question.id.place, EarlierQuestion { asker, name, payload, here: true });
    known.answers.insert(question.id.place, bytes);
    task.answers = Some(Arc::new(known));
    true
}

fn finish<S: State>(mut run: Run, asks: Option<Question>, script: &Script) -> Result<NodeRun<S>, RunError> {
    let mut tasks = std::mem::take(&mut run.step.tasks);
    let runs = tasks[0].starts.all;
    let mut writes = Value::Array(vec![]);
    let mut next = vec![];
    if let TaskState::Done(done) = &tasks[0].state {
        writes = View::of_writes(done.writes.clone(), run.table.schema.clone()).json();
        let table = Arc::clone(&run.table);
        run.apply(&table, &mut tasks, &mut vec![])?;
        let names = planned_tasks(&run.table, &run.pos).into_iter().map(|task| run.node_name(task.node).to_string());
        next = names.collect();
    }
    let (state, ended_at) = (run.pos.state.clone(), system_time(run.shared.now()));
    let state = state.into_typed();
    Ok(NodeRun { state, writes, next, asks, runs, ended_at, effects: script.calls() })
}
