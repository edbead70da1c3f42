//! The conformance kit over the stores of this crate, and the promises of the embedded stores and of PostgreSQL alone.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backup;
mod compact;
mod copy;
mod filled;
#[cfg(unix)]
mod fjall;
mod fuzzed;
mod index;
mod items;
mod memory;
mod planted;
mod postgres;
mod read_only;
#[path = "../support/postgres.rs"]
mod server;
mod sled;
mod stores;
#[cfg(unix)]
#[path = "../support/written.rs"]
mod written;

use rstest::rstest;
use stores::{Embedded, Memory};
use superstep::checkpoint::kit;

#[rstest]
#[case::memory(&Memory)]
#[case::sled(&Embedded::sled())]
#[case::fjall(&Embedded::fjall())]
#[tokio::test]
async fn every_checkpointer_passes_the_kit(#[case] harness: &dyn kit::Harness) {
    let failures = kit::check_all(harness).await;
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn single_checks_can_be_run_by_name() {
    assert!(kit::checks().len() > 30);
    assert_eq!(kit::check("a_later_put_wins").map(|check| check.name()), Some("a_later_put_wins"));
    assert!(kit::check("no_such_check").is_none());
}
