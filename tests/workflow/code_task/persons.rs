//! Decisions of people: answers to questions, overrides, budgets.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use superstep::decide::Override;
use superstep::drivers::RunLimits;
use superstep::nodes::{
    AfterBudget, AfterGivingUp, BudgetReached, DecideTask, RaisedLimits, TaskGivenUp, WrittenOverride,
};
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep_workflows::code_task::{CodeTask, CodeTaskState, TaskOutcome, code_task};

use super::desk::{CHECK, Desk, agents, asks, developers, overriding, spec, writes};
use crate::phases::stage::Cast;

fn stubborn() -> Desk {
    let mut spec = spec();
    spec.policy.max_attempts = 1;
    let cast = developers(|call| {
        writes(call, "tides.txt", if call.request.prompt.contains("be bold") { "in\n" } else { "error: late\n" })
    });
    Desk::with(cast, CHECK, spec, &Flags::default())
}

#[tokio::test]
async fn a_person_retries_a_task_with_a_note() {
    let desk = stubborn();
    assert_eq!(asks(&desk.run().await), "gave_up");
    desk.thread.resume::<TaskGivenUp>(AfterGivingUp::Retry { attempts: 1, note: "be bold".into() }).await.unwrap();
    assert_eq!(desk.decisions().await, ["GIVE_UP by exhausted", "DONE by done"]);
}

#[tokio::test]
async fn an_override_is_an_attempt_with_its_author_reason_and_original() {
    let desk = stubborn();
    desk.run().await;
    let ended = desk.thread.resume::<TaskGivenUp>(overriding("DONE", " ")).await.unwrap();
    assert_eq!(asks(&ended), "gave_up"); // without a reason
    desk.thread.resume::<TaskGivenUp>(overriding("DONE", "I looked")).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    let decision = desk.json("attempt-2/decision.json");
    assert_eq!((&decision["decision"], &decision["rule"]), (&"DONE".into(), &"override".into()));
    let given = &decision["override"];
    assert_eq!((&given["by"], &given["why"], &given["was"]), (&"Ada".into(), &"I looked".into(), &"GIVE_UP".into()));
    assert_eq!(desk.commits(), ["feat: Tides"]);
}

#[rstest]
#[case("FAIL", TaskOutcome::Failed)]
#[case("DONE", TaskOutcome::Done)]
#[tokio::test]
async fn an_override_at_the_start_and_after_the_end_is_followed(#[case] decision: &str, #[case] outcome: TaskOutcome) {
    let desk = stubborn();
    let given = |why| Some(Override::new(decision, why, "Ada", "").unwrap());
    desk.thread.invoke(desk.input().pending(given("at the start"))).await.unwrap();
    assert_eq!(desk.outcome().await, Some(outcome));
    assert_eq!(desk.decisions().await, [format!("{decision} by override")]);
    desk.thread.invoke(CodeTaskState::update().pending(given("once more"))).await.unwrap();
    assert_eq!(desk.outcome().await, Some(outcome));
    assert_eq!(desk.json("attempt-2/decision.json")["override"]["why"], "once more");
}

#[tokio::test]
async fn a_verifier_can_leave_the_decision_to_a_person() {
    let verifiers = CHECK.replace("{id: build,", "{id: build, on_fail: human,");
    let cast = developers(|call| writes(call, "tides.txt", "error: late\n"));
    let desk = Desk::with(cast, &verifiers, spec(), &Flags::default());
    assert_eq!(asks(&desk.run().await), "decide");
    desk.thread.resume::<DecideTask>(overriding("FAIL", "not worth it")).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Failed));
}

#[tokio::test]
async fn a_used_up_budget_ends_the_turn_and_interrupts() {
    let cast = developers(|call| writes(call, "tides.txt", if call.nth < 1 { "error: late\n" } else { "in\n" }));
    let mut desk = Desk::new(cast);
    desk.settings.profile.budget = RunLimits::default().tokens(15);
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "budget");
    let decisions = desk.decisions().await;
    assert_eq!(decisions.last().unwrap(), "GIVE_UP by budget", "{decisions:?}");
    let raise = AfterBudget::Raise(RaisedLimits { tokens: Some(1000), ..RaisedLimits::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
}

#[tokio::test]
async fn a_verifier_that_uses_up_the_budget_leaves_the_attempt_undecided() {
    let cast = agents(|call| async move {
        if call.is_developer() {
            return writes(&call, "tides.txt", "in\n");
        }
        let evidence = json!({"file": "tides.txt", "lines": "1", "quote": "in"});
        json!({"criteria": [{"text": "It names the tide that comes in", "met": "yes", "evidence": evidence}]})
    });
    let mut spec = spec();
    spec.acceptance = vec!["It names the tide that comes in".into()];
    let mut desk = Desk::with(cast, CHECK, spec, &Flags::default());
    desk.settings.profile.budget = RunLimits::default().tokens(15);
    assert_eq!(asks(&desk.run().await), "budget");
    assert_eq!(desk.decisions().await, ["GIVE_UP by budget"]);
    let raise = AfterBudget::Raise(RaisedLimits { tokens: Some(1000), ..RaisedLimits::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    assert_eq!(desk.decisions().await, ["GIVE_UP by budget", "DONE by done"]);
}

#[tokio::test]
async fn a_task_whose_budget_is_used_up_can_be_decided_by_a_person() {
    let mut desk = stubborn();
    desk.spec.policy.max_attempts = 3;
    desk.settings.profile.budget = RunLimits::default().tokens(15);
    assert_eq!(asks(&desk.run().await), "budget");
    let given = |why: &str| {
        AfterBudget::Override(WrittenOverride { decision: "DONE".into(), why: why.into(), by: Some("Ada".into()) })
    };
    let ended = desk.thread.resume::<BudgetReached>(given("")).await.unwrap();
    let problem = ended.questions()[0].payload::<BudgetReached>().unwrap().problem;
    assert_eq!(problem.as_deref(), Some("an override needs a reason: set `why`"));
    desk.thread.resume::<BudgetReached>(given("it is good enough")).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    assert_eq!(desk.decisions().await.pop().unwrap(), "DONE by override");
}

#[tokio::test]
async fn a_person_ends_the_run() {
    let desk = stubborn();
    desk.run().await;
    desk.thread.resume::<TaskGivenUp>(AfterGivingUp::Abort).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Cancelled));
    assert_eq!(desk.refs(), ["attempt-1 [tides] attempt 1: GIVE_UP"]);
}

/// A user's own graph, in which a task is a node.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Release {
    task: Option<CodeTask>,
    is_ready: bool,
}

#[derive(NodeId)]
enum ReleaseStep {
    Work,
}

#[tokio::test]
async fn a_task_is_a_node_of_another_graph_and_interrupts_it() {
    let desk = stubborn();
    let work = code_task::<Release, ReleaseStep, Arc<Cast>, _, _, _, _>(
        |release: &Release| release.task.clone().ok_or_else(|| NodeError::permanent("there is no task")),
        |_, ended| Release::update().is_ready(ended.outcome == Some(TaskOutcome::Done)),
    );
    let graph =
        StateGraph::new().add_node(ReleaseStep::Work, work).add_sequence([ReleaseStep::Work]).compile().unwrap();
    let cast = developers(|call| {
        writes(call, "tides.txt", if call.request.prompt.contains("be bold") { "in\n" } else { "error: late\n" })
    });
    let thread = graph.with_checkpointer(MemoryCheckpointer::new()).thread_with("clock", Arc::new(cast));
    let task = CodeTask::new(desk.spec.clone(), desk.settings.clone());
    let ended = thread.invoke(Release::update().task(Some(task))).await.unwrap();
    assert_eq!(ended.questions()[0].name(), "gave_up");
    let again = AfterGivingUp::Retry { attempts: 1, note: "be bold".into() };
    let ended = thread.resume::<TaskGivenUp>(again).await.unwrap();
    assert!(ended.finished().unwrap().is_ready);
    assert_eq!(desk.commits(), ["feat: Tides"]);
}
