//! States, histories and checkpoints as clients of LangGraph's server read them: past questions, failed tasks, and subgraphs.

use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Map, Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::Api;

/// Runs a graph on a new thread; returns the path of the thread.
async fn run(api: &Api, graph: &str, input: Value) -> String {
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": graph, "input": input })).await;
    path
}

/// Returns all states of a thread, or of a subgraph, the newest first.
async fn history(api: &Api, path: &str, mut body: Value) -> Vec<Value> {
    body["limit"] = json!(100);
    api.post(&format!("{path}/history"), body).await.as_array().unwrap().clone()
}

#[tokio::test]
async fn a_question_stays_at_its_checkpoint_once_it_is_answered() {
    let api = Api::start().await;
    let path = run(&api, "approval", json!({ "request": "x" })).await;
    let asked = api.get(&format!("{path}/state")).await["interrupts"].clone();
    assert_eq!(asked[0]["value"]["proposal"], "do x");
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes" } });
    api.post(&format!("{path}/runs/wait"), answer).await;
    let states = history(&api, &path, json!({})).await;
    let at_review: Vec<_> = states.iter().filter(|state| state["next"] == json!(["review"])).collect();
    let [past] = &at_review[..] else { panic!("{states:?}") };
    assert_eq!((&past["interrupts"], &past["tasks"][0]["interrupts"]), (&asked, &asked));
    assert_eq!(past["tasks"][0]["result"], json!({ "decision": "yes" }));
    let read = api.get(&format!("{path}/state/{}", past["checkpoint_id"].as_str().unwrap())).await;
    assert_eq!(read, **past);
    assert_eq!(api.get(&format!("{path}/state")).await["interrupts"], json!([]));
    assert_eq!(api.get(&path).await["interrupts"], json!({}));
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Pair {
    left: Option<String>,
    right: Option<String>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "side")]
struct Side {
    side: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Hand {
    Left,
    Right,
}

async fn left(_: Arc<Pair>, ctx: Ctx) -> Result<PairUpdate, NodeError> {
    Ok(Pair::update().left(Some(ctx.interrupt(Side { side: "left".into() })?)))
}

async fn right(_: Arc<Pair>, ctx: Ctx) -> Result<PairUpdate, NodeError> {
    Ok(Pair::update().right(Some(ctx.interrupt(Side { side: "right".into() })?)))
}

fn pair_graph() -> CompiledGraph<Pair, Hand> {
    StateGraph::new()
        .add_node(Hand::Left, left.asks::<Side>())
        .add_node(Hand::Right, right.asks::<Side>())
        .add_edge(START, [Hand::Left, Hand::Right])
        .add_edge(Hand::Left, END)
        .add_edge(Hand::Right, END)
        .compile()
        .unwrap()
}

async fn pair() -> Api {
    let graphs = Graphs::new().with(pair_graph().named("pair"));
    Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await
}

#[tokio::test]
async fn a_superstep_that_waits_shows_the_questions_that_are_open_and_an_ended_one_all() {
    let api = pair().await;
    let path = run(&api, "pair", json!({})).await;
    let asked = api.get(&format!("{path}/state")).await["interrupts"].clone();
    for (nth, open) in [(0, vec!["right"]), (1, vec!["left", "right"])] {
        let answer =
            json!({ "assistant_id": "pair", "command": { "resume": { asked[nth]["id"].as_str().unwrap(): "y" } } });
        api.post(&format!("{path}/runs/wait"), answer).await;
        let states = history(&api, &path, json!({})).await;
        let at = states.iter().find(|state| state["next"] == json!(["left", "right"])).unwrap();
        let sides = |asked: &Value| {
            let asked = asked.as_array().unwrap().iter();
            asked.map(|asked| asked["value"]["side"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(sides(&at["interrupts"]), open);
        let of_tasks = at["tasks"].as_array().unwrap().iter().flat_map(|task| sides(&task["interrupts"]));
        assert_eq!(of_tasks.collect::<Vec<_>>(), open);
    }
}

#[tokio::test]
async fn the_error_of_a_task_is_a_text_in_states_and_a_failure_in_streams() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({ "assistant_id": "fails", "input": { "reason": "r" }, "stream_mode": ["tasks", "debug", "checkpoints"] });
    let events = api.stream(&format!("{path}/runs/stream"), body).await;
    let failure = json!({ "error": "NodeError", "message": "boom: r" });
    let ends = |event: &(String, Value, Option<u64>)| {
        let data = if event.0 == "debug" { &event.1["payload"] } else { &event.1 };
        (data["name"] == "boom" && data.get("result").is_some()).then(|| data.clone())
    };
    let ends: Vec<_> = events.iter().filter_map(ends).collect();
    assert_eq!(ends.len(), 2, "{events:?}");
    for end in ends {
        assert_eq!((&end["error"], &end["result"], &end["interrupts"]), (&failure, &json!({}), &json!([])));
    }
    let last = events.last().unwrap();
    assert_eq!((last.0.as_str(), &last.1), ("error", &failure));
    assert_eq!(api.get(&path).await["error"], failure);
    let task = api.get(&format!("{path}/state")).await["tasks"][0].clone();
    assert!(task["error"].as_str().unwrap().ends_with("boom: r"), "{task}");
    assert_eq!(task["result"], Value::Null);
}

#[tokio::test]
async fn checkpoints_of_a_stream_name_their_tasks_and_parents_as_states_do() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({
        "assistant_id": "nested", "input": { "path": "p" }, "stream_mode": ["checkpoints", "tasks", "debug"],
        "stream_subgraphs": true
    });
    let events = api.stream(&format!("{path}/runs/stream"), body).await;
    let named = |name: &str| {
        let named = events.iter().filter(|event| event.0 == name);
        named.map(|event| event.1.clone()).collect::<Vec<_>>()
    };
    let made = named("checkpoints");
    let states = history(&api, &path, json!({})).await;
    assert_eq!(made.len(), states.len());
    for (made, state) in made.iter().zip(states.iter().rev()) {
        assert_eq!(made["config"]["configurable"], state["checkpoint"]);
        let parent = made["parent_config"].get("configurable").unwrap_or(&Value::Null);
        assert_eq!(parent, &state["parent_checkpoint"]);
        let ids = |tasks: &Value| tasks.as_array().unwrap().iter().map(|task| task["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&made["tasks"]), ids(&state["tasks"]));
        for (task, of_state) in made["tasks"].as_array().unwrap().iter().zip(state["tasks"].as_array().unwrap()) {
            let inside = of_state["checkpoint"].as_object().map(|inside| json!({ "configurable": inside }));
            let shown = json!({ "id": task["id"], "name": of_state["name"], "interrupts": [], "state": inside });
            assert_eq!(task, &shown);
        }
    }
    let child = states.iter().find(|state| state["next"] == json!(["child"])).unwrap();
    let namespace = child["tasks"][0]["checkpoint"]["checkpoint_ns"].as_str().unwrap();
    let inside = named(&format!("checkpoints|{namespace}"));
    let states = history(&api, &path, json!({ "checkpoint": { "checkpoint_ns": namespace } })).await;
    assert_eq!((inside.len(), states.len()), (4, 4));
    let starts = [&inside[0]["values"], &inside[1]["values"], &states[3]["values"], &states[2]["values"]];
    assert_eq!(starts, [&json!({}), &json!({ "path": "p/first" }), &json!({}), &json!({ "path": "p/first" })]);
    for (made, state) in inside.iter().zip(states.iter().rev()) {
        assert_eq!(made["config"]["configurable"], state["checkpoint"]);
        assert_eq!(made["metadata"]["parents"], json!({ "": child["checkpoint_id"] }));
    }
    let debugged = named("debug").into_iter().filter(|event| event["type"] == "checkpoint");
    let debugged: Vec<_> = debugged.map(|event| event["payload"].clone()).collect();
    assert_eq!(debugged.len(), made.len());
    for (debugged, made) in debugged.iter().zip(&made) {
        let parent = made["parent_config"].get("configurable").unwrap_or(&Value::Null);
        assert_eq!(debugged["checkpoint"], made["config"]["configurable"]);
        assert_eq!(&debugged["parent_checkpoint"], parent);
    }
}

#[tokio::test]
async fn tasks_name_their_run_and_the_sends_that_they_are_of() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({
        "assistant_id": "parallel", "input": { "items": [1, 2] }, "stream_mode": "tasks", "metadata": { "own": "m" }
    });
    let events = api.stream(&format!("{path}/runs/stream"), body).await;
    let run = api.get(&format!("{path}/runs")).await[0].clone();
    let metadata = json!({
        "own": "m", "graph_id": "parallel", "assistant_id": run["assistant_id"], "run_id": run["run_id"],
    });
    let starts: Vec<_> = events.iter().filter(|event| event.1.get("input").is_some()).collect();
    assert!(starts.len() == 4 && starts.iter().all(|event| event.1["metadata"] == metadata), "{events:?}");
    let states = history(&api, &path, json!({})).await;
    let tasks = |next: Value| states.iter().find(|state| state["next"] == next).unwrap()["tasks"].clone();
    let sent = tasks(json!(["worker", "worker"]));
    let sent = [&sent[0]["path"], &sent[1]["path"]];
    assert_eq!(sent, [&json!(["__pregel_push", 0, false]), &json!(["__pregel_push", 1, false])]);
    assert_eq!(tasks(json!(["join"]))[0]["path"], json!(["__pregel_pull", "join"]));
}

#[tokio::test]
async fn a_subgraph_first_sends_the_values_that_it_starts_with() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({
        "assistant_id": "nested", "input": { "path": "p" }, "stream_mode": "values", "stream_subgraphs": true
    });
    let events = api.stream(&format!("{path}/runs/stream"), body).await;
    let inside = events.iter().filter(|event| event.0.starts_with("values|child:"));
    let paths: Vec<_> = inside.map(|event| event.1["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["p/first", "p/first/inner_a", "p/first/inner_a/inner_b"]);
}

#[tokio::test]
async fn states_of_a_subgraph_are_read_by_its_namespace() {
    let api = Api::start().await;
    let path = run(&api, "nested", json!({ "path": "p" })).await;
    let child =
        history(&api, &path, json!({})).await.into_iter().find(|state| state["next"] == json!(["child"])).unwrap();
    let namespace = child["tasks"][0]["checkpoint"]["checkpoint_ns"].as_str().unwrap();
    let states = history(&api, &path, json!({ "checkpoint": { "checkpoint_ns": namespace } })).await;
    let next: Vec<_> = states.iter().map(|state| state["next"].to_string()).collect();
    assert_eq!(next, ["[]", r#"["inner_b"]"#, r#"["inner_a"]"#, r#"["__start__"]"#]);
    assert_eq!(states[0]["values"]["path"], "p/first/inner_a/inner_b");
    assert_eq!(states[1]["tasks"][0]["result"], json!({ "path": "p/first/inner_a/inner_b" }));
    for (state, older) in
        states.iter().zip(states.iter().skip(1).map(|older| &older["checkpoint"]).chain([&Value::Null]))
    {
        let (id, root) = (&state["checkpoint_id"], &child["checkpoint_id"]);
        let map = json!({ "": root, namespace: id });
        let place = json!({
            "thread_id": child["metadata"]["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": id, "checkpoint_map": map
        });
        assert_eq!((&state["checkpoint"], &state["parent_checkpoint"]), (&place, older));
        assert_eq!(state["metadata"]["parents"], json!({ "": root }));
        assert_eq!(state["metadata"]["run_id"], child["metadata"]["run_id"]);
        let read = json!({ "checkpoint": { "checkpoint_ns": namespace, "checkpoint_id": id } });
        assert_eq!(api.post(&format!("{path}/state/checkpoint"), read).await, *state);
    }
    let present = json!({ "checkpoint": { "checkpoint_ns": namespace } });
    assert_eq!(api.post(&format!("{path}/state/checkpoint"), present).await["values"], states[0]["values"]);
}

#[tokio::test]
async fn a_history_of_a_checkpoint_has_only_that_one_and_one_before_it_the_older_ones() {
    let api = Api::start().await;
    let path = run(&api, "nested", json!({ "path": "p" })).await;
    let states = history(&api, &path, json!({})).await;
    let inside = states.iter().find_map(|state| state["tasks"][0]["checkpoint"]["checkpoint_ns"].as_str()).unwrap();
    for namespace in ["", inside] {
        let all = history(&api, &path, json!({ "checkpoint": { "checkpoint_ns": namespace } })).await;
        let second = &all[1]["checkpoint"];
        assert_eq!(history(&api, &path, json!({ "checkpoint": second })).await, all[1..2], "{namespace}");
        let before = json!({ "checkpoint": { "checkpoint_ns": namespace }, "before": { "configurable": second } });
        assert_eq!(history(&api, &path, before).await, all[2..], "{namespace}");
        let of_source = json!({ "checkpoint": { "checkpoint_ns": namespace }, "metadata": { "source": "input" } });
        assert_eq!(history(&api, &path, of_source).await, all[all.len() - 1..], "{namespace}");
    }
}

#[rstest]
#[case::of_no_task("nope")]
#[case::of_a_node("child")]
#[case::of_another_task("child:7")]
#[case::of_a_task_without_a_subgraph("first:2-1")]
#[case::of_no_checkpoint("child:999-0")]
#[case::of_a_call("#1")]
#[tokio::test]
async fn the_state_of_a_subgraph_that_has_not_run_is_empty(#[case] namespace: &str) {
    let api = Api::start().await;
    let path = run(&api, "nested", json!({ "path": "p" })).await;
    let checkpoint = json!({ "checkpoint": { "checkpoint_ns": namespace } });
    assert_eq!(history(&api, &path, checkpoint.clone()).await, [] as [Value; 0]);
    let state = api.post(&format!("{path}/state/checkpoint"), checkpoint.clone()).await;
    assert_eq!((&state["values"], &state["checkpoint"]), (&json!({}), &Value::Null));
    let update = json!({ "checkpoint": checkpoint["checkpoint"], "values": { "path": "q" } });
    assert_eq!(api.status(Method::POST, &format!("{path}/state"), Some(update)).await, 422);
}

#[tokio::test]
async fn a_question_in_a_subgraph_is_at_the_checkpoints_of_both_graphs() {
    let api = asking_child().await;
    let path = run(&api, "outer", json!({})).await;
    let asked = api.get(&format!("{path}/state?subgraphs=true")).await;
    let questions = asked["interrupts"].clone();
    let answers = ["yes", "no"].iter().zip(questions.as_array().unwrap());
    let answers: Map<_, _> =
        answers.map(|(answer, asked)| (asked["id"].as_str().unwrap().to_owned(), json!(answer))).collect();
    assert_eq!((answers.len(), &asked["tasks"][0]["state"]["interrupts"]), (2, &questions));
    let answer = json!({ "assistant_id": "outer", "command": { "resume": answers } });
    let end = api.post(&format!("{path}/runs/wait"), answer).await;
    assert_eq!(end, json!({ "left": "yes", "right": "no" }));
    let states = history(&api, &path, json!({})).await;
    let child = states.iter().find(|state| state["next"] == json!(["child"])).unwrap();
    assert_eq!((&child["interrupts"], &child["tasks"][0]["interrupts"]), (&questions, &questions));
    let inside = json!({ "checkpoint": child["tasks"][0]["checkpoint"] });
    let states = history(&api, &path, inside).await;
    let asking = states.iter().find(|state| state["next"] == json!(["left", "right"])).unwrap();
    assert_eq!(asking["interrupts"], questions);
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Outer {
    Child,
}

async fn asking_child() -> Api {
    let graph = StateGraph::new()
        .add_subgraph(Outer::Child, pair_graph().named("child"))
        .add_sequence([Outer::Child])
        .compile()
        .unwrap();
    let graphs = Graphs::new().with(graph.named("outer"));
    Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await
}

#[tokio::test]
async fn a_thread_has_the_configuration_of_its_runs_and_of_their_assistants() {
    let api = Api::start().await;
    let thread = |path: &str| format!("{path}/runs/wait");
    let path = format!("/threads/{}", api.thread().await);
    assert_eq!(api.get(&path).await["config"], json!({}));
    let run = |config: Value| json!({ "assistant_id": "counter", "input": { "n": 1 }, "config": config });
    for (config, kept) in [
        (json!({ "configurable": { "k": 1 } }), json!({ "configurable": {} })),
        (
            json!({ "tags": ["a"], "recursion_limit": 50 }),
            json!({ "configurable": {}, "tags": ["a"], "recursion_limit": 50 }),
        ),
        (json!({ "tags": ["b"] }), json!({ "configurable": {}, "tags": ["b"], "recursion_limit": 50 })),
        (json!({}), json!({ "configurable": {}, "tags": ["b"], "recursion_limit": 50 })),
    ] {
        api.post(&thread(&path), run(config)).await;
        assert_eq!(api.get(&path).await["config"], kept);
    }
    let made = json!({ "graph_id": "counter", "config": { "tags": ["t"], "configurable": { "z": 1 } } });
    let assistant = api.post("/assistants", made).await["assistant_id"].clone();
    let path = format!("/threads/{}", api.thread().await);
    api.post(&thread(&path), json!({ "assistant_id": assistant, "input": { "n": 1 } })).await;
    assert_eq!(api.get(&path).await["config"], json!({ "configurable": { "z": 1 }, "tags": ["t"] }));
}
