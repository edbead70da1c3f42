//! The subgraph of a node that is shown and updated, of several that the node runs.

use std::sync::Arc;

use futures::future::join_all;
use rstest::rstest;
use superstep::graph::{Name, Persistence};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A graph that notes its title, and asks first if the title is `asks`.
fn by_title() -> Graph {
    let body = |pad: Arc<Pad>, ctx: Ctx| async move {
        if pad.title == "asks" {
            ctx.interrupt(Approve)?;
        }
        Ok::<_, NodeError>(Pad::update().notes([pad.title.clone()]))
    };
    chain(Builder::new().add_node(id("c"), note("c")).add_node(id("d"), body.asks::<Approve>()), &["c", "d"])
}

/// A node `a` that calls a graph for each of these titles concurrently.
fn calling(titles: &'static [&'static str]) -> (Graph, Graph) {
    let child = by_title();
    let call = child.clone();
    let calls = move |_: Arc<Pad>, ctx: Ctx| {
        let call = call.clone();
        async move {
            let all = join_all(titles.iter().map(|title| ctx.call(&call, Pad::update().title(*title)))).await;
            let notes = all.into_iter().map(|one| Ok(one?.notes.join(" "))).collect::<Result<Vec<_>, NodeError>>();
            Ok::<_, NodeError>(Pad::update().notes(notes?))
        }
    };
    (chain(Builder::new().add_node(id("a"), calls).calls(&id("a"), &child), &["a"]), child)
}

/// A worker `a` that calls the graph, sent once for each title.
fn working(titles: &'static [&'static str]) -> (Graph, Graph) {
    let child = by_title();
    let call = child.clone();
    let work = || Worker::<Name, String>::new(id("a"));
    let body = move |title: Arc<String>, ctx: Ctx| {
        let call = call.clone();
        async move {
            let ended = ctx.call(&call, Pad::update().title(&*title)).await?;
            Ok::<_, NodeError>(Pad::update().notes([ended.notes.join(" ")]))
        }
    };
    let builder = Builder::new().add_node(id("plan"), |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) });
    let builder = builder.add_worker(work(), body).calls(&id("a"), &child).add_edge(START, id("plan"));
    let fan_out = move |_: &Pad| work().each(titles.iter().map(ToString::to_string));
    let graph = builder.add_conditional_edges_to(id("plan"), fan_out, Worker::<Name, String>::new(id("a")));
    (graph.compile().unwrap(), child)
}

#[rstest]
#[case::the_first(&["asks", "two", "three"])]
#[case::the_second(&["one", "asks", "three"])]
#[case::the_last(&["one", "two", "asks"])]
#[tokio::test]
async fn the_waiting_one_of_several_subgraphs_is_shown_and_updated(
    #[case] titles: &'static [&'static str],
    #[values(calling, working)] graph: fn(&'static [&'static str]) -> (Graph, Graph),
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (graph, child) = graph(titles);
    store.thread(&graph).invoke(start()).await.unwrap();

    let deep = store.thread(&graph).state_deep().await.unwrap().unwrap();
    let waits = deep.tasks.iter().find(|task| !task.questions.is_empty()).unwrap();
    assert_eq!(waits.state.as_ref().unwrap().next, ["d"]);
    let inside = store.thread(&graph).subgraph(&child, ["a"]);
    let shown = inside.state().await.unwrap().unwrap();
    assert_eq!((shown.next.join(" "), shown.values.title.as_str()), ("d".into(), "asks"));
    assert!(matches!(inside.status().await.unwrap(), Status::Interrupted { .. }));
    inside.update_state_as(id("d"), Pad::update().notes(["by hand"])).await.unwrap();

    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    let notes = titles.iter().map(|title| format!("c {}", if *title == "asks" { "by hand" } else { title }));
    assert_eq!(end.notes, notes.collect::<Vec<_>>());
}

#[rstest]
#[tokio::test]
async fn updating_one_of_several_subgraphs_closes_only_its_question(
    #[values(calling, working)] graph: fn(&'static [&'static str]) -> (Graph, Graph),
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (graph, child) = graph(&["asks", "asks"]);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let inside = store.thread(&graph).subgraph(&child, ["a"]);
    inside.update_state_as(id("d"), Pad::update().notes(["by hand"])).await.unwrap();

    let Status::Interrupted { questions } = store.thread(&graph).status().await.unwrap() else {
        panic!("none is open")
    };
    assert_eq!((questions.len(), questions[0].id()), (1, outcome.questions()[1].id()));
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["c by hand", "c asks"]);
}

#[rstest]
#[tokio::test]
async fn after_a_handler_starts_its_called_graphs_are_shown_and_updated(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let (graph, secondary) = fallback(&Tally::default(), persistence);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();

    let deep = store.thread(&graph).state_deep().await.unwrap().unwrap();
    let inside = store.thread(&graph).subgraph(&secondary, ["a"]);
    let shown = inside.state().await.unwrap().unwrap();
    assert_eq!((shown.next.join(" "), shown.values.notes.join(" ")), ("ask".into(), "b".into()));
    assert_eq!(deep.tasks[0].state.as_ref().unwrap().id, shown.id);
    inside.update_state_as(id("ask"), Pad::update().notes(["by hand"])).await.unwrap();

    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "b by hand");
}
