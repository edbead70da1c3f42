//! A stored channel that is unknown to the state, together with channels that were never stored, may have been renamed:
//! the thread does not resume with a default in its place.

use std::sync::Arc;

use rstest::rstest;
use superstep::graph::{CompiledGraph, Name, State, Status, Thread};
use superstep::prelude::*;

use crate::pad::{Approve, id};
use crate::stores::Store;

mod before {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Order {
        pub(super) amount: u64,
        pub(super) note: String,
        pub(super) unwritten: u8,
    }
}

mod forgotten {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Order {
        pub(super) amount_cents: u64,
        pub(super) note: String,
    }
}

mod renamed {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Order {
        #[channel(was = "amount")]
        pub(super) amount_cents: u64,
        pub(super) note: String,
    }
}

mod added {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Order {
        #[channel(new)]
        pub(super) amount_cents: u64,
        pub(super) note: String,
    }
}

mod removed {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    #[state(removed("amount"))]
    pub(super) struct Order {
        pub(super) amount_cents: u64,
        pub(super) note: String,
    }
}

mod dropped {
    use super::*;
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub(super) struct Order {
        pub(super) note: String,
    }
}

fn asking<S: State<Schema = ()>>(asks: bool) -> CompiledGraph<S, Name> {
    let ask = move |_: Arc<S>, ctx: Ctx| async move {
        if asks {
            ctx.interrupt(Approve)?;
        }
        Ok::<(), NodeError>(())
    };
    let graph = StateGraph::<S, Name>::new().add_node(id("ask"), ask.asks::<Approve>());
    graph.add_sequence([id("ask")]).compile().unwrap()
}

fn thread<S: State<Schema = ()>>(store: &Store, asks: bool) -> Thread<S, Name> {
    asking::<S>(asks).with_shared_checkpointer(Arc::clone(&store.store)).thread("t")
}

async fn stored(asks: bool) -> Store {
    let store = Store::memory();
    let input = before::Order::update().amount(20_000u64).note("gift");
    thread::<before::Order>(&store, asks).invoke(input).await.unwrap();
    store
}

#[tokio::test]
async fn a_paused_thread_with_an_undeclared_rename_does_not_resume() {
    let store = stored(true).await;
    let error = thread::<forgotten::Order>(&store, true).resume::<Approve>(true).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @r#"
    thread `t` was stored by another version of the graph: the thread stored channel `amount`, which the state does not have, and never stored `amount_cents`, which the state has
     help: if `amount` is called `amount_cents` now, add `#[channel(was = "amount")]` to that; if it is gone, add `#[state(removed("amount"))]` to the struct; if it stays as it is and `amount_cents` is new, add `#[channel(new)]` to that
    "#);
    let status = thread::<forgotten::Order>(&store, true).status().await.unwrap();
    assert!(matches!(status, Status::NeedsMigration { .. }), "{status:?}");
}

#[tokio::test]
async fn a_thread_between_two_runs_does_not_lose_the_channel() {
    let store = stored(false).await;
    let next = forgotten::Order::update().note("more");
    let error = thread::<forgotten::Order>(&store, false).invoke(next).await.unwrap_err();
    assert!(matches!(error, RunError::NeedsMigration { .. }), "{error:?}");
}

async fn resumed<S: State<Schema = ()>>(store: &Store) -> Arc<S> {
    thread::<S>(store, true).resume::<Approve>(true).await.unwrap().finished().unwrap()
}

#[rstest]
#[tokio::test]
async fn declarations_for_the_channels_let_it_resume() {
    assert_eq!(resumed::<renamed::Order>(&stored(true).await).await.amount_cents, 20_000);
    assert_eq!(resumed::<added::Order>(&stored(true).await).await.amount_cents, 0);
    assert_eq!(resumed::<removed::Order>(&stored(true).await).await.amount_cents, 0);
    assert_eq!(resumed::<dropped::Order>(&stored(true).await).await.note, "gift");
}
