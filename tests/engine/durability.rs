//! The checkpoints that each durability stores; the end is the same in all of them.

use rstest::rstest;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

fn asking() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), approval.asks::<Approve>());
    chain(builder.add_node(id("c"), note("c")), &["a", "b", "c"])
}

async fn steps(thread: &PadThread) -> Vec<i64> {
    thread.history().await.unwrap().metadata_only().await.unwrap().iter().map(|made| made.step).collect()
}

#[rstest]
#[case::sync(Durability::Sync, &[1, 0, -1], &[3, 2, 1, 0, -1])]
#[case::in_order_behind(Durability::Async, &[1, 0, -1], &[3, 2, 1, 0, -1])]
#[case::only_the_end_of_each_run(Durability::Exit, &[1], &[3, 1])]
#[tokio::test]
async fn a_run_stores_the_checkpoints_of_its_durability_and_resumes(
    #[case] durability: Durability,
    #[case] paused: &[i64],
    #[case] ended: &[i64],
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = || store.thread(&asking()).durability(durability);
    assert_eq!(thread().invoke(start()).await.unwrap().questions().len(), 1);
    assert_eq!(steps(&thread()).await, paused);
    let end = thread().resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["a", "approved: true", "c"]);
    assert_eq!(steps(&thread()).await, ended);
    assert_eq!(thread().state().await.unwrap().unwrap().values, end);
}

#[rstest]
#[tokio::test]
async fn results_before_a_failure_are_stored_in_every_durability(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let bad = |_: std::sync::Arc<Pad>, _: Ctx| async { Err::<(), NodeError>("no".into()) };
    let tally = Tally::default();
    let graph = |bad: bool, node| {
        let builder = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), tallied(&tally, "b"));
        let builder = if bad { builder.add_node(id("c"), node) } else { builder.add_node(id("c"), note("c")) };
        let builder = builder.add_edge(START, id("a")).add_edge(id("a"), [id("b"), id("c")]);
        builder.compile().unwrap()
    };
    assert!(store.thread(&graph(true, bad)).durability(durability).invoke(start()).await.is_err());
    assert_eq!(store.thread(&graph(true, bad)).state().await.unwrap().unwrap().values.notes, ["a", "b"]);
    let end = store.thread(&graph(false, bad)).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.count()), ("a b c".into(), 2));
}
