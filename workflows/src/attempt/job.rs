//! The jobs of an attempt's steps, and what its checks come to. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use superstep::drivers::{Access, SessionRef};
use superstep::nodes::__private::WorktreeJob;
use superstep::nodes::{
    AgentSpec, Base, Brief, Check, DeveloperJob, Feedback, Folder, ReviewerJob, Siblings, VerifyJob, VerifyResult,
};
use superstep::plan::{Comment, Plan, Task};
use superstep::workspace::{CommitId, TreeId};

use super::outcome::{AttemptOutcome, failures};
use crate::{PlanContext, Profile, RetrySession, Role};

/// An attempt at a task: what the jobs of its steps have in common.
pub(crate) struct AttemptJob<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) folder: Folder,
    pub(crate) brief: Brief,
    /// The number of the attempt, from 1.
    pub(crate) number: u32,
    /// The base of the task.
    pub(crate) base: Base,
    /// The subtasks beside it.
    pub(crate) together: Option<Siblings>,
}

impl AttemptJob<'_> {
    /// Returns the job of the agent that works. `is_retry` is set if there was an attempt before, with this session.
    pub(crate) fn developer(
        self,
        agent: AgentSpec,
        feedback: Feedback,
        (is_retry, session): (bool, Option<SessionRef>),
    ) -> DeveloperJob {
        let how = self.profile.retry_session;
        let reset = (is_retry && how == RetrySession::FreshReset).then(|| self.base.tree.clone());
        DeveloperJob::new(agent, self.folder, self.base, self.brief)
            .access(Access { write: true, shell: self.profile.tools.shell() })
            .attempt(self.number)
            .feedback(feedback)
            .session(session.filter(|_| is_retry && how == RetrySession::Resume))
            .reset(reset)
            .together(self.together)
    }

    /// Returns the job of the checks of these files, which are not run if nothing was changed that should have been.
    pub(crate) fn verify(self, tree: Option<&TreeId>, changes_nothing: bool) -> VerifyJob {
        let is_empty = tree == Some(&self.base.tree) && !changes_nothing;
        let commands = if is_empty { vec![] } else { self.brief.verify };
        VerifyJob::new(self.folder, self.base, commands, self.profile.verify_timeout)
            .tree(tree.cloned())
            .pass(self.profile.tools.pass.clone())
            .together(self.together)
    }

    /// Returns the job of the reviewer of these files.
    pub(crate) fn reviewer(
        self,
        agent: AgentSpec,
        [tree, last_reviewed]: [Option<&TreeId>; 2],
        checks: Vec<String>,
        open: &[Comment],
    ) -> ReviewerJob {
        let tree = tree.unwrap_or(&self.base.tree).clone();
        ReviewerJob::new(agent, self.folder, self.brief, self.base.tree, tree)
            .attempt(self.number)
            .kinds(self.profile.review_types.clone())
            .last_reviewed(last_reviewed.cloned())
            .checks(checks)
            .open(open.to_vec())
            .together(self.together)
    }
}

/// An attempt after its checks.
pub(crate) struct CheckedAttempt {
    /// Its files.
    pub(crate) tree: Option<TreeId>,
    /// The number of consecutive attempts without changes.
    pub(crate) empty: u32,
    pub(crate) failures: Vec<String>,
    pub(crate) outcome: AttemptOutcome,
}

impl CheckedAttempt {
    /// Judges the attempt at a task by its checks. `tree` and `empty` are those before, `left_out` the changes that no commit
    /// will contain.
    pub(crate) fn of(
        verified: &VerifyResult,
        base: Option<&Base>,
        (tree, empty): (Option<&TreeId>, u32),
        left_out: &[String],
        changes_nothing: bool,
    ) -> Self {
        let tree = verified.tree.as_ref().or(tree).cloned();
        let base = verified.base.as_ref().or(base);
        let is_empty = tree.as_ref() == base.map(|base| &base.tree) && !changes_nothing;
        let empty = if is_empty { empty + 1 } else { 0 };
        let failures = failures(&verified.checks, is_empty, left_out);
        let outcome = AttemptOutcome::after_checks(verified, &failures, empty, left_out);
        Self { tree, empty, failures, outcome }
    }
}

/// Returns the results of checks for a reviewer, one per line.
pub(crate) fn check_lines(checks: &[Check]) -> Vec<String> {
    checks.iter().map(Check::line).collect()
}

/// Returns the information that an agent needs about a task of a plan; the section about it is left out if the agent gets
/// the whole plan.
pub(crate) fn brief(plan: &Plan, task: &Task<'_>, context: PlanContext, goal: Option<&String>) -> Brief {
    let (section, around) = match context {
        PlanContext::Full => (String::new(), String::new()),
        PlanContext::Section => (plan.excerpt(task.index).unwrap_or_default(), String::new()),
        PlanContext::Outline => (plan.excerpt(task.index).unwrap_or_default(), plan.outline()),
    };
    Brief {
        id: task.id.to_string(),
        title: task.title.to_owned(),
        position: task.index + 1,
        total: plan.task_count(),
        goal: goal.cloned().unwrap_or_default(),
        section: section.into(),
        acceptance: task.acceptance.to_vec(),
        verify: commands(task),
        around,
        ..Brief::default()
    }
}

/// Returns the commands of a task of a plan.
pub(crate) fn commands(task: &Task<'_>) -> Vec<String> {
    task.verify.iter().map(ToString::to_string).collect()
}

/// Returns the worktree at a commit, prepared as the profile says.
pub(crate) fn worktree(profile: &Profile, repository: Folder, path: PathBuf, at: CommitId) -> WorktreeJob {
    let settings = profile.phased.worktree.clone();
    WorktreeJob::new(repository, path, at, profile.verify_timeout)
        .furnishings(settings.furnishings)
        .setup(settings.setup)
        .pass(profile.tools.pass.clone())
}

/// Returns the models that a person chose, including one that was just chosen.
pub(crate) fn chosen_models(
    models: &BTreeMap<Role, String>,
    role: Role,
    model: Option<String>,
) -> BTreeMap<Role, String> {
    let mut models = models.clone();
    models.extend(model.map(|model| (role, model)));
    models
}
