//! Finds everything wrong with an outline of a graph at once. Pure: names and indexes in, problems out.

use std::collections::{BTreeSet, VecDeque};

use super::problem::{Lint, Problem};
use crate::graph::view::{EdgeKind, Outline};

impl Outline {
    /// Returns the lints' findings, in node order. V14.
    ///
    /// If edges are missing because of other problems, every node counts as reachable.
    pub(crate) fn lints(&self, allowed: &BTreeSet<Lint>, has_all_edges: bool) -> Vec<Problem> {
        let mut ways = Ways::of(self);
        if !has_all_edges {
            ways.reached.fill(true);
        }
        let found =
            [self.unreachable(&ways), self.trapped(&ways), self.endless(&ways), self.conditional_joins()].concat();
        found.into_iter().filter(|problem| problem.lint().is_none_or(|lint| !allowed.contains(&lint))).collect()
    }

    fn unreachable(&self, ways: &Ways) -> Vec<Problem> {
        let missed = self.nodes.iter().zip(&ways.reached).filter(|(node, reached)| !**reached && !node.is_missing);
        missed.map(|(node, _)| Problem::Unreachable { node: node.name.clone() }).collect()
    }

    /// A node is trapped if it lies on a loop and no way from it comes to an end.
    fn trapped(&self, ways: &Ways) -> Vec<Problem> {
        let mut told = vec![false; self.nodes.len()];
        let mut problems = vec![];
        for node in 0..self.nodes.len() {
            if ways.ends[node] || !ways.reached[node] || told[node] {
                continue;
            }
            if let Some(path) = shortest_loop(&ways.after, node) {
                path.iter().for_each(|&at| told[at] = true);
                problems.push(Problem::TrappedLoop { path: self.around(&path), commands: self.commands(&path) });
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

    /// A loop is endless if its edges and joins fire every time, whatever else they lead to: no router chooses in it, and
    /// no error handler takes the place of a node in it. Gotos are added to edges, so none leads out of it.
    fn endless(&self, ways: &Ways) -> Vec<Problem> {
        let sure = Sure::of(self);
        let mut told = sure.left_for_good();
        let mut problems = vec![];
        for node in 0..self.nodes.len() {
            // what has no way to END at all is told as trapped
            if told[node] || !ways.reached[node] || !ways.ends[node] {
                continue;
            }
            if let Some(path) = shortest_loop(&sure.after(node), node) {
                path.iter().for_each(|&at| told[at] = true);
                problems.push(Problem::EndlessLoop { path: self.around(&path) });
            }
        }
        problems
    }

    /// The names along a loop, back at the first.
    fn around(&self, path: &[usize]) -> Vec<String> {
        path.iter().chain(path.first()).map(|&at| self.nodes[at].name.clone()).collect()
    }

    /// A join's source is conditional if a router (or a send) leads to it and no plain edge does. A join of one source is a
    /// plain edge, and reported as such.
    fn conditional_joins(&self) -> Vec<Problem> {
        let mut problems = vec![];
        for (sources, target) in self.joins.iter().filter(|(sources, _)| sources.len() > 1) {
            for &source in sources.iter().filter(|&&source| self.only_conditional(source)) {
                let name = |at: usize| self.nodes[at].name.clone();
                problems.push(Problem::ConditionalJoin { source: name(source), target: name(*target) });
            }
        }
        problems
    }

    fn only_conditional(&self, node: usize) -> bool {
        let mut into = self.edges.iter().filter(|edge| edge.to == Some(node)).peekable();
        let joined = self.joins.iter().any(|(_, target)| *target == node);
        !joined && into.peek().is_some() && into.all(|edge| edge.kind != EdgeKind::Always)
    }
}

/// Where one comes from each node, looked up once.
struct Ways {
    after: Vec<Vec<usize>>,
    /// Which nodes a run can come to.
    reached: Vec<bool>,
    /// Which nodes have a way to END, or to a node that nothing follows.
    ends: Vec<bool>,
}

impl Ways {
    fn of(outline: &Outline) -> Self {
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
        let (reached, ends) = (spread(&after, entry), spread(&before, to_end.chain(dead)));
        Self { after, reached, ends }
    }
}

/// What fires every time a node has ended, whatever the state and its command say.
struct Sure<'a> {
    edges: Vec<Vec<usize>>,
    joins: Vec<&'a (Vec<usize>, usize)>,
}

impl<'a> Sure<'a> {
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

    /// Which nodes no loop can come back to, even if every join is complete: they need no closer look.
    fn left_for_good(&self) -> Vec<bool> {
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

    /// The ways that are taken sooner or later once a node has ended, joins included when all their sources come.
    fn after(&self, start: usize) -> Vec<Vec<usize>> {
        let mut ways = self.edges.clone();
        let mut open = self.joins.clone();
        loop {
            let come = spread(&ways, std::iter::once(start));
            let complete = |(sources, _): &&(Vec<usize>, usize)| sources.iter().all(|&source| come[source]);
            let (fired, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(complete);
            if fired.is_empty() {
                return ways;
            }
            fired.iter().for_each(|(sources, to)| sources.iter().for_each(|&from| ways[from].push(*to)));
            open = waiting;
        }
    }
}

/// The shortest loop through a node.
fn shortest_loop(after: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from: Vec<Option<usize>> = vec![None; after.len()];
    let mut todo = VecDeque::from([start]);
    while let Some(node) = todo.pop_front() {
        for &next in &after[node] {
            if next == start {
                return Some(path_back(&came_from, start, node));
            }
            if came_from[next].is_none() {
                came_from[next] = Some(node);
                todo.push_back(next);
            }
        }
    }
    None
}

/// Everything that the ways lead to from these nodes, themselves included.
fn spread(ways: &[Vec<usize>], from: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut found = vec![false; ways.len()];
    let mut todo: Vec<usize> = from.collect();
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut found[node], true) {
            todo.extend(&ways[node]);
        }
    }
    found
}

fn path_back(came_from: &[Option<usize>], start: usize, last: usize) -> Vec<usize> {
    let mut path = vec![last];
    let mut at = last;
    while at != start {
        let Some(before) = came_from[at] else { break };
        path.push(before);
        at = before;
    }
    path.reverse();
    path
}

/// Whether a name is kept for the engine (M8), or holds what it parts names with.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.is_empty() || name.starts_with("__") || name.contains(['|', ':', '/', '#', '\0'])
}
