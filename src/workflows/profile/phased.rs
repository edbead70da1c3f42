//! The settings of phased execution: how many subtasks at once, what becomes of failures, how worktrees are furnished.

use serde::{Deserialize, Serialize};

use super::choices::{OnSubtaskFailure, PlanContext};
use super::table::{Problems, Table, set};
use crate::workspace::Furnishings;

/// How the phases of a plan are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phased {
    /// Whether a plan with dependencies is executed phase by phase: `enable_phased_execution`; yes.
    pub enabled: bool,
    /// The number of subtasks that are worked on at once: `max_parallel`; 4.
    pub max_parallel: u32,
    /// The number of attempts that a phase gets before a person is asked: `max_phase_attempts`; 2.
    pub max_attempts: u32,
    /// What a failure of one subtask does to the others: `on_subtask_failure`.
    pub on_failure: OnSubtaskFailure,
    /// Whether a subtask fails that changes files which it does not declare: `strict_files`; no.
    pub strict_files: bool,
    /// Whether each subtask is reviewed before its phase is: `subtask_review`; no.
    pub subtask_review: bool,
    /// How much of the plan a subtask's prompt holds: `plan_context`, unless set the whole plan.
    pub plan_context: PlanContext,
    /// How the worktree of a subtask is prepared.
    pub worktree: WorktreeSettings,
}

/// How the worktree of a subtask is prepared: the table `[worktree]`. Nothing of it is in a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Commands that are run in it, in order.
    pub setup: Vec<String>,
    /// Files that are copied into it from the repository's folder, and those to which it has links: `copy` and `link`.
    #[serde(flatten)]
    pub furnishings: Furnishings,
}

impl Phased {
    /// The number of subtasks that are worked on at once unless the profile says otherwise.
    pub const MAX_PARALLEL: u32 = 4;

    /// Takes the settings out of the table of a profile.
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
