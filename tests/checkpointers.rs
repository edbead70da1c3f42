//! The conformance kit over the stores of this crate, and the promises of the embedded stores alone.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "checkpointers/fuzzed.rs"]
mod fuzzed;

#[path = "checkpointers/stores.rs"]
mod stores;

#[path = "support/postgres.rs"]
mod postgres;

#[path = "checkpointers/backup.rs"]
mod backup;

#[path = "checkpointers/compact.rs"]
mod compact;

#[path = "checkpointers/copy.rs"]
mod copy;

#[cfg(unix)]
#[path = "checkpointers/fjall.rs"]
mod fjall;

#[path = "checkpointers/filled.rs"]
mod filled;

#[path = "checkpointers/index.rs"]
mod index;

#[path = "checkpointers/items.rs"]
mod items;

#[path = "checkpointers/memory.rs"]
mod memory;

#[path = "checkpointers/planted.rs"]
mod planted;

#[path = "checkpointers/read_only.rs"]
mod read_only;

#[path = "checkpointers/sled.rs"]
mod sled;

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
