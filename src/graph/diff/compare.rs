//! Compares two checkpoints. Channels stored in the same rows are not read, and of a log that only grew only the new
//! entries.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::edits::{Edit, edits, under};
use super::types::{Asked, Change, ChannelDiff, Diff, Inside, Side, SubgraphDiff};
use crate::checkpoint::BoxFuture;
use crate::graph::error::RunError;
use crate::graph::records::growth;
use crate::graph::state::{Channel, Mask, Stored};
use crate::graph::view::Face;

/// Compares two checkpoints; with `deep`, their subgraphs too.
pub(crate) fn compare<'a>(from: &'a dyn Face, to: &'a dyn Face, deep: bool) -> BoxFuture<'a, Result<Diff, RunError>> {
    Box::pin(async move {
        let asked = |face: &dyn Face| face.facts().questions.iter().map(Asked::from).collect::<Vec<_>>();
        let (gone, asked) = difference(asked(from), asked(to));
        let subgraphs = if deep { compare_subgraphs(from, to).await? } else { vec![] };
        let channels = Channels::pair(from, to).compare().await?;
        let (recorded, unrecorded) = (vec![], vec![]);
        Ok(Diff { from: side(from), to: side(to), channels, asked, gone, recorded, unrecorded, subgraphs })
    })
}

fn side(face: &dyn Face) -> Side {
    let facts = face.facts();
    Side {
        thread: facts.reader.thread.clone(),
        checkpoint: facts.id,
        step: facts.step,
        source: facts.source,
        next: facts.next.clone(),
    }
}

/// Returns the questions that only the old and only the new checkpoint has.
fn difference(old: Vec<Asked>, mut new: Vec<Asked>) -> (Vec<Asked>, Vec<Asked>) {
    let mut gone = vec![];
    for asked in old {
        match new.iter().position(|other| other.is_like(&asked)) {
            Some(at) => drop(new.remove(at)),
            None => gone.push(asked),
        }
    }
    (gone, new)
}

async fn compare_subgraphs(from: &dyn Face, to: &dyn Face) -> Result<Vec<SubgraphDiff>, RunError> {
    let (old, new) = (from.facts(), to.facts());
    let mut found = vec![];
    for (node, at, child) in &new.inside {
        let now = child.0.face(&new.reader, *at).await?;
        let inside = match old.inside.iter().find(|(known, ..)| known == node) {
            Some((_, at, child)) => {
                let was = child.0.face(&old.reader, *at).await?;
                Inside::Diff(Box::new(compare(&*was, &*now, true).await?))
            }
            None => Inside::Began(side(&*now)),
        };
        if !matches!(&inside, Inside::Diff(diff) if diff.is_empty()) {
            found.push(SubgraphDiff { node: node.clone(), inside });
        }
    }
    for (node, at, child) in old.inside.iter().filter(|(node, ..)| new.inside.iter().all(|(known, ..)| known != node)) {
        let was = child.0.face(&old.reader, *at).await?;
        found.push(SubgraphDiff { node: node.clone(), inside: Inside::Ended(side(&*was)) });
    }
    Ok(found)
}

struct Pair<'a> {
    channel: &'a Channel,
    secret: bool,
    old: Option<usize>,
    new: Option<usize>,
}

struct Channels<'a> {
    from: &'a dyn Face,
    to: &'a dyn Face,
    /// Set if equal rows mean equal values: one store, thread and graph.
    one_thread: bool,
    pairs: Vec<Pair<'a>>,
}

impl<'a> Channels<'a> {
    fn pair(from: &'a dyn Face, to: &'a dyn Face) -> Self {
        let (old, new) = (from.facts(), to.facts());
        let place = |channels: &[Channel], name: &str| channels.iter().position(|channel| channel.name() == name);
        let both = to.channels().iter().enumerate().map(|(at, channel)| {
            let before = place(from.channels(), channel.name());
            let secret = channel.is_secret() || before.is_some_and(|at| from.channels()[at].is_secret());
            Pair { channel, secret, old: before, new: Some(at) }
        });
        let gone = from.channels().iter().enumerate().filter(|(_, known)| place(to.channels(), known.name()).is_none());
        let gone = gone.map(|(at, channel)| Pair { channel, secret: channel.is_secret(), old: Some(at), new: None });
        let kept = |pair: &Pair<'_>| pair.channel.stored() != Stored::Never;
        let one_store = Arc::ptr_eq(&old.reader.store, &new.reader.store);
        let one_thread = one_store && old.reader.thread == new.reader.thread && old.graph == new.graph;
        Self { from, to, one_thread, pairs: both.chain(gone).filter(kept).collect() }
    }

    async fn compare(self) -> Result<Vec<ChannelDiff>, RunError> {
        let mut found: Vec<Option<ChannelDiff>> = vec![];
        let mut unread = vec![];
        for pair in self.pairs.iter().filter(|pair| !self.is_same(pair)) {
            match self.log_growth(pair).await? {
                Some(diff) => found.push(diff),
                None => {
                    unread.push((found.len(), pair));
                    found.push(None);
                }
            }
        }
        let old: Mask = unread.iter().filter_map(|(_, pair)| pair.old).collect();
        let new: Mask = unread.iter().filter_map(|(_, pair)| pair.new).collect();
        let (old, new) = (self.from.values(&old).await?, self.to.values(&new).await?);
        for (at, pair) in unread {
            found[at] = compare_values(pair, &old, &new);
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn is_same(&self, pair: &Pair<'_>) -> bool {
        let (Some(old), Some(new)) = (pair.old, pair.new) else { return false };
        self.one_thread && self.from.facts().slots[old] == self.to.facts().slots[new]
    }

    /// Returns the difference of a log that only grew; `None` if the whole values have to be compared.
    async fn log_growth(&self, pair: &Pair<'_>) -> Result<Option<Option<ChannelDiff>>, RunError> {
        let (Some(old), Some(new)) = (pair.old, pair.new) else { return Ok(None) };
        let one_log = self.one_thread && self.from.facts().path == self.to.facts().path;
        let new_entries = growth(&self.from.facts().slots[old], &self.to.facts().slots[new]).filter(|_| one_log);
        let Some(new_entries) = new_entries else { return Ok(None) };
        let Some(items) = self.to.items(new, &new_entries).await? else { return Ok(None) };
        let path = format!("{}/-", under("", pair.channel.name()));
        let patch: Vec<Edit> = items.into_iter().map(|value| Edit::Add { path: path.clone(), value }).collect();
        Ok(Some(channel_diff(pair, Change::Changed, patch)))
    }
}

fn compare_values(pair: &Pair<'_>, old: &Map<String, Value>, new: &Map<String, Value>) -> Option<ChannelDiff> {
    let (name, mut patch) = (pair.channel.name(), vec![]);
    let path = under("", name);
    let change = match (old.get(name), new.get(name)) {
        (None, None) => return None,
        (None, Some(value)) => {
            patch.push(Edit::Add { path, value: value.clone() });
            Change::Added
        }
        (Some(old), None) => {
            patch.push(Edit::Remove { path, old: old.clone() });
            Change::Removed
        }
        (Some(old), Some(new)) => {
            edits(&path, old, new, &mut patch);
            Change::Changed
        }
    };
    channel_diff(pair, change, patch)
}

fn channel_diff(pair: &Pair<'_>, change: Change, patch: Vec<Edit>) -> Option<ChannelDiff> {
    let channel = pair.channel.name().to_owned();
    match pair.secret {
        _ if patch.is_empty() => None,
        true => Some(ChannelDiff { channel, change: Change::Secret, patch: vec![] }),
        false => Some(ChannelDiff { channel, change, patch }),
    }
}
