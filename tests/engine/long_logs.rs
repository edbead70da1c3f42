//! Long logs: read in chunks, they hold what their entries hold, whatever happened in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use rstest::rstest;
use superstep::checkpoint::{
    Checkpointer, Claim, Commit, ExportOptions, FailingCheckpointer, ImportOptions, Key, Order, Record, Retention,
    copy_threads, export_thread, import_thread,
};
use superstep::graph::{CompiledGraph, Thread};
use superstep::prelude::*;

use crate::stores::Store;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    /// The lines that the run appends.
    more: Vec<String>,
    #[channel(append)]
    lines: Vec<String>,
    #[channel(union)]
    set: BTreeSet<String>,
}

#[derive(NodeId)]
enum Step {
    Plan,
    Say,
}

const SAY: Worker<Step, String> = Worker::new(Step::Say);

/// A graph whose runs append each line of `more` as an entry of its own.
fn graph() -> CompiledGraph<Talk, Step> {
    let say = |line: Arc<String>, _: Ctx| async move {
        Ok::<_, NodeError>(Talk::update().lines([(*line).clone()]).set(BTreeSet::from([(*line).clone()])))
    };
    StateGraph::new()
        .add_node(Step::Plan, |_: Arc<Talk>, _: Ctx| async { Ok::<(), NodeError>(()) })
        .add_worker(SAY, say)
        .add_edge(START, Step::Plan)
        .add_conditional_edges_to(Step::Plan, |talk: &Talk| SAY.each(talk.more.clone()), SAY)
        .compile()
        .unwrap()
}

fn thread(store: &Arc<dyn Checkpointer>) -> Thread<Talk, Step> {
    graph().with_shared_checkpointer(Arc::clone(store)).thread("t").discard_pending()
}

/// Lines that no other call returns, of a length.
fn lines(round: usize, count: usize, length: usize) -> Vec<String> {
    (0..count).map(|nth| format!("{round} {nth} {}", "m".repeat(length))).collect()
}

fn says(lines: Vec<String>) -> TalkUpdate {
    Talk::update().more(lines)
}

/// Returns the records of the logs of a thread: the chunks, and the entries.
async fn logs(store: &Arc<dyn Checkpointer>) -> (Vec<Record>, Vec<Record>) {
    let last = Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX };
    let all = store.scan(&"t".into(), Key::About..=last, Order::Ascending, usize::MAX).await.unwrap();
    let logs = all.into_iter().filter(|(key, _)| matches!(key, Key::Log { .. }));
    logs.partition(|(key, _)| matches!(key, Key::Log { channel, .. } if channel.starts_with('\0')))
}

async fn change(store: &Arc<dyn Checkpointer>, puts: Vec<Record>, deletes: Vec<Key>) {
    let thread = "t".into();
    let head = store.head(&thread).await.unwrap().unwrap();
    let lease = store.claim(&thread, Claim::IfFree).await.unwrap();
    let (epoch, expected) = (lease.epoch(), head.checkpoint);
    store.commit(Commit { deletes, ..Commit::new(thread, epoch, expected, head).with_records(puts) }).await.unwrap();
}

#[derive(Clone, Debug)]
enum Act {
    /// Appends lines in a run: how many, how long.
    Say(usize, usize),
    /// Replaces both channels.
    Overwrite,
    /// Appends a line from outside of a run.
    Update,
    /// Continues from an older checkpoint.
    Fork(usize, usize),
    /// Uses a new handle.
    Reopen,
    /// Runs until a commit fails, then proceeds with a new handle.
    Cut(usize, u64),
    /// Keeps so many checkpoints.
    Collect(usize),
    /// Copies the thread to another store, which is used from then on: with its chunks, or as a file.
    Move(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let length = prop_oneof![4 => 0usize..60, 1 => 500usize..1500, 1 => 2000usize..2200];
    prop_oneof![
        8 => (0usize..50, length).prop_map(|(count, length)| Act::Say(count, length)),
        1 => Just(Act::Overwrite),
        2 => Just(Act::Update),
        2 => (0usize..6, 0usize..40).prop_map(|(back, count)| Act::Fork(back, count)),
        2 => Just(Act::Reopen),
        1 => (1usize..40, 1u64..60).prop_map(|(count, at)| Act::Cut(count, at)),
        1 => (1usize..5).prop_map(Act::Collect),
        1 => any::<bool>().prop_map(Act::Move),
    ]
}

/// A thread, and what each of its checkpoints is to hold.
struct Played {
    store: Arc<dyn Checkpointer>,
    handle: Thread<Talk, Step>,
    durability: Durability,
    known: BTreeMap<CheckpointId, Talk>,
    now: Talk,
    round: usize,
}

impl Played {
    fn new(durability: Durability) -> Self {
        let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
        let (handle, known) = (thread(&store).durability(durability), BTreeMap::new());
        Self { handle, store, durability, known, now: Talk::default(), round: 0 }
    }

    fn use_store(&mut self, store: Arc<dyn Checkpointer>) {
        self.handle = thread(&store).durability(self.durability);
        self.store = store;
    }

    fn said(&mut self, lines: Vec<String>) {
        self.now.lines.extend(lines.iter().cloned());
        self.now.set.extend(lines.iter().cloned());
        self.now.more = lines;
    }

    async fn newest(&self) -> Option<CheckpointId> {
        thread(&self.store).state().await.unwrap().map(|state| state.id)
    }

    async fn play(&mut self, act: &Act) {
        self.round += 1;
        let round = self.round;
        match *act {
            Act::Say(count, length) => {
                let lines = lines(round, count, length);
                self.handle.invoke(says(lines.clone())).await.unwrap();
                self.said(lines);
            }
            Act::Overwrite => {
                let line = format!("over {round}");
                let update =
                    Talk::update().lines(overwrite(vec![line.clone()])).set(overwrite(BTreeSet::from([line.clone()])));
                self.handle.invoke(update.more(vec![])).await.unwrap();
                self.now = Talk { more: vec![], lines: vec![line.clone()], set: [line].into() };
            }
            Act::Update => {
                let line = format!("out {round}");
                self.handle
                    .update_state(Talk::update().lines([line.clone()]).set(BTreeSet::from([line.clone()])))
                    .await
                    .unwrap();
                self.now.lines.push(line.clone());
                self.now.set.insert(line);
            }
            Act::Fork(back, count) => {
                let Some((id, talk)) = self.known.iter().rev().nth(back) else { return };
                let (there, talk) = (self.handle.clone().at(*id), talk.clone());
                if !matches!(there.state().await, Ok(Some(_))) {
                    return; // retention removed it
                }
                let lines = lines(round, count, 10);
                there.invoke(says(lines.clone())).await.unwrap();
                self.now = talk;
                self.said(lines);
            }
            Act::Reopen => return self.use_store(Arc::clone(&self.store)),
            Act::Cut(count, at) => {
                let (lines, before) = (lines(round, count, 10), self.newest().await);
                let failing: Arc<dyn Checkpointer> = Arc::new(FailingCheckpointer::new(Arc::clone(&self.store), at));
                let ran = thread(&failing).invoke(says(lines.clone())).await;
                drop(failing);
                self.use_store(Arc::clone(&self.store));
                match ran {
                    Ok(_) => {}
                    Err(_) if self.newest().await != before => drop(self.handle.proceed().await.unwrap()),
                    Err(_) => drop(self.handle.invoke(says(lines.clone())).await.unwrap()),
                }
                self.said(lines);
            }
            Act::Collect(keep) => drop(self.handle.gc(&Retention::new().keep_last(keep)).await),
            Act::Move(copied) => {
                let to: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
                if self.handle.state().await.unwrap().is_none() {
                    return;
                }
                if copied {
                    copy_threads(&*self.store, &*to).await.unwrap();
                } else {
                    let mut file = vec![];
                    export_thread(&*self.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
                    import_thread(&*to, &file[..], &ImportOptions::new()).await.unwrap();
                    assert_eq!(logs(&to).await.0, [], "a file has no chunks");
                    thread(&to).trust().await.unwrap();
                }
                self.use_store(to);
            }
        }
        if let Some(state) = thread(&self.store).state().await.unwrap() {
            self.known.insert(state.id, self.now.clone());
        }
    }

    async fn check(&self) {
        for (id, expected) in &self.known {
            let there = thread(&self.store).at(*id);
            if let Ok(Some(state)) = there.state().await {
                assert_eq!(&*state.values, expected, "checkpoint {id}");
            }
        }
        for state in thread(&self.store).history().await.unwrap().all().await.unwrap() {
            if let Some(expected) = self.known.get(&state.id) {
                assert_eq!(&*state.values, expected, "checkpoint {} in the history", state.id);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_list_read_in_chunks_is_the_list_of_its_entries(
        acts in proptest::collection::vec(act(), 1..14),
        durability in prop_oneof![Just(Durability::Sync), Just(Durability::Async), Just(Durability::Exit)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut played = Played::new(durability);
            for act in &acts {
                played.play(act).await;
                if let Some(state) = played.handle.state().await.unwrap() {
                    assert_eq!(*state.values, played.now, "after {act:?}");
                }
            }
            played.check().await;
            let (chunks, _) = logs(&played.store).await;
            if !chunks.is_empty() {
                change(&played.store, vec![], chunks.into_iter().map(|(key, _)| key).collect()).await;
                played.check().await;
            }
        });
    }
}

#[rstest]
#[case::in_one_turn(1, 640)]
#[case::in_turns(64, 10)]
#[tokio::test]
async fn a_long_list_is_read_in_a_record_for_32_entries(#[case] turns: usize, #[case] count: usize) {
    let store = Store::memory();
    for round in 0..turns {
        thread(&store.store).invoke(says(lines(round, count, 20))).await.unwrap();
    }
    let (chunks, _) = logs(&store.store).await;
    let appended = |(key, _): &&Record| matches!(key, Key::Log { channel, .. } if channel.ends_with("lines"));
    assert_eq!(chunks.iter().filter(appended).count(), 640 / 32);
}

#[tokio::test]
async fn entries_of_an_older_release_are_put_into_chunks_by_the_next_turn() {
    let store = Store::memory();
    thread(&store.store).invoke(says(lines(0, 100, 20))).await.unwrap();
    let (chunks, _) = logs(&store.store).await;
    change(&store.store, vec![], chunks.iter().map(|(key, _)| key.clone()).collect()).await;
    assert_eq!(thread(&store.store).state().await.unwrap().unwrap().values.lines.len(), 100);
    assert_eq!(logs(&store.store).await.0, [], "reading stores nothing");
    thread(&store.store).invoke(says(vec![])).await.unwrap();
    let again = logs(&store.store).await.0;
    let is_list = |(key, _): &&Record| matches!(key, Key::Log { channel, .. } if channel.ends_with("lines"));
    let list = |chunks: &[Record]| chunks.iter().filter(is_list).cloned().collect::<Vec<_>>();
    assert_eq!(list(&again), list(&chunks));
}

#[tokio::test]
async fn long_entries_are_stored_once() {
    let store = Store::memory();
    thread(&store.store).invoke(says(lines(0, 100, 3000))).await.unwrap();
    assert_eq!(logs(&store.store).await.0, []);
}

#[tokio::test]
async fn a_damaged_chunk_is_reported_and_a_file_has_none() {
    let store = Store::memory();
    thread(&store.store).invoke(says(lines(0, 40, 20))).await.unwrap();
    let (chunks, _) = logs(&store.store).await;
    change(&store.store, vec![(chunks[0].0.clone(), vec![9, 9])], vec![]).await;
    let error = thread(&store.store).state().await.unwrap_err().to_string();
    assert!(error.starts_with("damaged record chunk of log entries up to 3/"), "{error}");
    assert!(error.ends_with("of channel `lines` of thread `t`: it cannot be decoded"), "{error}");
    let (mut file, elsewhere) = (vec![], Store::memory());
    export_thread(&*store.store, &"t".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*elsewhere.store, &file[..], &ImportOptions::new()).await.unwrap();
    assert_eq!(thread(&elsewhere.store).state().await.unwrap().unwrap().values.lines, lines(0, 40, 20));
}

#[tokio::test]
async fn retention_removes_the_chunks_of_a_list_that_was_replaced() {
    let store = Store::memory();
    let thread = thread(&store.store);
    thread.invoke(says(lines(0, 100, 20))).await.unwrap();
    thread.gc(&Retention::new().keep_last(2)).await.unwrap();
    assert!(!logs(&store.store).await.0.is_empty());
    let update = || Talk::update().lines(overwrite(vec![])).set(overwrite(BTreeSet::new())).more(vec![]);
    for _ in 0..2 {
        thread.invoke(update()).await.unwrap();
    }
    thread.gc(&Retention::new().keep_last(2)).await.unwrap();
    assert_eq!(logs(&store.store).await, (vec![], vec![]));
}
