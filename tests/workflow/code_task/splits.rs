//! Tasks that repeat an error, and the children that they are split into.

use serde_json::{Value, json};
use superstep::drivers::RunLimits;
use superstep::nodes::{AfterBudget, BudgetReached, RaisedLimits};
use superstep::spec::{Flags, TaskSpec};
use superstep_workflows::code_task::TaskOutcome;

use super::desk::{CHECK, Desk, agents, asks, proposal, spec, writes};
use crate::agent::work;
use crate::phases::stage::Call;

/// The developer of the task fails in two files; each child fixes one of them.
pub(super) async fn acts(call: Call) -> Value {
    if !call.is_developer() {
        return Value::Null;
    }
    if call.task == "tides" {
        writes(&call, "in.txt", "error: in is wrong\n");
        return writes(&call, "out.txt", "error: out is wrong\n");
    }
    let name = if call.task == "tides.1" { "in.txt" } else { "out.txt" };
    writes(&call, name, "right\n")
}

fn parallel() -> Flags {
    Flags { policy: vec!["parallel_children=2".into()], ..Flags::default() }
}

#[rstest::rstest]
#[case(Flags::default())]
#[case(parallel())]
#[tokio::test]
async fn a_repeated_error_is_split_into_a_child_for_each_cause(#[case] flags: Flags) {
    let desk = Desk::with(agents(acts), CHECK, spec(), &flags);
    desk.run().await;
    let state = desk.state().await;
    assert_eq!(desk.decisions().await, ["RETRY by retry", "SPLIT by repeated", "DONE by done"], "{:#?}", state.results);
    let children: Vec<_> = state.results.iter().map(|child| (child.id.as_str(), child.outcome)).collect();
    assert_eq!(children, [("tides.1", TaskOutcome::Done), ("tides.2", TaskOutcome::Done)]);
    assert_eq!(desk.commits(), ["feat: Tides"]);
    let message = desk.repository.git(&["log", "-1", "--format=%B", "superstep/clock"]);
    assert!(
        message.contains("Superstep-Child: tides.1 DONE") && message.contains("Superstep-Child: tides.2 DONE"),
        "{message}"
    );
    assert_eq!(desk.repository.git(&["show", "superstep/clock:in.txt", "superstep/clock:out.txt"]), "right\nright\n");
    assert_eq!(desk.json("children/tides.1/attempt-1/decision.json")["depth"], 1);
    desk.tidy();
}

#[tokio::test]
async fn a_splitter_proposes_the_children_and_gets_their_errors() {
    let cast = agents(|call| async move {
        if call.request.role != "splitter" {
            return acts(call).await;
        }
        let shorts: Vec<String> = call
            .request
            .prompt
            .split_whitespace()
            .filter(|word| word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .map(str::to_owned)
            .collect();
        let all: Vec<&str> = shorts.iter().map(String::as_str).collect();
        match call.nth {
            0 => proposal("sequence", &[("In", "in is wrong", &all[..1])]),
            _ => proposal("sequence", &[("In", "in is wrong", &all[..1]), ("Out", "out is wrong", &all[1..])]),
        }
    });
    let desk = Desk::with(cast.clone(), CHECK, spec(), &Flags::default());
    desk.run().await;
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    let calls: Vec<Call> = cast.calls().into_iter().filter(|call| call.request.role == "splitter").collect();
    assert_eq!(calls.len(), 2);
    assert!(calls[1].request.prompt.contains("no child covers the error"), "{}", calls[1].request.prompt);
    let titles: Vec<String> = desk.state().await.results.iter().map(|child| child.title.clone()).collect();
    assert_eq!(titles, ["In", "Out"]);
}

#[tokio::test]
async fn a_task_whose_children_fail_gets_one_more_attempt_and_is_split_once() {
    let cast = agents(|call| async move {
        if !call.is_developer() {
            return Value::Null;
        }
        writes(&call, "in.txt", "error: in is wrong\n")
    });
    let desk = Desk::with(cast.clone(), CHECK, spec(), &Flags::default());
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "gave_up");
    let decisions = desk.decisions().await;
    let kinds: Vec<&str> = decisions.iter().map(|decision| decision.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["RETRY", "SPLIT", "RETRY", "GIVE_UP"], "{decisions:?}");
    let last = cast.turns("tides").pop().unwrap();
    assert!(last.request.prompt.contains("its children ended so"), "{}", last.request.prompt);
}

/// The developer of the task fails in three files; the splitter puts two of them into one child, which is split again.
async fn acts_deep(call: Call) -> Value {
    if call.request.role == "splitter" {
        return halves(&call.request.prompt);
    }
    let fixed = match call.task.as_str() {
        "tides" => {
            let wrong = |name: &str| drop(writes(&call, &format!("{name}.txt"), &format!("error: {name} is wrong\n")));
            ["in", "out", "up"].into_iter().for_each(wrong);
            return writes(&call, "tries.txt", &call.nth.to_string());
        }
        "tides.1" => return writes(&call, "tries.txt", &format!("again {}", call.nth)),
        "tides.1.1" => "in.txt",
        "tides.1.2" => "out.txt",
        _ => "up.txt",
    };
    writes(&call, fixed, "right\n")
}

/// A proposal of two children for the errors of a prompt: for the first half, and for the rest.
fn halves(prompt: &str) -> Value {
    let named = |line: &str| {
        let (fingerprint, message) = line.trim().split_once(' ')?;
        let name = ["in", "out", "up"].into_iter().find(|name| message.contains(&format!("{name} is wrong")))?;
        (fingerprint.len() == 32).then(|| (name, fingerprint.to_owned()))
    };
    let mut errors: Vec<_> = prompt.lines().filter_map(named).collect();
    errors.sort();
    let child = |errors: &[(&str, String)]| {
        let names: Vec<&str> = errors.iter().map(|(name, _)| *name).collect();
        let covers: Vec<&String> = errors.iter().map(|(_, fingerprint)| fingerprint).collect();
        json!({"title": names.join(", "), "goal": names.join(", "), "covers_fingerprints": covers})
    };
    let children: Vec<Value> = errors.chunks(errors.len().div_ceil(2).max(1)).map(child).collect();
    json!({"order": "sequence", "children": children})
}

#[tokio::test]
async fn errors_that_siblings_of_the_parent_fix_do_not_count_for_a_child() {
    let desk = Desk::with(agents(acts_deep), CHECK, spec(), &Flags::default());
    desk.run().await;
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    let decision = |path: &str| desk.json(&format!("children/tides.1/{path}/decision.json"))["decision"].clone();
    let made = ["attempt-2", "children/tides.1.1/attempt-1", "children/tides.1.2/attempt-1", "attempt-3"].map(decision);
    assert_eq!(made, ["SPLIT", "DONE", "DONE", "DONE"]);
}

/// Agents at three depths share a budget; one question is asked, by the first task, whose next attempt gets more.
#[rstest::rstest]
#[tokio::test]
async fn a_budget_is_shared_over_three_depths(#[values(20, 50, 80, 95, 110)] tokens: u64) {
    let cast = agents(|call: Call| async move {
        if call.task == "tides" && call.is_developer() && call.nth >= 2 {
            ["in.txt", "out.txt", "up.txt"].into_iter().for_each(|name| drop(writes(&call, name, "right\n")));
            return work();
        }
        acts_deep(call).await
    });
    let mut desk = Desk::new(cast.clone());
    desk.settings.profile.budget = RunLimits::default().tokens(tokens);
    assert_eq!(asks(&desk.run().await), "budget");
    let (calls, used) = (cast.calls().len(), desk.state().await.usage.tokens());
    assert_eq!(used, 15 * calls as u64, "each turn takes 15");
    assert!(used < tokens + 15, "{used} of {tokens}");
    assert_eq!(desk.decisions().await.pop().unwrap(), "GIVE_UP by budget");
    let raise = AfterBudget::Raise(RaisedLimits { tokens: Some(10_000), ..RaisedLimits::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done), "{:?}", desk.decisions().await);
    desk.tidy();
}

/// The budget ends before the first child, or before the second: once it is raised, those that are left work, and nobody
/// works again.
#[rstest::rstest]
#[tokio::test]
async fn a_raised_budget_lets_the_children_go_on_that_it_had_left(#[values(60, 75)] tokens: u64) {
    let cast = agents(acts);
    let mut desk = Desk::with(cast.clone(), CHECK, spec(), &Flags::default());
    desk.settings.profile.budget = RunLimits::default().tokens(tokens);
    assert_eq!(asks(&desk.run().await), "budget");
    assert_eq!(cast.turns("tides.2").len(), 0);
    let raise = AfterBudget::Raise(RaisedLimits { tokens: Some(10_000), ..RaisedLimits::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done), "{:?}", desk.decisions().await);
    let turns = ["tides", "tides.1", "tides.2"].map(|task| cast.turns(task).len());
    assert_eq!(turns, [2, 1, 1]);
    let results: Vec<_> = desk.state().await.results.iter().map(|child| (child.id.clone(), child.outcome)).collect();
    assert_eq!(results, [("tides.1".to_owned(), TaskOutcome::Done), ("tides.2".to_owned(), TaskOutcome::Done)]);
    assert_eq!(desk.repository.git(&["show", "superstep/clock:in.txt", "superstep/clock:out.txt"]), "right\nright\n");
    desk.tidy();
}

#[tokio::test]
async fn at_the_largest_depth_a_repeated_error_is_given_up() {
    let flags = Flags { policy: vec!["max_depth=0".into()], ..Flags::default() };
    let desk = Desk::with(agents(acts), CHECK, spec(), &flags);
    assert_eq!(asks(&desk.run().await), "gave_up");
    let decisions = desk.decisions().await;
    assert!(decisions.last().unwrap().starts_with("GIVE_UP"), "{decisions:?}");
}

#[tokio::test]
async fn when_children_collide_the_later_one_is_left_out_and_reported() {
    let cast = agents(|call| async move {
        if call.is_developer() && call.task != "tides" {
            let text = call.task.clone();
            acts(call.clone()).await;
            return writes(&call, "both.txt", &text);
        }
        acts(call).await
    });
    let desk = Desk::with(cast, CHECK, spec(), &parallel());
    desk.run().await;
    let children = desk.state().await.children.unwrap();
    assert_eq!(children.conflicts, [("tides.2".to_owned(), vec!["both.txt".to_owned()])]);
    assert_eq!(json!(desk.outcome().await), json!(null), "the parent's error is still there");
    desk.tidy_worktrees();
}

impl Desk {
    fn tidy_worktrees(&self) {
        let worktrees = self.repository.git(&["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    }
}

/// A task with the same goal as its parent is refused.
#[test]
fn a_task_is_not_smaller_than_itself() {
    let spec: TaskSpec = spec();
    assert!(!spec.is_smaller_than(&spec));
}
