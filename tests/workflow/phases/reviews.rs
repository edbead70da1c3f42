//! The effects of the review of a phase: it is repeated from the commit before it, or a person decides.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use superstep::drivers::Session;
use superstep::nodes::AfterHalt;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{AgenticStatus, RunOutcome};

use crate::agent::{Agent, COST, approved, rejected, work};
use crate::phases::scene::{Phases, done, halted, independent, profile, statuses, three_phases};
use crate::repository::write;
use crate::scene::retry;

/// Writes the number of the attempt; the review of the given phase passes from the given attempt on.
fn stubborn(phase: &'static str, passes_at: u32) -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        move |call, _| match call.task == phase && call.attempt < passes_at {
            true => rejected(&format!("flaw {}", call.attempt)),
            false => approved(),
        },
    )
}

fn salvaged_names(phase: u32, attempt: u32, tasks: &[&str]) -> Vec<String> {
    tasks.iter().map(|id| format!("phase-{phase}/attempt-{attempt}/task-{id}")).collect()
}

fn references(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("refs/superstep/clock/{name}")).collect()
}

#[tokio::test]
async fn a_rejected_phase_runs_again_from_the_commit_before_it() {
    let scene = Phases::new(stubborn("phase-2", 2));
    let state = scene.run(&three_phases(), profile()).await.finished().unwrap();
    assert_eq!(scene.commits(), ["1", "2a", "2b", "2c", "3"].map(done));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2", "2", "2", "1"]);
    assert_eq!(state.phased.phases.iter().map(|phase| phase.attempt).collect::<Vec<_>>(), [1, 2, 1]);
    assert_eq!(state.phased.phases[1].pre_phase_commit, state.phased.phases[0].subtasks[0].commit);
    let refs = salvaged_names(2, 1, &["2a", "2b", "2c"]);
    assert_eq!(scene.salvage(), refs);
    for id in ["2a", "2b", "2c"] {
        let prompts = scene.prompts(id);
        assert_eq!(prompts.len(), 2);
        assert!(!prompts[0].contains("flaw") && !prompts[0].contains("refs/superstep"), "{}", prompts[0]);
        assert!(prompts[1].contains("flaw 1") && prompts[1].contains("Phase 2 of 3"), "{}", prompts[1]);
        assert!(references(&refs).iter().all(|name| prompts[1].contains(name)), "{}", prompts[1]);
        let first = scene.salvaged(&format!("phase-2/attempt-1/task-{id}"), &format!("part-{id}.txt"));
        assert_eq!(first.as_deref(), Some("1\n"));
    }
    assert!(scene.agent.calls("developer").iter().all(|call| call.session == Session::New));
    let third = &scene.prompts("3")[0];
    assert!(!third.contains("flaw") && !third.contains("refs/superstep"), "{third}");
    let reviews = scene.agent.calls("reviewer");
    assert_eq!(
        reviews.iter().map(|call| call.task.as_str()).collect::<Vec<_>>(),
        ["phase-1", "phase-2", "phase-2", "phase-3"]
    );
    assert!(["2a", "2b", "2c"].iter().all(|id| reviews[1].prompt.contains(&format!("Subtask {id}: Part {id}"))));
    assert!(reviews[2].prompt.contains("flaw 1") && !reviews[3].prompt.contains("flaw"), "{}", reviews[2].prompt);
    assert!(reviews[1].prompt.contains("part-2b.txt") && !reviews[1].prompt.contains("+++ b/part-1.txt"));
    scene.is_over().await;
}

#[rstest]
#[case::once(1, "once")]
#[case::twice(2, "twice")]
#[case::more(3, "3 times")]
#[tokio::test]
async fn a_phase_rejected_in_every_attempt_halts(#[case] most: u32, #[case] times: &str) {
    let scene = Phases::new(stubborn("phase-2", 99));
    let mut profile = profile();
    profile.phased.max_attempts = most;
    let outcome = scene.run(&three_phases(), profile).await;
    let all: Vec<String> = (1..=most).flat_map(|attempt| salvaged_names(2, attempt, &["2a", "2b", "2c"])).collect();
    assert_eq!(scene.salvage(), all, "the work of every attempt is kept");
    let mut payload = halted(&outcome);
    let comments = payload["comments"].take();
    assert_eq!(comments.as_array().unwrap().last().unwrap()["issue"], format!("flaw {most}"));
    let last: Vec<String> = if most == 1 { all.clone() } else { all[all.len() - 6..].to_vec() };
    assert_eq!(
        payload,
        json!({
            "phase": 2, "subtask": null, "reason": format!("the review rejected it {times}"), "comments": null,
            "salvage": references(&last), "cost": u64::from(most) * 3 * COST,
            "task": "", "title": "phase 2", "attempts": most, "changes": "", "problem": null,
        })
    );
    let state = outcome.state();
    assert_eq!((state.result.outcome, state.result.agentic_status), (Some(RunOutcome::Halted), AgenticStatus::Waiting));
    let phase = &state.phased.phases[1];
    assert_eq!((phase.attempt, phase.review_result.as_ref().map(|review| review.approved)), (most, Some(false)));
    assert!(statuses(state)[1].starts_with("2 failed"), "{:?}", statuses(state));
    assert_eq!(scene.commits(), [done("1")]);
    scene.is_tidy().await;
}

#[tokio::test]
async fn attempts_of_a_retry_count_from_the_halt_on() {
    let scene = Phases::new(stubborn("phase-2", 5));
    scene.run(&three_phases(), profile()).await;
    let outcome = scene.answer(retry(1, "think")).await;
    assert_eq!(halted(&outcome)["reason"], "the review rejected it 3 times");
    assert!(scene.prompts("2b")[2].contains("think") && scene.prompts("2b")[2].contains("flaw 2"));
    assert!(halted(&scene.answer(retry(0, "")).await)["problem"].is_string());
    let state = scene.answer(retry(2, "")).await.finished().unwrap();
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "5", "5", "5", "1"]);
    assert!(!scene.prompts("2b")[3].contains("think"), "a note is given once");
    assert_eq!((state.judgement.halts, state.result.outcome), (2, Some(RunOutcome::Completed)));
    assert_eq!(scene.salvage().len(), 12);
    scene.is_over().await;
}

#[tokio::test]
async fn a_rejected_phase_can_be_accepted() {
    let scene = Phases::new(stubborn("phase-2", 99));
    scene.run(&three_phases(), profile()).await;
    let state = scene.answer(AfterHalt::Accept).await.finished().unwrap();
    assert_eq!(
        (scene.commits(), state.result.outcome),
        (["1", "2a", "2b", "2c", "3"].map(done).to_vec(), Some(RunOutcome::Completed))
    );
    assert_eq!(scene.file("part-2b.txt").as_deref(), Some("2\n"));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2", "2", "2", "1"]);
    assert!(statuses(&state).iter().all(|line| line.contains("completed:")), "{:?}", statuses(&state));
    scene.is_over().await;
}

#[rstest]
#[case::in_the_middle("phase-2", &["1"], &["1 completed: 1 completed", "2 failed: 2a failed, 2b failed, 2c failed", "3 pending: 3 failed"])]
#[case::at_the_end("phase-3", &["1", "2a", "2b", "2c"], &["1 completed: 1 completed", "2 completed: 2a completed, 2b completed, 2c completed", "3 failed: 3 failed"])]
#[tokio::test]
async fn a_phase_is_left_out_with_its_dependents(
    #[case] phase: &'static str,
    #[case] commits: &[&str],
    #[case] expected: &[&str],
) {
    let scene = Phases::new(stubborn(phase, 99));
    scene.run(&three_phases(), profile()).await;
    let state = scene.answer(AfterHalt::Skip).await.finished().unwrap();
    assert_eq!(scene.commits(), commits.iter().map(|id| done(id)).collect::<Vec<_>>());
    assert_eq!(
        (statuses(&state).as_slice(), state.result.outcome),
        (strings(expected).as_slice(), Some(RunOutcome::Completed))
    );
    let named: Vec<_> = state.result.notices.iter().filter(|notice| notice.contains("left out")).cloned().collect();
    if phase == "phase-2" {
        let third = named.last().unwrap();
        assert!(named.len() == 4 && third.starts_with("subtask 3 is left out: it depends on"), "{named:?}");
    }
    scene.is_over().await;
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|&text| text.to_owned()).collect()
}

#[tokio::test]
async fn a_run_ends_at_a_halted_phase() {
    let scene = Phases::new(stubborn("phase-2", 99));
    scene.run(&three_phases(), profile()).await;
    let state = scene.answer(AfterHalt::Abort).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Cancelled), vec![done("1")]));
    assert_eq!(scene.salvage().len(), 6, "the work stays in git");
    scene.is_over().await;
}

#[tokio::test]
async fn each_kind_of_review_has_to_pass() {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| match call.attempt == 1 && call.prompt.contains("for security alone") {
            true => rejected("a hole"),
            false => approved(),
        },
    );
    let scene = Phases::new(agent);
    let profile = Profile { review_types: vec!["general".into(), "security".into()], ..profile() };
    scene.run(&three_phases(), profile).await.finished().unwrap();
    assert_eq!(scene.trailers("Superstep-Attempt"), ["2"; 5]);
    assert!(scene.prompts("3")[1].contains("a hole"));
    scene.is_over().await;
}

#[tokio::test]
async fn the_first_work_of_a_colliding_subtask_is_named_after_a_rejection() {
    let agent = Agent::crew(
        |call, folder, _| {
            if call.attempt == 1 {
                write(folder, "same.txt", &call.task);
            }
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| if call.attempt == 1 { rejected("flaw") } else { approved() },
    );
    let scene = Phases::new(agent);
    scene.run(&independent(&["1", "2"]), profile()).await.finished().unwrap();
    let names = references(&["task-1", "task-2", "task-2-2"].map(|name| format!("phase-1/attempt-1/{name}")));
    let last = scene.prompts("1").pop().unwrap();
    assert!(names.iter().all(|name| last.contains(&format!("`{name}`"))), "{last}");
    assert_eq!(scene.trailers("Superstep-Attempt"), ["2", "2"]);
    scene.is_over().await;
}
