//! Checks of threads: arbitrary names, isolation, listing, deletion; leases: one writer per thread, takeover, release;
//! mailboxes: records posted without a lease while another caller commits. The last pass at once where the store does
//! not implement `post`. Knows the contract only.

use std::sync::Arc;

use futures::future::join_all;

use super::check::{FailureReason, Harness, Scene, checkpoint, ensure_eq, ensure_matches, head, list, record, value};
use crate::checkpoint::{CheckpointError, Claim, Commit, Key, Order, Record, ThreadId};

list![
    names_that_begin_alike_stay_apart,
    threads_are_listed_in_pages,
    a_deleted_thread_is_gone,
    deletion_spares_neighbours,
    a_deleted_name_can_be_used_again,
    commits_queued_before_a_deletion_are_deleted,
    a_name_over_the_limit_is_refused,
    a_claimed_thread_is_busy,
    a_dropped_lease_frees_the_thread,
    a_take_over_fences_the_earlier_writer,
    an_engine_takes_over_its_own_claim_and_no_other,
    an_older_lease_does_not_free_a_newer_one,
    epochs_grow,
    a_commit_without_a_lease_is_refused,
    a_posted_record_is_read_back,
    a_post_leaves_the_head_and_the_lease_alone,
    posts_and_commits_do_not_lose_each_other,
    posted_records_are_in_the_order_of_their_keys,
    a_post_is_all_or_nothing,
    a_post_to_an_unknown_thread_is_refused,
    a_received_record_is_gone_with_its_commit,
    acknowledged_posts_outlive_the_store,
    of_several_posts_of_a_new_record_one_is_stored,
];

/// Names in the order of [`crate::checkpoint::Checkpointer::threads`]: by length, then by bytes.
const NAMES: [&str; 9] = ["", "\0", "a", "a\0", "aa", "ä", "\u{10ffff}", "草稿", "essay-🙂/1"];

async fn fill(harness: &dyn Harness) -> Result<Vec<Scene>, FailureReason> {
    let store = harness.open().await?;
    let mut scenes = Vec::new();
    for name in NAMES.iter().rev() {
        let scene = Scene::on(store.clone(), name).await?;
        scene.commit(0, vec![record(0, name), record(1, "one")]).await?;
        scenes.push(scene);
    }
    Ok(scenes)
}

async fn names_that_begin_alike_stay_apart(harness: &dyn Harness) -> Result<(), FailureReason> {
    for scene in fill(harness).await? {
        let all = Key::Head..=Key::Event { checkpoint: Default::default(), number: 0 };
        let found = scene.store.scan(&scene.thread, all, Order::Ascending, 99).await?;
        ensure_eq!(found, vec![record(0, scene.thread.as_str()), record(1, "one")]);
    }
    Ok(())
}

async fn threads_are_listed_in_pages(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scenes = fill(harness).await?;
    let Some(Scene { store, .. }) = scenes.first() else { return Ok(()) };
    let names = NAMES.map(ThreadId::from);
    ensure_eq!(store.threads(None, 99).await?, names);
    ensure_eq!(store.threads(None, 2).await?, names[..2]);
    ensure_eq!(store.threads(Some(&names[1]), 3).await?, names[2..5]);
    ensure_eq!(store.threads(Some(&"b".into()), 1).await?, names[3..4]);
    ensure_eq!(store.threads(Some(&names[8]), 9).await?, Vec::new());
    ensure_eq!(store.threads(None, 0).await?, Vec::new());
    Ok(())
}

async fn a_deleted_thread_is_gone(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let puts = |from: u64| (from..from + 500).map(|number| record(number, "x")).collect();
    scene.commit(0, puts(0)).await?;
    scene.commit(1, puts(500)).await?;
    scene.store.delete_thread(&scene.lease).await?;
    ensure_eq!(scene.store.head(&scene.thread).await?, None);
    ensure_eq!(scene.checkpoints(Order::Ascending, 9).await?, Vec::<u64>::new());
    ensure_eq!(scene.store.threads(None, 9).await?, Vec::new());
    ensure_matches!(scene.commit(2, vec![]).await, Err(CheckpointError::HeadMoved { .. }));
    Ok(())
}

async fn deletion_spares_neighbours(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scenes = fill(harness).await?;
    for scene in scenes.iter().filter(|scene| scene.thread.as_str() == "a") {
        scene.store.delete_thread(&scene.lease).await?;
    }
    for scene in &scenes {
        let is_left = scene.thread.as_str() != "a";
        ensure_eq!((scene.thread.as_str(), scene.newest().await?.is_some()), (scene.thread.as_str(), is_left));
        ensure_eq!(scene.get(checkpoint(1)).await?.is_some(), is_left);
    }
    Ok(())
}

async fn a_deleted_name_can_be_used_again(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "old"), record(1, "old")]).await?;
    scene.store.delete_thread(&scene.lease).await?;
    scene.commit(0, vec![record(0, "new")]).await?;
    ensure_eq!(scene.checkpoints(Order::Ascending, 9).await?, vec![0]);
    ensure_eq!(scene.get(checkpoint(0)).await?, Some(b"new".to_vec()));
    ensure_eq!(scene.store.threads(None, 9).await?, vec![scene.thread.clone()]);
    Ok(())
}

async fn commits_queued_before_a_deletion_are_deleted(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let (first, second) = (scene.commit(0, vec![record(0, "x")]), scene.commit(1, vec![]));
    scene.store.delete_thread(&scene.lease).await?;
    first.await?;
    second.await?;
    ensure_eq!(scene.newest().await?, None);
    ensure_eq!(scene.get(checkpoint(0)).await?, None);
    Ok(())
}

async fn a_name_over_the_limit_is_refused(harness: &dyn Harness) -> Result<(), FailureReason> {
    let name = "x".repeat(Commit::MAX_NAME + 1);
    let scene = Scene::on(harness.open().await?, &name).await?;
    ensure_matches!(scene.commit(0, vec![]).await, Err(CheckpointError::TooLarge { .. }));
    let scene = Scene::on(scene.store, &name[1..]).await?;
    scene.commit(0, vec![(Key::Log { channel: name[1..].into(), row: Default::default() }, vec![0; 99_999])]).await?;
    ensure_eq!(scene.newest().await?, Some(0));
    Ok(())
}

async fn a_claimed_thread_is_busy(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    ensure_eq!(scene.store.owner(&scene.thread).await?.is_some(), true);
    let second = scene.store.claim(&scene.thread, Claim::IfFree).await;
    ensure_matches!(second, Err(CheckpointError::ThreadBusy { .. }));
    ensure_eq!(scene.store.owner(&"u".into()).await?.is_some(), false);
    scene.store.claim(&"u".into(), Claim::IfFree).await?;
    scene.commit(0, vec![]).await?;
    Ok(())
}

async fn a_dropped_lease_frees_the_thread(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    drop(lease);
    ensure_eq!(store.owner(&thread).await?.is_some(), false);
    let again = Scene::on(store, "t").await?;
    again.commit(0, vec![]).await?;
    Ok(())
}

async fn a_take_over_fences_the_earlier_writer(harness: &dyn Harness) -> Result<(), FailureReason> {
    let first = Scene::new(harness).await?;
    first.commit(0, vec![]).await?;
    let lease = first.store.claim(&first.thread, Claim::TakeOver).await?;
    let stale = first.commit(1, vec![record(1, "stale")]).await;
    ensure_matches!(stale, Err(CheckpointError::StaleLease { .. }));
    ensure_matches!(first.store.delete_thread(&first.lease).await, Err(CheckpointError::StaleLease { .. }));
    let second = Scene { store: first.store.clone(), lease, thread: first.thread.clone() };
    second.commit(1, vec![record(1, "new")]).await?;
    ensure_eq!(second.newest().await?, Some(1));
    Ok(())
}

async fn an_engine_takes_over_its_own_claim_and_no_other(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let Scene { store, lease, thread } = scene;
    let (by_one, by_two) = (Claim::ForEngine("one"), Claim::ForEngine("two"));
    ensure_matches!(store.claim(&thread, by_one).await, Err(CheckpointError::ThreadBusy { .. }));
    lease.release().await?;
    let first = store.claim(&thread, by_one).await?;
    for claim in [Claim::IfFree, by_two] {
        ensure_matches!(store.claim(&thread, claim).await, Err(CheckpointError::ThreadBusy { .. }));
    }
    let second = store.claim(&thread, by_one).await?;
    ensure_matches!(first.check(), Err(CheckpointError::StaleLease { .. }));
    second.check()?;
    Ok(())
}

async fn an_older_lease_does_not_free_a_newer_one(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    let newer = store.claim(&thread, Claim::TakeOver).await?;
    drop(lease);
    ensure_eq!(store.owner(&thread).await?.is_some(), true);
    drop(newer);
    ensure_eq!(store.owner(&thread).await?.is_some(), false);
    Ok(())
}

async fn epochs_grow(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    let first = lease.epoch();
    drop(lease);
    let second = store.claim(&thread, Claim::IfFree).await?;
    ensure_eq!(second.epoch() > first, true);
    Ok(())
}

async fn a_commit_without_a_lease_is_refused(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let commit = scene.next(0, vec![]);
    drop(scene.lease);
    ensure_matches!(scene.store.commit(commit).await, Err(CheckpointError::StaleLease { .. }));
    ensure_eq!(scene.store.head(&scene.thread).await?, None);
    Ok(())
}

fn signal(order: u64) -> Key {
    Key::Signal { order, id: 7 }
}

fn letter(order: u64, text: &str) -> Record {
    (signal(order), text.as_bytes().to_vec())
}

/// Returns a thread with one checkpoint; `None` if the store accepts no signals.
async fn scene(harness: &dyn Harness) -> Result<Option<Scene>, FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero")]).await?;
    match scene.store.post(&scene.thread, vec![]).await {
        Ok(()) => Ok(Some(scene)),
        Err(CheckpointError::NoMailbox { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn orders(scene: &Scene) -> Result<Vec<u64>, FailureReason> {
    let found = scene.store.scan(&scene.thread, signal(0)..=signal(u64::MAX), Order::Ascending, 100).await?;
    let order = |(key, _)| if let Key::Signal { order, .. } = key { Some(order) } else { None };
    Ok(found.into_iter().filter_map(order).collect())
}

async fn a_posted_record_is_read_back(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    let large = value(300_000);
    scene.store.post(&scene.thread, vec![letter(1, "one"), (signal(2), large.clone())]).await?;
    ensure_eq!(scene.get(signal(1)).await?, Some(b"one".to_vec()));
    ensure_eq!(scene.get(signal(2)).await? == Some(large), true);
    Ok(())
}

async fn a_post_leaves_the_head_and_the_lease_alone(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    scene.store.post(&scene.thread, vec![letter(1, "one")]).await?;
    ensure_eq!(scene.store.head(&scene.thread).await?, Some(head(0)));
    ensure_eq!(scene.store.owner(&scene.thread).await?.is_some(), true);
    scene.commit(1, vec![]).await?;
    let Scene { store, lease, thread } = scene;
    drop(lease);
    store.post(&thread, vec![letter(2, "two")]).await?;
    ensure_eq!(store.owner(&thread).await?.is_some(), false);
    Ok(())
}

async fn posts_and_commits_do_not_lose_each_other(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    let mut receipts = vec![];
    for number in 1..30 {
        receipts.push(scene.commit(number, vec![record(number, "x")]));
        receipts.push(scene.store.post(&scene.thread, vec![letter(number, "y")]));
    }
    for receipt in receipts {
        receipt.await?;
    }
    ensure_eq!(scene.newest().await?, Some(29));
    ensure_eq!(orders(&scene).await?, (1..30).collect::<Vec<_>>());
    Ok(())
}

async fn posted_records_are_in_the_order_of_their_keys(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    for order in [300, 2, u64::MAX, 1, 256] {
        scene.store.post(&scene.thread, vec![letter(order, "x")]).await?;
    }
    ensure_eq!(orders(&scene).await?, vec![1, 2, 256, 300, u64::MAX]);
    Ok(())
}

async fn a_post_is_all_or_nothing(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    let large = (signal(2), vec![0; Commit::MAX_RECORD + 1]);
    let refused = scene.store.post(&scene.thread, vec![letter(1, "one"), large]).await;
    ensure_matches!(refused, Err(CheckpointError::TooLarge { .. }));
    ensure_eq!(orders(&scene).await?, Vec::<u64>::new());
    Ok(())
}

async fn a_post_to_an_unknown_thread_is_refused(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    let refused = scene.store.post(&"u".into(), vec![letter(1, "one")]).await;
    ensure_matches!(refused, Err(CheckpointError::UnknownThread { .. }));
    ensure_eq!(scene.store.head(&"u".into()).await?, None);
    scene.store.delete_thread(&scene.lease).await?;
    let deleted = scene.store.post(&scene.thread, vec![letter(1, "one")]).await;
    ensure_matches!(deleted, Err(CheckpointError::UnknownThread { .. }));
    Ok(())
}

async fn a_received_record_is_gone_with_its_commit(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    scene.store.post(&scene.thread, vec![letter(1, "one"), letter(2, "two")]).await?;
    let received = Commit { deletes: vec![signal(1)], ..scene.next(1, vec![record(1, "one")]) };
    let refused = Commit { deletes: vec![signal(2)], ..scene.next(9, vec![]) };
    ensure_matches!(scene.store.commit(refused).await, Err(CheckpointError::HeadMoved { .. }));
    scene.store.commit(received).await?;
    ensure_eq!(orders(&scene).await?, vec![2]);
    Ok(())
}

async fn acknowledged_posts_outlive_the_store(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Some(scene) = scene(harness).await? else { return Ok(()) };
    for order in 1..20 {
        scene.store.post(&scene.thread, vec![letter(order, "x")]).await?;
    }
    drop(scene);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    let scene = Scene::on(store?, "t").await?;
    ensure_eq!(orders(&scene).await?, (1..20).collect::<Vec<_>>());
    ensure_eq!(scene.newest().await?, Some(0));
    Ok(())
}

async fn of_several_posts_of_a_new_record_one_is_stored(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let key = Key::Signal { order: 1, id: 1 };
    match scene.store.post_new(&scene.thread, vec![(key.clone(), vec![])]).await {
        Err(CheckpointError::NoMailbox { .. }) => return Ok(()),
        posted => ensure_matches!(posted, Err(CheckpointError::UnknownThread { .. })),
    }
    scene.commit(0, vec![]).await?;
    let other = match harness.open_again().await {
        Some(again) => again?,
        None => Arc::clone(&scene.store),
    };
    let stores = [&scene.store, &other];
    let post = |nth: u8| {
        let beside = (Key::Signal { order: 2, id: nth.into() }, vec![nth]);
        stores[usize::from(nth) % 2].post_new(&scene.thread, vec![(key.clone(), vec![nth]), beside])
    };
    let posted = join_all((0..8).map(post)).await;
    let stored: Vec<u8> = (0..8).zip(&posted).filter(|(_, posted)| posted.is_ok()).map(|(nth, _)| nth).collect();
    let refused = posted.iter().filter(|posted| matches!(posted, Err(CheckpointError::RecordExists { .. }))).count();
    ensure_eq!((stored.len(), refused), (1, 7));
    let signals = Key::Signal { order: 0, id: 0 }..=Key::Signal { order: u64::MAX, id: 0 };
    let found = scene.store.scan(&scene.thread, signals, Order::Ascending, 9).await?;
    let values: Vec<u8> = found.into_iter().flat_map(|(_, value)| value).collect();
    ensure_eq!(values, vec![stored[0], stored[0]]);
    Ok(())
}
