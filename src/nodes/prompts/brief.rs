//! A task, and its place among the phases and tasks around it, in a prompt. Pure.

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
    /// Its position among the tasks, from 1.
    pub position: usize,
    /// The number of tasks.
    pub total: usize,
    /// The goal of the plan.
    pub goal: String,
    /// The plan's section about it.
    pub section: Section,
    /// The criteria by which it is done.
    pub acceptance: Vec<String>,
    /// Commands that must succeed at the end.
    pub verify: Vec<String>,
    /// The other tasks, a line each; empty: not shown.
    pub around: String,
    /// File of the whole plan, if there is one.
    #[serde(default)]
    pub plan_file: Option<PathBuf>,
    /// Place among the phases, for a subtask or for the review of a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<BriefPhase>,
    /// The place of a code task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_task: Option<BriefTask>,
}

impl Brief {
    /// Returns the number of the phase under review; none: the brief is about a task.
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

/// Place of a subtask among the phases of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefPhase {
    /// The number of the phase, from 1.
    pub number: u32,
    /// The number of phases.
    pub total: u32,
    /// The whole plan; none: not shown.
    pub plan: Option<Content>,
    /// Subtasks, a line each, for the review of the phase.
    pub subtasks: Vec<String>,
}

impl BriefPhase {
    pub(super) fn plan(&self) -> Parts {
        let Some(plan) = &self.plan else { return Parts::default() };
        Parts::from("The whole plan:\n\n").with(Parts::fenced_content("markdown", plan.clone())).with("\n\n")
    }

    fn line(&self) -> String {
        format!("Phase {} of {}", self.number, self.total)
    }
}

/// Place of a code task: its depth and related tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefTask {
    /// The depth, from 0.
    pub depth: u32,
    /// Constraints on the work.
    pub constraints: Vec<String>,
    /// The parent and the next tasks, a line each.
    pub related: Vec<String>,
    /// The findings that the task must fix, a line each; empty: it was not split off another one.
    pub origin: Vec<String>,
}

pub(super) fn goal_line(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!("Goal: {goal}\n\n") }
}
