use std::sync::Arc;

use superstep::drivers::Session;
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::workflows::Profile;
use superstep::workflows::task_based::{ExecutionState, ExecutionStateUpdate, Mark, RunOutcome, graph};

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::{Repository, write};

pub(crate) const THREE: &str = "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n### Task 2: Hands\n\nHands.\n\n\
### Task 3: Bell\n\nA bell.\n";

pub(crate) fn profile() -> Profile {
    Profile { max_task_review_iterations: 2, ..Profile::default() }
}

pub(crate) fn input(repository: &Repository, plan: &str) -> ExecutionStateUpdate {
    ExecutionState::update().working_dir(repository.path()).plan_markdown(Some(plan.to_owned())).profile(profile())
}

/// Writes a file for each turn, and approves everything.
fn willing() -> Arc<Agent> {
    Agent::new(|asked, folder, nth| match asked.role.as_str() {
        "developer" => {
            write(folder, &format!("part-{nth}.txt"), &format!("{nth}\n"));
            Ok(work())
        }
        _ => Ok(approved()),
    })
}

#[tokio::test]
async fn three_tasks_end_in_three_commits() {
    let (repository, agent) = (Repository::new(), willing());
    let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
    let outcome = thread.invoke(input(&repository, THREE)).await.unwrap();
    assert_eq!(outcome.questions()[0].name(), "approval");
    let outcome = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();
    let state = outcome.finished().unwrap();
    assert_eq!(state.outcome, Some(RunOutcome::Completed));
    assert!(state.tasks.iter().all(|task| task.mark == Mark::Done && task.commit.is_some()), "{:?}", state.tasks);
    assert_eq!(repository.subjects("main"), ["begin"]);
    assert_eq!(
        repository.subjects("superstep/clock"),
        ["begin", "feat(unknown): complete task 1", "feat(unknown): complete task 2", "feat(unknown): complete task 3"]
    );
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!((agent.count("developer"), agent.count("reviewer")), (3, 4), "with the review of everything");
    assert!(agent.asked("developer").iter().all(|asked| asked.session == Session::New));
}

#[tokio::test]
async fn a_rejected_task_goes_on_in_its_session_and_halts_at_the_limit() {
    let repository = Repository::new();
    let agent = Agent::new(|asked, folder, nth| match asked.role.as_str() {
        "developer" => {
            write(folder, "a.txt", &format!("{nth}\n"));
            Ok(work())
        }
        _ => Ok(rejected("no")),
    });
    let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
    thread.invoke(input(&repository, THREE)).await.unwrap();
    let outcome = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();
    assert_eq!(outcome.questions()[0].name(), "halted");
    assert_eq!((agent.count("developer"), agent.count("reviewer")), (2, 2));
    let asked = agent.asked("developer");
    let Session::Resume(session) = &asked[1].session else { panic!("{:?}", asked[1]) };
    assert_eq!(session.id, "developer-0");
    assert!(asked[1].prompt.contains("no"), "{}", asked[1].prompt);
    assert_eq!(outcome.state().outcome, Some(RunOutcome::Halted));
    assert_eq!(repository.subjects("superstep/clock"), ["begin"]);
    let refs = repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
    assert_eq!(refs, "refs/superstep/clock/task-1/attempt-1\nrefs/superstep/clock/task-1/attempt-2\n");
}
