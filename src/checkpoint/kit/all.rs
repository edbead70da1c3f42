//! List of all checks. Knows no store.
//!
//! Small because it needs every other file, and none needs it.

use super::check::{CheckFailure, ContractCheck, Harness};
use super::{durability, items, lists, records, shared, threads};

/// Returns all checks.
pub fn checks() -> Vec<ContractCheck> {
    [records::CHECKS, threads::CHECKS, items::CHECKS, lists::CHECKS, durability::CHECKS, shared::CHECKS].concat()
}

/// Returns the check of this name.
pub fn check(name: &str) -> Option<ContractCheck> {
    checks().into_iter().find(|check| check.name == name)
}

/// Runs all checks and returns the failures.
pub async fn check_all(harness: &dyn Harness) -> Vec<CheckFailure> {
    let mut failures = Vec::new();
    for check in checks() {
        failures.extend(check.run(harness).await.err());
    }
    failures
}
