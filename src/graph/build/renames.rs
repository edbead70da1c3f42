//! The names that things had in earlier versions of a graph: checked, and as words of its fingerprint.

use std::collections::BTreeMap;

use super::problem::Problem;
use super::table::{Row, Table};
use crate::checkpoint::{CheckpointId, QuestionRecord};
use crate::graph::node::NodeId;
use crate::graph::records::HANDLER;
use crate::graph::state::State;

/// The names that nodes had, and those they have now.
pub(crate) fn renames<S: State, N: NodeId, C>(
    nodes: &[Row<S, N, C>],
    renamed: Vec<(String, N)>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, String> {
    let is_node = |name: &str| nodes.iter().any(|row| *row.name == *name);
    let mut all = BTreeMap::new();
    for (was, node) in renamed {
        let now = node.name().to_owned();
        if is_node(&was) {
            problems.push(Problem::RenamedNode { was: was.clone(), now: now.clone() });
        }
        if !is_node(&now) {
            problems.push(Problem::RenamedToNothing { was: was.clone(), now: now.clone() });
        }
        if all.insert(was.clone(), now.clone()).is_some_and(|other| other != now) {
            problems.push(Problem::RenamedTwice { was });
        }
    }
    all
}

/// What decides how an earlier version is read, beside the names that there are now.
pub(crate) fn past<S: State>(schema: &S::Schema, renamed: &BTreeMap<String, String>) -> Vec<String> {
    let was = S::channels(schema)
        .iter()
        .flat_map(|channel| channel.former_names().map(|was| format!("{was}>{}", channel.name())));
    let removed = S::removed(schema).into_iter().map(|name| format!("{name}>"));
    was.chain(removed).chain(renamed.iter().map(|(was, now)| format!("{was}>{now}"))).collect()
}

impl<S: State, N: NodeId, C> Table<S, N, C> {
    /// The name that what is kept under the name of a node goes by now.
    pub(crate) fn name_now(&self, name: String) -> String {
        let (handler, rest) = name.strip_prefix(HANDLER).map_or(("", name.as_str()), |rest| (HANDLER, rest));
        let (node, call) = rest.find('#').map_or((rest, ""), |at| rest.split_at(at));
        match self.identity.renamed.get(node) {
            Some(now) if self.named(node).is_none() => format!("{handler}{now}{call}"),
            _ => name,
        }
    }

    /// What subgraphs with state of their own ended at, by the names they go by now; of two the later.
    pub(crate) fn children_now(&self, children: Vec<(String, CheckpointId)>) -> Vec<(String, CheckpointId)> {
        let mut now: Vec<(String, CheckpointId)> = vec![];
        for (name, at) in children {
            let name = self.name_now(name);
            now.retain(|(known, _)| *known != name);
            now.push((name, at));
        }
        now
    }

    /// The names that nodes on the way down have and had.
    pub(crate) fn names_down(&self, nodes: &[String]) -> Vec<Vec<String>> {
        let Some((first, rest)) = nodes.split_first() else { return vec![] };
        let was = self.identity.renamed.iter().filter(|(_, now)| *now == first).map(|(was, _)| was.clone());
        let names = was.chain([first.clone()]).collect();
        let child = self.now(first).and_then(|at| self.row(at).children.first());
        let below = match child {
            Some(child) => child.0.names_down(rest),
            None => rest.iter().map(|node| vec![node.clone()]).collect(),
        };
        [vec![names], below].concat()
    }

    /// Whether a node still asks a question, as far as that is known; `depth` subgraphs below the root.
    pub(crate) fn still_asks(&self, depth: usize, question: &QuestionRecord) -> bool {
        let mut way: Vec<&str> = question.namespace.iter().map(String::as_str).collect();
        way.retain(|name| !name.starts_with('#'));
        way.get(depth..).is_none_or(|way| self.asks_still(way, &question.node, &question.name))
    }

    /// The same, along the nodes on the way down.
    pub(crate) fn asks_still(&self, way: &[&str], node: &str, question: &str) -> bool {
        let of = |name: &str| self.now(name.strip_prefix(HANDLER).unwrap_or(name)).map(|at| self.row(at));
        match way.split_first() {
            None => of(node).and_then(|row| row.facts.asks.as_ref()).is_none_or(|asks| asks.contains_key(question)),
            Some((first, rest)) => of(first).is_none_or(|row| {
                row.children.is_empty() || row.children.iter().any(|child| child.0.asks_still(rest, node, question))
            }),
        }
    }
}
