//! Turns added nodes into rows of the table, in name order.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_base::Fnv;

use super::builder::AddedNode;
use super::problem::Problem;
use super::table::{Exits, Row, RowExecution, Table};
use super::validate::is_reserved;
use crate::graph::context::{NodeMeta, permits};
use crate::graph::node::{Body, BodyType, CachePolicy, MissingBody, Name, NodeDefaults, RowOptions};
use crate::graph::records::HANDLER;
use crate::graph::records::clock::random;
use crate::graph::view::AnyChild;

/// True if a node, or its subgraph, can interrupt.
pub(crate) fn asks(row: &Row) -> bool {
    let own = row.facts.asks.as_ref().is_none_or(|asks| !asks.is_empty());
    own || row.children.iter().any(|child| child.0.can_ask())
}

/// True if a node, or its subgraph, can interrupt or wait for a signal.
pub(crate) fn may_wait(row: &Row) -> bool {
    asks(row) || !row.facts.receives.is_empty() || row.children.iter().any(|child| !child.0.signals().is_empty())
}

/// Returns the names and types of the questions that a node and its subgraphs declare.
pub(crate) fn declared_questions(row: &Row) -> Vec<(&'static str, &'static str)> {
    let own = row.options.declared.asks.iter();
    let own = own.flat_map(|(name, asks)| asks.iter().map(move |ask| (*name, ask.type_name)));
    own.chain(row.children.iter().flat_map(|child| child.0.declared())).collect()
}

pub(crate) fn rows(
    added: Vec<AddedNode>,
    all: &[Name],
    (defaults, renamed, is_data_defined): (&NodeDefaults, &[(String, Name)], bool),
    problems: &mut Vec<Problem>,
) -> Vec<Row> {
    let mut by_name: BTreeMap<String, AddedNode> = BTreeMap::new();
    for node in added {
        let name = node.id.as_str().to_owned();
        if is_reserved(&name) {
            problems.push(Problem::ReservedName { node: name.clone() });
        }
        if by_name.insert(name.clone(), node).is_some() {
            problems.push(Problem::AddedTwice { node: name });
        }
    }
    for id in all.iter().cloned() {
        let name = id.as_str().to_owned();
        by_name.entry(name.clone()).or_insert_with(|| {
            problems.push(Problem::NotAdded { node: name });
            AddedNode { id, body: Box::new(MissingBody), options: RowOptions::default(), children: vec![] }
        });
    }
    let first_name = |id: &Name| {
        let first = renamed.iter().find(|(_, node)| node.as_str() == id.as_str());
        first.map_or_else(|| id.as_str().into(), |(was, _)| was.as_str().into())
    };
    by_name
        .into_values()
        .map(|node| (first_name(&node.id), node))
        .map(|(first, node)| row(node, first, (defaults, is_data_defined)))
        .collect()
}

fn row(node: AddedNode, first: Arc<str>, (defaults, by_position): (&NodeDefaults, bool)) -> Row {
    let AddedNode { id, body, mut options, children } = node;
    options.execution.fill_from(&defaults.0);
    let asks = (!options.declared.asks_anything).then(|| Arc::new(options.declared.asks.clone()));
    let receives = Arc::new(options.declared.receives.clone());
    let group = options.group.as_ref().map(|(name, limit)| permits::group(name, *limit));
    let simple = is_simple(&options);
    let name: Arc<str> = id.as_str().into();
    let tags: Arc<[String]> = std::mem::take(&mut options.tags).into();
    let facts = |name, first_name, handler| {
        let (asks, receives, tags) = (asks.clone(), Arc::clone(&receives), Arc::clone(&tags));
        Arc::new(NodeMeta { name, first_name, asks, receives, tags, handler, by_position })
    };
    let handler = facts(format!("{HANDLER}{name}").into(), format!("{HANDLER}{first}").into(), true);
    let facts = facts(Arc::clone(&name), first, false);
    let cache_key = options.execution.cache.map(|policy| cache_key(policy, &*body, &children));
    Row {
        name,
        facts,
        handler,
        body,
        options,
        reads: None,
        exits: Exits::default(),
        children,
        execution: RowExecution { group, simple, cache_key, longest: Arc::default() },
    }
}

/// Returns what tells the results of a body in a cache from those of another body of this name: its type, the types below
/// it, and what it holds. That is named by the policy's key; without one, it is of this build alone.
fn cache_key(policy: CachePolicy, body: &dyn Body, children: &[AnyChild]) -> Vec<u8> {
    let body_type = body.body_type();
    let mut hash = Fnv::new();
    mix_body(&mut hash, body_type, children);
    let (tag, held) = match policy.key {
        Some(given) => (1, given.to_le_bytes().to_vec()),
        None if body_type.holds_values => {
            (2, [random(), random()].iter().flat_map(|part| part.to_le_bytes()).collect())
        }
        None => (0, vec![]),
    };
    [body_type.name.as_bytes(), &[0], &hash.finish().to_le_bytes(), &[tag], &held].concat()
}

/// Returns a hash of the bodies of a graph and of those below it.
pub(crate) fn bodies(table: &Table) -> u64 {
    let mut hash = Fnv::new();
    hash.mix(&table.identity.fingerprint.to_le_bytes());
    table.nodes.iter().for_each(|row| mix_body(&mut hash, row.body.body_type(), &row.children));
    hash.finish()
}

fn mix_body(hash: &mut Fnv, body_type: BodyType, children: &[AnyChild]) {
    hash.mix(body_type.name.as_bytes());
    hash.mix(&body_type.hash.to_le_bytes());
    children.iter().for_each(|child| hash.mix(&child.0.bodies().to_le_bytes()));
}

/// True if the body needs no timer, cache or error handler around it.
fn is_simple(options: &RowOptions) -> bool {
    options.execution.is_plain() && options.on_error.is_none()
}
