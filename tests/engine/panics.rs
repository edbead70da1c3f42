//! User code that panics: every call returns an error, and the thread can be resumed once the code is fixed.

use std::cell::Cell;
use std::fmt;
use std::panic::panic_any;
use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::graph::runner::Until;
use superstep::graph::{CompiledGraph, Durability, Name, Thread, runner};
use superstep::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::stores::{Counting, Store};

thread_local! {
    /// The call of user code that panics now; each test runs on its own thread.
    static BROKEN: Cell<&'static str> = const { Cell::new("") };
}

fn trip(call: &str) {
    if BROKEN.get() == call && !std::thread::panicking() {
        panic_any(Box::<dyn std::error::Error + Send + Sync>::from("out of ink"));
    }
}

/// A value whose every method can panic.
#[derive(Debug)]
struct Fuse(u8);

impl Default for Fuse {
    fn default() -> Self {
        trip("Default");
        Self(0)
    }
}

impl Clone for Fuse {
    fn clone(&self) -> Self {
        trip("Clone");
        Self(self.0)
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        trip("Drop");
    }
}

impl Serialize for Fuse {
    fn serialize<E: serde::Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        trip("Serialize");
        self.0.serialize(out)
    }
}

impl<'de> Deserialize<'de> for Fuse {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        trip("Deserialize");
        u8::deserialize(from).map(Self)
    }
}

impl fmt::Display for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        trip("Display");
        write!(f, "fuse {}", self.0)
    }
}

impl std::error::Error for Fuse {}

fn burn(sum: &mut Fuse, more: Fuse) {
    trip("reducer");
    sum.0 += more.0;
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Panel {
    fuse: Fuse,
    #[channel(append)]
    spent: Vec<Fuse>,
    #[channel(reduce = burn)]
    sum: Fuse,
    #[channel(append)]
    notes: Vec<String>,
}

type Graph = CompiledGraph<Panel, Name>;
type PanelThread = Thread<Panel, Name>;
type Ended = Result<PanelUpdate, NodeError>;

fn id(name: &str) -> Name {
    Name::from(name)
}

const CALLS: [&str; 8] = ["Default", "Clone", "Drop", "Serialize", "Deserialize", "Display", "reducer", "router"];

fn route(_: &Panel) -> Name {
    trip("router");
    id("end")
}

/// START, one or two nodes that break a call and write every channel, and a last one.
fn graph(breaks: &'static str, wide: bool, fails: bool) -> Graph {
    let work = move |_: Arc<Panel>, _: Ctx| async move {
        let update = Panel::update().sum(Fuse(1)).spent([Fuse(1)]).notes(["work"]);
        BROKEN.set(breaks);
        if fails && !breaks.is_empty() {
            return Err(NodeError::from(Fuse(7)));
        }
        Ok(update)
    };
    let end = |_: Arc<Panel>, _: Ctx| async { Ended::Ok(Panel::update().fuse(Fuse(2)).notes(["end"])) };
    let builder = StateGraph::<Panel, Name>::new().add_node(id("work"), work).add_node(id("end"), end);
    let builder = builder.add_edge(START, id("work")).add_conditional_edges_to(id("work"), route, id("end"));
    if !wide {
        return builder.compile().unwrap();
    }
    let side = |_: Arc<Panel>, _: Ctx| async { Ended::Ok(Panel::update().sum(Fuse(1)).notes(["side"])) };
    builder.add_node(id("side"), side).add_edge(START, id("side")).compile().unwrap()
}

fn thread(store: &Store, graph: &Graph, durability: Durability) -> PanelThread {
    graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t").durability(durability)
}

/// Reads the thread in every way; each must return.
async fn read_all(thread: &PanelThread) {
    _ = thread.status().await;
    _ = thread.state().await.map(|state| state.map(|state| format!("{state:?}")));
    _ = thread.state_deep().await;
    _ = thread.verify().await;
    _ = thread.what_if().await;
    if let Ok(history) = thread.history().await {
        _ = history.limit(3).all().await;
    }
    _ = thread.diff(CheckpointId(1), CheckpointId(2)).await;
    _ = thread.update_state(Panel::update().fuse(Fuse(3))).await;
    _ = thread.proceed().await;
}

#[rstest]
#[tokio::test]
async fn no_panic_of_user_code_escapes_and_the_thread_resumes(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] wide: bool,
    #[values(false, true)] fails: bool,
) {
    for call in CALLS {
        let thread = |graph: &Graph| {
            graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread(call).durability(durability)
        };
        let breaking = graph(call, wide, fails);
        let handle = thread(&breaking);
        let ended = handle.invoke(Panel::update().fuse(Fuse(1))).await;
        if call != "Drop" {
            read_all(&thread(&breaking)).await; // what it returns is dropped there
        }
        BROKEN.set("");
        let whole = thread(&graph("", wide, false));
        let status = whole.status().await.unwrap();
        let shown = ended.as_ref().map(drop).map_err(ToString::to_string);
        assert!(!matches!(status, Status::NeedsMigration { .. } | Status::New), "{call}: {shown:?}, {status:?}");
        let end = match status {
            Status::Finished => whole.state().await.unwrap().unwrap().values,
            _ => whole.proceed().await.unwrap().finished().unwrap(),
        };
        assert_eq!(end.notes.last().unwrap(), "end", "{call}: {shown:?}");
        assert!(whole.verify().await.unwrap().agrees(), "{call}: {shown:?}");
    }
}

/// Runs a graph that breaks a call; returns the error, and the status once the call is fixed.
async fn failed(store: &Store, durability: Durability, graph: &Graph) -> String {
    let error = thread(store, graph, durability).invoke(Panel::update()).await.unwrap_err();
    let text = error.to_string();
    BROKEN.set("");
    match thread(store, graph, durability).status().await.unwrap() {
        Status::Failed { reason } if reason == text => reason,
        other => panic!("{text}: {other:?}"),
    }
}

#[rstest]
#[case::encoding("Serialize", false, false, "channel `sum`: its `Serialize` panicked: out of ink")]
#[case::encoding_beside_another("Serialize", true, false, "channel `sum`: its `Serialize` panicked: out of ink")]
#[case::display(
    "Display",
    false,
    true,
    "node `work` failed in superstep 1: `Display` of an error panicked: out of ink"
)]
#[case::router("router", false, false, "node `work` panicked in superstep 1: its router: out of ink")]
#[case::router_beside_another("router", true, false, "node `work` panicked in superstep 1: its router: out of ink")]
#[case::reducer(
    "reducer",
    false,
    false,
    "channel `sum` refused a write of `work` in superstep 1: its reducer panicked: out of ink"
)]
#[tokio::test]
async fn a_panic_is_the_failure_of_its_superstep_in_every_durability(
    #[case] call: &'static str,
    #[case] wide: bool,
    #[case] fails: bool,
    #[case] expected: &str,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    assert_eq!(failed(&store, durability, &graph(call, wide, fails)).await, expected);
}

#[rstest]
#[case::number(|| panic_any(7_i32), "7")]
#[case::error(|| panic_any(Box::<dyn std::error::Error + Send + Sync>::from("out of ink")), "out of ink")]
#[case::other(|| panic_any(vec!["out of ink"]), "a panic without a text")]
#[tokio::test]
async fn a_panic_has_a_text_whatever_its_payload(#[case] body: fn(), #[case] text: &str) {
    let node = move |_: Arc<Panel>, _: Ctx| async move {
        body();
        Ended::Ok(Panel::update())
    };
    let builder = StateGraph::<Panel, Name>::new().add_node(id("work"), node);
    let graph = builder.add_sequence([id("work")]).compile().unwrap();
    let error = graph.invoke(Panel::update()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("node `work` panicked in superstep 1: {text}"));
}

#[rstest]
#[tokio::test]
async fn a_value_whose_type_panics_is_unreadable(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = graph("", false, false);
    let thread = thread(&store, &graph, Durability::Sync);
    thread.invoke(Panel::update().fuse(Fuse(1))).await.unwrap();
    let fresh = graph.with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    BROKEN.set("Deserialize");
    let state = fresh.state().await.unwrap().unwrap();
    let history = fresh.history().await.unwrap().limit(1).all().await.unwrap();
    let error = fresh.invoke(Panel::update()).await.unwrap_err().to_string();
    BROKEN.set("");
    let reason = "its `Deserialize` panicked: out of ink";
    assert!(error.contains("channel `fuse`") && error.ends_with(reason), "{error}");
    for snapshot in [&state, &history[0]] {
        let misfits: Vec<String> = snapshot.misfits.iter().map(ToString::to_string).collect();
        assert_eq!(misfits.iter().filter(|misfit| misfit.ends_with(reason)).count(), 3, "{misfits:?}");
    }
    assert_eq!(fresh.state().await.unwrap().unwrap().values.fuse.0, 2);
}

/// A value whose drop panics.
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        panic!("out of ink");
    }
}

/// A node that holds a brittle value until it is dropped.
async fn holds(_: Arc<Panel>, _: Ctx) -> Ended {
    let _brittle = Brittle;
    std::future::pending().await
}

async fn note(_: Arc<Panel>, _: Ctx) -> Ended {
    tokio::time::sleep(Duration::from_millis(1)).await;
    Ok(Panel::update().notes(["note"]))
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_value_dropped_by_cancellation_fails_its_node(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] wide: bool,
) {
    let store = Store::memory();
    let builder = StateGraph::<Panel, Name>::new().add_node(id("hold"), holds).add_edge(START, id("hold"));
    let graph = match wide {
        true => builder.add_node(id("note"), note).add_edge(START, id("note")).compile().unwrap(),
        false => builder.compile().unwrap(),
    };
    let token = CancellationToken::new();
    let thread = thread(&store, &graph, durability).cancel_with(token.clone());
    let cancels = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        token.cancel();
    };
    let (ended, ()) = tokio::join!(thread.invoke(Panel::update()), cancels);
    let text = "node `hold` panicked in superstep 1: dropped by the cancelled run: out of ink";
    assert_eq!(ended.unwrap_err().to_string(), text);
    let status = thread.status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if reason == text), "{status:?}");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_value_dropped_by_a_timeout_fails_its_node(#[values(false, true)] idle: bool) {
    let limit = Duration::from_secs(1);
    let node = if idle { holds.idle_timeout(limit) } else { holds.timeout(limit) };
    let builder = StateGraph::<Panel, Name>::new().add_node(id("hold"), node.retry(RetryPolicy::attempts(3)));
    let graph = builder.add_sequence([id("hold")]).compile().unwrap();
    let error = graph.invoke(Panel::update()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `hold` panicked in superstep 1: out of ink");
}

#[tokio::test]
async fn a_store_that_panics_is_an_error_of_the_call() {
    let store = Store::memory();
    let counting = Counting::new(&store);
    let graph = graph("", false, false).with_shared_checkpointer(Arc::clone(&counting) as _);
    graph.thread("t").invoke(Panel::update()).await.unwrap();
    counting.break_reads();
    let thread = graph.thread("t");
    let mut errors = vec![thread.status().await.unwrap_err(), thread.state().await.unwrap_err()];
    errors.push(thread.invoke(Panel::update()).await.unwrap_err());
    errors.push(thread.update_state(Panel::update()).await.unwrap_err());
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    a panic while reading the status of a thread: out of paper
    a panic while reading a thread: out of paper
    a panic while running a thread: out of paper
    a panic while updating a thread: out of paper
    ");
}

#[tokio::test]
async fn a_store_that_panics_is_an_error_of_reading_outlines_and_runs_of_subgraphs() {
    let counting = Counting::new(&Store::memory());
    let child = graph("", false, false);
    let builder = StateGraph::<Panel, Name>::new().add_subgraph(id("inside"), child);
    let around = builder.add_edge(START, id("inside")).compile().unwrap();
    let thread = around.with_shared_checkpointer(Arc::clone(&counting) as _).thread("t");
    thread.invoke(Panel::update()).await.unwrap();
    let outlines = thread.history().await.unwrap().outline_with_tasks().await.unwrap();
    let task = outlines.iter().find_map(|outline| outline.tasks.first()).unwrap();
    let place = [format!("{}:{}", task.name, task.id)];
    let inside = thread.subgraph_run(&place).await.unwrap().unwrap();
    let newest = inside.outline(None, 1).await.unwrap()[0].id();
    let (names, tasks) = (thread.history().await.unwrap(), thread.history().await.unwrap());
    let metadata = thread.history().await.unwrap();
    counting.break_reads();
    let errors = [
        metadata.metadata_only().await.unwrap_err(),
        names.outline().await.unwrap_err(),
        tasks.outline_with_tasks().await.unwrap_err(),
        thread.subgraph_run(&place).await.unwrap_err(),
        thread.subgraph_calls(&task.name, &task.id).await.unwrap_err(),
        inside.checkpoints().await.unwrap_err(),
        inside.outline(None, 1).await.unwrap_err(),
        inside.checkpoint(newest).await.unwrap_err(),
        inside.state_at(newest).await.unwrap_err(),
        inside.state().await.unwrap_err(),
    ];
    for (at, error) in errors.iter().enumerate() {
        let doing = if at < 3 { "the history of a thread" } else { "a subgraph of a thread" };
        assert_eq!(error.to_string(), format!("a panic while reading {doing}: out of paper"));
    }
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_runner_hook_does_not_stop_other_threads(#[values(false, true)] at_once: bool) {
    let store = Store::memory();
    let graph = graph("", false, false).named("panel").with_shared_checkpointer(Arc::clone(&store.store));
    for name in ["a", "b"] {
        graph.thread(name).max_supersteps(0).invoke(Panel::update()).await.unwrap();
    }
    let hook = move |_| {
        assert!(!at_once, "out of ink");
        async { panic!("out of ink") }
    };
    let stopped = Arc::new(std::sync::Mutex::new(vec![]));
    let sink = Arc::clone(&stopped);
    let second = move |stop: superstep::graph::runner::RunnerStop| {
        sink.lock().unwrap().push(stop.thread.to_string());
        async {}
    };
    let report = runner([graph]).on_stop(hook).on_stop(second).max_threads(1).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.errors), (2, 2));
    assert_eq!(*stopped.lock().unwrap(), ["a", "b"]);
}
