//! Fields of requests: which texts they take, and what the server does with those that clients rarely send.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::{Api, events};

#[rstest]
#[case::limit("/assistants/search", json!({ "limit": 0 }), "limit is 1 to 1000")]
#[case::large_limit("/threads/search", json!({ "limit": 1001 }), "limit is 1 to 1000")]
#[case::order("/threads/search", json!({ "sort_order": "ASC" }), "sort_order is one of desc, asc")]
#[case::sort("/assistants/search", json!({ "sort_by": "size" }), "sort_by is one of")]
#[case::cron_sort("/runs/crons/search", json!({ "sort_by": "size" }), "sort_by is one of")]
#[case::field("/threads/search", json!({ "select": ["status", "size"] }), "select is one of")]
#[case::cron_field("/runs/crons/search", json!({ "select": ["size"] }), "select is one of")]
#[case::status("/threads/search", json!({ "status": "asleep" }), "status is one of")]
#[case::counted_status("/threads/count", json!({ "status": "asleep" }), "status is one of")]
#[case::path("/threads/search", json!({ "extract": { "x": "size.n" } }), "begins with none of")]
#[case::thread_that_exists("/threads", json!({ "if_exists": "replace" }), "if_exists is one of")]
#[case::assistant_that_exists("/assistants", json!({ "graph_id": "counter", "if_exists": "replace" }), "if_exists is one of")]
#[case::no_thread("/runs", json!({ "assistant_id": "counter", "if_not_exists": "make" }), "if_not_exists is one of")]
#[case::durability("/runs", json!({ "assistant_id": "counter", "durability": "eventual" }), "durability is one of")]
#[case::disconnect("/runs", json!({ "assistant_id": "counter", "on_disconnect": "wait" }), "on_disconnect is one of")]
#[case::completion("/runs", json!({ "assistant_id": "counter", "on_completion": "hide" }), "on_completion is one of")]
#[case::strategy("/runs", json!({ "assistant_id": "counter", "multitask_strategy": "race" }), "multitask_strategy is one of")]
#[case::two_ways_to_cancel("/runs/cancel", json!({ "thread_id": "a", "run_ids": [], "status": "all" }), "or status alone")]
#[tokio::test]
async fn a_text_that_a_field_does_not_take_is_refused(#[case] path: &str, #[case] body: Value, #[case] reason: &str) {
    let answer = Api::start().await.send(Method::POST, path, Some(body)).await;
    let status = answer.status().as_u16();
    let detail = answer.json::<Value>().await.unwrap()["detail"].as_str().unwrap().to_owned();
    assert_eq!(status, 422, "{detail}");
    assert!(detail.contains(reason), "{detail}");
}

#[tokio::test]
async fn an_assistant_of_an_unknown_graph_is_not_found() {
    let api = Api::start().await;
    for path in ["/assistants/search", "/assistants/count"] {
        assert_eq!(api.status(Method::POST, path, Some(json!({ "graph_id": "none" }))).await, 404);
    }
}

#[rstest]
#[case::context(json!({ "context": { "prefix": "A:" } }))]
#[case::configurable(json!({ "config": { "configurable": { "prefix": "A:" } } }))]
#[tokio::test]
async fn the_context_of_an_assistant_is_its_configurable(#[case] given: Value) {
    let api = Api::start().await;
    let mut body = given.clone();
    body["graph_id"] = "chat_echo".into();
    let made = api.post("/assistants", body).await;
    let own = json!({ "prefix": "A:" });
    assert_eq!((&made["context"], &made["config"]), (&own, &json!({ "configurable": own })));

    let request = json!({ "assistant_id": made["assistant_id"], "input": { "messages": "hi" } });
    assert_eq!(api.post("/runs/wait", request).await["messages"][1]["content"], "A:hi");

    let path = format!("/assistants/{}", made["assistant_id"].as_str().unwrap());
    let both = json!({ "context": { "prefix": "B:" }, "config": { "configurable": { "prefix": "C:" } } });
    assert_eq!(api.status(Method::PATCH, &path, Some(both)).await, 400);
    let changed = api.send(Method::PATCH, &path, Some(json!({ "context": { "prefix": "B:" } }))).await;
    let changed: Value = changed.json().await.unwrap();
    assert_eq!(changed["config"]["configurable"], json!({ "prefix": "B:" }));
}

#[tokio::test]
async fn versions_are_found_by_their_metadata() {
    let api = Api::start().await;
    let made = api.post("/assistants", json!({ "graph_id": "counter", "metadata": { "a": 1 } })).await;
    let path = format!("/assistants/{}", made["assistant_id"].as_str().unwrap());
    api.send(Method::PATCH, &path, Some(json!({ "metadata": { "b": 2 } }))).await;
    let found = api.post(&format!("{path}/versions"), json!({ "metadata": { "b": 2 } })).await;
    assert_eq!((found.as_array().unwrap().len(), &found[0]["version"]), (1, &json!(2)));
}

#[tokio::test]
async fn the_configuration_of_an_assistant_holds_for_its_runs() {
    let api = Api::start().await;
    let body = json!({ "graph_id": "slow", "config": { "recursion_limit": 3 } });
    let assistant = api.post("/assistants", body).await["assistant_id"].clone();
    let run = json!({ "assistant_id": assistant, "input": { "steps": 6, "ms": 1 } });
    assert_eq!(api.post("/runs/wait", run.clone()).await["__error__"]["error"], "GraphRecursionError");
    let mut run = run;
    run["config"] = json!({ "recursion_limit": 20 });
    assert_eq!(api.post("/runs/wait", run).await["ticks"], 6);
}

#[tokio::test]
async fn a_change_answers_with_no_body_if_the_client_prefers_that() {
    let api = Api::start().await;
    let thread = api.thread().await;
    let url = format!("{}/threads/{thread}", api.address);
    let change = api.client.patch(url).header("prefer", "return=minimal").json(&json!({ "metadata": { "a": 1 } }));
    let answer = change.send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.text().await.unwrap()), (204, String::new()));
    assert_eq!(api.get(&format!("/threads/{thread}")).await["metadata"]["a"], 1);
}

#[tokio::test]
async fn a_run_that_is_joined_says_where_it_can_be_joined_again() {
    let api = Api::start().await;
    let thread = api.thread().await;
    let run = api.post(&format!("/threads/{thread}/runs"), json!({ "assistant_id": "counter", "input": {} })).await;
    let path = format!("/threads/{thread}/runs/{}", run["run_id"].as_str().unwrap());
    for end in ["join", "stream"] {
        let answer = api.send(Method::GET, &format!("{path}/{end}"), None).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!((header("content-location"), header("location")), (path.clone(), format!("{path}/{end}")));
    }
}

#[tokio::test]
async fn fields_of_runs_are_selected_one_by_one() {
    let api = Api::start().await;
    let thread = api.thread().await;
    api.post(&format!("/threads/{thread}/runs/wait"), json!({ "assistant_id": "counter", "input": {} })).await;
    let runs = api.get(&format!("/threads/{thread}/runs?select=status&select=thread_id")).await;
    assert_eq!(runs, json!([{ "status": "success", "thread_id": thread }]));
}

#[rstest]
#[case::durability(json!({ "durability": "exit" }), 1)]
#[case::older_name(json!({ "checkpoint_during": false }), 1)]
#[case::older_name_for_all(json!({ "checkpoint_during": true }), 7)]
#[tokio::test]
async fn a_run_makes_the_checkpoints_that_its_durability_asks_for(#[case] mut request: Value, #[case] count: usize) {
    let api = Api::start().await;
    let thread = api.thread().await;
    (request["assistant_id"], request["input"]) = ("counter".into(), json!({ "n": 1 }));
    api.post(&format!("/threads/{thread}/runs/wait"), request).await;
    let history = api.post(&format!("/threads/{thread}/history"), json!({ "limit": 50 })).await;
    assert_eq!(history.as_array().unwrap().len(), count);
}

#[rstest]
#[case::checkpoint_id("checkpoint_id")]
#[case::configurable("configurable")]
#[tokio::test]
async fn a_run_starts_at_the_checkpoint_that_it_names(#[case] field: &str) {
    let api = Api::start().await;
    let thread = api.thread().await;
    api.post(&format!("/threads/{thread}/runs/wait"), json!({ "assistant_id": "counter", "input": {} })).await;
    let history = api.post(&format!("/threads/{thread}/history"), json!({ "limit": 50 })).await;
    let third = history.as_array().unwrap().iter().find(|state| state["next"] == json!(["step3"])).unwrap();
    let id = &third["checkpoint_id"];
    let mut request = json!({ "assistant_id": "counter", "input": null });
    match field {
        "configurable" => request["config"] = json!({ "configurable": { "checkpoint_id": id } }),
        field => request[field] = id.clone(),
    }
    assert_eq!(api.post(&format!("/threads/{thread}/runs/wait"), request).await["n"], 5);
    let newest = api.get(&format!("/threads/{thread}/state")).await;
    assert_ne!(newest["checkpoint_id"], history[0]["checkpoint_id"], "the run has made a branch");
}

#[tokio::test]
async fn the_end_of_a_cron_can_be_taken_away() {
    let api = Api::start().await;
    let body = json!({ "assistant_id": "counter", "schedule": "0 9 * * 1", "end_time": "2030-01-01T00:00:00Z" });
    let cron = api.post("/runs/crons", body).await;
    let path = format!("/runs/crons/{}", cron["cron_id"].as_str().unwrap());
    let change = async |body: Value| api.send(Method::PATCH, &path, Some(body)).await.json::<Value>().await.unwrap();
    assert_eq!(change(json!({ "enabled": true })).await["end_time"], cron["end_time"]);
    assert_eq!(change(json!({ "end_time": null })).await["end_time"], Value::Null);
}

#[rstest]
#[case::run("/threads/a/runs/none")]
#[case::cron("/runs/crons/none")]
#[tokio::test]
async fn an_id_that_is_no_uuid_does_not_fit(#[case] path: &str) {
    assert_eq!(Api::start().await.status(Method::GET, path, None).await, 422);
}

#[tokio::test]
async fn an_unknown_checkpoint_has_an_empty_state() {
    let api = Api::start().await;
    let thread = api.thread().await;
    api.post(&format!("/threads/{thread}/runs/wait"), json!({ "assistant_id": "counter", "input": {} })).await;
    let of = async |id: &str| api.get(&format!("/threads/{thread}/state/{id}")).await;
    for id in ["99", "1ef4a9b8-e6fb-67b1-8001-abd5184439d1"] {
        let state = of(id).await;
        assert_eq!((&state["values"], &state["metadata"]), (&json!({}), &Value::Null));
    }
}

#[tokio::test]
async fn events_that_are_joined_with_modes_are_those_of_the_modes_alone() {
    let api = Api::start().await;
    let thread = api.thread().await;
    let body = json!({ "assistant_id": "slow", "input": { "steps": 1, "ms": 1 }, "stream_mode": ["values", "updates"],
        "stream_resumable": true });
    let run = api.post(&format!("/threads/{thread}/runs"), body).await;
    let path = format!("/threads/{thread}/runs/{}", run["run_id"].as_str().unwrap());
    api.get(&format!("{path}/join")).await;
    let url = format!("{}{path}/stream?stream_mode=updates", api.address);
    let joined = api.client.get(url).header("last-event-id", "-1").send().await.unwrap();
    let names: Vec<_> = events(joined).await.into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["updates"]);
}

#[tokio::test]
async fn the_state_of_a_thread_that_has_not_run_is_written_by_the_graph_that_its_metadata_name() {
    let api = Api::start().await;
    let thread = api.post("/threads", json!({ "metadata": { "graph_id": "counter" } })).await["thread_id"].clone();
    let path = format!("/threads/{}", thread.as_str().unwrap());
    let update = json!({ "values": { "n": 1, "trail": ["own"] }, "as_node": "step3" });
    let written = api.post(&format!("{path}/state"), update).await;
    assert!(written["checkpoint"]["checkpoint_id"].is_string(), "{written}");
    let run = json!({ "assistant_id": "counter", "input": null });
    assert_eq!(api.post(&format!("{path}/runs/wait"), run).await["trail"], json!(["own", "step4", "step5"]));
}

#[tokio::test]
async fn a_client_asks_for_parts_of_a_state() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    let part = json!({ "values": { "n": 6 }, "next": [] });
    assert_eq!(api.get(&format!("{path}/state?select=values.n&select=next")).await, part);
    let body = json!({ "checkpoint": {}, "select": ["values.n", "next"] });
    assert_eq!(api.post(&format!("{path}/state/checkpoint"), body).await, part);
    let body = json!({ "limit": 1, "select": ["values.n", "next"] });
    assert_eq!(api.post(&format!("{path}/history"), body).await, json!([part]));
}

#[tokio::test]
async fn the_states_of_subgraphs_are_in_their_tasks() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "nested", "input": { "path": "p" } })).await;
    let history = api.post(&format!("{path}/history"), json!({ "limit": 50 })).await;
    let before = history.as_array().unwrap().iter().find(|state| state["next"] == json!(["child"])).unwrap();
    let namespace = &before["tasks"][0]["checkpoint"]["checkpoint_ns"];
    assert!(namespace.as_str().unwrap().starts_with("child:"), "{before}");
    assert_eq!(before["tasks"][0]["state"], Value::Null);

    let body = json!({ "checkpoint": before["checkpoint"], "subgraphs": true });
    let deep = api.post(&format!("{path}/state/checkpoint"), body).await;
    let inside = &deep["tasks"][0]["state"];
    assert_eq!(inside["values"], json!({ "path": "p/first/inner_a/inner_b" }), "{deep}");
    assert_eq!(&inside["checkpoint"]["checkpoint_ns"], namespace);
    assert_eq!(deep["tasks"][0]["checkpoint"], Value::Null, "the state has it, as in LangGraph's server");
    let deep = api.get(&format!("{path}/state/{}?subgraphs=true", before["checkpoint_id"].as_str().unwrap())).await;
    assert_eq!(deep["tasks"][0]["state"]["next"], json!([]));
}

#[tokio::test]
async fn the_metadata_of_a_run_are_those_of_its_checkpoints() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let metadata = json!({ "number": 1, "text": "1", "is_so": true, "object": { "a": [1] }, "none": null });
    let run = json!({ "assistant_id": "counter", "input": { "n": 1 }, "metadata": metadata });
    api.post(&format!("{path}/runs/wait"), run).await;
    let state = api.get(&format!("{path}/state")).await;
    for (key, value) in metadata.as_object().unwrap() {
        assert_eq!(&state["metadata"][key], value);
        let body = json!({ "limit": 50, "metadata": { key: value } });
        assert_eq!(api.post(&format!("{path}/history"), body).await.as_array().unwrap().len(), 7, "{key}");
    }
    assert_eq!(state["metadata"].as_object().unwrap().keys().find(|key| key.starts_with("superstep")), None);
}

#[tokio::test]
async fn a_command_starts_workers_with_their_inputs() {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs/wait", api.thread().await);
    let send = |item: Value| json!({ "node": "worker", "input": { "item": item } });
    let goto = |item: Value| json!({ "assistant_id": "parallel", "command": { "goto": [send(item), send(json!(5))] } });
    assert_eq!(api.post(&path, goto(json!(4))).await["results"], json!([16, 25]));
    assert_eq!(api.status(Method::POST, &path, Some(goto(json!("four")))).await, 422);
}

#[tokio::test]
async fn a_command_updates_channels_by_pairs() {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs/wait", api.thread().await);
    api.post(&path, json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    let update = json!([["n", 3], ["trail", ["own"]]]);
    let values = api.post(&path, json!({ "assistant_id": "counter", "command": { "update": update } })).await;
    assert_eq!((&values["n"], values["trail"].as_array().unwrap().last().unwrap()), (&json!(9), &json!("own")));
}

#[tokio::test]
async fn a_run_shows_what_its_request_has_left_out() {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs", api.thread().await);
    let request = json!({ "assistant_id": "counter", "input": { "n": 1 }, "stream_mode": "updates" });
    let shown = api.post(&path, request).await["kwargs"].clone();
    let expected = json!({ "input": { "n": 1 }, "command": null, "config": {}, "context": {}, "stream_mode": ["updates"],
        "subgraphs": false, "resumable": false, "interrupt_before": null, "interrupt_after": null, "webhook": null,
        "durability": "async" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(shown.get(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn events_of_tasks_and_checkpoints_have_the_fields_that_clients_read() {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs/stream", api.thread().await);
    let modes = ["tasks", "checkpoints", "debug", "updates"];
    let body = json!({ "assistant_id": "approval", "input": { "request": "x" }, "stream_mode": modes });
    let all = api.stream(&path, body).await;
    let named = |name: &str| -> Vec<&Value> {
        all.iter().filter(|(event, ..)| event == name).map(|(_, data, _)| data).collect()
    };
    for task in named("checkpoints").into_iter().flat_map(|made| made["tasks"].as_array().unwrap()) {
        let mut fields: Vec<_> = task.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["id", "interrupts", "name", "state"]);
    }
    assert_eq!(named("tasks")[0]["triggers"], json!(["branch:to:propose"]));
    assert!(named("debug").iter().all(|data| data["timestamp"].is_string()));
    let asked = named("updates").pop().unwrap();
    assert_eq!(asked["__interrupt__"][0].get("response_schema"), Some(&Value::Null), "{asked}");
}
