//! What edges lead to, and what `compile` says of those that lead nowhere.

use std::sync::Arc;

use superstep::prelude::*;

use crate::pad::{Ended, Pad, note, start};

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
