//! Large lists of numbers in a comparison: compared as bytes, and described where they differ.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::{Name, VerifyVerdict};
use superstep::prelude::*;

use crate::pad::id;
use crate::stores::Store;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Heap {
    #[channel(add)]
    count: u64,
    blob: Vec<u8>,
    #[channel(secret)]
    key: Vec<u8>,
}

/// A node that writes lists of this length, then one that leaves them alone.
fn graph(length: usize, last: u8) -> CompiledGraph<Heap, Name> {
    let write = move |_: Arc<Heap>, _: Ctx| async move {
        let mut blob = vec![7; length];
        blob.extend([last]);
        Ok::<_, NodeError>(Heap::update().blob(blob.clone()).key(blob))
    };
    let count = |_: Arc<Heap>, _: Ctx| async { Ok::<_, NodeError>(Heap::update().count(1u64)) };
    StateGraph::new()
        .add_node(id("write"), write.replayable())
        .add_node(id("count"), count.replayable())
        .add_edge(START, id("write"))
        .add_edge(id("write"), id("count"))
        .compile()
        .unwrap()
}

#[rstest]
#[case::shown(3, r#"[7,7,7,1]"#, r#"[7,7,7,2]"#)]
#[case::described(1 << 20, "bytes as stored, others from byte", "bytes as stored, others from byte")]
#[tokio::test]
async fn a_list_that_differs_is_shown_if_it_is_short(#[case] length: usize, #[case] was: &str, #[case] is: &str) {
    let store = Store::memory();
    let thread = |last| graph(length, last).with_shared_checkpointer(Arc::clone(&store.store)).thread("t");
    thread(1).invoke(Heap::update()).await.unwrap();
    let same = thread(1).verify().await.unwrap();
    assert_eq!((same.verdict(), same.bodies), (VerifyVerdict::Same, 2), "{same}");
    let changed = thread(2).verify().await.unwrap();
    let difference = changed.divergence.unwrap();
    let text = |value: &serde_json::Value| value.to_string();
    assert!(text(&difference.recorded).contains(was) && text(&difference.now).contains(is), "{}", difference.what);
    assert!(text(&difference.now).len() < 200, "{} bytes", text(&difference.now).len());
}
