//! A run that is killed anywhere ends as an undisturbed one.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer, SledCheckpointer};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph};

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::{Repository, write};
use crate::scene::{RunResult, Tasks, plan, profile};

/// Three tasks, of which the second is rejected once.
fn agent() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| if call.task == "2" && call.attempt == 1 { rejected("no") } else { approved() },
    )
}

fn thread(store: Arc<dyn Checkpointer>, agent: &Arc<Agent>) -> Tasks {
    let graph = graph::<Arc<Agent>>().unwrap().with_shared_checkpointer(store);
    graph.thread_with("clock", Arc::new(Arc::clone(agent)))
}

/// Starts, resumes or answers, whichever is next, until the run ends.
async fn advance(thread: &Tasks, repository: &Repository) -> Result<RunResult, RunError> {
    advance_with(thread, repository, 3).await
}

async fn advance_with(thread: &Tasks, repository: &Repository, tasks: usize) -> Result<RunResult, RunError> {
    let mut outcome = match thread.state().await? {
        None => {
            let input = ExecutionState::update().working_dir(repository.path());
            thread.invoke(input.plan_markdown(Some(plan(tasks))).profile(profile())).await?
        }
        Some(_) => thread.proceed().await?,
    };
    while !outcome.questions().is_empty() {
        outcome = thread.resume::<ApprovePlan>(Decision::approve()).await?;
    }
    Ok(outcome)
}

/// Returns the trees and subjects of the branch, and the kept work.
fn end(repository: &Repository) -> [String; 3] {
    let log = repository.git(&["log", "--format=%T %s", "superstep/clock"]);
    let refs = repository.git(&["for-each-ref", "--format=%(refname) %(tree)", "refs/superstep"]);
    [log, crate::scene::for_people(&refs), repository.git(&["status", "--porcelain"])]
}

async fn undisturbed() -> ([String; 3], u64, Vec<String>) {
    let (repository, agent) = (Repository::new(), agent());
    let whole = Arc::new(FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), u64::MAX));
    let state = advance(&thread(whole.clone(), &agent), &repository).await.unwrap().finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    (end(&repository), whole.commits(), agent.tasks("developer"))
}

#[rstest]
#[case::some(17)]
#[ignore = "minutes: by hand"]
#[case::each(1)]
#[tokio::test]
async fn a_run_cut_at_any_write_ends_the_same(#[case] stride: usize) {
    let (whole, writes, worked) = undisturbed().await;
    assert_eq!(worked, ["1", "2", "2", "3"]);
    for at in (1..=writes).step_by(stride) {
        for lost in [false, true] {
            let (repository, agent, store) = (Repository::new(), agent(), Arc::new(MemoryCheckpointer::new()));
            let failing = if lost { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
            let _cut = advance(&thread(Arc::new(failing(store.clone(), at)), &agent), &repository).await;
            advance(&thread(store, &agent), &repository).await.unwrap_or_else(|error| panic!("{at} {lost}: {error}"));
            assert_eq!(end(&repository), whole, "write {at}, stored: {lost}");
            assert_eq!(agent.tasks("developer"), worked, "write {at}, stored: {lost}: no turn is asked again");
        }
    }
}

#[tokio::test]
async fn a_run_stopped_after_each_superstep_resumes_from_the_disk() {
    let (whole, _, worked) = undisturbed().await;
    let (repository, agent, folder) = (Repository::new(), agent(), tempfile::tempdir().unwrap());
    for _ in 0..100 {
        let store = Arc::new(SledCheckpointer::open(folder.path().join("store")).unwrap());
        let ended = advance(&thread(store, &agent).max_supersteps(1), &repository).await.unwrap().finished();
        if ended.is_some() {
            assert_eq!((end(&repository), agent.tasks("developer")), (whole, worked));
            return;
        }
    }
    panic!("it does not end");
}

#[tokio::test]
async fn the_users_branch_is_restored_wherever_the_start_is_cut() {
    let moves = || {
        Agent::crew(
            |_, folder, _| {
                write(folder, "part.txt", "x\n");
                let git = |args: &[&str]| std::process::Command::new("git").args(args).current_dir(folder).status();
                for args in [&["switch", "-q", "main"][..], &["add", "."], &["commit", "-q", "-m", "mine"]] {
                    assert!(git(args).unwrap().success());
                }
                work()
            },
            |_, _| approved(),
        )
    };
    for at in 1.. {
        let (repository, agent, store) = (Repository::new(), moves(), Arc::new(MemoryCheckpointer::new()));
        let begin = repository.git(&["rev-parse", "main"]);
        let _cut =
            advance_with(&thread(Arc::new(FailingCheckpointer::new(store.clone(), at)), &agent), &repository, 1).await;
        let has_started = agent.count("developer") > 0;
        advance_with(&thread(store, &agent), &repository, 1).await.unwrap().finished().unwrap();
        assert_eq!(repository.git(&["rev-parse", "main"]), begin, "cut at write {at}");
        if has_started {
            assert!(at > 5, "cut at {at}");
            return;
        }
    }
}
