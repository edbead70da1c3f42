//! Items that a run writes in its first commit, and in its last one.

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

#[rstest]
#[case::as_expected("start", "ended")]
#[case::changed_meanwhile("other", "other")]
#[tokio::test]
async fn items_of_the_end_are_stored_with_the_last_superstep_unless_one_has_changed(
    #[case] before: &str,
    #[case] after: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = store.thread(&chain(Builder::new().add_node(id("a"), note("a")), &["a"]));
    let (time, made) = std::sync::mpsc::channel();
    let ends = move |at| {
        time.send(at).unwrap();
        let beside = ItemWrite::put(ItemKey::new("runs", "2"), "beside");
        vec![beside, started("ended").expecting(ExpectedItem::Value(b"start".into()))]
    };
    let request = Request::input(start()).with_items([started(before)]).with_items_at_end(ends);
    let end = thread.run(request).await.unwrap().finished().unwrap();
    let state = thread.state().await.unwrap().unwrap();
    assert_eq!((&end.notes, &state.values.notes), (&vec!["a".to_owned()], &vec!["a".to_owned()]));
    assert_eq!((stored(&store).await.as_deref(), made.recv().unwrap()), (Some(after), state.created_at));
    let beside = store.store.get_items(vec![ItemKey::new("runs", "2")]).await.unwrap();
    assert_eq!(beside[0].is_some(), before == "start");
    thread.invoke(start()).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn items_of_the_end_are_not_made_for_a_run_that_stops_before_it_or_is_not_waited_for(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let thread = || store.thread(&asking());
    let ends = |_| vec![started("ended")];
    let asked = thread().run(Request::input(start()).with_items_at_end(ends)).await.unwrap();
    assert_eq!((asked.questions().len(), stored(&store).await), (1, None));
    thread().run(Request::resume::<Approve>(&true)).await.unwrap().finished().unwrap();
    for durability in [Durability::Async, Durability::Exit] {
        let store = Store::memory();
        let thread = store.thread(&chain(Builder::new().add_node(id("a"), note("a")), &["a"]));
        let thread = thread.durability(durability);
        thread.run(Request::input(start()).with_items_at_end(ends)).await.unwrap().finished().unwrap();
        assert_eq!(stored(&store).await, None);
    }
}
