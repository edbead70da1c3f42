//! Checks of leases: one writer per thread, takeover, release. Knows the contract only.

use super::check::{FailureReason, Harness, ensure_eq, ensure_matches, list};
use super::scene::{Scene, record};
use crate::checkpoint::{CheckpointError, Claim};

list![
    a_claimed_thread_is_busy,
    a_dropped_lease_frees_the_thread,
    a_take_over_fences_the_earlier_writer,
    an_older_lease_does_not_free_a_newer_one,
    epochs_grow,
    a_commit_without_a_lease_is_refused,
];

async fn a_claimed_thread_is_busy(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    ensure_eq!(scene.store.is_claimed(&scene.thread), true);
    let second = scene.store.claim(&scene.thread, Claim::IfFree).await;
    ensure_matches!(second, Err(CheckpointError::ThreadBusy { .. }));
    ensure_eq!(scene.store.is_claimed(&"u".into()), false);
    scene.store.claim(&"u".into(), Claim::IfFree).await?;
    scene.commit(0, vec![]).await?;
    Ok(())
}

async fn a_dropped_lease_frees_the_thread(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    drop(lease);
    ensure_eq!(store.is_claimed(&thread), false);
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

async fn an_older_lease_does_not_free_a_newer_one(harness: &dyn Harness) -> Result<(), FailureReason> {
    let Scene { store, lease, thread } = Scene::new(harness).await?;
    let newer = store.claim(&thread, Claim::TakeOver).await?;
    drop(lease);
    ensure_eq!(store.is_claimed(&thread), true);
    drop(newer);
    ensure_eq!(store.is_claimed(&thread), false);
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
