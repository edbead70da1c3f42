//! The failure of a subgraph keeps its class, its place and its causes in the parent graphs.

use std::time::Duration;

use superstep::graph::{CallError, ErrorClass};
use superstep::prelude::*;

use crate::effects::Body;
use crate::pad::*;
use crate::stores::Store;
use rstest::rstest;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
#[error("card declined")]
struct Declined;

/// An error of a caller that wraps what it called.
#[derive(Debug, thiserror::Error)]
#[error("checkout failed")]
struct Checkout(#[from] CallError);

/// The way in which the node in the middle returns the error of its subgraph.
#[derive(Clone, Copy, Debug)]
enum ErrorPassing {
    AsNode,
    ByCall,
    Wrapped,
}

/// `pay`, which fails, in `shop`, in `outer`; the two outer graphs retry.
fn nested(tally: &Tally, class: fn(Declined) -> NodeError, passing: ErrorPassing) -> Graph {
    let tally = tally.clone();
    let pay = move |_: Arc<Pad>, _: Ctx| -> Body {
        tally.add("pay");
        Box::pin(async move { Err(class(Declined)) })
    };
    let soon = || RetryPolicy::attempts(2).pause(Duration::ZERO);
    let shop = chain(Builder::new().add_node(id("pay"), pay), &["pay"]);
    let middle = Builder::new();
    let middle = match passing {
        ErrorPassing::AsNode => middle.add_subgraph(id("shop"), shop),
        ErrorPassing::ByCall | ErrorPassing::Wrapped => {
            let called = shop.clone();
            let call = move |_: Arc<Pad>, ctx: Ctx| -> Body {
                let shop = called.clone();
                Box::pin(async move {
                    let ended = ctx.call(&shop, start()).await;
                    match passing {
                        ErrorPassing::Wrapped => ended.map_err(Checkout)?,
                        ErrorPassing::ByCall | ErrorPassing::AsNode => ended?,
                    };
                    Ok(Pad::update())
                })
            };
            middle.add_node(id("shop"), call.retry(soon())).calls(&id("shop"), &shop)
        }
    };
    let outer = chain(middle, &["shop"]);
    let call = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let outer = outer.clone();
        Box::pin(async move {
            ctx.call(&outer, start()).await?;
            Ok(Pad::update())
        })
    };
    chain(Builder::new().add_node(id("outer"), call.retry(soon())), &["outer"])
}

#[rstest]
#[tokio::test]
async fn a_failure_keeps_its_class_through_every_level(
    #[values(ErrorPassing::AsNode, ErrorPassing::ByCall, ErrorPassing::Wrapped)] passing: ErrorPassing,
    #[values(false, true)] permanent: bool,
) {
    let tally = Tally::default();
    let class: fn(Declined) -> NodeError = if permanent { NodeError::permanent } else { NodeError::transient };
    let error = Store::memory().thread(&nested(&tally, class, passing)).invoke(start()).await.unwrap_err();
    let levels = if matches!(passing, ErrorPassing::AsNode) { 1 } else { 2 };
    assert_eq!(tally.count(), if permanent { 1 } else { 1 << levels });
    assert!(matches!(error.class(), ErrorClass::Permanent) == permanent, "{error:?}");
    assert!(error.find::<Declined>().is_some(), "{error:?}");
}

#[tokio::test]
async fn a_failure_names_its_subgraph() {
    let graph = nested(&Tally::default(), NodeError::permanent, ErrorPassing::AsNode);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `pay` in the subgraph `outer/shop` failed in superstep 1: card declined");
}
