//! Checks of durability and of failing storage. Each passes at once where the harness cannot cause the failure. Knows
//! the contract only.

use super::check::{FailureReason, Harness, Scene, checkpoint, ensure_eq, ensure_matches, head, list, record, value};
use crate::checkpoint::{CheckpointError, Key, Order};

list![
    acknowledged_commits_outlive_the_store,
    a_reopened_store_is_free_and_its_epochs_go_on,
    a_deletion_outlives_the_store,
    a_damaged_record_is_named,
    a_damaged_thread_can_be_deleted,
    a_failed_flush_stops_the_store,
];

async fn acknowledged_commits_outlive_the_store(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    for number in 0..20 {
        scene.commit(number, vec![record(number, "x"), (Key::Shape(number), value(50_000))]).await?;
    }
    drop(scene);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    let scene = Scene::on(store?, "t").await?;
    ensure_eq!(scene.store.head(&scene.thread).await?, Some(head(19)));
    ensure_eq!(scene.checkpoints(Order::Descending, 3).await?, vec![19, 18, 17]);
    ensure_eq!(scene.get(Key::Shape(7)).await? == Some(value(50_000)), true);
    scene.commit(20, vec![]).await?;
    Ok(())
}

async fn a_reopened_store_is_free_and_its_epochs_go_on(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    drop(store);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    let again = Scene::on(store?, thread.as_str()).await?;
    ensure_eq!(again.lease.epoch() > lease.epoch(), true);
    let stale = Scene { store: again.store.clone(), lease, thread };
    ensure_matches!(stale.commit(0, vec![]).await, Err(CheckpointError::StaleLease { .. }));
    Ok(())
}

async fn a_deletion_outlives_the_store(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "x")]).await?;
    scene.store.delete_thread(&scene.lease).await?;
    drop(scene);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    ensure_eq!(store?.threads(None, 9).await?, Vec::new());
    Ok(())
}

async fn a_damaged_record_is_named(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero"), record(1, "one")]).await?;
    if !harness.damage(&scene.thread, &checkpoint(0)) {
        return Ok(());
    }
    match scene.get(checkpoint(0)).await {
        Err(CheckpointError::Damaged { thread, what, .. }) => {
            ensure_eq!((thread.as_str(), what.contains('0')), ("t", true));
        }
        other => return Err(FailureReason(format!("reading a damaged record gave {other:?}"))),
    }
    ensure_matches!(scene.checkpoints(Order::Ascending, 9).await, Err(CheckpointError::Damaged { .. }));
    ensure_eq!(scene.get(checkpoint(1)).await?, Some(b"one".to_vec()));
    scene.commit(1, vec![record(2, "two")]).await?;
    Ok(())
}

async fn a_damaged_thread_can_be_deleted(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero")]).await?;
    if !harness.damage(&scene.thread, &Key::Head) {
        return Ok(());
    }
    ensure_matches!(scene.store.head(&scene.thread).await, Err(CheckpointError::Damaged { .. }));
    ensure_matches!(scene.commit(1, vec![]).await, Err(CheckpointError::Damaged { .. }));
    scene.store.delete_thread(&scene.lease).await?;
    scene.commit(0, vec![]).await?;
    Ok(())
}

async fn a_failed_flush_stops_the_store(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(0, "zero"), (Key::Shape(1), value(90_000))]).await?;
    if !harness.fail_next_flush() {
        return Ok(());
    }
    let mut lost = scene.next(1, vec![record(1, "lost"), record(0, "lost")]);
    lost.deletes = vec![Key::Shape(1)];
    let failed = (scene.store.commit(lost), scene.commit(2, vec![record(2, "later")]));
    ensure_matches!(failed.0.await, Err(CheckpointError::Poisoned { .. }));
    ensure_matches!(failed.1.await, Err(CheckpointError::Poisoned { .. } | CheckpointError::HeadMoved { .. }));
    ensure_matches!(scene.commit(1, vec![]).await, Err(CheckpointError::Poisoned { .. }));
    ensure_matches!(scene.store.delete_thread(&scene.lease).await, Err(CheckpointError::Poisoned { .. }));
    ensure_eq!(scene.newest().await?, Some(0));
    ensure_eq!(scene.checkpoints(Order::Descending, 9).await?, vec![0]);
    ensure_eq!(scene.get(checkpoint(0)).await?, Some(b"zero".to_vec()));
    ensure_eq!(scene.get(Key::Shape(1)).await? == Some(value(90_000)), true);
    drop(scene);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    let scene = Scene::on(store?, "t").await?;
    ensure_eq!(scene.newest().await?.is_some(), true);
    Ok(())
}
