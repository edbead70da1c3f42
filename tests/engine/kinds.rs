//! Every kind of channel of a typed state: the value in a checkpoint is the value that the run saw.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rstest::rstest;
use superstep::graph::reducers::Keyed;
use superstep::graph::{CompiledGraph, Name};
use superstep::prelude::*;

use crate::pad::id;
use crate::stores::Store;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Message(String, String);

impl Keyed for Message {
    fn id(&self) -> &str {
        &self.0
    }
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct All {
    last: Option<String>,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(add)]
    sum: i64,
    #[channel(union)]
    tags: BTreeSet<String>,
    #[channel(merge)]
    links: BTreeMap<String, u8>,
    #[channel(max)]
    best: i64,
    #[channel(min)]
    least: i64,
    #[channel(messages)]
    messages: Vec<Message>,
    #[channel(topic)]
    queries: Vec<String>,
    #[channel(topic(accumulate))]
    visited: Vec<u16>,
    #[channel(ephemeral)]
    hint: String,
    #[channel(any_value)]
    any: u8,
    #[channel(reduce = longest)]
    longest: String,
}

fn longest(longest_so_far: &mut String, new: String) {
    if new.len() > longest_so_far.len() {
        *longest_so_far = new;
    }
}

/// Writes every channel in turn: in some supersteps a few of them, in some none.
fn write(nth: usize) -> AllUpdate {
    let (number, word) = (nth as i64, format!("w{nth}"));
    match nth % 5 {
        0 => All::update()
            .last(Some(word.clone()))
            .hint(word.clone())
            .queries(vec![word.clone()])
            .any(nth as u8)
            .longest(word),
        1 => All::update()
            .notes([word.clone()])
            .tags(BTreeSet::from([word.clone()]))
            .messages(vec![Message("m".into(), word)]),
        2 => All::update(),
        3 => All::update().sum(number).best(number).least(-number).visited(vec![nth as u16]).hint(word),
        _ => All::update().links(BTreeMap::from([(word, nth as u8)])).queries(vec!["q", "r"]),
    }
}

fn graph(store: &Store, nodes: usize) -> CompiledGraph<All, Name> {
    let names: Vec<Name> = (0..nodes).map(|nth| id(&format!("n{nth:02}"))).collect();
    let node = |nth: usize| move |_: Arc<All>, _: Ctx| async move { Ok::<_, NodeError>(write(nth)) };
    let builder =
        names.iter().enumerate().fold(StateGraph::new(), |graph, (nth, name)| graph.add_node(name.clone(), node(nth)));
    builder.add_sequence(names).compile().unwrap().with_shared_checkpointer(Arc::clone(&store.store))
}

#[rstest]
#[tokio::test]
async fn a_checkpoint_has_the_values_that_the_run_saw(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
) {
    let thread = graph(&store, 12).thread("t").durability(durability);
    let mut events = thread.stream(Request::input(write(0)), [Mode::Checkpoints]);
    let mut seen = vec![];
    while let Some(event) = events.next().await {
        let EventKind::Checkpoint(made) = event.kind else { continue };
        seen.push((made.id.unwrap(), made.values.json()));
    }
    events.outcome().await.unwrap();
    assert_eq!(seen.len(), 14);
    for (checkpoint, values) in seen {
        let read = graph(&store, 12).thread("t").at(checkpoint).state().await.unwrap().unwrap();
        assert_eq!(serde_json::to_value(&*read.values).unwrap(), values, "at {checkpoint}");
    }
}

#[rstest]
#[tokio::test]
async fn a_run_that_stops_before_each_node_ends_like_one_without_stops(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let undisturbed =
        graph(&Store::memory(), 12).detached_thread(()).invoke(write(0)).await.unwrap().finished().unwrap();
    let thread = || graph(&store, 12).thread("t").durability(durability).max_supersteps(1);
    let mut outcome = thread().invoke(write(0)).await.unwrap();
    while !matches!(outcome, Outcome::Finished(_)) {
        outcome = thread().proceed().await.unwrap();
    }
    assert_eq!(outcome.finished().unwrap(), undisturbed);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Named(String, String);

impl Keyed for Named {
    fn id(&self) -> &str {
        &self.0
    }

    fn set_id(&mut self, id: String) {
        self.0 = id;
    }
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Chats {
    #[channel(messages)]
    plain: Vec<Message>,
    #[channel(messages)]
    named: Vec<Named>,
}

#[tokio::test]
async fn entries_without_an_id_stay_separate_and_get_one() {
    let say = |_: Arc<Chats>, _: Ctx| async {
        let plain = ["hello", "hello"].map(|text| Message(String::new(), text.into()));
        let named = ["hello", "hello", "bye"].map(|text| Named(String::new(), text.into()));
        Ok::<_, NodeError>(Chats::update().plain(plain).named(named))
    };
    let graph = StateGraph::<Chats, Name>::new().add_node(id("a"), say).add_node(id("b"), say);
    let graph = graph.add_sequence([id("a"), id("b")]).compile().unwrap();
    let state = graph.invoke(Chats::update()).await.unwrap().finished().unwrap();
    assert_eq!(state.plain.len(), 4);
    let ids: BTreeSet<&str> = state.named.iter().map(Keyed::id).collect();
    assert!(ids.len() == 6 && !ids.contains(""), "{ids:?}");
}
