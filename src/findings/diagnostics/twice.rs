//! Diagnostics that an output shows more than once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::diagnostic::{Diagnostic, FAILED};
use crate::findings::FindingKind;

/// Leaves out repetitions: cargo prints an error for each target, and runners list their failures again at the end, often with
/// less to say.
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

/// Returns whether a failure says more than that there was one: it has a line, or no file while it has a text of its own.
fn is_described(diagnostic: &Diagnostic<'_>) -> bool {
    diagnostic.lines.is_some() || (diagnostic.file.is_none() && diagnostic.message != FAILED)
}

/// Returns a hash of everything that a reader sees.
fn key(one: &Diagnostic<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (&one.kind, &one.code, &one.file, one.lines, &one.message).hash(&mut hash);
    hash.finish()
}
