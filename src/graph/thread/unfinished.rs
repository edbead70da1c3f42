//! The words for unfinished tasks in errors. Pure.

use std::collections::BTreeMap;

pub(crate) fn unfinished(tasks: Vec<String>) -> String {
    let has = if tasks.len() == 1 { "has" } else { "have" };
    format!("{} {has} not finished", counted(tasks))
}

/// Joins the names in order, each once, with its number of occurrences.
pub(crate) fn counted(names: Vec<String>) -> String {
    let mut times = BTreeMap::<String, usize>::new();
    names.into_iter().for_each(|name| *times.entry(name).or_default() += 1);
    let parts =
        times.into_iter().map(|(name, times)| if times == 1 { name } else { format!("{name} ({times} times)") });
    parts.collect::<Vec<_>>().join(" and ")
}
