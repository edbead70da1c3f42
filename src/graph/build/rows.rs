//! Turns added nodes into rows of the table, in name order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builder::AddedNode;
use super::problem::Problem;
use super::table::{Exits, Row, RowExecution};
use super::validate::is_reserved;
use crate::graph::context::{NodeMeta, permits};
use crate::graph::node::{MissingBody, Name, NodeDefaults, RowOptions};
use crate::graph::records::HANDLER;
use crate::graph::records::clock::random;

/// True if a node, or its subgraph, can interrupt.
pub(crate) fn asks(row: &Row) -> bool {
    let own = row.facts.asks.as_ref().is_none_or(|asks| !asks.is_empty());
    own || row.children.iter().any(|child| child.0.can_ask())
}

/// Returns the names and types of the questions that a node and its subgraphs declare.
pub(crate) fn declared(row: &Row) -> Vec<(&'static str, &'static str)> {
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
    let unkeyed = options.execution.cache.is_some_and(|policy| policy.key.is_none());
    let instance = (unkeyed && body.holds_values()).then(|| [random(), random()]);
    Row {
        name,
        facts,
        handler,
        body,
        options,
        reads: None,
        exits: Exits::default(),
        children,
        execution: RowExecution { group, simple, instance, longest: Arc::default() },
    }
}

/// True if the body needs no timer, cache or error handler around it.
fn is_simple(options: &RowOptions) -> bool {
    options.execution.is_plain() && options.on_error.is_none()
}
