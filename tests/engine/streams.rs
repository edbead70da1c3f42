//! A run as a stream: every event in order, no faster than it is read, and droppable at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use superstep::graph::{EventKind, Lint, Name, Replay, RunStream, Writes};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

const ALL: [Mode; 6] = [Mode::Values, Mode::Updates, Mode::Custom, Mode::Messages, Mode::Tasks, Mode::Checkpoints];

fn talkative(words: usize) -> impl Node<Pad, superstep::graph::Name, ()> + Clone {
    move |_: Arc<Pad>, ctx: Ctx| async move {
        for word in 0..words {
            ctx.emit(word).await;
        }
        ctx.emit_message("one").await;
        ctx.emit_message("two").await;
        Ok::<_, NodeError>(Pad::update().notes(["said"]))
    }
}

#[tokio::test]
async fn every_event_has_the_next_number_whatever_runs_in_parallel() {
    let builder = Builder::new().add_node(id("a"), talkative(100)).add_node(id("b"), talkative(100));
    let (store, graph) = (Store::memory(), fan(builder, &["a", "b"]));
    let thread = store.thread(&graph);
    let mut events = thread.stream(Request::input(start()), ALL);
    let (mut seen, mut custom) = (0, 0);
    while let Some(event) = events.next().await {
        assert_eq!(event.seq, seen);
        seen += 1;
        custom += usize::from(event.is(Mode::Custom));
    }
    assert_eq!((custom, events.outcome().await.unwrap().state().notes.len()), (200, 2));
}

#[rstest]
#[case(Mode::Values, 2)]
#[case(Mode::Updates, 1)]
#[case(Mode::Custom, 3)]
#[case(Mode::Messages, 2)]
#[case(Mode::Tasks, 2)]
#[case(Mode::Checkpoints, 3)]
#[case(Mode::Stored, 1)]
#[case(Mode::Debug, 5)]
#[tokio::test]
async fn a_stream_carries_the_events_of_its_modes(#[case] mode: Mode, #[case] count: usize) {
    let (store, graph) = (Store::memory(), chain(Builder::new().add_node(id("a"), talkative(3)), &["a"]));
    let mut events = store.thread(&graph).stream(Request::input(start()), [mode]);
    let mut seen = 0;
    while let Some(event) = events.next().await {
        assert!(event.is(mode), "{event:?}");
        seen += 1;
    }
    assert_eq!(seen, count);
}

#[tokio::test]
async fn a_run_is_ahead_of_its_reader_by_the_buffer_at_most() {
    let emitted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&emitted);
    let node = move |_: Arc<Pad>, ctx: Ctx| {
        let count = Arc::clone(&count);
        async move {
            for word in 0..10_000 {
                ctx.emit(word).await;
                count.fetch_add(1, Ordering::SeqCst);
            }
            Ok::<_, NodeError>(())
        }
    };
    let builder = Builder::new().add_node(id("a"), node.clone()).add_node(id("b"), node);
    let (store, graph) = (Store::memory(), fan(builder, &["a", "b"]));
    let mut events = store.thread(&graph).stream(Request::input(start()), [Mode::Custom]);
    let mut read = 0;
    for _ in 0..500 {
        assert!(events.next().await.is_some());
        read += 1;
        for _ in 0..10 {
            tokio::task::yield_now().await; // time for the tasks to run ahead, if they could
        }
        assert!(emitted.load(Ordering::SeqCst) <= read + 66, "{} ahead", emitted.load(Ordering::SeqCst) - read);
    }
    while events.next().await.is_some() {
        read += 1;
    }
    assert_eq!(read, 20_000);
}

#[rstest]
#[tokio::test]
async fn dropping_a_stream_cancels_the_run_and_the_thread_can_resume(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (open, gate) = tokio::sync::watch::channel(false);
    let tally = Tally::default();
    let builder = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = chain(builder, &["a", "b"]);
    let mut events = store.thread(&graph).stream(Request::input(start()), [Mode::Updates]);
    assert!(matches!(events.next().await.unwrap().kind, EventKind::Update { .. }));
    drop(events);
    open.send(true).unwrap();
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["a", "b"]);
    assert!(tally.names().iter().filter(|name| *name == "b").count() >= 1);
}

#[rstest]
#[tokio::test]
async fn a_checkpoint_in_an_event_is_stored(#[values(Store::memory(), Store::disk())] store: Store) {
    let inside = chain(Builder::new().add_node(id("c"), talkative(1)), &["c"]);
    let builder = Builder::new().add_node(id("a"), note("a")).add_subgraph(id("inside"), inside.clone());
    let graph = chain(builder, &["a", "inside"]);
    let mut events = store.thread(&graph).stream_deep(Request::input(start()), [Mode::Checkpoints]);
    let mut count = 0;
    while let Some(event) = events.next().await {
        let EventKind::Checkpoint(checkpoint) = event.kind else { panic!("{event:?}") };
        let stored = match event.namespace.is_empty() {
            true => store.thread(&graph).at(checkpoint.id.unwrap()).state().await,
            false => store.thread(&graph).subgraph(&inside, ["inside"]).at(checkpoint.id.unwrap()).state().await,
        };
        assert!(stored.unwrap().is_some());
        count += 1;
    }
    assert_eq!(count, 4 + 3);
}

#[tokio::test]
async fn events_of_subgraphs_show_only_in_a_deep_stream() {
    let inside = chain(Builder::new().add_node(id("c"), talkative(1)), &["c"]);
    let graph = chain(Builder::new().add_subgraph(id("inside"), inside), &["inside"]);
    let store = Store::memory();
    let mut shallow = store.thread(&graph).stream(Request::input(start()), [Mode::Custom]);
    assert!(shallow.next().await.is_none());
    let mut deep = store.thread(&graph).stream_deep(Request::input(start()), [Mode::Custom]);
    let event = deep.next().await.unwrap();
    assert_eq!(event.nodes().collect::<Vec<_>>(), ["inside"]);
    assert!(event.namespace[0].starts_with("inside:"), "{:?}", event.namespace);
    assert!(deep.next().await.is_none());
}

#[tokio::test]
async fn chunks_of_messages_come_in_order_with_the_node_that_emitted_them() {
    let (store, graph) = (Store::memory(), chain(Builder::new().add_node(id("a"), talkative(1)), &["a"]));
    let mut events = store.thread(&graph).stream(Request::input(start()), [Mode::Messages]);
    let mut chunks = vec![];
    while let Some(event) = events.next().await {
        let EventKind::Message { value, .. } = &event.kind else { panic!("{event:?}") };
        chunks.push(format!("{}: {value}", event.node().unwrap()));
    }
    assert_eq!(chunks, [r#"a: "one""#, r#"a: "two""#]);
}

#[tokio::test]
async fn values_of_an_event_can_be_read_as_their_types() {
    let (store, graph) = (Store::memory(), chain(Builder::new().add_node(id("a"), note("a")), &["a"]));
    let mut events = store.thread(&graph).stream(Request::input(start()), [Mode::Values, Mode::Updates, Mode::Tasks]);
    let mut seen = vec![];
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Values { values: state, .. } => {
                seen.push(format!("state {:?}", state.get::<Pad>().unwrap().notes));
                assert!(state.get::<String>().is_none());
            }
            EventKind::TaskStart { input, .. } => seen.push(format!("input {:?}", input.get::<Pad>().unwrap().title)),
            EventKind::Update { writes, .. } => {
                let writes: &Writes<Pad> = writes.get().unwrap();
                seen.push(format!("writes {writes:?}"));
            }
            _ => {}
        }
    }
    assert_eq!(seen, ["state []", r#"input "tides""#, "writes [1]", r#"state ["a"]"#]);
}

/// Streams while `b` waits; the gate opens once the end of `a` was stored, or the stream has ended.
#[cfg(feature = "sled")]
async fn ends_and_stored(fails: bool) -> Vec<&'static str> {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SledCheckpointer::open(directory.path()).unwrap());
    let (open, gate) = tokio::sync::watch::channel(false);
    let disk = Arc::clone(&store);
    let quick = move |_: Arc<Pad>, _: Ctx| {
        let armed = fails && disk.faults().fail_next_sync();
        assert_eq!(armed, fails);
        async { Ok::<_, NodeError>(Pad::update().notes(["a"])) }
    };
    let builder = Builder::new().add_node(id("a"), quick).add_node(id("b"), gated(&Tally::default(), "b", &gate));
    let graph = fan(builder, &["a", "b"]).with_shared_checkpointer(store);
    let mut events = graph.thread("t").stream(Request::input(start()), [Mode::Tasks, Mode::Stored]);
    let mut log = vec![];
    while let Some(event) = events.next().await {
        log.push(match event.kind {
            EventKind::TaskEnd { .. } => "end",
            EventKind::Stored => "stored",
            _ => continue,
        });
        if log.len() == 2 {
            open.send_replace(true);
        }
    }
    assert_eq!(events.outcome().await.is_err(), fails);
    log
}

#[cfg(feature = "sled")]
#[rstest]
#[case::on_disk(false, &["end", "stored", "end", "stored"])]
#[case::refused(true, &["end"])]
#[tokio::test]
async fn an_end_is_reported_as_stored_once_it_is(#[case] fails: bool, #[case] log: &[&str]) {
    assert_eq!(ends_and_stored(fails).await, log);
}

/// Two workers of one node, each with a subgraph of one node.
fn twins() -> Graph {
    let inner = chain(Builder::new().add_node(id("say"), talkative(1).tags(["chat", "loud"])), &["say"]);
    let called = inner.clone();
    let body = move |_: Arc<String>, ctx: Ctx| {
        let called = called.clone();
        async move { Ok::<_, NodeError>(Pad::update().notes(ctx.call(&called, start()).await?.notes.clone())) }
    };
    let worker = || Worker::<superstep::graph::Name, String>::new(id("twin"));
    Builder::new()
        .add_worker(worker(), body)
        .calls(&id("twin"), &inner)
        .add_conditional_edges_to(START, move |_: &Pad| worker().each(["a".to_owned(), "b".to_owned()]), worker())
        .compile()
        .unwrap()
}

#[rstest]
#[tokio::test]
async fn events_of_parallel_workers_of_one_node_can_be_distinguished(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = twins();
    let thread = store.thread(&graph).record_events();
    let mut live = thread.stream_deep(Request::input(start()), ALL);
    let mut seen = vec![];
    while let Some(event) = live.next().await {
        seen.push(event);
    }
    let snapshot = thread.clone().at(CheckpointId(2)).state().await.unwrap().unwrap();
    let known: Vec<&str> = snapshot.tasks.iter().map(|task| task.id.as_str()).collect();
    let of = |task: &str| seen.iter().filter(|event| event.nodes().count() == 1 && event.namespace[0] == task).count();
    assert_eq!(known.len(), 2);
    for id in &known {
        let own = |event: &&Event| event.task.as_ref().is_some_and(|task| &*task.id == *id);
        assert_eq!(seen.iter().filter(own).count(), 3, "a start, an update and an end");
        assert_eq!(of(&format!("twin:{id}")), seen.iter().filter(|event| !event.namespace.is_empty()).count() / 2);
    }
    for event in &seen {
        let Some(task) = &event.task else { continue };
        let (own, above) = task.path.split_last().unwrap();
        assert_eq!((above, own.ends_with(&format!(":{}", task.id))), (&event.namespace[..], true), "{task:?}");
    }
    let message = |event: &Event| match (&event.task, &event.kind) {
        (Some(task), EventKind::Message { value, tags }) => {
            Some(format!("{} {value} {} {} {tags:?}", task.path.join("/"), task.node, event.step))
        }
        _ => None,
    };
    let mut now: Vec<String> = seen.iter().filter_map(message).collect();
    assert!(now[0].ends_with(r#" "one" say 1 ["chat", "loud"]"#), "{now:?}");
    let mut again = thread.replay(Replay::Recorded).stream_deep([Mode::Messages]);
    let mut then = vec![];
    while let Some(event) = again.next().await {
        then.extend(message(&event));
    }
    now.sort();
    then.sort();
    assert_eq!(now, then);
}

/// A run without a store, or a subgraph that is not persisted, has no checkpoints to name tasks by.
#[rstest]
#[case::no_store(None)]
#[case::not_kept(Some(Store::memory()))]
#[tokio::test]
async fn tasks_that_are_not_stored_have_unique_names(#[case] store: Option<Store>) {
    let inner = chain(Builder::new().add_node(id("c"), talkative(0)).add_node(id("d"), talkative(0)), &["c", "d"]);
    let inner = inner.persistence(superstep::graph::Persistence::Stateless);
    let builder = Builder::new().add_subgraph(id("one"), inner.clone()).add_subgraph(id("two"), inner);
    let graph = chain(builder, &["one", "two"]);
    let mut events = match store {
        Some(store) => store.thread(&graph).stream_deep(Request::input(start()), [Mode::Tasks]),
        None => graph.thread("t").stream_deep(Request::input(start()), [Mode::Tasks]),
    };
    let mut started = std::collections::BTreeSet::new();
    while let Some(event) = events.next().await {
        if let (Some(task), EventKind::TaskStart { .. }) = (event.task, event.kind) {
            assert!(started.insert(task.id.clone()), "{task:?} is there twice");
        }
    }
    assert_eq!(started.len(), 6);
}

/// The tasks that started, and those that ended with the channels whose writes were dropped.
async fn started_and_ended(mut events: RunStream<Pad>) -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let (mut started, mut ended) = (vec![], vec![]);
    while let Some(event) = events.next().await {
        let Some(task) = &event.task else { continue };
        let path = || event.nodes().map(str::to_owned).chain([task.id.to_string()]).collect::<Vec<_>>();
        match &event.kind {
            EventKind::TaskStart { .. } => started.push((path(), task.node.to_string())),
            EventKind::TaskEnd { dropped, .. } => ended.push((path(), task.node.to_string(), dropped.clone())),
            _ => {}
        }
    }
    events.outcome().await.unwrap();
    let mut left = started.clone();
    ended.iter().for_each(|(path, node, _)| left.retain(|start| (&start.0, &start.1) != (path, node)));
    let left = left.into_iter().map(|(_, node)| node).collect();
    (
        left,
        ended
            .into_iter()
            .filter(|(.., dropped)| !dropped.is_empty())
            .map(|(_, node, dropped)| (node, dropped))
            .collect(),
    )
}

#[rstest]
#[case::after_a_node(&["write", "up"], &["notes"])]
#[case::at_once(&["up"], &[])]
#[case::after_an_interrupt(&["write", "ask", "up"], &["notes"])]
#[tokio::test]
async fn a_task_that_hands_a_command_up_ends_and_names_what_is_dropped(
    #[case] path: &[&str],
    #[case] dropped: &[&str],
    #[values(1, 2)] depth: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let up = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Command::parent(Command::<Pad, Name>::to(id("z")))) };
    let nodes = Builder::new().add_node(id("write"), note("write")).add_node(id("up"), up);
    let nodes = nodes.add_node(id("ask"), approval.asks::<Approve>()).allow(Lint::Unreachable);
    let mut graph = chain(nodes, path);
    for _ in 0..depth {
        let nodes = Builder::new().add_subgraph(id("s"), graph).add_node(id("z"), note("z"));
        graph = nodes.add_edge(START, id("s")).allow(Lint::Unreachable).compile().unwrap();
    }
    let events = store.thread(&graph).stream_deep(Request::input(start()), [Mode::Tasks]);
    let mut found = started_and_ended(events).await;
    if path.contains(&"ask") {
        found =
            started_and_ended(store.thread(&graph).stream_deep(Request::resume::<Approve>(&true), [Mode::Tasks])).await;
    }
    let dropped = dropped.iter().map(|channel| channel.to_string()).collect::<Vec<_>>();
    let expected = if dropped.is_empty() { vec![] } else { vec![("up".to_owned(), dropped)] };
    assert_eq!(found, (vec![], expected));
    assert_eq!(store.thread(&graph).state().await.unwrap().unwrap().values.notes, ["z"]);
}
