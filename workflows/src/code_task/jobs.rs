//! The job of each node, built from the state. Pure.

use std::sync::Arc;

use super::state::{Children, CodeTaskState, Settings, Start, TaskOutcome, TaskPlace, WorkPlace};
use super::{records, splitting};
use crate::Role;
use crate::attempt::{self, AttemptJob};
use superstep::drivers::Access;
use superstep::graph::NodeError;
use superstep::nodes::__private::{
    AskJob, AskReason, BeginTaskJob, ChildWork, ChildrenJob, FinishJob, LeftFiles, SnapshotJob, SplitJob, WorktreeJob,
};
use superstep::nodes::{CommitJob, DeveloperJob, Feedback, Folder, PrepareJob, Prompt, TaskGivenUp};
use superstep::spec::{Attempts, PermissionMode, SplitProposal};

type Job<T> = Result<T, NodeError>;

pub(super) fn begin(state: &CodeTaskState) -> Job<BeginTaskJob> {
    let (settings, spec) = (&state.settings, state.spec()?);
    let repository = state.checkout();
    Ok(match &state.place.at {
        WorkPlace::Checkout => BeginTaskJob::Checkout {
            prepare: Box::new(
                PrepareJob::new(repository).branch(spec.git.branch.clone()).allow_dirty(settings.allow_dirty),
            ),
            records: settings.records.clone(),
        },
        WorkPlace::Here(start) => BeginTaskJob::Here(start.folder.clone(), Box::new(start.base.clone())),
        WorkPlace::Worktree { .. } => {
            let job = worktree(&state.place, settings);
            BeginTaskJob::Worktree(Box::new(job.ok_or_else(|| NodeError::permanent("there is no worktree"))?))
        }
    })
}

/// Returns the worktree of a child that has one.
pub(super) fn worktree(place: &TaskPlace, settings: &Settings) -> Option<WorktreeJob> {
    let WorkPlace::Worktree { path, at, others } = &place.at else { return None };
    let job = attempt::worktree(&settings.profile, settings.checkout(), path.clone(), at.clone());
    Some(job.others(others.clone()))
}

pub(super) fn execute(state: &CodeTaskState) -> Job<DeveloperJob> {
    let attempt = &state.attempt;
    let job = AttemptJob {
        profile: &state.settings.profile,
        folder: state.start()?.folder.clone(),
        brief: state.brief()?,
        number: state.number(),
        base: state.base()?,
        together: None,
    };
    let before = (attempt.turns > 0, attempt.session.clone());
    let job = job.developer(state.developer()?, feedback(state), before);
    let joined = state.children.as_ref().and_then(|children| children.tree.clone());
    let reset = job.reset.clone().map(|tree| joined.unwrap_or(tree));
    Ok(job
        .access(access(state)?)
        .reset(reset)
        .from(attempt.cut.clone())
        .ends_with_budget(true)
        .transcript(Some(records::directory(state, state.number()).join("agent.ndjson"))))
}

/// The names of tools that read, write, and run commands, in lower case.
pub(super) const TOOLS: [&[&str]; 3] = [
    &["read", "grep", "glob", "ls", "list", "search", "webfetch", "websearch", "todowrite", "task"],
    &["write", "edit", "multiedit", "notebookedit", "patch", "write_file", "edit_file"],
    &["shell", "bash", "run", "execute"],
];

/// Returns the agent's permissions beyond reading: those of the profile, limited by the task.
fn access(state: &CodeTaskState) -> Job<Access> {
    let (tools, options) = (&state.settings.profile.tools, &state.spec()?.do_agent);
    let is_named = |names: &[&str]| {
        let is_one = |tool: &String| names.iter().any(|name| tool.eq_ignore_ascii_case(name));
        options.allowed_tools.is_empty() || options.allowed_tools.iter().any(is_one)
    };
    let may_write = options.permission_mode != Some(PermissionMode::Plan);
    let has_shell = may_write && is_named(TOOLS[2]);
    Ok(Access { write: may_write && is_named(TOOLS[1]), shell: tools.shell().filter(|_| has_shell) })
}

/// Returns the problems of the last attempt, as feedback.
fn feedback(state: &CodeTaskState) -> Feedback {
    let attempt = &state.attempt;
    let mut failures = attempt.problem.clone().into_iter().collect::<Vec<_>>();
    if !attempt.report.is_empty() {
        failures.push(attempt.report.join("\n"));
    }
    Feedback { comments: vec![], failures, note: attempt.note.clone(), findings: findings(state) }
}

/// Returns the findings of the last attempt's verifiers, and those given to an agent whose turn was cut short.
pub(super) fn findings(state: &CodeTaskState) -> Vec<String> {
    let mut found = state.attempt.unheeded.clone();
    found.extend(
        records::prompt_findings(&state.outputs).into_iter().filter(|line| !state.attempt.unheeded.contains(line)),
    );
    found
}

pub(super) fn snapshot(state: &CodeTaskState) -> Job<SnapshotJob> {
    Ok(SnapshotJob::new(state.start()?.folder.clone(), state.base()?))
}

pub(super) fn split(state: &CodeTaskState) -> Job<SplitJob> {
    let agent = state.agent(Role::Splitter);
    let (for_prompt, for_check) = (state.clone(), state.clone());
    let prompt = move |refused: &[String]| -> Prompt { splitting::prompt(&for_prompt, refused) };
    let check = move |proposal: &SplitProposal| splitting::problems(&for_check, proposal);
    let (folder, task) = (state.start()?.folder.clone(), state.spec()?.id.to_string());
    Ok(SplitJob::new(folder, task, Arc::new(prompt), Arc::new(check)).agent(Some(agent)))
}

/// Returns the job that joins the last batch of children.
pub(super) fn join(state: &CodeTaskState) -> Job<ChildrenJob> {
    let children = state.children.clone().unwrap_or_default();
    let new = state.results.iter().skip(children.joined);
    let work = |child: &super::state::ChildResult| {
        let (base, tree) = (child.base.clone()?, child.tree.clone()?);
        Some(ChildWork { id: child.id.clone(), from: base.tree, tree })
    };
    let ends = |child: &super::state::ChildResult| child.is_spent || child.outcome == TaskOutcome::Cancelled;
    let is_last = state.results.len() >= children.specs.len() || state.results.iter().any(ends);
    let (folder, tree) = (state.start()?.folder.clone(), here(state, &children)?);
    Ok(ChildrenJob::new(folder, tree, state.base()?.at)
        .works(new.filter_map(work).collect())
        .worktrees((children.at_once > 1 && is_last).then(|| state.worktrees())))
}

/// Returns the files of the task while its children are joined.
fn here(state: &CodeTaskState, children: &Children) -> Job<superstep::workspace::TreeId> {
    let files = children.tree.clone().or_else(|| state.attempt.files.as_ref().map(|files| files.tree.clone()));
    files.ok_or_else(|| NodeError::permanent("the task was split before its files were noted"))
}

pub(super) fn ask(state: &CodeTaskState) -> Job<AskJob> {
    let spec = state.spec()?;
    let decision = state.decision.as_ref();
    let tampered = state.attempt.tampered.clone();
    let is_current = tampered.is_none();
    let last = state.attempts.last();
    let question = TaskGivenUp {
        task: spec.id.to_string(),
        title: spec.title.clone(),
        decision: decision.filter(|_| is_current).map_or("GIVE_UP".into(), |made| made.decision.kind.to_string()),
        rule: decision.filter(|_| is_current).map_or("tampered".into(), |made| made.decision.rule.clone()),
        reason: tampered.or_else(|| decision.map(|made| made.decision.reason.clone())).unwrap_or_default(),
        attempt: state.attempt.number,
        findings: records::some_findings(&state.outputs),
        salvage: last.and_then(|line| line.reference.clone().or_else(|| Some(line.commit.as_ref()?.to_string()))),
        may_split: splitting::may_split(state),
        cost: state.usage.cost,
        problem: None,
    };
    let asking = match decision {
        Some(made) if is_current && super::decided::is_about_budget(made) => {
            AskReason::Budget(Box::new(state.agent(Role::Developer)))
        }
        Some(made) if is_current && super::decided::is_left_to_a_person(made) => AskReason::Decide,
        _ => AskReason::GaveUp,
    };
    Ok(AskJob::new(question, asking))
}

/// Returns the last job of a task: commits the first task if it is done, and saves files that were not recorded.
pub(super) fn finish(state: &CodeTaskState) -> Job<FinishJob> {
    let spec = state.spec()?;
    let Some(Start { folder, .. }) = state.start.clone() else {
        return Err(NodeError::permanent(state.attempt.problem.clone().unwrap_or_default()));
    };
    let is_wanted = state.is_first() && state.is_done() && spec.git.commit_on_success;
    let is_there = spec.git.attempts == Attempts::Branch;
    let tree = state.attempt.files.as_ref().filter(|_| is_wanted && !is_there).map(|files| files.tree.clone());
    let commit = CommitJob::new(folder.clone(), state.base()?, tree, records::message(state)?);
    let commit = commit.task(spec.id.to_string()).attempt(state.attempt.number);
    let goes_back = state.is_first() && state.settings.profile.stay_on_branch == Some(false);
    let back = state.start.as_ref().and_then(|start| start.came_from.clone()).filter(|_| goes_back);
    Ok(FinishJob::new(commit).left(left(state, folder)?).back(back))
}

/// Returns the files of a turn that no decision followed.
fn left(state: &CodeTaskState, folder: Folder) -> Job<Option<LeftFiles>> {
    let is_recorded = state.attempts.last().is_some_and(|line| line.past.number >= state.attempt.number);
    if is_recorded || state.attempt.turns == 0 {
        return Ok(None);
    }
    let base = state.base()?;
    let kept = records::attempt_tree(state, base.tree.clone())?;
    Ok(Some(LeftFiles { snapshot: SnapshotJob::new(folder, base), kept }))
}
