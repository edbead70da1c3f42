//! The child tasks of a split task, which run one depth below it.

use super::children::ChildResult;
use super::outcome::TaskOutcome;
use super::records;
use super::state::{CodeTaskState, CodeTaskStateUpdate as Update, Start, TaskPlace, WorkPlace};
use super::step::CodeStep;
use super::task::CodeTask;
use crate::decide::{AttemptKind, Kind};
use crate::graph::Worker;
use crate::nodes::Base;
use crate::spec::TaskSpec;

pub(super) const CHILD: Worker<CodeStep, CodeTask> = Worker::new(CodeStep::Child);

/// Returns the children to run next.
pub(super) fn jobs(state: &CodeTaskState) -> Vec<CodeTask> {
    let (Some(children), Ok(start)) = (&state.children, state.start()) else { return vec![] };
    if state.attempt.kind != AttemptKind::Children {
        return vec![];
    }
    let task = |(nth, spec): (usize, &TaskSpec)| {
        let mut path = state.place.path.clone();
        path.push(spec.id.to_string());
        let mut spent = state.place.spent;
        spent += state.usage;
        let own = state.spec.as_ref().map(TaskSpec::hash);
        let place = TaskPlace {
            depth: state.place.depth + 1,
            at: place(state, start, path.last().map(String::as_str).unwrap_or_default()),
            path,
            lineage: state.place.lineage.iter().cloned().chain(own).collect(),
            expected: [children.of_others(nth), state.place.expected.clone()].concat(),
            spent,
            raised: state.place.raised.later(state.raised),
        };
        CodeTask { spec: spec.clone(), place, settings: state.settings.clone() }
    };
    children.batch().map(task).collect()
}

/// Returns the working directory of a child.
fn place(state: &CodeTaskState, start: &Start, id: &str) -> WorkPlace {
    let children = state.children.clone().unwrap_or_default();
    match children.at.filter(|_| children.at_once > 1) {
        Some(at) => WorkPlace::Worktree { path: state.worktrees().join(id), at, others: branches(&start.base) },
        None => {
            let at = state.base().map_or_else(|_| start.base.at.clone(), |base| base.at);
            let tree = children.tree.unwrap_or_else(|| start.base.tree.clone());
            WorkPlace::Here(Box::new(Start { base: Base { at, tree }, with_commits: None, ..start.clone() }))
        }
    }
}

fn branches(base: &Base) -> Vec<String> {
    base.at.branch.iter().chain(base.at.others.keys()).cloned().collect()
}

pub(crate) fn update(child: &CodeTaskState) -> Update {
    let spec = child.spec.clone();
    let last = child.attempts.last();
    let decision = child.decision.as_ref();
    let result = ChildResult {
        id: spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default(),
        title: spec.map(|spec| spec.title).unwrap_or_default(),
        outcome: child.outcome.unwrap_or(TaskOutcome::GaveUp),
        kind: decision.map_or(Kind::GiveUp, |made| made.decision.kind),
        decision: match (decision, &child.attempt.problem) {
            (Some(made), _) => format!("{}: {}", made.decision.kind, made.decision.reason),
            (None, problem) => format!("GIVE_UP: {}", problem.clone().unwrap_or_default()),
        },
        attempts: child.attempt.number,
        base: child.start.as_ref().map(|start| start.base.clone()),
        tree: child.attempt.files.as_ref().map(|files| files.tree.clone()),
        commit: last.and_then(|line| line.commit.clone()),
        is_spent: child.attempt.is_spent,
        usage: child.usage,
        findings: records::some_findings(&child.outputs),
        records: records::digests(child),
    };
    let mut notices = child.notices.clone();
    notices.extend(child.attempt.tampered.clone());
    CodeTaskState::update()
        .results(vec![result])
        .usage(child.usage)
        .used(child.used.clone())
        .raised(child.raised)
        .notices(notices)
}
