//! The job of a phase's review: its subtasks, the commands that ran, the earlier comments. Pure.

use super::state::SubtaskState;
use crate::graph::NodeError;
use crate::nodes::{Brief, BriefPhase, Folder, ReviewPhaseJob, ReviewerJob};
use crate::plan::Task;
use crate::workflows::task_based::ExecutionState;
use crate::workflows::{PlanContext, Role};

type Job<T> = Result<T, NodeError>;

pub(super) fn review(state: &ExecutionState) -> Job<ReviewPhaseJob> {
    let (base, phase) = (state.phase_base()?, state.this_phase());
    let at = state.phase.tip.clone().or(base.at.commit);
    let at = at.ok_or_else(|| NodeError::permanent("the phase has no commit to be reviewed"))?;
    let folder = Folder { directory: state.integration_folder(), apart: vec![] };
    Ok(ReviewPhaseJob {
        repository: state.folder(),
        at,
        review: ReviewerJob {
            agent: state.agent(Role::Reviewer),
            folder,
            brief: phase_brief(state)?,
            attempt: phase.attempt,
            kinds: state.profile.review_types.clone(),
            tree: state.phase.tree.clone().unwrap_or_else(|| base.tree.clone()),
            base: base.tree,
            last_reviewed: state.phase.judged.clone(),
            checks: checks(state),
            open: state.phase.comments.clone(),
            long_diffs: state.long_diffs(),
            together: None,
        },
    })
}

/// Returns the commands that ran on the integrated work, one per line.
fn checks(state: &ExecutionState) -> Vec<String> {
    let Ok(plan) = state.plan() else { return vec![] };
    let is_checked = |id: &str| state.phase.integrated.iter().any(|known| known == id) && !state.work(id).accepted;
    let tasks = plan.tasks().filter(|task| is_checked(task.id.as_str()));
    let line_of = |command: &str| match state.phase.waived.iter().any(|waived| waived == command) {
        true => format!("`{command}` fails with work that a person accepted; it does not count"),
        false => format!("`{command}` succeeded"),
    };
    let mut lines: Vec<String> = vec![];
    for line in tasks.flat_map(|task| task.verify).map(|command| line_of(&command.to_string())) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the phase as its reviewer's prompt shows it: the plan, and every subtask.
fn phase_brief(state: &ExecutionState) -> Job<Brief> {
    let (plan, phase) = (state.plan()?, state.this_phase());
    let tasks: Vec<Task<'_>> = plan.tasks().filter(|task| phase.subtask(task.id.as_str()).is_some()).collect();
    let left_out = |id: &str| phase.subtask(id).is_some_and(SubtaskState::is_left_out);
    let name = |task: &Task<'_>| {
        let note = match task.id.as_str() {
            id if left_out(id) => " (left out by a person)",
            id if state.work(id).accepted => " (accepted by a person without its checks)",
            _ => "",
        };
        format!("Subtask {}: {}{note}", task.id, task.title)
    };
    Ok(Brief {
        id: format!("phase-{}", phase.phase_index + 1),
        title: format!("Phase {}", phase.phase_index + 1),
        position: phase.phase_index as usize + 1,
        total: state.phases.len(),
        goal: state.goal.clone().unwrap_or_default(),
        section: tasks.iter().map(|task| task.section).collect::<String>().into(),
        acceptance: tasks.iter().flat_map(|task| task.acceptance.iter().cloned()).collect(),
        verify: vec![],
        around: String::new(),
        plan_file: None,
        code_task: None,
        phase: Some(BriefPhase {
            number: phase.phase_index + 1,
            total: u32::try_from(state.phases.len()).unwrap_or(u32::MAX),
            plan: (state.profile.phased.plan_context == PlanContext::Full).then(|| state.phase.plan.clone()),
            subtasks: tasks.iter().map(name).collect(),
        }),
    })
}
