//! What a subgraph over its parent's state stores: what it changed, and where the parent has the rest.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, ExportOptions, ImportOptions, Retention, export_thread, import_thread};
use superstep::graph::{CompiledGraph, Name, Persistence};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::{Counting, Store};

/// A node that appends 100 bytes, this many subgraphs deep.
fn nested(depth: usize, persistence: Persistence) -> Graph {
    let write = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["m".repeat(100)])) };
    let lowest = chain(Builder::new().add_node(id("inside"), write), &["inside"]);
    (0..depth).fold(lowest, |graph, _| {
        chain(Builder::new().add_subgraph(id("inside"), graph.persistence(persistence)), &["inside"])
    })
}

/// Returns the bytes that some runs of one thread store, early and late in it.
async fn written(graph: &Graph, durability: Durability) -> (usize, usize) {
    let store = Counting::new(&Store::memory());
    let shared: Arc<dyn Checkpointer> = store.clone();
    let thread = graph.clone().with_shared_checkpointer(shared).thread("t").durability(durability);
    let ran = async |runs: usize| {
        for _ in 0..runs {
            thread.invoke(Pad::update().sum(1)).await.unwrap();
        }
        store.written()
    };
    ran(10).await;
    let early = ran(20).await;
    ran(200).await;
    let late = ran(20).await;
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes.len(), 250);
    (early, late)
}

#[rstest]
#[tokio::test]
async fn a_subgraph_over_its_parents_state_stores_what_it_changed(
    #[values(1, 4)] depth: usize,
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let (early, late) = written(&nested(depth, persistence), durability).await;
    assert!(late * 10 < early * 12, "{early} bytes early, {late} late");
    let (_, plain) = written(&nested(0, persistence), durability).await;
    assert!(late < plain * (1 + 4 * depth), "{late} bytes, {plain} of a plain node");
}

/// A state of several lists, of which nodes write one.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Wide {
    #[channel(append)]
    a: Vec<u8>,
    #[channel(append)]
    b: Vec<u8>,
    #[channel(append)]
    c: Vec<u8>,
    #[channel(append)]
    d: Vec<u8>,
    #[channel(append)]
    e: Vec<u8>,
    #[channel(append)]
    f: Vec<u8>,
    #[channel(append)]
    g: Vec<u8>,
    #[channel(append)]
    h: Vec<u8>,
}

fn wide(depth: usize) -> CompiledGraph<Wide, Name> {
    let write = |_: Arc<Wide>, _: Ctx| async { Ok::<_, NodeError>(Wide::update().a([1])) };
    let lowest = StateGraph::new().add_node(id("inside"), write).add_sequence([id("inside")]).compile().unwrap();
    (0..depth).fold(lowest, |graph, _| {
        StateGraph::new().add_subgraph(id("inside"), graph).add_sequence([id("inside")]).compile().unwrap()
    })
}

#[tokio::test]
async fn a_subgraph_stores_the_places_of_what_it_does_not_write_once() {
    let written = async |depth: usize| {
        let store = Counting::new(&Store::memory());
        let shared: Arc<dyn Checkpointer> = store.clone();
        let thread = wide(depth).with_shared_checkpointer(shared).thread("t");
        let all = || Wide::update().a([0]).b([0]).c([0]).d([0]).e([0]).f([0]).g([0]).h([0]);
        thread.invoke(all()).await.unwrap();
        store.written();
        thread.invoke(Wide::update()).await.unwrap();
        assert_eq!(thread.state().await.unwrap().unwrap().values.a.len(), 3);
        store.written()
    };
    let (plain, one, two) = (written(0).await, written(1).await, written(2).await);
    assert!(one - plain < plain, "{plain} bytes, {one} with a subgraph");
    assert!(two - one < plain, "{plain} bytes, {one} with a subgraph, {two} with two");
}

#[rstest]
#[tokio::test]
async fn a_subgraph_that_waits_for_nothing_is_stored_in_one_commit_with_its_caller(
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let commits = async |depth: usize| {
        let store = Counting::new(&Store::memory());
        let shared: Arc<dyn Checkpointer> = store.clone();
        let thread = nested(depth, persistence).with_shared_checkpointer(shared).thread("t").durability(durability);
        thread.invoke(Pad::update()).await.unwrap();
        store.commits()
    };
    assert_eq!(commits(3).await, commits(0).await);
}

#[rstest]
#[tokio::test]
async fn a_subgraph_is_in_the_store_while_its_node_waits(#[values(1, 3)] depth: usize) {
    let (store, tally, gate) = (Store::memory(), Tally::default(), tokio::sync::watch::channel(false));
    let lowest = chain(Builder::new().add_node(id("waits"), gated(&tally, "waits", &gate.1)), &["waits"]);
    let within = |graph: Graph, _| chain(Builder::new().add_subgraph(id("inside"), graph), &["inside"]);
    let thread = store.thread(&(0..depth).fold(lowest, within));
    let look = async {
        let mut deep = thread.state_deep().await.unwrap().unwrap().tasks.remove(0).state.unwrap();
        for _ in 1..depth {
            deep = deep.tasks.remove(0).state.unwrap();
        }
        gate.0.send(true).unwrap();
        deep.next
    };
    let (outcome, next) = tokio::join!(biased; thread.invoke(Pad::update()), look);
    assert_eq!(next, ["waits"]);
    assert_eq!(outcome.unwrap().finished().unwrap().notes, ["waits"]);
}

/// `write`, then `inside` (`c`, a question, `d`) over the same state.
fn asking(depth: usize) -> Graph {
    let builder = Builder::new().add_node(id("c"), note("c").replayable());
    let builder = builder.add_node(id("ask"), approval.asks::<Approve>().replayable());
    let lowest = chain(builder.add_node(id("d"), note("d").replayable()), &["c", "ask", "d"]);
    let within = |graph: Graph, _| chain(Builder::new().add_subgraph(id("inside"), graph), &["inside"]);
    let inside = (1..depth).fold(lowest, within);
    let title = |pad: Arc<Pad>, _: Ctx| async move {
        Ok::<_, NodeError>(Pad::update().title(format!("{} of {}", pad.sum, pad.notes.len())).notes(["write"]))
    };
    let builder = Builder::new().add_node(id("write"), title.replayable()).add_subgraph(id("inside"), inside);
    chain(builder, &["write", "inside"])
}

fn notes(turns: usize) -> Vec<&'static str> {
    ["write", "c", "approved: true", "d"].repeat(turns)
}

/// Runs turns, and leaves the thread at the question of one more.
async fn asked(thread: &PadThread, turns: usize) {
    for _ in 0..turns {
        thread.invoke(Pad::update().sum(1)).await.unwrap();
        thread.resume::<Approve>(true).await.unwrap();
    }
    thread.invoke(Pad::update().sum(1)).await.unwrap();
}

/// Returns all states of a thread, and that of its open subgraph.
async fn states(thread: &PadThread) -> Vec<String> {
    let deep = thread.state_deep().await.unwrap().unwrap();
    let inside = deep.tasks.iter().filter_map(|task| Some(format!("{:?}", task.state.as_ref()?.values)));
    let history = thread.history().await.unwrap().all().await.unwrap();
    inside.chain(history.iter().map(|made| format!("{} {:?}", made.id, made.values))).collect()
}

#[rstest]
#[tokio::test]
async fn what_a_subgraph_refers_to_is_kept_by_every_way_of_a_thread(
    #[values(1, 3)] depth: usize,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let (store, graph) = (Store::disk(), asking(depth));
    let thread = || store.thread(&graph).durability(durability);
    asked(&thread(), 40).await;
    let whole = states(&thread()).await;
    let verified = thread().verify().await.unwrap();
    assert!(verified.agrees() && (durability == Durability::Exit || verified.not_verified.is_empty()), "{verified}");

    // An export, imported elsewhere.
    let mut file = vec![];
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    let other = Store::memory();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    let moved = other.thread(&graph);
    assert!(states(&moved).await == whole);
    moved.trust().await.unwrap();
    assert_eq!(moved.resume::<Approve>(true).await.unwrap().finished().unwrap().notes, notes(41));

    // A fork before the last turn, and its own end.
    let history = moved.history().await.unwrap().all().await.unwrap();
    let before = history.iter().find(|made| made.values.notes.len() == 4 * 39 && made.next.is_empty()).unwrap().id;
    moved.clone().at(before).invoke(Pad::update().sum(1)).await.unwrap();
    let end = moved.resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, notes(40));

    // Old checkpoints removed while the question is open.
    thread().gc(&Retention::new().keep_last(1)).await.unwrap();
    let deep = thread().state_deep().await.unwrap().unwrap();
    assert_eq!(deep.values.notes.len(), 4 * 40 + 1);
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, notes(41));
    assert_eq!(end.title, "41 of 160");
}

#[rstest]
#[tokio::test]
async fn a_subgraph_with_state_of_its_own_inside_another_is_exported_whole(#[values(1, 2)] depth: usize) {
    let write = || Builder::new().add_node(id("c"), note("c"));
    let keeper = chain(write(), &["c"]).persistence(Persistence::PerThread);
    let innermost = chain(write().add_subgraph(id("keeper"), keeper), &["c", "keeper"]);
    let within = |graph: Graph, _| chain(write().add_subgraph(id("mid"), graph), &["c", "mid"]);
    let (graph, store, other) = ((0..depth).fold(innermost, within), Store::memory(), Store::memory());
    for _ in 0..3 {
        store.thread(&graph).invoke(Pad::update().sum(1)).await.unwrap();
    }
    let mut file = vec![];
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    let moved = other.thread(&graph);
    assert_eq!(states(&moved).await, states(&store.thread(&graph)).await);
    moved.trust().await.unwrap();
    let end = moved.invoke(Pad::update().sum(1)).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.len(), 4 * (depth + 2));
}

#[tokio::test]
async fn a_store_with_shared_entries_is_repaired_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (path, new) = (directory.path().join("store"), directory.path().join("new"));
    let graph = asking(2);
    let store = SledCheckpointer::open(&path).unwrap();
    let thread = graph.clone().with_checkpointer(store).thread("t");
    asked(&thread, 10).await;
    drop(thread);
    let report = SledCheckpointer::repair(&path, &new).await.unwrap();
    assert_eq!(report.threads.len(), 1);
    let thread = graph.with_checkpointer(SledCheckpointer::open(&new).unwrap()).thread("t");
    assert_eq!(thread.resume::<Approve>(true).await.unwrap().finished().unwrap().notes, notes(11));
}
