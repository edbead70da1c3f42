//! Reading and changing the history: updates, forks, time travel, deletion.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{FailingCheckpointer, Source};
use superstep::graph::{CheckpointInfo, Name, Target};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::{Counting, Store};

fn abc() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    chain(builder, &["a", "b", "c"])
}

/// `a` and a question in parallel, then `z`.
fn pair(tally: &Tally) -> Graph {
    let builder = Builder::new().add_node(id("a"), tallied(tally, "a")).add_node(id("ask"), approval.asks::<Approve>());
    let builder = builder.add_node(id("z"), note("z")).add_edge(START, [id("a"), id("ask")]);
    builder.add_edge([id("a"), id("ask")], id("z")).compile().unwrap()
}

#[rstest]
#[tokio::test]
async fn history_lists_each_superstep_newest_first(#[values(Store::memory(), Store::disk())] store: Store) {
    store.thread(&abc()).invoke(start()).await.unwrap();
    let history = store.thread(&abc()).history().await.unwrap().all().await.unwrap();
    let lines =
        history.iter().map(|made| format!("{} {:?} {:?} {:?}", made.step, made.source, made.values.notes, made.next));
    let lines = lines.collect::<Vec<_>>().join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(lines, @r#"
        3 Loop ["a", "b", "c"] []
        2 Loop ["a", "b"] ["c"]
        1 Loop ["a"] ["b"]
        0 Loop [] ["a"]
        -1 Input [] ["__start__"]
        "#);
    }
    let parents = history.windows(2).all(|pair| pair[0].parent == Some(pair[1].id));
    assert!(parents && history[4].parent.is_none());
    let limited = store.thread(&abc()).history().await.unwrap().before(history[1].id).limit(2);
    let steps: Vec<i64> = limited.metadata_only().await.unwrap().iter().map(|made| made.step).collect();
    assert_eq!(steps, [1, 0]);
}

#[tokio::test]
async fn a_history_may_be_filtered() {
    let store = Store::memory();
    store.thread(&abc()).metadata("run", "first").invoke(start()).await.unwrap();
    let second = store.thread(&abc()).metadata("run", "second");
    second.invoke(start()).await.unwrap();
    let of_first = |made: &CheckpointInfo| made.metadata == [("run".to_owned(), "first".to_owned())] && made.step > -1;
    let history = async || second.history().await.unwrap().filter(of_first);

    let whole = history().await.all().await.unwrap();
    let few = history().await.limit(2).metadata_only().await.unwrap();

    assert_eq!(whole.iter().map(|made| made.step).collect::<Vec<_>>(), [3, 2, 1, 0]);
    assert_eq!(few.iter().map(|made| made.step).collect::<Vec<_>>(), [3, 2]);
}

/// START, then layers of parallel nodes, with one node after each layer.
fn layers(wide: usize, layers: usize) -> Graph {
    let name = |layer, nth| id(&format!("n{layer}-{nth:03}"));
    let mut builder = Builder::new();
    for layer in 0..layers {
        let all: Vec<Name> = (0..wide).map(|nth| name(layer, nth)).collect();
        let after = id(&format!("m{layer}"));
        builder = all.iter().fold(builder, |builder, node| builder.add_node(node.clone(), note("n")));
        builder = builder.add_node(after.clone(), note("m")).add_edge(all.clone(), after);
        builder = match layer {
            0 => builder.add_edge(START, Target::many(all)),
            _ => builder.add_edge(id(&format!("m{}", layer - 1)), Target::many(all)),
        };
    }
    builder.compile().unwrap()
}

#[rstest]
#[case::wide_supersteps(layers(100, 3), 8)]
#[case::many_checkpoints(layers(1, 40), 82)]
#[tokio::test]
async fn history_shows_each_checkpoint_as_reading_it_alone_does(
    #[case] graph: Graph,
    #[case] checkpoints: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    store.thread(&graph).invoke(start()).await.unwrap();
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    assert_eq!(history.len(), checkpoints);
    for listed in history {
        let alone = store.thread(&graph).at(listed.id).state().await.unwrap().unwrap();
        assert_eq!(format!("{listed:?}"), format!("{alone:?}"));
        assert!(listed.tasks.iter().all(|task| task.result.is_some()));
    }
}

#[rstest]
#[tokio::test]
async fn resuming_from_an_old_checkpoint_does_not_change_it(#[values(Store::memory(), Store::disk())] store: Store) {
    store.thread(&abc()).invoke(start()).await.unwrap();
    let before = store.thread(&abc()).history().await.unwrap().all().await.unwrap();
    let fork =
        store.thread(&abc()).at(before[2].id).update_state_as(id("a"), Pad::update().notes(["x"])).await.unwrap();
    let end = store.thread(&abc()).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["a", "x", "b", "c"]);
    let after = store.thread(&abc()).history().await.unwrap().all().await.unwrap();
    assert_eq!(after.len(), before.len() + 3);
    assert_eq!(format!("{:?}", &after[3..]), format!("{before:?}"));
    assert_eq!((after[2].id, after[2].source, after[2].parent), (fork.checkpoint, Source::Update, Some(before[2].id)));
    let old = store.thread(&abc()).at(before[0].id).state().await.unwrap().unwrap();
    assert_eq!(old.values.notes, ["a", "b", "c"]);
}

#[tokio::test]
async fn replaying_a_checkpoint_runs_its_tasks_again_on_a_fork() {
    let (tally, store) = (Tally::default(), Store::memory());
    let graph = chain(
        Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), tallied(&tally, "b")),
        &["a", "b"],
    );
    store.thread(&graph).invoke(start()).await.unwrap();
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    let end = store.thread(&graph).at(history[1].id).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.names().join(" ")), ("a b".into(), "a b b".into()));
}

#[rstest]
#[case::of_the_node_that_waited("ask", &["a"])]
#[case::of_the_node_that_finished("a", &[])]
#[tokio::test]
async fn an_update_returns_the_finished_results_it_discarded(
    #[case] node: &str,
    #[case] dropped: &[&str],
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let tally = Tally::default();
    store.thread(&pair(&tally)).invoke(start()).await.unwrap();
    let updated = store.thread(&pair(&tally)).update_state_as(id(node), Pad::update().sum(1)).await.unwrap();
    assert_eq!(updated.dropped, dropped);
    let now = store.thread(&pair(&tally)).state().await.unwrap().unwrap();
    assert_eq!((now.values.sum, now.id, now.questions().count()), (1, updated.checkpoint, 0));
}

#[tokio::test]
async fn an_update_that_several_nodes_could_make_must_name_one() {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b"));
    let (store, graph) = (Store::memory(), fan(builder, &["a", "b"]));
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&graph)).await;
    let error = store.thread(&graph).update_state(Pad::update().sum(1)).await.unwrap_err();
    assert!(matches!(error, RunError::AmbiguousUpdate), "{error:?}");
    let error = store.thread(&graph).update_state_as(id("nobody"), Pad::update().sum(1)).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownNode { .. }), "{error:?}");
    assert_eq!(everything(&store.thread(&graph)).await, before);
}

#[tokio::test]
async fn an_update_is_attributed_to_the_node_that_ran_last() {
    let store = Store::memory();
    store.thread(&abc()).max_supersteps(1).invoke(start()).await.unwrap();
    store.thread(&abc()).update_state(Pad::update().notes(["x"])).await.unwrap();
    let now = store.thread(&abc()).state().await.unwrap().unwrap();
    assert_eq!((now.values.notes.join(" "), now.next.join(" ")), ("a x".into(), "b".into()));
}

#[rstest]
#[tokio::test]
async fn clearing_keeps_finished_results_and_discards_the_rest(#[values(Store::memory(), Store::disk())] store: Store) {
    let tally = Tally::default();
    store.thread(&pair(&tally)).invoke(start()).await.unwrap();
    store.thread(&pair(&tally)).update(StateUpdate::clear()).await.unwrap();
    let now = store.thread(&pair(&tally)).state().await.unwrap().unwrap();
    assert_eq!((now.values.notes.join(" "), now.questions().count()), ("a".into(), 0));
    assert!(matches!(store.thread(&pair(&tally)).status().await.unwrap(), Status::Finished));
}

#[tokio::test]
async fn the_next_run_starts_with_an_update_made_as_input() {
    let store = Store::memory();
    store.thread(&abc()).update(StateUpdate::new(Pad::update().notes(["given"])).as_input()).await.unwrap();
    let end = store.thread(&abc()).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["given", "a", "b", "c"]);
}

#[tokio::test]
async fn updates_of_one_superstep_are_applied_together_or_not_at_all() {
    let store = Store::memory();
    let by = |node, update| StateUpdate::new(update).as_node(id(node));
    let thread = store.thread(&abc());
    let both = vec![by("a", Pad::update().sum(1)), by("b", Pad::update().sum(2))];
    thread.bulk_update([both]).await.unwrap();
    assert_eq!(thread.state().await.unwrap().unwrap().values.sum, 3);
    let before = everything(&thread).await;
    let twice = vec![by("a", Pad::update().title("x")), by("b", Pad::update().title("y"))];
    let error = thread.bulk_update([twice]).await.unwrap_err();
    assert!(matches!(error, RunError::ConcurrentUpdate { .. }), "{error:?}");
    assert_eq!(everything(&thread).await, before);
}

#[rstest]
#[tokio::test]
async fn a_deleted_thread_leaves_nothing(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = chain(Builder::new().add_subgraph(id("inside"), abc()).add_node(id("z"), note("z")), &["inside", "z"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let other = graph.clone().with_shared_checkpointer(Arc::clone(&store.store)).thread("other");
    other.invoke(start()).await.unwrap();
    store.thread(&graph).delete().await.unwrap();
    assert!(store.thread(&graph).state().await.unwrap().is_none());
    assert!(store.thread(&graph).history().await.unwrap().all().await.unwrap().is_empty());
    assert!(matches!(store.thread(&graph).proceed().await.unwrap_err(), RunError::EmptyInput { .. }));
    let end = store.thread(&graph).invoke(start()).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["a", "b", "c", "z"]);
    assert_eq!(other.state().await.unwrap().unwrap().values.notes, ["a", "b", "c", "z"]);
}

#[tokio::test]
async fn a_question_of_a_deleted_thread_takes_no_answer_from_its_namesake() {
    let (tally, store) = (Tally::default(), Store::memory());
    let old = store.thread(&pair(&tally)).invoke(start()).await.unwrap().questions()[0].id();
    store.thread(&pair(&tally)).delete().await.unwrap();
    store.thread(&pair(&tally)).invoke(start()).await.unwrap();
    let stale = store.thread(&pair(&tally)).answer(Answer::new::<Approve>(&true).to(old)).await.unwrap_err();
    assert!(matches!(stale, RunError::UnknownQuestion { .. }), "{stale:?}");
}

/// An external write to a thread.
#[derive(Clone, Copy, Debug)]
enum ExternalWrite {
    Answer,
    AnswerThePast,
    Go,
    Change,
    Replay,
    Update,
    UpdateThePast,
    Clear,
    Copy,
    Retry,
}

impl ExternalWrite {
    async fn write(self, thread: PadThread, past: CheckpointId) -> Result<(), RunError> {
        let more = || Pad::update().sum(1);
        match self {
            Self::Answer => thread.resume::<Approve>(true).await.map(drop),
            Self::AnswerThePast => thread.at(past).resume::<Approve>(true).await.map(drop),
            Self::Go => thread.command(Command::to(id("z"))).await.map(drop),
            Self::Change => thread.command(Command::update(more())).await.map(drop),
            Self::Replay => thread.at(past).proceed().await.map(drop),
            Self::Update => thread.update_state_as(id("ask"), more()).await.map(drop),
            Self::UpdateThePast => thread.at(past).update_state_as(id("ask"), more()).await.map(drop),
            Self::Clear => thread.update(StateUpdate::clear()).await.map(drop),
            Self::Copy => thread.update(StateUpdate::copy()).await.map(drop),
            Self::Retry => thread.retry().await.map(drop),
        }
    }
}

#[rstest]
#[tokio::test]
async fn an_external_write_is_one_commit(
    #[values(
        ExternalWrite::Answer,
        ExternalWrite::AnswerThePast,
        ExternalWrite::Go,
        ExternalWrite::Change,
        ExternalWrite::Replay,
        ExternalWrite::Update,
        ExternalWrite::UpdateThePast,
        ExternalWrite::Clear,
        ExternalWrite::Copy,
        ExternalWrite::Retry
    )]
    outside: ExternalWrite,
) {
    let (tally, store) = (Tally::default(), Store::memory());
    store.thread(&pair(&tally)).invoke(start()).await.unwrap();
    let past = store.thread(&pair(&tally)).state().await.unwrap().unwrap().id;
    if matches!(outside, ExternalWrite::AnswerThePast | ExternalWrite::UpdateThePast) {
        store.thread(&pair(&tally)).update(StateUpdate::copy()).await.unwrap();
    }
    let counting = Arc::new(FailingCheckpointer::new(Arc::clone(&store.store), u64::MAX));
    let thread = pair(&tally).with_shared_checkpointer(Arc::clone(&counting) as _).thread("t").max_supersteps(0);
    outside.write(thread, past).await.unwrap();
    assert_eq!(counting.commits(), 1);
}

/// A node that performs one effect and then waits for ever.
fn stuck(started: &Arc<tokio::sync::Notify>) -> Graph {
    let started = Arc::clone(started);
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let started = Arc::clone(&started);
        async move {
            ctx.effect("pay", &1, |_| async { Ok::<_, NodeError>(()) }).await?;
            started.notify_one();
            std::future::pending::<Ended>().await
        }
    };
    chain(Builder::new().add_node(id("stuck"), body), &["stuck"])
}

#[rstest]
#[case::cancelled(true)]
#[case::dropped_as_by_a_kill(false)]
#[tokio::test]
async fn effects_of_a_dropped_task_are_shown(#[case] cancelled: bool) {
    let (store, started, token) = (Store::memory(), Arc::new(tokio::sync::Notify::new()), CancellationToken::new());
    let graph = stuck(&started);
    let thread = store.thread(&graph).cancel_with(token.clone());
    let run = thread.invoke(start());
    let end = async {
        started.notified().await;
        if cancelled {
            token.cancel()
        }
    };
    if cancelled {
        let (outcome, ()) = tokio::join!(run, end);
        assert!(matches!(outcome.unwrap(), Outcome::Cancelled(_)));
    } else {
        tokio::select! { _ = run => panic!("it ended"), () = end => {} }
    }
    let task = store.thread(&graph).state().await.unwrap().unwrap().tasks.remove(0);
    assert_eq!((task.attempts, task.effects), (1, 1));
}

/// Also with durability `exit`: the answer was used, so the question is closed.
#[rstest]
#[tokio::test]
async fn a_failure_after_an_answer_leaves_no_question_open(
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
) {
    let store = Store::memory();
    let body = |_: Arc<Pad>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Err::<PadUpdate, _>(NodeError::from("no"))
    };
    let graph = chain(Builder::new().add_node(id("node"), body.asks::<Approve>()), &["node"]);
    store.thread(&graph).durability(durability).invoke(start()).await.unwrap();
    store.thread(&graph).durability(durability).resume::<Approve>(true).await.unwrap_err();
    let state = store.thread(&graph).state().await.unwrap().unwrap();
    assert_eq!(state.questions().filter(|question| !question.is_answered()).count(), 0, "{state:?}");
    assert!(matches!(store.thread(&graph).status().await.unwrap(), Status::Failed { .. }));
}

/// A node that notes a hundred words.
fn wordy(_: Arc<Pad>, _: Ctx) -> std::future::Ready<Ended> {
    std::future::ready(Ok(Pad::update().notes((0..100).map(|nth| format!("word {nth}")))))
}

#[rstest]
#[tokio::test]
async fn the_log_of_a_channel_is_read_once_for_a_whole_history(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = chain(Builder::new().add_node(id("a"), wordy).add_node(id("b"), wordy), &["a", "b"]);
    for _ in 0..5 {
        store.thread(&graph).invoke(start()).await.unwrap();
    }
    let counting = Counting::new(&store);
    let thread = graph.clone().with_shared_checkpointer(Arc::clone(&counting) as _).thread("t");
    let newest = thread.state().await.unwrap().unwrap();
    let once = counting.read();
    let all = thread.history().await.unwrap().limit(15).all().await.unwrap();
    let read = counting.read();
    assert!(once > 1000 && read < 3 * once, "{read} bytes, the state alone is {once}");
    let lengths: Vec<usize> = all.iter().map(|made| made.values.notes.len()).collect();
    assert_eq!(lengths, [1000, 900, 800, 800, 800, 700, 600, 600, 600, 500, 400, 400, 400, 300, 200]);
    assert_eq!(all[0].values, newest.values);
    for made in all {
        let alone = thread.clone().at(made.id).state().await.unwrap().unwrap();
        assert_eq!(alone.values, made.values, "{}", made.id);
    }
}
