//! The growth of work with the length of a chain, a state, a history, a store. Work is measured in allocations: blocks and their bytes. No clock is
//! read, so a curve is the same on any machine. It shows copies that grow, and not computation without an allocation.

use std::ops::Sub;
use std::sync::Arc;

use allocation_counter::measure;
use rstest::rstest;
use superstep::checkpoint::Checkpointer;
use superstep::graph::state::Kind;
use superstep::graph::{CompiledGraph, DataSchema, DataState, Log, Name, Node, ThreadFilter};
use superstep::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// The allocations of an operation.
#[derive(Clone, Copy, Debug)]
struct Work {
    blocks: f64,
    bytes: f64,
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { blocks: self.blocks - other.blocks, bytes: self.bytes - other.bytes }
    }
}

/// A runtime of one thread, on which everything is counted.
struct Counter(Runtime);

impl Counter {
    fn new() -> Self {
        Self(Builder::new_current_thread().enable_all().build().unwrap())
    }

    /// Runs what is not counted.
    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }

    fn count<T>(&self, future: impl Future<Output = T>) -> Work {
        let mut result = None;
        let counted = measure(|| result = Some(self.0.block_on(future)));
        assert!(result.is_some());
        Work { blocks: counted.count_total as f64, bytes: counted.bytes_total as f64 }
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    n: u64,
    blob: String,
    #[channel(append)]
    lines: Vec<String>,
    #[channel(append)]
    log: Log<String>,
}

type Talking = CompiledGraph<Talk, Name>;

fn id(nth: u64) -> Name {
    Name::from(format!("n{nth}"))
}

fn chain<S: State>(schema: S::Schema, nodes: u64, body: impl Node<S, Name, ()> + Clone) -> CompiledGraph<S, Name> {
    let begin = StateGraph::with_schema(schema).add_node(id(0), body.clone()).add_edge(START, id(0));
    let add = |graph: StateGraph<S, Name>, nth| graph.add_node(id(nth), body.clone()).add_edge(id(nth - 1), id(nth));
    (1..nodes).fold(begin, add).compile().unwrap()
}

async fn count(talk: Arc<Talk>, _: Ctx) -> Result<TalkUpdate, NodeError> {
    Ok(Talk::update().n(talk.n + 1))
}

fn counting(nodes: u64) -> Talking {
    chain((), nodes, count)
}

fn in_memory<S: State>(graph: CompiledGraph<S, Name>) -> CompiledGraph<S, Name> {
    graph.with_checkpointer(MemoryCheckpointer::new())
}

fn line() -> String {
    "m".repeat(1024)
}

/// Returns the work of twenty supersteps on a store beside a state.
fn twenty_beside<S: State>(graph: impl Fn(u64) -> CompiledGraph<S, Name>, input: &Writes<S>) -> Work {
    let counter = Counter::new();
    let of = |nodes| {
        let thread = in_memory(graph(nodes)).thread("t");
        let input = input.clone();
        counter.count(async move { thread.invoke(input).await.unwrap() })
    };
    of(60) - of(40)
}

/// Returns the work of 64 turns after others.
fn turns_after(turns: u64, reply: impl Fn() -> TalkUpdate + Clone + Send + Sync + 'static) -> Work {
    let counter = Counter::new();
    let body = move |_: Arc<Talk>, _: Ctx| {
        let reply = reply();
        async move { Ok::<_, NodeError>(reply) }
    };
    let graph = in_memory(chain((), 1, body));
    let talk = async |turns| {
        for _ in 0..turns {
            graph.thread("t").invoke(Writes::default()).await.unwrap();
        }
    };
    counter.run(talk(turns));
    counter.count(talk(64))
}

mod linear {
    use super::*;

    pub(super) fn chain_without_a_store(nodes: u64) -> Work {
        let graph = counting(nodes);
        Counter::new().count(async { graph.invoke(Writes::default()).await.unwrap() })
    }

    pub(super) fn chain_in_memory(nodes: u64) -> Work {
        let graph = in_memory(counting(nodes));
        Counter::new().count(async { graph.thread("t").invoke(Writes::default()).await.unwrap() })
    }

    pub(super) fn compiling(nodes: u64) -> Work {
        let mut graph = None;
        let counted = Counter::new().count(async { graph = Some(counting(nodes)) });
        assert!(graph.is_some());
        counted
    }

    fn fan_out(width: u64) -> Talking {
        let worker = Worker::<Name, u64>::new(id(1));
        let work = |n: Arc<u64>, _: Ctx| async move {
            tokio::task::yield_now().await; // so that each moves to the pool, whatever the clock says
            Ok::<_, NodeError>(Talk::update().lines([n.to_string()]))
        };
        let sends = move |_: &Talk| Worker::<Name, u64>::new(id(1)).each(0..width);
        StateGraph::new()
            .add_node(id(0), async |_: Arc<Talk>, _: Ctx| Ok::<(), NodeError>(()))
            .add_worker(worker, work)
            .add_edge(START, id(0))
            .add_conditional_edges_to(id(0), sends, Worker::<Name, u64>::new(id(1)))
            .compile()
            .unwrap()
    }

    pub(super) fn width_without_a_store(width: u64) -> Work {
        let graph = fan_out(width);
        Counter::new().count(async { graph.invoke(Writes::default()).await.unwrap() })
    }

    pub(super) fn width_in_memory(width: u64) -> Work {
        let graph = in_memory(fan_out(width));
        Counter::new().count(async { graph.thread("t").invoke(Writes::default()).await.unwrap() })
    }

    pub(super) fn threads(threads: u64) -> Work {
        let graph = in_memory(counting(10));
        Counter::new().count(async {
            for nth in 0..threads {
                graph.thread(format!("t{nth}")).invoke(Writes::default()).await.unwrap();
            }
        })
    }

    pub(super) fn history(checkpoints: u64) -> Work {
        let (counter, graph) = (Counter::new(), in_memory(counting(checkpoints)));
        counter.run(async { graph.thread("t").invoke(Writes::default()).await.unwrap() });
        counter.count(async { graph.thread("t").history().await.unwrap().all().await.unwrap() })
    }

    pub(super) fn verifying(checkpoints: u64) -> Work {
        let (counter, graph) = (Counter::new(), in_memory(counting(checkpoints)));
        counter.run(async { graph.thread("t").invoke(Writes::default()).await.unwrap() });
        counter.count(async { assert!(graph.thread("t").verify().await.unwrap().agrees()) })
    }

    pub(super) fn depth(depth: u64) -> Work {
        let within =
            |inner: Talking, _| StateGraph::new().add_subgraph(id(0), inner).add_edge(START, id(0)).compile().unwrap();
        let graph = in_memory((0..depth).fold(counting(1), within));
        Counter::new().count(async { graph.thread("t").invoke(Writes::default()).await.unwrap() })
    }
}

mod constant {
    use super::*;

    pub(super) fn beside_a_value(kib: u64) -> Work {
        let input: Writes<Talk> = Talk::update().blob("x".repeat(kib as usize * 1024)).into();
        twenty_beside(counting, &input)
    }

    pub(super) fn beside_a_list(lines: u64) -> Work {
        let input: Writes<Talk> = Talk::update().lines((0..lines).map(|_| line())).into();
        twenty_beside(counting, &input)
    }

    pub(super) fn beside_channels(channels: u64) -> Work {
        let names = || (0..channels).map(|nth| format!("k{nth}"));
        let schema = DataSchema::new(names().map(|name| (name, Kind::LastValue))).unwrap();
        let value = |name: String| schema.write(&name, "x".repeat(100).into()).unwrap();
        let write = value("k1".to_owned());
        let body = move |_: Arc<DataState>, _: Ctx| {
            let write = write.clone();
            async move { Ok::<_, NodeError>(Writes::<DataState>(vec![write])) }
        };
        let input = Writes(names().map(value).collect());
        twenty_beside(|nodes| chain(schema.clone(), nodes, body.clone()), &input)
    }

    pub(super) fn turns_of_a_list(turns: u64) -> Work {
        turns_after(turns, || Talk::update().lines([line()]))
    }

    pub(super) fn turns_of_a_log(turns: u64) -> Work {
        turns_after(turns, || Talk::update().log([line()]))
    }

    pub(super) fn turns_of_a_value(turns: u64) -> Work {
        turns_after(turns, || Talk::update().n(1))
    }

    pub(super) fn a_page_of_threads(threads: u64) -> Work {
        let (counter, store) = (Counter::new(), Arc::new(MemoryCheckpointer::new()));
        let graph = counting(1).with_shared_checkpointer(Arc::clone(&store) as Arc<dyn Checkpointer>);
        counter.run(async {
            for nth in 0..threads {
                graph.thread(format!("t{nth:05}")).invoke(Writes::default()).await.unwrap();
            }
        });
        let page = async || ThreadFilter::new().limit(20).page(&*store).await.unwrap();
        counter.run(page()); // which makes what lists read of threads that have changed
        counter.count(page())
    }
}

/// Twice the size takes at most twice the work.
#[rstest]
#[case::compiling(linear::compiling, 200)]
#[case::chain_without_a_store(linear::chain_without_a_store, 200)]
#[case::chain_in_memory(linear::chain_in_memory, 200)]
#[case::width_without_a_store(linear::width_without_a_store, 500)]
#[case::width_in_memory(linear::width_in_memory, 500)]
#[case::threads(linear::threads, 50)]
#[case::history(linear::history, 100)]
#[case::verifying(linear::verifying, 100)]
#[case::depth(linear::depth, 8)]
fn work_grows_with_what_is_done(#[case] work: fn(u64) -> Work, #[case] size: u64) {
    let [once, twice] = [size, 2 * size].map(work);
    assert!(twice.blocks <= 2.1 * once.blocks && twice.bytes <= 2.1 * once.bytes, "{size}: {once:?}, twice: {twice:?}");
}

/// Data that an operation does not touch adds no work, whatever its size.
#[rstest]
#[case::beside_a_value(constant::beside_a_value, 256)]
#[case::beside_a_list(constant::beside_a_list, 256)]
#[case::beside_channels(constant::beside_channels, 200)]
#[case::turns_of_a_list(constant::turns_of_a_list, 300)]
#[case::turns_of_a_log(constant::turns_of_a_log, 300)]
#[case::turns_of_a_value(constant::turns_of_a_value, 300)]
#[case::a_page_of_threads(constant::a_page_of_threads, 200)]
fn work_does_not_grow_with_what_is_not_touched(#[case] work: fn(u64) -> Work, #[case] size: u64) {
    let [once, twice] = [size, 2 * size].map(work);
    assert!(twice.blocks <= 1.1 * once.blocks && twice.bytes <= 1.1 * once.bytes, "{size}: {once:?}, twice: {twice:?}");
}
