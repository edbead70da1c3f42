//! Threads in PostgreSQL, on a server of the benchmark's own: each figure beside the same bytes sent without superstep, on the same
//! server, in turns. Without PostgreSQL on the machine they are left out, which is said.

mod bare;
pub(crate) mod load;
pub(crate) mod short;
pub(crate) mod steps;
pub(crate) mod turns;

use superstep::checkpoint::PostgresCheckpointer;
use superstep::graph::{CompiledGraph, Name};
use superstep::prelude::*;

use super::graphs::{Tally, tally_chain};
use super::harness::Bench;
use super::replay::{Recording, Records};
use super::server::{self, Server};

/// A graph whose threads are in PostgreSQL, and the commits of one run of it.
struct Subject {
    graph: CompiledGraph<Tally, Name>,
    commits: Vec<Records>,
}

impl Subject {
    fn new(bench: &Bench, server: &Server, nodes: u64) -> Self {
        let (graph, recording) = (tally_chain(nodes), Recording::default());
        let recorded = graph.clone().with_checkpointer(recording.clone()).thread("t-000000");
        bench.lone.block_on(recorded.invoke(Writes::default())).unwrap();
        let graph = graph.with_checkpointer(open(bench, server));
        Self { graph, commits: recording.take_records() }
    }

    /// Runs a thread to its end.
    async fn run(&self, thread: String) {
        self.graph.thread(thread).durability(Durability::Sync).invoke(Writes::default()).await.unwrap();
    }
}

/// Returns the server, which ends with this process.
fn server() -> Option<&'static Server> {
    server::shared()
}

fn open(bench: &Bench, server: &Server) -> PostgresCheckpointer {
    bench.lone.block_on(PostgresCheckpointer::connect(&server.new_store())).unwrap()
}
