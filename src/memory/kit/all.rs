//! All checks, in order.
//!
//! Small because each check is in another file.

use super::check::StoreHarness;
use super::{several, single};
use crate::checkpoint::kit::CheckFailure;

/// Runs all checks, each on a new store, and returns those that failed.
pub async fn check_all(harness: &dyn StoreHarness) -> Vec<CheckFailure> {
    let mut failures = vec![];
    for check in single::CHECKS.iter().chain(several::CHECKS) {
        if let Err(reason) = (check.run)(harness).await {
            failures.push(CheckFailure { check: check.name, reason: reason.0 });
        }
    }
    failures
}
