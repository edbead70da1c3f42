//! Handles on subgraphs: what they can read and update, and what only a handle on the whole thread can do.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::CheckpointId;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A graph whose node `s` is a subgraph with a node of the same name as one of the graph: `a`.
fn nested() -> (Graph, Graph) {
    let inside = Builder::new().add_node(id("a"), note("inner a")).add_node(id("ask"), approval.asks::<Approve>());
    let inside = chain(inside, &["a", "ask"]);
    let around = Builder::new().add_node(id("a"), note("a")).add_subgraph(id("s"), inside.clone());
    (chain(around.add_node(id("z"), note("z")), &["a", "s", "z"]), inside)
}

async fn seen(store: &Store, graph: &Graph) -> String {
    let all = store.thread(graph).history().await.unwrap().all().await.unwrap();
    format!("{all:?} {:?}", store.thread(graph).state_deep().await.unwrap())
}

#[rstest]
#[tokio::test]
async fn a_checkpoint_of_a_subgraph_is_not_one_of_the_thread(#[values(Store::memory(), Store::disk())] store: Store) {
    let (graph, inside) = nested();
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = seen(&store, &graph).await;
    let root = store.thread(&graph).state().await.unwrap().unwrap().id;
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    let nested = subgraph.state().await.unwrap().unwrap().id;
    let unknown = |error: RunError, at: CheckpointId| match error {
        RunError::UnknownCheckpoint { checkpoint, .. } => assert_eq!(checkpoint, at),
        error => panic!("{error:?}"),
    };
    let there = store.thread(&graph).at(nested);
    unknown(there.state().await.unwrap_err(), nested);
    unknown(there.invoke(start()).await.unwrap_err(), nested);
    unknown(there.update_state_as(id("z"), Pad::update().notes(["x"])).await.unwrap_err(), nested);
    unknown(subgraph.clone().at(root).state().await.unwrap_err(), root);
    unknown(subgraph.at(root).update_state(Pad::update().notes(["x"])).await.unwrap_err(), root);
    assert_eq!(seen(&store, &graph).await, before);
}

#[rstest]
#[tokio::test]
async fn a_handle_on_a_subgraph_runs_and_deletes_nothing(#[values(Store::memory(), Store::disk())] store: Store) {
    let (graph, inside) = nested();
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = seen(&store, &graph).await;
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    let refused = [
        subgraph.invoke(start()).await.unwrap_err(),
        subgraph.proceed().await.unwrap_err(),
        subgraph.retry().await.unwrap_err(),
        subgraph.resume::<Approve>(true).await.unwrap_err(),
        subgraph.delete().await.unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, RunError::InvalidConfig { .. }), "{error:?}");
    }
    assert_eq!(seen(&store, &graph).await, before);
}

#[tokio::test]
async fn a_handle_on_a_subgraph_of_an_unknown_node_is_an_error() {
    let (store, (graph, inside)) = (Store::memory(), nested());
    store.thread(&graph).invoke(start()).await.unwrap();
    let error = store.thread(&graph).subgraph(&inside, ["zed"]).state().await.unwrap_err();
    assert!(matches!(&error, RunError::UnknownNode { node } if node == "zed"), "{error:?}");
}

#[tokio::test]
async fn a_handle_on_a_subgraph_has_the_status_of_the_subgraph() {
    let (store, (graph, inside)) = (Store::memory(), nested());
    store.thread(&graph).invoke(start()).await.unwrap();
    let status = store.thread(&graph).subgraph(&inside, ["s"]).status().await.unwrap();
    let Status::Interrupted { questions } = status else { panic!("{status:?}") };
    assert_eq!((questions.len(), questions[0].node(), questions[0].namespace()), (1, "ask", &["s".to_owned()][..]));
}

/// A subgraph with the same state: `c`, then a breakpoint before `e`, or a question.
fn edited(asks: bool) -> (Graph, Graph) {
    let inside = Builder::new().add_node(id("c"), note("c")).add_node(id("e"), note("e"));
    let inside = match asks {
        true => chain(inside.add_node(id("ask"), approval.asks::<Approve>()), &["c", "ask", "e"]),
        false => chain(inside.interrupt_before([id("e")]), &["c", "e"]),
    };
    let around = Builder::new().add_subgraph(id("s"), inside.clone()).add_node(id("z"), note("z"));
    (chain(around, &["s", "z"]), inside)
}

#[rstest]
#[tokio::test]
async fn an_update_inside_a_subgraph_reaches_the_parent_graph(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values("c", "e")] whom: &str,
) {
    let (graph, inside) = edited(false);
    store.thread(&graph).invoke(start()).await.unwrap();
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    subgraph.update_state_as(id(whom), Pad::update().title("edited").notes(["by hand"])).await.unwrap();
    subgraph.update_state_as(id("c"), Pad::update().notes(["again"])).await.unwrap();
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.title.as_str(), end.notes.join(" ")), ("edited", "c by hand again e z".into()));
}

#[rstest]
#[tokio::test]
async fn a_question_in_a_subgraph_is_asked_again_after_an_update(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (graph, inside) = edited(true);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let stale = outcome.questions()[0].id();
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    subgraph.update_state_as(id("c"), Pad::update().notes(["by hand"])).await.unwrap();
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(status, Status::Pending { .. }), "{status:?}");
    let error = store.thread(&graph).answer(Answer::new::<Approve>(&true).to(stale)).await.unwrap_err();
    assert!(matches!(&error, RunError::UnknownQuestion { .. }), "{error:?}");
    let again = store.thread(&graph).proceed().await.unwrap();
    assert_eq!(again.questions().len(), 1);
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "c by hand approved: true e z");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Hinted {
    #[channel(ephemeral)]
    hint: String,
    #[channel(append)]
    log: Vec<String>,
}

#[rstest]
#[case::at_once(false)]
#[case::after_a_stop(true)]
#[tokio::test]
async fn an_ephemeral_value_of_a_subgraph_is_not_returned(#[case] stops: bool) {
    let hint = |_: Arc<Hinted>, _: Ctx| async { Ok::<_, NodeError>(Hinted::update().hint("inner")) };
    let log = |seen: Arc<Hinted>, _: Ctx| async move { Ok::<_, NodeError>(Hinted::update().log([seen.hint.clone()])) };
    let names = ["hint", "log", "end"].map(id);
    let inside = StateGraph::<Hinted, superstep::graph::Name>::new().add_node(id("hint"), hint);
    let inside = inside.add_node(id("log"), log).add_node(id("end"), log).add_sequence(names);
    let inside = if stops { inside.interrupt_before([id("end")]) } else { inside }.compile().unwrap();
    let graph = StateGraph::new()
        .add_subgraph(id("s"), inside)
        .add_node(id("x"), |_: Arc<Hinted>, _: Ctx| async { Ok::<_, NodeError>(Hinted::update().hint("outer")) })
        .add_node(id("z"), log)
        .add_edge(START, [id("s"), id("x")])
        .add_edge([id("s"), id("x")], id("z"))
        .compile()
        .unwrap()
        .with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread("t");
    let mut end = thread.invoke(Hinted::update()).await.unwrap();
    if stops {
        end = thread.proceed().await.unwrap();
    }
    assert_eq!(end.finished().unwrap().log, ["inner", "", "outer"]);
}

#[rstest]
#[tokio::test]
async fn a_subgraph_that_was_moved_past_its_question_continues(#[values(Store::memory(), Store::disk())] store: Store) {
    let (graph, inside) = edited(true);
    store.thread(&graph).invoke(start()).await.unwrap();
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    subgraph.update_state_as(id("ask"), Pad::update().notes(["by hand"])).await.unwrap();
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "c by hand e z");
}

#[rstest]
#[tokio::test]
async fn an_update_inside_a_subgraph_survives_a_further_pause(#[values(Store::memory(), Store::disk())] store: Store) {
    let (graph, inside) = edited(true);
    store.thread(&graph).invoke(start()).await.unwrap();
    let subgraph = store.thread(&graph).subgraph(&inside, ["s"]);
    subgraph.update_state(Pad::update().title("edited").notes(["by hand"])).await.unwrap();
    store.thread(&graph).proceed().await.unwrap();
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!((end.title.as_str(), end.notes.join(" ")), ("edited", "c by hand approved: true e z".into()));
}

#[rstest]
#[tokio::test]
async fn each_superstep_of_updates_inside_reaches_the_parent_graph(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (graph, inside) = edited(true);
    let thread = || store.thread(&graph).durability(durability);
    thread().invoke(start()).await.unwrap();
    let subgraph = thread().subgraph(&inside, ["s"]).durability(durability);
    let update = |word: &'static str| vec![StateUpdate::new(Pad::update().notes([word])).as_node(id("c"))];
    subgraph.bulk_update([update("one"), update("two")]).await.unwrap();
    subgraph.update(StateUpdate::copy()).await.unwrap();
    thread().proceed().await.unwrap();
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "c one two approved: true e z");
}

#[rstest]
#[case::beside_a_question(true, "c approved: true more c e approved: true e z")]
#[case::at_a_stop(false, "c e more c e z")]
#[tokio::test]
async fn new_input_of_a_subgraph_keeps_its_earlier_changes(
    #[case] asks: bool,
    #[case] notes: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let (graph, inside) = edited(asks);
    let thread = || store.thread(&graph).durability(durability);
    thread().invoke(start()).await.unwrap();
    let subgraph = thread().subgraph(&inside, ["s"]);
    subgraph.update(StateUpdate::new(Pad::update().title("edited").notes(["more"])).as_input()).await.unwrap();
    let mut end = thread().proceed().await.unwrap();
    for _ in 0..4 {
        end = match end {
            Outcome::Interrupted(_) => thread().resume::<Approve>(true).await.unwrap(),
            Outcome::Stopped(_) => thread().proceed().await.unwrap(),
            end => end,
        };
    }
    let end = end.finished().unwrap();
    assert_eq!((end.title.as_str(), end.notes.join(" ").as_str()), ("edited", notes));
}
