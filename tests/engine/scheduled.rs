//! Tasks that a command scheduled, when an update takes the place of the superstep that would run them.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{
    CheckpointRecord, Claim, Commit, ExportOptions, ImportOptions, Key, Order, decode_record, encode_record,
    export_thread, import_thread, trust,
};
use superstep::graph::thread::UpdateReport;
use superstep::graph::{Boxed, CancellationToken, Durability, Lint, Name, StateUpdate};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

type Led = Result<Command<Pad, Name>, NodeError>;

const WORKER: Worker<Name, String> = Worker::new(Name::constant("worker"));

/// A node that notes its name and goes to others.
fn leads(
    name: &'static str,
    to: &'static [&'static str],
) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Led> + Clone + use<> {
    move |_, _| {
        let command = Command::update(Pad::update().notes([name]));
        let command = to.iter().fold(command, |command, to| command.goto(id(to)));
        Box::pin(async move { Ok(command) })
    }
}

async fn sends(_: Arc<Pad>, _: Ctx) -> Led {
    Ok(Command::update(Pad::update().notes(["sends"])).goto(WORKER.each(["one".to_owned(), "two".to_owned()])))
}

async fn worker(payload: Arc<String>, _: Ctx) -> Ended {
    Ok(Pad::update().notes([&*payload]))
}

async fn up(_: Arc<Pad>, _: Ctx) -> Led {
    Ok(Command::parent(Command::<Pad, Name>::to(id("z"))))
}

async fn again(pad: Arc<Pad>, _: Ctx) -> Led {
    let command = Command::update(Pad::update().notes(["again"]).sum(1));
    Ok(if pad.sum < 2 { command.goto(id("again")) } else { command })
}

fn one() -> Graph {
    let nodes = Builder::new().add_node(id("a"), leads("a", &["z"])).add_node(id("z"), note("z"));
    nodes.add_edge(START, id("a")).compile().unwrap()
}

fn several() -> Graph {
    let nodes = Builder::new().add_node(id("a"), leads("a", &["y", "z"]));
    let nodes = nodes.add_node(id("y"), note("y")).add_node(id("z"), note("z")).add_node(id("edge"), note("edge"));
    nodes.add_edge(START, id("a")).add_edge(id("a"), id("edge")).compile().unwrap()
}

fn sent() -> Graph {
    let nodes = Builder::new().add_node(id("a"), sends).add_worker(WORKER, worker);
    nodes.add_edge(START, id("a")).compile().unwrap()
}

fn handed_up() -> Graph {
    let child = Builder::new().add_node(id("up"), up).add_edge(START, id("up")).compile().unwrap();
    let nodes = Builder::new().add_subgraph(id("a"), child).add_node(id("z"), note("z"));
    nodes.add_edge(START, id("a")).compile().unwrap()
}

fn deferred() -> Graph {
    let nodes = Builder::new().add_node(id("a"), leads("a", &["y", "z"]));
    let nodes = nodes.add_node(id("y"), note("y")).add_node(id("z"), note("z").defer());
    nodes.add_edge(START, id("a")).compile().unwrap()
}

fn looping() -> Graph {
    Builder::new().add_node(id("again"), again).add_edge(START, id("again")).compile().unwrap()
}

fn chained() -> Graph {
    let nodes = Builder::new().add_node(id("s"), note("s")).add_node(id("a"), leads("a", &["z"]));
    let nodes =
        nodes.add_node(id("z"), note("z")).add_node(id("loose"), note("loose")).add_node(id("last"), note("last"));
    let nodes = nodes.add_node(id("w"), note("w")).add_edge(START, id("s")).add_edge(id("s"), id("a"));
    nodes.add_edge(id("w"), id("last")).add_edge(id("last"), END).compile().unwrap()
}

/// Stores the checkpoints of a thread again as format 4 had them: without the list of what commands scheduled.
async fn as_format_4(store: &Store, thread: &str) {
    let (store, thread) = (&store.store, thread.into());
    let (first, last) = (Key::Checkpoint(CheckpointId(0)), Key::Nested(CheckpointId(u64::MAX)));
    let mut puts = vec![];
    for (key, bytes) in store.scan(&thread, first..=last, Order::Ascending, usize::MAX).await.unwrap() {
        if !matches!(key, Key::Checkpoint(_) | Key::Nested(_)) {
            continue;
        }
        let record: CheckpointRecord = decode_record(&thread, &key, &bytes).unwrap();
        let mut bytes = encode_record(&CheckpointRecord { gotos: vec![], ..record }).unwrap();
        assert_eq!((bytes[0], bytes.pop()), (superstep::checkpoint::FORMAT, Some(0)));
        bytes[0] = 4;
        puts.push((key, bytes));
    }
    let head = store.head(&thread).await.unwrap().unwrap();
    let lease = store.claim(&thread, Claim::IfFree).await.unwrap();
    let epoch = lease.epoch();
    store.commit(Commit::new(thread, epoch, head.checkpoint, head).with_records(puts)).await.unwrap();
}

/// Runs a graph up to the checkpoint after the node that returns a command.
async fn stopped(thread: PadThread, after: &str) -> PadThread {
    thread.clone().interrupt_after([id(after)]).invoke(start()).await.unwrap();
    thread
}

fn edit() -> PadUpdate {
    Pad::update().notes(["edit"])
}

/// Returns what is next, and what the thread has noted once it ended.
async fn rest(thread: &PadThread) -> (String, String) {
    let next = thread.state().await.unwrap().unwrap().next.join(" ");
    let ended = thread.proceed().await.unwrap().finished().unwrap();
    (next, ended.notes.join(" "))
}

#[rstest]
#[case::one(one(), "z", "a edit z")]
#[case::several_and_an_edge(several(), "edge y z", "a edit edge y z")]
#[case::sends(sent(), "worker worker", "sends edit one two")]
#[case::from_a_subgraph(handed_up(), "z", "edit z")]
#[case::a_deferred_one(deferred(), "y", "a edit y z")]
#[tokio::test]
async fn an_update_does_not_drop_what_a_command_scheduled(
    #[case] graph: Graph,
    #[case] next: &str,
    #[case] notes: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
    #[values(true, false)] is_named: bool,
    #[values(true, false)] is_older: bool,
) {
    if is_older && durability == Durability::Exit {
        return; // it stored neither what was scheduled nor by which task
    }
    let mut thread = stopped(store.thread(&graph).durability(durability), "a").await;
    if is_older {
        as_format_4(&store, "t").await;
        thread = store.thread(&graph).durability(durability);
    }
    let update = StateUpdate::new(edit());
    let update = if is_named { update.as_node(id("a")) } else { update };
    let updated = thread.update(update).await.unwrap();
    assert_eq!(updated.dropped, Vec::<String>::new());
    let thread = store.thread(&graph);
    assert!(matches!(thread.status().await.unwrap(), Status::Pending { .. }));
    assert_eq!(rest(&thread).await, (next.into(), notes.into()));
    assert!(thread.verify().await.unwrap().agrees());
}

#[rstest]
#[tokio::test]
async fn on_a_new_branch_it_is_pending_as_well(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(true, false)] is_older: bool,
) {
    for (graph, next, notes) in [(one(), "z", "a edit z"), (sent(), "worker worker", "sends edit one two")] {
        let thread = || graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread(next);
        thread().invoke(start()).await.unwrap();
        if is_older {
            as_format_4(&store, next).await;
        }
        let thread = thread();
        let made = thread.history().await.unwrap().all().await.unwrap();
        let before = made.iter().find(|made| made.next.join(" ") == next).unwrap().id;
        thread.clone().at(before).update_state(edit()).await.unwrap();
        assert_eq!(rest(&thread).await, (next.into(), notes.into()));
    }
}

#[rstest]
#[tokio::test]
async fn it_is_pending_after_several_updates_in_a_row(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = several();
    let thread = stopped(store.thread(&graph), "a").await;
    thread.bulk_update([vec![StateUpdate::new(edit())], vec![StateUpdate::new(edit())]]).await.unwrap();
    let thread = store.thread(&graph);
    thread.update_state(edit()).await.unwrap();
    assert_eq!(rest(&thread).await, ("edge y z".into(), "a edit edit edit edge y z".into()));
}

#[derive(Clone, Copy, Debug)]
enum Change {
    CopyOfTheThread,
    Fork,
    CopyOfTheCheckpoint,
    OtherVersion,
}

/// Returns the graph again, with nodes added, if its version is to be another one.
fn changed_graph(change: Change) -> Graph {
    let nodes = Builder::new().add_node(id("a"), leads("a", &["y", "z"]));
    let nodes = nodes.add_node(id("y"), note("y")).add_node(id("z"), note("z")).add_node(id("edge"), note("edge"));
    let nodes = match change {
        Change::OtherVersion => nodes.add_node(id("0"), note("0")).add_edge(id("0"), END).allow(Lint::Unreachable),
        Change::CopyOfTheThread | Change::Fork | Change::CopyOfTheCheckpoint => nodes,
    };
    nodes.add_edge(START, id("a")).add_edge(id("a"), id("edge")).compile().unwrap()
}

#[rstest]
#[tokio::test]
async fn an_older_thread_has_it_pending_after_its_checkpoint_was_copied(
    #[values(Change::CopyOfTheThread, Change::Fork, Change::CopyOfTheCheckpoint, Change::OtherVersion)] change: Change,
    #[values(true, false)] is_copy_older: bool,
) {
    let (store, graph) = (Store::memory(), several());
    drop(stopped(store.thread(&graph), "a").await);
    as_format_4(&store, "t").await;
    let graph = changed_graph(change);
    let head = store.thread(&graph).state().await.unwrap().unwrap().id;
    let (cancelled, mut name) = (CancellationToken::new(), "t");
    cancelled.cancel();
    match change {
        Change::CopyOfTheThread => {
            store.thread(&graph).copy_to("u", head).await.unwrap();
            name = "u";
        }
        Change::Fork => drop(store.thread(&graph).at(head).cancel_with(cancelled).proceed().await.unwrap()),
        Change::OtherVersion => drop(store.thread(&graph).cancel_with(cancelled).proceed().await.unwrap()),
        Change::CopyOfTheCheckpoint => drop(store.thread(&graph).update(StateUpdate::copy()).await.unwrap()),
    }
    if is_copy_older {
        as_format_4(&store, name).await;
    }
    let thread = graph.with_shared_checkpointer(Arc::clone(&store.store)).thread(name);
    thread.update_state(edit()).await.unwrap();
    assert_eq!(rest(&thread).await, ("edge y z".into(), "a edit edge y z".into()));
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Keyed {
    #[channel(secret)]
    key: String,
    #[channel(append)]
    notes: Vec<String>,
}

#[tokio::test]
async fn an_older_thread_has_it_pending_after_it_was_exported_without_secrets() {
    let noted = |_: Arc<Keyed>, _: Ctx| async { Ok::<_, NodeError>(Keyed::update().notes(["z"])) };
    let leads = |_: Arc<Keyed>, _: Ctx| async { Ok::<_, NodeError>(Command::<Keyed, Name>::to(id("z"))) };
    let graph = StateGraph::<Keyed, Name>::new().add_node(id("a"), leads).add_node(id("z"), noted);
    let graph = graph.add_edge(START, id("a")).compile().unwrap();
    let (store, imported, mut file) = (Store::memory(), Store::memory(), vec![]);
    let thread = |store: &Store| graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread(&store).interrupt_after([id("a")]).invoke(Keyed::update().key("k")).await.unwrap();
    as_format_4(&store, "t").await;
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*imported.store, &file[..], &ImportOptions::new()).await.unwrap();
    trust(&*imported.store, &"t".into()).await.unwrap();
    thread(&imported).update_state(Keyed::update().notes(["edit"])).await.unwrap();
    let ended = thread(&imported).proceed().await.unwrap().finished().unwrap();
    assert_eq!(ended.notes, ["edit", "z"]);
}

#[tokio::test]
async fn a_node_that_goes_to_itself_is_still_next() {
    let thread = stopped(Store::memory().thread(&looping()), "again").await;
    thread.update_state(Pad::update().sum(5)).await.unwrap();
    assert_eq!(rest(&thread).await, ("again".into(), "again again".into()));
}

#[rstest]
#[case::of_a_node_without_edges("loose", "z", &[])]
#[case::of_the_scheduled_node("z", "", &[])]
#[case::of_a_node_with_an_edge("w", "last", &["z"])]
#[case::of_a_node_that_leads_to_the_end("last", "", &["z"])]
#[tokio::test]
async fn an_update_of_another_node_keeps_it_or_reports_it(
    #[case] node: &str,
    #[case] next: &str,
    #[case] dropped: &[&str],
) {
    let thread = stopped(Store::memory().thread(&chained()), "a").await;
    let UpdateReport { dropped: found, .. } = thread.update_state_as(id(node), edit()).await.unwrap();
    assert_eq!((found, rest(&thread).await.0), (dropped.iter().map(|&name| name.into()).collect(), next.into()));
}

#[tokio::test]
async fn a_finished_sibling_is_reported_and_scheduled_again() {
    let nodes = Builder::new().add_node(id("a"), leads("a", &["ask", "z"])).add_node(id("z"), note("z"));
    let graph = nodes.add_node(id("ask"), approval.asks::<Approve>()).add_edge(START, id("a")).compile().unwrap();
    let thread = Store::memory().thread(&graph);
    assert!(matches!(thread.invoke(start()).await.unwrap(), Outcome::Interrupted(_)));
    let updated = thread.update_state_as(id("a"), edit()).await.unwrap();
    let next = thread.state().await.unwrap().unwrap().next.join(" ");
    assert_eq!((updated.dropped, next), (vec!["z".into()], "ask z".into()));
}

/// As in LangGraph.
#[tokio::test]
async fn what_a_command_given_to_a_run_scheduled_is_dropped_and_reported() {
    let store = Store::memory();
    let nodes = Builder::new().add_node(id("a"), note("a")).add_node(id("asks"), approval.asks::<Approve>());
    let graph = nodes.add_edge(START, id("a")).compile().unwrap();
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    thread.command(Command::to(id("asks"))).await.unwrap();
    let updated = store.thread(&graph).update_state(edit()).await.unwrap();
    let next = store.thread(&graph).state().await.unwrap().unwrap().next;
    assert_eq!((updated.dropped, next), (vec!["asks".to_owned()], vec![]));
}
