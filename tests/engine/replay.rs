//! The history of a thread, replayed from its records.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use superstep::graph::replay::ReplayResult;
use superstep::graph::view::View;
use superstep::graph::{Replay, RetryPolicy, Target};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::{Counting, Store};

const ALL: [Mode; 6] = [Mode::Values, Mode::Updates, Mode::Custom, Mode::Messages, Mode::Tasks, Mode::Checkpoints];

/// Formats an event on one line, without values that a replay cannot know.
fn line(event: &Event) -> String {
    let json = |view: &View| view.json().to_string();
    let questions_of = |questions: &[superstep::graph::Question]| {
        questions.iter().map(|question| format!(" ?{}{}", question.name(), question.json())).collect::<String>()
    };
    let node = event.node().unwrap_or_default();
    let text = match &event.kind {
        EventKind::Values { values, questions } => format!("values {}{}", json(values), questions_of(questions)),
        EventKind::Update { writes, .. } => format!("update {node} {}", json(writes)),
        EventKind::Interrupt { questions } => format!("interrupt{}", questions_of(questions)),
        EventKind::Answered { answer } => format!("answered {node} {} {:?}", answer.value, answer.by),
        EventKind::Custom { value } => format!("custom {node} {value}"),
        EventKind::Message { value, .. } => format!("message {node} {value}"),
        EventKind::TaskStart { input, sent, .. } => format!("start {node} {} {sent}", json(input)),
        EventKind::TaskEnd { error, writes, questions, .. } => {
            format!("end {node} {error:?} {}{}", json(writes), questions_of(questions))
        }
        EventKind::Checkpoint(made) => {
            let tasks: Vec<&str> = made.tasks.iter().map(|task| task.name.as_str()).collect();
            let (id, source, ran) = (made.id.unwrap(), made.source, &made.ran);
            format!("checkpoint {id} {source:?} {} next {tasks:?} ran {ran:?} {}", json(&made.values), made.has_parent)
        }
        EventKind::Journal { entry } => format!("journal {}", entry.key),
        EventKind::Stored => "stored".into(),
    };
    format!("{} {:?} {text}", event.step, event.nodes().collect::<Vec<_>>())
}

async fn lines(mut events: impl futures::Stream<Item = Event> + Unpin) -> Vec<String> {
    let mut lines = vec![];
    while let Some(event) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut events).poll_next(cx)).await {
        assert_eq!(event.seq, lines.len() as u64);
        lines.push(line(&event));
    }
    lines
}

async fn replayed(thread: &PadThread) -> Vec<String> {
    lines(thread.replay(Replay::Recorded).stream_deep(ALL)).await
}

async fn sends(pad: Arc<Pad>, _: Ctx) -> Ended {
    Ok(Pad::update().sum(pad.notes.len() as i64))
}

/// A join, workers, a loop, a subgraph with the same state and one with its own.
fn wide() -> Graph {
    let worker = || Worker::<superstep::graph::Name, String>::new(id("work"));
    async fn work(word: Arc<String>, ctx: Ctx) -> Ended {
        ctx.emit(json!({ "worked": *word })).await;
        Ok(Pad::update().notes([format!("worked on {word}")]))
    }
    let deepest = chain(Builder::new().add_node(id("d"), note("d")), &["d"]);
    let inner = Builder::new().add_node(id("x"), note("x")).add_subgraph(id("y"), deepest.clone());
    let inner = chain(inner, &["x", "y"]);
    let mapped = deepest.mapped(
        |pad: &Pad| Pad::update().title(format!("{} inside", pad.title)),
        |pad: &Pad| Pad::update().sum(pad.notes.len() as i64),
    );
    Builder::new()
        .add_node(id("a"), note("a"))
        .add_node(id("b"), sends)
        .add_node(id("join"), note("join"))
        .add_worker(worker(), work)
        .add_subgraph(id("inner"), inner)
        .add_subgraph(id("mapped"), mapped)
        .add_node(id("last"), note("last"))
        .add_edge(START, [id("a"), id("b")])
        .add_edge([id("a"), id("b")], id("join"))
        .add_conditional_edges_to(
            id("join"),
            move |pad: &Pad| worker().each(["one".to_owned(), pad.title.clone()]),
            worker(),
        )
        .add_edge(id("work"), id("inner"))
        .add_edge(id("inner"), id("mapped"))
        .add_edge(id("mapped"), id("last"))
        .compile()
        .unwrap()
}

#[rstest]
#[tokio::test]
async fn a_replay_of_an_undisturbed_run_emits_the_same_events(#[values(Store::memory(), Store::disk())] store: Store) {
    let thread = store.thread(&wide()).record_events();
    let live = lines(thread.stream_deep(Request::input(start()), ALL)).await;
    assert_eq!(replayed(&thread).await, live);

    let again = lines(thread.stream_deep(Request::input(start()), ALL)).await;
    assert_eq!(replayed(&store.thread(&wide())).await, [live.clone(), again.clone()].concat());
    let updates = lines(thread.replay(Replay::Recorded).stream([Mode::Updates])).await;
    let only = |line: &&String| line.contains("[] update");
    assert_eq!(updates, [live, again].concat().iter().filter(only).cloned().collect::<Vec<_>>());
}

async fn stubborn(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.emit(json!({ "attempt": ctx.attempt() })).await;
    if ctx.attempt() < 3 { Err("not yet".into()) } else { Ok(Pad::update().notes(["stubborn"])) }
}

async fn two_questions(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.emit_message("asking").await;
    let title = ctx.interrupt(Rename { from: "tides".into() })?;
    let approved = ctx.interrupt(Approve)?;
    Ok(Pad::update().title(title).notes([format!("approved: {approved}")]))
}

fn asking() -> Graph {
    let retry = RetryPolicy::attempts(3);
    let builder = Builder::new()
        .add_node(id("a"), stubborn.retry(retry))
        .add_node(id("ask"), two_questions.asks::<Approve>().asks::<Rename>())
        .add_node(id("fails"), |_: Arc<Pad>, _: Ctx| async { Err::<PadUpdate, _>(NodeError::permanent("gone")) });
    let builder = builder.add_edge(START, [id("a"), id("ask")]).add_edge([id("a"), id("ask")], id("fails"));
    builder.compile().unwrap()
}

/// The nodes of the second version have other indexes.
#[tokio::test]
async fn a_changed_graph_replays_the_tasks_of_another_version() {
    let store = Store::memory();
    let build = |more: bool| {
        let builder = Builder::new();
        let builder = if more { builder.add_node(id("aa"), note("aa")) } else { builder };
        let inner = chain(Builder::new().add_node(id("x"), two_questions.asks::<Approve>().asks::<Rename>()), &["x"]);
        let builder = builder
            .add_node(id("ask"), two_questions.asks::<Approve>().asks::<Rename>())
            .add_subgraph(id("inner"), inner)
            .allow(Lint::Unreachable);
        chain(builder, &["ask", "inner"])
    };
    let thread = || store.thread(&build(false)).record_events();
    thread().invoke(start()).await.unwrap();
    for _ in 0..2 {
        thread().answer(Answer::new::<Rename>(&"moons".to_owned()).by("ada")).await.unwrap();
        thread().resume::<Approve>(true).await.unwrap();
    }
    let before = replayed(&thread()).await;
    assert_eq!(replayed(&store.thread(&build(true))).await, before);
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn questions_answers_and_failures_are_replayed(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
) {
    let thread = || store.thread(&asking()).record_events().durability(durability);
    thread().invoke(start()).await.unwrap();
    thread().answer(Answer::new::<Rename>(&"moons".to_owned()).by("ada")).await.unwrap();
    let waiting = replayed(&thread()).await;
    thread().resume::<Approve>(true).await.unwrap_err();

    let events = replayed(&thread()).await;

    insta::allow_duplicates! {
        insta::assert_snapshot!(events.join("\n"), @r#"
        -1 [] checkpoint 1 Input {"notes":[],"spent":0,"sum":0,"title":""} next ["__start__"] ran [] false
        0 [] values {"notes":[],"spent":0,"sum":0,"title":"tides"}
        0 [] checkpoint 2 Loop {"notes":[],"spent":0,"sum":0,"title":"tides"} next ["a", "ask"] ran ["__start__"] true
        1 [] start a {"notes":[],"spent":0,"sum":0,"title":"tides"} false
        1 [] start ask {"notes":[],"spent":0,"sum":0,"title":"tides"} false
        1 [] custom a {"attempt":1}
        1 [] custom a {"attempt":2}
        1 [] custom a {"attempt":3}
        1 [] update a [{"notes":["stubborn"]}]
        1 [] end a None [{"notes":["stubborn"]}]
        1 [] message ask "asking"
        1 [] message ask "asking"
        1 [] message ask "asking"
        1 [] interrupt ?rename{"from":"tides"}
        1 [] values {"notes":[],"spent":0,"sum":0,"title":"tides"} ?rename{"from":"tides"}
        1 [] end ask None [] ?rename{"from":"tides"}
        1 [] answered ask "moons" Some("ada")
        1 [] start ask {"notes":[],"spent":0,"sum":0,"title":"tides"} false
        1 [] interrupt ?approvenull
        1 [] values {"notes":[],"spent":0,"sum":0,"title":"tides"} ?approvenull
        1 [] end ask None [] ?approvenull
        1 [] answered ask true None
        1 [] start ask {"notes":[],"spent":0,"sum":0,"title":"tides"} false
        1 [] update ask [{"title":"moons"},{"notes":["approved: true"]}]
        1 [] end ask None [{"title":"moons"},{"notes":["approved: true"]}]
        1 [] values {"notes":["stubborn","approved: true"],"spent":0,"sum":0,"title":"moons"}
        1 [] checkpoint 5 Loop {"notes":["stubborn","approved: true"],"spent":0,"sum":0,"title":"moons"} next ["fails"] ran ["a", "ask"] true
        2 [] start fails {"notes":["stubborn","approved: true"],"spent":0,"sum":0,"title":"moons"} false
        2 [] end fails Some("node `fails` failed in superstep 2: gone") []
        "#);
    }
    let same = events.iter().zip(&waiting).take_while(|(now, before)| now == before).count();
    assert!(same > 10, "{}", waiting.join("\n"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(waiting[same..].join("\n"), @r#"
        1 [] interrupt ?rename{"from":"tides"}
        1 [] values {"notes":[],"spent":0,"sum":0,"title":"tides"} ?rename{"from":"tides"}
        1 [] end ask None [] ?rename{"from":"tides"}
        1 [] answered ask "moons" Some("ada")
        1 [] start ask {"notes":[],"spent":0,"sum":0,"title":"tides"} false
        1 [] interrupt ?approvenull
        1 [] values {"notes":[],"spent":0,"sum":0,"title":"tides"} ?approvenull
        1 [] end ask None [] ?approvenull
        0 [] values {"notes":["stubborn"],"spent":0,"sum":0,"title":"tides"}
        "#);
    }
}

fn abc() -> Graph {
    let emits = |word: &'static str| {
        move |_: Arc<Pad>, ctx: Ctx| async move {
            ctx.emit(word).await;
            Ok::<_, NodeError>(Pad::update().notes([word]))
        }
    };
    let builder = Builder::new().add_node(id("a"), emits("a")).add_node(id("b"), emits("b"));
    chain(builder.add_node(id("c"), emits("c")), &["a", "b", "c"])
}

const BRIEF: [Mode; 2] = [Mode::Updates, Mode::Custom];

#[rstest]
#[tokio::test]
async fn only_ancestors_of_the_newest_checkpoint_are_replayed(#[values(Store::memory(), Store::disk())] store: Store) {
    let thread = store.thread(&abc()).record_events();
    thread.invoke(start()).await.unwrap();
    let steps = thread.history().await.unwrap().metadata_only().await.unwrap();
    let after_a = steps[2].id;
    let fork = thread.clone().at(after_a).update_state(Pad::update().notes(["by hand"])).await.unwrap();
    thread.proceed().await.unwrap();

    let replay = async |thread: PadThread| lines(thread.replay(Replay::Recorded).stream(BRIEF)).await.join("\n");
    let forked = replay(thread.clone()).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(forked, @r#"
        1 [] custom a "a"
        1 [] update a [{"notes":["a"]}]
        3 [] custom b "b"
        3 [] update b [{"notes":["b"]}]
        4 [] custom c "c"
        4 [] update c [{"notes":["c"]}]
        "#);
    }
    assert_eq!(replay(thread.clone().at(after_a)).await, replay(thread.clone().at(fork.checkpoint)).await);
    // the branch that was left, from a checkpoint that is only on it
    let left = replay(thread.clone().at(steps[1].id)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(left, @r#"
        3 [] custom c "c"
        3 [] update c [{"notes":["c"]}]
        "#);
    }
    // one superstep
    let one = thread.clone().at(steps[4].id).replay(Replay::Recorded).supersteps(2).stream(BRIEF);
    let one = lines(one).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(one, @r#"
        1 [] custom a "a"
        1 [] update a [{"notes":["a"]}]
        "#);
    }
}

#[tokio::test]
async fn a_replay_returns_its_length_and_writes_nothing() {
    let store = Store::memory();
    let thread = store.thread(&abc());
    let error = thread.replay(Replay::Recorded).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no thread `t`");
    thread.invoke(start()).await.unwrap();
    let before = everything(&thread).await;

    let replayed = thread.replay(Replay::Recorded).await.unwrap();

    assert!(matches!(replayed, ReplayResult::Recorded { supersteps: 4 }), "{replayed:?}");
    assert_eq!(everything(&thread).await, before);
    let error = abc().thread("t").replay(Replay::Recorded).await.unwrap_err();
    assert_eq!(error.to_string(), "a replay needs a checkpointer");
}

#[tokio::test]
async fn a_live_replay_runs_on_a_new_branch() {
    let (store, tally) = (Store::memory(), Tally::default());
    let builder = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), tallied(&tally, "b"));
    let thread = store.thread(&chain(builder, &["a", "b"]));
    thread.invoke(start()).await.unwrap();
    let steps = thread.history().await.unwrap().metadata_only().await.unwrap();

    let live = thread.clone().at(steps[1].id).replay(Replay::Live).await.unwrap();

    assert!(matches!(live, ReplayResult::Live(Outcome::Finished(_))), "{live:?}");
    assert_eq!(tally.names(), ["a", "b", "b"]);
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn events_are_stored_only_on_request_and_deleted_with_the_thread(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let custom = async |thread: &PadThread| {
        let events = lines(thread.replay(Replay::Recorded).stream([Mode::Custom])).await;
        events.iter().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let thread = store.thread(&abc()).durability(durability);
    thread.invoke(start()).await.unwrap();
    assert!(custom(&thread).await.is_empty());
    thread.clone().record_events().invoke(start()).await.unwrap();
    assert_eq!(custom(&thread).await, [r#""a""#, r#""b""#, r#""c""#]);
    thread.clone().record_events().interrupt_after([id("b")]).invoke(start()).await.unwrap();
    thread.clone().record_events().proceed().await.unwrap();
    assert_eq!(custom(&thread).await.join(""), r#""a""b""c""a""b""c""#);

    thread.delete().await.unwrap();
    thread.invoke(start()).await.unwrap();
    assert!(custom(&thread).await.is_empty());
}

#[rstest]
#[tokio::test]
async fn many_events_of_one_task_do_not_wait_in_memory(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let store = Store::memory();
    let counting = Counting::new(&store);
    let (seen, tally) = (counting.clone(), Tally::default());
    let talks = move |_: Arc<Pad>, ctx: Ctx| {
        let (seen, tally) = (seen.clone(), tally.clone());
        async move {
            for n in 0..2_000 {
                ctx.emit(n).await;
                let emitted = tally.add("event");
                assert!(emitted < seen.events() + 300, "{emitted} were emitted, {} stored", seen.events());
            }
            Err::<PadUpdate, NodeError>("lost its voice".into())
        }
    };
    let graph = chain(Builder::new().add_node(id("talks"), talks), &["talks"]);
    let thread = graph.with_shared_checkpointer(counting).thread("t").record_events().durability(durability);
    thread.invoke(start()).await.unwrap_err();
    thread.proceed().await.unwrap_err();
    let events = lines(thread.replay(Replay::Recorded).stream([Mode::Custom])).await;
    let numbers = events.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap());
    assert!(numbers.eq((0..2_000).chain(0..2_000)), "{} events", events.len());
}

#[tokio::test]
async fn a_replay_reads_each_value_a_few_times_at_most() {
    let counting = Counting::new(&Store::memory());
    let more = |pad: &Pad| if pad.sum < 100 { Target::from(id("more")) } else { END.into() };
    let adds = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().sum(1).notes(["x".repeat(1_000)])) };
    let builder = Builder::new().add_node(id("more"), adds).add_edge(START, id("more"));
    let graph = builder.add_conditional_edges_to(id("more"), more, [id("more")]).compile().unwrap();
    let thread = graph.with_shared_checkpointer(counting.clone()).thread("t");
    thread.invoke(start()).await.unwrap();

    counting.read();
    let events = lines(thread.replay(Replay::Recorded).stream([Mode::Values])).await;

    let read = counting.read();
    assert!(events.len() == 101 && read < 400_000, "{} events, {read} bytes were read", events.len());
}
