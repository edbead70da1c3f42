//! The rules for one subtask: turns of its developer until its commands and review pass, or no attempt is left. Pure.

use superstep_workflows::RetrySession;

use super::script::{Files, Run, Script, Work, index};

/// The end of a run that is not cancelled.
#[derive(Debug, Default)]
pub(super) struct RunEnd {
    pub(super) from: Files,
    /// The files after each turn.
    pub(super) snapshots: Vec<Files>,
    /// The start of the reason for its failure.
    pub(super) failure: Option<&'static str>,
    /// The questions of its developer.
    pub(super) questions: Vec<String>,
}

impl RunEnd {
    pub(super) fn tree(&self) -> &Files {
        self.snapshots.last().unwrap_or(&self.from)
    }
}

/// The question of a developer.
pub(super) fn question(run: &Run, turn: usize) -> String {
    format!("{} turn {turn}", run.name())
}

pub(super) const DIED: &str = "the agent broke";
const EMPTY: &str = "2 attempts in a row changed no file";
const USED_UP: &str = "it was not accepted after";

/// Runs a subtask that starts with these files.
pub(super) fn run(script: &Script, run: &Run, from: &Files) -> RunEnd {
    let mut end = RunEnd { from: from.clone(), ..RunEnd::default() };
    let (mut judged, mut empty) = (0, 0);
    for nth in 0.. {
        let turn = script.turn(run, nth);
        let is_reset = script.settings.retry_session == RetrySession::FreshReset;
        let mut files = if is_reset { from.clone() } else { end.tree().clone() };
        turn.work.apply(run, nth, &mut files);
        end.snapshots.push(files.clone());
        end.questions.extend(turn.asks.then(|| question(run, nth)));
        if turn.work == Work::Dies {
            end.failure = Some(DIED);
            break;
        }
        let is_empty = files == *from && !script.tasks[index(&run.task)].changes_nothing;
        empty = if is_empty { empty + 1 } else { 0 };
        let is_good = !is_empty && script.forbidden(index(&run.task)).iter().all(|file| !files.contains_key(file));
        if is_good && !(script.settings.subtask_review && turn.is_rejected) {
            break;
        }
        judged += 1;
        end.failure = failure(script, judged, empty);
        if end.failure.is_some() {
            break;
        }
    }
    end
}

fn failure(script: &Script, judged: u32, empty: u32) -> Option<&'static str> {
    match (empty, judged) {
        (2.., _) => Some(EMPTY),
        (_, judged) if judged >= script.settings.max_turns => Some(USED_UP),
        _ => None,
    }
}
