//! A limit on tasks holds over all levels of a run, a group's over threads; tasks that wait for subgraphs do not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use superstep::graph::Boxed;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// The number of running bodies, and its maximum.
#[derive(Clone, Debug, Default)]
struct Running(Arc<(AtomicUsize, AtomicUsize)>);

impl Running {
    /// A body that yields a few times while it is counted.
    fn body(&self) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
        let running = self.clone();
        move |_, _| {
            let running = running.clone();
            Box::pin(async move {
                let (now, most) = &*running.0;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Pad::update().notes(["leaf"]))
            })
        }
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Two parallel subgraphs, each of two parallel leaves, nested this many levels deep.
fn tree(running: &Running, depth: usize, group: Option<usize>) -> Graph {
    let nodes = ["a", "b"];
    let builder = nodes.iter().fold(Builder::new(), |builder, node| match (depth, group) {
        (0, None) => builder.add_node(id(node), running.body()),
        (0, Some(limit)) => builder.add_node(id(node), running.body().group("leaves", limit)),
        _ => builder.add_subgraph(id(node), tree(running, depth - 1, group)),
    });
    fan(builder, &nodes)
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_over_all_levels_without_a_deadlock(
    #[values(1, 2, 3)] limit: usize,
    #[values(0, 1, 2)] depth: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let running = Running::default();
    let outcome = store.thread(&tree(&running, depth, None)).max_concurrency(limit).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.len(), 2 << depth);
    assert!(running.most() <= limit, "{} at once", running.most());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_is_shared_by_nodes_graphs_and_threads() {
    let running = Running::default();
    let (one, two) = (tree(&running, 1, Some(3)), tree(&running, 0, Some(3)));
    let threads = (0..6).map(|nth| {
        let graph = if nth % 2 == 0 { one.clone() } else { two.clone() };
        tokio::spawn(async move {
            graph.detached_thread(()).invoke(start()).await.map(|outcome| outcome.state().notes.len())
        })
    });
    let threads: Vec<_> = threads.collect();
    for (nth, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.await.unwrap().unwrap(), if nth % 2 == 0 { 4 } else { 2 });
    }
    assert!(running.most() <= 3, "{} at once", running.most());
}

/// A node of a group calls a graph whose node is in the same group.
#[tokio::test]
async fn a_task_lends_its_permit_in_a_group_to_its_subgraph() {
    let running = Running::default();
    let leaf = chain(Builder::new().add_node(id("leaf"), running.body().group("one", 1)), &["leaf"]);
    let called = leaf.clone();
    let call = move |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        let leaf = called.clone();
        Box::pin(async move {
            let found = futures::future::join(ctx.call(&leaf, start()), ctx.call(&leaf, start())).await;
            Ok(Pad::update().notes([found.0?.notes.len().to_string(), found.1?.notes.len().to_string()]))
        })
    };
    let builder = Builder::new().add_node(id("call"), call.group("one", 1)).calls(&id("call"), &leaf);
    let outcome = Store::memory().thread(&chain(builder, &["call"])).max_concurrency(1).invoke(start()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), running.most()), ("1,1".into(), 1));
}

async fn yields(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// A task calls a graph, and another one later, while a second task has their permit: both calls end and wait for it.
#[tokio::test(start_paused = true)]
async fn calls_that_end_one_after_the_other_wait_for_one_permit() {
    let waits = |_: Arc<Pad>, _: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async {
            yields(5).await;
            Ok(Pad::update().notes(["leaf"]))
        })
    };
    let leaf = chain(Builder::new().add_node(id("leaf"), waits), &["leaf"]);
    let called = leaf.clone();
    let calls = move |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        let leaf = called.clone();
        Box::pin(async move {
            let later = async {
                yields(50).await;
                ctx.call(&leaf, start()).await
            };
            let (one, two) = futures::future::join(ctx.call(&leaf, start()), later).await;
            Ok(Pad::update().notes([one?.notes.join(""), two?.notes.join("")]))
        })
    };
    let holds = |_: Arc<Pad>, _: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async {
            yields(500).await;
            Ok(Pad::update())
        })
    };
    let builder = Builder::new().add_node(id("a"), calls.group("one of these", 1)).calls(&id("a"), &leaf);
    let graph = fan(builder.add_node(id("b"), holds.group("one of these", 1)), &["a", "b"]);
    let thread = Store::memory().thread(&graph);
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), thread.invoke(start())).await;
    assert_eq!(ended.expect("it waits for itself").unwrap().state().notes, ["leaf", "leaf"]);
}
