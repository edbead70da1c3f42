//! The bodies that are registered for documents, and a document compiled to a graph with them: reports every problem at once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep_base::gather;

use super::graph_spec::{ChannelSpec, EdgeSpec, GraphSpec, GraphSpecError, GraphSpecProblem, OneOrMany, RouterSpec};
use crate::graph::build::{CompiledGraph, Edges, StateGraph};
use crate::graph::context::Ctx;
use crate::graph::error::NodeError;
use crate::graph::node::{
    BodyType, Command, DeclaredTargets, END, IntoCommand, Name, Node, NodeOptions, NodeResult, Target, Work, Worker,
};
use crate::graph::state::{Boxed, DataSchema, DataState, SchemaError, Writes};

const START_NAME: &str = "START";
const END_NAME: &str = "END";

type WorkFn<C> = dyn Fn(Arc<Value>, Ctx<C>) -> Boxed<'static, Result<Value, NodeError>> + Send + Sync;

enum Entry<C> {
    Node(Arc<dyn Node<DataState, Name, C>>),
    Worker(RegisteredWorker<C>),
}

/// A worker without its type.
struct RegisteredWorker<C> {
    work: Arc<WorkFn<C>>,
    body_type: BodyType,
}

impl<C> Clone for RegisteredWorker<C> {
    fn clone(&self) -> Self {
        Self { work: Arc::clone(&self.work), body_type: self.body_type }
    }
}

/// Bodies of nodes by name, for [`GraphSpec::compile`].
#[must_use]
pub struct Registry<C = ()>(BTreeMap<String, Entry<C>>);

impl<C> fmt::Debug for Registry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<C> Default for Registry<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: Send + Sync + 'static> Registry<C> {
    /// Returns a registry without bodies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node, with its options: `.node("ask", ask.asks::<AnyQuestion>())`. Replaces one with the same name.
    pub fn node(mut self, name: impl Into<String>, node: impl Node<DataState, Name, C>) -> Self {
        self.0.insert(name.into(), Entry::Node(Arc::new(node)));
        self
    }

    /// Adds a worker: it gets an item of a list, and returns an object with a key for each channel to write.
    pub fn worker<F, Fut, E>(mut self, name: impl Into<String>, work: F) -> Self
    where
        F: Fn(Arc<Value>, Ctx<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<NodeError>,
    {
        let body_type = BodyType::of::<F>(size_of::<F>());
        let work: Arc<WorkFn<C>> = Arc::new(move |item, ctx| {
            let done = work(item, ctx);
            Box::pin(async move { done.await.map_err(Into::into) })
        });
        self.0.insert(name.into(), Entry::Worker(RegisteredWorker { work, body_type }));
        self
    }

    fn find(&self, name: &str) -> Option<&Entry<C>> {
        self.0.get(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

struct SharedNode<C>(Arc<dyn Node<DataState, Name, C>>);

impl<C: Send + Sync + 'static> Node<DataState, Name, C> for SharedNode<C> {
    fn run(&self, state: Arc<DataState>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<DataState, Name>> {
        self.0.run(state, ctx)
    }

    fn options(&self) -> NodeOptions<DataState, Name, C> {
        self.0.options()
    }

    fn body_type(&self) -> BodyType {
        self.0.body_type()
    }
}

struct SharedWorker<C> {
    worker: RegisteredWorker<C>,
    schema: DataSchema,
}

impl<C: Send + Sync + 'static> Work<DataState, Name, C, Value> for SharedWorker<C> {
    fn run(&self, payload: Arc<Value>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<DataState, Name>> {
        let (done, schema) = ((self.worker.work)(payload, ctx), self.schema.clone());
        Box::pin(async move {
            let writes = Writes::from_json(&schema, &done.await?).map_err(NodeError::permanent)?;
            let command: Command<DataState, Name> = writes.into_command();
            Ok(command)
        })
    }

    fn body_type(&self) -> BodyType {
        self.worker.body_type
    }
}

/// The placeholder for an unregistered body, so that the rest of the graph can be checked.
async fn missing_body<C>(_: Arc<DataState>, _: Ctx<C>) -> Result<(), NodeError> {
    Err(NodeError::permanent("its body is not registered"))
}

type Draft<C> = StateGraph<DataState, Name, C>;

impl GraphSpec {
    /// Compiles the graph, with bodies from a registry.
    ///
    /// # Errors
    /// [`GraphSpecError`] with all problems of the document and the graph.
    pub fn compile<C: Send + Sync + 'static>(
        &self,
        registry: &Registry<C>,
    ) -> Result<CompiledGraph<DataState, Name, C>, GraphSpecError> {
        let mut problems = vec![];
        let schema = self.schema().unwrap_or_else(|error| {
            problems.push(GraphSpecProblem::Channels(error));
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
            problems.extend(error.problems().iter().cloned().map(GraphSpecProblem::Graph));
        }
        match compiled {
            Ok(graph) if problems.is_empty() => Ok(match &self.name {
                Some(name) => graph.named(name.as_str()),
                None => graph,
            }),
            _ => Err(GraphSpecError { problems }),
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
    problems: &mut Vec<GraphSpecProblem>,
) -> Draft<C> {
    match registry.find(body) {
        Some(Entry::Node(found)) => graph.add_node(node.into(), SharedNode(Arc::clone(found))),
        Some(Entry::Worker(worker)) => {
            let worker = SharedWorker { worker: worker.clone(), schema: schema.clone() };
            graph.add_worker(Worker::<Name, Value>::new(node.into()), worker)
        }
        None => {
            let (node_name, body, known) = (node.to_owned(), body.to_owned(), registry.names());
            problems.push(GraphSpecProblem::UnknownBody { node: node_name, body, known });
            graph.add_node(node.into(), missing_body::<C>)
        }
    }
}

fn route<C: Send + Sync + 'static>(
    graph: Draft<C>,
    router: &RouterSpec,
    schema: &DataSchema,
    problems: &mut Vec<GraphSpecProblem>,
) -> Draft<C> {
    let RouterSpec { from, field, to, each, otherwise } = router;
    let Some(channel) = schema.channel(field) else {
        let known = schema.names().map(str::to_owned).collect();
        problems.push(GraphSpecProblem::UnknownField { from: from.clone(), field: field.clone(), known });
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
            graph.add_branch(start, field.as_str(), items, declared_targets(router))
        }
        (None, false) => {
            let to: BTreeMap<String, Target<Name>> = gather(to.iter().map(|(value, to)| (value.clone(), target(to))));
            let choose = move |state: &DataState| to.get(&key_text(state.get(channel))).unwrap_or(&other).clone();
            graph.add_branch(start, field.as_str(), choose, declared_targets(router))
        }
        _ => {
            problems.push(GraphSpecProblem::NoChoice { from: from.clone(), field: field.clone() });
            declared_only(graph, router)
        }
    }
}

/// Adds a router that chooses END, so that its declared targets still count as reachable.
fn declared_only<C: Send + Sync + 'static>(graph: Draft<C>, router: &RouterSpec) -> Draft<C> {
    let start = edges(&OneOrMany::One(router.from.clone()));
    graph.add_branch(start, router.field.as_str(), |_: &DataState| Target::End, declared_targets(router))
}

fn declared_targets(router: &RouterSpec) -> DeclaredTargets<Name> {
    let values = router.to.iter().map(|(value, to)| (value.clone(), target(to)));
    let worker = |name: &String| Worker::<Name, Value>::new(name.as_str().into()).each([]).into();
    let each = router.each.iter().map(|name| ("each".to_owned(), worker(name)));
    let otherwise = ("otherwise".to_owned(), target(&router.otherwise));
    DeclaredTargets::from(values.chain(each).chain([otherwise]).collect::<Vec<_>>())
}

/// Returns a value in the spelling of `to`'s keys.
fn key_text(value: Option<&Value>) -> String {
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
