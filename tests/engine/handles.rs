//! Handles on subgraphs: what they read and update, and what is only for the handle on the whole thread.

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
async fn a_checkpoint_of_a_subgraph_is_none_of_the_thread(#[values(Store::memory(), Store::disk())] store: Store) {
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
async fn a_handle_on_a_subgraph_tells_how_the_subgraph_stands() {
    let (store, (graph, inside)) = (Store::memory(), nested());
    store.thread(&graph).invoke(start()).await.unwrap();
    let status = store.thread(&graph).subgraph(&inside, ["s"]).status().await.unwrap();
    let Status::Interrupted { questions } = status else { panic!("{status:?}") };
    assert_eq!((questions.len(), questions[0].node(), questions[0].namespace()), (1, "ask", &["s".to_owned()][..]));
}
