//! Checks of commits: atomic, ordered, compared with the head, and refused individually. Knows the contract only.

use super::check::{FailureReason, Harness, ensure_eq, ensure_matches, list};
use super::scene::{Scene, checkpoint, head, record, value};
use crate::checkpoint::{CheckpointError, CheckpointId, Commit, Key, Order};

list![
    a_commit_is_read_back,
    a_refused_commit_stores_nothing,
    of_two_writers_one_wins,
    commits_queued_together_build_on_each_other,
    a_refused_commit_fails_alone,
    a_later_put_wins,
    deletes_come_before_puts,
    the_head_is_no_record,
    large_and_empty_values_come_back,
    a_shorter_value_replaces_a_longer_one,
    a_value_over_the_limit_is_refused,
];

async fn a_commit_is_read_back(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    ensure_eq!(scene.store.head(&scene.thread).await?, None);
    ensure_eq!(scene.get(checkpoint(0)).await?, None);
    scene.commit(0, vec![record(0, "zero"), (Key::Shape(9), b"shape".to_vec())]).await?;
    ensure_eq!(scene.store.head(&scene.thread).await?, Some(head(0)));
    let keys = vec![Key::Shape(9), checkpoint(1), checkpoint(0)];
    let found = scene.store.get(&scene.thread, keys).await?;
    ensure_eq!(found, vec![Some(b"shape".to_vec()), None, Some(b"zero".to_vec())]);
    Ok(())
}

async fn a_refused_commit_stores_nothing(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero")]).await?;
    let mut refused = scene.next(9, vec![record(0, "other"), record(9, "nine")]);
    refused.deletes = vec![checkpoint(0)];
    ensure_matches!(scene.store.commit(refused).await, Err(CheckpointError::HeadMoved { .. }));
    ensure_eq!(scene.store.head(&scene.thread).await?, Some(head(0)));
    ensure_eq!(scene.get(checkpoint(0)).await?, Some(b"zero".to_vec()));
    ensure_eq!(scene.get(checkpoint(9)).await?, None);
    Ok(())
}

async fn of_two_writers_one_wins(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let (first, second) = (scene.commit(0, vec![record(0, "a")]), scene.commit(0, vec![record(0, "b")]));
    first.await?;
    match second.await {
        Err(CheckpointError::HeadMoved { expected: None, found: Some(CheckpointId(0)), .. }) => {}
        other => return Err(FailureReason(format!("the second writer got {other:?}"))),
    }
    ensure_eq!(scene.get(checkpoint(0)).await?, Some(b"a".to_vec()));
    Ok(())
}

async fn commits_queued_together_build_on_each_other(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let large = |number: u64| (Key::Shape(1), value(100_000 / (number as usize + 1)));
    let receipts: Vec<_> = (0..50).map(|n| scene.commit(n, vec![record(n, "x"), large(n)])).collect();
    for receipt in receipts {
        receipt.await?;
    }
    ensure_eq!(scene.newest().await?, Some(49));
    ensure_eq!(scene.checkpoints(Order::Ascending, 100).await?, (0..50).collect::<Vec<_>>());
    ensure_eq!(scene.get(Key::Shape(1)).await?, Some(value(2_000)));
    Ok(())
}

async fn a_refused_commit_fails_alone(harness: &dyn Harness) -> Result<(), FailureReason> {
    let one = Scene::new(harness).await?;
    let two = Scene::on(one.store.clone(), "u").await?;
    let receipts =
        (one.commit(0, vec![]), two.commit(5, vec![record(5, "bad")]), two.commit(0, vec![]), one.commit(1, vec![]));
    receipts.0.await?;
    ensure_matches!(receipts.1.await, Err(CheckpointError::HeadMoved { .. }));
    receipts.2.await?;
    receipts.3.await?;
    ensure_eq!((one.newest().await?, two.newest().await?), (Some(1), Some(0)));
    ensure_eq!(two.get(checkpoint(5)).await?, None);
    Ok(())
}

async fn a_later_put_wins(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "first"), record(0, "second")]).await?;
    ensure_eq!(scene.get(checkpoint(0)).await?, Some(b"second".to_vec()));
    Ok(())
}

async fn deletes_come_before_puts(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero"), record(1, "one")]).await?;
    let mut commit = scene.next(1, vec![record(1, "new")]);
    commit.deletes = vec![checkpoint(0), checkpoint(1), checkpoint(2)];
    scene.store.commit(commit).await?;
    ensure_eq!(scene.get(checkpoint(0)).await?, None);
    ensure_eq!(scene.get(checkpoint(1)).await?, Some(b"new".to_vec()));
    Ok(())
}

async fn the_head_is_no_record(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero")]).await?;
    ensure_eq!(scene.get(Key::Head).await?, None);
    let found = scene.store.scan(&scene.thread, Key::Head..=checkpoint(0), Order::Ascending, 9).await?;
    ensure_eq!(found, vec![record(0, "zero")]);
    ensure_matches!(scene.commit(1, vec![(Key::Head, vec![])]).await, Err(CheckpointError::Codec { .. }));
    Ok(())
}

async fn large_and_empty_values_come_back(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    for (number, length) in [0, 1, 32_000, 32_768, 65_536, 1 << 20].into_iter().enumerate() {
        let number = number as u64;
        scene.commit(number, vec![(checkpoint(number), value(length))]).await?;
        ensure_eq!(scene.get(checkpoint(number)).await? == Some(value(length)), true);
    }
    let all = scene.store.scan(&scene.thread, checkpoint(0)..=checkpoint(9), Order::Descending, 3).await?;
    ensure_eq!(all.iter().map(|(_, value)| value.len()).collect::<Vec<_>>(), vec![1 << 20, 65_536, 32_768]);
    Ok(())
}

async fn a_shorter_value_replaces_a_longer_one(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    for (number, length) in [200_000, 70_000, 5, 100_000, 0].into_iter().enumerate() {
        scene.commit(number as u64, vec![(Key::Shape(1), value(length)), (Key::Shape(2), value(3))]).await?;
        let found = scene.store.scan(&scene.thread, Key::Shape(0)..=Key::Shape(9), Order::Ascending, 9).await?;
        ensure_eq!(found == vec![(Key::Shape(1), value(length)), (Key::Shape(2), value(3))], true);
    }
    let mut commit = scene.next(5, vec![]);
    commit.deletes = vec![Key::Shape(1)];
    scene.store.commit(commit).await?;
    ensure_eq!(scene.get(Key::Shape(1)).await?, None);
    Ok(())
}

async fn a_value_over_the_limit_is_refused(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let refused = scene.commit(0, vec![(checkpoint(0), vec![0; Commit::MAX_RECORD + 1])]).await;
    ensure_matches!(refused, Err(CheckpointError::TooLarge { .. }));
    ensure_eq!(scene.newest().await?, None);
    Ok(())
}
