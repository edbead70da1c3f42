//! The values of a state, level by level.

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::{refused, with_heap};

fn path(query: &str) -> String {
    format!("/threads/h/checkpoints/3/value{query}")
}

#[rstest]
#[case::whole("", json!("object"), json!(["count", "data"]))]
#[case::object("?path=/data", json!("object"), json!(["list", "text"]))]
#[case::array("?path=/data/list", json!("array"), json!(["0", "1", "2"]))]
#[case::page("?path=/data/list&limit=1&after=1", json!("array"), json!(["1"]))]
#[case::deep("?path=/data/list/1/a~1b", json!("number"), json!([]))]
#[case::text("?path=/data/text", json!("string"), json!([]))]
#[tokio::test]
async fn one_level_is_read(#[case] query: &str, #[case] kind: Value, #[case] keys: Value) {
    let api = with_heap(json!({ "list": [1, { "a/b": 2 }, null], "text": "x" })).await;
    let level = api.get(&path(query)).await;
    let found: Value = level["entries"].as_array().unwrap().iter().map(|entry| entry["key"].clone()).collect();
    assert_eq!((&level["type"], &found), (&kind, &keys), "{level}");
}

#[tokio::test]
async fn a_state_of_ten_megabytes_is_read_in_small_answers() {
    let items: Vec<Value> = (0..20_000).map(|at| json!({ "at": at, "text": "x".repeat(500) })).collect();
    let api = with_heap(json!({ "items": items, "long": "é".repeat(1 << 20) })).await;
    for query in ["", "?path=/data", "?path=/data/items&limit=1000", "?path=/data/items/7", "?path=/data/long"] {
        let answer = api.send(Method::GET, &path(query), None).await.text().await.unwrap();
        assert!(answer.len() < 200_000, "{query}: {} bytes", answer.len());
        let level: Value = serde_json::from_str(&answer).unwrap();
        assert!(level["size"].as_u64() > Some(500), "{query}");
    }
    let level = api.get(&path("?path=/data")).await;
    assert!(level["size"].as_u64() > Some(10_000_000), "{level}");
    let page = api.get(&path("?path=/data/items&after=19999")).await;
    assert_eq!(
        (&page["entries"][0]["key"], &page["next"], &page["count"]),
        (&json!("19999"), &Value::Null, &json!(20_000))
    );
    assert_eq!(api.get(&path("?path=/data/long")).await["cut"], true);
    let whole = api.get(&path("?path=/data/long&full=true")).await;
    assert_eq!((whole["value"].as_str().unwrap().len(), whole.get("cut")), (2 << 20, None));
}

#[rstest]
#[case::channel("?path=/none", 404, "has no `/none`: there is no `none` in an object")]
#[case::index("?path=/data/list/9", 404, "there is no `9` in `/data/list`, which is an array of 1 entry")]
#[case::below_a_number("?path=/data/list/0/x", 404, "there is no `x` in `/data/list/0`, which is a number")]
#[case::no_pointer("?path=data", 422, "JSON pointer")]
#[case::limit("?limit=1001", 422, "1 to 1000")]
#[case::after("?after=x", 422, "after")]
#[tokio::test]
async fn the_part_that_is_missing_is_named(#[case] query: &str, #[case] status: u16, #[case] named: &str) {
    let api = with_heap(json!({ "list": [1] })).await;
    let (found, detail) = refused(&api, Method::GET, &path(query)).await;
    assert!(found == StatusCode::from_u16(status).unwrap() && detail.contains(named), "{found} {detail}");
}

#[tokio::test]
async fn the_value_of_an_older_checkpoint_is_as_it_was() {
    let api = with_heap(json!(1)).await;
    let count =
        async |at: u64| api.get(&format!("/threads/h/checkpoints/{at}/value?path=/count")).await["value"].clone();
    assert_eq!((count(2).await, count(3).await), (json!(0), json!(1)));
    assert_eq!(api.status(Method::GET, "/threads/h/checkpoints/9/value?path=/count", None).await, 404);
}

#[tokio::test]
async fn large_writes_of_a_task_are_shown_as_one_level() {
    let api = with_heap(json!({ "long": "x".repeat(100_000) })).await;
    let checkpoint = api.get("/threads/h/checkpoints/2").await;
    let (task, size) = (&checkpoint["tasks"][0], checkpoint.to_string().len());
    let outline = &task["writes_outline"];
    assert_eq!((&task["writes"], &outline["type"], &outline["count"]), (&Value::Null, &json!("array"), &json!(2)));
    assert!(size < 5000 && outline["size"].as_u64() > Some(100_000), "{size}: {outline}");
}
