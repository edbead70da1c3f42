//! Plans that are executed in phases, plans that are executed task by task, and approvals of a part.

use rstest::rstest;
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::task_based::{Mark, RunOutcome};
use superstep_workflows::{PlanContext, Profile};

use crate::agent::{Agent, approved, part, rejected};
use crate::phases::scene::{Phases, done, halted, profile, statuses, three_phases};
use crate::repository::write;
use crate::scene::{asks, marks, retry};

const TITLES: &str = "# Clock\n\n**Goal:** A clock.\n\n";

fn plain() -> String {
    format!("{TITLES}### Task 1: Part 1\n\nWrite part 1.\n\n### Task 2: Part 2\n\nWrite part 2.\n")
}

#[rstest]
#[case::without_dependencies(plain(), profile(), &["1", "2"])]
#[case::switched_off(three_phases(), off(), &["1", "2a", "2b", "2c", "3"])]
#[tokio::test]
async fn a_plan_that_is_not_phased_is_executed_task_by_task_in_the_same_thread(
    #[case] plan: String,
    #[case] profile: Profile,
    #[case] tasks: &[&str],
) {
    let scene = Phases::new(Agent::willing());
    assert_eq!(asks(&scene.thread.invoke(scene.input(&plan, profile)).await.unwrap()), "approval");
    let state = scene.approve().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, marks(&state)), (Some(RunOutcome::Completed), vec![Mark::Done; tasks.len()]));
    assert!(state.phased.phases.is_empty());
    assert_eq!(scene.commits(), tasks.iter().map(|id| done(id)).collect::<Vec<_>>());
    assert!(scene.trailers("Superstep-Phase").is_empty());
    let prompts = scene.prompts(tasks[0]);
    assert!(!prompts[0].contains(&format!("Write part {}.", tasks[1])), "one section: {}", prompts[0]);
    assert_eq!(scene.agent.tasks("reviewer"), tasks);
    scene.is_over().await;
}

fn off() -> Profile {
    let mut profile = profile();
    profile.phased.enabled = false;
    profile
}

#[tokio::test]
async fn phase_headings_alone_make_phases() {
    let markdown = format!(
        "{TITLES}## Phase 1: Base\n\n### Task 1: A\n\nA.\n\n### Task 2: B\n\nB.\n\n## Phase 2: Top\n\n### Task 3: C\n\nC.\n"
    );
    let scene = Phases::new(Agent::willing());
    let outcome = scene.thread.invoke(scene.input(&markdown, profile())).await.unwrap();
    let question: ApprovePlan = outcome.questions()[0].payload().unwrap();
    assert_eq!(question.phases, [vec!["1", "2"], vec!["3"]]);
    let state = scene.approve().await.unwrap().finished().unwrap();
    assert_eq!(statuses(&state), ["1 completed: 1 completed, 2 completed", "2 completed: 3 completed"]);
    assert_eq!(scene.trailers("Superstep-Phase"), ["1", "1", "2"]);
    scene.is_over().await;
}

#[tokio::test]
async fn prompts_hold_the_whole_plan_unless_the_profile_says_otherwise() {
    let scene = Phases::new(Agent::willing());
    scene.run(&three_phases(), profile()).await.finished().unwrap();
    let full = &scene.prompts("2b")[0];
    for text in ["Write part 1.", "Write part 3.", "2b: Part 2b", "Phase 2 of 3"] {
        assert!(full.contains(text), "{text}: {full}");
    }
    let scene = Phases::new(Agent::willing());
    let mut profile = profile();
    profile.phased.plan_context = PlanContext::Section;
    scene.run(&three_phases(), profile).await.finished().unwrap();
    let section = &scene.prompts("2b")[0];
    assert!(section.contains("Write part 2b.") && !section.contains("Write part 2a."), "{section}");
}

#[tokio::test]
async fn a_part_of_the_tasks_is_approved() {
    let scene = Phases::new(Agent::willing());
    scene.thread.invoke(scene.input(&three_phases(), profile())).await.unwrap();
    let only = Decision::approve_only(["1", "2a", "2b", "3"].map(|id| id.parse().unwrap()));
    let state = scene.thread.resume::<ApprovePlan>(only).await.unwrap().finished().unwrap();
    assert_eq!(scene.commits(), ["1", "2a", "2b", "3"].map(done));
    assert_eq!(
        statuses(&state),
        ["1 completed: 1 completed", "2 completed: 2a completed, 2b completed, 2c failed", "3 completed: 3 completed"]
    );
    let line = &state.phased.phases[1].subtasks[2];
    assert_eq!(line.error.as_deref(), Some("left out: it was not approved"));
    assert!(
        state.result.notices.iter().any(|notice| notice == "subtask 2c is left out: it was not approved"),
        "{:?}",
        state.result.notices
    );
    scene.is_over().await;
}

#[tokio::test]
async fn a_subtask_with_an_unapproved_dependency_interrupts_before_it_starts() {
    let scene = Phases::new(Agent::willing());
    scene.thread.invoke(scene.input(&three_phases(), profile())).await.unwrap();
    let only = Decision::approve_only(["2a", "2c", "3"].map(|id| id.parse().unwrap()));
    let outcome = scene.thread.resume::<ApprovePlan>(only).await.unwrap();
    let payload = halted(&outcome);
    assert_eq!((&payload["phase"], &payload["subtask"]), (&2.into(), &"2a".into()));
    assert_eq!(payload["reason"], "it depends on subtask 1, which is left out");
    assert_eq!(scene.agent.count("developer"), 0);
    scene.is_tidy().await;
    let outcome = scene.answer(superstep::nodes::AfterHalt::Skip).await;
    assert_eq!(halted(&outcome)["subtask"], "2c");
    let state = scene.answer(retry(1, "")).await.finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (vec![done("2c")], Some(RunOutcome::Completed)));
    scene.is_over().await;
}

#[rstest]
#[case::rejected(false)]
#[case::collided(true)]
#[tokio::test]
async fn an_unapproved_dependency_causes_one_question(#[case] collides: bool) {
    let agent = Agent::crew(
        move |call, folder, _| {
            if collides && call.attempt == 1 {
                write(folder, "same.txt", &call.task);
            }
            part(folder, &call.task)
        },
        move |_, nth| if nth == 0 && !collides { rejected("flaw") } else { approved() },
    );
    let scene = Phases::new(agent);
    scene.thread.invoke(scene.input(&three_phases(), profile())).await.unwrap();
    let only = Decision::approve_only(["2a", "2b"].map(|id| id.parse().unwrap()));
    let outcome = scene.thread.resume::<ApprovePlan>(only).await.unwrap();
    assert_eq!(halted(&outcome)["subtask"], "2a");
    assert_eq!(halted(&scene.answer(retry(1, "")).await)["subtask"], "2b");
    let state = scene.answer(retry(1, "")).await.finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (["2a", "2b"].map(done).to_vec(), Some(RunOutcome::Completed)));
    assert_eq!((state.judgement.halts, scene.agent.count("developer")), (2, if collides { 3 } else { 4 }));
    scene.is_over().await;
}
