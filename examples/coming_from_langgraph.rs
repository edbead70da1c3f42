//! The agent of `docs/coming-from-langgraph.md`; `coming_from_langgraph.py` is the same in LangGraph. `tour` runs
//! through it step by step, as several processes would; all other arguments go to the command line of `App`.
//!
//!     coming_from_langgraph tour
//!     coming_from_langgraph run research --input '{"topic": "tides"}' --thread tides-1
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use superstep::prelude::*;
use superstep_app::App;

// <model>
/// Stands for a model: a real one is slow, costs money and answers differently each time.
async fn ask_model(prompt: &str, _idempotency_key: String) -> Result<String, std::io::Error> {
    Ok(if prompt.starts_with("Two aspects") { "causes, history".into() } else { format!("An essay. {prompt}") })
}

async fn search_web(query: &str) -> Result<String, std::io::Error> {
    Ok(format!("a page on {query}"))
}
// </model>

// <state>
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Research {
    topic: String,
    queries: Vec<String>,
    #[channel(append)]
    findings: Vec<String>,
    #[channel(add)]
    rounds: u32,
    draft: String,
    approved: bool,
    url: String,
}

#[derive(NodeId)]
enum Step {
    Plan,
    Search,
    Judge,
    Write,
    Review,
    Embargo,
    Publish,
}
// </state>

// <plan>
async fn plan(research: Arc<Research>, ctx: Ctx) -> Result<ResearchUpdate, NodeError> {
    let prompt = format!("Two aspects of {}, round {}", research.topic, research.rounds + 1);
    let text: String = ctx.effect("aspects", &prompt, |key| ask_model(&prompt, key)).await?;
    let queries: Vec<String> = text.split(", ").map(|aspect| format!("{aspect} of {}", research.topic)).collect();
    Ok(Research::update().queries(queries).rounds(1))
}
// </plan>

// <search>
const SEARCH: Worker<Step, String> = Worker::new(Step::Search);

async fn search(query: Arc<String>, ctx: Ctx) -> Result<ResearchUpdate, NodeError> {
    ctx.emit(serde_json::json!({"searching": *query})).await;
    let page: String = ctx.effect("search", &query, |_| search_web(&query)).await?;
    Ok(Research::update().findings([page]))
}

fn fan_out(research: &Research) -> Sends<Step> {
    SEARCH.each(research.queries.clone())
}
// </search>

// <judge>
async fn judge(_: Arc<Research>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

#[derive(Route)]
enum AfterJudge {
    #[to(Step::Plan)]
    Again,
    #[to(Step::Write)]
    Enough,
}
fn after_judge(research: &Research) -> AfterJudge {
    if research.findings.len() < 4 { AfterJudge::Again } else { AfterJudge::Enough }
}
// </judge>

// <review>
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "may_publish")]
struct MayPublish {
    draft: String,
}

async fn write(research: Arc<Research>, ctx: Ctx) -> Result<ResearchUpdate, NodeError> {
    let prompt = format!("Sources: {}.", research.findings.join(", "));
    let draft: String = ctx.effect("draft", &prompt, |key| ask_model(&prompt, key)).await?;
    Ok(Research::update().draft(draft))
}

async fn review(research: Arc<Research>, ctx: Ctx) -> Result<ResearchUpdate, NodeError> {
    let approved = ctx.interrupt(MayPublish { draft: research.draft.clone() })?; // runs again from its beginning
    Ok(Research::update().approved(approved))
}

#[derive(Route)]
enum AfterReview {
    #[to(Step::Embargo)]
    Publish,
    #[to(END)]
    Drop,
}
fn after_review(research: &Research) -> AfterReview {
    if research.approved { AfterReview::Publish } else { AfterReview::Drop }
}
// </review>

// <embargo>
async fn embargo(_: Arc<Research>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.sleep(Duration::from_secs(3600)).await?; // the process may end meanwhile
    Ok(())
}
// </embargo>

// <publish>
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Post {
    text: String,
    title: String,
    url: String,
}

#[derive(NodeId)]
enum Publishing {
    MakeTitle,
    Upload,
}

async fn make_title(post: Arc<Post>, _: Ctx) -> Result<PostUpdate, NodeError> {
    Ok(Post::update().title(post.text.split('.').next().unwrap_or_default()))
}

async fn upload(post: Arc<Post>, _: Ctx) -> Result<PostUpdate, NodeError> {
    Ok(Post::update().url(format!("https://example.org/{}", post.title.to_lowercase().replace(' ', "-"))))
}

fn publisher() -> Result<CompiledGraph<Post, Publishing>, CompileError> {
    StateGraph::new()
        .add_node(Publishing::MakeTitle, make_title.replayable())
        .add_node(Publishing::Upload, upload.replayable())
        .add_sequence([Publishing::MakeTitle, Publishing::Upload])
        .compile()
}
// </publish>

fn graph() -> Result<CompiledGraph<Research, Step>, CompileError> {
    // <graph>
    let publish = publisher()?.mapped(
        |research: &Research| Post::update().text(research.draft.as_str()),
        |post: &Post| Research::update().url(post.url.as_str()),
    );
    StateGraph::new()
        .add_node(Step::Plan, plan.replayable())
        .add_worker(SEARCH, worker(search).retry(RetryPolicy::attempts(5)).replayable())
        .add_node(Step::Judge, judge.replayable())
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Review, review.asks::<MayPublish>().replayable())
        .add_node(Step::Embargo, embargo.replayable())
        .add_subgraph(Step::Publish, publish)
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, fan_out, SEARCH)
        .add_edge(Step::Search, Step::Judge)
        .add_conditional_edges(Step::Judge, after_judge)
        .add_edge(Step::Write, Step::Review)
        .add_conditional_edges(Step::Review, after_review)
        .add_edge(Step::Embargo, Step::Publish)
        .compile()
    // </graph>
}

type Threads = Thread<Research, Step>;

async fn ask(thread: &Threads) -> Result<(), RunError> {
    // <ask>
    let mut run = thread.stream(Request::input(Research::update().topic("tides")), [Mode::Updates, Mode::Custom]);
    while let Some(event) = run.next().await {
        match (event.task, event.kind) {
            (Some(task), EventKind::Update { writes, .. }) => println!("updates {}: {}", task.node, writes.json()),
            (_, EventKind::Custom { value }) => println!("custom {value}"),
            _ => {}
        }
    }
    let outcome = run.outcome().await?;
    // </ask>
    println!("{outcome:?}");
    Ok(())
}

async fn answer(thread: &Threads, word: &str) -> Result<(), RunError> {
    // <answer>
    if let Status::Interrupted { questions } = thread.status().await? {
        println!("asked: {}", questions[0].json());
    }
    let outcome = thread.resume::<MayPublish>(word == "yes").await?;
    // </answer>
    println!("waits for a time: {}", matches!(outcome, Outcome::Waiting { .. }));
    Ok(())
}

async fn go_on(thread: &Threads) -> Result<(), RunError> {
    // <early>
    if let Outcome::Waiting { until, .. } = thread.proceed().await? {
        println!("not before {until:?}");
    }
    // </early>
    let thread = thread.clone().clock(|| SystemTime::now() + Duration::from_secs(4000));
    // <go_on>
    let outcome = thread.proceed().await?; // resumes when the time has come
    // </go_on>
    println!("published at {}", outcome.state().url);
    Ok(())
}

async fn look(thread: &Threads) -> Result<(), Box<dyn Error>> {
    // <look>
    let state = thread.state().await?.ok_or("it has never run")?;
    println!("{:?} {}", state.next, state.values.rounds);
    let mut steps = thread.history().await?.limit(3);
    while let Some(step) = steps.next().await {
        let step = step?;
        println!("{} {:?} {:?}", step.step, step.source, step.next);
    }
    // </look>

    // <verify>
    let verified = thread.verify().await?; // runs the code of today over what was recorded; no effect happens
    println!("{verified}");
    // </verify>

    // <fork>
    let steps = thread.history().await?.all().await?;
    let before = steps.iter().find(|step| step.next == ["Write"]).ok_or("no checkpoint before `Write`")?;
    let fork = thread.clone().at(before.id).update_state(Research::update().findings(["a sailor's letter"])).await?;
    let outcome = thread.proceed().await?; // the nodes after it run again, for real
    // </fork>
    println!("asks again: {}", outcome.state().draft);

    // <diff>
    println!("{}", thread.diff(before.id, fork.checkpoint).await?);
    // </diff>
    // <draw>
    println!("{}", thread.mermaid(1).await?);
    // </draw>
    Ok(())
}

/// Imports the state of a LangGraph thread, as JSON, as if `Write` had run here.
async fn adopt(thread: &Threads, values: &serde_json::Value) -> Result<(), Box<dyn Error>> {
    // <adopt>
    let writes = Writes::from_json(&(), values)?; // checked: each key names a channel, each value is of its type
    thread.update(StateUpdate::new(writes).as_node(Step::Write)).await?;
    let outcome = thread.proceed().await?; // continues after `Write`
    // </adopt>
    println!("adopted: {outcome:?}");
    Ok(())
}

/// Runs through the agent, reopening the store where another process would.
async fn tour(store: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let left = serde_json::json!({"topic": "moons", "findings": ["a page"], "draft": "An essay."});
    for part in 0..5 {
        // <open>
        let graph = graph()?.with_checkpointer(SledCheckpointer::open(store)?);
        let thread = graph.thread("tides-1");
        // </open>
        match part {
            0 => ask(&thread).await?,
            1 => answer(&thread, "yes").await?,
            2 => go_on(&thread).await?,
            3 => look(&thread).await?,
            _ => adopt(&graph.thread("moons-1"), &left).await?,
        }
    }
    Ok(())
}

fn toured() -> Result<(), Box<dyn Error>> {
    let store = std::env::temp_dir().join(format!("superstep-tour-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let ended = runtime.block_on(tour(&store));
    std::fs::remove_dir_all(&store)?;
    ended
}

// <app>
fn tool() -> ExitCode {
    App::new().about("Researches a topic").graph("research", graph()).main()
}
// </app>

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("tour") {
        return tool();
    }
    let Err(error) = toured() else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
