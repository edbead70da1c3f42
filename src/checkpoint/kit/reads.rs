//! Checks of scans: in key order, in both directions, bounded, and within one thread. Knows the contract only.

use super::check::{FailureReason, Harness, ensure_eq, list};
use super::scene::{Scene, checkpoint, record, value};
use crate::checkpoint::{CheckpointId, Key, Order, Record, RowId};

list![
    scans_follow_the_order_of_keys,
    scans_count_records_up_to_the_limit,
    an_empty_range_is_empty,
    a_log_is_read_from_both_ends,
    scans_in_both_directions_agree,
];

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
