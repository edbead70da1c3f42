//! Open questions answered one by one, among few and among many: with a graph that is kept, and in a store opened anew.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FjallCheckpointer};
use superstep::graph::{InterruptId, Name, Thread, worker};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::Tally;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Timing};

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve(u64);

const ASK: Worker<Name, u64> = Worker::new(Name::constant("ask"));

pub(crate) fn run(bench: &Bench) {
    let many = bench.pick([10_000, 10_000, 20]);
    for kind in ["memory", "sled", "fjall"] {
        let [few, all] = [100, many].map(|width| one_by_one(bench, kind, asking(width)));
        let what = format!("{kind}: an answer among {many} open questions, one by one");
        bench.print(&Figure::cpu("answers", what, all).limit(few.cpu).target("<= 2x among 100"));
    }
    for kind in ["memory", "sled"] {
        let inside = |width| StateGraph::new().add_subgraph(Name::constant("inside"), asking(width));
        let inside = |width| inside(width).add_edge(START, Name::constant("inside")).compile().unwrap();
        let [few, all] = [100, many].map(|width| one_by_one(bench, kind, inside(width)));
        let what = format!("{kind}: an answer among {many} open questions of one subgraph call");
        bench.print(&Figure::cpu("answers", what, all).limit(few.cpu).target("<= 2x among 100"));
    }
    for kind in ["sled", "fjall"] {
        let what = format!("{kind}: an answer among {many}, store opened anew");
        bench.print(&Figure::cpu("answers", what, anew(bench, kind, many)).target("<= 100000"));
    }
}

fn open(kind: &str, folder: &Path) -> Arc<dyn Checkpointer> {
    match kind {
        "memory" => Arc::new(MemoryCheckpointer::new()),
        "sled" => Arc::new(SledCheckpointer::open(folder).unwrap()),
        _ => Arc::new(FjallCheckpointer::open(folder).unwrap()),
    }
}

/// A graph that asks so many questions at once.
fn asking(width: u64) -> CompiledGraph<Tally, Name> {
    let nothing = |_: Arc<Tally>, _: Ctx| async { Ok::<_, NodeError>(()) };
    let ask = |nth: Arc<u64>, ctx: Ctx| async move {
        let approved = ctx.interrupt(Approve(*nth))?;
        Ok::<_, NodeError>(Tally::update().count(u64::from(approved)))
    };
    let graph = StateGraph::new()
        .add_node(Name::constant("split"), nothing)
        .add_worker(ASK, worker(ask).asks::<Approve>())
        .add_edge(START, Name::constant("split"))
        .add_conditional_edges_to(Name::constant("split"), move |_: &Tally| ASK.each(0..width), ASK);
    graph.compile().unwrap()
}

/// Asks, and returns the questions.
fn asked(bench: &Bench, thread: &Thread<Tally, Name>) -> Vec<InterruptId> {
    let asked = bench.lone.block_on(thread.invoke(Tally::update())).unwrap();
    asked.questions().iter().map(|question| question.id()).collect()
}

fn one_by_one(bench: &Bench, kind: &str, graph: CompiledGraph<Tally, Name>) -> Timing {
    let folder = bench.folder();
    let thread = graph.with_shared_checkpointer(open(kind, folder.path())).thread("asks");
    let ids = asked(bench, &thread);
    let (answers, mut samples) = (bench.pick([5, 5, 1]) as usize, Samples::default());
    for batch in ids.chunks(answers).take(9) {
        let clocks = Clocks::start();
        for id in batch {
            answer(bench, &thread, *id);
        }
        samples.add(clocks, batch.len() as u64);
    }
    samples.timing()
}

fn anew(bench: &Bench, kind: &str, width: u64) -> Timing {
    let folder = bench.folder();
    let thread = || asking(width).with_shared_checkpointer(open(kind, folder.path())).thread("asks");
    let ids = asked(bench, &thread());
    let mut samples = Samples::default();
    for id in ids.into_iter().take(bench.pick([9, 9, 1]) as usize) {
        let clocks = Clocks::start();
        answer(bench, &thread(), id);
        samples.add(clocks, 1);
    }
    samples.timing()
}

fn answer(bench: &Bench, thread: &Thread<Tally, Name>, id: InterruptId) {
    bench.lone.block_on(thread.answer(Answer::new::<Approve>(&true).to(id))).unwrap();
}
