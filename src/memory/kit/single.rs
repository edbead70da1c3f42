//! Checks of one item: writes, reads, names, values, lifetimes. Knows the contract only.

use std::time::Duration;

use futures::future::try_join_all;
use serde_json::{Value, json};

use super::check::{CheckReason, CheckResult, StoreHarness, ensure_eq, get, list, put};
use crate::memory::{IndexFields, ItemName, Namespace, Store, StoreError, StoreSearch, StoreWrite};

list![
    an_item_is_written_read_and_deleted,
    a_write_replaces_the_value_and_keeps_the_time_of_creation,
    a_deleted_item_is_new_when_it_is_written_again,
    names_are_any_text,
    values_are_given_back_as_they_are,
    wrong_requests_are_refused,
    a_name_that_is_too_long_is_refused,
    concurrent_writes_of_an_item_are_all_made,
    an_expired_item_is_not_returned,
    a_write_without_a_lifetime_ends_the_lifetime,
    another_handle_sees_what_was_written,
];

const PLACE: [&str; 2] = ["users", "ada"];

async fn an_item_is_written_read_and_deleted(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    ensure_eq!(get(&*store, PLACE, "prefs").await?, None);
    put(&*store, PLACE, "prefs", json!({"units": "metric"})).await?;
    let Some(item) = get(&*store, PLACE, "prefs").await? else { return Err(CheckReason("it is not there".into())) };
    ensure_eq!((&item.namespace, item.key.as_str()), (&Namespace::from(PLACE), "prefs"));
    ensure_eq!((&item.value, item.score), (&json!({"units": "metric"}), None));
    ensure_eq!((item.created_at == item.updated_at, item.created_at > 0), (true, true));
    for _ in 0..2 {
        store.delete(ItemName::new(PLACE, "prefs")).await?;
        ensure_eq!(get(&*store, PLACE, "prefs").await?, None);
    }
    ensure_eq!(store.search(StoreSearch::new(PLACE)).await?, vec![]);
    Ok(())
}

async fn a_write_replaces_the_value_and_keeps_the_time_of_creation(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put(&*store, PLACE, "prefs", json!({"units": "metric", "lang": "en"})).await?;
    let first = wait_for_a_millisecond(&*store).await?;
    put(&*store, PLACE, "prefs", json!({"units": "imperial"})).await?;
    let item = get(&*store, PLACE, "prefs").await?;
    ensure_eq!(item.as_ref().map(|item| &item.value), Some(&json!({"units": "imperial"})));
    ensure_eq!(item.as_ref().map(|item| item.created_at), Some(first));
    ensure_eq!(item.is_some_and(|item| item.updated_at > first), true);
    Ok(())
}

async fn a_deleted_item_is_new_when_it_is_written_again(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put(&*store, PLACE, "prefs", json!({})).await?;
    let first = wait_for_a_millisecond(&*store).await?;
    store.delete(ItemName::new(PLACE, "prefs")).await?;
    put(&*store, PLACE, "prefs", json!({"n": 2})).await?;
    let item = get(&*store, PLACE, "prefs").await?;
    ensure_eq!(item.map(|item| (item.created_at > first, item.value)), Some((true, json!({"n": 2}))));
    Ok(())
}

/// Waits until what is written has a later time than `prefs`, and returns the time of that.
async fn wait_for_a_millisecond(store: &dyn Store) -> Result<u64, CheckReason> {
    let first = get(store, PLACE, "prefs").await?.map_or(0, |item| item.created_at);
    for _ in 0..PATIENCE {
        put(store, ["clock"], "now", json!({})).await?;
        if get(store, ["clock"], "now").await?.is_some_and(|now| now.updated_at > first) {
            return Ok(first);
        }
        tokio::task::yield_now().await;
    }
    Err(CheckReason("the time of writes does not pass".into()))
}

async fn names_are_any_text(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let texts =
        ["a", "", "a/b", "a=b", "=", "/", "%", "%2F", "a.b", "a\0b", "\u{1}", "\n", "é", "\u{10ffff}", "*", " "];
    for (nth, text) in texts.iter().enumerate() {
        put(&*store, [*text, "x"], text, json!({"n": nth})).await?;
    }
    for (nth, text) in texts.iter().enumerate() {
        let found = get(&*store, [*text, "x"], text).await?.map(|item| (item.key, item.value));
        ensure_eq!((text, found), (text, Some(((*text).to_owned(), json!({"n": nth})))));
        let items = store.search(StoreSearch::new([*text])).await?;
        let namespaces: Vec<_> = items.into_iter().map(|item| item.namespace).collect();
        ensure_eq!((text, namespaces), (text, vec![Namespace::from([*text, "x"])]));
    }
    Ok(())
}

async fn values_are_given_back_as_they_are(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let deep = (0..60).fold(json!("deep"), |inner, _| json!([inner]));
    let values = [
        json!({}),
        json!({"": null, "a\0b": "c\0d", "true": true}),
        json!({"floats": [0.1, 1.0, -2.5e-300, 1e300], "integers": [0, -1, u64::MAX, i64::MIN]}),
        json!({"deep": deep}),
        json!({"large": "é".repeat(1 << 20)}),
    ];
    for value in values {
        put(&*store, PLACE, "value", value.clone()).await?;
        let found = get(&*store, PLACE, "value").await?.map(|item| item.value);
        if found.as_ref() != Some(&value) {
            return Err(CheckReason(format!(
                "{} was not given back",
                superstep_base::text::shorten(&value.to_string(), 80)
            )));
        }
    }
    Ok(())
}

async fn wrong_requests_are_refused(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let nowhere: [&str; 0] = [];
    let found = put(&*store, nowhere, "key", json!({})).await;
    ensure_eq!(
        (matches!(found, Err(StoreError::EmptyNamespace { .. })), "put without namespace"),
        (true, "put without namespace")
    );
    let found = get(&*store, nowhere, "key").await;
    ensure_eq!(matches!(found, Err(StoreError::EmptyNamespace { .. })), true);
    let found = store.delete(ItemName::new(nowhere, "key")).await;
    ensure_eq!(matches!(found, Err(StoreError::EmptyNamespace { .. })), true);
    for value in [Value::Null, json!(1), json!("text"), json!([{}])] {
        let found = put(&*store, PLACE, "key", value.clone()).await;
        ensure_eq!((&value, matches!(found, Err(StoreError::NotAnObject { .. }))), (&value, true));
    }
    for minutes in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let found = store.put(StoreWrite::new(PLACE, "key", json!({})).ttl_minutes(minutes)).await;
        ensure_eq!(
            (minutes.to_string(), matches!(found, Err(StoreError::InvalidTtl { .. }))),
            (minutes.to_string(), true)
        );
    }
    ensure_eq!(get(&*store, PLACE, "key").await?, None);
    Ok(())
}

async fn a_name_that_is_too_long_is_refused(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let key = "k".repeat(1 << 20);
    let found = put(&*store, PLACE, &key, json!({})).await;
    ensure_eq!(matches!(found, Err(StoreError::NameTooLong { .. })), true);
    let key = "k".repeat(1000);
    put(&*store, PLACE, &key, json!({"n": 1})).await?;
    ensure_eq!(get(&*store, PLACE, &key).await?.map(|item| item.value), Some(json!({"n": 1})));
    Ok(())
}

async fn concurrent_writes_of_an_item_are_all_made(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let writes = (0..16).map(|n| put(&*store, PLACE, "counter", json!({"n": n})));
    try_join_all(writes).await?;
    let found = get(&*store, PLACE, "counter").await?.and_then(|item| item.value["n"].as_i64());
    ensure_eq!(found.is_some_and(|n| (0..16).contains(&n)), true);
    ensure_eq!(store.search(StoreSearch::new(PLACE)).await?.len(), 1);
    Ok(())
}

/// The shortest lifetime: one millisecond, in minutes.
const BRIEF: f64 = 1.0 / 60_000.0;
/// Number of milliseconds in which a brief lifetime must have ended.
const PATIENCE: usize = 10_000;

async fn an_expired_item_is_not_returned(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let write = |key: &str| StoreWrite::new(PLACE, key, json!({"word": "tides"})).index(IndexFields::Nothing);
    store.put(write("brief").ttl_minutes(BRIEF)).await?;
    store.put(write("long").ttl_minutes(60.0)).await?;
    store.put(StoreWrite::new(["other"], "brief", json!({})).ttl_minutes(BRIEF)).await?;
    for _ in 0..PATIENCE {
        let search = StoreSearch::new(PLACE).refresh_ttl(false);
        let brief = store.search(search).await?.iter().any(|item| item.key == "brief");
        if !brief && store.list_namespaces(Default::default()).await? == vec![Namespace::from(PLACE)] {
            ensure_eq!(get(&*store, PLACE, "brief").await?, None);
            ensure_eq!(get(&*store, PLACE, "long").await?.is_some(), true);
            ensure_eq!(store.remove_expired().await? <= 2, true);
            ensure_eq!(store.remove_expired().await?, 0);
            ensure_eq!(get(&*store, PLACE, "long").await?.is_some(), true);
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(CheckReason("an item whose lifetime has ended is still returned".into()))
}

async fn a_write_without_a_lifetime_ends_the_lifetime(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    store.put(StoreWrite::new(PLACE, "prefs", json!({})).ttl_minutes(BRIEF)).await?;
    put(&*store, PLACE, "prefs", json!({"n": 2})).await?;
    store.put(StoreWrite::new(PLACE, "mark", json!({})).ttl_minutes(BRIEF)).await?;
    for _ in 0..PATIENCE {
        let search = StoreSearch::new(PLACE).refresh_ttl(false);
        if store.search(search).await?.iter().all(|item| item.key != "mark") {
            store.remove_expired().await?;
            ensure_eq!(get(&*store, PLACE, "prefs").await?.map(|item| item.value), Some(json!({"n": 2})));
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(CheckReason("an item whose lifetime has ended is still returned".into()))
}

async fn another_handle_sees_what_was_written(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put(&*store, PLACE, "prefs", json!({"n": 1})).await?;
    let Some(other) = harness.open_again().await else { return Ok(()) };
    let other = other?;
    ensure_eq!(get(&*other, PLACE, "prefs").await?.map(|item| item.value), Some(json!({"n": 1})));
    put(&*other, PLACE, "prefs", json!({"n": 2})).await?;
    ensure_eq!(get(&*store, PLACE, "prefs").await?.map(|item| item.value), Some(json!({"n": 2})));
    Ok(())
}
