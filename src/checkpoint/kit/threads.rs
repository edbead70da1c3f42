//! Checks of threads: arbitrary names, isolation, listing, deletion. Knows the contract only.

use super::check::{FailureReason, Harness, ensure_eq, ensure_matches, list};
use super::scene::{Scene, checkpoint, record};
use crate::checkpoint::{CheckpointError, Commit, Key, Order, ThreadId};

list![
    names_that_begin_alike_stay_apart,
    threads_are_listed_in_pages,
    a_deleted_thread_is_gone,
    deletion_spares_neighbours,
    a_deleted_name_can_be_used_again,
    commits_queued_before_a_deletion_are_deleted,
    a_name_over_the_limit_is_refused,
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
