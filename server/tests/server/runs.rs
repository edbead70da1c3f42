//! Runs, threads and assistants: what clients are answered, in which order, and what a killed process has promised.

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::{Api, Process, events};

#[tokio::test]
async fn a_run_is_waited_for_and_its_states_are_read() {
    let api = Api::start().await;
    let thread = api.thread().await;
    let path = format!("/threads/{thread}");
    let before = api.get(&path).await;
    assert_eq!((&before["status"], &before["values"]), (&json!("idle"), &Value::Null));
    assert_eq!(api.get(&format!("{path}/state")).await["checkpoint"], Value::Null);

    let values =
        api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "counter", "input": { "n": 10 } })).await;
    assert_eq!(values, json!({ "n": 15, "trail": ["step1", "step2", "step3", "step4", "step5"] }));
    let state = api.get(&format!("{path}/state")).await;
    assert_eq!((&state["values"], &state["next"], &state["metadata"]["step"]), (&values, &json!([]), &json!(5)));
    let history = api.post(&format!("{path}/history"), json!({ "limit": 3 })).await;
    let steps: Vec<_> = history.as_array().unwrap().iter().map(|state| state["metadata"]["step"].clone()).collect();
    assert_eq!(steps, [5, 4, 3]);
    assert_eq!(history[0]["parent_checkpoint"], history[1]["checkpoint"]);
    for before in [
        history[1]["checkpoint_id"].clone(),
        history[1]["checkpoint"].clone(),
        json!({ "configurable": history[1]["checkpoint"] }),
    ] {
        let older = api.post(&format!("{path}/history"), json!({ "limit": 1, "before": before })).await;
        assert_eq!(older[0]["metadata"]["step"], 3, "{before}");
    }
    let runs = api.get(&format!("{path}/runs")).await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["status"]), (1, &json!("success")));

    let updated = json!({ "values": { "n": 100 }, "as_node": "step3" });
    let updated = api.post(&format!("{path}/state"), updated).await;
    let state = api.get(&format!("{path}/state/{}", updated["checkpoint_id"].as_str().unwrap())).await;
    assert_eq!((&state["values"]["n"], &state["next"]), (&json!(115), &json!(["step4"])));
    let on = api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "counter", "input": null })).await;
    assert_eq!(on["n"], 117);
}

#[rstest]
#[case::empty(json!({}), 11)]
#[case::no_channel(json!({ "unknown": 1 }), 11)]
#[case::none(Value::Null, 6)]
#[tokio::test]
async fn an_input_without_values_starts_the_graph_and_none_at_all_resumes_it(#[case] input: Value, #[case] n: u64) {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs", api.thread().await);
    let wait = async |input: &Value| {
        api.post(&format!("{path}/wait"), json!({ "assistant_id": "counter", "input": input })).await
    };
    assert_eq!(wait(&json!({ "n": 1 })).await["n"], 6);
    assert_eq!(wait(&input).await["n"], n);
    assert_eq!(api.get(&path).await[0]["status"], "success");
}

#[rstest]
#[case::empty(json!({}), Value::Null, "idle")]
#[case::none(Value::Null, json!("EmptyInputError"), "error")]
#[tokio::test]
async fn a_new_thread_needs_an_input_that_may_be_empty(
    #[case] input: Value,
    #[case] error: Value,
    #[case] status: &str,
) {
    let (api, body) = (Api::start().await, json!({ "assistant_id": "counter", "input": input }));
    let thread = api.thread().await;
    let values = api.post(&format!("/threads/{thread}/runs/wait"), body.clone()).await;
    assert_eq!(values["__error__"]["error"], error, "{values}");
    assert_eq!(api.get(&format!("/threads/{thread}")).await["status"], status);
    assert_eq!(api.post("/runs/wait", body).await["__error__"]["error"], error);
}

#[tokio::test]
async fn a_question_ends_a_run_and_an_answer_is_the_next() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let asked = api
        .post(&format!("{path}/runs/wait"), json!({ "assistant_id": "approval", "input": { "request": "x" } }))
        .await;
    let question = json!({ "question": "approve?", "proposal": "do x" });
    assert_eq!(asked["__interrupt__"][0]["value"], question);
    let thread = api.get(&path).await;
    assert_eq!(thread["status"], "interrupted");
    let (_, open) = thread["interrupts"].as_object().unwrap().iter().next().unwrap();
    assert_eq!((&open[0]["value"], &open[0]["id"]), (&question, &asked["__interrupt__"][0]["id"]));
    let id = open[0]["id"].as_str().unwrap();
    let answer = json!({ "assistant_id": "approval", "command": { "resume": { id: "yes" } } });
    let done = api.post(&format!("{path}/runs/wait"), answer).await;
    assert_eq!((&done["decision"], &done["status"]), (&json!("yes"), &json!("approved")));
    assert_eq!(api.get(&path).await["status"], "idle");
}

#[tokio::test]
async fn a_failure_is_told_as_a_value_and_the_thread_has_it() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({ "assistant_id": "fails", "input": { "reason": "why" } });
    let response = api.send(Method::POST, &format!("{path}/runs/wait"), Some(body.clone())).await;
    assert_eq!(response.status(), StatusCode::OK);
    let values: Value = response.json().await.unwrap();
    assert_eq!(values["__error__"]["message"], "boom: why");
    let thread = api.get(&path).await;
    assert_eq!((&thread["status"], &thread["error"]["message"]), (&json!("error"), &json!("boom: why")));
    let told = api.stream(&format!("{path}/runs/stream"), body).await;
    assert_eq!(told.last().map(|(name, ..)| name.as_str()), Some("error"));
}

#[tokio::test]
async fn events_come_in_order_with_numbers_and_can_be_had_again() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({
        "assistant_id": "counter", "input": { "n": 0 }, "stream_mode": ["values", "updates"], "stream_resumable": true
    });
    let response = api.send(Method::POST, &format!("{path}/runs/stream"), Some(body)).await;
    let run = response.headers()["content-location"].to_str().unwrap().to_owned();
    let again = response.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(again, format!("{run}/stream"));
    let all = events(response).await;
    let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
    let pairs = ["updates", "values"].repeat(5);
    assert_eq!(names, [&["metadata", "values"][..], &pairs].concat());
    assert!(all.iter().map(|(.., id)| id.unwrap()).eq(1..=12));
    // The status is stored before the events end.
    assert_eq!(api.get(&run).await["status"], "success");
    let rest = api.client.get(format!("{}{again}", api.address)).header("Last-Event-ID", "9").send().await.unwrap();
    assert_eq!(events(rest).await, all[9..]);
}

#[tokio::test]
async fn runs_of_one_thread_wait_in_their_order() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let create = |ms: u64| json!({ "assistant_id": "slow", "input": { "steps": 100, "ms": ms } });
    let first = api.post(&format!("{path}/runs"), create(20)).await;
    let rejected = json!({ "assistant_id": "slow", "input": {}, "multitask_strategy": "reject" });
    let rejected = api.send(Method::POST, &format!("{path}/runs"), Some(rejected)).await;
    assert_eq!(rejected.status(), StatusCode::CONFLICT);
    let second = api.post(&format!("{path}/runs"), json!({ "assistant_id": "slow", "input": { "steps": 0 } })).await;
    assert_eq!(second["status"], "pending");
    assert_eq!(api.get(&path).await["status"], "busy");
    let run = |run: &Value| format!("{path}/runs/{}", run["run_id"].as_str().unwrap());
    let cancelled = api.send(Method::POST, &format!("{}/cancel?wait=1", run(&first)), None).await;
    assert_eq!(cancelled.status(), StatusCode::OK);
    assert_eq!(api.get(&run(&first)).await["status"], "interrupted");
    api.get(&format!("{}/join", run(&second))).await;
    assert_eq!(api.get(&run(&second)).await["status"], "success");
    let late = api.send(Method::POST, &format!("{}/cancel", run(&first)), None).await;
    assert_eq!(late.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_run_interrupts_those_before_it() {
    let api = Api::start().await;
    for waits in [false, true] {
        let path = format!("/threads/{}", api.thread().await);
        let create = |steps: u64| json!({ "assistant_id": "slow", "input": { "steps": steps, "ms": 10 } });
        let mut earlier = vec![];
        for _ in 0..3 {
            earlier.push(api.post(&format!("{path}/runs"), create(1000)).await["run_id"].clone());
        }
        while waits && api.get(&format!("{path}/state")).await["values"]["ticks"].as_u64().unwrap_or_default() < 2 {}
        let mut last = create(1);
        last["multitask_strategy"] = "interrupt".into();
        let values = api.post(&format!("{path}/runs/wait"), last).await;
        assert!(values["ticks"].as_u64().unwrap() >= if waits { 2 } else { 1 }, "{values}");
        for run in earlier {
            let run = api.get(&format!("{path}/runs/{}", run.as_str().unwrap())).await;
            assert_eq!(run["status"], "interrupted");
        }
        assert_eq!(api.get(&path).await["status"], "idle");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_cancels_its_own_run_alone() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({ "assistant_id": "slow", "input": { "steps": 1000, "ms": 10 }, "on_disconnect": "cancel" });
    let first = api.post(&format!("{path}/runs"), body.clone()).await;
    let queued = api.send(Method::POST, &format!("{path}/runs/stream"), Some(body)).await;
    let run = queued.headers()["content-location"].to_str().unwrap().to_owned();
    drop(queued);
    while api.get(&run).await["status"] != "interrupted" {}
    let first = format!("{path}/runs/{}", first["run_id"].as_str().unwrap());
    let ticks = api.get(&format!("{path}/state")).await["values"]["ticks"].as_u64().unwrap_or_default();
    while api.get(&format!("{path}/state")).await["values"]["ticks"].as_u64().unwrap_or_default() < ticks + 3 {}
    assert_eq!(api.get(&first).await["status"], "running");
    api.send(Method::POST, &format!("{first}/cancel?wait=1"), None).await;
}

#[tokio::test]
async fn a_run_without_a_thread_leaves_none_unless_it_is_kept() {
    let api = Api::start().await;
    let body = json!({ "assistant_id": "counter", "input": { "n": 1 } });
    assert_eq!(api.post("/runs/wait", body.clone()).await["n"], 6);
    assert_eq!(api.post("/threads/count", json!({})).await, 0);
    let ticks = json!({ "assistant_id": "slow", "input": { "steps": 2, "ms": 1 }, "stream_mode": "custom" });
    let ticks: Vec<Value> = api.stream("/runs/stream", ticks).await.into_iter().map(|(_, data, _)| data).collect();
    assert_eq!(ticks[1..], [json!({ "tick": 1 }), json!({ "tick": 2 })]);
    let mut kept = body;
    kept["on_completion"] = "keep".into();
    api.post("/runs/wait", kept).await;
    let threads = api.post("/threads/search", json!({ "metadata": { "graph_id": "counter" } })).await;
    assert_eq!(threads[0]["values"]["n"], 6);
}

#[tokio::test]
async fn assistants_have_versions_and_each_graph_has_one_by_itself() {
    let api = Api::start().await;
    let found = api.post("/assistants/search", json!({ "graph_id": "counter" })).await;
    assert_eq!((&found[0]["name"], &found[0]["version"]), (&json!("counter"), &json!(1)));
    assert_eq!(found[0]["metadata"], json!({ "created_by": "system" }));
    let made = api.post("/assistants", json!({ "graph_id": "counter", "context": { "a": 1 }, "name": "mine" })).await;
    let path = format!("/assistants/{}", made["assistant_id"].as_str().unwrap());
    let second = api.send(Method::PATCH, &path, Some(json!({ "context": { "a": 2 } }))).await;
    let second: Value = second.json().await.unwrap();
    assert_eq!((&second["version"], &second["context"]["a"], &second["name"]), (&json!(2), &json!(2), &json!("mine")));
    let versions = api.post(&format!("{path}/versions"), json!({})).await;
    assert_eq!(versions.as_array().unwrap().iter().map(|version| &version["version"]).collect::<Vec<_>>(), [2, 1]);
    let first = api.post(&format!("{path}/latest"), json!({ "version": 1 })).await;
    assert_eq!((&first["version"], &first["context"]["a"]), (&json!(1), &json!(1)));
    let values = api.post("/runs/wait", json!({ "assistant_id": made["assistant_id"], "input": {} })).await;
    assert_eq!(values["n"], 5);
    assert_eq!(api.post("/assistants/count", json!({})).await, 8);
    assert_eq!(api.send(Method::DELETE, &path, None).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(api.send(Method::GET, &path, None).await.status(), StatusCode::NOT_FOUND);
}

#[rstest]
#[case::assistant(Method::POST, "/runs", json!({ "assistant_id": "none" }), 422, "the graphs are counter, chat_echo, approval")]
#[case::assistant_that_is_gone(Method::POST, "/runs", json!({ "assistant_id": "00000000-0000-4000-8000-000000000000" }), 404, "there is no assistant")]
#[case::thread(Method::GET, "/threads/none", Value::Null, 404, "there is no thread `none`")]
#[case::thread_of_a_run(Method::POST, "/threads/none/runs", json!({ "assistant_id": "slow" }), 404, "there is no thread `none`")]
#[case::mode(Method::POST, "/runs", json!({ "assistant_id": "slow", "stream_mode": "all" }), 422, "the modes are values")]
#[case::strategy(Method::POST, "/runs", json!({ "assistant_id": "slow", "multitask_strategy": "wait" }), 422, "`wait`")]
#[case::input(Method::POST, "/runs", json!({ "assistant_id": "slow", "input": { "ms": "soon" } }), 422, "ms")]
#[case::goto(Method::POST, "/runs", json!({ "assistant_id": "slow", "command": { "goto": "none" } }), 400, "no node `none`")]
#[case::route(Method::GET, "/nothing", Value::Null, 404, "there is no route GET /nothing")]
#[case::method(Method::PUT, "/threads", json!({}), 405, "Method Not Allowed")]
#[case::body(Method::POST, "/threads", json!([1]), 422, "invalid type")]
#[case::run_id(Method::GET, "/threads/a/runs/b", Value::Null, 422, "UUID")]
#[tokio::test]
async fn what_is_not_there_is_named(
    #[case] method: Method,
    #[case] path: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] told: &str,
) {
    let api = Api::start().await;
    let response = api.send(method, path, Some(body).filter(|body| !body.is_null())).await;
    assert_eq!(response.status().as_u16(), status);
    let body: Value = response.json().await.unwrap();
    assert!(body["detail"].as_str().unwrap().contains(told), "{body}");
}

#[tokio::test]
async fn runs_that_were_created_end_although_the_server_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (process, api) = Process::start(&folder.path().join("store"));
    let mut runs = vec![];
    for nth in 0..20 {
        let path = format!("/threads/{}", api.thread().await);
        let input = json!({ "steps": 10, "ms": 5 * (nth % 4) });
        let run = api.post(&format!("{path}/runs"), json!({ "assistant_id": "slow", "input": input })).await;
        runs.push((path, run["run_id"].as_str().unwrap().to_owned()));
    }
    drop(process);
    let (_process, api) = Process::start(&folder.path().join("store"));
    for (path, run) in runs {
        let values = api.get(&format!("{path}/runs/{run}/join")).await;
        assert_eq!(values["ticks"], 10, "{values}");
        assert_eq!(api.get(&format!("{path}/runs/{run}")).await["status"], "success");
    }
}
