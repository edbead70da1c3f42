//! The budget of a run that is drawn down by subtasks at the same time: one question, nothing lost, nothing done twice.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::drivers::{DriverError, ErrorClass, RunLimits};
use superstep::nodes::{AfterBudget, ApprovePlan, BudgetReached, Raise};
use superstep::plan::Decision;
use superstep::workflows::phased::graph;
use superstep::workflows::task_based::RunOutcome;
use superstep::workflows::{Profile, TurnLimits};
use tokio::sync::{Barrier, Semaphore};

use crate::phases_stage::{Cast, Stage, done, profile, question, three, used};
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

#[tokio::test]
async fn three_agents_at_once_reach_the_budget_and_one_question_is_asked() {
    let cast = Cast::developers(|asked| async move {
        if asked.nth == 0 && asked.task != "3" {
            write(asked.folder(), &format!("half-{}.txt", asked.task), "half\n");
            std::future::pending::<()>().await; // the budget ends it
        }
        assert!(asked.task == "3" || asked.folder().join(format!("half-{}.txt", asked.task)).exists());
        Ok(asked.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), tokens(40)).await;
    let asked: BudgetReached = question(&outcome).payload().unwrap();
    assert_eq!((asked.reached, asked.tokens), (vec!["tokens".to_owned()], 45));
    assert_eq!(cast.tasks(), ["2a", "2b", "2c"]);
    assert_eq!(stage.refs(), Vec::<String>::new(), "the worktrees are kept");
    let state = done(stage.thread.resume::<BudgetReached>(raise(5_000)).await.unwrap());
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

#[tokio::test]
async fn a_run_whose_budget_is_not_raised_ends_with_its_work_kept() {
    let cast = Cast::developers(|asked| async move {
        asked.part();
        std::future::pending::<()>().await;
        Err(DriverError::new(ErrorClass::Cancelled, "never"))
    });
    let stage = Stage::new(&cast);
    stage.run(&three(), tokens(40)).await;
    let state = done(stage.thread.resume::<BudgetReached>(AfterBudget::Abort).await.unwrap());
    assert_eq!((state.outcome, stage.commits()), (Some(RunOutcome::Cancelled), vec![]));
    let kept = ["2a", "2b", "2c"].map(|id| format!("phase-1/attempt-1/task-{id}"));
    assert_eq!(stage.refs(), kept);
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
