//! Subgraphs that keep their state for the whole thread: whatever happens to one activation, the next one gets the
//! state of its ancestors.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{ExportOptions, ImportOptions, Retention, export_thread, gc, import_thread, trust};
use superstep::graph::node::NodeOptions;
use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Name, Target, Worker, Writes};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A subgraph that notes two words at each activation and keeps them.
fn diary() -> Graph {
    let builder = Builder::new().add_node(id("c"), note("c")).add_node(id("d"), note("d"));
    chain(builder, &["c", "d"]).persistence(Persistence::PerThread)
}

/// Fails in the runs with these numbers, from zero.
fn failing(runs: &'static [u32]) -> impl Fn() -> Result<(), NodeError> + Clone {
    let count = Arc::new(AtomicU32::new(0));
    move || if runs.contains(&count.fetch_add(1, SeqCst)) { Err("not now".into()) } else { Ok(()) }
}

/// `m` runs the diary and notes its number of words; `z` in parallel fails in some of its runs.
fn keeper(z_fails: &'static [u32]) -> Graph {
    let child =
        diary().mapped(|_: &Pad| Pad::update(), |child: &Pad| Pad::update().notes([child.notes.len().to_string()]));
    let fails = failing(z_fails);
    let z = move |_: Arc<Pad>, _: Ctx| {
        let end = fails();
        async move { end.map(|()| Pad::update()) }
    };
    fan(Builder::new().add_subgraph(id("m"), child).add_node(id("z"), z), &["m", "z"])
}

/// `m` calls the diary and then fails in some of its runs; it is retried.
fn caller(fails_at: &'static [u32]) -> Graph {
    let (child, fails) = (diary(), failing(fails_at));
    let called = child.clone();
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let (called, fails) = (called.clone(), fails.clone());
        async move {
            let diary_state = ctx.call(&called, Pad::update()).await?;
            fails()?;
            Ok::<_, NodeError>(Pad::update().notes([diary_state.notes.len().to_string()]))
        }
    };
    let again = RetryPolicy::attempts(2).pause(Duration::from_millis(1));
    chain(Builder::new().add_node(id("m"), body.retry(again)).calls(&id("m"), &child), &["m"])
}

/// A diary that fails in some activations, with a retry policy.
fn inner_fails(fails_at: &'static [u32]) -> Graph {
    let fails = failing(fails_at);
    let d = move |_: Arc<Pad>, _: Ctx| {
        let end = fails();
        async move { end.map(|()| Pad::update().notes(["d"])) }
    };
    let child = chain(Builder::new().add_node(id("c"), note("c")).add_node(id("d"), d), &["c", "d"]);
    let child = child.persistence(Persistence::PerThread);
    let child =
        child.mapped(|_: &Pad| Pad::update(), |child: &Pad| Pad::update().notes([child.notes.len().to_string()]));
    let again = NodeOptions::default().retry(RetryPolicy::attempts(2).pause(Duration::from_millis(1)));
    let builder = Builder::new().add_subgraph_with(id("m"), child, again).add_edge(START, id("m"));
    builder.compile().unwrap()
}

async fn newest(store: &Store, graph: &Graph) -> superstep::checkpoint::CheckpointId {
    store.thread(graph).state().await.unwrap().unwrap().id
}

async fn noted(store: &Store, graph: &Graph) -> Vec<String> {
    store.thread(graph).invoke(start()).await.unwrap().finished().unwrap().notes.clone()
}

#[rstest]
#[tokio::test]
async fn a_fork_of_an_old_checkpoint_has_its_old_state(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = keeper(&[]);
    noted(&store, &graph).await;
    let mid = newest(&store, &graph).await;
    noted(&store, &graph).await;
    let forked = store.thread(&graph).at(mid).invoke(start()).await.unwrap().finished().unwrap();
    assert_eq!(forked.notes, ["2", "4"]);
    assert_eq!(noted(&store, &graph).await, ["2", "4", "6"]);
    assert_eq!(noted(&store, &graph).await, ["2", "4", "6", "8"]);
}

#[rstest]
#[tokio::test]
async fn a_replay_from_an_old_checkpoint_has_its_old_state(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = keeper(&[]);
    noted(&store, &graph).await;
    noted(&store, &graph).await;
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    let before = history.iter().find(|made| made.next == ["m", "z"]).unwrap().id;
    assert_eq!(store.thread(&graph).at(before).proceed().await.unwrap().state().notes, ["2", "4"]);
    assert_eq!(noted(&store, &graph).await, ["2", "4", "6"]);
}

#[rstest]
#[case::restarted(true)]
#[case::gone_on_with(false)]
#[tokio::test]
async fn a_failed_superstep_leaves_no_state(
    #[case] anew: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = keeper(&[1]);
    noted(&store, &graph).await;
    store.thread(&graph).invoke(start()).await.unwrap_err();
    let thread = store.thread(&graph);
    let end = if anew { thread.retry().await } else { thread.proceed().await };
    assert_eq!(end.unwrap().state().notes, ["2", "4"]);
    assert_eq!(noted(&store, &graph).await, ["2", "4", "6"]);
}

#[rstest]
#[case::of_a_node_that_calls(caller(&[1]))]
#[case::of_the_subgraph_itself(inner_fails(&[1]))]
#[tokio::test]
async fn a_failed_attempt_leaves_no_state(
    #[case] graph: Graph,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    for _ in 0..3 {
        noted(&store, &graph).await;
    }
    // the second attempt of the second turn started with its own activation
    assert_eq!(noted(&store, &graph).await, ["2", "2", "4", "6"]);
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Jobs {
    #[channel(append)]
    done: Vec<usize>,
    count: u32,
}

#[derive(NodeId)]
enum Part {
    Split,
    Work,
}

const WORK: Worker<Part, u32> = Worker::new(Part::Work);

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_workers_each_start_with_the_persisted_state(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let child = diary();
    let called = child.clone();
    let work = move |_: Arc<u32>, ctx: Ctx| {
        let called = called.clone();
        async move {
            tokio::task::yield_now().await;
            Ok::<_, NodeError>(Jobs::update().done([ctx.call(&called, Pad::update()).await?.notes.len()]))
        }
    };
    let graph = StateGraph::<Jobs, Part>::new()
        .add_node(Part::Split, |_: Arc<Jobs>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_worker(WORK, work)
        .calls(&Part::Work, &child)
        .add_edge(START, Part::Split)
        .add_conditional_edges_to(Part::Split, |jobs: &Jobs| WORK.each(0..jobs.count), WORK)
        .compile()
        .unwrap()
        .with_shared_checkpointer(Arc::clone(&store.store));
    for (count, lengths) in
        [(3, "[2, 2, 2]"), (1, "[2, 2, 2, 4]"), (2, "[2, 2, 2, 4, 6, 6]"), (1, "[2, 2, 2, 4, 6, 6, 8]")]
    {
        let end = graph.thread("t").invoke(Jobs::update().count(count)).await.unwrap().finished().unwrap();
        assert_eq!(format!("{:?}", end.done), lengths);
    }
}

#[rstest]
#[tokio::test]
async fn a_subgraph_starts_with_an_update_made_between_its_runs(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = keeper(&[]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let inside = store.thread(&graph).subgraph(&diary(), ["m"]);
    let made = inside.update_state_as(id("d"), Pad::update().notes(["by hand"])).await.unwrap();
    let child = inside.state().await.unwrap().unwrap();
    assert_eq!((child.id, child.values.notes.join(" ")), (made.checkpoint, "c d by hand".into()));
    let root = store.thread(&graph).state().await.unwrap().unwrap();
    assert_eq!((root.values.title.as_str(), &root.values.notes[..]), ("tides", &["2".to_owned()][..]));
    assert_eq!(thread.invoke(start()).await.unwrap().state().notes, ["2", "5"]);
    assert_eq!(store.thread(&graph).invoke(start()).await.unwrap().state().notes, ["2", "5", "7"]);
}

#[rstest]
#[tokio::test]
async fn a_second_activation_with_durability_exit_keeps_the_end_of_the_first(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let fails = failing(&[1]);
    let d = move |_: Arc<Pad>, _: Ctx| {
        let end = fails();
        async move { end.map(|()| Pad::update().title("kept").notes(["d"])) }
    };
    let child = chain(Builder::new().add_node(id("c"), note("c")).add_node(id("d"), d), &["c", "d"]);
    let child = child.persistence(Persistence::PerThread);
    let child = child.mapped(|_: &Pad| Pad::update(), |child: &Pad| Pad::update().notes([child.notes.join("")]));
    let again = |pad: &Pad| if pad.notes.len() < 2 { Target::Node(id("m")) } else { END.into() };
    let graph = Builder::new().add_subgraph(id("m"), child).add_edge(START, id("m"));
    let graph = graph.add_conditional_edges_to(id("m"), again, [id("m")]).compile().unwrap();
    store.thread(&graph).durability(durability).invoke(start()).await.unwrap_err();
    let end = store.thread(&graph).durability(durability).retry().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["cd", "cdcd"]);
}

/// With the parent's state a subgraph starts with the parent's values, not with those it ended with.
#[rstest]
#[tokio::test]
async fn a_channel_that_the_parent_emptied_is_stored_empty(#[values(Store::memory(), Store::disk())] store: Store) {
    let schema = DataSchema::new([("word", Kind::AnyValue), ("seen", Kind::LastValue)]).unwrap();
    let set = |channel: &'static str, schema: &DataSchema| {
        let schema = schema.clone();
        move |state: Arc<DataState>, _: Ctx| {
            let seen = state.by_name(&schema, "word").cloned().unwrap_or_default();
            let value = if channel == "word" { "left".into() } else { seen };
            let write = schema.write(channel, value).unwrap();
            async move { Ok::<_, NodeError>(Writes::default().with(write)) }
        }
    };
    let builder = || StateGraph::<DataState, Name>::with_schema(schema.clone());
    let child = builder().add_node(id("look"), set("seen", &schema)).add_node(id("leave"), set("word", &schema));
    let child = child.add_sequence([id("look"), id("leave")]).compile().unwrap().persistence(Persistence::PerThread);
    let graph = builder().add_subgraph(id("m"), child.clone()).add_node(id("z"), set("seen", &schema));
    let graph = graph.add_sequence([id("m"), id("z")]).compile().unwrap();
    let thread = graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    let input = || Writes::default().with(schema.write("seen", "input".into()).unwrap());
    thread.invoke(input()).await.unwrap();
    thread.invoke(input()).await.unwrap();
    let inside = thread.subgraph(&child, ["m"]).history().await.unwrap().all().await.unwrap();
    let first_ones = inside.iter().filter(|made| made.next == ["look"]);
    let words: Vec<_> = first_ones.map(|made| made.values.by_name(&schema, "word").cloned()).collect();
    assert_eq!(words, [None, None]);
    let verified = thread.verify().await.unwrap();
    assert!(verified.divergence.is_none(), "{verified:?}");
}

/// `m` runs the diary and notes its number of words, inside this many subgraphs that keep nothing themselves.
fn nested_keeper(depth: usize, asks: bool) -> Graph {
    let child =
        diary().mapped(|_: &Pad| Pad::update(), |child: &Pad| Pad::update().notes([child.notes.len().to_string()]));
    let builder = Builder::new().add_subgraph(id("m"), child);
    let inner = match asks {
        true => chain(builder.add_node(id("ask"), approval.asks::<Approve>()), &["m", "ask"]),
        false => chain(builder, &["m"]),
    };
    (0..depth).fold(inner, |inner, _| chain(Builder::new().add_subgraph(id("mid"), inner), &["mid"]))
}

fn way(depth: usize) -> Vec<&'static str> {
    std::iter::repeat_n("mid", depth).chain(["m"]).collect()
}

#[rstest]
#[tokio::test]
async fn inside_subgraphs_without_state_of_their_own_it_is_kept_for_the_thread(
    #[values(1, 2)] depth: usize,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = nested_keeper(depth, false);
    for count in [2, 4, 6] {
        let end = store.thread(&graph).durability(durability).invoke(start()).await.unwrap();
        assert_eq!(end.state().notes.last().unwrap(), &count.to_string());
    }
    let inside = store.thread(&graph).subgraph(&diary(), way(depth));
    assert_eq!(inside.state().await.unwrap().unwrap().values.notes.join(""), "cdcdcd");
    assert!(store.thread(&graph).verify().await.unwrap().agrees());

    let (mut file, other) = (vec![], Store::memory());
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    trust(&*other.store, &"t".into()).await.unwrap();
    gc(&*other.store, &"t".into(), &Retention::new().keep_last(1)).await.unwrap();
    let end = other.thread(&graph).durability(durability).invoke(start()).await.unwrap();
    assert_eq!(end.state().notes.last().unwrap(), "8");
}

#[rstest]
#[tokio::test]
async fn a_fork_has_the_old_state_inside_other_subgraphs_too(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = nested_keeper(1, false);
    noted(&store, &graph).await;
    let mid = newest(&store, &graph).await;
    noted(&store, &graph).await;
    let forked = store.thread(&graph).at(mid).invoke(start()).await.unwrap().finished().unwrap();
    assert_eq!(forked.notes, ["2", "4"]);
    assert_eq!(noted(&store, &graph).await, ["2", "4", "6"]);
}

#[rstest]
#[tokio::test]
async fn an_update_between_runs_reaches_it_inside_other_subgraphs(
    #[values(1, 2)] depth: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = nested_keeper(depth, false);
    noted(&store, &graph).await;
    let inside = store.thread(&graph).subgraph(&diary(), way(depth));
    inside.update_state_as(id("d"), Pad::update().notes(["by hand"])).await.unwrap();
    assert_eq!(inside.state().await.unwrap().unwrap().values.notes.join(" "), "c d by hand");
    assert_eq!(noted(&store, &graph).await, ["2", "5"]);
    assert_eq!(noted(&store, &graph).await, ["2", "5", "7"]);
}

#[rstest]
#[tokio::test]
async fn new_input_in_place_of_a_question_beside_it_keeps_it(
    #[values(0, 1, 2)] depth: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = nested_keeper(depth, true);
    for _ in 0..2 {
        let thread = store.thread(&graph).discard_pending();
        assert_eq!(thread.invoke(start()).await.unwrap().questions().len(), 1);
    }
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.iter().rev().nth(1).unwrap(), "4");
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_workers_share_it_through_subgraphs_that_keep_nothing(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let child = nested_keeper(0, false);
    let called = child.clone();
    let work = move |_: Arc<u32>, ctx: Ctx| {
        let called = called.clone();
        async move {
            tokio::task::yield_now().await;
            let words = ctx.call(&called, Pad::update()).await?.notes.join("").parse()?;
            Ok::<_, NodeError>(Jobs::update().done([words]))
        }
    };
    let graph = StateGraph::<Jobs, Part>::new()
        .add_node(Part::Split, |_: Arc<Jobs>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_worker(WORK, work)
        .calls(&Part::Work, &child)
        .add_edge(START, Part::Split)
        .add_conditional_edges_to(Part::Split, |jobs: &Jobs| WORK.each(0..jobs.count), WORK)
        .compile()
        .unwrap()
        .with_shared_checkpointer(Arc::clone(&store.store));
    for (count, lengths) in
        [(3, "[2, 2, 2]"), (1, "[2, 2, 2, 4]"), (2, "[2, 2, 2, 4, 6, 6]"), (1, "[2, 2, 2, 4, 6, 6, 8]")]
    {
        let end = graph.thread("t").invoke(Jobs::update().count(count)).await.unwrap().finished().unwrap();
        assert_eq!(format!("{:?}", end.done), lengths);
    }
}

#[tokio::test]
async fn inside_a_subgraph_that_is_not_saved_each_activation_starts_anew() {
    let (store, inner) = (Store::memory(), nested_keeper(0, false).persistence(Persistence::Stateless));
    let graph = chain(Builder::new().add_subgraph(id("mid"), inner), &["mid"]);
    assert_eq!(noted(&store, &graph).await, ["2"]);
    assert_eq!(noted(&store, &graph).await, ["2", "2"]);
}
