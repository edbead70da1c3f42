//! The parts of a story that no event holds: times, and attempts that failed. Pure.

use std::collections::HashMap;

use serde_json::Value;

use crate::shapes::{FailedAttempt, HistoryStep, TaskReport};

/// Times and failed attempts of a thread.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// The time of each checkpoint.
    times: HashMap<u64, String>,
    /// The failed attempts of each task, oldest first, each with its time and error.
    failures: HashMap<String, Vec<FailedAttempt>>,
}

impl Details {
    /// Reads the details from a history with tasks.
    pub(crate) fn of(steps: &[HistoryStep]) -> Self {
        let mut details = Self::default();
        for step in steps {
            details.times.insert(step.info.checkpoint, step.info.created_at.clone());
            for task in step.tasks.iter().flatten() {
                details.add(task, "");
            }
        }
        details
    }

    fn add(&mut self, task: &TaskReport, above: &str) {
        let path = format!("{above}{}:{}", task.node, task.id);
        self.failures.insert(path.clone(), task.failures.clone());
        for inner in task.inside.iter().flat_map(|inside| &inside.tasks) {
            self.add(inner, &format!("{path}/"));
        }
    }

    /// Returns the failed attempts of the task at a path, once.
    pub(super) fn take_failures(&mut self, path: &str) -> Vec<FailedAttempt> {
        self.failures.remove(path).unwrap_or_default()
    }

    /// Returns those of them that failed before an attempt, once.
    pub(super) fn take_failures_before(&mut self, path: &str, attempt: u32) -> Vec<FailedAttempt> {
        let Some(all) = self.failures.get_mut(path) else { return vec![] };
        let (before, rest) =
            std::mem::take(all).into_iter().partition(|failed| failed.attempt.is_some_and(|nth| nth < attempt));
        *all = rest;
        before
    }

    /// Returns the time of the end of each superstep of the graph itself, from the checkpoints among the events.
    pub(super) fn ends(&self, events: &[Value]) -> HashMap<i64, String> {
        let made = events.iter().filter(|event| event["kind"] == "checkpoint" && event["namespace"].is_null());
        let end =
            |event: &Value| Some((event["step"].as_i64()?, self.times.get(&event["checkpoint"].as_u64()?)?.clone()));
        made.filter_map(end).collect()
    }
}
