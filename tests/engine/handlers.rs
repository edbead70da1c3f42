//! Error handlers: separate tasks that replace a failed body, over kills and answers.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::FailingCheckpointer;
use superstep::graph::{Boxed, CancellationToken, Failure, Persistence};
use superstep::prelude::*;
use tokio::sync::watch;

use crate::effects::World;
use crate::pad::*;
use crate::stores::Store;

/// A body that fails once it is approved.
fn deploy(tally: &Tally) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, ctx| {
        tally.add("body");
        Box::pin(async move {
            ctx.interrupt(Approve)?;
            Err("deploy failed".into())
        })
    }
}

#[rstest]
#[tokio::test]
async fn an_answer_to_the_body_is_not_an_answer_to_its_handler(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let tally = Tally::default();
    let handler = |_: Arc<Pad>, _: Failure, ctx: Ctx| async move {
        let (wipe, name) = (ctx.interrupt(Approve)?, ctx.interrupt(Rename { from: "a".into() })?);
        Ok::<_, NodeError>(Pad::update().notes([format!("wipe: {wipe}, {name}")]))
    };
    let body = deploy(&tally).asks::<Approve>().asks::<Rename>();
    let graph = chain(Builder::new().add_node(id("a"), body.on_error(handler)), &["a"]);
    let thread = || store.thread(&graph).durability(durability);
    let by_body = thread().invoke(start()).await.unwrap();
    let by_handler = thread().resume::<Approve>(true).await.unwrap();
    let (first, second) = (by_body.questions()[0].clone(), by_handler.questions()[0].clone());
    assert_eq!((first.name(), second.name(), second.node()), ("approve", "approve", "__error_handler__a"));
    assert_ne!(first.id(), second.id());
    thread().resume::<Approve>(false).await.unwrap();
    let end = thread().resume::<Rename>("b".into()).await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.count()), ("wipe: false, b".into(), 2));
}

#[rstest]
#[tokio::test]
async fn a_failed_handler_runs_again_alone_with_the_bodys_error(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (bodies, handlers) = (Tally::default(), Tally::default());
    let (began, seen) = (bodies.clone(), handlers.clone());
    let body = move |_: Arc<Pad>, _: Ctx| {
        began.add("body");
        async { Err::<PadUpdate, _>(NodeError::from("disk full")) }
    };
    let handler = move |_: Arc<Pad>, failure: Failure, _: Ctx| {
        let times = seen.add(&failure.error.to_string());
        async move { if times < 3 { Err(NodeError::from("no help")) } else { Ok(Pad::update().notes(["helped"])) } }
    };
    let graph = chain(Builder::new().add_node(id("a"), body.on_error(handler)), &["a"]);
    let text = "node `__error_handler__a` failed in superstep 1: no help";
    assert_eq!(store.thread(&graph).invoke(start()).await.unwrap_err().to_string(), text);
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if reason == text), "{status:?}");
    assert_eq!(store.thread(&graph).proceed().await.unwrap_err().to_string(), text);
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), bodies.count()), ("helped".into(), 1));
    assert_eq!(handlers.names(), ["disk full"; 3]);
}

#[rstest]
#[tokio::test]
async fn a_handler_resumes_the_graphs_it_called_and_not_those_of_the_body(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let tally = Tally::default();
    let thread = || store.thread(&fallback(&tally, persistence).0).durability(durability);
    thread().invoke(start()).await.unwrap();
    let outcome = thread().resume::<Approve>(true).await.unwrap();
    assert_eq!(outcome.questions()[0].namespace(), ["__error_handler__a"]);
    let end = thread().resume::<Approve>(false).await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.count()), ("b approved: false".into(), 1));
}

#[tokio::test]
async fn a_body_whose_handler_started_never_runs_again_after_any_cut() {
    for cut in 1.. {
        let (bodies, handlers, store) = (Tally::default(), Tally::default(), Store::memory());
        let (failed, handled) = (bodies.clone(), tallied(&handlers, "handled"));
        let body = move |_: Arc<Pad>, _: Ctx| {
            failed.add("body");
            async { Err::<PadUpdate, _>(NodeError::from("no")) }
        };
        let handler = move |pad: Arc<Pad>, _: Failure, ctx: Ctx| handled(pad, ctx);
        let graph = chain(Builder::new().add_node(id("a"), body.on_error(handler)), &["a"]);
        let failing = FailingCheckpointer::new(Arc::clone(&store.store), cut);
        let whole = graph.clone().with_checkpointer(failing).thread("t").invoke(start()).await.is_ok();
        let (before, began) = (bodies.count(), handlers.count() > 0);
        if began {
            let end = store.thread(&graph).proceed().await.unwrap();
            assert_eq!(
                (end.state().notes.join(" "), bodies.count()),
                ("handled".into(), before),
                "cut at commit {cut}"
            );
        }
        if whole {
            break;
        }
    }
}

#[rstest]
#[tokio::test]
async fn an_update_as_a_node_whose_handler_waits_follows_its_edges(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let bad = |_: Arc<Pad>, _: Ctx| async { Err::<PadUpdate, _>(NodeError::from("broke")) };
    let handler = |_: Arc<Pad>, _: Failure, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(Pad::update().notes(["handled"]))
    };
    let builder =
        Builder::new().add_node(id("a"), bad.on_error(handler).asks::<Approve>()).add_node(id("b"), note("b"));
    let builder = builder.add_node(id("s"), approval.asks::<Approve>()).add_edge(START, [id("a"), id("s")]);
    let graph = builder.add_edge(id("a"), id("b")).compile().unwrap();
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let sibling = outcome.questions().iter().find(|question| question.node() == "s").unwrap().id();
    let head = store.thread(&graph).state().await.unwrap().unwrap().id;
    store.thread(&graph).update_state_as(id("a"), Pad::update().notes(["by hand"])).await.unwrap();
    let fork = store.thread(&graph).at(head).answer(Answer::new::<Approve>(&true).to(sibling)).await.unwrap();
    assert_eq!(fork.finished().unwrap().notes, ["by hand", "approved: true", "b"]);
}

/// The end of a run while an error handler runs.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Cancelled,
    /// Cancelled, and the handler panics when it is dropped.
    PanicsOnDrop,
    Killed,
}

#[derive(Clone, Copy, Debug)]
enum Around {
    Nothing,
    Siblings,
    Subgraph,
}

struct PanicOnDrop(bool);

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        assert!(!self.0, "dropped");
    }
}

/// A node that pays and fails, with a handler that refunds, and waits at a gate before it is interrupted and after.
struct Refund {
    world: World,
    bodies: Tally,
    /// The gates that the handler has come to.
    reached: Tally,
    open: [watch::Receiver<bool>; 2],
    stop: Stop,
}

impl Refund {
    fn graph(self, attempts: u32, around: Around) -> Graph {
        let (paid, bodies) = (self.world.clone(), self.bodies.clone());
        let body = move |_: Arc<Pad>, ctx: Ctx| {
            let paid = paid.clone();
            let times = bodies.add("body");
            async move {
                ctx.effect("pay", &(), |key| async move { Ok::<_, NodeError>(paid.happens("pay", &key)) }).await?;
                Err::<PadUpdate, _>(NodeError::transient(format!("failure {times}")))
            }
        };
        let refund = Arc::new(self);
        let handler = move |_: Arc<Pad>, _: Failure, ctx: Ctx| Arc::clone(&refund).handle(ctx);
        let node = body.retry(RetryPolicy::attempts(attempts).pause(Duration::from_millis(1)));
        let nodes = Builder::new().add_node(id("a"), node.on_error(handler).asks::<Approve>());
        match around {
            Around::Nothing => chain(nodes, &["a"]),
            Around::Siblings => fan(nodes.add_node(id("b"), note("b")).add_node(id("c"), note("c")), &["a", "b", "c"]),
            Around::Subgraph => chain(Builder::new().add_subgraph(id("s"), chain(nodes, &["a"])), &["s"]),
        }
    }

    async fn handle(self: Arc<Self>, ctx: Ctx) -> Ended {
        let world = self.world.clone();
        ctx.effect("refund", &(), |key| async move { Ok::<_, NodeError>(world.happens("refund", &key)) }).await?;
        self.wait(0).await?;
        ctx.interrupt(Approve)?;
        self.wait(1).await?;
        Ok(Pad::update().notes(["refunded"]))
    }

    async fn wait(&self, gate: usize) -> Result<(), NodeError> {
        let mut open = self.open[gate].clone();
        if !*open.borrow() {
            self.reached.add("gate");
            let mut on_drop = PanicOnDrop(matches!(self.stop, Stop::PanicsOnDrop));
            open.wait_for(|open| *open).await?;
            on_drop.0 = false;
        }
        Ok(())
    }
}

/// Starts a run and stops it once the handler waits at a gate.
async fn stop_at_gate(
    run: impl FnOnce(PadThread) -> Boxed<'static, ()>,
    thread: PadThread,
    reached: &Tally,
    stop: Stop,
) {
    let (token, before) = (CancellationToken::new(), reached.count());
    let run = tokio::spawn(run(thread.cancel_with(token.clone())));
    while reached.count() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    match stop {
        Stop::Cancelled | Stop::PanicsOnDrop => token.cancel(),
        Stop::Killed => run.abort(),
    }
    drop(run.await);
}

#[rstest]
#[tokio::test]
async fn a_run_stopped_while_a_handler_runs_resumes_the_handler_and_not_the_body(
    #[values(Stop::Cancelled, Stop::PanicsOnDrop, Stop::Killed)] stop: Stop,
    #[values(Around::Nothing, Around::Siblings, Around::Subgraph)] around: Around,
    #[values(1, 2)] attempts: u32,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (world, bodies, reached) = (World::default(), Tally::default(), Tally::default());
    let ((first, one), (second, two)) = (watch::channel(false), watch::channel(false));
    let refund =
        Refund { world: world.clone(), bodies: bodies.clone(), reached: reached.clone(), open: [one, two], stop };
    let graph = refund.graph(attempts, around);
    let thread = || store.thread(&graph);
    let invoke =
        |thread: PadThread| -> Boxed<'static, ()> { Box::pin(async move { drop(thread.invoke(start()).await) }) };
    stop_at_gate(invoke, thread(), &reached, stop).await;
    if !matches!(around, Around::Subgraph) {
        let state = thread().state().await.unwrap().unwrap();
        let failures: Vec<&str> = state.tasks[0].failures.iter().map(|failure| &*failure.error).collect();
        assert_eq!(failures[..attempts as usize], ["failure 1", "failure 2"][..attempts as usize]);
    }
    first.send(true).unwrap();
    let outcome = thread().proceed().await.unwrap();
    assert_eq!(outcome.questions().len(), 1);
    let resume = |thread: PadThread| -> Boxed<'static, ()> {
        Box::pin(async move { drop(thread.resume::<Approve>(true).await) })
    };
    stop_at_gate(resume, thread(), &reached, stop).await;
    second.send(true).unwrap();
    let ended = thread().proceed().await.unwrap().finished().unwrap();
    let notes: Vec<&str> = ended.notes.iter().map(|note| &**note).filter(|note| *note == "refunded").collect();
    assert_eq!((notes, bodies.count()), (vec!["refunded"], attempts as usize));
    assert_eq!(world.happened(), ["pay", "refund"]);
    assert!(thread().verify().await.unwrap().agrees());
}
