//! Storing values and reading them back: a value that could not be read again is refused before it is stored.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::CheckpointError;
use superstep::graph::{Name, Thread};
use superstep::prelude::*;

use crate::pad::{Approve, Tally, id};
use crate::stores::Store;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Tree {
    tree: Value,
    #[channel(reduce = grow)]
    grown: Value,
    #[channel(append)]
    log: Vec<String>,
}

fn grow(grown: &mut Value, more: Value) {
    *grown = json!([grown.take(), more]);
}

type Builder = StateGraph<Tree, Name>;
type Graph = CompiledGraph<Tree, Name>;
type Ended = Result<TreeUpdate, NodeError>;

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

fn thread(store: &Store, graph: &Graph) -> Thread<Tree, Name, ()> {
    graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t")
}

fn writer(tree: Value) -> Graph {
    let write = move |_: Arc<Tree>, _: Ctx| std::future::ready(Ended::Ok(Tree::update().tree(tree.clone())));
    Builder::new().add_node("a".into(), write).add_sequence(["a".into()]).compile().unwrap()
}

fn error_and_help(error: &RunError) -> (String, String) {
    (error.to_string(), error.help().unwrap_or_default())
}

const FLATTER: &str = "store a flatter value: a list of parts that name each other, or its text";

#[rstest]
#[tokio::test]
async fn a_value_as_deep_as_the_limit_is_stored_and_read(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = writer(deep(128));
    thread(&store, &graph).invoke(Tree::update()).await.unwrap();
    assert_eq!(thread(&store, &graph).state().await.unwrap().unwrap().values.tree, deep(128));
}

#[rstest]
#[case::just_over(129)]
#[case::more_than_the_stack_reads(1100)]
#[case::more_than_the_stack_writes(3000)]
#[tokio::test]
async fn a_value_that_nests_too_deeply_fails_its_task_and_the_thread_stays_readable(
    #[case] levels: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let error = thread(&store, &writer(deep(levels))).invoke(Tree::update().log(["in"])).await.unwrap_err();
    assert_eq!(error_and_help(&error), ("channel `tree` nests deeper than the limit of 128".into(), FLATTER.into()));
    let graph = writer(deep(3));
    let status = thread(&store, &graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error.to_string()), "{status:?}");
    assert_eq!(thread(&store, &graph).state().await.unwrap().unwrap().values.log, ["in"]);
    let end = thread(&store, &graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.tree, deep(3));
}

#[tokio::test]
async fn input_that_nests_too_deeply_is_refused_and_nothing_is_stored() {
    let store = Store::memory();
    let error = thread(&store, &writer(json!(1))).invoke(Tree::update().tree(deep(129))).await.unwrap_err();
    assert!(matches!(&error, RunError::Checkpoint(CheckpointError::TooDeep { limit: 128, .. })), "{error:?}");
    assert!(thread(&store, &writer(json!(1))).state().await.unwrap().is_none());
}

#[rstest]
#[tokio::test]
async fn a_reduced_value_that_grows_too_deep_fails_and_stays_readable(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] several: bool,
) {
    let graph = |levels: usize| {
        let grow = move |_: Arc<Tree>, _: Ctx| {
            std::future::ready(Ended::Ok((0..levels).fold(Tree::update(), |update, _| update.grown(json!(1)))))
        };
        let idle = |_: Arc<Tree>, _: Ctx| std::future::ready(Ended::Ok(Tree::update().log(["idle"])));
        let builder = Builder::new().add_node("grow".into(), grow).add_edge(START, id("grow"));
        let builder = if several { builder.add_node("idle".into(), idle).add_edge(START, id("idle")) } else { builder };
        builder.compile().unwrap()
    };
    let error = thread(&store, &graph(129)).invoke(Tree::update()).await.unwrap_err();
    assert_eq!(error.to_string(), "channel `grown` nests deeper than the limit of 128");
    let status = thread(&store, &graph(129)).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error.to_string()), "{status:?}");
    assert_eq!(thread(&store, &graph(129)).state().await.unwrap().unwrap().step, 0);
    assert!(thread(&store, &graph(128)).retry().await.unwrap().finished().is_some());
}

/// A number that cannot be serialized if it is 13, nor deserialized if it is 14.
#[derive(Clone, Debug, Default, PartialEq)]
struct Odd(u32);

impl Serialize for Odd {
    fn serialize<E: serde::Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        if self.0 == 13 { Err(serde::ser::Error::custom("it is thirteen")) } else { self.0.serialize(out) }
    }
}

impl<'de> Deserialize<'de> for Odd {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(from)?;
        if number == 14 { Err(serde::de::Error::custom("it is fourteen")) } else { Ok(Self(number)) }
    }
}

fn total(sum: &mut Odd, more: u32) {
    sum.0 += more;
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Shelf {
    odd: Odd,
    text: String,
    #[channel(reduce = total, write = u32)]
    total: Odd,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum At {
    A,
    B,
    C,
    Take,
}

const TAKE: Worker<At, Odd> = Worker::new(At::Take);

/// The use that node `B` makes of a number.
#[derive(Clone, Copy, Debug)]
enum Usage {
    Writes,
    Sends,
    WritesMuch,
    Totals,
}

/// `A`, `B` and `C` in parallel; `A` ends before `B`, `C` after it.
fn shelf(usage: Usage, number: u32, alone: bool, tally: &Tally) -> CompiledGraph<Shelf, At> {
    let tally = tally.clone();
    let note = move |name: &'static str, soon: bool| {
        let tally = tally.clone();
        move |_: Arc<Shelf>, _: Ctx| {
            tally.add(name);
            async move {
                if !soon {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                Ok::<_, NodeError>(Shelf::update().log([name]))
            }
        }
    };
    let act = move |_: Arc<Shelf>, _: Ctx| async move {
        let update = Shelf::update();
        Ok::<_, NodeError>(match usage {
            Usage::Writes => update.odd(Odd(number)),
            Usage::WritesMuch => update.text("x".repeat(if number > 12 { 65 << 20 } else { 1 })),
            Usage::Totals => update.total(number),
            Usage::Sends => update,
        })
    };
    let sends = move |_: &Shelf| TAKE.each(matches!(usage, Usage::Sends).then_some(Odd(number)));
    let graph = StateGraph::<Shelf, At>::new().add_node(At::A, note("a", true)).add_node(At::B, act);
    let graph = graph
        .add_node(At::C, note("c", false))
        .add_worker(TAKE, |_: Arc<Odd>, _: Ctx| async { Ok::<_, NodeError>(Shelf::update().log(["taken"])) });
    let graph = graph.add_conditional_edges_to(At::B, sends, TAKE);
    let graph =
        if alone { graph.add_sequence([At::A, At::B, At::C]) } else { graph.add_edge(START, [At::A, At::B, At::C]) };
    graph.compile().unwrap()
}

fn shelved(store: &Store, graph: &CompiledGraph<Shelf, At>) -> Thread<Shelf, At, ()> {
    graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t")
}

#[rstest]
#[case::a_write(Usage::Writes, "channel `odd`: it is thirteen")]
#[case::a_payload(Usage::Sends, "payload `Odd`: it is thirteen")]
#[case::too_large(Usage::WritesMuch, "channel `text` has 68157457 bytes, more than the limit of 67108864")]
#[tokio::test]
async fn a_value_that_cannot_be_stored_fails_its_task_alone(
    #[case] usage: Usage,
    #[case] reason: &str,
    #[values(false, true)] alone: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    let broken = shelf(usage, 13, alone, &tally);
    let error = shelved(&store, &broken).invoke(Shelf::update()).await.unwrap_err();
    assert_eq!(error.to_string(), reason);
    assert!(error.help().is_some(), "{error:?}");
    let status = shelved(&store, &broken).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason: status_reason } if status_reason == reason), "{status:?}");
    let now = shelved(&store, &broken).state().await.unwrap().unwrap();
    let failed = now.tasks.iter().filter(|task| task.error.is_some()).map(|task| task.name.as_str());
    assert_eq!(failed.collect::<Vec<_>>(), ["B"]);
    assert_eq!(now.values.log, if alone { &["a"][..] } else { &["a", "c"] });
    let mended = shelf(usage, 12, alone, &tally);
    assert!(shelved(&store, &mended).proceed().await.unwrap().finished().is_some());
    assert_eq!(tally.names(), ["a", "c"]);
}

#[rstest]
#[tokio::test]
async fn a_reduced_value_that_cannot_be_stored_keeps_finished_results(
    #[values(false, true)] alone: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    let broken = shelf(Usage::Totals, 13, alone, &tally);
    let error = shelved(&store, &broken).invoke(Shelf::update()).await.unwrap_err();
    assert_eq!(error.to_string(), "channel `total`: it is thirteen");
    assert!(error.help().unwrap().contains("retry()"), "{error:?}");
    let status = shelved(&store, &broken).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error.to_string()), "{status:?}");
    let tasks = shelved(&store, &broken).state().await.unwrap().unwrap().tasks;
    let done = tasks.iter().filter(|task| task.result.is_some()).count();
    assert_eq!((done, tasks.len()), if alone { (0, 1) } else { (3, 3) });
    let end = shelved(&store, &shelf(Usage::Totals, 12, alone, &tally)).retry().await.unwrap().finished().unwrap();
    assert_eq!((end.total.0, &end.log[..]), (12, &["a", "c"].map(String::from)[..]));
}

#[cfg(debug_assertions)]
#[rstest]
#[case::a_write(Usage::Writes, "channel `odd`: it cannot be read back: it is fourteen")]
#[case::a_reduced_value(Usage::Totals, "channel `total`: it cannot be read back: it is fourteen")]
#[case::a_payload(Usage::Sends, "payload of `Take`: it cannot be read back: it is fourteen")]
#[tokio::test]
async fn a_debug_build_refuses_a_value_that_it_could_not_read_again(#[case] usage: Usage, #[case] reason: &str) {
    let (store, tally) = (Store::memory(), Tally::default());
    let error = shelved(&store, &shelf(usage, 14, true, &tally)).invoke(Shelf::update()).await.unwrap_err();
    assert_eq!(error.to_string(), reason);
    assert!(shelved(&store, &shelf(usage, 14, true, &tally)).state().await.unwrap().is_some());
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Hinted {
    #[channel(ephemeral)]
    hint: String,
    #[channel(ephemeral)]
    number: Option<u32>,
    #[channel(topic)]
    topics: Vec<String>,
    #[channel(append)]
    seen: Vec<String>,
}

impl Default for Hinted {
    fn default() -> Self {
        Self { hint: "none".into(), number: Some(7), topics: vec!["all".into()], seen: vec![] }
    }
}

#[rstest]
#[tokio::test]
async fn what_lives_for_one_superstep_is_empty_in_the_others_also_for_who_reads_it(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] paused: bool,
) {
    let seen = |state: &Hinted| format!("{:?} {:?} {:?}", state.hint, state.number, state.topics);
    let see = move |state: Arc<Hinted>, ctx: Ctx| async move {
        if paused {
            ctx.interrupt(Approve)?;
        }
        Ok::<_, NodeError>(Hinted::update().seen([seen(&state)]))
    };
    let write = async |_: Arc<Hinted>, _: Ctx| {
        Ok::<_, NodeError>(Hinted::update().hint("soon").number(1).topics(["one".to_owned()]))
    };
    let names = ["first", "write", "then", "last"].map(id);
    let [first, writes, then, last] = names.clone();
    let see = || see.asks::<Approve>();
    let builder = StateGraph::new().add_node(first, see()).add_node(writes, write).add_node(then, see());
    let compiled = builder.add_node(last, see()).add_sequence(names).compile().unwrap();
    let thread = || compiled.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("t");

    let mut outcome = thread().invoke(Hinted::update()).await.unwrap();
    let mut read = vec![];
    while !outcome.questions().is_empty() {
        assert_eq!(seen(outcome.state()), seen(&thread().state().await.unwrap().unwrap().values));
        read.push(seen(outcome.state()));
        outcome = thread().resume::<Approve>(true).await.unwrap();
    }
    let expected = [r#""" None []"#, r#""soon" Some(1) ["one"]"#, r#""" None []"#];
    assert_eq!(outcome.state().seen, expected);
    assert!(!paused || read == expected);
}
