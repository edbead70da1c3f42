//! Effects when the attempts of a task or the branches of a thread diverge: attempts of one branch share results and
//! keys, others do not.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use rstest::rstest;
use superstep::checkpoint::FailingCheckpointer;
use superstep::graph::{NodeDefaults, Persistence, StateUpdate};
use superstep::prelude::*;
use tokio::sync::Notify;

use crate::effects::{Body, World, paying, probing, soon};
use crate::pad::*;
use crate::stores::Store;

/// Two rounds of a subgraph that keeps its state; the second one fails once after it has paid.
#[rstest]
#[tokio::test]
async fn an_effect_in_a_later_activation_is_not_repeated(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] retry: bool,
) {
    let (world, tally) = (World::default(), Tally::default());
    let then = move |_: Ctx| std::future::ready(if tally.add("") == 2 { Err("no".into()) } else { Ok(()) });
    let inner = Builder::new().add_node(id("first"), note("first")).add_node(id("pay"), paying(&world, then));
    let inner = chain(inner, &["first", "pay"]).persistence(Persistence::PerThread);
    let again = |pad: &Pad| if pad.notes.len() < 4 { Target::from(id("inner")) } else { END.into() };
    let ways = vec![("again".to_owned(), Target::from(id("inner"))), ("done".to_owned(), END.into())];
    let builder = Builder::new().add_subgraph(id("inner"), inner).add_edge(START, id("inner"));
    let builder = builder.add_conditional_edges_to(id("inner"), again, ways);
    let builder = if retry { builder.node_defaults(NodeDefaults::default().retry(soon())) } else { builder };
    let graph = builder.compile().unwrap();
    let outcome = match store.thread(&graph).invoke(start()).await {
        Ok(outcome) => outcome,
        Err(_) => store.thread(&graph).proceed().await.unwrap(),
    };
    assert_eq!(outcome.state().notes.join(","), "first,pay 1,first,pay 2");
    assert_eq!(world.happened().len(), 2);
}

/// The checkpoint is an external update, so that resuming from it starts no new branch.
#[rstest]
#[tokio::test]
async fn resuming_from_an_update_probes_for_an_effect(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] acknowledged: bool,
) {
    let (world, probes) = (World::default(), Tally::default());
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("pay"), probing(&world, &probes));
    let graph = chain(builder, &["a", "pay"]);
    let made = store.thread(&graph).update_state_as(id("a"), start()).await.unwrap().checkpoint;
    let cut = FailingCheckpointer::new(Arc::clone(&store.store), if acknowledged { 2 } else { 1 });
    graph.clone().with_checkpointer(cut).thread("t").at(made).proceed().await.unwrap_err();
    assert_eq!(world.happened().len(), 1);
    let outcome = store.thread(&graph).at(made).proceed().await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
    let (first, again) = (world.keys()[0].clone(), usize::from(!acknowledged));
    assert_eq!(probes.names(), vec![first; 1 + again], "the first run may have had one before it");
}

/// A node that asks, then pays; its first payment in each branch fails.
fn ask_then_pay(world: &World) -> impl Fn(Arc<Pad>, Ctx) -> Body + Clone + use<> {
    let world = world.clone();
    move |_, ctx: Ctx| {
        let world = world.clone();
        Box::pin(async move {
            let approved = ctx.interrupt(Approve)?;
            let pay = |key: String| async move {
                let before = world.knows(&key);
                world.happens("pay", &key);
                before.ok_or("no money")
            };
            let receipt: String = ctx.effect("pay", &approved, pay).await?;
            Ok(Pad::update().notes([receipt]))
        })
    }
}

#[rstest]
#[tokio::test]
async fn answers_to_one_checkpoint_start_branches_with_separate_keys(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] inside: bool,
) {
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), ask_then_pay(&world).asks::<Approve>()), &["pay"]);
    let graph = if inside { chain(Builder::new().add_subgraph(id("inner"), graph), &["inner"]) } else { graph };
    store.thread(&graph).invoke(start()).await.unwrap();
    let checkpoint = store.thread(&graph).state().await.unwrap().unwrap().id;
    store.thread(&graph).update_state(Pad::update().title("moons")).await.unwrap();
    for approved in [true, false] {
        store.thread(&graph).at(checkpoint).resume::<Approve>(approved).await.unwrap_err();
        store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    }
    let keys = world.keys();
    assert!(keys[0] == keys[1] && keys[2] == keys[3] && keys[0] != keys[2], "{keys:?}");
}

/// A payment that was under way when its attempt ended, while another task asks.
#[rstest]
#[tokio::test]
async fn an_effect_started_before_branches_diverge_is_probed_with_its_key(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (world, probes) = (World::default(), Tally::default());
    let (seen, probed) = (world.clone(), probes.clone());
    let pay = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let (world, there, world_seen, probes) = (seen.clone(), seen.clone(), seen.clone(), probed.clone());
        Box::pin(async move {
            let pay = |key: String| async move {
                world.happens("pay", &key);
                std::future::pending::<Result<String, NodeError>>().await
            };
            let found = |key: String| async move {
                probes.add(&key);
                Ok::<_, NodeError>(there.knows(&key))
            };
            let (happens, mut pays) =
                (world_seen.happened().is_empty(), ctx.effect("pay", &7, pay).probe(found).into_future());
            let receipt = std::future::poll_fn(|cx| match pays.as_mut().poll(cx) {
                Poll::Pending if happens && !world_seen.happened().is_empty() => Poll::Ready(Err("no patience".into())),
                polled => polled,
            });
            let receipt = receipt.await?;
            Ok(Pad::update().notes([receipt]))
        })
    };
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>()).add_node(id("pay"), pay);
    let graph = fan(builder, &["ask", "pay"]);
    store.thread(&graph).invoke(start()).await.unwrap_err();
    let failed = store.thread(&graph).state().await.unwrap().unwrap().id;
    let moons = StateUpdate::new(Pad::update().title("moons")).as_start();
    store.thread(&graph).update(moons).await.unwrap();
    let outcome = store.thread(&graph).at(failed).resume::<Approve>(true).await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "approved: true,pay 1");
    assert_eq!((world.happened().len(), probes.names()), (1, world.keys()));
}

type DetachedTask = tokio::task::JoinHandle<Result<String, NodeError>>;

/// The first attempt leaves a payment that ends after the second attempt has paid.
#[rstest]
#[tokio::test]
async fn an_effect_of_an_abandoned_attempt_does_not_replace_the_stored_one(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (world, tally, late) = (World::default(), Tally::default(), Arc::new(Notify::new()));
    let left: Arc<Mutex<Option<DetachedTask>>> = Arc::default();
    let (seen, gave) = (world.clone(), Arc::new(Mutex::new(String::new())));
    let returned = Arc::clone(&gave);
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let (world, tally, late) = (seen.clone(), tally.clone(), Arc::clone(&late));
        let (left, returned) = (Arc::clone(&left), Arc::clone(&returned));
        Box::pin(async move {
            let attempt = tally.add("");
            if attempt == 1 {
                let (started, starts) = tokio::sync::oneshot::channel();
                let detached = async move {
                    let pay = |key: String| async move {
                        started.send(()).ok();
                        late.notified().await;
                        Ok::<_, NodeError>(world.happens("late", &key))
                    };
                    ctx.effect("pay", &7, pay).await
                };
                *left.lock().unwrap() = Some(tokio::spawn(detached));
                starts.await?;
                return Err("no".into());
            }
            let pay = |key: String| async move { Ok::<_, NodeError>(world.happens("pay", &key)) };
            let receipt: String = ctx.effect("pay", &7, pay).await?;
            if attempt == 2 {
                late.notify_one();
                let detached = left.lock().unwrap().take();
                *returned.lock().unwrap() = detached.unwrap().await??;
                return Err("no".into());
            }
            Ok(Pad::update().notes([receipt]))
        })
    };
    let graph = chain(
        Builder::new().add_node(id("pay"), node.retry(RetryPolicy::attempts(2).pause(std::time::Duration::ZERO))),
        &["pay"],
    );
    store.thread(&graph).invoke(start()).await.unwrap_err();
    let outcome = store.thread(&graph).proceed().await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "pay 1");
    assert_eq!((world.happened().join(","), &**gave.lock().unwrap()), ("pay,late".into(), "pay 1"));
}
