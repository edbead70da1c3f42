//! A superstep whose results cannot be applied: the thread stays readable, reports the reason, and can be fixed.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::Durability;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

fn title(title: &'static str) -> impl Fn(Arc<Pad>, Ctx) -> std::future::Ready<Ended> + Clone {
    move |_, _| std::future::ready(Ok(Pad::update().title(title).notes([title])))
}

fn spender(amount: u8) -> impl Fn(Arc<Pad>, Ctx) -> std::future::Ready<Ended> + Clone {
    move |_, _| std::future::ready(Ok(Pad::update().spent(amount)))
}

/// Two nodes that write one last-value channel in one superstep; only one does if `mended`.
fn writers(fixed: bool) -> Graph {
    let builder = Builder::new().add_node(id("a"), title("a"));
    let builder = if fixed { builder.add_node(id("b"), note("b")) } else { builder.add_node(id("b"), title("b")) };
    fan(builder, &["a", "b"])
}

fn spenders(fixed: bool) -> Graph {
    let builder = Builder::new().add_node(id("a"), spender(200));
    fan(builder.add_node(id("b"), spender(if fixed { 50 } else { 100 })), &["a", "b"])
}

fn lone(fixed: bool) -> Graph {
    let start = Builder::new().add_node(id("a"), spender(200));
    chain(start.add_node(id("b"), spender(if fixed { 50 } else { 100 })), &["a", "b"])
}

/// The second writer is a subgraph whose own nodes finished.
fn inside(fixed: bool) -> Graph {
    let child = chain(Builder::new().add_node(id("c"), if fixed { title("tides") } else { title("c") }), &["c"]);
    let child = child.mapped(
        |_: &Pad| start(),
        |child: &Pad| {
            let update = Pad::update().notes(child.notes.clone());
            if child.title == "tides" { update } else { update.title(child.title.clone()) }
        },
    );
    fan(Builder::new().add_node(id("a"), title("a")).add_subgraph(id("b"), child), &["a", "b"])
}

#[rstest]
#[case::two_writers(writers, "channel `title` was written more than once in superstep 1, by `a` and `b`")]
#[case::a_reducer_refused(
    spenders,
    "channel `spent` refused a write of `a` and `b` in superstep 1: the budget is gone"
)]
#[case::a_reducer_refused_a_lone_task(
    lone,
    "channel `spent` refused a write of `b` in superstep 2: the budget is gone"
)]
#[case::a_subgraph_wrote(inside, "channel `title` was written more than once in superstep 1, by `a` and `b`")]
#[tokio::test]
async fn a_poisoned_thread_is_readable_and_ends_once_its_graph_is_fixed(
    #[case] graph: fn(bool) -> Graph,
    #[case] reason: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let broken = graph(false);
    let error = store.thread(&broken).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), reason);
    let status = store.thread(&broken).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason: status_reason } if status_reason == reason), "{status:?}");
    let now = store.thread(&broken).state_deep().await.unwrap().unwrap();
    assert_eq!((now.values.title.as_str(), now.values.notes.len()), ("tides", 0));
    assert!(store.thread(&broken).history().await.unwrap().all().await.unwrap().len() >= 2);
    assert_eq!(store.thread(&broken).proceed().await.unwrap_err().to_string(), reason);
    let retried = store.thread(&broken).retry().await.unwrap_err(); // on a fork, which is a superstep of its own
    assert_eq!(unnumbered(&retried.to_string()), unnumbered(reason));
    let end = store.thread(&graph(true)).retry().await.unwrap();
    assert!(end.finished().is_some());
    assert!(matches!(store.thread(&broken).status().await.unwrap(), Status::Finished));
}

fn unnumbered(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[tokio::test]
async fn input_that_a_reducer_refuses_can_be_replaced() {
    let graph = chain(Builder::new().add_node(id("a"), spender(100)), &["a"]);
    let store = Store::memory();
    let error = store.thread(&graph).invoke(Pad::update().spent(200).spent(100)).await.unwrap_err();
    assert!(matches!(error, RunError::Refused { .. }), "{error:?}");
    assert!(matches!(store.thread(&graph).status().await.unwrap(), Status::Failed { .. }));
    assert!(store.thread(&graph).state().await.unwrap().is_some());
    let end = store.thread(&graph).discard_pending().invoke(Pad::update().spent(100)).await.unwrap();
    assert_eq!(end.finished().unwrap().spent, 200);
}

/// A way of continuing a thread whose superstep could not be applied.
#[derive(Clone, Copy, Debug)]
enum Way {
    Proceed,
    Retry,
    Replace,
    Update,
}

impl Way {
    const ALL: [Self; 4] = [Self::Proceed, Self::Retry, Self::Replace, Self::Update];

    async fn go(self, thread: &PadThread) {
        let input = || Pad::update().notes(["input"]);
        _ = match self {
            Self::Proceed => thread.proceed().await.map(drop),
            Self::Retry => thread.retry().await.map(drop),
            Self::Replace => thread.clone().discard_pending().invoke(input()).await.map(drop),
            Self::Update => thread.update_state_as(id("a"), input()).await.map(drop),
        };
    }
}

/// A node that writes fewer notes each time, and more than the budget at first.
fn unsteady(tally: &Tally, name: &'static str) -> impl Fn(Arc<Pad>, Ctx) -> std::future::Ready<Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, _| {
        let nth = tally.add(name);
        let notes: Vec<String> = (nth..8).map(|at| format!("{name}{nth}.{at}")).collect();
        std::future::ready(Ok(Pad::update().notes(notes).spent(if nth <= 2 { 150 } else { 1 })))
    }
}

#[rstest]
#[tokio::test]
async fn writes_of_a_superstep_that_was_not_applied_are_in_no_log(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] wide: bool,
) {
    for (first, second) in Way::ALL.into_iter().flat_map(|first| Way::ALL.map(|second| (first, second))) {
        let (one, other) = (Tally::default(), Tally::default());
        let builder = Builder::new().add_node(id("a"), unsteady(&one, "a"));
        let builder = builder.add_node(id("b"), unsteady(&other, "b"));
        let graph = if wide { fan(builder, &["a", "b"]) } else { chain(builder, &["a", "b"]) };
        let graph = graph.with_shared_checkpointer(Arc::clone(&store.store));
        let name = format!("{first:?} {second:?}");
        let thread = || graph.thread(name.as_str()).durability(durability);
        assert!(thread().invoke(Pad::update().title("tides").spent(120)).await.is_err(), "{name}");
        first.go(&thread()).await;
        second.go(&thread()).await;
        let mut left = 8;
        while !matches!(thread().status().await.unwrap(), Status::Finished) && left > 0 {
            _ = thread().retry().await;
            left -= 1;
        }
        let snapshots = thread().history().await.unwrap().all().await.unwrap();
        assert!(snapshots.iter().all(|snapshot| snapshot.misfits.is_empty()), "{name}");
        let now = thread().state().await.unwrap().unwrap().values;
        let mut notes = now.notes.clone();
        notes.retain(|note| note != "input");
        notes.dedup_by_key(|note| note.split_once('.').map(|(run, _)| run.to_owned()));
        assert!(left > 0 && notes.len() <= 3, "{name}: {:?}", now.notes);
        assert_eq!(snapshots[0].values.notes, now.notes, "{name}");
        for snapshot in &snapshots {
            let at = thread().at(snapshot.id).state().await.unwrap().unwrap();
            assert_eq!(at.values.notes, snapshot.values.notes, "{name} at {}", snapshot.id);
        }
    }
}
