//! Bodies that block: their detection, and nodes of synchronous functions, which block no other task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use superstep::graph::{Name, blocking};
use superstep::prelude::*;

use crate::pad::*;

async fn blocks(_: Arc<Pad>, _: Ctx) -> Ended {
    std::thread::sleep(Duration::from_millis(120));
    Ok(Pad::update().notes(["blocked"]))
}

fn blocks_on_its_own_thread(pad: Arc<Pad>, _: Ctx) -> Result<PadUpdate, NodeError> {
    std::thread::sleep(Duration::from_millis(120));
    Ok(Pad::update().notes([format!("after {}", pad.notes.len())]))
}

#[tokio::test]
async fn a_node_that_blocks_its_thread_is_named() {
    let builder = Builder::new().add_node(id("async"), blocks).add_node(id("short"), note("short"));
    let graph = chain(builder.add_node(id("sync"), blocking(blocks_on_its_own_thread)), &["async", "short", "sync"]);
    let mut stream = graph.detached_thread(()).stream(Request::input(start()), [Mode::Updates]);
    while stream.next().await.is_some() {}
    assert_eq!(stream.outcome().await.unwrap().state().notes.len(), 3);
    let named = graph.blocking_nodes();
    assert_eq!(named.iter().map(|(node, _)| node.as_str()).collect::<Vec<_>>(), ["async"]);
    assert!(named[0].1 >= Duration::from_millis(120), "{named:?}");
}

/// Each node waits until the other runs too.
#[tokio::test]
async fn blocking_nodes_run_at_the_same_time_on_one_runtime_thread() {
    let both = Arc::new(Barrier::new(2));
    let node = |word: &'static str| {
        let both = Arc::clone(&both);
        blocking(move |_: Arc<Pad>, _: Ctx| {
            both.wait();
            Ok::<_, NodeError>(Pad::update().notes([word]))
        })
    };
    let builder = Builder::new().add_node(id("a"), node("a")).add_node(id("b"), node("b"));
    let outcome = fan(builder, &["a", "b"]).invoke(Pad::update()).await.unwrap();
    assert_eq!(outcome.state().notes, ["a", "b"]);
}

#[tokio::test]
async fn a_timeout_ends_a_blocking_node_and_its_result_is_dropped() {
    let (release, receiver) = mpsc::channel::<()>();
    let (receiver, has_ended) = (Mutex::new(receiver), Arc::new(AtomicBool::new(false)));
    let (receiver, ended) = (Arc::new(receiver), Arc::clone(&has_ended));
    let node = blocking(move |_: Arc<Pad>, _: Ctx| {
        receiver.lock().unwrap().recv().unwrap();
        ended.store(true, Ordering::SeqCst);
        Ok::<_, NodeError>(Pad::update().notes(["late"]))
    });
    let graph = chain(Builder::new().add_node(id("a"), node.timeout(Duration::from_millis(10))), &["a"]);
    let error = graph.invoke(Pad::update()).await.unwrap_err();
    assert!(error.to_string().contains("did not end within its `.timeout(..)` of 10 ms"), "{error}");
    assert!(!has_ended.load(Ordering::SeqCst), "the function still runs, and nobody waits for it");
    release.send(()).unwrap();
}

#[tokio::test]
async fn a_cancelled_blocking_node_can_see_its_cancellation() {
    let (token, seen) = (CancellationToken::new(), Arc::new(Barrier::new(2)));
    let (cancel, other) = (token.clone(), Arc::clone(&seen));
    let node = blocking(move |_: Arc<Pad>, ctx: Ctx| {
        cancel.cancel();
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        other.wait();
        Ok::<_, NodeError>(Pad::update().notes(["late"]))
    });
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]);
    let outcome = graph.detached_thread(()).cancel_with(token).invoke(Pad::update()).await.unwrap();
    assert!(matches!(outcome, Outcome::Cancelled(_)) && outcome.state().notes.is_empty(), "{outcome:?}");
    seen.wait();
}

#[tokio::test]
async fn a_blocking_node_interrupts_and_its_panic_is_a_failure() {
    let asks = blocking(|_: Arc<Pad>, ctx: Ctx| {
        let approved = ctx.interrupt(Approve)?;
        if !approved {
            panic!("refused");
        }
        Ok::<_, NodeError>(Pad::update().notes(["approved"]))
    });
    let graph = chain(Builder::new().add_node(id("a"), asks.asks::<Approve>()), &["a"]);
    let graph = graph.with_checkpointer(MemoryCheckpointer::new());
    for thread in ["yes", "no"] {
        assert_eq!(graph.thread(thread).invoke(start()).await.unwrap().questions().len(), 1);
    }
    assert_eq!(graph.thread("yes").resume::<Approve>(true).await.unwrap().state().notes, ["approved"]);
    let error = graph.thread("no").resume::<Approve>(false).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_worker_can_block_too() {
    let at = Worker::<Name, u32>::new(id("worker"));
    let work = |number: Arc<u32>, _: Ctx| Ok::<_, NodeError>(Pad::update().sum(i64::from(*number)));
    let builder = Builder::new().add_node(id("plan"), note("plan")).add_edge(START, id("plan"));
    let builder = builder.add_edge(id("plan"), at.each([2, 3])).add_worker(at, blocking(work));
    assert_eq!(builder.compile().unwrap().invoke(Pad::update()).await.unwrap().state().sum, 5);
}
