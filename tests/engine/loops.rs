//! Loops: `compile()` refuses those that no run could leave, and no loop with a way out.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::{DeclaredTargets, Failure};
use superstep::prelude::*;

use crate::pad::*;

#[derive(NodeId)]
enum Step {
    A,
    B,
    C,
}

type Loop = StateGraph<Pad, Step>;

async fn nothing(_: Arc<Pad>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

async fn give_up(_: Arc<Pad>, _: Failure, _: Ctx) -> Result<Command<Pad, Step>, NodeError> {
    Ok(Command::to(Step::C))
}

fn either(_: &Pad) -> Step {
    Step::C
}

fn rest(graph: Loop) -> Loop {
    graph.add_node(Step::B, nothing).add_node(Step::C, nothing).add_edge(START, Step::A)
}

fn nodes() -> Loop {
    rest(Loop::new().add_node(Step::A, nothing))
}

/// Edges from A to B and back.
fn round(graph: Loop) -> Loop {
    graph.add_edge(Step::A, Step::B).add_edge(Step::B, Step::A)
}

#[rstest]
#[case::an_edge_to_end_beside_it(round(nodes()).add_edge(Step::B, END).add_edge(Step::B, Step::C), "A -> B -> A")]
#[case::an_edge_to_a_last_node(round(nodes()).add_edge(Step::B, Step::C), "A -> B -> A")]
#[case::a_node_after_itself(nodes().add_edge(Step::A, Step::A).add_edge(Step::A, Step::B).add_edge(Step::B, Step::C), "A -> A")]
#[case::a_router_beside_it(round(nodes()).add_conditional_edges_to(Step::B, either, [Step::C]), "A -> B -> A")]
#[case::a_goto_beside_it(round(rest(Loop::new().add_node(Step::A, nothing.goes_to(Step::C)))), "A -> B -> A")]
#[case::through_a_join(
    nodes().add_edge(Step::A, [Step::B, Step::C]).add_edge([Step::B, Step::C], Step::A).add_edge(Step::C, END),
    "A -> B -> A"
)]
#[case::behind_a_router(
    nodes()
        .add_conditional_edges_to(Step::A, either, DeclaredTargets::from(Step::B).or(END))
        .add_edge(Step::B, Step::C)
        .add_edge(Step::C, Step::B)
        .add_edge(Step::C, END),
    "B -> C -> B"
)]
fn a_loop_whose_edges_fire_every_time_is_refused(#[case] graph: Loop, #[case] path: &str) {
    assert_eq!(
        graph.compile().unwrap_err().to_string(),
        format!(
            "the loop {path} never ends: its edges fire every time\n help: let a router choose between the loop and END, \
             instead of the plain edges; or `.allow(Lint::TrappedLoop)` if it is intended, or left by `Command::parent`"
        )
    );
}

#[rstest]
#[case::meant(round(nodes()).add_edge(Step::B, Step::C).allow(Lint::TrappedLoop))]
#[case::a_router_in_it(nodes().add_edge(Step::A, Step::B).add_conditional_edges_to(
    Step::B, either, [Step::A, Step::C]
))]
#[case::a_goto_in_it(
    rest(Loop::new().add_node(Step::A, nothing.goes_to([Step::B, Step::C]))).add_edge(Step::B, Step::A)
)]
#[case::an_error_handler_that_leaves_it(
    round(rest(Loop::new().add_node(Step::A, nothing.on_error(give_up).goes_to(Step::C))))
)]
#[case::a_join_with_a_source_outside(
    nodes().add_edge(START, Step::C).add_edge([Step::A, Step::C], Step::B).add_edge(Step::B, Step::A).add_edge(Step::B, END)
)]
#[case::a_join_that_a_router_may_pass_by(
    nodes()
        .add_edge(Step::A, Step::B)
        .add_conditional_edges_to(Step::A, either, DeclaredTargets::from(Step::C).or(END))
        .add_edge([Step::B, Step::C], Step::A)
        .allow(Lint::ConditionalJoin)
)]
fn a_loop_with_a_way_out_is_accepted(#[case] graph: Loop) {
    graph.compile().unwrap();
}

#[test]
fn a_command_that_ends_a_loop_is_declared() {
    let inside = Loop::new().add_node(Step::A, nothing.goes_to([Step::B, Step::C]));
    let outside = Loop::new().add_node(Step::A, nothing.goes_to((Step::B, Step::C, END)));
    let graph = |first| rest(first).add_edge(Step::B, Step::A).add_edge(Step::C, Step::A);
    let refused = graph(inside).compile().unwrap_err();
    let expected = "nothing leads out of the loop A -> B -> A\n help: if a command of `A` leaves the loop, declare its target \
                too: `.goes_to((.., END))`; otherwise add a router out of the loop\n";
    assert!(refused.to_string().starts_with(expected), "{refused}");
    graph(outside).compile().unwrap();
}

/// Runs the refused graph: the second edge does not end the loop.
#[tokio::test]
async fn an_edge_to_end_ends_no_loop_of_plain_edges() {
    let graph = round(nodes()).add_edge(Step::B, END).add_edge(Step::B, Step::C).allow(Lint::TrappedLoop);
    let graph = graph.compile().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let error = graph.thread("t").recursion_limit(50).invoke(Pad::update()).await.unwrap_err();
    assert_eq!(error.to_string(), "no end after 50 supersteps");
}

/// Runs it with a handler: a failure leaves the loop, since the edges of a failed node do not fire.
#[tokio::test]
async fn an_error_handler_leads_out_of_a_loop_of_plain_edges() {
    let fails_in_time = |pad: Arc<Pad>, _: Ctx| async move {
        if pad.title.len() < 3 {
            Ok(Pad::update().title(format!("{}.", pad.title)))
        } else {
            Err(NodeError::from("done"))
        }
    };
    let node = fails_in_time.on_error(give_up).goes_to(Step::C);
    let graph = round(rest(Loop::new().add_node(Step::A, node))).compile().unwrap();
    let outcome = graph.invoke(Pad::update()).await.unwrap();
    assert_eq!(outcome.state().title, "...");
}
