//! The description of the routes, and the page that shows it.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep_server::{KeyRole, Options};

use crate::api::Api;
use crate::security::Locked;

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let api = Api::start().await;
    for path in ["/docs", "/docs/docs.css", "/docs/docs.js"] {
        let answer = api.send(Method::GET, path, None).await;
        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{path}: {policy}");
        let text = answer.text().await.unwrap();
        assert!(!text.contains("://") && !text.contains("style=") && !text.contains("innerHTML"), "{path}: {text}");
    }
}

#[tokio::test]
async fn the_page_is_left_out_where_it_is_not_wanted() {
    let api = Api::start_with(Options::default().page(false), Arc::new(MemoryCheckpointer::new())).await;
    for path in ["/docs", "/docs/docs.js", "/ui/", "/ui/page.js", "/ui/threads"] {
        assert_eq!(api.status(Method::GET, path, None).await, 404, "{path}");
    }
}

#[tokio::test]
async fn the_page_needs_no_key_and_the_description_the_role_read() {
    let locked = Locked::start().await;
    assert_eq!(locked.api.status(Method::GET, "/docs", None).await, 200);
    assert_eq!(locked.api.status(Method::GET, "/openapi.json", None).await, 401);
    let answer = locked.request(KeyRole::Read, Method::GET, "/openapi.json").send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["openapi"], "3.1.0");
}

/// Returns the operations of a document: method, path, description.
fn operations(document: &Value) -> Vec<(Method, String, &Value)> {
    let of_path = |(path, item): (&String, &'_ Value)| -> Vec<(Method, String)> {
        let methods = item.as_object().unwrap().keys().map(|name| name.to_uppercase().parse().unwrap());
        methods.map(|method| (method, path.clone())).collect()
    };
    let all = document["paths"].as_object().unwrap().iter().flat_map(of_path);
    let described = |(method, path): (Method, String)| {
        let operation = &document["paths"][&path][method.as_str().to_lowercase()];
        (method, path, operation)
    };
    all.map(described).collect()
}

/// Returns the path of an operation with a value for each of its parameters.
fn filled(path: &str) -> String {
    let part = |part: &str| match part {
        "{run_id}" | "{cron_id}" | "{assistant_id}" => "00000000-0000-4000-8000-000000000000".to_owned(),
        part => part.replace(['{', '}'], ""),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn each_operation_of_the_document_has_a_route() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await;
    let all = operations(&document);
    assert!(all.len() > 50);
    let mut problems = vec![];
    for (method, path, operation) in all {
        let body = operation.get("requestBody").map(|_| json!({ "assistant_id": "nobody" }));
        let answer = api.send(method.clone(), &filled(&path), body).await;
        let status = answer.status().as_u16();
        if operation["responses"].get(status.to_string()).is_none() {
            problems.push(format!("{method} {path} is answered with {status}, which is not described"));
        }
        if status == 404 && answer.text().await.unwrap().contains("there is no route") {
            problems.push(format!("{method} {path} has no route"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Checks answers against the document.
struct Checks<'a> {
    api: &'a Api,
    document: Value,
}

impl Checks<'_> {
    /// Sends a request to an operation, and checks its answer.
    async fn send(&self, (method, template): (Method, &str), path: &str, body: Value) -> Value {
        let body = if body.is_null() { None } else { Some(body) };
        let answer = self.api.send(method.clone(), path, body).await;
        let status = answer.status().as_u16().to_string();
        let operation = &self.document["paths"][template][method.as_str().to_lowercase()];
        let described = &operation["responses"][&status];
        let described =
            described["$ref"].as_str().map_or(described, |place| self.document.pointer(&place[1..]).unwrap());
        let mut schema = described["content"]["application/json"]["schema"].clone();
        assert!(schema.is_object(), "{method} {template}: {status} has no schema");
        if let Some(entry) = schema.pointer("/items/anyOf/0").cloned() {
            schema["items"] = entry; // all fields: no request here selects
        }
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let shown = answer.json().await.unwrap();
        let wrong: Vec<_> =
            validator.iter_errors(&shown).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{method} {template}: {wrong:?} in {shown}");
        shown
    }
}

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let api = Api::start().await;
    let checks = Checks { document: api.get("/openapi.json").await, api: &api };
    let (get, post) = (|template| (Method::GET, template), |template| (Method::POST, template));

    let made = checks.send(post("/assistants"), "/assistants", json!({ "graph_id": "approval", "name": "a" })).await;
    let of = format!("/assistants/{}", made["assistant_id"].as_str().unwrap());
    checks.send(get("/assistants/{assistant_id}"), &of, Value::Null).await;
    checks.send(get("/assistants/{assistant_id}"), "/assistants/none", Value::Null).await;
    checks.send(post("/assistants/search"), "/assistants/search", json!({})).await;
    checks.send(post("/assistants/count"), "/assistants/count", json!({})).await;
    checks.send(post("/assistants/{assistant_id}/versions"), &format!("{of}/versions"), json!({})).await;
    checks.send(get("/assistants/{assistant_id}/graph"), &format!("{of}/graph"), Value::Null).await;

    checks.send(post("/threads"), "/threads", json!({ "thread_id": "t" })).await;
    checks.send(post("/threads"), "/threads", json!({ "thread_id": "t" })).await;
    checks.send(get("/threads/{thread_id}/state"), "/threads/t/state", Value::Null).await;
    let request = json!({ "assistant_id": "approval", "input": { "request": "ship" } });
    checks.send(post("/threads/{thread_id}/runs/wait"), "/threads/t/runs/wait", request.clone()).await;
    let state = checks.send(get("/threads/{thread_id}/state"), "/threads/t/state", Value::Null).await;
    assert_eq!(state["interrupts"][0]["superstep"]["name"], "approve", "the question is checked too");
    let thread = checks.send(get("/threads/{thread_id}"), "/threads/t", Value::Null).await;
    assert!(!thread["interrupts"].as_object().unwrap().is_empty());
    checks.send(post("/threads/search"), "/threads/search", json!({})).await;
    checks.send(get("/threads/{thread_id}/history"), "/threads/t/history", Value::Null).await;
    let update = json!({ "values": { "status": "x" }, "as_node": "finish" });
    checks.send(post("/threads/{thread_id}/state"), "/threads/t/state", update).await;

    let run = checks.send(post("/threads/{thread_id}/runs"), "/threads/t/runs", request.clone()).await;
    let of = format!("/threads/t/runs/{}", run["run_id"].as_str().unwrap());
    checks.send(get("/threads/{thread_id}/runs/{run_id}/join"), &format!("{of}/join"), Value::Null).await;
    checks.send(get("/threads/{thread_id}/runs/{run_id}"), &of, Value::Null).await;
    checks.send(get("/threads/{thread_id}/runs"), "/threads/t/runs", Value::Null).await;
    checks.send(post("/runs/batch"), "/runs/batch", json!([request])).await;

    let cron = json!({ "assistant_id": "counter", "input": {}, "schedule": "0 9 * * *" });
    checks.send(post("/runs/crons"), "/runs/crons", cron).await;
    checks.send(post("/runs/crons/search"), "/runs/crons/search", json!({})).await;

    let item = json!({ "namespace": ["a"], "key": "k", "value": { "n": 1 } });
    assert_eq!(api.status(Method::PUT, "/store/items", Some(item)).await, 204);
    checks.send(get("/store/items"), "/store/items?namespace=a&key=k", Value::Null).await;
    checks.send(get("/store/items"), "/store/items?namespace=a&key=none", Value::Null).await;
    checks.send(post("/store/items/search"), "/store/items/search", json!({ "query": "n" })).await;
    checks.send(post("/store/namespaces"), "/store/namespaces", json!({})).await;
}

#[tokio::test]
async fn answers_about_the_past_are_as_the_document_says() {
    let api = Api::start().await;
    let checks = Checks { document: api.get("/openapi.json").await, api: &api };
    let request = json!({ "assistant_id": "counter", "input": {}, "if_not_exists": "create" });
    api.post("/threads/t/runs/wait", request).await;
    let page = "/threads/{thread_id}/checkpoints";
    let one = format!("{page}/{{checkpoint_id}}");
    let cases = [
        (Method::GET, page.to_owned(), "/threads/t/checkpoints?limit=2"),
        (Method::GET, page.to_owned(), "/threads/t/checkpoints"),
        (Method::GET, one.clone(), "/threads/t/checkpoints/3"),
        (Method::GET, format!("{one}/value"), "/threads/t/checkpoints/3/value"),
        (Method::GET, format!("{one}/value"), "/threads/t/checkpoints/3/value?path=/trail/0"),
        (Method::GET, format!("{one}/value"), "/threads/t/checkpoints/3/value?path=/none"),
        (Method::GET, format!("{one}/tasks/{{task_id}}"), "/threads/t/checkpoints/3/tasks/3-1"),
        (Method::GET, "/threads/{thread_id}/diff".to_owned(), "/threads/t/diff?from=2&to=3"),
        (Method::POST, "/threads/{thread_id}/verify".to_owned(), "/threads/t/verify"),
        (Method::POST, "/threads/{thread_id}/what-if".to_owned(), "/threads/t/what-if"),
    ];
    for (method, template, path) in cases {
        let body = if method == Method::POST { json!({}) } else { Value::Null };
        checks.send((method, &template), path, body).await;
    }
}
