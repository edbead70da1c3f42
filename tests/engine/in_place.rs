//! A subgraph over its parent's state writes to that state in place. However it ends, the parent has its state as it was,
//! and no list is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use superstep::graph::state::Kind;
use superstep::graph::{CancellationToken, CompiledGraph, DataSchema, DataState, Log, Name, Writes, overwrite};
use superstep::prelude::*;

use crate::pad::{Approve, id};
use crate::stores::Store;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Desk {
    title: String,
    #[channel(append)]
    notes: Vec<u64>,
    #[channel(append)]
    log: Log<u64>,
    #[channel(add)]
    sum: u64,
    #[channel(union)]
    tags: BTreeSet<u64>,
    #[channel(merge)]
    prices: BTreeMap<u64, u64>,
    #[channel(untracked)]
    draft: u64,
}

type Builder = StateGraph<Desk, Name>;
type Graph = CompiledGraph<Desk, Name>;

/// One write of a node.
#[derive(Clone, Copy, Debug)]
enum Write {
    Title(u64),
    Notes(u64),
    NotesAnew(u64),
    Log(u64),
    LogAnew(u64),
    Sum(u64),
    SumAnew(u64),
    Tags(u64),
    TagsAnew(u64),
    Prices(u64, u64),
    Draft(u64),
}

impl Write {
    fn update(self) -> DeskUpdate {
        let desk = Desk::update();
        match self {
            Self::Title(text) => desk.title(text.to_string()),
            Self::Notes(note) => desk.notes([note]),
            Self::NotesAnew(note) => desk.notes(overwrite(vec![note])),
            Self::Log(entry) => desk.log([entry]),
            Self::LogAnew(entry) => desk.log(overwrite(Log::from(vec![entry]))),
            Self::Sum(more) => desk.sum(more),
            Self::SumAnew(sum) => desk.sum(overwrite(sum)),
            Self::Tags(tag) => desk.tags(BTreeSet::from([tag])),
            Self::TagsAnew(tag) => desk.tags(overwrite(BTreeSet::from([tag]))),
            Self::Prices(of, price) => desk.prices(BTreeMap::from([(of, price)])),
            Self::Draft(draft) => desk.draft(draft),
        }
    }
}

fn write() -> impl Strategy<Value = Write> {
    let number = 0_u64..4;
    prop_oneof![
        number.clone().prop_map(Write::Title),
        number.clone().prop_map(Write::Notes),
        number.clone().prop_map(Write::NotesAnew),
        number.clone().prop_map(Write::Log),
        number.clone().prop_map(Write::LogAnew),
        number.clone().prop_map(Write::Sum),
        number.clone().prop_map(Write::SumAnew),
        number.clone().prop_map(Write::Tags),
        number.clone().prop_map(Write::TagsAnew),
        (number.clone(), number.clone()).prop_map(|(of, price)| Write::Prices(of, price)),
        number.prop_map(Write::Draft),
    ]
}

/// The end of the nodes, after their last write.
#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    HandsUp,
    Asks,
    Waits,
}

/// These nodes, then one for each write, then the end.
fn nodes(builder: Builder, first: &[&str], writes: &[Write], end: End) -> Builder {
    let node = |builder: Builder, (nth, write): (usize, &Write)| {
        let write = *write;
        builder.add_node(id(&format!("n{nth}")), move |_: Arc<Desk>, _: Ctx| async move {
            Ok::<_, NodeError>(write.update())
        })
    };
    let builder = writes.iter().enumerate().fold(builder, node);
    let last = move |_: Arc<Desk>, ctx: Ctx| async move {
        match end {
            End::Done => Ok(Command::update(Desk::update())),
            End::HandsUp => Ok(Command::parent(Command::<Desk, Name>::to(id("after")))),
            End::Asks => ctx.interrupt(Approve).map(|_| Command::update(Desk::update())).map_err(NodeError::from),
            End::Waits => std::future::pending().await,
        }
    };
    let builder = match end {
        End::Asks => builder.add_node(id("last"), last.asks::<Approve>()),
        End::Done | End::HandsUp | End::Waits => builder.add_node(id("last"), last),
    };
    let names = (0..writes.len()).map(|nth| id(&format!("n{nth}")));
    builder.add_sequence(first.iter().map(|name| id(name)).chain(names).chain([id("last")]))
}

/// `before`, which writes to each channel, then the writes so many subgraphs deep, then `after`.
fn graph_around(writes: &[Write], end: End, depth: usize) -> Graph {
    let full = |_: Arc<Desk>, _: Ctx| async {
        let desk = Desk::update()
            .title("desk")
            .notes([7, 8])
            .log([7, 8])
            .sum(9)
            .tags(BTreeSet::from([9]))
            .prices(BTreeMap::from([(9, 9)]));
        Ok::<_, NodeError>(desk.draft(9))
    };
    let builder = Builder::new().add_node(id("before"), full);
    let after = |_: Arc<Desk>, _: Ctx| async { Ok::<_, NodeError>(Desk::update()) };
    let within = |graph: Graph, _| {
        let builder = Builder::new().add_subgraph(id("inside"), graph);
        builder.add_node(id("after"), after).add_sequence([id("inside"), id("after")]).compile().unwrap()
    };
    let builder = match depth.checked_sub(1) {
        None => return nodes(builder, &["before"], writes, end).compile().unwrap(),
        Some(more) => {
            let inside = nodes(Builder::new(), &[], writes, end).compile().unwrap();
            builder.add_subgraph(id("inside"), (0..more).fold(inside, within)).add_node(id("after"), after)
        }
    };
    builder.add_sequence(["before", "inside", "after"].map(id)).compile().unwrap()
}

async fn state_after(graph: Graph, is_stored: bool) -> Desk {
    let outcome = match is_stored {
        false => graph.invoke(Desk::update()).await,
        true => graph.with_shared_checkpointer(Store::memory().store).thread("t").invoke(Desk::update()).await,
    };
    Desk::clone(outcome.unwrap().state())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_subgraph_changes_its_parents_state_as_plain_nodes_do_or_not_at_all(
        writes in proptest::collection::vec(write(), 0..7),
        depth in 1_usize..4,
        is_stored: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let state = |end, depth| runtime.block_on(state_after(graph_around(&writes, end, depth), is_stored));
        let untouched = runtime.block_on(state_after(graph_around(&[], End::Done, 0), is_stored));
        prop_assert_eq!(state(End::Done, depth), state(End::Done, 0));
        prop_assert_eq!(state(End::HandsUp, depth), untouched.clone());
        if is_stored {
            prop_assert_eq!(state(End::Asks, depth), untouched);
        }
    }
}

/// A value that counts its copies.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Item(u64);

static COPIES: AtomicUsize = AtomicUsize::new(0);

impl Clone for Item {
    fn clone(&self) -> Self {
        COPIES.fetch_add(1, Ordering::SeqCst);
        Self(self.0)
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Items {
    #[channel(append)]
    items: Vec<Item>,
}

#[derive(NodeId)]
enum Step {
    Add,
}

#[derive(Route)]
enum Next {
    #[to(Step::Add)]
    Again,
    #[to(END)]
    End,
}

fn adding(depth: usize) -> StateGraph<Items, Step> {
    let add = |_: Arc<Items>, _: Ctx| async { Ok::<_, NodeError>(Items::update().items([Item(1)])) };
    let graph = match depth {
        0 => StateGraph::new().add_node(Step::Add, add),
        _ => {
            let inner = adding(depth - 1).add_edge(Step::Add, END).compile().unwrap();
            StateGraph::new().add_subgraph(Step::Add, inner)
        }
    };
    graph.add_edge(START, Step::Add)
}

#[tokio::test]
async fn a_subgraph_over_its_parents_state_copies_no_list() {
    const ENTRIES: usize = 300;
    let next = |state: &Items| if state.items.len() < ENTRIES { Next::Again } else { Next::End };
    let graph = adding(3).add_conditional_edges(Step::Add, next).compile().unwrap().recursion_limit(1000);
    let thread = graph.with_shared_checkpointer(Store::memory().store).thread("t");
    let outcome = thread.invoke(Items::update()).await.unwrap();
    assert_eq!(outcome.state().items.len(), ENTRIES);
    let copies = COPIES.load(Ordering::SeqCst);
    assert!(copies < 10 * ENTRIES, "{copies} copies of {ENTRIES} items");
}

#[rstest]
#[tokio::test]
async fn a_cancelled_subgraph_leaves_its_parents_state_as_it_was(#[values(1, 3)] depth: usize) {
    let writes = [Write::Notes(1), Write::NotesAnew(2), Write::Title(3), Write::Tags(4), Write::Log(5)];
    let (graph, token) = (graph_around(&writes, End::Waits, depth), CancellationToken::new());
    let thread = graph.with_shared_checkpointer(Store::memory().store).thread("t").cancel_with(token.clone());
    let cancel = async { token.cancel() };
    let (outcome, ()) = tokio::join!(biased; thread.invoke(Desk::update()), cancel);
    let untouched = state_after(graph_around(&[], End::Done, 0), false).await;
    assert_eq!(**outcome.unwrap().state(), untouched);
}

/// A subgraph whose schema has other rules for the same channels must not take its parent's state.
#[tokio::test]
async fn a_channel_that_only_the_subgraph_forgets_stays_in_the_parent() {
    let schema = |kind: Kind| DataSchema::new([("a", kind), ("b", Kind::LastValue)]).unwrap();
    let (parent, child) = (schema(Kind::LastValue), schema(Kind::AnyValue));
    let writes = |schema: &DataSchema, channel: &str| {
        let write = schema.write(channel, json!(1)).unwrap();
        move |_: Arc<DataState>, _: Ctx| {
            std::future::ready(Ok::<_, NodeError>(Writes::<DataState>(vec![write.clone()])))
        }
    };
    let inside = StateGraph::with_schema(child.clone()).add_node(id("write"), writes(&child, "b"));
    let inside = inside.add_edge(START, id("write")).compile().unwrap();
    let graph = StateGraph::with_schema(parent.clone()).add_node(id("before"), writes(&parent, "a"));
    let graph = graph.add_subgraph(id("inside"), inside).add_node(id("after"), writes(&parent, "b"));
    let graph = graph.add_sequence(["before", "inside", "after"].map(id)).compile().unwrap();
    let outcome = graph.invoke(Writes::<DataState>(vec![])).await.unwrap();
    assert_eq!(outcome.state().by_name(&parent, "a"), Some(&json!(1)));
}
