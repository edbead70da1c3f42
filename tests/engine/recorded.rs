//! Threads as this release records them, in `tests/fixtures/recorded.txt`: later releases read and resume them.
//!
//! One line for each record: thread, key, and the bytes in hex. Written again, while the format may still change, by
//! `cargo test --test engine recorded -- --ignored`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointId, Checkpointer, Claim, Commit, Key, Order, RowId, ThreadHead};
use superstep::graph::reducers::Keyed;
use superstep::graph::{CompiledGraph, Worker, worker};
use superstep::prelude::*;

use crate::stores::Store;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    id: String,
    text: String,
}

impl Keyed for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Every kind of channel.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct All {
    last: String,
    option: Option<Line>,
    number: u64,
    floats: Vec<f64>,
    json: Value,
    #[channel(append)]
    append: Vec<String>,
    #[channel(append)]
    bytes: Vec<u8>,
    #[channel(add)]
    add: i64,
    #[channel(union)]
    union: std::collections::BTreeSet<String>,
    #[channel(merge)]
    merge: BTreeMap<String, u32>,
    #[channel(max)]
    max: Option<u32>,
    #[channel(min)]
    min: u8,
    #[channel(messages)]
    messages: Vec<Line>,
    #[channel(topic)]
    topic: Vec<String>,
    #[channel(topic(accumulate))]
    topics: Vec<String>,
    #[channel(ephemeral)]
    ephemeral: String,
    #[channel(any_value)]
    any: u32,
    #[channel(untracked)]
    untracked: u32,
    #[channel(reduce = count, write = String)]
    reduced: u64,
    #[channel(secret, version = 3)]
    secret: String,
}

fn count(count: &mut u64, text: String) {
    *count += text.len() as u64;
}

fn filled(round: u32) -> AllUpdate {
    let line = || Line { id: format!("m{round}"), text: format!("round {round}") };
    All::update()
        .last(format!("round {round}"))
        .option(Some(line()))
        .number(1 << 40)
        .floats(vec![0.5, -1.0])
        .json(json!({"round": round, "deep": [null, true, "text"]}))
        .append([format!("round {round}")])
        .bytes([7, 200])
        .add(-3)
        .union(std::collections::BTreeSet::from([format!("u{round}")]))
        .merge(BTreeMap::from([(format!("k{round}"), round)]))
        .max(round)
        .min(200)
        .messages([line()])
        .topic(["now"])
        .topics([format!("t{round}")])
        .ephemeral("gone soon")
        .any(round)
        .untracked(9)
        .reduced("four".to_owned())
        .secret("hush")
}

#[derive(NodeId)]
enum Step {
    Fill,
    Inside,
    Act,
    Work,
    End,
}

#[derive(NodeId)]
enum Inner {
    Ask,
}

#[derive(Serialize, Deserialize)]
struct Query(u32);

#[derive(Serialize, Deserialize)]
struct Check {
    round: u32,
}
impl Interrupt for Check {
    type Resume = bool;
    const NAME: &'static str = "check";
}

const WORK: Worker<Step, Query> = Worker::new(Step::Work);

/// The point at which a thread is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    Finishes,
    Asks,
    Fails,
    Waits,
}

const THREADS: [(&str, Stop); 4] =
    [("finished", Stop::Finishes), ("asks", Stop::Asks), ("failed", Stop::Fails), ("waits", Stop::Waits)];

fn graph(stop: Stop) -> CompiledGraph<All, Step> {
    let fill = |_: Arc<All>, _: Ctx| async { Ok::<_, NodeError>(filled(2)) };
    let ask = move |_: Arc<All>, ctx: Ctx| async move {
        let yes = stop != Stop::Asks || ctx.interrupt(Check { round: 2 })?;
        Ok::<_, NodeError>(All::update().append([format!("inside: {yes}")]))
    };
    let inner = StateGraph::<All, Inner>::new().add_node(Inner::Ask, ask.asks::<Check>());
    let inner = inner.add_sequence([Inner::Ask]).compile().unwrap();
    let act = move |_: Arc<All>, ctx: Ctx| async move {
        let done: String = ctx.effect("act", &(1, "x"), |_| async { Ok::<_, NodeError>("acted".to_owned()) }).await?;
        match stop {
            Stop::Fails => return Err(NodeError::permanent("no luck")),
            Stop::Waits => ctx.sleep(Duration::from_secs(1)).await?,
            Stop::Finishes | Stop::Asks => {}
        }
        Ok::<_, NodeError>(All::update().append([done]))
    };
    let work = move |query: Arc<Query>, ctx: Ctx| async move {
        let yes = stop != Stop::Asks || query.0 == 1 || ctx.interrupt(Check { round: query.0 })?;
        Ok::<_, NodeError>(All::update().append([format!("work {}: {yes}", query.0)]))
    };
    StateGraph::<All, Step>::new()
        .add_node(Step::Fill, fill)
        .add_subgraph(Step::Inside, inner)
        .add_node(Step::Act, act)
        .add_worker(WORK, worker(work).asks::<Check>())
        .add_node(Step::End, |_: Arc<All>, _: Ctx| async { Ok::<(), NodeError>(()) })
        .add_edge(START, Step::Fill)
        .add_edge(Step::Fill, [Step::Inside, Step::Act])
        .add_edge(Step::Fill, WORK.each([Query(1), Query(2)]))
        .add_edge([Step::Inside, Step::Act], Step::End)
        .compile()
        .unwrap()
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recorded.txt")
}

#[tokio::test]
#[ignore = "writes the fixture anew"]
async fn record_again() {
    let store = Store::memory();
    let mut text = String::new();
    for (name, stop) in THREADS {
        let thread = graph(stop).with_shared_checkpointer(Arc::clone(&store.store)).thread(name);
        let _ = thread.invoke(filled(1)).await;
        let id = name.into();
        let head = store.store.head(&id).await.unwrap().unwrap();
        let number = |id: Option<CheckpointId>| id.map_or(0, |id| id.0);
        writeln!(text, "{name} head {} {} {}", number(head.checkpoint), head.next, head.birth).unwrap();
        for (key, bytes) in store.store.scan(&id, Key::About..=last(), Order::Ascending, usize::MAX).await.unwrap() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{name} {} {hex}", words(&key)).unwrap();
        }
    }
    std::fs::write(path(), text).unwrap();
}

fn last() -> Key {
    Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX }
}

/// Formats a key as words without spaces; texts in hex.
fn words(key: &Key) -> String {
    let text = |text: &str| -> String { text.bytes().map(|byte| format!("{byte:02x}")).collect() };
    let of = |row: &RowId| format!("{}.{}.{}", row.checkpoint.0, row.task, row.slot);
    match key {
        Key::Head => "head".into(),
        Key::About => "about".into(),
        Key::Tag(name) => format!("tag:{}", text(name)),
        Key::Shape(shape) => format!("shape:{shape}"),
        Key::Checkpoint(id) => format!("checkpoint:{}", id.0),
        Key::Nested(id) => format!("nested:{}", id.0),
        Key::Task { checkpoint, task } => format!("task:{}.{task}", checkpoint.0),
        Key::Child { checkpoint, task, call } => format!("child:{}.{task}.{call}", checkpoint.0),
        Key::Row(row) => format!("row:{}", of(row)),
        Key::Log { channel, row } => format!("log:{}.{}", of(row), text(channel)),
        Key::Effect { checkpoint, task, key } => format!("effect:{}.{task}.{}", checkpoint.0, text(key)),
        Key::Event { checkpoint, number } => format!("event:{}.{number}", checkpoint.0),
        Key::Signal { order, id } => format!("signal:{order}.{id}"),
    }
}

fn key(words: &str) -> Key {
    let (kind, rest) = words.split_once(':').unwrap_or((words, ""));
    let part = |at: usize| rest.split('.').nth(at).unwrap();
    let number = |at: usize| part(at).parse::<u64>().unwrap();
    let small = |at: usize| u32::try_from(number(at)).unwrap();
    let text = |at: usize| String::from_utf8(bytes(part(at))).unwrap();
    let id = || CheckpointId(number(0));
    let row = || RowId { checkpoint: id(), task: small(1), slot: small(2) };
    match kind {
        "about" => Key::About,
        "tag" => Key::Tag(text(0)),
        "shape" => Key::Shape(number(0)),
        "checkpoint" => Key::Checkpoint(id()),
        "nested" => Key::Nested(id()),
        "task" => Key::Task { checkpoint: id(), task: small(1) },
        "child" => Key::Child { checkpoint: id(), task: small(1), call: small(2) },
        "row" => Key::Row(row()),
        "log" => Key::Log { channel: text(3), row: row() },
        "effect" => Key::Effect { checkpoint: id(), task: small(1), key: text(2) },
        "event" => Key::Event { checkpoint: id(), number: number(1) },
        "signal" => Key::Signal { order: number(0), id: number(1) },
        other => panic!("{other}"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A thread: its head and its other records.
type ThreadRecords = (Option<ThreadHead>, Vec<(Key, Vec<u8>)>);

/// Writes the recorded threads into a store.
async fn put(store: &dyn Checkpointer) {
    let text = std::fs::read_to_string(path()).unwrap();
    let mut threads: BTreeMap<&str, ThreadRecords> = BTreeMap::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        let (head, puts) = threads.entry(parts[0]).or_default();
        if parts[1] == "head" {
            let number = |at: usize| parts[at].parse::<u64>().unwrap();
            *head = Some(ThreadHead { checkpoint: Some(CheckpointId(number(2))), next: number(3), birth: number(4) });
        } else {
            puts.push((key(parts[1]), bytes(parts[2])));
        }
    }
    for (name, (head, puts)) in threads {
        let lease = store.claim(&name.into(), Claim::IfFree).await.unwrap();
        let (thread, epoch, head) = (name.into(), lease.epoch(), head.unwrap());
        store.commit(Commit::new(thread, epoch, None, head).with_records(puts)).await.unwrap();
        lease.release().await.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn threads_recorded_by_this_release_are_read_and_resumed(#[values(Store::memory(), Store::disk())] store: Store) {
    put(&*store.store).await;
    let on = |name: &str, stop| graph(stop).with_shared_checkpointer(Arc::clone(&store.store)).thread(name);
    for (name, stop) in THREADS {
        let thread = on(name, stop);
        let state = thread.state().await.unwrap().unwrap();
        assert!(state.misfits.is_empty() && state.carried.is_empty(), "{state:?}");
        let all = &state.values;
        assert_eq!(
            (all.last.as_str(), all.number, all.add, all.reduced, all.max),
            ("round 2", 1 << 40, -6, 8, Some(2))
        );
        assert_eq!((&all.bytes[..], &all.floats[..], all.min), (&[7, 200, 7, 200][..], &[0.5, -1.0][..], 0));
        assert_eq!((all.messages.len(), all.topics.len(), all.union.len(), all.merge.len()), (2, 2, 2, 2));
        assert_eq!((all.secret.as_str(), &all.json["deep"]), ("hush", &json!([null, true, "text"])));
        assert!(thread.history().await.unwrap().all().await.unwrap().len() >= 3);
    }
    assert!(matches!(on("finished", Stop::Finishes).status().await.unwrap(), Status::Finished));
    assert!(matches!(on("failed", Stop::Fails).status().await.unwrap(), Status::Failed { .. }));
    assert!(matches!(on("waits", Stop::Waits).status().await.unwrap(), Status::Pending { .. }), "its time has come");
    let asks = on("asks", Stop::Asks);
    let Status::Interrupted { questions } = asks.status().await.unwrap() else { panic!() };
    assert_eq!(questions.len(), 2);
    for question in questions {
        assert!(question.payload::<Check>().is_some_and(|check| check.round == 2));
        asks.answer(Answer::new::<Check>(&true).to(question.id())).await.unwrap();
    }
    let end = |appended: &[&str]| {
        let mut all: Vec<String> = ["round 1", "round 2"].iter().chain(appended).map(|&text| text.to_owned()).collect();
        all.sort();
        all
    };
    let whole = end(&["acted", "inside: true", "work 1: true", "work 2: true"]);
    for (name, _) in THREADS {
        let thread = on(name, Stop::Finishes);
        if !matches!(thread.status().await.unwrap(), Status::Finished) {
            thread.proceed().await.unwrap();
        }
        let mut appended = thread.state().await.unwrap().unwrap().values.append.clone();
        appended.sort();
        assert_eq!(appended, whole, "{name}");
    }
}
