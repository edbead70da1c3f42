//! Retention of checkpoints by number, age, tag and open question; the records of a kept checkpoint are kept with it.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer, Retention, gc};
use superstep::graph::Replay;
use superstep::graph::replay::ReplayResult;
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Graph, Pad, PadThread, approval, chain, everything, id, note, start};
use crate::stores::Store;

fn three() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    chain(builder, &["a", "b", "c"])
}

fn asking() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    chain(builder, &["a", "ask"])
}

async fn ids(thread: &PadThread) -> Vec<u64> {
    let made = thread.history().await.unwrap().metadata_only().await.unwrap();
    made.into_iter().map(|made| made.id.0).collect()
}

/// Returns the number of records that the store has of the thread.
async fn records(store: &Store) -> usize {
    let last = superstep::checkpoint::Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX };
    let range = superstep::checkpoint::Key::About..=last;
    let order = superstep::checkpoint::Order::Ascending;
    store.store.scan(&"t".into(), range, order, usize::MAX).await.unwrap().len()
}

#[rstest]
#[case::memory(Store::memory())]
#[case::disk(Store::disk())]
#[tokio::test]
async fn the_last_checkpoints_are_kept_and_can_resume(#[case] store: Store) {
    let thread = store.thread(&three());
    for _ in 0..4 {
        thread.invoke(start()).await.unwrap();
    }
    let (all, before) = (ids(&thread).await, records(&store).await);
    let swept = thread.gc(&Retention::new().keep_last(3)).await.unwrap();
    assert_eq!(ids(&thread).await, all[..3]);
    assert_eq!((swept.kept, swept.checkpoints), (3, all.len() - 3));
    assert_eq!(records(&store).await, before - swept.records);
    let state = thread.state().await.unwrap().unwrap();
    assert_eq!(state.values.notes.len(), 12, "entries of a log that the newest state holds are kept");
    assert_eq!(thread.invoke(start()).await.unwrap().state().notes.len(), 15);
    assert_eq!(thread.history().await.unwrap().all().await.unwrap().len(), 8);
    let again = store.thread(&three()).gc(&Retention::new().keep_last(0)).await.unwrap();
    assert_eq!(again.kept, 2, "the newest, and the one before it");
    let fresh = store.thread(&three());
    assert_eq!(fresh.invoke(start()).await.unwrap().state().notes.len(), 18);
}

#[tokio::test]
async fn without_limits_no_checkpoint_is_removed() {
    let store = Store::memory();
    let thread = store.thread(&asking());
    thread.invoke(start()).await.unwrap();
    let first = ids(&thread).await[0];
    thread.resume::<Approve>(true).await.unwrap();
    thread.clone().at(CheckpointId(first)).update_state(Pad::update().title("moons")).await.unwrap();
    let before = everything(&thread).await;
    assert_eq!(thread.gc(&Retention::new()).await.unwrap().checkpoints, 0);
    assert_eq!(everything(&thread).await, before);
}

#[tokio::test]
async fn a_tag_keeps_its_checkpoint_until_it_is_removed() {
    let store = Store::memory();
    let thread = store.thread(&three());
    thread.invoke(start()).await.unwrap();
    let second = CheckpointId(ids(&thread).await[2]);
    let there = thread.clone().at(second);
    assert_eq!(there.tag("good").await.unwrap(), None);
    assert_eq!(there.tag("good").await.unwrap(), Some(second));
    assert_eq!(thread.tags().await.unwrap(), [("good".to_owned(), second)]);
    let policy = Retention::new().keep_last(1);
    thread.gc(&policy).await.unwrap();
    assert!(ids(&thread).await.contains(&second.0));
    let replayed = there.proceed().await.unwrap();
    assert_eq!(replayed.state().notes, ["a", "b", "c"], "a kept checkpoint replays");
    assert_eq!(thread.untag("good").await.unwrap(), Some(second));
    thread.gc(&policy).await.unwrap();
    assert!(!ids(&thread).await.contains(&second.0));
    assert!(thread.tags().await.unwrap().is_empty());
}

#[tokio::test]
async fn tags_are_removed_with_their_checkpoints_if_the_policy_allows() {
    let store = Store::memory();
    let thread = store.thread(&three());
    thread.invoke(start()).await.unwrap();
    thread.clone().at(CheckpointId(1)).tag("first").await.unwrap();
    thread.gc(&Retention::new().keep_last(1).keep_tagged(false)).await.unwrap();
    assert!(thread.tags().await.unwrap().is_empty());
}

#[rstest]
#[case::unknown(99, "there", "thread `t` has no checkpoint 99")]
#[case::unnamed(1, "", "a tag needs a name: \"\" is none")]
#[tokio::test]
async fn an_invalid_tag_is_refused(#[case] at: u64, #[case] name: &str, #[case] error: &str) {
    let thread = Store::memory().thread(&three());
    thread.invoke(start()).await.unwrap();
    assert_eq!(thread.clone().at(CheckpointId(at)).tag(name).await.unwrap_err().to_string(), error);
}

#[tokio::test]
async fn an_open_question_of_an_older_branch_is_kept_and_can_be_answered() {
    let store = Store::memory();
    let thread = store.thread(&asking());
    thread.invoke(start()).await.unwrap();
    let checkpoint = CheckpointId(ids(&thread).await[0]);
    thread.clone().at(CheckpointId(2)).proceed().await.unwrap(); // a branch that asks as well
    thread.resume::<Approve>(false).await.unwrap();
    for _ in 0..3 {
        thread.clone().discard_pending().invoke(start()).await.unwrap();
        thread.resume::<Approve>(false).await.unwrap();
    }
    let policy = Retention::new().keep_last(1);
    thread.gc(&policy).await.unwrap();
    let there = store.thread(&asking()).at(checkpoint);
    assert_eq!(there.state().await.unwrap().unwrap().tasks[0].questions.len(), 1);
    let answered = there.resume::<Approve>(true).await.unwrap();
    assert_eq!(answered.state().notes, ["a", "approved: true"]);
    thread.gc(&policy.keep_unfinished(false)).await.unwrap();
    assert!(!ids(&thread).await.contains(&checkpoint.0));
}

#[tokio::test]
async fn age_is_measured_from_a_time() {
    let store = Store::memory();
    let thread = store.thread(&three());
    thread.invoke(start()).await.unwrap();
    let newest = thread.state().await.unwrap().unwrap().created_at;
    let policy = Retention::new().max_age(Duration::from_secs(60));
    assert_eq!(thread.gc(&policy.clone().as_of(newest + 59_000)).await.unwrap().checkpoints, 0);
    assert_eq!(thread.gc(&policy.as_of(newest + 3_600_000)).await.unwrap().kept, 2);
}

#[tokio::test]
async fn a_thread_at_a_breakpoint_is_still_at_it() {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    let graph = builder.add_sequence(["a", "b", "c"].map(id)).interrupt_after([id("b")]).compile().unwrap();
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    thread.gc(&Retention::new().keep_last(1)).await.unwrap();
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Stopped { next } if *next == ["c"]), "{status:?}");
    assert_eq!(store.thread(&graph).proceed().await.unwrap().state().notes, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_removal_cut_at_any_commit_keeps_the_kept_checkpoints() {
    let policy = Retention::new().keep_last(2);
    for nth in 1.. {
        let store = Store::memory();
        let thread = store.thread(&asking());
        for _ in 0..40 {
            thread.clone().discard_pending().invoke(start()).await.unwrap();
            thread.clone().at(CheckpointId(1)).proceed().await.unwrap();
            thread.resume::<Approve>(true).await.unwrap();
        }
        let before = thread.state().await.unwrap();
        let failing = FailingCheckpointer::new(Arc::clone(&store.store), nth);
        let done = gc(&failing, &"t".into(), &policy.clone().keep_unfinished(false)).await.is_ok();
        assert_eq!(format!("{:?}", thread.state().await.unwrap()), format!("{before:?}"), "cut at {nth}");
        assert!(
            !thread.history().await.unwrap().all().await.unwrap().is_empty(),
            "cut at {nth}: all of it can be read"
        );
        thread.gc(&policy.clone().keep_unfinished(false)).await.unwrap();
        assert!(ids(&thread).await.len() <= 3);
        if done {
            assert!(nth > 2, "it took several commits");
            break;
        }
    }
}

#[tokio::test]
async fn a_running_thread_is_not_changed() {
    let store = Store::memory();
    let thread = store.thread(&three());
    thread.invoke(start()).await.unwrap();
    let lease = store.store.claim(&"t".into(), superstep::checkpoint::Claim::IfFree).await.unwrap();
    assert_eq!(
        thread.gc(&Retention::new()).await.unwrap_err().to_string(),
        "thread `t` is being run by another caller in this process"
    );
    let report = superstep::checkpoint::gc_all(&*store.store, &Retention::new().keep_last(1)).await.unwrap();
    drop(lease);
    insta::assert_snapshot!(report, @r"
    1 threads: 0 checkpoints removed, 0 kept; 0 records, 0 bytes removed
    thread `t` was skipped: thread `t` is being run by another caller in this process
    ");
    let store: &dyn Checkpointer = &*store.store;
    assert!(gc(store, &"unknown".into(), &Retention::new()).await.is_err());
}

#[tokio::test]
async fn a_history_read_during_a_removal_has_the_remaining_checkpoints() {
    let store = Store::memory();
    let thread = store.thread(&three());
    for _ in 0..3 {
        thread.invoke(start()).await.unwrap();
    }
    let mut history = thread.history().await.unwrap();
    let newest = history.next().await.unwrap().unwrap().id;
    thread.gc(&Retention::new().keep_last(2)).await.unwrap();
    let left: Vec<_> = history.all().await.unwrap().iter().map(|made| made.id).collect();
    let kept = CheckpointId(ids(&thread).await[1]);
    assert!(left.contains(&kept) && !left.contains(&newest), "what had been listed may be shown or skipped");
}

#[tokio::test]
async fn the_remaining_checkpoints_replay_from_the_oldest_one() {
    let store = Store::memory();
    let inner = Builder::new().add_node(id("c"), note("c")).add_node(id("d"), note("d"));
    let inner = chain(inner, &["c", "d"]).persistence(Persistence::PerThread);
    let builder = Builder::new().add_node(id("a"), note("a")).add_subgraph(id("inner"), inner.clone());
    let graph = chain(builder.add_node(id("b"), note("b")), &["a", "inner", "b"]);
    let thread = store.thread(&graph);
    for _ in 0..3 {
        thread.invoke(start()).await.unwrap();
    }
    let whole = thread.verify().await.unwrap().verified;
    let tagged = thread.clone().at(CheckpointId(ids(&thread).await[9]));
    tagged.tag("alone").await.unwrap();
    for keep in [7, 1] {
        assert!(thread.gc(&Retention::new().keep_last(keep)).await.unwrap().checkpoints > 0);
        let left = ids(&thread).await;
        for thread in [&thread, &thread.clone().at(CheckpointId(left[1])), &tagged] {
            let ReplayResult::Recorded { .. } = thread.replay(Replay::Recorded).await.unwrap() else { panic!() };
            let mut events = thread.replay(Replay::Recorded).stream_deep([Mode::Tasks, Mode::Checkpoints]);
            while events.next().await.is_some() {}
            events.finish().await.unwrap();
            let verified = thread.verify().await.unwrap();
            assert!(verified.divergence.is_none() && verified.verified < whole, "{verified:?}");
            assert!(thread.what_if().await.unwrap().differences.is_empty());
        }
        thread.subgraph(&inner, ["inner"]).replay(Replay::Recorded).await.unwrap();
    }
    assert_eq!(thread.verify().await.unwrap().verified, 1);
}
