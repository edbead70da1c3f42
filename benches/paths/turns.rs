//! A turn of a conversation as a server makes it: with a new handle each time.

use std::sync::Arc;
use superstep::graph::Thread;

use superstep::prelude::*;

use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Timing};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    messages: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Reply,
}

pub(crate) fn run(bench: &Bench) {
    let turns = bench.pick([1000, 1000, 15]) as usize;
    let folder = bench.folder();
    let reply = |talk: Arc<Talk>, _: Ctx| async move {
        let line = format!("{:06}{}", talk.messages.len(), "m".repeat(1018));
        Ok::<_, NodeError>(Talk::update().messages([line]))
    };
    let graph = StateGraph::new().add_node(Step::Reply, reply).add_edge(START, Step::Reply).compile().unwrap();
    let graph = graph.with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let fresh = || -> Thread<Talk, Step> { graph.thread("talk") };
    let mut clocks = vec![];
    for _ in 0..turns {
        let start = Clocks::start();
        bench.lone.block_on(fresh().invoke(Talk::update())).unwrap();
        clocks.push(start.read());
    }
    let timing = |range: std::ops::Range<usize>| -> Timing {
        let mut samples = Samples::default();
        clocks[range].iter().for_each(|clocks| samples.push(*clocks, 1));
        samples.timing()
    };
    let (early, late) = (timing(4..15), timing(turns - 11..turns));
    bench.print(&Figure::cpu("turns", "a turn of 1 KB with a fresh handle, turn 10", early));
    let what = format!("a turn of 1 KB with a fresh handle, turn {turns}");
    bench.print(&Figure::cpu("turns", what.clone(), late).limit(early.cpu).target("<= 1.3x turn 10"));
    bench.print(&Figure::wall("turns", what, late).limit(early.wall).target("<= 1.3x turn 10"));
}
