//! What a prompt says of a task, and of its place among the phases and tasks around it. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::parts::Parts;
use super::section::Section;
use crate::nodes::contents::Content;

/// The facts about a task for the agents that work on it or judge it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The task's number.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its place among the tasks, from 1.
    pub position: usize,
    /// The number of tasks.
    pub total: usize,
    /// The goal of the plan.
    pub goal: String,
    /// The plan's section about it.
    pub section: Section,
    /// The criteria by which it is done.
    pub acceptance: Vec<String>,
    /// The commands that have to succeed then.
    pub verify: Vec<String>,
    /// The other tasks, a line each; empty: not told.
    pub around: String,
    /// The file that holds the whole plan, if there is one.
    #[serde(default)]
    pub plan_file: Option<PathBuf>,
    /// The place among the phases, of a subtask or of a phase that is reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<BriefPhase>,
    /// The place of a code task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_task: Option<BriefTask>,
}

impl Brief {
    /// Returns the number of the phase that is judged as a whole; none: the brief is about a task.
    pub(in crate::nodes) fn judged_phase(&self) -> Option<u32> {
        self.phase.as_ref().filter(|phase| !phase.subtasks.is_empty()).map(|phase| phase.number)
    }

    pub(super) fn breadcrumb(&self) -> String {
        let Self { id, title, position, total, phase, code_task, .. } = self;
        if code_task.is_some() {
            return format!("Task {id}: {title}");
        }
        match phase {
            None => format!("Task {id}, {position} of {total}"),
            Some(phase) if phase.subtasks.is_empty() => format!("Subtask {id}: {title}\n\n{}", phase.line()),
            Some(phase) => phase.line(),
        }
    }
}

/// The place of a subtask among the phases of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefPhase {
    /// The number of the phase, from 1.
    pub number: u32,
    /// The number of phases.
    pub total: u32,
    /// The whole plan; none: it is not shown.
    pub plan: Option<Content>,
    /// For the reviewer of the phase: a line for each of its subtasks.
    pub subtasks: Vec<String>,
}

impl BriefPhase {
    pub(super) fn plan(&self) -> Parts {
        let Some(plan) = &self.plan else { return Parts::default() };
        Parts::from("The whole plan:\n\n").with(Parts::fenced_content("markdown", plan.clone())).with("\n\n")
    }

    /// Returns the place in a line.
    fn line(&self) -> String {
        format!("Phase {} of {}", self.number, self.total)
    }
}

/// The place of a code task: how deep it is, and what surrounds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefTask {
    /// The depth, from 0.
    pub depth: u32,
    /// Conditions that the work has to keep.
    pub constraints: Vec<String>,
    /// The parent and the next tasks, a line each.
    pub related: Vec<String>,
    /// The findings that the task has to settle, a line each; empty: it was not split off another one.
    pub origin: Vec<String>,
}

pub(super) fn goal_line(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!("Goal: {goal}\n\n") }
}
