//! Threads that expire.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rstest::rstest;
use superstep::checkpoint::{Claim, Expiry, Retention, expire_threads};
use superstep::graph::{CancellationToken, runner};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

const HOUR: Duration = Duration::from_secs(3600);

#[rstest]
#[case::no_rule(Expiry::new(), &[])]
#[case::too_young(Expiry::new().finished(HOUR), &[])]
#[case::old_enough(Expiry::new().finished(HOUR).at(SystemTime::now() + 2 * HOUR), &["a1", "b1"])]
#[case::of_one_graph(Expiry::new().finished_of("a", HOUR).at(SystemTime::now() + 2 * HOUR), &["a1"])]
#[case::a_graph_with_a_longer_age(
    Expiry::new().finished(HOUR).finished_of("b", 3 * HOUR).at(SystemTime::now() + 2 * HOUR),
    &["a1"]
)]
#[tokio::test]
async fn finished_threads_expire(
    #[case] expiry: Expiry,
    #[case] expired: &[&str],
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let builder = || Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    let of = |name: &str, last: &[&str]| {
        chain(builder(), last).named(name).with_shared_checkpointer(std::sync::Arc::clone(&store.store))
    };
    for name in ["a", "b"] {
        let thread = of(name, &["a", "ask"]).thread(format!("{name}1"));
        thread.invoke(start()).await.unwrap();
        thread.resume::<Approve>(true).await.unwrap();
        of(name, &["a", "ask"]).thread(format!("{name}-asks")).invoke(start()).await.unwrap();
        let held = of(name, &["a", "ask"]).thread(format!("{name}-held"));
        held.invoke(start()).await.unwrap();
        held.resume::<Approve>(true).await.unwrap();
    }
    let leases = [
        store.store.claim(&"a-held".into(), Claim::IfFree).await.unwrap(),
        store.store.claim(&"b-held".into(), Claim::IfFree).await.unwrap(),
    ];
    let report = expire_threads(&*store.store, &expiry).await.unwrap();
    drop(leases);
    let deleted: Vec<&str> = report.deleted.iter().map(|thread| thread.as_str()).collect();
    assert_eq!(deleted, expired);
    assert_eq!(store.store.threads(None, 99).await.unwrap().len(), 6 - expired.len());
}

#[rstest]
#[tokio::test]
async fn a_runner_removes_what_is_not_kept(#[values(Store::memory(), Store::disk())] store: Store) {
    let builder = || Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    let of = |nodes: &[&str]| chain(builder(), nodes).named("pad").with_shared_checkpointer(Arc::clone(&store.store));
    let (graph, done, stop) = (of(&["a", "ask"]), Arc::new(Mutex::new(vec![])), CancellationToken::new());
    for name in ["old", "asks"] {
        graph.thread(name).invoke(start()).await.unwrap();
    }
    graph.thread("old").resume::<Approve>(true).await.unwrap();
    let later = SystemTime::now() + 2 * HOUR;
    let runs = runner([graph.clone()])
        .clock(move || later)
        .gc_every(HOUR, Expiry::new().finished(HOUR), Retention::new().keep_last(1))
        .on_gc({
            let (done, stop) = (Arc::clone(&done), stop.clone());
            move |removed| {
                let (expired, swept) = removed.unwrap();
                done.lock().unwrap().push((expired.deleted, swept.total().checkpoints));
                stop.cancel();
            }
        });
    runs.run(stop).await.unwrap();
    assert_eq!(*done.lock().unwrap(), [(vec!["old".into()], 1)]);
    assert_eq!(store.store.threads(None, 9).await.unwrap(), ["asks".into()]);
    graph.thread("asks").resume::<Approve>(true).await.unwrap();
}
