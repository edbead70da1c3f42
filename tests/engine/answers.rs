//! Questions and answers in JSON, converted by the rules of the declared type.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Key, Order, RowId};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A question and an answer whose JSON differs from the stored form.
#[derive(Serialize, Deserialize)]
struct Where {
    seen: BTreeMap<u32, IpAddr>,
}
impl Interrupt for Where {
    type Resume = BTreeMap<u32, IpAddr>;
    const NAME: &'static str = "where";
}

fn sightings() -> BTreeMap<u32, IpAddr> {
    [(1, "127.0.0.1".parse().unwrap())].into()
}

async fn find(_: Arc<Pad>, ctx: Ctx) -> Ended {
    let found = ctx.interrupt(Where { seen: sightings() })?;
    Ok(Pad::update().notes([format!("{found:?}")]))
}

/// A graph that asks `Where`, itself or in a subgraph.
fn graph(declares: bool, inside: bool) -> Graph {
    let node = if declares { find.asks::<Where>() } else { find.asks_anything() };
    let graph = chain(Builder::new().add_node(id("find"), node), &["find"]);
    if inside { chain(Builder::new().add_subgraph(id("inside"), graph), &["inside"]) } else { graph }
}

#[rstest]
#[case::declared(true)]
#[case::not_declared(false)]
#[tokio::test]
async fn a_json_answer_is_read_by_the_rules_of_json_types(
    #[case] declares: bool,
    #[values(false, true)] inside: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = graph(declares, inside);
    store.thread(&graph).invoke(start()).await.unwrap();
    let answer = Answer::json(&json!({ "1": "127.0.0.1", "2": "::1" }));
    let end = store.thread(&graph).answer(answer).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["{1: 127.0.0.1, 2: ::1}"]);
}

#[rstest]
#[case::not_even_an_object(json!("127.0.0.1"))]
#[case::of_other_values(json!({ "1": { "V4": [127, 0, 0, 1] } }))]
#[case::of_other_keys(json!({ "one": "127.0.0.1" }))]
#[tokio::test]
async fn an_unreadable_json_answer_is_refused_and_nothing_is_written(
    #[case] answer: Value,
    #[values(false, true)] inside: bool,
) {
    let (store, graph) = (Store::memory(), graph(true, inside));
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&graph)).await;
    let error = store.thread(&graph).answer(Answer::json(&answer)).await.unwrap_err();
    assert!(matches!(error, RunError::MistypedAnswer { .. }), "{error:?}");
    assert_eq!(everything(&store.thread(&graph)).await, before);
    assert!(store.thread(&graph).resume::<Where>(sightings()).await.unwrap().finished().is_some());
}

#[tokio::test]
async fn an_answer_that_nests_too_deeply_is_refused_and_nothing_is_written() {
    let (store, graph) = (Store::memory(), graph(false, false));
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&graph)).await;
    let deep = (0..1100).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let error = store.thread(&graph).answer(Answer::json(&deep)).await.unwrap_err();
    assert_eq!(error.to_string(), "answer nests deeper than the limit of 128");
    assert_eq!(everything(&store.thread(&graph)).await, before);
}

#[rstest]
#[tokio::test]
async fn questions_and_answers_are_shown_in_the_json_of_their_types(
    #[values(false, true)] inside: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = graph(true, inside);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    let shown = json!({ "seen": { "1": "127.0.0.1" } });
    assert_eq!(outcome.questions()[0].json(), shown);
    let now = store.thread(&graph).state().await.unwrap().unwrap();
    assert_eq!(now.questions().next().unwrap().json(), shown);
    store.thread(&graph).resume::<Where>(sightings()).await.unwrap();
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    let given = history.iter().flat_map(|made| &made.tasks).flat_map(|task| &task.answers).map(|given| &given.value);
    let expected = json!({ "1": "127.0.0.1" });
    assert_eq!(given.collect::<Vec<_>>(), if inside { vec![] } else { vec![&expected] });
}

/// Returns the type names in the stored rows of a thread.
async fn stored(store: &Store) -> Vec<String> {
    let row = |end: u64| {
        Key::Row(RowId { checkpoint: superstep::checkpoint::CheckpointId(end), task: end as u32, slot: end as u32 })
    };
    let rows = store.store.scan(&"t".into(), row(0)..=row(u64::MAX), Order::Ascending, usize::MAX).await.unwrap();
    let name = |bytes: &[u8]| String::from_utf8(bytes[6..6 + bytes[5] as usize].to_vec()).unwrap();
    rows.iter().map(|(_, bytes)| name(bytes)).collect()
}

#[rstest]
#[case::typed(true, Answer::new::<Where>(&sightings()), "BTreeMap<u32, core::net::ip_addr::IpAddr>")]
#[case::json_of_a_known_type(true, Answer::json(&json!({ "1": "::1" })), "BTreeMap<u32, core::net::ip_addr::IpAddr>")]
#[case::json_of_an_unknown_type(false, Answer::json(&json!({ "1": "::1" })), "json")]
#[tokio::test]
async fn stored_questions_and_answers_have_the_name_of_their_type(
    #[case] declares: bool,
    #[case] answer: Answer,
    #[case] name: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = graph(declares, false);
    store.thread(&graph).invoke(start()).await.unwrap();
    assert!(stored(&store).await.iter().any(|name| name.ends_with("answers::Where")));
    store.thread(&graph).answer(answer).await.unwrap();
    let stored = stored(&store).await;
    assert!(stored.iter().any(|stored| stored.ends_with(name)), "{stored:?}");
}

#[tokio::test]
async fn stored_payloads_have_the_name_of_their_type() {
    const COUNT: Worker<Step, Count> = Worker::new(Step::Count);
    #[derive(NodeId)]
    enum Step {
        Fan,
        Count,
    }
    #[derive(Serialize, Deserialize)]
    struct Count(u32);
    let graph = StateGraph::<Pad, Step>::new()
        .add_node(Step::Fan, |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_worker(COUNT, |count: Arc<Count>, _: Ctx| async move {
            Ok::<_, NodeError>(Pad::update().sum(i64::from(count.0)))
        })
        .add_edge(START, Step::Fan)
        .add_conditional_edges_to(Step::Fan, |_: &Pad| COUNT.each([Count(1), Count(2)]), COUNT);
    let store = Store::memory();
    let graph = graph.compile().unwrap().with_shared_checkpointer(Arc::clone(&store.store));
    assert_eq!(graph.thread("t").invoke(start()).await.unwrap().state().sum, 3);
    assert_eq!(stored(&store).await.iter().filter(|name| name.ends_with("::Count")).count(), 2);
}
