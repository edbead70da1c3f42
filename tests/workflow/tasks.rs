use superstep::drivers::Session;
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{Mark, RunOutcome};

use crate::agent::{Agent, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, asks, plan, profile};

#[tokio::test]
async fn three_tasks_end_in_three_commits() {
    let scene = Scene::new(Agent::willing());
    let profile = Profile { final_review: true, ..profile() };
    let outcome = scene.thread.invoke(scene.input(&plan(3), profile)).await.unwrap();
    assert_eq!(outcome.questions()[0].name(), "approval");
    let outcome = scene.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();
    let Scene { repository, agent, .. } = &scene;
    let state = outcome.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(
        state.run.tasks.iter().all(|task| task.mark == Mark::Done && task.commit.is_some()),
        "{:?}",
        state.run.tasks
    );
    assert_eq!(repository.subjects("main"), ["begin"]);
    assert_eq!(
        repository.subjects("superstep/clock"),
        ["begin", "feat: Part 1 (task 1)", "feat: Part 2 (task 2)", "feat: Part 3 (task 3)"]
    );
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!((agent.count("developer"), agent.count("reviewer")), (3, 4), "with the review of everything");
    assert!(agent.calls("developer").iter().all(|call| call.session == Session::New));
}

#[tokio::test]
async fn a_rejected_task_continues_in_its_session_and_halts_at_the_limit() {
    let develop = |_: &_, folder: &std::path::Path, nth| {
        write(folder, "a.txt", &format!("{nth}\n"));
        work()
    };
    let scene = Scene::new(Agent::crew(develop, |_, _| rejected("no")));
    let outcome = scene.run(&plan(3), profile()).await;
    assert_eq!(asks(&outcome), "halted");
    let Scene { repository, agent, .. } = &scene;
    assert_eq!((agent.count("developer"), agent.count("reviewer")), (2, 2));
    let calls = agent.calls("developer");
    let Session::Resume(session) = &calls[1].session else { panic!("{:?}", calls[1]) };
    assert_eq!(session.id, "developer-0");
    assert!(calls[1].prompt.contains("no"), "{}", calls[1].prompt);
    assert_eq!(outcome.state().result.outcome, Some(RunOutcome::Halted));
    assert_eq!(repository.subjects("superstep/clock"), ["begin"]);
    assert_eq!(scene.refs(), ["task-1/attempt-1", "task-1/attempt-2"]);
}
