//! Graphs that nodes call, and their questions in the calling graph.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use superstep::graph::Persistence;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// Another question under a name that is already used.
#[derive(Serialize, Deserialize)]
struct ApproveInWords;
impl Interrupt for ApproveInWords {
    type Resume = String;
    const NAME: &'static str = "approve";
}

async fn in_words(_: Arc<Pad>, ctx: Ctx) -> Ended {
    Ok(Pad::update().notes([ctx.interrupt(ApproveInWords)?]))
}

fn asking() -> Graph {
    chain(Builder::new().add_node(id("c"), approval.asks::<Approve>()), &["c"])
}

fn asking_in_words() -> Graph {
    chain(Builder::new().add_node(id("c"), in_words.asks::<ApproveInWords>()), &["c"])
}

fn silent() -> Graph {
    chain(Builder::new().add_node(id("d"), note("d")), &["d"])
}

/// A node that calls graphs, one after the other, and notes their notes.
fn calling(graphs: &[Graph]) -> impl Fn(Arc<Pad>, Ctx) -> superstep::graph::Boxed<'static, Ended> + Clone + use<> {
    let graphs = graphs.to_vec();
    move |_, ctx| {
        let graphs = graphs.clone();
        Box::pin(async move {
            let mut notes = vec![];
            for graph in &graphs {
                notes.extend(ctx.call(graph, start()).await?.notes.clone());
            }
            Ok(Pad::update().notes(notes))
        })
    }
}

/// Node `a` calls graphs, of which the first `declared` are declared.
fn caller(graphs: &[Graph], declared: usize) -> Graph {
    let builder = Builder::new().add_node(id("a"), calling(graphs));
    chain(graphs[..declared].iter().fold(builder, |builder, graph| builder.calls(&id("a"), graph)), &["a"])
}

#[test]
fn two_types_of_one_question_are_refused_at_any_depth() {
    let deep = chain(Builder::new().add_subgraph(id("s"), caller(&[silent(), asking_in_words()], 2)), &["s"]);
    let graph = Builder::new().add_node(id("a"), approval.asks::<Approve>()).add_subgraph(id("s"), deep);

    insta::assert_snapshot!(graph.add_sequence([id("s"), id("a")]).compile().unwrap_err(), @r"
    the questions `Approve` and `ApproveInWords` are both named `approve`
     help: give each question type its own `NAME`
    ");
}

#[tokio::test]
async fn an_answer_is_checked_by_the_node_that_asked() {
    let builder = Builder::new().add_node(id("a"), calling(&[asking_in_words()]));
    let graph = chain(builder.add_node(id("b"), approval.asks::<Approve>()), &["a", "b"]);
    let store = Store::memory();
    let thread = store.thread(&graph);

    thread.invoke(start()).await.unwrap();
    thread.resume::<ApproveInWords>("yes".into()).await.unwrap();
    let refused = thread.resume::<ApproveInWords>("no".into()).await.unwrap_err();

    assert!(matches!(refused, RunError::MistypedAnswer { .. }), "{refused}");
    assert_eq!(thread.resume::<Approve>(true).await.unwrap().state().notes, ["yes", "approved: true"]);
}

#[tokio::test]
async fn each_graph_that_a_node_calls_is_declared() {
    for graphs in [[asking(), silent()], [silent(), asking()]] {
        let graph = caller(&graphs, 2);
        let refused = graph.invoke(start()).await.unwrap_err().to_string();
        assert_eq!(refused, "a graph that can ask questions needs a checkpointer");

        let store = Store::memory();
        let thread = store.thread(&graph);
        thread.invoke(start()).await.unwrap();
        let refused = thread.answer(Answer::json(&json!("not a bool"))).await.unwrap_err();
        assert!(matches!(refused, RunError::MistypedAnswer { .. }), "{refused}");
        assert_eq!(thread.resume::<Approve>(true).await.unwrap().state().notes.len(), 2);
    }
}

#[tokio::test]
async fn the_state_of_the_waiting_called_graph_is_shown() {
    let waiting = chain(Builder::new().add_node(id("e"), approval.asks::<Approve>()), &["e"]);
    for declared in [[silent(), waiting.clone()], [waiting.clone(), silent()]] {
        let builder =
            Builder::new().calls(&id("a"), &declared[0]).add_node(id("a"), calling(std::slice::from_ref(&waiting)));
        let store = Store::memory();
        let thread = store.thread(&chain(builder.calls(&id("a"), &declared[1]), &["a"]));

        thread.invoke(start()).await.unwrap();

        let shown = thread.state_deep().await.unwrap().unwrap();
        assert_eq!(shown.tasks[0].state.as_ref().unwrap().next, ["e"]);
    }
}

#[test]
fn a_graph_cannot_be_called_from_an_unknown_node() {
    let graph = Builder::new().add_node(id("a"), note("a")).calls(&id("b"), &asking()).add_sequence([id("a")]);

    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    a graph is called from `b`, which is not a node
     help: add the node `b`, or correct the name
    ");
}

#[tokio::test]
async fn an_unanswerable_question_is_an_error_even_if_undeclared() {
    let refused = caller(&[asking()], 0).invoke(start()).await.unwrap_err().to_string();
    assert_eq!(refused, "a graph that asks a question needs a checkpointer");
}

#[rstest]
#[case::asks("ask", 1)]
#[case::fails("fail", 1)]
#[case::tries_again_and_asks("fail once", 2)]
#[tokio::test]
async fn a_called_graph_that_ended_does_not_run_again_when_its_body_resumes(
    #[case] then: &'static str,
    #[case] runs: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let (tally, bodies) = (Tally::default(), Tally::default());
    let called = chain(Builder::new().add_node(id("c"), tallied(&tally, "c")), &["c"]).persistence(persistence);
    let (child, again) = (called.clone(), bodies.clone());
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let (child, run) = (child.clone(), again.add("a"));
        async move {
            let notes = ctx.call(&child, start()).await?.notes.clone();
            match then {
                "fail" if run == 1 => return Err(NodeError::permanent("no")),
                "fail once" if run == 1 => return Err("no".into()),
                "fail" => {}
                _ => drop(ctx.interrupt(Approve)?),
            }
            Ok(Pad::update().notes(notes))
        }
    };
    let body = body.asks::<Approve>().retry(RetryPolicy::attempts(2).pause(Duration::ZERO));
    let graph = chain(Builder::new().add_node(id("a"), body).calls(&id("a"), &called), &["a"]);
    let thread = || store.thread(&graph).durability(durability);
    let end = match thread().invoke(start()).await {
        Ok(outcome) => {
            assert_eq!(outcome.questions().len(), 1);
            thread().resume::<Approve>(true).await
        }
        Err(_) => thread().proceed().await,
    };
    // as in LangGraph, a failure then keeps only the results of its siblings
    let lost = then == "fail" && durability == Durability::Exit && persistence == Persistence::Inherit;
    let runs = if lost { runs + 1 } else { runs };
    assert_eq!((end.unwrap().finished().unwrap().notes.join(" "), tally.count()), ("c".into(), runs));
}
