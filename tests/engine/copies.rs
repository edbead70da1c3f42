//! What is not copied and not read again: values that a superstep leaves alone, records that would grow with the graph.

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use serde::Deserializer;
use superstep::checkpoint::{CheckpointId, Key, Order};
use superstep::graph::state::{IntoWrites, Kind};
use superstep::graph::{CompiledGraph, DataSchema, DataState, Log, Name, Thread};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

thread_local! {
    static COPIES: Cell<usize> = const { Cell::new(0) };
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// A value that counts its copies, and how often it is read.
#[derive(Debug, Default, Serialize)]
struct Counted(u8);

impl Clone for Counted {
    fn clone(&self) -> Self {
        COPIES.set(COPIES.get() + 1);
        Self(self.0)
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        READS.set(READS.get() + 1);
        u8::deserialize(from).map(Self)
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Beside {
    untouched: Counted,
    #[channel(add)]
    sum: i64,
    #[channel(topic)]
    last: Vec<i64>,
    #[channel(append)]
    seen: Vec<(i64, i64)>,
}

#[derive(NodeId)]
enum Step {
    Plan,
    Add,
    See,
}

const ADD: Worker<Step, i64> = Worker::new(Step::Add);
const SEE: Worker<Step, (i64, i64)> = Worker::new(Step::See);

#[tokio::test]
async fn a_router_sees_the_writes_of_its_own_task_and_the_state_is_not_copied_for_each() {
    let add = |number: Arc<i64>, _: Ctx| async move {
        let update = Beside::update().sum(*number);
        Ok::<_, NodeError>(if number.rem_euclid(2) == 0 { update.last([*number]) } else { update })
    };
    let see = |seen: Arc<(i64, i64)>, _: Ctx| async move { Ok::<_, NodeError>(Beside::update().seen([*seen])) };
    let graph = StateGraph::<Beside, Step>::new()
        .add_node(Step::Plan, |_: Arc<Beside>, _: Ctx| async { Ok::<_, NodeError>(Beside::update().last([7])) })
        .add_worker(ADD, add)
        .add_worker(SEE, see)
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, |_: &Beside| ADD.each(1..=100), ADD)
        .add_conditional_edges_to(Step::Add, |beside: &Beside| SEE.each([(beside.sum, beside.last.iter().sum())]), SEE)
        .compile()
        .unwrap();
    let outcome = graph.invoke(Beside::update()).await.unwrap();
    let own = (1..=100).map(|number| (number, if number % 2 == 0 { number } else { 0 }));
    assert_eq!(outcome.state().seen, own.collect::<Vec<_>>());
    assert!(COPIES.get() < 10, "{} copies", COPIES.get());
}

/// A chain of nodes that count.
fn counting(nodes: usize) -> CompiledGraph<Beside, Name> {
    let count = |_: Arc<Beside>, _: Ctx| async { Ok::<_, NodeError>(Beside::update().sum(1)) };
    let ids: Vec<Name> = (0..nodes).map(|nth| Name::from(format!("n{nth:02}"))).collect();
    let graph = ids.iter().fold(StateGraph::new(), |graph, id| graph.add_node(id.clone(), count));
    graph.add_sequence(ids).compile().unwrap()
}

#[tokio::test]
async fn a_stream_of_states_copies_none_that_its_reader_has_dropped() {
    let thread = counting(20).thread("t");
    let modes = [Mode::Values, Mode::Tasks, Mode::Checkpoints];
    let mut events = thread.stream(Request::input(Beside::update().untouched(Counted(7))), modes);
    let mut sums = vec![];
    while let Some(event) = events.next().await {
        if let EventKind::Values { values, .. } = event.kind {
            sums.push(values.get::<Beside>().unwrap().sum);
        }
    }
    assert_eq!(sums, (0..=20).collect::<Vec<i64>>());
    assert!(COPIES.get() < 4, "{} copies", COPIES.get());
}

#[rstest::rstest]
#[tokio::test]
async fn a_history_reads_a_value_once_for_all_checkpoints_that_share_it(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = counting(20).with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread.invoke(Beside::update().untouched(Counted(7))).await.unwrap();
    READS.set(0);
    let states = thread.history().await.unwrap().limit(10).all().await.unwrap();
    let seen: Vec<_> = states.iter().map(|state| (state.values.untouched.0, state.values.sum)).collect();
    assert_eq!(seen, (11..=20).rev().map(|sum| (7, sum)).collect::<Vec<_>>());
    assert_eq!(READS.get(), 1);
}

#[rstest::rstest]
#[tokio::test]
async fn a_verification_reads_an_input_as_a_write_and_as_a_value_and_copies_it_for_each_superstep_at_most(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = counting(20).with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    drop(thread.invoke(Beside::update().untouched(Counted(7))).await.unwrap());
    let fresh = counting(20).with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    READS.set(0);
    COPIES.set(0);
    assert!(fresh.verify().await.unwrap().agrees());
    assert_eq!(READS.get(), 2);
    assert!(COPIES.get() <= 3 * 21 + 1, "{} copies", COPIES.get());
}

#[rstest::rstest]
#[tokio::test]
async fn runs_of_a_kept_graph_copy_and_read_nothing_that_they_leave_alone(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
) {
    let thread = counting(20).with_shared_checkpointer(Arc::clone(&store.store)).thread("t").durability(durability);
    let first = Beside::update().untouched(Counted(7)).seen(vec![(0, 0); 500]); // a state that is worth keeping
    drop(thread.invoke(first).await.unwrap());
    COPIES.set(0);
    READS.set(0);
    for _ in 0..3 {
        drop(thread.invoke(Beside::update()).await.unwrap());
    }
    assert_eq!((COPIES.get(), READS.get()), (0, 0));
    assert_eq!(thread.state().await.unwrap().unwrap().values.sum, 80);
}

/// A value behind an `Arc`, which its copies share.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Behind {
    shared: Arc<Counted>,
    #[channel(add)]
    sum: i64,
}

#[rstest::rstest]
#[tokio::test]
async fn the_checkpoints_of_a_history_share_a_value_behind_an_arc(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let count = |_: Arc<Behind>, _: Ctx| async { Ok::<_, NodeError>(Behind::update().sum(1)) };
    let ids: Vec<Name> = (0..10).map(|nth| Name::from(format!("n{nth:02}"))).collect();
    let graph = ids.iter().fold(StateGraph::new(), |graph, id| graph.add_node(id.clone(), count));
    let graph = graph.add_sequence(ids).compile().unwrap();
    let thread = || graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread().invoke(Behind::update().shared(Arc::new(Counted(7)))).await.unwrap();
    COPIES.set(0);
    READS.set(0);
    let states = thread().history().await.unwrap().limit(10).all().await.unwrap();
    assert_eq!(states.len(), 10);
    assert!(states.iter().all(|state| Arc::ptr_eq(&state.values.shared, &states[0].values.shared)));
    assert_eq!((COPIES.get(), READS.get()), (0, 1));
}

thread_local! {
    static LIVE: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
}

/// A value without an `Arc`, which counts how many of it there are, and were at most.
#[derive(Debug, Serialize)]
struct Owned(u8);

impl Owned {
    fn new(value: u8) -> Self {
        let [live, most] = LIVE.get();
        LIVE.set([live + 1, most.max(live + 1)]);
        Self(value)
    }
}

impl Default for Owned {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Clone for Owned {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let [live, most] = LIVE.get();
        LIVE.set([live - 1, most]);
    }
}

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u8::deserialize(from).map(Self::new)
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Plain {
    value: Owned,
    #[channel(add)]
    sum: i64,
}

#[rstest::rstest]
#[tokio::test]
async fn a_history_that_is_read_one_by_one_has_few_states_at_a_time(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(4, 40)] checkpoints: usize,
) {
    let count = |_: Arc<Plain>, _: Ctx| async { Ok::<_, NodeError>(Plain::update().sum(1)) };
    let ids: Vec<Name> = (0..checkpoints).map(|nth| Name::from(format!("n{nth:02}"))).collect();
    let graph = ids.iter().fold(StateGraph::new(), |graph, id| graph.add_node(id.clone(), count));
    let graph = graph.add_sequence(ids).compile().unwrap();
    let thread = || graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    drop(thread().invoke(Plain::update().value(Owned::new(7))).await.unwrap());
    let mut history = thread().history().await.unwrap().limit(checkpoints);
    let before = LIVE.get()[0];
    LIVE.set([before; 2]);
    let mut sums = vec![];
    while let Some(snapshot) = history.next().await {
        let snapshot = snapshot.unwrap();
        assert_eq!(snapshot.values.value.0, 7);
        sums.push(snapshot.values.sum);
    }
    assert_eq!(sums.len(), checkpoints);
    assert!(LIVE.get()[1] - before <= 4, "{} at a time", LIVE.get()[1] - before);
}

/// A list of each kind that a history takes from a newer checkpoint.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lists {
    #[channel(append)]
    vec: Vec<String>,
    #[channel(append)]
    log: Log<u64>,
    #[channel(ephemeral)]
    once: u8,
    other: u8,
}

#[derive(Clone, Debug)]
enum Op {
    /// Appends this many items to both lists, in a run.
    Append(usize),
    /// Replaces the lists.
    Overwrite,
    /// Updates the state from outside.
    Update,
    /// Continues from an older checkpoint.
    Fork(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0usize..4).prop_map(Op::Append),
        1 => Just(Op::Overwrite),
        2 => Just(Op::Update),
        2 => (0usize..9).prop_map(Op::Fork),
    ]
}

fn words(count: usize) -> Vec<String> {
    (0..count).map(|nth| format!("w{nth}")).collect()
}

impl Op {
    fn lists(&self) -> ListsUpdate {
        match self {
            Self::Append(count) => Lists::update().vec(words(*count)).log(0..*count as u64).once(*count as u8),
            Self::Overwrite => Lists::update().vec(overwrite(words(2))).log(overwrite([1, 2].into())),
            Self::Update | Self::Fork(_) => Lists::update().vec(["u"]).other(7),
        }
    }

    fn data(&self, schema: &DataSchema) -> Writes<DataState> {
        let write = |name: &str, value: serde_json::Value| schema.write(name, value).unwrap();
        Writes(match self {
            Self::Append(count) => vec![write("list", words(*count).into())],
            Self::Overwrite => vec![write("list", serde_json::json!({ "__overwrite__": ["o"] }))],
            Self::Update | Self::Fork(_) => vec![write("list", words(1).into()), write("other", 7.into())],
        })
    }
}

/// Plays operations on a thread, and compares its history with its checkpoints, each read alone.
async fn compared<S: State, W: IntoWrites<S>>(
    thread: Thread<S, Name>,
    ops: &[Op],
    writes: impl Fn(&Op) -> W,
    shown: impl Fn(&S) -> serde_json::Value,
) {
    let thread = thread.discard_pending();
    for op in ops {
        match op {
            Op::Append(_) | Op::Overwrite => drop(thread.invoke(writes(op)).await.unwrap()),
            Op::Update => drop(thread.update_state(writes(op)).await),
            Op::Fork(back) => {
                let known = thread.history().await.unwrap().metadata_only().await.unwrap();
                if let Some(at) = known.get(*back) {
                    thread.clone().at(at.id).invoke(writes(op)).await.unwrap();
                }
            }
        }
    }
    for snapshot in thread.history().await.unwrap().all().await.unwrap() {
        let alone = thread.clone().at(snapshot.id).state().await.unwrap().unwrap();
        assert_eq!(shown(&snapshot.values), shown(&alone.values), "{:?}", snapshot.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_history_shows_what_each_checkpoint_shows_alone(ops in proptest::collection::vec(op(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let more = |_: Arc<Lists>, _: Ctx| async { Ok::<_, NodeError>(Lists::update().vec(["m"]).log([9])) };
        let graph = StateGraph::new().add_node(id("a"), more).add_node(id("b"), more).add_sequence([id("a"), id("b")]);
        let thread = graph.compile().unwrap().with_checkpointer(MemoryCheckpointer::new()).thread("t");
        let shown = |lists: &Lists| serde_json::to_value(lists).unwrap();
        runtime.block_on(compared(thread, &ops, Op::lists, shown));

        let schema = DataSchema::new([("list", Kind::Append), ("other", Kind::LastValue)]).unwrap();
        let write = schema.write("list", serde_json::json!(["m", "n"])).unwrap();
        let more = move |_: Arc<DataState>, _: Ctx| std::future::ready(Ok::<_, NodeError>(Writes::<DataState>(vec![write.clone()])));
        let graph = StateGraph::with_schema(schema.clone()).add_node(id("a"), more.clone()).add_node(id("b"), more);
        let graph = graph.add_sequence([id("a"), id("b")]).compile().unwrap();
        let thread = graph.with_checkpointer(MemoryCheckpointer::new()).thread("t");
        runtime.block_on(compared(thread, &ops, |op| op.data(&schema), |state| state.to_json(&schema)));
    }
}

/// Two nodes a rung, each joined to both of the next.
fn ladder(rungs: usize) -> Graph {
    let id = |side: &str, nth: usize| Name::from(format!("{side}{nth:03}"));
    let graph = (0..rungs)
        .fold(Builder::new(), |graph, nth| graph.add_node(id("a", nth), note("a")).add_node(id("b", nth), note("b")));
    let graph = (1..rungs).fold(graph, |graph, nth| {
        let both = [id("a", nth - 1), id("b", nth - 1)];
        graph.add_edge(both.clone(), id("a", nth)).add_edge(both, id("b", nth))
    });
    graph.add_edge(START, id("a", 0)).add_edge(START, id("b", 0)).compile().unwrap()
}

#[tokio::test]
async fn a_checkpoint_does_not_grow_with_the_joins_that_have_fired() {
    let (store, graph) = (Store::memory(), ladder(60));
    let outcome = store.thread(&graph).recursion_limit(100).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.len(), 120);
    let range = Key::Checkpoint(CheckpointId(0))..=Key::Checkpoint(CheckpointId(u64::MAX));
    let made = store.store.scan(&"t".into(), range, Order::Ascending, usize::MAX).await.unwrap();
    let bytes: Vec<usize> = made.iter().map(|(_, bytes)| bytes.len()).collect();
    let (early, late) = (bytes[10], bytes[bytes.len() - 10]);
    assert!(bytes.len() > 60 && late < early + 40, "{bytes:?}");
}
