//! The state update for each node's result. Pure.

use std::collections::BTreeMap;

use super::state::{
    Attempt, AttemptLine, ChildResult, Children, CodeTaskState, CodeTaskStateUpdate as Update, OutputChange, Start,
    TaskOutcome,
};
use super::{decided, jobs, records, splitting};
use crate::{AttemptOutcome, Role};
use superstep::decide::{self, AttemptKind, DecisionRecord, Override};
use superstep::drivers::Usage;
use superstep::graph::overwrite;
use superstep::nodes::__private::{
    BegunTask, FinishedTask, GivenUp, JoinedChildren, KeptFiles, QuestionReply, RecordResult, SplitTask, TakenSnapshot,
    tampering_message,
};
use superstep::nodes::{AfterGivingUp, Base, CommittedWork, CutReason, DevelopResult};
use superstep::spec::TaskSpec;

/// The built-in verifiers that are always required.
const REQUIRED: [&str; 2] = ["build", "secrets"];

pub(super) fn begin(state: &CodeTaskState, started: BegunTask) -> Update {
    let BegunTask { run, folder, base, problem, mut notices, before } = started;
    notices.extend(unusual(state));
    let attempt = Attempt { problem: problem.clone(), ..state.attempt.clone() };
    let update = CodeTaskState::update().attempt(attempt).notices(notices);
    match base {
        Some(base) => update.start(Some(Start { run, folder, base, came_from: before, with_commits: None })),
        None => update.outcome(Some(TaskOutcome::GaveUp)),
    }
}

/// Returns notices for probable mistakes in a task: disabled required verifiers, unknown tools.
fn unusual(state: &CodeTaskState) -> Vec<String> {
    let Some(spec) = state.spec.as_ref().filter(|_| state.is_first()) else { return vec![] };
    let is_on = |id: &&str| state.settings.run.verifiers.get(id).is_some();
    let off = REQUIRED.iter().filter(|id| !is_on(id)).map(|id| format!("the required verifier `{id}` is disabled"));
    let is_known =
        |tool: &str| jobs::TOOLS.iter().flat_map(|tools| tools.iter()).any(|known| tool.eq_ignore_ascii_case(known));
    let unknown = spec.do_agent.allowed_tools.iter().filter(|tool| !is_known(tool));
    off.chain(unknown.map(|tool| format!("`{tool}` in do_agent.allowed_tools is not a known tool"))).collect()
}

pub(super) fn execute(state: &CodeTaskState, developed: DevelopResult) -> Update {
    let tampered = match AttemptOutcome::after_work(&developed) {
        AttemptOutcome::Tampered(what) => Some(what),
        _ => None,
    };
    let DevelopResult { report, session, usage, after, model, given_up, raised, cut, session_lost, base, .. } =
        developed;
    let spent = match &cut {
        Some(CutReason::Spent(cut)) => Some(cut.clone()),
        _ => None,
    };
    let problem = match (&report, &spent) {
        (Err(why), None) => Some(format!("the agent's answer could not be used: {why}")),
        _ => None,
    };
    let mut notices = after.notices;
    notices.extend(model.map(|model| format!("a person chose the model {model}")));
    notices.extend(session_lost.then(|| "the agent's session was lost; the agent continued in a new one".to_owned()));
    // The agent has not acted on them yet, because its turn was cut short.
    let kept = match &spent {
        Some(_) => (state.attempt.note.clone(), state.attempt.report.clone(), jobs::findings(state)),
        None => Default::default(),
    };
    let attempt = Attempt {
        number: state.number(),
        turns: state.attempt.turns + 1,
        kind: AttemptKind::Turn,
        session: session.or_else(|| spent.as_ref().and_then(|cut| cut.session.clone())),
        decides_now: false,
        is_spent: spent.is_some(),
        cut: spent,
        problem,
        tampered,
        given_up,
        base: base.as_ref().map_or_else(|| state.attempt.base.clone(), |base| moved_position(state, base)),
        is_behind: state.attempt.is_behind || base.is_some(),
        files: None,
        note: kept.0,
        report: kept.1,
        unheeded: kept.2,
        unsplit: None,
        past: None,
    };
    let outcome = given_up.map(|decision| match decision {
        GivenUp::Skip => TaskOutcome::GaveUp,
        GivenUp::Abort => TaskOutcome::Cancelled,
    });
    let update = costing(Role::Developer, usage);
    on_top_of(update, state, base)
        .attempt(attempt)
        .outputs(OutputChange::Clear)
        .obstacle(None)
        .outcome(outcome)
        .raised(raised)
        .notices(new_notices(state, notices))
}

/// Returns the position of the work after commits of people; its files are compared with later ones as before.
fn moved_position(state: &CodeTaskState, base: &Base) -> Option<Base> {
    state.position().ok().map(|position| Base { at: base.at.clone(), ..position })
}

/// Sets the files before the task with the commits of people, if there are new ones.
fn on_top_of(update: Update, state: &CodeTaskState, base: Option<Base>) -> Update {
    match (&state.start, base) {
        (Some(start), Some(base)) => update.start(Some(Start { with_commits: Some(base.tree), ..start.clone() })),
        _ => update,
    }
}

pub(super) fn costing(role: Role, usage: Usage) -> Update {
    CodeTaskState::update().usage(usage).used(BTreeMap::from([(role, usage)]))
}

fn new_notices(state: &CodeTaskState, mut notices: Vec<String>) -> Vec<String> {
    notices.retain(|notice| !state.notices.contains(notice));
    notices
}

pub(super) fn snapshot(state: &CodeTaskState, taken: TakenSnapshot) -> Update {
    let TakenSnapshot { base, .. } = taken.clone();
    let mut attempt = Attempt { files: Some(TakenSnapshot { base: None, ..taken }), ..state.attempt.clone() };
    attempt.base = base.as_ref().map_or(attempt.base, |base| moved_position(state, base));
    attempt.is_behind |= base.is_some();
    let mut update = on_top_of(CodeTaskState::update(), state, base);
    if attempt.kind == AttemptKind::Children {
        attempt.number = state.number();
        update = update.outputs(OutputChange::Clear).obstacle(None);
    }
    update.attempt(attempt)
}

pub(super) fn record(state: &CodeTaskState, recorded: RecordResult) -> Update {
    let RecordResult { commit, reference, at, refused, is_aborted, has_digest } = recorded;
    let made = state.decision.as_ref();
    let mut before = Usage::default();
    state.attempts.iter().for_each(|line| before += line.usage);
    let line = AttemptLine {
        past: decided::past(state),
        decision: made.map(|made| made.decision.kind.to_string()).unwrap_or_default(),
        rule: made.map(|made| made.decision.rule.clone()).unwrap_or_default(),
        reason: made.map(|made| made.decision.reason.clone()).unwrap_or_default(),
        commit: commit.clone(),
        reference,
        findings: records::some_findings(&state.outputs),
        usage: state.usage.since(before),
        record: None,
    };
    let commit = commit.map(|commit| commit.to_string());
    let decision = state.decision.clone().map(|made| DecisionRecord { commit, ..made });
    let digest = |record| decide::RecordedDecision { outputs: state.outputs.clone(), record }.digest();
    let record = decision.clone().filter(|_| has_digest).map(digest);
    let line = AttemptLine { record, ..line };
    let notice = |why: String| format!("attempt {} is not on the branch: {why}", state.attempt.number);
    let notices = new_notices(state, refused.map(notice).into_iter().collect());
    let update = CodeTaskState::update().attempts(vec![line]).decision(decision).notices(notices);
    let update = update.outcome(if is_aborted { Some(TaskOutcome::Cancelled) } else { decided::outcome(state) });
    match at {
        Some(base) => update.attempt(Attempt { base: Some(base), is_behind: false, ..state.attempt.clone() }),
        None => update,
    }
}

pub(super) fn split(state: &CodeTaskState, split: SplitTask) -> Update {
    let SplitTask { proposal, refused, usage, raised, tampered } = split;
    if !tampered.is_empty() {
        let tampered = Some(tampering_message("the splitter", &tampered));
        let attempt = Attempt { tampered, ..state.attempt.clone() };
        return costing(Role::Splitter, usage).raised(raised).attempt(attempt);
    }
    let children = splitting::children(state, proposal.as_ref());
    let mut notices = vec![];
    if proposal.is_none() && !refused.is_empty() {
        notices.push(format!(
            "the splitter made no valid proposal ({}): each group of errors becomes a child",
            refused.join("; ")
        ));
    }
    let update = costing(Role::Splitter, usage).raised(raised);
    let attempt = state.attempt.clone();
    match children {
        Ok(children) => update
            .children(Some(children))
            .attempt(Attempt { kind: AttemptKind::Children, problem: None, note: String::new(), ..attempt })
            .notices(notices),
        Err(problems) => {
            notices.push(format!("the task could not be split: {}", problems.join("; ")));
            let children = Children { is_over: true, ..Children::default() };
            let attempt = Attempt { unsplit: Some(problems.join("; ")), problem: None, ..attempt };
            update.children(Some(children)).attempt(attempt).notices(notices)
        }
    }
}

pub(super) fn join(state: &CodeTaskState, joined: JoinedChildren) -> Update {
    let JoinedChildren { tree, conflicts } = joined;
    let children = state.children.clone().unwrap_or_default();
    let mut all = children.conflicts.clone();
    all.extend(conflicts);
    let is_over = state.results.len() >= children.specs.len();
    let children =
        Children { joined: state.results.len(), tree: Some(tree), is_over, conflicts: all, ..children.clone() };
    let is_spent = state.results.iter().any(|child| child.is_spent);
    // Without a larger budget no further child can run.
    let children =
        if is_spent { Children { joined: children.specs.len(), is_over: true, ..children } } else { children };
    let attempt = Attempt { is_spent, report: report(state, &children), ..state.attempt.clone() };
    let is_ended = state.results.iter().any(|child| child.outcome == TaskOutcome::Cancelled);
    let outcome = is_ended.then_some(TaskOutcome::Cancelled);
    let children = if is_ended { Children { joined: children.specs.len(), ..children } } else { children };
    CodeTaskState::update().children(Some(children)).attempt(attempt).outcome(outcome)
}

/// Returns the report on the children for the task's agent.
fn report(state: &CodeTaskState, children: &Children) -> Vec<String> {
    let mut lines = vec!["The task was split; its children ended so:".to_owned()];
    for child in &state.results {
        lines.push(format!("- {} ({}): {}", child.id, child.title, child.decision));
        lines.extend(child.findings.iter().take(10).map(|finding| format!("  {finding}")));
    }
    let conflict = |(id, files): &(String, Vec<String>)| {
        format!("- the work of {id} is not in the files: it changes the same lines as others in {}", files.join(", "))
    };
    lines.extend(children.conflicts.iter().map(conflict));
    lines
}

pub(super) fn ask(state: &CodeTaskState, reply: QuestionReply) -> Update {
    let attempt = Attempt { tampered: None, is_spent: false, decides_now: false, ..state.attempt.clone() };
    let again = |granted: u32, attempt: Attempt| {
        // The turn that starts now is one of them.
        answered(attempt).granted(granted.saturating_sub(1)).outcome(None)
    };
    match reply {
        QuestionReply::Raised(raised) => match unfinished_children(state) {
            Some((children, results)) => {
                let attempt = Attempt { kind: AttemptKind::Children, problem: None, ..attempt };
                let update = answered(attempt).raised(raised).outcome(None);
                update.children(Some(children)).results(overwrite(results))
            }
            None => again(1, attempt).raised(raised),
        },
        QuestionReply::Task(AfterGivingUp::Retry { attempts, note }) => again(attempts, Attempt { note, ..attempt }),
        QuestionReply::Task(AfterGivingUp::Split) => {
            let given = decided::person_override("SPLIT", "a person decided to split it", None);
            decide_again(attempt, given)
        }
        QuestionReply::Task(AfterGivingUp::Override(given)) => {
            let given = decided::person_override(&given.decision, &given.why, given.by);
            decide_again(attempt, given)
        }
        QuestionReply::Task(AfterGivingUp::Abort) => answered(attempt).outcome(Some(TaskOutcome::Cancelled)),
    }
}

/// Returns the children that a used-up budget has left, after those that have ended, and the results of these; none if no
/// child was cut short. They go on one by one in the files of the task, which hold what they have done.
fn unfinished_children(state: &CodeTaskState) -> Option<(Children, Vec<ChildResult>)> {
    let children = state.children.as_ref()?;
    let (spent, ended): (Vec<_>, Vec<_>) = state.results.iter().cloned().partition(|child| child.is_spent);
    if spent.is_empty() {
        return None;
    }
    let is_ended = |spec: &TaskSpec| ended.iter().any(|child| child.id == spec.id.as_str());
    let first = ended.iter().filter_map(|child| children.specs.iter().find(|spec| spec.id.as_str() == child.id));
    let rest = children.specs.iter().filter(|spec| !is_ended(spec));
    let specs = first.chain(rest).cloned().collect();
    let (joined, at_once, at, is_over) = (ended.len(), 1, None, false);
    Some((Children { specs, joined, at_once, at, is_over, ..children.clone() }, ended))
}

/// Clears the obstacle after a person's answer.
fn answered(attempt: Attempt) -> Update {
    CodeTaskState::update().attempt(attempt).obstacle(None)
}

/// Applies a person's decision to the current files.
fn decide_again(attempt: Attempt, given: Option<Override>) -> Update {
    let attempt = Attempt { decides_now: true, ..attempt };
    answered(attempt).pending(given).outcome(None)
}

pub(super) fn finish(state: &CodeTaskState, finished: FinishedTask) -> Update {
    let FinishedTask { moved: CommittedWork { made, base, is_aborted, .. }, left, stays } = finished;
    if is_aborted {
        return CodeTaskState::update().outcome(Some(TaskOutcome::Cancelled));
    }
    if let Some(left) = left {
        return noted_late(state, left);
    }
    let Some(commit) = made else {
        return CodeTaskState::update().notices(new_notices(state, uncommitted_notice(state)));
    };
    let name = base.at.branch.clone().unwrap_or_else(|| "HEAD".to_owned());
    let attempt = Attempt { base: Some(base), ..state.attempt.clone() };
    let committed = format!("committed as {} on {name}", commit.short());
    CodeTaskState::update().attempt(attempt).notices(std::iter::once(committed).chain(stays).collect::<Vec<_>>())
}

/// Returns a notice with the location of finished work that the task does not want committed.
fn uncommitted_notice(state: &CodeTaskState) -> Vec<String> {
    let is_unwanted = state.spec.as_ref().is_some_and(|spec| !spec.git.commit_on_success);
    let place = state.attempts.last().and_then(|line| line.reference.clone());
    let place = place.filter(|_| state.is_first() && state.is_done() && is_unwanted);
    place
        .map(|place| {
            format!("not committed, because the task sets `commit_on_success` to false; the work is kept as {place}")
        })
        .into_iter()
        .collect()
}

/// Stores the files of an unfinished turn.
fn noted_late(state: &CodeTaskState, left: KeptFiles) -> Update {
    let KeptFiles { files, commit } = left;
    let reference = || records::reference(state, state.attempt.number);
    let notice = match (&files, commit) {
        (None, _) => {
            Some("the files of the last turn are in no commit: git's hooks or configuration were changed".into())
        }
        (Some(_), Some(_)) => Some(format!("the work of the last turn is kept as {}", reference())),
        (Some(files), None) if !files.leaked.is_empty() => {
            Some(format!("the files of the last turn are in no commit: {}", files.leaked.join(", ")))
        }
        (Some(_), None) => None,
    };
    let attempt = Attempt { files, ..state.attempt.clone() };
    CodeTaskState::update().attempt(attempt).notices(new_notices(state, notice.into_iter().collect()))
}
