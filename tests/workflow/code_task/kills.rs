//! A run that is cut anywhere, with two children at work, comes to the same end as one that is not.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep::workflows::code_task::{CodeTaskState, TaskOutcome, graph};

use super::desk::{CHECK, Desk, agents, spec};
use super::splits::acts;
use crate::phases::stage::Cast;

fn desk(store: Arc<dyn Checkpointer>, cast: &Arc<Cast>) -> Desk {
    let flags = Flags { policy: vec!["parallel_children=2".into()], ..Flags::default() };
    let mut desk = Desk::with(Arc::clone(cast), CHECK, spec(), &flags);
    let graph = graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
    desk.thread = graph.thread_with("clock", Arc::new(Arc::clone(cast)));
    desk
}

/// The same repository with another store.
fn again(desk: Desk, store: Arc<dyn Checkpointer>, cast: &Arc<Cast>) -> Desk {
    let graph = graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
    Desk { thread: graph.thread_with("clock", Arc::new(Arc::clone(cast))), ..desk }
}

/// Begins, or goes on.
async fn on(desk: &Desk) -> Result<Outcome<CodeTaskState>, RunError> {
    match desk.thread.state().await? {
        None => desk.thread.invoke(desk.input()).await,
        Some(_) => desk.thread.proceed().await,
    }
}

/// The trees and subjects of the branch and of what is kept beside it, and the files of the records.
fn end(desk: &Desk) -> [String; 3] {
    let log = desk.repository.git(&["log", "--format=%T %s", "superstep/clock"]);
    let refs = desk.repository.git(&["for-each-ref", "--format=%(refname) %(tree) %(subject)", "refs/superstep"]);
    [log, refs, desk.records().join("\n")]
}

fn worked(cast: &Cast) -> Vec<String> {
    cast.tasks()
}

#[rstest]
#[case::some(31)]
#[ignore = "minutes: by hand"]
#[case::each(1)]
#[tokio::test]
async fn a_run_cut_at_any_write_comes_to_the_same_end(#[case] stride: usize) {
    let (cast, store) = (agents(acts), Arc::new(MemoryCheckpointer::new()));
    let counting = Arc::new(FailingCheckpointer::new(store, u64::MAX));
    let whole = desk(counting.clone(), &cast);
    on(&whole).await.unwrap();
    assert_eq!(whole.outcome().await, Some(TaskOutcome::Done));
    let (expected, turns) = (end(&whole), worked(&cast));
    assert_eq!(turns, ["tides", "tides", "tides.1", "tides.2"]);
    for at in (1..=counting.commits()).step_by(stride) {
        for lost in [false, true] {
            let (cast, store) = (agents(acts), Arc::new(MemoryCheckpointer::new()));
            let failing = if lost { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
            let desk = desk(Arc::new(failing(store.clone(), at)), &cast);
            let _cut = on(&desk).await;
            let desk = again(desk, store, &cast);
            on(&desk).await.unwrap_or_else(|error| panic!("{at} {lost}: {error}"));
            assert_eq!(end(&desk), expected, "write {at}, stored: {lost}");
            assert_eq!(worked(&cast), turns, "write {at}, stored: {lost}: no turn is asked again");
            desk.tidy();
        }
    }
}
