//! Properties: the order of completion does not change the result, and every graph that `compile` accepts stops.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use superstep::graph::build::Edges;
use superstep::graph::node::{Input, NodeOptions};
use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Lint, Name};
use superstep::prelude::{Command, Ctx, END, NodeError, Outcome, RunError, START, StateGraph, Status, Target, Writes};

use crate::pad::{Builder, Pad, everything, id};
use crate::stores::Store;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// A fan-out and a join; each branch waits as long as its delays before it ends.
fn racing(delays: &[(u8, u8)]) -> crate::pad::Graph {
    let names: Vec<String> = (0..delays.len()).map(|at| format!("n{at:02}")).collect();
    let mut builder = Builder::new();
    for (name, &(yields, sleep)) in names.iter().zip(delays) {
        let own = name.clone();
        let node = move |pad: Arc<Pad>, _: Ctx| {
            let own = own.clone();
            async move {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                if sleep > 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(sleep.into())).await;
                }
                let sum = i64::try_from(own.len() + pad.notes.len()).unwrap_or_default();
                Ok::<_, NodeError>(Pad::update().notes([own]).sum(sum))
            }
        };
        builder = builder.add_node(id(name), node).add_edge(START, id(name));
    }
    let ids: Vec<Name> = names.iter().map(|name| id(name)).collect();
    let last = |pad: Arc<Pad>, _: Ctx| async move { Ok::<_, NodeError>(Pad::update().title(pad.notes.join(" "))) };
    builder.add_node(id("z"), last).add_edge(Edges::Join(ids), id("z")).compile().unwrap()
}

/// Returns the final state and everything that the store has of the run.
fn outcome_of(delays: &[(u8, u8)], at_once: usize) -> (Arc<Pad>, String) {
    block_on(async {
        let (store, graph) = (Store::memory(), racing(delays));
        let end = store.thread(&graph).max_concurrency(at_once).invoke(Pad::update().title("go")).await.unwrap();
        let stored = everything(&store.thread(&graph)).await;
        let timeless = stored.lines().filter(|line| !line.contains("created_at")).collect::<Vec<_>>().join("\n");
        (end.finished().unwrap(), timeless)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_completion_changes_the_state_or_the_checkpoints(
        delays in proptest::collection::vec((0u8..5, 0u8..4), 2..8),
        at_once in prop_oneof![Just(usize::MAX), 1usize..4],
    ) {
        let at_ease: Vec<(u8, u8)> = delays.iter().map(|_| (0, 0)).collect();
        prop_assert_eq!(outcome_of(&delays, at_once), outcome_of(&at_ease, usize::MAX));
    }

    #[test]
    fn a_graph_that_compiles_ends_or_reaches_a_limit(table in tables()) {
        prop_assume!(table.build().is_ok());
        let run = block_on(table.run());
        prop_assert!(run.is_ok(), "{:?}: {:?}", table, run);
    }

    #[test]
    fn a_graph_without_loops_ends(table in tables().prop_map(TableOf::forward)) {
        prop_assume!(table.build().is_ok());
        prop_assert_eq!(block_on(table.run()), Ok(true), "{:?}", table);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_threads_end_like_a_single_one() {
    let delays: Vec<(u8, u8)> = (0..40).map(|at| (at % 7, 0)).collect();
    let (alone, _) = tokio::task::spawn_blocking({
        let delays = delays.clone();
        move || outcome_of(&delays, usize::MAX)
    })
    .await
    .unwrap();
    for _ in 0..30 {
        let store = Store::memory();
        let end = store.thread(&racing(&delays)).invoke(Pad::update().title("go")).await.unwrap();
        assert_eq!(end.finished().unwrap(), alone);
    }
}

const NODES: usize = 5;

/// A graph as numbers: edges, joins, and routers that take each of their targets in turn.
#[derive(Clone, Debug)]
struct TableOf {
    edges: Vec<(usize, usize)>,
    joins: Vec<(usize, usize, usize)>,
    routers: BTreeMap<usize, Vec<usize>>,
    deferred: Vec<bool>,
}

fn tables() -> impl Strategy<Value = TableOf> {
    let edges = proptest::collection::vec((0..=NODES, 0..=NODES), 1..9);
    let joins = proptest::collection::vec((0..NODES, 0..NODES, 0..NODES), 0..2);
    let routers = proptest::collection::btree_map(0..NODES, proptest::collection::vec(0..=NODES, 1..4), 0..3);
    let deferred = proptest::collection::vec(prop::bool::weighted(0.2), NODES);
    (edges, joins, routers, deferred).prop_map(|(edges, joins, routers, deferred)| TableOf {
        edges,
        joins,
        routers,
        deferred,
    })
}

type DataGraph = superstep::graph::CompiledGraph<DataState, Name>;

impl TableOf {
    fn build(&self) -> Result<DataGraph, ()> {
        self.builder().compile().map_err(drop)
    }

    /// Turns every edge forward, so that the graph has no loop.
    fn forward(mut self) -> Self {
        let ahead = |from: usize, to: usize| if to > from { to } else { NODES };
        self.edges.iter_mut().filter(|edge| edge.0 < NODES).for_each(|edge| edge.1 = ahead(edge.0, edge.1));
        self.joins.retain(|&(a, b, to)| to > a && to > b);
        for (&from, targets) in &mut self.routers {
            targets.iter_mut().for_each(|to| *to = ahead(from, *to));
        }
        self
    }

    fn builder(&self) -> StateGraph<DataState, Name> {
        let schema = DataSchema::new([("runs", Kind::Add)]).unwrap();
        let mut builder = StateGraph::with_schema(schema.clone()).allow(Lint::Unresumable);
        for (node, &defer) in self.deferred.iter().enumerate() {
            let options = if defer { NodeOptions::default().defer() } else { NodeOptions::default() };
            let schema = schema.clone();
            let body = move |_: Input<DataState, Value>, _: Ctx| {
                let writes: Writes<DataState> = Writes(schema.write("runs", 1.into()).into_iter().collect());
                async move { Ok(Command::update(writes)) }
            };
            builder = builder.add_either::<Value, _, _>(name(node), body, options);
        }
        for &(from, to) in &self.edges {
            let from = if from == NODES { START.into() } else { Edges::from(name(from)) };
            builder = builder.add_edge(from, target(to));
        }
        for &(a, b, to) in &self.joins {
            builder = builder.add_edge(Edges::Join(vec![name(a), name(b)]), name(to));
        }
        for (&from, to) in &self.routers {
            let (ways, declared) = (to.clone(), to.iter().map(|&to| (to.to_string(), target(to))).collect::<Vec<_>>());
            let in_turn = move |state: &DataState| {
                let runs = state.get(0).and_then(Value::as_u64).unwrap_or_default();
                target(ways[usize::try_from(runs).unwrap_or_default() % ways.len()])
            };
            builder = builder.add_conditional_edges_to(name(from), in_turn, declared);
        }
        builder
    }

    /// Runs it over a store. Returns true if it ended; otherwise it reached the limit and has the status of that.
    async fn run(&self) -> Result<bool, String> {
        let store = Store::memory();
        let thread = self.build().unwrap().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
        let ended = thread.recursion_limit(200).invoke(Writes::default()).await;
        let thread = self.build().unwrap().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
        let status = thread.status().await.map_err(|error| error.to_string())?;
        match (ended, status) {
            (Ok(Outcome::Finished(_)), Status::Finished) => Ok(true),
            (Err(RunError::RecursionLimit { .. }), Status::Pending { .. }) => Ok(false),
            other => Err(format!("{other:?}")),
        }
    }
}

fn name(node: usize) -> Name {
    Name::from(format!("n{node}"))
}

fn target(node: usize) -> Target<Name> {
    if node == NODES { END.into() } else { Target::Node(name(node)) }
}
