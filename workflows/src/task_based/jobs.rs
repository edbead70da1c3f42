//! The job of each node, built from the state. Pure.

use superstep::drivers::DriverName;
use superstep::drivers::tools::UNCONFINED;
use superstep::graph::NodeError;
use superstep::nodes::{
    AfterHalt, ApprovalJob, ApprovePlan, ArchitectJob, CommitJob, DeveloperJob, FinalizeJob, HaltJob, Halted,
    KeptAttempt, PrepareJob, ReviewerJob, VerifyJob,
};
use superstep::plan::{Decision, Issue};
use superstep::workspace::Head;

use super::state::ExecutionState;
use super::tasks::Mark;
use crate::attempt::{AttemptJob, AttemptOutcome, check_lines};
use crate::{CommitSlots, OnExhausted, Profile, Role};

type Job<T> = Result<T, NodeError>;

pub(crate) fn architect(state: &ExecutionState) -> Job<ArchitectJob> {
    let issue = match &state.request.issue {
        Some(issue) => issue.clone(),
        None => of_plan(state)?,
    };
    let mut requests = state.planning.plan_problems.clone();
    requests.extend(state.planning.plan_feedback.clone());
    let raw = state.planning.raw_architect_output.clone().filter(|raw| !raw.is_empty());
    let former = state.source.plan_markdown.clone().or(raw);
    let job = ArchitectJob::new(state.agent(Role::Architect), state.request.working_dir.clone(), issue);
    Ok(job.former(former).issues(requests).session(state.planning.architect_session.clone()))
}

/// Returns an issue made from the plan's own title and goal.
fn of_plan(state: &ExecutionState) -> Job<Issue> {
    let plan = state.plan()?;
    let title = plan.title().unwrap_or("the plan below").to_owned();
    let id = if state.request.profile.commit_template.is_of_old_runs() { "unknown" } else { "plan" };
    Ok(Issue { id: id.into(), title, description: state.source.goal.clone().unwrap_or_default() })
}

pub(crate) fn approval(state: &ExecutionState) -> Job<ApprovalJob> {
    let mut question = match state.plan() {
        Ok(plan) => ApprovePlan::of(&plan),
        Err(_) => ApprovePlan::default(),
    };
    question.goal = question.goal.or_else(|| state.source.goal.clone());
    question.warnings.extend(state.result.notices.iter().cloned());
    question.warnings.extend(open_shell(state));
    question.warnings.extend(state.request.profile.unknown_costs());
    question.problems.clone_from(&state.planning.plan_problems);
    let draft = state.draft();
    let file = draft.clone().or_else(|| state.plan_file());
    question.path = file.as_ref().map(|file| file.path.display().to_string());
    let decided = state.planning.plan_ended.then(|| Decision::reject("")).or_else(|| approved(state));
    let draft = draft.map(|_| state.request.working_dir.clone());
    Ok(ApprovalJob::new(question).file(file).draft(draft).decided(decided))
}

/// Returns the approval that the parent graph already obtained.
fn approved(state: &ExecutionState) -> Option<Decision> {
    (state.planning.human_approved == Some(true)).then_some(())?;
    let is_left = |id: &str| state.run.tasks.iter().all(|line| line.id != id || line.mark != Mark::Skipped);
    let plan = state.plan().ok()?;
    let left: Vec<_> = plan.tasks().filter(|task| is_left(task.id.as_str())).map(|task| task.id.clone()).collect();
    Some(Decision::Approve { tasks: (left.len() < plan.task_count()).then_some(left) })
}

/// Returns a warning for the person if a developer gets an unconfined shell.
fn open_shell(state: &ExecutionState) -> Option<String> {
    let tools = &state.request.profile.tools;
    let is_ours = matches!(state.request.profile.agent(Role::Developer).driver, DriverName::Api { .. });
    let is_open = is_ours && tools.shell && tools.command_prefix.is_empty();
    is_open.then(|| UNCONFINED.to_owned())
}

pub(crate) fn prepare(state: &ExecutionState) -> Job<PrepareJob> {
    Ok(PrepareJob::new(state.folder())
        .branch(state.request.wanted_branch.clone())
        .named_after(state.request.issue.as_ref().map(|issue| issue.id.clone()))
        .allow_dirty(state.request.allow_dirty)
        .plan(state.plan_in_repo().zip(state.source.plan_markdown.clone())))
}

/// Returns what the jobs of the current attempt have in common; `number` is its number.
fn attempt(state: &ExecutionState, number: u32) -> Job<AttemptJob<'_>> {
    let (folder, brief, base) = (state.folder(), state.brief()?, state.base()?);
    Ok(AttemptJob { profile: &state.request.profile, folder, brief, number, base, together: None })
}

pub(super) fn developer(state: &ExecutionState) -> Job<DeveloperJob> {
    let attempts = state.line().attempts;
    let session =
        state.attempt.developer_session.as_ref().filter(|known| known.task_index == state.run.current_task_index);
    let before = (attempts > 0, session.map(|known| known.session.clone()));
    let job = attempt(state, attempts + 1)?.developer(state.agent(Role::Developer), state.feedback(), before);
    Ok(job.kept(work_to_keep(state).filter(|_| attempts > 0)).taken_out(state.judgement.taken_out.clone()))
}

/// Returns the work of the last attempt, to be saved in git.
fn work_to_keep(state: &ExecutionState) -> Option<KeptAttempt> {
    if matches!(state.judgement.standing, AttemptOutcome::Tampered(_)) {
        return None;
    }
    let (tree, line) = (state.attempt.task_tree.clone()?, state.line());
    let base = state.attempt.task_base.as_ref()?;
    (tree != base.tree).then(|| KeptAttempt {
        task: line.id,
        attempt: line.attempts,
        commit: base.at.commit.clone(),
        tree,
    })
}

pub(super) fn verify(state: &ExecutionState) -> Job<VerifyJob> {
    let job = attempt(state, state.line().attempts)?.verify(state.attempt.task_tree.as_ref(), changes_nothing(state)?);
    Ok(match state.judgement.standing.is_stuck() {
        true => VerifyJob::new(job.folder, job.base, vec![], job.limit),
        false => job,
    })
}

/// Returns whether the plan declares that the current task changes no files.
pub(super) fn changes_nothing(state: &ExecutionState) -> Job<bool> {
    let plan = state.plan()?;
    Ok(state.task(&plan)?.changes_nothing)
}

pub(super) fn reviewer(state: &ExecutionState) -> Job<ReviewerJob> {
    let trees = [state.attempt.task_tree.as_ref(), state.attempt.last_reviewed_tree.as_ref()];
    let job = attempt(state, state.line().attempts)?;
    Ok(job.reviewer(
        state.agent(Role::Reviewer),
        trees,
        check_lines(&state.attempt.checks),
        &state.attempt.open_comments,
    ))
}

/// Returns the commit of the current task; a skipped one commits nothing.
pub(super) fn commit(state: &ExecutionState) -> Job<CommitJob> {
    let line = state.line();
    let mut base = state.base()?;
    let is_first = state.run.tasks.iter().all(|task| task.commit.is_none());
    if let Some(start) = state.run.start.as_ref().filter(|_| is_first && state.plan_in_repo().is_some()) {
        base.tree = start.tree.clone(); // so that the first commit holds the plan too
    }
    let tree = state.attempt.task_tree.clone().unwrap_or_else(|| base.tree.clone());
    let issue = state.request.issue.as_ref().map(|issue| issue.id.as_str());
    let message = state.request.profile.commit_template.fill(CommitSlots { issue, title: &line.title, task: &line.id });
    let tree = (line.mark != Mark::Skipped).then_some(tree);
    Ok(CommitJob::new(state.folder(), base, tree, message).task(line.id).attempt(line.attempts))
}

pub(super) fn finalize(state: &ExecutionState) -> Job<FinalizeJob> {
    finalize_after(state, commit(state)?)
}

/// Returns the end of all the work, after its last commit.
pub(crate) fn finalize_after(state: &ExecutionState, commit: CommitJob) -> Job<FinalizeJob> {
    let start = state.run.start.as_ref().ok_or_else(|| NodeError::permanent("the repository was not prepared"))?;
    Ok(FinalizeJob::new(commit, state.folder(), start.tree.clone())
        .reviewer(state.request.profile.final_review.then(|| state.agent(Role::Reviewer)))
        .goal(state.source.goal.clone().unwrap_or_default())
        .outline(state.plan()?.outline())
        .back(back(state)))
}

/// Returns the position to which the checkout goes back at the end; none: it stays.
pub(crate) fn back(state: &ExecutionState) -> Option<Head> {
    state.run.came_from.clone().filter(|_| state.request.profile.stay_on_branch == Some(false))
}

/// Returns the profile's decision on work that did not pass; none: a person decides.
pub(crate) fn unattended(profile: &Profile) -> Option<AfterHalt> {
    match profile.on_exhausted {
        OnExhausted::Halt => None,
        OnExhausted::Skip => Some(AfterHalt::Skip),
        OnExhausted::Fail => Some(AfterHalt::Abort),
    }
}

pub(super) fn halt(state: &ExecutionState) -> Job<HaltJob> {
    let (line, base) = (state.line(), state.base()?);
    let unattended = match state.judgement.standing {
        AttemptOutcome::Aborted => Some(AfterHalt::Abort),
        AttemptOutcome::Skipped => Some(AfterHalt::Skip),
        AttemptOutcome::Tampered(_) => None,
        _ => unattended(&state.request.profile),
    };
    let question = Halted {
        task: line.id,
        title: line.title,
        reason: state.halt_reason(),
        attempts: line.attempts,
        comments: state.attempt.open_comments.clone(),
        cost: line.cost,
        ..Halted::default()
    };
    let closed = state.run.tasks.iter().filter(|line| line.mark.is_closed()).map(|line| line.id.clone()).collect();
    Ok(HaltJob::new(question, state.folder(), base)
        .kept(work_to_keep(state))
        .file(state.plan_file())
        .closed(closed)
        .unattended(unattended)
        .back(back(state)))
}
