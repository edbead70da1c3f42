//! Services that are out for a while: the run waits as long as the profile's patience, even across processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use superstep::drivers::{DriverError, DriverErrorClass, RetrySettings};
use superstep::graph::replay::ReplayResult;
use superstep::graph::{Answer, EventKind, Mode, Replay, Request};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::Profile;
use superstep_workflows::task_based::RunOutcome;

use crate::agent::{Agent, approved, part};
use crate::scene::{Scene, done, plan, profile};

/// Agents whose first developer turns fail with an outage.
fn outage(times: usize) -> Arc<Agent> {
    let left = AtomicUsize::new(times);
    Agent::new(move |call, folder, _| match call.role.as_str() {
        "developer" => match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Err(DriverError {
                outage: true,
                ..DriverError::new(DriverErrorClass::Transient, "http://models cannot be reached")
            }),
            Err(_) => Ok(part(folder, &call.task)),
        },
        _ => Ok(approved()),
    })
}

fn patient(patience: Duration) -> Profile {
    let retry = RetrySettings::default().wait(Duration::from_millis(1)).patience(patience);
    Profile { retry, ..profile() }
}

#[tokio::test]
async fn an_outage_is_waited_for_in_the_same_turn_and_reported() {
    let scene = Scene::new(outage(3));
    scene.thread.invoke(scene.input(&plan(1), patient(Duration::from_secs(600)))).await.unwrap();
    let approve = Request::answers([Answer::new::<ApprovePlan>(&Decision::approve())]);
    let mut run = scene.thread.stream(approve, [Mode::Custom]);
    let mut lines = vec![];
    while let Some(event) = run.next().await {
        if let (Some(task), EventKind::Custom { value }) = (&event.task, &event.kind) {
            lines.push(format!("{}: {}", task.node, value.as_str().unwrap_or_default()));
        }
    }
    let state = run.outcome().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
    let lines: Vec<_> = lines.iter().filter(|line| line.contains("cannot be reached")).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("developer: http://models cannot be reached; asks again in "), "{lines:?}");
    assert!(lines[0].contains("gives up in 600s"), "{lines:?}");
    let calls = scene.agent.calls("developer");
    assert!(calls.iter().all(|turn| turn.turn == calls[0].turn), "it is the same turn");
    let ReplayResult::Verified(report) = scene.thread.replay(Replay::Verify).await.unwrap() else { panic!() };
    assert!(report.divergence.is_none(), "{report:?}");
}

#[tokio::test]
async fn an_outage_longer_than_the_patience_fails_the_run_until_a_retry() {
    let scene = Scene::new(outage(1));
    scene.thread.invoke(scene.input(&plan(1), patient(Duration::ZERO))).await.unwrap();
    let error = scene.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap_err();
    assert!(format!("{error:?}").contains("cannot be reached"), "{error:?}");
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
}

#[tokio::test]
async fn a_run_dropped_during_an_outage_waits_for_the_rest_of_it() {
    let scene = Scene::new(outage(usize::MAX));
    let patience = Duration::from_millis(1500);
    let retry = RetrySettings::default().wait(Duration::from_secs(60)).patience(patience);
    scene.thread.invoke(scene.input(&plan(1), Profile { retry, ..profile() })).await.unwrap();
    let resumed = scene.thread.resume::<ApprovePlan>(Decision::approve());
    assert!(tokio::time::timeout(Duration::from_millis(1000), resumed).await.is_err(), "it waits");
    assert_eq!(scene.agent.count("developer"), 1);
    assert!(scene.thread.proceed().await.is_err(), "what is left of its patience is waited for");
    assert_eq!(scene.agent.count("developer"), 2, "the first request is not repeated");
}
