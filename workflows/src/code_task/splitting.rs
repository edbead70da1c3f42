//! The split of a task: the splitter's prompt, the children of a proposal, their jobs one depth below the task, and their
//! results. Pure.

use super::decided::with_case;
use super::records;
use super::state::{
    ChildResult, Children, CodeTask, CodeTaskState, CodeTaskStateUpdate as Update, Start, TaskOutcome, TaskPlace,
    WorkPlace,
};
use super::step::CodeStep;
use superstep::decide::{AttemptKind, DecisionKind};
use superstep::findings::{Cluster, Finding, Fingerprint, clusters_at_most};
use superstep::graph::Worker;
use superstep::nodes::__private::SplitInput;
use superstep::nodes::{Base, Prompt};
use superstep::spec::{ChildOrder, SplitContext, SplitProblem, SplitProposal, TaskSpec};

/// The number of findings in a group that the prompt shows with their message; the others are fingerprints only.
const SHOWN: usize = 20;

/// True if the task can be split: it is not at the maximum depth, and was not split before.
pub(super) fn may_split(state: &CodeTaskState) -> bool {
    state.children.is_none() && with_case(state, |case| case.may_be_split().is_ok())
}

/// Returns the findings that this child must remove, one per line.
pub(super) fn origin(state: &CodeTaskState) -> Vec<String> {
    let Some(origin) = state.spec.as_ref().and_then(|spec| spec.relationships.origin.clone()) else { return vec![] };
    let files = (!origin.files.is_empty()).then(|| format!("files: {}", origin.files.join(", ")));
    let found = if origin.findings.is_empty() { vec![origin.reason] } else { origin.findings };
    found.into_iter().filter(|line| !line.is_empty()).chain(files).collect()
}

/// Adds the errors that a child must remove, in words.
fn with_findings(state: &CodeTaskState, mut child: TaskSpec) -> TaskSpec {
    if let Some(origin) = &mut child.relationships.origin {
        let shorts: Vec<String> = origin.fingerprints.iter().map(|one| format!("({})", one.short())).collect();
        let lines = records::prompt_findings(&state.outputs);
        origin.findings = lines.into_iter().filter(|line| shorts.iter().any(|short| line.ends_with(short))).collect();
    }
    child
}

/// Returns the errors that children must cover: the repeated ones, otherwise all of the last attempt.
fn errors_to_cover(state: &CodeTaskState) -> Vec<Fingerprint> {
    let repeated = state.decision.as_ref().map(|made| made.decision.repeated.clone()).unwrap_or_default();
    if !repeated.is_empty() {
        return repeated;
    }
    with_case(state, |case| case.to_cover())
}

/// Calls `then` with the context of the split.
fn with_split<T>(state: &CodeTaskState, then: impl FnOnce(&SplitContext<'_>) -> T) -> Option<T> {
    let parent = state.spec.as_ref()?;
    let repeated = errors_to_cover(state);
    let reason = state.decision.as_ref().map(|made| made.decision.reason.as_str()).unwrap_or_default();
    let split = SplitContext {
        parent,
        lineage: &state.place.lineage,
        repeated: &repeated,
        attempt: state.attempt.number,
        reason,
    };
    Some(then(&split))
}

/// Returns the problems of a proposal, one per line.
pub(super) fn problems(state: &CodeTaskState, proposal: &SplitProposal) -> Vec<String> {
    let checked = with_split(state, |split| split.check(proposal).err());
    let problems: Vec<SplitProblem> = checked.flatten().unwrap_or_default();
    problems.iter().map(ToString::to_string).collect()
}

/// Returns the children of a proposal, or of groups of findings without one.
pub(super) fn children(state: &CodeTaskState, proposal: Option<&SplitProposal>) -> Result<Children, Vec<String>> {
    let findings = to_settle(state);
    let made = with_split(state, |split| match proposal {
        Some(proposal) => split.check(proposal),
        None => split.by_errors(&findings),
    });
    let specs = made.unwrap_or_else(|| Ok(vec![]));
    let specs: Vec<TaskSpec> =
        specs.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let specs: Vec<TaskSpec> = specs.into_iter().map(|child| with_findings(state, child)).collect();
    if specs.is_empty() {
        return Err(vec!["there is no finding that a child could fix".into()]);
    }
    let is_parallel = proposal.is_none_or(|proposal| proposal.order == ChildOrder::Parallel);
    let last = state.attempts.last().and_then(|line| line.commit.clone());
    let at_once = if is_parallel && last.is_some() { state.policy().parallel_children } else { 1 };
    let tree = state.attempt.files.as_ref().map(|files| files.tree.clone());
    Ok(Children { specs, at_once, at: last, tree, ..Children::default() })
}

/// Returns the findings that children must remove, each once.
fn to_settle(state: &CodeTaskState) -> Vec<Finding> {
    let repeated = errors_to_cover(state);
    with_case(state, |case| case.actionable(&repeated))
}

/// Returns the splitter's prompt; `refused` are the problems of its last proposal.
pub(super) fn prompt(state: &CodeTaskState, refused: &[String]) -> Prompt {
    let most = state.policy().max_children as usize;
    let clusters: Vec<String> = clusters_at_most(&to_settle(state), most).iter().map(describe).collect();
    let tried: Vec<String> = state
        .attempts
        .iter()
        .zip(1..)
        .map(|(line, nth): (_, u32)| format!("attempt {nth}: {} ({})", line.decision, line.reason))
        .collect();
    let attempts = state.attempts.len();
    let split = SplitInput { attempts, clusters: &clusters, tried: &tried, refused, most: state.policy().max_children };
    Prompt::splitter(&state.brief().unwrap_or_default(), &split)
}

fn describe(cluster: &Cluster) -> String {
    let line = |(nth, fingerprint): (usize, &Fingerprint)| match cluster.messages.get(nth).filter(|_| nth < SHOWN) {
        Some(message) => format!("{fingerprint} {message}"),
        None => fingerprint.to_string(),
    };
    let lines: Vec<String> = cluster.fingerprints.iter().enumerate().map(line).collect();
    format!("{}\nfiles: {}\n{}", cluster.title, cluster.files.join(", "), lines.join("\n"))
}

pub(super) const CHILD: Worker<CodeStep, CodeTask> = Worker::new(CodeStep::Child);

/// Returns the children to run next.
pub(super) fn child_tasks(state: &CodeTaskState) -> Vec<CodeTask> {
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
            raised: state.place.raised.latest(state.raised),
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

pub(crate) fn child_update(child: &CodeTaskState) -> Update {
    let spec = child.spec.clone();
    let last = child.attempts.last();
    let decision = child.decision.as_ref();
    let result = ChildResult {
        id: spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default(),
        title: spec.map(|spec| spec.title).unwrap_or_default(),
        outcome: child.outcome.unwrap_or(TaskOutcome::GaveUp),
        kind: decision.map_or(DecisionKind::GiveUp, |made| made.decision.kind),
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
