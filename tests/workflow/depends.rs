//! Tasks that depend on others: their order, and skipped dependencies.

use rstest::rstest;
use superstep::graph::HumanQuestion;
use superstep::nodes::{AfterHalt, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep_workflows::task_based::{Mark, RunOutcome};

use crate::agent::Agent;
use crate::scene::{RunResult, Scene, asks, done, marks, profile, retry};

/// A plan of tasks that depend on others.
fn plan(tasks: &[(&str, &str)]) -> String {
    let task =
        |(id, needs): &(&str, &str)| format!("### Task {id}: Part {id}\n\nWrite it.\n\n**Depends on:** {needs}\n\n");
    format!("# Clock\n\n**Goal:** A clock.\n\n{}", tasks.iter().map(task).collect::<String>())
}

fn chain() -> String {
    plan(&[("1", "none"), ("2", "1"), ("3", "2"), ("4", "none")])
}

/// Runs to the approval, and approves these tasks only.
async fn approve(scene: &Scene, markdown: &str, tasks: &[&str]) -> RunResult {
    scene.thread.invoke(scene.input(markdown, profile())).await.unwrap();
    let only = Decision::approve_only(tasks.iter().map(|id| id.parse().unwrap()));
    scene.thread.resume::<ApprovePlan>(only).await.unwrap()
}

fn halted(outcome: &RunResult) -> Halted {
    assert_eq!(asks(outcome), "halted");
    outcome.questions()[0].payload().unwrap()
}

#[tokio::test]
async fn a_task_with_a_skipped_dependency_interrupts_before_it_starts() {
    let scene = Scene::new(Agent::willing());
    let outcome = approve(&scene, &chain(), &["2", "3", "4"]).await;
    let question = halted(&outcome);
    assert_eq!((question.task.as_str(), question.attempts), ("2", 0));
    assert_eq!(question.reason, "it depends on task 1, which was skipped");
    assert_eq!(marks(outcome.state()), [Mark::Skipped, Mark::Halted, Mark::Pending, Mark::Pending]);
    assert_eq!((scene.agent.count("developer"), outcome.state().result.outcome), (0, Some(RunOutcome::Halted)));

    let outcome = scene.halted(AfterHalt::Skip).await;
    let question = halted(&outcome);
    assert_eq!(question.task, "3");
    assert_eq!(question.reason, "it depends on the tasks 1, 2, which were skipped");
    assert_eq!(scene.agent.count("developer"), 0);

    let state = scene.halted(retry(1, "do it all the same")).await.finished().unwrap();
    assert_eq!(marks(&state), [Mark::Skipped, Mark::Skipped, Mark::Done, Mark::Done]);
    assert_eq!((scene.commits(), state.result.outcome), (vec![done(3), done(4)], Some(RunOutcome::Completed)));
    assert!(scene.agent.calls("developer")[0].prompt.contains("do it all the same"));
}

#[rstest]
#[case::retry(retry(1, ""), &[2])]
#[case::skip(AfterHalt::Skip, &[])]
#[case::edit(AfterHalt::EditPlan { markdown: plan(&[("2", "none")]) }, &[2])]
#[case::abort(AfterHalt::Abort, &[])]
#[tokio::test]
async fn each_answer_holds_for_a_task_that_was_not_started(#[case] answer: AfterHalt, #[case] commits: &[usize]) {
    let scene = Scene::new(Agent::willing());
    let outcome = approve(&scene, &plan(&[("1", "none"), ("2", "1")]), &["2"]).await;
    assert_eq!(halted(&outcome).task, "2");
    let state = scene.halted(answer.clone()).await.finished().unwrap();
    assert_eq!(scene.commits(), commits.iter().map(|&id| done(id)).collect::<Vec<_>>());
    let ended = if answer == AfterHalt::Abort { RunOutcome::Cancelled } else { RunOutcome::Completed };
    assert_eq!((state.result.outcome, scene.agent.count("developer")), (Some(ended), commits.len()));
}

#[tokio::test]
async fn a_task_that_is_started_anyway_gets_every_attempt() {
    let agent = Agent::crew(
        |call, folder, _| crate::agent::part(folder, format!("{}-{}", call.task, call.attempt)),
        |_, nth| if nth == 0 { crate::agent::rejected("no") } else { crate::agent::approved() },
    );
    let scene = Scene::new(agent);
    approve(&scene, &plan(&[("1", "none"), ("2", "1")]), &["2"]).await;
    let state = scene.halted(retry(1, "")).await.finished().unwrap();
    assert_eq!((state.run.tasks[1].attempts, scene.commits()), (2, vec![done(2)]));
}

#[tokio::test]
async fn an_edited_plan_interrupts_for_the_task_that_it_puts_first() {
    let scene = Scene::new(Agent::willing());
    approve(&scene, &plan(&[("1", "none"), ("2", "1")]), &["2"]).await;
    let markdown = plan(&[("1", "none"), ("9", "1"), ("2", "none")]);
    let question = halted(&scene.halted(AfterHalt::EditPlan { markdown }).await);
    assert_eq!((question.task.as_str(), scene.agent.count("developer")), ("9", 0));
    let state = scene.halted(AfterHalt::Skip).await.finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (vec![done(2)], Some(RunOutcome::Completed)));
}

#[tokio::test]
async fn a_task_is_done_after_its_dependencies_even_if_the_plan_lists_it_first() {
    let scene = Scene::new(Agent::willing());
    let markdown = plan(&[("1", "3"), ("2", "none"), ("3", "none")]);
    let outcome = scene.thread.invoke(scene.input(&markdown, profile())).await.unwrap();
    let question: ApprovePlan = outcome.questions()[0].payload().unwrap();
    assert_eq!(question.phases, [vec!["2", "3"], vec!["1"]]);
    let described = question.describe(outcome.state()).unwrap();
    let line = ["task `1` depends on `3`, which comes after it", "  1: tasks 2, 3\n  2: task 1\n"];
    assert!(line.iter().all(|line| described.contains(line)), "{described}");
    let state = scene.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap();
    assert_eq!(scene.agent.tasks("developer"), ["2", "3", "1"]);
    assert_eq!(marks(&state), [Mark::Done; 3]);
}

#[tokio::test]
async fn phase_headings_alone_cause_no_question() {
    let scene = Scene::new(Agent::willing());
    let markdown = "# P\n\n## Phase 1\n\n### Task 1: Part 1\n\nA.\n\n## Phase 2\n\n### Task 2: Part 2\n\nB.\n";
    let outcome = scene.thread.invoke(scene.input(markdown, profile())).await.unwrap();
    assert_eq!(outcome.questions()[0].payload::<ApprovePlan>().unwrap().phases, [["1"], ["2"]]);
    let only = Decision::approve_only(["2".parse().unwrap()]);
    let state = scene.thread.resume::<ApprovePlan>(only).await.unwrap().finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (vec![done(2)], Some(RunOutcome::Completed)));
}
