//! Former names of nodes and channels, and versions of a graph, for threads that earlier versions stored: declares and checks
//! them, and translates stored names to current ones. Knows no store.

use std::collections::BTreeMap;

use super::builder::StateGraph;
use super::problem::Problem;
use super::table::{Row, Table};
use crate::checkpoint::{CheckpointId, QuestionRecord};
use crate::graph::node::{Name, NodeId};
use crate::graph::records::HANDLER;
use crate::graph::state::{AnySchema, State};

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Declares a former name of a node: its tasks, joins, sends, questions and subgraphs in stored threads become the
    /// node's. A node may have several.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Review }
    /// # async fn review(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// let graph = StateGraph::<Draft, Step>::new()
    ///     .add_node(Step::Review, review)
    ///     .renamed("Check", Step::Review)
    ///     .add_sequence([Step::Review])
    ///     .compile()?;
    /// # Ok::<(), CompileError>(())
    /// ```
    pub fn renamed(mut self, was: impl Into<String>, node: N) -> Self {
        self.parts.renamed.push((was.into(), node.to_name()));
        self
    }

    /// Sets a version, which is part of the [fingerprint](crate::graph::CompiledGraph::fingerprint): for a change that
    /// channels, nodes and joins do not show, such as a node's behaviour. 0 unless set. Versions grow: a
    /// [runner](crate::graph::runner()) leaves threads alone that a newer one stored than its own.
    pub fn version(mut self, version: u32) -> Self {
        self.parts.history.version = version;
        self
    }

    /// Accepts only threads stored by this version of the graph: those of another
    /// [fingerprint](crate::graph::CompiledGraph::fingerprint) can be read, but not run, answered or updated.
    pub fn pinned(mut self) -> Self {
        self.parts.history.pinned = true;
        self
    }
}

pub(crate) fn renames(
    nodes: &[Row],
    renamed: Vec<(String, Name)>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, String> {
    let is_node = |name: &str| nodes.iter().any(|row| *row.name == *name);
    let mut all = BTreeMap::new();
    for (was, node) in renamed {
        let now = node.as_str().to_owned();
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

/// Returns the renames and removals that decide how an earlier version's records are read; part of the fingerprint.
pub(crate) fn name_changes(schema: &AnySchema, renamed: &BTreeMap<String, String>) -> Vec<String> {
    let was = schema
        .channels()
        .iter()
        .flat_map(|channel| channel.former_names().map(|was| format!("{was}>{}", channel.name())));
    let removed = schema.removed_channels().into_iter().map(|name| format!("{name}>"));
    was.chain(removed).chain(renamed.iter().map(|(was, now)| format!("{was}>{now}"))).collect()
}

impl Table {
    /// Returns the current name for a stored one, with its handler prefix, its call number, and what is below it.
    pub(crate) fn name_now(&self, name: String) -> String {
        let (handler, rest) = name.strip_prefix(HANDLER).map_or(("", name.as_str()), |rest| (HANDLER, rest));
        let (node, call) = rest.find(['#', '/']).map_or((rest, ""), |at| rest.split_at(at));
        match self.identity.renamed.get(node) {
            Some(now) if self.node_index(node).is_none() => format!("{handler}{now}{call}"),
            _ => name,
        }
    }

    /// Returns the last checkpoints of per-thread subgraphs by current name; the later one if two names became one.
    pub(crate) fn children_now(&self, children: Vec<(String, CheckpointId)>) -> Vec<(String, CheckpointId)> {
        let mut now: Vec<(String, CheckpointId)> = vec![];
        for (name, at) in children {
            let name = self.name_now(name);
            now.retain(|(known, _)| *known != name);
            now.push((name, at));
        }
        now
    }

    /// Returns the current and former names of each node on a path.
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

    /// True if a node still declares the question, or declares none; `depth` subgraphs below the root.
    pub(crate) fn still_asks(&self, depth: usize, question: &QuestionRecord) -> bool {
        let mut path: Vec<&str> = question.namespace.iter().map(String::as_str).collect();
        path.retain(|name| !name.starts_with('#'));
        path.get(depth..).is_none_or(|path| self.asks_still(path, &question.node, &question.name))
    }

    /// The same for a node at the end of a path of nodes.
    pub(crate) fn asks_still(&self, path: &[&str], node: &str, question: &str) -> bool {
        let of = |name: &str| self.now(name.strip_prefix(HANDLER).unwrap_or(name)).map(|at| self.row(at));
        match path.split_first() {
            None => of(node).and_then(|row| row.facts.asks.as_ref()).is_none_or(|asks| asks.contains_key(question)),
            Some((first, rest)) => of(first).is_none_or(|row| {
                row.children.is_empty() || row.children.iter().any(|child| child.0.asks_still(rest, node, question))
            }),
        }
    }
}
