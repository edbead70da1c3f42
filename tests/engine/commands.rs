//! Commands given to a thread, as other processes see them.

use rstest::rstest;
use superstep::graph::CancellationToken;
use superstep::graph::StateUpdate;
use superstep::prelude::*;

use crate::pad::{Approve, Builder, Graph, Pad, PadThread, approval, chain, fan, id, note, start};
use crate::stores::Store;

/// A graph in which only `a` runs without a command.
fn led_by_commands() -> Graph {
    let fails = |_, _: Ctx| async { Err::<(), _>(NodeError::from("no")) };
    let nodes = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b"));
    let nodes = nodes.add_node(id("asks"), approval.asks::<Approve>()).add_node(id("fails"), fails);
    nodes.add_edge(START, id("a")).compile().unwrap()
}

async fn finished_thread(store: &Store) -> PadThread {
    let thread = store.thread(&led_by_commands());
    thread.invoke(start()).await.unwrap();
    thread
}

#[rstest]
#[tokio::test]
async fn a_question_after_a_command_is_open_to_every_process(#[values(Store::memory(), Store::disk())] store: Store) {
    let thread = finished_thread(&store).await;

    let outcome = thread.command(Command::to(id("asks"))).await.unwrap();

    for thread in [store.thread(&led_by_commands()), thread] {
        let Status::Interrupted { questions } = thread.status().await.unwrap() else { panic!("it waits") };
        assert_eq!(questions[0].id(), outcome.questions()[0].id());
        let refused = thread.invoke(start()).await.unwrap_err().to_string();
        assert!(refused.ends_with("it waits for an answer to `approve`"), "{refused}");
    }
    let done = store.thread(&led_by_commands()).resume::<Approve>(true).await.unwrap();
    assert_eq!(done.state().notes, ["a", "approved: true"]);
}

#[rstest]
#[tokio::test]
async fn the_target_of_a_cancelled_command_is_pending(#[values(Store::memory(), Store::disk())] store: Store) {
    let (thread, token) = (finished_thread(&store).await, CancellationToken::new());
    token.cancel();

    let out = thread.clone().cancel_with(token).command(Command::to(id("b"))).await.unwrap();

    assert!(matches!(out, Outcome::Cancelled(_)), "{out:?}");
    for thread in [store.thread(&led_by_commands()), thread] {
        let status = thread.status().await.unwrap();
        assert!(matches!(&status, Status::Pending { next } if *next == ["b"]), "{status:?}");
        let refused = thread.invoke(start()).await.unwrap_err().to_string();
        assert!(refused.ends_with("`b` has not finished"), "{refused}");
    }
    assert_eq!(store.thread(&led_by_commands()).proceed().await.unwrap().state().notes, ["a", "b"]);
}

#[tokio::test]
async fn a_node_that_failed_after_a_command_is_reported_and_retried() {
    let store = Store::memory();
    let thread = finished_thread(&store).await;

    thread.command(Command::to(id("fails"))).await.unwrap_err();

    let status = store.thread(&led_by_commands()).status().await.unwrap();
    assert!(matches!(status, Status::Failed { .. }), "{status:?}");
    assert!(matches!(thread.invoke(start()).await, Err(RunError::Unfinished { .. })));
    let fresh = thread.discard_pending().invoke(Pad::update().title("again")).await.unwrap();
    assert_eq!(fresh.state().notes, ["a", "a"]);
}

#[tokio::test]
async fn every_checkpoint_of_a_handle_has_its_metadata() {
    let inside = chain(Builder::new().add_node(id("inner"), note("inner")), &["inner"]);
    let nodes = Builder::new().add_node(id("a"), approval.asks::<Approve>()).add_subgraph(id("sub"), inside.clone());
    let graph = nodes.add_edge(START, id("a")).compile().unwrap();
    let store = Store::memory();
    let words = |who: &str| store.thread(&graph).metadata("who", who);
    let newest = async || {
        let made = store.thread(&graph).history().await.unwrap().metadata_only().await.unwrap();
        made[0].metadata.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
    };

    words("begun").command(Command::to(id("sub"))).await.unwrap();
    assert_eq!(newest().await, "who: begun");

    words("edited").update_state_as(id("a"), start()).await.unwrap();
    assert_eq!(newest().await, "who: edited");

    words("forked").update(superstep::graph::StateUpdate::copy()).await.unwrap();
    assert_eq!(newest().await, "who: forked");

    store.thread(&graph).update_state_as(id("a"), start()).await.unwrap();
    assert_eq!(newest().await, "");
}

#[tokio::test]
async fn the_checkpoints_of_a_subgraph_have_the_metadata_of_their_handle() {
    let inside = chain(Builder::new().add_node(id("inner"), approval.asks::<Approve>()), &["inner"]);
    let graph = chain(Builder::new().add_subgraph(id("sub"), inside.clone()), &["sub"]);
    let store = Store::memory();
    let thread = store.thread(&graph).metadata("who", "me");

    thread.invoke(start()).await.unwrap();

    let checkpoint = thread.state_deep().await.unwrap().unwrap().tasks[0].state.as_ref().unwrap().id;
    store.thread(&graph).metadata("who", "other").at(checkpoint).proceed().await.unwrap();
    let inside = store.thread(&graph).metadata("who", "third").subgraph(&inside, ["sub"]);
    inside.update_state_as(id("inner"), start()).await.unwrap();
    let made = inside.history().await.unwrap().metadata_only().await.unwrap();
    let words: Vec<&str> = made.iter().map(|made| made.metadata[0].1.as_str()).collect();
    assert_eq!(words, ["third", "other", "me", "me"]);
}

#[rstest]
#[tokio::test]
async fn an_answer_with_a_refused_command_is_not_stored(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = chain(Builder::new().add_node(id("asks"), approval.asks::<Approve>()), &["asks"]);
    let thread = store.thread(&graph).durability(durability);
    thread.invoke(start()).await.unwrap();
    let both = Request::answers([Answer::new::<Approve>(&true)]).and(Command::to(id("nowhere")));
    let refused = thread.run(both).await.unwrap_err();
    assert!(matches!(refused, RunError::UnknownTarget { .. }), "{refused:?}");
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(status, Status::Interrupted { .. }), "{status:?}");
    assert_eq!(thread.resume::<Approve>(true).await.unwrap().state().notes, ["approved: true"]);
}

/// The update of a command is logged before the results of siblings that wait with it.
#[rstest]
#[tokio::test]
async fn a_thread_is_readable_after_an_update_while_a_sibling_has_finished(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let builder = Builder::new().add_node(id("before"), note("before")).add_node(id("a"), note("a"));
    let builder = builder.add_node(id("ask"), approval.asks::<Approve>()).add_edge(START, id("before"));
    let graph = builder.add_edge(id("before"), [id("a"), id("ask")]).compile().unwrap();
    let thread = || store.thread(&graph).durability(durability);
    thread().invoke(start()).await.unwrap();
    let answer = Request::answers([Answer::new::<Approve>(&true)]);
    let end = thread().run(answer.and(Command::update(Pad::update().notes(["command"])))).await.unwrap();
    let notes = end.finished().unwrap().notes.clone();
    assert_eq!(notes, ["before", "command", "a", "approved: true"]);
    assert_eq!(store.thread(&graph).state().await.unwrap().unwrap().values.notes, notes);
    assert_eq!(store.thread(&graph).history().await.unwrap().all().await.unwrap()[0].values.notes, notes);
}

/// The checkpoint of the update has copies of the results: discarding them keeps the originals.
#[rstest]
#[tokio::test]
async fn results_that_run_again_on_a_fork_stay_in_the_original(#[values(Store::memory(), Store::disk())] store: Store) {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    let graph = fan(builder, &["a", "ask"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let made = store.thread(&graph).command(Command::update(Pad::update().title("moons"))).await;
    made.unwrap();
    let head = store.thread(&graph).state().await.unwrap().unwrap().id;
    store.thread(&graph).at(head).proceed().await.unwrap();
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    let origin = history.iter().find(|step| step.tasks.len() == 2 && step.id < head).unwrap();
    assert!(origin.tasks.iter().any(|task| task.result.is_some()), "{origin:?}");
}

#[rstest]
#[tokio::test]
async fn a_command_with_values_beside_input_that_has_not_started_leaves_the_log_whole(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    let thread = store.thread(&graph);
    thread.invoke(Pad::update().notes(["one"])).await.unwrap();
    thread.update(StateUpdate::new(Pad::update().notes(["two"])).as_input()).await.unwrap();
    let end = thread.command(Command::update(Pad::update().notes(["three"]))).await.unwrap();
    let read = store.thread(&graph).state().await.unwrap().unwrap();
    assert_eq!(end.state().notes, ["one", "a", "three", "two", "a"]);
    assert_eq!(read.values.notes, end.state().notes);
}
