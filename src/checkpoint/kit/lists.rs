//! Checks of lists and of due threads: order, each condition, one caller for each thread, times, threads that are left. Knows
//! the contract and the records that summaries are made from.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::check::{FailureReason, Harness, ensure_eq, head, list};
use crate::checkpoint::listing::status_kind::StatusKind;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, CheckpointRecord, Checkpointer, Claim, Commit, ControlRecord, DueQuery,
    Key, ReceiveRecord, Shape, SignalRecord, Source, TaskRecord, TaskStatus, ThreadId, ThreadQuery, encode_record,
};

list![
    lists_are_in_order_and_have_pages,
    lists_meet_each_condition,
    lists_have_the_newest_threads,
    a_list_shows_what_was_written_since_the_last,
    a_deleted_thread_is_not_listed,
    a_thread_that_is_held_is_running_in_lists,
    a_wait_is_over_at_its_time_in_lists,
    a_due_thread_is_given_to_one_caller,
    the_longest_due_thread_comes_first,
    a_waiting_thread_is_due_at_its_time,
    a_posted_signal_makes_a_thread_due,
    only_threads_of_the_named_graphs_are_due,
    threads_of_newer_versions_are_not_due,
    other_graphs_with_due_threads_are_named,
    a_released_thread_is_due_again,
    a_left_thread_is_due_once_it_is_written,
    a_left_thread_is_due_once_it_gets_mail,
];

/// A thread to write: its name, its graph, the time of its newest checkpoint, and its task.
#[derive(Clone, Copy)]
struct Thread<'a> {
    name: &'a str,
    graph: &'a str,
    version: u32,
    at: u64,
    team: &'a str,
    task: Task,
}

/// The task of a thread.
#[derive(Clone, Copy)]
enum Task {
    None,
    Pending,
    Waiting(u64),
    Awaiting,
}

impl<'a> Thread<'a> {
    fn new(name: &'a str, task: Task) -> Self {
        Self { name, graph: "g", version: 0, at: 10, team: "red", task }
    }

    fn checkpoint(&self) -> CheckpointRecord {
        let ready = if matches!(self.task, Task::None) { vec![] } else { vec![(0, 1)] };
        CheckpointRecord {
            parent: None,
            namespace: String::new(),
            source: Source::Loop,
            step: 0,
            created_at: self.at,
            shape: self.shape().fingerprint(),
            epoch: 1,
            line: CheckpointId(0),
            control: ControlRecord { ready, ..ControlRecord::default() },
            base: None,
            channels: vec![],
            carried: vec![],
            children: vec![],
            metadata: vec![("team".into(), self.team.into())],
            journals: vec![],
            gotos: vec![],
        }
    }

    fn shape(&self) -> Shape {
        Shape { version: self.version, ..Shape::default() }
    }

    fn task(&self) -> Option<TaskRecord> {
        let waiting = TaskRecord { status: TaskStatus::Waiting, ..TaskRecord::default() };
        match self.task {
            Task::None | Task::Pending => None,
            Task::Waiting(wake) => Some(TaskRecord { wake: Some(wake), ..waiting }),
            Task::Awaiting => {
                let awaited = ReceiveRecord { name: "paid".into(), entry: "paid".into(), ..ReceiveRecord::default() };
                Some(TaskRecord { receives: vec![awaited], ..waiting })
            }
        }
    }

    /// Writes the thread as checkpoint `number`, and frees it.
    async fn write(&self, store: &dyn Checkpointer, number: u64) -> Result<(), FailureReason> {
        let thread = ThreadId::from(self.name);
        let lease = store.claim(&thread, Claim::IfFree).await?;
        let about = AboutRecord { graph: self.graph.into(), created_at: 1, ..AboutRecord::default() };
        let id = CheckpointId(number);
        let mut puts = vec![
            (Key::About, encode_record(&about)?),
            (Key::Checkpoint(id), encode_record(&self.checkpoint())?),
            (Key::Shape(self.shape().fingerprint()), encode_record(&self.shape())?),
        ];
        if let Some(task) = self.task() {
            puts.push((Key::Task { checkpoint: id, task: 0 }, encode_record(&task)?));
        }
        let expected = number.checked_sub(1).map(CheckpointId);
        store.commit(Commit::new(thread, lease.epoch(), expected, head(number)).with_records(puts)).await?;
        Ok(lease.release().await?)
    }
}

fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

async fn names(store: &dyn Checkpointer, query: ThreadQuery) -> Result<Vec<String>, CheckpointError> {
    Ok(store.list(&query).await?.into_iter().map(|thread| thread.id.as_str().to_owned()).collect())
}

/// Returns the names of the threads of the graph `g` that are due, which are freed again.
async fn due(store: &dyn Checkpointer, at: u64, limit: usize) -> Result<Vec<String>, CheckpointError> {
    let query = DueQuery { at: Some(time(at)), ..DueQuery::new(["g"], limit) };
    Ok(store.due(&query).await?.threads.into_iter().map(|(lease, _)| lease.thread().as_str().to_owned()).collect())
}

async fn lists_are_in_order_and_have_pages(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    for name in ["bb", "a", "", "\u{10ffff}", "c", "ab"] {
        Thread::new(name, Task::None).write(&*store, 0).await?;
    }
    ensure_eq!(names(&*store, ThreadQuery::default()).await?, ["", "a", "c", "ab", "bb", "\u{10ffff}"]);
    let page =
        |after: &str, limit| ThreadQuery { after: Some(after.into()), limit: Some(limit), ..ThreadQuery::default() };
    ensure_eq!(names(&*store, page("a", 2)).await?, ["c", "ab"]);
    ensure_eq!(names(&*store, page("b", 9)).await?, ["c", "ab", "bb", "\u{10ffff}"]);
    ensure_eq!(names(&*store, page("bb", 0)).await?, Vec::<String>::new());
    Ok(())
}

async fn lists_meet_each_condition(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread { at: 30, ..Thread::new("a1", Task::Pending) }.write(&*store, 0).await?;
    Thread { graph: "h", ..Thread::new("a2", Task::Pending) }.write(&*store, 0).await?;
    Thread { team: "blue", at: 20, ..Thread::new("b1", Task::None) }.write(&*store, 0).await?;
    Thread { team: "blue", ..Thread::new("b22", Task::Awaiting) }.write(&*store, 0).await?;
    let all = ThreadQuery::default;
    let prefix = |prefix: &str| ThreadQuery { prefix: prefix.into(), ..all() };
    ensure_eq!(names(&*store, prefix("b")).await?, ["b1", "b22"]);
    let statuses = |statuses: &[StatusKind]| ThreadQuery { statuses: statuses.to_vec(), ..all() };
    ensure_eq!(names(&*store, statuses(&[StatusKind::Pending])).await?, ["a1", "a2"]);
    ensure_eq!(names(&*store, statuses(&[StatusKind::AwaitingSignal, StatusKind::Finished])).await?, ["b1", "b22"]);
    ensure_eq!(names(&*store, ThreadQuery { graph: Some("h".into()), ..all() }).await?, ["a2"]);
    let blue = || ThreadQuery { metadata: vec![("team".into(), "blue".into())], ..all() };
    ensure_eq!(names(&*store, blue()).await?, ["b1", "b22"]);
    ensure_eq!(names(&*store, ThreadQuery { updated_since: Some(20), ..all() }).await?, ["a1", "b1"]);
    ensure_eq!(names(&*store, ThreadQuery { updated_before: Some(20), ..all() }).await?, ["a2", "b22"]);
    ensure_eq!(names(&*store, ThreadQuery { updated_before: Some(20), ..blue() }).await?, ["b22"]);
    Ok(())
}

async fn lists_have_the_newest_threads(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    for (nth, at) in [30_u64, 10, 20, 40, 20, 300].into_iter().enumerate() {
        let name = format!("t{nth}");
        let team = if nth == 3 { "blue" } else { "red" };
        Thread { at, team, ..Thread::new(&name, Task::None) }.write(&*store, 0).await?;
    }
    let all = ThreadQuery::default;
    let newest = |count| ThreadQuery { newest: Some(count), ..all() };
    let found: [(usize, &[&str]); 6] = [
        (0, &[]),
        (1, &["t5"]),
        (2, &["t3", "t5"]),
        (4, &["t0", "t2", "t3", "t4", "t5"]), // two are as new
        (6, &["t0", "t1", "t2", "t3", "t4", "t5"]),
        (9, &["t0", "t1", "t2", "t3", "t4", "t5"]),
    ];
    for (count, expected) in found {
        ensure_eq!(names(&*store, newest(count)).await?, expected);
    }
    ensure_eq!(names(&*store, ThreadQuery { updated_before: Some(40), ..newest(2) }).await?, ["t0", "t2", "t4"]);
    ensure_eq!(names(&*store, ThreadQuery { updated_since: Some(35), ..newest(5) }).await?, ["t3", "t5"]);
    ensure_eq!(
        names(&*store, ThreadQuery { metadata: vec![("team".into(), "red".into())], ..newest(2) }).await?,
        ["t0", "t5"]
    );
    ensure_eq!(names(&*store, ThreadQuery { after: Some("t3".into()), ..newest(1) }).await?, ["t5"]);
    ensure_eq!(names(&*store, ThreadQuery { limit: Some(2), ..newest(4) }).await?, ["t0", "t2"]);
    let lease = store.claim(&"t1".into(), Claim::IfFree).await?;
    ensure_eq!(names(&*store, newest(1)).await?, ["t5"]);
    ensure_eq!(names(&*store, newest(6)).await?, ["t0", "t1", "t2", "t3", "t4", "t5"]);
    lease.release().await?;
    Ok(())
}

async fn a_list_shows_what_was_written_since_the_last(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    let finished = || ThreadQuery { statuses: vec![StatusKind::Finished], ..ThreadQuery::default() };
    ensure_eq!(names(&*store, finished()).await?, Vec::<String>::new());
    Thread::new("a", Task::None).write(&*store, 1).await?;
    Thread::new("b", Task::None).write(&*store, 0).await?;
    ensure_eq!(names(&*store, finished()).await?, ["a", "b"]);
    Thread::new("a", Task::Pending).write(&*store, 2).await?;
    ensure_eq!(names(&*store, finished()).await?, ["b"]);
    Ok(())
}

async fn a_deleted_thread_is_not_listed(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    ensure_eq!(names(&*store, ThreadQuery::default()).await?, ["a"]);
    let lease = store.claim(&"a".into(), Claim::IfFree).await?;
    store.delete_thread(&lease).await?;
    lease.release().await?;
    ensure_eq!(names(&*store, ThreadQuery::default()).await?, Vec::<String>::new());
    ensure_eq!(due(&*store, 100, 9).await?, Vec::<String>::new());
    Ok(())
}

async fn a_thread_that_is_held_is_running_in_lists(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    let running = || ThreadQuery { statuses: vec![StatusKind::Running], ..ThreadQuery::default() };
    ensure_eq!(names(&*store, running()).await?, Vec::<String>::new());
    let lease = store.claim(&"a".into(), Claim::IfFree).await?;
    ensure_eq!(names(&*store, running()).await?, ["a"]);
    ensure_eq!(due(&*store, 100, 9).await?, Vec::<String>::new());
    lease.release().await?;
    ensure_eq!(names(&*store, running()).await?, Vec::<String>::new());
    Ok(())
}

async fn a_wait_is_over_at_its_time_in_lists(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Waiting(50)).write(&*store, 0).await?;
    let pending =
        |at| ThreadQuery { statuses: vec![StatusKind::Pending], at: Some(time(at)), ..ThreadQuery::default() };
    ensure_eq!(names(&*store, pending(49)).await?, Vec::<String>::new());
    ensure_eq!(names(&*store, pending(50)).await?, ["a"]);
    let listed = store.list(&ThreadQuery { at: Some(time(49)), ..ThreadQuery::default() }).await?;
    let found: Vec<_> = listed.iter().map(|thread| (thread.status, thread.wake, thread.due)).collect();
    ensure_eq!(found, [(StatusKind::Waiting, Some(50), Some(50))]);
    Ok(())
}

async fn a_due_thread_is_given_to_one_caller(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    for name in ["a", "b", "c"] {
        Thread::new(name, Task::Pending).write(&*store, 0).await?;
    }
    let query = |limit| DueQuery { at: Some(time(100)), ..DueQuery::new(["g"], limit) };
    let (one, other) = (query(2), query(9));
    let (one, other) = tokio::join!(store.due(&one), store.due(&other));
    let (one, other) = (one?.threads, other?.threads);
    let mut found: Vec<_> = one.iter().chain(&other).map(|(lease, _)| lease.thread().as_str()).collect();
    found.sort_unstable();
    ensure_eq!((found, one.len() <= 2), (vec!["a", "b", "c"], true));
    // The lease is the caller's: nobody else can claim the thread, and commits under it are accepted.
    let Some((lease, listed)) = one.into_iter().chain(other).next() else { return Ok(()) };
    ensure_eq!(listed.status, StatusKind::Pending);
    ensure_eq!(store.claim(lease.thread(), Claim::IfFree).await.is_err(), true);
    let moved = Commit::new(lease.thread().clone(), lease.epoch(), Some(CheckpointId(0)), head(1));
    Ok(store.commit(moved).await?)
}

async fn the_longest_due_thread_comes_first(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread { at: 30, ..Thread::new("a", Task::Pending) }.write(&*store, 0).await?;
    Thread { at: 5, ..Thread::new("b", Task::Waiting(20)) }.write(&*store, 0).await?;
    Thread { at: 10, ..Thread::new("c", Task::Pending) }.write(&*store, 0).await?;
    ensure_eq!(due(&*store, 100, 9).await?, ["c", "b", "a"]);
    ensure_eq!(due(&*store, 100, 2).await?, ["c", "b"]);
    ensure_eq!(due(&*store, 100, 0).await?, Vec::<String>::new());
    Ok(())
}

async fn a_waiting_thread_is_due_at_its_time(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Waiting(70)).write(&*store, 0).await?;
    Thread::new("b", Task::Waiting(50)).write(&*store, 0).await?;
    Thread::new("c", Task::Awaiting).write(&*store, 0).await?;
    let query = |at| DueQuery { at: Some(time(at)), ..DueQuery::new(["g"], 9) };
    let found = store.due(&query(49)).await?;
    ensure_eq!((found.threads.len(), found.next), (0, Some(time(50))));
    let found = store.due(&query(50)).await?;
    ensure_eq!((found.threads.len(), found.next), (1, Some(time(70))));
    drop(found);
    ensure_eq!(due(&*store, 70, 9).await?, ["b", "a"]);
    ensure_eq!(store.due(&query(70)).await?.next, None);
    Ok(())
}

async fn a_posted_signal_makes_a_thread_due(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Awaiting).write(&*store, 0).await?;
    ensure_eq!(due(&*store, 100, 9).await?, Vec::<String>::new());
    let signal = SignalRecord { name: "paid".into(), at: 60, ..SignalRecord::default() };
    let record = (Key::Signal { order: 60, id: 1 }, encode_record(&signal)?);
    match store.post(&"a".into(), vec![record]).await {
        Err(CheckpointError::NoMailbox { .. }) => return Ok(()),
        posted => posted?,
    }
    ensure_eq!(due(&*store, 100, 9).await?, ["a"]);
    Ok(())
}

async fn only_threads_of_the_named_graphs_are_due(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread { graph: "h", ..Thread::new("a", Task::Pending) }.write(&*store, 0).await?;
    Thread { graph: "h", ..Thread::new("b", Task::Waiting(200)) }.write(&*store, 0).await?;
    let query = |graph: &str, except: &[&str]| DueQuery {
        at: Some(time(100)),
        except: except.iter().map(|name| ThreadId::from(*name)).collect(),
        ..DueQuery::new([graph], 9)
    };
    let found = store.due(&query("g", &[])).await?;
    ensure_eq!((found.threads.len(), found.next), (0, None));
    ensure_eq!(store.due(&query("h", &["a"])).await?.threads.len(), 0);
    ensure_eq!(store.due(&query("h", &["b"])).await?.threads.len(), 1);
    Ok(())
}

async fn threads_of_newer_versions_are_not_due(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    for (number, version) in [(1, 3), (2, 2), (3, 0)] {
        Thread { version, at: number, ..Thread::new(&format!("ready{number}"), Task::Pending) }
            .write(&*store, 0)
            .await?;
        let wake = 200 + number;
        Thread { version, ..Thread::new(&format!("waiting{number}"), Task::Waiting(wake)) }.write(&*store, 0).await?;
    }
    let newest = |version, limit| DueQuery {
        at: Some(time(100)),
        graphs: [("g".into(), version)].into(),
        ..DueQuery::new([""; 0], limit)
    };
    // One that is left out takes no place, and is waited for by nobody.
    let found = store.due(&newest(2, 1)).await?;
    let names: Vec<_> = found.threads.iter().map(|(lease, _)| lease.thread().as_str()).collect();
    ensure_eq!((names, found.next), (vec!["ready2"], Some(time(202))));
    drop(found);
    for (version, count) in [(0, 1), (1, 1), (2, 2), (3, 3), (u32::MAX, 3)] {
        ensure_eq!((version, store.due(&newest(version, 9)).await?.threads.len()), (version, count));
    }
    // The version is that of the newest checkpoint.
    Thread { version: 1, ..Thread::new("ready1", Task::Pending) }.write(&*store, 1).await?;
    ensure_eq!(store.due(&newest(1, 9)).await?.threads.len(), 2);
    Ok(())
}

async fn other_graphs_with_due_threads_are_named(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    let named = |name, graph, version| Thread { graph, version, ..Thread::new(name, Task::Pending) };
    for thread in [named("a", "h", 1), named("b", "h", 4), named("c", "g", 3), named("d", "g", 1), named("e", "i", 0)] {
        thread.write(&*store, 0).await?;
    }
    Thread { graph: "j", ..Thread::new("f", Task::Waiting(200)) }.write(&*store, 0).await?;
    let query = |finds_others| DueQuery {
        at: Some(time(100)),
        graphs: [("g".into(), 2)].into(),
        finds_others,
        ..DueQuery::new([""; 0], 9)
    };
    let others = |found: &[(&str, u32)]| found.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect();
    ensure_eq!(store.due(&query(true)).await?.others, others(&[("g", 3), ("h", 4), ("i", 0)]));
    ensure_eq!(store.due(&query(false)).await?.others, others(&[]));
    // Nobody has to be told of a thread that somebody runs.
    let lease = store.claim(&"e".into(), Claim::IfFree).await?;
    ensure_eq!(store.due(&query(true)).await?.others, others(&[("g", 3), ("h", 4)]));
    Ok(lease.release().await?)
}

async fn a_released_thread_is_due_again(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    let query = DueQuery { at: Some(time(100)), ..DueQuery::new(["g"], 9) };
    for (lease, _) in store.due(&query).await?.threads {
        lease.release().await?;
    }
    ensure_eq!(due(&*store, 100, 9).await?, ["a"]);
    Ok(())
}

/// Claims the threads that are due, and leaves them. Returns false if the store gives them out again.
async fn leave_due(store: &dyn Checkpointer) -> Result<bool, CheckpointError> {
    let query = DueQuery { at: Some(time(100)), ..DueQuery::new(["g"], 9) };
    for (lease, _) in store.due(&query).await?.threads {
        lease.leave().await?;
    }
    Ok(due(store, 100, 9).await?.is_empty())
}

async fn a_left_thread_is_due_once_it_is_written(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    if !leave_due(&*store).await? {
        return Ok(()); // the store does not remember
    }
    ensure_eq!(names(&*store, ThreadQuery::default()).await?, ["a"]);
    store.claim(&"a".into(), Claim::IfFree).await?.release().await?;
    ensure_eq!(due(&*store, 100, 9).await?, Vec::<String>::new());
    let anew = DueQuery { at: Some(time(100)), with_left: true, ..DueQuery::new(["g"], 9) };
    ensure_eq!(store.due(&anew).await?.threads.len(), 1);
    Thread::new("a", Task::Pending).write(&*store, 1).await?;
    ensure_eq!(due(&*store, 100, 9).await?, ["a"]);
    Ok(())
}

async fn a_left_thread_is_due_once_it_gets_mail(harness: &dyn Harness) -> Result<(), FailureReason> {
    let store = harness.open().await?;
    Thread::new("a", Task::Pending).write(&*store, 0).await?;
    if !leave_due(&*store).await? {
        return Ok(());
    }
    let record = (Key::Signal { order: 60, id: 1 }, encode_record(&SignalRecord::default())?);
    match store.post(&"a".into(), vec![record]).await {
        Err(CheckpointError::NoMailbox { .. }) => return Ok(()),
        posted => posted?,
    }
    ensure_eq!(due(&*store, 100, 9).await?, ["a"]);
    Ok(())
}
