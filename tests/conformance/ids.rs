//! The renaming between expected interrupt ids and ours, over a whole case: one-to-one, narrowed down by each outcome.

use std::collections::{BTreeMap, BTreeSet};

type Names = BTreeSet<String>;

/// For every expected id, our ids that it may still correspond to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids(BTreeMap<String, Names>);

impl Ids {
    /// Records that these expected ids correspond to these ids of ours, in some order.
    ///
    /// # Errors
    ///
    /// When no renaming fits all records.
    pub(crate) fn bind(&mut self, expected: &Names, ours: &Names) -> Result<(), String> {
        if expected.len() != ours.len() {
            return Err(format!("expected the ids {expected:?}, got as many as {ours:?}"));
        }
        for (id, candidates) in &mut self.0 {
            if !expected.contains(id) {
                candidates.retain(|name| !ours.contains(name));
            }
        }
        for id in expected {
            let candidates = self.0.entry(id.clone()).or_insert_with(|| ours.clone());
            candidates.retain(|name| ours.contains(name));
        }
        self.propagate();
        self.contradiction().map_or(Ok(()), Err)
    }

    /// Returns our id for an expected one; of several indistinguishable ones the first, from now on.
    pub(crate) fn ours(&mut self, expected: &str) -> Option<String> {
        let first = self.0.get(expected)?.first()?.clone();
        self.bind(&Names::from([expected.to_owned()]), &Names::from([first.clone()])).ok()?;
        Some(first)
    }

    /// Removes the only candidate of an id from all others, until nothing changes.
    fn propagate(&mut self) {
        loop {
            let before = self.size();
            let resolved: Vec<(String, String)> = self.0.iter().filter_map(resolved).collect();
            for (owner, name) in &resolved {
                let others = self.0.iter_mut().filter(|(id, _)| *id != owner);
                others.for_each(|(_, candidates)| _ = candidates.remove(name));
            }
            if self.size() == before {
                return;
            }
        }
    }

    fn size(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    fn contradiction(&self) -> Option<String> {
        let (id, _) = self.0.iter().find(|(_, candidates)| candidates.is_empty())?;
        Some(format!("the interrupt ids cannot be renamed one to one: nothing is left for {id}"))
    }
}

fn resolved((id, candidates): (&String, &Names)) -> Option<(String, String)> {
    let [name] = Vec::from_iter(candidates).try_into().ok()?;
    Some((id.clone(), String::clone(name)))
}
