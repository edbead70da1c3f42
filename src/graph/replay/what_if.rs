//! Runs recorded supersteps again with a changed graph, over recorded answers, effects, times, and the writes of nodes
//! that may not run. Ends at the first task without a record.

use super::compare::UnsavedValues;
use super::walk::{StepRecord, Walk};
use crate::checkpoint::{CheckpointId, Source};
use crate::graph::context::{Comparison, Divergence, NotVerified, WhatIf};
use crate::graph::error::RunError;
use crate::graph::records::START_NODE;
use crate::graph::run::Run;
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{FinishedResult, Task};
use crate::graph::thread::snapshot::add_command;
use crate::graph::view::untyped::state_json;

impl Run {
    pub(crate) async fn what_if(
        &mut self,
        walk: &mut Walk,
        comparison: &Comparison,
        limit: u64,
    ) -> Result<WhatIf, RunError> {
        let (mut supersteps, mut stopped, mut started) = (0, None, false);
        let mut unsaved = UnsavedValues::all_unknown(&self.table.schema);
        while let Some(mut step) = walk.next().await? {
            let command = step.command.take();
            // The first superstep starts from the record, each later one from the computed state.
            if !std::mem::replace(&mut started, true) {
                self.pos = step.before.clone();
            } else if let Some(command) = command {
                add_command(&self.table, &mut self.pos, &command);
            }
            let recorded = self.match_tasks(&mut step);
            // The tasks are those that the computed state plans, not the recorded ones.
            if self.step.tasks.is_empty() || supersteps == limit {
                stopped = self.ends_here(&step, supersteps == limit);
                break;
            }
            stopped = self.first_unrecorded(&step, &recorded);
            // A task without a recorded result would have to run for real.
            if stopped.is_some() {
                break;
            }
            // A difference that ends the run leaves it before the superstep that differs.
            let before = self.pos.clone();
            self.replay_tasks(&step, &recorded, comparison, &mut unsaved).await?;
            if comparison.has_diverged() {
                self.pos = before;
                break;
            }
            supersteps += 1;
            // The recorded id, under which the journals of the next superstep are stored.
            self.next_step(step.after.as_ref().map_or(CheckpointId(0), |after| after.meta.id));
        }
        let (differences, hard) = comparison.differences();
        let stopped =
            stopped.or_else(|| hard.map(|hard| NotVerified { why: divergence_text(&hard), ..not_verified_at(&hard) }));
        let tasks = planned_tasks(&self.table, &self.pos);
        Ok(WhatIf {
            supersteps,
            differences,
            taken: comparison.report().not_verified,
            stopped,
            state: state_json(&self.pos.state, &self.table.schema, None),
            next: tasks.iter().map(|task| self.node_name(task.node).to_string()).collect(),
        })
    }

    /// Plans the tasks of the current superstep, and pairs each with its recorded result.
    fn match_tasks(&mut self, step: &mut StepRecord) -> Vec<Option<Box<FinishedResult>>> {
        let recorded = self.take_results(step);
        let mut candidates: Vec<_> = std::mem::take(&mut step.tasks).into_iter().zip(recorded).map(Some).collect();
        let mut take = |planned: Task| {
            let replayable = planned.node != START_NODE && self.table.row(planned.node).options.execution.replayable;
            let same = |candidate: &Option<(Task, _)>| {
                candidate.as_ref().is_some_and(|(task, _)| {
                    is_same(task, &planned) && (replayable || has_same_payload(task, &planned))
                })
            };
            match candidates.iter_mut().find(|candidate| same(candidate)).and_then(Option::take) {
                Some((task, recorded)) => (Task { packet: planned.packet, ..task }, recorded),
                None => (planned, None),
            }
        };
        let pairs: Vec<_> = planned_tasks(&self.table, &self.pos).into_iter().map(&mut take).collect();
        let (tasks, recorded) = pairs.into_iter().unzip();
        self.step.tasks = tasks;
        recorded
    }

    /// Returns why the run ends: no task is left, or the limit is reached.
    fn ends_here(&self, step: &StepRecord, limited: bool) -> Option<NotVerified> {
        let has_input = step.after.as_ref().is_some_and(|next| next.meta.source == Source::Input);
        let why = match (self.step.tasks.is_empty(), has_input) {
            (true, false) => return None,
            (true, true) => "the thread got a new input here",
            (false, _) if limited => "the requested number of supersteps was reached",
            (false, _) => return None,
        };
        Some(NotVerified { step: self.pos.meta.step + 1, namespace: vec![], node: String::new(), why: why.into() })
    }

    /// Returns the first task that has no result.
    fn first_unrecorded(&self, step: &StepRecord, recorded: &[Option<Box<FinishedResult>>]) -> Option<NotVerified> {
        let new = recorded.iter().position(Option::is_none);
        let why = match (new, step.is_applied()) {
            (Some(_), _) => "it has no recorded result",
            (None, false) => "the thread was changed externally here",
            (None, true) => return None,
        };
        let node = self.node_name(self.step.tasks[new.unwrap_or_default()].node).to_string();
        Some(NotVerified { step: self.pos.meta.step + 1, namespace: vec![], node, why: why.into() })
    }

    /// Moves on to the next recorded superstep, keeping the computed state.
    fn next_step(&mut self, at: CheckpointId) {
        self.pos.meta.step += 1;
        self.pos.meta.id = at;
        self.pos.start = None;
    }
}

fn is_same(recorded: &Task, planned: &Task) -> bool {
    recorded.key == planned.key && recorded.node == planned.node && recorded.node != START_NODE
        || recorded.node == START_NODE && planned.node == START_NODE
}

/// True if a worker gets the recorded payload. A replayable one may get a different payload.
fn has_same_payload(recorded: &Task, planned: &Task) -> bool {
    let payload = |task: &Task| task.packet.as_ref().and_then(|packet| packet.payload.encode().ok());
    payload(recorded) == payload(planned)
}

fn divergence_text(hard: &Divergence) -> String {
    format!("{} was recorded with {} and is {} now", hard.what, hard.recorded, hard.now)
}

fn not_verified_at(hard: &Divergence) -> NotVerified {
    NotVerified { step: hard.step, namespace: hard.namespace.clone(), node: hard.node.clone(), why: String::new() }
}
