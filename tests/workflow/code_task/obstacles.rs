//! What stops an attempt before its verifiers are through: hooks that were changed, sessions that are refused, budgets; with each
//! answer. Whatever the answer is, the work is kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverError, ErrorClass, RunLimits};
use superstep::nodes::{AfterBudget, AfterGivingUp, AfterRefusal, BudgetReached, GaveUp, Raise, SessionRefused};
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep::workflows::RetrySession;
use superstep::workflows::code_task::TaskOutcome;

use super::desk::{CHECK, Desk, agents, asks, developers, overriding, spec, writes};
use super::splits::acts;
use crate::phases::stage::{Asked, Cast};
use crate::repository::write;

/// The hooks of the repository that a folder belongs to.
fn hooks(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(".git").is_dir()).unwrap().join(".git/hooks")
}

fn plant(folder: &Path) {
    write(&hooks(folder), "pre-commit", "#!/bin/sh\nexit 1\n");
}

/// Who changes a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Agent,
    Verifier,
    Child,
    ParallelChild,
}

fn tampering(who: Who) -> Desk {
    let is_planted = Arc::new(AtomicBool::new(false));
    let cast = agents(move |asked| {
        let is_planted = Arc::clone(&is_planted);
        async move {
            let is_child = asked.task.starts_with("tides.");
            let handed = match who {
                Who::Agent | Who::Verifier => writes(&asked, "in.txt", "right\n"),
                Who::Child | Who::ParallelChild => acts(asked.clone()).await,
            };
            let is_one = asked.is_developer() && (who == Who::Agent || is_child && asked.task == "tides.1");
            if is_one && !is_planted.swap(true, Ordering::SeqCst) {
                plant(asked.folder());
            }
            handed
        }
    });
    let at_once = if who == Who::ParallelChild { 2 } else { 1 };
    let flags = Flags { policy: vec![format!("parallel_children={at_once}")], ..Flags::default() };
    let planted = "test -e .git/planted || { touch .git/planted; echo no > .git/hooks/pre-commit; }; true";
    let verifiers = match who {
        Who::Verifier => CHECK.replace("! grep -h '^error' *.txt", planted),
        Who::Agent | Who::Child | Who::ParallelChild => CHECK.into(),
    };
    Desk::with(cast, &verifiers, spec(), &flags)
}

fn again() -> AfterGivingUp {
    AfterGivingUp::Retry { attempts: 1, note: String::new() }
}

#[rstest]
#[tokio::test]
async fn a_changed_hook_is_asked_about_and_each_answer_is_followed(
    #[values(Who::Agent, Who::Verifier, Who::Child)] who: Who,
    #[values(again(), overriding("DONE", "I looked"), overriding("FAIL", "I looked"), AfterGivingUp::Abort)]
    answer: AfterGivingUp,
) {
    let desk = tampering(who);
    let ended = desk.run().await;
    assert_eq!(asks(&ended), "gave_up");
    let asked = ended.questions()[0].payload::<GaveUp>().unwrap();
    let task = if who == Who::Child { "tides.1" } else { "tides" };
    assert_eq!((asked.rule.as_str(), asked.task.as_str()), ("tampered", task));
    std::fs::remove_file(desk.repository.path().join(".git/hooks/pre-commit")).unwrap();
    desk.thread.resume::<GaveUp>(answer.clone()).await.unwrap();
    let expected = match &answer {
        AfterGivingUp::Abort => TaskOutcome::Cancelled,
        AfterGivingUp::Override(given) if given.decision == "FAIL" && who != Who::Child => TaskOutcome::Failed,
        _ => TaskOutcome::Done,
    };
    assert_eq!(desk.outcome().await, Some(expected));
    let below = if who == Who::Child { "children/tides.1/" } else { "" };
    // An attempt that nobody decided on has no record of its own: the next one goes on with its files.
    let nth = if answer == again() { 2 } else { 1 };
    let kept = desk.repository.git(&["show", &format!("refs/superstep/clock/{below}attempt-{nth}:in.txt")]);
    assert_eq!(kept, "right\n", "{:?}", desk.refs());
}

/// Its sibling may be asked about as well, or be refused to begin.
#[tokio::test]
async fn a_hook_that_is_changed_beside_another_child_loses_nothing() {
    let desk = tampering(Who::ParallelChild);
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
    let cast = Cast::new(|asked: Asked| async move {
        if asked.task == "tides.1" && asked.is_developer() {
            writes(&asked, "in.txt", "right\n");
            let error = DriverError::new(ErrorClass::Content, "the prompt is too long");
            return Err(DriverError { refusal: true, ..error });
        }
        Ok(acts(asked).await)
    });
    let flags = Flags { policy: vec![format!("parallel_children={at_once}")], ..Flags::default() };
    let desk = Desk::with(cast, CHECK, spec(), &flags);
    assert_eq!(asks(&desk.run().await), "session_refused");
    desk.thread.resume::<SessionRefused>(answer.0).await.unwrap();
    assert_eq!(desk.outcome().await, Some(answer.1), "{:#?}", desk.state().await.results);
    let kept = desk.repository.git(&["show", "refs/superstep/clock/children/tides.1/attempt-1:in.txt"]);
    assert_eq!(kept, "right\n");
    assert_eq!(std::fs::read_to_string(desk.repository.path().join("in.txt")).unwrap(), "right\n");
}

/// The parent fails twice in the same way, is split, fails once more, and gets its one attempt after that.
#[tokio::test]
async fn a_fresh_attempt_after_a_split_begins_with_the_work_of_the_children() {
    let cast = agents(|asked: Asked| async move {
        if asked.task == "tides" && asked.is_developer() && asked.nth == 2 {
            let found = std::fs::read_to_string(asked.folder().join("child.txt")).unwrap_or_default();
            writes(&asked, "found.txt", &found);
            return writes(&asked, "in.txt", "right\n");
        }
        if asked.task == "tides" {
            return writes(&asked, "in.txt", "error: in is wrong\n");
        }
        writes(&asked, "child.txt", "the child was here\n")
    });
    let mut desk = Desk::new(cast);
    desk.settings.profile.retry_session = RetrySession::FreshReset;
    desk.run().await;
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done), "{:?}", desk.decisions().await);
    assert_eq!(desk.repository.git(&["show", "superstep/clock:found.txt"]), "the child was here\n");
}

/// For the second turn nothing is left: it is taken once the budget is raised.
#[tokio::test]
async fn a_turn_that_the_budget_cut_short_is_told_the_findings_again() {
    let cast = developers(|asked| writes(asked, "tides.txt", if asked.nth < 1 { "error: late\n" } else { "in\n" }));
    let mut desk = Desk::new(cast.clone());
    desk.settings.profile.retry_session = RetrySession::Fresh;
    desk.settings.profile.budget = RunLimits { tokens: Some(15), ..RunLimits::default() };
    assert_eq!(asks(&desk.run().await), "budget");
    let raise = AfterBudget::Raise(Raise { tokens: Some(1000), ..Raise::default() });
    desk.thread.resume::<BudgetReached>(raise).await.unwrap();
    let told: Vec<bool> =
        cast.turns("tides").iter().map(|asked| asked.request.prompt.contains("[build] error")).collect();
    assert_eq!(told, [false, true]);
}

/// What agents, verifiers and children use is told with the attempt that it was used for.
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

/// Findings without end do not swell prompts and checkpoints.
#[tokio::test]
async fn many_long_findings_are_told_in_part_and_recorded_whole() {
    let finding = |nth: usize| json!({"type": "TEST_FAIL", "severity": "error", "message": format!("case {nth}: {}", "x".repeat(4000))});
    let report = json!({"severity": "error", "findings": (0..90).map(finding).collect::<Vec<Value>>()});
    let cast = developers(|asked| writes(asked, "report.txt", &asked.nth.to_string()));
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
    assert!(stored < 20_000 && prompt.len() < 100_000, "{stored} bytes stored, {} bytes told", prompt.len());
    assert!(prompt.contains("and ") && prompt.contains(" more"), "{prompt}");
}
