//! Inboxes with many and large questions: pages end by their size, what is too long is left out, and answers are checked at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{AnyGraph, Graphs, HumanQuestion, Name, Reply};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, all_graphs};
use crate::watched_store::WatchedStore;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Poll {
    /// The lengths of the question and of its reply.
    question: usize,
    reply: usize,
    #[channel(append)]
    answers: Vec<String>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "opinion")]
struct Opinion {
    text: String,
    reply: usize,
}

impl HumanQuestion<Poll> for Opinion {
    fn decide(&self, _: &Reply) -> Option<String> {
        Some("x".repeat(self.reply))
    }

    fn check(&self, answer: &String) -> Option<String> {
        answer.is_empty().then(|| "it is empty".into())
    }
}

async fn ask(state: Arc<Poll>, ctx: Ctx) -> Result<PollUpdate, NodeError> {
    let answer = ctx.ask(Opinion { text: "x".repeat(state.question), reply: state.reply }).await?;
    Ok(Poll::update().answers([answer]))
}

/// The number of the questions of a thread.
const QUESTIONS: usize = 10;

/// A graph that asks all its questions at once.
fn polls() -> Graphs {
    let nodes = (0..QUESTIONS).map(|number| Name::from(format!("n{number}").as_str()));
    let graph = nodes.fold(StateGraph::<Poll, Name>::new(), |graph, node| {
        graph.add_node(node.clone(), ask.asks::<Opinion>()).add_edge(START, node)
    });
    all_graphs().unwrap().with(AnyGraph::from(graph.compile().unwrap().named("polls")).question::<Poll, Opinion>())
}

/// Starts a server with a thread that has asked.
async fn start(input: Value) -> (Api, Arc<WatchedStore>) {
    let store = WatchedStore::new(MemoryCheckpointer::new(), 1 << 20);
    let api = Api::start_graphs(polls(), Options::default(), store.clone()).await;
    let body = json!({ "assistant_id": "polls", "input": input, "if_not_exists": "create" });
    api.post("/threads/t/runs/wait", body).await;
    (api, store)
}

/// Returns the ids of all questions, with the number of items of each page.
async fn read_pages(api: &Api, path: &str) -> (BTreeSet<String>, Vec<usize>) {
    let (mut ids, mut sizes, mut after) = (BTreeSet::new(), vec![], String::new());
    loop {
        let page = api.get(&format!("{path}{after}")).await;
        let items = page["items"].as_array().unwrap();
        assert_eq!(page["waiting"], QUESTIONS);
        sizes.push(items.len());
        for item in items {
            assert!(ids.insert(item["question"]["id"].as_str().unwrap().to_owned()), "it is on two pages");
        }
        let Some(next) = page["next"].as_str() else { return (ids, sizes) };
        after = format!("{}after={next}", if path.contains('?') { "&" } else { "?" });
    }
}

#[tokio::test]
async fn a_page_ends_once_its_questions_are_large() {
    let (api, _) = start(json!({ "question": (1 << 20) - 100 })).await;
    for path in ["/inbox", "/threads/t/inbox"] {
        let (ids, sizes) = read_pages(&api, path).await;
        assert_eq!(ids.len(), QUESTIONS);
        assert!(sizes.len() == 2 && sizes[0] < QUESTIONS, "{path}: {sizes:?}");
    }
}

#[tokio::test]
async fn the_inbox_of_a_thread_has_pages() {
    let (api, _) = start(json!({})).await;
    assert_eq!(read_pages(&api, "/threads/t/inbox").await.1, [10]);
    let (ids, sizes) = read_pages(&api, "/threads/t/inbox?limit=4").await;
    assert_eq!((ids.len(), sizes), (QUESTIONS, vec![4, 4, 2]));
}

#[tokio::test]
async fn long_replies_are_left_out() {
    let (api, _) = start(json!({ "reply": 1 << 19 })).await;
    let asked = api.get("/inbox").await["items"][0]["question"].clone();
    assert_eq!((&asked["replies"], &asked["cut"]), (&json!({}), &json!(true)));
    let (api, _) = start(json!({ "reply": 3 })).await;
    let asked = api.get("/inbox").await["items"][0]["question"].clone();
    assert_eq!((&asked["replies"]["approve"], &asked["cut"]), (&json!("xxx"), &json!(false)));
}

#[tokio::test]
async fn many_answers_are_checked_with_one_reading_of_their_thread() {
    let (api, store) = start(json!({})).await;
    let (ids, _) = read_pages(&api, "/inbox").await;
    let mut answers: Map<String, Value> = ids.iter().map(|id| (id.clone(), json!("x"))).collect();
    let (empty, number) = (ids.first().unwrap(), ids.last().unwrap());
    answers.insert(empty.clone(), json!(""));
    answers.insert(number.clone(), json!(5));
    let unknown: BTreeSet<String> = (0..2000).map(|number| format!("35b63513-{number}-0-0")).collect();
    answers.extend(unknown.iter().map(|id| (id.clone(), json!("x"))));
    let before = store.reads.load(Ordering::SeqCst);
    let checked = api.post("/threads/t/check", json!({ "resume": answers })).await;
    let reads = store.reads.load(Ordering::SeqCst) - before;
    assert!(reads < 100, "{reads} reads");
    let problems = checked["problems"].as_array().unwrap();
    let of = |id: &str| problems.iter().find(|problem| problem["id"] == id).map(|problem| problem["text"].to_string());
    assert!(of(empty).unwrap().contains("it is empty"), "{:?}", of(empty));
    assert!(of(number).unwrap().contains("String"), "{:?}", of(number));
    assert!(unknown.iter().all(|id| of(id).unwrap().contains("there is no pending question")));
    assert_eq!(problems.len(), unknown.len() + 2);
}
