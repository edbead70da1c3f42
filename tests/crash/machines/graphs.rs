//! The graphs that the processes run, as a program with a command line: a chain, a fan-out, a subgraph, a question, a wait and a retry.
//! Every node executes effects, which a ledger counts. Their results follow from the thread's name alone.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use superstep::checkpoint::Checkpointer;
use superstep::graph::Name;
use superstep::prelude::*;
use superstep_app::App;

use crate::machines::ledger::Ledger;
use crate::rng::hash;

/// The time that a thread of the graph `naps` waits.
pub(crate) const NAP: Duration = Duration::from_millis(400);

/// Environment variable: the version of the graphs of a process.
pub(crate) const VERSION: &str = "SUPERSTEP_MACHINES_VERSION";

/// Environment variable: the words of a command; without it the test `program` does nothing.
pub(crate) const WORDS: &str = "SUPERSTEP_MACHINES_WORDS";

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) name: String,
    #[channel(append)]
    log: Vec<String>,
    #[channel(add)]
    sum: u64,
}

/// The question of the graph `asks`.
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = u64, name = "sure")]
pub(crate) struct Sure {
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Piece {
    name: String,
    number: u64,
}

type Update = Result<JobUpdate, NodeError>;
pub(crate) type JobGraph = CompiledGraph<Job, Name, Ledger>;

/// Executes an effect, and returns its result: a number and the execution that it is of.
async fn effect(ctx: &Ctx<Ledger>, name: &str, key: &str) -> Result<u64, NodeError> {
    let (ledger, value) = (ctx.context(), hash(&format!("{name} {key}")));
    let execute = |id: String| async move {
        let execution = ledger.begin(name, key, &id);
        tokio::time::sleep(Duration::from_millis(value % 40)).await;
        ledger.note(&format!("result {name} {key} {execution}"));
        Ok::<_, NodeError>((value % 1000, execution))
    };
    let (value, execution) = ctx.effect(key, &name, execute).await?;
    ledger.note(&format!("ack {name} {key} {execution}"));
    Ok(value)
}

fn update(key: &str, value: u64) -> JobUpdate {
    Job::update().log([format!("{key}={value}")]).sum(value)
}

/// Notes that a superstep of the thread has begun: all before it are stored.
fn begin(ctx: &Ctx<Ledger>, name: &str) {
    if ctx.namespace().is_empty() {
        ctx.context().note(&format!("step {name} {}", ctx.step()));
    }
}

/// Returns a body that executes two effects, one after the other.
fn plain(node: &'static str) -> impl Fn(Arc<Job>, Ctx<Ledger>) -> BoxFuture<'static, Update> {
    move |job, ctx| {
        Box::pin(async move {
            begin(&ctx, &job.name);
            let first = effect(&ctx, &job.name, &format!("{node}-a")).await?;
            let second = effect(&ctx, &job.name, &format!("{node}-b")).await?;
            Ok(update(node, first + second))
        })
    }
}

async fn part(piece: Arc<Piece>, ctx: Ctx<Ledger>) -> Update {
    begin(&ctx, &piece.name);
    let key = format!("part-{}", piece.number);
    Ok(update(&key, effect(&ctx, &piece.name, &key).await?))
}

async fn ask(job: Arc<Job>, ctx: Ctx<Ledger>) -> Update {
    begin(&ctx, &job.name);
    let before = effect(&ctx, &job.name, "ask-a").await?;
    let answer = ctx.interrupt(Sure { name: job.name.clone() })?;
    let after = effect(&ctx, &job.name, "ask-b").await?;
    Ok(update("ask", before + answer + after))
}

async fn nap(job: Arc<Job>, ctx: Ctx<Ledger>) -> Update {
    begin(&ctx, &job.name);
    let before = effect(&ctx, &job.name, "nap-a").await?;
    ctx.context().note(&format!("nap {}", job.name));
    ctx.sleep(NAP).await?;
    ctx.context().note(&format!("woke {}", job.name));
    let after = effect(&ctx, &job.name, "nap-b").await?;
    Ok(update("nap", before + after))
}

async fn flaky(job: Arc<Job>, ctx: Ctx<Ledger>) -> Update {
    begin(&ctx, &job.name);
    let before = effect(&ctx, &job.name, "flaky-a").await?;
    if ctx.attempt() < 3 {
        return Err("not yet".into());
    }
    Ok(update("flaky", before + effect(&ctx, &job.name, "flaky-b").await?))
}

type Builder = StateGraph<Job, Name, Ledger>;

fn id(name: &str) -> Name {
    Name::from(name)
}

fn first(version: u32) -> Builder {
    StateGraph::new().version(version).add_node(id("first"), plain("first")).add_edge(START, id("first"))
}

fn last(builder: Builder, before: &str) -> Result<JobGraph, CompileError> {
    builder.add_node(id("last"), plain("last")).add_edge(id(before), id("last")).add_edge(id("last"), END).compile()
}

fn chain(version: u32) -> Result<JobGraph, CompileError> {
    let graph = first(version).add_node(id("second"), plain("second")).add_node(id("third"), plain("third"));
    last(graph.add_edge(id("first"), id("second")).add_edge(id("second"), id("third")), "third")
}

fn fan(version: u32) -> Result<JobGraph, CompileError> {
    let worker = || Worker::<Name, Piece>::new(id("part"));
    let pieces = move |job: &Job| worker().each((0..5).map(|number| Piece { name: job.name.clone(), number }));
    last(first(version).add_worker(worker(), part).add_conditional_edges_to(id("first"), pieces, worker()), "part")
}

fn nested(version: u32) -> Result<JobGraph, CompileError> {
    let inner = StateGraph::new()
        .add_node(id("second"), plain("second"))
        .add_node(id("third"), plain("third"))
        .add_sequence([id("second"), id("third")]);
    last(first(version).add_subgraph(id("inner"), inner.compile()?).add_edge(id("first"), id("inner")), "inner")
}

fn asks(version: u32) -> Result<JobGraph, CompileError> {
    last(first(version).add_node(id("second"), ask.asks::<Sure>()).add_edge(id("first"), id("second")), "second")
}

fn naps(version: u32) -> Result<JobGraph, CompileError> {
    last(first(version).add_node(id("second"), nap).add_edge(id("first"), id("second")), "second")
}

fn retries(version: u32) -> Result<JobGraph, CompileError> {
    let flaky = flaky.retry(RetryPolicy::attempts(3).pause(Duration::from_millis(30)));
    last(first(version).add_node(id("second"), flaky).add_edge(id("first"), id("second")), "second")
}

type Build = fn(u32) -> Result<JobGraph, CompileError>;

/// All graphs, by name.
pub(crate) const GRAPHS: [(&str, Build); 6] =
    [("chain", chain), ("fan", fan), ("nested", nested), ("asks", asks), ("naps", naps), ("retries", retries)];

/// Returns all graphs of a version over a store.
pub(crate) fn graphs_over(store: &Arc<dyn Checkpointer>, version: u32) -> Vec<JobGraph> {
    let named =
        GRAPHS.map(|(name, build)| build(version).unwrap().named(name).with_shared_checkpointer(Arc::clone(store)));
    named.into()
}

/// The program that the processes are: a command line over the graphs.
#[test]
fn program() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let (ledger, version) = (Arc::new(Ledger::named()), std::env::var(VERSION).map_or(0, |text| text.parse().unwrap()));
    ledger.note(&format!("version {version}"));
    let add = |app: App, (name, build): (&'static str, Build)| {
        app.graph_with(name, build(version).unwrap(), Arc::clone(&ledger))
    };
    let app = GRAPHS.into_iter().fold(App::new().version("1"), add);
    std::process::exit(app.run_with(["machines"].into_iter().chain(words.split(' '))).into());
}
