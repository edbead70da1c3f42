//! Compiles the builder to tables: resolves names to indexes and collects every problem on the way.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::builder::{AddedBranch, Edges, GraphParts, StateGraph, source_name, target_name};
use super::compiled::CompiledGraph;
use super::problem::{CompileError, Lint, Problem};
use super::renames::{name_changes, renames};
use super::rows::{asks, declared_questions, rows};
use super::table::{
    Branch, Exits, GraphChannels, GraphIdentity, GraphStops, Join, QuestionSupport, Row, Stops, Table, Wiring,
    index_of, shape,
};
use super::validate::LostEdges;
use crate::graph::node::{Choose, DeclaredTargets, Name, NodeId, Sends, Target};
use crate::graph::records::START_NAME;
use crate::graph::state::stored_value::{distinct_names, short_name};
use crate::graph::state::{AnySchema, Channel, Mask, State};
use crate::graph::view::{AnyChild, Edge, EdgeKind, Outline, OutlineNode};

/// Compiles the parts of a graph.
fn compile(parts: GraphParts, ids: NodeIds) -> Result<Table, CompileError> {
    let GraphParts { schema, name, nodes, calls, edges, branches, stops, allowed, defaults, .. } = parts;
    let (GraphChannels { input, output }, renamed, history) = (parts.channels, parts.renamed, parts.history);
    let mut problems = vec![];
    let nodes = rows(nodes, &ids.all, (&defaults, &renamed, schema.is_data_defined()), &mut problems);
    // Ids of a data-defined graph are open: a list of one source is no mistake there.
    let is_closed = !ids.all.is_empty();
    let mut resolver = Resolver {
        nodes,
        entry: Exits::default(),
        joins: vec![],
        edges: vec![],
        lost: LostEdges::default(),
        problems,
        is_closed,
    };
    // Resolve names to indexes. Problems are collected, so that all are reported at once.
    calls.into_iter().for_each(|(node, child)| resolver.call(&node, child));
    edges.into_iter().for_each(|(from, to)| resolver.edge(&from, &to));
    branches.into_iter().for_each(|branch| resolver.branch(branch));
    resolver.commands();
    let before = resolver.stops(stops.before);
    let after = resolver.stops(stops.after);
    resolver.questions();
    let Resolver { mut nodes, entry, joins, edges, mut lost, mut problems, .. } = resolver;
    // Without an entry every node would be unreachable too: report the cause alone.
    lost.has_no_entry = entry.routers.is_empty() && edges.iter().all(|edge| edge.from.is_some());
    if lost.has_no_entry {
        problems.push(Problem::NoEntry);
    }
    let renamed = renames(&nodes, renamed, &mut problems);
    let outline = outline(&nodes, edges, &joins);
    // Edges that are lost to a problem above count as present, so that each mistake is reported once.
    problems.extend(outline.lints(&allowed, &lost));
    let input = mask(&schema, input, &mut problems);
    let output = mask(&schema, output, &mut problems);
    for row in &mut nodes {
        row.reads = mask(&schema, row.options.reads.clone(), &mut problems);
    }
    // Nothing below this can fail.
    if !problems.is_empty() {
        return Err(CompileError::new(problems));
    }
    let shape = Arc::new(shape(&schema, &nodes, &joins, (history.version, name_changes(&schema, &renamed))));
    let deferred = nodes.iter().map(|row| row.options.defer).collect();
    let can_ask = nodes.iter().any(asks);
    // Threads store the shape; its hash tells the versions of a graph apart.
    let fingerprint = shape.fingerprint();
    let has_secrets = schema.channels().iter().any(Channel::is_secret);
    let table = Table {
        identity: GraphIdentity { name, shape, fingerprint, renamed, pinned: history.pinned, types: ids.types },
        schema,
        nodes,
        entry,
        wiring: Wiring { joins, deferred },
        channels: GraphChannels { input, output },
        stops: GraphStops { before, after },
        outline,
        questions: QuestionSupport { declared: can_ask, unresumable: allowed.contains(&Lint::Unresumable) },
        has_secrets,
    };
    Ok(table)
}

struct Resolver {
    nodes: Vec<Row>,
    entry: Exits,
    joins: Vec<Join>,
    edges: Vec<Edge>,
    lost: LostEdges,
    problems: Vec<Problem>,
    is_closed: bool,
}

impl Resolver {
    fn node_index(&self, node: &Name) -> Option<u32> {
        index_of(&self.nodes, node.as_str())
    }

    fn call(&mut self, node: &Name, child: AnyChild) {
        match self.node_index(node) {
            Some(at) => self.nodes[at as usize].children.push(child),
            None => self.problems.push(Problem::UnknownCaller { node: node.name().to_owned() }),
        }
    }

    fn edge(&mut self, from: &Edges<Name>, to: &Target<Name>) {
        if let Edges::Join(sources) = from {
            return self.join(sources, to);
        }
        let label = source_name(from);
        let Some(source) = self.source(from, to) else { return self.note_lost_targets(&label, to) };
        let to = &resolve_empty(to);
        let targets = self.targets(&label, to);
        if targets.iter().any(|target| target.sent) {
            self.sends(source, to);
        }
        for target in targets {
            self.edges.push(Edge { from: source, to: target.node, kind: EdgeKind::Always, label: String::new() });
            if target.sent {
                continue;
            }
            self.startable(&label, target.node);
            if let Some(node) = target.node {
                self.exits(source).targets.push(node as u32);
            }
        }
    }

    /// Notes where an edge leads whose source is unknown.
    fn note_lost_targets(&mut self, label: &str, to: &Target<Name>) {
        let targets = self.targets(label, to);
        self.lost.into.extend(targets.into_iter().filter_map(|target| target.node));
    }

    /// Adds a router that starts the workers each time the edge fires.
    fn sends(&mut self, source: Option<usize>, to: &Target<Name>) {
        let sends = only_sends(to);
        let choose: Choose = Box::new(move |_, _| Some(sends.clone()));
        self.exits(source).routers.push(Branch { choose, only: None });
    }

    fn exits(&mut self, source: Option<usize>) -> &mut Exits {
        match source {
            Some(node) => &mut self.nodes[node].exits,
            None => &mut self.entry,
        }
    }

    /// Returns the source's index; the inner `None` is START.
    fn source(&mut self, from: &Edges<Name>, to: &Target<Name>) -> Option<Option<usize>> {
        match from {
            Edges::Start => Some(None),
            Edges::End => self.report(Problem::EndAsSource),
            Edges::One(node) if node.name() == "__end__" => self.report(Problem::EndAsSource),
            Edges::One(node) if node.name() == START_NAME => Some(None),
            Edges::One(node) => match self.node_index(node) {
                Some(at) => Some(Some(at as usize)),
                None => self.report(Problem::UnknownSource { from: node.name().to_owned(), to: target_name(to) }),
            },
            Edges::Join(_) => None,
        }
    }

    fn report<T>(&mut self, problem: Problem) -> Option<T> {
        self.problems.push(problem);
        None
    }

    fn join(&mut self, sources: &[Name], to: &Target<Name>) {
        let name = format!("[{}]", sources.iter().map(NodeId::name).collect::<Vec<_>>().join(", "));
        let known: Vec<u32> = sources.iter().filter_map(|node| self.join_node(node, &name)).collect();
        let known = dedup(known);
        if let Target::Node(node) = to
            && self.join_node(node, &name).is_none()
        {
            self.lost.has_unknown_target = true;
            return;
        }
        for target in self.targets(&name, &resolve_empty(to)) {
            let Some(node) = target.node else { continue };
            if known.is_empty() {
                self.lost.into.push(node);
            }
            if target.sent {
                self.only_sent(&name, node);
            } else {
                self.startable(&name, target.node);
            }
            if sources.windows(2).all(|pair| pair[0] == pair[1]) && self.is_closed {
                self.problems.push(Problem::JoinOfOne { target: target_name(to) });
            }
            let join = self.joins.len() as u32;
            for (bit, &source) in (0u32..).zip(&known) {
                self.nodes[source as usize].exits.arrivals.push((join, bit));
            }
            self.joins.push(Join { target: node as u32, sources: known.clone() });
        }
    }

    fn join_node(&mut self, node: &Name, join: &str) -> Option<u32> {
        let found = self.node_index(node);
        if found.is_none() {
            let problem = match node.name() {
                "__end__" => Problem::EndAsSource,
                name => Problem::UnknownJoinNode { node: name.to_owned(), join: join.to_owned() },
            };
            self.problems.push(problem);
        }
        found
    }

    fn branch(&mut self, branch: AddedBranch) {
        let AddedBranch { from, name, choose, declared, closed } = branch;
        let label = source_name(&from);
        let Some(source) = self.source(&from, &Target::End) else {
            let DeclaredTargets::Only(outcomes) = declared else { return self.lost.has_unknown_target = true };
            return outcomes.iter().for_each(|(_, target)| self.note_lost_targets(&label, target));
        };
        if let Some(name) = name {
            self.branch_name(source, &label, &name);
        }
        let only = match declared {
            DeclaredTargets::Anywhere => None,
            DeclaredTargets::Only(outcomes) => Some(self.outcomes(source, &label, outcomes)),
        };
        let only = if closed { None } else { only };
        self.exits(source).routers.push(Branch { choose, only });
    }

    fn branch_name(&mut self, source: Option<usize>, label: &str, name: &str) {
        let tag = format!("\u{0}{name}");
        let taken = self.edges.iter().any(|edge| edge.from == source && edge.label == tag);
        if taken {
            self.problems.push(Problem::BranchTwice { from: label.to_owned(), name: name.to_owned() });
        }
        // a marker for later routers; `outline` drops it
        self.edges.push(Edge { from: source, to: None, kind: EdgeKind::Commanded, label: tag });
    }

    fn outcomes(&mut self, source: Option<usize>, label: &str, outcomes: Vec<(String, Target<Name>)>) -> Vec<u32> {
        let mut only = vec![];
        for (outcome, target) in outcomes {
            for to in self.targets(label, &target) {
                let kind = if to.sent { EdgeKind::Sent } else { EdgeKind::Routed };
                self.edges.push(Edge { from: source, to: to.node, kind, label: outcome.clone() });
                only.extend(to.node.map(|node| node as u32));
                if !to.sent {
                    self.startable(label, to.node);
                }
            }
        }
        only
    }

    /// Adds declared destinations of commands as edges for validation and drawing, and as a check at run time.
    fn commands(&mut self) {
        for at in 0..self.nodes.len() {
            let Some(declared) = self.nodes[at].options.destinations.clone() else { continue };
            let label = self.nodes[at].name.to_string();
            let mut only = vec![];
            let declared: Vec<ResolvedTarget> =
                declared.iter().flat_map(|target| self.targets(&label, target)).collect();
            for to in declared {
                self.edges.push(Edge { from: Some(at), to: to.node, kind: EdgeKind::Commanded, label: String::new() });
                only.extend(to.node.map(|node| node as u32));
            }
            self.nodes[at].exits.destinations = Some(only);
        }
    }

    fn stops(&mut self, stops: Stops<Name>) -> Stops<u32> {
        match stops {
            Stops::None => Stops::None,
            Stops::All => Stops::All,
            Stops::At(nodes) => Stops::At(nodes.iter().filter_map(|node| self.stop(node)).collect()),
        }
    }

    fn stop(&mut self, node: &Name) -> Option<u32> {
        let found = self.node_index(node);
        if found.is_none() {
            self.problems.push(Problem::UnknownBreakpoint { node: node.name().to_owned() });
        }
        found
    }

    fn questions(&mut self) {
        let mut known: BTreeMap<&'static str, &'static str> = BTreeMap::new();
        for (name, type_name) in self.nodes.iter().flat_map(declared_questions) {
            let first = *known.entry(name).or_insert(type_name);
            if first != type_name {
                let (first, second) = distinct_names(first, type_name);
                self.problems.push(Problem::QuestionTwice { name: name.to_owned(), first, second });
            }
        }
    }

    fn startable(&mut self, from: &str, node: Option<usize>) {
        if let Some(node) = node.filter(|&node| !self.nodes[node].body.by_edges()) {
            self.only_sent(from, node);
        }
    }

    fn only_sent(&mut self, from: &str, node: usize) {
        let row = &self.nodes[node];
        let takes = row.body.payload_type().map_or(String::new(), |(_, takes)| short_name(takes));
        let (from, worker) = (from.to_owned(), row.name.to_string());
        self.problems.push(Problem::EdgeToWorker { from, worker, takes });
    }

    fn targets(&mut self, from: &str, to: &Target<Name>) -> Vec<ResolvedTarget> {
        match to {
            Target::End => vec![ResolvedTarget { node: None, sent: false }],
            Target::Node(node) if node.name() == "__end__" => vec![ResolvedTarget { node: None, sent: false }],
            Target::Node(node) => self
                .find_target(from, node)
                .map(|at| ResolvedTarget { node: Some(at), sent: false })
                .into_iter()
                .collect(),
            Target::Sends(sends) => {
                let sent = self.send(from, sends);
                let empty = sends.empty.as_deref().map(|target| self.targets(from, target));
                sent.into_iter().chain(empty.into_iter().flatten()).collect()
            }
            Target::Many(many) => many.iter().flat_map(|target| self.targets(from, target)).collect(),
        }
    }

    fn find_target(&mut self, from: &str, node: &Name) -> Option<usize> {
        if let Some(at) = self.node_index(node) {
            return Some(at as usize);
        }
        if node.name() == START_NAME {
            self.problems.push(Problem::StartAsTarget { from: from.to_owned() });
        } else {
            self.lost.has_unknown_target = true;
            self.problems.push(Problem::UnknownTarget { from: from.to_owned(), to: node.name().to_owned() });
        }
        None
    }

    fn send(&mut self, from: &str, sends: &Sends<Name>) -> Option<ResolvedTarget> {
        let at = self.find_target(from, &sends.node)?;
        let (from, worker, sent) = (from.to_owned(), self.nodes[at].name.to_string(), short_name(sends.type_name));
        match self.nodes[at].body.payload_type() {
            Some((takes, _)) if takes == sends.takes => {}
            _ if self.nodes[at].body.is_missing() => {}
            Some((_, takes)) => {
                let takes = short_name(takes);
                self.problems.push(Problem::WrongPayload { from, worker, takes, sent });
            }
            None => self.problems.push(Problem::SendToNode { from, node: worker, sent }),
        }
        Some(ResolvedTarget { node: Some(at), sent: true })
    }
}

struct ResolvedTarget {
    /// `None` is END.
    node: Option<usize>,
    sent: bool,
}

/// Replaces empty lists of sends by their fallback target: the payloads of an edge never change.
fn resolve_empty(to: &Target<Name>) -> Target<Name> {
    match to {
        Target::Sends(Sends { payloads, empty: Some(target), .. }) if payloads.is_empty() => resolve_empty(target),
        Target::Sends(sends) => Target::Sends(Sends { empty: None, ..sends.clone() }),
        Target::Many(many) => Target::Many(many.iter().map(resolve_empty).collect()),
        Target::End | Target::Node(_) => to.clone(),
    }
}

fn only_sends(to: &Target<Name>) -> Target<Name> {
    match to {
        Target::End | Target::Node(_) => Target::End,
        Target::Sends(_) => to.clone(),
        Target::Many(many) => Target::Many(many.iter().map(only_sends).collect()),
    }
}

fn dedup(mut nodes: Vec<u32>) -> Vec<u32> {
    let mut seen = Mask::default();
    nodes.retain(|&node| seen.insert(node as usize));
    nodes
}

fn outline(nodes: &[Row], mut edges: Vec<Edge>, joins: &[Join]) -> Outline {
    edges.retain(|edge| !edge.label.starts_with('\u{0}'));
    let node = |row: &Row| OutlineNode {
        name: row.name.to_string(),
        defer: row.options.defer,
        is_handled: row.options.on_error.is_some(),
        is_missing: row.body.is_missing(),
    };
    let joins =
        joins.iter().map(|join| (join.sources.iter().map(|&at| at as usize).collect(), join.target as usize)).collect();
    Outline { nodes: nodes.iter().map(node).collect(), edges, joins }
}

fn mask(schema: &AnySchema, names: Option<Vec<String>>, problems: &mut Vec<Problem>) -> Option<Mask> {
    let channels = schema.channels();
    let mut find = |name: String| {
        let found = channels.iter().position(|channel| channel.name() == name);
        if found.is_none() {
            problems.push(Problem::UnknownChannel { channel: name });
        }
        found
    };
    names.map(|names| names.into_iter().filter_map(&mut find).collect())
}

/// The node ids of a graph.
struct NodeIds {
    /// The types of the state and the node ids.
    types: TypeId,
    /// All of them, if their set is closed.
    all: Vec<Name>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Checks the graph and compiles it to tables.
    ///
    /// # Errors
    /// [`CompileError`] with every problem at once, [`Lint`]s included. A variant without a node counts as a node of its
    /// name, so that it hides no other problem.
    pub fn compile(self) -> Result<CompiledGraph<S, N, C>, CompileError> {
        let ids = NodeIds { types: TypeId::of::<(S, N)>(), all: N::all().iter().map(NodeId::to_name).collect() };
        compile(self.parts, ids).map(CompiledGraph::new)
    }
}
