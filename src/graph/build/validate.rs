//! Finds all problems of a graph's outline. Pure: names and indexes in, problems out.

use std::collections::{BTreeSet, VecDeque};

use superstep_base::gather;

use super::problem::{Lint, Problem};
use crate::graph::view::{Edge, EdgeKind, Outline};

impl Outline {
    /// Returns the lints' problems, in node order.
    pub(crate) fn lints(&self, allowed: &BTreeSet<Lint>, lost: &LostEdges) -> Vec<Problem> {
        let paths = Paths::of(self, lost);
        let joins = [self.conditional_joins(), self.ends_beside_routers()].concat();
        let found = [self.unreachable(&paths, lost), self.trapped_loops(&paths), self.endless(&paths), joins].concat();
        found.into_iter().filter(|problem| problem.lint().is_none_or(|lint| !allowed.contains(&lint))).collect()
    }

    /// Finds nodes without a path from START. If the target of an edge is unknown, it may be any node: then those alone are
    /// reported to which no edge at all leads, as what follows them may be reached once the edge is mended.
    fn unreachable(&self, paths: &Paths, lost: &LostEdges) -> Vec<Problem> {
        let is_missed = |node: &usize| !paths.reached[*node] && !self.nodes[*node].is_missing;
        let has_edges = |node: usize| paths.after.iter().any(|after| after.contains(&node));
        let missed =
            (0..self.nodes.len()).filter(is_missed).filter(|&node| !lost.has_unknown_target || !has_edges(node));
        missed.map(|node| Problem::Unreachable { node: self.nodes[node].name.clone() }).collect()
    }

    fn ends_beside_routers(&self) -> Vec<Problem> {
        let routed = self.sources(|edge| matches!(edge.kind, EdgeKind::Routed | EdgeKind::Sent));
        let ends = self.sources(|edge| edge.kind == EdgeKind::Always && edge.to.is_none());
        let found = ends.intersection(&routed);
        found.map(|&node| Problem::EndBesideRouter { node: self.nodes[node].name.clone() }).collect()
    }

    /// Returns the nodes that such edges come from.
    fn sources(&self, are: impl Fn(&Edge) -> bool) -> BTreeSet<usize> {
        gather(self.edges.iter().filter(|edge| are(edge)).filter_map(|edge| edge.from))
    }

    /// Finds nodes on a loop without a path to END.
    fn trapped_loops(&self, paths: &Paths) -> Vec<Problem> {
        let mut reported = vec![false; self.nodes.len()];
        let mut problems = vec![];
        for node in 0..self.nodes.len() {
            if paths.ends[node] || !paths.reached[node] || reported[node] {
                continue;
            }
            if let Some(path) = shortest_loop(&paths.after, node) {
                path.iter().for_each(|&at| reported[at] = true);
                problems.push(Problem::TrappedLoop { path: self.closed_path(&path), commands: self.commands(&path) });
            }
        }
        problems
    }

    /// Returns the first node of a loop that declares where its commands go.
    fn commands(&self, path: &[usize]) -> Option<String> {
        let declares =
            |node: usize| self.edges.iter().any(|edge| edge.from == Some(node) && edge.kind == EdgeKind::Commanded);
        path.iter().find(|&&node| declares(node)).map(|&node| self.nodes[node].name.clone())
    }

    /// Finds loops whose edges and joins all fire every time: no router chooses in them, and no error handler replaces a
    /// node. Gotos are added to edges, so none leads out of such a loop.
    fn endless(&self, paths: &Paths) -> Vec<Problem> {
        let unconditional = UnconditionalEdges::of(self);
        let mut reported = unconditional.off_loops();
        let mut problems = vec![];
        for node in 0..self.nodes.len() {
            // nodes without a path to END are reported as trapped
            if reported[node] || !paths.reached[node] || !paths.ends[node] {
                continue;
            }
            if let Some(path) = shortest_loop(&unconditional.after(node), node) {
                path.iter().for_each(|&at| reported[at] = true);
                problems.push(Problem::EndlessLoop { path: self.closed_path(&path) });
            }
        }
        problems
    }

    fn closed_path(&self, path: &[usize]) -> Vec<String> {
        path.iter().chain(path.first()).map(|&at| self.nodes[at].name.clone()).collect()
    }

    /// Finds sources of joins that only routers or sends lead to. A join of one source is a plain edge, and reported as
    /// such.
    fn conditional_joins(&self) -> Vec<Problem> {
        let into: BTreeSet<usize> = gather(self.edges.iter().filter_map(|edge| edge.to));
        let always = self.edges.iter().filter(|edge| edge.kind == EdgeKind::Always).filter_map(|edge| edge.to);
        let certain: BTreeSet<usize> = gather(always.chain(self.joins.iter().map(|(_, target)| *target)));
        let mut problems = vec![];
        for (sources, target) in self.joins.iter().filter(|(sources, _)| sources.len() > 1) {
            for &source in sources.iter().filter(|source| into.contains(source) && !certain.contains(source)) {
                let name = |at: usize| self.nodes[at].name.clone();
                problems.push(Problem::ConditionalJoin { source: name(source), target: name(*target) });
            }
        }
        problems
    }
}

/// The edges that other problems hide.
#[derive(Debug, Default)]
pub(crate) struct LostEdges {
    /// Set if nothing follows START: it may be meant to lead to any node that nothing else leads to.
    pub has_no_entry: bool,
    /// Nodes with an edge from an unknown node: they count as reachable.
    pub into: Vec<usize>,
    /// Set if an edge leads to an unknown node.
    pub has_unknown_target: bool,
}

/// The successors of each node, and reachability.
struct Paths {
    after: Vec<Vec<usize>>,
    /// Set for nodes that are reachable from START.
    reached: Vec<bool>,
    /// Set for nodes with a path to END, or to a node without successors.
    ends: Vec<bool>,
}

impl Paths {
    fn of(outline: &Outline, lost: &LostEdges) -> Self {
        let count = outline.nodes.len();
        let (mut after, mut before) = (vec![vec![]; count], vec![vec![]; count]);
        let joins = outline.joins.iter().flat_map(|(sources, to)| sources.iter().map(move |from| (*from, *to)));
        let edges = outline.edges.iter().filter_map(|edge| Some((edge.from?, edge.to?)));
        for (from, to) in edges.chain(joins) {
            after[from].push(to);
            before[to].push(from);
        }
        let entry = outline.edges.iter().filter(|edge| edge.from.is_none()).filter_map(|edge| edge.to);
        let to_end = outline.edges.iter().filter(|edge| edge.to.is_none()).filter_map(|edge| edge.from);
        let dead = (0..count).filter(|&node| after[node].is_empty());
        let ends = reachable(&before, to_end.chain(dead));
        let first = (0..count).filter(|&node| lost.has_no_entry && before[node].is_empty());
        let entry: Vec<usize> = entry.chain(lost.into.iter().copied()).chain(first).collect();
        let reached = if entry.is_empty() { vec![true; count] } else { reachable(&after, entry.into_iter()) };
        Self { after, reached, ends }
    }
}

/// The edges and joins that fire every time, whatever the state and commands.
struct UnconditionalEdges<'a> {
    edges: Vec<Vec<usize>>,
    joins: Vec<&'a (Vec<usize>, usize)>,
}

impl<'a> UnconditionalEdges<'a> {
    fn of(outline: &'a Outline) -> Self {
        let fires = |from: usize| !outline.nodes[from].is_handled;
        let mut edges = vec![vec![]; outline.nodes.len()];
        for edge in outline.edges.iter().filter(|edge| edge.kind == EdgeKind::Always) {
            if let (Some(from), Some(to)) = (edge.from.filter(|&from| fires(from)), edge.to) {
                edges[from].push(to);
            }
        }
        let joins = outline.joins.iter().filter(|(sources, _)| sources.iter().all(|&from| fires(from)));
        Self { edges, joins: joins.collect() }
    }

    /// Marks nodes that are on no loop, even if every join is complete: they need no closer look.
    fn off_loops(&self) -> Vec<bool> {
        let mut before = vec![vec![]; self.edges.len()];
        let mut after: Vec<usize> = self.edges.iter().map(Vec::len).collect();
        let edges = self.edges.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
        edges.for_each(|(from, to)| before[to].push(from));
        for (sources, to) in &self.joins {
            sources.iter().for_each(|&from| after[from] += 1);
            before[*to].extend(sources);
        }
        let mut todo: Vec<usize> = (0..after.len()).filter(|&node| after[node] == 0).collect();
        let mut left = vec![false; after.len()];
        while let Some(node) = todo.pop() {
            left[node] = true;
            for &from in &before[node] {
                after[from] -= 1;
                if after[from] == 0 {
                    todo.push(from);
                }
            }
        }
        left
    }

    /// Returns the edges that fire sooner or later once a node has ended; joins count when all their sources run.
    fn after(&self, start: usize) -> Vec<Vec<usize>> {
        let mut paths = self.edges.clone();
        let mut open = self.joins.clone();
        loop {
            let come = reachable(&paths, std::iter::once(start));
            let complete = |(sources, _): &&(Vec<usize>, usize)| sources.iter().all(|&source| come[source]);
            let (fired, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(complete);
            if fired.is_empty() {
                return paths;
            }
            fired.iter().for_each(|(sources, to)| sources.iter().for_each(|&from| paths[from].push(*to)));
            open = waiting;
        }
    }
}

fn shortest_loop(after: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut previous: Vec<Option<usize>> = vec![None; after.len()];
    let mut todo = VecDeque::from([start]);
    while let Some(node) = todo.pop_front() {
        for &next in &after[node] {
            if next == start {
                return Some(path_back(&previous, start, node));
            }
            if previous[next].is_none() {
                previous[next] = Some(node);
                todo.push_back(next);
            }
        }
    }
    None
}

/// Marks the nodes reachable from these, themselves included.
fn reachable(paths: &[Vec<usize>], from: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut found = vec![false; paths.len()];
    let mut todo: Vec<usize> = from.collect();
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut found[node], true) {
            todo.extend(&paths[node]);
        }
    }
    found
}

fn path_back(previous: &[Option<usize>], start: usize, last: usize) -> Vec<usize> {
    let mut path = vec![last];
    let mut at = last;
    while at != start {
        let Some(before) = previous[at] else { break };
        path.push(before);
        at = before;
    }
    path.reverse();
    path
}

/// True if a name is reserved for the engine, or contains a separator of names or what a terminal would act on.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.is_empty() || name.starts_with("__") || name.contains(|c: char| "|:/#".contains(c) || c.is_control())
}
