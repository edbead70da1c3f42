//! Questions of subtasks while siblings work: the siblings finish, then a person is asked, and the work continues.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverError, DriverErrorClass, Session};
use superstep::nodes::{
    AfterMissingReview, AfterRefusal, AgentQuestion, AgentReply, ReviewUnavailable, SessionRefused,
};
use superstep::prelude::*;
use superstep_workflows::task_based::RunOutcome;

use crate::agent::approved;
use crate::phases::stage::{Cast, Stage, broken, done, halt, phased, profile, question, three};
use crate::repository::write;

fn blocked(question: &str) -> Value {
    json!({"status": "blocked", "summary": "half", "question": question})
}

fn reply(text: &str) -> AgentReply {
    AgentReply::Reply { text: text.into() }
}

#[tokio::test]
async fn a_blocked_subtask_resumes_in_its_session_and_worktree_after_its_siblings() {
    let cast = Cast::developers(|call| async move {
        if call.task == "2b" && call.nth == 0 {
            write(call.folder(), "half.txt", "half\n");
            return Ok(blocked("Which colour?"));
        }
        if call.task == "2b" {
            assert!(call.folder().join("half.txt").exists(), "it is the same worktree");
        }
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), phased(|phased| phased.max_parallel = 1)).await;
    let pending: AgentQuestion = question(&outcome).payload().unwrap();
    assert_eq!((pending.task.as_str(), pending.question.as_str()), ("2b", "Which colour?"));
    assert_eq!(cast.tasks(), ["2a", "2b", "2c"], "its siblings have ended");
    done(stage.thread.resume::<AgentQuestion>(reply("Blue.")).await.unwrap());
    let [first, second] = &cast.turns("2b")[..] else { panic!() };
    assert_eq!((second.folder(), &second.session), (first.folder(), &first.session));
    assert!(second.request.prompt.contains("Blue."), "{}", second.request.prompt);
    assert_eq!(cast.tasks(), ["2a", "2b", "2b", "2c", "3"]);
    assert_eq!(stage.commits(), ["2a 1", "2b 1", "2c 1", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::in_order([0, 1])]
#[case::the_other_way_round([1, 0])]
#[tokio::test]
async fn two_blocked_subtasks_are_answered_in_either_order(#[case] order: [usize; 2]) {
    let cast = Cast::developers(|call| async move {
        if call.nth == 0 && call.task.starts_with('2') && call.task != "2c" {
            return Ok(blocked(&format!("What of {}?", call.task)));
        }
        write(call.folder(), &format!("{}.txt", call.task), &call.request.prompt);
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), profile()).await;
    let questions = outcome.questions().to_vec();
    assert_eq!(questions.len(), 2);
    let answer = |at: usize| {
        let pending: AgentQuestion = questions[at].payload().unwrap();
        Answer::new::<AgentQuestion>(&reply(&format!("Answer to {}", pending.task))).to(questions[at].id())
    };
    let half = stage.thread.answer(answer(order[0])).await.unwrap();
    assert_eq!(question(&half).id(), questions[order[1]].id(), "the other one is open");
    done(stage.thread.answer(answer(order[1])).await.unwrap());
    for id in ["2a", "2b"] {
        assert!(cast.turns(id)[1].request.prompt.contains(&format!("Answer to {id}")));
        assert_eq!(cast.turns(id).len(), 2);
    }
    assert_eq!(stage.commits(), ["2a 1", "2b 1", "2c 1", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn a_blocked_subtask_is_cancelled_after_its_answer_if_a_sibling_failed() {
    let (sender, receiver) = tokio::sync::watch::channel(false);
    let sender = Arc::new(sender);
    let cast = Cast::developers(move |call| {
        let (sender, mut receiver) = (Arc::clone(&sender), receiver.clone());
        async move {
            match (call.task.as_str(), call.nth) {
                ("2a", 0) => {
                    call.part();
                    sender.send_replace(true);
                    Ok(blocked("Which colour?"))
                }
                ("2b", 0) => {
                    receiver.wait_for(|call| *call).await.unwrap();
                    Err(broken())
                }
                _ => Ok(call.part()),
            }
        }
    });
    let stage = Stage::new(&cast);
    let mut outcome = stage.run(&three(), profile()).await;
    if question(&outcome).name() == "question" {
        outcome = stage.thread.resume::<AgentQuestion>(reply("Blue.")).await.unwrap();
    }
    assert_eq!(halt(&outcome).reason, "the agent broke");
    assert_eq!(cast.turns("2a").len(), 1, "its developer is not asked again");
    assert_eq!(stage.lines().await[0], "2a failed 1 (cancelled: subtask 2b failed)");
    assert!(stage.refs().contains(&"phase-1/attempt-1/task-2a".to_owned()));
    stage.tidy();
    done(stage.halted(crate::scene::retry(1, "")).await);
    stage.agrees().await;
}

#[tokio::test]
async fn siblings_of_a_busy_model_end_their_turns_before_the_run_waits() {
    let cast = Cast::developers(|call| async move {
        if call.task == "2b" && call.nth == 0 {
            let busy = DriverError::new(DriverErrorClass::RateLimited, "too many requests");
            return Err(busy.retry_after(Duration::from_millis(1500)));
        }
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let mut outcome = stage.run(&three(), phased(|phased| phased.max_parallel = 1)).await;
    assert!(matches!(outcome, Outcome::Waiting { .. }), "{outcome:?}");
    assert_eq!(cast.tasks(), ["2a", "2b", "2c"]);
    while let Outcome::Waiting { until, .. } = &outcome {
        tokio::time::sleep(until.duration_since(std::time::SystemTime::now()).unwrap_or_default()).await;
        outcome = stage.thread.proceed().await.unwrap();
    }
    done(outcome);
    let [first, second] = &cast.turns("2b")[..] else { panic!() };
    assert_eq!((&second.request.turn, second.folder()), (&first.request.turn, first.folder()), "the same turn");
    assert_eq!(cast.tasks(), ["2a", "2b", "2b", "2c", "3"]);
    assert_eq!(stage.commits(), ["2a 1", "2b 1", "2c 1", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

fn refusing() -> Arc<Cast> {
    Cast::developers(|call| async move {
        if call.task == "2b" && call.nth == 0 {
            write(call.folder(), "half.txt", "half of it\n");
            let error = DriverError::new(DriverErrorClass::Content, "the prompt is too long");
            return Err(DriverError { refusal: true, ..error });
        }
        Ok(call.part())
    })
}

#[tokio::test]
async fn a_rejected_session_of_a_sibling_interrupts() {
    let cast = refusing();
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), profile()).await;
    let pending: SessionRefused = question(&outcome).payload().unwrap();
    assert_eq!((pending.task.as_str(), pending.role.as_str()), ("2b", "developer"));
    done(stage.thread.resume::<SessionRefused>(AfterRefusal::Fresh).await.unwrap());
    let [first, second] = &cast.turns("2b")[..] else { panic!() };
    assert_eq!((second.folder(), &second.request.session), (first.folder(), &Session::New));
    assert!(second.request.prompt.contains("half of it"));
    assert_eq!(stage.commits(), ["2a 1", "2b 1", "2c 1", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::skip(AfterRefusal::Skip, RunOutcome::Completed, &["2a 1", "2c 1"])]
#[case::abort(AfterRefusal::Abort, RunOutcome::Cancelled, &[])]
#[tokio::test]
async fn a_rejected_session_may_be_given_up(
    #[case] answer: AfterRefusal,
    #[case] outcome: RunOutcome,
    #[case] commits: &[&str],
) {
    let cast = refusing();
    let stage = Stage::new(&cast);
    stage.run(&three(), profile()).await;
    let state = done(stage.thread.resume::<SessionRefused>(answer).await.unwrap());
    assert_eq!(state.result.outcome, Some(outcome), "{:?}", stage.lines().await);
    assert_eq!(stage.commits(), commits);
    assert!(stage.refs().contains(&"phase-1/attempt-1/task-2b".to_owned()), "{:?}", stage.refs());
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::retry(AfterMissingReview::Retry, RunOutcome::Completed, 4)]
#[case::accept(AfterMissingReview::Accept, RunOutcome::Completed, 4)]
#[case::abort(AfterMissingReview::Abort, RunOutcome::Cancelled, 0)]
#[tokio::test]
async fn a_phase_with_an_unreadable_review_interrupts(
    #[case] answer: AfterMissingReview,
    #[case] outcome: RunOutcome,
    #[case] commits: usize,
) {
    let cast = Cast::new(|call| async move {
        match call.is_developer() {
            true => Ok(call.part()),
            false if call.task == "phase-1" && call.nth < 4 => Ok(Value::Null),
            false => Ok(approved()),
        }
    });
    let stage = Stage::new(&cast);
    let asks = stage.run(&three(), profile()).await;
    let pending: ReviewUnavailable = question(&asks).payload().unwrap();
    assert_eq!((pending.task.as_str(), pending.title.as_str()), ("phase-1", "Phase 1"));
    let state = done(stage.thread.resume::<ReviewUnavailable>(answer).await.unwrap());
    assert_eq!((state.result.outcome, stage.commits().len()), (Some(outcome), commits));
    stage.tidy();
    stage.agrees().await;
}
