//! Repeated diagnostics of an output.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::diagnostic::{Diagnostic, FAILED};
use crate::findings::FindingKind;

/// Drops repetitions: cargo prints an error for each target, and test runners list failures again at the end, often
/// with fewer details.
pub(super) fn without(mut found: Vec<Diagnostic<'_>>) -> Vec<Diagnostic<'_>> {
    let described: HashSet<String> =
        found.iter().filter(|one| is_described(one)).filter_map(test).map(str::to_owned).collect();
    let is_listed = |one: &Diagnostic<'_>| test(one).is_some_and(|name| !is_described(one) && described.contains(name));
    let mut seen = HashSet::new();
    found.retain(|one| !is_listed(one) && seen.insert(key(one)));
    found
}

/// Returns the name of the test.
fn test<'t>(diagnostic: &'t Diagnostic<'_>) -> Option<&'t str> {
    diagnostic.code.as_deref().filter(|_| diagnostic.kind == FindingKind::TestFail)
}

/// Returns whether a failure has details: a line, or a text of its own without a file.
fn is_described(diagnostic: &Diagnostic<'_>) -> bool {
    diagnostic.lines.is_some() || (diagnostic.file.is_none() && diagnostic.message != FAILED)
}

/// Returns a hash of every visible part.
fn key(one: &Diagnostic<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (&one.kind, &one.code, &one.file, one.lines, &one.message).hash(&mut hash);
    hash.finish()
}
