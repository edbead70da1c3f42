//! The phases of a run as a tree for people. Pure but for the clock, which tells how long a subtask has been running.

use super::state::{PhaseState, PhaseStatus, SubtaskState};
use crate::checkpoint::time::{now, parsed};
use crate::drivers::dollars;

/// Returns the phases, a line each, with a line for each subtask beneath those that were begun.
pub(crate) fn tree(phases: &[PhaseState]) -> Vec<String> {
    phases.iter().flat_map(|phase| lines(phase, now())).collect()
}

fn lines(phase: &PhaseState, now: u64) -> Vec<String> {
    let (mark, word) = told(phase.status);
    let mut head = format!("Phase {}: {mark} {word}", phase.phase_index + 1);
    if phase.status != PhaseStatus::Pending {
        let done = phase.subtasks.iter().filter(|subtask| subtask.status == PhaseStatus::Completed).count();
        head.push_str(&format!(" ({done}/{} subtasks complete)", phase.subtasks.len()));
    }
    if phase.attempt > 1 {
        head.push_str(&format!(", attempt {}", phase.attempt));
    }
    let last = phase.subtasks.len().saturating_sub(1);
    let branch = |at: usize| if at == last { "└──" } else { "├──" };
    let subtasks = phase.subtasks.iter().enumerate();
    let subtasks = subtasks.map(|(at, subtask)| format!("  {} {}", branch(at), line(subtask, now)));
    std::iter::once(head).chain(subtasks).collect()
}

fn line(subtask: &SubtaskState, now: u64) -> String {
    let (mark, word) = told(subtask.status);
    let mut line = format!("{mark} {} {}", subtask.subtask_id, subtask.title).trim_end().to_owned();
    match (subtask.status, &subtask.error) {
        (_, Some(error)) => line.push_str(&format!(" ({})", error.lines().next().unwrap_or_default())),
        (PhaseStatus::Running | PhaseStatus::Retrying, None) => line.push_str(&format!(" ({})", word.to_lowercase())),
        _ => {}
    }
    let extra = [
        elapsed(subtask, now),
        (subtask.cost > 0).then(|| dollars(subtask.cost)),
        subtask.commit.as_ref().map(|commit| commit.chars().take(9).collect()),
    ];
    extra.into_iter().flatten().for_each(|part| line.push_str(&format!("  {part}")));
    line
}

/// The time of the last attempt, in seconds.
fn elapsed(subtask: &SubtaskState, now: u64) -> Option<String> {
    let started = parsed(subtask.started_at.as_deref()?)?;
    let ended = match &subtask.completed_at {
        Some(at) => parsed(at)?,
        None if subtask.status == PhaseStatus::Running => now,
        None => return None,
    };
    let seconds = ended.saturating_sub(started) / 1000;
    Some(if seconds < 60 { format!("{seconds}s") } else { format!("{}m{:02}s", seconds / 60, seconds % 60) })
}

fn told(status: PhaseStatus) -> (char, &'static str) {
    match status {
        PhaseStatus::Pending => ('○', "Pending"),
        PhaseStatus::Running => ('●', "Running"),
        PhaseStatus::Completed => ('✓', "Completed"),
        PhaseStatus::Failed => ('✗', "Failed"),
        PhaseStatus::Retrying => ('●', "Retrying"),
    }
}
