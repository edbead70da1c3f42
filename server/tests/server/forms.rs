//! Questions whose schemas say how a page shows their payload and asks for their answer.

use std::sync::Arc;

use serde_json::json;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{AnyGraph, Graphs};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::Api;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Branch {
    is_merged: bool,
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Review {
    Approve,
    Reject { why: String },
}

#[derive(Interrupt, Serialize, Deserialize, schemars::JsonSchema)]
#[interrupt(resume = Review, schema)]
struct MayMerge {
    /// The changes.
    #[schemars(extend("format" = "diff"))]
    patch: String,
}

#[derive(NodeId)]
enum Step {
    Merge,
}

async fn merge(_: Arc<Branch>, ctx: Ctx) -> Result<BranchUpdate, NodeError> {
    let review = ctx.interrupt(MayMerge { patch: "+tea".into() })?;
    Ok(Branch::update().is_merged(matches!(review, Review::Approve)))
}

#[tokio::test]
async fn a_payload_says_how_it_is_shown_and_an_answer_which_kinds_there_are() {
    let graph = StateGraph::new().add_node(Step::Merge, merge.asks::<MayMerge>()).add_edge(START, Step::Merge);
    let graphs = Graphs::new().with(AnyGraph::from(graph.compile().unwrap().named("branches")));
    let api = Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let run = json!({ "assistant_id": "branches", "input": {}, "if_not_exists": "create" });
    api.post("/threads/t/runs/wait", run).await;
    let asked = &api.get("/threads/t/inbox").await["items"][0]["question"];
    let patch = &asked["payload_schema"]["properties"]["patch"];
    assert_eq!((&patch["format"], &patch["description"]), (&json!("diff"), &json!("The changes.")));
    let kinds = asked["response_schema"].to_string();
    assert!(kinds.contains("approve") && kinds.contains("reject"), "{kinds}");
}
