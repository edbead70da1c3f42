//! A graph whose tasks have effects: in parallel, in sends, in subgraphs, in attempts that fail afterwards. Knows
//! nothing of crashes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::graph::RetryPolicy;
use superstep::prelude::*;

/// The outside world: its events, in order. In a file it outlives processes.
#[derive(Debug)]
pub(super) struct World {
    lines: Mutex<Vec<String>>,
    file: Option<PathBuf>,
    /// Called at each event.
    on_event: Option<fn(&str)>,
}

impl World {
    pub(super) fn in_memory() -> Arc<Self> {
        Arc::new(Self { lines: Mutex::default(), file: None, on_event: None })
    }

    #[cfg(all(unix, feature = "sled"))]
    pub(super) fn in_file(file: PathBuf, on_event: Option<fn(&str)>) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::default(), file: Some(file), on_event })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        match &self.file {
            Some(file) => fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect(),
            None => self.lines.lock().unwrap().clone(),
        }
    }

    fn add(&self, line: String) {
        match &self.file {
            Some(file) => {
                let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
            None => self.lines.lock().unwrap().push(line.clone()),
        }
        if let Some(on_event) = self.on_event {
            on_event(&line);
        }
    }
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Shop {
    #[channel(append)]
    log: Vec<String>,
    #[channel(add)]
    sent: u64,
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Desk {
    text: String,
}

#[derive(NodeId)]
enum Step {
    Bake,
    Brew,
    Plan,
    Send,
    Desk,
    Close,
}
#[derive(NodeId)]
enum DeskStep {
    Write,
    Stamp,
}

type Made = Result<ShopUpdate, NodeError>;

/// Performs an effect once.
async fn act(ctx: &Ctx<World>, name: &str) -> Result<String, NodeError> {
    let world = ctx.context();
    let effect_body = |key: String| async move {
        tokio::task::yield_now().await;
        world.add(format!("did {name} {key}"));
        tokio::task::yield_now().await;
        Ok::<_, NodeError>(format!("{name} is done"))
    };
    let effect = ctx.effect(name, &[name], effect_body);
    if !name.starts_with("probed") {
        return effect.await;
    }
    let probe = |key: String| async move {
        world.add(format!("asked {name} {key}"));
        let is_done = world.lines().contains(&format!("did {name} {key}"));
        Ok::<_, NodeError>(is_done.then(|| format!("{name} is done")))
    };
    effect.probe(probe).await
}

async fn bake(_: Arc<Shop>, ctx: Ctx<World>) -> Made {
    let (first, second) = (act(&ctx, "bread").await?, act(&ctx, "probed-cake").await?);
    Ok(Shop::update().log([first, second]))
}

/// Its first attempt fails after the effect.
async fn brew(_: Arc<Shop>, ctx: Ctx<World>) -> Made {
    let done = act(&ctx, "probed-tea").await?;
    if ctx.attempt() == 1 { Err("spilled".into()) } else { Ok(Shop::update().log([done])) }
}

async fn plan(_: Arc<Shop>, _: Ctx<World>) -> Made {
    Ok(Shop::update())
}

const SEND: Worker<Step, u64> = Worker::new(Step::Send);

async fn send(number: Arc<u64>, ctx: Ctx<World>) -> Made {
    let kind = if number.is_multiple_of(2) { "probed-parcel" } else { "parcel" };
    let done = act(&ctx, &format!("{kind}-{number}")).await?;
    Ok(Shop::update().log([done]).sent(1_u64))
}

async fn write(_: Arc<Desk>, ctx: Ctx<World>) -> Result<DeskUpdate, NodeError> {
    Ok(Desk::update().text(act(&ctx, "letter").await?))
}
async fn stamp(desk: Arc<Desk>, ctx: Ctx<World>) -> Result<DeskUpdate, NodeError> {
    Ok(Desk::update().text(format!("{}, {}", desk.text, act(&ctx, "probed-stamp").await?)))
}
async fn close(shop: Arc<Shop>, ctx: Ctx<World>) -> Made {
    let done = act(&ctx, "shutters").await?;
    Ok(Shop::update().log([format!("{done} after {}", shop.sent)]))
}

fn parcels(_: &Shop) -> Sends<Step> {
    SEND.each([0, 1, 2])
}

fn shop() -> CompiledGraph<Shop, Step, World> {
    let desk = StateGraph::new()
        .add_node(DeskStep::Write, write)
        .add_node(DeskStep::Stamp, stamp)
        .add_sequence([DeskStep::Write, DeskStep::Stamp])
        .compile()
        .unwrap();
    let desk = desk.mapped(|_: &Shop| Desk::update(), |desk: &Desk| Shop::update().log([desk.text.as_str()]));
    StateGraph::new()
        .add_node(Step::Bake, bake)
        .add_node(Step::Brew, brew.retry(RetryPolicy::attempts(3).pause(Duration::ZERO)))
        .add_node(Step::Plan, plan)
        .add_worker(SEND, send)
        .add_subgraph(Step::Desk, desk)
        .add_node(Step::Close, close)
        .add_edge(START, [Step::Bake, Step::Brew])
        .add_edge([Step::Bake, Step::Brew], Step::Plan)
        .add_conditional_edges_to(Step::Plan, parcels, SEND)
        .add_edge(Step::Send, Step::Desk)
        .add_edge(Step::Desk, Step::Close)
        .compile()
        .unwrap()
}

/// One life: starts or resumes the thread and runs it to the end.
pub(super) async fn run(
    store: Arc<dyn Checkpointer>,
    world: &Arc<World>,
    durability: Durability,
) -> Result<Shop, RunError> {
    let thread = shop().with_shared_checkpointer(store).thread_with("t", Arc::clone(world)).durability(durability);
    let ended = match thread.state().await? {
        None => thread.invoke(Shop::update()).await?,
        Some(_) => thread.proceed().await?,
    };
    Ok(Shop::clone(&ended.finished().unwrap()))
}
