//! A custom command line: `App` over three graphs. `release` takes arguments, has an interrupt that `approve`, `reject`
//! and `revise` answer, and reports its end as an exit code; `nap` waits for a time or a signal without a process; `draft` asks
//! while it builds.
//!
//!     own_tool run release 1.2.0 --thread spring
//!     own_tool approve spring --by ada
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{HumanQuestion, Reply};
use superstep::prelude::*;
use superstep_app::{App, Exit, Register};

/// The external dependencies of the runs; never stored.
#[derive(Default)]
struct Tools {
    /// If this file exists, the build fails; if it is a directory, the build panics.
    broken: &'static str,
    /// The build waits until this file is gone; if it is a directory, it blocks its thread first.
    busy: &'static str,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Release {
    version: String,
    decision: Option<Decision>,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Build,
    Ask,
    Ship,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Ship,
    Drop { why: String },
    Rebuild { with: String },
}

/// The interrupt before a release is shipped.
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Decision, name = "may_ship")]
struct MayShip {
    version: String,
}
impl<S> HumanQuestion<S> for MayShip {
    fn decide(&self, reply: &Reply) -> Option<Decision> {
        let words = reply.feedback.clone();
        Some(match reply.kind {
            ReplyKind::Approve => Decision::Ship,
            ReplyKind::Reject => Decision::Drop { why: words.unwrap_or_default() },
            ReplyKind::Revise => Decision::Rebuild { with: words? },
        })
    }
}

#[derive(Route)]
enum AfterAsking {
    #[to(Step::Ship)]
    Ship,
    #[to(Step::Build)]
    Rebuild,
    #[to(END)]
    Drop,
}
fn after_asking(release: &Release) -> AfterAsking {
    match release.decision {
        Some(Decision::Ship) => AfterAsking::Ship,
        Some(Decision::Rebuild { .. }) | None => AfterAsking::Rebuild,
        Some(Decision::Drop { .. }) => AfterAsking::Drop,
    }
}

async fn build(release: Arc<Release>, ctx: Ctx<Tools>) -> Result<ReleaseUpdate, NodeError> {
    let Tools { broken, busy } = ctx.context();
    if Path::new(busy).exists() {
        ctx.emit(format!("waiting for {busy} to go")).await;
    }
    if Path::new(busy).is_dir() {
        std::thread::sleep(Duration::from_millis(150));
    }
    while Path::new(busy).exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!Path::new(broken).is_dir(), "{broken} is a directory");
    if Path::new(broken).exists() {
        return Err(format!("{broken} is in the way").into());
    }
    let with = match &release.decision {
        Some(Decision::Rebuild { with }) => format!(" with {with}"),
        _ => String::new(),
    };
    Ok(Release::update().log([format!("built {}{with}", release.version)]))
}

async fn ask(release: Arc<Release>, ctx: Ctx<Tools>) -> Result<ReleaseUpdate, NodeError> {
    let decision = ctx.interrupt(MayShip { version: release.version.clone() })?;
    Ok(Release::update().decision(Some(decision)))
}

async fn ship(release: Arc<Release>, _: Ctx<Tools>) -> Result<ReleaseUpdate, NodeError> {
    Ok(Release::update().log([format!("shipped {}", release.version)]))
}

fn release() -> Result<CompiledGraph<Release, Step, Tools>, CompileError> {
    StateGraph::new()
        .add_node(Step::Build, build)
        .add_node(Step::Ask, ask.asks::<MayShip>())
        .add_node(Step::Ship, ship)
        .add_edge(START, Step::Build)
        .add_edge(Step::Build, Step::Ask)
        .add_conditional_edges(Step::Ask, after_asking)
        .add_edge(Step::Ship, END)
        .compile()
}

/// What `run release` takes.
#[derive(clap::Args)]
struct ReleaseArgs {
    /// The version, as 1.2.0
    version: String,
}

fn input(args: ReleaseArgs) -> Result<ReleaseUpdate, String> {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    if args.version.split('.').count() != 3 || !args.version.split('.').all(is_number) {
        return Err(format!("`{}` is no version: write three numbers, as 1.2.0", args.version));
    }
    Ok(Release::update().version(args.version))
}

/// Asks while it builds.
fn draft() -> Result<CompiledGraph<Release, Step, Tools>, CompileError> {
    let graph = StateGraph::new().add_node(Step::Build, build).add_node(Step::Ask, ask.asks::<MayShip>());
    let graph = graph.add_node(Step::Ship, ship).add_edge(START, [Step::Build, Step::Ask]);
    graph.add_edge([Step::Build, Step::Ask], Step::Ship).compile()
}

fn ends(release: &Release) -> Exit {
    if matches!(release.decision, Some(Decision::Drop { .. })) { Exit::Rejected } else { Exit::Finished }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Nap {
    millis: u64,
    rested: bool,
    /// Set to let a call end the nap early.
    on_call: bool,
    caller: Option<String>,
}

/// The signal that ends a nap early.
#[derive(Signal, Serialize, Deserialize)]
struct Call {
    by: String,
}

#[derive(NodeId)]
enum Rest {
    Sleep,
}

async fn sleep(nap: Arc<Nap>, ctx: Ctx) -> Result<NapUpdate, NodeError> {
    let time = Duration::from_millis(nap.millis);
    if !nap.on_call {
        ctx.sleep(time).await?;
        return Ok(Nap::update().rested(true));
    }
    let call: Option<Call> = ctx.receive_within(time).await?;
    Ok(Nap::update().rested(call.is_none()).caller(call.map(|call| call.by)))
}

fn nap() -> Result<CompiledGraph<Nap, Rest>, CompileError> {
    StateGraph::new().add_node(Rest::Sleep, sleep.receives::<Call>()).add_sequence([Rest::Sleep]).compile()
}

fn main() -> ExitCode {
    let tools = || Tools { broken: "broken", busy: "busy" };
    let draft = draft().about("Builds a version and asks meanwhile").args(input).question::<MayShip>();
    let release = release().about("Builds a version and ships it if you agree").args(input).outcome(ends);
    App::new()
        .about("Ships releases")
        .version("1.0.0")
        .graph_with("release", release.question::<MayShip>(), tools())
        .graph_with("draft", draft, tools())
        .graph("nap", nap().about("Waits for a time or a call, without a process"))
        .main()
}
