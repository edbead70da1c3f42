//! The budget of a run with parallel subtasks: one question, nothing lost, nothing repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::drivers::{DriverError, DriverErrorClass, RunLimits};
use superstep::nodes::{AfterBudget, AfterHalt, ApprovePlan, BudgetReached, RaisedLimits};
use superstep::plan::Decision;
use superstep_workflows::phased::{PhaseStatus, graph};
use superstep_workflows::task_based::RunOutcome;
use superstep_workflows::{OnSubtaskFailure, Profile, TurnLimits};
use tokio::sync::{Barrier, Semaphore};

use crate::agent::work;
use crate::phases::stage::{Cast, Stage, broken, done, halt, plan, profile, question, three, turn_usage};
use crate::repository::{Repository, write};

fn tokens(most: u64) -> Profile {
    Profile { budget: RunLimits::default().tokens(most), ..profile() }
}

fn raise(tokens: u64) -> AfterBudget {
    AfterBudget::Raise(RaisedLimits { tokens: Some(tokens), ..RaisedLimits::default() })
}

/// Each turn takes 15 tokens at its start; those of the first attempt continue once all three have started.
fn together() -> Arc<Cast> {
    let meeting = Arc::new(Barrier::new(3));
    Cast::developers(move |call| {
        let meeting = Arc::clone(&meeting);
        async move {
            if call.nth == 0 && call.task != "3" {
                write(call.folder(), &format!("half-{}.txt", call.task), "half\n");
                meeting.wait().await;
            }
            Ok(call.part())
        }
    })
}

fn cost(most: u64) -> Profile {
    Profile { budget: RunLimits::default().cost(most), ..profile() }
}

#[rstest]
#[case::tokens(tokens(40), raise(5_000), "tokens")]
#[case::cost(cost(250), AfterBudget::Raise(RaisedLimits { cost: Some(50_000), ..RaisedLimits::default() }), "cost")]
#[tokio::test]
async fn three_parallel_agents_reach_the_budget_and_one_question_is_asked(
    #[case] profile: Profile,
    #[case] more: AfterBudget,
    #[case] reached: &str,
) {
    let cast = Cast::developers(|call| async move {
        if call.nth == 0 && call.task != "3" {
            write(call.folder(), &format!("half-{}.txt", call.task), "half\n");
            std::future::pending::<()>().await; // the budget ends it
        }
        assert!(call.task == "3" || call.folder().join(format!("half-{}.txt", call.task)).exists());
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), profile).await;
    let pending: BudgetReached = question(&outcome).payload().unwrap();
    assert_eq!((pending.reached, pending.tokens, pending.cost), (vec![reached.to_owned()], 45, 300));
    assert_eq!(cast.tasks(), ["2a", "2b", "2c"]);
    assert_eq!(stage.refs(), Vec::<String>::new(), "the worktrees are kept");
    let state = done(stage.thread.resume::<BudgetReached>(more).await.unwrap());
    assert_eq!(cast.tasks(), ["2a", "2a", "2b", "2b", "2c", "2c", "3"]);
    for id in ["2a", "2b", "2c"] {
        let [first, second] = &cast.turns(id)[..] else { panic!() };
        assert_eq!((&second.request.turn, second.folder()), (&first.request.turn, first.folder()), "the same turn");
    }
    assert_eq!(
        (state.result.outcome, stage.commits()),
        (Some(RunOutcome::Completed), COMMITS.map(str::to_owned).to_vec())
    );
    assert_eq!(state.result.usage.tokens(), turn_usage().tokens() * 9, "7 turns of developers, 2 of reviewers");
    stage.tidy();
    stage.agrees().await;
}

const COMMITS: [&str; 4] = ["2a 1", "2b 1", "2c 1", "3 1"];

#[tokio::test]
async fn finished_subtasks_are_not_repeated_with_a_larger_budget() {
    let cast = together();
    let stage = Stage::new(&cast);
    let mut outcome = stage.run(&three(), tokens(46)).await; // three turns of developers, and no review
    let mut limit = 46;
    let mut questions = 0;
    while !outcome.questions().is_empty() {
        assert_eq!(question(&outcome).name(), "budget");
        (limit, questions) = (limit + 15, questions + 1);
        outcome = stage.thread.resume::<BudgetReached>(raise(limit)).await.unwrap();
    }
    done(outcome);
    assert_eq!(cast.tasks(), ["2a", "2b", "2c", "3"]);
    assert!(questions >= 1);
    assert_eq!(stage.commits(), COMMITS);
    stage.tidy();
    stage.agrees().await;
}

/// As many agents as may start within the time run until it is raised.
#[tokio::test]
async fn the_time_of_parallel_agents_is_a_budget_too() {
    let is_raised = Arc::new(AtomicBool::new(false));
    let is_resumed = Arc::clone(&is_raised);
    let cast = Cast::developers(move |call| {
        let is_resumed = Arc::clone(&is_resumed);
        async move {
            call.part();
            if !is_resumed.load(Ordering::SeqCst) {
                std::future::pending::<()>().await; // the budget ends it
            }
            Ok(work())
        }
    });
    let stage = Stage::new(&cast);
    let wall = |seconds| Some(Duration::from_secs(seconds));
    let budget = RunLimits::default().wall(Duration::from_secs(1));
    let outcome = stage.run(&three(), Profile { budget, ..profile() }).await;
    let pending: BudgetReached = question(&outcome).payload().unwrap();
    assert_eq!(pending.reached, ["wall"]);
    assert!(!cast.tasks().is_empty() && stage.commits().is_empty());
    is_raised.store(true, Ordering::SeqCst);
    let more = AfterBudget::Raise(RaisedLimits { wall: wall(3600), ..RaisedLimits::default() });
    let state = done(stage.thread.resume::<BudgetReached>(more).await.unwrap());
    assert_eq!(
        (state.result.outcome, stage.commits()),
        (Some(RunOutcome::Completed), COMMITS.map(str::to_owned).to_vec())
    );
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::tokens(tokens(40))]
#[case::cost(cost(250))]
#[tokio::test]
async fn a_run_whose_budget_is_not_raised_ends_with_its_work_kept(#[case] profile: Profile) {
    let cast = Cast::developers(|call| async move {
        call.part();
        std::future::pending::<()>().await;
        Err(DriverError::new(DriverErrorClass::Cancelled, "never"))
    });
    let stage = Stage::new(&cast);
    stage.run(&three(), profile).await;
    let state = done(stage.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap());
    assert_eq!((state.result.outcome, stage.commits()), (Some(RunOutcome::Cancelled), vec![]));
    let expected = ["2a", "2b", "2c"].map(|id| format!("phase-1/attempt-1/task-{id}"));
    assert_eq!(stage.refs(), expected);
    stage.tidy();
    stage.agrees().await;
}

/// 2b fails, then 2a reaches the budget.
fn failing_then_spent() -> (Arc<Cast>, Profile) {
    let cast = Cast::developers(|call| async move {
        match (call.task.as_str(), call.nth) {
            ("2b", 0) => return Err(broken()),
            ("2c", 0) => {
                call.part();
                std::future::pending::<()>().await; // the budget ends it
            }
            _ => {}
        }
        Ok(call.part())
    });
    let mut profile = tokens(25);
    profile.phased.max_parallel = 1;
    profile.phased.on_failure = OnSubtaskFailure::FinishSiblings;
    (cast, profile)
}

#[tokio::test]
async fn a_subtask_that_waits_for_a_larger_budget_is_cancelled_if_a_sibling_failed() {
    let (cast, profile) = failing_then_spent();
    let stage = Stage::new(&cast);
    let plan = plan(&[("2b", "none"), ("2c", "none")]);
    let outcome = stage.run(&plan, profile).await;
    assert_eq!(halt(&outcome).reason, "the agent broke");
    let failed = ["2b failed 1 (the agent broke)", "2c failed 1 (cancelled: subtask 2b failed)"];
    assert_eq!(stage.lines().await, failed);
    assert_eq!(stage.refs(), ["phase-1/attempt-1/task-2c"]);
    stage.tidy();
    let state = done(stage.halted(AfterHalt::Abort).await);
    assert_eq!(
        (state.result.outcome, stage.lines().await),
        (Some(RunOutcome::Cancelled), failed.map(str::to_owned).to_vec())
    );
    stage.agrees().await;
}

#[tokio::test]
async fn nothing_is_running_once_a_budget_was_not_raised() {
    let (cast, profile) = failing_then_spent();
    let stage = Stage::new(&cast);
    stage.run(&plan(&[("1", "none"), ("2c", "none")]), profile).await;
    let state = done(stage.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap());
    assert_eq!(stage.lines().await, ["1 completed 1", "2c failed 1 (the run was ended)"]);
    assert_eq!(state.phased.phases[0].status, PhaseStatus::Failed);
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::one(1)]
#[case::three(3)]
#[tokio::test]
async fn the_usage_of_killed_turns_is_counted_once(#[case] parallel: u32) {
    let (repository, store) = (Repository::new(), Arc::new(MemoryCheckpointer::new()));
    let started = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&started);
    let hanging = Cast::developers(move |call| {
        permits.add_permits(1);
        async move {
            call.part();
            std::future::pending::<()>().await;
            Err(DriverError::new(DriverErrorClass::Cancelled, "never"))
        }
    });
    let graph = || graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store.clone());
    let killed = Stage { repository, thread: graph().thread_with("clock", Arc::new(Arc::clone(&hanging))) };
    let mut profile = tokens(10_000);
    profile.phased.max_parallel = parallel;
    killed.thread.invoke(killed.input(&three(), profile)).await.unwrap();
    tokio::select! {
        outcome = killed.thread.resume::<ApprovePlan>(Decision::approve()) => panic!("{outcome:?}"),
        _ = started.acquire_many(parallel) => {}
    }
    let Stage { repository, thread } = killed;
    drop(thread);
    let again = Cast::developers(|call| async move { Ok(call.part()) });
    let stage = Stage { repository, thread: graph().thread_with("clock", Arc::new(Arc::clone(&again))) };
    let state = done(stage.thread.proceed().await.unwrap());
    let turns = hanging.calls().len() + again.calls().len();
    assert_eq!(state.result.usage.tokens(), turn_usage().tokens() * turns as u64);
    assert_eq!(again.tasks(), ["2a", "2b", "2c", "3"]);
    assert_eq!(stage.commits(), COMMITS);
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn limits_hold_for_each_agent_and_not_for_all_together() {
    let cast = together();
    let stage = Stage::new(&cast);
    let limits = TurnLimits { tokens: Some(20), ..TurnLimits::default() };
    done(stage.run(&three(), Profile { limits, ..profile() }).await);
    assert!(cast.calls().iter().all(|call| call.request.limits.tokens == Some(20)));
    assert_eq!(stage.commits(), COMMITS);
}
