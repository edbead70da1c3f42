//! Graphs that clients are tried with: a counter, an approval, workers in parallel, a slow loop, one that fails, one in another.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Counter {
    #[channel(add)]
    n: i64,
    #[channel(append)]
    trail: Vec<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Step {
    Step1,
    Step2,
    Step3,
    Step4,
    Step5,
}

/// Returns the graph `counter`.
pub(crate) fn counter() -> Result<CompiledGraph<Counter, Step>, CompileError> {
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
#[state(schema)]
pub(crate) struct Approval {
    request: Option<String>,
    proposal: Option<String>,
    decision: Option<Value>,
    status: Option<String>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Value, name = "approve")]
struct Approve {
    question: String,
    proposal: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Stage {
    Propose,
    Review,
    Finish,
}

async fn propose(state: Arc<Approval>, _: Ctx) -> Result<ApprovalUpdate, NodeError> {
    Ok(Approval::update().proposal(Some(format!("do {}", state.request.as_deref().unwrap_or_default()))))
}
async fn review(state: Arc<Approval>, ctx: Ctx) -> Result<ApprovalUpdate, NodeError> {
    let asked = Approve { question: "approve?".into(), proposal: state.proposal.clone().unwrap_or_default() };
    Ok(Approval::update().decision(Some(ctx.interrupt(asked)?)))
}
async fn finish(state: Arc<Approval>, _: Ctx) -> Result<ApprovalUpdate, NodeError> {
    Ok(Approval::update()
        .status(Some(if state.decision == Some("yes".into()) { "approved" } else { "rejected" }.to_owned())))
}

/// Returns the graph `approval`.
pub(crate) fn approval() -> Result<CompiledGraph<Approval, Stage>, CompileError> {
    StateGraph::new()
        .add_node(Stage::Propose, propose)
        .add_node(Stage::Review, review.asks::<Approve>())
        .add_node(Stage::Finish, finish)
        .add_sequence([Stage::Propose, Stage::Review, Stage::Finish])
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Slow {
    steps: Option<i64>,
    ms: Option<u64>,
    #[channel(add)]
    ticks: i64,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Tick {
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

/// Returns the graph `slow`.
pub(crate) fn slow() -> Result<CompiledGraph<Slow, Tick>, CompileError> {
    StateGraph::new()
        .add_node(Tick::Tick, tick)
        .add_edge(START, Tick::Tick)
        .add_conditional_edges(Tick::Tick, after_tick)
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Fails {
    reason: Option<String>,
    before: Option<bool>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Part {
    Ok,
    Boom,
}

/// Returns the graph `fails`.
pub(crate) fn fails() -> Result<CompiledGraph<Fails, Part>, CompileError> {
    let ok = async |_: Arc<Fails>, _: Ctx| Ok::<_, NodeError>(Fails::update().before(Some(true)));
    let boom = async |state: Arc<Fails>, _: Ctx| {
        Err::<FailsUpdate, _>(NodeError::permanent(format!("boom: {}", state.reason.as_deref().unwrap_or_default())))
    };
    StateGraph::new().add_node(Part::Ok, ok).add_node(Part::Boom, boom).add_sequence([Part::Ok, Part::Boom]).compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Parallel {
    items: Option<Vec<i64>>,
    #[channel(append)]
    results: Vec<i64>,
    total: Option<i64>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Square {
    Plan,
    Worker,
    Join,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Item {
    item: i64,
}

const WORKER: Worker<Square, Item> = Worker::new(Square::Worker);

async fn square(item: Arc<Item>, _: Ctx) -> Result<ParallelUpdate, NodeError> {
    Ok(Parallel::update().results([item.item * item.item]))
}
async fn join(state: Arc<Parallel>, _: Ctx) -> Result<ParallelUpdate, NodeError> {
    Ok(Parallel::update().total(Some(state.results.iter().sum())))
}
fn one_for_each(state: &Parallel) -> Sends<Square> {
    WORKER.each(state.items.iter().flatten().map(|item| Item { item: *item }))
}

/// Returns the graph `parallel`.
pub(crate) fn parallel() -> Result<CompiledGraph<Parallel, Square>, CompileError> {
    StateGraph::new()
        .add_node(Square::Plan, async |_: Arc<Parallel>, _: Ctx| Ok::<_, NodeError>(()))
        .add_worker(WORKER, square)
        .add_node(Square::Join, join)
        .add_edge(START, Square::Plan)
        .add_conditional_edges_to(Square::Plan, one_for_each, WORKER)
        .add_edge(Square::Worker, Square::Join)
        .add_edge(Square::Join, END)
        .compile()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Nested {
    path: Option<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Inner {
    InnerA,
    InnerB,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Outer {
    First,
    Child,
    Last,
}

/// Returns the graph `nested`.
pub(crate) fn nested() -> Result<CompiledGraph<Nested, Outer>, CompileError> {
    let step = |name: &'static str| {
        move |state: Arc<Nested>, _: Ctx| async move {
            let path = state.path.as_deref().unwrap_or_default();
            Ok::<_, NodeError>(Nested::update().path(Some(format!("{path}/{name}"))))
        }
    };
    let child = StateGraph::new()
        .add_node(Inner::InnerA, step("inner_a"))
        .add_node(Inner::InnerB, step("inner_b"))
        .add_sequence([Inner::InnerA, Inner::InnerB])
        .compile()?;
    StateGraph::new()
        .add_node(Outer::First, step("first"))
        .add_subgraph(Outer::Child, child.named("child"))
        .add_node(Outer::Last, step("last"))
        .add_sequence([Outer::First, Outer::Child, Outer::Last])
        .compile()
}
