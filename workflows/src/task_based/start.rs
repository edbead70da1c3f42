//! The start of a run: reads the files and checks the repository before anything is stored or a model is called.

use std::path::{Path, PathBuf};

use super::concerns;
use super::state::{ExecutionState, ExecutionStateUpdate, PlanRequest, RunResult, SourcePlan};
use super::summary::DryPlan;
use crate::start::{StartError, blocking, has_models, new_branch, of_another_run, origin, ready, with_scenarios};
use crate::{Profile, Role, Tracker};
use superstep::plan::{Issue, Plan};
use superstep::workspace::{Workspace, WorkspaceError, branch_name};

/// The input of a run.
#[derive(Clone, Debug, Default)]
pub struct RunStart {
    /// The plan's file; `None`: an architect writes the plan.
    pub plan: Option<PathBuf>,
    /// The issue's file.
    pub issue: Option<PathBuf>,
    /// The profile. Its paths are relative to the current directory.
    pub profile: Profile,
    /// Set to allow uncommitted changes of the user.
    pub allow_dirty: bool,
    /// The branch of the work; `None`: one named after the issue or the thread.
    pub branch: Option<String>,
    /// The name of the thread, if it is known: the branch named after it must be free.
    pub thread: Option<String>,
    /// Set for a run in phases, whose subtasks work in work trees of their own.
    pub in_phases: bool,
}

impl RunStart {
    /// The blocking form of [`input`](Self::input), for callers outside of async functions such as a command line.
    /// Works inside a runtime too.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn input_blocking(self) -> Result<ExecutionStateUpdate, StartError> {
        blocking(self.input())
    }

    /// Reads plan and issue, and checks that the repository is ready: no other run uses it, no merge is in progress,
    /// and it has no uncommitted changes unless they are allowed.
    ///
    /// # Errors
    /// Every problem that can be detected now.
    pub async fn input(self) -> Result<ExecutionStateUpdate, StartError> {
        let (allow_dirty, branch) = (self.allow_dirty, self.branch.clone());
        has_models(&self.profile, &self.roles())?;
        let CheckedInput { plan, issue, profile, root, notices } = self.check_input().await?;
        let (path, hash, plan) = parts(plan);
        Ok(ExecutionState::update()
            .profile_id(profile.name.clone())
            .issue(issue)
            .working_dir(root)
            .notices(notices)
            .allow_dirty(allow_dirty)
            .wanted_branch(branch)
            .goal(plan.as_ref().and_then(|plan| plan.goal().map(str::to_owned)))
            .plan_hash(hash)
            .plan_markdown(plan.map(|plan| plan.markdown().to_owned()))
            .plan_path(path)
            .max_task_review_iterations(profile.max_task_review_iterations)
            .profile(profile))
    }

    /// Makes the checks of [`input`](Self::input) but those of models and programs, and returns what the approval would
    /// show. Runs and stores nothing. Blocks, inside a runtime too.
    ///
    /// # Errors
    /// As [`input`](Self::input), without [`NoModel`](StartError::NoModel).
    pub fn dry_run_blocking(self) -> Result<DryPlan, StartError> {
        blocking(async {
            let CheckedInput { plan, issue, profile, root, notices } = self.check_input().await?;
            let (plan_path, plan_hash, plan) = parts(plan);
            let plan_markdown = plan.map(|plan| plan.markdown().to_owned());
            let profile_id = profile.name.clone();
            let state = ExecutionState {
                request: PlanRequest { working_dir: root, profile_id, profile, issue, ..PlanRequest::default() },
                source: SourcePlan { plan_path, plan_hash, plan_markdown, ..SourcePlan::default() },
                result: RunResult { notices, ..RunResult::default() },
                ..ExecutionState::default()
            };
            DryPlan::of(&state).map_err(|error| std::io::Error::other(error.to_string()).into())
        })
    }

    /// Returns the roles that have work.
    #[must_use]
    pub fn roles(&self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| self.plan.is_none() || *role != Role::Architect).collect()
    }

    async fn check_input(self) -> Result<CheckedInput, StartError> {
        let Self { plan, issue, profile, allow_dirty, branch, thread, in_phases } = self;
        if issue.is_some() && profile.tracker == Tracker::None {
            return Err(StartError::NoTracker);
        }
        let plan = plan.map(|file| read_plan(&file)).transpose()?;
        let issue = issue.map(Issue::read).transpose()?;
        if plan.is_none() && issue.is_none() {
            return Err(StartError::Nothing);
        }
        let mut profile = with_scenarios(profile)?;
        let path: Option<&PathBuf> = plan.as_ref().map(|plan| &plan.path);
        let workspace = ready(&profile.working_dir, path.map_or(&[], std::slice::from_ref), allow_dirty).await?;
        let taken = free(&workspace, branch.as_deref(), issue.as_ref(), thread.as_deref()).await?;
        let mut notices = of_another_run(&workspace).await.iter().map(|branch| begins_on(branch)).collect::<Vec<_>>();
        notices.extend(taken);
        notices.extend(concerns::of(&workspace, &profile, in_phases).await?);
        profile.origin = origin(workspace.root());
        Ok(CheckedInput { plan, issue, profile, root: workspace.root().to_owned(), notices })
    }
}

/// The input of a run, read and checked.
struct CheckedInput {
    plan: Option<PlanSource>,
    issue: Option<Issue>,
    profile: Profile,
    root: PathBuf,
    notices: Vec<String>,
}

fn parts(plan: Option<PlanSource>) -> (Option<PathBuf>, Option<String>, Option<Plan>) {
    let Some(PlanSource { path, hash, plan }) = plan else { return (None, None, None) };
    (Some(path), Some(hash), Some(plan))
}

fn begins_on(branch: &str) -> String {
    format!(
        "the work begins on `{branch}`, the branch of another run, on top of its commits; to begin elsewhere, reject the \
         plan, `git switch` to the branch you want, and run again"
    )
}

struct PlanSource {
    path: PathBuf,
    hash: String,
    plan: Plan,
}

fn read_plan(file: &Path) -> Result<PlanSource, StartError> {
    let unreadable = |source| StartError::Unreadable { file: file.to_owned(), source };
    let text = superstep_base::files::text(file).map_err(unreadable)?;
    let hash = superstep::plan::hash(&text);
    let plan = Plan::parse(text).map_err(|source| StartError::Plan { file: file.to_owned(), source })?;
    Ok(PlanSource { path: file.canonicalize().map_err(unreadable)?, hash, plan })
}

/// Checks that the branch of the work is free: a requested one must be new; one named after the issue must be new or
/// hold no work yet.
async fn free(
    workspace: &Workspace,
    wanted: Option<&str>,
    issue: Option<&Issue>,
    thread: Option<&str>,
) -> Result<Option<String>, StartError> {
    let named_after = issue.map(|issue| issue.id.as_str()).or(thread);
    let Some(branch) = wanted.map(str::to_owned).or_else(|| named_after.map(branch_name)) else {
        return Ok(workspace.ensure_room_for(&branch_name("run")).await.map(|()| None)?);
    };
    workspace.ensure_room_for(&branch).await?;
    if wanted.is_some() {
        return new_branch(workspace, &branch).await.map(|()| None);
    }
    let (found, head) = (workspace.branch_at(&branch).await?, workspace.head().await?);
    match found.filter(|commit| head.commit() != Some(commit)) {
        // A thread of this name may exist, which is the better answer.
        Some(commit) if issue.is_none() => Ok(Some(format!(
            "the branch `{branch}` already exists, at commit {commit}, so the work cannot start; choose another name with `--branch`"
        ))),
        Some(commit) => Err(WorkspaceError::BranchTaken { branch, commit }.into()),
        None => Ok(None),
    }
}
