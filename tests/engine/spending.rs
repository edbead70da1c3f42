//! Tokens, cost and words that tasks report: over attempts, answers, processes, replays and deletions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use serde_json::json;
use superstep::checkpoint::spending::{Amount, Expense, TaskNote, ThreadSpending};
use superstep::checkpoint::{ItemScan, ThreadId};
use superstep::graph::VerifyVerdict;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

async fn total(store: &Store) -> Option<Amount> {
    ThreadSpending::read(&*store.store, &ThreadId::from("t")).await.unwrap().map(|spent| spent.total())
}

async fn note_of(store: &Store, task: &str) -> TaskNote {
    let found = TaskNote::read_all(&*store.store, &ThreadId::from("t"), [task.to_owned()]).await.unwrap();
    found.get(task).cloned().unwrap_or_default()
}

fn cost(amount: Option<Amount>) -> u64 {
    amount.unwrap_or_default().cost
}

/// Spends in an effect, outside of it, and with a key; then asks.
async fn spender(_: Arc<Pad>, ctx: Ctx) -> Ended {
    ctx.set_label("the first").await;
    let paid = |_key| async {
        ctx.spend(Expense::tokens(10, 1).cost(100).role("writer")).await;
        Ok::<_, NodeError>(())
    };
    ctx.effect("pay", "", paid).await?;
    ctx.spend(Expense::tokens(0, 0).cost(1_000)).await; // in each attempt
    ctx.spend(Expense::tokens(0, 0).cost(10_000).key("turn")).await;
    let approved = ctx.interrupt(Approve)?;
    ctx.set_summary(format!("approved: {approved}")).await;
    Ok(Pad::update().title("done"))
}

#[rstest]
#[tokio::test]
async fn amounts_add_up_over_an_answer_in_another_process(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = || chain(Builder::new().add_node(id("a"), spender.asks::<Approve>()), &["a"]);
    let thread = || store.thread(&graph()).durability(durability);
    thread().invoke(start()).await.unwrap();
    assert_eq!(cost(total(&store).await), 11_100);
    thread().resume::<Approve>(true).await.unwrap();
    let spent = total(&store).await.unwrap();
    assert_eq!((spent.cost, spent.tokens(), spent.unpriced), (12_100, 11, 0));
    let task = thread().history().await.unwrap().outline_with_tasks().await.unwrap();
    let task = task.iter().flat_map(|outline| &outline.tasks).find(|task| task.name == "a").unwrap();
    let note = note_of(&store, &task.id).await;
    assert_eq!(
        (note.total(), note.label.as_deref(), note.summary.as_deref()),
        (spent, Some("the first"), Some("approved: true"))
    );
    let rows = ThreadSpending::read(&*store.store, &ThreadId::from("t")).await.unwrap().unwrap().rows;
    let rows: Vec<_> = rows.iter().map(|row| (&*row.role, &*row.task, row.amount.cost)).collect();
    assert_eq!(rows, [("writer", "the first", 100), ("a", "the first", 12_000)]);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_have_spent_too() {
    let (store, tries) = (Store::memory(), Arc::new(AtomicUsize::new(0)));
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let tries = Arc::clone(&tries);
        async move {
            ctx.spend(Expense::tokens(1, 1).cost(5)).await;
            match tries.fetch_add(1, Ordering::SeqCst) {
                0 => Err(NodeError::transient("no")),
                1 => Err(NodeError::permanent("never")),
                _ => Ok(Pad::update().title("done")),
            }
        }
    };
    let graph = chain(Builder::new().add_node(id("a"), body.retry(RetryPolicy::attempts(2))), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(cost(total(&store).await), 10);
    store.thread(&graph).retry().await.unwrap();
    assert_eq!(cost(total(&store).await), 15);
}

#[tokio::test]
async fn messages_of_models_are_expenses_with_and_without_a_reader() {
    let store = Store::memory();
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        ctx.emit_message(json!({ "content": "The " })).await;
        ctx.emit_message(json!({ "usage_metadata": { "input_tokens": 20, "output_tokens": 3 } })).await;
        Ok::<_, NodeError>(Pad::update().title("done"))
    };
    store.thread(&chain(Builder::new().add_node(id("a"), body), &["a"])).invoke(start()).await.unwrap();
    let spent = total(&store).await.unwrap();
    assert_eq!((spent.input, spent.output, spent.unpriced, spent.cost), (20, 3, 23, 0));
}

#[tokio::test]
async fn a_replay_spends_nothing_and_neither_does_a_copy() {
    let store = Store::memory();
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        ctx.spend(Expense::tokens(1, 1).cost(5)).await;
        Ok::<_, NodeError>(Pad::update().title("done"))
    };
    let graph = chain(Builder::new().add_node(id("a"), body.replayable()), &["a"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    assert_eq!(thread.verify().await.unwrap().verdict(), VerifyVerdict::Same);
    assert_eq!(cost(total(&store).await), 5);
    let at = thread.state().await.unwrap().unwrap().id;
    thread.copy_to("copy", at).await.unwrap();
    assert_eq!(ThreadSpending::read_all(&*store.store).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_that_reports_nothing_writes_no_items() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(store.store.scan_items(&ItemScan::all()).await.unwrap(), vec![]);
}

#[rstest]
#[tokio::test]
async fn a_deleted_thread_leaves_its_amounts_to_its_graph(#[values(Store::memory(), Store::disk())] store: Store) {
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        ctx.set_label("secret work").await;
        ctx.spend(Expense::tokens(1, 1).cost(5).role("writer")).await;
        Ok::<_, NodeError>(Pad::update().title("done"))
    };
    let thread = || store.thread(&chain(Builder::new().add_node(id("a"), body), &["a"]).named("pad"));
    for _ in 0..2 {
        thread().invoke(start()).await.unwrap();
        thread().delete().await.unwrap();
    }
    assert_eq!(total(&store).await, None);
    let all = ThreadSpending::read_all(&*store.store).await.unwrap();
    let [deleted] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&*deleted.thread, &*deleted.graph, deleted.total().cost), ("", "pad", 10));
    assert!(deleted.rows.iter().all(|row| row.task.is_empty() && row.role == "writer"), "{deleted:?}");
    assert_eq!(store.store.scan_items(&ItemScan::all()).await.unwrap().len(), 1, "the sum alone is left");
    thread().invoke(start()).await.unwrap();
    assert_eq!(cost(total(&store).await), 5, "a thread of that name begins anew");
}
