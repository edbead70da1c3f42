//! Sessions that a server always rejects: a person decides, and no work is lost.

use std::sync::Arc;

use rstest::rstest;
use serde_json::Value;
use superstep::drivers::{DriverError, DriverErrorClass, Session};
use superstep::graph::Replay;
use superstep::graph::replay::ReplayResult;
use superstep::nodes::{AfterRefusal, SessionRefused};
use superstep::plan::Issue;
use superstep_workflows::task_based::{ExecutionState, ExecutionStateUpdate, Mark, RunOutcome};
use superstep_workflows::{Profile, Role};

use crate::agent::{Agent, COST, Call, approved, part, rejected};
use crate::repository::write;
use crate::scene::{RunResult, Scene, asks, done, marks, plan, profile};

fn refusal() -> DriverError {
    let error = DriverError::new(DriverErrorClass::Content, "the prompt is too long");
    DriverError { refusal: true, ..error }
}

/// Agents of which one role is rejected whenever `refuses` returns true, after it changed a file.
fn refused(role: &'static str, refuses: impl Fn(&Call, usize) -> bool + Send + Sync + 'static) -> Arc<Agent> {
    Agent::new(move |call, folder, nth| {
        if call.role == role && call.tool != "submit_final_review" && refuses(call, nth) {
            if role == "developer" {
                write(folder, &format!("half-{}.txt", call.task), "half of it\n");
            }
            return Err(refusal());
        }
        Ok(match call.role.as_str() {
            "developer" => part(folder, &call.task),
            _ => review(call),
        })
    })
}

/// The first attempt at task 1 is rejected.
fn review(call: &Call) -> Value {
    if call.task == "1" && call.attempt == 1 { rejected("too thin") } else { approved() }
}

async fn answer(scene: &Scene, answer: AfterRefusal) -> RunResult {
    scene.thread.resume::<SessionRefused>(answer).await.unwrap()
}

async fn agrees(scene: &Scene) {
    let count = scene.agent.log.lock().unwrap().len();
    let ReplayResult::Verified(report) = scene.thread.replay(Replay::Verify).await.unwrap() else { panic!() };
    assert!(report.divergence.is_none(), "{report:?}");
    assert_eq!(scene.agent.log.lock().unwrap().len(), count, "nobody is asked again");
    let state = scene.thread.state().await.unwrap().unwrap().values;
    assert_eq!(state.result.usage.cost, COST * count as u64, "each turn is counted, whatever it ended with");
}

#[tokio::test]
async fn a_fresh_session_knows_the_section_the_comments_and_the_changes_so_far() {
    let scene = Scene::new(refused("developer", |call, _| call.session != Session::New));
    let outcome = scene.run(&plan(2), profile()).await;
    let question: SessionRefused = outcome.questions()[0].payload().unwrap();
    insta::assert_snapshot!(serde_json::to_string(&question).unwrap(), @r#"{"role":"developer","task":"1","title":"Part 1","driver":"api","model":null,"reason":"the prompt is too long","tries":1,"problem":null}"#);
    let state = answer(&scene, AfterRefusal::Fresh).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1), done(2)]));
    assert_eq!(scene.sessions("developer"), ["1:developer-0", "1:developer-0*", "1:developer-2", "2:developer-3"]);
    let prompt = &scene.agent.calls("developer")[2].prompt;
    for text in ["Write part 1.", "too thin", "half of it", "half-1.txt", "part-1.txt"] {
        assert!(prompt.contains(text), "{text}: {prompt}");
    }
    assert_eq!(state.run.tasks[0].attempts, 2);
    agrees(&scene).await;
}

#[rstest]
#[tokio::test]
async fn another_model_continues_the_session_and_stays_for_the_task(
    #[values("developer", "reviewer")] role: &'static str,
) {
    let agent = refused(role, |call, _| call.model.is_none() && call.task == "1");
    let scene = Scene::new(agent);
    assert_eq!(asks(&scene.run(&plan(2), profile()).await), "session_refused");
    let empty = answer(&scene, AfterRefusal::Model(" ".into())).await;
    assert!(empty.questions()[0].payload::<SessionRefused>().unwrap().problem.unwrap().contains("name"));
    let state = answer(&scene, AfterRefusal::Model("larger".into())).await.finished().unwrap();
    assert_eq!((state.result.outcome, marks(&state)), (Some(RunOutcome::Completed), vec![Mark::Done, Mark::Done]));
    let calls = scene.agent.calls(role);
    let models: Vec<_> = calls.iter().map(|call| (call.task.as_str(), call.model.as_deref())).collect();
    assert_eq!(models, [("1", None), ("1", Some("larger")), ("1", Some("larger")), ("2", None)]);
    assert_eq!(calls[0].turn, calls[1].turn, "the turn goes on");
    agrees(&scene).await;
}

#[tokio::test]
async fn a_rejected_turn_is_retried_as_often_as_a_person_says() {
    let scene = Scene::new(refused("developer", |_, nth| nth < 3));
    let mut outcome = scene.run(&plan(1), profile()).await;
    for tries in 1..=3 {
        let question: SessionRefused = outcome.questions()[0].payload().unwrap();
        assert_eq!(question.tries, tries);
        outcome = answer(&scene, AfterRefusal::Retry).await;
    }
    assert_eq!(outcome.finished().unwrap().result.outcome, Some(RunOutcome::Completed));
    agrees(&scene).await;
    let calls = scene.agent.calls("developer");
    assert!(calls[..4].iter().all(|turn| turn.turn == calls[0].turn));
}

#[rstest]
#[case::skipped(AfterRefusal::Skip)]
#[case::fresh(AfterRefusal::Fresh)]
#[case::aborted(AfterRefusal::Abort)]
#[tokio::test]
async fn a_commit_that_a_person_makes_while_a_turn_waits_stays(#[case] decision: AfterRefusal) {
    let scene = Scene::new(refused("developer", |call, nth| call.task == "1" && nth == 1));
    assert_eq!(asks(&scene.run(&plan(2), profile()).await), "session_refused");
    write(&scene.repository.path(), "mine.txt", "a person's\n");
    scene.repository.git(&["add", "mine.txt"]);
    scene.repository.git(&["commit", "-q", "-m", "person: mine"]);
    let mine = scene.repository.git(&["rev-parse", "HEAD"]);
    answer(&scene, decision).await.finished().unwrap();
    let branches = scene.repository.git(&["branch", "--format=%(refname:short)", "--contains", mine.trim()]);
    assert!(branches.lines().any(|branch| branch == "superstep/clock"), "{branches}");
    assert_eq!(scene.repository.git(&["show", "superstep/clock:mine.txt"]), "a person's\n");
    agrees(&scene).await;
}

#[rstest]
#[tokio::test]
async fn a_rejected_task_is_skipped_or_ends_the_run(
    #[values("developer", "reviewer")] role: &'static str,
    #[values(AfterRefusal::Skip, AfterRefusal::Abort)] decision: AfterRefusal,
) {
    let scene = Scene::new(refused(role, |call, _| call.task == "1"));
    assert_eq!(asks(&scene.run(&plan(2), profile()).await), "session_refused");
    let skips = decision == AfterRefusal::Skip;
    let state = answer(&scene, decision).await.finished().unwrap();
    if skips {
        assert_eq!(
            (state.result.outcome, marks(&state)),
            (Some(RunOutcome::Completed), vec![Mark::Skipped, Mark::Done])
        );
        assert_eq!((scene.commits(), scene.file("half-1.txt")), (vec![done(2)], None));
        assert_eq!(scene.refs(), ["task-1/attempt-1"], "its work is kept");
    } else {
        assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Cancelled), vec![]));
    }
    agrees(&scene).await;
}

#[tokio::test]
async fn a_fresh_session_that_is_rejected_too_interrupts_again() {
    let scene = Scene::new(refused("developer", |call, _| call.model.is_none()));
    assert_eq!(asks(&scene.run(&plan(1), profile()).await), "session_refused");
    let second = answer(&scene, AfterRefusal::Fresh).await;
    assert_eq!(second.questions()[0].payload::<SessionRefused>().unwrap().tries, 2);
    let state = answer(&scene, AfterRefusal::Model("larger".into())).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
    agrees(&scene).await;
}

fn issue(scene: &Scene) -> ExecutionStateUpdate {
    let issue = Issue { id: "c".into(), title: "Clock".into(), description: String::new() };
    ExecutionState::update().working_dir(scene.repository.path()).issue(Some(issue)).profile(profile())
}

#[rstest]
#[case::fresh(AfterRefusal::Fresh)]
#[case::model(AfterRefusal::Model("larger".into()))]
#[case::abort(AfterRefusal::Abort)]
#[tokio::test]
async fn the_usage_of_an_architect_is_counted_whatever_the_decision(#[case] decision: AfterRefusal) {
    let scene =
        Scene::new(Agent::new(
            |call, _, nth| {
                if call.role == "architect" && nth == 0 { Err(refusal()) } else { Ok(Value::Null) }
            },
        ));
    assert_eq!(asks(&scene.thread.invoke(issue(&scene)).await.unwrap()), "session_refused");
    let is_over = decision == AfterRefusal::Abort;
    let outcome = answer(&scene, decision).await;
    assert_eq!(outcome.finished().map(|state| state.result.outcome), is_over.then_some(Some(RunOutcome::Cancelled)));
    agrees(&scene).await;
}

#[tokio::test]
async fn a_model_chosen_for_one_kind_of_review_stays_if_another_kind_tampers() {
    let scene = Scene::new(Agent::new(|call, folder, nth| {
        let is_review = call.tool == "submit_review";
        if is_review && call.model.is_none() {
            return Err(refusal());
        }
        if is_review && nth == 2 {
            write(folder, ".git/hooks/pre-commit", "exit 1\n");
        }
        Ok(if call.role == "developer" { part(folder, &call.task) } else { approved() })
    }));
    let kinds = vec!["general".into(), "security".into()];
    let halts = scene.run(&plan(1), Profile { review_types: kinds, ..profile() }).await;
    assert_eq!(asks(&halts), "session_refused");
    assert_eq!(asks(&answer(&scene, AfterRefusal::Model("larger".into())).await), "halted");
    let state = scene.thread.state().await.unwrap().unwrap().values;
    assert_eq!(state.judgement.models, [(Role::Reviewer, "larger".to_owned())].into());
    agrees(&scene).await;
}
