//! Trees of files: which differ, and how the change between two is made to a third. Pure.

use std::collections::BTreeSet;

use super::script::Files;

/// The entries that differ between two trees.
pub(super) fn changed(from: &Files, to: &Files) -> BTreeSet<String> {
    let names = from.keys().chain(to.keys());
    names.filter(|name| from.get(*name) != to.get(*name)).cloned().collect()
}

/// The names of files of which entries differ.
pub(super) fn changed_files(from: &Files, to: &Files) -> BTreeSet<String> {
    let file = |entry: &String| entry.split('/').next().unwrap().to_owned();
    changed(from, to).iter().map(file).collect()
}

/// A tree with the change from one to another made to it; none if both sides change an entry in different ways.
pub(super) fn carried(from: &Files, onto: &Files, to: &Files) -> Option<Files> {
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
