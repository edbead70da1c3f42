//! Turns that fail or have to wait: what resumes afterwards, and in which turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rstest::rstest;
use superstep::drivers::{DriverError, DriverErrorClass};
use superstep::graph::replay::ReplayResult;
use superstep::graph::{Outcome, Replay};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::Profile;
use superstep_workflows::task_based::RunOutcome;

use crate::agent::{Agent, approved, part};
use crate::scene::{Scene, done, plan, profile};

const HOOK: &str = ".git/hooks/pre-commit";

fn failure(class: DriverErrorClass, after: Option<u64>) -> DriverError {
    let error = DriverError::new(class, "the line is cut");
    match after {
        Some(seconds) => error.retry_after(Duration::from_secs(seconds)),
        None => error,
    }
}

/// An agent whose first developer turns fail; every review passes.
fn failing(times: usize, error: impl Fn() -> DriverError + Send + Sync + 'static) -> Arc<Agent> {
    let left = AtomicUsize::new(times);
    Agent::new(move |call, folder, _| match call.role.as_str() {
        "developer" => {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            if fails { Err(error()) } else { Ok(part(folder, &call.task)) }
        }
        _ => Ok(approved()),
    })
}

#[tokio::test]
async fn a_failed_turn_resumes_under_its_name_and_a_person_may_change_hooks_before() {
    let scene = Scene::new(failing(2, || failure(DriverErrorClass::Transient, None)));
    scene.thread.invoke(scene.input(&plan(1), profile())).await.unwrap();
    let error = scene.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap_err();
    assert!(format!("{error:?}").contains("the line is cut"), "{error:?}");
    assert!(scene.thread.retry().await.is_err());
    scene.repository.write(HOOK, "#!/bin/sh\nexit 0\n");
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
    let calls = scene.agent.calls("developer");
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call.turn == first_turn(&scene)), "{calls:?}");
}

fn first_turn(scene: &Scene) -> String {
    scene.agent.calls("developer")[0].turn.clone()
}

#[tokio::test]
async fn an_agent_that_fails_after_it_changed_a_hook_halts_the_task() {
    let agent = Agent::new(|call, folder, _| {
        if call.role != "developer" {
            return Ok(approved());
        }
        crate::repository::write(folder, HOOK, "#!/bin/sh\nexit 0\n");
        Err(failure(DriverErrorClass::Transient, None))
    });
    let outcome = Scene::new(agent).run(&plan(1), profile()).await;
    assert_eq!(crate::scene::asks(&outcome), "halted");
}

#[rstest]
#[case::rate(DriverErrorClass::RateLimited)]
#[case::overload(DriverErrorClass::Transient)]
#[tokio::test]
async fn a_busy_service_is_waited_for_and_the_turn_resumes_under_its_name(#[case] class: DriverErrorClass) {
    let scene = Scene::new(failing(60, move || failure(class, Some(0))));
    let outcome = scene.run(&plan(1), profile()).await;
    assert_eq!(outcome.finished().unwrap().result.outcome, Some(RunOutcome::Completed));
    let calls = scene.agent.calls("developer");
    assert_eq!(calls.len(), 61);
    assert!(calls.iter().all(|call| call.turn == first_turn(&scene)));
}

/// A server may return any value.
#[rstest]
#[case::for_ever(u64::MAX)]
#[case::for_longer_than_there_are_dates(1 << 62)]
#[case::for_a_century(100 * 365 * 86_400)]
#[tokio::test]
async fn a_service_that_is_busy_for_ever_is_called_again_in_a_month(#[case] seconds: u64) {
    let scene = Scene::new(failing(1, move || failure(DriverErrorClass::Transient, Some(seconds))));
    let Outcome::Waiting { until, .. } = scene.run(&plan(1), profile()).await else { panic!("it waits") };
    let month = Duration::from_secs(31 * 86_400);
    assert!(until < std::time::SystemTime::now() + month, "{until:?}");
}

#[rstest]
#[case::failed(DriverErrorClass::Fatal, None)]
#[case::busy(DriverErrorClass::RateLimited, Some(3600))]
#[tokio::test]
async fn a_run_ends_without_the_review_of_everything(#[case] class: DriverErrorClass, #[case] after: Option<u64>) {
    let agent = Agent::new(move |call, folder, _| match call.tool.as_str() {
        "submit_final_review" => Err(failure(class, after)),
        "submit_work" => Ok(part(folder, &call.task)),
        _ => Ok(approved()),
    });
    let scene = Scene::new(agent);
    let profile = Profile { final_review: true, ..profile() };
    let state = scene.run(&plan(1), profile).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
    assert!(state.result.notices.iter().any(|notice| notice.contains("the line is cut")), "{:?}", state.result.notices);
    let count = scene.agent.log.lock().unwrap().len();
    let ReplayResult::Verified(report) = scene.thread.replay(Replay::Verify).await.unwrap() else { panic!() };
    assert!(report.divergence.is_none(), "{report:?}");
    assert_eq!(scene.agent.log.lock().unwrap().len(), count, "nobody is asked again");
}
