//! A subgraph over its parent's state beside a plain node: an entry of 100 B a superstep, in a `Vec` and in a `Log`. Neither
//! disk nor time may grow with what the subgraph does not touch.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FjallCheckpointer};
use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Spread, Timing};

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

/// A thread whose entries are appended by a node that is so many subgraphs deep.
#[derive(Clone, Copy)]
struct Case<'a> {
    kind: &'a str,
    durability: Durability,
    depth: usize,
    steps: u64,
}

pub(crate) fn run(bench: &Bench) {
    for kind in ["sled", "fjall"] {
        let all = bench.pick([4000, 4000, 5]);
        for steps in [bench.pick([1000, 1000, 3]), all] {
            let case = Case { kind, durability: Durability::Async, depth: 0, steps };
            compare(bench, case, "Vec", vec::appended);
            compare(bench, case, "Log", log::appended);
        }
        let case = Case { kind, durability: Durability::Sync, depth: 0, steps: all };
        compare(bench, case, "Vec, sync", vec::appended);
    }
}

fn compare(bench: &Bench, case: Case<'_>, list: &str, appended: fn(&Bench, Case<'_>) -> (f64, Timing)) {
    let Case { kind, steps, .. } = case;
    let (plain, time) = appended(bench, case);
    for depth in [1, 2, 3] {
        let (disk, took) = appended(bench, Case { depth, ..case });
        let what = format!("{kind}, {list}: disk after {steps} entries of 100 B, {depth} subgraphs deep");
        let figure = Figure::new("inside", what, Spread::exact(disk / 1e6), "MB");
        bench.print(&figure.limit(Spread::exact(plain / 1e6)).target("<= 2x"));
        let what = format!("{kind}, {list}: {steps} entries of 100 B, {depth} subgraphs deep, per entry");
        bench.print(&Figure::cpu("inside", what, took).limit(time.cpu).target("<= 2x"));
    }
}

fn open(kind: &str, folder: &Path) -> Arc<dyn Checkpointer> {
    match kind {
        "sled" => Arc::new(SledCheckpointer::open(folder).unwrap()),
        _ => Arc::new(FjallCheckpointer::open(folder).unwrap()),
    }
}

/// The same for each type of list.
macro_rules! talk {
    ($module:ident, $list:ty) => {
        mod $module {
            use super::*;

            #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
            struct Talk {
                #[channel(append)]
                messages: $list,
            }

            /// Returns the bytes on disk after this many supersteps, and the time of each.
            pub(super) fn appended(bench: &Bench, case: Case<'_>) -> (f64, Timing) {
                let Case { kind, durability, depth, steps } = case;
                let folder = bench.folder();
                let graph = graph(depth, steps).with_shared_checkpointer(open(kind, folder.path()));
                let thread = graph.thread("talk").durability(durability);
                let (mut samples, clocks) = (Samples::default(), Clocks::start());
                drop(bench.lone.block_on(thread.invoke(Talk::update())).unwrap());
                samples.add(clocks, steps);
                drop((thread, graph));
                drop(open(kind, folder.path())); // what is written when a store is closed and opened counts
                (disk_bytes(folder.path()) as f64, samples.timing())
            }

            fn graph(depth: usize, steps: u64) -> CompiledGraph<Talk, Step> {
                let next = move |talk: &Talk| match (talk.messages.len() as u64) < steps {
                    true => Next::Again,
                    false => Next::End,
                };
                let graph = replying(depth).add_conditional_edges(Step::Reply, next);
                graph.compile().unwrap().recursion_limit(steps + 2)
            }

            fn replying(depth: usize) -> StateGraph<Talk, Step> {
                let reply =
                    |_: Arc<Talk>, _: Ctx| async { Ok::<_, NodeError>(Talk::update().messages(["m".repeat(100)])) };
                let graph = match depth {
                    0 => StateGraph::new().add_node(Step::Reply, reply),
                    _ => {
                        let inner = replying(depth - 1).add_edge(Step::Reply, END).compile().unwrap();
                        StateGraph::new().add_subgraph(Step::Reply, inner)
                    }
                };
                graph.add_edge(START, Step::Reply)
            }
        }
    };
}

talk!(vec, Vec<String>);
talk!(log, superstep::graph::Log<String>);
