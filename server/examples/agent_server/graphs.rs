//! Graphs that clients are tried with: a counter, an approval, a slow loop, one that fails.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep::graph::{AnyGraph, Graphs};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Counter {
    #[channel(add)]
    n: i64,
    #[channel(append)]
    trail: Vec<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Step1,
    Step2,
    Step3,
    Step4,
    Step5,
}

fn counter() -> Result<CompiledGraph<Counter, Step>, CompileError> {
    let step = |name: &'static str| {
        move |_: Arc<Counter>, _: Ctx| async move { Ok::<_, NodeError>(Counter::update().n(1).trail([name])) }
    };
    StateGraph::new()
        .add_node(Step::Step1, step("step1"))
        .add_node(Step::Step2, step("step2"))
        .add_node(Step::Step3, step("step3"))
        .add_node(Step::Step4, step("step4"))
        .add_node(Step::Step5, step("step5"))
        .add_sequence([Step::Step1, Step::Step2, Step::Step3, Step::Step4, Step::Step5])
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Approval {
    request: String,
    proposal: String,
    decision: Value,
    status: String,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Value, name = "approve")]
struct Approve {
    question: String,
    proposal: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Stage {
    Propose,
    Review,
    Finish,
}

async fn propose(state: Arc<Approval>, _: Ctx) -> Result<ApprovalUpdate, NodeError> {
    Ok(Approval::update().proposal(format!("do {}", state.request)))
}
async fn review(state: Arc<Approval>, ctx: Ctx) -> Result<ApprovalUpdate, NodeError> {
    let asked = Approve { question: "approve?".into(), proposal: state.proposal.clone() };
    Ok(Approval::update().decision(ctx.interrupt(asked)?))
}
async fn finish(state: Arc<Approval>, _: Ctx) -> Result<ApprovalUpdate, NodeError> {
    Ok(Approval::update().status(if state.decision == "yes" { "approved" } else { "rejected" }))
}

fn approval() -> Result<CompiledGraph<Approval, Stage>, CompileError> {
    StateGraph::new()
        .add_node(Stage::Propose, propose)
        .add_node(Stage::Review, review.asks::<Approve>())
        .add_node(Stage::Finish, finish)
        .add_sequence([Stage::Propose, Stage::Review, Stage::Finish])
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Slow {
    steps: Option<i64>,
    ms: Option<u64>,
    #[channel(add)]
    ticks: i64,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Tick {
    Tick,
}

async fn tick(state: Arc<Slow>, ctx: Ctx) -> Result<SlowUpdate, NodeError> {
    tokio::time::sleep(Duration::from_millis(state.ms.unwrap_or(100))).await;
    ctx.emit(serde_json::json!({ "tick": state.ticks + 1 })).await;
    Ok(Slow::update().ticks(1))
}

#[derive(Route)]
enum AfterTick {
    #[to(Tick::Tick)]
    Again,
    #[to(END)]
    Enough,
}

fn after_tick(state: &Slow) -> AfterTick {
    if state.ticks < state.steps.unwrap_or(5) { AfterTick::Again } else { AfterTick::Enough }
}

fn slow() -> Result<CompiledGraph<Slow, Tick>, CompileError> {
    StateGraph::new()
        .add_node(Tick::Tick, tick)
        .add_edge(START, Tick::Tick)
        .add_conditional_edges(Tick::Tick, after_tick)
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Fails {
    reason: String,
    before: bool,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Part {
    Ok,
    Boom,
}

fn fails() -> Result<CompiledGraph<Fails, Part>, CompileError> {
    let ok = async |_: Arc<Fails>, _: Ctx| Ok::<_, NodeError>(Fails::update().before(true));
    let boom = async |state: Arc<Fails>, _: Ctx| {
        Err::<FailsUpdate, _>(NodeError::permanent(format!("boom: {}", state.reason)))
    };
    StateGraph::new().add_node(Part::Ok, ok).add_node(Part::Boom, boom).add_sequence([Part::Ok, Part::Boom]).compile()
}

/// Returns all graphs.
pub(crate) fn graphs() -> Result<Graphs, CompileError> {
    Ok(Graphs::new()
        .with(AnyGraph::with(counter()?.named("counter"), ()))
        .with(AnyGraph::with(approval()?.named("approval"), ()))
        .with(AnyGraph::with(slow()?.named("slow"), ()))
        .with(AnyGraph::with(fails()?.named("fails"), ())))
}
