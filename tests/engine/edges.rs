//! The targets of edges, and the errors of `compile` for edges without one.

use std::sync::Arc;

use superstep::prelude::*;

use crate::pad::{Builder, Ended, Pad, id, note, start};

#[derive(NodeId)]
enum Step {
    Plan,
    Search,
    Write,
}

const SEARCH: Worker<Step, u32> = Worker::new(Step::Search);

async fn search(query: Arc<u32>, _: Ctx) -> Ended {
    Ok(Pad::update().notes([format!("found {query}")]))
}

fn nodes() -> StateGraph<Pad, Step> {
    let nodes = StateGraph::new().add_node(Step::Plan, note("plan")).add_worker(SEARCH, search);
    nodes.add_node(Step::Write, note("write"))
}

#[tokio::test]
async fn an_edge_to_sends_starts_the_worker_with_each_payload() {
    let to_both = Target::Many(vec![SEARCH.each([1, 2]).into(), Step::Write.into()]);
    let graph = nodes().add_edge(START, Step::Plan).add_edge(Step::Plan, to_both).compile().unwrap();
    assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["plan", "write", "found 1", "found 2"]);

    let graph = nodes().add_edge(START, SEARCH.each([3])).add_sequence([Step::Plan, Step::Write]).compile().unwrap();
    assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["plan", "found 3", "write"]);
}

#[test]
fn a_join_needs_two_sources_that_differ_and_a_node() {
    let graph = nodes().add_edge(START, [Step::Plan, Step::Write]);
    let graph =
        graph.add_edge([Step::Plan, Step::Plan], Step::Write).add_edge([Step::Plan, Step::Write], SEARCH.each([1]));
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    the join into `Write` has fewer than two sources
     help: write `.add_edge(<source>, Write)`, or name the other sources
    error: an edge leads from `[Plan, Write]` to `Search`, which only a send of `u32` can start
     help: send to `Search` from a router, or add it with `.add_node` as a node over the state
    ");
}

#[test]
fn warnings_are_reported_with_problems() {
    let graph = nodes().add_edge(START, Step::Plan).add_edge([Step::Plan], Step::Write).input_channels(["titel"]);
    insta::assert_snapshot!(graph.compile().unwrap_err(), @r"
    the join into `Write` has fewer than two sources
     help: write `.add_edge(<source>, Write)`, or name the other sources
    error: nothing leads to node `Search`
     help: add an edge to `Search`, declare the command that goes there with `.goes_to(Search)`, or remove it
    error: the state has no channel `titel`
     help: use the name of a field of the state
    ");
}

#[test]
fn a_name_that_the_engine_reserves_is_refused() {
    for name in ["", "a|b", "a:b", "a/b", "a#1", "a\0b", "a\nb", "\u{1b}[2J", "a\u{9b}", "__mine"] {
        let problems = Builder::new().add_node(id(name), note("a")).add_sequence([id(name)]).compile().unwrap_err();
        let message = problems.problems()[0].to_string();
        assert_eq!(message, format!("`{}` cannot be the name of a node", name.escape_default()));
    }
    Builder::new().add_node(id("ümläut € _1"), note("a")).add_sequence([id("ümläut € _1")]).compile().unwrap();
}
