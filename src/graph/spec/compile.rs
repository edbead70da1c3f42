//! Compiles a document to a graph; reports every problem at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::graph_spec::{ChannelSpec, EdgeSpec, GraphSpec, OneOrMany, RouterSpec};
use super::problem::{SpecError, SpecProblem};
use super::registry::{Entry, Registry, SharedNode, SharedWorker, missing};
use crate::graph::build::{CompiledGraph, Edges, StateGraph};
use crate::graph::node::{Declared, END, Name, Target, Worker};
use crate::graph::state::{DataSchema, DataState, SchemaError};

const START_NAME: &str = "START";
const END_NAME: &str = "END";

type Draft<C> = StateGraph<DataState, Name, C>;

impl GraphSpec {
    /// Compiles the graph, with bodies from a registry.
    ///
    /// # Errors
    /// [`SpecError`] with all problems of the document and the graph.
    pub fn compile<C: Send + Sync + 'static>(
        &self,
        registry: &Registry<C>,
    ) -> Result<CompiledGraph<DataState, Name, C>, SpecError> {
        let mut problems = vec![];
        let schema = self.schema().unwrap_or_else(|error| {
            problems.push(SpecProblem::Channels(error));
            DataSchema::default()
        });
        let mut graph = Draft::<C>::with_schema(schema.clone());
        for (node, body) in &self.nodes {
            graph = add(graph, registry, (node, body), &schema, &mut problems);
        }
        graph = self.edges.iter().fold(graph, |graph, EdgeSpec { from, to }| graph.add_edge(edges(from), target(to)));
        for router in &self.routers {
            graph = route(graph, router, &schema, &mut problems);
        }
        let names = |nodes: &[String]| nodes.iter().map(|node| Name::from(node.as_str())).collect::<Vec<_>>();
        graph = graph.interrupt_before(names(&self.interrupt_before)).interrupt_after(names(&self.interrupt_after));
        let compiled = graph.compile();
        if let Err(error) = &compiled {
            problems.extend(error.problems().iter().cloned().map(SpecProblem::Graph));
        }
        match compiled {
            Ok(graph) if problems.is_empty() => Ok(match &self.name {
                Some(name) => graph.named(name.as_str()),
                None => graph,
            }),
            _ => Err(SpecError { problems }),
        }
    }

    fn schema(&self) -> Result<DataSchema, SchemaError> {
        let channels = self.channels.iter().map(|(name, channel)| (name.as_str(), channel.kind()));
        let secret = self.channels.iter().filter(|(_, channel)| ChannelSpec::is_secret(channel));
        secret.map(|(name, _)| name).try_fold(DataSchema::new(channels)?, |schema, name| schema.secret(name))
    }
}

fn add<C: Send + Sync + 'static>(
    graph: Draft<C>,
    registry: &Registry<C>,
    (node, body): (&str, &str),
    schema: &DataSchema,
    problems: &mut Vec<SpecProblem>,
) -> Draft<C> {
    match registry.find(body) {
        Some(Entry::Node(found)) => graph.add_node(node.into(), SharedNode(Arc::clone(found))),
        Some(Entry::Worker(worker)) => {
            let worker = SharedWorker { worker: worker.clone(), schema: schema.clone() };
            graph.add_worker(Worker::<Name, Value>::new(node.into()), worker)
        }
        None => {
            let (node_name, body, known) = (node.to_owned(), body.to_owned(), registry.names());
            problems.push(SpecProblem::UnknownBody { node: node_name, body, known });
            graph.add_node(node.into(), missing::<C>)
        }
    }
}

fn route<C: Send + Sync + 'static>(
    graph: Draft<C>,
    router: &RouterSpec,
    schema: &DataSchema,
    problems: &mut Vec<SpecProblem>,
) -> Draft<C> {
    let RouterSpec { from, field, to, each, otherwise } = router;
    let Some(channel) = schema.channel(field) else {
        let known = schema.names().map(str::to_owned).collect();
        problems.push(SpecProblem::UnknownField { from: from.clone(), field: field.clone(), known });
        return declared_only(graph, router);
    };
    let start = edges(&OneOrMany::One(from.clone()));
    let other = target(otherwise);
    match (each, to.is_empty()) {
        (Some(worker), true) => {
            let worker = Worker::<Name, Value>::new(worker.as_str().into());
            let items = move |state: &DataState| match state.get(channel).and_then(Value::as_array) {
                Some(items) if !items.is_empty() => worker.each(items.iter().cloned()).into(),
                _ => other.clone(),
            };
            graph.add_branch(start, field.as_str(), items, declared(router))
        }
        (None, false) => {
            let to: BTreeMap<String, Target<Name>> = to.iter().map(|(value, to)| (value.clone(), target(to))).collect();
            let choose = move |state: &DataState| to.get(&spelled(state.get(channel))).unwrap_or(&other).clone();
            graph.add_branch(start, field.as_str(), choose, declared(router))
        }
        _ => {
            problems.push(SpecProblem::NoChoice { from: from.clone(), field: field.clone() });
            declared_only(graph, router)
        }
    }
}

/// Adds a router that chooses END, so that its declared targets still count as reachable.
fn declared_only<C: Send + Sync + 'static>(graph: Draft<C>, router: &RouterSpec) -> Draft<C> {
    let start = edges(&OneOrMany::One(router.from.clone()));
    graph.add_branch(start, router.field.as_str(), |_: &DataState| Target::End, declared(router))
}

fn declared(router: &RouterSpec) -> Declared<Name> {
    let values = router.to.iter().map(|(value, to)| (value.clone(), target(to)));
    let worker = |name: &String| Worker::<Name, Value>::new(name.as_str().into()).each([]).into();
    let each = router.each.iter().map(|name| ("each".to_owned(), worker(name)));
    let otherwise = ("otherwise".to_owned(), target(&router.otherwise));
    Declared::from(values.chain(each).chain([otherwise]).collect::<Vec<_>>())
}

/// Returns a value in the spelling of `to`'s keys.
fn spelled(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "null".into(),
    }
}

fn edges(from: &OneOrMany) -> Edges<Name> {
    match from {
        OneOrMany::One(name) if name == START_NAME => Edges::Start,
        OneOrMany::One(name) if name == END_NAME => END.into(),
        OneOrMany::One(name) => Edges::One(name.as_str().into()),
        OneOrMany::Many(names) => names.iter().map(|name| Name::from(name.as_str())).collect::<Vec<_>>().into(),
    }
}

fn target(to: &OneOrMany) -> Target<Name> {
    let one = |name: &String| if name == END_NAME { Target::End } else { Target::Node(name.as_str().into()) };
    match to {
        OneOrMany::One(name) => one(name),
        OneOrMany::Many(names) => Target::Many(names.iter().map(one).collect()),
    }
}
