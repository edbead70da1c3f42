//! The state and the nodes that most tests use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use superstep::graph::{Boxed, CompiledGraph, Failure, Name, Persistence, Thread};
use superstep::prelude::*;

use crate::stores::Store;

/// A state that nodes write notes to.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pad {
    pub(crate) title: String,
    #[channel(append)]
    pub(crate) notes: Vec<String>,
    #[channel(add)]
    pub(crate) sum: i64,
    #[channel(reduce = spend, fallible)]
    pub(crate) spent: u8,
}

fn spend(spent: &mut u8, more: u8) -> Result<(), &'static str> {
    *spent = spent.checked_add(more).ok_or("the budget is gone")?;
    Ok(())
}

pub(crate) type Ended = Result<PadUpdate, NodeError>;
pub(crate) type Builder = StateGraph<Pad, Name>;
pub(crate) type Graph = CompiledGraph<Pad, Name>;
pub(crate) type PadThread = Thread<Pad, Name>;

pub(crate) fn id(name: &str) -> Name {
    Name::from(name)
}

/// A question that is answered with a bool.
#[derive(Serialize, Deserialize)]
pub(crate) struct Approve;
impl Interrupt for Approve {
    type Resume = bool;
    const NAME: &'static str = "approve";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Rename {
    pub(crate) from: String,
}
impl Interrupt for Rename {
    type Resume = String;
    const NAME: &'static str = "rename";
}

/// A node that notes a word.
pub(crate) fn note(word: &'static str) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    move |_, _| Box::pin(async move { Ok(Pad::update().notes([word])) })
}

/// A node that asks for approval and notes the answer.
pub(crate) async fn approval(_: Arc<Pad>, ctx: Ctx) -> Ended {
    let approved = ctx.interrupt(Approve)?;
    Ok(Pad::update().notes([format!("approved: {approved}")]))
}

/// START, then the nodes one after the other.
pub(crate) fn chain(builder: Builder, nodes: &[&str]) -> Graph {
    builder.add_sequence(nodes.iter().map(|node| id(node))).compile().unwrap()
}

/// START, then all nodes in parallel.
pub(crate) fn fan(builder: Builder, nodes: &[&str]) -> Graph {
    nodes.iter().fold(builder, |builder, node| builder.add_edge(START, id(node))).compile().unwrap()
}

impl Store {
    /// Returns the thread `t` of a graph, as a new process sees it.
    pub(crate) fn thread(&self, graph: &Graph) -> PadThread {
        graph.clone().with_shared_checkpointer(Arc::clone(&self.store)).thread("t")
    }
}

pub(crate) fn start() -> PadUpdate {
    Pad::update().title("tides")
}

/// Counts events by name, and keeps their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    count: Arc<AtomicUsize>,
    names: Arc<Mutex<Vec<String>>>,
}

impl Tally {
    pub(crate) fn add(&self, name: &str) -> usize {
        self.names.lock().unwrap().push(name.to_owned());
        self.count.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap().clone()
    }
}

/// A node that counts each run of its body, then notes its name.
pub(crate) fn tallied(
    tally: &Tally,
    name: &'static str,
) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, _| {
        tally.add(name);
        Box::pin(async move { Ok(Pad::update().notes([name])) })
    }
}

/// A node that never ends while the gate is shut.
pub(crate) fn gated(
    tally: &Tally,
    name: &'static str,
    gate: &tokio::sync::watch::Receiver<bool>,
) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let (tally, gate) = (tally.clone(), gate.clone());
    move |_, _| {
        let (tally, mut gate) = (tally.clone(), gate.clone());
        Box::pin(async move {
            tally.add(name);
            gate.wait_for(|open| *open).await?;
            Ok(Pad::update().notes([name]))
        })
    }
}

/// A node that calls one graph, and another in its error handler; both graphs are returned.
pub(crate) fn fallback(tally: &Tally, persistence: Persistence) -> (Graph, Graph) {
    let fails = |_: Arc<Pad>, _: Ctx| async { Err::<PadUpdate, _>(NodeError::from("no")) };
    let asks = Builder::new().add_node(id("ask"), approval.asks::<Approve>());
    let primary = chain(asks.add_node(id("fails"), fails), &["ask", "fails"]).persistence(persistence);
    let asks = Builder::new().add_node(id("b"), tallied(tally, "b")).add_node(id("ask"), approval.asks::<Approve>());
    let secondary = chain(asks, &["b", "ask"]).persistence(persistence);
    let (first, second) = (primary.clone(), secondary.clone());
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let first = first.clone();
        async move { Ok::<_, NodeError>(Pad::update().notes(ctx.call(&first, start()).await?.notes.clone())) }
    };
    let handler = move |_: Arc<Pad>, _: Failure, ctx: Ctx| {
        let second = second.clone();
        async move { Ok::<_, NodeError>(Pad::update().notes(ctx.call(&second, start()).await?.notes.clone())) }
    };
    let builder = Builder::new().add_node(id("a"), body.on_error(handler));
    (chain(builder.calls(&id("a"), &primary).calls(&id("a"), &secondary), &["a"]), secondary)
}

/// Returns everything that can be read of a thread, as text, to check that nothing was written.
pub(crate) async fn everything(thread: &PadThread) -> String {
    let history = thread.history().await.unwrap().all().await.unwrap();
    format!("{:#?}\n{:#?}", thread.state_deep().await.unwrap(), history)
}
