//! Items that a run writes in its first commit.

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, ExpectedItem, ItemKey, ItemWrite};
use superstep::graph::Request;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

fn asking() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), approval.asks::<Approve>());
    chain(builder.add_node(id("c"), note("c")), &["a", "b", "c"])
}

fn started(value: &str) -> ItemWrite {
    ItemWrite::put(ItemKey::new("runs", "1"), value)
}

async fn stored(store: &Store) -> Option<String> {
    let found = store.store.get_items(vec![ItemKey::new("runs", "1")]).await.unwrap().pop().flatten();
    found.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[rstest]
#[tokio::test]
async fn items_are_stored_with_the_start_of_a_run_or_the_run_is_refused(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = || store.thread(&asking()).durability(durability);
    let absent = || started("new").expecting(ExpectedItem::Absent);
    let outcome = thread().run(Request::input(start()).with_items([absent()])).await.unwrap();
    assert_eq!(outcome.questions().len(), 1);
    assert_eq!(stored(&store).await.as_deref(), Some("new"));
    // Its question is open, so a new input is refused before anything is stored.
    thread().run(Request::input(start()).with_items([started("no")])).await.unwrap_err();
    let answer = || Request::resume::<Approve>(&true);
    let refused = thread().run(answer().with_items([absent()])).await.unwrap_err();
    assert!(matches!(&refused, RunError::Checkpoint(CheckpointError::ItemConflict { .. })), "{refused:?}");
    assert_eq!(stored(&store).await.as_deref(), Some("new"));
    let end = thread().run(answer().with_items([started("ended")])).await.unwrap().finished().unwrap();
    assert_eq!(
        (end.notes.clone(), stored(&store).await.as_deref()),
        (vec!["a".into(), "approved: true".into(), "c".into()], Some("ended"))
    );
}

#[rstest]
#[tokio::test]
async fn items_of_a_run_that_has_nothing_to_do_are_stored_too(#[values(Store::memory(), Store::disk())] store: Store) {
    let thread = || store.thread(&chain(Builder::new().add_node(id("a"), note("a")), &["a"]));
    thread().invoke(start()).await.unwrap();
    thread().run(Request::proceed().with_items([started("done")])).await.unwrap();
    assert_eq!(stored(&store).await.as_deref(), Some("done"));
}
