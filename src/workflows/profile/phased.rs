//! The settings of phased execution: parallel subtasks, failures, and the preparation of worktrees.

use serde::{Deserialize, Serialize};

use super::choices::{OnSubtaskFailure, PlanContext};
use super::table::{Problems, Table, set};
use crate::workspace::Furnishings;

/// The settings of phased execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phased {
    /// Set to execute a plan with dependencies phase by phase: `enable_phased_execution`. Default: true.
    pub enabled: bool,
    /// The maximum number of parallel subtasks: `max_parallel`. Default: 4.
    pub max_parallel: u32,
    /// The number of attempts at a phase before a person decides: `max_phase_attempts`. Default: 2.
    pub max_attempts: u32,
    /// The effect of a failed subtask on the others: `on_subtask_failure`.
    pub on_failure: OnSubtaskFailure,
    /// Set to fail a subtask that changes undeclared files: `strict_files`. Default: false.
    pub strict_files: bool,
    /// Set to review each subtask before its phase: `subtask_review`. Default: false.
    pub subtask_review: bool,
    /// The part of the plan in a subtask's prompt: `plan_context`. Default: the whole plan.
    pub plan_context: PlanContext,
    /// The preparation of a subtask's worktree.
    pub worktree: WorktreeSettings,
}

/// The preparation of a subtask's worktree: the table `[worktree]`. Nothing of it is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Commands to run in it, in order.
    pub setup: Vec<String>,
    /// Files to copy into it from the repository's folder, and files to link: `copy` and `link`.
    #[serde(flatten)]
    pub furnishings: Furnishings,
}

impl Phased {
    /// The default maximum number of parallel subtasks.
    pub const MAX_PARALLEL: u32 = 4;

    /// Takes the settings from the table of a profile.
    pub(super) fn take<'t>(&mut self, table: &mut Table<'t>, problems: &mut Problems<'t>) {
        set(&mut self.enabled, table.flag("enable_phased_execution", problems));
        set(&mut self.max_parallel, table.count("max_parallel", problems));
        set(&mut self.max_attempts, table.count("max_phase_attempts", problems));
        set(&mut self.on_failure, table.choice("on_subtask_failure", problems));
        set(&mut self.strict_files, table.flag("strict_files", problems));
        set(&mut self.subtask_review, table.flag("subtask_review", problems));
        let Some(mut worktree) = table.table("worktree", problems) else { return };
        set(&mut self.worktree.setup, worktree.texts("setup", problems).map(|(_, texts)| texts));
        let Furnishings { copy, link } = &mut self.worktree.furnishings;
        for (key, list) in [("copy", copy), ("link", link)] {
            let paths = worktree.texts(key, problems).map(|(_, texts)| texts.into_iter().map(Into::into).collect());
            set(list, paths);
        }
        worktree.end(problems);
    }
}

impl Default for Phased {
    fn default() -> Self {
        Self {
            enabled: true,
            max_parallel: Self::MAX_PARALLEL,
            max_attempts: 2,
            on_failure: OnSubtaskFailure::default(),
            strict_files: false,
            subtask_review: false,
            plan_context: PlanContext::Full,
            worktree: WorktreeSettings::default(),
        }
    }
}
