//! Threads with damaged records, and questions whose methods panic: the inbox still has the items of all others.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{AnyGraph, Graphs, HumanQuestion, Reply};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, all_graphs};
use crate::watched_store::{Damage, WatchedStore};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Wish {
    /// The method of the question that panics.
    panics: String,
}

/// A question of which one method panics.
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "wish")]
struct Granted {
    panics: String,
}

impl Granted {
    fn trip<T>(&self, method: &str, result: T) -> T {
        assert!(self.panics != method, "out of ink");
        result
    }
}

impl HumanQuestion<Wish> for Granted {
    fn decide(&self, reply: &Reply) -> Option<bool> {
        self.trip("decide", Some(reply.kind == ReplyKind::Approve))
    }

    fn describe(&self, _: &Wish) -> Option<String> {
        self.trip("describe", Some("granted?".into()))
    }

    fn draft(&self, _: &Wish) -> Option<String> {
        self.trip("draft", Some("granted".into()))
    }

    fn check(&self, _: &bool) -> Option<String> {
        self.trip("check", None)
    }

    fn remarks(&self, _: &bool) -> Vec<String> {
        self.trip("remarks", vec!["sure?".into()])
    }
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Grant,
}

async fn grant(state: Arc<Wish>, ctx: Ctx) -> Result<WishUpdate, NodeError> {
    ctx.ask(Granted { panics: state.panics.clone() }).await?;
    Ok(Wish::update())
}

fn wishes() -> Graphs {
    let graph = StateGraph::new().add_node(Step::Grant, grant.asks::<Granted>()).add_edge(START, Step::Grant).compile();
    all_graphs().unwrap().with(AnyGraph::from(graph.unwrap().named("wishes")).question::<Wish, Granted>())
}

async fn run(api: &Api, thread: &str, graph: &str, input: Value) {
    let body = json!({ "assistant_id": graph, "input": input, "if_not_exists": "create" });
    api.post(&format!("/threads/{thread}/runs/wait"), body).await;
}

/// Returns the items as pairs of kind and thread, in the order of the threads.
fn kinds(inbox: &Value) -> Vec<(&str, &str)> {
    let items = inbox["items"].as_array().unwrap().iter();
    let mut kinds: Vec<_> =
        items.map(|item| (item["kind"].as_str().unwrap(), item["thread"].as_str().unwrap())).collect();
    kinds.sort_by_key(|(_, thread)| *thread);
    kinds
}

#[rstest]
#[case::tasks(Damage::Tasks, 1)]
#[case::state(Damage::Checkpoints, 2)]
#[tokio::test]
async fn a_damaged_thread_is_an_item_and_hides_no_other(#[case] damage: Damage, #[case] questions: usize) {
    let store = WatchedStore::new(MemoryCheckpointer::new(), 1 << 20);
    let api = Api::start_with(Options::default(), store.clone()).await;
    for thread in ["bad", "good"] {
        run(&api, thread, "approval", json!({ "request": "x" })).await;
    }
    store.damage.set(("bad".into(), damage)).unwrap();
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("damaged", "bad"), ("question", "good")]);
    let bad = &inbox["items"].as_array().unwrap().iter().find(|item| item["thread"] == "bad").unwrap();
    assert_eq!((&bad["reason"], &bad["question"]), (&json!("a record cannot be read"), &Value::Null));
    assert_eq!(kinds(&api.get("/threads/bad/inbox").await), [("damaged", "bad")]);
    assert_eq!(api.get("/health").await["questions"]["open"], questions);
}

#[rstest]
#[case::describe("describe", json!([null, "granted", true]))]
#[case::draft("draft", json!(["granted?", null, true]))]
#[case::decide("decide", json!(["granted?", "granted", null]))]
#[tokio::test]
async fn a_question_whose_method_panics_is_shown_without_its_result(#[case] method: &str, #[case] shown: Value) {
    let api = Api::start_graphs(wishes(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    run(&api, "bad", "wishes", json!({ "panics": method })).await;
    run(&api, "good", "approval", json!({ "request": "x" })).await;
    let inbox = api.get("/inbox").await;
    assert_eq!(kinds(&inbox), [("question", "bad"), ("question", "good")]);
    let asked = &api.get("/threads/bad/inbox").await["items"][0]["question"];
    assert_eq!(json!([asked["text"], asked["draft"], asked["replies"]["approve"]]), shown);
}

#[rstest]
#[case::check("check", &["`check` of the question `wish` panicked: out of ink"], &["sure?"])]
#[case::remarks("remarks", &[], &[])]
#[tokio::test]
async fn a_panic_of_a_check_is_a_problem_of_the_answer(
    #[case] method: &str,
    #[case] problems: &[&str],
    #[case] remarks: &[&str],
) {
    let api = Api::start_graphs(wishes(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    run(&api, "t", "wishes", json!({ "panics": method })).await;
    let id = api.get("/inbox").await["items"][0]["question"]["id"].as_str().unwrap().to_owned();
    let checked = api.send(Method::POST, "/threads/t/check", Some(json!({ "resume": { id: true } }))).await;
    assert_eq!(checked.status(), StatusCode::OK);
    let checked: Value = checked.json().await.unwrap();
    for (name, expected) in [("problems", problems), ("remarks", remarks)] {
        let texts: Vec<_> = checked[name].as_array().unwrap().iter().map(|remark| remark["text"].clone()).collect();
        assert_eq!(texts, expected, "{checked}");
    }
}
