//! Trees of files: their differences, and applying the change between two to a third. Pure.

use std::collections::BTreeSet;

use super::script::Files;

/// Returns the entries that differ between two trees.
pub(super) fn changed(from: &Files, to: &Files) -> BTreeSet<String> {
    let names = from.keys().chain(to.keys());
    names.filter(|name| from.get(*name) != to.get(*name)).cloned().collect()
}

/// Returns the names of files whose entries differ.
pub(super) fn changed_files(from: &Files, to: &Files) -> BTreeSet<String> {
    let file = |entry: &String| entry.split('/').next().unwrap().to_owned();
    changed(from, to).iter().map(file).collect()
}

/// Applies the change between two trees to a third; `None` if both sides change an entry differently.
pub(super) fn rebased(from: &Files, onto: &Files, to: &Files) -> Option<Files> {
    let ours = changed(from, onto);
    let mut all = onto.clone();
    for name in changed(from, to) {
        if ours.contains(&name) && onto.get(&name) != to.get(&name) {
            return None;
        }
        match to.get(&name) {
            Some(text) => drop(all.insert(name, text.clone())),
            None => drop(all.remove(&name)),
        }
    }
    Some(all)
}
