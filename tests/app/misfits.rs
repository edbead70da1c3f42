//! Threads that this program cannot resume, listed with those it can.

use std::sync::Arc;

use serde_json::json;
use superstep::checkpoint::{Checkpointer, Claim, Commit, Key, ThreadHead};
use superstep::graph::{StatusKind, ThreadInfo};
use superstep::prelude::*;

use super::place::Place;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Nap {
    millis: u64,
    rested: bool,
}

#[derive(NodeId)]
enum Older {
    Begin,
    Doze,
}

async fn nothing(_: Arc<Nap>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

/// Stores a thread of an older `nap`, stopped before a node that the present graph does not have.
async fn stored_by_an_older_graph(store: &Arc<dyn Checkpointer>, thread: &str) {
    let graph = StateGraph::new().add_node(Older::Begin, nothing).add_node(Older::Doze, nothing);
    let graph = graph.add_sequence([Older::Begin, Older::Doze]).compile().unwrap();
    let thread = graph.named("nap").with_shared_checkpointer(Arc::clone(store)).thread(thread);
    let _ = thread.max_supersteps(1).invoke(Nap::update().millis(1u64)).await;
}

/// Overwrites the newest checkpoint of a thread with nonsense.
async fn damage(store: &dyn Checkpointer, thread: &str) {
    let id = ThreadId::from(thread);
    let lease = store.claim(&id, Claim::IfFree).await.unwrap();
    let head: ThreadHead = store.head(&id).await.unwrap().unwrap();
    let checkpoint = head.checkpoint.unwrap();
    let puts = vec![(Key::Checkpoint(checkpoint), vec![1, 0xff, 0xff])];
    let commit = Commit::new(id, lease.epoch(), head.checkpoint, head).with_records(puts);
    store.commit(commit).await.unwrap();
}

fn prepared(place: &Place) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store: Arc<dyn Checkpointer> = Arc::new(SledCheckpointer::open(place.path(".superstep/store")).unwrap());
    runtime.block_on(async {
        stored_by_an_older_graph(&store, "old").await;
        stored_by_an_older_graph(&store, "torn").await;
        damage(&*store, "torn").await;
    });
}

#[test]
fn status_explains_how_to_migrate_a_thread() {
    let place = Place::new();
    prepared(&place);
    let listed = place.json(0, &["threads", "--status", "needs-migration"]);
    assert_eq!((listed[0]["thread"].as_str(), listed.as_array().unwrap().len()), (Some("old"), 1), "{listed}");
    assert_eq!(listed[0]["reason"], "its node `Doze` no longer exists");
    let status = place.json(0, &["status", "old"]);
    assert_eq!((&status["status"], &status["reason"]), (&json!("needs-migration"), &listed[0]["reason"]));
    let printed = place.call(&["status", "old"]).out();
    assert!(printed.starts_with("old: needs migration: its node `Doze` no longer exists\n"), "{printed}");
    assert!(printed.contains("help: ") && printed.contains("--as-node NODE"), "{printed}");
}

#[test]
fn a_damaged_thread_does_not_hide_others() {
    let place = Place::new();
    prepared(&place);
    let listed = place.json(0, &["threads"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let torn = place.json(0, &["threads", "--status", "damaged"])[0].clone();
    assert_eq!((&torn["thread"], &torn["status"]), (&json!("torn"), &json!("damaged")));
    assert!(torn["reason"].as_str().unwrap().starts_with("damaged record"), "{torn}");
    assert!(place.call(&["threads"]).out().contains("torn damaged: damaged record"));
    assert_eq!(place.call(&["status", "torn"]).code(), 1);
    assert_eq!(place.json(0, &["delete", "torn"])["deleted"], "torn");
    assert_eq!(place.json(0, &["threads"]).as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn damage_is_listed_for_every_store() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    stored_by_an_older_graph(&store, "whole").await;
    stored_by_an_older_graph(&store, "torn").await;
    damage(&*store, "torn").await;
    let listed = ThreadInfo::all(&*store).await.unwrap();
    let words: Vec<_> = listed.iter().map(|info| (info.id.as_str(), info.status)).collect();
    assert_eq!(words, [("torn", StatusKind::Damaged), ("whole", StatusKind::Pending)]);
    assert!(ThreadInfo::read(&*store, &"torn".into()).await.is_err());
}
