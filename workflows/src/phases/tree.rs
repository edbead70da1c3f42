//! The phases of a plan as a tree for people. Pure.

use superstep_base::text::short_id;
use superstep_base::time;

use super::state::{PhaseState, PhaseStatus, SubtaskState};
use superstep::drivers::dollars;

/// Returns one line for each phase, and below it one for each subtask. `now`, in milliseconds since 1970, is used for
/// the duration of running subtasks; `None` if it is unknown whether they still run.
pub(crate) fn tree(phases: &[PhaseState], now: Option<u64>) -> Vec<String> {
    phases.iter().flat_map(|phase| lines(phase, now)).collect()
}

fn lines(phase: &PhaseState, now: Option<u64>) -> Vec<String> {
    let (mark, word) = mark_and_word(phase.status);
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

fn line(subtask: &SubtaskState, now: Option<u64>) -> String {
    let (mark, word) = mark_and_word(subtask.status);
    let mut line = format!("{mark} {} {}", subtask.subtask_id, subtask.title).trim_end().to_owned();
    match (subtask.status, &subtask.error) {
        (_, Some(error)) => line.push_str(&format!(" ({})", error.lines().next().unwrap_or_default())),
        (PhaseStatus::Running | PhaseStatus::Retrying, None) => line.push_str(&format!(" ({})", word.to_lowercase())),
        _ => {}
    }
    let extra = [
        elapsed(subtask, now),
        (subtask.cost > 0).then(|| dollars(subtask.cost)),
        subtask.commit.as_deref().map(|commit| short_id(commit).to_owned()),
    ];
    extra.into_iter().flatten().for_each(|part| line.push_str(&format!("  {part}")));
    line
}

/// Returns the duration of the last attempt, or its start time if the duration is unknown.
fn elapsed(subtask: &SubtaskState, now: Option<u64>) -> Option<String> {
    let at = subtask.started_at.as_deref()?;
    let started = time::parse(at)?;
    let ended = match (&subtask.completed_at, now) {
        (Some(at), _) => time::parse(at)?,
        (None, Some(now)) if subtask.status == PhaseStatus::Running => now,
        (None, None) if subtask.status == PhaseStatus::Running => return Some(format!("since {}", at.get(11..19)?)),
        (None, _) => return None,
    };
    let seconds = ended.saturating_sub(started) / 1000;
    Some(if seconds < 60 { format!("{seconds}s") } else { format!("{}m{:02}s", seconds / 60, seconds % 60) })
}

fn mark_and_word(status: PhaseStatus) -> (char, &'static str) {
    match status {
        PhaseStatus::Pending => ('○', "Pending"),
        PhaseStatus::Running => ('●', "Running"),
        PhaseStatus::Completed => ('✓', "Completed"),
        PhaseStatus::Failed => ('✗', "Failed"),
        PhaseStatus::Retrying => ('●', "Retrying"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subtask(id: &str, title: &str, status: PhaseStatus) -> SubtaskState {
        let (started, ended) = ("2026-01-31T09:30:00.000Z", "2026-01-31T09:30:09.000Z");
        let is_over = matches!(status, PhaseStatus::Completed | PhaseStatus::Failed);
        SubtaskState {
            subtask_id: id.into(),
            title: title.into(),
            status,
            started_at: (status != PhaseStatus::Pending).then(|| started.into()),
            completed_at: is_over.then(|| ended.into()),
            ..SubtaskState::default()
        }
    }

    #[test]
    fn a_tree_has_marks_counts_times_and_costs() {
        let done = SubtaskState {
            cost: 4_000,
            commit: Some("ac2db2076aaaa".into()),
            ..subtask("1", "Read the table", PhaseStatus::Completed)
        };
        let failed = SubtaskState {
            error: Some("cancelled: subtask 2a failed".into()),
            ..subtask("2c", "Test", PhaseStatus::Failed)
        };
        let under_way = SubtaskState { cost: 3_000, ..subtask("2b", "Draw a day", PhaseStatus::Running) };
        let first =
            PhaseState { status: PhaseStatus::Completed, attempt: 1, subtasks: vec![done], ..PhaseState::default() };
        let subtasks = vec![subtask("2a", "Print a day", PhaseStatus::Completed), under_way, failed];
        let second =
            PhaseState { phase_index: 1, status: PhaseStatus::Running, attempt: 2, subtasks, ..PhaseState::default() };
        let subtasks = vec![subtask("3", "Put it together", PhaseStatus::Pending)];
        let third = PhaseState { phase_index: 2, subtasks, ..PhaseState::default() };
        let phases = [first, second, third];
        let is_since = |line: &String| line.contains("2b Draw a day (running)  since 09:30:00  $0.0030");
        assert_eq!(tree(&phases, None).iter().filter(|line| is_since(line)).count(), 1);
        let tree = tree(&phases, time::parse("2026-01-31T09:31:15.000Z"));
        insta::assert_snapshot!(tree.join("\n"), @r"
        Phase 1: ✓ Completed (1/1 subtasks complete)
          └── ✓ 1 Read the table  9s  $0.0040  ac2db2076
        Phase 2: ● Running (1/3 subtasks complete), attempt 2
          ├── ✓ 2a Print a day  9s
          ├── ● 2b Draw a day (running)  1m15s  $0.0030
          └── ✗ 2c Test (cancelled: subtask 2a failed)  9s
        Phase 3: ○ Pending
          └── ○ 3 Put it together
        ");
    }
}
