//! Another plan with tasks that were worked on: no finding about them is lost, and dropped tasks are named.

use rstest::rstest;
use superstep::nodes::AfterHalt;
use superstep_workflows::{Profile, RetrySession};

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, plan, profile};

/// Writes a file for each attempt; task 2 is rejected in its first attempts, with a comment that names the attempt.
fn rejected_twice() -> std::sync::Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| match (call.task.as_str(), call.attempt) {
            ("2", attempt @ (1 | 2)) => rejected(&format!("finding {attempt}")),
            _ => approved(),
        },
    )
}

const ANOTHER_FIRST: &str = "# P\n\n### Task 1: Part 1\n\nA.\n\n### Task 9: New\n\nN.\n\n### Task 2: Part 2\n\nB.\n";

#[rstest]
#[case::the_task(plan(3).replace("Write part 2.", "Write another part 2."), 3)]
#[case::later(ANOTHER_FIRST.into(), 4)]
#[tokio::test]
async fn a_task_that_another_plan_keeps_has_its_open_comments(
    #[case] markdown: String,
    #[case] nth: usize,
    #[values(RetrySession::Resume, RetrySession::Fresh, RetrySession::FreshReset)] how: RetrySession,
) {
    let scene = Scene::new(rejected_twice());
    scene.run(&plan(3), Profile { retry_session: how, ..profile() }).await;
    let state = scene.halted(AfterHalt::EditPlan { markdown }).await.finished().unwrap();
    let calls = scene.agent.calls("developer");
    let prompt = &calls[nth].prompt;
    assert_eq!(calls[nth].task, "2");
    assert!(prompt.contains("finding 1") && prompt.contains("finding 2"), "{prompt}");
    let is_taken_out = nth == 4 || how == RetrySession::FreshReset;
    assert_eq!(prompt.contains("refs/superstep/clock/task-2/attempt-2"), is_taken_out, "{prompt}");
    for other in calls.iter().filter(|call| call.task != "2") {
        assert!(!other.prompt.contains("finding") && !other.prompt.contains("task-2"), "{}", other.prompt);
    }
    let reviewed = scene.agent.calls("reviewer").into_iter().rfind(|call| call.task == "2").unwrap();
    assert!(reviewed.prompt.contains("finding 2"), "the reviewer is asked about them: {}", reviewed.prompt);
    assert!(
        state.judgement.unfinished.is_empty()
            && state.attempt.open_comments.is_empty()
            && state.judgement.taken_out.is_none()
    );
}

#[tokio::test]
async fn a_task_that_another_plan_keeps_has_its_failed_checks() {
    let broken = |call: &crate::agent::Call, folder: &std::path::Path, _: usize| {
        let name = format!("part-{}.txt", call.task);
        write(folder, &name, if call.task == "1" && call.attempt < 3 { "broken\n" } else { "whole\n" });
        work()
    };
    let scene = Scene::new(Agent::crew(broken, |_, _| approved()));
    let checked =
        "# P\n\n### Task 1: A\n\nA.\n\n**Verify:** `grep whole part-1.txt || { echo it is broken; exit 1; }`\n";
    scene.run(checked, profile()).await;
    let more = format!("{}\n### Task 9: New\n\nN.\n", checked.replace("A.\n", "Another A.\n"));
    let state = scene.halted(AfterHalt::EditPlan { markdown: more }).await.finished().unwrap();
    let prompt = &scene.agent.calls("developer")[2].prompt;
    assert!(prompt.contains("it is broken") && prompt.contains("Another A."), "{prompt}");
    assert!(!scene.agent.calls("developer")[3].prompt.contains("it is broken"));
    assert!(state.attempt.failures.is_empty());
}

#[tokio::test]
async fn tasks_that_another_plan_drops_are_named() {
    let scene = Scene::new(rejected_twice());
    scene.run(&plan(4), profile()).await;
    let markdown = "# P\n\n### Task 9: New\n\nN.\n\n### Task 3: Part 3\n\nC.\n".to_owned();
    let state = scene.halted(AfterHalt::EditPlan { markdown }).await.finished().unwrap();
    let named: Vec<&str> =
        state.result.notices.iter().map(String::as_str).filter(|note| note.contains("new plan")).collect();
    insta::assert_snapshot!(named.join("\n"), @r"
    the new plan does not have task 1 (Part 1), which is done: its commit stays
    the new plan drops task 2 (Part 2), with 2 open comments; its work is kept as refs/superstep/clock/task-2/attempt-2
    the new plan drops task 4 (Part 4)
    ");
    assert!(scene.agent.calls("developer").iter().skip(3).all(|call| !call.prompt.contains("finding")));
}

#[tokio::test]
async fn a_task_that_is_postponed_twice_keeps_its_findings() {
    let agent = Agent::crew(
        |call, folder, nth| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{nth}\n"));
            work()
        },
        |call, _| match (call.task.as_str(), call.attempt) {
            ("1" | "9", 1 | 2) => rejected(&format!("finding about {}", call.task)),
            _ => approved(),
        },
    );
    let scene = Scene::new(agent);
    scene.run("# P\n\n### Task 1: A\n\nA.\n", profile()).await;
    let second = "# P\n\n### Task 9: B\n\nB.\n\n### Task 1: A\n\nA.\n";
    scene.halted(AfterHalt::EditPlan { markdown: second.into() }).await;
    let third = format!("{}\n\n### Task 9: B\n\nB.\n\n### Task 1: A\n\nA.\n", "# P\n\n### Task 7: C\n\nC.");
    let state = scene.halted(AfterHalt::EditPlan { markdown: third }).await.finished().unwrap();
    let prompts = scene.agent.calls("developer").into_iter().skip(4).map(|call| (call.task.clone(), call.prompt));
    for (task, prompt) in prompts {
        for about in ["1", "9"] {
            assert_eq!(prompt.contains(&format!("finding about {about}")), task == about, "{prompt}");
            assert_eq!(prompt.contains(&format!("task-{about}/attempt-2")), task == about, "{prompt}");
        }
    }
    assert!(state.result.notices.iter().all(|note| !note.contains("drops")), "{:?}", state.result.notices);
}
