//! A graph that goes on from where it left a thread does what one does that reads the thread anew: runs that pause,
//! answers, commands, updates and forks in any order, by two graphs over one store.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use superstep::checkpoint::{
    Checkpointer, ExportOptions, ImportOptions, Retention, export_thread, import_thread, trust,
};
use superstep::graph::thread::UpdateReport;
use superstep::graph::{
    Answer, CompiledGraph, Outcome, Persistence, Question, Request, StateUpdate, Target, Thread, Worker, worker,
};
use superstep::prelude::*;

use crate::stores::Store;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    asked: String,
    #[channel(append)]
    lines: Vec<String>,
    #[channel(add)]
    count: u64,
    #[channel(union)]
    tags: BTreeSet<String>,
    #[channel(ephemeral)]
    hint: Option<String>,
}

#[derive(NodeId)]
enum Step {
    Reply,
    Ask,
    Fail,
    Inner,
    Work,
    Hear,
    Last,
}

#[derive(NodeId)]
enum Inner {
    Count,
    Ask,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct Sure;

#[derive(Signal, Serialize, Deserialize)]
struct Word(usize);

#[derive(Serialize, Deserialize)]
struct Part(u32);

const WORK: Worker<Step, Part> = Worker::new(Step::Work);

type Graph = CompiledGraph<Talk, Step>;
type Talking = Thread<Talk, Step>;

/// A line, long enough that a state with it is kept.
fn line(text: impl Debug) -> String {
    format!("{text:?} {}", "m".repeat(1024))
}

async fn reply(talk: Arc<Talk>, _: Ctx) -> Result<TalkUpdate, NodeError> {
    let lines = [line((talk.lines.len(), &talk.asked, &talk.hint))];
    Ok(Talk::update().lines(lines).count(1_u64).tags(BTreeSet::from([talk.asked.clone()])))
}

async fn ask(_: Arc<Talk>, ctx: Ctx) -> Result<TalkUpdate, NodeError> {
    let sure = ctx.interrupt(Sure)?;
    Ok(Talk::update().lines([line(("sure", sure))]).hint("asked"))
}

async fn fail(talk: Arc<Talk>, _: Ctx) -> Result<TalkUpdate, NodeError> {
    match talk.count % 2 {
        0 => Err(NodeError::permanent("it is even")),
        _ => Ok(Talk::update().count(1_u64)),
    }
}

/// Does something outside, hears a word, and sleeps after the second.
async fn hear(talk: Arc<Talk>, ctx: Ctx) -> Result<TalkUpdate, NodeError> {
    let paid = ctx.effect("pay", &talk.count, async |_| Ok::<_, NodeError>(1_u64)).await?;
    let Word(word) = ctx.receive().await?;
    if word % 2 == 1 {
        ctx.sleep(Duration::from_secs(3600)).await?;
    }
    Ok(Talk::update().lines([line(("heard", word))]).count(paid))
}

async fn last(talk: Arc<Talk>, _: Ctx) -> Result<TalkUpdate, NodeError> {
    Ok(Talk::update().lines([line(("last", talk.count, &talk.hint))]))
}

/// Starts what the input asks for.
fn start(talk: &Talk) -> Target<Step> {
    match talk.asked.as_str() {
        "ask" => Target::many([Step::Ask, Step::Reply]),
        "fail" => Target::many([Step::Fail, Step::Reply]),
        "inner" => Target::many([Step::Inner, Step::Reply]),
        "hear" => Target::many([Step::Hear, Step::Ask, Step::Reply]),
        "work" => WORK.each((0..3).map(Part)).into(),
        _ => Step::Reply.into(),
    }
}

fn graph(store: &Arc<dyn Checkpointer>, persistence: Persistence) -> Graph {
    let inner = StateGraph::new()
        .add_node(Inner::Count, reply.replayable())
        .add_node(Inner::Ask, ask.asks::<Sure>().replayable());
    let inner = inner.add_sequence([Inner::Count, Inner::Ask]).compile().unwrap().persistence(persistence);
    // With a state of its own, of which it returns how long it is.
    let inner = inner.mapped(
        |_: &Talk| Talk::update().asked("inner"),
        |inner: &Talk| Talk::update().lines([line(("inner", inner.lines.len()))]),
    );
    let work = |part: Arc<Part>, ctx: Ctx| async move {
        let sure = part.0 != 1 || ctx.interrupt(Sure)?;
        Ok::<_, NodeError>(Talk::update().lines([line((part.0, sure))]).count(1_u64))
    };
    let graph = StateGraph::new()
        .add_node(Step::Reply, reply.replayable())
        .add_node(Step::Ask, ask.asks::<Sure>().replayable());
    let graph = graph
        .add_node(Step::Fail, fail.replayable())
        .add_node(Step::Last, last.replayable())
        .add_subgraph(Step::Inner, inner);
    let graph = graph.add_worker(WORK, worker(work).asks::<Sure>().replayable());
    let graph = graph.add_node(Step::Hear, hear.receives::<Word>().replayable());
    let targets = (WORK, Step::Reply, Step::Ask, Step::Fail, Step::Inner, Step::Hear);
    let graph = graph.add_conditional_edges_to(START, start, targets);
    let from = [Step::Ask, Step::Fail, Step::Inner, Step::Work, Step::Hear];
    let graph = from.into_iter().fold(graph, |graph, from| graph.add_edge(from, Step::Last));
    graph.compile().unwrap().with_shared_checkpointer(Arc::clone(store))
}

#[derive(Clone, Debug)]
enum Act {
    Input {
        asked: &'static str,
        discards: bool,
    },
    Resume {
        sure: bool,
        last: bool,
    },
    Signal,
    Proceed,
    Retry,
    Goto,
    Command {
        goes_on: bool,
    },
    Update(Update),
    /// The same from a checkpoint that is so far back.
    Back {
        far: usize,
        update: Option<Update>,
    },
    Delete,
}

#[derive(Clone, Copy, Debug)]
enum Update {
    Inferred,
    As,
    Twice,
    Input,
    Clear,
    Copy,
}

fn updates() -> impl Strategy<Value = Update> {
    use Update::*;
    prop_oneof![3 => Just(Inferred), 3 => Just(As), 2 => Just(Twice), 1 => Just(Input), 1 => Just(Clear), 1 => Just(Copy)]
}

fn acts() -> impl Strategy<Value = Act> {
    let asked = prop::sample::select(vec!["reply", "ask", "ask", "fail", "inner", "inner", "hear", "hear", "work"]);
    let input = (asked, any::<bool>()).prop_map(|(asked, discards)| Act::Input { asked, discards });
    let back = (0..4_usize, prop::option::of(updates())).prop_map(|(far, update)| Act::Back { far, update });
    prop_oneof![
        6 => input,
        8 => any::<(bool, bool)>().prop_map(|(sure, last)| Act::Resume { sure, last }),
        2 => Just(Act::Signal),
        2 => Just(Act::Proceed),
        2 => Just(Act::Retry),
        2 => Just(Act::Goto),
        2 => any::<bool>().prop_map(|goes_on| Act::Command { goes_on }),
        4 => updates().prop_map(Act::Update),
        2 => back,
        1 => Just(Act::Delete),
    ]
}

async fn perform(act: &Act, nth: usize, thread: &Talking) -> String {
    let update = || Talk::update().lines([line(("by hand", nth))]).count(1_u64);
    match act {
        Act::Input { asked, discards } => {
            let thread = if *discards { thread.clone().discard_pending() } else { thread.clone() };
            shown(thread.invoke(Talk::update().asked(*asked)).await)
        }
        Act::Resume { sure, last } => {
            let open = thread.state().await.unwrap().map(|state| state.questions().cloned().collect::<Vec<Question>>());
            let mut open = open.unwrap_or_default().into_iter().filter(|question| !question.is_answered());
            let chosen = if *last { open.next_back() } else { open.next() };
            let Some(question) = chosen else { return "nothing is asked".into() };
            shown(thread.answer(Answer::new::<Sure>(sure).to(question.id())).await)
        }
        Act::Signal => thread.signal(Word(nth)).await.map_or_else(|error| error.to_string(), |_| "sent".into()),
        Act::Proceed => shown(thread.proceed().await),
        Act::Retry => shown(thread.retry().await),
        Act::Goto => shown(thread.command(Command::to(Step::Ask)).await),
        Act::Command { goes_on } => {
            let command = Command::update(update());
            let command = if *goes_on { command.goto(Step::Last) } else { command };
            shown(thread.run(Request::command(command)).await)
        }
        Act::Update(by) => updated(thread, *by, update).await,
        Act::Back { far, update: by } => {
            let history = thread.history().await.unwrap().metadata_only().await.unwrap();
            let Some(checkpoint) = history.get(*far) else { return "it is not so long".into() };
            let thread = thread.clone().at(checkpoint.id);
            match by {
                Some(by) => updated(&thread, *by, update).await,
                None => shown(thread.proceed().await),
            }
        }
        Act::Delete => format!("{:?}", thread.delete().await),
    }
}

async fn updated(thread: &Talking, by: Update, update: impl Fn() -> TalkUpdate) -> String {
    let new = || StateUpdate::new(update());
    let supersteps = match by {
        Update::Inferred => vec![vec![new()]],
        Update::As => vec![vec![new().as_node(Step::Reply)]],
        Update::Twice => vec![vec![new().as_node(Step::Ask)], vec![new().as_node(Step::Last)]],
        Update::Input => vec![vec![new().as_input()]],
        Update::Clear => vec![vec![StateUpdate::clear()]],
        Update::Copy => vec![vec![StateUpdate::copy()]],
    };
    match thread.bulk_update(supersteps).await {
        Ok(UpdateReport { checkpoint, dropped, .. }) => format!("{checkpoint} {dropped:?}"),
        Err(error) => error.to_string(),
    }
}

fn shown(outcome: Result<Outcome<Talk>, RunError>) -> String {
    match outcome {
        Ok(outcome) => {
            format!("{:?} {:?}", outcome.state(), outcome.questions().iter().map(Question::node).collect::<Vec<_>>())
        }
        Err(error) => error.to_string(),
    }
}

/// Returns everything that can be read of a thread, by a graph of its own.
async fn read(store: &Store, persistence: Persistence, id: &str) -> String {
    read_by(&graph(&store.store, persistence), store, id).await
}

async fn read_by(graph: &Graph, store: &Store, id: &str) -> String {
    let thread = graph.thread(id).clock(now);
    let history = thread.history().await.unwrap().all().await.unwrap();
    let text = format!("{:?} {:?} {history:#?}", thread.status().await.unwrap(), thread.state_deep().await.unwrap());
    // The ids of questions begin with a number that differs from thread to thread.
    let birth = store.store.head(&id.into()).await.unwrap().map_or(0, |head| head.birth);
    text.replace(&format!("{birth:08x}-"), "").replace(&"m".repeat(1024), "m")
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_goes_on_as_if_it_read_the_thread_anew(
        acts in prop::collection::vec((acts(), any::<bool>(), prop_oneof![3 => Just("a"), 1 => Just("b")]), 1..20),
        durability in prop::sample::select(vec![Durability::Sync, Durability::Async, Durability::Exit]),
        persistence in prop::sample::select(vec![Persistence::Inherit, Persistence::PerThread]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (kept, anew) = (Store::memory(), Store::memory());
            let graphs = [graph(&kept.store, persistence), graph(&kept.store, persistence)];
            for (nth, (act, by, id)) in acts.into_iter().enumerate() {
                let thread = |graph: &Graph| graph.thread(id).durability(durability).clock(now);
                let expected = perform(&act, nth, &thread(&graph(&anew.store, persistence))).await;
                assert_eq!(perform(&act, nth, &thread(&graphs[usize::from(by)])).await, expected, "{nth}: {act:?}");
                let expected = read(&anew, persistence, id).await;
                assert_eq!(read(&kept, persistence, id).await, expected, "after {nth}: {act:?}");
                for graph in &graphs {
                    assert_eq!(read_by(graph, &kept, id).await, expected, "after {nth}: {act:?}");
                }
            }
        });
    }

    #[test]
    fn what_was_left_can_be_carried_copied_and_thinned(
        acts in prop::collection::vec(acts(), 1..15),
        then in acts(),
        durability in prop::sample::select(vec![Durability::Sync, Durability::Async, Durability::Exit]),
        persistence in prop::sample::select(vec![Persistence::Inherit, Persistence::PerThread]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::memory();
            let graph = graph(&store.store, persistence);
            let thread = |graph: &Graph, id: &str| graph.thread(id).durability(durability).clock(now);
            for (nth, act) in acts.iter().enumerate() {
                perform(act, nth, &thread(&graph, "a")).await;
            }
            if store.store.head(&"a".into()).await.unwrap().is_none() {
                return;
            }
            let verified = thread(&graph, "a").verify().await.unwrap();
            assert!(verified.agrees(), "{verified}");
            let carried = carried(&store, "a").await;
            assert_eq!(read(&carried, persistence, "a").await, read(&store, persistence, "a").await);

            for made in thread(&graph, "a").history().await.unwrap().all().await.unwrap() {
                let copy = format!("copy {}", made.id);
                thread(&graph, "a").copy_to(copy.as_str(), made.id).await.unwrap();
                let carried = self::carried(&store, &copy).await;
                let there = thread(&self::graph(&carried.store, persistence), &copy);
                assert_eq!(there.state().await.unwrap().unwrap().values, made.values);
                let expected = perform(&Act::Proceed, 90, &thread(&graph, &copy)).await;
                assert_eq!(perform(&Act::Proceed, 90, &there).await, expected);
                assert_eq!(read(&carried, persistence, &copy).await, read(&store, persistence, &copy).await);
            }

            let there = thread(&self::graph(&carried.store, persistence), "a");
            there.gc(&Retention::new().keep_last(1)).await.unwrap();
            if !matches!(then, Act::Back { .. }) {
                let expected = perform(&then, 91, &thread(&graph, "a")).await;
                assert_eq!(perform(&then, 91, &there).await, expected, "{then:?}");
                let state = |thread: Talking| async move { thread.state().await.unwrap().map(|state| state.values) };
                assert_eq!(state(there).await, state(thread(&graph, "a")).await);
            }
            if carried.store.head(&"a".into()).await.unwrap().is_some() {
                self::carried(&carried, "a").await;
            }
        });
    }
}

/// Returns a store with the thread, carried there in a file.
async fn carried(store: &Store, id: &str) -> Store {
    let (mut file, other) = (vec![], Store::memory());
    export_thread(&*store.store, &id.into(), &ExportOptions::default(), &mut file).await.unwrap();
    import_thread(&*other.store, &file[..], &ImportOptions::new()).await.unwrap();
    trust(&*other.store, &id.into()).await.unwrap();
    other
}
