//! Differences between checkpoints, and comparisons of a thread with its graph as it is now.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{ExportOptions, ImportOptions, MemoryCheckpointer, export_thread, import_thread};
use superstep_server::Options;

use super::{before, graphs, refused, serve, with_work};
use crate::api::Api;

#[tokio::test]
async fn two_checkpoints_of_a_thread_are_compared() {
    let (api, _) = with_work().await;
    let ((from, _), (to, _)) = (before(&api, "gather").await, before(&api, "read").await);
    let diff = api.get(&format!("/threads/t/diff?from={from}&to={to}")).await;
    assert_eq!((&diff["from"]["checkpoint"], &diff["to"]["next"]), (&json!(from), &json!(["read", "read", "read"])));
    assert_eq!(
        (&diff["channels"][0]["channel"], &diff["channels"][0]["patch"].as_array().unwrap().len()),
        (&json!("found"), &3)
    );
    assert_eq!(diff["recorded"][0]["entry"]["key"], "fetch");
}

#[tokio::test]
async fn checkpoints_of_two_threads_are_compared() {
    let (api, _) = with_work().await;
    let input = json!({ "topic": "moons", "token": graphs::SECRET });
    let body = json!({ "assistant_id": "work", "input": input, "if_not_exists": "create" });
    api.post("/threads/other%20one/runs/wait", body).await;
    let (at, _) = before(&api, "publish").await;
    let diff = api.get(&format!("/threads/t/diff?from={at}&to={at}&other=other%20one")).await;
    assert_eq!((&diff["from"]["thread"], &diff["to"]["thread"]), (&json!("t"), &json!("other one")));
    let patch = &diff["channels"][0]["patch"][0];
    assert_eq!((&patch["path"], &patch["value"]), (&json!("/topic"), &json!("moons")), "{diff}");
}

#[rstest]
#[case::from("/threads/t/diff?to=1", 422, "`from` is missing")]
#[case::to("/threads/t/diff?from=1", 422, "`to` is missing")]
#[case::number("/threads/t/diff?from=1&to=x", 422, "to is the number of a checkpoint")]
#[case::checkpoint("/threads/t/diff?from=1&to=999", 404, "999")]
#[case::other("/threads/t/diff?from=1&to=1&other=none", 404, "none")]
#[tokio::test]
async fn what_cannot_be_compared_is_named(#[case] path: &str, #[case] status: u16, #[case] named: &str) {
    let (api, _) = with_work().await;
    let (found, detail) = refused(&api, Method::GET, path).await;
    assert!(found == StatusCode::from_u16(status).unwrap() && detail.contains(named), "{found} {detail}");
}

#[tokio::test]
async fn a_thread_is_verified_against_its_graph() {
    let (api, store) = with_work().await;
    let same = api.post("/threads/t/verify", json!({})).await;
    assert_eq!(
        (&same["verdict"], &same["divergence"], &same["bodies"]),
        (&json!("same_in_part"), &Value::Null, &json!(1))
    );
    let ((at, write), history) = (before(&api, "write").await, api.get("/threads/t/checkpoints").await);
    let changed = serve(graphs::work("wrote"), &store).await;
    for body in [json!({}), json!({ "from": at })] {
        let found = changed.post("/threads/t/verify", body).await;
        assert_eq!(found["verdict"], "different", "{found}");
        let first = &found["divergence"];
        let place = [&first["checkpoint"], &first["node"], &first["task"]];
        assert_eq!(place, [&json!(at), &json!("write"), &write["tasks"][0]["id"]]);
        assert_eq!((&first["recorded"], &first["now"]), (&json!("found 6"), &json!("wrote 6")));
    }
    assert_eq!(changed.get("/threads/t/checkpoints").await, history, "nothing is stored");
}

#[tokio::test]
async fn what_if_shows_what_the_graph_would_do_now() {
    let (api, store) = with_work().await;
    let (at, write) = before(&api, "write").await;
    let history = api.get("/threads/t/checkpoints").await;
    let changed = serve(graphs::work("wrote"), &store).await;
    let found = changed.post("/threads/t/what-if", json!({})).await;
    assert_eq!((&found["state"]["text"], &found["next"]), (&json!("wrote 6"), &json!(["publish"])));
    let difference = &found["differences"][0];
    assert_eq!((&difference["checkpoint"], &difference["task"]), (&json!(at), &write["tasks"][0]["id"]));
    assert!(!found.to_string().contains(graphs::SECRET));
    assert_eq!(changed.get("/threads/t/checkpoints").await, history, "nothing is stored");
}

#[rstest]
#[case::verify("verify")]
#[case::what_if("what-if")]
#[tokio::test]
async fn an_imported_thread_is_compared_only_once_it_is_trusted(#[case] route: &str) {
    let (_, store) = with_work().await;
    let (mut file, here) = (vec![], Arc::new(MemoryCheckpointer::new()));
    export_thread(&*store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*here, &file[..], &ImportOptions::new()).await.unwrap();
    let api = serve(graphs::work("found"), &here).await;
    let path = format!("/threads/t/{route}");
    let (status, detail) = refused(&api, Method::POST, &path).await;
    assert!(status == StatusCode::FORBIDDEN && detail.contains("not trusted"), "{status} {detail}");
    let (at, _) = before(&api, "write").await;
    assert_eq!(api.get(&format!("/threads/t/diff?from=1&to={at}")).await["to"]["checkpoint"], at);
    api.post("/threads/t/trust", json!({})).await;
    assert_eq!(api.status(Method::POST, &path, Some(json!({}))).await, 200);
}

#[rstest]
#[case::no_thread("/threads/none/verify", json!({}), 404)]
#[case::checkpoint("/threads/t/verify", json!({ "from": 999 }), 404)]
#[case::field("/threads/t/what-if", json!({ "to": 1 }), 422)]
#[case::number("/threads/t/what-if", json!({ "from": "x" }), 422)]
#[tokio::test]
async fn a_wrong_comparison_is_refused(#[case] path: &str, #[case] body: Value, #[case] status: u16) {
    let (api, _) = with_work().await;
    assert_eq!(api.status(Method::POST, path, Some(body)).await, status);
}

/// Returns a server whose graph `heap` never ends when it is compared with the thread `h`, and does with `free`.
async fn stuck(options: Options) -> Api {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = serve(graphs::heap(false), &store).await;
    for (thread, data) in [("h", 1), ("free", 2)] {
        let body = json!({ "assistant_id": "heap", "input": { "data": data }, "if_not_exists": "create" });
        assert_eq!(api.post(&format!("/threads/{thread}/runs/wait"), body).await["count"], 1);
    }
    Api::start_graphs(graphs::heap(true), options, store).await
}

#[tokio::test]
async fn a_comparison_that_takes_too_long_is_stopped_with_the_command_that_goes_on() {
    let api = stuck(Options::default().longest_replay(Duration::from_millis(1))).await;
    // More than are compared at a time: each gives its place back.
    for _ in 0..3 {
        let answer = api.send(Method::POST, "/threads/h/verify", Some(json!({ "from": 1 }))).await;
        assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
        let detail = answer.json::<Value>().await.unwrap();
        assert!(detail["detail"].as_str().unwrap().contains("`superstep replay h --mode verify --from 1`"), "{detail}");
    }
}

#[tokio::test]
async fn a_few_comparisons_run_at_a_time_and_end_with_their_requests() {
    let api = stuck(Options::default().longest_replay(Duration::from_secs(3600))).await;
    let ask = || {
        let (client, url) = (api.client.clone(), format!("{}/threads/h/verify", api.address));
        tokio::spawn(async move { client.post(url).send().await.unwrap().status() })
    };
    let free = async || api.send(Method::POST, "/threads/free/verify", None).await;
    // Those beyond two are refused: two of the four wait until their client leaves.
    let mut asked: Vec<_> = (0..4).map(|_| ask()).collect();
    let mut refused = 0;
    while refused < 2 {
        let (ended, _, rest) = futures::future::select_all(asked).await;
        assert_eq!(ended.unwrap(), StatusCode::TOO_MANY_REQUESTS);
        (asked, refused) = (rest, refused + 1);
    }
    let full = free().await;
    assert_eq!(full.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(full.headers().contains_key("retry-after"));
    assert_eq!(api.status(Method::GET, "/threads/free/diff?from=1&to=2", None).await, 429);
    asked.iter().for_each(|asked| asked.abort());
    while free().await.status() != StatusCode::OK {
        tokio::task::yield_now().await;
    }
    assert_eq!(api.status(Method::GET, "/threads/free/diff?from=1&to=2", None).await, 200);
}
