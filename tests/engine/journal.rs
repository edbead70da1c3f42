//! The journal of a task: effects and their runs, recorded values, questions and answers, subgraphs, messages.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Claim, Commit, EffectEnd, EffectRecord, Key, Order, Record, decode_record, encode_record};
use superstep::graph::view::{JournalKind, TaskJournal};
use superstep::graph::{Boxed, Persistence, Replay};
use superstep::prelude::*;

use crate::effects::{Body, World, failing, paying, soon};
use crate::pad::*;
use crate::stores::Store;

/// Returns the journals of the tasks of each checkpoint, oldest first, with the names of their nodes.
async fn journals(thread: &PadThread) -> Vec<(String, TaskJournal)> {
    let mut found = vec![];
    for snapshot in thread.history().await.unwrap().all().await.unwrap().iter().rev() {
        for task in &snapshot.tasks {
            found.push((task.name.clone(), task.journal().await.unwrap()));
        }
    }
    found
}

async fn journal(thread: &PadThread, node: &str) -> TaskJournal {
    journals(thread).await.into_iter().find(|(name, _)| name == node).unwrap().1
}

/// A clock that advances by a second at each reading.
fn ticking() -> impl Fn() -> SystemTime + Send + Sync {
    let seconds = std::sync::atomic::AtomicU64::new(1_800_000_000);
    move || UNIX_EPOCH + Duration::from_secs(seconds.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
}

#[rstest]
#[tokio::test]
async fn an_effect_is_shown_with_its_arguments_result_and_times(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
) {
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, failing(1)).retry(soon())), &["pay"]);
    let thread = store.thread(&graph).durability(durability).clock(ticking());
    thread.invoke(start()).await.unwrap();
    let task = journal(&thread, "pay").await;
    let (entry, effect) = task.effects().next().unwrap();
    assert_eq!(
        (entry.key.as_str(), &effect.arguments, &effect.result),
        ("pay", &json!([7, "EUR"]), &Ok(json!("pay 1")))
    );
    assert_eq!(effect.idempotency_key, world.keys()[0]);
    assert_eq!((entry.attempt, effect.is_repeated(), effect.runs.len()), (Some(1), false, 1));
    assert!(entry.at < effect.ended_at.unwrap() && effect.runs[0].end == EffectEnd::Done);
    let snapshot = thread.history().await.unwrap().all().await.unwrap();
    let failed: Vec<_> = snapshot.iter().flat_map(|made| &made.tasks).flat_map(|task| &task.failures).collect();
    assert_eq!((failed.len(), failed[0].attempt, failed[0].error.as_str()), (1, Some(1), "no"));
}

/// An effect that fails this many times.
fn flaky(world: &World, times: usize) -> impl Fn(Arc<Pad>, Ctx) -> Body + Clone + use<> {
    let (world, tally) = (world.clone(), Tally::default());
    move |_, ctx: Ctx| {
        let (world, tally) = (world.clone(), tally.clone());
        Box::pin(async move {
            let body = |key: String| async move {
                if tally.add("") <= times {
                    return Err(NodeError::from("the line is busy"));
                }
                Ok(world.happens("call", &key))
            };
            let answer: String = ctx.effect("call", &"bob", body).await?;
            Ok(Pad::update().notes([answer]))
        })
    }
}

#[rstest]
#[tokio::test]
async fn an_effect_that_failed_first_is_shown_as_repeated(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] in_another_process: bool,
) {
    let world = World::default();
    let node = flaky(&world, 2);
    let graph = match in_another_process {
        true => chain(Builder::new().add_node(id("call"), node), &["call"]),
        false => chain(Builder::new().add_node(id("call"), node.retry(soon())), &["call"]),
    };
    let thread = store.thread(&graph);
    let mut outcome = thread.invoke(start()).await;
    for _ in 0..2 {
        if outcome.is_err() {
            let task = journal(&thread, "call").await;
            assert_eq!(task.effect("call").unwrap().result, Err("the line is busy".into()));
            outcome = store.thread(&graph).proceed().await;
        }
    }
    outcome.unwrap();
    let task = journal(&thread, "call").await;
    let effect = task.effect("call").unwrap();
    let runs: Vec<_> = effect.runs.iter().map(|run| (run.attempt, run.end)).collect();
    assert_eq!(runs, [(1, EffectEnd::Failed), (2, EffectEnd::Failed), (3, EffectEnd::Done)]);
    assert!(effect.is_repeated() && effect.runs.windows(2).all(|two| two[0].started_at <= two[1].started_at));
    assert_eq!((task.entries.len(), &effect.result), (1, &Ok(json!("call 1"))));
    let snapshot = thread.history().await.unwrap().all().await.unwrap();
    let task = snapshot.iter().flat_map(|made| &made.tasks).find(|task| task.name == "call").unwrap();
    assert_eq!(task.failures.iter().map(|failure| failure.attempt).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn an_effect_dropped_by_a_timeout_is_shown_as_dropped() {
    let store = Store::memory();
    let tally = Tally::default();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let tally = tally.clone();
        Box::pin(async move {
            let slow = |_| async move {
                if tally.add("") == 1 {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                Ok::<_, NodeError>("sent".to_owned())
            };
            let sent: String = ctx.effect("send", &(), slow).await?;
            Ok(Pad::update().notes([sent]))
        })
    };
    let node = node.timeout(Duration::from_secs(1)).retry(soon());
    let thread = store.thread(&chain(Builder::new().add_node(id("send"), node), &["send"]));
    thread.invoke(start()).await.unwrap();
    let task = journal(&thread, "send").await;
    let runs: Vec<_> = task.effect("send").unwrap().runs.iter().map(|run| (run.attempt, run.end)).collect();
    assert_eq!(runs, [(1, EffectEnd::Dropped), (2, EffectEnd::Done)]);
}

#[rstest]
#[tokio::test]
async fn an_effect_found_by_a_probe_is_shown_as_found(#[values(Store::memory(), Store::disk())] store: Store) {
    let (tally, started) = (Tally::default(), Arc::new(tokio::sync::Notify::new()));
    let starts = Arc::clone(&started);
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let (first, starts) = (tally.add("") == 1, Arc::clone(&starts));
        Box::pin(async move {
            let body = |_| async move {
                if first {
                    starts.notify_one();
                    std::future::pending::<()>().await
                }
                Ok::<_, NodeError>(1)
            };
            ctx.effect("pay", &(), body).probe(|_| async { Ok::<_, NodeError>(Some(7)) }).await?;
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("pay"), node), &["pay"]);
    let thread = store.thread(&graph);
    let invoked = start();
    tokio::select! {
        _ = thread.invoke(invoked) => unreachable!(),
        () = started.notified() => {}
    }
    store.thread(&graph).proceed().await.unwrap();
    let task = journal(&store.thread(&graph), "pay").await;
    let effect = task.effect("pay").unwrap();
    assert_eq!((effect.runs.last().unwrap().end, &effect.result), (EffectEnd::Found, &Ok(json!(7))));
}

#[rstest]
#[tokio::test]
async fn recorded_values_of_a_task_are_shown(#[values(Store::memory(), Store::disk())] store: Store) {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let now = ctx.now().await?;
            let (number, name) = (ctx.random().await?, ctx.new_id().await?);
            let inside = ctx.effect("inner", &(), |_| async { ctx.record("seen", vec!["a"].len()).await }).await?;
            ctx.record("list", vec![1, 2]).await?;
            ctx.sleep_until(UNIX_EPOCH + Duration::from_secs(5)).await?;
            let now = now.duration_since(UNIX_EPOCH)?.as_millis();
            Ok(Pad::update().notes([now.to_string(), number.to_string(), name, inside.to_string()]))
        })
    };
    let thread = store.thread(&chain(Builder::new().add_node(id("learn"), node), &["learn"]));
    let outcome = thread.invoke(start()).await.unwrap();
    let notes = &outcome.state().notes;
    let task = journal(&thread, "learn").await;
    let shown = |kind: &JournalKind| match kind {
        JournalKind::Effect(effect) => format!("effect {}", effect.result.clone().unwrap()),
        JournalKind::Value(value) => format!("value {value}"),
        JournalKind::Time(at) => format!("time {}", at.duration_since(UNIX_EPOCH).unwrap().as_millis()),
        JournalKind::Random(number) => format!("random {number}"),
        JournalKind::Id(id) => format!("id {id}"),
        JournalKind::Sleep(until) => format!("sleep {}", until.duration_since(UNIX_EPOCH).unwrap().as_secs()),
        _ => unreachable!(),
    };
    let lines: Vec<String> = task.entries.iter().map(|entry| shown(&entry.kind)).collect();
    let expected = [
        format!("time {}", notes[0]),
        format!("random {}", notes[1]),
        format!("id {}", notes[2]),
        "value 1".into(),
        "effect 1".into(),
        "value [1,2]".into(),
        "sleep 5".into(),
    ];
    assert_eq!(lines, expected);
    assert!(task.entries.iter().all(|entry| entry.attempt == Some(1)));
    assert_eq!(task.entries[3].within, ["inner"]);
}

#[rstest]
#[tokio::test]
async fn questions_are_shown_with_answers_authors_and_times(#[values(Store::memory(), Store::disk())] store: Store) {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            let first = ctx.interrupt(Rename { from: "tides".into() })?;
            let second = ctx.interrupt(Rename { from: first })?;
            Ok(Pad::update().title(second))
        })
    };
    let graph = chain(Builder::new().add_node(id("ask"), node.asks::<Rename>()), &["ask"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let answer = Answer::new::<Rename>(&"moons".to_owned()).by("ada").note("shorter");
    thread.answer(answer).await.unwrap();
    let task = journal(&thread, "ask").await;
    let answered = task.questions[0].answer.as_ref().unwrap();
    assert_eq!((&task.questions[0].payload, &answered.value), (&json!({"from": "tides"}), &json!("moons")));
    assert_eq!(
        (answered.by.as_deref(), answered.note.as_deref(), answered.at > 0),
        (Some("ada"), Some("shorter"), true)
    );
    let open: Vec<_> = task.questions[1..].iter().map(|question| (&question.payload, &question.answer)).collect();
    assert_eq!(open, [(&json!({"from": "moons"}), &None)]);
    thread.resume::<Rename>("suns".to_owned()).await.unwrap();
    let task = journal(&thread, "ask").await;
    let answers: Vec<_> =
        task.questions.iter().map(|question| question.answer.as_ref().map(|answer| &answer.value)).collect();
    assert_eq!(answers, [Some(&json!("moons")), Some(&json!("suns"))]);
}

/// A graph whose node runs another, two levels deep.
fn nested(world: &World, persistence: Persistence) -> Graph {
    let inner = chain(Builder::new().add_node(id("pay"), paying(world, |_| std::future::ready(Ok(())))), &["pay"]);
    let middle = chain(Builder::new().add_subgraph(id("inner"), inner.persistence(persistence)), &["inner"]);
    let builder = Builder::new().add_subgraph(id("middle"), middle.persistence(persistence));
    chain(builder.add_node(id("end"), note("end")), &["middle", "end"])
}

#[rstest]
#[tokio::test]
async fn a_task_has_the_journals_of_its_subgraphs(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
    #[values(1, 2)] runs: usize,
) {
    let world = World::default();
    let thread = store.thread(&nested(&world, persistence));
    for _ in 0..runs {
        thread.invoke(start()).await.unwrap();
    }
    let all = journals(&thread).await;
    let tasks = all.iter().filter(|(name, _)| name == "middle").map(|(_, tasks)| tasks);
    let keys: Vec<_> =
        tasks.clone().flat_map(|tasks| &tasks.entries).map(|entry| (entry.path.join("/"), &entry.key)).collect();
    assert_eq!(keys, vec![("inner/pay".to_owned(), &"pay".to_owned()); runs]);
    assert!(
        tasks.clone().all(|tasks| tasks.children.len() == 1 && tasks.children[0].is_over),
        "{tasks:?}",
        tasks = tasks.collect::<Vec<_>>()
    );
}

#[rstest]
#[tokio::test]
async fn a_task_of_a_subgraph_has_its_own_journal(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let world = World::default();
    let asking = |ctx: Ctx| std::future::ready(ctx.interrupt(Approve).map(drop).map_err(NodeError::from));
    let inner = Builder::new().add_node(id("first"), paying(&world, |_| std::future::ready(Ok(()))));
    let inner = inner.add_node(id("pay"), paying(&world, asking).asks::<Approve>());
    let inner = chain(inner, &["first", "pay"]).persistence(persistence);
    let graph = chain(Builder::new().add_subgraph(id("outer"), inner), &["outer"]);
    let thread = store.thread(&graph);
    for _ in 0..2 {
        thread.invoke(start()).await.unwrap();
        let snapshot = thread.state_deep().await.unwrap().unwrap();
        let inside = &snapshot.tasks[0].state.as_ref().unwrap().tasks[0];
        let task = inside.journal().await.unwrap();
        assert_eq!(
            task.entries.iter().map(|entry| (entry.path.len(), entry.key.as_str())).collect::<Vec<_>>(),
            [(0, "pay")]
        );
        assert_eq!(task.questions.len(), 1);
        assert_eq!(snapshot.tasks[0].journal().await.unwrap().entries.len(), 2);
        thread.resume::<Approve>(true).await.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn messages_of_an_effect_are_shown_with_it(#[values(Store::memory(), Store::disk())] store: Store) {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            ctx.emit("before").await;
            let inner = ctx.clone();
            ctx.effect("ask", &(), |_| async move {
                inner.emit_message("thinking").await;
                Ok::<_, NodeError>(1)
            })
            .await?;
            Ok(Pad::update())
        })
    };
    let thread = store.thread(&chain(Builder::new().add_node(id("model"), node), &["model"])).record_events();
    thread.invoke(start()).await.unwrap();
    let task = journal(&thread, "model").await;
    let values = |messages: &[superstep::graph::view::JournalMessage]| -> Vec<Value> {
        messages.iter().map(|message| message.value.clone()).collect()
    };
    assert_eq!(values(&task.effect("ask").unwrap().messages), [json!("thinking")]);
    assert_eq!(values(&task.messages), [json!("before")]);
}

#[rstest]
#[tokio::test]
async fn a_fork_has_the_journal_of_the_task_that_it_resumes(#[values(Store::memory(), Store::disk())] store: Store) {
    let world = World::default();
    let asking = |ctx: Ctx| std::future::ready(ctx.interrupt(Approve).map(drop).map_err(NodeError::from));
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, asking).asks::<Approve>()), &["pay"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let at_question = thread.state().await.unwrap().unwrap().id;
    thread.update_state(Pad::update().title("moons")).await.unwrap();
    store.thread(&graph).at(at_question).resume::<Approve>(false).await.unwrap();
    let all = journals(&thread).await;
    let paid: Vec<_> = all.iter().filter_map(|(_, all)| all.effect("pay")).collect();
    assert!(paid.len() >= 2 && paid.iter().all(|effect| effect.result == Ok(json!("pay 1"))), "{all:?}");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Vault {
    #[channel(secret)]
    key: String,
    #[channel(secret)]
    pin: u32,
    door: String,
}

#[derive(NodeId)]
enum Step {
    Open,
}

#[tokio::test]
async fn values_of_secret_channels_are_hidden() {
    let node = |vault: Arc<Vault>, ctx: Ctx| -> Boxed<'static, Result<VaultUpdate, NodeError>> {
        Box::pin(async move {
            let arguments = (vault.key.clone(), format!("Bearer {}", vault.key), vault.pin);
            let inner = ctx.clone();
            let body = |_| async move {
                inner.emit_message(format!("with {}", vault.key)).await;
                Ok::<_, NodeError>("token-\"x\"".to_owned())
            };
            let token = ctx.effect("login", &arguments, body).await?;
            ctx.record("padded", "x".repeat(3000) + &token).await?;
            Ok(Vault::update().key(token).door("open"))
        })
    };
    let graph = StateGraph::new().add_node(Step::Open, node).add_sequence([Step::Open]).compile().unwrap();
    let store = Store::memory();
    let thread = graph.with_shared_checkpointer(Arc::clone(&store.store)).thread("t").record_events();
    thread.invoke(Vault::update().key("open sesame").pin(123_456)).await.unwrap();
    let history = thread.history().await.unwrap().all().await.unwrap();
    let task = history.iter().flat_map(|made| &made.tasks).find(|task| task.name == "Open").unwrap();
    let task = task.journal().await.unwrap();
    let effect = task.effect("login").unwrap();
    assert_eq!(effect.arguments, json!(["[secret]", "Bearer [secret]", "[secret]"]));
    assert_eq!((&effect.result, &effect.messages[0].value), (&Ok(json!("[secret]")), &json!("with [secret]")));
    let all = format!("{task:?} {}", serde_json::to_string(&task).unwrap());
    assert!(!all.contains("sesame") && !all.contains("123456") && !all.contains("token-"), "{all}");
}

#[tokio::test]
async fn a_journal_needs_its_store() {
    let store = Store::memory();
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, |_| std::future::ready(Ok(())))), &["pay"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let history = thread.history().await.unwrap().all().await.unwrap();
    drop((thread, store, graph));
    let error = history[1].tasks[0].journal().await.unwrap_err();
    insta::assert_snapshot!(error, @"reading a journal whose store was closed needs a checkpointer");
}

/// Rewrites tasks and entries in format 2: without the lists at their ends.
async fn age(store: &Store) {
    let thread = "t".into();
    let head = store.store.head(&thread).await.unwrap().unwrap();
    let all = store.store.scan(&thread, Key::Head..=last(), Order::Ascending, usize::MAX).await.unwrap();
    let journaled = all.iter().filter(|(key, _)| matches!(key, Key::Effect { .. } | Key::Task { .. }));
    let puts: Vec<Record> = journaled.map(|(key, bytes)| (key.clone(), former(key, bytes))).collect();
    assert!(puts.len() > 1);
    let lease = store.store.claim(&thread, Claim::IfFree).await.unwrap();
    let (epoch, expected) = (lease.epoch(), head.checkpoint);
    store.store.commit(Commit::new(thread, epoch, expected, head).with_records(puts)).await.unwrap();
}

fn last() -> Key {
    Key::Event { checkpoint: CheckpointId(u64::MAX), number: u64::MAX }
}

fn former(key: &Key, bytes: &[u8]) -> Vec<u8> {
    let thread = "t".into();
    let bytes = match key {
        Key::Effect { .. } => {
            let record: EffectRecord = decode_record(&thread, key, bytes).unwrap();
            encode_record(&EffectRecord { runs: vec![], ..record }).unwrap()
        }
        _ => bytes.to_vec(),
    };
    assert_eq!((bytes[0], bytes.last()), (superstep::checkpoint::FORMAT, Some(&0)), "{key}");
    [&[2], &bytes[1..bytes.len() - 1]].concat()
}

#[tokio::test]
async fn entries_of_an_earlier_release_are_shown() {
    let store = Store::memory();
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, |_| std::future::ready(Ok(())))), &["pay"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    age(&store).await;
    let task = journal(&thread, "pay").await;
    let (entry, effect) = task.effects().next().unwrap();
    assert_eq!((entry.attempt, effect.ended_at, effect.runs.len()), (None, None, 0));
    assert_eq!((&effect.arguments, &effect.result), (&json!([7, "EUR"]), &Ok(json!("pay 1"))));
    store.thread(&graph).verify().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_replay_emits_the_recorded_entries(#[values(Store::memory(), Store::disk())] store: Store) {
    let world = World::default();
    let thread = store.thread(&nested(&world, Persistence::Inherit));
    thread.invoke(start()).await.unwrap();
    let mut replay = thread.replay(Replay::Recorded).stream([Mode::Journal]);
    let mut events = vec![];
    while let Some(event) = replay.next().await {
        events.push(serde_json::to_value(&event).unwrap());
    }
    let rows: Vec<_> = events.iter().map(|event| (&event["kind"], &event["node"], &event["entry"]["result"])).collect();
    assert_eq!(rows, [(&json!("journal"), &json!("middle"), &json!("pay 1"))]);
}

#[rstest]
#[tokio::test]
async fn a_diff_has_the_entries_between_its_checkpoints(#[values(Store::memory(), Store::disk())] store: Store) {
    let world = World::default();
    let asking = |ctx: Ctx| std::future::ready(ctx.interrupt(Approve).map(drop).map_err(NodeError::from));
    let nodes = Builder::new().add_node(id("first"), paying(&world, |_| std::future::ready(Ok(()))));
    let nodes = nodes.add_node(id("then"), paying(&world, asking).asks::<Approve>());
    let thread = store.thread(&chain(nodes.add_node(id("end"), note("end")), &["first", "then", "end"]));
    thread.invoke(start()).await.unwrap();
    thread.resume::<Approve>(true).await.unwrap();
    let history = thread.history().await.unwrap().metadata_only().await.unwrap();
    let (newest, oldest) = (history[0].id, history.last().unwrap().id);
    let diff = thread.diff(oldest, newest).await.unwrap();
    let keys: Vec<_> = diff.recorded.iter().map(|only| (only.node.as_str(), only.entry.key.as_str())).collect();
    assert_eq!((keys, diff.unrecorded.len()), (vec![("first", "pay"), ("then", "pay")], 0));
    assert!(diff.to_string().contains(r#"+ then #3: effect pay [7,"EUR"] -> "pay 2""#), "{diff}");
    let back = thread.diff(newest, oldest).await.unwrap();
    assert_eq!((back.recorded.len(), &back.unrecorded), (0, &diff.recorded));
    assert!(serde_json::to_value(&back).unwrap().get("recorded").is_none());
    let within = thread.diff(diff.recorded[1].checkpoint, newest).await.unwrap();
    assert_eq!(within.recorded.len(), 1);
}
