//! Subgraphs: the values they return, the state they keep, and resuming inside them.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::graph::node::NodeOptions;
use superstep::graph::{Answer, Boxed, CallError, Persistence};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// `before` and `inside` (`c`, `d`, a question, `e`), then `after`.
fn around(tally: &Tally, persistence: Persistence) -> Graph {
    let builder = Builder::new().add_node(id("c"), tallied(tally, "c")).add_node(id("d"), tallied(tally, "d"));
    let builder = builder.add_node(id("ask"), approval.asks::<Approve>()).add_node(id("e"), tallied(tally, "e"));
    let inside = chain(builder, &["c", "d", "ask", "e"]).persistence(persistence);
    let builder = Builder::new().add_node(id("before"), note("before")).add_subgraph(id("inside"), inside);
    chain(builder.add_node(id("after"), note("after")), &["before", "inside", "after"])
}

#[rstest]
#[tokio::test]
async fn a_subgraph_with_the_same_state_returns_only_its_changes(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let tally = Tally::default();
    let thread = || store.thread(&around(&tally, persistence)).durability(durability);
    let outcome = thread().invoke(Pad::update().title("tides").notes(["input"])).await.unwrap();
    assert_eq!(outcome.questions()[0].namespace(), ["inside"]);
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["input", "before", "c", "d", "approved: true", "e", "after"]);
    assert_eq!(tally.names(), ["c", "d", "e"]);
}

#[tokio::test]
async fn a_stateless_subgraph_restarts_when_it_is_resumed() {
    let (tally, store) = (Tally::default(), Store::memory());
    let thread = || store.thread(&around(&tally, Persistence::Stateless));
    thread().invoke(start()).await.unwrap();
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["before", "c", "d", "approved: true", "e", "after"]);
    assert_eq!(tally.names(), ["c", "d", "c", "d", "e"]);
}

#[rstest]
#[tokio::test]
async fn a_question_of_a_later_attempt_is_asked_once(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
) {
    let tally = Tally::default();
    let flaky = move |_: Arc<Pad>, _: Ctx| {
        let first = tally.add("b") == 1;
        async move { if first { Err(NodeError::from("no")) } else { Ok(()) } }
    };
    let inside = Builder::new().add_node(id("b"), flaky).add_node(id("ask"), approval.asks::<Approve>());
    let inside = chain(inside, &["b", "ask"]).persistence(persistence);
    let child = inside.clone();
    let options = NodeOptions::default().retry(RetryPolicy::attempts(2).pause(Duration::ZERO));
    let graph = chain(Builder::new().add_subgraph_with(id("inside"), inside, options), &["inside"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let deep = store.thread(&graph).state_deep().await.unwrap().unwrap();
    assert!(deep.tasks[0].state.iter().all(|inside| inside.next == ["ask"]), "{deep:?}");
    let handle = store.thread(&graph).subgraph(&child, ["inside"]).state().await.unwrap();
    assert!(handle.iter().all(|inside| inside.next == ["ask"]), "{handle:?}");
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["approved: true"]);
}

/// A node that asks, then calls a graph that asks, then asks and calls again.
fn asking_between_calls(persistence: Persistence) -> Graph {
    let asking = Builder::new().add_node(id("c"), approval.asks::<Approve>());
    let inside = chain(asking, &["c"]).persistence(persistence);
    let child = inside.clone();
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let child = child.clone();
        async move {
            let mut answers = vec![];
            for _ in 0..2 {
                answers.push(format!("own: {}", ctx.interrupt(Approve)?));
                answers.extend(ctx.call(&child, start()).await?.notes.clone());
            }
            Ok::<_, NodeError>(Pad::update().notes(answers))
        }
    };
    chain(Builder::new().add_node(id("a"), body.asks::<Approve>()).calls(&id("a"), &inside), &["a"])
}

#[rstest]
#[tokio::test]
async fn each_question_of_a_node_and_of_its_called_graphs_takes_its_own_answer(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
) {
    let thread = || store.thread(&asking_between_calls(persistence));
    thread().invoke(start()).await.unwrap();
    for answer in [true, false, false] {
        assert_eq!(thread().resume::<Approve>(answer).await.unwrap().questions().len(), 1);
    }
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["own: true", "approved: false", "own: false", "approved: true"]);
}

#[rstest]
#[tokio::test]
async fn questions_inside_a_subgraph_may_be_answered_in_any_order(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
) {
    let ask = |_: Arc<Pad>, ctx: Ctx| async move {
        let name = ctx.interrupt(Rename { from: "a".into() })?;
        Ok::<_, NodeError>(Pad::update().notes([format!("{}: {name}", ctx.node())]))
    };
    let asking = Builder::new().add_node(id("x"), ask.asks::<Rename>()).add_node(id("y"), ask.asks::<Rename>());
    let inside = fan(asking, &["x", "y"]).persistence(persistence);
    let graph = chain(Builder::new().add_subgraph(id("inside"), inside), &["inside"]);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let second = Answer::new::<Rename>(&"for y".into()).to(outcome.questions()[1].id());
    assert_eq!(store.thread(&graph).answer(second).await.unwrap().questions().len(), 1);
    let end = store.thread(&graph).resume::<Rename>("for x".into()).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["x: for x", "y: for y"]);
}

#[rstest]
#[tokio::test]
async fn concurrently_called_graphs_interrupt_together(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
) {
    let inside = chain(Builder::new().add_node(id("c"), approval.asks::<Approve>()), &["c"]).persistence(persistence);
    let child = inside.clone();
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let child = child.clone();
        async move {
            let (one, two) = tokio::join!(ctx.call(&child, start()), ctx.call(&child, start()));
            Ok::<_, NodeError>(Pad::update().notes([one?.notes.join(" "), two?.notes.join(" ")]))
        }
    };
    let graph = chain(Builder::new().add_node(id("a"), body).calls(&id("a"), &inside), &["a"]);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(
        outcome.questions().iter().map(|question| question.namespace().join(" ")).collect::<Vec<_>>(),
        ["a", "a #1"]
    );
    let second = Answer::new::<Approve>(&false).to(outcome.questions()[1].id());
    assert_eq!(store.thread(&graph).answer(second).await.unwrap().questions().len(), 1);
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["approved: true", "approved: false"]);
}

#[tokio::test]
async fn questions_of_concurrent_calls_come_in_the_order_of_the_calls() {
    let late = |pad: Arc<Pad>, ctx: Ctx| async move {
        for _ in 0..pad.sum {
            tokio::task::yield_now().await;
        }
        let approved = ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(Pad::update().notes([format!("{approved}")]))
    };
    let inside = chain(Builder::new().add_node(id("c"), late.asks::<Approve>()), &["c"]);
    let child = inside.clone();
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let child = child.clone();
        async move {
            let calls = [3, 2, 1].map(|count| ctx.call(&child, Pad::update().sum(count)));
            let ended = futures::future::join_all(calls).await;
            ended.into_iter().try_for_each(|ended| ended.map(drop))?;
            Ok::<_, NodeError>(())
        }
    };
    let graph = chain(Builder::new().add_node(id("a"), body).calls(&id("a"), &inside), &["a"]);
    let outcome = Store::memory().thread(&graph).invoke(start()).await.unwrap();
    let namespaces: Vec<String> = outcome.questions().iter().map(|question| question.namespace().join(" ")).collect();
    assert_eq!(namespaces, ["a", "a #1", "a #2"]);
}

#[rstest]
#[tokio::test]
async fn an_answer_reaches_a_persisted_subgraph_in_one_that_is_not(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let passing = chain(Builder::new().add_node(id("b"), note("b")), &["b"]).persistence(Persistence::Stateless);
    let asking = chain(Builder::new().add_node(id("c"), approval.asks::<Approve>()), &["c"]);
    let (first, second) = (passing, asking.clone());
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let (first, second) = (first.clone(), second.clone());
        async move {
            ctx.call(&first, start()).await?;
            Ok::<_, NodeError>(Pad::update().notes(ctx.call(&second, start()).await?.notes.clone()))
        }
    };
    let graph = chain(Builder::new().add_node(id("a"), body).calls(&id("a"), &asking), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["approved: true"]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_in_a_stateless_subgraph_repeats_no_question() {
    let (tally, store) = (Tally::default(), Store::memory());
    let runs = tally.clone();
    let flaky = move |_: Arc<Pad>, ctx: Ctx| {
        let runs = runs.clone();
        async move {
            let approved = ctx.interrupt(Approve)?;
            if runs.add("asked") == 1 {
                Err(NodeError::from("no"))
            } else {
                Ok(Pad::update().notes([format!("{approved}")]))
            }
        }
    };
    let flaky = flaky.asks::<Approve>().retry(RetryPolicy::attempts(2));
    let inside = chain(Builder::new().add_node(id("c"), flaky), &["c"]).persistence(Persistence::Stateless);
    let graph = chain(Builder::new().add_subgraph(id("inside"), inside), &["inside"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["true"]);
}

/// A node whose body gets a graph that fails with its title.
fn over_failures(body: impl Fn(Graph, Ctx) -> Boxed<'static, Ended> + Send + Sync + 'static) -> Graph {
    let fails = |pad: Arc<Pad>, _: Ctx| async move { Err::<PadUpdate, _>(NodeError::from(pad.title.clone())) };
    let inside = chain(Builder::new().add_node(id("c"), fails), &["c"]);
    let child = inside.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| body(child.clone(), ctx);
    chain(Builder::new().add_node(id("a"), node.asks::<Approve>()).calls(&id("a"), &inside), &["a"])
}

#[rstest]
#[tokio::test]
async fn a_node_whose_subgraph_failed_may_interrupt(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = over_failures(|child, ctx| {
        Box::pin(async move {
            let Err(CallError::Failed(_)) = ctx.call(&child, start()).await else {
                return Err("it did not fail".into());
            };
            Ok(Pad::update().notes([format!("go on: {}", ctx.interrupt(Approve)?)]))
        })
    });
    assert_eq!(store.thread(&graph).invoke(start()).await.unwrap().questions()[0].node(), "a");
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!(end.finished().unwrap().notes, ["go on: true"]);
}

#[rstest]
#[case::passed_on(NodeError::from, "node `c` in the subgraph `a/#1` failed in superstep 1: two")]
#[case::as_another_type(|error: CallError| NodeError::from(error.to_string()), "node `c` in the subgraph `a/#1` failed in superstep 1: two")]
#[case::in_other_words(|_| NodeError::from("no luck"), "node `a` failed in superstep 1: no luck")]
#[tokio::test]
async fn a_node_fails_with_the_error_of_a_subgraph_if_it_returns_it(
    #[case] pass_on: fn(CallError) -> NodeError,
    #[case] text: &str,
) {
    let graph = over_failures(move |child, ctx| {
        Box::pin(async move {
            let _ = ctx.call(&child, Pad::update().title("one")).await;
            let two = ctx.call(&child, Pad::update().title("two")).await.map_err(pass_on)?;
            Ok(Pad::update().notes(two.notes.clone()))
        })
    });
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), text);
}

/// A body that calls a graph twice and notes the number of notes that each call ended with.
fn caller(persistence: Persistence) -> Graph {
    let inside = chain(Builder::new().add_node(id("c"), note("c")), &["c"]).persistence(persistence);
    let child = inside.clone();
    let call = move |_: Arc<Pad>, ctx: Ctx| {
        let child = child.clone();
        async move {
            let first = ctx.call(&child, start()).await?.notes.len();
            let second = ctx.call(&child, start()).await?.notes.len();
            Ok::<_, NodeError>(Pad::update().notes([format!("{first} {second}")]))
        }
    };
    chain(Builder::new().add_node(id("a"), call).calls(&id("a"), &inside), &["a"])
}

#[rstest]
#[case::inherit(Persistence::Inherit, &["1 1", "1 1"])]
#[case::per_thread(Persistence::PerThread, &["1 1", "2 2"])]
#[case::stateless(Persistence::Stateless, &["1 1", "1 1"])]
#[tokio::test]
async fn a_called_graph_keeps_earlier_turns_only_if_it_is_persisted_per_thread(
    #[case] persistence: Persistence,
    #[case] notes: &[&str],
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    store.thread(&caller(persistence)).invoke(start()).await.unwrap();
    let end = store.thread(&caller(persistence)).invoke(start()).await.unwrap();
    assert_eq!(end.state().notes, notes);
    let other = caller(persistence).with_shared_checkpointer(Arc::clone(&store.store)).thread("other");
    assert_eq!(other.invoke(start()).await.unwrap().state().notes, ["1 1"]);
}

#[tokio::test]
async fn a_failure_inside_names_the_inner_node_and_only_it_runs_again() {
    let (tally, store) = (Tally::default(), Store::memory());
    let graph = |bad: bool| {
        let fails = move |_: Arc<Pad>, _: Ctx| async move {
            if bad { Err(NodeError::from("no")) } else { Ok(Pad::update().notes(["d"])) }
        };
        let builder = Builder::new().add_node(id("c"), tallied(&tally, "c")).add_node(id("d"), fails);
        let builder = Builder::new().add_subgraph(id("inside"), chain(builder, &["c", "d"]));
        chain(builder, &["inside"])
    };
    let error = store.thread(&graph(true)).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `d` in the subgraph `inside` failed in superstep 2: no");
    let end = store.thread(&graph(false)).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.count()), ("c d".into(), 1));
}

#[tokio::test]
async fn a_subgraph_passes_a_command_to_its_parent_graph() {
    let up = |_: Arc<Pad>, _: Ctx| async {
        let command: Command<Pad, superstep::graph::Name> = Command::update(Pad::update().notes(["up"])).goto(id("z"));
        Ok::<_, NodeError>(Command::<Pad, superstep::graph::Name>::parent(command))
    };
    let inside = chain(Builder::new().add_node(id("c"), note("c")).add_node(id("up"), up), &["c", "up"]);
    let builder = Builder::new().add_subgraph(id("inside"), inside).add_node(id("z"), note("z"));
    let graph = builder.add_edge(START, id("inside")).compile().unwrap();
    assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["up", "z"]);
}

#[tokio::test]
async fn a_drawing_marks_next_and_interrupted_nodes_at_every_depth() {
    let store = Store::memory();
    let thread = store.thread(&around(&Tally::default(), Persistence::Inherit));
    assert!(!thread.mermaid(1).await.unwrap().contains("class "), "nothing ran");
    thread.invoke(start()).await.unwrap();

    let marks = |drawing: String| {
        let marks = drawing.lines().filter(|line| line.contains("class ") || line.contains("? "));
        marks.map(str::trim).collect::<Vec<_>>().join("\n")
    };

    insta::assert_snapshot!(marks(thread.mermaid(0).await.unwrap()), @r#"
    n_inside["inside<br/>? approve"]
    class n_inside asking
    class n_inside next
    "#);
    insta::assert_snapshot!(marks(thread.mermaid(1).await.unwrap()), @r#"
    n_inside_ask["ask<br/>? approve"]
    class n_inside_ask asking
    class n_inside,n_inside_ask next
    "#);
    thread.resume::<Approve>(true).await.unwrap();
    assert_eq!(marks(thread.mermaid(1).await.unwrap()), "");
}

/// A subgraph whose node `c` writes, and whose node `up` hands a command to the graph around it.
fn handing_up(persistence: Persistence, is_mapped: bool) -> Graph {
    let up = |_: Arc<Pad>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        let command: Command<Pad, superstep::graph::Name> = Command::update(Pad::update().notes(["up"])).goto(id("z"));
        Ok::<_, NodeError>(Command::<Pad, superstep::graph::Name>::parent(command))
    };
    let nodes = Builder::new().add_node(id("c"), note("c")).add_node(id("up"), up.asks::<Approve>());
    let inside = chain(nodes, &["c", "up"]).persistence(persistence);
    let builder = Builder::new().add_node(id("z"), note("z"));
    let builder = match is_mapped {
        true => builder.add_subgraph(id("inside"), inside.mapped(|_: &Pad| start(), |_: &Pad| Pad::update())),
        false => builder.add_subgraph(id("inside"), inside),
    };
    builder.add_edge(START, id("inside")).compile().unwrap()
}

#[rstest]
#[tokio::test]
async fn a_task_that_hands_a_command_up_ends_and_names_what_is_dropped(
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
    #[values(true, false)] is_mapped: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = || store.thread(&handing_up(persistence, is_mapped));
    thread().invoke(start()).await.unwrap();
    let mut events = thread().stream_deep(Request::answers([Answer::new::<Approve>(&true)]), [Mode::Tasks]);
    let (mut running, mut dropped) = (vec![], vec![]);
    while let Some(event) = events.next().await {
        let Some(task) = event.task else { continue };
        let (node, path) = (task.node, task.path);
        match event.kind {
            EventKind::TaskStart { .. } => running.push(path),
            EventKind::TaskEnd { dropped: channels, error, .. } => {
                running.retain(|known| *known != path);
                dropped.extend(channels.into_iter().map(|channel| format!("{node}: {channel}, {error:?}")));
            }
            _ => {}
        }
    }
    let end = events.outcome().await.unwrap().finished().unwrap();
    assert_eq!((running, dropped), (vec![], vec!["up: notes, None".to_owned()]));
    assert_eq!(end.notes, ["up", "z"]);
}
