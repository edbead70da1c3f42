//! Fan-outs by sends, and the nodes that wait for them.

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

/// As in LangGraph: pending sends do not hold back a deferred node.
#[rstest]
#[case::only_the_workers_lead_to_it(graph(), &["the sum is 6"])]
#[case::another_edge_leads_to_it(graph().add_edge(Step::Plan, Step::Sum), &["the sum is 0", "the sum is 6"])]
#[tokio::test]
async fn a_deferred_node_waits_for_workers_that_are_its_only_sources(
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
        .add_conditional_edges_to(Step::Plan, chosen, DeclaredTargets::from(Step::Sum).or(WORK))
        .compile()
        .unwrap();
    let none = graph.invoke(Pad::update()).await.unwrap();
    let one = graph.invoke(Pad::update().title("tides")).await.unwrap();
    assert_eq!((none.state().notes.len(), one.state().notes.len()), (0, 1));
}

fn fan_out_or_sum(pad: &Pad) -> Sends<Step> {
    WORK.each((0..u32::from(pad.title == "some")).collect::<Vec<_>>()).empty(Step::Sum)
}

fn unconnected() -> StateGraph<Pad, Step> {
    StateGraph::new()
        .add_node(Step::Plan, plan)
        .add_worker(WORK, work)
        .add_node(Step::Sum, sum)
        .add_edge(START, Step::Plan)
}

#[rstest]
#[case::nothing_to_send("none", &["the sum is 0"])]
#[case::something_to_send("some", &[])]
#[tokio::test]
async fn an_empty_list_of_sends_has_its_own_target(#[case] title: &str, #[case] notes: &[&str]) {
    let graph =
        unconnected().add_conditional_edges_to(Step::Plan, fan_out_or_sum, (WORK, Step::Sum)).compile().unwrap();
    let outcome = graph.invoke(Pad::update().title(title)).await.unwrap();
    assert_eq!(outcome.state().notes, notes);
}

#[derive(Route)]
enum AfterPlan {
    #[to(WORK.each(numbers).empty(Step::Sum))]
    Work { numbers: Vec<u32> },
}

/// The outcomes are listed with default values, so the list of sends is empty: both targets are known all the same.
#[tokio::test]
async fn the_edges_of_an_outcome_hold_its_sends_and_the_target_for_none() {
    let route = |_: &Pad| AfterPlan::Work { numbers: vec![] };
    let graph = unconnected().add_conditional_edges(Step::Plan, route).compile().unwrap();
    let outcome = graph.invoke(Pad::update()).await.unwrap();
    assert_eq!(outcome.state().notes, ["the sum is 0"]);
    let drawn = graph.mermaid(0);
    let edges: Vec<&str> = drawn.lines().map(str::trim).filter(|line| line.starts_with("n_Plan ")).collect();
    assert_eq!(edges, [r#"n_Plan ==>|"Work: each"| n_Work"#, r#"n_Plan -.->|"Work"| n_Sum"#]);
}

#[rstest]
#[case::none(vec![], &["the sum is 0"])]
#[case::one(vec![5], &[])]
#[tokio::test]
async fn an_edge_without_sends_leads_to_the_target_for_none(#[case] numbers: Vec<u32>, #[case] notes: &[&str]) {
    let graph = unconnected().add_edge(Step::Plan, WORK.each(numbers).empty(Step::Sum)).allow(Lint::Unreachable);
    let outcome = graph.compile().unwrap().invoke(Pad::update()).await.unwrap();
    assert_eq!(outcome.state().notes, notes);
}
