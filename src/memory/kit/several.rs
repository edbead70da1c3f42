//! Checks of several items: searches, pages, lists of namespaces. Knows the contract only.

use futures::future::try_join_all;
use serde_json::json;

use super::check::{CheckResult, StoreHarness, ensure_eq, keys, list, put};
use crate::memory::{ItemName, Namespace, NamespaceQuery, Store, StoreError, StoreFilter, StoreSearch};

list![
    a_prefix_ends_at_a_label,
    items_are_found_by_the_fields_of_their_values,
    pages_have_every_item_once,
    the_best_matches_of_a_query_come_first,
    namespaces_are_listed_once,
    a_namespace_without_items_is_not_listed,
    many_items_of_a_namespace_are_one_namespace,
];

async fn a_prefix_ends_at_a_label(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let places: [&[&str]; 6] = [&["a"], &["ab"], &["a", "b"], &["a", "b", "c"], &["a/b"], &["b", "a"]];
    for place in places {
        let namespace: Namespace = place.iter().copied().collect();
        put(&*store, namespace.clone(), &namespace.to_string(), json!({})).await?;
    }
    let everything: [&str; 0] = [];
    ensure_eq!(keys(&*store, StoreSearch::new(everything)).await?.len(), 6);
    let cases: [(Vec<&str>, Vec<&str>); 5] = [
        (vec!["a"], vec!["a", "a/b", "a/b/c"]),
        (vec!["a", "b"], vec!["a/b", "a/b/c"]),
        (vec!["ab"], vec!["ab"]),
        (vec!["a/b"], vec!["a/b"]),
        (vec!["a", "bc"], vec![]),
    ];
    for (prefix, expected) in cases {
        let mut found = keys(&*store, StoreSearch::new(prefix.iter().copied().collect::<Namespace>())).await?;
        found.sort_unstable();
        ensure_eq!((&prefix, found), (&prefix, expected.iter().map(|key| (*key).to_owned()).collect()));
    }
    Ok(())
}

async fn items_are_found_by_the_fields_of_their_values(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    for n in 0..5 {
        put(&*store, ["notes"], &format!("n{n}"), json!({"n": n, "kind": if n % 2 == 0 { "even" } else { "odd" }}))
            .await?;
    }
    let cases = [
        (json!({"kind": "even"}), vec!["n0", "n2", "n4"]),
        (json!({"kind": {"$ne": "even"}}), vec!["n1", "n3"]),
        (json!({"n": {"$eq": 3}}), vec!["n3"]),
        (json!({"n": {"$gt": 3}}), vec!["n4"]),
        (json!({"n": {"$gte": 3}}), vec!["n3", "n4"]),
        (json!({"n": {"$lt": 1}}), vec!["n0"]),
        (json!({"n": {"$lte": 1}}), vec!["n0", "n1"]),
        (json!({"kind": "even", "n": {"$gt": 0, "$lt": 4}}), vec!["n2"]),
        (json!({"color": "red"}), vec![]),
    ];
    for (filter, expected) in cases {
        let mut found = keys(&*store, StoreSearch::new(["notes"]).filter(StoreFilter::new(filter.clone())?)).await?;
        found.sort_unstable();
        ensure_eq!((&filter, found), (&filter, expected.iter().map(|key| (*key).to_owned()).collect()));
    }
    Ok(())
}

async fn pages_have_every_item_once(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put_all(&*store, (0..300).map(|n| (vec!["notes", if n % 3 == 0 { "a" } else { "b" }], n))).await?;
    let mut found = vec![];
    for offset in (0..320).step_by(70) {
        let page = keys(&*store, StoreSearch::new(["notes"]).limit(70).offset(offset)).await?;
        ensure_eq!((offset, page.len()), (offset, 300_usize.saturating_sub(offset).min(70)));
        found.extend(page);
    }
    found.sort_unstable();
    ensure_eq!(found, (0..300).map(|n| format!("{n:03}")).collect::<Vec<_>>());
    ensure_eq!(keys(&*store, StoreSearch::new(["notes"])).await?.len(), 10);
    ensure_eq!(keys(&*store, StoreSearch::new(["notes"]).limit(0)).await?.len(), 0);
    let filter = || StoreFilter::new(json!({"n": {"$gte": 290}}));
    let search = StoreSearch::new(["notes"]).filter(filter()?).limit(5).offset(8);
    ensure_eq!(keys(&*store, search).await?.len(), 2);
    Ok(())
}

async fn the_best_matches_of_a_query_come_first(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put(&*store, ["notes"], "moon", json!({"text": "the moon"})).await?;
    put(&*store, ["notes"], "tides", json!({"text": "tides, tides, tides"})).await?;
    put(&*store, ["notes"], "both", json!({"text": "the moon and its tides"})).await?;
    put(&*store, ["other"], "tides", json!({"text": "tides, tides, tides, tides"})).await?;
    let found = store.search(StoreSearch::new(["notes"]).query("tides")).await?;
    ensure_eq!(found.first().map(|item| item.key.as_str()), Some("tides"));
    ensure_eq!(found.iter().all(|item| item.score.is_some() && item.namespace == Namespace::from(["notes"])), true);
    ensure_eq!(found.is_sorted_by(|one, other| one.score >= other.score), true);
    let next = store.search(StoreSearch::new(["notes"]).query("tides").offset(1).limit(1)).await?;
    ensure_eq!(next.first().map(|item| &item.key), found.get(1).map(|item| &item.key));
    let blank = store.search(StoreSearch::new(["notes"]).query(" ")).await?;
    ensure_eq!((blank.len(), blank.iter().all(|item| item.score.is_none())), (3, true));
    Ok(())
}

/// Writes numbered items.
async fn put_all(store: &dyn Store, items: impl Iterator<Item = (Vec<&str>, usize)>) -> Result<(), StoreError> {
    let writes = items.map(|(place, n)| async move {
        let namespace: Namespace = place.into_iter().collect();
        put(store, namespace, &format!("{n:03}"), json!({"n": n})).await
    });
    try_join_all(writes).await.map(|_| ())
}

async fn listed(store: &dyn Store, query: NamespaceQuery) -> Result<Vec<String>, StoreError> {
    Ok(store.list_namespaces(query).await?.iter().map(ToString::to_string).collect())
}

async fn namespaces_are_listed_once(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let places: [&[&str]; 6] = [
        &["users", "ada", "notes"],
        &["users", "ada"],
        &["users", "bob", "notes"],
        &["usersx"],
        &["docs", "ada"],
        &["docs"],
    ];
    for place in places {
        for key in ["one", "two"] {
            put(&*store, place.iter().copied().collect::<Namespace>(), key, json!({})).await?;
        }
    }
    let query = NamespaceQuery::default;
    let all = ["docs", "docs/ada", "users/ada", "users/ada/notes", "users/bob/notes", "usersx"];
    let cases = [
        (query(), all.to_vec()),
        (query().prefix(["users"]), vec!["users/ada", "users/ada/notes", "users/bob/notes"]),
        (query().prefix(["users", "*", "notes"]), vec!["users/ada/notes", "users/bob/notes"]),
        (query().suffix(["ada"]), vec!["docs/ada", "users/ada"]),
        (query().prefix(["users"]).suffix(["notes"]), vec!["users/ada/notes", "users/bob/notes"]),
        (query().max_depth(1), vec!["docs", "users", "usersx"]),
        (query().prefix(["users"]).max_depth(2), vec!["users/ada", "users/bob"]),
        (query().limit(2).offset(1), vec!["docs/ada", "users/ada"]),
        (query().prefix(["none"]), vec![]),
    ];
    for (query, expected) in cases {
        let found = listed(&*store, query.clone()).await?;
        ensure_eq!((&query, found), (&query, expected.iter().map(|name| (*name).to_owned()).collect()));
    }
    Ok(())
}

async fn a_namespace_without_items_is_not_listed(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    put(&*store, ["a"], "k", json!({})).await?;
    put(&*store, ["b"], "k", json!({})).await?;
    store.delete(ItemName::new(["a"], "k")).await?;
    ensure_eq!(listed(&*store, NamespaceQuery::default()).await?, vec!["b".to_owned()]);
    Ok(())
}

async fn many_items_of_a_namespace_are_one_namespace(harness: &dyn StoreHarness) -> CheckResult {
    let store = harness.open().await?;
    let places = [vec!["a"], vec!["a", "0"], vec!["a", "z"]];
    put_all(&*store, places.into_iter().flat_map(|place| (0..60).map(move |n| (place.clone(), n)))).await?;
    put(&*store, ["b"], "last", json!({})).await?;
    let mut found = listed(&*store, NamespaceQuery::default()).await?;
    found.sort_unstable();
    ensure_eq!(found, ["a", "a/0", "a/z", "b"].map(str::to_owned).to_vec());
    Ok(())
}
