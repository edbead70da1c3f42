//! Queries on the state for jobs, updates and routers: the current task, tasks that need a person's decision because a
//! dependency was skipped, and the notes on tasks that another plan postpones or drops. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use superstep::drivers::RunLimits;
use superstep::graph::NodeError;
use superstep::nodes::{AgentSpec, Base, Brief, Feedback, Folder, PlanFile};
use superstep::plan::{Plan, Task, TaskProgress};
use superstep::workspace::escape_id;
use superstep_base::text::start;

use super::state::ExecutionState;
use super::tasks::{Mark, TaskLine, Unfinished, next_after};
use crate::agent::{Circumstances, agent};
use crate::attempt::{AttemptOutcome, brief, chosen_models};
use crate::phases::PhaseState;
use crate::texts::counted;
use crate::{PlanContext, Role};

/// The last parsed plan: consecutive nodes need the same one, and parsing a long one takes milliseconds.
static LAST: Mutex<Option<Arc<Plan>>> = Mutex::new(None);

impl ExecutionState {
    pub(crate) fn current_phase(&self) -> Option<&PhaseState> {
        self.phased.phases.get(self.phased.phase_index as usize)
    }

    /// Returns the progress of the tasks. Counts all other open tasks, before and after the current one.
    pub fn progress(&self) -> TaskProgress {
        let others =
            self.run.tasks.iter().enumerate().filter(|(at, line)| *at != self.index() && !line.mark.is_closed());
        TaskProgress {
            current_task_index: self.index(),
            total_tasks: self.index() + 1 + others.count(),
            task_review_iteration: self.run.task_review_iteration,
            max_task_review_iterations: self.run.attempts_allowed,
        }
    }

    pub(super) fn index(&self) -> usize {
        self.run.current_task_index as usize
    }

    pub(super) fn line(&self) -> TaskLine {
        self.run
            .tasks
            .get(self.index())
            .cloned()
            .unwrap_or_else(|| TaskLine::of(&(self.index() + 1).to_string(), "", Mark::Pending))
    }

    /// Returns the index of the next task after the current one.
    pub(super) fn next_index(&self) -> Option<usize> {
        next_after(&self.run.tasks, self.index())
    }

    pub(crate) fn plan(&self) -> Result<Arc<Plan>, NodeError> {
        let Some(markdown) = &self.source.plan_markdown else {
            return Err(NodeError::permanent(
                "there is no plan: pass one with `--plan FILE`, or an issue with `--issue FILE`",
            ));
        };
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.markdown() == markdown) {
            return Ok(Arc::clone(known));
        }
        let plan = Arc::new(Plan::parse(markdown.as_str()).map_err(NodeError::permanent)?);
        Ok(Arc::clone(last.insert(plan)))
    }

    /// Returns the current task in the plan, by its number, because the plan may have changed since the task started.
    pub(super) fn task<'p>(&self, plan: &'p Plan) -> Result<Task<'p>, NodeError> {
        let id = self.line().id;
        let found = plan.tasks().find(|task| task.id.as_str() == id);
        found.ok_or_else(|| NodeError::permanent(format!("the plan has no task `{id}`")))
    }

    pub(crate) fn agent(&self, role: Role) -> AgentSpec {
        let (home, budget) = (self.home(), self.budget());
        let at = Circumstances { home: &home, models: &self.judgement.models, spent: self.result.usage, budget };
        agent(&self.request.profile, role, &at)
    }

    /// Returns the effective limits of the run.
    pub(crate) fn budget(&self) -> RunLimits {
        self.result.raised.apply_to(self.request.profile.budget)
    }

    /// Returns the path of the architect's plan in the repository, if it belongs there.
    pub(crate) fn plan_in_repo(&self) -> Option<PathBuf> {
        let is_wanted = self.request.profile.plan_in_repo && self.planning.raw_architect_output.is_some();
        let issue = self.request.issue.as_ref().filter(|_| is_wanted)?;
        let name = escape_id(&issue.id);
        let path = self.request.profile.plan_dir.join(format!("{name}.md"));
        let is_its_own =
            |known: &PathBuf| *known == self.request.working_dir.join(&path) || known.starts_with(self.drafts());
        self.source.plan_path.as_ref().is_none_or(is_its_own).then_some(path)
    }

    fn drafts(&self) -> PathBuf {
        self.home().join("plans")
    }

    /// Returns the file with the architect's plan for the approval; `None` if the plan has a file.
    pub(crate) fn draft(&self) -> Option<PlanFile> {
        let plan = self.source.plan_markdown.clone().filter(|_| self.source.plan_path.is_none())?;
        self.planning.raw_architect_output.as_ref()?;
        let name = escape_id(self.request.issue.as_ref().map_or("plan", |issue| &issue.id));
        let hash = superstep::plan::hash(&plan);
        let path = self.drafts().join(format!("{name}-{}.md", start(&hash, 8)));
        Some(PlanFile { path, hash, plan })
    }

    /// Returns the folder of sessions and long diffs.
    pub(crate) fn home(&self) -> PathBuf {
        self.request.working_dir.join(".superstep")
    }

    pub(crate) fn folder(&self) -> Folder {
        let within = |path: &std::path::PathBuf| {
            path.strip_prefix(&self.request.working_dir).ok().map(std::path::Path::to_owned)
        };
        let apart = self.source.plan_path.as_ref().filter(|_| self.plan_in_repo().is_none()).and_then(within);
        Folder { directory: self.request.working_dir.clone(), apart: apart.into_iter().collect() }
    }

    pub(super) fn base(&self) -> Result<Base, NodeError> {
        self.attempt
            .task_base
            .clone()
            .ok_or_else(|| NodeError::permanent("the repository was not prepared before a task began"))
    }

    /// Returns the plan's file, which a person may have changed.
    pub(crate) fn plan_file(&self) -> Option<PlanFile> {
        let (path, hash, plan) =
            (self.source.plan_path.clone()?, self.source.plan_hash.clone()?, self.source.plan_markdown.clone()?);
        Some(PlanFile { path, hash, plan })
    }

    /// Returns the information that an agent needs to work on or review the current task.
    pub(super) fn brief(&self) -> Result<Brief, NodeError> {
        let plan = self.plan()?;
        let context = self.request.profile.plan_context;
        let mut brief = brief(&plan, &self.task(&plan)?, context, self.source.goal.as_ref());
        if context == PlanContext::Full {
            brief.section = plan.markdown().into();
        }
        let is_in_file = || self.source.plan_hash == Some(superstep::plan::hash(plan.markdown()));
        Ok(Brief { plan_file: self.source.plan_path.clone().filter(|_| is_in_file()), ..brief })
    }

    pub(super) fn feedback(&self) -> Feedback {
        Feedback {
            comments: self.attempt.open_comments.clone(),
            failures: self.attempt.failures.clone(),
            note: self.judgement.note.clone(),
            findings: vec![],
        }
    }

    /// Returns the chosen models, including one that was just chosen.
    pub(crate) fn models_with(&self, role: Role, model: Option<String>) -> BTreeMap<Role, String> {
        chosen_models(&self.judgement.models, role, model)
    }

    /// Returns the notices that are not in the state yet.
    pub(crate) fn new_notices(&self, mut notices: Vec<String>) -> Vec<String> {
        notices.retain(|notice| !self.result.notices.contains(notice));
        notices
    }

    /// Returns the reason why the current task is halted.
    pub(super) fn halt_reason(&self) -> String {
        match &self.judgement.standing {
            AttemptOutcome::Halted(reason) | AttemptOutcome::Tampered(reason) => reason.clone(),
            _ => format!("it was not accepted after {}", counted(self.run.task_review_iteration, "attempt")),
        }
    }

    /// Returns the reason why a task needs a decision before it starts; `tasks` are the tasks at that time.
    pub(super) fn block_reason(&self, tasks: &[TaskLine], index: usize) -> Option<String> {
        block_reason(&*self.plan().ok()?, tasks, index)
    }
}

/// Returns the reason why the task at `index` needs a decision before it starts, if any. Only `Depends on` lines count.
pub(super) fn block_reason(plan: &Plan, tasks: &[TaskLine], index: usize) -> Option<String> {
    let line = tasks.get(index).filter(|line| !line.mark.is_closed() && plan.names_dependencies())?;
    let id = plan.tasks().find(|task| task.id.as_str() == line.id)?.id;
    let is_skipped = |needed: &str| tasks.iter().any(|line| line.id == needed && line.mark == Mark::Skipped);
    let needed = plan.dependencies(id);
    let skipped: Vec<&str> = needed.iter().map(|id| id.as_str()).filter(|id| is_skipped(id)).collect();
    match skipped.as_slice() {
        [] => None,
        [one] => Some(format!("it depends on task {one}, which was skipped")),
        several => Some(format!("it depends on the tasks {}, which were skipped", several.join(", "))),
    }
}

impl Unfinished {
    /// Returns the notes on the current task; `salvage` is the reference that was just created for its work.
    pub(super) fn current(state: &ExecutionState, salvage: Option<&String>) -> Self {
        Self {
            task: state.line().id,
            comments: state.attempt.open_comments.clone(),
            failures: state.attempt.failures.clone(),
            last_review: state.judgement.last_review.clone(),
            salvage: salvage.cloned().or_else(|| state.judgement.salvage.clone()),
        }
    }

    fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.failures.is_empty() && self.salvage.is_none()
    }

    /// Describes the notes for people: `1 open comment, 2 failed checks; its work is in refs/..`.
    fn text(&self) -> String {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let comments = Some(number(self.comments.len())).filter(|&count| count > 0);
        let failures = Some(number(self.failures.len())).filter(|&count| count > 0);
        let counts = [comments.map(|n| counted(n, "open comment")), failures.map(|n| counted(n, "failed check"))];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let counts = if counts.is_empty() { String::new() } else { format!(", with {}", counts.join(" and ")) };
        let work = self.salvage.as_ref().map(|at| format!("; its work is kept as {at}")).unwrap_or_default();
        format!("{counts}{work}")
    }
}

/// Removes the notes on a task from the list; returns empty ones if there are none.
pub(super) fn take_notes(list: &mut Vec<Unfinished>, task: &str) -> Unfinished {
    match list.iter().position(|entry| entry.task == task) {
        Some(at) => list.remove(at),
        None => Unfinished { task: task.to_owned(), ..Unfinished::default() },
    }
}

/// The notes on tasks that another plan keeps, and a notice for each task that it drops.
pub(super) struct SortedNotes {
    pub(super) kept: Vec<Unfinished>,
    pub(super) notices: Vec<String>,
}

/// Sorts the notes on tasks by another plan. `current` holds those on the current task; `None` if it is closed.
pub(super) fn sort_notes(plan: &Plan, state: &ExecutionState, current: Option<Unfinished>) -> SortedNotes {
    let is_kept = |task: &str| plan.tasks().any(|known| known.id.as_str() == task);
    let closed_now = state.line().id;
    let mut known = state.judgement.unfinished.clone();
    known.retain(|entry| entry.task != closed_now);
    known.extend(current.clone());
    let is_open = |line: &&TaskLine| line.mark != Mark::Skipped && (current.is_some() || line.id != closed_now);
    let dropped = state.run.tasks.iter().filter(is_open).filter(|line| !is_kept(&line.id));
    let notices = dropped.map(|line| notice(line, known.iter().find(|entry| entry.task == line.id))).collect();
    known.retain(|entry| is_kept(&entry.task) && !entry.is_empty());
    SortedNotes { kept: known, notices }
}

fn notice(line: &TaskLine, known: Option<&Unfinished>) -> String {
    let title = if line.title.is_empty() { String::new() } else { format!(" ({})", line.title) };
    match line.mark {
        Mark::Done => format!("the new plan does not have task {}{title}, which is done: its commit stays", line.id),
        _ => format!("the new plan drops task {}{title}{}", line.id, known.map(Unfinished::text).unwrap_or_default()),
    }
}
