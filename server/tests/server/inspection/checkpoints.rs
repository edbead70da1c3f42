//! Lists of checkpoints, one of them, one of its tasks.

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::graphs::SECRET;
use super::{before, checkpoints, refused, with_work};

#[tokio::test]
async fn checkpoints_are_listed_with_their_tasks_in_outline() {
    let (api, _) = with_work().await;
    let all = checkpoints(&api, "").await;
    let next: Vec<&Value> = all.iter().map(|found| &found["next"]).collect();
    let expected = [
        json!(["publish"]),
        json!(["write"]),
        json!(["read", "read", "read"]),
        json!(["dig"]),
        json!(["gather"]),
        json!(["__start__"]),
    ];
    assert_eq!(next, expected.iter().collect::<Vec<_>>());
    let task = |at: usize| all[at]["tasks"][0].clone();
    let brief = |task: &Value| {
        let fields = ["status", "attempts", "effects", "questions", "has_inside", "path"];
        fields.map(|field| task[field].clone())
    };
    let known = |status: &str, (attempts, effects, questions, inside): (u32, u32, u32, bool), path: &str| {
        [json!(status), json!(attempts), json!(effects), json!(questions), json!(inside), json!([path])]
    };
    assert_eq!(brief(&task(0)), known("interrupted", (1, 0, 1, false), "publish"));
    assert_eq!(brief(&task(3)), known("done", (1, 2, 0, true), "dig"));
    assert_eq!(brief(&task(4)), known("done", (2, 1, 0, false), "gather"));
    assert_eq!((&all[0]["tasks"][0]["ended_at"], &all[0]["tags"]), (&Value::Null, &json!([])));
    for (at, found) in all.iter().enumerate().skip(1) {
        let (tasks, end) = (found["tasks"].as_array().unwrap(), &all[at - 1]["created_at"]);
        if let [alone] = &tasks[..] {
            assert_eq!((&alone["started_at"], &alone["ended_at"]), (&found["created_at"], end), "{alone}");
        }
        for task in tasks {
            let times = [&found["created_at"], &task["started_at"], &task["ended_at"], end];
            assert!(times.map(|time| time.as_str().unwrap()).is_sorted(), "{task}");
        }
    }
    assert!(all.iter().all(|found| found.get("state").is_none()));
}

#[rstest]
#[case::one_at_a_time(1)]
#[case::two(2)]
#[case::more_than_there_are(100)]
#[tokio::test]
async fn pages_of_checkpoints_have_each_of_them_once(#[case] limit: usize) {
    let (api, _) = with_work().await;
    let (mut found, mut before) = (vec![], String::new());
    loop {
        let page = api.get(&format!("/threads/t/checkpoints?limit={limit}{before}")).await;
        found.extend(page["checkpoints"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_u64() else { break };
        before = format!("&before={next}");
    }
    assert_eq!(found, checkpoints(&api, "").await);
}

#[tokio::test]
async fn tags_are_those_of_their_checkpoints() {
    let (api, store) = with_work().await;
    let (at, _) = before(&api, "dig").await;
    let store: std::sync::Arc<dyn superstep::checkpoint::Checkpointer> = store;
    let graphs = super::graphs::work("found").with_shared_checkpointer(store);
    graphs.get("work").unwrap().thread("t").at(superstep::checkpoint::CheckpointId(at)).tag("mark").await.unwrap();
    let tagged: Vec<Value> =
        checkpoints(&api, "").await.into_iter().filter(|found| found["tags"] == json!(["mark"])).collect();
    assert_eq!(tagged.iter().map(|found| found["checkpoint"].as_u64().unwrap()).collect::<Vec<_>>(), [at]);
    assert_eq!(api.get(&format!("/threads/t/checkpoints/{at}")).await["tags"], json!(["mark"]));
}

/// Returns the checkpoints of the subgraph of the first task of a checkpoint, and the query that leads there.
async fn inside(api: &crate::api::Api, query: &str, found: &Value) -> (String, Vec<Value>) {
    let task = found["tasks"][0]["id"].as_str().unwrap();
    let query = format!("{query}{}within={}:{task}", if query.is_empty() { "?" } else { "&" }, found["checkpoint"]);
    let listed = checkpoints(api, &query).await;
    (query, listed)
}

#[tokio::test]
async fn subgraphs_are_opened_at_any_depth() {
    let (api, _) = with_work().await;
    let (_, dig) = before(&api, "dig").await;
    let (query, inner) = inside(&api, "", &dig).await;
    let next: Vec<&Value> = inner.iter().map(|found| &found["next"]).collect();
    assert_eq!(next, [&json!([]), &json!(["deeper"]), &json!(["look"]), &json!(["__start__"])]);
    assert_eq!(inner[2]["tasks"][0]["path"], json!(["dig", "look"]));
    assert_eq!(
        checkpoints(&api, &format!("{query}&limit=1&before={}", inner[0]["checkpoint"])).await,
        [inner[1].clone()]
    );
    let (query, innermost) = inside(&api, &query, &inner[1]).await;
    let touch = innermost.iter().find(|found| found["next"] == json!(["touch"])).unwrap();
    assert_eq!(touch["tasks"][0]["path"], json!(["dig", "deeper", "touch"]));
    let at = &touch["checkpoint"];
    let one = api.get(&format!("/threads/t/checkpoints/{at}{query}")).await;
    assert_eq!(one["tasks"][0]["writes"], json!([{ "found": ["stone"] }]));
    let value = api.get(&format!("/threads/t/checkpoints/{at}/value{query}&path=/found/1")).await;
    assert_eq!(value["value"], "depth 7");
    let task = touch["tasks"][0]["id"].as_str().unwrap();
    let task = api.get(&format!("/threads/t/checkpoints/{at}/tasks/{task}{query}")).await;
    assert_eq!((&task["journal"]["entries"][0]["key"], &task["node"]), (&json!("feel"), &json!("touch")));
    // A checkpoint of a subgraph is none of the thread's own graph, nor of another subgraph.
    assert_eq!(api.status(Method::GET, &format!("/threads/t/checkpoints/{at}"), None).await, 404);
    let (other, _) = inside(&api, "", &dig).await;
    assert_eq!(api.status(Method::GET, &format!("/threads/t/checkpoints/{at}{other}"), None).await, 404);
}

#[tokio::test]
async fn a_checkpoint_has_its_tasks_without_the_state_and_inputs() {
    let (api, _) = with_work().await;
    let (at, listed) = before(&api, "publish").await;
    let one = api.get(&format!("/threads/t/checkpoints/{at}")).await;
    let task = &one["tasks"][0];
    assert_eq!((&one["checkpoint"], &one["created_at"]), (&json!(at), &listed["created_at"]));
    assert_eq!((&task["status"], &task["questions"][0]["name"]), (&json!("interrupted"), &json!("publish")));
    assert!(one.get("state").is_none() && task.get("input").is_none() && task.get("journal").is_none(), "{one}");
    let (at, _) = before(&api, "gather").await;
    let gather = api.get(&format!("/threads/t/checkpoints/{at}")).await["tasks"][0].clone();
    assert_eq!((&gather["status"], &gather["failures"][0]["attempt"]), (&json!("done"), &json!(1)));
    assert_eq!(gather["failures"][0]["error"], "[secret] was not enough");
}

#[tokio::test]
async fn a_task_has_its_input_in_outline_and_its_journal() {
    let (api, _) = with_work().await;
    let (at, listed) = before(&api, "gather").await;
    let id = listed["tasks"][0]["id"].as_str().unwrap();
    let task = api.get(&format!("/threads/t/checkpoints/{at}/tasks/{id}")).await;
    let entry = &task["journal"]["entries"][0];
    assert_eq!(
        (&entry["key"], &entry["result"], &entry["arguments"]),
        (&json!("fetch"), &json!("about tides"), &json!("tides"))
    );
    assert_eq!((&task["input"]["type"], &task["input"]["entries"][0]["key"]), (&json!("object"), &json!("found")));
    assert_eq!(task["writes"], json!([{ "found": ["about tides"] }]));
    let (at, listed) = before(&api, "read").await;
    let id = listed["tasks"][2]["id"].as_str().unwrap();
    let task = api.get(&format!("/threads/t/checkpoints/{at}/tasks/{id}")).await;
    assert_eq!(
        task["input"]["entries"][0],
        json!({ "key": "number", "type": "number", "count": null, "size": 1, "preview": "3" })
    );
}

#[rstest]
#[case::no_thread("/threads/none/checkpoints", 404, "none")]
#[case::no_checkpoint("/threads/t/checkpoints/999", 404, "999")]
#[case::no_number("/threads/t/checkpoints/x", 404, "x")]
#[case::no_task("/threads/t/checkpoints/1/tasks/9-9", 404, "__start__")]
#[case::limit("/threads/t/checkpoints?limit=0", 422, "1 to 1000")]
#[case::before("/threads/t/checkpoints?before=x", 422, "before")]
#[case::within("/threads/t/checkpoints?within=3", 422, "CHECKPOINT:TASK")]
#[case::no_subgraph("/threads/t/checkpoints?within=1:1-ffffff", 404, "has_inside")]
#[case::no_task_within("/threads/t/checkpoints?within=1:9", 404, "has_inside")]
#[tokio::test]
async fn what_is_not_there_is_named(#[case] path: &str, #[case] status: u16, #[case] named: &str) {
    let (api, _) = with_work().await;
    let (found, detail) = refused(&api, Method::GET, path).await;
    assert!(found == StatusCode::from_u16(status).unwrap() && detail.contains(named), "{found} {detail}");
}

#[tokio::test]
async fn a_thread_that_has_not_run_has_no_checkpoints() {
    let (api, _) = with_work().await;
    api.post("/threads", json!({ "thread_id": "new" })).await;
    assert_eq!(api.get("/threads/new/checkpoints").await, json!({ "checkpoints": [], "next": null }));
    assert_eq!(api.status(Method::GET, "/threads/new/checkpoints/1", None).await, 404);
}

#[tokio::test]
async fn secrets_are_in_no_answer() {
    let (api, _) = with_work().await;
    let mut paths = vec!["/threads/t/checkpoints".to_owned(), "/threads/t/diff?from=1&to=3".to_owned()];
    for found in checkpoints(&api, "").await {
        let path = format!("/threads/t/checkpoints/{}", found["checkpoint"]);
        let task = |task: &Value| format!("{path}/tasks/{}", task["id"].as_str().unwrap());
        paths.extend(found["tasks"].as_array().unwrap().iter().map(task));
        paths.extend([format!("{path}/value"), format!("{path}/value?path=/found"), path]);
    }
    for path in &paths {
        let text = api.send(Method::GET, path, None).await.text().await.unwrap();
        assert!(!text.contains(SECRET), "{path}: {text}");
    }
    let (at, _) = before(&api, "publish").await;
    assert_eq!(api.status(Method::GET, &format!("/threads/t/checkpoints/{at}/value?path=/token"), None).await, 404);
    assert_eq!(api.get(&format!("/threads/t/checkpoints/{at}/value?path=/text")).await["value"], "found 6");
}
