//! Checks of the mailbox: records posted without a lease while another caller commits. Each passes at once where the
//! store does not implement `post`. Knows the contract only.

use super::check::{FailureReason, Harness, ensure_eq, ensure_matches, list};
use super::scene::{Scene, head, record, value};
use crate::checkpoint::{CheckpointError, Commit, Key, Order, Record};

list![
    a_posted_record_is_read_back,
    a_post_leaves_the_head_and_the_lease_alone,
    posts_and_commits_do_not_lose_each_other,
    posted_records_are_in_the_order_of_their_keys,
    a_post_is_all_or_nothing,
    a_post_to_an_unknown_thread_is_refused,
    a_received_record_is_gone_with_its_commit,
    acknowledged_posts_outlive_the_store,
];

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
    ensure_eq!(scene.store.is_claimed(&scene.thread), true);
    scene.commit(1, vec![]).await?;
    let Scene { store, lease, thread } = scene;
    drop(lease);
    store.post(&thread, vec![letter(2, "two")]).await?;
    ensure_eq!(store.is_claimed(&thread), false);
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
