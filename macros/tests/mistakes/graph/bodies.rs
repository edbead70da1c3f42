//! Functions that are no node of the graph they are added to.

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Query(String);

#[derive(NodeId)]
enum Step {
    Search,
    Write,
}

const SEARCH: Worker<Step, Query> = Worker::new(Step::Search);

async fn search(query: Arc<Query>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update().text(&*query.0))
}

async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

fn waits_for_nobody(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

async fn returns_a_state(draft: Arc<Draft>, _: Ctx) -> Result<Draft, NodeError> {
    Ok(Draft::clone(&draft))
}

async fn takes_a_reference(_: &Draft, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

async fn returns_no_result(_: Arc<Draft>, _: Ctx) -> DraftUpdate {
    Draft::update()
}

fn searches_for_nobody(_: Arc<Query>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update())
}

fn main() {
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Search, search);
    let _ = StateGraph::<Draft, Step>::new().add_worker(SEARCH, write);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, waits_for_nobody);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, returns_a_state);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, takes_a_reference);
    let _ = StateGraph::<Draft, Step>::new().add_node(Step::Write, returns_no_result);
    let _ = StateGraph::<Draft, Step>::new().add_worker(SEARCH, searches_for_nobody);
}
