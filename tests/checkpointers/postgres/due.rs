//! Threads that are due, as several handles on one store get them.

use std::collections::BTreeSet;
use std::time::Duration;

use superstep::checkpoint::{
    AboutRecord, CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit, ControlRecord, DueQuery, DueThreads, Key,
    PostgresCheckpointer, Source, ThreadHead, ThreadQuery, encode_record,
};
use superstep::graph::StatusKind;

use crate::server;

/// Records of a thread of the graph `essay` with a task that has not run.
fn pending() -> Vec<(Key, Vec<u8>)> {
    let about = AboutRecord { graph: "essay".into(), created_at: 1, ..AboutRecord::default() };
    let checkpoint = CheckpointRecord {
        parent: None,
        namespace: String::new(),
        source: Source::Loop,
        step: 1,
        created_at: 5,
        shape: 7,
        epoch: 1,
        line: CheckpointId(1),
        control: ControlRecord { ready: vec![(0, 1)], ..ControlRecord::default() },
        base: None,
        channels: vec![],
        carried: vec![],
        children: vec![],
        metadata: vec![("team".into(), "red\0".into())],
        journals: vec![],
        gotos: vec![],
    };
    vec![
        (Key::About, encode_record(&about).unwrap()),
        (Key::Checkpoint(CheckpointId(1)), encode_record(&checkpoint).unwrap()),
    ]
}

async fn connect(address: &str) -> PostgresCheckpointer {
    PostgresCheckpointer::builder(address).pool(4).connect().await.unwrap()
}

/// Writes a thread that can go on, and frees it.
async fn write(store: &PostgresCheckpointer, name: &str) {
    let lease = store.claim(&name.into(), Claim::IfFree).await.unwrap();
    let head = ThreadHead { checkpoint: Some(CheckpointId(1)), next: 2, birth: 7 };
    let epoch = lease.epoch();
    let commit = Commit::new(name.into(), epoch, None, head).with_records(pending());
    store.commit(commit).await.unwrap();
    lease.release().await.unwrap();
}

async fn due(store: &PostgresCheckpointer) -> DueThreads {
    store.due(&DueQuery::new(["essay"], 99)).await.unwrap()
}

fn names(found: &DueThreads) -> Vec<String> {
    found.threads.iter().map(|(_, thread)| thread.id.to_string()).collect()
}

#[tokio::test]
async fn a_thread_that_is_due_is_given_to_one_handle() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address).await, connect(&address).await);
    for nth in 0..12 {
        write(&first, &format!("t{nth}")).await;
    }
    let (by_first, by_second) = tokio::join!(due(&first), due(&second));
    let all = [names(&by_first), names(&by_second)].concat();
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (12, 12));
    assert!(by_second.next.or(by_first.next).is_some());
    let query = ThreadQuery::default();
    assert!(first.list(&query).await.unwrap().iter().all(|thread| thread.status == StatusKind::Running));
    for (lease, _) in by_first.threads.iter().chain(&by_second.threads) {
        lease.release().await.unwrap();
    }
    let metadata = vec![("team".into(), "red\0".into())];
    let mut query = ThreadQuery::default();
    (query.metadata, query.statuses, query.limit) = (metadata, vec![StatusKind::Pending], Some(99));
    assert_eq!(first.list(&query).await.unwrap().len(), 12);
    assert_eq!(due(&second).await.threads.len(), 12);
}

#[tokio::test]
async fn a_thread_that_was_left_is_due_when_something_is_posted() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address).await, connect(&address).await);
    write(&first, "t").await;
    due(&first).await.threads[0].0.leave().await.unwrap();
    assert_eq!(names(&due(&second).await), [""; 0]);
    second.post(&"t".into(), vec![(Key::Signal { order: 1, id: 1 }, vec![])]).await.unwrap();
    assert_eq!(names(&due(&first).await), ["t"]);
}

#[tokio::test]
async fn a_hint_reaches_other_handles() {
    let Some(address) = server::new_store() else { return };
    let (first, second) = (connect(&address).await, connect(&address).await);
    tokio::time::sleep(Duration::from_millis(300)).await; // both listen
    let mut watch = second.watch();
    write(&first, "t").await;
    tokio::time::timeout(Duration::from_secs(2), watch.changed()).await.unwrap();
    let mut watch = second.watch();
    first.post(&"t".into(), vec![(Key::Signal { order: 1, id: 1 }, vec![])]).await.unwrap();
    tokio::time::timeout(Duration::from_secs(2), watch.changed()).await.unwrap();
}

#[tokio::test]
async fn a_store_of_the_first_version_is_migrated() {
    let Some(address) = server::new_store() else { return };
    let schema = address.rsplit_once("schema=").unwrap().1;
    let first = connect(&address).await;
    write(&first, "t").await;
    assert_eq!(first.list(&ThreadQuery::default()).await.unwrap().len(), 1); // with a summary
    first.close().await.unwrap();
    let server = server::shared().unwrap();
    server
        .sql(&format!("ALTER TABLE {schema}.threads DROP COLUMN graph_version; UPDATE {schema}.meta SET version = 1"));
    server.sql(&format!("UPDATE {schema}.threads SET summary = substr(summary, 1, length(summary) - 1)"));
    let migrated = connect(&address).await;
    assert_eq!(names(&due(&migrated).await), ["t"]);
    assert_eq!(server.sql(&format!("SELECT version FROM {schema}.meta")), "2");
    assert_eq!(server.sql(&format!("SELECT graph_version FROM {schema}.threads")), "0");
}
