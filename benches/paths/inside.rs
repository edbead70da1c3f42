//! A subgraph over its parent's state beside a plain node: an entry of 100 B a superstep. Neither disk nor time may grow
//! with what the subgraph does not touch.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FjallCheckpointer};
use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Spread, Timing};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    messages: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Reply,
}

#[derive(Route)]
enum Next {
    #[to(Step::Reply)]
    Again,
    #[to(END)]
    End,
}

pub(crate) fn run(bench: &Bench) {
    for kind in ["sled", "fjall"] {
        for steps in [bench.pick([1000, 1000, 3]), bench.pick([4000, 4000, 5])] {
            let (plain, time) = appended(bench, kind, 0, steps);
            for depth in [1, 2, 3] {
                let (disk, took) = appended(bench, kind, depth, steps);
                let target = if depth == 1 { "<= 2x" } else { "flat" };
                let what = format!("{kind}: disk after {steps} entries of 100 B, {depth} subgraphs deep");
                let figure = Figure::new("inside", what, Spread::exact(disk / 1e6), "MB");
                bench.print(&figure.limit(Spread::exact(plain / 1e6)).target(target));
                let what = format!("{kind}: {steps} entries of 100 B, {depth} subgraphs deep, per entry");
                bench.print(&Figure::cpu("inside", what, took).limit(time.cpu).target(target));
            }
        }
    }
}

/// Returns the bytes on disk after this many supersteps, and the time of each.
fn appended(bench: &Bench, kind: &str, depth: usize, steps: u64) -> (f64, Timing) {
    let folder = bench.folder();
    let thread = graph(depth, steps).with_shared_checkpointer(open(kind, folder.path())).thread("talk");
    let thread = thread.durability(Durability::Async);
    let (mut samples, clocks) = (Samples::default(), Clocks::start());
    drop(bench.lone.block_on(thread.invoke(Talk::update())).unwrap());
    samples.add(clocks, steps);
    drop(thread);
    drop(open(kind, folder.path())); // what is written when a store is closed and opened counts
    (disk_bytes(folder.path()) as f64, samples.timing())
}

fn open(kind: &str, folder: &Path) -> Arc<dyn Checkpointer> {
    match kind {
        "sled" => Arc::new(SledCheckpointer::open(folder).unwrap()),
        _ => Arc::new(FjallCheckpointer::open(folder).unwrap()),
    }
}

/// Returns a graph that appends this many entries, each by a node that is this many subgraphs deep.
fn graph(depth: usize, steps: u64) -> CompiledGraph<Talk, Step> {
    let next = move |talk: &Talk| if (talk.messages.len() as u64) < steps { Next::Again } else { Next::End };
    let graph = replying(depth).add_conditional_edges(Step::Reply, next);
    graph.compile().unwrap().recursion_limit(steps + 2)
}

fn replying(depth: usize) -> StateGraph<Talk, Step> {
    let reply = |_: Arc<Talk>, _: Ctx| async { Ok::<_, NodeError>(Talk::update().messages(["m".repeat(100)])) };
    let graph = match depth {
        0 => StateGraph::new().add_node(Step::Reply, reply),
        _ => {
            let inner = replying(depth - 1).add_edge(Step::Reply, END).compile().unwrap();
            StateGraph::new().add_subgraph(Step::Reply, inner)
        }
    };
    graph.add_edge(START, Step::Reply)
}
