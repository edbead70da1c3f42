//! List of all checks. Knows no store.

use super::check::{Check, Failure, Harness};
use super::{commits, durability, leases, mailbox, reads, threads};

/// Returns all checks.
pub fn checks() -> Vec<Check> {
    [commits::CHECKS, leases::CHECKS, mailbox::CHECKS, reads::CHECKS, threads::CHECKS, durability::CHECKS].concat()
}

/// Returns the check of this name.
pub fn check(name: &str) -> Option<Check> {
    checks().into_iter().find(|check| check.name == name)
}

/// Runs all checks and returns the failures.
pub async fn check_all(harness: &dyn Harness) -> Vec<Failure> {
    let mut failures = Vec::new();
    for check in checks() {
        failures.extend(check.run(harness).await.err());
    }
    failures
}
