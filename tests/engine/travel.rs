//! Replaying from inside a subgraph: the parent graphs continue there, and do not restart.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{
    AboutRecord, CheckpointId, ExportOptions, ImportOptions, Key, decode_record, export_thread, import_thread, trust,
};
use superstep::graph::Persistence;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A body that calls a graph (`b`, `c`) and another (`d`, a question), and fails in its first attempts.
fn attempts(tally: &Tally, failures: usize) -> (Graph, Graph) {
    let builder = Builder::new().add_node(id("b"), tallied(tally, "b")).add_node(id("c"), tallied(tally, "c"));
    let first = chain(builder, &["b", "c"]);
    let builder = Builder::new().add_node(id("d"), tallied(tally, "d"));
    let second = chain(builder.add_node(id("ask"), approval.asks::<Approve>()), &["d", "ask"]);
    let (one, two, bodies) = (first.clone(), second.clone(), Tally::default());
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let (one, two, run) = (one.clone(), two.clone(), bodies.add("a"));
        async move {
            let mut notes = ctx.call(&one, start()).await?.notes.clone();
            if run <= failures {
                return Err(NodeError::from("no luck"));
            }
            notes.extend(ctx.call(&two, start()).await?.notes.clone());
            Ok(Pad::update().notes(notes))
        }
    };
    let body = body.retry(RetryPolicy::attempts(3).pause(Duration::ZERO));
    let builder = Builder::new().add_node(id("a"), body).calls(&id("a"), &first).calls(&id("a"), &second);
    (chain(builder, &["a"]), second)
}

/// Returns the checkpoint of the waiting subgraph that this node follows.
async fn before(thread: &PadThread, inside: &Graph, node: &str) -> CheckpointId {
    let inside = thread.subgraph(inside, ["a"]).history().await.unwrap().all().await.unwrap();
    inside.iter().find(|made| made.next == [node]).unwrap().id
}

#[rstest]
#[case::the_only_attempt(0)]
#[case::a_later_attempt(2)]
#[tokio::test]
async fn a_replay_in_a_called_graph_continues_in_the_attempt_that_called_it(
    #[case] failures: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    let (graph, inside) = attempts(&tally, failures);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    let before = before(&thread(), &inside, "ask").await;
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "b c d approved: true");
    let ran = tally.count();

    assert_eq!(thread().at(before).proceed().await.unwrap().questions().len(), 1);
    let end = thread().resume::<Approve>(false).await.unwrap().finished().unwrap();

    assert_eq!((end.notes.join(" "), tally.count()), ("b c d approved: false".into(), ran));
}

#[rstest]
#[tokio::test]
async fn a_replay_in_a_handlers_graph_continues_in_the_handler(#[values(Store::memory(), Store::disk())] store: Store) {
    let tally = Tally::default();
    let (graph, secondary) = fallback(&tally, Persistence::Inherit);
    let thread = || store.thread(&graph);
    thread().invoke(start()).await.unwrap();
    thread().resume::<Approve>(true).await.unwrap();
    let before = before(&thread(), &secondary, "ask").await;
    thread().resume::<Approve>(true).await.unwrap();

    let outcome = thread().at(before).proceed().await.unwrap();
    assert_eq!(outcome.questions()[0].namespace(), ["__error_handler__a"]);
    let end = thread().resume::<Approve>(false).await.unwrap().finished().unwrap();

    assert_eq!((end.notes.join(" "), tally.count()), ("b approved: false".into(), 1));
}

#[tokio::test]
async fn a_copy_is_dated_by_the_clock_of_the_thread() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let at = store.thread(&graph).state().await.unwrap().unwrap().id;
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_secs(5);
    store.thread(&graph).clock(move || now).copy_to("copy", at).await.unwrap();
    let about = store.store.get(&"copy".into(), vec![Key::About]).await.unwrap().remove(0).unwrap();
    let about: AboutRecord = decode_record(&"copy".into(), "about", &about).unwrap();
    assert_eq!(about.created_at, 5000);
}

/// A body that reads the name of its thread agrees in a thread of another name, and is compared where it ran itself.
#[tokio::test]
async fn verify_of_a_copy_does_not_blame_the_name_of_its_thread() {
    fn named(extra: &'static str) -> Graph {
        let body = move |_: Arc<Pad>, ctx: Ctx| async move {
            Ok::<_, NodeError>(Pad::update().notes([format!("{}{extra}", ctx.thread().unwrap())]))
        };
        let builder = Builder::new().add_node(id("a"), body.replayable()).add_node(id("b"), body.replayable());
        chain(builder, &["a", "b"])
    }
    let store = Store::memory();
    let thread =
        |extra: &'static str, name: &str| named(extra).with_shared_checkpointer(store.store.clone()).thread(name);
    let before = std::time::UNIX_EPOCH + Duration::from_secs(5);
    thread("", "first").clock(move || before).invoke(start()).await.unwrap();
    let made = thread("", "first").history().await.unwrap().all().await.unwrap();
    let at = made.iter().find(|made| made.next == ["b"]).unwrap().id;
    thread("", "first").copy_to("copy", at).await.unwrap();
    let copy = || thread("", "copy");
    let end = copy().proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["first", "copy"]);
    let verified = copy().verify().await.unwrap();
    assert_eq!((verified.divergence, verified.not_verified.len()), (None, 1), "only the part that ran elsewhere");
    let changed = thread("!", "copy").verify().await.unwrap();
    assert_eq!(changed.divergence.unwrap().node, "b");
    assert_eq!(thread("!", "first").verify().await.unwrap().divergence.unwrap().node, "a");

    let mut file = vec![];
    export_thread(&*store.store, &"copy".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*store.store, &*file, &ImportOptions::new().with_name("other")).await.unwrap();
    trust(&*store.store, &"other".into()).await.unwrap();
    let verified = thread("", "other").verify().await.unwrap();
    assert_eq!((verified.divergence, verified.not_verified.len()), (None, 2));
}

#[rstest]
#[tokio::test]
async fn an_updated_copy_has_no_results_of_its_checkpoint(#[values(Store::memory(), Store::disk())] store: Store) {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    let graph = chain(builder, &["a", "b", "c"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let made = thread.history().await.unwrap().all().await.unwrap();
    let at = made.iter().find(|made| made.next == ["b"]).unwrap().id;
    thread.copy_to("copy", at).await.unwrap();
    let copy = graph.clone().with_shared_checkpointer(store.store.clone()).thread("copy");
    copy.update_state(Pad::update().notes(["by hand"])).await.unwrap();
    let before = copy.state().await.unwrap().unwrap().values.notes.clone();
    let after = copy.proceed().await.unwrap().finished().unwrap().notes.clone();
    assert_eq!((before.join(" "), after.join(" ")), ("a by hand".into(), "a by hand b c".into()));
}

#[rstest]
#[tokio::test]
async fn a_copy_can_be_carried_to_another_store_before_and_after_it_goes_on(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(0, 1, 2, 3)] back: usize,
    #[values(false, true)] goes_on: bool,
) {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    let graph = chain(builder, &["a", "b", "c"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let at = thread.history().await.unwrap().all().await.unwrap()[back].id;
    thread.copy_to("copy", at).await.unwrap();
    let in_store = |store: &Store| graph.clone().with_shared_checkpointer(store.store.clone()).thread("copy");
    let copy = in_store(&store);
    if goes_on {
        copy.update_state(Pad::update().notes(["by hand"])).await.unwrap();
    }

    let (mut file, other) = (vec![], Store::memory());
    export_thread(&*store.store, &"copy".into(), &ExportOptions::default(), &mut file).await.unwrap();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    trust(&*other.store, &"copy".into()).await.unwrap();

    let end = async |thread: PadThread| {
        if !thread.state().await.unwrap().unwrap().next.is_empty() {
            thread.proceed().await.unwrap().finished().unwrap();
        }
        thread.invoke(start()).await.unwrap().finished().unwrap();
        thread.state().await.unwrap().unwrap().values.notes.join(" ")
    };
    assert_eq!(end(in_store(&other)).await, end(copy).await);
}

/// `a` runs a subgraph of `b` and `c`, then `z` runs.
fn nested(tally: &Tally) -> (Graph, Graph) {
    let builder = Builder::new().add_node(id("b"), tallied(tally, "b")).add_node(id("c"), tallied(tally, "c"));
    let inner = chain(builder, &["b", "c"]);
    let builder = Builder::new().add_subgraph(id("a"), inner.clone()).add_node(id("z"), tallied(tally, "z"));
    (chain(builder, &["a", "z"]), inner)
}

/// Returns the checkpoint in the subgraph of `a` that `next` follows, in a thread that has continued since.
async fn ended(thread: &PadThread, inner: &Graph, next: &str) -> CheckpointId {
    let made = thread.history().await.unwrap().all().await.unwrap();
    let outer = made.iter().find(|made| made.next == ["a"]).unwrap().id;
    let outer = thread.clone().at(outer).state_deep().await.unwrap().unwrap();
    let mut at = outer.tasks[0].state.as_ref().unwrap().id;
    loop {
        let made = thread.subgraph(inner, ["a"]).at(at).state().await.unwrap().unwrap();
        if made.next == [next] {
            return at;
        }
        at = made.parent.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn an_update_to_an_ended_subgraph_takes_the_thread_back_into_it(
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
    #[values(false, true)] again: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    let (graph, inner) = nested(&tally);
    let thread = || store.thread(&graph).durability(durability);
    thread().invoke(start()).await.unwrap();
    let past = ended(&thread(), &inner, "c").await;
    if again {
        thread().invoke(start()).await.unwrap();
    }

    let update = Pad::update().title("edited").notes(["by hand"]);
    thread().subgraph(&inner, ["a"]).at(past).update_state_as(id("b"), update).await.unwrap();

    let state = thread().state().await.unwrap().unwrap();
    assert_eq!((state.next, state.values.notes.clone()), (vec!["a".to_owned()], vec![]));
    let before = tally.count();
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.title.as_str(), end.notes.join(" ")), ("edited", "b by hand c z".into()));
    assert_eq!(tally.count(), before + 2, "`c` and `z` run again, `b` does not");
    assert!(thread().verify().await.unwrap().divergence.is_none());
}
