//! Stop points that are stored with a thread.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::runner;
use superstep::graph::runner::Until;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// `a` and `b` in a loop, three times.
fn looping() -> Graph {
    let again = |pad: &Pad| if pad.notes.len() < 6 { Target::from(id("a")) } else { Target::End };
    Builder::new()
        .add_node(id("a"), note("a"))
        .add_node(id("b"), note("b"))
        .add_edge(START, id("a"))
        .add_edge(id("a"), id("b"))
        .add_conditional_edges_to(id("b"), again, DeclaredTargets::from(id("a")).or(END))
        .compile()
        .unwrap()
}

async fn notes(thread: &PadThread) -> String {
    thread.state().await.unwrap().unwrap().values.notes.join("")
}

#[rstest]
#[case::before(false, "a", "aba")]
#[case::after(true, "ab", "abab")]
#[tokio::test]
async fn a_new_handle_uses_the_stop_points_of_the_thread(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] later: bool,
    #[case] after: bool,
    #[case] first: &str,
    #[case] second: &str,
) {
    let graph = looping();
    let thread = || store.thread(&graph).durability(durability);
    let stopping = || if after { thread().interrupt_after([id("b")]) } else { thread().interrupt_before([id("b")]) };
    if later {
        thread().max_supersteps(0).invoke(start()).await.unwrap();
        stopping().remember_stops().proceed().await.unwrap();
    } else {
        stopping().remember_stops().invoke(start()).await.unwrap();
    }
    assert_eq!(notes(&thread()).await, first);
    // With `exit` the superstep before the stop is not recorded.
    let is_shown = !after || durability != Durability::Exit;
    assert_eq!(matches!(thread().status().await.unwrap(), Status::Stopped { .. }), is_shown);
    assert!(matches!(thread().proceed().await.unwrap(), Outcome::Stopped(_)));
    assert_eq!(notes(&thread()).await, second);
    if is_shown {
        let own = graph.clone().with_shared_checkpointer(Arc::clone(&store.store));
        let report = runner([own]).run(Until::Idle).await.unwrap();
        assert_eq!(report.turns, 0, "a runner leaves it where it stopped");
    }
    thread().remember_stops().proceed().await.unwrap().finished().unwrap();
    assert_eq!(thread().status().await.unwrap().kind(), superstep::graph::StatusKind::Finished);
}

#[rstest]
#[tokio::test]
async fn stop_points_of_a_handle_override_and_are_stored_on_request_only(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = looping();
    let thread = || store.thread(&graph);
    thread().interrupt_before([id("b")]).remember_stops().invoke(start()).await.unwrap();
    thread().interrupt_before([id("a")]).proceed().await.unwrap();
    assert_eq!(notes(&thread()).await, "ab");
    thread().proceed().await.unwrap();
    assert_eq!(notes(&thread()).await, "aba");
    thread().interrupt_before_all().remember_stops().proceed().await.unwrap();
    thread().proceed().await.unwrap();
    assert_eq!(notes(&thread()).await, "ababa");
}
