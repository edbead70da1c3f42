//! A turn of a conversation as a server makes it: with a new handle each time.

use std::sync::Arc;

use superstep::graph::Thread;
use superstep::graph::interrupt::Interrupted;
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

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve;

/// A handle on the thread.
type Talking = Thread<Talk, Step>;

pub(crate) fn run(bench: &Bench) {
    turns(bench, "a turn of 1 KB", Ok, async |thread: &dyn Fn() -> Talking| {
        thread().invoke(Talk::update()).await.unwrap();
    });
    let ask = |ctx: Ctx| ctx.interrupt(Approve).map(|_| ctx);
    turns(bench, "a turn of 1 KB that asks and is answered", ask, async |thread: &dyn Fn() -> Talking| {
        thread().invoke(Talk::update()).await.unwrap();
        thread().resume::<Approve>(true).await.unwrap();
    });
    turns(bench, "an update of 1 KB", Ok, async |thread: &dyn Fn() -> Talking| {
        thread().update_state_as(Step::Reply, Talk::update().messages(["m".repeat(1024)])).await.unwrap();
    });
}

/// Measures a turn early and late in a conversation whose node does something before it replies.
fn turns(
    bench: &Bench,
    what: &str,
    before: impl Fn(Ctx) -> Result<Ctx, Interrupted> + Copy + Send + Sync + 'static,
    turn: impl AsyncFn(&dyn Fn() -> Talking),
) {
    let turns = bench.pick([1000, 1000, 15]) as usize;
    let folder = bench.folder();
    let reply = move |talk: Arc<Talk>, ctx: Ctx| async move {
        before(ctx)?;
        let line = format!("{:06}{}", talk.messages.len(), "m".repeat(1018));
        Ok::<_, NodeError>(Talk::update().messages([line]))
    };
    let graph = StateGraph::new().add_node(Step::Reply, reply.asks::<Approve>()).add_edge(START, Step::Reply);
    let graph = graph.compile().unwrap().with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let mut clocks = vec![];
    for _ in 0..turns {
        let start = Clocks::start();
        bench.lone.block_on(turn(&|| graph.thread("talk")));
        clocks.push(start.read());
    }
    let timing = |range: std::ops::Range<usize>| -> Timing {
        let mut samples = Samples::default();
        clocks[range].iter().for_each(|clocks| samples.push(*clocks, 1));
        samples.timing()
    };
    let (early, late) = (timing(4..15), timing(turns - 11..turns));
    bench.print(&Figure::cpu("turns", format!("{what} with a fresh handle, turn 10"), early));
    let what = format!("{what} with a fresh handle, turn {turns}");
    bench.print(&Figure::cpu("turns", what.clone(), late).limit(early.cpu).target("<= 1.3x turn 10"));
    bench.print(&Figure::wall("turns", what, late).limit(early.wall).target("<= 1.3x turn 10"));
}
