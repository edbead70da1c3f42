//! The numbers of a server at `/metrics`.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, all_graphs};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Essay {
    topic: String,
}

#[derive(NodeId)]
enum Step {
    Write,
}

async fn write(_: Arc<Essay>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.emit_message(json!({ "turn": { "role": "writer", "model": "m1", "prompt": "payload-1" } })).await;
    ctx.emit_message(json!({ "usage": { "input": 100, "output": 5, "cost": 250_000 } })).await;
    ctx.emit_message(json!({ "finished": { "usage": { "input": 100, "output": 9, "cost": 500_000 } } })).await;
    ctx.emit_message(json!({ "usage_metadata": { "input_tokens": 3 }, "response_metadata": { "model_name": "m2" } }))
        .await;
    Ok(())
}

fn graphs() -> Graphs {
    let essay = StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile();
    all_graphs().unwrap().with(essay.unwrap().named("essay"))
}

async fn page(api: &Api) -> String {
    let response = api.send(Method::GET, "/metrics", None).await;
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    response.text().await.unwrap()
}

/// Runs a graph on a thread of its own.
async fn run(api: &Api, thread: &str, graph: &str) {
    let body = json!({ "assistant_id": graph, "input": { "reason": "payload-2" }, "if_not_exists": "create" });
    api.post(&format!("/threads/{thread}/runs/wait"), body).await;
}

#[tokio::test]
async fn runs_questions_and_usage_are_counted_by_graph() {
    let api = Api::start_graphs(graphs(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    for (thread, graph) in [("t1", "counter"), ("t2", "counter"), ("t3", "fails"), ("t4", "approval"), ("t5", "essay")]
    {
        run(&api, thread, graph).await;
    }
    let page = page(&api).await;
    for line in [
        "superstep_runs_total{graph=\"counter\",outcome=\"success\"} 2",
        "superstep_runs_total{graph=\"fails\",outcome=\"error\"} 1",
        "superstep_runs_total{graph=\"slow\",outcome=\"interrupted\"} 0",
        "superstep_turns_total{graph=\"counter\",status=\"finished\"} 2",
        "superstep_turns_total{graph=\"approval\",status=\"interrupted\"} 1",
        "superstep_turns_total{graph=\"fails\",status=\"failed\"} 1",
        "superstep_supersteps_total{graph=\"counter\"} 12",
        "superstep_superstep_seconds_count{graph=\"counter\"} 12",
        "superstep_commit_seconds_bucket{graph=\"counter\",le=\"+Inf\"} 10",
        "superstep_due_delay_seconds_count{graph=\"counter\"} 2",
        "superstep_threads_running{graph=\"counter\"} 0",
        "superstep_leases_lost_total{graph=\"counter\"} 0",
        "superstep_open_questions{graph=\"approval\"} 1",
        "superstep_open_questions{graph=\"counter\"} 0",
        "superstep_tokens_total{graph=\"essay\",role=\"writer\",model=\"m1\",kind=\"output\"} 9",
        "superstep_tokens_total{graph=\"essay\",role=\"\",model=\"m2\",kind=\"input\"} 3",
        "superstep_cost_dollars_total{graph=\"essay\",role=\"writer\",model=\"m1\"} 0.5",
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{line}: {page}");
    }
    let age = page.lines().find_map(|line| line.strip_prefix("superstep_oldest_question_seconds ")).unwrap();
    assert!(age.parse::<f64>().unwrap() >= 0.0, "{age}");
    for hidden in ["t1", "payload", "approve?"] {
        assert!(!page.contains(hidden), "{hidden} is in {page}");
    }
}

#[tokio::test]
async fn runs_that_wait_are_counted_until_they_have_ended() {
    let api = Api::start_graphs(graphs(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let path = format!("/threads/{}", api.thread().await);
    let slow = json!({ "assistant_id": "slow", "input": { "steps": 1000, "ms": 5 } });
    for _ in 0..3 {
        api.post(&format!("{path}/runs"), slow.clone()).await;
    }
    let has = async |lines: &[&str]| {
        while !lines.iter().all({
            let page = page(&api).await;
            move |line| page.contains(&format!("\n{line}\n"))
        }) {
            tokio::task::yield_now().await;
        }
    };
    has(&[
        "superstep_runs_open{graph=\"slow\"} 3",
        "superstep_threads_running{graph=\"slow\"} 1",
        "superstep_queue_length 2",
    ])
    .await;
    assert_eq!(api.status(Method::POST, "/runs/cancel", Some(json!({ "status": "all" }))).await, 204);
    has(&[
        "superstep_runs_open{graph=\"slow\"} 0",
        "superstep_threads_running{graph=\"slow\"} 0",
        "superstep_queue_length 0",
    ])
    .await;
}

#[test]
fn the_guide_lists_each_metric() {
    let guide = include_str!("../../../docs/guide/operations.md");
    for name in ["runs_total", "runs_open", "queue_length", "open_questions", "oldest_question_seconds"] {
        assert!(guide.contains(&format!("`superstep_{name}`")), "{name}");
    }
}
