//! The budget of a run that is drawn down by subtasks at the same time: one question, nothing lost, nothing done twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::drivers::{DriverError, ErrorClass, RunLimits};
use superstep::nodes::{AfterBudget, AfterHalt, ApprovePlan, BudgetReached, Raise};
use superstep::plan::Decision;
use superstep::workflows::phased::{PhaseStatus, graph};
use superstep::workflows::task_based::RunOutcome;
use superstep::workflows::{OnSubtaskFailure, Profile, TurnLimits};
use tokio::sync::{Barrier, Semaphore};

use crate::agent::work;
use crate::phases::stage::{Cast, Stage, broken, done, halt, plan, profile, question, three, used};
use crate::repository::{Repository, write};

fn tokens(most: u64) -> Profile {
    Profile { budget: RunLimits { tokens: Some(most), ..RunLimits::default() }, ..profile() }
}

fn raise(tokens: u64) -> AfterBudget {
    AfterBudget::Raise(Raise { tokens: Some(tokens), ..Raise::default() })
}

/// Each turn takes 15 tokens when it begins; those of the first attempt go on once all three have begun.
fn together() -> Arc<Cast> {
    let meeting = Arc::new(Barrier::new(3));
    Cast::developers(move |asked| {
        let meeting = Arc::clone(&meeting);
        async move {
            if asked.nth == 0 && asked.task != "3" {
                write(asked.folder(), &format!("half-{}.txt", asked.task), "half\n");
                meeting.wait().await;
            }
            Ok(asked.part())
        }
    })
}

fn cost(most: u64) -> Profile {
    Profile { budget: RunLimits { cost: Some(most), ..RunLimits::default() }, ..profile() }
}

#[rstest]
#[case::tokens(tokens(40), raise(5_000), "tokens")]
#[case::cost(cost(250), AfterBudget::Raise(Raise { cost: Some(50_000), ..Raise::default() }), "cost")]
#[tokio::test]
async fn three_agents_at_once_reach_the_budget_and_one_question_is_asked(
    #[case] profile: Profile,
    #[case] more: AfterBudget,
    #[case] reached: &str,
) {
    let cast = Cast::developers(|asked| async move {
        if asked.nth == 0 && asked.task != "3" {
            write(asked.folder(), &format!("half-{}.txt", asked.task), "half\n");
            std::future::pending::<()>().await; // the budget ends it
        }
        assert!(asked.task == "3" || asked.folder().join(format!("half-{}.txt", asked.task)).exists());
        Ok(asked.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), profile).await;
    let asked: BudgetReached = question(&outcome).payload().unwrap();
    assert_eq!((asked.reached, asked.tokens, asked.cost), (vec![reached.to_owned()], 45, 300));
    assert_eq!(cast.tasks(), ["2a", "2b", "2c"]);
    assert_eq!(stage.refs(), Vec::<String>::new(), "the worktrees are kept");
    let state = done(stage.thread.resume::<BudgetReached>(more).await.unwrap());
    assert_eq!(cast.tasks(), ["2a", "2a", "2b", "2b", "2c", "2c", "3"]);
    for id in ["2a", "2b", "2c"] {
        let [first, second] = &cast.turns(id)[..] else { panic!() };
        assert_eq!((&second.request.turn, second.folder()), (&first.request.turn, first.folder()), "the same turn");
    }
    assert_eq!((state.outcome, stage.commits()), (Some(RunOutcome::Completed), COMMITS.map(str::to_owned).to_vec()));
    assert_eq!(state.usage.tokens(), used().tokens() * 9, "7 turns of developers, 2 of reviewers");
    stage.tidy();
    stage.agrees().await;
}

const COMMITS: [&str; 4] = ["2a 1", "2b 1", "2c 1", "3 1"];

#[tokio::test]
async fn subtasks_that_were_done_are_not_repeated_with_a_larger_budget() {
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

/// As many agents as may begin within the time are at work until it is raised.
#[tokio::test]
async fn the_time_of_agents_at_work_at_once_is_a_budget_too() {
    let is_raised = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::clone(&is_raised);
    let cast = Cast::developers(move |asked| {
        let goes_on = Arc::clone(&goes_on);
        async move {
            asked.part();
            if !goes_on.load(Ordering::SeqCst) {
                std::future::pending::<()>().await; // the budget ends it
            }
            Ok(work())
        }
    });
    let stage = Stage::new(&cast);
    let wall = |seconds| Some(Duration::from_secs(seconds));
    let budget = RunLimits { wall: wall(1), ..RunLimits::default() };
    let outcome = stage.run(&three(), Profile { budget, ..profile() }).await;
    let asked: BudgetReached = question(&outcome).payload().unwrap();
    assert_eq!(asked.reached, ["wall"]);
    assert!(!cast.tasks().is_empty() && stage.commits().is_empty());
    is_raised.store(true, Ordering::SeqCst);
    let more = AfterBudget::Raise(Raise { wall: wall(3600), ..Raise::default() });
    let state = done(stage.thread.resume::<BudgetReached>(more).await.unwrap());
    assert_eq!((state.outcome, stage.commits()), (Some(RunOutcome::Completed), COMMITS.map(str::to_owned).to_vec()));
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::tokens(tokens(40))]
#[case::cost(cost(250))]
#[tokio::test]
async fn a_run_whose_budget_is_not_raised_ends_with_its_work_kept(#[case] profile: Profile) {
    let cast = Cast::developers(|asked| async move {
        asked.part();
        std::future::pending::<()>().await;
        Err(DriverError::new(ErrorClass::Cancelled, "never"))
    });
    let stage = Stage::new(&cast);
    stage.run(&three(), profile).await;
    let state = done(stage.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap());
    assert_eq!((state.outcome, stage.commits()), (Some(RunOutcome::Cancelled), vec![]));
    let kept = ["2a", "2b", "2c"].map(|id| format!("phase-1/attempt-1/task-{id}"));
    assert_eq!(stage.refs(), kept);
    stage.tidy();
    stage.agrees().await;
}

/// 2b fails, then 2a reaches the budget.
fn failing_then_spent() -> (Arc<Cast>, Profile) {
    let cast = Cast::developers(|asked| async move {
        match (asked.task.as_str(), asked.nth) {
            ("2b", 0) => return Err(broken()),
            ("2c", 0) => {
                asked.part();
                std::future::pending::<()>().await; // the budget ends it
            }
            _ => {}
        }
        Ok(asked.part())
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
    assert_eq!((state.outcome, stage.lines().await), (Some(RunOutcome::Cancelled), failed.map(str::to_owned).to_vec()));
    stage.agrees().await;
}

#[tokio::test]
async fn nothing_is_under_way_once_a_budget_was_not_raised() {
    let (cast, profile) = failing_then_spent();
    let stage = Stage::new(&cast);
    stage.run(&plan(&[("1", "none"), ("2c", "none")]), profile).await;
    let state = done(stage.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap());
    assert_eq!(stage.lines().await, ["1 completed 1", "2c failed 1 (the run was ended)"]);
    assert_eq!(state.phases[0].status, PhaseStatus::Failed);
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::one(1)]
#[case::three(3)]
#[tokio::test]
async fn what_killed_turns_used_is_counted_once(#[case] parallel: u32) {
    let (repository, store) = (Repository::new(), Arc::new(MemoryCheckpointer::new()));
    let begun = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&begun);
    let hanging = Cast::developers(move |asked| {
        told.add_permits(1);
        async move {
            asked.part();
            std::future::pending::<()>().await;
            Err(DriverError::new(ErrorClass::Cancelled, "never"))
        }
    });
    let graph = || graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store.clone());
    let killed = Stage { repository, thread: graph().thread_with("clock", Arc::new(Arc::clone(&hanging))) };
    let mut profile = tokens(10_000);
    profile.phased.max_parallel = parallel;
    killed.thread.invoke(killed.input(&three(), profile)).await.unwrap();
    tokio::select! {
        outcome = killed.thread.resume::<ApprovePlan>(Decision::approve()) => panic!("{outcome:?}"),
        _ = begun.acquire_many(parallel) => {}
    }
    let Stage { repository, thread } = killed;
    drop(thread);
    let again = Cast::developers(|asked| async move { Ok(asked.part()) });
    let stage = Stage { repository, thread: graph().thread_with("clock", Arc::new(Arc::clone(&again))) };
    let state = done(stage.thread.proceed().await.unwrap());
    let turns = hanging.asked().len() + again.asked().len();
    assert_eq!(state.usage.tokens(), used().tokens() * turns as u64);
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
    assert!(cast.asked().iter().all(|asked| asked.request.limits.tokens == Some(20)));
    assert_eq!(stage.commits(), COMMITS);
}
