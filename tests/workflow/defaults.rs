//! Defaults of a run and a profile, and their precedence.

use superstep::plan::{CommentSeverity, Decision, TaskProgress};
use superstep_workflows::task_based::{AgenticStatus, ExecutionState, LastReview};
use superstep_workflows::{AttemptOutcome, Profile};

use crate::agent::{Agent, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, asks, plan, profile};

#[test]
fn a_new_state_is_empty_with_five_attempts() {
    let state = ExecutionState::default();
    assert_eq!((state.run.total_tasks, state.run.current_task_index), (None, 0));
    assert_eq!((state.run.task_review_iteration, state.run.review_iteration), (0, 0));
    assert_eq!((state.run.max_task_review_iterations, TaskProgress::MAX_TASK_REVIEW_ITERATIONS), (5, 5));
    assert_eq!((state.request.profile_id.as_str(), state.request.issue, state.source.goal), ("", None, None));
    assert_eq!(
        (state.source.plan_markdown, state.source.plan_path, state.planning.raw_architect_output),
        (None, None, None)
    );
    assert_eq!(
        (state.planning.human_approved, state.attempt.driver_session_id, state.judgement.last_review),
        (None, None, None)
    );
    assert_eq!((state.source.key_files, state.run.tasks, state.result.outcome), (vec![], vec![], None));
    assert_eq!(
        (state.result.agentic_status, state.judgement.standing),
        (AgenticStatus::Pending, AttemptOutcome::Unjudged)
    );
}

#[test]
fn every_field_of_the_flow_can_be_set_and_is_stored() {
    let review = LastReview { approved: false, comments: vec![], severity: CommentSeverity::Major };
    let mut state = ExecutionState::default();
    (state.run.total_tasks, state.run.current_task_index, state.run.task_review_iteration) = (Some(3), 2, 1);
    state.run.max_task_review_iterations = 10;
    (state.source.plan_path, state.planning.human_approved) = (Some("plan.md".into()), Some(true));
    state.attempt.driver_session_id = Some("s".to_owned());
    state.judgement.last_review = Some(review.clone());
    let stored = serde_json::to_string(&state).unwrap();
    let read: ExecutionState = serde_json::from_str(&stored).unwrap();
    assert_eq!((read.run.total_tasks, read.run.current_task_index, read.run.task_review_iteration), (Some(3), 2, 1));
    assert_eq!((read.run.max_task_review_iterations, read.judgement.last_review), (10, Some(review)));
}

#[tokio::test]
async fn the_number_of_a_profile_overrides_that_of_a_state() {
    let develop = |_: &_, folder: &std::path::Path, nth| {
        write(folder, "a.txt", &format!("{nth}\n"));
        work()
    };
    let scene = Scene::new(Agent::crew(develop, |_, _| rejected("no")));
    let profile = Profile { max_task_review_iterations: 3, ..profile() };
    let input = scene.input(&plan(1), profile).max_task_review_iterations(10);
    scene.thread.invoke(input).await.unwrap();
    let outcome = scene.thread.resume::<superstep::nodes::ApprovePlan>(Decision::approve()).await.unwrap();
    assert_eq!((asks(&outcome), scene.agent.count("developer")), ("halted", 3));
    assert_eq!(outcome.state().run.max_task_review_iterations, 3);
}
