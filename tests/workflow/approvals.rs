//! The approval of a plan.

use rstest::rstest;
use serde_json::{Value, json};
use superstep::nodes::{ApprovePlan, PlanChanged, PlanChoice};
use superstep::plan::{Decision, Issue, TaskId};
use superstep_workflows::task_based::{ExecutionState, Mark, RunOutcome};

use crate::agent::{Agent, Call, approved, work};
use crate::repository::write;
use crate::scene::{RunResult, Scene, asks, done, marks, plan, profile};

fn ids(ids: &[&str]) -> Vec<TaskId> {
    ids.iter().map(|id| id.parse().unwrap()).collect()
}

async fn decide(scene: &Scene, decision: Decision) -> RunResult {
    scene.thread.resume::<ApprovePlan>(decision).await.unwrap()
}

#[rstest]
#[case::the_first(&["1"], &[1])]
#[case::the_last(&["3"], &[3])]
#[case::around(&["1", "3"], &[1, 3])]
#[tokio::test]
async fn tasks_that_are_not_approved_are_skipped(#[case] approved: &[&str], #[case] committed: &[usize]) {
    let scene = Scene::new(Agent::willing());
    scene.thread.invoke(scene.input(&plan(3), profile())).await.unwrap();
    let state = decide(&scene, Decision::approve_only(ids(approved))).await.finished().unwrap();
    assert_eq!(scene.commits(), committed.iter().map(|&id| done(id)).collect::<Vec<_>>());
    assert_eq!(scene.agent.tasks("developer"), approved);
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(marks(&state).iter().filter(|mark| **mark == Mark::Skipped).count(), 3 - approved.len());
}

#[rstest]
#[case::unknown(Decision::approve_only(ids(&["7"])))]
#[case::none(Decision::approve_only([]))]
#[case::unreadable(Decision::edit_plan("### Task 1: A\n\nA.\n\n### Task 1: B\n\nB.\n"))]
#[tokio::test]
async fn an_invalid_decision_is_requested_again(#[case] decision: Decision) {
    let scene = Scene::new(Agent::willing());
    scene.thread.invoke(scene.input(&plan(3), profile())).await.unwrap();
    let outcome = decide(&scene, decision).await;
    assert_eq!(asks(&outcome), "approval");
    assert!(!outcome.questions()[0].payload::<ApprovePlan>().unwrap().problems.is_empty());
    assert!(decide(&scene, Decision::approve()).await.finished().is_some());
}

#[tokio::test]
async fn an_edited_plan_is_the_one_that_is_executed() {
    let scene = Scene::new(Agent::willing());
    scene.thread.invoke(scene.input(&plan(3), profile())).await.unwrap();
    let state = decide(&scene, Decision::edit_plan(plan(2))).await.finished().unwrap();
    assert_eq!((scene.commits(), state.source.plan_markdown.clone()), (vec![done(1), done(2)], Some(plan(2))));
}

#[tokio::test]
async fn a_rejected_plan_ends_the_run_without_changes() {
    let scene = Scene::new(Agent::willing());
    scene.thread.invoke(scene.input(&plan(3), profile())).await.unwrap();
    let state = decide(&scene, Decision::reject("no")).await.finished().unwrap();
    assert_eq!(state.planning.plan_feedback.as_deref(), Some("no"));
    assert_eq!((state.result.outcome, state.planning.human_approved), (Some(RunOutcome::Rejected), Some(false)));
    assert_eq!(scene.repository.git(&["branch", "--format=%(refname:short)"]), "main\n");
    assert!(scene.agent.log.lock().unwrap().is_empty());
}

/// A plan of tasks with these ids.
fn proposal(tasks: &[&str]) -> Value {
    let task = |id: &&str| json!({"id": id, "title": format!("Part {id}"), "description": format!("Write part {id}.")});
    json!({"goal": "A clock", "approach": "", "success_criteria": [], "tasks": tasks.iter().map(task).collect::<Vec<_>>()})
}

/// A scene whose architect writes the plans that a function returns.
fn architect(plan: impl Fn(&Call, usize) -> Value + Send + Sync + 'static) -> Scene {
    Scene::new(Agent::new(move |call, folder, nth| {
        Ok(match call.tool.as_str() {
            "submit_plan" => plan(call, nth),
            "submit_work" => {
                write(folder, &format!("part-{}.txt", call.task), "x\n");
                work()
            }
            _ => approved(),
        })
    }))
}

async fn from_issue(scene: &Scene) -> RunResult {
    let issue = Issue { id: "CLK-7".into(), title: "A clock".into(), description: "It shall tick.".into() };
    let input = ExecutionState::update().working_dir(scene.repository.path()).issue(Some(issue)).profile(profile());
    scene.thread.invoke(input).await.unwrap()
}

#[tokio::test]
async fn requested_changes_reach_the_architect_in_its_session() {
    let scene = architect(|call, nth| {
        assert_eq!(call.prompt.contains("with a bell"), nth == 1, "{}", call.prompt);
        proposal(if nth == 0 { &["1"] } else { &["1", "2"] })
    });
    assert_eq!(asks(&from_issue(&scene).await), "approval");
    let outcome = decide(&scene, Decision::revise("with a bell")).await;
    assert_eq!((asks(&outcome), scene.agent.count("developer")), ("approval", 0));
    assert_eq!(outcome.questions()[0].payload::<ApprovePlan>().unwrap().tasks.len(), 2);
    assert_eq!(scene.sessions("architect"), [":architect-0", ":architect-0*"]);
    let state = decide(&scene, Decision::approve()).await.finished().unwrap();
    assert_eq!(state.run.total_tasks, Some(2));
    let subjects = scene.repository.subjects("superstep/CLK-7");
    assert_eq!(subjects[1..], ["feat(CLK-7): Part 1 (task 1)", "feat(CLK-7): Part 2 (task 2)"]);
}

#[rstest]
#[case::adopted(PlanChoice::Adopt, "Write it in brass.")]
#[case::kept(PlanChoice::Keep, "Write part 1.")]
#[tokio::test]
async fn a_plan_of_the_architect_can_be_read_and_changed_in_a_file(#[case] which: PlanChoice, #[case] wording: &str) {
    let scene = architect(|_, _| proposal(&["1"]));
    let outcome = from_issue(&scene).await;
    let path = outcome.questions()[0].payload::<ApprovePlan>().unwrap().path.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(Some(&text), outcome.state().source.plan_markdown.as_ref());
    std::fs::write(&path, text.replace("Write part 1.", "Write it in brass.")).unwrap();
    assert_eq!(asks(&decide(&scene, Decision::approve()).await), "plan_changed");
    let mut outcome = scene.thread.resume::<PlanChanged>(which).await.unwrap();
    if which == PlanChoice::Adopt {
        outcome = decide(&scene, Decision::approve()).await;
    }
    let state = outcome.finished().unwrap();
    assert!(scene.agent.calls("developer")[0].prompt.contains(wording));
    assert_eq!(state.source.plan_path.as_deref(), Some(std::path::Path::new(&path)));
    assert_eq!(scene.repository.git(&["status", "--porcelain"]), "");
}

#[rstest]
#[case::once(2, 3, true)]
#[case::never(99, 8, false)]
#[tokio::test]
async fn an_unreadable_plan_is_requested_again_and_then_a_person_decides(
    #[case] unreadable: usize,
    #[case] calls: usize,
    #[case] is_readable: bool,
) {
    let scene = architect(move |_, nth| if nth < unreadable { json!({"steps": 1}) } else { proposal(&["1"]) });
    let outcome = from_issue(&scene).await;
    assert_eq!((asks(&outcome), scene.agent.count("architect")), ("approval", calls));
    let question: ApprovePlan = outcome.questions()[0].payload().unwrap();
    assert_eq!(
        (question.problems.is_empty(), question.tasks.len()),
        (is_readable, usize::from(is_readable)),
        "{question:?}"
    );
    if !is_readable {
        let [problem] = question.problems.as_slice() else { panic!("{question:?}") };
        assert!(problem.contains("handed over no plan"), "{problem}");
        let outcome = decide(&scene, Decision::revise("use the tool")).await;
        assert_eq!((asks(&outcome), scene.agent.count("architect")), ("approval", 16));
        assert!(scene.agent.calls("architect")[8].prompt.contains("use the tool"));
        assert!(decide(&scene, Decision::edit_plan(plan(1))).await.finished().is_some());
    }
}

#[rstest]
#[case::mended(1, 2)]
#[case::mended_at_last(3, 4)]
#[case::never(99, 4)]
#[tokio::test]
async fn an_invalid_plan_is_returned_three_times_and_then_a_person_decides(#[case] bad: usize, #[case] calls: usize) {
    let scene = architect(move |_, nth| proposal(if nth < bad { &["1", "1"] } else { &["1"] }));
    let outcome = from_issue(&scene).await;
    assert_eq!((asks(&outcome), scene.agent.count("architect")), ("approval", calls));
    let question: ApprovePlan = outcome.questions()[0].payload().unwrap();
    assert_eq!(question.problems.is_empty(), bad < 99, "{question:?}");
    if bad == 99 {
        assert_eq!(asks(&decide(&scene, Decision::approve()).await), "approval", "it cannot be executed");
        assert!(decide(&scene, Decision::edit_plan(plan(1))).await.finished().is_some());
    }
}
