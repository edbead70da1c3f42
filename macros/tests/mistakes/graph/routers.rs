//! Functions that are no routers.

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(NodeId)]
enum Step {
    Write,
    Review,
}

#[derive(Route)]
enum AfterReview {
    #[to(END)]
    Publish,
    #[to(Step::Write)]
    Revise,
}

enum Undeclared {
    Publish,
}

async fn waits(_: &Draft) -> AfterReview {
    AfterReview::Publish
}

fn takes_an_arc(_: Arc<Draft>) -> AfterReview {
    AfterReview::Revise
}

fn has_no_targets(_: &Draft) -> Undeclared {
    Undeclared::Publish
}

async fn waits_for_a_node(_: &Draft) -> Step {
    Step::Write
}

fn chooses_by_an_arc(_: Arc<Draft>) -> Step {
    Step::Write
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges(Step::Review, waits);
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges(Step::Review, takes_an_arc);
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges(Step::Review, has_no_targets);
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges_to(Step::Review, waits_for_a_node, Step::Write);
    let _ = StateGraph::<Draft, Step>::new().add_conditional_edges_to(Step::Review, chooses_by_an_arc, Step::Write);
}
