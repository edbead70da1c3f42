//! The state update for a person's decision on a phase that did not pass. Pure.

use std::collections::BTreeSet;

use superstep_base::gather;

use super::done::{PhaseRestart, restart, update};
use crate::phases::{
    Omission, PhaseChange, PhaseStanding, PhaseState, PhaseStatus, PhaseWork, SubtaskState, SubtaskWork, WorkChange,
    aborted,
};
use crate::task_based::decided::ended;
use crate::task_based::{AgenticStatus, ExecutionState, ExecutionStateUpdate as Update};
use superstep::nodes::__private::HaltedPhase;
use superstep::nodes::AfterHalt;
use superstep::plan::Plan;

pub(super) fn halt(state: &ExecutionState, halted: HaltedPhase) -> Update {
    let HaltedPhase { decision, was_asked, adopted, salvage, raised, stays } = halted;
    let mut update = update().raised(raised).halts(state.judgement.halts + 1);
    if let Some(stays) = stays {
        update = update.notices([stays]); // written only then: runs of earlier versions are verified as they were recorded
    }
    let running = |update: Update| update.outcome(None).agentic_status(AgenticStatus::Running);
    let mut change = Change::of(state, &salvage);
    let Some(decision) = decision else {
        change.work.standing = PhaseStanding::Working; // with a larger budget
        return change.into(running(update));
    };
    if decision == AfterHalt::Abort {
        change.abort();
        let (outcome, status) = ended(state, was_asked || state.phased.phase.standing == PhaseStanding::Aborted);
        return change.into(update).outcome(Some(outcome)).agentic_status(status);
    }
    change.work.retry_reason = Some(retry_reason(state, &decision, was_asked));
    let update = match &adopted {
        Some(adopted) => update.plan_hash(Some(adopted.hash.clone())),
        None => update,
    };
    let markdown = match &decision {
        AfterHalt::EditPlan { markdown } => Some(markdown.clone()),
        _ => adopted.map(|adopted| adopted.plan),
    };
    let subtask = match &state.phased.phase.standing {
        PhaseStanding::Halted { subtask, .. } => subtask.clone(),
        _ => None,
    };
    match subtask {
        Some(id) => change.of_subtask(&id, decision),
        None => change.of_phase(decision, salvage),
    }
    let update = match markdown.filter(|markdown| state.source.plan_markdown.as_ref() != Some(markdown)) {
        Some(markdown) => change.edit(update, markdown),
        None => update,
    };
    change.into(running(update))
}

/// Returns the reason of the retry that a decision causes.
fn retry_reason(state: &ExecutionState, decision: &AfterHalt, was_asked: bool) -> String {
    let who = if was_asked { "a person" } else { "the profile" };
    let answer = format!("{who} answered `{}`", decision.name());
    let PhaseStanding::Halted { subtask, reason, .. } = &state.phased.phase.standing else { return answer };
    let reason = reason.lines().next().unwrap_or_default();
    match subtask {
        Some(id) => format!("subtask {id}: {reason}; {answer}"),
        None => format!("{reason}; {answer}"),
    }
}

/// The changes that a decision makes.
struct Change<'a> {
    state: &'a ExecutionState,
    phase: PhaseState,
    work: PhaseWork,
    /// The changed subtasks, of any phase.
    lines: Vec<SubtaskState>,
    works: WorkChange,
    notices: Vec<String>,
}

impl<'a> Change<'a> {
    /// Returns a change with only the references of work saved just now.
    fn of(state: &'a ExecutionState, salvage: &[String]) -> Self {
        let phase = state.this_phase();
        let mut works = WorkChange::new();
        for subtask in &phase.subtasks {
            let (id, mut work) = (&subtask.subtask_id, state.work(&subtask.subtask_id));
            let name = if work.second { format!("/task-{id}-2") } else { format!("/task-{id}") };
            if let Some(kept) =
                salvage.iter().find(|kept| kept.ends_with(&name)).filter(|_| state.phased.works.contains_key(id))
            {
                work.salvage = Some(kept.clone());
                works.insert(id.clone(), Some(work));
            }
        }
        let work = PhaseWork { halts: state.phased.phase.halts + 1, ..state.phased.phase.clone() };
        Self { state, phase, work, lines: vec![], works, notices: vec![] }
    }

    fn into(self, update: Update) -> Update {
        let update = update.phases(PhaseChange::phase(self.phase)).phases(PhaseChange::Subtasks(self.lines));
        update.works(self.works).phase(self.work).notices(self.state.new_notices(self.notices))
    }

    fn work_of(&self, id: &str) -> SubtaskWork {
        self.works.get(id).cloned().flatten().unwrap_or_else(|| self.state.work(id))
    }

    fn line_of(&self, subtask: &SubtaskState) -> SubtaskState {
        let changed = self.lines.iter().find(|line| line.subtask_id == subtask.subtask_id);
        changed.unwrap_or(subtask).clone()
    }

    /// Ends the run, and stops the running subtasks.
    fn abort(&mut self) {
        self.work.standing = PhaseStanding::Aborted;
        let (phase, lines) = aborted(&self.phase);
        self.phase = phase;
        self.lines.extend(lines);
    }

    /// Applies a decision on the phase as a whole.
    fn of_phase(&mut self, decision: AfterHalt, salvage: Vec<String>) {
        match decision {
            AfterHalt::Retry { attempts, note } => {
                self.work.allowed = self.work.rejections.saturating_add(attempts);
                self.work.note = note;
                self.repeat(salvage);
            }
            AfterHalt::EditPlan { .. } => {
                let attempts = self.state.request.profile.phased.max_attempts;
                self.work.allowed = self.work.rejections.saturating_add(attempts);
                self.repeat(salvage);
            }
            AfterHalt::Accept => {
                self.work.standing = PhaseStanding::Approved;
                self.notices.push(format!("phase {} was accepted by a person", self.phase.phase_index + 1));
            }
            AfterHalt::Skip => {
                let all = self.phase.subtasks.iter().map(|subtask| subtask.subtask_id.clone()).collect::<Vec<_>>();
                self.leave_out(all, &Omission::PhaseSkipped);
                self.work.standing = PhaseStanding::LeftOut;
            }
            AfterHalt::Abort => {}
        }
    }

    /// Applies a decision on one of its subtasks.
    fn of_subtask(&mut self, id: &str, decision: AfterHalt) {
        match decision {
            AfterHalt::Retry { note, .. } => {
                self.work.note = note;
                if self.state.unmet(&self.phase).iter().any(|(unmet, _)| unmet == id) {
                    let work = SubtaskWork { without_needs: true, ..self.work_of(id) };
                    self.works.insert(id.to_owned(), Some(work));
                }
                self.rerun();
            }
            AfterHalt::EditPlan { .. } => self.rerun(),
            AfterHalt::Accept => self.accept(id),
            AfterHalt::Skip => {
                self.leave_out([id.to_owned()], &Omission::Skipped);
                self.rerun();
            }
            AfterHalt::Abort => {}
        }
    }

    /// Restarts the whole phase from the commit before it.
    fn repeat(&mut self, salvage: Vec<String>) {
        let PhaseRestart { phase, lines, works, work } = restart(self.state, self.work.clone(), salvage);
        (self.phase, self.lines, self.work) = (phase, lines, work);
        self.works.extend(works);
    }

    /// Restarts the open subtasks of the phase and keeps the completed ones. Counts as another attempt if one of them
    /// was started. A phase without remaining subtasks is left out.
    fn rerun(&mut self) {
        let lines = self.phase.subtasks.iter().map(|subtask| self.line_of(subtask)).collect::<Vec<_>>();
        if lines.iter().all(SubtaskState::is_left_out) {
            self.work.standing = PhaseStanding::LeftOut;
            return;
        }
        let open: Vec<SubtaskState> = lines.into_iter().filter(SubtaskState::is_open).collect();
        let was_started = |line: &SubtaskState| line.attempt == self.phase.attempt;
        self.phase.attempt += u32::from(open.iter().any(was_started));
        for line in open {
            let (id, before) = (line.subtask_id.clone(), self.work_of(&line.subtask_id));
            let kept = before.for_next_attempt();
            let SubtaskWork { collision, salvage, .. } = before;
            let work = SubtaskWork { collision, salvage, ..kept };
            self.works.insert(id, Some(work));
            self.put(if line.attempt == 0 { line.unstarted() } else { line.again() });
        }
        self.phase.status = PhaseStatus::Retrying;
        self.work.standing = PhaseStanding::Working;
    }

    fn put(&mut self, line: SubtaskState) {
        self.lines.retain(|known| known.subtask_id != line.subtask_id);
        self.lines.push(line);
    }

    /// Accepts the work of a subtask as it is.
    fn accept(&mut self, id: &str) {
        let work = self.work_of(id);
        self.notices.push(format!("subtask {id} was accepted by a person, without its checks"));
        if let Some(line) = self.phase.subtask(id).cloned() {
            self.put(SubtaskState { status: PhaseStatus::Completed, error: None, ..line });
        }
        self.works.insert(id.to_owned(), Some(SubtaskWork { accepted: true, failure: None, ..work }));
        self.rerun();
    }

    /// Leaves out subtasks and their dependents.
    fn leave_out(&mut self, ids: impl IntoIterator<Item = String>, why: &Omission) {
        let named: BTreeSet<String> = gather(ids);
        for id in self.state.dependents(named.clone()) {
            let line = self.state.phased.phases.iter().find_map(|phase| phase.subtask(&id)).cloned();
            let Some(line) = line.filter(|line| line.commit.is_none() || named.contains(&line.subtask_id)) else {
                continue;
            };
            let why = match named.contains(&id) {
                true => why.clone(),
                false => Omission::DependsOn(named.iter().cloned().collect()),
            };
            self.notices.push(format!("subtask {id} is left out: {why}"));
            self.put(line.left_out(why));
        }
    }

    /// Adopts another plan. A person must approve it if its phases or commands differ.
    fn edit(&mut self, update: Update, markdown: String) -> Update {
        let before = self.state.plan().ok();
        let Ok(plan) = Plan::parse(markdown.as_str()) else { return update };
        let needs_approval = before.is_none_or(|before| differs(&before, &plan));
        self.work.is_accepted = self.work.standing == PhaseStanding::Approved;
        self.work.standing = if needs_approval { PhaseStanding::ToApprove } else { PhaseStanding::ToPlan };
        let goal = plan.goal().map(str::to_owned).or_else(|| self.state.source.goal.clone());
        let update = update.goal(goal).plan_markdown(Some(markdown)).plan_problems(vec![]);
        if needs_approval { update.human_approved(None) } else { update }
    }
}

/// True if a person who approved one plan must also approve the other.
fn differs(before: &Plan, after: &Plan) -> bool {
    let commands = |plan: &Plan| -> Vec<(String, Vec<String>)> {
        let commands = |task: superstep::plan::Task<'_>| task.verify.iter().map(ToString::to_string).collect();
        plan.tasks().map(|task| (task.id.to_string(), commands(task))).collect()
    };
    before.phases().phases != after.phases().phases || commands(before) != commands(after)
}
