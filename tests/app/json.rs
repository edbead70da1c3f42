//! The JSON of threads, runs, events and errors, compared with `docs/json.md`.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::graph::interrupt::SignalRequest;
use superstep::graph::state::Kind;
use superstep::graph::{
    CheckpointInfo, DataSchema, DataState, Event, Name, Request, StatusKind, ThreadFilter, ThreadInfo,
};
use superstep::prelude::*;

use crate::place::Place;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Order {
    item: String,
    #[channel(append)]
    log: Vec<String>,
    #[channel(secret)]
    card: String,
}

#[derive(NodeId)]
enum Step {
    Check,
    Approve,
    Rest,
}

#[derive(Serialize, Deserialize)]
struct MayPay {
    item: String,
}
impl Interrupt for MayPay {
    type Resume = bool;
    const NAME: &'static str = "may_pay";
}

#[derive(Signal, Serialize, Deserialize)]
struct Baked {
    pieces: u8,
}

async fn check(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    if order.item == "nothing" {
        return Err(std::io::Error::other("there is no such item").into());
    }
    ctx.emit(json!({ "left": 3 })).await;
    if order.item == "scone" {
        ctx.effect("reserve", &order.item, |_| async { Ok::<_, NodeError>("r-1".to_owned()) }).await?;
        ctx.record("seen", 7).await?;
    }
    Ok(Order::update().log([format!("checked {}", order.item)]))
}
async fn approve(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    let paid = ctx.interrupt(MayPay { item: order.item.clone() })?;
    Ok(Order::update().log([format!("paid: {paid}")]))
}
async fn rest(order: Arc<Order>, ctx: Ctx) -> Result<(), NodeError> {
    match order.item.as_str() {
        "parcel" => ctx.sleep(Duration::from_secs(3600)).await?,
        "cake" => _ = ctx.receive_within::<Baked>(Duration::from_secs(3600)).await?,
        _ => {}
    }
    Ok(())
}

type Orders = CompiledGraph<Order, Step>;

fn graph(store: Arc<dyn Checkpointer>) -> Orders {
    let graph = StateGraph::new()
        .add_node(Step::Check, check)
        .add_node(Step::Approve, approve.asks::<MayPay>())
        .add_node(Step::Rest, rest.receives::<Baked>())
        .add_sequence([Step::Check, Step::Approve, Step::Rest]);
    graph.compile().unwrap().named("order").with_shared_checkpointer(store)
}

fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_769_851_800)
}

fn order(graph: &Orders, name: &str) -> Thread<Order, Step> {
    graph.thread(name).clock(clock)
}

/// Formats a value as the documentation does: with the same store prefix in each id.
fn documented(value: impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(&value).unwrap();
    let mut from = 0;
    while let Some(at) = text[from..].find("\"id\": \"").map(|at| from + at + 7) {
        if text.as_bytes().get(at + 8) == Some(&b'-') {
            text.replace_range(at..at + 8, "35b63513");
        }
        from = at;
    }
    if let Some(at) = text.find("\"idempotency_key\": \"").map(|at| at + 20) {
        text.replace_range(at..at + 8, "35b63513");
    }
    text
}

/// The documentation, and the blocks missing from it.
struct Docs {
    text: String,
    missing: String,
}

impl Docs {
    fn read() -> Self {
        let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/json.md")).unwrap();
        Self { text, missing: String::new() }
    }

    fn show(&mut self, what: &str, value: impl Serialize) {
        let block = format!("```json\n{}\n```", documented(value));
        if !self.text.contains(&block) {
            self.missing += &format!("{what}\n\n{block}\n\n");
        }
    }
}

async fn events(thread: &Thread<Order, Step>, item: &str) -> Vec<Event> {
    let modes = [Mode::Tasks, Mode::Updates, Mode::Checkpoints, Mode::Values, Mode::Custom, Mode::Stored];
    let mut run = thread.stream(Request::input(Order::update().item(item).card("4711")), modes);
    let mut events = vec![];
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn every_shape_is_documented() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph(Arc::clone(&store));
    let thread = order(&graph, "order-7").metadata("user", "ada");
    let emitted = events(&thread, "tea").await;
    let mut docs = Docs::read();
    let mut kinds = BTreeSet::new();
    for event in &emitted {
        let event_json = serde_json::to_value(event).unwrap();
        if kinds.insert(event_json["kind"].as_str().unwrap().to_owned()) {
            docs.show("event", event);
        }
    }
    let status = thread.status().await.unwrap();
    docs.show("status", &status);
    let Status::Interrupted { questions } = &status else { panic!("{status:?}") };
    docs.show("question", &questions[0]);
    docs.show("thread", ThreadInfo::read(&*store, &"order-7".into()).await.unwrap());
    let snapshot = thread.state().await.unwrap().unwrap();
    docs.show("snapshot", &snapshot);
    let info: CheckpointInfo = snapshot.info();
    docs.show("checkpoint", info);
    docs.show("outcome", thread.resume::<MayPay>(true).await.unwrap());
    let parcel = order(&graph, "order-8");
    parcel.invoke(Order::update().item("parcel")).await.unwrap();
    docs.show("waiting outcome", parcel.resume::<MayPay>(true).await.unwrap());
    let cake = order(&graph, "order-10");
    cake.invoke(Order::update().item("cake")).await.unwrap();
    docs.show("outcome that awaits a signal", cake.resume::<MayPay>(true).await.unwrap());
    cake.send(SignalRequest::new(&Baked { pieces: 8 }).by("oven")).await.unwrap();
    let mut sent = serde_json::to_value(&cake.mailbox().await.unwrap()[0]).unwrap();
    sent["id"] = json!("19c13757640-6e1c2f5a9d0b4e83");
    docs.show("signal", sent);
    let scone = order(&graph, "order-11").record_events();
    scone.invoke(Order::update().item("scone")).await.unwrap();
    scone.answer(Answer::new::<MayPay>(&true).by("ada")).await.unwrap();
    let history = scone.history().await.unwrap().all().await.unwrap();
    for task in history.iter().flat_map(|made| &made.tasks).filter(|task| ["Check", "Approve"].contains(&&*task.name)) {
        docs.show("journal", task.journal().await.unwrap());
    }
    let error = order(&graph, "order-9").invoke(Order::update().item("nothing")).await.unwrap_err();
    docs.show("error", &error);
    let wrong = StateGraph::<Order, Step>::new().add_node(Step::Check, check).add_edge(START, Step::Check).compile();
    docs.show("compile error", wrong.map(drop).unwrap_err());
    assert!(docs.missing.is_empty(), "docs/json.md lacks {}", docs.missing);
}

#[tokio::test]
async fn no_shape_contains_a_secret() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph(store);
    let thread = order(&graph, "o");
    let mut text = serde_json::to_string(&events(&thread, "tea").await).unwrap();
    text += &serde_json::to_string(&thread.state().await.unwrap()).unwrap();
    text += &serde_json::to_string(&thread.resume::<MayPay>(true).await.unwrap()).unwrap();
    assert!(!text.contains("4711"), "{text}");
}

#[tokio::test]
async fn a_data_state_is_shown_with_its_channel_names() {
    let schema =
        DataSchema::new([("topic", Kind::LastValue), ("key", Kind::LastValue)]).unwrap().secret("key").unwrap();
    let done = |_: Arc<DataState>, _: Ctx| std::future::ready(Ok::<_, NodeError>(()));
    let graph = StateGraph::<DataState, Name>::with_schema(schema.clone()).add_node("done".into(), done);
    let graph = graph.add_sequence(["done".into()]).compile().unwrap();
    let input = schema.writes(json!({ "topic": "tides", "key": "k" }).as_object().unwrap());
    let outcome = graph.invoke(input).await.unwrap();
    assert_eq!(
        serde_json::to_value(&outcome).unwrap(),
        json!({ "status": "finished", "next": [], "questions": [], "state": { "topic": "tides" } })
    );
}

#[tokio::test]
async fn threads_are_filtered_and_paged() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph(Arc::clone(&store));
    for number in 0..5 {
        let thread = order(&graph, &format!("order-{number}")).metadata("user", ["ada", "ben"][number % 2]);
        thread.invoke(Order::update().item("tea")).await.unwrap();
    }
    order(&graph, "order-1").resume::<MayPay>(true).await.unwrap();
    graph.thread("late").invoke(Order::update().item("tea")).await.unwrap();
    let chosen = |filter: ThreadFilter| {
        let store = Arc::clone(&store);
        async move {
            let page = filter.page(&*store).await.unwrap();
            let names: Vec<String> = page.threads.iter().map(|thread| thread.id.to_string()).collect();
            (names.join(" "), page.next.map(|next| next.to_string()))
        }
    };
    let all = ThreadFilter::new;
    assert_eq!(chosen(all().prefix("order-").limit(2)).await, ("order-0 order-1".into(), Some("order-1".into())));
    let rest = all().prefix("order-").limit(3).after("order-1".into());
    assert_eq!(chosen(rest).await, ("order-2 order-3 order-4".into(), None));
    assert_eq!(chosen(all().status(StatusKind::Finished)).await.0, "order-1");
    assert_eq!(chosen(all().metadata("user", "ben").status(StatusKind::Interrupted)).await.0, "order-3");
    assert_eq!(chosen(all().updated_since(clock() + Duration::from_secs(1))).await.0, "late");
    assert_eq!(chosen(all().updated_before(clock())).await.0, "");
    assert_eq!(chosen(all().graph("other")).await.0, "");
}

#[tokio::test]
async fn a_list_filters_by_question_and_wake_time() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph(Arc::clone(&store));
    let thread = order(&graph, "o");
    thread.invoke(Order::update().item("parcel")).await.unwrap();
    let info = ThreadInfo::read(&*store, &"o".into()).await.unwrap().unwrap();
    let [question] = info.questions.as_slice() else { panic!("{info:?}") };
    assert_eq!((question.json(), question.node()), (json!({ "item": "parcel" }), "Approve"));
    thread.answer(Answer::json(&Value::Bool(true)).to(question.id())).await.unwrap();
    let info = ThreadInfo::read_at(&*store, &"o".into(), clock()).await.unwrap().unwrap();
    assert_eq!((info.status, info.wake), (StatusKind::Waiting, Some(clock() + Duration::from_secs(3600))));
}

#[test]
fn threads_are_narrowed_and_paged() {
    let place = Place::new();
    for name in ["a-1", "a-2", "b-1"] {
        place.json(10, &["run", "release", "1.2.0", "--thread", name]);
    }
    place.json(0, &["approve", "a-1"]);
    let names = |args: &[&str]| {
        let listed = place.json(0, &[&["threads"], args].concat());
        let names = listed.as_array().unwrap().iter().map(|line| line["thread"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&["--prefix", "a-"]), ["a-1", "a-2"]); // the latest first
    assert_eq!(names(&["--prefix", "a-", "--status", "interrupted"]), ["a-2"]);
    assert_eq!(names(&["--limit", "2"]), ["a-1", "b-1"]);
    assert_eq!(names(&["--limit", "2", "--after", "b-1"]), ["a-2"]);
    for limit in ["1", "2", "3"] {
        let mut paged: Vec<String> = vec![];
        loop {
            let after = paged.last().cloned();
            let after = after.iter().flat_map(|after| ["--after", after]);
            let page = names(&["--limit", limit].into_iter().chain(after).collect::<Vec<_>>());
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, names(&[]));
    }
    assert_eq!(names(&["--graph", "nap"]), [""; 0]);
    assert_eq!(names(&["--metadata", "user=ada"]), [""; 0]);
    assert_eq!(names(&["--since", "1h"]), names(&[]));
    assert_eq!(names(&["--before", "2026-01-31T09:30:00Z"]), [""; 0]);
    let listed = place.json(0, &["threads", "--prefix", "b"]);
    assert_eq!(listed[0]["questions"][0]["payload"], serde_json::json!({"version": "1.2.0"}));
    let wrong = place.call(&["threads", "--since", "yesterday"]);
    assert_eq!((wrong.code(), wrong.err().contains("write 2026-01-31")), (2, true), "{}", wrong.err());
    assert_eq!(place.call(&["threads", "--after", "c"]).code(), 2);
}
