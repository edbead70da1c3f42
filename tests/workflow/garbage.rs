//! Git's garbage collection takes nothing that a thread may still need: at each kind of question, after a kill, and after
//! its end.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::drivers::{DriverError, DriverErrorClass};
use superstep::nodes::{
    AfterGivingUp, AfterMissingReview, AfterRefusal, AgentQuestion, AgentReply, ApprovePlan, Halted, ReviewUnavailable,
    SessionRefused, TaskGivenUp,
};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep_workflows::code_task::{self, CodeTaskState, TaskOutcome};
use superstep_workflows::phased;
use superstep_workflows::task_based::{self, ExecutionState, RunOutcome};

use crate::agent::{approved, rejected};
use crate::code_task::desk::{CHECK, Desk, spec, writes};
use crate::phases::stage::{Call, Cast, plan, profile};
use crate::repository::{Repository, write};
use crate::scene::retry;

/// Has git remove all objects that nothing refers to.
fn collect(repository: &Repository) {
    repository.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
}

/// A developer of the first task who asks, whose session is refused, and whose work is rejected.
async fn troubled(call: Call) -> Result<Value, DriverError> {
    write(call.folder(), &format!("turn-{}-{}.txt", call.task, call.nth), "x\n");
    match (call.is_developer(), call.task.as_str(), call.nth) {
        (true, "1", 0) => Ok(json!({"status": "blocked", "summary": "half", "question": "Which colour?"})),
        (true, "1", 1) => {
            Err(DriverError { refusal: true, ..DriverError::new(DriverErrorClass::Content, "the prompt is too long") })
        }
        (true, _, _) => Ok(call.part()),
        (false, _, nth) if nth < 4 => Ok(Value::Null),
        (false, "1" | "phase-1", nth) if nth < 6 => Ok(rejected("1")),
        (false, _, _) => Ok(approved()),
    }
}

type Answers = Vec<String>;

/// Answers the only question, after git has removed what nothing refers to; returns its name.
async fn answered<N: NodeId>(
    thread: &Thread<ExecutionState, N, Arc<Cast>>,
    outcome: &Outcome<ExecutionState>,
) -> Result<(String, Outcome<ExecutionState>), RunError> {
    let question = &outcome.questions()[0];
    let id = question.id();
    let answer = match question.name() {
        "approval" => Answer::new::<ApprovePlan>(&Decision::approve()),
        "question" => Answer::new::<AgentQuestion>(&AgentReply::Reply { text: "Blue.".into() }),
        "session_refused" => Answer::new::<SessionRefused>(&AfterRefusal::Fresh),
        "review_unavailable" => Answer::new::<ReviewUnavailable>(&AfterMissingReview::Retry),
        "halted" => Answer::new::<Halted>(&retry(1, "")),
        other => panic!("{other}"),
    };
    Ok((question.name().to_owned(), thread.answer(answer.to(id)).await?))
}

/// Runs a plan to its end with a collection at each question; returns the names of the questions.
async fn run_through<N: NodeId>(
    thread: &Thread<ExecutionState, N, Arc<Cast>>,
    repository: &Repository,
    tasks: &[(&str, &str)],
) -> Result<Answers, RunError> {
    let mut outcome = match thread.state().await? {
        None => {
            let input = ExecutionState::update().working_dir(repository.path());
            thread.invoke(input.plan_markdown(Some(plan(tasks))).profile(profile())).await?
        }
        Some(_) => thread.proceed().await?,
    };
    let mut names = vec![];
    while !outcome.questions().is_empty() {
        collect(repository);
        let (name, next) = answered(thread, &outcome).await?;
        names.push(name);
        outcome = next;
    }
    assert_eq!(outcome.finished().unwrap().result.outcome, Some(RunOutcome::Completed));
    Ok(names)
}

const ALL: [&str; 5] = ["approval", "question", "session_refused", "review_unavailable", "halted"];

/// Makes a place for a fork at each checkpoint.
async fn forks<N: NodeId>(thread: &Thread<ExecutionState, N, Arc<Cast>>) -> usize {
    let newest = thread.state().await.unwrap().unwrap().values;
    let all = thread.history().await.unwrap().all().await.unwrap();
    // Before its input, a thread has no repository.
    for at in all.iter().filter(|at| at.step >= 0) {
        let made = task_based::fork(&at.values, &newest, "second", true).await;
        made.unwrap_or_else(|error| panic!("{error}: {:?}", at.info())).remove().await.unwrap();
    }
    all.len()
}

#[tokio::test]
async fn tasks_go_on_from_each_question_and_are_forked_after_the_end() {
    let (repository, cast) = (Repository::new(), Cast::new(troubled));
    let graph = task_based::graph::<Arc<Cast>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&cast)));
    let mut names = run_through(&thread, &repository, &[("1", "none"), ("2", "1")]).await.unwrap();
    names.dedup();
    assert_eq!(ALL.iter().filter(|name| !names.contains(&(**name).to_owned())).count(), 0, "{names:?}");
    collect(&repository);
    assert!(forks(&thread).await > 10);
    assert!(thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn phases_go_on_from_each_question_and_are_forked_after_the_end() {
    let (repository, cast) = (Repository::new(), Cast::new(troubled));
    let graph = phased::graph::<Arc<Cast>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&cast)));
    let tasks = [("1", "none"), ("2", "none"), ("3", "1, 2")];
    let mut names = run_through(&thread, &repository, &tasks).await.unwrap();
    names.dedup();
    assert_eq!(ALL.iter().filter(|name| !names.contains(&(**name).to_owned())).count(), 0, "{names:?}");
    collect(&repository);
    assert!(forks(&thread).await > 10);
    assert!(thread.verify().await.unwrap().agrees());
}

/// Runs to the end after a kill at each of some writes, with a collection in between.
#[rstest]
#[case::tasks(false)]
#[case::phases(true)]
#[tokio::test]
async fn a_run_that_is_killed_goes_on_after_a_collection(#[case] in_phases: bool) {
    for at in (8..).step_by(23) {
        let (repository, cast, store) = (Repository::new(), Cast::new(troubled), Arc::new(MemoryCheckpointer::new()));
        let failing: Arc<dyn Checkpointer> = Arc::new(FailingCheckpointer::new(store.clone(), at));
        let tasks = [("1", "none"), ("2", if in_phases { "none" } else { "1" })];
        let context = || Arc::new(Arc::clone(&cast));
        let mut is_cut = false;
        for store in [failing, store as Arc<dyn Checkpointer>] {
            let ended = if in_phases {
                let graph = phased::graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
                run_through(&graph.thread_with("clock", context()), &repository, &tasks).await
            } else {
                let graph = task_based::graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
                run_through(&graph.thread_with("clock", context()), &repository, &tasks).await
            };
            if !is_cut && ended.is_ok() {
                return; // it ended before the cut
            }
            assert!(!is_cut || ended.is_ok(), "cut at {at}: {ended:?}");
            is_cut = true;
            collect(&repository);
        }
    }
}

#[tokio::test]
async fn a_code_task_goes_on_when_it_was_given_up_and_is_forked_after_the_end() {
    let mut spec = spec();
    spec.policy.max_attempts = 1;
    let cast = Cast::new(|call| {
        let text = if call.nth > 0 { "in\n" } else { "error: late\n" };
        let work = if call.is_developer() { writes(&call, "tides.txt", text) } else { Value::Null };
        std::future::ready(Ok(work))
    });
    let desk = Desk::with(cast, CHECK, spec, &Flags::default());
    assert_eq!(desk.run().await.questions()[0].name(), "gave_up");
    collect(&desk.repository);
    let again = AfterGivingUp::Retry { attempts: 1, note: String::new() };
    desk.thread.resume::<TaskGivenUp>(again).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    collect(&desk.repository);
    let newest = desk.state().await;
    let all = desk.thread.history().await.unwrap().all().await.unwrap();
    for at in all.iter().filter(|at| at.step >= 0) {
        let values: &CodeTaskState = &at.values;
        let made = code_task::fork(values, &newest, "second", true).await;
        made.unwrap_or_else(|error| panic!("{error}: {:?}", at.info())).remove().await.unwrap();
    }
    assert!(desk.thread.verify().await.unwrap().agrees());
}

/// A thread of an earlier version has no reference yet; the first thing that its next run makes is no reason to keep only
/// that.
#[tokio::test]
async fn what_the_records_of_an_earlier_version_name_is_kept_from_the_next_run_on() {
    let (repository, cast) = (Repository::new(), Cast::new(troubled));
    let graph = phased::graph::<Arc<Cast>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&cast)));
    let input = ExecutionState::update().working_dir(repository.path());
    let tasks = [("1", "none"), ("2", "none")];
    let mut outcome = thread.invoke(input.plan_markdown(Some(plan(&tasks))).profile(profile())).await.unwrap();
    while outcome.questions()[0].name() != "halted" {
        outcome = answered(&thread, &outcome).await.unwrap().1;
    }
    // As if only what was made last had been kept.
    let tree = repository.git(&["rev-parse", "main^{tree}"]);
    let last = repository.git(&["commit-tree", "-m", "keep", tree.trim()]);
    repository.git(&["update-ref", "refs/superstep/clock/objects", last.trim()]);
    let again = answered(&thread, &outcome).await.unwrap().1;
    collect(&repository);
    let mut outcome = again;
    while !outcome.questions().is_empty() {
        outcome = answered(&thread, &outcome).await.unwrap().1;
        collect(&repository);
    }
    assert_eq!(outcome.finished().unwrap().result.outcome, Some(RunOutcome::Completed));
    assert!(forks(&thread).await > 10);
}
