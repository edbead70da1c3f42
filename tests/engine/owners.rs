//! Two owners of one thread, in one store object: an owner that was taken over writes nothing more, whatever its run
//! does and however late.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Claim};
use superstep::graph::Boxed;
use superstep::prelude::*;
use tokio::sync::watch;

use crate::pad::*;
use crate::stores::Store;

/// The action of the first owner when it wakes up.
#[derive(Clone, Copy, Debug)]
enum WakeUp {
    End,
    Fail,
    Ask,
    Pay,
    Sleep,
}

/// A node that waits at the gate, then does its wake-up action.
fn sleeper(
    wake_up: WakeUp,
    tally: &Tally,
    gate: &watch::Receiver<bool>,
) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + use<> {
    let (tally, gate) = (tally.clone(), gate.clone());
    move |_, ctx: Ctx| {
        let (tally, mut gate) = (tally.clone(), gate.clone());
        Box::pin(async move {
            tally.add("asleep");
            gate.wait_for(|open| *open).await?;
            match wake_up {
                WakeUp::Fail => return Err("woke up badly".into()),
                WakeUp::Ask => drop(ctx.interrupt(Approve)?),
                WakeUp::Sleep => ctx.sleep(Duration::from_secs(60)).await?,
                WakeUp::Pay => {
                    let pay = |_| async { Ok::<_, NodeError>(tally.add("paid")) };
                    ctx.effect("pay", &7, pay).await?;
                    tally.add("used");
                }
                WakeUp::End => {}
            }
            Ok(Pad::update().notes(["slept"]))
        })
    }
}

/// START, then a note and the sleeper in parallel, then more notes.
fn graph(node: impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Send + Sync + 'static) -> Graph {
    Builder::new()
        .add_node(id("early"), note("early"))
        .add_node(id("sleep"), node.asks::<Approve>())
        .add_node(id("late"), note("late"))
        .add_edge(START, [id("early"), id("sleep")])
        .add_edge([id("early"), id("sleep")], id("late"))
        .compile()
        .unwrap()
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn an_owner_that_was_taken_over_while_asleep_writes_nothing(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(WakeUp::End, WakeUp::Fail, WakeUp::Ask, WakeUp::Pay, WakeUp::Sleep)] wake_up: WakeUp,
) {
    let (tally, (open, gate)) = (Tally::default(), watch::channel(false));
    let first = store.thread(&graph(sleeper(wake_up, &tally, &gate))).durability(durability);
    let first = tokio::spawn(async move { first.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(Duration::from_secs(10 * 86_400)).await; // a lease ends by no clock
    let second = store.thread(&graph(note("slept"))).durability(durability);
    let busy = second.proceed().await.unwrap_err();
    assert!(matches!(busy, RunError::Checkpoint(CheckpointError::ThreadBusy { .. })), "{busy:?}");

    let second = second.take_over();
    let ended = match second.proceed().await {
        Err(RunError::EmptyInput { .. }) => second.invoke(start()).await, // with durability exit nothing was stored
        ended => ended,
    };
    assert_eq!(ended.unwrap().finished().unwrap().notes.join(" "), "early slept late");
    let stored = everything(&second).await;

    open.send(true).unwrap();
    match first.await.unwrap().unwrap_err() {
        RunError::Checkpoint(CheckpointError::StaleLease { .. }) => {}
        RunError::Node { .. } if matches!(wake_up, WakeUp::Fail) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(everything(&store.thread(&graph(note("slept")))).await, stored);
    assert!(!tally.names().contains(&"used".to_owned()), "a result that was not stored was used");
    let again = store.thread(&graph(note("slept"))).invoke(Pad::update().title("moons")).await.unwrap();
    assert_eq!(again.state().notes.len(), 6);
}

/// A run that lost its thread to an owner that has left finds the thread free, but it is not the owner.
#[rstest]
#[tokio::test(start_paused = true)]
async fn an_owner_that_was_taken_over_does_not_become_owner_again(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let (tally, (open, gate)) = (Tally::default(), watch::channel(false));
    let first = store.thread(&graph(sleeper(WakeUp::End, &tally, &gate))).durability(durability);
    let first = tokio::spawn(async move { first.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    let lease = store.store.claim(&"t".into(), Claim::TakeOver).await.unwrap();
    store.store.delete_thread(&lease).await.unwrap();
    drop(lease);
    open.send(true).unwrap();
    let stale = first.await.unwrap().unwrap_err();
    assert!(matches!(stale, RunError::Checkpoint(CheckpointError::StaleLease { .. })), "{stale:?}");
    assert!(store.thread(&graph(note("slept"))).state().await.unwrap().is_none());
    assert!(store.store.threads(None, 9).await.unwrap().is_empty());
}
