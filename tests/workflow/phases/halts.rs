//! Decisions on a subtask that failed, and their effect.

use std::sync::Arc;

use rstest::rstest;
use superstep::nodes::AfterHalt;
use superstep_workflows::phased::Omission;
use superstep_workflows::task_based::{AgenticStatus, RunOutcome};
use superstep_workflows::{OnExhausted, OnSubtaskFailure, Profile};

use crate::agent::{Agent, approved, work};
use crate::phases::scene::{Phases, done, git_in, halted, independent, plan, profile, statuses, task};
use crate::repository::write;
use crate::scene::retry;

/// Phase 1: 1, 2, 3; phase 2: 4 after 2, 5 after 1; phase 3: 6 after 4. The commands of 2 need a file `good.txt`.
fn checked() -> String {
    plan(&[
        task("1", "none", ""),
        task("2", "none", "**Verify:** `test -e good.txt`"),
        task("3", "none", ""),
        task("4", "2", ""),
        task("5", "1", ""),
        task("6", "4", ""),
    ])
}

/// Writes the number of the turn; the commands of task 2 succeed from the given turn on.
fn failing(passes_at: u32) -> Arc<Agent> {
    Agent::crew(
        move |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            if call.task == "2" && call.attempt >= passes_at {
                write(folder, "good.txt", "x\n");
            }
            work()
        },
        |_, _| approved(),
    )
}

/// The siblings of a failed subtask finish before a person is asked.
fn patient() -> Profile {
    let mut profile = Profile { max_task_review_iterations: 1, ..profile() };
    profile.phased.on_failure = OnSubtaskFailure::FinishSiblings;
    profile
}

#[tokio::test]
async fn a_retry_runs_unfinished_subtasks_in_another_attempt() {
    let scene = Phases::new(failing(2));
    let outcome = scene.run(&checked(), patient()).await;
    let payload = halted(&outcome);
    assert_eq!((&payload["phase"], &payload["subtask"], &payload["title"]), (&1.into(), &"2".into(), &"Part 2".into()));
    assert!(payload["reason"].as_str().unwrap().contains("test -e good.txt"), "{payload}");
    assert_eq!(statuses(outcome.state())[0], "1 failed: 1 completed, 2 failed, 3 completed");
    assert_eq!(
        (outcome.state().result.outcome, outcome.state().result.agentic_status),
        (Some(RunOutcome::Halted), AgenticStatus::Waiting)
    );
    assert_eq!(scene.commits(), Vec::<String>::new());
    scene.is_tidy().await;

    let state = scene.answer(retry(1, "make it good")).await.finished().unwrap();
    let mut again = scene.agent.tasks("developer").split_off(3);
    again.sort();
    assert_eq!(again, ["2", "4", "5", "6"]);
    assert!(scene.prompts("2")[1].contains("make it good"), "{}", scene.prompts("2")[1]);
    assert!(scene.prompts("2")[1].contains("phase-1/attempt-1/task-2"), "{}", scene.prompts("2")[1]);
    assert_eq!(scene.commits(), ["1", "2", "3", "4", "5", "6"].map(done));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2", "1", "1", "1", "1"]);
    assert_eq!((state.phased.phases[0].attempt, state.result.outcome), (2, Some(RunOutcome::Completed)));
    scene.is_over().await;
}

#[tokio::test]
async fn a_skipped_subtask_is_left_out_with_its_dependents() {
    let scene = Phases::new(failing(99));
    scene.run(&checked(), patient()).await;
    let state = scene.answer(AfterHalt::Skip).await.finished().unwrap();
    assert_eq!(scene.commits(), ["1", "3", "5"].map(done));
    assert_eq!(
        statuses(&state),
        [
            "1 completed: 1 completed, 2 failed, 3 completed",
            "2 completed: 4 failed, 5 completed",
            "3 pending: 6 failed"
        ]
    );
    let named: Vec<&str> =
        state.result.notices.iter().map(String::as_str).filter(|notice| notice.contains("left out")).collect();
    assert_eq!(
        named,
        [
            "subtask 2 is left out: it was skipped",
            "subtask 4 is left out: it depends on 2",
            "subtask 6 is left out: it depends on 2"
        ]
    );
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.salvaged("phase-1/attempt-1/task-2", "part-2.txt").as_deref(), Some("1\n"));
    scene.is_over().await;
}

#[tokio::test]
async fn an_accepted_subtask_is_taken_without_its_commands() {
    let scene = Phases::new(failing(99));
    scene.run(&checked(), patient()).await;
    let state = scene.answer(AfterHalt::Accept).await.finished().unwrap();
    assert_eq!((scene.commits(), scene.prompts("2").len()), (["1", "2", "3", "4", "5", "6"].map(done).to_vec(), 1));
    assert!(statuses(&state).iter().all(|line| !line.contains("failed")), "{:?}", statuses(&state));
    assert_eq!(scene.file("part-2.txt").as_deref(), Some("1\n"));
    scene.is_over().await;
}

#[tokio::test]
async fn a_run_ends_at_a_halted_subtask() {
    let scene = Phases::new(failing(99));
    scene.run(&checked(), patient()).await;
    let state = scene.answer(AfterHalt::Abort).await.finished().unwrap();
    assert_eq!(
        (state.result.outcome, state.result.agentic_status),
        (Some(RunOutcome::Cancelled), AgenticStatus::Cancelled)
    );
    assert_eq!((scene.commits(), scene.salvage().len()), (vec![], 3));
    scene.is_over().await;
}

#[rstest]
#[case::skip(OnExhausted::Skip, RunOutcome::Completed, &["1", "3", "5"])]
#[case::fail(OnExhausted::Fail, RunOutcome::Failed, &[])]
#[tokio::test]
async fn no_question_is_asked_if_the_profile_decides(
    #[case] on_exhausted: OnExhausted,
    #[case] outcome: RunOutcome,
    #[case] commits: &[&str],
) {
    let scene = Phases::new(failing(99));
    let state = scene.run(&checked(), Profile { on_exhausted, ..patient() }).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(outcome), commits.iter().map(|id| done(id)).collect()));
    scene.is_over().await;
}

#[tokio::test]
async fn a_profile_that_skips_does_so_whatever_a_check_prints() {
    let scene = Phases::new(failing(99));
    let talks = checked().replace("test -e good.txt", "echo \"git's hooks or configuration\"; exit 1");
    let state = scene.run(&talks, Profile { on_exhausted: OnExhausted::Skip, ..patient() }).await.finished().unwrap();
    assert_eq!(scene.commits(), ["1", "3", "5"].map(done));
    assert_eq!(state.phased.phases[0].subtasks[1].omitted, Some(Omission::Skipped));
    assert_eq!(state.phased.phases[1].subtasks[0].omitted, Some(Omission::DependsOn(vec!["2".into()])));
    scene.is_over().await;
}

#[tokio::test]
async fn a_profile_that_skips_still_asks_about_changed_hooks_first() {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), "x\n");
            if call.task == "3" {
                let common = git_in(folder, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
                write(std::path::Path::new(&common), "hooks/pre-commit", "#!/bin/sh\nexit 0\n");
            }
            work()
        },
        |_, _| approved(),
    );
    let scene = Phases::new(agent);
    let mut profile = Profile { on_exhausted: OnExhausted::Skip, ..patient() };
    profile.phased.max_parallel = 1;
    let payload = halted(&scene.run(&checked(), profile).await);
    assert_eq!(payload["subtask"], "3", "2 failed its checks before: {payload}");
    assert!(payload["reason"].as_str().unwrap().contains("hooks/pre-commit"), "{payload}");
}

#[tokio::test]
async fn a_phase_without_work_is_not_reviewed() {
    let scene = Phases::new(failing(99));
    let chain = plan(&[task("1", "none", ""), task("2", "1", "**Verify:** `test -e good.txt`"), task("3", "2", "")]);
    scene.run(&chain, patient()).await;
    let state = scene.answer(AfterHalt::Skip).await.finished().unwrap();
    assert_eq!(scene.agent.tasks("reviewer"), ["phase-1"]);
    assert_eq!(statuses(&state), ["1 completed: 1 completed", "2 failed: 2 failed", "3 pending: 3 failed"]);
    assert_eq!((scene.commits(), state.result.outcome), (vec![done("1")], Some(RunOutcome::Completed)));
    scene.is_over().await;
}

#[tokio::test]
async fn work_that_a_person_accepts_does_not_fail_the_subtasks_after_it() {
    // Task 1 forbids a file that task 2 makes; once a person accepts it, the failure does not count for task 3.
    let forbids = plan(&[
        task("1", "none", "**Verify:** `! test -e part-2.txt`"),
        task("2", "none", ""),
        task("3", "none", "**Verify:** `test -e part-3.txt`"),
    ]);
    let scene = Phases::new(failing(99));
    assert_eq!(halted(&scene.run(&forbids, patient()).await)["subtask"], "2");
    let state = scene.answer(AfterHalt::Accept).await.finished().unwrap();
    assert_eq!(
        (scene.commits(), state.result.outcome),
        (["1", "2", "3"].map(done).to_vec(), Some(RunOutcome::Completed))
    );
    assert_eq!(scene.agent.count("developer"), 4);
    let has_notice = |text: &str| state.result.notices.iter().any(|notice| notice.contains(text));
    assert!(has_notice("subtask 2 was accepted by a person, without its checks"), "{:?}", state.result.notices);
    assert!(has_notice("`! test -e part-2.txt` no longer counts"), "{:?}", state.result.notices);
    let prompt = scene.agent.calls("reviewer").pop().unwrap().prompt;
    assert!(prompt.contains("`! test -e part-2.txt` fails with work that a person accepted"), "{prompt}");
    assert!(prompt.contains("`test -e part-3.txt` succeeded"), "{prompt}");
    assert!(prompt.contains("(accepted by a person without its checks)"), "{prompt}");
    scene.is_over().await;
}

#[tokio::test]
async fn work_that_cannot_be_merged_is_not_accepted_as_it_is() {
    // `setup` writes the same line as the agent: its change fits on no commit.
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, "README.md", &format!("# Clock of {}\n", call.task));
            work()
        },
        |_, _| approved(),
    );
    let scene = Phases::new(agent);
    let mut profile = patient();
    profile.phased.worktree.setup = vec!["echo '# Clock of all' > README.md".into()];
    let payload = halted(&scene.run(&independent(&["1", "2"]), profile).await);
    let reason = payload["reason"].as_str().unwrap();
    assert_eq!(reason, "its changes collide with those that `setup` made: README.md");
    assert_eq!(scene.agent.count("developer"), 2, "it is not done once more in vain");
    let payload = halted(&scene.answer(AfterHalt::Accept).await);
    let problem = payload["problem"].as_str().unwrap();
    assert!(problem.starts_with(reason) && problem.contains("cannot be accepted as it is"), "{problem}");
    let state = scene.answer(AfterHalt::Abort).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Cancelled));
}

#[tokio::test]
async fn undeclared_files_are_integrated_once_a_person_accepts_them() {
    let strict = plan(&[task("1", "none", "**Files:** `other.txt`"), task("2", "none", "")]);
    let scene = Phases::new(failing(99));
    let mut profile = patient();
    profile.phased.strict_files = true;
    assert_eq!(halted(&scene.run(&strict, profile).await)["subtask"], "1");
    let state = scene.answer(AfterHalt::Accept).await.finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (["1", "2"].map(done).to_vec(), Some(RunOutcome::Completed)));
    scene.is_over().await;
}
