//! The conformance kit over the stores of this crate, and the promises of the embedded store alone.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "checkpointers/fuzzed.rs"]
mod fuzzed;

#[path = "checkpointers/stores.rs"]
mod stores;

#[cfg(feature = "sled")]
#[path = "checkpointers/backup.rs"]
mod backup;

#[cfg(feature = "sled")]
#[path = "checkpointers/compact.rs"]
mod compact;

#[cfg(feature = "sled")]
#[path = "checkpointers/filled.rs"]
mod filled;

#[cfg(feature = "sled")]
#[path = "checkpointers/planted.rs"]
mod planted;

#[cfg(feature = "sled")]
#[path = "checkpointers/read_only.rs"]
mod read_only;

#[cfg(feature = "sled")]
#[path = "checkpointers/sled.rs"]
mod sled;

use rstest::rstest;
use stores::Memory;
use superstep::checkpoint::kit;

#[rstest]
#[case::memory(&Memory)]
#[cfg_attr(feature = "sled", case::sled(&stores::Sled::default()))]
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
