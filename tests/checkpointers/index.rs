//! The index of threads: whatever is written, deleted, held and reopened, it answers as if every thread were read.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use rstest::rstest;
use superstep::checkpoint::{
    AboutRecord, BoxFuture, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit,
    ControlRecord, DueQuery, FjallCheckpointer, ForeignRecord, Key, Lease, LeaseOwner, ListedThread,
    MemoryCheckpointer, Order, QuestionRecord, Receipt, ReceiveRecord, Record, RowId, Shape, SignalRecord,
    SledCheckpointer, Source, StoreKind, TaskRecord, TaskStatus, ThreadHead, ThreadId, ThreadQuery, encode_record,
};
use superstep::graph::StatusKind;
use tempfile::TempDir;

use crate::server;

const NAMES: [&str; 8] = ["a", "b", "aa", "ab", "ba", "abc", "b\0", "\u{10ffff}"];

/// A store without an index: only the methods that every store has.
#[derive(Debug)]
struct Unindexed(Arc<dyn Checkpointer>);

impl Checkpointer for Unindexed {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.0.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        self.0.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.0.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.0.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        self.0.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        self.0.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        self.0.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.0.owner(thread)
    }
}

/// The state in which a commit leaves a thread.
#[derive(Clone, Copy, Debug)]
enum Position {
    New,
    Finished,
    Pending,
    Failed,
    Waiting(u64),
    Awaiting(Option<u64>),
    Interrupted(Option<u64>),
    Answered,
    Damaged,
    Untrusted,
}

#[derive(Clone, Debug)]
struct Written {
    thread: usize,
    position: Position,
    graph: usize,
    version: u32,
    pair: Option<usize>,
    at: u64,
    is_held: bool,
    is_requested: bool,
}

#[derive(Clone, Debug)]
enum Action {
    Write(Written),
    Post(usize, u64),
    Delete(usize),
    Release,
    Reopen,
    List(ThreadQuery),
    Due(u64, usize, u32),
}

fn position() -> impl Strategy<Value = Position> {
    let time = || prop_oneof![Just(60_u64), Just(120), Just(180)];
    prop_oneof![
        Just(Position::New),
        Just(Position::Finished),
        Just(Position::Pending),
        Just(Position::Failed),
        time().prop_map(Position::Waiting),
        proptest::option::of(time()).prop_map(Position::Awaiting),
        proptest::option::of(time()).prop_map(Position::Interrupted),
        Just(Position::Answered),
        Just(Position::Damaged),
        Just(Position::Untrusted),
    ]
}

fn written() -> impl Strategy<Value = Written> {
    let what = (0..NAMES.len(), position(), 0..2_usize, proptest::option::of(0..2_usize), 0..200_u64);
    let marks = (proptest::bool::weighted(0.1), proptest::bool::weighted(0.1));
    (what, marks, 0..3_u32).prop_map(|((thread, position, graph, pair, at), (is_held, is_requested), version)| {
        Written { thread, position, graph, version, pair, at, is_held, is_requested }
    })
}

fn query() -> impl Strategy<Value = ThreadQuery> {
    let status = prop_oneof![
        2 => Just(StatusKind::Pending),
        1 => Just(StatusKind::Waiting),
        1 => Just(StatusKind::Running),
        3 => proptest::sample::select(StatusKind::ALL),
    ];
    let statuses = proptest::collection::vec(status, 0..3);
    let time = || proptest::option::of(0..200_u64);
    let first = (prop_oneof![Just(""), Just("a"), Just("b"), Just("ab")], statuses, proptest::option::of(0..2_usize));
    let page =
        (proptest::option::of(0..NAMES.len()), [proptest::option::of(0..4_usize), proptest::option::of(0..4_usize)]);
    (first, proptest::collection::vec(0..2_usize, 0..2), time(), time(), page, 0..200_u64).prop_map(
        |((prefix, statuses, graph), pairs, since, before, (after, [limit, newest]), at)| {
            let mut query = ThreadQuery::default();
            (query.prefix, query.statuses, query.graph) = (prefix.into(), statuses, graph.map(graph_name));
            query.metadata = pairs.into_iter().map(pair).collect();
            (query.updated_since, query.updated_before) = (since, before);
            (query.after, query.limit) = (after.map(|at| NAMES[at].into()), limit);
            (query.newest, query.at) = (newest, Some(time_of(at)));
            query
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => written().prop_map(Action::Write),
        1 => (0..NAMES.len(), 0..200_u64).prop_map(|(thread, at)| Action::Post(thread, at)),
        1 => (0..NAMES.len()).prop_map(Action::Delete),
        1 => Just(Action::Release),
        1 => Just(Action::Reopen),
        5 => query().prop_map(Action::List),
        2 => (0..200_u64, 0..4_usize, 0..3_u32).prop_map(|(at, limit, newest)| Action::Due(at, limit, newest)),
    ]
}

fn graph_name(number: usize) -> String {
    format!("graph {number}")
}

fn pair(number: usize) -> (String, String) {
    ("team".into(), format!("team {number}"))
}

fn time_of(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

impl Written {
    fn records(&self, id: CheckpointId) -> Vec<Record> {
        let foreign = ForeignRecord { imported_at: 1, trusted: false };
        let about = AboutRecord {
            graph: graph_name(self.graph),
            created_at: 1,
            foreign: matches!(self.position, Position::Untrusted).then_some(foreign),
            requested_at: self.is_requested.then_some(90),
            ..AboutRecord::default()
        };
        let checkpoint = match self.position {
            Position::Damaged => b"no record".to_vec(),
            _ => encode_record(&self.checkpoint()).unwrap(),
        };
        let shape = (Key::Shape(self.shape().fingerprint()), encode_record(&self.shape()).unwrap());
        let mut records = vec![(Key::About, encode_record(&about).unwrap()), (Key::Checkpoint(id), checkpoint), shape];
        records
            .extend(self.task(id).map(|task| (Key::Task { checkpoint: id, task: 0 }, encode_record(&task).unwrap())));
        records
    }

    fn shape(&self) -> Shape {
        Shape { version: self.version, ..Shape::default() }
    }

    fn checkpoint(&self) -> CheckpointRecord {
        let is_over = matches!(self.position, Position::Finished);
        let ready = if is_over { vec![] } else { vec![(0, 1)] };
        CheckpointRecord {
            parent: None,
            namespace: String::new(),
            source: Source::Loop,
            step: 3,
            created_at: self.at,
            shape: self.shape().fingerprint(),
            epoch: 1,
            line: CheckpointId(1),
            control: ControlRecord { ready, ..ControlRecord::default() },
            base: None,
            channels: vec![],
            carried: vec![],
            children: vec![],
            metadata: self.pair.map(pair).into_iter().collect(),
            journals: vec![],
            gotos: vec![],
        }
    }

    fn task(&self, checkpoint: CheckpointId) -> Option<TaskRecord> {
        let receives = vec![ReceiveRecord { name: "paid".into(), entry: "paid".into(), ..ReceiveRecord::default() }];
        let question = |answered| QuestionRecord {
            checkpoint,
            task: 0,
            place: 0,
            asker: None,
            name: "approve".into(),
            payload: RowId { checkpoint, task: 0, slot: 0 },
            node: "review".into(),
            namespace: vec![],
            answered,
        };
        let status = |status| TaskRecord { status, ..TaskRecord::default() };
        Some(match self.position {
            Position::Failed => status(TaskStatus::Failed),
            Position::Waiting(wake) => TaskRecord { wake: Some(wake), ..status(TaskStatus::Waiting) },
            Position::Awaiting(wake) => TaskRecord { wake, receives, ..status(TaskStatus::Waiting) },
            Position::Interrupted(wake) => {
                TaskRecord { wake, questions: vec![question(false)], ..status(TaskStatus::Interrupted) }
            }
            Position::Answered => TaskRecord { questions: vec![question(true)], ..status(TaskStatus::Interrupted) },
            Position::New | Position::Finished | Position::Pending | Position::Damaged | Position::Untrusted => {
                return None;
            }
        })
    }
}

/// Opens a store that is in a directory, or in memory.
fn open(kind: Option<StoreKind>, path: &Path) -> Arc<dyn Checkpointer> {
    match kind {
        Some(StoreKind::Sled) => Arc::new(SledCheckpointer::open(path).unwrap()),
        Some(StoreKind::Fjall) => Arc::new(FjallCheckpointer::open(path).unwrap()),
        _ => Arc::new(MemoryCheckpointer::new()),
    }
}

/// A store, and the leases that are held on its threads.
struct Scene {
    kind: Option<StoreKind>,
    /// The address of a store in PostgreSQL.
    address: Option<String>,
    directory: TempDir,
    store: Arc<dyn Checkpointer>,
    held: Vec<Lease>,
}

impl Scene {
    fn new(kind: Option<StoreKind>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(kind, &directory.path().join("store"));
        Self { kind, address: None, directory, store, held: vec![] }
    }

    fn postgres(address: String) -> Self {
        let (directory, store) = (tempfile::tempdir().unwrap(), server::open(&address));
        Self { kind: None, address: Some(address), directory, store, held: vec![] }
    }

    async fn apply(&mut self, action: Action) {
        match action {
            Action::Write(written) => self.write(written).await,
            Action::Post(thread, at) => self.post(NAMES[thread], at).await,
            Action::Delete(thread) => {
                if let Ok(lease) = self.store.claim(&NAMES[thread].into(), Claim::IfFree).await {
                    self.store.delete_thread(&lease).await.unwrap();
                }
            }
            Action::Release => self.held.clear(),
            Action::Reopen => self.reopen(),
            Action::List(query) => self.compare(&query).await,
            Action::Due(at, limit, newest) => self.compare_due(at, limit, newest).await,
        }
    }

    async fn write(&mut self, written: Written) {
        let thread = ThreadId::from(NAMES[written.thread]);
        let Ok(lease) = self.store.claim(&thread, Claim::IfFree).await else { return };
        let before = self.store.head(&thread).await.unwrap();
        let (expected, next) = before.map_or((None, 1), |head| (head.checkpoint, head.next));
        let id = CheckpointId(next);
        let is_new = matches!(written.position, Position::New);
        let checkpoint = if is_new { expected } else { Some(id) };
        let puts = if is_new { vec![] } else { written.records(id) };
        let head = ThreadHead { checkpoint, next: next + 1, birth: 7 };
        self.store.commit(Commit::new(thread, lease.epoch(), expected, head).with_records(puts)).await.unwrap();
        self.held.extend(Some(lease).filter(|_| written.is_held));
    }

    async fn post(&self, thread: &str, at: u64) {
        let signal = SignalRecord { name: "paid".into(), at, ..SignalRecord::default() };
        let records = vec![(Key::Signal { order: at, id: 1 }, encode_record(&signal).unwrap())];
        _ = self.store.post(&thread.into(), records).await;
    }

    fn reopen(&mut self) {
        if let Some(address) = &self.address {
            self.held.clear();
            self.store = server::open(address);
        }
        if self.kind.is_some() {
            self.held.clear();
            self.store = Arc::new(MemoryCheckpointer::new());
            self.store = open(self.kind, &self.directory.path().join("store"));
        }
    }

    async fn compare(&self, query: &ThreadQuery) {
        let expected = Unindexed(Arc::clone(&self.store)).list(query).await.unwrap();
        assert_eq!(self.store.list(query).await.unwrap(), expected, "{query:?}");
    }

    async fn compare_due(&self, at: u64, limit: usize, newest: u32) {
        let mut query = DueQuery::new([graph_name(0)], usize::MAX);
        query.graphs.insert(graph_name(1), newest);
        (query.at, query.finds_others) = (Some(time_of(at)), true);
        let unindexed = Unindexed(Arc::clone(&self.store));
        let (expected, rest) = due(&unindexed, &query).await;
        let (found, found_rest) = due(&*self.store, &query).await;
        assert_eq!((&found, found_rest), (&expected, rest), "{query:?}");
        query.limit = limit;
        let page = due(&*self.store, &query).await.0;
        assert!(page.len() == limit.min(found.len()) && page.iter().all(|thread| found.contains(thread)), "{page:?}");
        assert!(page.iter().zip(&found).all(|(page, all)| page.due == all.due), "{page:?}");
    }
}

/// The time when the next thread is due, and the graphs that were not asked for.
type Rest = (Option<SystemTime>, BTreeMap<String, u32>);

/// Returns the threads that are due, by the time since when they are, and frees them.
async fn due(store: &dyn Checkpointer, query: &DueQuery) -> (Vec<ListedThread>, Rest) {
    let found = store.due(query).await.unwrap();
    let mut threads: Vec<_> = found.threads.into_iter().map(|(_, thread)| thread).collect();
    threads.sort_by(|a, b| (a.due, a.id.as_str()).cmp(&(b.due, b.id.as_str())));
    // The end of a lease is a time at which a thread may be due; these are of today.
    (threads, (found.next.filter(|next| *next < time_of(1_000_000)), found.others))
}

fn check(kind: Option<StoreKind>, actions: Vec<Action>) {
    check_scene(Scene::new(kind), actions);
}

fn check_scene(mut scene: Scene, actions: Vec<Action>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for action in actions {
            scene.apply(action).await;
        }
        scene.held.clear();
        scene.compare(&ThreadQuery::default()).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn an_index_in_memory_answers_like_a_scan(actions in proptest::collection::vec(action(), 1..40)) {
        check(None, actions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_index_on_sled_answers_like_a_scan(actions in proptest::collection::vec(action(), 1..40)) {
        check(Some(StoreKind::Sled), actions);
    }

    #[test]
    fn an_index_on_fjall_answers_like_a_scan(actions in proptest::collection::vec(action(), 1..40)) {
        check(Some(StoreKind::Fjall), actions);
    }

    #[test]
    fn an_index_in_postgres_answers_like_a_scan(actions in proptest::collection::vec(action(), 1..40)) {
        if let Some(address) = server::new_store() {
            check_scene(Scene::postgres(address), actions);
        }
    }
}

fn finished(thread: usize) -> Written {
    Written {
        thread,
        position: Position::Finished,
        graph: 0,
        version: 0,
        pair: None,
        at: 5,
        is_held: false,
        is_requested: false,
    }
}

#[rstest]
#[case::sled(StoreKind::Sled)]
#[case::fjall(StoreKind::Fjall)]
#[tokio::test]
async fn a_change_that_nobody_listed_outlives_the_store(#[case] kind: StoreKind) {
    let mut scene = Scene::new(Some(kind));
    scene.write(finished(0)).await;
    scene.compare(&ThreadQuery::default()).await; // makes the index
    scene.write(finished(1)).await;
    scene.write(Written { position: Position::Pending, ..finished(0) }).await;
    scene.reopen();
    let listed = scene.store.list(&ThreadQuery::default()).await.unwrap();
    let found: Vec<_> = listed.iter().map(|thread| (thread.id.as_str(), thread.status)).collect();
    assert_eq!(found, [("a", StatusKind::Pending), ("b", StatusKind::Finished)]);
}

#[rstest]
#[case::sled(StoreKind::Sled)]
#[case::fjall(StoreKind::Fjall)]
#[tokio::test]
async fn a_compacted_store_and_a_copy_list_the_same_threads(#[case] kind: StoreKind) {
    let mut scene = Scene::new(Some(kind));
    for thread in 0..4 {
        scene.write(finished(thread)).await;
    }
    let before = scene.store.list(&ThreadQuery::default()).await.unwrap();
    let path = scene.directory.path().join("store");
    scene.store = Arc::new(MemoryCheckpointer::new());
    assert!(kind.compact(&path).unwrap().rows > 0);
    let reads = kind.open_read_only(&path).unwrap();
    assert_eq!(reads.list(&ThreadQuery::default()).await.unwrap(), before);
    drop(reads);
    scene.store = open(Some(kind), &path);
    assert_eq!(scene.store.list(&ThreadQuery::default()).await.unwrap(), before);
    scene.compare(&ThreadQuery::default()).await;
}
