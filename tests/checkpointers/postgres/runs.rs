//! Runs of a graph whose threads are in PostgreSQL: what people read in the tables afterwards, and senders in several processes.

use std::sync::Arc;

use futures::future::join_all;
use superstep::checkpoint::{CheckpointError, PostgresCheckpointer, Retention, gc_all};
use superstep::graph::Signal;
use superstep::prelude::*;

use crate::server::{new_store, shared};

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    #[channel(add)]
    cents: u64,
}

#[derive(NodeId)]
enum Step {
    Pay,
}

#[derive(Signal, Serialize, Deserialize)]
struct Paid {
    cents: u64,
}

async fn pay(_: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    Ok(Order::update().cents(ctx.receive::<Paid>().await?.cents))
}

async fn graph(address: &str) -> CompiledGraph<Order, Step> {
    let graph = StateGraph::new().add_node(Step::Pay, pay.receives::<Paid>()).add_sequence([Step::Pay]);
    graph.compile().unwrap().with_checkpointer(PostgresCheckpointer::connect(address).await.unwrap())
}

/// Returns the columns of the thread `t` that people read.
fn row(address: &str) -> String {
    let schema = address.split("schema=").nth(1).unwrap().split('&').next().unwrap();
    let columns = "concat_ws(' ', status, graph <> '', owner IS NULL, summary IS NOT NULL)";
    shared().unwrap().sql(&format!("SELECT {columns} FROM {schema}.threads WHERE name = 't'"))
}

#[tokio::test]
async fn the_row_of_a_thread_says_how_its_run_ended_without_a_list() {
    let Some(address) = new_store() else { return };
    let first = graph(&address).await;
    first.thread("t").invoke(Order::update()).await.unwrap();
    drop(first);
    assert_eq!(row(&address).trim(), "awaiting-signal t t t");
    let second = graph(&address).await;
    second.thread("t").signal(Paid { cents: 5 }).await.unwrap();
    second.thread("t").proceed().await.unwrap();
    drop(second);
    assert_eq!(row(&address).trim(), "finished t t t");
}

#[tokio::test]
async fn a_signal_with_a_key_is_sent_once_by_any_number_of_processes() {
    let Some(address) = new_store() else { return };
    let graphs = join_all((0..4).map(|_| graph(&address))).await;
    graphs[0].thread("t").invoke(Order::update()).await.unwrap();
    for round in 0..5 {
        let send = async |nth: usize| {
            let thread = graphs[nth % 4].thread("t");
            thread.signal_with_key(Paid { cents: 1 }, format!("invoice {round}")).await.unwrap()
        };
        let ids = join_all((0..8).map(send)).await;
        assert!(ids.iter().all(|id| *id == ids[0]), "round {round}: {ids:?}");
    }
    assert_eq!(graphs[1].thread("t").mailbox().await.unwrap().len(), 5);
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    lines: Vec<String>,
}

#[derive(NodeId)]
enum Turn {
    Reply,
}

#[tokio::test]
async fn turns_of_a_conversation_take_at_most_five_times_their_bytes_of_disk() {
    const TURNS: u64 = 500;
    let Some(address) = new_store() else { return };
    let reply = async |_: Arc<Talk>, _: Ctx| Ok::<_, NodeError>(Talk::update().lines(["m".repeat(1024)]));
    let graph = StateGraph::new().add_node(Turn::Reply, reply).add_sequence([Turn::Reply]).compile().unwrap();
    let graph = graph.with_checkpointer(PostgresCheckpointer::connect(&address).await.unwrap());
    for _ in 0..TURNS {
        graph.thread("t").invoke(Talk::update()).await.unwrap();
    }
    let schema = address.split("schema=").nth(1).unwrap();
    let server = shared().unwrap();
    server.sql(&format!("VACUUM {schema}.threads, {schema}.records, {schema}.signals, {schema}.requests"));
    let size = "sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass))";
    let bytes = server.sql(&format!("SELECT {size} FROM pg_tables WHERE schemaname = '{schema}'"));
    let times = bytes.parse::<u64>().unwrap() as f64 / (TURNS * 1024) as f64;
    assert!((1.0..=5.0).contains(&times), "{times} times the bytes of the turns");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checkpoints_are_removed_beside_runs_in_other_processes() {
    const TURNS: usize = 30;
    let Some(address) = new_store() else { return };
    let connect = async || Arc::new(PostgresCheckpointer::connect(&address).await.unwrap());
    let cleaner = connect().await;
    let talk = async |store: Arc<PostgresCheckpointer>, name: &'static str| {
        let reply = async |talk: Arc<Talk>, _: Ctx| {
            tokio::task::yield_now().await;
            Ok::<_, NodeError>(Talk::update().lines([format!("line {}", talk.lines.len())]))
        };
        let graph = StateGraph::new().add_node(Turn::Reply, reply).add_sequence([Turn::Reply]).compile().unwrap();
        let graph = graph.with_shared_checkpointer(store);
        let mut turns = 0;
        while turns < TURNS {
            match graph.thread(name).invoke(Talk::update()).await {
                Ok(_) => turns += 1,
                Err(RunError::Checkpoint(CheckpointError::ThreadBusy { .. })) => tokio::task::yield_now().await,
                Err(error) => panic!("{name}, turn {turns}: {error}"),
            }
        }
        graph.thread(name).state().await.unwrap().unwrap().values.lines.clone()
    };
    let (one, two) = (connect().await, connect().await);
    let talks = tokio::spawn(async move {
        tokio::join!(talk(one.clone(), "a"), talk(one, "b"), talk(two.clone(), "c"), talk(two, "d"))
    });
    let mut removed = 0;
    while !talks.is_finished() {
        let report = gc_all(&*cleaner, &Retention::new().keep_last(2)).await.unwrap();
        removed += report.total().checkpoints;
    }
    let (a, b, c, d) = talks.await.unwrap();
    let expected: Vec<String> = (0..TURNS).map(|nth| format!("line {nth}")).collect();
    for lines in [a, b, c, d] {
        assert_eq!(lines, expected);
    }
    assert!(removed > TURNS, "{removed} checkpoints");
}
