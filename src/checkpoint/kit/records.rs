//! Checks of records: commits are atomic, ordered, compared with the head, and refused individually; scans are in key
//! order, in both directions, bounded, and within one thread. Knows the contract only.

use super::check::{FailureReason, Harness, Scene, checkpoint, ensure_eq, ensure_matches, head, list, record, value};
use crate::checkpoint::{CheckpointError, CheckpointId, Commit, Key, Order, Record, RowId};

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
    scans_follow_the_order_of_keys,
    scans_count_records_up_to_the_limit,
    an_empty_range_is_empty,
    a_log_is_read_from_both_ends,
    scans_in_both_directions_agree,
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

fn row(checkpoint: u64, task: u32, slot: u32) -> RowId {
    RowId { checkpoint: CheckpointId(checkpoint), task, slot }
}

fn entry(channel: &str, row: RowId) -> Key {
    Key::Log { channel: channel.into(), row }
}

async fn scans_follow_the_order_of_keys(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let id = CheckpointId(300);
    let mut keys = vec![
        Key::About,
        Key::Tag(String::new()),
        Key::Tag("kept".into()),
        Key::Shape(u64::MAX),
        checkpoint(2),
        checkpoint(300),
        Key::Nested(id),
        Key::Task { checkpoint: id, task: 1 },
        Key::Child { checkpoint: id, task: 1, call: 0 },
        Key::Row(row(300, 1, RowId::SENDS)),
        Key::Row(row(300, RowId::REDUCED, 0)),
        entry("a", row(1, 0, 0)),
        entry("a\0", row(0, 0, 0)),
        entry("ä", row(0, 0, 0)),
        Key::Effect { checkpoint: id, task: 0, key: String::new() },
        Key::Effect { checkpoint: id, task: 0, key: "k".into() },
        Key::Event { checkpoint: id, number: 0 },
        Key::Event { checkpoint: id, number: 300 },
    ];
    scene.commit(0, keys.iter().rev().map(|key| (key.clone(), vec![1])).collect()).await?;
    let range = Key::Head..=Key::Event { checkpoint: CheckpointId(u64::MAX), number: 0 };
    let up = scene.store.scan(&scene.thread, range.clone(), Order::Ascending, 99).await?;
    ensure_eq!(names(up), keys);
    let down = scene.store.scan(&scene.thread, range, Order::Descending, 99).await?;
    keys.reverse();
    ensure_eq!(names(down), keys);
    Ok(())
}

async fn scans_count_records_up_to_the_limit(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let puts = (0..5).map(|number| (checkpoint(number), value(70_000))).collect();
    scene.commit(0, puts).await?;
    ensure_eq!(scene.checkpoints(Order::Ascending, 2).await?, vec![0, 1]);
    ensure_eq!(scene.checkpoints(Order::Descending, 2).await?, vec![4, 3]);
    ensure_eq!(scene.checkpoints(Order::Descending, 0).await?, Vec::<u64>::new());
    ensure_eq!(scene.checkpoints(Order::Descending, usize::MAX).await?, vec![4, 3, 2, 1, 0]);
    Ok(())
}

async fn an_empty_range_is_empty(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![record(1, "x"), record(5, "x")]).await?;
    #[allow(clippy::reversed_empty_ranges)]
    for range in [checkpoint(2)..=checkpoint(4), checkpoint(5)..=checkpoint(1)] {
        ensure_eq!(scene.store.scan(&scene.thread, range, Order::Ascending, 9).await?, Vec::new());
    }
    let unknown = scene.store.scan(&"unknown".into(), Key::Head..=checkpoint(9), Order::Ascending, 9).await?;
    ensure_eq!(unknown, Vec::new());
    Ok(())
}

async fn a_log_is_read_from_both_ends(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let mut puts: Vec<_> = (0..40).map(|n| (entry("notes", row(n, 0, 0)), vec![n as u8])).collect();
    puts.push((entry("note", row(5, 0, 0)), vec![100]));
    puts.push((entry("notes2", row(5, 0, 0)), vec![101]));
    scene.commit(0, puts).await?;
    let scan = |from, to, order, limit| {
        scene.store.scan(&scene.thread, entry("notes", row(from, 0, 0))..=entry("notes", row(to, 0, 0)), order, limit)
    };
    ensure_eq!(values(scan(3, 6, Order::Ascending, 99).await?), vec![3, 4, 5, 6]);
    ensure_eq!(values(scan(0, u64::MAX, Order::Descending, 3).await?), vec![39, 38, 37]);
    ensure_eq!(values(scan(0, 38, Order::Descending, 1).await?), vec![38]);
    ensure_eq!(scan(0, u64::MAX, Order::Ascending, 99).await?.len(), 40);
    Ok(())
}

/// Uses keys full of 0xFF bytes: sled's reverse iterator goes wrong among them.
async fn scans_in_both_directions_agree(harness: &dyn Harness) -> Result<(), FailureReason> {
    let scene = Scene::new(harness).await?;
    let rows = (0..30).flat_map(|number| [0, 1, RowId::REDUCED].map(|task| (number, task)));
    let keys: Vec<_> = rows.flat_map(|(n, task)| (0..10).map(move |slot| Key::Row(row(n, task, slot)))).collect();
    for (number, chunk) in keys.chunks(50).enumerate() {
        scene.commit(number as u64, chunk.iter().map(|key| (key.clone(), value(600))).collect()).await?;
    }
    let range = Key::Row(RowId::default())..=Key::Row(row(u64::MAX, u32::MAX, u32::MAX));
    let up = scene.store.scan(&scene.thread, range.clone(), Order::Ascending, usize::MAX).await?;
    ensure_eq!(names(up) == keys, true);
    let down = scene.store.scan(&scene.thread, range, Order::Descending, usize::MAX).await?;
    ensure_eq!(names(down).into_iter().rev().collect::<Vec<_>>() == keys, true);
    Ok(())
}

fn names(records: Vec<Record>) -> Vec<Key> {
    records.into_iter().map(|(key, _)| key).collect()
}

fn values(records: Vec<Record>) -> Vec<u8> {
    records.into_iter().flat_map(|(_, value)| value).collect()
}
