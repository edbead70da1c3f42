//! Fan-outs by sends, and what waits for them.

use std::sync::Arc;

use rstest::rstest;
use superstep::prelude::*;

use crate::pad::*;

#[derive(NodeId)]
enum Step {
    Plan,
    Work,
    Sum,
}

const WORK: Worker<Step, u32> = Worker::new(Step::Work);

async fn plan(_: Arc<Pad>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}
async fn work(number: Arc<u32>, _: Ctx) -> Result<PadUpdate, NodeError> {
    Ok(Pad::update().sum(i64::from(*number)))
}
async fn sum(pad: Arc<Pad>, _: Ctx) -> Result<PadUpdate, NodeError> {
    Ok(Pad::update().notes([format!("the sum is {}", pad.sum)]))
}

fn fan_out(_: &Pad) -> Sends<Step> {
    WORK.each([1, 2, 3])
}

fn graph() -> StateGraph<Pad, Step> {
    StateGraph::new()
        .add_node(Step::Plan, plan)
        .add_worker(WORK, work)
        .add_node(Step::Sum, sum.defer())
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, fan_out, WORK)
        .add_edge(Step::Work, Step::Sum)
}

/// As in LangGraph: sends that are to run do not hold a deferred node back.
#[rstest]
#[case::only_the_workers_lead_to_it(graph(), &["the sum is 6"])]
#[case::another_edge_leads_to_it(graph().add_edge(Step::Plan, Step::Sum), &["the sum is 0", "the sum is 6"])]
#[tokio::test]
async fn a_deferred_node_waits_for_workers_that_alone_lead_to_it(
    #[case] graph: StateGraph<Pad, Step>,
    #[case] notes: &[&str],
) {
    let outcome = graph.compile().unwrap().invoke(Pad::update()).await.unwrap();
    assert_eq!(outcome.state().notes, notes);
}

#[tokio::test]
async fn a_router_may_choose_any_number_of_nodes() {
    let chosen = |pad: &Pad| if pad.title.is_empty() { vec![] } else { vec![Step::Sum] };
    let graph = || StateGraph::new().add_node(Step::Plan, plan).add_node(Step::Sum, sum).add_worker(WORK, work);
    let graph = graph()
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, chosen, Declared::from(Step::Sum).or(WORK))
        .compile()
        .unwrap();
    let none = graph.invoke(Pad::update()).await.unwrap();
    let one = graph.invoke(Pad::update().title("tides")).await.unwrap();
    assert_eq!((none.state().notes.len(), one.state().notes.len()), (0, 1));
}
