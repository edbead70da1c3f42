//! Interruptions of an attempt before its verifiers have run: changed hooks, rejected sessions, budgets; with each
//! answer. Whatever the answer, the work is kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverError, DriverErrorClass, RunLimits};
use superstep::nodes::{
    AfterBudget, AfterGivingUp, AfterRefusal, BudgetReached, RaisedLimits, SessionRefused, TaskGivenUp,
};
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep_workflows::RetrySession;
use superstep_workflows::code_task::TaskOutcome;

use super::desk::{CHECK, Desk, agents, asks, developers, overriding, spec, writes};
use super::splits::acts;
use crate::phases::stage::{Call, Cast};
use crate::repository::write;

/// Returns the hooks of the repository of a folder.
fn hooks(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(".git").is_dir()).unwrap().join(".git/hooks")
}

fn plant(folder: &Path) {
    write(&hooks(folder), "pre-commit", "#!/bin/sh\nexit 1\n");
}

/// The party that changes a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Culprit {
    Agent,
    Verifier,
    Child,
    ParallelChild,
}

fn tampering(culprit: Culprit) -> Desk {
    let is_planted = Arc::new(AtomicBool::new(false));
    let cast = agents(move |call| {
        let is_planted = Arc::clone(&is_planted);
        async move {
            let is_child = call.task.starts_with("tides.");
            let handed = match culprit {
                Culprit::Agent | Culprit::Verifier => writes(&call, "in.txt", "right\n"),
                Culprit::Child | Culprit::ParallelChild => acts(call.clone()).await,
            };
            let is_one = call.is_developer() && (culprit == Culprit::Agent || is_child && call.task == "tides.1");
            if is_one && !is_planted.swap(true, Ordering::SeqCst) {
                plant(call.folder());
            }
            handed
        }
    });
    let at_once = if culprit == Culprit::ParallelChild { 2 } else { 1 };
    let flags = Flags { policy: vec![format!("parallel_children={at_once}")], ..Flags::default() };
    let planted = "test -e .git/planted || { touch .git/planted; echo no > .git/hooks/pre-commit; }; true";
    let verifiers = match culprit {
        Culprit::Verifier => CHECK.replace("! grep -h '^error' *.txt", planted),
        Culprit::Agent | Culprit::Child | Culprit::ParallelChild => CHECK.into(),
    };
    Desk::with(cast, &verifiers, spec(), &flags)
}

fn again() -> AfterGivingUp {
    AfterGivingUp::Retry { attempts: 1, note: String::new() }
}

#[rstest]
#[tokio::test]
async fn a_changed_hook_interrupts_and_each_answer_is_followed(
    #[values(Culprit::Agent, Culprit::Verifier, Culprit::Child)] culprit: Culprit,
    #[values(again(), overriding("DONE", "I looked"), overriding("FAIL", "I looked"), AfterGivingUp::Abort)]
    answer: AfterGivingUp,
) {
    let desk = tampering(culprit);
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "gave_up");
    let pending = ended.questions()[0].payload::<TaskGivenUp>().unwrap();
    let task = if culprit == Culprit::Child { "tides.1" } else { "tides" };
    assert_eq!((pending.rule.as_str(), pending.task.as_str()), ("tampered", task));
    std::fs::remove_file(desk.repository.path().join(".git/hooks/pre-commit")).unwrap();
    desk.thread.resume::<TaskGivenUp>(answer.clone()).await.unwrap();
    let expected = match &answer {
        AfterGivingUp::Abort => TaskOutcome::Cancelled,
        AfterGivingUp::Override(given) if given.decision == "FAIL" && culprit != Culprit::Child => TaskOutcome::Failed,
        _ => TaskOutcome::Done,
    };
    assert_eq!(desk.outcome().await, Some(expected));
    let below = if culprit == Culprit::Child { "children/tides.1/" } else { "" };
    // An attempt without a decision has no record of its own: the next one continues with its files.
    let nth = if answer == again() { 2 } else { 1 };
    let content = desk.repository.git(&["show", &format!("refs/superstep/clock/{below}attempt-{nth}:in.txt")]);
    assert_eq!(content, "right\n", "{:?}", desk.refs());
}

/// Its sibling may interrupt too, or refuse to start.
#[tokio::test]
async fn a_changed_hook_loses_no_work_of_another_child() {
    let desk = tampering(Culprit::ParallelChild);
    let mut ended = desk.thread.invoke(desk.input()).await;
    for _ in 0..10 {
        drop(std::fs::remove_file(desk.repository.path().join(".git/hooks/pre-commit")));
        ended = match ended {
            Ok(ended) if ended.questions().is_empty() => break,
            Ok(ended) => {
                let ids: Vec<_> = ended.questions().iter().map(Question::id).collect();
                let answers = ids.into_iter().map(|id| Answer::json(&json!(overriding("DONE", "I looked"))).to(id));
                desk.thread.run(Request::answers(answers)).await
            }
            Err(error) => {
                assert!(error.to_string().contains("hook .git/hooks/pre-commit is new"), "{error}");
                desk.thread.proceed().await
            }
        };
    }
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    desk.tidy();
}

#[rstest]
#[tokio::test]
async fn the_files_of_a_child_whose_session_is_given_up_are_kept(
    #[values(1, 2)] at_once: u32,
    #[values((AfterRefusal::Skip, TaskOutcome::Done), (AfterRefusal::Abort, TaskOutcome::Cancelled))] answer: (
        AfterRefusal,
        TaskOutcome,
    ),
) {
    let cast = Cast::new(|call: Call| async move {
        if call.task == "tides.1" && call.is_developer() {
            writes(&call, "in.txt", "right\n");
            let error = DriverError::new(DriverErrorClass::Content, "the prompt is too long");
            return Err(DriverError { refusal: true, ..error });
        }
        Ok(acts(call).await)
    });
    let flags = Flags { policy: vec![format!("parallel_children={at_once}")], ..Flags::default() };
    let desk = Desk::with(cast, CHECK, spec(), &flags);
    assert_eq!(asks(&desk.run().await), "session_refused");
    desk.thread.resume::<SessionRefused>(answer.0).await.unwrap();
    assert_eq!(desk.outcome().await, Some(answer.1), "{:#?}", desk.state().await.results);
    let content = desk.repository.git(&["show", "refs/superstep/clock/children/tides.1/attempt-1:in.txt"]);
    assert_eq!(content, "right\n");
    assert_eq!(std::fs::read_to_string(desk.repository.path().join("in.txt")).unwrap(), "right\n");
}

/// The parent fails twice with one error, is split, fails once more, and gets one attempt after that.
#[tokio::test]
async fn a_fresh_attempt_after_a_split_starts_with_the_work_of_the_children() {
    let cast = agents(|call: Call| async move {
        if call.task == "tides" && call.is_developer() && call.nth == 2 {
            let found = std::fs::read_to_string(call.folder().join("child.txt")).unwrap_or_default();
            writes(&call, "found.txt", &found);
            return writes(&call, "in.txt", "right\n");
        }
        if call.task == "tides" {
            return writes(&call, "in.txt", "error: in is wrong\n");
        }
        writes(&call, "child.txt", "the child was here\n")
    });
    let mut desk = Desk::new(cast);
    desk.settings.profile.retry_session = RetrySession::FreshReset;
    desk.run().await;
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done), "{:?}", desk.decisions().await);
    assert_eq!(desk.repository.git(&["show", "superstep/clock:found.txt"]), "the child was here\n");
}

/// The second turn has no budget left: it runs once the budget is raised.
#[tokio::test]
async fn a_turn_cut_short_by_the_budget_gets_the_findings_again() {
    let cast = developers(|call| writes(call, "tides.txt", if call.nth < 1 { "error: late\n" } else { "in\n" }));
    let mut desk = Desk::new(cast.clone());
    desk.settings.profile.retry_session = RetrySession::Fresh;
    desk.settings.profile.budget = RunLimits::default().tokens(15);
    assert_eq!(asks(&desk.run().await), "budget");
    let raise = AfterBudget::Raise(RaisedLimits { tokens: Some(1000), ..RaisedLimits::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    let with_findings: Vec<bool> =
        cast.turns("tides").iter().map(|call| call.request.prompt.contains("[build] error")).collect();
    assert_eq!(with_findings, [false, true]);
}

/// The usage of agents, verifiers and children is recorded with the attempt that caused it.
#[tokio::test]
async fn the_usage_of_attempts_adds_up_to_that_of_the_run() {
    let desk = Desk::with(agents(acts), CHECK, spec(), &Flags::default());
    desk.run().await;
    let state = desk.state().await;
    let tokens: Vec<u64> = state.attempts.iter().map(|line| line.usage.tokens()).collect();
    assert_eq!(tokens.iter().sum::<u64>(), state.usage.tokens());
    let of_children: u64 = state.results.iter().map(|child| child.usage.tokens()).sum();
    assert!(of_children > 0 && tokens[2] >= of_children, "{tokens:?}, {of_children} by children");
}

/// Very long lists of findings do not swell prompts and checkpoints.
#[tokio::test]
async fn many_long_findings_are_prompted_in_part_and_recorded_in_full() {
    let finding = |nth: usize| json!({"type": "TEST_FAIL", "severity": "error", "message": format!("case {nth}: {}", "x".repeat(4000))});
    let report = json!({"severity": "error", "findings": (0..90).map(finding).collect::<Vec<Value>>()});
    let cast = developers(|call| writes(call, "report.txt", &call.nth.to_string()));
    let mut spec = spec();
    spec.policy.max_attempts = 2;
    let verifiers = CHECK.replace("\"! grep -h '^error' *.txt\"", "cat .git/report.json");
    let desk = Desk::with(cast.clone(), &verifiers, spec, &Flags::default());
    write(&desk.repository.path(), ".git/report.json", &report.to_string());
    desk.run().await;
    let outputs = desk.json("attempt-1/verifier_outputs.json");
    assert_eq!(outputs[0]["findings"].as_array().unwrap().len(), 90);
    let state = desk.state().await;
    let stored: usize = state.attempts[0].findings.iter().map(String::len).sum();
    let prompt = cast.turns("tides").pop().unwrap().request.prompt;
    assert!(stored < 20_000 && prompt.len() < 100_000, "{stored} bytes stored, {} bytes in the prompt", prompt.len());
    assert!(prompt.contains("and ") && prompt.contains(" more"), "{prompt}");
}
