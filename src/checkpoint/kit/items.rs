//! Checks of items: values beside threads, alone and in the commit of a thread.

use std::sync::Arc;

use futures::future::try_join_all;

use super::check::{FailureReason, Harness, Scene, ensure_eq, ensure_matches, list, record};
use crate::checkpoint::{CheckpointError, Checkpointer, ExpectedItem, ItemKey, ItemScan, ItemWrite, ThreadQuery};

list![
    items_are_written_and_read,
    items_are_scanned_in_order,
    an_item_that_is_not_as_expected_refuses_all_of_its_writes,
    items_are_written_with_a_commit_or_not_at_all,
    a_commit_is_refused_with_its_items,
    items_are_no_threads,
    names_and_values_of_items_have_limits,
    no_write_of_items_is_lost_among_several,
    items_outlive_their_handle,
];

type Checked = Result<(), FailureReason>;

fn item(key: &str) -> ItemKey {
    ItemKey::new("numbers", key)
}

fn put(key: &str, value: &str) -> ItemWrite {
    ItemWrite::put(item(key), value)
}

async fn value(store: &dyn Checkpointer, key: &str) -> Result<Option<String>, FailureReason> {
    let found = store.get_items(vec![item(key)]).await?.pop().flatten();
    Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

async fn items_are_written_and_read(harness: &dyn Harness) -> Checked {
    let store = harness.open().await?;
    store.write_items(vec![put("one", "1"), put("two", "2")]).await?;
    store.write_items(vec![put("two", "zwei"), ItemWrite::delete(item("one"))]).await?;
    store.write_items(vec![ItemWrite::delete(item("three"))]).await?;
    let found = store.get_items(vec![item("two"), item("one"), ItemKey::new("letters", "two"), item("two")]).await?;
    let zwei = || Some(b"zwei".to_vec());
    ensure_eq!(found, vec![zwei(), None, None, zwei()]);
    let large = vec![7; 5 << 20];
    store.write_items(vec![ItemWrite::put(item("two"), large.clone())]).await?;
    let is_same = store.get_items(vec![item("two")]).await? == vec![Some(large)];
    ensure_eq!(is_same, true);
    store.write_items(vec![put("two", "")]).await?;
    ensure_eq!(value(&*store, "two").await?.as_deref(), Some(""));
    Ok(())
}

async fn items_are_scanned_in_order(harness: &dyn Harness) -> Checked {
    let store = harness.open().await?;
    let keys = ["a", "a/1", "a/2", "a0", "b", "é", "\u{10ffff}"];
    store.write_items(keys.iter().rev().map(|key| put(key, key)).collect()).await?;
    let others = [("number", "x"), ("numbers0", "x"), ("", "x")];
    store.write_items(others.map(|(space, key)| ItemWrite::put(ItemKey::new(space, key), "x")).into()).await?;
    let scan = || ItemScan::of("numbers");
    let after = |key: &str| item(key);
    let cases = [
        (scan(), keys.to_vec()),
        (scan().descending(), keys.iter().rev().copied().collect()),
        (scan().prefix("a/"), vec!["a/1", "a/2"]),
        (scan().prefix("a/").after(after("a/1")), vec!["a/2"]),
        (scan().prefix("a/").descending().after(after("a/2")), vec!["a/1"]),
        (scan().after(after("a0")).limit(2), vec!["b", "é"]),
        (scan().descending().after(after("c")).limit(1), vec!["b"]),
        (scan().prefix("\u{10ffff}"), vec!["\u{10ffff}"]),
        (scan().prefix("c"), vec![]),
        (scan().prefix("a").after(after("z")), vec![]),
        (scan().limit(0), vec![]),
    ];
    for (scan, expected) in cases {
        let found = store.scan_items(&scan).await?;
        let found: Vec<&str> = found.iter().map(|(item, _)| &*item.key).collect();
        ensure_eq!((&scan, found), (&scan, expected));
    }
    let all = store.scan_items(&ItemScan::all()).await?;
    let spaces: Vec<&str> = all.iter().map(|(item, _)| &*item.namespace).collect();
    ensure_eq!((spaces.len(), &spaces[..3], spaces[9]), (10, &["", "number", "numbers"][..], "numbers0"));
    let rest = store.scan_items(&ItemScan::all().after(item("é"))).await?;
    ensure_eq!(rest.len(), 2);
    Ok(())
}

async fn an_item_that_is_not_as_expected_refuses_all_of_its_writes(harness: &dyn Harness) -> Checked {
    let store = harness.open().await?;
    let absent = || put("one", "1").expecting(ExpectedItem::Absent);
    let expecting = |value: &str| ExpectedItem::Value(value.into());
    ensure_matches!(
        store.write_items(vec![put("two", "2"), put("one", "1").expecting(expecting("0"))]).await,
        Err(CheckpointError::ItemConflict { .. })
    );
    store.write_items(vec![absent()]).await?;
    ensure_matches!(
        store.write_items(vec![put("two", "2"), absent()]).await,
        Err(CheckpointError::ItemConflict { .. })
    );
    let deletion = ItemWrite::delete(item("one")).expecting(expecting("2"));
    ensure_matches!(store.write_items(vec![deletion.clone()]).await, Err(CheckpointError::ItemConflict { .. }));
    ensure_eq!(value(&*store, "two").await?, None);
    store.write_items(vec![put("one", "2").expecting(expecting("1"))]).await?;
    store.write_items(vec![deletion]).await?;
    ensure_eq!(value(&*store, "one").await?, None);
    Ok(())
}

async fn items_are_written_with_a_commit_or_not_at_all(harness: &dyn Harness) -> Checked {
    let scene = Scene::new(harness).await?;
    let with = |number, items| {
        let mut commit = scene.next(number, vec![record(number, "x")]);
        commit.items = items;
        scene.store.commit(commit)
    };
    with(0, vec![put("one", "1").expecting(ExpectedItem::Absent), put("two", "2")]).await?;
    ensure_eq!(value(&*scene.store, "one").await?.as_deref(), Some("1"));
    // Its head does not fit.
    ensure_matches!(with(7, vec![put("one", "7")]).await, Err(CheckpointError::HeadMoved { .. }));
    ensure_eq!(value(&*scene.store, "one").await?.as_deref(), Some("1"));
    with(1, vec![ItemWrite::delete(item("one"))]).await?;
    ensure_eq!(value(&*scene.store, "one").await?, None);
    ensure_eq!(scene.newest().await?, Some(1));
    Ok(())
}

async fn a_commit_is_refused_with_its_items(harness: &dyn Harness) -> Checked {
    let scene = Scene::new(harness).await?;
    scene.commit(0, vec![]).await?;
    let mut refused = scene.next(1, vec![record(1, "x")]);
    refused.items = vec![put("two", "2"), put("one", "1").expecting(ExpectedItem::Value(vec![]))];
    ensure_matches!(scene.store.commit(refused).await, Err(CheckpointError::ItemConflict { .. }));
    ensure_eq!((scene.newest().await?, value(&*scene.store, "two").await?), (Some(0), None));
    // The thread goes on.
    scene.commit(1, vec![record(1, "y")]).await?;
    ensure_eq!(scene.newest().await?, Some(1));
    Ok(())
}

async fn items_are_no_threads(harness: &dyn Harness) -> Checked {
    let scene = Scene::on(harness.open().await?, "numbers").await?;
    scene.store.write_items(vec![put("t", "1"), ItemWrite::put(ItemKey::new("", ""), "x")]).await?;
    ensure_eq!(scene.store.threads(None, 9).await?, vec![]);
    scene.commit(0, vec![record(0, "x")]).await?;
    ensure_eq!(scene.store.threads(None, 9).await?, vec!["numbers".into()]);
    ensure_eq!(scene.store.list(&ThreadQuery::default()).await?.len(), 1);
    scene.store.delete_thread(&scene.lease).await?;
    ensure_eq!(value(&*scene.store, "t").await?.as_deref(), Some("1"));
    Ok(())
}

async fn names_and_values_of_items_have_limits(harness: &dyn Harness) -> Checked {
    let store = harness.open().await?;
    let name = |namespace: usize, key: usize| ItemKey::new("n".repeat(namespace), "k".repeat(key));
    let longest = name(ItemKey::MAX_NAMESPACE, ItemKey::MAX_KEY);
    store.write_items(vec![ItemWrite::put(longest.clone(), "x")]).await?;
    ensure_eq!(store.get_items(vec![longest]).await?, vec![Some(b"x".to_vec())]);
    for item in [name(ItemKey::MAX_NAMESPACE + 1, 1), name(1, ItemKey::MAX_KEY + 1)] {
        let written = store.write_items(vec![ItemWrite::put(item, "x")]).await;
        ensure_matches!(written, Err(CheckpointError::TooLarge { .. }));
    }
    let large = vec![0; ItemWrite::MAX_VALUE + 1];
    let written = store.write_items(vec![ItemWrite::put(item("large"), large)]).await;
    ensure_matches!(written, Err(CheckpointError::TooLarge { .. }));
    let refused = [vec![put("a\0", "x")], vec![put("a", "x"), put("a", "y")]];
    for writes in refused {
        ensure_matches!(store.write_items(writes).await, Err(CheckpointError::Codec { .. }));
    }
    ensure_eq!(store.scan_items(&ItemScan::of("numbers")).await?, vec![]);
    Ok(())
}

async fn no_write_of_items_is_lost_among_several(harness: &dyn Harness) -> Checked {
    const WRITERS: usize = 8;
    const WRITES: usize = 10;
    let store = harness.open().await?;
    let other = match harness.open_again().await {
        Some(again) => again?,
        None => Arc::clone(&store),
    };
    let writer = |store: Arc<dyn Checkpointer>| async move {
        for _ in 0..WRITES {
            while !add_one(&*store).await? {}
        }
        Ok::<_, FailureReason>(())
    };
    let stores = [store, other];
    try_join_all((0..WRITERS).map(|nth| writer(Arc::clone(&stores[nth % 2])))).await?;
    ensure_eq!(value(&*stores[0], "sum").await?, Some((WRITERS * WRITES).to_string()));
    Ok(())
}

/// Adds one to an item; returns false if another writer was faster.
async fn add_one(store: &dyn Checkpointer) -> Result<bool, FailureReason> {
    let found = value(store, "sum").await?;
    let sum: usize = found.as_deref().unwrap_or("0").parse().map_err(|_| FailureReason("a torn item".into()))?;
    let expected = found.map_or(ExpectedItem::Absent, |value| ExpectedItem::Value(value.into()));
    match store.write_items(vec![put("sum", &(sum + 1).to_string()).expecting(expected)]).await {
        Ok(()) => Ok(true),
        Err(CheckpointError::ItemConflict { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn items_outlive_their_handle(harness: &dyn Harness) -> Checked {
    let store = harness.open().await?;
    store.write_items(vec![put("one", "1"), put("two", "2")]).await?;
    store.write_items(vec![ItemWrite::delete(item("two"))]).await?;
    drop(store);
    let Some(store) = harness.reopen().await else { return Ok(()) };
    let store = store?;
    ensure_eq!((value(&*store, "one").await?.as_deref(), value(&*store, "two").await?), (Some("1"), None));
    Ok(())
}
