//! The cost of an effect: one commit, which concurrent effects share.

use std::sync::Arc;

use superstep::prelude::*;

use super::figure::Figure;
use super::harness::Bench;
use super::replay::{BareSled, Recording, Values};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Paid {
    effects: u64,
    #[channel(add)]
    sum: u64,
}

#[derive(NodeId)]
enum Step {
    Pay,
}

async fn pay(paid: Arc<Paid>, ctx: Ctx) -> Result<PaidUpdate, NodeError> {
    let mut sum = 0;
    for nth in 0..paid.effects {
        sum += ctx.effect(format!("pay {nth}"), &nth, |_| async { Ok::<_, NodeError>(1_u64) }).await?;
    }
    Ok(Paid::update().sum(sum))
}

fn graph() -> CompiledGraph<Paid, Step> {
    StateGraph::new().add_node(Step::Pay, pay).add_sequence([Step::Pay]).compile().unwrap()
}

pub(crate) fn run(bench: &Bench) {
    let (effects, count) = (bench.pick([100, 100, 3]), bench.pick([9, 5, 1]));
    let folder = bench.folder();
    let graph = graph().with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let (commits, bare_folder) = (recorded(bench, effects), bench.folder());
    let mut bare = BareSled::open(bare_folder.path());
    let pay = |nth: u64| pay_all(bench, &graph, nth, effects);
    let (ours, limit) = bench.race(count, effects, pay, |_| bare.write(&commits));
    let what = format!("an effect, one after the other ({} commits for {effects})", commits.len());
    bench.print(&Figure::wall("effect", what, ours).limit(limit.wall).target("one commit"));
}

fn pay_all(bench: &Bench, graph: &CompiledGraph<Paid, Step>, nth: u64, effects: u64) {
    let thread = graph.thread(format!("t-{nth}"));
    let ended = bench.lone.block_on(thread.invoke(Paid::update().effects(effects))).unwrap();
    assert_eq!(ended.finished().unwrap().sum, effects);
}

fn recorded(bench: &Bench, effects: u64) -> Vec<Values> {
    let recording = Recording::default();
    pay_all(bench, &graph().with_checkpointer(recording.clone()), 0, effects);
    recording.take()
}
